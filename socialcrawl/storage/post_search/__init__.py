"""Posts by full text: the index of a database, and the posts that match a query."""
