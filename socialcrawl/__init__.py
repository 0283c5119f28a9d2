"""A focused crawler for social APIs: learns where to look, keeps to rate limits and a budget, stores in SQL."""

__version__ = "0.1.0"
