"""The tables of an export: their columns, and their rows in an order that depends on the data alone."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Select, func, literal, select, table
from sqlalchemy import column as field
from sqlalchemy import null as nothing

from socialcrawl.exporters.columns import Column, Person
from socialcrawl.exporters.decision_tables import read_seeds, read_shadows, read_versions
from socialcrawl.exporters.selection import ExportSelection, accounts, places, posts, read_page
from socialcrawl.storage.queries.traces import CampaignTraces, find_drawn
from socialcrawl.storage.schema.tables import (
    account,
    campaign,
    hit,
    link,
    mention,
    outcome,
    pick,
    post,
    request,
    sampled,
    standing,
)

LAST = 2**31 - 1  # a place behind all others
Row = tuple[Any, ...]
POST = (
    "created_at", "text", "lang", "conversation_id", "reply_to", "repost_of", "quote_of", "hashtags", "urls", "likes",
    "replies", "reposts", "quotes", "bookmarks", "views", "original", "metrics_at", "fetched_at",
)  # fmt: skip
PROFILE = (
    "description", "created_at", "followers", "following", "posts", "listed", "protected", "verified", "url",
    "profile_at", "first_seen_at",
)  # fmt: skip
LEDGER = (
    "endpoint", "credential", "items", "most", "sent_at", "arrived_at", "kind", "status", "posts", "cost", "new_posts",
    "new_users",
)  # fmt: skip
STANDING = (
    "visits", "visited_at", "relevance", "occurrences", "indegree", "outlinks", "yield", "link_score", "importance",
    "history", "gone",
)  # fmt: skip
INWARD = "inward"  # the act whose links lead to the account that was asked about
LIVENESS = ("active", "status", "last_active_at", "checked_at")
TIMES = {"created_at", "metrics_at", "fetched_at", "profile_at", "first_seen_at", "sent_at", "arrived_at"}
TEXTS = {"lang", "endpoint", "kind"}
HOLDS = {
    "text": "prose", "conversation_id": "post", "reply_to": "post", "repost_of": "post", "quote_of": "post",
    "hashtags": "words", "urls": "words", "original": "own", "description": "own", "url": "own", "credential": "own",
}  # fmt: skip


class ExportTable(NamedTuple):
    """A table of an export: its name, what its rows are, its columns, and its rows for a choice."""

    name: str
    about: str
    columns: tuple[Column, ...]
    rows: Callable[[ExportSelection], Iterator[Row]]


def _make_columns(*names: str) -> tuple[Column, ...]:
    """Return columns as they are in the database."""
    return tuple(Column(name, _find_kind(name), HOLDS.get(name, "")) for name in names)  # type: ignore[arg-type]


def _find_kind(name: str) -> str:
    if name in TIMES:
        return "time"
    if name in ("hashtags", "urls"):
        return "list"
    if name in ("protected", "verified"):
        return "bool"
    return "text" if name in TEXTS or name in HOLDS else "int"


def _read_posts(choice: ExportSelection) -> Iterator[Row]:
    found = literal(None) if choice.whole else func.coalesce(hit.c.occurrences, 0)
    who = (account.c.platform_id, account.c.username, account.c.name)
    query = select(post, *who, (nothing() if choice.whole else found).label("occurrences"))
    joined = query.join(posts, posts.c.id == post.c.id).join(account, account.c.node == post.c.author)
    if not choice.whole:
        joined = joined.outerjoin(hit, (hit.c.post == post.c.id) & (hit.c.campaign == choice.numbers[0]))
    named = _Named(choice)
    for row in choice.stream(joined.order_by(*choice.order_by_id(post.c.id))):
        given = row._asdict()
        for name in ("hashtags", "urls"):
            given[name] = orjson.loads(given[name]) if given[name] is not None else None
        person = Person(row.platform_id, row.username, row.name)
        mentions = named.find_mentioned(row.id)
        yield (
            person, row.id, *(given[name] for name in POST[:2]), mentions, *(given[name] for name in POST[2:]),
            person, row.author, row.occurrences,
        )  # fmt: skip


class _Named:
    """Whom posts mention, read along with them."""

    def __init__(self, choice: ExportSelection) -> None:
        self._rows = _read_mentions(choice)
        self._next = next(self._rows, None)

    def find_mentioned(self, key: str) -> list[Person]:
        """Return the people whom a post mentions; to be asked in the order of posts."""
        found: list[Person] = []
        while self._next is not None and self._next[0] == key:
            found.append(self._next[2])
            self._next = next(self._rows, None)
        return found


def _read_mentions(choice: ExportSelection) -> Iterator[Row]:
    who = (account.c.platform_id, account.c.username, account.c.name)
    query = select(mention, *who, places.c.position).join(posts, posts.c.id == mention.c.post)
    joined = query.join(account, account.c.node == mention.c.node).outerjoin(
        places, (places.c.post == mention.c.post) & (places.c.node == mention.c.node)
    )
    order = (*choice.order_by_id(mention.c.post), func.coalesce(places.c.position, LAST), mention.c.node)
    left = _filter_active(choice, joined.where(account.c.forgotten_at.is_(None)), mention.c.node)
    for row in choice.stream(left.order_by(*order)):
        person = Person(row.platform_id, row.username, row.name)
        yield row.post, row.node, person, person, row.kind, row.position


def _read_accounts(choice: ExportSelection) -> Iterator[Row]:
    query = select(account).join(accounts, accounts.c.node == account.c.node).order_by(account.c.node)
    for row in choice.stream(query):
        person = Person(row.platform_id, row.username, row.name)
        given = row._asdict()
        yield row.node, person, row.platform, person, person, row.name, *(given[name] for name in PROFILE)


def _select_rows(choice: ExportSelection, table: Any, *columns: Any) -> Select[Any]:
    """Return rows of the chosen campaigns, with the campaign's name first."""
    named = select(campaign.c.name.label("campaign"), *columns).join(campaign, campaign.c.id == table.c.campaign)
    return named.where(table.c.campaign.in_(choice.numbers))


