"""The demo of a capture: its facts are those of the generated posts, a budget stops it once, pictures show days."""

import io
import json
import re
import signal
from collections import Counter
from datetime import UTC, datetime

import pytest
from commands import socialcrawl
from html_pages import check_page
from matplotlib.image import imread
from rich.console import Console
from test_demo_world import OPTIONS
from x_crawls import TOPIC, posts, posts_file, rows

from socialcrawl.cli.commands import demo_capture
from socialcrawl.cli.commands.demo import run_demo
from socialcrawl.cli.commands.demo_kinds import DemoOptions
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.generators.generate import generate, write
from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock.world import build_world

KEYWORD = "telescope"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the posts of a small generated town."""
    here = tmp_path_factory.mktemp("demo")
    write(here / "posts.parquet", generate(400, 1))
    return here


def count_days(found, keyword):
    """The posts that X's search has by day, by an independent scan: they match, and are no retweets."""
    count, references = Topic([keyword]).count, build_world(found).references
    days = Counter()
    for place, text in enumerate(found.texts):
        if count(text) and not references.is_retweet(place):
            days[datetime.fromtimestamp(int(found.created_at[place]), UTC).date().isoformat()] += 1
    return days


def demo(folder, monkeypatch, *, as_json=False, least=0, **options):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(demo_capture, "LEAST", least)
    monkeypatch.setattr(demo_capture, "PARTS", 24)
    before = signal.getsignal(signal.SIGTERM)
    console = Console(file=io.StringIO(), width=100, markup=False, emoji=False, highlight=False)
    given = {"kind": "capture", "posts": folder / "posts.parquet", "keyword": KEYWORD, **options}
    try:
        assert run_demo(DemoOptions(**OPTIONS | given), console, as_json=as_json) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    return console.file.getvalue()


def test_it_counts_stops_on_a_budget_goes_on_and_has_every_post_once(folder, monkeypatch, capsys):
    demo(folder, monkeypatch, as_json=True)
    told = json.loads(capsys.readouterr().out)
    days = count_days(read_posts(folder / "posts.parquet"), KEYWORD)
    total = sum(days.values())
    assert total > 50
    assert {day: many for day, many in told["posts_per_day"].items() if many} == days
    assert list(told["posts_per_day"]) == sorted(told["posts_per_day"])
    assert told["quoted"] == {"posts": total, "dollars": pytest.approx(0.005 * total)}
    assert (told["posts"], told["captured"]["posts"], told["captured"]["share"]) == (total, total, 1.0)
    assert (told["ended"], told["dollars"]) == ("done", pytest.approx(0.005 * total))
    first = told["first_run"]
    assert first["dollars"] <= first["max_money"] < told["dollars"]
    assert 0 < first["posts"] < total
    assert 0 < first["share"] < 1
    assert "max_money" in first["why"]
    assert told["statuses"].keys() == {"200"}
    assert rows(folder / "demo.db", "select count(*), count(distinct id) from post") == [(total, total)]
    assert not (folder / "demo-report.html").exists()


def test_it_shows_the_same_and_ends_with_pictures_of_posts_per_day(folder, monkeypatch):
    said = demo(folder, monkeypatch)
    days = count_days(read_posts(folder / "posts.parquet"), KEYWORD)
    total = sum(days.values())
    (half,) = re.findall(r"^run with max_money = \$([\d.]+), about half of that:$", said, re.MULTILINE)
    assert float(half) == pytest.approx(0.0025 * total, abs=0.0051)
    for words in (
        f"X counts {total:,} matching posts",
        f"stopped: the budget max_money = ${half} is reached",
        "Complete: all of the time",
        f"matching posts, per day (UTC), {max(days.values())} posts at most",
        f"{total:,} posts were returned, and {total:,} are stored",
        f"the quote with counts: {total:,} posts",
        "open demo-report.html in a browser: posts per day",
        "from captured_slice",
    ):
        assert words in said
    assert imread(folder / "demo.png").std() > 0.1, "it is not blank"
    page = check_page((folder / "demo-report.html").read_text("utf-8"))
    shown = {day: int(many) for day, many in page.tables["matching posts per day"][1:]}
    assert {day: many for day, many in shown.items() if many} == days
    author = rows(folder / "demo.db", "select username from account where username is not null limit 1")[0][0]
    assert f"@{author}" not in page.text, "nobody knows whose posts these are"


def test_a_cheap_capture_is_not_stopped_and_a_finished_one_is_only_shown(folder, monkeypatch, capsys):
    given = {"posts": posts_file(), "keyword": TOPIC, "database": folder / "own.db"}
    total = sum(count_days(posts(), TOPIC).values())
    assert total > 20
    for _ in range(2):
        demo(folder, monkeypatch, as_json=True, least=10**9, **given)
        told = json.loads(capsys.readouterr().out)
        assert (told["first_run"] is None, told["posts"], told["ended"]) == (True, total, "done")


def test_an_option_that_a_capture_has_not_is_refused_and_so_is_a_kind_without_a_demo(tmp_path):
    for words, said in (
        (["--kind", "capture", "--estimator", "bfs"], "--estimator has no effect with --kind capture: remove it."),
        (["--kind", "capture", "--seed-size", "3"], "--seed-size has no effect with --kind capture: remove it."),
        (["--kind", "capture", "--max-money", "3"], "--max-money has no effect with --kind capture: remove it."),
        (["--kind", "track"], "There is no demo of 'track'. Choose one of: collect, capture."),
    ):
        child = socialcrawl("demo", *words, folder=tmp_path)
        assert (child.returncode, child.stdout) == (2, "")
        assert said in child.stderr
    assert not list(tmp_path.iterdir())
