"""The experiments of Abiteboul, Preda and Cobena, on generated graphs of pages.

webs.py               generated webs with power-law or Poisson in-degrees
static_web.py         OPIC beside the off-line algorithm on a web that stands still
moving.py             Adaptive OPIC on a web that changes: all windows, by name, watch the same crawl
levers.py             discovery against refresh, and extra cash for a topic
importances.py        importance of given graphs: by link matrices, sites, owners and PageRank
importance_errors.py  the true importance of the web as it is now, and how far an estimate is off

A crawl of a web of n pages is n fetches, and a month is a crawl (deduced from the paper's Figure 5: a window of eight
months holds about eight measures of a page).
"""
