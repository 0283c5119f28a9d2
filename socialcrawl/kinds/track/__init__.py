"""Campaigns that track accounts: their kind and their report."""
