"""The page that says what is in a database, made from the tables, the views and the example questions."""

from collections.abc import Iterator

from sqlalchemy import Column, Table

from socialcrawl.storage.schema.questions import QUESTIONS
from socialcrawl.storage.schema.tables import metadata
from socialcrawl.storage.schema.views import VIEWS

HEAD = """# What is in the database

<!-- Made by `make reference`. Do not edit: change socialcrawl/storage/schema. -->

One database, an SQLite file or a PostgreSQL server, holds any number of campaigns. Ask it with `socialcrawl sql`,
which only reads, open it in a browser with `socialcrawl explore`, or read it with any other program: it is plain SQL.

- Instants are ISO 8601 text in UTC (`2026-01-31T12:00:00.000000Z`): they sort as text, and `substr(x, 1, 10)` is a day.
  `created_at` of posts and accounts is as the platform writes it, with three digits: compare it with other columns by
  `substr(x, 1, 19)`.
- Money is in mills of a cent (1/1000 cent) in the tables, in dollars in the views.
- `node` numbers accounts in this database; queries of a campaign have negative numbers and no row in `account`.
- `n` numbers the decisions of a campaign from 0, for ever; `(campaign, n)` names one.
- What was forgotten leaves an empty row in `account` and a tombstone, nothing else.
"""
KEYS = """
## Keys

A line is a key, from the one row to those that may be many; its words name the columns that point to it.
"""
# Keys that no constraint holds: nodes may be queries, and rows are written before what they belong to is known.
LOOSE = (
    ("pick", "outcome", "campaign, n", "||--o|"),
    ("pick", "link", "campaign, n", "||--o{"),
    ("pick", "request", "campaign, n", "||--o{"),
    ("account", "pick", "node", "||--o{"),
    ("account", "link", "node", "||--o{"),
)
KINDS = {"Integer": "integer", "Float": "number", "Boolean": "boolean", "LargeBinary": "bytes"}


def render_page() -> str:
    """Return the page, Markdown."""
    return "\n".join([HEAD + KEYS, *_render_diagram(), "", *_render_views(), *_render_tables(), *_render_questions()])


def _render_diagram() -> Iterator[str]:
    yield "```mermaid"
    yield "erDiagram"
    for table in metadata.sorted_tables:
        for column in table.columns:
            for key in column.foreign_keys:
                alone = column.primary_key and len(table.primary_key.columns) == 1
                yield f'    {key.column.table.name} {"||--o|" if alone else "||--o{"} {table.name} : "{column.name}"'
    for one, other, name, how in LOOSE:
        yield f'    {one} {how} {other} : "{name}"'
    yield "```"


def _render_views() -> Iterator[str]:
    yield "## Views"
    yield ""
    yield "Whole questions under one name. Filter them by `campaign`."
    for view in VIEWS:
        yield from ("", f"### {view.name}", "", f"{view.comment[0].upper()}{view.comment[1:]}.", "")
        yield from ("| column | is |", "|---|---|")
        yield from (f"| {name} | {_escape_cell(words)} |" for name, words in view.columns.items())


def _render_tables() -> Iterator[str]:
    yield from ("", "## Tables")
    for table in metadata.tables.values():
        comment = str(table.comment)
        yield from ("", f"### {table.name}", "", f"{comment[0].upper()}{comment[1:]}.", "")
        yield from ("| column | type | key | is |", "|---|---|---|---|")
        for column in table.columns:
            kind, key = _name_type(column), _describe_key(table, column)
            yield f"| {column.name} | {kind} | {key} | {_escape_cell(str(column.comment))} |"


def _render_questions() -> Iterator[str]:
    yield from ("", "## Ten questions", "", "Each runs as it is on SQLite and PostgreSQL; `explore` has them as pages.")
    for question in QUESTIONS:
        yield from ("", f"### {question.words}", "", "```sql", question.sql, "```")
    yield ""


def _name_type(column: Column[object]) -> str:
    name = KINDS.get(type(column.type).__name__, "text")
    return name if column.nullable else f"{name}, not null"


def _describe_key(table: Table, column: Column[object]) -> str:
    marks = ["primary"] if column.primary_key else []
    marks += [f"to {key.target_fullname}" for key in column.foreign_keys]
    firsts = [index for index in table.indexes if next(iter(index.columns)).name == column.name]
    return ", ".join([*marks, *(["indexed"] if firsts and not marks else [])])


def _escape_cell(words: str) -> str:
    return words.replace("|", "\\|")
