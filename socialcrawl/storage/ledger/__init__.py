"""Requests that were sent and what they cost."""
