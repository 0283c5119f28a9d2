"""Campaigns of one database that use the same token know of each other, open or not, on one machine or on two.

A machine is a state folder here: the journals of tokens lie there, and no machine reads another's. Each process
has its own context. No header tells of the windows.
"""

import itertools
import random
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres import a_role, a_server_database, as_role
from shared_tokens import BASE, planner, policy
from sqlalchemy import text
from test_applications import bearer
from test_takeovers import ENDPOINTS, policy_file
from virtual_weeks import BEGIN, Slowly, Virtual
from x_crawls import TOKEN, TOKEN_ENV, campaign_of, posts_file

from socialcrawl.campaign.build import ProcessContext, build
from socialcrawl.campaign.siblings import unite
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Credential, Grant, Page, PostRow, Reply, Request, Wait
from socialcrawl.mock.rate_windows import LimitRule as Counted
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.ratelimit.billing_cycle import BillingCycle
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.shared_windows import SentRequest, SharedWindows
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.address import parse_address
from socialcrawl.storage.database.connection import identify_database, make_engine, open_database

K, D = 7, 900.0
TIMELINE = "/2/users/:id/tweets"
FIRST = 2  # requests of a campaign before its first timeline: a search and a look-up


class Machines:
    """Campaigns on one mock and one clock; each process of each machine has a process context of its own."""

    def __init__(self, folder, monkeypatch, kind="fixed", limit=K):
        self.folder, self.patch, self.kind, self.limit = folder, monkeypatch, kind, limit
        self.time = Virtual()
        self.policy = policy_file(folder, kind)
        self.policy.write_text(self.policy.read_text("utf-8").replace(f"k = {K}", f"k = {limit}"), "utf-8")

    @contextmanager
    def mock(self):
        windows = {"limit": 100_000, "rules": {name: [Counted(self.limit, D, self.kind)] for name in ENDPOINTS}}
        with serve_in_thread(posts_file(), None, self.time.now, **windows) as mock:
            self.url = mock.url
            yield mock

    def process(self):
        made = ProcessContext(self.time, pool=lambda size: Slowly(self.time, 0.0))
        made.shared.database_clock = self.time.now
        return made

    def open(self, name, machine, place, *, most=99, process=None, **sections):
        self.patch.setenv("XDG_STATE_HOME", str(self.folder / machine))
        given = {"source": {}, "limits": {}, **sections}
        given["source"] = {"policy": self.policy, "reuse_hours": 0, **given["source"]}
        given["limits"] = {"k": None, "d": None, **given["limits"]}
        settings = campaign_of(self.url, place, name=name, budget={"max_requests": most}, **given)
        process = process or self.process()
        return build(settings, CampaignView(), process)

    def run(self, name, machine, place, **more):
        campaign = self.open(name, machine, place, **more)
        try:
            return run(campaign.parts, patience=0.5)
        finally:
            campaign.close()


def timelines(mock):
    """How many requests the windows of timelines have received, and how many over them."""
    report = mock.report()
    return sum(one["received"] for one in report["rules"] if one["endpoint"] == TIMELINE), report["over"]


@pytest.mark.parametrize(
    ("machines", "kind"), [("here", "fixed"), ("there", "fixed"), ("there", "sliding"), ("there", "aligned")]
)
def test_runs_one_after_the_other_on_one_database_pass_no_window(place, tmp_path, monkeypatch, kind, machines):
    it = Machines(tmp_path, monkeypatch, kind)
    with it.mock() as mock:
        it.run("one", "here", place, most=FIRST + K)
        it.run("two", machines, place)
        assert timelines(mock) == (K, 0)


@pytest.mark.parametrize(("kind", "seed"), [("fixed", 0), ("sliding", 1), ("aligned", 2)])
def test_campaigns_that_are_opened_and_closed_on_two_machines_use_a_window_up_and_pass_it_never(
    place, tmp_path, monkeypatch, kind, seed
):
    """What is told twice, or was counted by who is open, and then told, would leave a part of the window unused."""
    it, draw, most = Machines(tmp_path, monkeypatch, kind, 20), random.Random(seed), dict.fromkeys("abc", FIRST)
    with it.mock() as mock, ExitStack() as ends:
        houses = {"here": it.process(), "there": it.process()}
        open_ones = {}
        for _ in range(8):
            name, machine = draw.choice("abc"), draw.choice(list(houses))
            if name in open_ones:
                open_ones.pop(name).close()
            most[name] += draw.choice([1, 2])
            if draw.random() < 0.2:
                houses[machine] = it.process()
                for one in open_ones.values():
                    one.close()
                open_ones.clear()
            if open_ones and draw.random() < 0.5:
                machine = next(iter(houses))
            campaign = it.open(name, machine, place, most=most[name], process=houses[machine])
            ends.callback(campaign.close)
            run(campaign.parts, patience=0.5)
            if draw.random() < 0.5:
                campaign.close()
            else:
                open_ones[name] = campaign
        for one in open_ones.values():
            one.close()
        sent = sum(most.values()) - 3 * FIRST
        assert timelines(mock) == (min(sent, 20), 0)
        it.run("last", draw.choice(["here", "there", "far"]), place)
        assert timelines(mock) == (20, 0)


