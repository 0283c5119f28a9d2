"""What a downgrade takes out of a database and the next upgrade puts back: going down and up again loses nothing.

The older program neither sees nor touches the tables that keep it, which are called `kept_<table>`.
"""

# ruff: noqa: S608  (the names are those that the migrations give)

from collections.abc import Sequence

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


def is_kept(table: str) -> bool:
    """Return whether something of `table` was kept."""
    return sa.inspect(op.get_bind()).has_table(f"kept_{table}")
