"""Files of an old dataset, as a graph by names: links, accounts, or posts whose authors mention each other. Pure.

- Links: columns `source` and `target` (or one of the pairs in `header_lines.ENDS`), or the first two of a table whose
  columns have no names, or are two with other names; `weight` where there is such a column.
- Accounts: one column, or columns `id` and `username`.
- Posts: whatever `post_files` reads; a mention is a link.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from math import inf
from pathlib import Path

import numpy as np

from socialcrawl.engine.model import Who
from socialcrawl.errors import PostsFileError
from socialcrawl.formats.column_tables import Cell, CellTable, open_table
from socialcrawl.formats.csv_files import NEEDED
from socialcrawl.formats.header_lines import ENDS, KNOWN, WEIGHTS, describe_unknown, is_head
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.relevance import Hits
from socialcrawl.importers.account_cells import CellAccounts
from socialcrawl.importers.exported_datasets import check_names, check_text, open_export_table
from socialcrawl.importers.post_files import count_nothing, read_posts
from socialcrawl.storage.imports.old_graph import NamedGraph
from socialcrawl.storage.imports.parsed_page import MADE, ParsedPage

IDS = ("platform_id", "account_id", "user_id", "author_id", "id")
NAMES = ("username", "screen_name", "handle", "account", "url", "page")
WORDS = {*NEEDED, *IDS, *NAMES, *WEIGHTS[:2], *(end for pair in ENDS for end in pair)}
Watch = Callable[[str, int], None]


class DatasetBuilder:
    """What was read so far: accounts, those that the dataset is about, and links.

    Args:
        naming: who is meant by a cell.
        trouble: what bad lines are added to.
    """

    def __init__(self, naming: CellAccounts, trouble: LineErrors) -> None:
        self.naming, self.trouble = naming, trouble
        self._places: dict[Who, int] = {}
        self._about: set[int] = set()
        self._links: tuple[array[int], array[int], array[float]] = array("q"), array("q"), array("d")
        self._cells: dict[str | None, dict[Cell, Who | str]] = {}  # what cells mean, by reading
        self._there: dict[Cell, int] = {}  # the places of those that the dataset is about, by cell

    def read(self, cells: Sequence[Cell], reading: str | None = None) -> list[Who | str]:
        """Return the account that each cell names; where it names none, why."""
        known = self._cells.setdefault(reading, {})
        new = [cell for cell in dict.fromkeys(cells) if cell not in known]
        known.update(zip(new, self.naming.find_accounts([cell or "" for cell in new], reading), strict=True))
        return [known[cell] for cell in cells]

    def add_links(self, ends: Sequence[Cell]) -> bool:
        """Add links between accounts of the dataset, from ends 0, 2, ... to 1, 3, ...; return whether they were added.

        None is added where one of the cells names no account.
        """
        new = [cell for cell in dict.fromkeys(ends) if cell not in self._there]
        whos = self.read(new)
        if any(isinstance(who, str) for who in whos):
            return False
        self._there.update((cell, self.add_member(who)) for cell, who in zip(new, whos, strict=True))  # type: ignore[arg-type]
        places = array("q", map(self._there.__getitem__, ends))
        self._links[0].extend(places[0::2])
        self._links[1].extend(places[1::2])
        self._links[2].extend(array("d", [1.0]) * (len(places) // 2))
        return True

    def add_member(self, who: Who) -> int:
        """Return the place of an account that the dataset is about."""
        place = self.add_account(who)
        self._about.add(place)
        return place

    def add_account(self, who: Who) -> int:
        """Return the place of an account."""
        return self._places.setdefault(who, len(self._places))

    def add_link(self, source: int, target: int, weight: float = 1.0) -> None:
        """Add a link between two places."""
        self._links[0].append(source)
        self._links[1].append(target)
        self._links[2].append(weight)

    def build_graph(self) -> NamedGraph:
        """Return all that was read."""
        whos = list(self._places)
        member = np.zeros(len(whos), np.bool_)
        member[list(self._about)] = True
        source, target, weight = self._links
        ends = np.array(source, np.int64), np.array(target, np.int64)
        return NamedGraph(
            whos, [self.naming.find_site(who) for who in whos], member, *ends, np.array(weight, np.float64)
        )


def read_datasets(
    paths: Iterable[Path], naming: CellAccounts, trouble: LineErrors, watch: Watch = lambda what, rows: None
) -> NamedGraph:
    """Return the graph that files tell, in their order.

    Args:
        paths: the files.
        naming: who is meant by a cell.
        trouble: what bad lines are added to; they are left out.
        watch: told how many rows were read.

    Raises:
        PostsFileError: a file cannot be read.
    """
    found, posts, rows = DatasetBuilder(naming, trouble), _PostRows(), 0
    for path in paths:
        check_text(path)
        with _open_table(path, naming, trouble) as table:
            if table is None or set(NEEDED) <= set(table.names or ()):
                for page in read_posts(path, count_nothing, trouble):
                    posts.take(found, page, str(path))
                    watch("reading", rows := rows + len(page.page.posts))
                continue
            check_names(path, table.names)
            take = _choose_reader(table)
            found.trouble.notes += _list_unread(table)
            for lines, columns in _iterate_rows(table):
                take(found, table, lines, columns)
                watch("reading", rows := rows + len(lines))
    posts.link_answers(found)
    return found.build_graph()


def _iterate_rows(table: CellTable) -> Iterator[tuple[Sequence[int], list[list[Cell]]]]:
    """Yield the rows of a table.

    Raises:
        PostsFileError: its first row is none, but names its columns by words that are not known.
    """
    first = table.names is None
    for lines, columns in table.chunks:
        if first:
            rows = [list(row) for row in zip(*(column[:2] for column in columns), strict=True)]
            if is_head(rows[0], rows[-1]):
                raise PostsFileError(describe_unknown(table.describe_row(lines[0]), rows[0]))
            first = False
        yield lines, columns


def _list_unread(table: CellTable) -> Iterator[str]:
    """Yield what is to be said of columns that are not read though they may be weights."""
    names = table.names or []
    ends = next((pair for pair in ENDS if {*pair} <= {*names}), None)
    if (
        ends not in (None, ENDS[0])
        and _find_first(names, WEIGHTS) is None
        and (rest := [n for n in names if n not in WORDS])
    ):
        yield f"{table.path}: not read: {', '.join(rest)[:200]}. If a column holds weights, call it weight."


@contextmanager
def _open_table(path: Path, naming: CellAccounts, trouble: LineErrors) -> Iterator[CellTable | None]:
    """Open the table in a file; None where the file has posts as JSON lines."""
    with open_table(path, WORDS, trouble, naming.is_legal) as found:
        if found is not None:
            yield found
            return
    with open_export_table(path, trouble) as found:
        yield found


def count_by_author(path: Path, naming: CellAccounts, hits: Hits) -> Mapping[Who, int]:
    """Return the occurrences of a topic in a file of posts, by author as `read_datasets` has them.

    None where it has no posts.

    Args:
        path: the file.
        naming: who is meant by a cell.
        hits: occurrences in a post, by its text, its language and when it was written.

    Raises:
        PostsFileError: the file cannot be read.
    """
    trouble = LineErrors()
    found, posts, counts = DatasetBuilder(naming, trouble), _PostRows(), Counter[Who]()
    with open_table(path, WORDS, trouble, naming.is_legal) as table:
        if table is not None and not set(NEEDED) <= set(table.names or ()):
            return counts
    for page in read_posts(path, hits, trouble):
        for place, count in enumerate(page.page.hits):
            if (who := posts.resolve_account(found, page.get_author(place), str(path))) is not None:
                counts[who] += count
    return counts


def describe_members(path: Path, naming: CellAccounts) -> str:
    """Return which accounts of a file `read_datasets` takes: authors of its posts, ends of its links, those in columns.

    "" for a list that names nothing else.

    Args:
        path: the file.
        naming: who is meant by a cell.

    Raises:
        PostsFileError: the file cannot be read.
    """
    with _open_table(path, naming, LineErrors()) as table:
        if table is None or set(NEEDED) <= set(table.names or ()):
            return "the authors of its posts"
        reader = _choose_reader(table)
        if isinstance(reader, _LinkRows):
            alone = all(len(columns) == 1 for _, columns in islice(table.chunks, 1))
            return "" if alone else "the accounts at both ends of its links"
        places = [place for place in (reader.ids, reader.names) if place is not None]
        columns = " and ".join((table.names or [])[place] for place in places if table.names)
        return f"the accounts in its column{'s' if len(places) > 1 else ''} {columns}" if columns else ""


def _choose_reader(table: CellTable) -> "_LinkRows | _AccountRows":
    """Return what reads the rows of a table, by the names of its columns.

    Raises:
        PostsFileError: there are more than two, and none has a name that is known.
    """
    names = table.names or []
    weight = _find_first(names, WEIGHTS)
    for source, target in ENDS:
        if source in names and target in names:
            ours = (source, target) == ENDS[0]
            return _LinkRows(names.index(source), names.index(target), weight, ours=ours)
    ids, named = _find_first(names, IDS), _find_first(names, NAMES)
    if ids is None and named is None and len(names) > 2:
        raise PostsFileError(f"{table.path}: the columns {', '.join(names)[:200]} are not known. Call them {KNOWN}.")
    return (
        _LinkRows(0, 1, weight)
        if ids is None and named is None
        else _AccountRows(ids, named, ours={"node", "account"} <= {*names})
    )


def _find_first(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


class _LinkRows:
    """Rows with the two ends of a link, by the places of their columns; rows of one cell are accounts.

    In `ours`, the links of an export, an end without a name is a search or was forgotten: the other is an account.
    """

    def __init__(self, source: int, target: int, weight: int | None, *, ours: bool = False) -> None:
        self.source, self.target, self.weight, self.ours = source, target, weight, ours

    def __call__(
        self, found: DatasetBuilder, table: CellTable, lines: Sequence[int], columns: list[list[Cell]]
    ) -> None:
        if len(columns) == 1:
            _AccountRows(None, 0, None)(found, table, lines, columns)
            return
        ends = columns[self.source], columns[self.target]
        if self.weight is None and found.add_links([*chain.from_iterable(zip(*ends, strict=True))]):
            return
        sources, targets = map(found.read, ends)
        weights = ["1"] * len(lines) if self.weight is None else columns[self.weight]
        for line, source, target, first, there, cell in zip(lines, sources, targets, *ends, weights, strict=True):
            weight = _parse_weight(cell)
            if self.ours and not first:
                self._add_alone(found, table.describe_row(line), there, target)
                continue
            if isinstance(source, str) or (there and isinstance(target, str)) or weight is None:
                why = next((why for why in (source, target) if isinstance(why, str)), f"its weight is {cell!r:.60}")
                found.trouble.add(table.describe_row(line), why)
                continue
            place = found.add_member(source)
            if not isinstance(target, str):  # a row without a target is an account without a link
                found.add_link(place, found.add_member(target), weight)

    def _add_alone(self, found: DatasetBuilder, place: str, there: Cell, target: Who | str) -> None:
        if isinstance(target, Who):
            found.add_member(target)
        elif there:
            found.trouble.add(place, target)


def _parse_weight(cell: Cell) -> float | None:
    try:
        weight = float(cell or 1.0)
    except ValueError:
        return None
    return weight if 0 <= weight < inf else None


class _AccountRows:
    """Rows with an account, by its id, its name, or both; `reading` is that of the names, None as all cells are.

    In `ours`, a table of an export, a row without an id and a name is about a search or was forgotten.
    """

    def __init__(
        self, ids: int | None, names: int | None, reading: str | None = "names", *, ours: bool = False
    ) -> None:
        self.ids, self.names, self.reading, self.ours = ids, names, reading, ours

    def __call__(
        self, found: DatasetBuilder, table: CellTable, lines: Sequence[int], columns: list[list[Cell]]
    ) -> None:
        none: list[Who | str] = [""] * len(lines)
        ids = none if self.ids is None else found.read(columns[self.ids], "ids")
        names = none if self.names is None else found.read(columns[self.names], self.reading)
        for i, (by_id, by_name) in enumerate(zip(ids, names, strict=True)):
            whos = [who for who in (by_id, by_name) if isinstance(who, Who)]
            if whos:
                found.add_member(Who(whos[0].id, whos[-1].username))
            elif not (
                self.ours and all(columns[place][i] is None for place in (self.ids, self.names) if place is not None)
            ):
                found.trouble.add(table.describe_row(lines[i]), str(by_id or by_name))


class _PostRows:
    """Posts, whose authors the dataset is about, and link to whom they mention and answer."""

    def __init__(self) -> None:
        self._authors: dict[str, int] = {}  # by the id of the post
        self._replies: list[tuple[int, str]] = []

    def take(self, found: DatasetBuilder, page: ParsedPage, path: str) -> None:
        """Add the posts of a page."""
        whos = [page.get_author(i) for i in range(len(page.page.posts))]
        authors = [self.resolve_account(found, who, path) for who in whos]
        for row, who in zip(page.page.posts, authors, strict=True):
            if who is not None:
                self._authors[row.id] = found.add_member(who)
        for mention in page.page.mentions:
            author, who = authors[mention.post], self.resolve_account(found, mention.who, path)
            if author is not None and who is not None:
                found.add_link(found.add_account(author), found.add_account(who))
        for i, to in page.replies:
            if (author := authors[i]) is not None:
                self._replies.append((found.add_account(author), to))

    def link_answers(self, found: DatasetBuilder) -> None:
        """Link to whom posts answer, of which the files say the post or the name."""
        for author, to in self._replies:
            if (place := self._authors.get(to)) is not None:
                found.add_link(author, place)
            elif not to.isdigit() and not to.startswith(MADE):
                (who,) = found.read([to], "names")
                if isinstance(who, Who):
                    found.add_link(author, found.add_account(who))

    def resolve_account(self, found: DatasetBuilder, who: Who, path: str) -> Who | None:
        """Return an account as the platform names it; None, and a bad line, where it is none."""
        (account,) = found.read([who.username or who.id], "names" if who.username else None)
        if isinstance(account, str):
            found.trouble.add(path, account)
            return None
        return Who(who.id or account.id, account.username or who.username)
