"""Delete what is stored about a person or a post, and do not collect it again (docs/how-to/erasure.md)."""
