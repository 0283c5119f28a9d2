"""The other use cases of Gouriten et al., section 2.2, as sources that the same loop crawls.

| | `web`: pages | `form`: keywords of a search form | `peers`: gossip | `acquaintances`: people |
|---|---|---|---|---|
| V | web pages | keywords | peers | individuals |
| E | hyperlinks | v is in u's results | the overlay network | u knows v |
| alpha(u, v) | f(hits around the link) | times v is in u's results | f(hits in u's cache on v) | u's points for v |
| beta(v) | f(hits in the page) | records returned for v | f(hits in v's documents) | v's points for herself |
| V0 | a list of pages | a small dictionary | the peer that asks | the person who asks |
| n | requests, one a page | requests, one a page of results | propagations, a tenth of the peers | people asked |

Hits are occurrences of the topic; f(x) = 1 + ln x for x > 0, else 0 (section 2.3). beta of a set is the sum over its
nodes. The section's second use case, a topic and its users, is `socialcrawl.platforms.x`.

A node's key (page, keyword, peer, name) is its platform id, `Who(key, None)`: ids are compared as they are, usernames
without regard to case, and two pages may differ by case only.
"""
