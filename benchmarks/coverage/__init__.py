"""How often intervals that users see contain the true value: `make coverage` writes README.md in this folder."""
