"""A campaign file is accepted wherever a database is, as an argument and as --db, by every command that reads one."""

import json
import shutil
import sqlite3

import pytest
from commands import demo_with_seeds, socialcrawl
from typer.main import get_command

from socialcrawl.cli.databases import choose_database, split_target, split_words
from socialcrawl.cli.main import app
from socialcrawl.errors import SettingsError
from socialcrawl.storage.database.address import PostgresAddress

CAMPAIGN = 'name = "demo"\ndatabase = "{}"\n[topic]\nkeywords = ["kernel"]\n[unknown]\nkey = 1\n'
URL = "postgresql://ann@server/posts"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with two databases, of which the campaign file names the older one."""
    shutil.copy(demo_with_seeds().database, tmp_path / "mine.db")
    (tmp_path / "a.toml").write_text(CAMPAIGN.format("mine.db"))
    (tmp_path / "remote.toml").write_text(CAMPAIGN.format(URL))
    shutil.copy(tmp_path / "mine.db", tmp_path / "newer.db")
    with sqlite3.connect(tmp_path / "newer.db") as raw:
        raw.execute("update campaign set name = 'another'")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_campaign_file_stands_for_its_database_and_its_name(place):
    for named in (("a.toml", None), (None, "a.toml")):
        address, name, file = choose_database(*named)
        assert (str(address), name, str(file)) == ("mine.db", "demo", "a.toml")
    assert choose_database(str(place / "a.toml")).address == place / "mine.db"
    assert choose_database("a.toml", None, "demo").campaign == "demo"


def test_a_campaign_file_may_name_a_server(place):
    assert choose_database("remote.toml").address == PostgresAddress(URL)


def test_a_database_is_taken_as_it_is(place):
    assert choose_database("mine.db", None, "other")[1:] == ("other", None)
    assert choose_database(URL).address == PostgresAddress(URL)
    assert str(choose_database(None).address) == "newer.db"


def test_the_environment_names_a_database_or_a_campaign_file(place, monkeypatch):
    monkeypatch.setenv("SOCIALCRAWL_DB", "a.toml")
    assert choose_database(None)[:2] == (choose_database("a.toml").address, "demo")


def test_a_campaign_file_without_a_usable_database_is_refused(place):
    (place / "b.toml").write_text(CAMPAIGN.format("mysql://ann@server/posts"))
    with pytest.raises(SettingsError, match="mysql://"):
        choose_database("b.toml")


def test_the_last_word_is_the_query(place):
    assert split_words(["select 1"], "a query") == (None, "select 1")
    assert split_words(["a.toml", "select 1"], "a query") == ("a.toml", "select 1")
    assert split_words(["x" * 5000], "a query") == (None, "x" * 5000)
    with pytest.raises(SettingsError, match=r"^Swap the arguments: a\.toml comes first, a query after it"):
        split_words(["select 1", "a.toml"], "a query")


def test_a_query_can_come_from_standard_input_and_be_answered_in_json(place):
    piped = socialcrawl("sql", "mine.db", "-", "--json", folder=place, given="select 1 as one")
    assert (piped.returncode, json.loads(piped.stdout)) == (0, [{"one": 1}])
    both = socialcrawl("sql", "mine.db", "select 1", "--json", "--format", "csv", folder=place)
    assert (both.returncode, both.stdout) == (2, "")
    assert "--json and --format csv exclude each other" in both.stderr


def test_status_shows_every_database_of_the_folder_but_pause_changes_none(place):
    shown = socialcrawl("status", "--json", folder=place)
    assert shown.returncode == 0
    assert {one["campaign"] for one in json.loads(shown.stdout)} == {"demo", "another"}
    paused = socialcrawl("pause", folder=place)
    assert (paused.returncode, "There are several databases here" in paused.stderr) == (2, True)


def test_what_is_no_database_is_a_target_as_before_and_out_is_hinted_at(place, capsys):
    assert split_target("copy", None, None, "the copy")[1].name == "copy"
    assert split_target("newer.db", "mine.db", None, "the copy")[1].name == "newer.db"
    assert capsys.readouterr().err.count("hint: name the copy with --out") == 2
    assert split_target("a.toml", None, None, "the copy") == ("a.toml", None)
    assert split_target("copy", None, "out", "the copy") == ("copy", "out")
    assert not capsys.readouterr().err


READING = {
    "report": ("report",),
    "sql": ("sql", "select name from campaign"),
    "verify": ("verify", "--json"),
    "export": ("export", "--json", "-o", "out"),
    "backup": ("backup", "-o", "copy.db"),
    "status": ("status", "--json"),
    "pause": ("pause",),
    "resume": ("resume",),
    "stop": ("stop",),
    "retain": ("retain", "9000d", "--dry-run", "--json"),
    "forget": ("forget", "--user", "1", "--dry-run", "--json"),
}


def test_each_command_that_reads_a_database_takes_it_as_an_argument_and_as_an_option():
    ours = {
        "demo": "creates it",
        "train": "an argument, tested with it",
        "label": "likewise",
        "explain": "tested with it",
        "explore": "likewise",
        "search": "likewise",
    }
    for name, command in get_command(app).commands.items():
        flags = {flag for one in command.params for flag in one.opts}
        if "--db" in flags and name not in ("import", "audit", *ours):
            assert name in READING


@pytest.mark.parametrize("name", READING)
def test_commands_say_the_same_of_a_campaign_file_and_of_its_database(place, name):
    (place / "a.toml").write_text(CAMPAIGN.format("mine.db").split("[unknown]")[0])
    first, *rest = READING[name]
    words = (*rest[:1], "a.toml", *rest[1:]) if name == "retain" else ("a.toml", *rest)
    whole = None
    for given in ((first, *words), (first, *rest, "--db", "a.toml"), (first, *rest, "--db", "mine.db")):
        done = socialcrawl(*given, folder=place)
        assert done.returncode == 0, (given, done.stderr)
        assert "another" not in done.stdout
        shutil.rmtree(place / "out", ignore_errors=True)
        (place / "copy.db").unlink(missing_ok=True)
        if name in ("report", "sql"):
            assert whole in (None, done.stdout)
            whole = done.stdout


def test_an_account_is_explained_in_a_campaign_file(place):
    name = socialcrawl(
        "sql", "a.toml", "select username from account where username is not null limit 1", "--format", "csv",
        folder=place,
    ).stdout.split()[1]  # fmt: skip
    one = socialcrawl("explain", "a.toml", name, "--json", folder=place)
    assert json.loads(one.stdout) == json.loads(
        socialcrawl("explain", name, "--db", "mine.db", "--json", folder=place).stdout
    )


def test_an_export_without_a_folder_is_named_after_its_campaign(place):
    (place / "a.toml").write_text(CAMPAIGN.format("mine.db").split("[unknown]")[0])
    assert socialcrawl("export", "a.toml", "--format", "ids", folder=place).returncode == 0
    assert (place / "demo-export" / "datasheet.json").is_file()


def test_the_old_spelling_of_export_and_backup_works_with_a_hint(place):
    for words in (("export", "out", "--db", "mine.db", "--format", "ids"), ("backup", "copy.db", "--db", "mine.db")):
        done = socialcrawl(*words, folder=place)
        assert done.returncode == 0
        assert f"--out {words[1]}" in done.stderr
        assert (place / words[1]).exists()


def test_a_backup_of_a_database_needs_a_name_for_the_copy(place):
    done = socialcrawl("backup", "mine.db", "--force", folder=place)
    assert done.returncode == 2
    assert "--out FILE" in done.stderr


def test_a_report_and_a_look_at_a_campaign_are_there_for_scripts(place):
    told = json.loads(socialcrawl("report", "mine.db", "--json", "--png", "curve.png", folder=place).stdout)
    assert told["steps"] == 110
    assert (place / "curve.png").stat().st_size > 1000
    doctor = socialcrawl("doctor", "--json", folder=place)
    told = json.loads(doctor.stdout)
    assert told["ready"] == (doctor.returncode == 0)
    assert {"state", "name", "text"} == set(told["checks"][0])
