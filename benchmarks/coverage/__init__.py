"""How often intervals that the product shows hold the truth: `make coverage` writes docs/coverage.md."""
