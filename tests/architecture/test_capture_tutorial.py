"""The tutorial of captures: its commands run in order on the mock that it starts, and print what it shows."""

import re
from pathlib import Path

import numpy as np
import pytest
from commands import socialcrawl
from matplotlib.image import imread
from test_docs_commands import ROOT, list_shown_commands

from socialcrawl.lab.generators.generate import MOCK_USERS, generate, write
from socialcrawl.mock.child_process import spawn

PAGE = ROOT / "docs/tutorial/capture.md"
FAST = "\n[limits]\nk = 10000\nd = 1.0\n"  # X allows one search of its archive per second


def edit(file, changes):
    """Change the lines of a campaign file that the page shows, those in comments too."""
    text = file.read_text("utf-8")
    for line in changes.splitlines():
        key = line.split(" = ")[0]
        text, found = re.subn(rf"^(?:# )?{key} = \S+", lambda _, line=line: line, text, flags=re.MULTILINE)
        assert found == 1, line
    file.write_text(text, "utf-8")


def follow(page, folder, url):
    """Do what the page says in a folder; yield each text that it shows, and what the commands before it printed."""
    printed = ""
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        if language == "sh":
            commands = [words for words in list_shown_commands(f"```sh\n{block}```\n") if words[0] != "mock"]
            printed = printed if not commands else ""
            for words in commands:
                child = socialcrawl(*words, folder=folder, COLUMNS="100")
                assert child.returncode == (3 if "\nstopped: the budget" in child.stdout else 0), child.stderr
                printed += child.stdout
        elif language == "toml" and block.startswith("name = "):
            (folder / "live.toml").write_text(block, "utf-8")
        elif language == "toml":
            edit(folder / "sky.toml", re.sub(r"^base_url = .*$", f'base_url = "{url}"', block, flags=re.MULTILINE))
            text = (folder / "sky.toml").read_text("utf-8")
            text = re.sub(r"^\[limits\][^\[]*?(?=^pause)", FAST, text, flags=re.MULTILINE)
            (folder / "sky.toml").write_text(text, "utf-8")
        else:
            yield block, printed


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The folder after all commands of the page, and what it shows beside what was printed."""
    folder = tmp_path_factory.mktemp("tutorial")
    posts = folder.parent / "posts-of-the-mock.parquet"
    write(posts, generate(MOCK_USERS, 1))  # those of `socialcrawl mock`
    with spawn(posts, "--platform", "x", "--window", "1", "--per-window", "10000") as mock:
        return folder, list(follow(PAGE.read_text("utf-8"), folder, mock.url))


def test_its_commands_print_what_it_shows(followed):
    _, shown = followed
    assert len(shown) == 8
    for text, printed in shown:
        lines = [" ".join(line.split()) for line in printed.splitlines()]
        place = 0
        for line in filter(None, (" ".join(line.split()) for line in text.splitlines())):
            assert line in lines[place:], (line, printed)
            place += lines[place:].index(line) + 1


def test_it_ends_with_the_picture_that_it_shows_and_with_an_export(followed):
    folder, _ = followed
    drawn, shown = (imread(path) for path in (folder / "days.png", ROOT / "docs/figures/capture-days.png"))
    assert drawn.shape == shown.shape
    assert np.abs(drawn - shown).mean() < 0.02
    assert {path.name for path in (folder / "ids").iterdir()} >= {"post_ids.txt", "datasheet.md"}
    assert Path(folder / "sky.html").stat().st_size > 5_000
