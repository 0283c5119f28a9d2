"""X API v2: endpoints, rate limits, prices and both vocabularies."""
