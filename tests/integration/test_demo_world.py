"""The demo on posts that it generates: its comparison is what a crawl would have found, and its page shows it."""

import io
import json
import re
import signal

import pytest
from html_pages import check_page
from rich.console import Console
from stores import opened
from x_crawls import TOPIC, campaign_of, crawl, posts, posts_file, rows

from socialcrawl.cli.commands.demo import DemoOptions, run_demo
from socialcrawl.cli.commands.demo_baselines import list_seeds, simulate_baselines
from socialcrawl.engine.draws import STEERED, assign_arms
from socialcrawl.errors import SettingsError
from socialcrawl.lab.generators import generate
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.campaign_report import describe_steering, read_report
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.summary import summarize_campaign

OPTIONS = {
    "posts": None, "keyword": None, "seeds": None, "seed_count": None, "seed": 1, "steps": 40,
    "estimator": "hybrid-sum", "switch_after": None, "refresh_rate": 1, "control": 0.0, "window": 1.0,
    "limit": 10_000, "missing": 0.0, "vocabulary": "tweet", "database": None,
}  # fmt: skip


def test_the_simulation_reads_what_the_crawl_reads_and_finds_the_same_once_all_is_read(tmp_path):
    """Before that, they differ where accounts have equal scores: a timeline names them newest first."""
    with serve_in_thread(posts(), limit=100_000) as mock:
        crawl(campaign_of(mock.url, tmp_path / "a.db", crawl={"estimator": "bfs", "steps": 600}))
    with opened(tmp_path / "a.db") as connection:
        found = summarize_campaign(connection)
        seeds = list_seeds(connection, "campaign")
    assert 200 < len(found.steps) < 600, "the frontier is empty"
    given = {"relevance": found.seed_relevance, "steps": 600}
    for curve in simulate_baselines(posts_file(), TOPIC, seeds, **given).values():
        assert curve[-1] == pytest.approx(found.relevance)
    assert simulate_baselines(posts_file(), TOPIC, [*seeds, "nobody"], **given) == {}
    assert simulate_baselines(posts_file(), TOPIC, seeds, **given | {"relevance": 1.0}) == {}


def demo(tmp_path, monkeypatch, *, as_json=False, ends=0, **options):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(generate, "DEMO_USERS", 400)
    before = signal.getsignal(signal.SIGTERM)
    console = Console(file=io.StringIO(), width=100, markup=False, emoji=False, highlight=False)
    try:
        assert run_demo(DemoOptions(**OPTIONS | options), console, as_json=as_json) == ends
    finally:
        signal.signal(signal.SIGTERM, before)
    return console.file.getvalue()


def test_the_demo_names_its_topic_compares_itself_writes_a_page_and_says_what_to_look_at(tmp_path, monkeypatch):
    said = demo(tmp_path, monkeypatch)
    for words in ("accounts that post about 'telescope'", "most relevant accounts: discovered", "accounts: seeds",
                  "breadth-first (simulated)", "chance (simulated)", "open demo-report.html in a browser"):  # fmt: skip
        assert words in said
    assert "Not measured" not in said
    assert "first-network.md" not in said, "a wheel has no documentation"
    assert re.search(r"did steering beat chance\? Yes: \d+\.\d times chance and \d+\.\d times breadth-first", said)
    ((best,),) = rows(
        tmp_path / "demo.db", "select account from top_account where act = 'expand' order by place limit 1"
    )
    assert f"socialcrawl explain demo.db @{best}" in said
    with open_readable(tmp_path / "demo.db") as connection:  # as `report` does
        later = describe_steering(read_report(connection, None))
    assert "Simulated by `socialcrawl demo`: see demo-report.html" in later[0]
    assert "socialcrawl demo --control 0.2" in later[-1]
    (tmp_path / "demo-report.html").rename(tmp_path / "moved.html")
    with open_readable(tmp_path / "demo.db") as connection:
        assert "report.html" not in "".join(describe_steering(read_report(connection, None)))
    (tmp_path / "moved.html").rename(tmp_path / "demo-report.html")
    page = check_page((tmp_path / "demo-report.html").read_text("utf-8"))
    assert f"@{best}" in page.text
    assert "demo, on a mock of X: invented people and posts" in page.text
    assert "times breadth-first, in one simulated run each" in page.sections["steering"]
    head, *_, last = page.tables["relevance found (sum)"]
    assert head[1:] == ["this campaign", "breadth-first (simulated)", "chance (simulated)"]
    (own, *others) = (float(number.replace(",", "")) for number in last[1:])
    (line,) = [line for line in said.splitlines() if line.startswith("from the same seeds")]
    assert line.endswith(f"breadth-first {others[0]:,.0f}, chance {others[1]:,.0f}")
    assert f"found relevance {own:,.0f} in 40 steps" in said


