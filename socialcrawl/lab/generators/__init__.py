"""Generators of posts, accounts and graphs. The same seed gives the same bytes."""
