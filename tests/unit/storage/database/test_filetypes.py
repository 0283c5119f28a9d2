"""What is given in place of a database or a campaign file: messages say what it is, and what to give."""

import shutil
import sqlite3

import pytest
from commands import campaign_file, demo_with_seeds, socialcrawl

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.filetypes import (
    describe_wrong_campaign,
    recognize,
    require_database,
)

URL = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a database, two campaign files, an export, a table and notes."""
    here = tmp_path_factory.mktemp("made")
    shutil.copy(demo_with_seeds().database, here / "topic.db")
    campaign_file(here, URL)
    (here / "sample.toml").write_text(
        'name = "walk"\nkind = "sample"\ndatabase = "topic.db"\n[topic]\nkeywords = ["a"]\n[source]\n'
        f'base_url = "{URL}"\n'
    )
    done = socialcrawl("export", "--out", "exp", "--format", "csv", "--db", "topic.db", folder=here)
    assert done.returncode == 0, done.stderr
    shutil.copy(here / "exp" / "picks.csv", here / "picks.csv")
    (here / "notes.txt").write_text("these are my notes\n")
    (here / "broken.toml").write_text("name = \n")
    (here / "pyproject.toml").write_text('[project]\nversion = "1"\n')
    (here / "dump").write_bytes(b"PGDMP and more")
    return here


@pytest.fixture
def place(made, tmp_path):
    """A copy of it."""
    return shutil.copytree(made, tmp_path, dirs_exist_ok=True)


def error_of(done, code):
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("verify", "mine.toml"), "There is no database mine.db: run its campaign first: `socialcrawl run mine.toml`"),
        (("verify", "picks.csv"), "picks.csv is a CSV file, not a database: give an SQLite file, such as topic.db"),
        (("verify", "exp/picks.csv"), ("is a file of an export, not a database: give the database that was exported, "
         "such as topic.db; `socialcrawl verify exp` checks the export")),
        (("verify", "dump"), "dump is an archive of pg_dump, not a database: restore it with pg_restore"),
        (("verify", "."), "is a folder without an export, as it has no datasheet.json: give exp or topic.db"),
        (("verify", "none.db"), "There is no database none.db: its folder has topic.db"),
        (("report", "--db", "mine.db"), ("There is no database mine.db: run its campaign first: `socialcrawl run "
         "mine.toml`")),
        (("report", "--db", "exp"), "exp is the folder of an export, not a database"),
        (("sql", "--db", "notes.txt", "select 1"), "notes.txt is a file of another kind, not a database"),
        (("explain", "ann", "--db", "picks.csv"), "picks.csv is a CSV file, not a database"),
        (("backup", "--out", "b.db", "--db", "."), "is a folder, not a database: give a database in it, topic.db"),
        (("status", "--db", "none.db"), "There is no database none.db: its folder has topic.db"),
    ],
)  # fmt: skip
def test_what_is_no_database_is_named_with_what_to_give(place, words, said):
    assert said in error_of(socialcrawl(*words, folder=place), 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "topic.db"), ("topic.db is a database, not a campaign file: give the campaign file that writes into "
         "it, sample.toml (kind sample)")),
        (("audit", "topic.db"), ('An audit needs a campaign of kind = "sample" on the same topic that has run: see '
         "docs/how-to/audit.md")),
        (("audit", "exp"), ("exp is the folder of an export, not a campaign file: name a campaign file, such as "
         "mine.toml (kind collect) or sample.toml (kind sample)")),
        (("audit", "mine.toml"), ('mine.toml is a campaign of kind collect, but an audit needs a sample: give the file '
         'of a campaign of kind = "sample", such as sample.toml, and --of mine to audit this one')),
        (("audit", "sample.toml", "--held", "topic.db"), ("topic.db is a database, not a list of accounts or posts: "
         "remove --held, and audit the campaigns of that database with --db topic.db")),
        (("audit", "sample.toml", "--held", "exp"), "give one of its files, such as exp/accounts.csv"),
        (("quote", "picks.csv"), "picks.csv is a CSV file, not a campaign file"),
        (("run", "none.toml"), "There is no campaign file none.toml: name a campaign file, such as mine.toml"),
        (("daemon", "topic.db"), "topic.db is a database, not a campaign file"),
        (("pause", "mine.toml", "--campaign", "mine"), "--campaign names campaigns of one database"),
        (("import", "picks.csv", "--as", "history", "--db", "topic.db"), "--as history needs the campaign that"),
        (("report", "broken.toml"), "broken.toml is not valid TOML: "),
        (("report", "pyproject.toml"), ("pyproject.toml is not a campaign file, as it has no `name`: name a campaign "
         "file, such as mine.toml (kind collect)")),
        (("report", "none.toml"), "There is no campaign file none.toml: name a campaign file, such as mine.toml"),
        (("report", "topic.db", "--db", "mine.toml"), "Name the database once: topic.db, or --db mine.toml"),
        (("report", "sample.toml", "--campaign", "demo"), ("sample.toml is the campaign 'walk': remove --campaign "
         "demo, or name topic.db")),
        (("sql", "topic.db"), "topic.db is no query: add a query after it"),
        (("sql", "sample.toml"), "sample.toml is no query: add a query after it"),
        (("sql", "select", "count(*)", "from", "post"), "Give at most a database and a query, and put it into quotes"),
        (("explain", "topic.db"), "topic.db is no account: add an account after it"),
    ],
)  # fmt: skip
def test_what_is_no_campaign_file_or_argument_is_named_with_what_to_give(place, words, said):
    assert said in error_of(socialcrawl(*words, folder=place), 2)


@pytest.mark.parametrize("words", [("verify",), ("report",), ("status",), ("sql", "select 1")])
def test_without_a_database_none_is_invented(tmp_path, words):
    said = error_of(socialcrawl(*words, folder=tmp_path), 1)
    assert (
        "There is no database (*.db) in this folder: run a campaign first (`socialcrawl init` writes a campaign file)"
        in said
    )
    campaign_file(tmp_path, URL)
    said = error_of(socialcrawl(*words, folder=tmp_path), 1)
    assert "run a campaign first (`socialcrawl run mine.toml`), or name a database in another folder" in said


def test_a_password_in_the_address_of_a_database_is_not_repeated(tmp_path):
    said = error_of(socialcrawl("quote", "postgresql://ann:secret@host/name", folder=tmp_path), 2)
    assert "address of a database, not a campaign file" in said
    assert "secret" not in said


def test_looking_at_a_database_keeps_the_locks_that_this_process_has_on_it(tmp_path):
    """POSIX locks of a process go when it closes any descriptor of the file; another process would get in."""
    file = tmp_path / "a.db"
    ours = sqlite3.connect(file, isolation_level=None)
    ours.execute("create table a (b)")
    ours.execute("begin exclusive")
    assert recognize(file) == "a database"
    require_database(file)
    code = f"import sqlite3; sqlite3.connect({str(file)!r}, timeout=0).execute('insert into a values (1)')"
    assert "locked" in run_python(code)
    ours.execute("commit")
    ours.close()


def run_python(code):
    import subprocess
    import sys

    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr


def test_an_empty_file_may_become_a_database_and_a_broken_campaign_file_is_told_as_such(tmp_path):
    (tmp_path / "new.db").touch()
    require_database(tmp_path / "new.db")
    (tmp_path / "c.toml").write_text("name = \n")
    assert describe_wrong_campaign(tmp_path / "c.toml") is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\n')
    with pytest.raises(StoreError, match="a file of another kind"):
        require_database(tmp_path / "pyproject.toml")
