"""How many posts the searches of a campaign find, requested from X before the campaign runs; X bills the requests."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count

from socialcrawl.campaign.cost_outlook import has_begun, read_progress
from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.post_counting import PostCounting, check_counting, plan_counting
from socialcrawl.cli.single_requests import find_admitted, find_meters, open_wire
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import OF_NOBODY, Grant, ReplyKind, Request, Wait
from socialcrawl.errors import SettingsError, SourceError
from socialcrawl.forecast.shape import find_remaining
from socialcrawl.platforms.base import Wired
from socialcrawl.platforms.server_info import CountedSpan, Meters
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.sql_store import SqlStore


def count_posts(plan: Plan) -> tuple[int, ...] | None:
    """Return how many posts each search of a campaign finds; None if there is none left to do.

    Counted are the posts of the last seven days; of a capture, those of its span of time. The requests stand in the
    ledger of a campaign that has begun, and keep its budget. Searches that are done are not counted: 0 stands for them.

    Raises:
        SettingsError: a token is missing, none may ask, or the budget or the window is used up.
        SourceError: X did not tell.
        StoreError: another process uses a token or the campaign, or the database cannot be used.
    """
    clock, done, meters = SystemClock(), read_progress(plan), find_meters(plan)
    counting = plan_counting(plan, done, clock.now())
    if counting is None or not counting.queries:
        return None
    if counting.span is not None:
        check_counting(plan, counting, done)
    found = [0] * (len(plan.queries) - counting.queries)
    with open_wire(plan, clock.now) as (allowed, wire), _open_ledger(plan, clock) as store:
        find_admitted(allowed, plan.policy, counting.endpoint)
        cycle_day = plan.settings.limits.cycle_day
        planner = WindowPlanner(plan.policy, allowed.credentials, plan.caps, cycle_day=cycle_day)
        planner.fold(store.ledger() if store else ())
        counter = _Counter(plan, counting, meters, wire, planner, store, clock)
        for number, query in list(enumerate(plan.queries))[-counting.queries :]:
            found.append(counter.count_query(number, query))
    return tuple(found)


def count_searches_left(plan: Plan) -> int:
    """Return how many searches of a campaign are not done yet; nothing is made or changed.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    return find_remaining(plan.shape, read_progress(plan)).queries


@dataclass(slots=True)
class _Counter:
    """What sends the requests of a campaign that count posts; `sent` is how many it has sent."""

    plan: Plan
    counting: PostCounting
    meters: Meters
    wire: Wired
    planner: WindowPlanner
    store: SqlStore | None
    clock: SystemClock
    sent: int = 0

    def count_query(self, number: int, query: str) -> int:
        """Return how many posts a query finds."""
        key, span = (OF_NOBODY, number), self.counting.span
        if span is None:
            return self.meters.parse_counts(self._send(self.meters.make_counts_request(key, query)))
        return self._count_pages(key, query, span)

    def _count_pages(self, key: tuple[int, int], query: str, span: CountedSpan) -> int:
        total, cursor = 0, None
        for page in count(1):
            body = self._send(self.meters.make_span_request(key, query, span, cursor))
            total += self.meters.parse_counts(body)
            cursor = self.meters.find_counts_cursor(body)
            if cursor is None:
                break
            if page >= self.counting.pages:
                title = self.plan.platform.title
                raise SourceError(f"{title} has more pages of counts than the span of time. Quote without --counts.")
        return total

    def _send(self, request: Request) -> object:
        """Return the answer to one request, which the budget and the windows allow.

        Raises:
            SettingsError: they do not; for a window it waits once something was paid.
            SourceError: there is no such answer.
        """
        answer = self.planner.take(request, self.clock.now())
        while self.sent and isinstance(answer, Wait):
            self.clock.wait(threading.Event(), answer.until)
            answer = self.planner.take(request, self.clock.now())
        if not isinstance(answer, Grant):
            raise SettingsError(f"The posts were not counted: {answer.why}. Quote without --counts, or later.")
        if self.store:
            self.store.reserve(answer)
        self.sent += 1
        reply, body = self.meters.ask(self.wire, answer)
        if self.store:
            self.store.save(answer, reply)
        self.planner.settle(answer, reply, self.clock.now())
        if reply.kind != ReplyKind.OK:
            title = self.plan.platform.title
            raise SourceError(f"{title} did not count the posts of a search: {reply.why}. Quote without --counts.")
        return body


@contextmanager
def _open_ledger(plan: Plan, clock: SystemClock) -> Iterator[SqlStore | None]:
    """Yield the store of a campaign that has begun, locked against other processes; None for one that has not."""
    if not has_begun(plan):
        yield None
        return
    settings = plan.settings
    with ExitStack() as undo:
        connection = connect(settings.database, create=False, durable=plan.billed)
        undo.callback(connection.engine.dispose)
        undo.callback(connection.close)
        undo.callback(Lease(connection, settings.name).release)
        values, identity = settings.model_dump(mode="json"), settings.identity(plan.usernames)
        number = ensure_campaign(connection, values, identity, clock.now())
        yield SqlStore(connection, number, settings.source.platform, plan.policy.tariff)
