"""`socialcrawl forget` and `retain` as people type them."""

import json
import re
from types import SimpleNamespace

import pytest
import typer
from erasure_towns import crawled, replayed, stored
from stores import a_place, rows
from tiny_town import close
from typer.testing import CliRunner

from socialcrawl.cli.commands.forget import parse_days
from socialcrawl.cli.definitions.maintenance import forget, retain
from socialcrawl.errors import SettingsError, StoreError


def command(*words):
    app = typer.Typer()
    app.command()(forget)
    app.command()(retain)
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_the_commands_show_what_goes_and_do_it_when_agreed(tmp_path, monkeypatch):
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        close(store)
        dry = command("forget", "--db", place, "--user", "1003", "--user", "@nobody_here", "--dry-run")
        assert "would be forgotten" in dry.stdout
        assert "1  account emptied" in dry.stdout
        assert "@nobody_here" in dry.stdout
        assert re.search(r"stored about them .*\n +1 row of account: node, platform, platform_id, username", dry.stdout)
        assert re.search(r"platform_id 1003, username person3\b", dry.stdout, re.IGNORECASE)
        assert "secret-of-1003" not in dry.stdout.replace("description secret-of-1003", ""), "texts are in --json only"
        whole = json.loads(command("forget", "--db", place, "--user", "1003", "--dry-run", "--json").stdout)
        assert any("secret-of-1003" in post["text"] for post in whole["stored"]["post"])
        assert whole["stored_cut"] == []
        elsewhere = {name: whole["rows"][name] for name in ("text", "response", "request", "charge", "campaign")}
        assert whole["stored_elsewhere"] == {name: count for name, count in elsewhere.items() if count}
        assert {"text", "request"} <= set(whole["stored_elsewhere"]) & set(elsewhere)
        assert (
            "counted above and not shown, though they may hold more about them: texts and references of" in dry.stdout
        )
        monkeypatch.setattr("socialcrawl.cli.commands.forget.MOST", 1)
        cut = json.loads(command("forget", "--db", place, "--user", "1003", "--dry-run", "--json").stdout)
        assert [len(table) for table in cut["stored"].values()] == [1] * len(cut["stored"])
        assert cut["stored_cut"] == [name for name, table in whole["stored"].items() if len(table) > 1]
        with pytest.raises(SettingsError, match="--yes"):
            command("forget", "--db", place, "--user", "1003")
        done = command("forget", "--db", place, "--user", "1003", "--yes", "--json")
        told = json.loads(done.stdout)
        assert told["rows"]["account"] == 1
        assert told["not_held"] == []
        again = command("forget", "--db", place, "--user", "1003", "--yes")
        assert "nothing of it here" in again.stdout
        assert "forgotten before: user:1003" in again.stdout
        kept = command("retain", "100y", "--db", place, "--dry-run").stdout
        assert re.search(r"fetched before \d{4}-.*Z:\n  nothing: all content here was fetched since 20\d\d-.*Z", kept)
        with pytest.raises(SettingsError, match="--yes"):
            command("retain", "90d", "--db", place)
        would = json.loads(command("retain", "90d", "--db", place, "--json", "--dry-run").stdout)
        old = json.loads(command("retain", "90d", "--db", place, "--json", "--yes").stdout)
        assert would["rows"] == old["rows"]
        store = stored(place)
        assert old["rows"]["post"] > 20
        assert rows(store, "select count(*) from post") == [(0,)]
        assert "nothing: no content is stored here" in command("retain", "90d", "--db", place, "--yes").stdout
        chosen, kept = replayed(store, 99)
        assert chosen == kept == []
        close(store)
    with pytest.raises(StoreError, match="no database"):
        command("retain", "90d", "--db", tmp_path / "none.db")


def test_the_platform_is_that_of_the_database_where_it_has_one(tmp_path):
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        with store.connection.begin():
            store.connection.exec_driver_sql("update account set platform = 'bluesky'")
            store.connection.exec_driver_sql("update campaign set platform = 'bluesky'")
        close(store)
        assert "1  account emptied" in command("forget", "--db", place, "--user", "1003", "--dry-run").stdout
        with pytest.raises(SettingsError, match="nothing of 'x': there is bluesky"):
            command("forget", "--db", place, "--user", "1003", "--platform", "x")
        store = stored(place)
        with store.connection.begin():
            store.connection.exec_driver_sql("update campaign set platform = 'web' where id = 1")
        close(store)
        with pytest.raises(SettingsError, match="bluesky and web: say whose with --platform"):
            command("forget", "--db", place, "--user", "1003")


