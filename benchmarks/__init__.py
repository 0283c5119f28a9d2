"""Benchmarks: what takes time is measured here, not asserted in a test."""
