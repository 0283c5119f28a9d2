"""The data dictionary of an export: what each column of its tables holds, and its type.

`datapackage.json` is a Data Package 2.0 (https://datapackage.org) with a Table Schema for each table. The comments of
the tables and views in the database say what a column holds; columns that only exports have are described here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Table

from socialcrawl.exporters.columns import Column
from socialcrawl.exporters.exported_tables import SHEETS, ExportTable
from socialcrawl.exporters.table_files import IDS
from socialcrawl.storage.schema.tables import metadata
from socialcrawl.storage.schema.views import CAMPAIGN, VIEWS

NAME = "datapackage.json"
PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
FROM = {"picks": ("pick", "outcome")}  # the tables that a sheet is made of, where it is not the one of its name
TYPES = {
    "text": "string", "int": "integer", "float": "number", "bool": "boolean", "time": "datetime", "list": "array",
}  # fmt: skip
DAYS = ("last_active_at",)  # times that may be a day alone
MEDIA = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "txt": "text/plain",
    "gexf": "application/gexf+xml",
    "graphml": "application/graphml+xml",
    "gz": "application/gzip",
}
SHOWN = "username as last shown, or the platform's own id where no name is known"
COLUMNS = {
    "campaign": CAMPAIGN,
    "account": SHOWN,
    "posts.author": f"who wrote it: {SHOWN}",
    "posts.mentions": "who is mentioned, in the order of the text: usernames, or ids where no name is known",
    "posts.author_id": "the platform's own id of the author",
    "posts.author_node": "account.node of the author",
    "posts.occurrences": "occurrences of the campaign's topic in the post; empty in an export of everything",
    "mentions.account_id": "the platform's own id of the account mentioned",
    "mentions.position": "place among the post's mentions, from 0; empty where it is not known",
    "picks.drawn": "how the account was drawn for comparison ([crawl] control): all (from all accounts known and not "
    "read yet) or nearest (from those nearest to the seeds); empty: the estimator chose it, or it is tried again",
    "links.source": "account.node that links; negative: a search",
    "links.source_account": f"who links: {SHOWN}",
    "links.target": "account.node that is linked to; negative: a search",
    "links.target_account": f"who is linked to: {SHOWN}",
    "liveness.active": "whether it is active; false also if that could not be checked (status temporary)",
    "liveness.status": "active, silent (it is there), or why it is not: as in picks.missing",
    "liveness.platform_id": "the platform's own id; empty while only the username is known",
    "versions.settings": "JSON of the settings that decide, without names, files, servers and tokens",
    "seeds.position": "place among the campaign's seeds, from 0",
    "seeds.node": "account.node of the seed; empty: it was not read",
    "requests.query": "query of a search; empty for other requests",
    "requests.post_ids": "ids of the posts returned that are in this export, in order",
}
"""What columns hold that no table of the database has, or of which its comment says something else."""
KEYS = {"seeds": ["campaign", "position"]}  # of tables that the database does not have, where it is not the account
NAMED = re.compile(r"\b(account|post|pick)\.(node|id|n)\b")  # as comments name a column of another table


def make_package(sheet: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of datapackage.json, from those of datasheet.json."""
    said = "Tables of a socialcrawl export; datasheet.md says how the data were collected."
    said += " NULL is an empty cell in CSV."
    said += " Accounts and posts have pseudonyms." if sheet["pseudonymised"] else ""
    said += " In CSV, texts that look like formulas begin with an apostrophe." if sheet.get("safe_csv") else ""
    return {
        "$schema": PROFILE,
        "title": sheet["campaign"] or "all campaigns",
        "description": said,
        "created": sheet["exported_at"],
        "resources": [_make_resource(file) for file in sheet["files"]],
    }


def _make_resource(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file of the export; a table with its schema."""
    name: str = file["name"]
    stem, _, form = name.partition(".")
    ending = form.rpartition(".")[2]
    found = {
        "name": name,
        "path": name,
        "description": file["about"],
        "format": ending,
        "mediatype": MEDIA[ending],
        **({} if ending in ("parquet", "gz") else {"encoding": "utf-8"}),
        "bytes": file["bytes"],
        "hash": f"sha256:{file['sha256']}",
    }
    table = next((sheet for sheet in SHEETS if sheet.name == stem and form in ("csv", "jsonl", "parquet")), None)
    if table is not None:
        return found | {"type": "table", "schema": _make_schema(table, form)}
    ids = next((sheet for sheet in SHEETS if IDS.get(sheet.name) == name), None)
    if ids is not None:
        field = {"name": "id", "type": "string", "description": f"the platform's own id, as in {ids.name}"}
        return found | {"type": "table", "dialect": {"header": False}, "schema": {"fields": [field]}}
    return found


def _make_schema(sheet: ExportTable, form: str) -> dict[str, Any]:
    """Return the Table Schema of a table in one of its formats."""
    fields = [
        {"name": column.name, **_make_type(column, form), "description": _describe_column(sheet, column)}
        for column in sheet.columns
    ]
    return {"fields": fields, "primaryKey": _find_keys(sheet), "missingValues": [""]}


def _make_type(column: Column, form: str) -> dict[str, str]:
    """Return the type of a column; ids are text but in Parquet, where whole numbers keep all their digits."""
    if column.is_id and column.kind == "int" and form != "parquet":
        return {"type": "string"}
    return {"type": TYPES[column.kind], **({"format": "any"} if column.name in DAYS else {})}


def _describe_column(sheet: ExportTable, column: Column) -> str:
    """Return what a column holds, in the words of the export: its tables are called by plurals, its lists are lists."""
    own = COLUMNS.get(f"{sheet.name}.{column.name}") or COLUMNS.get(column.name)
    said = own or next(words for name, words in _read_comments(sheet) if name == column.name)
    said = NAMED.sub(lambda match: f"{match[1]}s.{match[2]}", said)
    return said.removeprefix("JSON list of ") if column.kind == "list" else said


def _read_comments(sheet: ExportTable) -> Iterator[tuple[str, str]]:
    """Yield what the database says of the columns behind a table of an export."""
    for view in VIEWS:
        if view.name == sheet.name:
            yield from view.columns.items()
    for table in _find_tables(sheet):
        yield from ((column.name, str(column.comment)) for column in table.columns)


def _find_tables(sheet: ExportTable) -> list[Table]:
    """Return the tables of the database behind a table of an export; none where that is a view."""
    names = FROM.get(sheet.name, (sheet.name, sheet.name.removesuffix("s")))
    return [metadata.tables[name] for name in names if name in metadata.tables]


def _find_keys(sheet: ExportTable) -> list[str]:
    """Return the columns that tell one row from all others, as in the database."""
    tables = _find_tables(sheet)
    return [column.name for column in tables[0].primary_key] if tables else KEYS.get(sheet.name, ["campaign", "node"])
