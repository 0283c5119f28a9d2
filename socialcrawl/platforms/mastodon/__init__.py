"""Mastodon and what speaks its language: talks with many instances, wire, parsing, names across instances."""
