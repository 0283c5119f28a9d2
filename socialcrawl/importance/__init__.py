"""Importance of nodes by their links: PageRank, OPIC and relatives. Pure arithmetic on rows; no crawl, no storage."""
