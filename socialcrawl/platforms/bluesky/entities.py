"""What Bluesky finds in a text: tags, cashtags and names as its own client's rich text detects them, and links."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from socialcrawl.text.entities import Entities, Mark

_UNSEEN = r"\xad\u2060\u200a-\u200d\u20e2"  # of no width, and no part of a tag

# A tag goes on to the next white space, without the punctuation at its end; it is not only digits and punctuation.
HASHTAG = Mark(
    "#",
    rf"(?=[^\s{_UNSEEN}]*[^\d\s\p{{P}}{_UNSEEN}])[^\s{_UNSEEN}]{{1,64}}(?<!\p{{P}})",
    r"\S",
    rf"{{inside}}*+[^\s{_UNSEEN}]",
    r"[\p{P}]",
)
CASHTAG = Mark("$", r"[a-z][a-z0-9]{0,4}", r"[^\s(]", r"""[^\s.,;:!?)"']""")
NAME = Mark("@", r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", r"[^\s(]", r"[a-z0-9-]|\.[a-z0-9]")
ENTITIES = Entities((HASHTAG, CASHTAG, NAME), addresses=True)
EVERYTHING = "*"  # a query that all posts match: search wants one


def make_search_parameters(query: str) -> Mapping[str, str]:
    """Return the parameters that a search for a query is made with: the lexicon has some for tags, names and links.

    Words are in quotes where they have signs, so that what begins with a sign is an entity.
    """
    if query.startswith("#"):
        return {"query": query, "tag": query[1:]}
    if query.startswith("@"):
        return {"query": EVERYTHING, "mentions": query[1:].lower()}
    if query.lower().startswith(("http://", "https://")):
        parts = urlsplit(query)
        is_page = parts.path.strip("/") or parts.query
        return {"query": EVERYTHING} | ({"url": query} if is_page else {"domain": parts.hostname or ""})
    return {"query": query}


def make_search_v2_parameters(query: str) -> Mapping[str, str]:
    """Return the parameters that the second search is made with: filters need no words beside them.

    `allTime` asks for all posts, not only recent ones, and the order is that of time: unset, it is a ranking.
    """
    names = {"tag": "hashtags", "url": "urls", "domain": "domains"}
    first = make_search_parameters(query)
    if first.keys() != {"query"}:
        first = {names.get(name, name): value for name, value in first.items() if name != "query"}
    return {**first, "sort": "recent", "allTime": "true"}
