"""X API v2 by way of tweepy: talks, wire, parsing, both vocabularies."""
