"""What Prometheus is told equals how the campaigns stand, whatever they are called."""

import os
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from socialcrawl import __version__
from socialcrawl.daemon.campaign_state import STATES, CampaignFigures, CampaignState, WindowUse
from socialcrawl.daemon.metrics import (
    LONGEST,
    METRICS,
    MOST_SERIES,
    MOST_WINDOWS,
    DaemonStatus,
    SharedDaemon,
    format_metrics,
    make_registry,
)
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.storage.database.disk_space import DatabaseSpace
from socialcrawl.system.secret import KEPT, conceal

NOW = 1_800_000_000.0
HIDDEN = "AAAAmetrics-kept-secret"
conceal(HIDDEN)
FIGURES = CampaignFigures(
    steps=120,
    relevance=310.25,
    known=5000,
    frontier=4800,
    requests={("users/:id/tweets", "ok", 200): 130, ("users/:id/tweets", "limited", 429): 2, ("search", "none", 0): 1},
    sent=140,
    posts=9000,
    money=4_512_345,
    windows=(WindowUse("main", "users/:id/tweets", 12, 15, NOW + 300), WindowUse("second", "search", 0, 60)),
    lag=0.5,
    caps=Caps(requests=200, posts=10_000, money=5_000_000),
)
FOREST = CampaignState(
    Path("forest.toml"),
    "forest",
    "waiting",
    "the window is empty",
    NOW - 30,
    NOW + 300,
    NOW - 40,
    FIGURES,
    DatabaseSpace(5_000_000, 900_000_000),
)


SHARED = (SharedDaemon("crawler:7", 2.0, 1.5, ("forest",)),)


def scraped(*standings, now=NOW, shared=SHARED):
    """The value of every series, by name and labels; no series is told twice, each belongs to the type it has."""
    status = DaemonStatus(NOW - 86_400, NOW - 2, standings, shared)
    shown = format_metrics(make_registry(lambda: status, lambda: now)).decode()
    values = {}
    for family in text_string_to_metric_families(shown):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in values
            values[key] = sample.value
    return values


def of(values, name, **labels):
    return values[f"socialcrawl_{name}", tuple(sorted(labels.items()))]


def test_every_figure_of_a_campaign_is_there_in_its_unit():
    values = scraped(FOREST)
    expected = {
        "campaign_state_age_seconds": 30,
        "campaign_idle_seconds": 40,
        "platform_down_seconds": 0,
        "campaign_resume_time_seconds": NOW + 300,
        "steps_total": 120,
        "relevance": 310.25,
        "known_accounts": 5000,
        "frontier_accounts": 4800,
        "campaign_requests_total": 140,
        "posts_total": 9000,
        "spent_dollars_total": 45.12345,
        "budget_limit_requests": 200,
        "budget_limit_posts": 10_000,
        "budget_limit_dollars": 50,
        "lag_seconds": 0.5,
        "database_size_bytes": 5_000_000,
        "disk_free_bytes": 900_000_000,
    }
    assert {name: of(values, name, campaign="forest") for name in expected} == expected
    requests = {("users/:id/tweets", "ok", "200"): 130, ("users/:id/tweets", "limited", "429"): 2} | {
        ("search", "none", "0"): 1
    }
    for (endpoint, kind, status), n in requests.items():
        assert of(values, "requests_total", campaign="forest", endpoint=endpoint, kind=kind, status=status) == n
    first, second = (
        {"campaign": "forest", "credential": "main", "endpoint": "users/:id/tweets"},
        {"campaign": "forest", "credential": "second", "endpoint": "search"},
    )
    assert [of(values, f"window_{what}_requests", **first) for what in ("used", "limit")] == [12, 15]
    assert [of(values, f"window_{what}_requests", **second) for what in ("used", "limit")] == [0, 60]
    assert of(values, "window_end_time_seconds", **first) == NOW + 300
    assert ("socialcrawl_window_end_time_seconds", tuple(sorted(second.items()))) not in values
    told = Counter(name for name, _ in values if name.startswith("socialcrawl"))
    assert set(told) == set(METRICS)
    assert sum(told.values()) == 3 + len(STATES) + len(expected) + len(requests) + 2 * 2 + 1 + 3 * len(SHARED)


