"""A focused crawler for social APIs: it learns where to look, keeps to rate limits and a budget, and stores in SQL."""

__version__ = "0.1.0"
