"""Campaigns that sample: their kind and their report."""
