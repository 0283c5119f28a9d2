import json
import subprocess
import sys
from itertools import pairwise

import pytest
from commands import ENVIRONMENT, campaign_file, demo_with_seeds, socialcrawl
from x_crawls import TOPIC, posts, posts_file, rows

from socialcrawl import __version__
from socialcrawl.cli.commands.demo import _make_counts
from socialcrawl.mock.server import serve_in_thread

HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "joblib",
    "pyarrow",
    "sqlalchemy",
    "tweepy",
    "requests",
    "matplotlib",
    "uvicorn",
    "starlette",
    "alembic",
    "pydantic",
)
NAMES = ("init", "run", "mock", "demo", "report", "sql", "simulate", "lab")


def test_help_names_the_commands():
    child = socialcrawl("--help")
    assert child.returncode == 0
    assert all(name in child.stdout for name in NAMES)


def test_help_imports_few_modules_and_none_that_is_heavy():
    """How long it takes is measured by `make bench ONLY=start`."""
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        "sys.argv = ['socialcrawl', '--help']; from socialcrawl.cli.main import main; main()"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    imported = child.stderr.split()
    assert not set(HEAVY) & set(imported)
    assert len(imported) < 250  # 176 when this was written, most of them Python's own


@pytest.mark.parametrize("name", NAMES)
def test_every_command_says_what_it_does_and_what_its_options_are(name):
    child = socialcrawl(name, "--help")
    assert child.returncode == 0
    sentences = [line for line in child.stdout.splitlines() if line.strip()]
    assert len(sentences[1].split()) > 2
    for line, following in pairwise(sentences):
        if line.strip().startswith("--") and "[default" not in line:
            assert len(line.split()) > 2 or not following.strip().startswith("-"), line


def test_the_version_is_told():
    assert socialcrawl("--version").stdout.strip() == f"socialcrawl {__version__}"


@pytest.mark.parametrize(
    "words",
    [
        ["runn"],
        ["run"],
        ["run", "a", "b"],
        ["mock", "--port", "x"],
        ["demo", "--steps", "many"],
        ["demo", "--steps", "0"],
        ["sql"],
    ],
)
def test_a_wrong_command_line_is_a_usage_error(words):
    child = socialcrawl(*words)
    assert child.returncode == 2
    assert "Usage" in child.stderr or "No such" in child.stderr


KEYS = (
    "steps relevance seed_relevance posts accounts_read accounts_known requests statuses windows wall_seconds "
    "cpu_seconds"
)


def test_the_demo_prints_one_object_that_agrees_with_the_mock_and_the_database():
    demo = demo_with_seeds()
    told, database = demo.told, demo.database
    assert len(demo.child.stdout.splitlines()) == 1
    assert demo.child.stderr == ""
    assert set(KEYS.split()) <= told.keys()
    assert told["steps"] == 110

    def one(query):
        return rows(database, query)[0][0]

    in_act = "from outcome o join pick p using (campaign, n) where act ="
    assert told["relevance"] == pytest.approx(one(f"select sum(value) {in_act} 'expand'"))
    assert told["seed_relevance"] == pytest.approx(one(f"select sum(value) {in_act} 'seed'"))
    assert told["relevance"] > 0 < told["seed_relevance"]
    assert told["posts"] == one("select sum(posts) from request where kind != 'held'")
    assert told["posts"] == one("select count(*) from post")  # every account is asked once
    seeds = one("select count(*) from pick where act = 'seed'")
    assert told["accounts_read"] == told["accounts_asked"] == 110 + seeds
    assert one("select count(*) from pick where act = 'resolve'") == 12
    assert told["accounts_known"] <= one("select count(*) from account")
    assert told["requests"] == sum(told["statuses"].values())
    assert told["requests"] == one("select count(*) from request where kind != 'held'")
    assert set(told["statuses"]) == {"200"}
    windows = told["windows"]
    assert sum(window["requests"] for window in windows) == told["requests"]
    assert all(window["requests"] <= 30 and window["filled"] == (window["requests"] == 30) for window in windows)
    assert [window["opened"] for window in windows] == sorted(window["opened"] for window in windows)
    for endpoint in {window["endpoint"] for window in windows}:
        opened = [window["opened"] for window in windows if window["endpoint"] == endpoint]
        assert all(after - before > 0.999 for before, after in pairwise(opened)), "each lasts a second"
    assert told["wall_seconds"] > 0 < told["cpu_seconds"]


