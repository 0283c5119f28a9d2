"""Locks on files: beside those of earlier versions, of processes that are killed, and where Windows differs."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from socialcrawl.errors import HeldError
from socialcrawl.system import locks
from socialcrawl.system.locks import Lock, lock_file

# As versions before this one took a lock: flock on the file itself, and the process id as its text.
FORMER = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("busy", flush=True)
else:
    os.ftruncate(file, 0)
    os.pwrite(file, str(os.getpid()).encode(), 0)
    print("held", flush=True)
    sys.stdin.read()
"""
needs_flock = pytest.mark.skipif(os.name != "posix", reason="earlier versions locked nothing on Windows")


@contextmanager
def former_version(path):
    words = [sys.executable, "-c", FORMER, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child, child.stdout.readline().strip()
        finally:
            child.kill()


@needs_flock
def test_a_lock_of_an_earlier_version_keeps_us_out_names_its_process_and_ends_with_it(tmp_path):
    path = tmp_path / "a.lock"
    with former_version(path) as (child, said):
        assert said == "held"
        with pytest.raises(HeldError, match=rf"^Busy\. It is already running, pid {child.pid}\.$"):
            Lock(path, "Busy.")
    assert path.exists(), "it was killed"
    Lock(path, "Busy.").release()
    assert not path.exists()


@needs_flock
def test_our_lock_keeps_an_earlier_version_out_and_has_our_process_id(tmp_path):
    mine = Lock(tmp_path / "a.lock", "Busy.")
    assert (tmp_path / "a.lock").read_text() == str(os.getpid())
    with former_version(tmp_path / "a.lock") as (_, said):
        assert said == "busy"
    mine.release()
    with former_version(tmp_path / "a.lock") as (_, said):
        assert said == "held"


@needs_flock
def test_a_file_that_its_holder_removes_while_we_take_it_is_made_anew(tmp_path, monkeypatch):
    path, open_file, removed = tmp_path / "a.lock", os.open, []

    def opened(name, *more):
        file = open_file(name, *more)
        if not removed:
            removed.append(Path(name))
            path.unlink()
        return file

    monkeypatch.setattr(locks.os, "open", opened)
    mine = Lock(path, "Busy.")
    assert removed == [path]
    with pytest.raises(HeldError, match="Busy"):
        Lock(path, "Busy.")
    mine.release()


def test_a_file_is_read_and_written_by_one_at_a_time(tmp_path):
    path = tmp_path / "count"
    script = """
import sys; from pathlib import Path; from socialcrawl.system.locks import lock_file
for _ in range(20):
    with lock_file(Path(sys.argv[1])) as file:
        number = int(file.read() or b"0") + 1
        file.seek(0)
        file.write(b"%d" % number)
"""
    children = [subprocess.Popen([sys.executable, "-c", script, str(path)]) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert path.read_bytes() == b"60"


@needs_flock
def test_a_file_that_is_locked_is_waited_for(tmp_path):
    with former_version(tmp_path / "key") as (child, said):
        assert said == "held"
        child.stdin.close()  # it ends
        with lock_file(tmp_path / "key") as file:
            assert file.read() == str(child.pid).encode()


def test_where_others_cannot_read_the_first_byte_the_process_id_follows_it(tmp_path, monkeypatch):
    """As on Windows, where the byte that is locked can be read by nobody else."""
    monkeypatch.setattr(locks, "WINDOWS", True)
    mine = Lock(tmp_path / "a.lock", "Busy.")
    assert (tmp_path / "a.lock").read_bytes()[1:] == str(os.getpid()).encode()
    with pytest.raises(HeldError, match=rf"pid {os.getpid()}\."):
        Lock(tmp_path / "a.lock", "Busy.")
    mine.release()
    assert not (tmp_path / "a.lock").exists()


def test_where_a_file_that_somebody_opens_cannot_be_removed_it_stays_and_is_free(tmp_path, monkeypatch):
    def in_use(path, *, missing_ok=False):
        raise PermissionError

    monkeypatch.setattr(locks, "WINDOWS", True)
    mine = Lock(tmp_path / "a.lock", "Busy.")
    with monkeypatch.context() as held:
        held.setattr(Path, "unlink", in_use)
        mine.release()
    assert (tmp_path / "a.lock").exists()
    Lock(tmp_path / "a.lock", "Busy.").release()
