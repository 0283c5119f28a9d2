"""What a walk of `kind = "sample"` is made of."""

from socialcrawl.crawls.sample.walk_laws import WalkLaw

__all__ = ["WalkLaw"]
