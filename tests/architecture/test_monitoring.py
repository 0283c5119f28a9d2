"""The alert rules and the dashboard in deploy/ ask for what a daemon exports, and the alerts fire when they should."""

import json
import re
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml
from prometheus import find_program, serve_prometheus
from promql import fill_variables, read_expression
from test_daemon_metrics import FOREST, scraped

from socialcrawl.daemon.campaign_state import STATES
from socialcrawl.daemon.health_page import PORT, make_app, serve_pages
from socialcrawl.daemon.metrics import METRICS, DaemonStatus, SharedDaemon
from socialcrawl.engine.model import ReplyKind

ROOT = Path(__file__).parents[2]
RULES, CONFIGURATION = ROOT / "deploy/prometheus/alerts.yaml", ROOT / "deploy/prometheus/prometheus.yaml"
DASHBOARD = json.loads((ROOT / "deploy/grafana/socialcrawl.json").read_text("utf-8"))
GROUPS = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
ALERTS = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
OF_TARGET = {"job", "instance"}  # labels that Prometheus adds
ADDED = {"budget"}  # labels that the rules add themselves
BY_PROMETHEUS = {"up": OF_TARGET, "ALERTS": {"alertname", "alertstate", "severity", "campaign", *OF_TARGET}}
VALUES = {"state": set(STATES), "kind": set(ReplyKind), "job": {"socialcrawl"}}


def exported():
    """The labels of every metric that a daemon exports, or Prometheus itself."""
    found = {name: {*dict(labels), *OF_TARGET} for name, labels in scraped(FOREST)}
    return {**found, **BY_PROMETHEUS}


def expressions():
    """Every expression with its place."""
    for name, rule in ALERTS.items():
        yield name, rule["expr"]
    for panel in PANELS:
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]
    for name, variable in VARIABLES.items():
        if variable["type"] == "query":
            yield name, select(name)


def select(variable):
    """The selector of the series that a variable takes its values of."""
    return re.fullmatch(rf"label_values\((.+), {variable}\)", VARIABLES[variable]["query"]["query"])[1]


def read(expression):
    pytest.importorskip("promql_parser", reason="the package promql-parser of the extra dev is not installed")
    return read_expression(fill_variables(expression))


def find_unknown(expression):
    """The metrics, labels and values in an expression that no daemon exports."""
    labels_of, found = exported(), read(expression)
    unknown = found.metrics - set(labels_of)
    known = set().union(*(labels_of.get(name, set()) for name in found.metrics))
    unknown |= found.named - known
    for metric, label, value in found.matched:
        if label not in labels_of.get(metric, {label}):
            unknown.add(f"{metric}{{{label}}}")
        if label in VALUES:
            unknown |= set(value.split("|")) - VALUES[label]
    return unknown


@pytest.mark.parametrize(("place", "expression"), list(expressions()))
def test_an_expression_is_promql_and_reads_what_a_daemon_exports(place, expression):
    assert not find_unknown(expression)


@pytest.mark.parametrize(
    ("expression", "unknown"),
    [
        ("socialcrawl_lag > 1", {"socialcrawl_lag"}),
        ("sum by (campain) (socialcrawl_posts_total)", {"campain"}),
        ('socialcrawl_posts_total{endpoint="search"}', {"socialcrawl_posts_total{endpoint}"}),
        ('socialcrawl_campaign_state{state=~"broken|sad"} == 1', {"sad"}),
        ("socialcrawl_relevance and on (place) socialcrawl_info", {"place"}),
    ],
)
def test_a_name_that_no_daemon_exports_is_seen(expression, unknown):
    assert find_unknown(expression) == unknown


def test_what_is_not_promql_is_seen():
    for wrong in ("sum(up", "rate(up)", "up[5m] > 1", "up ==="):
        with pytest.raises(ValueError, match=r"."):
            read(wrong)


def test_every_metric_is_in_an_alert_or_on_the_dashboard():
    used = set().union(*(read(expression).metrics for _, expression in expressions()))
    assert set(METRICS) <= used


def test_every_alert_says_how_urgent_it_is_what_happened_and_what_to_do():
    assert len(ALERTS) == sum(len(group["rules"]) for group in GROUPS)
    for name, rule in ALERTS.items():
        assert re.fullmatch(r"Socialcrawl([A-Z][a-z]+)+", name)
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}, name
        assert re.fullmatch(r"[1-9]\d*[mh]", rule["for"])
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["annotations"]["description"].endswith(".")
        shown = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        labels_of = exported()
        assert shown <= ADDED.union(*(labels_of[metric] for metric in read(rule["expr"]).metrics)), name


