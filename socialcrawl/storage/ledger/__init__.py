"""The requests that were sent and what they cost."""
