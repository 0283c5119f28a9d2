"""Estimate the requests, time and cost that a campaign needs, with intervals. Pure."""
