"""What the tests of datasets that grow share: times of posts, readers, and exports that can be killed."""

import sys
from pathlib import Path

import duckdb
from exported_towns import exported
from killed_campaigns import die_before
from stores import opened

from socialcrawl.exporters.partitioned import PartitionOptions, write_dataset

MONTHS = {"0": "2023-01-31T23:59:59.999Z", "1": "2023-02-01T00:00:00Z", "2": "2024-02-29T12:00:00Z"}
"""When the posts of the town were written, by the last digit of their id; of the others that is not known."""
TABLES = ("posts", "mentions", "accounts")


def put_times(connection):
    """Give the posts of the town times in three months."""
    with connection.begin():
        for digit, at in MONTHS.items():
            connection.exec_driver_sql(f"update post set created_at = '{at}' where id like '%%-{digit}'")


def grown(connection, folder, **more):
    """What `export --format parquet-dataset --since-last` says of a run."""
    return write_dataset(connection, folder, PartitionOptions(since_last=True, **more))


def ask(sql):
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        return [tuple(row.values()) for row in connection.sql(sql).to_arrow_table().to_pylist()]


def columns_of(path):
    names = [row[0] for row in ask(f"describe select * from '{path}'")]
    return ", ".join(f'"{name}"' for name in names if name != "original")


def rows_of(folder, table, columns="*"):
    """The rows of a table of a dataset, as a program reads them that only knows the folder."""
    files = f"read_parquet('{folder}/{table}/**/*.parquet', hive_partitioning = false)"
    return sorted(map(repr, ask(f"select {columns} from {files}"))) if any((folder / table).rglob("*.parquet")) else []


def is_like_an_export(connection, folder, scratch, *, tables=TABLES, **more):
    """Whether a dataset has exactly the rows that an export of now has."""
    exported(connection, scratch, "parquet", force=True, **more)
    for table in tables:
        columns = columns_of(scratch / f"{table}.parquet")
        wanted = sorted(map(repr, ask(f"select {columns} from '{scratch}/{table}.parquet'")))
        assert rows_of(folder, table, columns) == wanted, table
    return True


def parts_in(folder):
    """The files of a dataset with the time of their last change and their number on the disk."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in folder.rglob("*.parquet")
    }


def work(database, folder, event=0):
    """Add what is new to a dataset; with `event`, die before that statement to the database or change of a file."""
    if event:
        counted = die_before(event)
        sys.addaudithook(lambda name, _: counted() if name in ("os.rename", "os.remove", "os.mkdir") else None)
    with opened(Path(database)) as connection:
        grown(connection, Path(folder))
    return 0
