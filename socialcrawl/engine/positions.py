"""Positions in a list of ids as picks write them: the first one, and the one after the last. Pure."""

Positions = tuple[int, int]


def write_positions(begin: int, end: int) -> str:
    """Return positions as text."""
    return f"{begin}/{end}"


def parse_positions(text: str) -> Positions:
    """Return the first position and the one after the last; the inverse of `write_positions`.

    Raises:
        ValueError: it is no such text.
    """
    begin, end = text.split("/")
    return int(begin), int(end)