def test_each_daemon_of_a_database_is_one_series_also_where_it_has_campaigns_in_two_databases():
    again = SharedDaemon("crawler:7", 0.5, 1.5, ("lake",))
    other = SharedDaemon("second:9", 31.0, 0.0, ())
    values = scraped(shared=(*SHARED, again, other))
    ages, weights = (
        [of(values, f"shared_daemon_{what}", daemon=name) for name in ("crawler:7", "second:9")]
        for what in ("heartbeat_age_seconds", "weight")
    )
    assert (ages, weights) == ([0.5, 31.0], [1.5, 0.0])
    has = [dict(labels) for name, labels in values if name == "socialcrawl_shared_daemon_campaign"]
    assert has == [{"daemon": "crawler:7", "campaign": name} for name in ("forest", "lake")]


def test_the_state_is_one_series_a_state():
    values = scraped(FOREST)
    assert {s: of(values, "campaign_state", campaign="forest", state=s) for s in STATES} == {
        state: float(state == "waiting") for state in STATES
    }


def test_how_long_a_platform_has_been_down_is_told_and_0_while_it_answers():
    assert of(scraped(FOREST), "platform_down_seconds", campaign="forest") == 0
    assert of(scraped(replace(FOREST, state="down")), "platform_down_seconds", campaign="forest") == 30


def test_the_daemon_itself_is_told():
    values = scraped()
    assert of(values, "info", version=__version__) == 1
    assert of(values, "daemon_start_time_seconds") == NOW - 86_400
    assert of(values, "daemon_heartbeat_age_seconds") == 2


def test_memory_and_processor_time_are_those_of_this_process():
    before = time.process_time()
    values = scraped()
    after = time.process_time()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    assert 0.5 < values["process_resident_memory_bytes", ()] / (pages * os.sysconf("SC_PAGE_SIZE")) < 2
    assert before - 0.1 < values["process_cpu_seconds_total", ()] < after + 0.1  # the kernel counts in hundredths


def test_what_is_not_known_is_left_out_and_not_called_nought():
    values = scraped(CampaignState(Path("broken.toml"), "broken", "broken", "no such estimator", NOW - 5))
    names = {name for name, labels in values if dict(labels).get("campaign") == "broken"}
    assert names == {"socialcrawl_campaign_state", "socialcrawl_campaign_state_age_seconds"}


def test_a_budget_that_the_file_does_not_limit_has_no_series():
    values = scraped(replace(FOREST, figures=replace(FIGURES, caps=Caps(posts=10_000))))
    names = {name for name, _ in values if "_budget_limit_" in name}
    assert names == {"socialcrawl_budget_limit_posts"}


def test_a_clock_that_went_back_makes_no_age_negative():
    ages = {key: value for key, value in scraped(FOREST, now=NOW - 4000, shared=()).items() if "_age_" in key[0]}
    assert set(ages.values()) == {0}
    assert len(ages) == 2


def test_campaigns_of_one_name_are_told_apart_by_their_files():
    twins = [CampaignState(Path(f), "forest", "running", "", NOW) for f in ("a.toml", "b.toml", "x/b.toml")]
    other = CampaignState(Path("c.toml"), "forest (a.toml)", "running", "", NOW)
    values = scraped(*twins, other)
    names = {dict(labels)["campaign"] for name, labels in values if name == "socialcrawl_campaign_state"}
    assert names == {"forest (a.toml)", "forest (a.toml) 2", "forest (b.toml)", "forest (b.toml) 2"}


def test_no_label_shows_a_secret():
    figures = CampaignFigures(requests={(HIDDEN, HIDDEN, 200): 1}, windows=[WindowUse(HIDDEN, HIDDEN, 1, 2, NOW)])
    standing = CampaignState(Path(f"{HIDDEN}.toml"), HIDDEN, "running", HIDDEN, NOW, figures=figures)
    values = scraped(standing, standing)
    assert HIDDEN not in repr(values)
    assert of(values, "requests_total", campaign=f"{KEPT} ({KEPT}.toml) 2", endpoint=KEPT, kind=KEPT, status="200") == 1


def test_there_are_never_more_series_than_a_campaign_can_need():
    requests = {(f"endpoint {n % 7}", f"kind {n % 11}", n): n + 1 for n in range(1000)}
    windows = [WindowUse(f"token {n}", "search", n % 100, 100) for n in range(1000)]
    values = scraped(
        CampaignState(
            Path("f.toml"), "f", "running", "", NOW, figures=CampaignFigures(requests=requests, windows=windows)
        )
    )
    counted = {labels: value for (name, labels), value in values.items() if name == "socialcrawl_requests_total"}
    assert len(counted) == MOST_SERIES + 1
    assert sum(counted.values()) == sum(requests.values())
    used = [value for (name, _), value in values.items() if name == "socialcrawl_window_used_requests"]
    assert (len(used), min(used)) == (MOST_WINDOWS, 80)


