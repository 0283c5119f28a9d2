"""The store: what is remembered, in SQL or in memory; one transaction a request."""