def test_the_page_lists_every_alert_with_its_severity():
    page = (ROOT / "docs/how-to/daemon.md").read_text("utf-8")
    listed = re.findall(r"^\| `(Socialcrawl\w+)` \| (\w+) \|", page, re.MULTILINE)
    assert listed == [(name, rule["labels"]["severity"]) for name, rule in ALERTS.items()]


def test_the_example_reads_a_daemon_on_this_machine_under_the_job_that_the_alerts_expect():
    given = yaml.safe_load(CONFIGURATION.read_text("utf-8"))
    assert given["rule_files"] == [RULES.name]
    (scrape,) = given["scrape_configs"]
    assert scrape == {"job_name": "socialcrawl", "static_configs": [{"targets": [f"127.0.0.1:{PORT}"]}]}


def cells(panel):
    where = panel["gridPos"]
    columns, rows = range(where["x"], where["x"] + where["w"]), range(where["y"], where["y"] + where["h"])
    return {(column, row) for column in columns for row in rows}


def test_no_two_panels_overlap_or_share_a_number_and_all_fit_in_the_grid():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) > 20
    taken = set()
    for panel in panels:
        assert not taken & cells(panel), panel["title"]
        taken |= cells(panel)
    assert {column for column, _ in taken} == set(range(24))
    assert {row for _, row in taken} == set(range(max(row for _, row in taken) + 1))


def test_the_dashboard_asks_the_data_source_that_is_chosen_and_no_other():
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    assert (VARIABLES["datasource"]["type"], VARIABLES["datasource"]["query"]) == ("datasource", "prometheus")
    queries = [variable for variable in VARIABLES.values() if variable["type"] == "query"]
    targets = [target for panel in PANELS for target in panel["targets"]]
    assert all(each["datasource"] == chosen for each in (*queries, *PANELS, *targets))
    assert json.dumps(DASHBOARD).count('"datasource": {') == len(queries) + len(PANELS) + len(targets)


