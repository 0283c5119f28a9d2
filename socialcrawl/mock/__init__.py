"""A server that behaves like X, Bluesky, Mastodon and a web site, from one file of posts, for offline tests.

It enforces rate limits and counts requests independently of the crawler, and imports none of the crawler's limits.
"""
