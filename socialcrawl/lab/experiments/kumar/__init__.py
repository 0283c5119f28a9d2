"""The experiments of Kumar, Lang, Marlow and Tomkins: discovering and tracking authoritative nodes.

timegraphs    links with timestamps, from files; a span, a window, the plain graph of all        timegraphs.py
generated     generated ones: bursts of attention, new entrants, old standbys that depart        generated.py
source        what a fetch sees, and a clock that a fetch takes time of                          source.py
sampling      omniscient expansions: nodes drawn by their true degrees                           sampling.py
targets       K_t, the nodes of most in-links in each window, once for all policies              targets.py
watching      who was crawled, who is known and how often linked to, as the crawl goes on        watching.py
static        discovery in a fixed graph: crawl and rank performance (figure 1)                  static.py
dynamic       tracking in a time graph: crawl and discovery performance, ratios (figure 2)       dynamic.py
pool          crawls side by side in processes, each kept in a file as soon as it is done        pool.py
summary       means over seeds, and their standard errors, at some instants                      summary.py
"""
