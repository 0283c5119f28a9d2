"""What pages and HTTP API are asked about a campaign's data, and what the API returns: search, SQL, exports."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

LONGEST = 2_000  # characters of a text that somebody looks for
LONGEST_QUERY = 8_000  # characters of SQL, which is in the address
Format = Literal["parquet", "csv", "jsonl", "gexf", "graphml", "ids", "warc"]
PresetName = Literal["analysis", "spreadsheet", "network", "publish", "records", "responses"]


class ExportPreset(NamedTuple):
    """A ready choice of what an export has in it: its name, a word of help, and arguments of `Dataset.export`."""

    title: str
    words: str
    options: Mapping[str, Any]


PRESETS: Mapping[PresetName, ExportPreset] = {
    "analysis": ExportPreset(
        "Parquet for analysis", "all tables with their types, for Python, R and DuckDB", {"formats": ["parquet"]}
    ),
    "spreadsheet": ExportPreset(
        "Spreadsheet (CSV)",
        "all tables as text, for Excel and LibreOffice; no text is run as a formula",
        {"formats": ["csv"], "safe_csv": True},
    ),
    "network": ExportPreset("Network for Gephi (GEXF)", "who mentions whom", {"formats": ["gexf"]}),
    "publish": ExportPreset(
        "Ids only, to publish", "what most terms let you hand on: no texts, no names", {"formats": ["ids"]}
    ),
    "records": ExportPreset("Records for programs (JSON lines)", "an object per line", {"formats": ["jsonl"]}),
    "responses": ExportPreset(
        "Original responses (WARC)", "for archives, if the campaign kept them", {"formats": ["warc"]}
    ),
}
"""Exports by plain names; the first is the default."""


class PostChoice(BaseModel):
    """Which posts somebody wants to see; "" stands for what is not given."""

    query: str = Field("", max_length=LONGEST, description='words that posts have; "": all posts')
    author: str = Field("", max_length=LONGEST, description="a username or id")
    since: str = Field("", max_length=LONGEST, description="posts written at this time or later: ISO 8601, UTC")
    until: str = Field("", max_length=LONGEST, description="posts written before this time, likewise")
    topic: Literal["on", "off", "all"] = Field("on", description="on: posts on topic; off: all others; all: both")
    after: str = Field("", max_length=LONGEST, description="`next` of the page before")


class LimitedPostChoice(PostChoice):
    """The same, with the size of a page."""

    limit: int = Field(50, ge=1, le=500, description="rows of this page, at most")
    count: bool = Field(False, description="count the posts of all pages, for at most a second")


class SqlQuery(BaseModel):
    """A query in SQL."""

    query: str = Field(min_length=1, max_length=LONGEST_QUERY, description="one SELECT")


class LimitedSqlQuery(SqlQuery):
    """The same, with the number of rows."""

    limit: int = Field(100, ge=1, le=500, description="rows, at most")


class SqlForm(BaseModel):
    """What the form of a query sends, and links to one of the documented questions."""

    query: str = Field("", max_length=LONGEST_QUERY)
    question: str = Field("", max_length=LONGEST)


class ExportChoice(BaseModel):
    """What an export has in it."""

    format: list[Format] = Field(["parquet"], max_length=7, description="the files to write")
    only_on_topic: bool = Field(False, description="of the network: only mentions in matching posts")
    only_active: bool = Field(False, description="of a refreshed dataset: only accounts found active")
    safe_csv: bool = Field(False, description="CSV for spreadsheets: no text is a formula")
    pseudonymise: bool = Field(False, description="hash names; the server has the key in SOCIALCRAWL_KEY")
    preset: PresetName | Literal[""] = Field("", description="a ready choice, in place of format and safe_csv")

    def list_options(self) -> dict[str, Any]:
        """Return the arguments of `Dataset.export`."""
        given = self.model_dump(exclude={"format", "preset"}) | {"formats": list(dict.fromkeys(self.format))}
        return {**given, "safe_csv": False, **PRESETS[self.preset].options} if self.preset else given

    def describe(self) -> str:
        """Return what is in the export, for people."""
        named = PRESETS[self.preset].title if self.preset else ", ".join(dict.fromkeys(self.format))
        return f"{named}, without names" if self.pseudonymise else named


class ExportOrder(ExportChoice):
    """The same as JSON, where a number is no switch."""

    model_config = ConfigDict(strict=True)


class ExportProgress(BaseModel):
    """How far an export is."""

    writing: str | None = Field(description="what is being written, such as posts; null: nothing is")
    rows: int = Field(description="rows of it that were written")


class KeptExportItem(BaseModel):
    """An export that these pages write or keep."""

    id: str
    title: str = Field(description="what is in it")
    begun: str = Field(description="when somebody asked for it, ISO 8601")
    deleted: str = Field(description="when it is deleted at the latest")
    writing: str | None = Field(description="what is being written, such as posts; null: it is finished or failed")
    rows: int = Field(description="rows of that which are written")
    size: int = Field(description="bytes of the archive; 0: there is none yet")
    why: str = Field(description='why it failed; "": it did not')


class KeptExportItems(BaseModel):
    """The exports of a campaign that these pages write or keep, the newest first."""

    exports: list[KeptExportItem]


class IndexItem(BaseModel):
    """The search index of a campaign's database."""

    needed: bool = Field(description="20,000 posts or more are in no index: searches would be faster with it")
    running: bool = Field(description="posts are being added to it, by these pages")
    posts: int = Field(description="posts that were added by the last run of these pages")
    why: str = Field(description='what went wrong in that; "": nothing')


class AnswerColumn(BaseModel):
    """A column of an answer."""

    name: str
    kind: str = Field(description="text, int, float or bool: what all its cells are")


class SqlAnswer(BaseModel):
    """The answer to a query in SQL."""

    columns: list[AnswerColumn]
    rows: list[list[str | int | float | bool | None]] = Field(
        description="the cells by column; null also for a number that JSON does not have"
    )
    more: bool = Field(description="there are more rows than `limit`")


class QueryItem(BaseModel):
    """A question that people ask of a crawl, and the query that answers it."""

    name: str
    question: str
    sql: str
    note: str = Field(description="how to read the answer")


class QueryItems(BaseModel):
    """The questions that the documentation answers, about all campaigns of a database."""

    queries: list[QueryItem]
