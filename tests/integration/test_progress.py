"""Long commands say on a terminal how far they have come, and nowhere else."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from commands import COMMAND, ENVIRONMENT, demo_with_seeds
from exported_towns import NOW, a_town

from socialcrawl.cli.commands import backup as keeping
from socialcrawl.crawls.text_models.cross_validation import cross_validate, make_examples
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.render import progress
from socialcrawl.render.progress import BYTES, MANY, show_progress

ERASED = "\x1b[2K"  # a line is


class Terminal:
    """A terminal of 100 columns whose screen is kept as it was written."""

    def __init__(self):
        self._ours, theirs = pty.openpty()
        os.set_inheritable(theirs, True)
        import fcntl
        import struct
        import termios

        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.file = os.fdopen(theirs, "w", encoding="utf-8")
        self._parts = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self):
        try:
            while some := os.read(self._ours, 65_536):
                self._parts.append(some)
        except OSError:  # the other end is closed
            pass

    def written(self):
        """Everything that was written, once nobody writes any more."""
        self.file.close()
        self._reading.join()
        os.close(self._ours)
        return b"".join(self._parts).decode()


def on_a_terminal(*words, folder, **variables):
    """One command whose stderr is a terminal, and whose stdout is a pipe."""
    terminal = Terminal()
    env = {**ENVIRONMENT, "TERM": "xterm-256color", **variables}
    done = subprocess.run(
        [*COMMAND, *map(str, words)], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=terminal.file, check=False
    )
    return SimpleNamespace(code=done.returncode, stdout=done.stdout.decode(), stderr=terminal.written())


def left_over(written):
    """What a terminal still shows of what was written: lines that were erased are gone."""
    shown = [""]
    row = 0
    at = 0
    while at < len(written):
        if written.startswith("\x1b[", at):
            end = next(i for i in range(at + 2, len(written)) if written[i].isalpha())
            count, sign = written[at + 2 : end], written[end]
            if sign == "A":
                row = max(0, row - int(count or 1))
            elif sign == "K":
                shown[row] = ""
            at = end + 1
            continue
        if written[at] == "\n":
            row += 1
            shown += [""] * (row + 1 - len(shown))
        elif written[at] == "\r":
            pass
        else:
            shown[row] += written[at]
        at += 1
    return [line.strip() for line in shown if line.strip()]


@pytest.fixture(scope="module")
def demo():
    return demo_with_seeds()


def test_a_line_is_shown_while_a_command_works_and_gone_when_it_ends(demo, tmp_path):
    done = on_a_terminal("export", demo.folder / "demo.db", "-o", tmp_path / "out", "--json", folder=tmp_path)
    assert done.code == 0
    assert json.loads(done.stdout)["files"], "stdout has the JSON and nothing else"
    assert "exporting" in done.stderr
    assert ERASED in done.stderr
    assert left_over(done.stderr) == []


def test_every_long_command_says_what_it_does(demo, tmp_path):
    database = demo.folder / "demo.db"
    done = on_a_terminal("backup", "--out", tmp_path / "copy.db", "--db", database, folder=tmp_path)
    assert (done.code, "copying" in done.stderr, left_over(done.stderr)) == (0, True, [])
    assert done.stdout.startswith("wrote ")
    own = ("--db", tmp_path / "copy.db")
    done = on_a_terminal("forget", "--user", "12", "--dry-run", "--json", *own, folder=tmp_path)
    assert (done.code, "counting what would be forgotten" in done.stderr, left_over(done.stderr)) == (0, True, [])
    done = on_a_terminal("retain", "90d", "--yes", "--json", *own, folder=tmp_path)
    assert (done.code, "forgetting" in done.stderr, left_over(done.stderr)) == (0, True, [])
    assert json.loads(done.stdout)["dry_run"] is False


def test_train_and_import_say_what_they_do(tmp_path):
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "on_topic"])
        rows.writerows([[f"{'storm rain' if i % 2 else 'cake tea'} number{i}", i % 2] for i in range(60)])
    done = on_a_terminal("train", "--out", "tree.json", "--labels", "labels.csv", "--json", folder=tmp_path)
    assert (done.code, "reading posts" in done.stderr, left_over(done.stderr)) == (0, True, [])
    (tmp_path / "posts.jsonl").write_text(
        json.dumps({"id": "1", "text": "storm", "author_id": "2", "created_at": "2026-01-01T00:00:00Z"}) + "\n"
    )
    done = on_a_terminal("import", "posts.jsonl", "--db", "new.db", folder=tmp_path)
    assert (done.code, "reading" in done.stderr) == (0, True)
    assert left_over(done.stderr) == ["1 post, 1 of them new, into new.db"]


def test_a_command_that_fails_leaves_only_its_message(demo, tmp_path):
    (tmp_path / "posts.jsonl").write_text("no JSON\n")
    done = on_a_terminal("import", "posts.jsonl", "--db", "new.db", folder=tmp_path)
    assert done.code != 0
    assert "reading" in done.stderr
    assert not [line for line in left_over(done.stderr) if "0:00:0" in line]


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1"}, {"TTY_COMPATIBLE": "1"}])
def test_nothing_is_shown_where_stderr_is_no_terminal(demo, tmp_path, variables):
    done = subprocess.run(
        [*COMMAND, "backup", "--out", str(tmp_path / "copy.db"), "--db", str(demo.folder / "demo.db")],
        env={**ENVIRONMENT, **variables},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""


@contextmanager
def stderr_of(monkeypatch):
    terminal = Terminal()
    with monkeypatch.context() as now:
        now.setenv("TERM", "xterm-256color")
        now.setattr(sys, "stderr", terminal.file)
        yield terminal


def test_counts_are_shown_with_their_unit_and_total(monkeypatch):
    with stderr_of(monkeypatch) as terminal, show_progress("reading", unit="posts") as watch:
        watch("storing", 12_000)
    assert "storing" in (text := terminal.written())
    assert "12,000 posts" in text
    with stderr_of(monkeypatch) as terminal, show_progress("testing", unit="folds") as watch:
        watch("testing", 2, 5)
    assert "2 of 5 folds" in terminal.written()


def test_what_is_counted_from_outside_is_looked_at_when_the_line_is_drawn(monkeypatch):
    with stderr_of(monkeypatch) as terminal, show_progress("copying", unit=BYTES, size=lambda: (1_500_000, 20_000_000)):
        pass
    assert "1.5 of 20.0 MB" in terminal.written()


def test_a_backup_counts_the_copy_that_grows_and_then_is_whole(tmp_path, monkeypatch):
    (tmp_path / "a.db").write_bytes(bytes(20_000_000))
    part, sizes, looks = tmp_path / "part", [], []

    @contextmanager
    def drawn(what, *, unit, size):
        looks.append(size)
        sizes.append(size())
        yield
        sizes.append(size())

    def backup(place, file, *, force, began):
        part.write_bytes(bytes(1_500_000))
        began(part)
        sizes.append(looks[0]())
        part.rename(file)

    monkeypatch.setattr(keeping, "show_progress", drawn)
    monkeypatch.setattr(keeping, "back_up", backup)
    keeping.copy(tmp_path / "a.db", tmp_path / "b.db", force=False, pause=False, as_json=False)
    assert sizes == [(0, 20_000_000), (1_500_000, 20_000_000), (20_000_000, 20_000_000)]


def test_names_are_neither_markup_nor_do_they_steer_the_terminal(monkeypatch):
    with stderr_of(monkeypatch) as terminal, show_progress("reading") as watch:
        watch("[bold]x[/] \x1b[2J {0}")
    assert "[bold]x[/] \\x1b[2J {0}" in (text := terminal.written())
    assert "\x1b[2J" not in text


def test_a_dumb_terminal_gets_nothing(monkeypatch):
    with stderr_of(monkeypatch) as terminal:
        monkeypatch.setenv("TERM", "dumb")
        with show_progress("reading") as watch:
            watch("storing", 5)
    assert terminal.written() == ""


def test_where_there_is_no_terminal_lines_come_by_what_was_counted(monkeypatch):
    monkeypatch.setattr(sys, "stderr", kept := io.StringIO())
    with show_progress("reading", unit="posts", lines=True) as watch:
        for done in (1, MANY - 1, MANY, MANY + 1, 2 * MANY + 7):
            watch("reading", done)
        watch("storing", 3 * MANY)
    assert kept.getvalue().splitlines() == [
        "reading: 100,000 posts",
        "reading: 200,007 posts",
        "storing: 300,000 posts",
    ]


def test_an_export_tells_what_it_writes_and_how_many_rows(tmp_path):
    told = []
    with a_town(tmp_path) as connection:
        wanted = ExportOptions(formats=("csv", "gexf"))
        sheet = export(connection, tmp_path / "out", wanted, NOW, lambda what, rows: told.append((what, rows)))
    counts = {file["name"]: file["rows"] for file in sheet["files"]}
    assert ("posts", counts["posts.csv"]) in told
    assert ("accounts", counts["accounts.csv"]) in told
    assert ("network", 0) in told


def test_training_tells_each_part_that_is_judged():
    given = [(f"{'storm rain' if i % 2 else 'cake tea'} number{i}", bool(i % 2)) for i in range(40)]
    told = []
    cross_validate(make_examples(given), folds=4, watch=told.append)
    assert told == [0, 1, 2, 3]


def test_the_line_is_drawn_at_most_ten_times_a_second():
    assert progress.DRAWN <= 10
