"""The experiments of Abiteboul, Preda and Cobena, on generated graphs of pages.

webs.py               generated webs with power-law or Poisson in-degrees
changes.py            links that come and go
static_web.py         OPIC beside the off-line algorithm on a web that stands still
moving.py             Adaptive OPIC on a web that changes: all windows watch the same crawl
named_windows.py      windows by their names
given.py              graphs and the sites of their nodes
importances.py        importance by link matrices, sites, owners and PageRank
truth.py              the true importance of the web as it is now
importance_errors.py  how far an estimate is off
summaries.py          means over crawls and seeds

A crawl of a web of n pages is n fetches, and a month is a crawl (deduced from the paper's Figure 5: a window of eight
months holds about eight measures of a page).
"""
