"""The page that says what is in a database, made from the tables, the views and the example questions."""

from collections.abc import Iterator

from sqlalchemy import Column, Table

from socialcrawl.storage.schema.questions import QUESTIONS
from socialcrawl.storage.schema.tables import metadata
from socialcrawl.storage.schema.views import VIEWS

HEAD = """# Tables and views

<!-- Made by `make reference`. Do not edit: change socialcrawl/storage/schema. -->

A database, an SQLite file or a PostgreSQL server, holds any number of campaigns. Start with the [views](#views): each
answers a common question. You can query them with

- `socialcrawl sql`, which only reads,
- `socialcrawl explore`, in a browser,
- [Python](python.md), or any other program: it is plain SQL.

```text
$ socialcrawl sql demo.db "select account, occurrences, posts from top_account limit 3"
account          occurrences  posts
shebre_yo                292   1389
the_shiwil               143   1402
TroniasHiarchun          105   1801
```

- **Times** are ISO 8601 text in UTC (`2026-01-31T12:00:00.000000Z`). They sort as text, and `substr(x, 1, 10)` is the
  day. `created_at` of posts and accounts is as the platform writes it, with three decimals of a second: compare it with
  other columns by `substr(x, 1, 19)`.
- **Money** is in 1/1000 cent in tables, and in dollars in views.
- **`node`** is the number of an account in this database. Searches have negative numbers and no row in `account`.
- **`n`** is the number of a decision of a campaign, from 0. It never changes; `(campaign, n)` identifies a decision.
- **Databases of older versions**: the first command that opens one, also to report or export, upgrades its schema in
  place, says so, and keeps the file as it was in `NAME.before-VERSION`. `verify`, `sql` and `sc.open` do not change it.
- **Tables whose names begin with `search_`** are the index of [`socialcrawl search`](../how-to/search.md), which makes
  them in large databases. They hold nothing that is not in `post`, and are in no export.
- **Deleted accounts** leave an empty row in `account` and a tombstone, nothing else.
"""
KEYS = """
## Keys

Each line is a key, from the table with one row to the table with any number of rows; its label lists the columns.
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
    yield "Each view answers a question. Filter by `campaign`."
    for view in VIEWS:
        yield from ("", f"### {view.name}", "", f"{view.comment[0].upper()}{view.comment[1:]}.", "")
        yield from ("| column | meaning |", "|---|---|")
        yield from (f"| {name} | {_escape_cell(words)} |" for name, words in view.columns.items())


def _render_tables() -> Iterator[str]:
    yield from ("", "## Tables")
    for table in metadata.tables.values():
        comment = str(table.comment)
        yield from ("", f"### {table.name}", "", f"{comment[0].upper()}{comment[1:]}.", "")
        yield from ("| column | type | key | meaning |", "|---|---|---|---|")
        for column in table.columns:
            kind, key = _name_type(column), _describe_key(table, column)
            yield f"| {column.name} | {kind} | {key} | {_escape_cell(str(column.comment))} |"


def _render_questions() -> Iterator[str]:
    yield from (
        "",
        "## Ten queries",
        "",
        "Each query runs unchanged on SQLite and PostgreSQL. `socialcrawl explore` shows them as pages.",
    )
    for question in QUESTIONS:
        yield from ("", f"### {question.words}", "", "```sql", question.sql, "```", "", question.note)
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
