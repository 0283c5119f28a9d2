"""The experiments of Gouriten, Maniu and Senellart, and some beside them, on any known graph.

worlds        the graphs: generated ones, posts, pages, or folders; made once and kept     worlds.py
experiments   what each compares, and the paper's set-ups                                  experiments.py
crawls        replays of an experiment, as curves over sets of seeds                       crawls.py
scorings      the same under other functions of the counts                                 scorings.py
precision     how good each estimator's first choice is along another's crawl (figure 3)   precision.py
features      correlations and fits of nodes' values with their links (tables 1 to 3)      features.py

The arithmetic (shares, errors of means, fits) is in lab/measures.py, the tables are in lab/result_tables.py.
"""
