"""The experiments of Bar-Yossef, Kanungo and Krauthgamer: statistics of a topic from a walk, and their truth.

worlds.py          known graphs with hosts, domains, texts and topics, and what a walk sees of them
generated_webs.py  generated ones: topics planted as communities, two camps, a trap
file_worlds.py     the same from files: pages, posts, web graphs
truths.py          the true statistics, and which part of a topic a walk can reach
known_walks.py     walks by each method
measured.py        statistics of a sample beside their truth (figures 1 to 5)
frozen_lists.py    the exact law of a walk on lists frozen at first visits, run by run; spectral gaps
walk_ends.py       ends of n walks against the last nodes of one that reads as many pages
audit_coverage.py  how often intervals hold the truth, over many crawls
"""
