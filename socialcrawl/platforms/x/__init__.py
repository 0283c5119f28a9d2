"""X API v2 through tweepy, in both vocabularies."""
