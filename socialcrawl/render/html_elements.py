"""HTML as a tree: texts are escaped when it is written, so nothing that others wrote becomes a tag or an attribute."""

from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from rich.console import Group, RenderableType
from rich.table import Table

from socialcrawl.render.console import AccountText, Console
from socialcrawl.text.terminal import escape_controls

LONGEST = 1_000  # characters of a text that are shown
POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # nothing is loaded, whatever a page contains
Child = ET.Element | str
AccountLink = Callable[[str, str | None], str] | None


def make_element(tag: str, *children: Child | None, **attributes: str) -> ET.Element:
    """Return an element with its children; None is left out.

    Args:
        tag: its name.
        children: elements, and texts, whose control characters become visible.
        attributes: their names with `_` for `-`; `class_` is class.
    """
    made = ET.Element(tag, {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()})
    last: ET.Element | None = None
    for child in children:
        if isinstance(child, str):
            text = escape_controls(child)
            if last is None:
                made.text = (made.text or "") + text
            else:
                last.tail = (last.tail or "") + text
        elif child is not None:
            made.append(child)
            last = child
    return made


def quote_text(text: str) -> ET.Element:
    """Return a text that others wrote, of at most `LONGEST` characters, whose direction stays inside of it."""
    return make_element("bdi", text if len(text) <= LONGEST else f"{text[:LONGEST]} ...")


def mark_code(text: str) -> list[Child]:
    """Return a text of ours as children, in which what stands between backticks is code."""
    return [make_element("code", part) if place % 2 else part for place, part in enumerate(text.split("`"))]


def make_table(
    head: Sequence[str], rows: Iterable[Sequence[Child]], *, caption: str = "", numbers: Sequence[int] = ()
) -> ET.Element:
    """Return a table that scrolls by itself where the screen is narrow.

    Args:
        head: the names of the columns.
        rows: their cells.
        caption: what it shows.
        numbers: the places of the columns that are aligned at their right, as numbers are.
    """

    def make_cell(tag: str, place: int, child: Child, **more: str) -> ET.Element:
        return make_element(tag, child, **more, **({"class_": "number"} if place in numbers else {}))

    body = [make_element("tr", *(make_cell("td", place, cell) for place, cell in enumerate(row))) for row in rows]
    titles = [make_cell("th", place, name, scope="col") for place, name in enumerate(head)]
    table = make_element(
        "table",
        make_element("caption", caption) if caption else None,
        make_element("thead", make_element("tr", *titles)) if any(head) else None,
        make_element("tbody", *body),
    )
    return make_element("div", table, class_="wide", tabindex="0", role="group", aria_label=caption or "table")


def make_details(summary: str, *children: Child) -> ET.Element:
    """Return what is shown when a reader opens it."""
    return make_element("details", make_element("summary", summary), *children)


def convert_cell(cell: RenderableType) -> ET.Element:
    """Return a cell of a table as a text."""
    return quote_text(str(cell))


def convert_renderable(
    given: RenderableType, title: str = "", convert: Callable[[RenderableType], ET.Element] = convert_cell
) -> list[ET.Element]:
    """Return what terminals show as a text, a table or a group of these, as elements.

    Args:
        given: what they show; a text before a table that has no title is its title.
        title: of a table that has none.
        convert: returns the element of a cell.
    """
    if isinstance(given, Group):
        if len(parts := given.renderables) == 2 and isinstance(table := parts[1], Table) and not table.title:
            return convert_renderable(table, str(parts[0]), convert)
        return [made for one in parts for made in convert_renderable(one, "", convert)]
    if isinstance(given, Table):
        head = [" ".join(str(column.header).split()) for column in given.columns]
        rows = zip(*([convert(cell) for cell in column.cells] for column in given.columns), strict=True)
        numbers = [place for place, column in enumerate(given.columns) if column.justify == "right"]
        return [make_table(head, rows, caption=str(given.title or title), numbers=numbers)]
    return [make_element("p", quote_text(line)) for line in str(given).splitlines() if line.strip()]


class ElementConsole(Console):
    """A console that keeps what is printed on it as elements.

    Args:
        link: returns the address of a page on an account, by its name and id; None: names are no links.

    Attributes:
        elements: what was printed so far.
    """

    def __init__(self, link: AccountLink = None) -> None:
        super().__init__(file=StringIO(), width=100, markup=False, emoji=False, highlight=False, color_system=None)
        self.elements: list[ET.Element] = []
        self._link = link

    def print(self, *objects: Any, **more: Any) -> None:
        """Keep texts, tables and groups of these."""
        del more
        self.elements += [made for one in objects for made in convert_renderable(one, convert=self._convert_cell)]

    def _convert_cell(self, cell: RenderableType) -> ET.Element:
        if self._link is None or not isinstance(cell, AccountText):
            return convert_cell(cell)
        return make_element("a", convert_cell(cell), href=self._link(cell.account.removeprefix("@"), cell.account_id))


def render_fragment(show: Callable[[Console], object], link: AccountLink = None) -> str:
    """Return what `show` prints on a console, as HTML: paragraphs and tables; see `ElementConsole`."""
    console = ElementConsole(link)
    show(console)
    return "".join(ET.tostring(made, encoding="unicode", method="html") for made in console.elements)


def is_document(path: Path) -> bool:
    """Return whether a file begins as a page of `write_document`.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        begin = file.read(1_000)
    return begin.startswith(b"<!DOCTYPE html>\n") and POLICY.encode() in begin


def write_document(title: str, style: str, *body: ET.Element, with_images: bool = False) -> str:
    """Return a page that needs nothing but itself.

    Args:
        title: of the window.
        style: a style sheet.
        body: its elements.
        with_images: whether pictures may be in the page as `data:` addresses.
    """
    policy = f"{POLICY}; img-src data:" if with_images else POLICY
    head = make_element(
        "head",
        make_element("meta", charset="utf-8"),
        make_element("meta", http_equiv="Content-Security-Policy", content=policy),
        make_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_element("meta", name="referrer", content="no-referrer"),
        make_element("title", title),
    )
    sheet = ET.SubElement(head, "style")
    sheet.text = style
    page = make_element("html", head, make_element("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{ET.tostring(page, encoding='unicode', method='html')}\n"