def test_a_window_is_filled_where_all_its_requests_were_sent():
    windows = [{"endpoint": "a", "opened": n, "requests": n, "limit": 2, "answers": {"200": n}} for n in (1, 2)]
    counted = _make_counts({"windows": windows, "totals": {"dollars": 0.5}})
    assert counted["statuses"] == {"200": 3}
    assert [window["filled"] for window in counted["windows"]] == [False, True]


def test_the_demo_is_the_same_again_and_another_with_another_seed(tmp_path):
    given = (
        "--posts",
        posts_file(),
        "--keyword",
        TOPIC,
        "--seed-size",
        5,
        "--steps",
        10,
        "--per-window",
        1000,
        "--json",
    )
    told = [json.loads(socialcrawl("demo", *given, "--seed", seed, folder=tmp_path).stdout) for seed in (3, 3, 4)]
    for one in told:
        for key in ("wall_seconds", "cpu_seconds", "windows"):
            del one[key]
    assert told[0] == told[1] != told[2]
    assert (tmp_path / "demo.db").exists()


def test_the_demo_without_a_terminal_prints_plain_lines(tmp_path):
    file = tmp_path / "seeds.txt"
    file.write_text(f"# some of the authors\n@{posts().authors[0]}\n{posts().authors[5]}\n", "utf-8")
    given = ("--posts", posts_file(), "--keyword", TOPIC, "--seeds", file, "--steps", 12, "--vocabulary", "post")
    child = socialcrawl("demo", *given, folder=tmp_path)
    assert child.returncode == 0, child.stderr
    assert "\x1b" not in child.stdout
    for part in (
        "the mock X API answers at http://127.0.0.1:",
        "12 steps after 2 seeds",
        "most relevant accounts",
        "mock's own",
    ):
        assert part in child.stdout
    assert "windows filled" in child.stdout
    assert (tmp_path / "demo.png").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--posts", "lost.parquet", "--keyword", "x"], 1, "lost.parquet"),
        (["--posts", "{posts}"], 2, "--keyword"),
        (["--posts", "{posts}", "--keyword", "zzyzx", "--seed-size", "3"], 2, "zzyzx"),
        (["--posts", "{posts}", "--keyword", "zzyzx"], 1, "found no posts"),
        (["--posts", "{posts}", "--keyword", ""], 2, "is empty"),
        (["--posts", "{posts}", "--keyword", "x", "--estimator", "best"], 2, "estimator"),
        (["--posts", "{posts}", "--keyword", "x", "--vocabulary", "toot"], 2, "vocabulary"),
        (["--posts", "{posts}", "--keyword", "x", "--window", "soon"], 2, "span of time"),
        (["--posts", "{posts}", "--keyword", "x", "--seeds", "lost.txt"], 2, "lost.txt"),
        (["--posts", "{posts}", "--keyword", "x", "--db", "no/where.db"], 1, "folder"),
    ],
)
def test_a_demo_that_cannot_be_says_why(tmp_path, words, code, said):
    given = [word.format(posts=posts_file()) for word in words]
    child = socialcrawl("demo", *given, "--steps", 3, folder=tmp_path)
    assert child.returncode == code, child.stderr
    assert said in child.stderr + child.stdout


def test_a_campaign_is_begun_run_paused_and_gone_on_with(tmp_path):
    child = socialcrawl("init", "mine.toml", "--keyword", TOPIC, "--keyword", 'say "hello"', folder=tmp_path)
    assert (child.returncode, "wrote mine.toml" in child.stdout) == (0, True)
    assert socialcrawl("init", "mine.toml", folder=tmp_path).returncode == 2
    with serve_in_thread(posts(), limit=100_000) as mock:
        file = campaign_file(tmp_path, mock.url, budget="max_requests = 6")
        child = socialcrawl("run", file, folder=tmp_path)
        assert child.returncode == 3
        assert "max_requests = 6 requests is reached" in child.stdout
        child = socialcrawl("run", campaign_file(tmp_path, mock.url), "--json", folder=tmp_path)
        assert child.returncode == 0, child.stderr
        assert json.loads(child.stdout)["steps"] == 8
        child = socialcrawl("run", file, "--steps", 9, "--json", folder=tmp_path)
        assert (child.returncode, json.loads(child.stdout)["steps"]) == (0, 9)
