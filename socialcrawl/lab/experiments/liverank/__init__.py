"""The experiments of Huynh, Mathieu and Viennot: refreshing old datasets by LiveRanks.

dataset_worlds.py   an old snapshot, and the truth about who is active now
dated.py            worlds from links or posts with timestamps
weblike.py          generated webs: sites, links that mostly stay inside, death that spreads along links
follower_graphs.py  generated follower graphs: famous accounts are more often active
shares.py           shares by status, distributions of in-degree and PageRank (table 1, figures 1 to 3)
probe_orders.py     LiveRanks with their training sets, and the order in which each probes a world
cost_curves.py      cost curves (figures 4 to 11)
"""
