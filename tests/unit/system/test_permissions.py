"""What the program creates can be read by its owner alone, unless SOCIALCRAWL_UMASK says otherwise."""

import os
import subprocess
import sys
from contextlib import closing

import pytest
from commands import COMMAND, ENVIRONMENT, campaign_file
from stores import opened
from x_crawls import TOPIC, posts

from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.connection import connect
from socialcrawl.system.files import VARIABLE, read_umask

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes have no effect on Windows")
USUAL = 0o022  # the umask of most systems: all may read


@pytest.fixture
def usual():
    former = os.umask(USUAL)
    yield
    os.umask(former)


def ran(folder, *words, **variables):
    """A command as from a shell in which all may read what is created."""
    there = {name: value for name, value in ENVIRONMENT.items() if name != VARIABLE}
    child = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=folder,
        env={**there, "X_BEARER_TOKEN": "a-token", "XDG_STATE_HOME": str(folder / "state"), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        umask=USUAL,
    )
    assert child.returncode == 0, child.stderr
    return child


def modes(folder):
    """Path -> mode of all files and folders below a folder."""
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in sorted(folder.rglob("*"))}


def work(folder, **variables):
    """A folder after the commands of a small campaign."""
    with serve_in_thread(posts(), limit=100_000) as mock:
        ran(folder, "init", "first.toml", "--keyword", TOPIC, **variables)
        ran(folder, "run", campaign_file(folder, mock.url), "--yes", **variables)
    ran(folder, "report", "--db", "mine.db", "--png", "curve.png", **variables)
    ran(folder, "backup", "--out", "copy.db", "--db", "mine.db", **variables)
    for number, form in enumerate(("csv", "parquet", "gexf")):
        ran(folder, "export", "--out", f"export{number}", "--db", "mine.db", "--format", form, **variables)
    return modes(folder)


def test_databases_backups_exports_campaign_files_and_state_are_their_owners_alone(tmp_path):
    found = work(tmp_path)
    assert {"first.toml", "mine.db", "copy.db", "curve.png", "export0", "state/socialcrawl"} <= set(found)
    written_here = {"mine.toml"}  # by this test
    told = {name: mode for name, mode in found.items() if name not in written_here}
    assert {name: oct(mode) for name, mode in told.items() if mode not in (0o600, 0o700)} == {}
    for name, mode in told.items():
        assert mode == (0o700 if (tmp_path / name).is_dir() else 0o600), name


def test_a_group_may_read_what_the_umask_lets_it_but_never_the_keys_of_sessions(tmp_path):
    found = work(tmp_path, **{VARIABLE: "027"})
    state = {name: mode for name, mode in found.items() if name.startswith("state/socialcrawl")}
    shared = {name: mode for name, mode in found.items() if name not in state and name not in ("mine.toml", "state")}
    assert {name: oct(mode) for name, mode in shared.items() if mode not in (0o640, 0o750)} == {}
    assert shared["mine.db"] == shared["copy.db"] == 0o640
    assert state["state/socialcrawl"] == 0o700
    assert state["state/socialcrawl/key"] == 0o600


def test_the_library_creates_private_databases_and_the_files_beside_one_have_its_mode(tmp_path, usual, monkeypatch):
    for umask, mode in ((None, 0o600), ("022", 0o644)):
        if umask:
            monkeypatch.setenv(VARIABLE, umask)
        path = tmp_path / f"{mode}.db"
        with opened(path) as connection, connection.begin():
            connection.exec_driver_sql("create table beside (x)")
            names = [path.name, f"{path.name}-wal", f"{path.name}-shm"]
            assert [(tmp_path / name).stat().st_mode & 0o777 for name in names] == [mode] * 3


def test_a_database_that_is_there_keeps_its_mode(tmp_path, usual):
    path = tmp_path / "a.db"
    path.touch(0o664)
    path.chmod(0o664)
    connect(path).close()
    assert path.stat().st_mode & 0o777 == 0o664


def test_a_link_to_a_database_that_is_not_there_yet_creates_a_private_one(tmp_path, usual):
    (tmp_path / "there").mkdir()
    (tmp_path / "a.db").symlink_to(tmp_path / "there" / "b.db")
    with closing(connect(tmp_path / "a.db")):
        assert (tmp_path / "there" / "b.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["8", "0788", "abc", "-1", "0o", "700", "0100", "1000", "0x1f", "2 7"])
def test_what_is_no_umask_is_told_by_every_command_before_it_creates_anything(tmp_path, monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(SettingsError, match=r"SOCIALCRAWL_UMASK is .*, which is not a umask: write up to three octal"):
        read_umask()
    with pytest.raises(SettingsError, match="not a umask"):
        connect(tmp_path / "a.db")
    if text == "8":
        command = [*COMMAND, "init", "a.toml"]
        child = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (child.returncode, "SOCIALCRAWL_UMASK is '8'" in child.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "umask"),
    [("", 0o077), ("27", 0o027), ("027", 0o027), ("0027", 0o027), ("0o27", 0o027), (" 7 ", 7), ("0", 0)],
)
def test_a_umask_is_written_as_for_the_shell(monkeypatch, text, umask):
    monkeypatch.setenv(VARIABLE, text)
    assert read_umask() == umask


def test_importing_the_package_changes_nothing_in_the_program_that_imports_it(usual):
    code = "import os, socialcrawl.cli.main, socialcrawl.storage.database.connection; print(os.umask(0))"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(child.stdout) == USUAL
