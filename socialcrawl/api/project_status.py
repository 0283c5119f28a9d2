"""How campaigns stand and how far they are, from what their files and databases say."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from socialcrawl.crawls.facts import DEFAULT, KindFacts, find_kind_facts
from socialcrawl.crawls.node_limit import FREE
from socialcrawl.daemon.campaign_state import BROKEN, DONE, DOWN, RUNNING, STALLED, STOPPED, WAITING
from socialcrawl.daemon.campaign_status import IDLE, LOST, OUTDATED, UNKNOWN, KnownCampaign, explain_idle
from socialcrawl.daemon.database_readings import DatabaseReading
from socialcrawl.daemon.next_run import TRIED_AGAIN
from socialcrawl.engine.model import MILLS_PER_DOLLAR, format_time, parse_time
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.base import PUBLIC
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.disk_space import DiskReserve
from socialcrawl.storage.queries.open_requests import RefusedToken
from socialcrawl.storage.queries.progress_figures import ProgressFigures
from socialcrawl.system.loopback import is_loopback
from socialcrawl.text.wording import parse_seconds, parse_size, pluralize

MOMENT, MOST_KEPT = 2.0, 1_024  # seconds for which a status is kept, and how many are
NEARLY = 0.8  # part of a budget from which on an alert says so
UNKNOWN_TOKEN = 401  # the HTTP status by which a server says that it does not know a token at all
AT_WORK = (RUNNING, WAITING, STALLED, DOWN)
"""States in which answers may be awaited."""
ILL = (STALLED, BROKEN, DOWN, LOST, OUTDATED)
"""States that a person should look at."""


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """How a campaign stands and how far it is. Instants are ISO times in UTC; None where they are not known.

    Attributes:
        key: tells it from campaigns of other databases with the same name; stays the same.
        name: name of the campaign.
        kind: collect, track, refresh, sample, capture, or one that a package adds; "" where that cannot be read.
        platform: x, bluesky, mastodon, web, or one that a package adds; "" likewise.
        state: running, waiting, resting, paused, done, stopped, broken, elsewhere, stalled, down; idle: nobody runs
            it; lost: its daemon is gone; outdated: an older version wrote the database.
        why: what it waits for, or why it ended.
        since: when it came into this state.
        until: when it goes on by itself.
        daemon: "process N on HOST" of the daemon that has it.
        watched: whether a daemon looks after it, also while it is paused, stopped or done: that one resumes it.
        reserved_requests: requests, of those sent, whose answer is awaited.
        reserved_dollars: what they may cost at most, of `dollars`.
        remaining_requests: how many its budget has left; None: no limit.
        remaining_dollars: likewise of dollars.
        test_server: whether its server is on this machine, such as `socialcrawl mock`: then nothing is paid.
        database: the file or the address of the database.
        file: its campaign file.
        steps: finished steps.
        planned_steps: how many are planned; None: no limit.
        requests: requests sent.
        max_requests: its budget of them; None: no limit.
        dollars: their price by the price table; what is not answered counts at its highest.
        max_dollars: its budget of them; None: no limit.
        posts_on_topic: posts that match its topic.
        curve: what was found up to each of at most 49 points in time, from 0: relevance, or posts of a capture.
        ends: when its budget of time is used up.
        alerts: what a person should look at, a sentence each.
        windows: requests in each of the latest windows of the rate limit, at most 24, of the endpoint that it requests
            most, with all its tokens; the last one ended with its latest request or later.
        window_begins: when each of them began.
        window_limit: requests that a window allows with one token, by the server's answers or else the price table;
            None: not known.
        window_length: seconds of a window, likewise.

    Example:
        >>> status = sc.open_project("example.toml").list_campaigns()[0]
        >>> status.name, status.kind, status.platform, status.state, status.why
        ('sky', 'collect', 'x', 'done', 'the limit of 4 steps is reached')
        >>> status.steps, status.planned_steps, status.requests, status.posts_on_topic, status.curve[0]
        (4, 4, 7, 6, 0.0)
        >>> status.max_requests, status.max_dollars, status.ends, status.alerts
        (None, None, None, ())
        >>> status.database, status.file, f"{status.dollars:.2f}", len(status.key)
        ('example.db', 'example.toml', '0.06', 12)
        >>> status.windows, len(status.window_begins), status.window_limit, status.window_length
        ((6,), 1, 10000, 900.0)
        >>> status.since > status.window_begins[0], status.until, status.daemon, status.watched
        (True, None, None, False)
        >>> status.reserved_requests, status.reserved_dollars, status.remaining_requests, status.remaining_dollars
        (0, 0.0, None, None)
        >>> status.test_server
        True
    """

    key: str
    name: str
    kind: str
    platform: str
    state: str
    why: str
    since: str | None
    until: str | None
    daemon: str | None
    database: str
    file: str | None
    steps: int = 0
    planned_steps: int | None = None
    requests: int = 0
    max_requests: int | None = None
    dollars: float = 0.0
    max_dollars: float | None = None
    posts_on_topic: int = 0
    curve: tuple[float, ...] = ()
    ends: str | None = None
    alerts: tuple[str, ...] = ()
    windows: tuple[int, ...] = ()
    window_begins: tuple[str, ...] = ()
    window_limit: int | None = None
    window_length: float | None = None
    watched: bool = False
    reserved_requests: int = 0
    reserved_dollars: float = 0.0
    remaining_requests: int | None = None
    remaining_dollars: float | None = None
    test_server: bool = False

    @property
    def facts(self) -> KindFacts:
        """What campaigns of its kind do, such as `reads_accounts`; of a kind that is not installed, what most do.

        Example:
            >>> facts = sc.open_project("example.toml").find("sky").facts
            >>> facts.purpose, facts.reads_accounts, facts.rates_accounts, facts.scores_relevance
            ('accounts that post about the topic', True, True, True)
        """
        try:
            return find_kind_facts(self.kind)
        except SettingsError:
            return KindFacts(self.kind, "")


def make_status(
    row: KnownCampaign, found: DatabaseReading, settings: Mapping[str, Any] | None, now: float
) -> CampaignStatus:
    """Return how a campaign stands.

    Args:
        row: the campaign.
        found: what its database said.
        settings: those of its file, as values of JSON, whose budget counts; None: it has none.
        now: Unix seconds.
    """
    held, figures = row.held, found.figures.get(row.held.campaign)
    given = settings if settings is not None else {} if figures is None else figures.settings
    if figures is not None and held.daemon not in found.watching:
        held = explain_idle(held, figures, given, now)
    status = CampaignStatus(
        make_key(row),
        find_name(row),
        given.get("kind", DEFAULT.name) if given else "",
        (given.get("source") or {}).get("platform", "") if given else "",
        WAITING if held.daemon in found.watching and _has_retry(held) else held.state or IDLE,
        held.why,
        _format(held.since),
        _format(held.until),
        f"process {held.pid} on {held.host}" if _has_daemon(held, now) else None,
        str(row.where),
        held.file if row.file is None else str(row.file),
    )
    if figures is not None:
        status = _add_figures(status, figures)
    budget = given.get("budget") or {}
    requests, dollars = budget.get("max_requests"), budget.get("max_money")
    status = replace(
        status,
        planned_steps=(given.get("crawl") or {}).get("steps"),
        max_requests=requests,
        max_dollars=dollars,
        remaining_requests=None if requests is None else max(0, requests - status.requests),
        remaining_dollars=None if dollars is None else max(0.0, dollars - status.dollars),
        ends=_find_end(budget.get("max_time"), None if figures is None else figures.began),
        watched=held.daemon in found.watching,
        test_server=is_loopback((given.get("source") or {}).get("base_url") or ""),
    )
    return replace(status, alerts=tuple(_list_alerts(status, row.where, given, figures, now)))


class KeptStatuses:
    """How campaigns stood a moment ago: what nothing was read of since is not worked out again."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[KnownCampaign, Mapping[str, Any] | None, float, CampaignStatus]] = {}

    def make(
        self, row: KnownCampaign, found: DatabaseReading, settings: Mapping[str, Any] | None, now: float
    ) -> CampaignStatus:
        """Return how a campaign stands, see `make_status`; its clock may be MOMENT seconds behind."""
        place = row.where, row.held.campaign, row.file
        kept = self._kept.get(place)
        if kept is not None and kept[0] is row and kept[1] is settings and 0 <= now - kept[2] < MOMENT:
            return kept[3]
        status = make_status(row, found, settings, now)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[place] = row, settings, now, status
        return status


