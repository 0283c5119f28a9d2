"""Erasure and retention: what is stored of a person or a post goes, and is not collected again (docs/erasure.md)."""
