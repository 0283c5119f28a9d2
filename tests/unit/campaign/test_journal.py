"""The journal of a token: what every campaign of this machine has sent with it, open or not, in whatever database."""

import pytest
from shared_tokens import planner
from test_takeovers import ENDPOINTS, policy_file
from x_crawls import campaign_of, posts_file

from socialcrawl.campaign.build import build
from socialcrawl.campaign.token_journal import TokenJournal
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Grant, Reply, Request, Wait
from socialcrawl.errors import StoreError
from socialcrawl.mock.rate_windows import LimitRule as Counted
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.shared_windows import SentRequest, SharedWindows
from socialcrawl.render.live_screen import CampaignView

BEGIN, KEEP = 1_700_000_000.0, 910.0
K, D = 7, 900.0


def grant(at, endpoint="/e", n=0):
    return Grant(Request((n, 0), endpoint, {}), "main", at)


@pytest.fixture
def journal(tmp_path):
    return TokenJournal(tmp_path / "mark.sent")


def test_what_each_campaign_has_sent_is_read_with_its_replies(journal):
    first, second, other = grant(BEGIN), grant(BEGIN + 1.0), grant(BEGIN + 1.0, "/f")
    journal.note("one", first, None, KEEP)
    journal.note("one", second, None, KEEP)
    journal.note("two", other, None, KEEP)
    journal.note("one", second, Reply("ok", BEGIN + 2.5), KEEP)
    for reader in (journal, TokenJournal(journal.path)):
        assert reader.read(BEGIN) == {
            "one": [("/e", BEGIN, None), ("/e", BEGIN + 1.0, BEGIN + 2.5)],
            "two": [("/f", BEGIN + 1.0, None)],
        }
    assert journal.read(BEGIN + 0.5)["one"] == [("/e", BEGIN + 1.0, BEGIN + 2.5)]


def test_requests_that_left_at_one_instant_are_as_many_as_they_were(journal):
    for _ in range(3):
        journal.note("one", grant(BEGIN), None, KEEP)
    journal.note("one", grant(BEGIN), Reply("ok", BEGIN + 1.0), KEEP)
    assert journal.read(BEGIN)["one"] == [("/e", BEGIN, BEGIN + 1.0), ("/e", BEGIN, None), ("/e", BEGIN, None)]


def test_a_request_that_did_not_reach_the_server_is_not_among_them(journal):
    for came in (None, None, Reply("broken", BEGIN + 1.0), Reply("broken", BEGIN + 2.0, status=502)):
        journal.note("one", grant(BEGIN), came, KEEP)
    assert journal.read(BEGIN)["one"] == [("/e", BEGIN, BEGIN + 2.0)]


