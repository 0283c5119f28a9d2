"""Texts: words, entities, domain names, and how texts are shown to people. Pure but for the terminal."""
