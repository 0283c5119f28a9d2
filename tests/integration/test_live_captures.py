"""A capture reads Jetstream and an instance's streaming as posts appear: every post once, whatever breaks."""

import os
import re
import signal
import sys
import time
from random import Random

import pytest
from archive_captures import MANY, reported, stamp, write_small_pages
from bluesky_mock import START, Row, town
from commands import socialcrawl
from killed_campaigns import DONE, Reaper, nursery
from postgres import a_place
from stores import opened
from stream_clients import rows_of, streaming

from socialcrawl.campaign.build import build
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.clock import InterruptibleClock
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Act, StopKind
from socialcrawl.engine.stream_places import parse_turn
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.bluesky import jetstream
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.address import PostgresAddress
from socialcrawl.storage.schema.tables import metadata

N = 120
ROWS = rows_of(N)
BEGUN = START + 400
TAGGED = [row for row in ROWS if re.search(r"#rust\b", row.text)]
FOREVER = 200  # batches: no run needs so many
TOKEN_ENV = "SC_TEST_TOKEN"
PLENTY = dict.fromkeys(("limit", "bluesky_limit", "mastodon_limit", "paged_limit"), 10**6)


class MovedTime:
    """A time that stands still until a test moves it, and whose waits are over at once."""

    def __init__(self, at):
        self.at = at

    def now(self):
        return self.at

    def wait(self, stop, until):
        self.at = max(self.at, min(until, self.at + 30.0))
        stop.wait(0.005)


class Moving(CampaignView):
    """Lets the file's time pass after each batch, and does what a test wants.

    The run ends after `most` batches, or once the file is over and the database has what is `expected` of it.
    """

    def __init__(self, streamed, time, clock, *, step, deeds, most, expected):
        super().__init__()
        self.streamed, self.time, self.clock, self.step, self.deeds = streamed, time, clock, step, deeds
        self.most, self.expected, self.batches, self.acts, self.crawl = most, expected, 0, [], None

    def learned(self, batch, outcomes):
        self.batches += 1
        self.acts += [pick.act for pick in batch]
        if (deed := self.deeds.get(self.batches)) is not None:
            deed()
        self.time.at += self.step
        self.streamed.move(min(int(self.time.at), self.streamed.rows[-1].at + 1))
        if self.batches >= self.most or (self.batches > max(self.deeds, default=0) and self.is_over()):
            self.clock.interrupt()

    def is_over(self):
        return self.time.at > self.streamed.rows[-1].at and not self.crawl.pending and self.expected()


def capturing(url, place, *, platform="bluesky", capture=None, source=None, crawl=None, **more):
    base = {"platform": platform, "base_url": url, "timeout": 30.0, **(source or {})}
    if platform == "mastodon":
        base |= {"domain": "home.example", "token_env": TOKEN_ENV}
    return {
        "name": "campaign",
        "kind": "capture",
        "database": place.url if isinstance(place, PostgresAddress) else str(place),
        "topic": {"keywords": ["#rust"] if platform == "mastodon" else ["rust"]},
        "capture": {"from": stamp(START), "live": True, "segment": "0.2s", "parts": 2, **(capture or {})},
        "crawl": {"refresh_rate": 2, **(crawl or {})},
        "source": base,
        "limits": {**MANY, "pause": 0.01, "longest_pause": 0.04, "give_up": 5.0},
        **more,
    }


def follow(
    streamed,
    place,
    *,
    begun=BEGUN,
    step=100.0,
    deeds=None,
    most=None,
    expected=None,
    ends=StopKind.INTERRUPTED,
    **given,
):
    """Run a live capture while the file's time passes; return what it did, and why it ended.

    `expected` says whether the database has all, by default all posts that match; a run ends after FOREVER batches.
    """
    moved = MovedTime(begun + 0.123_456_7)  # clocks tell less than a microsecond, and databases do not
    clock = InterruptibleClock(moved)
    expected = expected or (lambda: stored(place) == matching())
    view = Moving(
        streamed, moved, clock, step=step, deeds=deeds or {}, most=FOREVER if most is None else most, expected=expected
    )
    campaign = build(check_settings(capturing(streamed.url, place, **given), "test"), view, clock=clock)
    view.crawl = campaign.crawl
    try:
        reason = run(campaign.parts, size=campaign.together)
        campaign.parts.pool.shutdown()
    finally:
        campaign.close()
    assert reason.kind == ends, reason
    view.reason = reason
    return view


def read(place, query):
    with opened(place) as connection, connection.begin():
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def stored(place):
    return sorted(text for (text,) in read(place, "select text from post"))


def find_number(streamed, text):
    """The id on X of a post, by which a scenario names it."""
    query = {"query": f'"{text.partition(" 🌾")[0]}"', "start_time": stamp(START)}
    [post] = streamed.admin.get("/2/tweets/search/all", params=query).json()["data"]
    return post["id"]


def matching(rows=None, until=float("inf")):
    """The texts that searches and streams have, by an independent scan: they match, and repeat nobody's."""
    return sorted(
        row.text for row in rows or ROWS if "rust" in row.text and not row.text.startswith("RT @") and row.at < until
    )


