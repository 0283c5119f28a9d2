"""The ledger without what goes: parameters, pages and kept answers, and what is left of the pages each pick read."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from sqlalchemy import Connection, Select, exists, func, select

from socialcrawl.engine.model import USEFUL, Answer, ReplyKind, RequestPart
from socialcrawl.graph.recount import Recount
from socialcrawl.platforms.facts import ID_PARAMETERS, NAME_PARAMETERS, POST_PARAMETERS
from socialcrawl.ratelimit.policy import parse_host
from socialcrawl.storage import answer_packing
from socialcrawl.storage.answer_packing import StoredPage, parse_page
from socialcrawl.storage.database.bulk import make_update, select_by_keys
from socialcrawl.storage.erasure import dry_run
from socialcrawl.storage.erasure.ownership import is_owned
from socialcrawl.storage.erasure.targets import ErasureTargets, gone_post
from socialcrawl.storage.erasure.texts import STANDIN
from socialcrawl.storage.link_weights import LinkWeigher, read_link_settings
from socialcrawl.storage.schema.tables import campaign as table
from socialcrawl.storage.schema.tables import hit, request

CHUNK = 2_000  # rows read at a time
CLEANED = ("params", "digest", "cursor", "post_ids", "nodes", "answer")
QUERY, AUTHOR = "query", re.compile(r"\bfrom:(?P<key>\w+)", re.ASCII)
TOKENS = ("pagination_token", "next_token", "cursor", "max_id", "since_id", "after")  # of the answer before, or a visit
Key = tuple[int, int]
"""A pick: campaign.id, pick.n."""


@dataclass(slots=True)
class PickRecount:
    """What a pick read: the sum of the posts that are left, and that of those that go, as if none matched.

    `unknown` says that the ledger does not know the posts of one of its pages.
    """

    left: Recount = field(default_factory=Recount)
    lost: Recount = field(default_factory=Recount)
    unknown: bool = False

    def add(
        self, page: StoredPage, gone: ErasureTargets, counts: Mapping[str, int], linking: LinkWeigher, part: int = 0
    ) -> None:
        """Add a page; `counts` are the occurrences in posts."""
        going = [key for key in page.ids if key in gone.posts]
        if going:
            linking.add(self.lost, page.select(going)._replace(follows=()), {}, part)
            page = page.select({*page.ids}.difference(going))
        linking.add(self.left, page, counts, part)


@dataclass(slots=True)
class LedgerChanges:
    """What one pass over the ledger found: rows to write, picks that read what goes, campaigns with an open answer."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    read: dict[Key, PickRecount] = field(default_factory=dict)
    reopened: set[int] = field(default_factory=set)


class MatchCounts:
    """The occurrences of a campaign's topic in posts, by id.

    Args:
        connection: the database, in a transaction.
        few: whether those of few pages are wanted; else those of a campaign are read at once.
    """

    def __init__(self, connection: Connection, *, few: bool = False) -> None:
        self.connection, self.few = connection, few
        self._of: dict[int, dict[str, int]] = {}

    def read_campaign(self, campaign: int) -> Mapping[str, int]:
        """Return the occurrences in each post that matches the campaign's topic."""
        if campaign not in self._of:
            wanted = select(hit.c.post, hit.c.occurrences).where(hit.c.campaign == campaign)
            self._of = {campaign: {row.post: row.occurrences for row in self.connection.execute(wanted)}}
        return self._of[campaign]

    def read_page(self, campaign: int, page: StoredPage) -> Mapping[str, int]:
        """Return the occurrences in the posts of a page, at least."""
        if not self.few:
            return self.read_campaign(campaign)
        wanted = select(hit.c.post, hit.c.occurrences).where(hit.c.campaign == campaign)
        return {row.post: row.occurrences for row in select_by_keys(self.connection, wanted, hit.c.post, page.ids)}


