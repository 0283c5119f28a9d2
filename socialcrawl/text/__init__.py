"""Texts: word boundaries, entities, domain names, wording of numbers, safe output to terminals."""
