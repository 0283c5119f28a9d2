"""The experiments of Huynh, Mathieu and Viennot: refreshing old datasets by LiveRanks.

dataset_worlds.py   an old snapshot, and the truth about who is active now
dated.py            worlds from links or posts with timestamps
weblike.py          generated webs: sites, and links that mostly stay inside
file_webs.py        webs from files, with guessed sites
death.py            death that spreads along links and takes whole sites
follower_graphs.py  generated follower graphs: famous accounts are more often active
shares.py           shares by status, distributions of in-degree and PageRank (table 1, figures 1 to 3)
ways.py             LiveRanks with their training sets, and which of them each figure compares
probe_orders.py     the order in which a world is probed: by the crawl itself, or directly
cost_curves.py      cost curves (figures 4 to 11)
"""
