"""What the doctor finds, says and leaves alone."""

import hashlib
import io
import json
import re
import sqlite3
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import pytest
from commands import socialcrawl
from rich.console import Console
from test_mock_world import START, posts_of
from test_platforms import AND_THE_WEB
from x_crawls import TOKEN, TOKEN_ENV, TOPIC, campaign_of, crawl, posts

from socialcrawl.campaign.credentials import open_access
from socialcrawl.cli.commands import doctor as app
from socialcrawl.cli.commands.doctor import run_checks
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import Credential, Reply, format_time
from socialcrawl.mock import faults
from socialcrawl.mock.names import is_chosen
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.system.files import find_folder
from socialcrawl.text.wording import parse_instant

ALL = ["program", "settings", "prices", "cycle", "disk", "database", "tokens", "request", "answer", "limits", "clock"]
LIVE = "https://192.0.2.1"  # an address that nobody has


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def file_of(place, url, source="", more=""):
    file = place / "mine.toml"
    file.write_text(
        f'name = "mine"\ndatabase = "mine.db"\n[topic]\nkeywords = [{json.dumps(TOPIC)}]\n[budget]\nmax_money = 5.0\n'
        f'[source]\nbase_url = "{url}"\ntimeout = 5.0\n{source or f"token_env = {json.dumps(TOKEN_ENV)}"}\n{more}\n'
    )
    return file


def seen(file, width=80, **how):
    """The exit code, and the checks by name as (state, text); no line is too long, none tells the token."""
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    code = run_checks(file, console, **how)
    text = console.file.getvalue()
    assert TOKEN not in text
    assert max(map(len, text.splitlines())) <= width
    checks, name = {}, ""
    for line in text.splitlines():
        name = line[5:13].strip() or name
        state, said = checks.get(name, (line[:4].strip(), ""))
        checks[name] = (state, f"{said} {line[14:].strip()}".strip())
    assert code == any(state == "FAIL" for state, _ in checks.values())
    return code, checks


def served(mock):
    return sum(window["requests"] for window in mock.report()["windows"])


def test_all_is_well_where_it_is_and_one_request_tells(mock, tmp_path):
    before = served(mock)
    code, checks = seen(file_of(tmp_path, mock.url))
    assert (code, list(checks)) == (0, ALL)
    assert {state for state, _ in checks.values()} == {"ok", "-"}
    for name, said in (
        ("program", f"Python {sys.version.split()[0]}"),
        ("settings", "campaign 'mine'"),
        ("prices", "2026-11-01"),
        ("cycle", "with 3,000,000 posts at most"),
        ("database", "is not there yet"),
        ("tokens", f"set: {TOKEN_ENV} (app)"),
        ("request", "costs nothing on this machine"),
        ("answer", "all fields arrived in 10 posts"),
        ("limits", "allows 100,000 such requests"),
        ("limits", "450 requests in 15 min"),
        ("clock", "differ by 0 s"),
    ):
        assert said in checks[name][1]
    assert served(mock) == before + 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(("date", "said"), [(100.0, "0 s"), (103.0, "0 s"), (105.0, "4 s"), (90.0, "11 s")])
def test_clocks_that_may_agree_do_not_differ_however_slow_the_answer_was(date, said):
    check = app._check_clock(SimpleNamespace(at=100.0), SimpleNamespace(at=103.0, date=date))
    assert check.text.startswith(f"this clock and the server's differ by {said}")


@pytest.mark.parametrize("width", [80, 120])
def test_the_doctor_speaks_the_vocabulary_of_the_campaign(mock, tmp_path, width):
    code, checks = seen(file_of(tmp_path, mock.url, more='vocabulary = "post"'), width)
    assert (code, checks["answer"][0]) == (0, "ok")


@AND_THE_WEB
def test_all_is_well_with_a_campaign_that_has_no_seeds_on_every_platform(on, mock, tmp_path):
    file = tmp_path / "mine.toml"
    source = "\n".join(f"{key} = {json.dumps(told)}" for key, told in on.source.items())
    head = f'name = "mine"\ndatabase = "mine.db"\nkind = "refresh"\n[budget]\nmax_money = 5.0\n[source]\n{source}\n'
    file.write_text(f'{head}base_url = "{mock.url}"\ntimeout = 5.0\n')
    code, checks = seen(file, 400)
    assert (code, checks["settings"][0]) == (0, "ok")
    if on.name == "web":
        assert checks["request"] == ("-", "left out: the campaign file names no page to fetch")
        assert "answer" not in checks
    else:
        assert checks["request"][1].startswith("one request to ")
        assert checks["answer"][0] == "warn", "it answers, and what was asked for is not in the town"
        assert re.match(r"(the token main works|it answers without a token), but", checks["answer"][1])
        assert checks["limits"][0] == "ok"


