"""Proves that what a campaign has stored is what it decided and found, without a request."""
