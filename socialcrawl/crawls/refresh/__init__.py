"""Check which accounts of an old dataset are still active, in LiveRank order (Huynh, Mathieu, Viennot)."""
