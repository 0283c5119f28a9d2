"""`socialcrawl verify`: what was proved, what cannot be and why, and what differs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from socialcrawl.errors import StoreError
from socialcrawl.render.console import Text
from socialcrawl.render.progress import show_progress
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.filetypes import describe_no_export
from socialcrawl.storage.database.snapshot import open_snapshot
from socialcrawl.text.terminal import write_json
from socialcrawl.verify.exported import verify_export
from socialcrawl.verify.findings import Check, CheckResults, ValueDifference
from socialcrawl.verify.verification import verify

AGREES, DIFFERS = 0, 1
DECIDED = ("picks", "scores and features")  # checks that run estimators and strategies again
CHANGED = (
    "Picks or scores differ, and the campaign uses an estimator or strategy that is not built in. Compare its code "
    "with that of the run: a changed one cannot repeat its decisions."
)


def prove(place: DatabaseAddress, campaign: str | None, console: Console, *, as_json: bool) -> int:
    """Verify a database or an export, show the result, and return the exit code: 1 if something differs.

    Args:
        place: the database, or the folder of an export.
        campaign: the name of one; None: all of them.
        console: where people read it.
        as_json: one JSON object to stdout instead.

    Raises:
        StoreError: the database or export cannot be read, or has no such campaign.
    """
    with show_progress("reading", unit="decisions") as watch:
        if isinstance(place, Path) and place.is_dir():
            if (wrong := describe_no_export(place)) is not None:
                raise StoreError(wrong)
            found = list(verify_export(place, campaign, watch))
        else:
            with open_snapshot(place) as connection:
                found = list(verify(connection, campaign, watch))
    if as_json:
        write_json(json.dumps(build_object(found), ensure_ascii=False))
    else:
        show(console, found)
    return DIFFERS if any(one.differing for one in found) else AGREES


def build_object(found: Sequence[CheckResults]) -> dict[str, Any]:
    """Return what was found as values of JSON; what is no number there is a text."""
    parts = [
        {
            "campaign": one.campaign,
            "about": one.about,
            "checks": [_check(check) for check in one.checks],
            "missing": list(one.missing),
        }
        for one in found
    ]
    return {"agrees": not any(one.differing for one in found), "verified": parts}


def _check(check: Check) -> dict[str, Any]:
    values = asdict(check)
    values["unproved"] = dict(check.unproved)
    values["differences"] = [{name: _make_plain(value) for name, value in one.items()} for one in values["differences"]]
    return values


def _make_plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) or (isinstance(value, float) and not isfinite(value)) else value


def show(console: Console, found: Sequence[CheckResults]) -> None:
    """Show what was found: a table for each campaign, reasons, differences, and the verdict."""
    for one in found:
        title = f"{one.campaign} ({one.about})" if one.campaign is not None else one.about
        console.print(Text(title), soft_wrap=True)
        console.print(_make_table(one))
        console.print(Text("\n".join(_list_lines(one))), soft_wrap=True)
    differing = sum(one.differing for one in found)
    if differing:
        console.print(f"{differing:,} {'value differs' if differing == 1 else 'values differ'}.")
        added = [check for one in found if one.runs_added for check in one.checks]
        if any(check.differing and check.name in DECIDED for check in added):
            console.print(Text(CHANGED), soft_wrap=True)
    else:
        console.print("Everything that can be checked agrees.")
    for one in found:
        for why in one.missing:
            left = [f"{check.unproved[why]:,} {check.name}" for check in one.checks if check.unproved[why]]
            counts = f" ({', '.join(left)})" if left else ""
            console.print(
                Text(f"What is on topic in {one.campaign} could not be checked{counts}: {why}"), soft_wrap=True
            )


def _make_table(one: CheckResults) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("check")
    for name in ("proved", "not provable", "differ"):
        table.add_column(name, justify="right")
    for check in one.checks:
        counts = (check.proved, check.unproved.total(), check.differing)
        table.add_row(check.name, *(f"{count:,}" for count in counts))
    return table


def _list_lines(one: CheckResults) -> Iterator[str]:
    """Yield why some of it cannot be proved, and what differs; an empty line at the end."""
    reasons: dict[str, list[str]] = {}
    for check in one.checks:
        for why, items in check.unproved.items():
            reasons.setdefault(why, []).append(f"{items:,} {check.name}")
    for why, counts in reasons.items():
        yield f"not provable: {', '.join(counts)}: {why}"
    for check in one.checks:
        yield from (f"differs: {_format_count(difference)}" for difference in check.differences)
        if more := check.differing - len(check.differences):
            yield f"differs: {more:,} more of {check.name}"
    yield ""


def _format_count(one: ValueDifference) -> str:
    return f"{one.place}, {one.column}: stored {_format_value(one.stored)}, recomputed {_format_value(one.recomputed)}"


def _format_value(value: Any) -> str:
    if value is None or (isinstance(value, float) and isnan(value)):
        return "nothing"
    return repr(float(value)) if isinstance(value, float) else str(value)  # those of NumPy name their type