def scan_ledger(connection: Connection, gone: ErasureTargets) -> LedgerChanges:
    """Return what of the ledger changes, read once in order of campaigns; nothing is written.

    Where posts alone go, and no campaign asked for them by id, only the picks that read one of them are looked at.
    """
    few = not (gone.nodes or gone.names or gone.ids or gone.asked)
    held = select(request.c.digest).distinct().where(request.c.kind == ReplyKind.HELD)
    origins = _read_origins(connection, connection.execute(held).scalars().all())
    rows = _read_rows_of_posts(connection) if few else _read_rows(connection)
    return _scan_rows(rows, gone, MatchCounts(connection, few=few), origins, _find_last_answers(connection))


def scan_picks(connection: Connection, gone: ErasureTargets, picks: Collection[Key]) -> LedgerChanges:
    """Return what of the ledger changes in the rows of some picks, if posts alone go; nothing is written."""
    rows = list(_read_rows_of_picks(connection, picks))
    origins = _read_origins(connection, {row.digest for row in rows if _is_copy(row)})
    last = {(row.campaign, row.n, row.part): row.id for row in rows if row.kind in USEFUL}
    return _scan_rows(rows, gone, MatchCounts(connection, few=True), origins, last)


def _scan_rows(
    rows: Iterable[Any],
    gone: ErasureTargets,
    hits: MatchCounts,
    origins: Mapping[str, StoredPage],
    last: Mapping[tuple[int, int, int], int],
) -> LedgerChanges:
    found, linked = LedgerChanges(), read_link_weighers(hits.connection)
    for row in rows:
        came = origins.get(row.digest) if _is_copy(row) else parse_page(row)
        if row.kind in USEFUL and last.get((row.campaign, row.n, row.part), row.id) == row.id:
            _add_page(found.read, row, came, gone, hits, linking=linked[row.campaign])
        mine = found.read.get((row.campaign, row.n), PickRecount())
        cleaned = _clean_row(row, came, gone, hits, mine, linking=linked[row.campaign])
        if cleaned is not None:
            found.rows.append((*cleaned, row.id))
            if cleaned[-1] != row.answer:
                found.reopened.add(row.campaign)
    return found


def write_changes(connection: Connection, ledger: LedgerChanges) -> int:
    """Return the number of rows of the ledger that were cleaned; they are written."""
    statement = make_update(connection, request, CLEANED, "id")
    for begin in range(0, len(ledger.rows), CHUNK):
        dry_run.write_rows(statement, ledger.rows[begin : begin + CHUNK])
    return len(ledger.rows)


def _read_rows(connection: Connection) -> Iterator[Any]:
    query = _select_rows()
    for campaign in (
        connection.execute(select(request.c.campaign).distinct().order_by(request.c.campaign)).scalars().all()
    ):
        last = -1
        while True:
            after = query.where(request.c.campaign == campaign, request.c.id > last).order_by(request.c.id)
            rows = connection.execute(after.limit(CHUNK)).all()
            yield from rows
            if len(rows) < CHUNK:
                break
            last = rows[-1].id


def _read_rows_of_posts(connection: Connection) -> Iterator[Any]:
    """Yield the rows of all picks that read a post that goes, also by an answer that was held."""
    find = func.instr if connection.dialect.name == "sqlite" else func.strpos
    naming = exists().where(find(request.c.post_ids, gone_post.c.id) > 0)
    read = select(request.c.campaign, request.c.n, request.c.digest).where(request.c.post_ids.is_not(None), naming)
    rows = connection.execute(read).all()
    picks = {(row.campaign, row.n) for row in rows}
    yield from _read_rows_of_picks(connection, picks | find_copying_picks(connection, {row.digest for row in rows}))


def find_copying_picks(connection: Connection, digests: Collection[str | None]) -> set[Key]:
    """Return the picks that were answered by what is held of requests with these digests."""
    held = select(request.c.campaign, request.c.n, request.c.digest).where(request.c.kind == ReplyKind.HELD)
    keys = sorted(key for key in digests if key is not None)
    return {(row.campaign, row.n) for row in select_by_keys(connection, held, request.c.digest, keys)}


def _read_rows_of_picks(connection: Connection, picks: Collection[Key]) -> Iterator[Any]:
    query = _select_rows()
    for campaign, n in sorted(picks):
        mine = query.where(request.c.campaign == campaign, request.c.n == n)
        yield from connection.execute(mine.order_by(request.c.id)).all()