VERSIONS = pytest.mark.parametrize("version", ["", "/subscribe"])


@VERSIONS
@pytest.mark.parametrize("opt_outs", [True, False])
def test_the_past_and_what_appears_is_stored_once(version, opt_outs, tmp_path):
    with streaming(ROWS, begin=BEGUN) as streamed:
        view = follow(
            streamed,
            tmp_path / "a.db",
            capture={"stream": streamed.url + version} if version else {},
            source={"opt_outs": opt_outs},
        )
    assert stored(tmp_path / "a.db") == matching()
    assert {Act.SLICE, Act.LIVE} == set(view.acts)
    told = reported(tmp_path / "a.db")
    assert told["stream"]["posts"] > 10
    assert len(told["stream"]["complete"]) == 1
    [query] = told["queries"]
    assert len(query["complete"]) == 1, "the past and the stream touch"
    assert query["left"] == query["failed"] == []
    assert query["complete"][0].startswith(stamp(START))


@VERSIONS
def test_connections_that_break_and_events_that_come_again_or_in_disorder_lose_nothing(version, tmp_path):
    with streaming(ROWS, begin=BEGUN) as streamed:
        rules = [
            {"kind": "drop", "every": 7},
            {"kind": "duplicate", "every": 5},
            {"kind": "swap", "every": 11},
        ]
        follow(
            streamed,
            tmp_path / "a.db",
            capture={"stream": streamed.url + version} if version else {},
            deeds={3: lambda: streamed.fail(*rules)},
        )
    assert stored(tmp_path / "a.db") == matching()
    assert len(reported(tmp_path / "a.db")["stream"]["complete"]) == 1


@pytest.mark.parametrize("kind", ["stall", "silence"])
def test_a_stream_that_stops_without_a_word_is_connected_again_after_the_deadline_and_loses_nothing(
    kind, tmp_path, monkeypatch
):
    monkeypatch.setattr(jetstream, "QUIET", 0.5)
    asked, connect = [], jetstream.open_socket
    monkeypatch.setattr(jetstream, "open_socket", lambda *given: asked.append(given) or connect(*given))
    with streaming(ROWS, begin=BEGUN) as streamed:
        follow(
            streamed,
            tmp_path / "a.db",
            capture={"segment": "100ms"},
            deeds={3: lambda: streamed.fail({"kind": kind, "every": 9, "times": 3, "seconds": 3_600})},
        )
    assert stored(tmp_path / "a.db") == matching()
    assert len(reported(tmp_path / "a.db")["stream"]["complete"]) == 1
    assert len(asked) >= 4, "each of the three stops was noticed"


@VERSIONS
def test_connections_that_break_many_times_within_a_second_of_events_never_send_it_back(version, tmp_path, monkeypatch):
    lost = []
    monkeypatch.setattr(jetstream.LostPlaceError, "__init__", lambda _, *told: lost.append(told))
    rows = [Row(f"p{i}", f"author{i % 7}", START + 500, f"note {i} about rust") for i in range(60)] + [ROWS[-1]]
    place = tmp_path / "a.db"
    with streaming(rows, begin=BEGUN) as streamed:
        follow(
            streamed,
            place,
            capture={"stream": streamed.url + version} if version else {},
            deeds={1: lambda: streamed.fail({"kind": "drop", "every": 5}, {"kind": "swap", "every": 3})},
            expected=lambda: stored(place) == matching(rows),
        )
    since = [text for (text,) in read(place, "select since from pick where act = 'live' order by n")]
    numbers = [parse_turn(text).place.number for text in since]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 10, "connections broke in the second"
    assert lost == [], "the server knows each place"


def find_everywhere(place, keys):
    """Those of some texts that any row of any table holds."""
    with opened(place) as connection, connection.begin():
        rows = [
            str(tuple(row)) for name in metadata.tables for row in connection.exec_driver_sql(f"select * from {name}")
        ]
    return {key for key in keys if any(key in row for row in rows)}


def test_what_was_deleted_is_gone_from_every_table_with_the_next_segment(database):
    gone = [row for row in ROWS if "rust" in row.text and row.author == "author3" and row.at < BEGUN][:2]
    texts, found = [row.text for row in gone], []

    def look(place):
        found.extend(read(place, f"select id from post where text in ('{texts[0]}', '{texts[1]}')"))

    with a_place(database) as place, streaming(ROWS, begin=BEGUN) as streamed:
        rules = [{"kind": "delete", "post": find_number(streamed, text)} for text in texts]
        left = sorted(set(matching()) - set(texts))
        deeds = {5: lambda: look(place), 6: lambda: streamed.fail(*rules)}
        follow(streamed, place, deeds=deeds, expected=lambda: stored(place) == left)
        assert stored(place) == sorted(set(matching()) - set(texts))
        assert len(found) == 2
        assert find_everywhere(place, [*texts, *(key for (key,) in found)]) == set()
        assert read(place, "select kind, why, count(*) from tombstone group by 1, 2") == [
            ("post", "compliance:deleted", 2)
        ]
        where = place.url if database == "postgres" else place
        assert reported(where)["deleted"] == {"post": 2}
        said = "Deleted on the platform since they were stored, and erased from this database: 2 posts."
        assert said in " ".join(socialcrawl("report", where).stdout.split())
        for whys in (["forget,running"], ["forget,running", "forget"]):  # the second one as it is opened again
            assert [why for (why,) in read(place, "select why from epoch order by number")][1:] == whys
            child = socialcrawl("verify", where)
            assert "Everything that can be checked agrees." in child.stdout, child.stdout + child.stderr
            follow(streamed, place, begun=ROWS[-1].at + 60, most=3)


