"""Whether the rows of a campaign belong together: each outcome to its pick, each link to its outcome, and so on.

Questions in SQL that find what does not. Called in a transaction.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

MOST = 11  # of what is found; one more than is shown

ORDER = {
    ("pick", "n"): """
select n, 'the decision before it is missing' from pick p where campaign = :campaign and n > 0
and not exists (select 1 from pick q where q.campaign = p.campaign and q.n = p.n - 1)""",
    ("pick", "batch"): """
select n, batch from pick p where campaign = :campaign and not exists (select 1 from pick q
where q.campaign = p.campaign and (q.n = p.n and p.batch = p.n or q.n = p.n - 1 and q.batch = p.batch))""",
    ("pick", "outcome"): """
select p.n, 'missing' from pick p where p.campaign = :campaign
and p.n < (select max(o.n) from outcome o join pick q on q.campaign = o.campaign and q.n = o.n
  where o.campaign = :campaign and q.batch in (select b.batch from request r
    join pick b on b.campaign = r.campaign and b.n = r.n where r.campaign = :campaign))  -- not what came from a file
and not exists (select 1 from outcome o where o.campaign = p.campaign and o.n = p.n)""",
    ("outcome", "n"): """
select o.n, 'there is no such pick' from outcome o where o.campaign = :campaign
and not exists (select 1 from pick p where p.campaign = o.campaign and p.n = o.n)""",
    ("outcome", "node"): """
select o.n, o.node from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where o.campaign = :campaign and o.node <> p.node""",
    ("request", "n"): """
select id, n from (select r.id, r.n, p.batch, lag(p.batch) over (order by r.id) as before from request r
  join pick p on p.campaign = r.campaign and p.n = r.n where r.campaign = :campaign) as sent where batch < before""",
    ("epoch", "number"): """
select number, 'the one before it is missing' from epoch e where campaign = :campaign and number > 0
and not exists (select 1 from epoch f where f.campaign = e.campaign and f.number = e.number - 1)""",
    ("epoch", "first"): """
select number, "first" from epoch e where campaign = :campaign
and "first" > (select coalesce(max(p.n), -1) + 1 from pick p where p.campaign = e.campaign)""",
    ("epoch", "why"): """
select number, why from epoch e where campaign = :campaign and (why like '%forget%' or why like '%retain%')
and not exists (select 1 from tombstone)""",
    ("version", "number"): """
select number, 'the one before it is missing' from version v where campaign = :campaign and number > 0
and not exists (select 1 from version w where w.campaign = v.campaign and w.number = v.number - 1)""",
}
"""By table and column what has an order: a query for (number, what is stored) of each row that is out of it."""

REFERENCES = {
    ("pick", "node"): """
select n, node from pick p where campaign = :campaign and node >= 0
and not exists (select 1 from account a where a.node = p.node)""",
    ("link", "n"): """
select distinct n, n from link l where campaign = :campaign
and not exists (select 1 from outcome o where o.campaign = l.campaign and o.n = l.n)""",
    ("link", "node"): """
select n, node from link l where campaign = :campaign
and not exists (select 1 from account a where a.node = l.node)""",
    ("request", "n"): """
select id, n from request r where campaign = :campaign and n >= 0
and not exists (select 1 from pick p where p.campaign = r.campaign and p.n = r.n)""",
    ("shadow", "n"): """
select distinct n, n from shadow s where campaign = :campaign
and not exists (select 1 from pick p where p.campaign = s.campaign and p.n = s.n)""",
}
"""The same of what refers to rows of other tables: (number, what it refers to) where there is no such row."""

SHARED = {
    ("post", "author"): """
select id, author from post p where not exists (select 1 from account a where a.node = p.author)""",
    ("mention", "post"): """
select post, post from mention m where not exists (select 1 from post p where p.id = m.post)""",
    ("mention", "node"): """
select post, node from mention m where not exists (select 1 from account a where a.node = m.node)""",
}
"""The same of tables that all campaigns share."""

GAPS = """
select id, id - 1 from request r where id > 1 and not exists (select 1 from request q where q.id = r.id - 1) order by id
"""

LISTED = {
    "sqlite": "select value from request, json_each(case when json_valid(post_ids) then post_ids else '[]' end)",
    "postgresql": "select json_array_elements_text(post_ids::json) from request where post_ids is not null",
}
UNLISTED = """
from post p join (select id from post except {listed}) u on u.id = p.id"""
CLAIMED = """ where exists (select 1 from request r where r.post_ids is not null and r.arrived_at = p.fetched_at)
or exists (select 1 from hit h where h.post = p.id
  and not exists (select 1 from pick i where i.campaign = h.campaign and i.act in ('import', 'captured'))
  and not exists (select 1 from request r where r.posts > 0 and r.post_ids is null and r.kind <> 'held'))"""
"""Of posts that no request lists, those that are said to have come with one, or that match where nothing came else."""


class Stray(NamedTuple):
    """A row that does not belong: its table, its number there, the column that is wrong, and what is in it."""

    table: str
    number: Any
    column: str
    stored: Any


ANSWERED = """
select max(arrived_at) from request where campaign = :campaign and n < (
  select max(batch) from pick where campaign = :campaign and n < :first)"""


def find_strays(
    connection: Connection, questions: Mapping[tuple[str, str], str], campaign: int | None = None
) -> Iterator[Stray]:
    """Yield the rows that do not belong, the first of each kind; `campaign` is a campaign.id."""
    values = {} if campaign is None else {"campaign": campaign}
    for (table, column), sql in questions.items():
        for number, stored in connection.execute(text(f"{sql} limit {MOST}"), values):
            yield Stray(table, number, column, stored)


def find_last_answer(connection: Connection, campaign: int, first: int) -> str | None:
    """Return when the last answer came for the batches before the one that was decided last before pick `first`."""
    last: str | None = connection.execute(text(ANSWERED), {"campaign": campaign, "first": first}).scalar()
    return last


def find_unlisted(connection: Connection) -> tuple[int, int, list[str]]:
    """Return how many posts no request lists, how many of them no import can have brought, and the first of these."""
    rows = UNLISTED.format(listed=LISTED[connection.dialect.name])
    unlisted = int(connection.execute(text(f"select count(*) {rows}")).scalar_one())
    if not unlisted:
        return 0, 0, []
    wrong = int(connection.execute(text(f"select count(*) {rows}{CLAIMED}")).scalar_one())
    some = connection.execute(text(f"select p.id {rows}{CLAIMED} order by p.id limit {MOST}")).scalars()
    return unlisted, wrong, [str(key) for key in some]


def count_rows(connection: Connection, tables: Sequence[str], campaign: int | None = None) -> int:
    """Return how many rows some tables have, those of a campaign where it is given."""
    mine = "" if campaign is None else f" where campaign = {int(campaign)}"
    counts = (f"select count(*) from {name}{mine}" for name in tables)  # noqa: S608  (names of our own)
    return sum(int(connection.execute(text(sql)).scalar_one()) for sql in counts)


def find_gaps(connection: Connection) -> list[tuple[int, int]]:
    """Return (request.id, the last number that is missing before it) of the gaps in the ledger, the first ones."""
    return [(int(row[0]), int(row[1])) for row in connection.execute(text(f"{GAPS} limit {MOST}"))]
