"""The mock's X API v2: endpoints, rules, prices and both vocabularies."""