def _select_rows() -> Select[Any]:
    names = ("id", "campaign", "n", "part", "kind", "posts", "endpoint", *CLEANED)
    return select(*(request.c[name] for name in names))


def _is_copy(row: Any) -> bool:
    """Return whether an answer is that of an earlier request, which alone has its posts."""
    return row.kind == ReplyKind.HELD and row.nodes is None


def _read_origins(connection: Connection, held: Collection[str | None]) -> dict[str, StoredPage]:
    """Return the page that each held answer was made of, by digest: the newest of the platform's own."""
    query = select(request.c.id, request.c.digest, request.c.post_ids, request.c.nodes)
    pages = query.where(request.c.nodes.is_not(None))
    known = select_by_keys(connection, pages, request.c.digest, [key for key in held if key is not None])
    rows = sorted(known, key=lambda row: row.id)
    return {row.digest: came for row in rows if (came := parse_page(row)) is not None}


def _find_last_answers(connection: Connection) -> dict[tuple[int, int, int], int]:
    """Return, of pages that were asked for again as their answer was forgotten, the row that counts: the last one."""
    key = (request.c.campaign, request.c.n, request.c.part)
    found = select(*key, func.max(request.c.id)).where(request.c.kind.in_(USEFUL))
    return {
        (row[0], row[1], row[2]): row[3] for row in connection.execute(found.group_by(*key).having(func.count() > 1))
    }


def read_link_weighers(connection: Connection) -> dict[int, LinkWeigher]:
    """Return what makes a link in each campaign, by its number."""
    query = select(table.c.id, table.c.settings, table.c.platform)
    rows = connection.execute(query).all()
    return {row.id: LinkWeigher(connection, read_link_settings(row.settings), row.platform) for row in rows}


def _add_page(
    read: dict[Key, PickRecount],
    row: Any,
    page: StoredPage | None,
    gone: ErasureTargets,
    hits: MatchCounts,
    *,
    linking: LinkWeigher,
) -> None:
    """Add a page to what its pick read."""
    if RequestPart.is_authors(row.part):
        return
    if not row.posts and not (page is not None and page.follows and linking.links.follows):
        return
    mine = read.setdefault((row.campaign, row.n), PickRecount())
    if page is None:
        mine.unknown = True
    else:
        mine.add(page, gone, hits.read_page(row.campaign, page), linking, row.part)


def _clean_row(
    row: Any,
    came: StoredPage | None,
    gone: ErasureTargets,
    hits: MatchCounts,
    read: PickRecount,
    *,
    linking: LinkWeigher,
) -> tuple[Any, ...] | None:
    """Return the new values of CLEANED for a row; None if it holds nothing that goes."""
    params, digest, cursor = redact_question(row, gone)
    page = None if came is None or _is_copy(row) else _clean(came, gone)
    answer = _clean_answer(row, came, gone, hits, read, linking=linking)
    post_ids, nodes = row.post_ids, row.nodes
    if came is not None and page is not None:
        post_ids = None if row.post_ids is None else orjson.dumps(page.ids).decode()
        nodes = answer_packing.pack_nodes(
            page.pairs, Answer(found=dict.fromkeys(page.found, ""), missing=page.missing, follows=page.follows)
        )
    elif row.post_ids is not None:
        ids = orjson.loads(row.post_ids)
        if any(key in gone.posts for key in ids):
            post_ids = orjson.dumps([key for key in ids if key not in gone.posts]).decode()
    new = (params, digest, cursor, post_ids, nodes, answer)
    return None if new == tuple(getattr(row, name) for name in CLEANED) else new