def _read_picks(choice: ExportSelection) -> Iterator[Row]:
    asked = (pick.c.n, pick.c.batch, pick.c.node, pick.c.act, pick.c.score, pick.c.features, pick.c.since)
    found = (outcome.c.at, outcome.c.value, outcome.c.occurrences, outcome.c.posts, outcome.c.missing, outcome.c.mark)
    who = (account.c.platform_id, account.c.username, account.c.name)
    query = _select_rows(choice, pick, *asked, *found, *who).outerjoin(
        outcome, (outcome.c.campaign == pick.c.campaign) & (outcome.c.n == pick.c.n)
    )
    rows = query.outerjoin(account, account.c.node == pick.c.node)
    drawn = {name: find_drawn(CampaignTraces(choice.reader), name) for _, name in choice.campaigns}
    for row in choice.stream(_filter_active(choice, rows, pick.c.node).order_by(pick.c.campaign, pick.c.n)):
        person = Person(row.platform_id, row.username, row.name)
        yield (*row[:4], person, *row[4:14], drawn[row.campaign].get(row.n))


def _read_links(choice: ExportSelection) -> Iterator[Row]:
    source, target = account.alias("source"), account.alias("target")
    columns = (link.c.n, link.c.position, pick.c.act, pick.c.node, link.c.node, link.c.alpha)
    both = (source.c.platform_id, source.c.username, target.c.platform_id, target.c.username)
    query = _select_rows(choice, link, *columns, *both)
    joined = query.join(pick, (pick.c.campaign == link.c.campaign) & (pick.c.n == link.c.n))
    named = joined.outerjoin(source, source.c.node == pick.c.node).outerjoin(target, target.c.node == link.c.node)
    # A search has links too: to the authors that it found.
    for row in choice.stream(
        _filter_active(choice, named, pick.c.node, link.c.node).order_by(link.c.campaign, link.c.n, link.c.position)
    ):
        name, n, position, act, node, other, alpha, *who = row
        ends = (node, Person(who[0], who[1])), (other, Person(who[2], who[3]))
        first, second = ends[::-1] if act == INWARD else ends  # who mentions somebody links to him
        yield name, n, position, *first, *second, alpha