def test_every_panel_has_a_title_a_description_a_unit_and_legends_of_labels_that_there_are():
    labels_of = exported()
    assert len({panel["title"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
        for target in panel["targets"]:
            legends = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert legends <= set().union(*(labels_of[name] for name in read(target["expr"]).metrics))
            assert panel["type"] != "timeseries" or legends, panel["title"]


def test_all_panels_of_campaigns_obey_the_variables():
    for panel in PANELS:
        for target in panel["targets"]:
            for metric, variables in re.findall(r"(socialcrawl_\w+)({[^}]*})", target["expr"]):
                assert 'instance=~"$instance"' in variables
                assert ('campaign=~"$campaign"' in variables) == ("campaign" in METRICS[metric].labels), target["expr"]
    assert set(VARIABLES) == {"datasource", "instance", "campaign"}
    assert all(VARIABLES[name]["allValue"] == ".*" for name in ("instance", "campaign"))


def codes():
    """The state that the dashboard shows for each number."""
    (panel,) = [panel for panel in PANELS if panel["type"] == "state-timeline"]
    (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
    return panel["targets"][0]["expr"], {int(n): shown["text"] for n, shown in mapping["options"].items()}


def test_the_timeline_has_a_number_and_a_colour_for_each_state():
    expression, shown = codes()
    asked = re.findall(r'(\d+) \* socialcrawl_campaign_state\{[^}]*state="(\w+)"\}', expression)
    assert {int(n): state for n, state in asked} == shown
    assert list(shown.values()) == list(STATES)


# What follows asks Prometheus itself.


def run_promtool(*words, folder):
    return subprocess.run(
        [find_program("promtool"), *map(str, words)], cwd=folder, capture_output=True, text=True, check=False
    )


def test_promtool_finds_nothing_wrong_with_the_rules_and_the_example(tmp_path):
    for words in (("check", "rules", RULES), ("check", "config", CONFIGURATION)):
        done = run_promtool(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"{len(ALERTS)} rules found" in done.stdout or words[1] == "config"


TARGET = {"job": "socialcrawl", "instance": "crawler:9464"}
ONE = {**TARGET, "campaign": "forest"}


@dataclass
class Case:
    """Series of a minute a value, and what an alert makes of them.

    Attributes:
        series: their values, in promtool's notation, by metric and labels.
        at: when the alert is looked at.
        value: how its value is shown where it is; None: it must not fire.
        labels: of the alert.
    """

    series: dict
    at: str
    value: str | None = None
    labels: dict | None = None


def series(metric, values, **labels):
    written = ", ".join(f'{name}="{value}"' for name, value in labels.items())
    return {f"{metric}{{{written}}}": values}


def state(name, values):
    return series("socialcrawl_campaign_state", values, **ONE, state=name)


def requests(kind, values):
    return series("socialcrawl_requests_total", values, **ONE, endpoint="search", kind=kind, status="x")


def of_campaign(metric, values):
    return series(f"socialcrawl_{metric}", values, **ONE)


def of_daemon(metric, values):
    return series(metric, values, **TARGET)


def state_cases(name, before, after):
    return [
        Case(state(name, "1x60"), after, "", {**ONE, "state": name}),
        Case(state(name, "1x60"), before),
        Case(state(name, "0x60"), after),
        Case(state(name, "1x2 0 1x60"), before),
    ]


def budget_cases(used, limit, key):
    spent, most = of_campaign(used, "0+10x60"), of_campaign(f"budget_limit_{limit}", "200x60")
    return [
        Case(spent | most, "21m", "105%", {**ONE, "budget": key}),
        Case(spent | most, "20m"),  # for less than 5 minutes
        Case(spent | of_campaign(f"budget_limit_{limit}", "2000x60"), "40m"),
        Case(spent, "40m"),
        Case(spent | most | state("stopped", "1x60"), "30m"),
        Case(spent | most | state("done", "1x60"), "30m"),
    ]


GOOD = requests("ok", "0+60x200")
CASES = {
    "SocialcrawlDaemonSilent": [
        Case(of_daemon("up", "1 0x20"), "6m", "", TARGET),
        Case(of_daemon("up", "1 0x20"), "5m"),
        Case(of_daemon("up", "1x20"), "10m"),
        Case(series("up", "0x20", job="node", instance="a"), "10m"),
    ],
    "SocialcrawlDaemonMissing": [
        Case(series("up", "1x20", job="node", instance="a"), "10m", "", {"job": "socialcrawl"}),
        Case(series("up", "1x20", job="node", instance="a"), "9m"),
        Case(of_daemon("up", "0x20"), "10m"),
    ],
    "SocialcrawlDaemonHangs": [
        Case(of_daemon("socialcrawl_daemon_heartbeat_age_seconds", "2 62+60x20"), "7m", "7m 2s", TARGET),
        Case(of_daemon("socialcrawl_daemon_heartbeat_age_seconds", "2 62+60x20"), "5m"),
        Case(of_daemon("socialcrawl_daemon_heartbeat_age_seconds", "2x20"), "15m"),
        Case(of_daemon("socialcrawl_daemon_heartbeat_age_seconds", "2 62 122 2x20"), "7m"),
    ],
    "SocialcrawlDaemonRestarts": [
        Case(of_daemon("socialcrawl_daemon_start_time_seconds", "1 2 3 4 5x60"), "10m", "4", TARGET),
        Case(of_daemon("socialcrawl_daemon_start_time_seconds", "1 2 3 4 5x60"), "4m"),
        Case(of_daemon("socialcrawl_daemon_start_time_seconds", "1 2 3 4x60"), "10m"),
        Case(of_daemon("socialcrawl_daemon_start_time_seconds", "1 2 3 4 5x90"), "80m"),
    ],
    "SocialcrawlCampaignBroken": state_cases("broken", "9m", "10m"),
    "SocialcrawlCampaignStalled": state_cases("stalled", "4m", "5m"),
    "SocialcrawlCampaignLate": [
        Case(of_campaign("lag_seconds", "90x60") | state("running", "1x60"), "30m", "1m 30s", ONE),
        Case(of_campaign("lag_seconds", "90x60") | state("running", "1x60"), "29m"),
        Case(of_campaign("lag_seconds", "90x60") | state("running", "0x60") | state("resting", "1x60"), "30m"),
        Case(of_campaign("lag_seconds", "30x60") | state("running", "1x60"), "30m"),
    ],
    "SocialcrawlPlatformDown": [
        Case(of_campaign("platform_down_seconds", "0 60+60x60"), "16m", "16m 0s", ONE),
        Case(of_campaign("platform_down_seconds", "0 60+60x60"), "15m"),
        Case(of_campaign("platform_down_seconds", "0x60"), "30m"),
    ],
    "SocialcrawlCampaignStopped": state_cases("stopped", "4m", "5m"),
    "SocialcrawlTokenRefused": [
        Case(GOOD | requests("refused", "_x70 1x90"), "75m", "", ONE),  # the first one that was ever refused
        Case(GOOD | requests("refused", "1x70 2x90"), "75m", "", ONE),
        Case(GOOD | requests("refused", "_x70 1x90"), "70m"),
        Case(GOOD | requests("refused", "_x10 1x200"), "80m"),
        Case(GOOD | requests("refused", "1x200"), "80m"),
        Case(GOOD, "80m"),
    ],
    "SocialcrawlRequestsFail": [
        Case(GOOD | requests("lost", "0+15x200") | requests("broken", "0+25x200"), "100m", "40%", ONE),
        Case(GOOD | requests("lost", "0+40x200"), "30m"),
        Case(GOOD | requests("lost", "0+10x200"), "100m"),
        Case(GOOD | requests("missing", "0+60x200"), "100m"),
        Case(GOOD, "100m"),
    ],
    "SocialcrawlRateLimited": [
        Case(GOOD | requests("window", "0+15x200") | requests("missing", "0+75x200"), "100m", "10%", ONE),
        Case(GOOD | requests("window", "0+15x200"), "30m"),
        Case(GOOD | requests("backoff", "0+2x200"), "100m"),
        Case(GOOD, "100m"),
    ],
    "SocialcrawlBudgetNearlySpent": [
        *budget_cases("spent_dollars_total", "dollars", "max_money"),
        *budget_cases("campaign_requests_total", "requests", "max_requests"),
        *budget_cases("posts_total", "posts", "max_posts"),
    ],
    "SocialcrawlDiskNearlyFull": [
        Case(of_campaign("disk_free_bytes", "536870912x30"), "10m", "512Mi", ONE),
        Case(of_campaign("disk_free_bytes", "536870912x30"), "9m"),
        Case(of_campaign("disk_free_bytes", "1100000000x30"), "20m"),
    ],
    "SocialcrawlDiskFillsUp": [
        # 10 MB a minute are 14.4 GB a day: more than the 14 GB that are left at first
        Case(of_campaign("disk_free_bytes", "14000000000-10000000x70"), "61m", "", ONE),
        Case(of_campaign("disk_free_bytes", "14000000000-10000000x70"), "60m"),
        Case(of_campaign("disk_free_bytes", "90000000000-10000000x70"), "65m"),
        Case(of_campaign("disk_free_bytes", "14000000000x70"), "65m"),
    ],
}


def fill(text, case):
    """An annotation as people read it."""
    named = re.sub(r"{{ \$labels\.(\w+) }}", lambda match: (case.labels or {})[match[1]], text)
    return re.sub(r"{{ \$value[^}]*}}", lambda match: case.value, named)


def make_test(alert, case):
    rule, fires = ALERTS[alert], []
    if case.value is not None:
        told = {name: fill(text, case) for name, text in rule["annotations"].items()}
        fires = [{"exp_labels": {**case.labels, **rule["labels"]}, "exp_annotations": told}]
    return {
        "interval": "1m",
        "name": f"{alert} {case}",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [{"eval_time": case.at, "alertname": alert, "exp_alerts": fires}],
    }


def test_every_alert_fires_on_series_that_need_it_and_on_no_others(tmp_path):
    assert set(CASES) == set(ALERTS)
    for cases in CASES.values():
        assert {case.value is None for case in cases} == {True, False}
    tests = [make_test(alert, case) for alert, cases in CASES.items() for case in cases]
    content = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump(content), "utf-8")
    done = run_promtool("test", "rules", "cases.yaml", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_has_an_answer_for_every_panel_and_variable_from_the_page_of_a_daemon(tmp_path):
    now = time.time()
    campaigns = [
        replace(FOREST, campaign=name, state=name, since=now - 30, moved=now - 40, until=now + 3600) for name in STATES
    ]
    windows = [replace(window, ends=now + 3600) for window in FOREST.figures.windows]
    campaigns[0] = replace(campaigns[0], figures=replace(FOREST.figures, windows=windows))
    shared = [SharedDaemon("hill:7", 2.0, 1.0, ["forest"])]
    pages = make_app(lambda: DaemonStatus(now - 60, time.time(), campaigns, shared), time.time)
    rules = re.sub(r"for: \w+", "for: 0s", RULES.read_text("utf-8"))
    with serve_pages(pages, "127.0.0.1", 0) as url, serve_prometheus(url, rules, tmp_path) as ask:
        shown = {
            (panel["title"], target["refId"]): ask(fill_variables(target["expr"]))
            for panel in PANELS
            for target in panel["targets"]
        }
        assert not [place for place, series in shown.items() if not series]
        assert {one["metric"]["campaign"] for one in ask(fill_variables(select("campaign")))} == set(STATES)
        assert len(ask(select("instance"))) == 1
        expression, names = codes()
        by_campaign = {one["metric"]["campaign"]: float(one["value"][1]) for one in ask(fill_variables(expression))}
        assert {campaign: names[int(code)] for campaign, code in by_campaign.items()} == {name: name for name in STATES}
        firing = {one["metric"]["alertname"] for one in shown["Firing alerts", "A"]}
        assert {"SocialcrawlCampaignBroken", "SocialcrawlPlatformDown", "SocialcrawlBudgetNearlySpent"} <= firing
        of_budget = [
            float(one["value"][1]) for ref in "ABC" for one in shown["Budgets used", ref]
            if one["metric"]["campaign"] == "running"
        ]  # fmt: skip
        assert of_budget == pytest.approx([45.12345 / 50, 140 / 200, 9000 / 10_000])
