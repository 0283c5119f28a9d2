"""Collect: which unknown account is most relevant to the topic? (Gouriten, Maniu, Senellart: Algorithm 1)."""
