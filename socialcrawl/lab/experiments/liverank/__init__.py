"""The experiments of Huynh, Mathieu and Viennot: refreshing old datasets by LiveRanks.

worlds        an old snapshot, and who is active now: the truth                                  worlds.py
dated         worlds from links or posts with timestamps                                         dated.py
weblike       generated webs: sites, and links that mostly stay inside                           weblike.py
known         webs from files, with a guess at their sites                                       known.py
death         what happens to a web: death spreads along links and takes whole sites             death.py
follows       generated follower graphs: the famous are active, death does not spread            follows.py
shares        shares by status, distributions of in-degree and PageRank (table 1, figures 1-3)   shares.py
ways          LiveRanks with their training sets, and which of them each figure compares         ways.py
source        what a probe of a world answers                                                    source.py
orders        the order in which a way tests a world: by the crawl itself, or straight           orders.py
curves        cost curves, side by side in processes (figures 4-11)                              curves.py
"""
