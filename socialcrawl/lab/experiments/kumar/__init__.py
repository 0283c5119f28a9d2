"""The experiments of Kumar, Lang, Marlow and Tomkins: discovering and tracking authoritative nodes.

timegraphs.py     links with timestamps, from files; spans, windows, the plain graph of all
bursty_graphs.py  generated ones: bursts of attention, new nodes, old nodes that leave
source.py         what a fetch sees, and a clock that advances with each fetch
sampling.py       omniscient expansions: nodes drawn by their true degrees
top_nodes.py      K_t, the nodes with most in-links in each window
watching.py       which nodes were crawled or are known, and their in-links so far
fixed_graphs.py   discovery in a fixed graph: crawl and rank performance (figure 1)
dynamic.py        tracking in a time graph: crawl and discovery performance, ratios (figure 2)
"""