def redact_question(row: Any, gone: ErasureTargets) -> tuple[str, str | None, str | None]:
    """Remove the forgotten from parameters. A question that named them loses its digest, if alone its cursor."""
    params = orjson.loads(row.params)
    left, naming = dict(params), gone.facts.account_parameters
    for name, value in params.items():
        if naming is None or name in (*naming, *POST_PARAMETERS):
            keys = [str(value)] if name == "url" else str(value).split(",")
            stay = [key for key in keys if not _is_named(name, key, row.endpoint, gone)]
            left[name] = ",".join(stay) if len(stay) < len(keys) else value
    if params.get("acct") and not left["acct"]:
        left.pop("id", None)  # the number by which one instance knows the same account
    if left == params and QUERY in params:  # of posts of some accounts, which it names
        left[QUERY] = AUTHOR.sub(lambda found: _redact_author(found, gone), params[QUERY])
        if left != params:
            return orjson.dumps(left).decode(), None, row.cursor
    if left == params:
        return row.params, row.digest, row.cursor
    asked = [name for name in left if left[name] != params[name]] if naming is None else naming
    nobody = not any(left.get(name) for name in asked)
    left = {name: value for name, value in left.items() if value and not (nobody and name in TOKENS)}
    return orjson.dumps(left).decode(), None, None if nobody else row.cursor


def _redact_author(found: re.Match[str], gone: ErasureTargets) -> str:
    key = found["key"]
    return f"from:{STANDIN}" if key in gone.ids or key.lower() in gone.names else found[0]


def _is_named(param: str, key: str, endpoint: str, gone: ErasureTargets) -> bool:
    """Return whether a key in a parameter is that of a forgotten account or post; an instance's own have no domain."""
    if param in POST_PARAMETERS:
        return key in gone.asked or key in gone.posts or is_owned(key, gone.ids, gone.names)
    if param in ID_PARAMETERS:
        return key in gone.ids or key in gone.asked
    if param not in NAME_PARAMETERS and key in gone.ids:
        return True  # of another platform, whose parameters may be ids or names
    full_name = f"{key}@{parse_host(endpoint)}" if param == "acct" and "@" not in key else key
    return not gone.names.keys().isdisjoint((key.lower(), full_name.lower()))


def _clean(page: StoredPage, gone: ErasureTargets) -> StoredPage | None:
    """Return a page without what goes; None if there is nothing in it that does."""
    left = page.select({*page.ids}.difference(gone.posts))
    left = left._replace(
        pairs=[(place, node) for place, node in left.pairs if node not in gone.nodes],
        found=[node for node in page.found if node not in gone.nodes],
        missing={node: why for node, why in page.missing.items() if node not in gone.nodes},
        follows=tuple(node for node in page.follows if node not in gone.nodes),
    )
    return None if left == page else left


def _clean_answer(
    row: Any,
    came: StoredPage | None,
    gone: ErasureTargets,
    hits: MatchCounts,
    read: PickRecount,
    *,
    linking: LinkWeigher,
) -> str | None:
    """Return the answer that an open batch goes on from, without what goes; None: it has to be asked for again."""
    if row.answer is None:
        return None
    old = answer_packing.unpack_answer(row.answer)
    if came is None:  # a look-up; or posts of which the ledger does not know which
        return None if row.posts else _redact_settings(row.answer, old, gone)
    page = _clean(came, gone)
    if page is None:
        return _redact_settings(row.answer, old, gone)
    if row.kind == ReplyKind.HELD or not linking.plain:
        return None  # it can be made again of what is left
    count = Recount(first=read.left.first)
    linking.add(
        count, page._replace(follows=()), hits.read_page(row.campaign, page), row.part
    )  # the reading adds those itself
    new = replace(
        old, posts=count.posts, hits=count.hits, targets=[*count.targets], target_hits=[*count.targets.values()]
    )
    return _redact_settings(row.answer, new, gone)


def _redact_settings(text: str, old: Answer, gone: ErasureTargets) -> str:
    kept = [(node, hits) for node, hits in zip(old.targets, old.target_hits, strict=True) if node not in gone.nodes]
    new = replace(
        old,
        targets=[node for node, _ in kept],
        target_hits=[hits for _, hits in kept],
        found={node: key for node, key in old.found.items() if node not in gone.nodes},
        missing={node: why for node, why in old.missing.items() if node not in gone.nodes},
        follows=tuple(node for node in old.follows if node not in gone.nodes),
        active={node: at for node, at in old.active.items() if node not in gone.nodes},
    )
    packed = answer_packing.pack_answer(new)
    return text if packed == text else packed
