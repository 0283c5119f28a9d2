"""Daemons that share campaigns, step by step: whatever the order of their looks, each campaign is run, and by one."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_weeks import BEGIN, Virtual, campaign_text

from socialcrawl.campaign.build import ProcessContext
from socialcrawl.campaign.credentials import has_tokens
from socialcrawl.campaign.settings import read
from socialcrawl.campaign.token_locks import TokenLease
from socialcrawl.daemon.campaign_runner import CampaignRunner
from socialcrawl.daemon.campaign_sharing import CampaignSharing
from socialcrawl.daemon.campaign_state import ELSEWHERE, RESTING
from socialcrawl.storage.daemons import CampaignLease, LiveDaemon
from socialcrawl.storage.database.address import parse_address

SERVER = parse_address("postgresql://nobody@example.org/campaigns")
HOUR = 3600.0
NAMES = [f"campaign{number}" for number in range(6)]


class Server:
    """What daemons see of each other: the rows of their campaigns, what they can run, and the locks."""

    def __init__(self):
        self.rows = {name: CampaignLease(name, None) for name in NAMES}
        self.living, self.hanging, self.at_work, self.locks = {}, set(), set(), {}

    def open(self, name, daemon):
        assert self.locks.setdefault(name, daemon) == daemon
        self.rows[name] = replace(self.rows[name], daemon=daemon, host=daemon, pid=1, beat=0.0, released=None)

    def release(self, name, daemon):
        if self.locks.get(name) == daemon:
            del self.locks[name]
            self.rows[name] = replace(self.rows[name], released=1.0)

    def leave(self, daemon):
        """End a daemon as `kill -9` does: its rows say nothing of it."""
        self.living.pop(daemon)
        self.locks = {name: its for name, its in self.locks.items() if its != daemon}


class Books:
    """The rows of one daemon."""

    def __init__(self, server, daemon):
        self.server, self.daemon = server, daemon

    def write_share(self, where, weight, campaigns, now):
        self.server.living[self.daemon] = LiveDaemon(self.daemon, self.daemon, 1, 0.0, False, weight, campaigns)
        return True

    def list_living(self, where):
        return [one for one in self.server.living.values() if one.id not in self.server.hanging]

    def find_other(self, where, campaign, now, alive):
        one = self.server.rows[campaign]
        gone = one.daemon in (None, self.daemon) or one.released is not None
        return None if gone or one.daemon not in {each.id for each in self.list_living(where)} else one

    def end_silent_sessions(self, where, one, now):
        if one.released is not None or one.daemon not in self.server.hanging:
            return None
        if one.daemon in self.server.at_work:
            return False
        self.server.leave(one.daemon)
        self.server.hanging.discard(one.daemon)
        return True


class Crew:
    """Daemons that each look at the server when they are told to."""

    def __init__(self):
        self.server, self.daemons = Server(), {}

    def join(self, daemon, weight=1.0, able=NAMES):
        sharing = CampaignSharing(daemon, weight, Books(self.server, daemon))
        runners = [self.make_runner(daemon, name, able) for name in NAMES]
        self.daemons[daemon] = sharing, runners

    def make_runner(self, daemon, name, able):
        runner = SimpleNamespace(name=name, open=False, is_able=name in able, __hash__=None)
        runner.settings = SimpleNamespace(name=name, database=SERVER)

        def give_way(why):
            runner.open = False
            self.server.release(name, daemon)

        runner.give_way, runner.take_over = give_way, lambda held: None
        return runner

    def look(self, daemon):
        """Look around once, and then run what may be run and nobody has."""
        sharing, runners = self.daemons[daemon]
        sharing.decide(SERVER, dict(self.server.rows), runners, 0.0)
        for runner in runners:
            if not runner.open and runner.is_able and sharing.find_reason(runner.settings) is None:
                runner.open = self.server.locks.get(runner.name, daemon) == daemon
                if runner.open:
                    self.server.open(runner.name, daemon)

    def end(self, daemon, *, hangs):
        self.daemons.pop(daemon)
        self.server.hanging.add(daemon) if hangs else self.server.leave(daemon)

    def settle(self):
        for _ in range(8):
            for daemon in sorted(self.daemons):
                self.look(daemon)
        return dict(self.server.locks)


@pytest.fixture(autouse=True)
def tokens_at_hand(monkeypatch):
    """Every daemon has all tokens: what it can run is what its runners say."""
    monkeypatch.setattr(CampaignSharing, "_has_tokens", lambda self, runner: True)


DEEDS = st.lists(
    st.tuples(st.sampled_from(["join", "look", "look", "look", "kill", "hang"]), st.sampled_from("abcd")), max_size=30
)


@settings(max_examples=many(200), deadline=None)
@given(DEEDS)
def test_whoever_comes_and_goes_each_campaign_is_run_by_one_daemon_and_all_have_their_share(deeds):
    crew, number = Crew(), 0
    for deed, letter in deeds:
        found = [name for name in crew.daemons if name.startswith(letter)]
        if deed == "join" and not found:
            number += 1
            crew.join(f"{letter}{number}")
            crew.look(f"{letter}{number}")
        elif found and deed == "look":
            crew.look(found[0])
        elif found and deed != "join":
            crew.end(found[0], hangs=deed == "hang")
    held = crew.settle()
    if not crew.daemons:
        return
    assert set(held) == set(NAMES)
    assert set(held.values()) <= set(crew.daemons)
    counts = [Counter(held.values())[daemon] for daemon in crew.daemons]
    assert max(counts) - min(counts) <= 1
    assert crew.settle() == held, "what is in its place stays there"


def test_a_daemon_that_joins_gets_what_the_first_gives_away_and_nothing_else_moves():
    crew = Crew()
    crew.join("a")
    assert set(crew.settle().values()) == {"a"}
    crew.join("b", weight=2.0)
    held = crew.settle()
    assert Counter(held.values()) == {"a": 2, "b": 4}
    crew.join("c")
    later = crew.settle()
    assert Counter(later.values())["c"] in (1, 2)
    assert all(later[name] in (held[name], "c") for name in NAMES)


def test_a_daemon_whose_heartbeat_is_late_keeps_its_campaigns_while_its_connections_are_at_work():
    crew = Crew()
    crew.join("a")
    crew.join("b")
    held = crew.settle()
    crew.end("a", hangs=True)
    crew.server.at_work.add("a")
    assert crew.settle() == held
    assert {name: one.daemon for name, one in crew.server.rows.items()} == held, "who hangs can be told later, too"
    crew.server.at_work.clear()
    assert set(crew.settle().values()) == {"b"}


def test_a_campaign_that_a_daemon_cannot_open_any_more_goes_to_one_that_can():
    crew = Crew()
    crew.join("a")
    crew.join("b")
    crew.settle()
    for runner in crew.daemons["a"][1]:
        runner.is_able = False
    assert set(crew.settle().values()) == {"b"}


def test_a_daemon_without_a_token_runs_nothing_that_needs_it_and_says_so_once(monkeypatch):
    crew = Crew()
    crew.join("a")
    crew.join("b")
    there = {"b": {"campaign0"}}
    monkeypatch.setattr(CampaignSharing, "_has_tokens", lambda self, runner: runner.name in there.get(self.name, NAMES))
    held = crew.settle()
    assert set(Counter(held.values())) == {"a", "b"}
    assert [name for name in NAMES if held[name] == "b"] == ["campaign0"]
    sharing, runners = crew.daemons["b"]
    told = [sharing.decide(SERVER, dict(crew.server.rows), runners, 0.0).lacking for _ in range(2)]
    assert told == [[], []], "it was said at the first look"
    there["b"] = set()
    assert [runner.name for runner in sharing.decide(SERVER, dict(crew.server.rows), runners, 0.0).lacking] == [
        "campaign0"
    ]


def test_a_campaign_that_is_done_moves_no_other():
    crew = Crew()
    crew.join("a")
    crew.join("b")
    held = crew.settle()
    for name in NAMES:
        if held[name] == "a":
            crew.server.rows[name] = replace(crew.server.rows[name], state="done")
    later = crew.settle()
    mine = [name for name in NAMES if held[name] == "b"]
    assert all(later[name] == "a" for name in NAMES if held[name] == "a")
    assert Counter(later[name] for name in mine) == {"a": 1, "b": 2}


@pytest.fixture
def runner(tmp_path):
    file = tmp_path / "one.toml"
    text = campaign_text("one", "http://127.0.0.1:9", "telescope", "[schedule]\nevery = '9h'\n")
    file.write_text(text, "utf-8")
    return CampaignRunner(file, read(file), ProcessContext(Virtual()), lambda settings: None)


def test_a_campaign_that_is_taken_over_has_its_next_turn_when_its_schedule_says(runner):
    runner.give_way("the daemon b runs it")
    assert (runner.describe_state().state, runner.due) == (ELSEWHERE, None)
    runner.take_over(CampaignLease("one", None, state=RESTING, moved=BEGIN - HOUR))
    assert (runner.describe_state().state, runner.due) == (RESTING, BEGIN + 8 * HOUR)


def test_a_campaign_that_nobody_ran_begins_at_once_where_it_is_taken_over(runner):
    runner.give_way("the daemon b runs it")
    runner.take_over(None)
    assert runner.due == BEGIN


def test_a_token_that_another_process_uses_is_not_at_hand(runner, monkeypatch):
    monkeypatch.setattr("socialcrawl.campaign.token_locks.find_holder", lambda path: 1 if path.exists() else None)
    base = "http://127.0.0.1:9"
    assert has_tokens(runner.settings, base)
    lease = TokenLease(base, "AAAA-the-token-that-nobody-may-see", "main")
    assert not has_tokens(runner.settings, base)
    lease.release()
    assert has_tokens(runner.settings, base)
    monkeypatch.delenv(runner.settings.source.token_env)
    assert not has_tokens(runner.settings, base)
