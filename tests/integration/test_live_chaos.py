"""Ten minutes of 200 posts a second, kills and disconnects: what can be replayed or searched is stored once."""

import re
import signal
import sys
from random import Random

import pytest
from archive_captures import stamp
from bluesky_mock import START, Row
from commands import socialcrawl
from killed_campaigns import DONE, nursery
from stream_clients import streaming
from test_live_captures import TOKEN_ENV, capturing, find_everywhere, find_number, matching, read, stored

FORKED = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked")
SPEED, SECONDS, SHARE = 200, 600, 100  # posts a second, seconds, and one of so many posts matches
BEFORE = 120  # seconds of them that searches read
KILLS, DROPS, BATCHES = 10, 20, 400
MILLS = 100_000  # of a dollar


def write_posts():
    """The posts of the file: one of SHARE matches, and the last one ends it."""
    about = ["rust 🌾 #rust" if i % SHARE == 7 else "tea" for i in range(SPEED * SECONDS)]
    rows = [
        Row(f"p{i}", f"author{i % 7}", START + i // SPEED, f"note {i} about {what}") for i, what in enumerate(about)
    ]
    return [*rows, Row("end", "zed", START + SECONDS + 100, "the end about rust #rust")]


def run_to_the_end(made, file, given, draw, deeds, **how):
    """Run a capture that is killed KILLS times; `deeds` are done after so many kills."""
    for kill in range(KILLS):
        code = made.run(given, str(file), statement=draw.randrange(60, 260), **how)
        assert code == -signal.SIGKILL
        deeds.get(kill, lambda: None)()
    assert made.run(given, str(file), **how) == DONE, f"the file {file.parent / 'err'} says why"


def run_live(platform, folder, rules, delete=0):
    """Run a live capture of the file through kills and disconnects; return its database and the texts of deleted posts.

    `rules`: the faults of the stream; `delete`: how many stored posts are deleted after half of the kills.
    """
    rows, place, file, gone = write_posts(), folder / "a.db", folder / "moment", []
    if platform == "x":  # whose searches end at the mock's time, which stands at its last post
        rows.append(Row("later", "zed", rows[-1].at + 400, "nothing"))
    file.write_text(str(START + BEFORE))

    def delete_some():
        gone.extend(stored(place)[:delete])
        streamed.fail(*rules, *({"kind": "delete", "post": find_number(streamed, text)} for text in gone))

    with (
        streaming(rows, begin=START + BEFORE, replay=float("inf")) as streamed,
        nursery(folder / "err", "live_children") as made,
    ):
        streamed.fail(*rules)
        source = {"token_env": TOKEN_ENV} if platform == "x" else {}
        given = capturing(streamed.url, place, platform=platform, source=source, capture={"from": stamp(START)})
        how = {"last": rows[-1].at, "step": 8.0, "batches": BATCHES, "posts": len(matching(rows)) - delete}
        run_to_the_end(made, file, given, Random(7), {KILLS // 2: delete_some} if delete else {}, **how)
        bill = streamed.mock.report()["totals"]["dollars"]
    assert (folder / "err").read_text() == ""
    if platform == "x":  # elsewhere what is billed are this test's own look-ups of ids
        assert bill <= read(place, "select sum(cost) from request")[0][0] / MILLS
    assert stored(place) == sorted(set(matching(rows)) - set(gone))
    assert read(place, "select count(*), count(distinct id) from post") == [(how["posts"],) * 2]
    child = socialcrawl("verify", place)
    assert "Everything that can be checked agrees." in child.stdout, child.stdout + child.stderr
    return place, gone


@FORKED
@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_ten_minutes_of_jetstream_with_kills_and_disconnects_lose_no_post_and_keep_none_that_was_deleted(tmp_path):
    rules = [{"kind": "drop", "every": SPEED * SECONDS // (DROPS + 10), "times": DROPS}]
    place, gone = run_live("bluesky", tmp_path, rules, delete=3)
    assert len(gone) == 3
    assert find_everywhere(place, gone) == set()
    child = socialcrawl("export", place, "--format", "csv", "--out", tmp_path / "out")
    assert child.returncode == 0, child.stderr
    exported = "".join(file.read_text("utf-8") for file in (tmp_path / "out").rglob("*.csv"))
    assert re.search(r"note \d+ about rust", exported)
    assert not [text for text in gone if text in exported]


@FORKED
@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_ten_minutes_of_an_instances_streaming_with_kills_and_disconnects_lose_no_post(tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN_ENV, "t")
    run_live("mastodon", tmp_path, [{"kind": "drop", "every": 40, "times": DROPS}])


@FORKED
@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_ten_minutes_of_xs_stream_with_kills_and_disconnects_lose_no_post_and_pay_for_all(tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN_ENV, "x")
    run_live("x", tmp_path, [{"kind": "drop", "every": 40, "times": DROPS}])
