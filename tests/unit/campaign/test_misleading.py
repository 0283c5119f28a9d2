"""Messages and exit codes that misled people who used the program: each says what is wrong, where, and what to do."""

import os
import re
import sqlite3

import pytest
from commands import campaign_file, demo_with_seeds, socialcrawl

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings, read
from socialcrawl.errors import HeldError, SettingsError
from socialcrawl.storage.database.lease import Lease

MINE = 'name = "mine"\n[topic]\n{keywords}\n[source]\nbase_url = "http://127.0.0.1:9"\n'


def refused(tmp_path, keywords):
    file = tmp_path / "mine.toml"
    file.write_text(MINE.format(keywords=keywords), "utf-8")
    with pytest.raises(SettingsError) as found:
        make_plan(read(file))
    return str(found.value)


def test_explain_of_a_name_that_nobody_knows_exits_1(tmp_path):
    made = demo_with_seeds()
    for more in ((), ("--json",)):
        assert socialcrawl("explain", "NOBODY", "--db", made.database, *more).returncode == 1
    known = sqlite3.connect(made.database).execute("select username from account where username is not null").fetchone()
    assert socialcrawl("explain", known[0], "--db", made.database).returncode == 0


def test_run_names_the_campaign_file_where_the_database_is_another_file(tmp_path):
    file = campaign_file(tmp_path, "http://127.0.0.1:9")
    (tmp_path / "mine.db").write_bytes(b"no database at all " * 100)
    child = socialcrawl("run", file, folder=tmp_path)
    assert "database in the campaign file" in child.stderr


def test_a_database_without_campaigns_says_so(tmp_path):
    from socialcrawl.storage.database.connection import connect

    connect(tmp_path / "empty.db").close()
    child = socialcrawl("report", "--db", tmp_path / "empty.db")
    assert child.returncode == 1
    assert "There is no campaign in this database yet" in child.stderr


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A folder with a database in which three campaigns have read the same post by import, the oldest first."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "a.csv").write_text("author,created_at,text\nann,1700000000,a telescope for @bob\n", "utf-8")
    for name in ("first", "second", "third"):
        text = f'name = "{name}"\ndatabase = "all.db"\n[topic]\nkeywords = ["telescope"]\n'
        (folder / f"{name}.toml").write_text(text, "utf-8")
        child = socialcrawl("import", "a.csv", "--as", "history", "--db", f"{name}.toml", folder=folder)
        assert child.returncode == 0, child.stderr
    return folder


READING = {
    "report": ["report", "--db", "all.db"],
    "explain": ["explain", "ann", "--db", "all.db", "--json"],
    "export": ["export", "--out", "out", "--force", "--db", "all.db"],
    "train": ["train", "--out", "tree.json", "--db", "all.db"],
}


@pytest.mark.parametrize("command", READING)
def test_what_reads_one_of_several_campaigns_says_which_and_how_to_choose(command, several):
    words = READING[command]
    said = "reading campaign third, the newest in this database (choose with --campaign: second, first)"
    assert said in socialcrawl(*words, folder=several).stderr.splitlines()
    assert "choose with" not in socialcrawl(*words, "--campaign", "first", folder=several).stderr


def test_an_export_of_all_campaigns_chooses_none(several):
    child = socialcrawl("export", "--out", "everything", "--all", "--db", "all.db", folder=several)
    assert (child.returncode, "choose with" in child.stderr) == (0, False), child.stderr


def test_an_error_of_toml_shows_the_line(tmp_path):
    assert "line 3, column 12): keywords = nothing quoted" in refused(tmp_path, "keywords = nothing quoted")


@pytest.mark.parametrize("line", ['token = "AAAAsecret', "tokens = [AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA]"])
def test_an_error_of_toml_shows_no_value_that_may_be_a_secret(tmp_path, line):
    said = refused(tmp_path, line)
    assert "AAAA" not in said
    assert "= ..." in said


def test_a_misspelt_column_is_answered_with_the_columns_of_that_table():
    child = socialcrawl("sql", "select usrname from account", "--db", demo_with_seeds().database)
    assert child.returncode == 1
    assert "Columns of account: node, platform, platform_id, username" in child.stderr
    assert "outcome" not in child.stderr


def test_a_campaign_that_is_already_running_says_which_process_runs_it(tmp_path):
    lease = Lease(tmp_path / "mine.db", "mine")
    try:
        with pytest.raises(HeldError, match=f"already running, pid {os.getpid()}"):
            Lease(tmp_path / "mine.db", "mine")
    finally:
        lease.release()


def test_keywords_without_brackets_are_answered_with_the_list_to_write(tmp_path):
    assert 'write keywords = ["climate"]' in refused(tmp_path, 'keywords = "climate"')


def test_a_keyword_that_is_a_query_is_answered_with_how_to_write_it(tmp_path):
    said = refused(tmp_path, 'keywords = ["climate OR iran"]')
    assert 'keywords = ["climate", "iran"]' in said
    assert "patterns" in refused(tmp_path, 'keywords = ["climate AND iran"]')
    for query in ("(climate OR drought) lang:en -is:retweet", "climate OR from:nasa", "climate OR (iran -oil)"):
        said = refused(tmp_path, f'keywords = ["{query}"]')
        assert "languages under [topic]" in said
        assert "drought)" not in said.replace(query, "")
    assert 'keywords = ["climate", "iran"]' in refused(tmp_path, 'keywords = ["(climate OR iran)"]')
    make_plan(
        check_settings(
            {"name": "a", "topic": {"keywords": ["more or less"]}, "source": {"base_url": "http://[::1]"}}, "a"
        )
    )


