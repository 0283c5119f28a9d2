"""The experiments of Gouriten, Maniu and Senellart, and some beside them, on any known graph.

experiment_graphs.py  the graphs: generated, from posts or pages, or folders; made once and kept
setups.py             what each experiment compares, with the set-ups of the paper
replays.py            replays of an experiment over sets of seeds, and their curves
scorings.py           the same with other functions of the counts
precision.py          how good each estimator's first choice is along another crawl (figure 3)
features.py           correlations and fits of node values with their links (tables 1 to 3)
"""
