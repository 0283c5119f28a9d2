"""Connections to SQLite and PostgreSQL: opening, locking, copying and examining a database."""
