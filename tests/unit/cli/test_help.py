"""What `--help` and completion show: panels, short summaries, short options and choices, on every command."""

import importlib
import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from typer.main import get_command

from socialcrawl.campaign.settings import BUILT_IN
from socialcrawl.cli import main
from socialcrawl.cli.choices import list_choices
from socialcrawl.cli.main import app
from socialcrawl.cli.old_spellings import replace_old_names
from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.exporters import partitioned
from socialcrawl.platforms import facts
from socialcrawl.render.console import Text, make_console
from socialcrawl.system import plugins

ROOT = get_command(app)
PANELS = {
    "Start": "demo init check quote doctor plugins",
    "Run": "run daemon status pause resume stop",
    "Look": "report explain audit verify search sql explore ui",
    "Data": "import export backup label train order forget retain compliance",
    "Laboratory": "simulate mock lab",
}
PAPERS = ("gouriten", "kumar", "opic", "liverank", "sampling")


def walk(group=ROOT, path=()):
    """Every command that does something, by its words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(walk())


def ask(*words, **variables):
    """What a command line writes, and its exit code; 1 for an error that `main` would write."""
    out, errors, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(errors), patch.dict(os.environ, variables):
        try:
            ROOT.main([*words], prog_name="socialcrawl")
        except SystemExit as ending:
            code = ending.code
        except SocialcrawlError:
            code = 1
    return SimpleNamespace(stdout=out.getvalue(), stderr=errors.getvalue(), exit_code=code)


def find_option(words, flag):
    return next(option for option in COMMANDS[tuple(words.split())].params if flag in option.opts)


def test_help_lists_each_command_once_in_the_panel_of_its_use():
    shown, panel = {}, None
    for line in ask("--help").stdout.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            panel = line.removesuffix(":")
        elif panel and line.startswith("  ") and line[2].isalpha():
            shown.setdefault(panel, []).append(line.split()[0])
    assert shown == {panel: names.split() for panel, names in PANELS.items()}


def test_summaries_have_six_words_at_most_and_are_sentences_that_fit():
    groups = [ROOT, *(one for one in ROOT.commands["lab"].commands.values() if hasattr(one, "commands"))]
    listed = [one for group in groups if group.name not in PAPERS for one in group.commands.values()]
    assert len(listed) > 30
    for command in [*listed, *ROOT.commands["lab"].commands.values()]:
        first = command.help.split("\n\n")[0]
        assert first.endswith("."), command.name
        assert len(first.split()) <= 6, first
        assert command.get_short_help_str(limit=64).rstrip(".") == first.rstrip("."), "none is cut"


@pytest.mark.parametrize("words", [(), ("lab",), *COMMANDS], ids=" ".join)
def test_each_command_takes_h(words):
    short, long = ask(*words, "-h"), ask(*words, "--help")
    assert short.exit_code == 0
    assert short.stdout == long.stdout
    assert "-h, --help" in short.stdout


@pytest.mark.parametrize(
    ("short", "long"), [("-o", "--out"), ("-y", "--yes"), ("-q", "--quiet"), ("-v", "--verbose"), ("-h", "--help")]
)
def test_a_short_option_means_the_same_on_every_command_that_has_the_long_one(short, long):
    for words in COMMANDS:
        shown = ask(*words, "-h").stdout
        assert (f" {long}" in shown) == (f"{short}, {long}" in shown), words


def test_quiet_and_verbose_stand_before_and_after_the_name_of_a_command(monkeypatch):
    heard = []
    monkeypatch.setattr(main, "set_quiet", lambda *, quiet: heard.append(quiet))
    for words in (["-q", "verify", "absent.db"], ["verify", "-q", "absent.db"], ["verify", "absent.db"]):
        heard.clear()
        assert ask(*words).exit_code == 1
        assert heard[-1] == ("-q" in words)


@pytest.mark.parametrize(
    ("words", "flag", "where", "name"),
    [
        ("init", "--kind", None, None),
        ("init", "--platform", None, None),
        ("sql", "--format", "cli.commands.sql", "STYLES"),
        ("export", "--format", "exporters.export", "FORMATS"),
        ("import", "--as", "cli.commands.import_file", "KINDS"),
        ("daemon", "--log", "daemon.logs", "STYLES"),
        ("demo", "--vocabulary", "platforms.x.vocabulary", "VOCABULARIES"),
        ("forget", "--compliance", "storage.erasure.orders", "JOBS"),
        ("simulate", "--strategy", "crawls.collect.strategies", "STRATEGIES"),
        ("simulate", "--objective", "lab.simulation", "OBJECTIVES"),
        ("lab twitter-like", "--topic", "lab.generators.twitterlike", "TOPICS"),
    ],
)
def test_the_choices_that_help_shows_are_those_that_the_command_knows(words, flag, where, name):
    if where is None:
        known = BUILT_IN if flag == "--kind" else facts.BUILT_IN
    else:
        known = {*getattr(importlib.import_module(f"socialcrawl.{where}"), name)}
    if words == "export":
        known |= {partitioned.NAME}  # which is made by another function
    metavar = find_option(words, flag).metavar
    assert set(metavar.split("|")) == set(known)
    assert metavar in ask(*words.split(), "-h").stdout


def test_each_command_that_reports_takes_json():
    silent = {
        "init": "writes a file", "daemon": "has --log json", "pause": "acts", "resume": "acts", "stop": "acts",
        "explore": "serves pages", "label": "writes a file", "mock": "serves posts",
        "order": "writes files", "ui": "serves pages",
    }  # fmt: skip
    for words, command in COMMANDS.items():
        if len(words) == 1:
            flags = {flag for option in command.params for flag in option.opts}
            assert ("--json" in flags) != (words[0] in silent), words


@pytest.mark.parametrize("words", ["run", "quote"])
def test_a_command_that_lacks_its_campaign_file_names_those_of_the_folder(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "There is no campaign file in this folder: write one with `socialcrawl init`." in ask(words).stderr
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\n[topic]\nkeywords = ["tea"]\n', "utf-8")
    (tmp_path / "pyproject.toml").write_text("[project]\n", "utf-8")
    assert "Missing argument 'CAMPAIGN'. Name a campaign file. In this folder: a.toml, b.toml." in ask(words).stderr


class Entry:
    """An entry point, as an installed package has it."""

    name = "wander"


def complete(line, **variables):
    """What a shell offers after a line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - (not line.endswith(" ")))}
    given = ask(_SOCIALCRAWL_COMPLETE="complete_bash", **words, **variables)
    return given.stdout.split()