def spelled(place, folder):
    """The same database, written otherwise."""
    if isinstance(place, Path):
        other = folder / "elsewhere"
        other.symlink_to(place.parent, target_is_directory=True)
        return other / place.name
    return parse_address(f"{place.url}&application_name=another")


def test_a_database_that_is_written_in_two_ways_is_one(place, tmp_path, monkeypatch):
    it = Machines(tmp_path, monkeypatch)
    with it.mock() as mock:
        other, process = spelled(place, tmp_path), it.process()
        it.run("one", "here", place, most=FIRST + 2, process=process)
        first = it.open("two", "here", other, most=FIRST + 2, process=process)
        run(first.parts, patience=0.5)
        it.run("three", "here", place, most=FIRST + 2, process=process)
        it.run("four", "here", other, most=FIRST, process=process)
        first.close()
        it.run("five", "here", other)
        assert timelines(mock) == (K, 0)


@pytest.mark.parametrize("same", ["variable", "token", "server", "nothing"])
def test_a_token_is_known_by_itself_and_its_server_whatever_its_variable_is_called(tmp_path, monkeypatch, same):
    place = tmp_path / "a.db"
    it = Machines(tmp_path, monkeypatch)
    monkeypatch.setenv("ANOTHER_VARIABLE", TOKEN if same == "token" else "BBBB-a-token-of-somebody-else")
    with it.mock() as mock:
        own = it.url
        it.run("one", "here", place, most=FIRST + K)
        variable = TOKEN_ENV if same in {"variable", "server"} else "ANOTHER_VARIABLE"
        it.url = own.replace("127.0.0.1", "localhost") if same == "server" else own
        it.run("two", "there", place, source={"token_env": variable})
        assert timelines(mock) == (2 * K if same == "nothing" else K, 0)


def test_what_cannot_be_told_here_is_left_to_the_headers(place, tmp_path, monkeypatch):
    """The other machine's variable is not set here, and its policy is a file that is not here; nothing fails."""
    it = Machines(tmp_path, monkeypatch)
    with it.mock() as mock:
        monkeypatch.setenv("ANOTHER_VARIABLE", TOKEN)
        it.run("one", "here", place, most=FIRST + 3, source={"token_env": "ANOTHER_VARIABLE"})
        monkeypatch.delenv("ANOTHER_VARIABLE")
        it.run("two", "there", place, most=FIRST + 3)
        assert timelines(mock) == (6, 0)


LATEST = "update request set kind = :kind, status = :status where id = (select max(id) from request where kind = 'ok')"


def test_what_never_reached_the_server_and_what_the_database_answered_was_not_sent(place, tmp_path, monkeypatch):
    it = Machines(tmp_path, monkeypatch)
    with it.mock():
        it.run("one", "here", place, most=FIRST + 3)
        campaign = it.open("two", "there", place)
        told = []
        for kind, status in (("broken", 502), ("broken", 0), ("held", 200)):
            told += map(len, campaign.member.read_elsewhere(BEGIN - 1.0).values())
            with open_database(place) as connection, connection.begin():
                connection.execute(text(LATEST), {"kind": kind, "status": status})
        told += map(len, campaign.member.read_elsewhere(BEGIN - 1.0).values())
        assert told == [5, 5, 4, 3]
        campaign.close()


@pytest.mark.parametrize("machines", ["here", "there"])
def test_the_cap_of_a_billing_cycle_is_of_all_campaigns_of_a_database(place, tmp_path, monkeypatch, machines):
    it, process = Machines(tmp_path, monkeypatch, limit=1000), None
    it.policy.write_text(f"cap = 300\n{it.policy.read_text('utf-8')}", "utf-8")
    with it.mock():
        process = it.process() if machines == "here" else None
        it.run("one", "here", place, most=FIRST + 5, process=process)
        assert 50 < posts_read(place) < 250
        stops = [it.run(name, machines, place, process=process) for name in ("two", "three")]
        for stop in stops:
            assert "the cap of 300 posts in a billing cycle is reached" in stop.why
        assert 300 - 100 < posts_read(place) <= 300, "less than a page is left"
        it.time.at += 31 * 86_400.0
        it.run("two", machines, place, process=process)
        assert 200 + 200 < posts_read(place) <= 2 * 300


@pytest.mark.parametrize("same", ["application", "nothing"])
def test_tokens_of_one_application_have_one_bill(tmp_path, monkeypatch, same):
    it, place = Machines(tmp_path, monkeypatch, limit=1000), tmp_path / "a.db"
    it.policy.write_text(f"cap = 300\n{it.policy.read_text('utf-8')}", "utf-8")
    with it.mock():
        for name, number in (("one", 1), ("two", 1 if same == "application" else 2)):
            monkeypatch.setenv(name.upper(), bearer(number, name))
            it.run(name, "here", place, source={"token_env": name.upper()})
    read = {"application": range(200, 301), "nothing": range(400, 601)}
    assert posts_read(place) in read[same]


