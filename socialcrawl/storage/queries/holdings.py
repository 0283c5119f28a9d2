"""What a campaign holds, in SQL, for those who audit it: whom it has read, to whom they link, whom its searches found.

They read; they change nothing. Nodes are those of the database; `read_aliases` settles other names of an account.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Select, case, func, literal_column, select, text

from socialcrawl.engine.model import SAME_AS, Act, Who
from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.link_weights import select_hit_columns
from socialcrawl.storage.queries.linked import read_numbers
from socialcrawl.storage.schema.tables import account, link, outcome, pick, post, request

Ints = NDArray[np.int64]
Key = TypeVar("Key", int, str)

READ = (Act.SEED, Act.EXPAND, Act.MATCH, Act.PAGE, Act.RECRAWL, Act.IMPORT, Act.WALK)  # acts that read an account
SOME = 10_000  # accounts that are looked up together
HELD = """
select o.n, o.node, o.at, o.occurrences, o.posts from outcome o
join pick p on p.campaign = o.campaign and p.n = o.n
where o.campaign = :campaign and o.missing is null and o.node >= 0
  and p.act in ('seed', 'expand', 'match', 'page', 'recrawl', 'import', 'walk') order by o.n
"""
ALIASES = "select node, missing from outcome where campaign = :campaign and missing like 'same-as:%' order by n"


class AccountReading(NamedTuple):
    """One reading of an account by a campaign: pick.n, whom, when (ISO 8601), and what its posts said."""

    n: int
    node: int
    at: str
    occurrences: int
    posts: int


def read_visits(connection: Connection, campaign: int) -> list[AccountReading]:
    """Return all accounts that a campaign could read, in order; those that it went back to once more each time."""
    with connection.begin():
        return [AccountReading(*row) for row in connection.execute(text(HELD), {"campaign": campaign})]


def read_aliases(connection: Connection, campaign: int) -> dict[int, int]:
    """Return numbers that turned out to be other accounts, and which."""
    with connection.begin():
        rows = connection.execute(text(ALIASES), {"campaign": campaign}).all()
    return {int(node): int(why.removeprefix(SAME_AS)) for node, why in rows}


def read_links(connection: Connection, campaign: int, acts: Sequence[str] = READ) -> tuple[Ints, Ints]:
    """Return (source, target), int64 each: the links that a campaign found by some acts, as often as it found them.

    Of a search, `whose` is negative.
    """
    both = (link.c.campaign == pick.c.campaign) & (link.c.n == pick.c.n)
    query = select(pick.c.node, link.c.node).join_from(link, pick, both)
    found = _read_table(connection, query.where(link.c.campaign == campaign, pick.c.act.in_(acts)), 2)
    return found[:, 0], found[:, 1]


def count_searches(connection: Connection, campaign: int) -> int:
    """Return how many searches of a campaign were answered."""
    both = (outcome.c.campaign == pick.c.campaign) & (outcome.c.n == pick.c.n)
    query = select(func.count()).select_from(outcome).join(pick, both)
    with connection.begin():
        mine = query.where(pick.c.campaign == campaign, pick.c.act == Act.SEARCH, outcome.c.missing.is_(None))
        return int(connection.execute(mine).scalar_one())


def read_names(connection: Connection, nodes: Iterable[int]) -> dict[int, Who]:
    """Return how the platform calls some accounts; the forgotten are not among them."""
    with connection.begin():
        return select_names(connection, nodes)


def select_names(connection: Connection, nodes: Iterable[int]) -> dict[int, Who]:
    """Return the same, called in a transaction."""
    query = select(account.c.node, account.c.platform_id, account.c.username)
    lookup = Lookup(connection, query.where(match_keys(connection, account.c.node), account.c.forgotten_at.is_(None)))
    rows = chain.from_iterable(lookup.fetch_rows(piece) for piece in _split_keys(nodes))
    return {int(row[0]): Who(row[1], row[2]) for row in rows}


def find_nodes(connection: Connection, platform: str, whos: Sequence[Who]) -> list[int | None]:
    """Return the node of each account in this database, found by its id, else by its name; None: it is not there."""
    query = select(account.c.node, account.c.platform_id, account.c.handle, account.c.profile_at)
    ours = account.c.platform == literal_column(f"'{platform}'")  # a Lookup has no other parameter
    plain = query.where(ours, account.c.forgotten_at.is_(None))
    by_id: dict[str | None, int] = {}
    by_name: dict[str, tuple[bool, str, int]] = {}
    with connection.begin():
        ids = Lookup(connection, plain.where(match_keys(connection, account.c.platform_id)))
        names = Lookup(connection, plain.where(match_keys(connection, account.c.handle)))
        for piece in _split_keys(who.id for who in whos if who.id):
            by_id |= {row[1]: int(row[0]) for row in ids.fetch_rows(piece)}
        for piece in _split_keys(who.username.lower() for who in whos if who.username):
            for node, key, handle, seen in names.fetch_rows(
                piece
            ):  # as `Nodes` has it: with an id, seen with it last, first
                rank = (key is not None, seen or "", -int(node))
                by_name[handle] = max(by_name.get(handle, rank), rank)
    named = {name: -rank[2] for name, rank in by_name.items()}
    return [by_id.get(who.id, named.get((who.username or "").lower())) for who in whos]


def find_read_nodes(connection: Connection, nodes: Iterable[int]) -> set[int]:
    """Return which of some accounts any campaign of the database has read; of others it may have stray posts."""
    both = (outcome.c.campaign == pick.c.campaign) & (outcome.c.n == pick.c.n)
    query = select(outcome.c.node).join_from(outcome, pick, both).where(match_keys(connection, outcome.c.node))
    with connection.begin():
        lookup = Lookup(connection, query.where(outcome.c.missing.is_(None), _make_reading_condition()).distinct())
        return {int(row[0]) for piece in _split_keys(nodes) for row in lookup.fetch_rows(piece)}


class PostContent(NamedTuple):
    """A post: its author's node, and what of it is counted (see `Topic.hits`), as far as told."""

    author: int
    text: str
    lang: str | None
    created_at: str | None
    urls: str | None
    names: str | None = None


