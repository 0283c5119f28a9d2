"""Replays of crawls on known graphs. Nothing here sends requests."""
