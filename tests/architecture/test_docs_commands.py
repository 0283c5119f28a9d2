"""Commands that the documents show exist with the options and choices that they show; the first pages' commands run."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import typer
from matplotlib.image import imread

from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "deploy").glob("*.md"))]
OLD = {"CHANGELOG.md", "renames.md"}  # they tell of earlier spellings
TUTORIAL = ROOT / "docs/tutorial/first-network.md"


def list_shown_commands(text):
    """Yield the words after `socialcrawl` of each command in the shell blocks of a page."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        lines = block.replace("\\\n", " ").splitlines() if language in ("", "sh", "console", "bash") else []
        while lines:
            line = lines.pop(0)
            while line.count('"') % 2 and lines:  # a text of several lines
                line += f" {lines.pop(0)}"
            words = shlex.split(line, comments=True) if re.match(r"(\.venv/bin/)?socialcrawl ", line) else []
            ends = [place for place, word in enumerate(words) if word in ("|", "||", "&&", "&", ">", ";")]
            if words:
                yield words[1 : ends[0] if ends else None]


@cache
def load_commands():
    """Return the command line as typer builds it."""
    return typer.main.get_command(app)


def check_command(words):
    """Return what the command line says against these words, or None; values are not looked at."""
    command = load_commands()
    context = typer.Context(command, info_name="socialcrawl")
    try:
        while hasattr(command, "commands") and not words[0].startswith("-"):
            name, command, words = command.resolve_command(context, words)
            context = typer.Context(command, info_name=name, parent=context)
        command.make_parser(context).parse_args(list(words))
    except Exception as error:  # noqa: BLE001  (typer's own copy of click's errors has no public name)
        return str(error)
    return None


def test_a_command_and_an_option_that_are_not_there_are_found():
    shown = list(
        list_shown_commands("```sh\nsocialcrawl rn a.toml # x\n.venv/bin/socialcrawl run a.toml --yess | cat\n```\n")
    )
    assert shown == [["rn", "a.toml"], ["run", "a.toml", "--yess"]]
    assert all(check_command(words) for words in shown)
    assert check_command(["run", "a.toml", "--yes"]) is None


def test_the_documents_show_commands_and_options_that_are_there():
    shown = [
        (page.name, words)
        for page in PAGES
        if page.name not in OLD
        for words in list_shown_commands(page.read_text("utf-8"))
    ]
    assert len(shown) > 50
    assert not [(name, words, fault) for name, words in shown if (fault := check_command(words))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the tutorial's commands were run; the demo is a small one, the others are as they are shown."""
    here = tmp_path_factory.mktemp("tutorial")
    for words in list_shown_commands(TUTORIAL.read_text("utf-8")):
        if words[0] in ("quote", "run") or "sky.db" in words:
            continue  # Bluesky's part needs Bluesky
        less = ["--steps", "60", "--per-window", "3000"] if words[0] == "demo" else []
        done = subprocess.run(
            [sys.executable, "-m", "socialcrawl", *words, *less], cwd=here, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    return here


def test_the_tutorial_leads_from_an_empty_folder_to_a_picture_of_a_network(folder):
    (program,) = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL)
    pictures = []
    for seed in ("1", "2"):
        environment = os.environ | {"MPLBACKEND": "agg", "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, env=environment)
        pictures.append(imread(folder / "network.png"))
    assert pictures[0].std() > 0.05, "it is not blank"
    assert np.array_equal(*pictures), "the order of a hashed set decides nothing"


def test_the_tutorials_seeds_make_a_campaign_file_that_is_right(folder):
    (seeds,) = re.findall(r"```toml\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL)
    (line,) = [line for line in seeds.splitlines() if line.startswith("usernames")]
    text = (folder / "sky.toml").read_text("utf-8")
    written = re.sub(r"^usernames = .*$", line, text, count=1, flags=re.MULTILINE)
    assert written != text
    settings = check_settings(tomllib.loads(written), "sky.toml")
    assert settings.seeds.usernames == ["astronomer.example.org", "stargazers.example.org"]


def test_the_readme_and_the_tutorial_show_what_the_quote_of_a_new_file_says(folder):
    done = subprocess.run(
        [sys.executable, "-m", "socialcrawl", "quote", "sky.toml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    probable = done.stdout.partition("Probably")[2]
    requests, took = re.search(r"^total +(\d+) +(\d+ \w+)", probable, re.MULTILINE).groups()
    readme = (ROOT / "README.md").read_text("utf-8")
    assert re.search(r"^socialcrawl quote sky.toml .*# .*: probably (.*)$", readme, re.MULTILINE)[1] == (
        f"{requests} requests, {took}"
    )
    (shown,) = re.findall(r"```text\nProbably\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL)
    table = probable.strip().partition("\n\n")[0]
    assert [line.split() for line in shown.splitlines()] == [line.split() for line in table.splitlines()]


def test_the_readme_says_what_init_writes_and_fits_on_a_screen_and_a_half(tmp_path):
    readme = (ROOT / "README.md").read_text("utf-8")
    words = ["init", "astronomy.toml", "--keyword", "telescope"]
    subprocess.run([sys.executable, "-m", "socialcrawl", *words], cwd=tmp_path, check=True)
    written = tomllib.loads((tmp_path / "astronomy.toml").read_text("utf-8"))
    assert f"max_money in this file: {written['budget']['max_money']:.2f} dollars" in readme
    assert readme.count("\n") <= 90
