"""What strangers wrote steers no terminal: pseudo-terminals look on, and Unicode's own categories are the judge."""

import ast
import csv
import io
import json
import os
import pty
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import regex
from commands import COMMAND, ENVIRONMENT, socialcrawl
from rich.cells import cell_len
from rich.table import Table
from stores import opened
from tiny_town import Clock, Wire, close, parts_of, stored

from socialcrawl.engine.loop import run
from socialcrawl.render.console import Console, Text, make_console
from socialcrawl.text.terminal import escape_controls, escape_json

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\r\x00é\u202egnp\u2066"  # renames the window, clears, colours, reverses it
NAME = EVIL.replace("\x00", "")  # arguments hold no NUL
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x0d\x00é\u202egnp\u2066"
QUERY = "select char(27) || ']0;owned' || char(7) || char(27) || '[2J' || char(155) || '31m' || char(127) as evil"
SEEDS = json.dumps({"usernames": [NAME]})
EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))


def controls(text):
    """What could steer a terminal, by Unicode's categories."""
    steering = {char for char in text if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    return steering | set(regex.findall(r"\p{Bidi_Control}", text))


def on_a_terminal(*words, folder, **variables):
    """(the exit code, what a pseudo-terminal of 200 columns got on stdout and stderr) of one command."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**ENVIRONMENT, "TERM": "dumb", "COLUMNS": "200", **variables},
    )
    os.close(theirs)
    got = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not some:
            break
        got += some
    os.close(ours)
    return child.wait(60), got.decode().replace("\r\n", "\n")  # the terminal's own line ends


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with a small campaign, in whose database every name and text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    store = stored(folder / "a.db")
    run(parts_of(store, Wire(Clock())))
    close(store)
    with opened(folder / "a.db") as connection, connection.begin():
        connection.exec_driver_sql("update account set username = username || ?, name = ?", (EVIL, EVIL))
        connection.exec_driver_sql("update post set text = ?", (EVIL,))
        connection.exec_driver_sql("update campaign set identity = json_set(identity, '$.seeds', json(?))", (SEEDS,))
    return folder


def test_exactly_the_control_characters_and_halves_of_characters_are_escaped():
    kept = [char for char in EVERYTHING if escape_controls(char) == char]
    assert set(EVERYTHING) - set(kept) == controls(EVERYTHING)
    assert escape_controls(f"{EVIL}\n\t") == f"{SHOWN}\n\t"
    assert escape_controls("\udcff") == r"\udcff"
    assert escape_controls(SHOWN) == SHOWN


def test_escaped_json_holds_the_same_values_and_nothing_that_steers():
    value = {"text": EVERYTHING[:0xD801], EVIL: [EVIL, 1.5, None]}
    text = escape_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(text) == value
    assert not controls(text)


@pytest.mark.parametrize("style", ["table", "csv", "json"])
def test_a_query_on_a_terminal_shows_control_characters_and_sends_none(hostile, style):
    code, got = on_a_terminal("sql", "--db", "a.db", QUERY, "--format", style, folder=hostile)
    assert (code, controls(got)) == (0, set())
    if style == "json":
        assert json.loads(got) == [{"evil": "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f"}]
    else:
        assert r"\x1b]0;owned\x07\x1b[2J\x9b31m\x7f" in got


def test_a_pipe_gets_exact_data_and_an_escaped_table(hostile):
    exact = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f"
    told = {style: socialcrawl("sql", "--db", "a.db", QUERY, "--format", style, folder=hostile).stdout
            for style in ("table", "csv", "json")}  # fmt: skip
    assert list(csv.reader(io.StringIO(told["csv"]))) == [["evil"], [exact]]
    assert json.loads(told["json"]) == [{"evil": exact}]
    assert told["json"] == '[{"evil": "\\u001b]0;owned\\u0007\\u001b[2J\x9b31m\x7f"}]\n'
    assert controls(told["table"]) == set()
    assert r"\x1b]0;owned\x07" in told["table"]


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--db", "a.db", "--png", "a.png"),
        ("explain", "p3" + NAME, "--db", "a.db"),
        ("explain", "nobody" + NAME, "--db", "a.db"),
        ("sql", "--db", "a.db", "select username, name from account limit 3"),
        ("sql", "--db", "a.db", "select * from " + '"' + NAME + '"'),
        ("sql", "--db", NAME, "select 1"),
        ("check", NAME + ".toml"),
        ("--no-such\x1b]0;owned\x07",),
        (
            "forget",
            "--user",
            "p1" + NAME.partition("é")[0],
            "--db",
            "a.db",
            "--dry-run",
        ),  # in typer's words
    ],
    ids=lambda words: words[0].replace("\x1b", "ESC").replace("\x07", ""),
)
def test_whatever_a_command_shows_of_names_texts_and_files_steers_no_terminal(hostile, words):
    _, got = on_a_terminal(*words, folder=hostile)
    piped = socialcrawl(*words, folder=hostile)
    assert r"\x1b]0;" in got, "the name is shown; a column may fold the rest of it"
    assert "Traceback" not in got
    assert (controls(got), controls(piped.stdout + piped.stderr)) == (set(), set())


def test_the_names_of_campaign_files_of_a_folder_steer_no_terminal(tmp_path):
    (tmp_path / f"{NAME}.toml").write_text('name = "a"\n[topic]\nkeywords = ["tea"]\n', "utf-8")
    _, got = on_a_terminal("run", folder=tmp_path)
    assert "In this folder: " + r"\x1b]0;owned" in " ".join(got.split())
    assert controls(got + socialcrawl("run", folder=tmp_path).stderr) == set()


def test_what_cannot_be_encoded_ends_no_command(hostile):
    half = b"\xff".decode(errors="surrogateescape")
    assert r"There is no database \udcff.db" in socialcrawl("sql", "--db", f"{half}.db", "select 1").stderr
    child = socialcrawl("sql", "--db", hostile / "a.db", "select 'é' as c", PYTHONIOENCODING="ascii")
    assert (child.returncode, child.stdout) == (0, "c\n\\xe9\n")


def test_a_traceback_and_the_records_of_libraries_are_escaped_too(tmp_path):
    script = (
        "import logging, socialcrawl.text.terminal as terminal; terminal.guard()\n"
        "logging.getLogger('a.library').warning('it said %s', '\\x1b]0;owned\\x07')\n"
        "raise RuntimeError('\\x1b]0;owned\\x07')"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert child.returncode == 1
    assert child.stderr.count(r"\x1b]0;owned\x07") == 2
    assert (controls(child.stderr), "Traceback (most recent call last)" in child.stderr) == (set(), True)


def test_the_columns_of_a_table_stay_aligned_whatever_the_cells_hold():
    console = Console(file=io.StringIO(), width=160)
    table = Table(EVIL, "after")
    table.add_row(EVIL, "x")
    table.add_row(Text(EVIL * 2), "x")
    table.add_row("short", "x")
    console.print(table)
    lines = console.file.getvalue().splitlines()
    assert controls("".join(lines)) == set()
    assert {cell_len(line) for line in lines} == {cell_len(lines[0])}
    assert SHOWN * 2 in lines[4]


@pytest.mark.parametrize(
    ("terminal", "advice"), [(True, "widen the terminal"), (False, "set COLUMNS to a larger number")]
)
@pytest.mark.parametrize(("width", "shown"), [(26, 2), (33, 3), (60, 4)])
def test_a_narrow_terminal_shows_the_first_columns_in_full_and_names_the_others(width, shown, terminal, advice):
    names = ["account", "relevance", "posts", "read"]
    table = Table(box=None, pad_edge=False)
    table.add_column(names[0], overflow="fold")
    for name in names[1:]:
        table.add_column(name, no_wrap=True)
    table.add_row("@somebody_with_a_long_name", "4.61", "37", "100")
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
    console.print(table)
    first, *lines = console.file.getvalue().splitlines()
    assert first.split() == names[:shown]
    folded = "".join(line[: first.index("relevance")].strip() for line in lines)
    assert folded.startswith("@somebody_with_a_long_name")
    text = " ".join(" ".join(lines).split())
    assert text.partition("no room for: ")[2] == (f"{', '.join(names[shown:])} ({advice})" if shown < 4 else "")


def test_a_title_is_not_folded_to_the_width_of_its_table():
    table = Table(title="settings that differ from the last run", title_justify="left", box=None)
    table.add_column("setting")
    table.add_row("seed")
    console = Console(file=io.StringIO(), width=60)
    console.print(table)
    assert console.file.getvalue().splitlines()[0].rstrip() == "settings that differ from the last run"
    assert table.title == "settings that differ from the last run", "it can be printed again"


def test_a_query_keeps_all_of_its_columns_on_a_narrow_terminal():
    table = Table(*(f"column{i}" for i in range(9)), box=None)
    table.add_row(*"abcdefghi")
    console = Console(file=io.StringIO(), width=40, shows_all=True)
    console.print(table)
    assert all(letter in console.file.getvalue().splitlines()[-1] for letter in "abcdefghi")


def test_a_name_that_turns_the_order_around_leaves_the_cells_beside_it_alone(capsys):
    table = Table("name", "posts", box=None)
    table.add_row("ann\u202e\u200f\u2067", "12")
    make_console().print(table)
    assert capsys.readouterr().out.splitlines()[1].split() == [r"ann\u202e\u200f\u2067", "12"]


def test_control_codes_of_the_screen_itself_still_reach_the_terminal():
    console = Console(file=io.StringIO(), force_terminal=True, width=40, color_system="standard")
    console.show_cursor(show=False)
    console.print(Text("\x1b[2Jred", style="red"))
    assert console.file.getvalue() == "\x1b[?25l\x1b[31m\\x1b[2Jred\x1b[0m\n"


def test_what_is_printed_on_the_console_is_no_markup(capsys):
    make_console().print("[bold]:smile:\x1b[/bold]")
    assert capsys.readouterr().out == "[bold]:smile:\\x1b[/bold]\n"


def writes_itself(node):
    """What a node of a module names that writes to the screen past `console.plain` and `socialcrawl.text.terminal`."""
    if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr"):
        return ast.unparse(node)
    if isinstance(node, ast.ImportFrom):
        taken = {f"{node.module}.{alias.name}" for alias in node.names}
        return " ".join(
            taken & {"rich.text.Text", "rich.print", "typer.echo", "typer.secho", "sys.stdout", "sys.stderr"}
        )
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        shown_elsewhere = called in ("Live", "Progress") and "console" not in {word.arg for word in node.keywords}
        past = ("print", "pprint", "typer.echo", "typer.secho", "rich.print", "Console", "rich.console.Console")
        return called if called in past or shown_elsewhere else ""
    return ""


def test_no_module_of_the_commands_writes_to_the_screen_past_the_console():
    package = Path(__file__).parents[3] / "socialcrawl"
    found = [
        f"{path.name}: {name}"
        for folder in ("cli", "lab/experiments")
        for path in sorted((package / folder).rglob("*.py"))
        if path.name != "console.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (name := writes_itself(node))
    ]
    # The daemon's log escapes its lines itself: see test_daemon_logs.py. What plug-ins print goes to stderr as it is. A
    # demo asks whether a person reads it.
    assert found == ["daemon.py: sys.stderr", "demo.py: sys.stderr", "installed_plugins.py: sys.stderr"]
