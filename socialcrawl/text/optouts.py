"""The hashtags by which people say in a profile that they do not want to be collected. Pure."""

import re

HASHTAGS = re.compile(
    r"(?<![\w#])#no(?:bots?|index|search|archive|crawl(?:ers?|ing)?|scrap(?:e|ers?|ing))\b", re.IGNORECASE
)


def has_opt_out(text: str | None) -> bool:
    """Return whether a profile's text has one of the hashtags: #nobot, #nobots, #noindex, #nosearch and the like."""
    return bool(text) and HASHTAGS.search(str(text)) is not None
