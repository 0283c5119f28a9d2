"""Campaigns that test an old dataset: their kind and their report."""
