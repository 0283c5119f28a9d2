"""The money budget is never passed by one cent: with sixteen requests in flight, and killed in the middle of them.

The bill is the mock's own, counted from what it sent; the ledger is the crawler's. Bill <= ledger <= budget, always.
"""

import random
import signal
import subprocess

import pytest
from commands import COMMAND, ENVIRONMENT
from killed_campaigns import Reaper
from x_crawls import TOPIC, campaign_of, crawl, posts, rows

from socialcrawl.mock.server import serve_in_thread

MILLS = 100_000
# A page of 10 posts costs 5 cents at most, so that fifty kills with sixteen in flight fit into some tens of dollars.
POLICY = """
platform = "x"
base_url = "https://api.x.com"
as_of = 2026-11-01
once_a_day = true
[prices]
post = 0.005
user = 0.010
"""
ENDPOINT = '[endpoints."{}"]\napp = [{{ k = 100000, d = 60 }}]\npage = {}\nreturns = "{}"\n'
PAGES = {"/2/users/by": (100, "user"), "/2/users": (100, "user"), "/2/users/:id/tweets": (10, "post"),
         "/2/tweets/search/recent": (100, "post")}  # fmt: skip


def policy_file(folder):
    file = folder / "policy.toml"
    file.write_text(POLICY + "".join(ENDPOINT.format(name, *page) for name, page in PAGES.items()))
    return file


def billed(mock):
    """The mock's bill in mills."""
    return sum(round(day["dollars"] * MILLS) for day in mock.report()["billed"].values())


def spent(database):
    """What the ledger counts: the cost of what was settled, the dearest price of what was not."""
    return rows(database, "select coalesce(sum(coalesce(cost, most)), 0) from request")[0][0]


@pytest.mark.parametrize("dollars", [2.5, 5.0, 7.77])
def test_with_sixteen_in_flight_the_budget_is_kept_to_the_cent(tmp_path, dollars):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), limit=100_000, latency=0.02) as mock:
        settings = campaign_of(
            mock.url,
            database,
            crawl={"steps": None, "refresh_rate": 16},
            source={"pages_per_user": 3, "policy": policy_file(tmp_path)},
            budget={"max_money": dollars},
        )
        reason, planner = crawl(settings)
        bill = billed(mock)
    assert (reason.kind, "max_money" in reason.why) == ("budget", True)
    assert bill <= planner.budget.money == spent(database) <= dollars * MILLS
    assert planner.budget.money > dollars * MILLS - 5_000 - 1, "the budget was used up to the last page"
    overlapping = "select count(*) from request a join request b on a.id < b.id and b.sent_at < a.arrived_at"
    assert rows(database, overlapping)[0][0] > 100, "requests really were in flight together"


def campaign_file(folder, url, dollars):
    file = folder / "mine.toml"
    file.write_text(
        f'name = "mine"\ndatabase = "mine.db"\n[topic]\nkeywords = ["{TOPIC}"]\n[seeds]\nmost = 10\n'
        f'[crawl]\nestimator = "bfs"\nrefresh_rate = 16\n[budget]\nmax_money = {dollars}\n'
        f'[source]\nbase_url = "{url}"\npolicy = "{policy_file(folder)}"\npages_per_user = 3\n[limits]\npause = 0.01\n'
    )
    return file


def killed_in_flight(file, reaper, after):
    """Start the campaign and kill it as the request number `after` arrives; whether that became of it."""
    process = subprocess.Popen(
        [*COMMAND, "run", str(file), "--json"],
        env=ENVIRONMENT | {"X_BEARER_TOKEN": "a-token"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with reaper.kills(process.pid, after):
        return process.wait() == -signal.SIGKILL


def is_kept_through(kills, folder, dollars):
    draw, reaper, killed = random.Random(kills), Reaper(), 0
    with serve_in_thread(posts(1000), reaper, limit=1_000_000, latency=0.05) as mock:
        file = campaign_file(folder, mock.url, dollars)
        database = file.with_name("mine.db")
        for _ in range(kills):
            killed += killed_in_flight(file, reaper, draw.randrange(1, 12))
            assert billed(mock) <= spent(database) <= dollars * MILLS
        subprocess.run([*COMMAND, "run", str(file), "--json"], env=ENVIRONMENT | {"X_BEARER_TOKEN": "a-token"},
                       capture_output=True, check=False)  # fmt: skip
        assert billed(mock) <= spent(database) <= dollars * MILLS
    return killed, rows(database, "select count(*) from request where arrived_at is null")[0][0]


def test_killed_in_mid_flight_three_times_the_budget_is_still_kept(tmp_path):
    killed, lost = is_kept_through(3, tmp_path, 10.0)
    assert killed == 3
    assert lost >= 3, "requests were in flight when it was killed"


@pytest.mark.chaos
def test_killed_in_mid_flight_fifty_times_the_budget_is_still_kept(tmp_path):
    killed, lost = is_kept_through(50, tmp_path, 60.0)
    assert killed == 50
    assert lost >= 50, "at least the request at whose arrival it was killed"
