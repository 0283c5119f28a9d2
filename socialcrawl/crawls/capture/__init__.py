"""Capture: every post that matches a query, slice by slice of time."""
