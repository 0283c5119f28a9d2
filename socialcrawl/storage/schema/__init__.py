"""Tables, views, and what migrations need. Nothing here opens a database."""
