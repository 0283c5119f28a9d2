"""Where the next page of a list begins, by the Link header of this one. Pure."""

import re
from urllib.parse import parse_qs, urlsplit

LINK = re.compile(r"<([^<>]*)>([^<]*)")
NEXT = re.compile(r";\s*rel\s*=\s*(?:\"(?:[^\"]*\s)?next(?:\s[^\"]*)?\"|next(?=[\s;,]|$))", re.IGNORECASE)


def find_next_page(link: str | None) -> str | None:
    """Return the `max_id` of the address that a Link header calls the next; None at the end of a list."""
    for url, parameters in LINK.findall(link or ""):
        if NEXT.search(parameters):
            try:
                found = parse_qs(urlsplit(url).query).get("max_id")
            except ValueError:
                return None
            return found[-1] if found else None
    return None