def _add_figures(status: CampaignStatus, figures: ProgressFigures) -> CampaignStatus:
    status = replace(
        status,
        steps=figures.steps,
        requests=figures.requests,
        dollars=figures.mills / MILLS_PER_DOLLAR,
        posts_on_topic=figures.posts_on_topic,
        curve=figures.curve,
    )
    if figures.windows is not None:
        status = replace(
            status,
            windows=tuple(figures.windows.requests),
            window_begins=tuple(map(format_time, figures.windows.begins)),
            window_limit=figures.windows.k,
            window_length=figures.windows.d,
        )
    if status.state in AT_WORK:
        status = replace(
            status,
            reserved_requests=figures.in_flight.requests,
            reserved_dollars=figures.in_flight.mills / MILLS_PER_DOLLAR,
        )
    return status


def _has_retry(held: CampaignLease) -> bool:
    """Return whether a daemon waits before it tries a campaign again that has failed."""
    return held.state == STOPPED and held.why.lower().endswith(TRIED_AGAIN)


def _has_daemon(held: CampaignLease, now: float) -> bool:
    return held.daemon is not None and held.is_alive(now) and held.state != LOST


def _list_alerts(
    status: CampaignStatus,
    where: DatabaseAddress,
    settings: Mapping[str, Any],
    figures: ProgressFigures | None,
    now: float,
) -> Iterator[str]:
    """Yield what a person should look at, as sentences."""
    goes_on = status.state not in (DONE, IDLE) and (status.state != STOPPED or status.until is not None)
    if status.state in ILL:
        yield f"{status.state.capitalize()}: {status.why}"
    if failed := status.state in (STOPPED, WAITING) and status.why.lower().endswith(TRIED_AGAIN):
        yield f"Failed: {status.why}"
    if figures is not None and status.state != DONE:
        for token in () if failed else figures.refused:
            if token.credential != PUBLIC:
                yield _describe_refusal(token, status.platform)
        yield from _list_budgets(status, settings.get("budget") or {}, figures, now)
    least = (settings.get("limits") or {}).get("min_free_disk")
    reserve = DiskReserve(where, None if least is None else parse_size(least))
    if goes_on and (why := reserve.describe_shortage()) is not None:
        yield f"Little room: {why}."