def test_init_refuses_a_query_before_it_writes_a_file(tmp_path):
    child = socialcrawl("init", tmp_path / "mine.toml", "--keyword", "climate OR iran")
    assert (child.returncode, "--keyword climate --keyword iran" in child.stderr) == (2, True)
    assert not (tmp_path / "mine.toml").exists()


def test_the_ending_decides_what_kind_of_picture_report_draws(tmp_path):
    database = demo_with_seeds().database
    for name, begins in (("x.svg", b"<?xml"), ("x.pdf", b"%PDF"), ("x.PNG", b"\x89PNG")):
        assert socialcrawl("report", "--db", database, "--png", tmp_path / name).returncode == 0
        assert (tmp_path / name).read_bytes().startswith(begins)
    child = socialcrawl("report", "--db", database, "--png", tmp_path / "x.gif")
    assert (child.returncode, ".png, .svg, .pdf" in child.stderr) == (2, True)


def test_doctor_and_run_agree_that_a_folder_cannot_be_written(tmp_path):
    file = campaign_file(tmp_path, "http://127.0.0.1:9")
    file.write_text(file.read_text("utf-8").replace('"mine.db"', '"/proc/self/mine.db"'), "utf-8")
    run, doctor = (socialcrawl(*words, file) for words in (("run",), ("doctor", "--offline")))
    assert "cannot be written" in run.stderr
    assert doctor.returncode == 1
    assert "cannot be written" in " ".join(doctor.stdout.split())


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon", "web"])
def test_the_keywords_of_a_fresh_template_are_refused(tmp_path, platform):
    assert socialcrawl("init", "new.toml", "--platform", platform, folder=tmp_path).returncode == 0
    child = socialcrawl("check", "new.toml", folder=tmp_path)
    assert child.returncode == 2
    assert "examples of the template" in child.stdout


def test_run_without_a_token_asks_for_the_token_before_it_speaks_of_the_cost(tmp_path):
    text = 'name = "mine"\n[topic]\nkeywords = ["sky"]\n[budget]\nmax_money = 500\n'
    (tmp_path / "mine.toml").write_text(text, "utf-8")
    child = socialcrawl("run", "mine.toml", folder=tmp_path, token=None)
    assert child.returncode == 2
    assert "X_BEARER_TOKEN" in child.stderr
    assert "may cost" not in child.stderr


def test_counts_of_a_campaign_that_is_done_are_not_announced(tmp_path, capsys, monkeypatch):
    from socialcrawl.cli.commands import quote
    from socialcrawl.render.console import make_console

    file = campaign_file(tmp_path, "http://127.0.0.1:9")
    monkeypatch.setattr(quote, "count_searches_left", lambda meant: 0)
    monkeypatch.setattr(quote, "count_posts", lambda meant: pytest.fail("asked"))
    quote.show_quote(read(file), make_console(), count=True, as_json=False)
    told = capsys.readouterr()
    assert "Asking X" not in told.out
    assert "all searches of this campaign are done" in told.err


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon", "web"])
@pytest.mark.parametrize("kind", ["collect", "track", "refresh", "sample", "capture"])
def test_every_kind_of_campaign_has_a_template(tmp_path, kind, platform):
    from socialcrawl.campaign.template_file import write_campaign_file

    file = tmp_path / "new.toml"
    write_campaign_file(file, [] if kind == "refresh" else ["sky"], platform, kind)
    assert read(file).kind == kind


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon"])
def test_the_template_of_a_capture_has_the_keys_that_have_an_effect_on_its_platform(tmp_path, platform):
    from socialcrawl.campaign.template_file import write_campaign_file

    file = tmp_path / "new.toml"
    write_campaign_file(file, [], platform, "capture")
    text = file.read_text("utf-8")
    keys = set(re.findall(r"^(?:# )?(\w+) = ", text, re.MULTILINE))
    assert {"from", "until", "order", "parts", "pages", "ongoing", "soonest", "latest", "max_requests"} <= keys
    assert not keys & {"pages_per_user", "reuse_hours", "hosts", "max_nodes", "estimator", "most"}
    assert keys & {"archive", "authors"} == ({"archive", "authors"} if platform == "x" else set())
    assert ("X: " in text, "$0.0" in text) == (platform == "x", platform == "x")
    assert ('keywords = ["#your_tag"]        # hashtags' in text) == (platform == "mastodon")
    write_campaign_file(tmp_path / "own.toml", ["#sky"], platform, "capture")
    assert read(tmp_path / "own.toml").topic.keywords == ["#sky"]


def test_what_is_said_to_be_of_several_platforms_stays_for_each_of_them(tmp_path):
    from socialcrawl.campaign.template_file import _leave_out_others

    text = "# a = 1  # X: one\n# b = 2  # X, Bluesky: two\n# c = 3 # three\nd = 4 # X: set\n"
    assert re.findall(r"\w(?= =)", _leave_out_others(text, "Bluesky")) == ["b", "c", "d"]
    assert _leave_out_others(text, "X") == text


def test_a_section_of_another_kind_is_refused_as_a_whole_and_not_key_by_key(tmp_path):
    given = {"name": "a", "kind": "track", "topic": {"keywords": ["sky"]}}
    with pytest.raises(SettingsError) as found:
        check_settings(
            {**given, "refresh": dict.fromkeys(["target", "expansion", "recrawl", "p", "window"], "x")}, "a.toml"
        )
    assert str(found.value).splitlines() == [
        'a.toml: [refresh] belongs to kind = "refresh": write that above [topic], or remove [refresh].'
    ]
