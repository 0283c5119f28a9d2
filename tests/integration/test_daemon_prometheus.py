"""A real Prometheus reads a real daemon: each query of the dashboard has an answer."""

import json
import re
import socket
import time
from pathlib import Path

import yaml
from postgres import a_server_database
from prometheus import PATIENCE, find_program, serve_prometheus
from promql import fill_variables
from test_daemon_process import campaign_file, daemon
from x_crawls import posts_file, rows

from socialcrawl.mock.server import serve_in_thread

DEPLOY = Path(__file__).parents[2] / "deploy"
PANELS = json.loads((DEPLOY / "grafana/socialcrawl.json").read_text("utf-8"))["panels"]
QUERIES = {
    (panel["title"], target["refId"]): fill_variables(target["expr"])
    for panel in PANELS
    for target in panel.get("targets", ())
}
BUDGETS = "[budget]\nmax_money = 100\nmax_requests = 20_000\nmax_posts = 90_000\n"


def test_every_query_of_the_dashboard_has_an_answer_from_a_daemon_that_runs(tmp_path):
    find_program("prometheus")
    folder = tmp_path / "campaigns"
    folder.mkdir()
    rules = re.sub(r"for: \w+", "for: 0s", (DEPLOY / "prometheus/alerts.yaml").read_text("utf-8"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        here = f"127.0.0.1:{free.getsockname()[1]}"
    with serve_in_thread(posts_file(), limit=100_000) as mock, a_server_database() as server:
        file = campaign_file(folder, mock.url, more=BUDGETS)
        text = file.read_text("utf-8").replace("k = 20\nd = 2.0", "k = 30\nd = 20.0")
        file.write_text(text, "utf-8")
        (folder / "ill.toml").write_text(text.replace('"one', '"ill').replace("_TOKEN", "_UNSET"), "utf-8")
        shared = text.replace('"one.db"', f'"{server}"').replace('"one"', '"shared"')
        (folder / "shared.toml").write_text(shared, "utf-8")
        with daemon(folder, "--health", here), serve_prometheus(f"http://{here}", rules, tmp_path) as ask:
            unanswered, ends = dict(QUERIES), time.monotonic() + PATIENCE
            while unanswered and time.monotonic() < ends:  # a window is there while it is open
                unanswered = {place: query for place, query in unanswered.items() if not ask(query)}
            for group in yaml.safe_load(rules)["groups"]:
                for rule in group["rules"]:
                    ask(rule["expr"])  # which checks that it can be evaluated
            (sent,) = ask('socialcrawl_campaign_requests_total{campaign="one"}')
            firing = {one["metric"]["alertname"] for one in ask('ALERTS{alertstate="firing", campaign="ill"}')}
    assert not unanswered
    assert "SocialcrawlCampaignBroken" in firing
    assert 0 < float(sent["value"][1]) <= rows(folder / "one.db", "select count(*) from request")[0][0]