def test_offline_nothing_is_asked(mock, tmp_path):
    before = served(mock)
    code, checks = seen(file_of(tmp_path, mock.url), offline=True)
    assert (code, checks["request"]) == (0, ("-", "left out: whether the token works was not tried"))
    assert list(checks) == ALL[:8]
    assert served(mock) == before


def test_without_a_campaign_only_what_needs_none_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, checks = seen(None)
    assert (code, list(checks)) == (0, ["program", "prices", "disk", "campaign"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("vocabulary", "price"), [("tweet", "$0.05"), ("post", "$0.15")])
def test_a_request_that_is_billed_says_first_what_it_may_cost(tmp_path, monkeypatch, vocabulary, price):
    asked = []

    @contextmanager
    def door(meant, now):
        wire = SimpleNamespace(send=lambda grant: asked.append(grant.request) or Reply("lost", now(), why="no answer"))
        yield SimpleNamespace(credentials=(Credential("main"),)), wire

    monkeypatch.setattr(app, "open_wire", door)
    code, checks = seen(file_of(tmp_path, LIVE, more=f'vocabulary = "{vocabulary}"'))
    assert f"may cost {price}" in checks["request"][1]
    assert (code, checks["answer"]) == (1, ("FAIL", "no answer"))
    assert checks["budget"] == ("ok", "what the campaign can cost is at most $5.00")
    assert [request.params["max_results"] for request in asked] == ["10"]


def test_a_campaign_without_a_bound_is_a_failure_where_it_is_billed(tmp_path):
    file = file_of(tmp_path, LIVE)
    file.write_text(file.read_text().replace("max_money = 5.0", ""))
    code, checks = seen(file, offline=True)
    assert (code, checks["budget"][0]) == (1, "FAIL")
    assert "Set max_money" in checks["budget"][1]
    file.write_text(file.read_text().replace("[budget]", "[budget]\nmax_posts = 100"))
    assert seen(file, offline=True)[1]["budget"] == ("warn", "what the campaign can cost is not bounded")


@pytest.mark.parametrize(
    ("fault", "state", "said"),
    [
        (faults.make_refusals(401), "FAIL", "not accepted (401"),
        (faults.make_refusals(402), "FAIL", "no credits"),
        (faults.make_refusals(403), "FAIL", "403"),
        (faults.make_html_fault(503), "FAIL", "in trouble"),
        (faults.make_cut(), "FAIL", "may have been billed"),
        (faults.make_too_many(), "warn", "try again later"),
        (faults.Fault("answer", 200, b'{"meta": {"result_count": 0}}'), "warn", "no post was found"),
        (faults.Fault("answer", 200, b'{"data": [{"id": "1", "text": "x"}]}'), "FAIL", "did not send the fields"),
    ],
    ids=["401", "402", "403", "503", "cut", "429", "nothing", "fields"],
)
def test_what_the_server_answers_is_told_with_what_to_do(tmp_path, fault, state, said):
    with serve_in_thread(posts(), fault=lambda endpoint, nth: fault, limit=100_000) as mock:
        _, checks = seen(file_of(tmp_path, mock.url))
    assert checks["answer"][0] == state
    assert said in checks["answer"][1], checks["answer"]


def page_of_fediverse(platform, url, folder, **seeds):
    """A campaign file on Bluesky or Mastodon."""
    home = 'domain = "home.example"\n' if platform == "mastodon" else ""
    named = "".join(f"{key} = {json.dumps(value)}\n" for key, value in seeds.items())
    file = folder / "mine.toml"
    file.write_text(
        f'name = "mine"\ndatabase = "mine.db"\n[topic]\nkeywords = [{json.dumps(TOPIC)}]\n[seeds]\n{named}'
        f'[source]\nplatform = "{platform}"\nbase_url = "{url}"\n{home}'
    )
    return file


@pytest.mark.parametrize("platform", ["bluesky", "mastodon"])
def test_that_no_post_is_shown_as_its_author_opted_out_is_said(platform, tmp_path):
    name = min(build_world(posts()).accounts.by_username)
    with serve_in_thread(posts(), noindex=1.0) as mock:
        who = httpx.get(f"{mock.url}/_mock/accounts?name={name}").json()[platform]
        searching = seen(page_of_fediverse(platform, mock.url, tmp_path), 400)[1]["answer"]
        naming = seen(page_of_fediverse(platform, mock.url, tmp_path, search=False, usernames=[who]), 400)[1]["answer"]
    assert searching[0] == naming[0] == "warn"
    assert re.search(r"could not be checked: \d+ posts? found, only of accounts that opted out$", searching[1])
    assert naming[1].endswith("what was requested is not available: opted-out")


@pytest.mark.parametrize("platform", ["bluesky", "mastodon"])
def test_an_author_who_opted_out_hides_no_other_from_the_doctor(platform, tmp_path):
    people = [f"person{n}" for n in range(40)]
    silent = next(name for name in people if is_chosen(name, 0.5, b"noindex"))
    open_ones = [name for name in people if not is_chosen(name, 0.5, b"noindex")][:3]
    rows = [(name, START + 60 * n, f"#{TOPIC} {n}", ()) for n, name in enumerate([*open_ones, silent])]
    with serve_in_thread(posts_of(rows), noindex=0.5) as mock:
        _, checks = seen(page_of_fediverse(platform, mock.url, tmp_path), 400)
    assert checks["answer"] == ("ok", "it answers without a token, all fields arrived in 3 posts")


def test_a_server_that_is_not_there_is_told(tmp_path):
    code, checks = seen(file_of(tmp_path, "http://127.0.0.1:1"))
    assert (code, checks["answer"][0]) == (1, "FAIL")
    assert "base_url right" in checks["answer"][1]
    assert "clock" not in checks


def test_limits_and_a_clock_that_differ_are_told(tmp_path):
    with serve_in_thread(posts(), limit=7, skew=-125.0) as mock:
        code, checks = seen(file_of(tmp_path, mock.url))
    assert code == 0
    assert checks["limits"][0] == checks["clock"][0] == "warn"
    assert "allows 7 such requests, not 450 requests in 15 min" in checks["limits"][1]
    assert "differ by 2 min: set the clock" in checks["clock"][1]
    with serve_in_thread(posts(), limit=100_000, skew=40.0) as mock:
        state, told = seen(file_of(tmp_path, mock.url))[1]["clock"]
        assert state == "ok"
        assert re.fullmatch(r"this clock and the server's differ by (39|40|41) s", told)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "x', "not valid TOML"),
        ('name = "x"\n[topic]\nkeyword = ["a"]', "keywords"),
        (None, "There is no campaign file"),
    ],
)
def test_a_campaign_file_that_is_wrong_fails_and_the_rest_is_left_out(tmp_path, text, said):
    if text is not None:
        (tmp_path / "mine.toml").write_text(text)
    code, checks = seen(tmp_path / "mine.toml", width=200)
    assert (code, list(checks)) == (1, ["program", "settings"])
    assert said in checks["settings"][1]


