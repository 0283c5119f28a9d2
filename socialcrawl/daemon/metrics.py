"""The metrics of a daemon in Prometheus' text format: how it and its campaigns stand, made when they are asked for.

Names and units follow Prometheus' conventions: base units, `_total` for what only grows. Nothing is counted here; a
scrape reads the values that the daemon hands over.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from socialcrawl import __version__
from socialcrawl.daemon.campaign_state import DOWN, STATES, CampaignFigures, CampaignState, WindowUse
from socialcrawl.engine.model import MILLS_PER_DOLLAR
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.system.secret import redact

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
LONGEST = 200  # characters of a label
MOST_SERIES = 200  # of requests in one campaign: what is rare beyond them is summed as "other"
MOST_WINDOWS = 200  # of one campaign; the fullest are shown
Family = CounterMetricFamily | GaugeMetricFamily


@dataclass(frozen=True, slots=True)
class SharedDaemon:
    """A daemon of a PostgreSQL database: its machine and process, when it was last heard of, and what it runs.

    `age`: seconds since its last heartbeat, by the server's clock. `campaigns`: the names of those that it has open.
    """

    process: str
    age: float
    weight: float
    campaigns: Sequence[str]


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """How a daemon is: when it began, when its heart last beat (Unix seconds), and how its campaigns stand.

    `shared`: all daemons with which it shares campaigns, itself included.
    """

    began: float
    beat: float
    standings: Sequence[CampaignState]
    shared: Sequence[SharedDaemon] = ()


class MetricDefinition(NamedTuple):
    """A metric: its name, whether it only grows (a counter) or not (a gauge), its labels, what it is."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


C, D, W = ("campaign",), ("daemon",), ("campaign", "credential", "endpoint")
METRICS = {
    told.name: told
    for told in (
        MetricDefinition("socialcrawl_info", "gauge", ("version",), "1; the version of socialcrawl is in the label."),
        MetricDefinition("socialcrawl_daemon_start_time_seconds", "gauge", (), "When the daemon began, Unix time."),
        MetricDefinition(
            "socialcrawl_daemon_heartbeat_age_seconds", "gauge", (), "Since the daemon's heart last beat."
        ),
        MetricDefinition(
            "socialcrawl_campaign_state", "gauge", (*C, "state"), "1 for the state a campaign is in, 0 for others."
        ),
        MetricDefinition(
            "socialcrawl_campaign_state_age_seconds", "gauge", C, "Since the campaign came into its state."
        ),
        MetricDefinition(
            "socialcrawl_platform_down_seconds", "gauge", C, "Since its platform has not answered; 0 while it does."
        ),
        MetricDefinition(
            "socialcrawl_campaign_idle_seconds", "gauge", C, "Since the last reply or step of the campaign."
        ),
        MetricDefinition(
            "socialcrawl_campaign_resume_time_seconds", "gauge", C, "When it goes on by itself, Unix time, if known."
        ),
        MetricDefinition(
            "socialcrawl_steps_total", "counter", C, "Accounts read after the seeds, in the whole campaign."
        ),
        MetricDefinition("socialcrawl_relevance", "gauge", C, "Sum of the relevance (beta) of the accounts read."),
        MetricDefinition("socialcrawl_known_accounts", "gauge", C, "Accounts in the graph of the campaign."),
        MetricDefinition("socialcrawl_frontier_accounts", "gauge", C, "Known accounts that could be read next."),
        MetricDefinition("socialcrawl_campaign_requests_total", "counter", C, "Requests sent, in the whole campaign."),
        MetricDefinition(
            "socialcrawl_requests_total",
            "counter",
            (*C, "endpoint", "kind", "status"),
            "Requests since the daemon began, by kind of reply and HTTP status (0: no answer).",
        ),
        MetricDefinition("socialcrawl_posts_total", "counter", C, "Posts read, in the whole campaign."),
        MetricDefinition("socialcrawl_spent_dollars_total", "counter", C, "Money spent, in the whole campaign."),
        MetricDefinition("socialcrawl_budget_limit_requests", "gauge", C, "The budget max_requests, if there is one."),
        MetricDefinition("socialcrawl_budget_limit_posts", "gauge", C, "The budget max_posts, if there is one."),
        MetricDefinition("socialcrawl_budget_limit_dollars", "gauge", C, "The budget max_money, if there is one."),
        MetricDefinition(
            "socialcrawl_window_used_requests", "gauge", W, "Requests sent in the present window of a token."
        ),
        MetricDefinition("socialcrawl_window_limit_requests", "gauge", W, "Requests that the window allows."),
        MetricDefinition("socialcrawl_window_end_time_seconds", "gauge", W, "When the open window ends, Unix time."),
        MetricDefinition("socialcrawl_database_size_bytes", "gauge", C, "Size of the database of the campaign."),
        MetricDefinition(
            "socialcrawl_disk_free_bytes", "gauge", C, "Free on the disk of the database, where that is a file."
        ),
        MetricDefinition("socialcrawl_lag_seconds", "gauge", C, "By how much the campaign's last turn began late."),
        MetricDefinition(
            "socialcrawl_shared_daemon_heartbeat_age_seconds",
            "gauge",
            D,
            "Since each daemon of the same PostgreSQL database was last heard of, this one included.",
        ),
        MetricDefinition("socialcrawl_shared_daemon_weight", "gauge", D, "The --weight of each of these daemons."),
        MetricDefinition(
            "socialcrawl_shared_daemon_campaign", "gauge", (*D, *C), "1 for each campaign that such a daemon has open."
        ),
    )
}
"""Every metric by its name, in the order in which they are shown."""


