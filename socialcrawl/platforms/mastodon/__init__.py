"""Mastodon and compatible servers: many instances, seen from one of them."""