def read_posts(
    connection: Connection, nodes: Iterable[int], platform: str, by: int | None = None
) -> Iterator[PostContent]:
    """Yield the posts of some accounts of a platform that the database has.

    Args:
        connection: the database.
        nodes: the accounts.
        platform: whose accounts they are.
        by: campaign.id: only the posts that it read when it visited the accounts. Posts that searches brought speak of
            the topic, or mention somebody, more often than others. None: all posts, of any campaign.
    """
    query = select(post.c.id, post.c.author, *select_hit_columns(connection, platform))
    with connection.begin():
        lookup = Lookup(connection, query.where(match_keys(connection, post.c.author)))
        visited = None if by is None else _Visited(connection, by)
        for piece in _split_keys(nodes, 500):
            rows = lookup.fetch_rows(piece)
            yield from (
                PostContent(*row[1:]) for row in (rows if visited is None else visited.filter_read(piece, rows))
            )


def count_languages(connection: Connection, nodes: Iterable[int], by: int) -> Mapping[int, Mapping[str, int]]:
    """Count by language the posts that campaign `by` read when it visited some accounts, where it is known."""
    query = select(post.c.id, post.c.author, post.c.lang)
    found: dict[int, Counter[str]] = {}
    with connection.begin():
        lookup = Lookup(connection, query.where(match_keys(connection, post.c.author), post.c.lang.is_not(None)))
        visited = _Visited(connection, by)
        for piece in _split_keys(nodes, 500):
            for _, author, lang in visited.filter_read(piece, lookup.fetch_rows(piece)):
                found.setdefault(int(author), Counter())[lang] += 1
    return found


class _Visited:
    """The posts that a campaign read when it visited accounts, as the ledger has them."""

    def __init__(self, connection: Connection, campaign: int) -> None:
        first, origin = request.alias("first"), request.alias("origin")  # a held answer is that of an earlier request
        same = (first.c.digest == request.c.digest) & (first.c.id < request.c.id) & first.c.post_ids.is_not(None)
        newest = select(func.max(first.c.id)).where(same).correlate(request).scalar_subquery()
        came = select(origin.c.post_ids).where(origin.c.id == newest).correlate(request).scalar_subquery()
        held = (request.c.kind == literal_column("'held'")) & request.c.post_ids.is_(None)
        ids = case((held, came), else_=request.c.post_ids)
        both = (request.c.campaign == pick.c.campaign) & (request.c.n == pick.c.n)
        pages = select(pick.c.node, request.c.posts, ids).join_from(pick, request, both)
        mine = (
            (pick.c.campaign == literal_column(str(int(campaign))))
            & _make_reading_condition()
            & (request.c.posts > literal_column("0"))
        )
        self._pages = Lookup(connection, pages.where(mine, match_keys(connection, pick.c.node)))

    def filter_read(self, nodes: Sequence[int], rows: Iterable[Any]) -> Iterator[Any]:
        """Yield those rows (post.id, author, ...) of `nodes` that were read; all where the ledger says nothing."""
        read: dict[int, set[str]] = {node: set() for node in nodes}
        for node, _, ids in self._pages.fetch_rows(list(nodes)):
            if ids is None:
                read.pop(node, None)
            elif node in read:
                read[node].update(orjson.loads(ids))
        return (row for row in rows if row[1] not in read or row[0] in read[row[1]])


def _make_reading_condition() -> ColumnElement[bool]:
    """Return the condition that a pick reads an account; without parameters, as a Lookup has none but its keys."""
    return pick.c.act.in_([literal_column(f"'{act}'") for act in READ])


def _split_keys(keys: Iterable[Key], size: int = SOME) -> Iterator[list[Key]]:
    """Yield keys, each once, some at a time."""
    unique = list(dict.fromkeys(keys))
    return (unique[begin : begin + size] for begin in range(0, len(unique), size))


def _read_table(connection: Connection, query: Select[tuple[int, ...]], width: int) -> Ints:
    with connection.begin():
        return read_numbers(connection, query).reshape(-1, width)
