"""How often intervals that the product shows hold the truth: `make coverage` writes docs/explanation/coverage.md."""