def posts_read(place):
    with open_database(place) as connection, connection.begin():
        return int(connection.execute(text("select sum(posts) from request")).scalar_one())


@settings(deadline=None, max_examples=many(100))
@given(
    st.lists(st.tuples(st.sampled_from("bc"), st.booleans()), max_size=8),
    st.lists(st.sampled_from(["tell", "open", "leave", "anew"]), max_size=6),
    st.floats(0.0, 100.0),
)
def test_each_request_counts_once_whoever_tells_of_it_and_however_often(requests, moves, ahead):
    """The journal has some requests of b and c, the ledger all of b, which is opened, and goes again, meanwhile.

    The clock of the machine that sent them is ahead of ours by a while, or is not.
    """
    shared, rules, now = SharedWindows(), [Rule(20, D, "sliding")], BEGIN + 50.0
    sent = {name: [] for name in ("journal b", "journal c", "ledger b", "ledger c")}
    for n, (name, noted) in enumerate(requests):
        one = SentRequest("a-t", "/e", BEGIN + n + ahead, BEGIN + n + ahead + 0.5)
        sent[f"ledger {name}"].append(one)
        sent[f"journal {name}"] += [one] if noted else []
    told = {"b": sent["ledger b"]}, {"b": sent["journal b"], "c": sent["journal c"]}
    ledger = [(Grant(Request((0, 0), "/e", {}), "b-t", one.left), Reply("ok", one.landed)) for one in told[0]["b"]]
    a, members = planner(shared, "a", rules), []
    a.shared.read_elsewhere = lambda since: unite(*told)
    for move in [*moves, "tell"]:
        now += 1.0
        if move == "open" and not members:
            b = planner(shared, "b", rules)
            b.fold(ledger, now)
            members.append(b.shared)
        elif move == "leave" and members:
            members[0].leave()
        elif move == "anew":
            a.shared.leave()
            a = planner(shared, "a", rules)
            a.shared.read_elsewhere = lambda since: unite(*told)
        if move == "tell":
            a.fold([], now)
    assert granted(a, now) == 20 - len(sent["ledger b"]) - len(sent["journal c"])


def test_a_campaign_that_is_here_counts_its_posts_by_itself_and_one_that_left_for_the_most_that_is_known():
    shared = SharedWindows()
    a, b = (capped(shared, name) for name in "ab")
    for by in (b, a):
        by.fold([], BEGIN)
    told = BillingCycle(25)
    told.settle(0, 10, BEGIN)
    asked, now = [], itertools.count(BEGIN + 100.0, 100.0)
    a.shared.read_cycles = lambda now, known: asked.append(set(known)) or {"b": (frozenset("t"), told)}

    def room(at=None):
        at = at or next(now)
        a.fold([], at)
        return next(n for n in range(26, -1, -1) if not a._explain_cap(n, at))

    assert room() == 25, "b knows better than its ledger did"
    read(b, 15, BEGIN)
    assert room() == 10
    b.shared.leave()
    assert room() == 10, "its ledger was read before it read the last ones"
    told.settle(0, 10, BEGIN)
    assert room(at := next(now)) == 5, "another machine has gone on with it"
    assert room(at + 1.0) == 5
    assert asked == [{"a", "b"}, {"a", "b"}, {"a"}, {"a"}, {"a", "b"}], "it was read a second ago"


def capped(shared, name):
    member = shared.join(name, 1.0, BASE, {"t": "t"})
    return WindowPlanner(policy(Rule(100, D), cap=25), [Credential("t")], Caps(), shared=member)


def read(by, posts, at):
    """Let a campaign read a page of posts."""
    grant = by.take(Request((0, 0), "/e", {}, posts), at)
    rows = [PostRow(str(n), "a", None, "", *[None] * 14) for n in range(posts)]
    by.settle(grant, Reply("ok", at, Page(posts=rows)), at)


def granted(by, now):
    """How many requests may leave from an instant on, each answered at once."""
    for n in range(99):
        one = by.take(Request((n, 0), "/e", {}), now + n / 1000)
        if isinstance(one, Wait):
            return n
        by.settle(one, Reply("ok", now + n / 1000), now + n / 1000)
    return 99


def test_a_server_that_keeps_to_itself_which_it_is_is_known_by_its_url():
    with a_role(grants=["pg_read_all_data"]) as role, a_server_database() as server:
        theirs = as_role(server, role)
        with closing(make_engine(theirs).connect()) as asked:
            assert identify_database(asked).startswith("postgresql ")
        with psycopg.connect(server.url, autocommit=True) as raw:
            raw.execute("revoke execute on function pg_control_system() from public")
        with closing(make_engine(theirs).connect()) as asked:
            assert identify_database(asked) == str(theirs)
