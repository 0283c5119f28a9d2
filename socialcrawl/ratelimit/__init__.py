"""Limits: how many requests a platform allows, what they cost, and what a campaign may spend. Pure."""
