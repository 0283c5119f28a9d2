"""Posts that a search found, as a table for people: newest first, with the words that were searched for marked."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from socialcrawl.render.console import Text
from socialcrawl.text.post_query import PostQuery
from socialcrawl.text.post_words import normalize

LONGEST = 400  # characters of a text that are shown
BEFORE = 100  # characters before the first mark, where the text is longer


def show_posts(console: Console, posts: Sequence[Mapping[str, Any]], query: PostQuery) -> None:
    """Print posts as a table.

    Args:
        console: where they are read.
        posts: rows of `Dataset.search`.
        query: what was searched for.
    """
    table = Table(box=None, pad_edge=False)
    table.add_column("posted (UTC)", no_wrap=True)
    table.add_column("author", overflow="fold")
    table.add_column("on topic", no_wrap=True)
    table.add_column("text", overflow="fold")
    for post in posts:
        at = post["created_at"]
        table.add_row(
            "unknown" if at is None else f"{at:%Y-%m-%d %H:%M}",
            Text(post["author"] or ""),
            "yes" if post["occurrences"] else "",
            _make_cell(post["text"], query, post["page"]),
        )
    console.print(table)


def _make_cell(text: str, query: PostQuery, address: str | None) -> Text:
    text = normalize(text)
    marks = query.find_marks(text)
    begin = max(0, marks[0][0] - BEFORE) if marks and len(text) > LONGEST else 0
    end = min(len(text), begin + LONGEST)
    cell, place = Text("\u2026" if begin else ""), begin
    for first, after in marks:
        if after <= end:
            cell.append_text(Text(text[place:first])).append_text(Text(text[first:after], "bold underline"))
            place = after
    cell.append_text(Text(text[place:end])).append("\u2026" if end < len(text) else "")
    if address is not None:
        cell.append("\n").append_text(Text(address, "dim"))
    return cell
