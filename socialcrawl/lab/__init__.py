"""Datasets, generators and, in time, the laboratory: what runs on a known world."""
