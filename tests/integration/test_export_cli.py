"""`socialcrawl export` and a mock of it, as people type them."""

import json

import pytest
import typer
from exported_towns import a_town, exported, town
from import_files import NOW, columns, drawn, files, write_lines
from stores import opened
from typer.testing import CliRunner

from socialcrawl.api.data_export import read_key
from socialcrawl.cli.definitions.datasets import export
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.importers.import_posts import import_posts

KEY = "0123456789abcdef-a-key-for-tests"


@pytest.fixture
def command():
    app = typer.Typer()
    app.command()(export)
    runner = CliRunner()
    return lambda *words, **more: runner.invoke(app, [str(word) for word in words], **more)


def test_an_export_says_what_it_wrote(command, tmp_path):
    done = command(tmp_path / "out", "--db", town() / "town.db")
    assert done.exit_code == 0, done.exception
    assert "posts.parquet: 62 rows" in done.stdout
    assert "name people" in done.stderr
    done = command(
        tmp_path / "out", "--db", town() / "town.db", "--format", "csv", "--format", "gexf", "--force", "--json"
    )
    sheet = json.loads(done.stdout)
    assert {file["name"].partition(".")[2] for file in sheet["files"]} == {"csv", "gexf"}


def test_pseudonyms_come_from_a_key_in_the_environment_or_a_file(command, tmp_path):
    (tmp_path / "key").write_text(KEY + "\n")
    base = ("--db", town() / "town.db", "--format", "csv")
    for name, words, environment in (
        ("a", ("--pseudonymise",), {"SOCIALCRAWL_KEY": KEY}),
        ("b", ("--pseudonymise", "--key-env", "OTHER"), {"OTHER": KEY}),
        ("c", ("--key-file", tmp_path / "key"), {}),
    ):
        done = command(tmp_path / name, *base, *words, env=environment)
        assert done.exit_code == 0, done.exception
        assert KEY not in done.stdout + done.stderr
        assert "name people" not in done.stderr
    for name in ("b", "c"):
        assert (tmp_path / "a/posts.csv").read_bytes() == (tmp_path / name / "posts.csv").read_bytes()
    assert (tmp_path / "a/posts.csv").read_bytes() != (town() / "out/posts.csv").read_bytes()


def test_a_key_that_is_missing_short_or_unreadable_is_told_without_it(command, tmp_path, monkeypatch):
    monkeypatch.delenv("SOCIALCRAWL_KEY", raising=False)
    with pytest.raises(SettingsError, match="openssl rand -hex 32"):
        read_key("SOCIALCRAWL_KEY", None)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_key("SOCIALCRAWL_KEY", tmp_path / "none")
    words = (tmp_path / "out", "--db", town() / "town.db", "--pseudonymise")
    done = command(*words, env={"SOCIALCRAWL_KEY": "swordfish"})
    assert isinstance(done.exception, SettingsError)
    assert "swordfish" not in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_where_there_is_no_campaign_yet_everything_can_be_exported(command, tmp_path, place):
    with opened(place) as connection:
        write_lines(tmp_path / "a.jsonl", columns(drawn()))
        import_posts(files(tmp_path / "a.jsonl"), connection, None, NOW)
        with pytest.raises(StoreError, match="no campaign in this database yet: --all exports everything"):
            exported(connection, tmp_path / "out", "csv")
        with pytest.raises(StoreError, match="no campaign 'mine' in this database; there are: none yet"):
            exported(connection, tmp_path / "out", "csv", campaign="mine")
        sheet = exported(connection, tmp_path / "out", "csv", whole=True)
    assert (sheet["posts"]["posts"], sheet["posts"]["unasked"], sheet["campaigns"]) == (60, 60, [])


def test_what_is_not_there_is_told_in_a_sentence(command, tmp_path):
    with a_town(tmp_path):
        pass
    done = command(tmp_path / "out", "--db", tmp_path / "other.db")
    assert isinstance(done.exception, StoreError)
    assert "There is no database" in str(done.exception)
    done = command(tmp_path / "out", "--db", tmp_path / "town.db", "--campaign", "nobody")
    assert "there are: tiny" in str(done.exception)
    done = command(tmp_path, "--db", tmp_path / "town.db")
    assert "no export" in str(done.exception)