def _filter_active(choice: ExportSelection, query: Select[Any], *nodes: Any) -> Select[Any]:
    """Return the rows of a query, but where only those found active are exported those that are of nobody else."""
    for node in nodes if choice.active else ():
        query = query.where(node.in_(select(accounts.c.node)))
    return query


def _read_liveness(choice: ExportSelection) -> Iterator[Row]:
    view = table("liveness", *map(field, ("campaign", "node", "n", *LIVENESS)))
    who = (account.c.platform_id, account.c.username, account.c.name)
    tests = (
        select(view, *who)
        .join(account, account.c.node == view.c.node)
        .join(campaign, campaign.c.name == view.c.campaign)
    )
    ours = _filter_active(choice, tests.where(campaign.c.id.in_(choice.numbers)), view.c.node)
    for row in choice.stream(ours.order_by(campaign.c.id, view.c.n)):
        person = Person(row.platform_id, row.username, row.name)
        name, node, n, active, status, last, at = row[:7]
        yield name, node, person, person, bool(active), status, last, at, n


def _read_hits(choice: ExportSelection) -> Iterator[Row]:
    query = _select_rows(choice, hit, hit.c.post, hit.c.occurrences).join(posts, posts.c.id == hit.c.post)
    for row in choice.stream(query.order_by(hit.c.campaign, *choice.order_by_id(hit.c.post))):
        yield tuple(row)


def _read_standings(choice: ExportSelection) -> Iterator[Row]:
    who = (account.c.platform_id, account.c.username, account.c.name)
    query = _select_rows(choice, standing, standing.c.node, *(standing.c[name] for name in STANDING), *who)
    rows = query.join(account, account.c.node == standing.c.node)
    for row in choice.stream(
        _filter_active(choice, rows, standing.c.node).order_by(standing.c.campaign, standing.c.node)
    ):
        yield (*row[:2], Person(row.platform_id, row.username, row.name), *row[2 : 2 + len(STANDING)])


def _read_sampled(choice: ExportSelection) -> Iterator[Row]:
    who = (account.c.platform_id, account.c.username, account.c.name)
    drawn = (sampled.c.visits, sampled.c.weight, sampled.c.degree)
    rows = _select_rows(choice, sampled, sampled.c.node, *drawn, *who).join(account, account.c.node == sampled.c.node)
    for row in choice.stream(_filter_active(choice, rows, sampled.c.node).order_by(sampled.c.campaign, sampled.c.node)):
        yield (*row[:2], Person(row.platform_id, row.username, row.name), *row[2:5])


def _read_requests(choice: ExportSelection) -> Iterator[Row]:
    more = (request.c.params, request.c.digest, request.c.post_ids, request.c.nodes)
    query = _select_rows(
        choice, request, request.c.id, request.c.n, request.c.part, *(request.c[n] for n in LEDGER), *more
    )
    for rows in choice.reader.execute(query.order_by(request.c.id).execution_options(yield_per=200)).partitions(200):
        pages = [read_page(choice, row)[0] for row in rows]
        there = _find_exported(choice, [key for page in pages for key in page])
        for row, page in zip(rows, pages, strict=True):
            asked = orjson.loads(row.params).get("query")
            yield (*row[: 4 + len(LEDGER)], asked, [key for key in page if key in there] if page else None)


def _find_exported(choice: ExportSelection, keys: list[str]) -> set[str]:
    """Return which of these posts the export has."""
    found: set[str] = set()
    for start in range(0, len(keys), 500):
        some = select(posts.c.id).where(posts.c.id.in_(keys[start : start + 500]))
        found.update(choice.reader.execute(some).scalars())
    return found


