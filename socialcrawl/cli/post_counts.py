"""How many posts the searches of a campaign find, asked of X before the campaign; $0.005 each."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from socialcrawl.campaign.cost_outlook import has_begun, read_progress
from socialcrawl.campaign.plan import Plan
from socialcrawl.cli.single_requests import find_admitted, find_meters, open_wire
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import Grant, ReplyKind
from socialcrawl.errors import SettingsError, SourceError
from socialcrawl.forecast.shape import find_remaining
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.sql_store import SqlStore

OF_NOBODY = -1  # the pick that these requests serve in the ledger


def count_posts(plan: Plan) -> tuple[int, ...] | None:
    """Return the posts of the last seven days that each search of a campaign finds; None if there is none left to do.

    The requests stand in the ledger of a campaign that has begun, and keep its budget. Searches that are done are not
    counted: 0 stands for them.

    Raises:
        SettingsError: a token is missing, none may ask, or the budget or the window is used up.
        SourceError: X did not tell.
        StoreError: another process uses a token or the campaign, or the database cannot be used.
    """
    clock = SystemClock()
    waiting = count_searches_left(plan)
    if not waiting:
        return None
    meters = find_meters(plan)
    found = [0] * (len(plan.queries) - waiting)
    with open_wire(plan, clock.now) as (allowed, wire), _open_ledger(plan, clock) as store:
        find_admitted(allowed, plan.policy, meters.counts)
        cycle_day = plan.settings.limits.cycle_day
        planner = WindowPlanner(plan.policy, allowed.credentials, plan.caps, cycle_day=cycle_day)
        planner.fold(store.ledger() if store else ())
        for number, query in list(enumerate(plan.queries))[-waiting:]:
            request = meters.make_counts_request((OF_NOBODY, number), query)
            answer = planner.take(request, clock.now())
            if not isinstance(answer, Grant):
                raise SettingsError(f"Nothing was counted: {answer.why}. Quote without --counts, or later.")
            if store:
                store.reserve(answer)
            reply, body = meters.ask(wire, answer)
            if store:
                store.save(answer, reply)
            planner.settle(answer, reply, clock.now())
            if reply.kind != ReplyKind.OK:
                raise SourceError(
                    f"{plan.platform.title} did not count the posts of a search: {reply.why}. Quote without --counts."
                )
            found.append(meters.parse_counts(body))
    return tuple(found)


def count_searches_left(plan: Plan) -> int:
    """Return how many searches of a campaign are not done yet; nothing is made or changed.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    return find_remaining(plan.shape, read_progress(plan)).queries


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
