"""Find the accounts that are most relevant to a topic (Gouriten, Maniu, Senellart: Algorithm 1)."""
