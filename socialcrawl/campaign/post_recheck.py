"""Looks up stored posts, those first that were looked up longest ago, to find which of them are to be deleted.

A post counts as deleted when two look-ups, at least APART seconds apart, did not return it. An answer that shows none
of the posts that were requested is no evidence: the server may know nothing. So a request for several posts names
witnesses besides, posts that the server is expected to show. Where a request can name one post only, witnesses are
requested first; where none comes, absent posts wait until the server shows one. What fails is no evidence either: a
request that the campaign's own server does not answer is tried again for fewer posts, until the one that it fails on is
left to the next round.

What an answer says is stored before the next request leaves (`storage.stored_rechecks`), so that a process that is
killed goes on where it was, and requests at most a few posts again.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from heapq import heappush, heappushpop, nsmallest
from itertools import islice
from math import inf
from typing import Any

from socialcrawl.campaign.deletion_check import CheckProgress, DeletionCheck, JobResult, WindowWaitError
from socialcrawl.engine.model import FAILED, Reply, ReplyKind, Stop, Wait, format_time
from socialcrawl.errors import SourceError
from socialcrawl.platforms.post_checks import ShownPosts, SoughtCopy, StoredPostLookUp, read_shown
from socialcrawl.storage import stored_checks, stored_rechecks
from socialcrawl.storage.erasure.forgetting import DELETED
from socialcrawl.storage.erasure.orders import ErasureOrder
from socialcrawl.storage.stored_checks import StoredJob
from socialcrawl.storage.stored_rechecks import ABSENT, GONE, UNANSWERED, RowStart, StoredPost

APART = 86_400.0  # seconds between the two look-ups that have to miss a post
FEW = 20  # absent posts that wait for a witness before the server is asked for that
SILENT = 3  # requests in a row that showed nothing, after which a server is passed over
LIKELY, DRAWN = 4, 8  # witnesses of a server: those that it showed last or that are newest, and others by lot
AT_FIRST = 4  # witnesses that a request names as long as the server has shown nothing
TRIES = 3  # failures of the campaign's own server in a row, after which a request names half as many posts
TOGETHER = 600.0  # seconds within which posts are absent that wait for their second look-up together
LASTING = 30.0  # seconds after which others may have their turn
AT_ONCE = 10_000  # posts that are read into memory
LATER = (ReplyKind.WINDOW, ReplyKind.DAY, ReplyKind.BACKOFF)  # the server is well, and says to come back


@dataclass(slots=True)
class SoughtServer:
    """What is to be looked up on a server, and what it has shown.

    Attributes:
        due: posts that are to be looked up, in order, each with its place among those of all servers.
        aside: posts that did not come, of which that is no evidence yet.
        witnesses: posts that it is expected to show, the likeliest first.
        silent: requests in a row that showed nothing.
        is_proved: whether it has shown a post since it was asked first: what it says is absent counts, then.
        blocked: when it may be asked again, and why; None: now.
    """

    due: deque[tuple[int, SoughtCopy]] = field(default_factory=deque)
    aside: list[SoughtCopy] = field(default_factory=list)
    witnesses: deque[SoughtCopy] = field(default_factory=deque)
    silent: int = 0
    is_proved: bool = False
    blocked: Wait | None = None


@dataclass(slots=True)
class DuePosts:
    """What is to be looked up.

    Attributes:
        servers: by their hosts.
        posts: the posts that a copy stands for: itself, and reposts of it.
        count: how many posts are due, also those that are left to the next reading.
        unknown: posts of which the campaign knows no id on a server that it asks.
        absent: the begins of the rows of posts that were absent once.
    """

    servers: dict[str, SoughtServer] = field(default_factory=dict)
    posts: dict[SoughtCopy, list[StoredPost]] = field(default_factory=dict)
    count: int = 0
    unknown: int = 0
    absent: frozenset[str] = frozenset()


@dataclass(slots=True)
class PostRecheck(DeletionCheck):
    """The check of a campaign by look-ups, while the campaign is open.

    Args:
        checks: how its platform is asked.
        at_once: how many posts are read into memory.
    """

    checks: StoredPostLookUp
    at_once: int = AT_ONCE
    _over: set[str] = field(default_factory=set)  # servers that are passed over
    _rows: dict[str, StoredJob] = field(default_factory=dict)  # rows of this process that posts are moved to, by role
    _failures: int = 0  # of the campaign's own server, in a row, also in earlier processes

    def advance(self, since: float) -> JobResult | Wait | None:
        """See `DeletionCheck.advance`."""
        if (result := self._find_result((stored_checks.APPLIED,))) is not None:
            return result
        stopped: SourceError | None = None
        wait: Wait | None = None
        try:
            wait = self._look_up_all(since)
        except SourceError as error:
            stopped = error
        stored_rechecks.end_empty_rows(self.store.connection, self._platform, self.now())
        if (result := self._find_result((stored_checks.READY,))) is not None:
            return result
        if stopped is not None:
            raise stopped
        return wait

    def find_since(self) -> float:
        """See `DeletionCheck.find_since`."""
        latest = self._find_round()
        return (self.now() if latest is None or latest.is_over else latest.since) - 1e-6

    def find_next(self, every: float) -> float:
        """See `DeletionCheck.find_next`."""
        latest, now = self._find_round(), self.now()
        again = [_find_again(row.began) for row in self._list_rows(ABSENT)]  # what is left of earlier is for others
        return min([(now if latest is None else latest.since) + every, *(at for at in again if at > now)])

    def measure(self) -> CheckProgress:
        """See `DeletionCheck.measure`."""
        latest, connection = self._find_round(), self.store.connection
        absent = {row.began: len(stored_rechecks.read_row_posts(connection, row)) for row in self._list_rows(ABSENT)}
        due = self._read_due(latest if latest is not None and not latest.is_over else None)
        vain = 0 if latest is None else stored_rechecks.count_unanswered(connection, self._platform, latest.since)
        again = min((_find_again(began) for began, posts in absent.items() if posts), default=None)
        checked = 0 if latest is None else latest.ids
        return CheckProgress(checked, sum(absent.values()), vain, due.unknown, due.count, again)

    @property
    def _platform(self) -> str:
        return self.plan.platform.facts.name

    def _find_round(self) -> StoredJob | None:
        return stored_rechecks.find_round(self.store.connection, self._platform, self.plan.settings.name)

    def _list_rows(self, role: str) -> list[StoredJob]:
        return stored_rechecks.list_rows(self.store.connection, self._platform, role)

    def _find_result(self, statuses: Sequence[str]) -> JobResult | None:
        """Return what is to be removed, if something is: posts that were absent twice, and reposts of them."""
        for row in self._list_rows(GONE):
            posts = stored_rechecks.read_row_posts(self.store.connection, row)
            if not posts and row.status == stored_checks.READY:  # the process ended before it was filled, or others did
                stored_checks.note_job(self.store.connection, row, status=stored_checks.DONE, ended_at=self.now())
            elif row.status in statuses:
                copies = [self.checks.find(one.id, one.repost_of) for one in posts]
                keys = [*(one.id for one in posts), *(copy.post for copy in copies if copy is not None)]
                return JobResult(row, ErasureOrder(posts=dict.fromkeys(keys, DELETED)))
        return None

    def _look_up_all(self, since: float) -> Wait | None:
        """Look up what is due; return when to go on, or None: nothing is left."""
        active, ends = self._begin_round(since), inf
        self._failures = stored_rechecks.count_failures(self.store.connection, self.store.campaign, self.checks.home)
        while (due := self._read_due(active)).servers:
            ends = min(ends, self.now() + LASTING)
            while (server := self._choose_server(due)) is not None:
                if self._look_up(server, due) and self.now() >= ends:
                    return Wait(self.now(), "the check goes on")
            waits = [one.blocked for one in due.servers.values() if one.blocked is not None]
            if waits:
                return min(waits, key=lambda wait: wait.until)
        if active is not None:
            stored_rechecks.end_round(self.store.connection, active, self.now())
        return None

    def _begin_round(self, since: float) -> StoredJob | None:
        """Return the round that is under way, begun if it is time; None: only absent posts are looked up again."""
        latest = self._find_round()
        if latest is None or (latest.is_over and latest.since <= since):
            rounds = stored_rechecks.list_rounds(self.store.connection, self._platform)
            others = [row.since for row in rounds if row.since > since]
            latest = self._begin_row(stored_rechecks.ROUND, max(others, default=self.now()))
        self._rows[stored_rechecks.ROUND] = latest
        return None if latest.is_over else latest

    def _begin_row(self, role: str, since: float) -> StoredJob:
        start = RowStart(self.store.campaign, role, since, self.now())
        return stored_rechecks.begin_row(self.store.connection, start)

    def _get_row(self, role: str) -> StoredJob:
        """Return the row that posts are moved to."""
        if role == ABSENT:  # that of an earlier process too
            young = [row for row in self._list_rows(ABSENT) if self.now() <= row.began + TOGETHER]
            return young[-1] if young else self._begin_row(ABSENT, self._rows[stored_rechecks.ROUND].since)
        if role not in self._rows:
            self._rows[role] = self._begin_row(role, self._rows[stored_rechecks.ROUND].since)
        return self._rows[role]

    def _read_due(self, active: StoredJob | None) -> DuePosts:
        """Return what is to be looked up: in the round that is under way, if one is, and of what was absent once."""
        due, now = DuePosts(), self.now()
        absent = {format_time(row.began): _find_again(row.began) <= now for row in self._list_rows(ABSENT)}
        due.absent, gone = frozenset(absent), {format_time(row.began) for row in self._list_rows(GONE)}
        before = "" if active is None else format_time(active.since)
        rounds = {format_time(row.began) for row in stored_rechecks.list_rounds(self.store.connection, self._platform)}
        likely, drawn = defaultdict[str, _Best](partial(_Best, LIKELY)), defaultdict[str, _Best](partial(_Best, DRAWN))
        lot = "" if active is None else f"{active.began} "

        def select() -> Iterator[tuple[tuple[str, str, str], StoredPost, SoughtCopy]]:
            for post in stored_rechecks.read_posts(self.store.connection, self._platform):
                copy, checked = self.checks.find(post.id, post.repost_of), post.checked or ""
                if copy is None:
                    due.unknown += 1
                    continue
                if checked not in absent and checked not in gone:
                    likely[copy.server].offer((checked in rounds, checked or post.created or ""), copy)
                    drawn[copy.server].offer(blake2b((lot + post.id).encode(), digest_size=8).digest(), copy)
                seen = checked or post.fetched
                is_due = absent.get(checked, seen < before and checked not in gone)
                if is_due and copy.server not in self._over:
                    due.count += 1
                    yield (checked, post.created or "", post.id), post, copy

        for place, (_, post, copy) in enumerate(nsmallest(self.at_once, select())):
            server = due.servers.setdefault(copy.server, SoughtServer())
            if copy not in due.posts:
                server.due.append((place, copy))
            due.posts.setdefault(copy, []).append(post)
        for name, server in due.servers.items():
            server.witnesses = deque(dict.fromkeys([*likely[name], *drawn[name]]))
        return due

    def _choose_server(self, due: DuePosts) -> str | None:
        """Return the server to ask next, the one whose first post is due first; None: nothing can be asked now."""
        free = [(name, one) for name, one in due.servers.items() if one.blocked is None and (one.due or one.aside)]
        first = min(free, key=lambda item: item[1].due[0][0] if item[1].due else -1, default=None)
        return None if first is None else first[0]

    def _look_up(self, name: str, due: DuePosts) -> bool:
        """Send the next request to a server, and store what the answer says.

        Return whether it was for posts that are due: where a request can name one post only, it is for a witness first.
        """
        server, width = due.servers[name], self.checks.width
        if name == self.checks.home:
            width = max(1, width >> self._failures // TRIES)
        known = bool(server.witnesses) or len(server.aside) >= FEW or not server.due
        alone = self.checks.width == 1 and not server.is_proved and known
        named = min(1 if alone or server.is_proved else AT_FIRST, width // 2 + alone, len(server.witnesses))
        room = 0 if alone else width - named
        batch = [server.due.popleft() for _ in range(min(room, len(server.due)))]
        copies, witnesses = [copy for _, copy in batch], list(islice(server.witnesses, named))
        asked = list(dict.fromkeys([*copies, *witnesses]))
        if not asked or (not copies and self.checks.width > 1):  # what is left waits for a witness, and there is none
            self._pass_over(name, due)
            return True
        try:
            reply, found = self._ask(asked, len(copies))
        except WindowWaitError as error:
            server.blocked = error.wait
            server.due.extendleft(reversed(batch))
            return True
        if reply.kind not in (ReplyKind.OK, ReplyKind.MISSING):
            if name == self.checks.home:
                self._leave_out(server, due, copies, reply)
            else:
                self._pass_over(name, due, copies)
            return True
        self._take_in(name, due, copies, found, named)
        return bool(copies)

    def _ask(self, asked: Sequence[SoughtCopy], due: int) -> tuple[Reply, ShownPosts]:
        """Return the reply to a request for posts, and what it says of them; the ledger tells how many of them are due.

        Raises:
            WindowWaitError: it may not leave now, or is to be sent again later.
            SourceError: nothing may leave any more.
        """
        full = self.checks.make_request((0, 0), asked)
        grant = self.take(lambda key: replace(full, key=key, params={"posts": str(due)}))
        reply = self.wire.send(replace(grant, request=replace(full, key=grant.request.key)))
        found = read_shown(asked, reply)
        after = self.save(grant, replace(reply, rows=None, cursor=None, received=None))
        at_home = asked[0].server == self.checks.home
        if reply.kind in (ReplyKind.OK, ReplyKind.MISSING):
            self._failures = 0 if at_home and due else self._failures
            return reply, found
        self._failures += at_home and reply.kind in FAILED
        waits = reply.kind in LATER and isinstance(after, Wait)
        tries = at_home and not (reply.kind in FAILED and self._failures >= self._find_limit())
        if tries or waits or isinstance(after, Stop):
            raise self.explain_failure(reply, after)
        return reply, found

    def _find_limit(self) -> int:
        """Return after how many failures in a row a post of the campaign's own server is left to the next round."""
        return TRIES * self.checks.width.bit_length()

    def _leave_out(self, server: SoughtServer, due: DuePosts, copies: Sequence[SoughtCopy], reply: Reply) -> None:
        """Leave a post, or a witness, that the campaign's own server does not answer about to the next round.

        Raises:
            SourceError: it answers about no other one either.
        """
        self._store(due, vain=copies)
        if not copies:
            server.witnesses.popleft()
        if self._failures >= self._find_limit() + SILENT:
            raise self.explain_failure(reply, None)

    def _take_in(
        self, name: str, due: DuePosts, copies: Sequence[SoughtCopy], found: ShownPosts, witnesses: int
    ) -> None:
        """Store what an answer says of posts that were due, and of so many witnesses."""
        server = due.servers[name]
        absent = [copy for copy in found.absent if copy in copies]
        vain = [copy for copy in copies if copy not in found.shown and copy not in absent]
        if not found.shown and not (self.checks.width == 1 and server.is_proved):
            server.aside += absent
            server.silent += 1
            self._store(due, vain=vain)
            for _ in range(witnesses):
                server.witnesses.popleft()  # they did not come either
            left = not server.witnesses and (server.aside or not server.due)
            if (self.checks.width > 1 and server.silent >= SILENT) or (not copies and left):
                self._pass_over(name, due)
            return
        server.silent, server.is_proved = 0, True
        if found.shown:
            server.witnesses.appendleft(found.shown[-1])
        if self.checks.width == 1:
            absent += server.aside
        else:
            server.due.extendleft((-1, copy) for copy in reversed(server.aside))
        server.aside = []
        self._store(due, [copy for copy in found.shown if copy in copies], absent, vain)

    def _pass_over(self, name: str, due: DuePosts, copies: Sequence[SoughtCopy] = ()) -> None:
        """Leave a server alone for this round: what is due there is looked up in the next one."""
        server = due.servers[name]
        self._over.add(name)
        self._store(due, vain=[*copies, *server.aside, *(copy for _, copy in server.due)])
        server.aside, server.due = [], deque()

    def _store(
        self,
        due: DuePosts,
        shown: Iterable[SoughtCopy] = (),
        absent: Iterable[SoughtCopy] = (),
        vain: Iterable[SoughtCopy] = (),
    ) -> None:
        """Store what became of posts."""
        lists: dict[str, list[str]] = {stored_rechecks.ROUND: [], ABSENT: [], GONE: [], UNANSWERED: []}
        for role, copies in ((stored_rechecks.ROUND, shown), (UNANSWERED, vain)):
            lists[role] += [post.id for copy in copies for post in due.posts.get(copy, ())]
        for post in (post for copy in absent for post in due.posts.get(copy, ())):
            lists[GONE if post.checked in due.absent else ABSENT].append(post.id)
        counted = self._rows[stored_rechecks.ROUND]
        moves = [(self._get_row(role), keys) for role, keys in lists.items() if keys]
        if moves:
            stored_rechecks.move_posts(self.store.connection, moves, counted)


class _Best:
    """The few copies of a server that rank highest."""

    def __init__(self, most: int) -> None:
        self._most, self._heap = most, list[tuple[Any, SoughtCopy]]()

    def offer(self, rank: Any, copy: SoughtCopy) -> None:
        """Take a copy, if it is among them."""
        if len(self._heap) < self._most:
            heappush(self._heap, (rank, copy))
        else:
            heappushpop(self._heap, (rank, copy))

    def __iter__(self) -> Iterator[SoughtCopy]:
        """Yield them, the highest first."""
        return (copy for _, copy in sorted(self._heap, reverse=True))


def _find_again(began: float) -> float:
    """Return when posts are looked up again that were absent in a row that began then: the last came a while later."""
    return began + TOGETHER + APART
