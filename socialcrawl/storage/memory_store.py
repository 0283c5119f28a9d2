"""The store without a database: for the laboratory and for tests. It forgets everything with its process."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan

from socialcrawl.engine.mark_order import is_between
from socialcrawl.engine.model import (
    OWN_PART,
    READ_BEFORE,
    USEFUL,
    AccountRow,
    Act,
    Answer,
    Grant,
    Mention,
    Node,
    Outcome,
    Page,
    Pick,
    PostRow,
    Reply,
    ReplyKind,
    Request,
    RequestPart,
    SameAs,
    Who,
    format_time,
)
from socialcrawl.engine.protocols import Batch, History, Ledger
from socialcrawl.graph.recount import find_repeats
from socialcrawl.graph.relevance import Links
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage import answer_packing
from socialcrawl.storage.ledger.charges import MemoryCharges, compute_bill
from socialcrawl.storage.nodes import parse_account
from socialcrawl.storage.queries.judgement import ScoredPicks, collect_scores

AGAIN = (Act.SEED, Act.MATCH, Act.PAGE)  # acts after which a further page may be read


class MemoryStore:
    """What one campaign remembers, in lists and dictionaries; the same contract as the SQL store.

    Args:
        tariff: the prices of what is billed once a UTC day; None where every reading is billed.
        links: what makes a link.
    """

    def __init__(self, tariff: Tariff | None = None, links: Links = answer_packing.ALIKE) -> None:
        self.tariff, self.links, self._charges = tariff, links, MemoryCharges()
        self._accounts = _AccountNumbers()
        self._open: Batch = ()
        self._history: list[tuple[Batch, Sequence[Outcome]]] = []
        self._ledger: list[tuple[Grant, Reply | None]] = []
        self._replies: dict[tuple[int, int], Reply] = {}
        self._first: dict[int, dict[str, int]] = {}  # by pick.n, the pages that first had its posts
        self._pages: dict[int, dict[int, Page]] = {}  # of the open batch and of searches, by pick.n and part
        self._searched: set[int] = set()  # picks that searched a span, whose pages authors are read from
        self._known: dict[Node, dict[int, Page]] = {}  # of the latest pick that read an account
        self._shadows: dict[int, dict[str, float]] = {}  # by pick.n

    def enlist(self, usernames: Sequence[str], now: float) -> list[Node]:
        """Return the nodes of accounts that a person names; see `SqlStore.enlist`."""
        whos = [parse_account(name) for name in usernames]
        claims = [self._accounts.find_by_name(name) for name in usernames]
        numbers = self._accounts.number(whos)
        return [Node(numbers[who] if claim is None else claim) for who, claim in zip(whos, claims, strict=True)]

    def open(self, batch: Batch) -> None:
        """See `protocols.Store.open`."""
        self._open, self._replies = _strip_shadows(batch), {}
        self._shadows |= {pick.n: _read_numbers(pick) for pick in batch if pick.shadows}

    def accounts(self, nodes: Sequence[Node]) -> Mapping[Node, Who]:
        """See `protocols.Store.accounts`."""
        known = self._accounts.known
        return {node: known[node] for node in nodes if 0 <= node < len(known)}

    def reserve(self, grant: Grant) -> None:
        """See `protocols.Store.reserve`."""
        self._ledger.append((grant, None))

    def save(self, grant: Grant, reply: Reply) -> Reply:
        """See `protocols.Store.save`."""
        reply = replace(reply, items=grant.request.items)
        if isinstance(reply.rows, Page):
            billed = compute_bill(grant, reply, reply.rows, self.tariff, self._charges)
            n, part = grant.request.key
            self._pages.setdefault(n, {})[part] = reply.rows
            repeats = find_repeats(self._first.setdefault(n, {}), [row.id for row in reply.rows.posts], part)
            reply = replace(reply, rows=self._keep(reply.rows, format_time(reply.at), repeats), cost=billed.cost)
        place = next(i for i in reversed(range(len(self._ledger))) if self._ledger[i][0] is grant)
        self._ledger[place] = (grant, reply)
        if reply.kind in USEFUL:
            self._replies[grant.request.key] = reply
        return reply

    def held(self, request: Request, now: float) -> Reply | None:
        """See `protocols.Store.held`: the laboratory, which lives here, buys nothing twice; only parts are answered."""
        if not request.endpoint.endswith((OWN_PART, READ_BEFORE)):
            return None
        n, part = request.key
        node = next(pick.node for pick in self._open if pick.n == n)
        number = request.params.get("of") or request.params.get("searched")
        pages = self._known.get(node, {}) if number is None else self._pages.get(int(number), {})
        own = _select_posts([page for _, page in sorted(pages.items())], self._accounts.known[node].id, request.params)
        read = [page for other, page in self._pages.get(n, {}).items() if not RequestPart.is_authors(other)]
        known = {row.id for page in read for row in page.posts} if "searched" in request.params else frozenset[str]()
        repeats = frozenset(place for place, row in enumerate(own.posts) if row.id in known)
        self._pages.setdefault(n, {})[part] = own
        find_repeats(self._first.setdefault(n, {}), [row.id for row in own.posts], part)
        reply = Reply(ReplyKind.HELD, now, self._keep(own, format_time(now), repeats), limits=[])
        self._replies[request.key] = reply
        return reply

    def replies(self, batch: Batch) -> Mapping[tuple[int, int], Reply]:
        """See `protocols.Store.replies`."""
        return dict(self._replies) if batch else {}

    def finish(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """See `protocols.Store.finish`."""
        self._history.append((_strip_shadows(batch), list(outcomes)))
        for pick, outcome in zip(batch, outcomes, strict=True):
            if pick.act in AGAIN and outcome.missing is None:
                pages = self._pages.get(pick.n, {})
                self._known[pick.node] = {part: page for part, page in pages.items() if part < RequestPart.MATCHED}
        self._open, self._replies = (), {}
        self._first.clear()
        self._searched |= {pick.n for pick in batch if pick.act == Act.SEARCH and pick.since}
        self._pages = {n: pages for n, pages in self._pages.items() if n in self._searched}

    def unfinished(self) -> Batch:
        """See `protocols.Store.unfinished`."""
        return self._open

    def history(self) -> History:
        """See `protocols.Store.history`."""
        return list(self._history)

    def imported(self, batch: Batch) -> History:
        """See `protocols.Store.imported`: nothing is imported here."""
        return ()

    def receive(self, now: float) -> History:
        """See `protocols.Store.receive`: there is no other campaign here."""
        return ()

    def ledger(self) -> Ledger:
        """See `protocols.Store.ledger`."""
        return list(self._ledger)

    def collect_scores(self) -> ScoredPicks | None:
        """Return what the estimators thought of the picks; see `judgement.read_scores`."""
        return collect_scores(self._history, self._shadows)

    def _keep(self, page: Page, now: str, repeats: frozenset[int]) -> Answer:
        same = self._accounts.store_profiles(page.accounts, now)
        numbers = self._accounts.number(answer_packing.list_accounts(page))
        return answer_packing.build_answer(
            page, numbers, same, answer_packing.collect_mentions(page, numbers), self.links, repeats=repeats
        )


def _select_posts(pages: Sequence[Page], author: str | None, params: Mapping[str, str]) -> Page:
    """Return the posts of pages that one account wrote, each once, as a page; between marks, if `params` has any."""
    rows: list[PostRow] = []
    hits: list[int] = []
    mentions: list[Mention] = []
    for page in pages:
        known = {row.id for row in rows}
        own = [place for place, row in enumerate(page.posts) if row.author == author and row.id not in known]
        if (after := params.get("after")) is not None:
            own = [place for place in own if is_between(page.posts[place].id, after, params["until"])]
        places = {place: len(rows) + i for i, place in enumerate(own)}
        rows += [page.posts[place] for place in own]
        hits += [page.hits[place] for place in own]
        mentions += [one._replace(post=places[one.post]) for one in page.mentions if one.post in places]
    return Page(rows, hits, mentions)


def _strip_shadows(batch: Batch) -> Batch:
    """Return picks without the scores of shadow estimators."""
    return tuple(replace(pick, shadows=()) if pick.shadows else pick for pick in batch)


def _read_numbers(pick: Pick) -> dict[str, float]:
    return {name: score for name, score in pick.shadows if not isnan(score)}


class _AccountNumbers:
    """Who is whom; the same rules as `nodes.Nodes`."""

    def __init__(self) -> None:
        self.known: list[Who] = []
        self._by_id: dict[str, int] = {}
        self._by_handle: dict[str, set[int]] = {}  # all that have a name now
        self._profiled: dict[int, str] = {}

    def number(self, everyone: Iterable[Who]) -> dict[Who, int]:
        """Return the number of each account; unknown ones get the next numbers, those with an id first."""
        whos = list(dict.fromkeys(everyone))
        numbers = {}
        for who in whos:
            if who.id is not None and who.id not in self._by_id and who.username:
                self._adopt(who.id, who.username)
        for who in whos:
            if who.id is not None:
                numbers[who] = self._find_by_id(who.id, who.username)
        for who in whos:
            if who.id is None:
                holder = self._find_holder(str(who.username))
                numbers[who] = self._add_account(who) if holder is None else holder
        return numbers

    def find_by_name(self, username: str) -> int | None:
        """Return the first account that was stored by this name and has no id still."""
        named = self._by_handle.get(username.lower(), ())
        return min((node for node in named if self.known[node].id is None), default=None)

    def store_profiles(self, rows: Sequence[AccountRow], now: str) -> dict[int, SameAs]:
        """Keep the names of profiles; the accounts that turn out to be another one."""
        numbers = self.number([Who(row.id, row.username) for row in rows])
        by_handle = {row.username.lower(): numbers[Who(row.id, row.username)] for row in rows}
        same = {
            claim: SameAs(Node(node))
            for handle, node in by_handle.items()
            for claim in self._by_handle.get(handle, ())
            if self.known[claim].id is None and claim != node
        }
        for row in rows:
            node = self._by_id[row.id]
            self._rename(node, row.username)
            self._profiled[node] = now
        return same

    def _find_by_id(self, key: str, username: str | None) -> int:
        node = self._by_id.get(key)
        if node is None:
            return self._add_account(Who(key, username))
        if self.known[node].username is None and username:
            self._rename(node, username)
        return node

    def _add_account(self, who: Who) -> int:
        node = len(self.known)
        self.known.append(Who(who.id, None))
        if who.id is not None:
            self._by_id[who.id] = node
        if who.username:
            self._rename(node, who.username)
        return node

    def _rename(self, node: int, username: str) -> None:
        key, before = self.known[node]
        if before:
            self._by_handle[before.lower()].discard(node)
        self.known[node] = Who(key, username)
        self._by_handle.setdefault(username.lower(), set()).add(node)

    def _adopt(self, key: str, username: str) -> None:
        """Give an id to the account that is known by that name only."""
        holder = self._find_holder(username)
        if holder is not None and self.known[holder].id is None:
            self.known[holder] = Who(key, self.known[holder].username)
            self._by_id[key] = holder

    def _find_holder(self, username: str) -> int | None:
        """Return the account that holds a name: first one with an id, then the last seen with it, then the first."""
        return max(self._by_handle.get(username.lower(), ()), key=self._make_rank, default=None)

    def _make_rank(self, node: int) -> tuple[bool, str, int]:
        return self.known[node].id is not None, self._profiled.get(node, ""), -node