def make_registry(vitals: Callable[[], DaemonStatus], now: Callable[[], float]) -> CollectorRegistry:
    """Return a registry with the daemon's metrics, and this process's memory and processor time (on Linux).

    Args:
        vitals: how the daemon is; called at every scrape, so it must not wait for the crawl.
        now: the clock, in Unix seconds.
    """
    made = CollectorRegistry()
    made.register(_Daemon(vitals, now))
    ProcessCollector(registry=made)
    return made


def format_metrics(source: CollectorRegistry) -> bytes:
    """Return all metrics of a registry in Prometheus' text format, UTF-8."""
    return generate_latest(source)


class _Daemon(Collector):
    def __init__(self, vitals: Callable[[], DaemonStatus], now: Callable[[], float]) -> None:
        self._vitals = vitals
        self._now = now

    def collect(self) -> Iterator[Family]:
        families = {metric.name: _make_family(metric) for metric in METRICS.values()}
        for name, labels, value in _make_samples(self._vitals(), self._now()):
            families[name].add_metric(labels, value)
        yield from families.values()


Sample = tuple[str, tuple[str, ...], float]


def _make_family(metric: MetricDefinition) -> Family:
    if metric.kind == "counter":
        return CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    return GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)


def _make_samples(vitals: DaemonStatus, now: float) -> Iterator[Sample]:
    yield "socialcrawl_info", (__version__,), 1
    yield "socialcrawl_daemon_start_time_seconds", (), vitals.began
    yield "socialcrawl_daemon_heartbeat_age_seconds", (), max(0.0, now - vitals.beat)
    for name, standing in _label_campaigns(vitals.standings):
        yield from _sample_state(name, standing, now)
        if standing.figures is not None:
            yield from _sample_figures(name, standing.figures)
            yield from _sample_budgets(name, standing.figures.caps)
            yield from _sample_requests(name, standing.figures)
            yield from _sample_windows(name, standing.figures.windows)
    yield from _sample_shared(vitals.shared)


def _sample_shared(shared: Iterable[SharedDaemon]) -> Iterator[Sample]:
    """Yield the daemons of all databases, each once."""
    open_campaigns: dict[str, set[str]] = {}
    last = {_make_label(one.process): one for one in sorted(shared, key=lambda one: -one.age)}
    for one in shared:
        open_campaigns.setdefault(_make_label(one.process), set()).update(map(_make_label, one.campaigns))
    for name, one in last.items():
        yield "socialcrawl_shared_daemon_heartbeat_age_seconds", (name,), max(0.0, one.age)
        yield "socialcrawl_shared_daemon_weight", (name,), one.weight
        for campaign in sorted(open_campaigns[name]):
            yield "socialcrawl_shared_daemon_campaign", (name, campaign), 1


