"""The log file of a daemon: bounded, and for its owner only."""

import pytest

from socialcrawl.daemon.log_file import BoundedLogFile
from socialcrawl.errors import SettingsError


def test_a_log_file_keeps_its_latest_lines_within_its_bounds_and_others_cannot_read_it(tmp_path):
    path = tmp_path / "a.log"
    with BoundedLogFile(path, most=100) as log:
        for number in range(50):
            log.write(f"line {number:03}\n")
    older = tmp_path / "a.log.1"
    kept = (older.read_text("utf-8") + path.read_text("utf-8")).splitlines()
    assert kept == [f"line {number:03}" for number in range(50 - len(kept), 50)]
    for one in (path, older):
        assert 0 < one.stat().st_size <= 100
        assert one.stat().st_mode & 0o777 == 0o600


def test_a_log_file_is_continued_and_one_that_cannot_be_made_is_named(tmp_path):
    for word in ("one", "two"):
        with BoundedLogFile(tmp_path / "a.log") as log:
            log.write(f"{word}\n")
    assert (tmp_path / "a.log").read_text("utf-8") == "one\ntwo\n"
    with pytest.raises(SettingsError, match=r"none/a.log cannot be written"):
        BoundedLogFile(tmp_path / "none/a.log")
