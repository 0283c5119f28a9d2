"""The first line of a list of links: words that are known names of columns, and words that look like some. Pure."""

import re
from collections.abc import Sequence

ENDS = (
    ("source_account", "target_account"),  # as our own exports have them, beside numbers of nodes
    ("source", "target"),
    ("source_id", "target_id"),
    ("src", "dst"),
    ("from", "to"),
    ("from_id", "to_id"),
    ("follower", "followee"),
    ("follower", "followed"),
)
"""The columns of the two ends of a link, by which a table is known to hold links."""
WEIGHTS = ("weight", "alpha", "weights", "count")
"""The columns of its weight; the first that is there counts."""
# What people make names of columns of. An account may be called so: who is refused can write a known line above it.
PARTS = frozenset([
    "account", "author", "cited", "citing", "destination", "dst", "edge", "end", "followed", "followee", "follower",
    "following", "friend", "from", "handle", "head", "id", "ids", "in", "link", "mention", "mentioned", "mentioner",
    "name", "node", "origin", "out", "page", "receiver", "recipient", "replied", "replier", "retweeted", "retweeter",
    "screen", "sender", "source", "src", "start", "tail", "target", "to", "uid", "url", "user", "username", "users",
    "vertex",
])  # fmt: skip
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z_\s.-]+")
KNOWN = "source,target (and weight) for links, id or username for accounts"


def is_head(cells: Sequence[str | None], below: Sequence[str | None] = ()) -> bool:
    """Return whether a line looks as if it named columns.

    It does if its first two cells are made of words that columns are called by, such as from_user, or if a later one is
    no number where the line below it has one.
    """
    words = [{part.lower() for part in PART.findall(cell or "")} for cell in cells[:2]]
    if all(some and some <= PARTS for some in words):
        return True
    return any(one and not is_number(one) and is_number(two) for one, two in zip(cells[2:], below[2:], strict=False))


def is_number(cell: str | None) -> bool:
    """Return whether a cell is a number."""
    try:
        float(cell or "")
    except ValueError:
        return False
    return True


def describe_unknown(place: str, cells: Sequence[str | None]) -> str:
    """Return what is said of a first line whose words look like names of columns and are not known."""
    shown = ", ".join(cell or "''" for cell in cells)
    return (
        f"{place}: {shown[:200]} look like names of columns, and are not known. Call them {KNOWN}. If they are "
        "accounts, write a line with such names above them."
    )
