r"""Changes of single keys in a text in TOML: every other character stays, comments and ends of lines too.

    change_key('[budget]\nmax_money = 5  # dollars\n', "budget", "max_money", 20)

Each change is tried in several ways, the most readable first. What it makes is parsed, and it counts only if it says
what it should: that key has the new value, and all others have theirs.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from difflib import SequenceMatcher
from functools import partial
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Item

from socialcrawl.formats.documents import parse_toml

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
HEADER = re.compile(r"\s*(?:#\s*)?\[")  # those in comments too: what follows is about another section
MORE = re.compile(r"(?:\s{2,}|#\s{2,})#")  # a comment that goes on with that of the line before
FAILURES = (TOMLKitError, ValueError, TypeError, LookupError, AttributeError)
"""What a way of changing a text raises that is not possible in it."""


def change_key(text: str, section: str, key: str, value: Any) -> str:
    """Return a text in TOML in which a key has another value.

    Args:
        text: it may have any ends of lines; new lines end as the line before them.
        section: the table in which the key is; "": it is above all tables.
        key: the key. A new one is written below the comment that shows it (`# key = ...`), or at the end of its table.
        value: texts, numbers, True and False, dates, lists, and dicts of these; None: the key is removed.

    Raises:
        ValueError: none of the ways works in this text, or it is no TOML.
    """
    lines: list[str] = LINE.findall(text)
    plain = [re.sub(r"(\r\n|\r)$", "\n", line) for line in lines]
    made = LINE.findall(_change_plain("".join(plain), section, key, value))
    same = _count_same(plain, made)
    same_end = _count_same(plain[same:][::-1], made[same:][::-1])
    old = lines[same : len(lines) - same_end] or lines[max(0, same - 1) : same]
    ends = [_find_end(line) or _find_end(lines[0]) or "\n" for line in old or ["\n"]]
    changed = [
        line.replace("\n", ends[min(place, len(ends) - 1)])
        for place, line in enumerate(made[same : len(made) - same_end])
    ]
    return "".join([*lines[:same], *changed, *lines[len(lines) - same_end :]])


def _count_same(some: Sequence[str], others: Sequence[str]) -> int:
    """Return how many lines are the same from the first on."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(some), len(others)))


def _find_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _change_plain(text: str, section: str, key: str, value: Any) -> str:
    wanted = deepcopy(parse_toml(text))
    table = wanted.setdefault(section, {}) if section else wanted
    if not isinstance(table, dict):
        raise ValueError(f"{section} is no table")  # noqa: TRY004 - what the caller is told of all texts
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
    for way in _list_ways(text, section, key, value):
        with suppress(*FAILURES):
            made = way()
            if _freeze(parse_toml(made)) == _freeze(wanted):
                return made
    raise ValueError("it cannot be changed in this text")


def _freeze(value: Any) -> Any:
    """Return what is equal for equal values of the same types only: 1, 1.0 and True are three."""
    if isinstance(value, Mapping):
        return {key: _freeze(one) for key, one in value.items()}
    return [_freeze(one) for one in value] if isinstance(value, list) else (type(value), value)


def _list_ways(text: str, section: str, key: str, value: Any) -> Iterator[Callable[[], str]]:
    """Yield functions that make the changed text, the most readable way first."""
    given = parse_toml(text)
    old = (given.get(section, {}) if section else given).get(key)
    if value is None:
        yield partial(_remove, text, section, key)
        return
    if old is None:
        yield from _list_insertions(text, section, key, value)
    if isinstance(old, list) and isinstance(value, list):
        yield partial(_change_list, text, section, key, value)
    yield partial(_replace, text, section, key, value)
    if old is not None:
        yield from _list_insertions(_remove(text, section, key), section, key, value)


def _list_insertions(text: str, section: str, key: str, value: Any) -> Iterator[Callable[[], str]]:
    """Yield functions that write a key that is not there yet, each in another place."""
    lines: list[str] = LINE.findall(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    line = f"{tomlkit.key(key).as_string()} = {_make_item(value).as_string()}\n"
    for place in _list_places(lines, section, key):
        yield partial("".join, [*lines[:place], line, *lines[place:]])
    if section:
        gap = ["\n"] if lines and lines[-1].strip() else []
        yield partial("".join, [*lines, *gap, f"[{tomlkit.key(section).as_string()}]\n", line])


def _list_places(lines: Sequence[str], section: str, key: str) -> Iterator[int]:
    """Yield places for a new line of a section: below the comment that shows the key, at the end, at the beginning."""
    begin = 0
    if section:
        own = re.compile(rf"""\s*\[\s*["']?{re.escape(section)}["']?\s*\]""")
        begin = next((place for place, line in enumerate(lines, 1) if own.match(line)), 0)
        if not begin:
            return
    end = next((place for place in range(begin, len(lines)) if HEADER.match(lines[place])), len(lines))
    shown = re.compile(rf"#\s*{re.escape(key)}\s*=")
    yield from (_skip_comment(lines, place) for place in range(begin, end) if shown.match(lines[place]))
    filled = [
        place for place in range(begin, end) if lines[place].strip() and not lines[place].lstrip().startswith("#")
    ]
    yield _skip_comment(lines, filled[-1]) if filled else begin
    yield begin


def _skip_comment(lines: Sequence[str], place: int) -> int:
    """Return the place below a line and the comments that go on with its comment."""
    return next((below for below in range(place + 1, len(lines)) if not MORE.match(lines[below])), len(lines))


def _open(text: str, section: str) -> tuple[tomlkit.TOMLDocument, Any]:
    document = tomlkit.parse(text)
    return document, document[section] if section else document


def _replace(text: str, section: str, key: str, value: Any) -> str:
    document, table = _open(text, section)
    table[key] = _make_item(value)
    return tomlkit.dumps(document)


def _remove(text: str, section: str, key: str) -> str:
    document, table = _open(text, section)
    table.remove(key)
    return tomlkit.dumps(document)


def _change_list(text: str, section: str, key: str, value: list[Any]) -> str:
    """Change what differs in a list: comments between its other values stay."""
    document, table = _open(text, section)
    array = table[key]
    if not isinstance(array, Array):
        raise TypeError("a list of tables")
    old, new = ([repr(_freeze(one)) for one in values] for values in (array.unwrap(), value))
    for _, begin, end, first, last in reversed(SequenceMatcher(None, old, new, autojunk=False).get_opcodes()):
        if old[begin:end] == new[first:last]:
            continue
        for place in reversed(range(begin, end)):
            del array[place]
        for number, one in enumerate(value[first:last]):
            array.insert(begin + number, _make_item(one))
    return tomlkit.dumps(document)


def _make_item(value: Any) -> Item:
    """Return a value as TOML writes it in one line."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, one in value.items():
            table.append(key, _make_item(one))
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for one in value:
            array.append(_make_item(one))
        return array
    made: Item = tomlkit.item(value)
    return made
