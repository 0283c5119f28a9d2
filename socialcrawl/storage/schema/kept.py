"""What migrations share: views, comments, and what a downgrade takes out of a database and the next upgrade puts back.

Going down and up again loses nothing. The older program neither sees nor touches the tables that keep what was taken
out, which are called `kept_<table>`.
"""

# ruff: noqa: S608  (the names are those that the migrations give)

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op


def set_aside(table: str, key: str, columns: Sequence[str], where: str = "true", *, more: str = "") -> None:
    """Keep the columns of the rows of `table`, by their key, while an older program has the database.

    `more` tells what is kept of a table from what an earlier version keeps of it.
    """
    names = ", ".join([key, *columns])
    op.execute(f"create table kept_{table}{more} as select {names} from {table} where {where}")


def put_back(table: str, key: str, columns: Sequence[str], *, more: str = "") -> None:
    """Put back what `set_aside` kept, where the row is still there."""
    if not is_kept(f"{table}{more}"):
        return
    for name in columns:
        kept = f"(select k.{name} from kept_{table}{more} k where k.{key} = {table}.{key})"
        op.execute(f"update {table} set {name} = {kept} where {key} in (select {key} from kept_{table}{more})")
    op.drop_table(f"kept_{table}{more}")


def put_rows_back(table: str, kept: str, columns: Sequence[str]) -> None:
    """Put back whole rows that were kept in `kept_<kept>`, where their place was not taken meanwhile."""
    if is_kept(kept):
        names = ", ".join(columns)
        op.execute(f"insert into {table} ({names}) select {names} from kept_{kept} where true on conflict do nothing")
        op.drop_table(f"kept_{kept}")


def set_table_aside(table: str) -> None:
    """Set aside a whole table that the older program does not know."""
    op.execute(f"create table kept_{table} as select * from {table}")
    op.drop_table(table)


def make_view(name: str, comment: str, columns: Mapping[str, str], sql: str) -> None:
    """Make a view with a comment for it and for each of its columns, by name; SQLite keeps no comments."""
    op.execute(f"create view {name} ({', '.join(columns)}) as\n{sql}")
    if op.get_bind().dialect.supports_comments:
        op.execute(f"comment on view {name} is {_quote(comment)}")
        for column, words in columns.items():
            op.execute(f"comment on column {name}.{column} is {_quote(words)}")


def renew_views(views: Iterable[tuple[str, str, Mapping[str, str], str]]) -> None:
    """Make views in place of those of the same names, each with the arguments of `make_view`."""
    for view in views:
        op.execute(f"drop view {view[0]}")
        make_view(*view)


def change_comments(said: Iterable[tuple[str, str, Any, bool, str, str]], *, newer: bool) -> None:
    """Change the comments of columns to those from now on, or back to those before; SQLite keeps none.

    `said`: table, column, its type, whether it may be NULL, its comment from now on and before.
    """
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, column, kind, nullable, now, before in said:
        comment, was = (now, before) if newer else (before, now)
        op.alter_column(
            table, column, existing_type=kind, existing_nullable=nullable, comment=comment, existing_comment=was
        )


def is_kept(table: str) -> bool:
    """Return whether something of `table` was kept."""
    return sa.inspect(op.get_bind()).has_table(f"kept_{table}")


def _quote(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"
