"""Kinds of campaigns. Each is one object: a module here and a line in the registry, or an entry point."""
