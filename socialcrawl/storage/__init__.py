"""Everything that is remembered, in SQL or in memory. One transaction for each request."""
