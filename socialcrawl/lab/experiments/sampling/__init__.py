"""The experiments of Bar-Yossef, Kanungo and Krauthgamer: statistics of a topic from a walk, and their truth.

worlds       a graph with hosts, domains, texts and topics, known as a whole                      worlds.py
generated    generated ones: topics planted as communities, two camps, a trap                     generated.py
files        the same from files: pages, posts, web graphs                                        files.py
truths       what the statistics truly are, and which part of a topic a walk can reach            truths.py
source       what a walk sees: a page's links, and of those who link to it what a search shows    source.py
crawls       walks by each method, each kept in a file as soon as it is done                      crawls.py
measured     statistics of a sample beside their truth (figures 1 to 5)                           measured.py
laws         the exact law of a walk on lists frozen at first visits, as printed and symmetric    laws.py
audits       how often the truth lies in the intervals, over many crawls                          audits.py
experiments  the law, run by run; spectral gaps; a tree that tells a topic                        experiments.py
"""