def test_tokens_are_told_by_their_variables_only(mock, tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET", TOKEN)
    several = 'tokens = [{ env = "A_SECRET", kind = "user" }, { env = "NOT_SET" }]'
    code, checks = seen(file_of(tmp_path, mock.url, several))
    assert (code, checks["tokens"][0]) == (1, "FAIL")
    assert "NOT_SET" in checks["tokens"][1]
    assert "request" not in checks
    monkeypatch.setenv("NOT_SET", f"{TOKEN}-2")
    code, checks = seen(file_of(tmp_path, mock.url, several), offline=True)
    assert checks["tokens"] == ("ok", "set: A_SECRET (user), NOT_SET (app)")
    four = 'tokens = [{ env = ["A", "B", "C", "D"], kind = "user" }]'
    for name in "ABCD":
        monkeypatch.setenv(name, f"{TOKEN}-{name}")
    code, checks = seen(file_of(tmp_path, mock.url, four))
    assert (code, checks["tokens"]) == (0, ("ok", "set: A + B + C + D (user)"))


def test_a_token_in_use_is_left_alone(mock, tmp_path):
    held = open_access(campaign_of(mock.url, tmp_path / "a.db"), mock.url)
    before = served(mock)
    try:
        code, checks = seen(file_of(tmp_path, mock.url))
    finally:
        held.release()
    assert (code, checks["request"][0]) == (0, "warn")
    assert "left out: Another process uses the token" in checks["request"][1]
    assert "answer" not in checks
    assert served(mock) == before


def test_a_state_folder_that_cannot_be_made_fails(mock, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    code, checks = seen(file_of(tmp_path, mock.url))
    assert (code, checks["tokens"][0]) == (1, "FAIL")
    assert "XDG_STATE_HOME" in checks["tokens"][1]


def changed(database, statement):
    connection = sqlite3.connect(database)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_database_is_judged_and_left_as_it_is(mock, tmp_path):
    database, file = tmp_path / "mine.db", file_of(tmp_path, mock.url)
    crawl(campaign_of(mock.url, database, name="mine", crawl={"steps": 5}))

    def judged(width=400):
        before = {path.name: hashlib.sha256(path.read_bytes()).digest() for path in tmp_path.iterdir()}
        _, checks = seen(file, width, offline=True)
        assert before == {path.name: hashlib.sha256(path.read_bytes()).digest() for path in tmp_path.iterdir()}
        return checks["database"]

    assert judged() == ("ok", f"{database} is sound")
    changed(database, "update alembic_version set version_num = '0001'")
    assert judged() == ("warn", f"{database} is sound, of an older version: the next run brings it up to date")
    changed(database, "update alembic_version set version_num = '9999'")
    assert judged()[0] == "FAIL"
    assert "a newer socialcrawl" in judged()[1]
    changed(database, "drop table alembic_version")
    assert judged()[0] == "FAIL"
    assert "another program" in judged()[1]
    database.write_text("my diary " * 500)
    assert judged()[0] == "FAIL"
    assert "not an SQLite database" in judged()[1]
    database.write_bytes(b"")
    assert judged()[0] == "ok"


def test_a_damaged_database_fails(mock, tmp_path):
    database = tmp_path / "mine.db"
    crawl(campaign_of(mock.url, database, name="mine", crawl={"steps": 40}))
    changed(database, "pragma journal_mode = delete")
    page = 4096
    pages = bytearray(database.read_bytes())
    for number in range(20, len(pages) // page):
        pages[number * page : number * page + 200] = b"\xff" * 200
    database.write_bytes(pages)
    code, checks = seen(file_of(tmp_path, mock.url), offline=True)
    assert (code, checks["database"][0]) == (1, "FAIL")


def test_less_room_than_the_campaign_keeps_free_fails_as_the_run_would(mock, tmp_path):
    code, checks = seen(file_of(tmp_path, mock.url, more='[limits]\nmin_free_disk = "100000 TB"'), offline=True)
    assert (code, checks["disk"][0]) == (1, "FAIL")
    assert "less than 100,000,000 GB are free" in checks["disk"][1]


def test_little_room_and_no_folder_are_told(mock, tmp_path, monkeypatch):
    file = file_of(tmp_path, mock.url)
    for free, state in ((999_999_999, "warn"), (1_000_000_000, "ok")):
        monkeypatch.setattr(app.shutil, "disk_usage", lambda place, free=free: SimpleNamespace(free=free, total=10**12))
        assert seen(file, offline=True)[1]["disk"][0] == state
    monkeypatch.undo()
    file.write_text(file.read_text().replace('"mine.db"', '"lost/mine.db"'))
    code, checks = seen(file, offline=True)
    assert (code, checks["disk"][0]) == (1, "FAIL")


def test_an_old_price_table_is_told_with_its_age(mock, tmp_path):
    now = SystemClock().now()
    for days, state in ((90, "ok"), (91, "warn")):
        day = format_time(now - days * 86_400.0)[:10]
        text = (find_folder("config") / "x.toml").read_text().replace("as_of = 2026-11-01", f"as_of = {day}")
        (tmp_path / "policy.toml").write_text(text)
        checks = seen(file_of(tmp_path, mock.url, more='policy = "policy.toml"'), 200, offline=True)[1]
        assert checks["prices"][0] == state
    assert "91 days ago: compare it with the platform's (https://docs.x.com" in checks["prices"][1]


def test_the_billing_cycle_is_that_of_the_settings(mock, tmp_path):
    now = SystemClock().now()
    today = int(format_time(now)[8:10])
    checks = seen(file_of(tmp_path, mock.url, more=f"[limits]\ncycle_day = {min(today, 28)}"), 200, offline=True)[1]
    begins, ends = (parse_instant(word) for word in checks["cycle"][1].split() if word.startswith("20"))
    assert begins <= now < ends
    assert format_time(begins)[8:10] == f"{min(today, 28):02}"
    assert 28 <= (ends - begins) / 86_400 <= 31


def test_the_command_has_its_exit_codes(mock, tmp_path):
    file = file_of(tmp_path, mock.url, 'token_env = "X_BEARER_TOKEN"')
    child = socialcrawl("doctor", file, folder=tmp_path)
    assert (child.returncode, "all fields arrived" in child.stdout) == (0, True), child.stderr
    child = socialcrawl("doctor", file, "--offline", folder=tmp_path, token=None)
    assert (child.returncode, "FAIL" in child.stdout) == (1, True), child.stderr
    assert socialcrawl("doctor", folder=tmp_path, token=None).returncode == 0


def test_an_estimator_that_cannot_be_imported_fails_before_anything_is_sent(tmp_path):
    code, checks = seen(file_of(tmp_path, LIVE, more='[crawl]\nestimator = "absent_package:Mine"'), offline=True)
    assert (code, checks["settings"][0]) == (1, "FAIL")
    assert "cannot be loaded: ModuleNotFoundError" in checks["settings"][1]
    assert "is called 'absent_package'" in checks["settings"][1]
