"""What is to be forgotten, as a person or a platform says it: options, files of ids, batch-compliance results of X."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import explain_unreadable, read_lines
from socialcrawl.platforms.facts import list_id_starts

WHY = "forget"
GEO = "scrub_geo"  # only the places of posts are to go, not the posts
JOBS = ("users", "posts")
NAME = re.compile(r"[\w.@-]+")  # x: bob; others: bob.example.org, bob@example.org


@dataclass(slots=True)
class ErasureOrder:
    """What is to be forgotten, each with why: `forget`, or `compliance:` and the platform's reason.

    Attributes:
        users: by the platform's id.
        names: by username, in lower case.
        posts: by id.
        places: (user | post, id) whose places alone have to go.
        passed: lines of a compliance file that ask for nothing.
    """

    users: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    posts: dict[str, str] = field(default_factory=dict)
    places: set[tuple[str, str]] = field(default_factory=set)
    passed: int = 0

    def add_user(self, given: str) -> None:
        """Add a user: `@name`, a name, or an id: digits (a name of digits is written with its @), a DID, an address."""
        text = given.strip()
        name = text.removeprefix("@")
        if text.isdecimal() or name.lower().startswith(list_id_starts()):
            self.users[name] = WHY
        elif NAME.fullmatch(name):
            self.names[name.lower()] = WHY
        else:
            raise SettingsError(f"{given!r} is not a user: give an id, or a username as @name.")

    def add_post(self, given: str) -> None:
        """Add a post by its id."""
        key = given.strip()
        if not key or key.split() != [key]:
            raise SettingsError(f"{given!r} is not an id of a post.")
        self.posts[key] = WHY


def read_order(users: Sequence[str], posts: Sequence[str], file: Path | None, compliance: str | None) -> ErasureOrder:
    """Return the order that the options of `socialcrawl forget` give.

    Args:
        users: ids or names.
        posts: ids.
        file: lines `user:ID`, `post:ID`, `@name`, or the result of a compliance job.
        compliance: users | posts: what the ids in a result are; None where the file is no such result.

    Raises:
        SettingsError: something cannot be understood, or nothing is named; the message names the line.
    """
    order = ErasureOrder()
    for given in users:
        order.add_user(given)
    for given in posts:
        order.add_post(given)
    if compliance is not None and compliance not in JOBS:
        raise SettingsError(f"--compliance is users or posts, the kind of the job, not {compliance!r}.")
    if file is not None:
        _read_file(order, file, compliance)
    elif compliance is not None:
        raise SettingsError("--compliance says what a file holds: name it with --from-file.")
    elif not (users or posts):
        raise SettingsError("Nothing is named to be forgotten: give --user, --post or --from-file.")
    return order


def read_result(body: bytes, kind: str) -> ErasureOrder:
    """Return the order that the result of a compliance job gives: JSON lines.

    Args:
        body: the result, UTF-8.
        kind: users | posts: what its ids are.

    Raises:
        SettingsError: a line cannot be understood; the message has its number and nothing of it.
    """
    order = ErasureOrder()
    for number, line in enumerate(body.split(b"\n"), 1):
        if text := line.strip():
            try:
                _add_result(order, text.decode("utf-8", "replace"), kind)
            except SettingsError as error:
                raise SettingsError(f"line {number} of the result: {error}") from error
    return order


def _read_file(order: ErasureOrder, file: Path, compliance: str | None) -> None:
    try:
        _read_orders(order, file, compliance)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{explain_unreadable(file, error)}: name a text with one user or post per line."
        ) from error


def _read_orders(order: ErasureOrder, file: Path, compliance: str | None) -> None:
    for number, line in enumerate(read_lines(file), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            if text.startswith("{"):
                _add_result(order, text, compliance)
            else:
                _add_line(order, text)
        except SettingsError as error:
            raise SettingsError(f"{file}, line {number}: {error}") from error


def _add_line(order: ErasureOrder, text: str) -> None:
    kind, mark, key = text.partition(":")
    if text.startswith("@"):
        order.add_user(text)
    elif mark and kind == "user":
        order.add_user(key)
    elif mark and kind == "post":
        order.add_post(key)
    else:
        raise SettingsError(f"{text[:40]!r} is not understood: write user:ID, post:ID or @name.")


def _add_result(order: ErasureOrder, text: str, compliance: str | None) -> None:
    if compliance is None:
        raise SettingsError("this is the result of a compliance job: say of which with --compliance users or posts.")
    try:
        record: Any = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SettingsError(f"no JSON ({error}).") from error
    if not isinstance(record, dict):
        raise SettingsError("this is not a JSON object.")
    key, reason = record.get("id"), record.get("reason") or "unknown"
    if not isinstance(key, str | int) or not isinstance(reason, str) or not str(key).isdecimal():
        raise SettingsError("a result has an id and a reason.")
    if record.get("action") != "delete":
        order.passed += 1  # the platform asks for nothing that a store could do
    elif reason == GEO:
        order.places.add((compliance.removesuffix("s"), str(key)))
    else:
        (order.users if compliance == "users" else order.posts)[str(key)] = f"compliance:{reason}"
