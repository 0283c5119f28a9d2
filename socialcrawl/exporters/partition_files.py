"""The files of a partitioned dataset: what they are called, how one takes its place, and what is read back from them.

A dataset is a folder with one folder per table and in it one folder per period, as `posts/month=2026-01`, whose files
are called part-000001.parquet and so on. Files whose numbers are equal hold the same posts, each its own table of them.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.errors import SettingsError
from socialcrawl.exporters.columns import Column, name_people
from socialcrawl.exporters.exported_tables import SHEETS, ExportTable
from socialcrawl.exporters.selection import SOME, ExportSelection
from socialcrawl.exporters.table_files import ParquetWriter
from socialcrawl.formats.documents import read_text
from socialcrawl.system.files import replace_file

FORMAT = "socialcrawl-dataset/1"
OURS = "_socialcrawl"
"""The folder of our own notes in a dataset; programs that read datasets pass over names that begin with `_`."""
STATE, STAGED = "state.json", "staged.parquet"
PERIODS = {"year": 4, "month": 7, "day": 10}
"""By what datasets are divided: how many characters of a time name it."""
UNKNOWN = "unknown"  # the period of posts without a time: Dask cannot read Hive's own name for none
PART = re.compile(r"part-\d{6}\.parquet")
LEFT_OUT = ("original",)  # what the platform sent may change without a trace (`scrub_geo`)
TABLES = ("posts", "mentions", "hits")
"""The tables that are divided into periods; `hits` only where all campaigns are exported."""
ACCOUNTS, FILE = "accounts", "accounts.parquet"
"""The table that is one file, written again whenever an account changed."""


@dataclass(slots=True)
class FileFacts:
    """What is in a file: its rows, and a hash of them in their order."""

    rows: int
    digest: str


@dataclass(slots=True)
class DatasetPart:
    """The posts of one period that were added together, a file for each table that has rows of them."""

    period: str
    name: str
    files: dict[str, FileFacts] = field(default_factory=dict)


@dataclass(slots=True)
class DatasetState:
    """What a dataset holds, and up to where it has what is in the database.

    Attributes:
        campaign: its name; None: all that is in the database.
        origin: when that campaign, or the first one, began: a database with another one is not that of the dataset.
        by: year, month or day.
        columns: the names of the columns of each table.
        position: see `new_posts.find_position`; None: nothing was exported completely yet.
        parts: what there is of the divided tables.
        accounts: what is in the file of accounts; None: there is none yet.
    """

    campaign: str | None
    origin: str | None
    by: str
    columns: dict[str, list[str]]
    position: dict[str, Any] | None = None
    parts: list[DatasetPart] = field(default_factory=list)
    accounts: FileFacts | None = None

    @property
    def next_name(self) -> str:
        """The name of the next part."""
        last = max((int(part.name[5:11]) for part in self.parts), default=0)
        return f"part-{last + 1:06}.parquet"


def list_tables(*, whole: bool) -> list[ExportTable]:
    """Return the divided tables; `whole`: whether all campaigns are exported."""
    return [sheet for sheet in SHEETS if sheet.name in (TABLES if whole else TABLES[:2])]


def list_columns(sheet: ExportTable) -> tuple[Column, ...]:
    """Return the columns that a table of a dataset has."""
    return tuple(column for column in sheet.columns if column.name not in LEFT_OUT)


def read_state(folder: Path) -> DatasetState | None:
    """Return the state of the dataset in a folder; None where there is none.

    Raises:
        SettingsError: it cannot be understood.
    """
    path = folder / OURS / STATE
    if not path.is_file():
        return None
    try:
        values = orjson.loads(read_text(path))
        assert values.pop("format") == FORMAT
        for part in values["parts"]:
            part["files"] = {name: FileFacts(**facts) for name, facts in part["files"].items()}
        values["parts"] = [DatasetPart(**part) for part in values["parts"]]
        values["accounts"] = values["accounts"] and FileFacts(**values["accounts"])
        return DatasetState(**values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        raise SettingsError(f"{path} cannot be understood: write the dataset to another folder.") from error


def check_files(folder: Path) -> None:
    """Check that a dataset has no files of anybody else.

    Raises:
        SettingsError: it has; the message names one.
    """
    for path in sorted(folder.rglob("*")):
        table = path.relative_to(folder).parts[0]
        ours = table == OURS or (table in TABLES and PART.fullmatch(path.name)) or path == folder / ACCOUNTS / FILE
        if not ours and not path.is_dir():
            raise SettingsError(f"{path} is not of the dataset: move it away. Nothing was changed.")


class DatasetFolder:
    """The folder of a dataset that is being written, and its state.

    A file takes its place at once, complete, and the state names it afterwards. So what a run that was killed left
    behind is a dataset, perhaps with files that the state does not name, and `remove_leftovers` removes these.

    Args:
        folder: where it is; it has to exist.
        state: what it holds.
    """

    def __init__(self, folder: Path, state: DatasetState) -> None:
        self.folder, self.state = folder, state
        (folder / OURS).mkdir(exist_ok=True)

    def find(self, table: str, part: DatasetPart) -> Path:
        """Return where the file of a part is."""
        return self.folder / table / f"{self.state.by}={part.period or UNKNOWN}" / part.name

    @property
    def accounts(self) -> Path:
        """Where the file of accounts is."""
        return self.folder / ACCOUNTS / FILE

    def save_state(self) -> None:
        """Write the state."""
        with replace_file(self.folder / OURS / STATE) as path:
            path.write_bytes(orjson.dumps({"format": FORMAT} | asdict(self.state), option=orjson.OPT_INDENT_2))

    def remove_leftovers(self) -> None:
        """Remove the files that a run left behind that was cut short.

        Raises:
            SettingsError: there is a file that no run writes.
        """
        check_files(self.folder)
        for path in (self.folder / OURS).glob(".*.part"):
            path.unlink()
        named = {self.find(table, part) for part in self.state.parts for table in part.files}
        for path in (path for table in TABLES for path in (self.folder / table).rglob("part-*")):
            if path not in named:
                path.unlink()

    def write_file(self, path: Path, sheet: ExportTable, choice: ExportSelection, known: FileFacts | None) -> FileFacts:
        """Write the rows of a table that are chosen, and return what they are.

        Args:
            path: where; what is there stays if it has equal rows, and goes if there are none.
            sheet: the table.
            choice: what is chosen.
            known: what is there; None: nothing.
        """
        columns, staged = list_columns(sheet), self.folder / OURS / STAGED
        kept = itemgetter(*(sheet.columns.index(column) for column in columns))
        rows, facts, digest = sheet.rows(choice), FileFacts(0, ""), hashlib.blake2b(digest_size=16)
        with ExitStack() as stack:
            writer = ParquetWriter(staged, columns, stack)
            while some := list(islice(rows, SOME)):
                shown = name_people(columns, map(kept, some))
                writer.write(shown)
                digest.update(orjson.dumps(shown))
                facts.rows += len(shown)
        facts.digest = digest.hexdigest()
        if not facts.rows:
            path.unlink(missing_ok=True)
        elif facts != known or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with staged.open("rb+") as written:
                os.fsync(written.fileno())
            staged.replace(path)
        staged.unlink(missing_ok=True)
        return facts


def read_cells(path: Path, *names: str) -> Iterator[Iterable[tuple[Any, ...]]]:
    """Yield some of the columns of a file as rows, some thousands at a time; nothing where there is no file."""
    from pyarrow import parquet  # noqa: PLC0415  (costs 0.1 s)

    if path.exists():
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=list(names)):
                yield zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def read_numbers(paths: Iterable[Path], name: str) -> set[int]:
    """Return all values of a column of numbers in files."""
    from pyarrow import parquet  # noqa: PLC0415

    found: set[int] = set()
    for path in paths:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=[name]):
                found.update(batch.column(name).unique().to_pylist())
    return found
