"""Connections to SQLite and PostgreSQL: open, lock, copy and examine a database."""