@pytest.mark.parametrize("processes", [1, 40])
def test_it_stays_small_and_forgets_nothing_that_counts(journal, processes):
    sent = [BEGIN + 7.0 * n for n in range(4000)]
    for n, at in enumerate(sent):
        if n % (len(sent) // processes) == 0:
            journal = TokenJournal(journal.path)
        journal.note("one", grant(at), None, KEEP)
        journal.note("one", grant(at), Reply("ok", at + 1.0), KEEP)
        if n % 97 == 0:
            recent = [one for one in sent[: n + 1] if one >= at - KEEP]
            assert [left for _, left, _ in journal.read(at - KEEP)["one"]] == recent
    lines = [line for path in (journal.path, journal.old) for line in path.read_bytes().split(b"\n") if line]
    assert len(lines) <= 2 * 2 * (KEEP / 7.0 + 2)


def test_a_clock_that_is_set_back_loses_nothing(journal):
    times = [BEGIN, BEGIN + 90_000.0, BEGIN + 10.0, BEGIN + 20.0, BEGIN + 500.0]
    for at in times:
        journal.note("one", grant(at), None, KEEP)
    left = {left for _, left, _ in journal.read(BEGIN + 5.0)["one"]}
    assert left >= {BEGIN + 10.0, BEGIN + 20.0, BEGIN + 500.0}


def test_half_a_line_that_a_power_cut_has_left_takes_no_other_with_it(journal):
    journal.note("one", grant(BEGIN), None, KEEP)
    with journal.path.open("ab") as file:
        file.write(b'\n["one","/e",17000')
    journal.note("one", grant(BEGIN + 1.0), None, KEEP)
    assert journal.read(BEGIN)["one"] == [("/e", BEGIN, None), ("/e", BEGIN + 1.0, None)]


def test_a_journal_that_cannot_be_used_is_said_before_anything_leaves(tmp_path):
    lost = TokenJournal(tmp_path / "gone" / "mark.sent")
    assert lost.read(BEGIN) == {}
    with pytest.raises(StoreError, match=r"The journal .*mark\.sent, .* cannot be used \(No such file"):
        lost.note("one", grant(BEGIN), None, KEEP)
    (tmp_path / "folder.sent").mkdir()
    with pytest.raises(StoreError, match="cannot be used"):
        TokenJournal(tmp_path / "folder.sent").read(BEGIN)


def sent(count, at=BEGIN, back=1.0):
    return [SentRequest("a-t", "/e", at + n, at + n + back) for n in range(count)]


def granted(by, now):
    """How many requests may leave from an instant on, within a second of each other, each answered at once."""
    for n in range(99):
        at = now + n / 100
        one = by.take(Request((n, 0), "/e", {}), at)
        if isinstance(one, Wait):
            return n
        by.settle(one, Reply("ok", at), at)
    return 99


@pytest.mark.parametrize("kind", ["fixed", "sliding", "aligned"])
def test_what_a_campaign_has_sent_that_is_not_here_counts_once_however_often_it_is_told(kind):
    shared = SharedWindows()
    a = planner(shared, "a", [Rule(K, D, kind)])
    a.shared.read_elsewhere = lambda since: {"b": sent(3)}
    for _ in range(3):
        a.fold([], BEGIN + 10.0)
    b = planner(shared, "b", [Rule(K, D, kind)])
    b.fold([(Grant(Request((n, 0), "/e", {}), "b-t", BEGIN + n), Reply("ok", BEGIN + n + 1.0)) for n in range(3)])
    a.fold([], BEGIN + 10.0)
    assert granted(a, BEGIN + 20.0) == K - 3


def test_what_was_lost_counts_as_received_late_and_pushes_nothing_else_out():
    a = planner(SharedWindows(), "a", [Rule(K, D, "sliding")])
    a.shared.read_elsewhere = lambda since: {"b": [*sent(5), SentRequest("a-t", "/e", BEGIN + 899.0)]}
    a.fold([], BEGIN + 899.5)
    assert granted(a, BEGIN + 899.5) == 1


def test_a_journal_of_the_future_counts_as_of_now():
    a = planner(SharedWindows(), "a", [Rule(K, D, "sliding")])
    a.shared.read_elsewhere = lambda since: {"b": sent(3, BEGIN + 5000.0)}
    a.fold([], BEGIN)
    assert granted(a, BEGIN + 1.0) == K - 3
    assert granted(a, BEGIN + D + 15.0) == K


@pytest.mark.parametrize("kind", ["fixed", "sliding", "aligned"])
def test_runs_one_after_the_other_on_databases_of_their_own_pass_no_window(tmp_path, kind):
    """No header tells of these windows: only what is written down here does."""
    windows = {"limit": 100_000, "rules": {name: [Counted(K, D, kind)] for name in ENDPOINTS}}
    with serve_in_thread(posts_file(), None, lambda: BEGIN, **windows) as mock:
        policy = policy_file(tmp_path, kind)
        for name, most in (("one", 7), ("two", 99), ("three", 99)):
            more = {"source": {"policy": policy, "reuse_hours": 0}, "budget": {"max_requests": most}}
            settings = campaign_of(mock.url, tmp_path / f"{name}.db", name=name, limits={"k": None, "d": None}, **more)
            campaign = build(settings, CampaignView())
            try:
                run(campaign.parts, patience=0.5)
            finally:
                campaign.close()
        report = mock.report()
    timelines = [one for one in report["rules"] if one["endpoint"] == "/2/users/:id/tweets"]
    assert sum(one["received"] for one in timelines) == K
    assert report["over"] == 0
