"""The list of old and new names: what it names as new is there, or was removed, or is renamed further down."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("socialcrawl", "tests", "examples", "benchmarks")
TEXT = (ROOT / "docs/development/renames.md").read_text("utf-8")


def read_rows(text):
    """The (old, new) cells of each row of the tables, in order."""
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return [(old, new) for old, new in cells]


def list_names():
    """Every name in the code of the source, and the parts of every path in it."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = {part for path in files for part in path.relative_to(ROOT).with_suffix("").parts}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            found |= {getattr(node, field, None) for field in ("id", "attr", "name", "asname", "arg")}
    return found


def is_path(name):
    return "/" in name or name.endswith((".py", ".md"))


def is_file(name):
    """Whether a file or a folder of the repository has this path, or one that ends in it."""
    return any((ROOT / place / name).exists() for place in ("", "socialcrawl", "tests", "socialcrawl/crawls"))


def find_absent(rows, names):
    """The new names of (old, new) cells that are not there, are not said to be removed, and are not renamed later."""
    absent = []
    for number, (_, new) in enumerate(rows):
        later = " ".join(old for old, _ in rows[number + 1 :])
        for name in re.findall(r"`([^`]+)`", new):
            last = re.findall(r"\w+", name.removesuffix(".py"))[-1]
            there = is_file(name) if is_path(name) else last in names
            if not there and not re.search(rf"\b{last}\b", later):
                absent.append(name)
    return absent


def test_a_new_name_that_is_nowhere_is_found():
    rows = read_rows(
        "| before | now |\n|---|---|\n| `a` of `b.c` | `walk`, `absent.gone` |\n| `d` | removed |\n"
        "| `e.py`, `f.py` | `lost/e.py`, `engine/clock.py` |\n| `g` | `passing` |\n| `passing` | `tests/unit/` |"
    )
    assert find_absent(rows, {"walk"}) == ["absent.gone", "lost/e.py"]


def test_each_new_name_is_there_or_renamed_later():
    rows = read_rows(TEXT)
    assert len(rows) > 1_000
    assert not find_absent(rows, list_names())