SHEETS = (
    ExportTable(
        "posts",
        "one row per post, oldest id first",
        (
            Column("author", holds="person"), Column("id", holds="post"), *_make_columns(*POST[:2]),
            Column("mentions", "list", "people"), *_make_columns(*POST[2:]), Column("author_id", holds="user id"),
            Column("author_node", "int", "node"), Column("occurrences", "int"),
        ),
        _read_posts,
    ),
    ExportTable(
        "accounts",
        "one row per account that was read, wrote a post or was mentioned",
        (
            Column("node", "int", "node"), Column("account", holds="person"), Column("platform"),
            Column("platform_id", holds="user id"), Column("username", holds="username"), Column("name", holds="own"),
            *_make_columns(*PROFILE),
        ),
        _read_accounts,
    ),
    ExportTable(
        "mentions",
        "which account is mentioned in which post; position: its place among the post's mentions, if known",
        (
            Column("post", holds="post"), Column("node", "int", "node"), Column("account", holds="person"),
            Column("account_id", holds="user id"), Column("kind"), Column("position", "int"),
        ),
        _read_mentions,
    ),
    ExportTable(
        "picks",
        "one row per decision, with its outcome",
        (
            Column("campaign"), Column("n", "int"), Column("batch", "int"), Column("node", "int", "node"),
            Column("account", holds="person"), Column("act"), Column("score", "float"), Column("features"),
            Column("since", holds="own"), Column("at", "time"), Column("value", "float"), Column("occurrences", "int"),
            Column("posts", "int"), Column("missing", holds="why"), Column("mark", holds="own"), Column("drawn"),
        ),
        _read_picks,
    ),
    ExportTable(
        "shadows",
        "scores by shadows: estimators that score each pick and do not decide",
        (Column("campaign"), Column("n", "int"), Column("estimator"), Column("score", "float")),
        read_shadows,
    ),
    ExportTable(
        "versions",
        "the settings of campaigns, one row per change",
        (
            Column("campaign"), Column("number", "int"), Column("at", "time"), Column("first", "int"),
            Column("settings", holds="own"), Column("changed", "list"),
        ),
        read_versions,
    ),
    ExportTable(
        "seeds",
        "the seeds of campaigns, in order",
        (
            Column("campaign"), Column("position", "int"), Column("node", "int", "node"),
            Column("account", holds="person"),
        ),
        read_seeds,
    ),
    ExportTable(
        "links",
        "the links of the graph as each pick found them; links of a search lead to the authors",
        (
            Column("campaign"), Column("n", "int"), Column("position", "int"), Column("source", "int", "node"),
            Column("source_account", holds="person"), Column("target", "int", "node"),
            Column("target_account", holds="person"), Column("alpha", "float"),
        ),
        _read_links,
    ),
    ExportTable(
        "hits",
        "posts that match the topic of a campaign",
        (Column("campaign"), Column("post", holds="post"), Column("occurrences", "int")),
        _read_hits,
    ),
    ExportTable(
        "standings",
        "tracked accounts: importance, links and visits, as last computed",
        (
            Column("campaign"), Column("node", "int", "node"), Column("account", holds="person"),
            Column("visits", "int"), Column("visited_at", "time"), Column("relevance", "float"),
            Column("occurrences", "int"), Column("indegree", "float"), Column("outlinks", "float"),
            Column("yield", "float"), Column("link_score", "float"), Column("importance", "float"),
            Column("history", "float"), Column("gone", holds="why"),
        ),
        _read_standings,
    ),
    ExportTable(
        "liveness",
        "one row per account of an old dataset that was checked: whether it was active",
        (
            Column("campaign"), Column("node", "int", "node"), Column("account", holds="person"),
            Column("platform_id", holds="user id"), Column("active", "bool"), Column("status", holds="why"),
            Column("last_active_at", "time"), Column("checked_at", "time"), Column("n", "int"),
        ),
        _read_liveness,
    ),
    ExportTable(
        "sampled",
        "accounts on topic that a sample has drawn; weight: their weight in means and shares, in sum 1",
        (
            Column("campaign"), Column("node", "int", "node"), Column("account", holds="person"),
            Column("visits", "int"), Column("weight", "float"), Column("degree", "int"),
        ),
        _read_sampled,
    ),
    ExportTable(
        "requests",
        "the ledger: one row per request, with the posts that it returned",
        (
            Column("campaign"), *_make_columns("id", "n", "part", *LEDGER), Column("query", holds="prose"),
            Column("post_ids", "list", "posts"),
        ),
        _read_requests,
    ),
)  # fmt: skip
"""All tables of an export."""
