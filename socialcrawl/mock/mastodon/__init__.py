"""Mastodon instances: one file of posts, spread over as many instances as its names have domains."""
