"""The experiments of Abiteboul, Preda and Cobena, on generated graphs of pages.

    graphs    how many links point to a page: a power law or Poisson; links that come and go    webs.py, changes.py
    crawls    OPIC by a selection, the off-line algorithm beside it, snapshots of both          static.py
    windows   Adaptive OPIC on a web that changes: all windows watch the same crawl             moving.py
    given     importance of any graph: link matrices, sites, owners, PageRank                   given.py, importances.py
    errors    how far importance is off: means, spread, weighted, relative, order               errors.py, summaries.py

A crawl of a web of n pages is n fetches, and a month is a crawl (deduced from the paper's Figure 5: a window of eight
months holds some eight measures a page).
"""