def _describe_refusal(token: RefusedToken, platform: str) -> str:
    try:
        title = find_platform_facts(platform).title
    except SettingsError:  # of a package that is not installed
        title = platform
    where, advice = f" {token.endpoint}", "check its access level"
    if token.status == UNKNOWN_TOKEN:
        where, advice = "", "check the environment variable that holds it"
    at = token.at[:16].replace("T", " ")
    return f"Token refused: {title} refuses the token {token.credential!r}{where} since {at} UTC; {advice}."


def _list_budgets(
    status: CampaignStatus, budget: Mapping[str, Any], figures: ProgressFigures, now: float
) -> Iterator[str]:
    """Yield the budgets of which NEARLY everything is spent; at a test server no money is."""
    posts, nodes, time = budget.get("max_posts"), budget.get("max_nodes"), budget.get("max_time")
    asked = sum(count for act, count in figures.picks.items() if act not in FREE)
    known: list[tuple[float, float | None, str]] = [
        (status.requests, status.max_requests, pluralize(status.max_requests or 0, "request")),
        (status.dollars, None if status.test_server else status.max_dollars, f"${status.max_dollars or 0:,.2f}"),
        (figures.posts, posts, pluralize(posts or 0, "post")),
        (asked, nodes, pluralize(nodes or 0, "account")),
    ]
    if time is not None and figures.began is not None:
        known.append((now - parse_time(figures.began), parse_seconds(time), f"{time} of time"))
    for spent, most, words in known:
        if most and spent >= NEARLY * most:
            yield f"{min(100, 100 * spent / most):.0f} % of the budget of {words} is spent."


def _find_end(longest: str | None, began: str | None) -> str | None:
    """Return when the budget of time is used up, in ISO 8601; None where there is none, or nothing was sent."""
    if longest is None or began is None:
        return None
    return format_time(parse_time(began) + parse_seconds(longest))


def make_key(row: KnownCampaign) -> str:
    """Return the name of a campaign and some letters that tell its database, or a file that is left out."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', row.held.campaign)}-{_compute_digest(row.where)}"


@lru_cache(1_024)
def _compute_digest(where: DatabaseAddress) -> str:
    """Return some letters that tell a database; they stay where a link on its way is changed later."""
    place = where if not isinstance(where, Path) else where.resolve()
    return blake2b(str(place).encode(errors="surrogateescape"), digest_size=4).hexdigest()


def find_name(row: KnownCampaign) -> str:
    """Return the name of a campaign; of a database whose campaigns cannot be read, its own."""
    if row.held.campaign != UNKNOWN:
        return row.held.campaign
    return row.where.stem if isinstance(row.where, Path) else row.where.name


def _format(instant: float | None) -> str | None:
    return None if instant is None else format_time(instant)