def test_a_stream_that_replays_nothing_is_filled_by_search_and_other_posts_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, TOKEN_ENV, "t")
    with streaming(ROWS, begin=BEGUN) as streamed:
        view = follow(
            streamed,
            tmp_path / "a.db",
            platform="mastodon",
            deeds={3: lambda: streamed.fail({"kind": "drop", "every": 3})},
            expected=lambda: stored(tmp_path / "a.db") == matching(TAGGED),
        )
    assert stored(tmp_path / "a.db") == matching(TAGGED)
    assert view.acts.count(Act.SLICE) > 2, "spans that the stream did not replay are searched"


@VERSIONS
def test_an_account_that_was_deleted_is_erased_with_its_posts(version, tmp_path):
    with streaming(ROWS, begin=BEGUN) as streamed:
        capture = {"stream": streamed.url + version} if version else {}
        rule = {"kind": "delete", "account": "author3"}
        left = matching([row for row in ROWS if row.author != "author3"])
        follow(
            streamed,
            tmp_path / "a.db",
            capture=capture,
            deeds={6: lambda: streamed.fail(rule)},
            expected=lambda: stored(tmp_path / "a.db") == left,
        )
    assert stored(tmp_path / "a.db") == left
    assert read(tmp_path / "a.db", "select why, count(*) from tombstone where kind = 'user' group by 1") == [
        ("compliance:deleted", 1)
    ]


def test_a_place_that_the_server_does_not_know_any_more_is_searched(tmp_path):
    place, later = tmp_path / "a.db", ROWS[-1].at - 200
    with streaming(ROWS, begin=BEGUN) as streamed:
        follow(streamed, place, most=6, step=20.0)
    with streaming(ROWS, begin=later, replay=60.0, jetstream_offset=7_000_000) as streamed:
        follow(streamed, place, begun=later, step=60.0)
    assert stored(place) == matching()
    told = reported(place)
    assert len(told["stream"]["complete"]) == 2
    assert len(told["queries"][0]["complete"]) == 1, "what the stream did not replay was searched"


def test_segments_of_a_stream_that_replays_nothing_are_of_one_connection(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, TOKEN_ENV, "t")
    place = tmp_path / "a.db"
    with streaming(ROWS, begin=BEGUN) as streamed:
        follow(streamed, place, platform="mastodon", expected=lambda: stored(place) == matching(TAGGED))
    assert len(reported(place)["stream"]["complete"]) == 1
    assert reported(place)["stream"]["posts"] > 10


def near_now(n):
    """Posts before and after this moment, of which every third matches: a stream replays them at once."""
    begin = int(time.time()) - 400
    return [
        Row(f"p{i}", f"author{i % 7}", begin + 4 * i, f"note {i} about {'rust #rust' if i % 3 == 0 else 'tea'}")
        for i in range(n)
    ]


def kill_until_over(made, reaper, draw, given, kills):
    """Run a campaign that a limit of steps ends, and kill it again and again at counted moments."""
    killed = 0
    while True:
        if killed >= kills:
            code = made.run(given)
        elif draw.random() < 0.5:
            with reaper.kills(made.begin(given), draw.randrange(12)):
                code = made.end()
        else:
            code = made.run(given, statement=draw.randrange(1, 160))
        if code == DONE:
            return killed
        assert code == -signal.SIGKILL
        killed += 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked")
def test_a_live_capture_killed_at_random_moments_has_every_post_once(tmp_path):
    rows, reaper, place = near_now(150), Reaper(), tmp_path / "a.db"
    policy = write_small_pages("bluesky", "/xrpc/network.bsky.jetstream.subscribeEvents", 4)
    with (
        nursery(tmp_path / "err") as made,
        serve_in_thread(town(rows), reaper, **PLENTY, replay=float("inf")) as mock,
    ):
        given = capturing(
            mock.url, place, source={"policy": policy}, capture={"from": stamp(rows[0].at)}, crawl={"steps": 40}
        )
        assert kill_until_over(made, reaper, Random(5), given, 12) >= 4
    assert (tmp_path / "err").read_text() == ""
    assert stored(place) == matching(rows)
    assert read(place, "select count(*), count(distinct id) from post") == [(50, 50)]
    child = socialcrawl("verify", place)
    assert "Everything that can be checked agrees." in child.stdout, child.stdout + child.stderr
