"""The loop that drives every crawl, its contracts and its values.

Pure, except for `clock`: nothing here reads, writes or sends but through the contracts of `protocols`.
"""
