"""Files of tests of life that were made elsewhere: columns id or username, active, last_active_at, status, checked_at.

`active` may be left out where `status` says that the account is not there, or `last_active_at` when it last acted: then
the rule of the campaign decides. Without `checked_at` the test was made when it is imported. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from socialcrawl.engine.model import Reason, Who, format_time
from socialcrawl.errors import PostsFileError
from socialcrawl.formats.column_tables import Cell, open_table
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.liveness import Activity, parse_latest
from socialcrawl.importers.account_cells import CellAccounts
from socialcrawl.importers.dataset_files import IDS, NAMES
from socialcrawl.storage.imports.probes import ProbeResult

ACTIVE, LAST, STATUS, CHECKED = "active", "last_active_at", "status", "checked_at"
PLACE = "place"
HEAD = (PLACE, "id", "username", ACTIVE, LAST, STATUS, CHECKED)
"""The columns of our own lists (`socialcrawl order`); the last four are for what is found."""
WORDS = {*IDS, *NAMES, ACTIVE, LAST, STATUS, CHECKED}
YES = ("1", "1.0", "true", "yes", "t", "y", "active", "alive")
NO = ("0", "0.0", "false", "no", "f", "n", "inactive", "dead")
SILENT = ("silent", "inactive")
THERE = ("ok", "active", *SILENT, "alive", "there")  # words for an account that is there
GONE = tuple(reason for reason in Reason if reason != Reason.FORGOTTEN)
"""Why an account or page is not there, as outcomes say it."""


Row = Mapping[str, Cell]


class BadResultError(ValueError):
    """A row that tells nothing; `str(error)` says why."""


def read_results(
    paths: Iterable[Path], naming: CellAccounts, rule: Activity, now: float, trouble: LineErrors
) -> tuple[list[ProbeResult], int]:
    """Return the tests that files tell, in their order, and how many rows of our own lists nobody has filled in yet.

    Args:
        paths: the files.
        naming: who is meant by a cell.
        rule: when an account counts as alive.
        now: when tests were made of which the file does not tell it; none was made later. Unix seconds.
        trouble: what bad lines are added to; they are left out.

    Raises:
        PostsFileError: a file cannot be read, or lacks a column.
    """
    found: list[ProbeResult] = []
    waiting = 0
    for path in paths:
        with open_table(path, WORDS, trouble, naming.is_legal) as table:
            names = table.names or [] if table is not None else []
            if table is None or not {*IDS, *NAMES} & set(names) or not {ACTIVE, STATUS, LAST} & set(names):
                raise PostsFileError(
                    f"{path} lacks a column: results need id or username, and one of active, status, last_active_at; "
                    f"it has {', '.join(names)[:200] or 'none'}. Write their names into its first line."
                )
            ours = {*HEAD} <= {*names}
            for lines, columns in table.chunks:
                rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
                for line, row, who in zip(lines, rows, _find_accounts(rows, names, naming), strict=True):
                    if ours and not any(row[name] for name in (ACTIVE, LAST, STATUS, CHECKED)):
                        waiting += 1
                        continue
                    try:
                        found.append(_parse_result(row, who, rule, now))
                    except BadResultError as error:
                        trouble.add(table.describe_row(line), str(error))
    return found, waiting


def _find_accounts(rows: Sequence[Row], names: Sequence[str], naming: CellAccounts) -> Iterator[Who | str]:
    """Yield the account of each row, by its id or else its name; why there is none."""
    by_id, by_name = (next((name for name in some if name in names), None) for some in (IDS, NAMES))
    readings = [(name, how) for name, how in ((by_id, "ids"), (by_name, "names")) if name is not None]
    columns = [naming.find_accounts([row[name] or "" for row in rows], how) for name, how in readings]
    for cells in zip(*columns, strict=True):
        known = [who for who in cells if isinstance(who, Who)]
        yield Who(known[0].id, known[-1].username) if known else cells[0]


def _parse_result(row: Row, who: Who | str, rule: Activity, now: float) -> ProbeResult:
    if isinstance(who, str):
        raise BadResultError(who)
    at = min(_parse_instant(row.get(CHECKED), CHECKED) or now, now)
    last = _parse_instant(row.get(LAST), LAST)
    missing, active = _parse_status(row.get(STATUS)), _parse_active(row.get(ACTIVE))
    if active and missing is not None and not rule.is_active(None, at, missing):
        raise BadResultError(f"it is active, and {missing} too: remove one of them")
    word = (row.get(STATUS) or "").lower()
    tells = last is not None or (bool(word) and (rule.within is None or (rule.untold and word not in SILENT)))
    if active is None and missing is None and not tells:
        raise BadResultError("it says neither active, nor when it last acted, nor why it is not there")
    acted = "" if last is None else format_time(last)
    alive = rule.is_active(acted, at, missing) if active is None else active
    return ProbeResult(who, at, alive, None if alive else missing, acted)


def _parse_active(cell: Cell) -> bool | None:
    word = (cell or "").lower()
    if word and word not in (*YES, *NO):
        raise BadResultError(f"active is {cell!r:.60}: write 1 or 0")
    return word in YES if word else None


def _parse_status(cell: Cell) -> Reason | None:
    word = (cell or "").lower()
    if word and word not in (*THERE, *GONE):
        raise BadResultError(f"status is {cell!r:.60}: write nothing, ok, or one of {', '.join(GONE)}")
    return Reason(word) if word in GONE else None


def _parse_instant(cell: Cell, name: str) -> float | None:
    """Return the Unix seconds of a cell; of a day alone its end, so that activity on that day counts."""
    if not cell:
        return None
    try:
        return float(cell) if cell.replace(".", "", 1).isdigit() else parse_latest(cell)
    except ValueError as error:
        raise BadResultError(f"{name} is {cell!r:.60}: give ISO 8601 or Unix seconds") from error