def test_shells_complete_commands_options_and_choices():
    assert complete("socialcrawl re") == ["resume", "report", "retain"]
    assert complete("socialcrawl run --ch") == ["--change"]
    assert complete("socialcrawl init --kind re") == ["refresh"]
    assert complete("socialcrawl sql --format ") == ["table", "csv", "tsv", "json", "ndjson"]
    assert complete("socialcrawl demo --estimator lnh-a") == ["lnh-avg"]


def test_the_script_for_a_shell_is_shown():
    script = ask(_SOCIALCRAWL_COMPLETE="source_bash").stdout
    assert "complete -o default -F _socialcrawl_completion socialcrawl" in script


def test_help_and_completion_know_the_kinds_that_another_package_adds(monkeypatch):
    monkeypatch.setattr(plugins, "_find_entries", lambda group: [Entry] if group == "socialcrawl.crawl_kinds" else [])
    metavar = find_option("init", "--kind").metavar.removesuffix("|wander")
    assert list_choices(metavar)[-1] == "wander"
    assert complete("socialcrawl init --kind w") == ["wander"]


def test_an_old_name_of_an_option_works_and_says_the_new_one():
    given = ask("--debug", "check", "absent.toml")
    assert "hint: --debug is now --verbose" in given.stderr
    assert "No such option" not in given.stderr


def test_no_colour_is_written_where_nobody_wants_it(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    for variable, coloured in ((None, True), ("1", False)):
        if variable:
            monkeypatch.setenv("NO_COLOR", variable)
        make_console().print(Text("red", "red"))
        assert ("\x1b[31m" in capsys.readouterr().out) == coloured


def test_the_old_and_the_new_name_of_an_option_are_refused_together():
    with pytest.raises(SettingsError, match="--campaign is now --db: remove one of the two"):
        replace_old_names(["import"], ["a.csv", "--campaign=a.toml", "--db", "x.db"])
    assert replace_old_names(["report"], ["--campaign", "a"]) == ["--campaign", "a"]
    assert replace_old_names(["sql"], ["--debug", "--", "--debug"]) == ["--verbose", "--", "--debug"]


def test_a_python_without_the_libraries_is_answered_with_a_sentence():
    hidden = "import runpy, sys; sys.modules['typer'] = None; runpy.run_module('socialcrawl', run_name='__main__')"
    found = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert found.stderr.startswith(f"typer is not installed for {sys.executable}: use the Python of the environment")
    assert "Traceback" not in found.stderr
