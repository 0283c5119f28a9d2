"""Refreshing an old dataset: which of its nodes are still active, tested in LiveRank order (Huynh et al., 2015)."""
