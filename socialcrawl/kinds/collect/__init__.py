"""Campaigns that collect: their kind, what their estimators gained, and why an account was chosen."""