@pytest.fixture
def folder(tmp_path):
    """A folder of campaign files: two databases that know the town, one of Bluesky, one that has not begun."""
    for name in ("first", "second", "sky"):
        store, _ = crawled(tmp_path / f"{name}.db")
        if name == "sky":
            with store.connection.begin():
                store.connection.exec_driver_sql("update account set platform = 'bluesky'")
                store.connection.exec_driver_sql("update campaign set platform = 'bluesky'")
        close(store)
    for name in ("first", "second", "sky", "later"):
        text = f'name = "{name}"\ndatabase = "{name}.db"\n[topic]\nkeywords = ["telescope"]\n'
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    (tmp_path / "again.toml").write_text(
        'name = "again"\ndatabase = "first.db"\n[topic]\nkeywords = ["sea"]\n', "utf-8"
    )
    return tmp_path


def gone(database):
    store = stored(database)
    try:
        return rows(store, "select count(*) from account where forgotten_at is not null")[0][0]
    finally:
        close(store)


def test_a_person_is_forgotten_in_all_databases_of_a_folder(folder):
    words = ("forget", folder, "--user", "1003", "--platform", "x")
    would = command(*words, "--dry-run")
    assert would.exit_code == 0
    assert [gone(folder / f"{name}.db") for name in ("first", "second", "sky")] == [0, 0, 0]
    done = command(*words, "--yes")
    told = [line for line in done.stdout.splitlines() if "account emptied" in line or line.endswith(".db:")]
    first, later, second, sky = (f"{folder / name}.db:" for name in ("first", "later", "second", "sky"))
    emptied = "          1  account emptied"
    assert told == [first, emptied, later, second, emptied, sky]
    assert "  not begun: nothing is stored yet" in done.stdout
    assert "  This database has nothing of 'x': there is bluesky." in done.stdout
    assert done.exit_code == 0
    assert [gone(folder / f"{name}.db") for name in ("first", "second", "sky")] == [1, 1, 0]


def test_programs_get_what_went_from_each_database(folder):
    done = command("forget", folder / "first.toml", folder / "later.toml", "--user", "1003", "--json", "--yes")
    first, later = json.loads(done.stdout)["databases"]
    assert (first["database"], first["rows"]["account"], first["dry_run"]) == (f"{folder / 'first.db'}", 1, False)
    assert later == {"database": f"{folder / 'later.db'}", "begun": False}
    old = json.loads(command("retain", "90d", folder, "--json", "--yes").stdout)["databases"]
    assert [one["rows"]["post"] > 20 for one in old if "rows" in one] == [True, True, True]


def test_a_database_that_cannot_be_used_keeps_no_other_from_forgetting(folder):
    (folder / "first.db").write_bytes(b"no database at all " * 100)
    (folder / "broken.toml").write_text("name = ", "utf-8")
    done = command("forget", folder, "--user", "1003", "--platform", "x", "--yes")
    assert done.exit_code == 1
    assert f"{folder / 'first.db'}: " in done.stderr
    assert "left out: " in done.stderr
    assert "broken.toml" in done.stderr
    assert gone(folder / "second.db") == 1


def test_one_of_a_thing_that_goes_is_told_in_the_singular(folder):
    text = command("forget", "--db", folder / "first.db", "--post", "3-1", "--dry-run").stdout
    ones = [line.split(maxsplit=1)[1] for line in text.splitlines() if re.match(r" +1  ", line)]
    assert "post removed" in ones
    assert not [line for line in ones if re.match(r"\w+s\b", line)]


def test_what_became_too_old_goes_when_somebody_says_so(monkeypatch):
    monkeypatch.setattr(
        "socialcrawl.cli.commands.forget.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    )
    app = typer.Typer()
    app.command()(retain)
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        (count,) = rows(store, "select count(*) from post")[0]
        for answer, left in (("n", count), ("y", 0)):
            done = CliRunner().invoke(app, ["90d", "--db", str(place)], input=f"{answer}\n")
            assert f"{count}  posts removed" in done.stdout
            assert "This cannot be undone" in done.stdout
            assert rows(store, "select count(*) from post") == [(left,)]
        close(store)


@pytest.mark.parametrize(("text", "length"), [("90d", 90), ("12w", 84), ("2y", 730), (" 1 D", 1)])
def test_spans_are_days_weeks_and_years(text, length):
    assert parse_days(text) == length * 86_400.0


@pytest.mark.parametrize("text", ["", "90", "d", "-3d", "3h", "1.5d", "999999d", "0d", "00w"])
def test_other_spans_are_refused(text):
    with pytest.raises(SettingsError, match="write 90d"):
        parse_days(text)