def test_of_several_windows_on_an_endpoint_the_fullest_is_told():
    windows = [WindowUse("main", "search", 14, 15, NOW), WindowUse("main", "search", 100, 10_000, NOW + 9)]
    for given_windows in (windows, windows[::-1]):
        figures = CampaignFigures(windows=given_windows)
        values = scraped(CampaignState(Path("f.toml"), "f", "running", "", NOW, figures=figures))
        labels = {"campaign": "f", "credential": "main", "endpoint": "search"}
        assert of(values, "window_used_requests", **labels) == 14
        assert of(values, "window_end_time_seconds", **labels) == NOW


ODD = st.text(max_size=12) | st.text('"\\\n{}=,#\r\0 \ud800é', max_size=8) | st.just("x" * 500)
COUNTS = st.integers(0, 2**53)
FIGURES_OF_ANY_KIND = st.builds(
    CampaignFigures,
    steps=COUNTS,
    relevance=st.floats(0, 1e9),
    known=COUNTS,
    frontier=COUNTS,
    requests=st.dictionaries(st.tuples(ODD, ODD, st.integers(0, 999)), st.integers(0, 10**6), max_size=5),
    sent=COUNTS,
    posts=COUNTS,
    money=COUNTS,
    windows=st.lists(st.builds(WindowUse, ODD, ODD, st.integers(0, 99), st.integers(0, 99), st.none()), max_size=4),
    lag=st.floats(0, 1e6),
)
STANDINGS = st.builds(
    CampaignState,
    ODD.map(lambda name: Path("/campaigns") / ("f" + name.replace("/", "").replace("\0", ""))),
    ODD,
    st.sampled_from(sorted(STATES)),
    st.text(),
    st.floats(0, 2e9),
    st.none() | st.floats(0, 4e9),
    st.none() | st.floats(0, 2e9),
    st.none() | FIGURES_OF_ANY_KIND,
)


def clean(label):
    return label.encode("utf-8", "replace").decode()[:LONGEST]


@settings(deadline=None, max_examples=many(150))
@given(st.lists(STANDINGS, max_size=5))
@example([FOREST, FOREST])
def test_whatever_things_are_called_prometheus_reads_what_was_meant(standings):
    values = scraped(*standings)
    by_metric = {}
    for (name, labels), value in values.items():
        by_metric.setdefault(name, []).append((dict(labels), value))
    running = [labels["campaign"] for labels, value in by_metric.get("socialcrawl_campaign_state", []) if value == 1]
    assert len(set(running)) == len(standings)
    known = [standing for standing in standings if standing.figures]
    for metric, value_of in (
        ("steps_total", lambda figures: figures.steps),
        ("relevance", lambda figures: figures.relevance),
        ("spent_dollars_total", lambda figures: figures.money / 100_000),
        ("requests_total", lambda figures: sum(figures.requests.values())),
    ):
        of_campaign = Counter()
        for labels, value in by_metric.get(f"socialcrawl_{metric}", []):
            of_campaign[labels["campaign"]] += value
        expected = sorted(value_of(standing.figures) for standing in known)
        assert [value for value in sorted(of_campaign.values()) if value] == [value for value in expected if value]
    for standing in known:
        if sum(clean(other.campaign) == clean(standing.campaign) for other in standings) == 1:
            assert of(values, "steps_total", campaign=clean(standing.campaign)) == standing.figures.steps
            endpoints = {clean(endpoint) for endpoint, _, _ in standing.figures.requests}
            shown = [labels for labels, _ in by_metric.get("socialcrawl_requests_total", [])]
            assert endpoints == {each["endpoint"] for each in shown if each["campaign"] == clean(standing.campaign)}


def test_names_follow_the_conventions_of_prometheus():
    for told in METRICS.values():
        assert re.fullmatch(r"socialcrawl_[a-z_]+", told.name)
        assert told.name.endswith("_total") == (told.kind == "counter")
        assert told.help.endswith(".")
        assert not {"minutes", "hours", "mills", "cents", "milliseconds"} & set(told.name.split("_"))
