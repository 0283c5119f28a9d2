"""Generators of posts, accounts and graphs: the same seed, the same bytes."""
