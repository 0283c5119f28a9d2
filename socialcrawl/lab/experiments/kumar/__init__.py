"""The experiments of Kumar, Lang, Marlow and Tomkins: discovering and tracking authoritative nodes.

timegraphs.py     links with timestamps, from files or generated; spans, windows, the plain graph
sampling.py       omniscient expansions: nodes drawn by their true degrees
top_nodes.py      K_t, the nodes with most in-links in each window; which nodes were crawled or are known
fixed_graphs.py   discovery in a fixed graph: crawl and rank performance (figure 1)
dynamic.py        tracking in a time graph, what a fetch sees of it: crawl and discovery performance, ratios (figure 2)
"""