def test_the_demo_with_drawn_steps_says_how_many_of_its_steps_they_are(tmp_path, monkeypatch):
    said = " ".join(demo(tmp_path, monkeypatch, control=0.5).split())
    drawn = int((assign_arms(OPTIONS["seed"], 0.5, 0, 40) != STEERED).sum())
    assert f"(this campaign, {drawn} of 40 steps drawn)" in said
    assert f"in 40 steps ({drawn} of them drawn)" in said
    assert "it is measured with control" not in said, "control is set"
    with opened(tmp_path / "demo.db") as connection:
        assert describe_steering(read_report(connection, None))[-1].endswith("see demo-report.html")


def test_the_demo_for_scripts_has_the_baselines_and_with_missing_accounts_none(tmp_path, monkeypatch, capsys):
    for missing, wanted in ((0.0, {"breadth-first", "chance"}), (0.3, set())):
        demo(tmp_path, monkeypatch, as_json=True, missing=missing)
        told = json.loads(capsys.readouterr().out)
        assert set(told.get("baselines", {})) == wanted
        assert told["steps"] == 40
    assert not (tmp_path / "demo-report.html").exists()


def test_the_demo_may_end_with_the_money_that_x_would_have_charged(tmp_path, monkeypatch, capsys):
    told = {}
    for pages in (1, 32):
        demo(tmp_path, monkeypatch, ends=3, as_json=True, steps=None, max_money=5.0, pages_per_user=pages)
        told[pages] = json.loads(capsys.readouterr().out)
        assert told[pages]["bill"] == told[pages]["dollars"], "the ledger has what the mock has billed"
        assert 4.5 < told[pages]["bill"] <= 5.0
        assert rows(tmp_path / "demo.db", "select max(posts) > 100 from outcome where n > 0")[0][0] == (pages > 1)
    assert told[1]["steps"] > told[32]["steps"]


def test_on_posts_of_others_the_page_of_the_demo_has_no_names(tmp_path, monkeypatch):
    tutorial = tmp_path / "docs/tutorial/first-network.md"  # as in a clone
    tutorial.parent.mkdir(parents=True)
    tutorial.touch()
    said = demo(tmp_path, monkeypatch, posts=posts_file(), keyword=TOPIC, seed_count=5, control=0.5)
    assert "simulated" not in said
    assert "docs/tutorial/first-network.md continues from here, with a topic of your own" in said
    assert "demo, on a test server on this machine in place of X" in said, "nobody knows whose posts these are"
    assert "did steering beat chance?" in said
    ((best,),) = rows(
        tmp_path / "demo.db", "select account from top_account where act = 'expand' order by place limit 1"
    )
    assert best in said
    assert best not in check_page((tmp_path / "demo-report.html").read_text("utf-8")).text


def test_a_demo_on_a_word_that_no_generated_post_has_names_those_that_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        SettingsError, match="No generated post has the word 'xyzzy': choose one of telescope, aperture"
    ):
        run_demo(DemoOptions(**{**OPTIONS, "keyword": "xyzzy"}), Console(file=io.StringIO()), as_json=True)
    assert not (tmp_path / "demo.db").exists()


def test_a_demo_that_finds_nothing_leaves_no_page_of_the_demo_that_it_replaces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = tmp_path / "old.jsonl"  # a search for its only post with the word finds none, as it reaches back 7 days
    rows = (("ann", "2025-01-01", "telescope"), ("bob", "2025-12-01", "tea"))
    lines = [json.dumps(dict(zip(("author", "created_at", "text"), row, strict=True))) for row in rows]
    old.write_text("\n".join(lines), "utf-8")
    for file, has_page in ((None, True), (old, False)):
        shown = io.StringIO()
        wanted = DemoOptions(**{**OPTIONS, "steps": 2, "keyword": "telescope", "posts": file})
        run_demo(wanted, Console(file=shown), as_json=False)
        assert (tmp_path / "demo.db").exists()
        assert (tmp_path / "demo-report.html").exists() == has_page
        assert ("replaces demo.db" in shown.getvalue()) == (not has_page)