def _label_campaigns(standings: Iterable[CampaignState]) -> Iterator[tuple[str, CampaignState]]:
    """Yield each campaign under a label of its own: Prometheus refuses all metrics where two series are the same."""
    given = [(_make_label(standing.campaign), standing) for standing in standings]
    shared = Counter(name for name, _ in given)
    taken: set[str] = set()
    for name, standing in given:
        twice = shared[name] > 1
        wanted = f"{name[:120]} ({_make_label(standing.file.name)[:60]})" if twice else name
        label, tries = wanted, 1
        while label in taken or (twice and label in shared):
            tries += 1
            label = f"{wanted} {tries}"
        taken.add(label)
        yield label, standing


def _make_label(text: str) -> str:
    """Return a text as a label: without secrets and halves of characters, and of a bearable length."""
    return redact(text).encode("utf-8", "replace").decode()[:LONGEST]


def _sample_state(name: str, standing: CampaignState, now: float) -> Iterator[Sample]:
    for state in STATES:
        yield "socialcrawl_campaign_state", (name, state), float(standing.state == state)
    yield "socialcrawl_campaign_state_age_seconds", (name,), max(0.0, now - standing.since)
    if standing.figures is not None:
        down = max(0.0, now - standing.since) if standing.state == DOWN else 0.0
        yield "socialcrawl_platform_down_seconds", (name,), down
    if standing.room.size is not None:
        yield "socialcrawl_database_size_bytes", (name,), standing.room.size
    if standing.room.free is not None:
        yield "socialcrawl_disk_free_bytes", (name,), standing.room.free
    if standing.moved is not None:
        yield "socialcrawl_campaign_idle_seconds", (name,), max(0.0, now - standing.moved)
    if standing.until is not None:
        yield "socialcrawl_campaign_resume_time_seconds", (name,), standing.until


def _sample_figures(name: str, figures: CampaignFigures) -> Iterator[Sample]:
    for metric, value in (
        ("steps_total", figures.steps),
        ("relevance", figures.relevance),
        ("known_accounts", figures.known),
        ("frontier_accounts", figures.frontier),
        ("campaign_requests_total", figures.sent),
        ("posts_total", figures.posts),
        ("spent_dollars_total", figures.money / MILLS_PER_DOLLAR),
        ("lag_seconds", figures.lag),
    ):
        yield f"socialcrawl_{metric}", (name,), value


def _sample_budgets(name: str, caps: Caps) -> Iterator[Sample]:
    dollars = None if caps.money is None else caps.money / MILLS_PER_DOLLAR
    for unit, limit in (("requests", caps.requests), ("posts", caps.posts), ("dollars", dollars)):
        if limit is not None:
            yield f"socialcrawl_budget_limit_{unit}", (name,), limit


def _sample_requests(name: str, figures: CampaignFigures) -> Iterator[Sample]:
    counted: Counter[tuple[str, str, str]] = Counter()
    for (endpoint, kind, status), n in figures.requests.items():
        counted[_make_label(endpoint), _make_label(kind), str(status)] += n
    by_size = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    shown = Counter(dict(by_size[:MOST_SERIES]))
    for _, n in by_size[MOST_SERIES:]:
        shown["other", "other", "other"] += n
    for labels, n in sorted(shown.items()):
        yield "socialcrawl_requests_total", (name, *labels), n


def _sample_windows(name: str, windows: Iterable[WindowUse]) -> Iterator[Sample]:
    fullest: dict[tuple[str, str], WindowUse] = {}
    for window in sorted(windows, key=lambda window: (_compute_share(window), window.ends or 0.0)):
        fullest[_make_label(window.credential), _make_label(window.endpoint)] = window
    chosen = sorted(fullest.items(), key=lambda item: (-_compute_share(item[1]), item[0]))[:MOST_WINDOWS]
    for labels, window in sorted(chosen, key=lambda item: item[0]):
        yield "socialcrawl_window_used_requests", (name, *labels), window.used
        yield "socialcrawl_window_limit_requests", (name, *labels), window.k
        if window.ends is not None:
            yield "socialcrawl_window_end_time_seconds", (name, *labels), window.ends


def _compute_share(window: WindowUse) -> float:
    return window.used / max(1, window.k)
