"""Exports read with other people's programs, as docs/how-to/exports.md says: no digit of an id is lost on the way.

R is not here to be asked. What its functions do with a file is written down in `in_r`, and the calls that the page
shows are checked against that.
"""

import csv
import json
import re
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from math import isnan
from pathlib import Path

import duckdb
import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from exported_towns import crawled, exported, rows
from pyarrow import parquet
from refresh_campaigns import brought, graph_of
from stores import a_database, opened
from x_crawls import scratch

from socialcrawl.exporters.exported_tables import SHEETS

PAGE = (Path(__file__).parents[3] / "docs/how-to/exports.md").read_text("utf-8")
FORMS = ("parquet", "csv", "jsonl")
TOOLS = {"pandas": "import pandas", "polars": "import polars", "duckdb": "-- duckdb\nselect * from read"}
LATE = 6801849666698571372  # loses digits as a float
MANY = 20_600  # posts: DuckDB guesses the types of JSON lines from the first 20,480
QUIET = ("standings", "sampled", "liveness", "shadows", "seeds")  # tables that the campaign of the town has no rows for
NAMED = ("NA", "null", "007")  # names that a reader may take for nothing, or for a number


@lru_cache
def export_of(*, hidden=False):
    """An export of a crawl whose ids are long, and stand in columns that begin with many empty cells."""
    folder = scratch()
    with opened(folder / "a.db") as connection:
        crawled(connection)
        with connection.begin():
            run = connection.exec_driver_sql
            same = "lang, hashtags, urls, likes, metrics_at, fetched_at, created_at"
            if not hidden:
                run(f"""with recursive c(i) as (select 1 union all select i + 1 from c where i < {MANY})
                    insert into post (id, author, text, {same})
                    select 1000000000000000000 + i, author, 'x', {same} from c, (select * from post limit 1)""")
            late = ", ".join(f"{name} = '{LATE + i}'" for i, name in enumerate(REFERRING))
            last = "(select id from post order by length(id) desc, id desc limit 1)"
            run(f"update post set {late}, likes = 9007199254740991 where id = {last}")
            run(f"insert into post (id, author, text, {same}) select '{LATE}', author, 'y', {same} from post limit 1")
            run("update account set username = 'odd' where node = 0")
            for node, name in enumerate(NAMED, 3):
                run(f"update account set platform_id = '{LATE + node}', username = '{name}' where node = {node}")
        exported(connection, folder / "out", *FORMS, *(() if hidden else ("gexf", "graphml", "ids")), whole=False,
                 key=b"k" * 32 if hidden else None)  # fmt: skip
        exported(connection, folder / "all", *FORMS, whole=True, key=b"k" * 32 if hidden else None)
        told = rows(connection, f"select id, {', '.join(REFERRING)} from post")
    return folder, {row[0]: row[1:] for row in told}


REFERRING = ("conversation_id", "reply_to", "repost_of", "quote_of")


def call_of(tool, form):
    """The call by which the page reads a form of the table of posts."""
    (block,) = [
        text
        for text in re.findall(r"```\w+\n(.*?)```", PAGE, re.DOTALL)
        if text.startswith(TOOLS[tool]) and ".jsonl" in text
    ]
    (line,) = [line for line in block.splitlines() if f"data/posts.{form}" in line]
    return line.removeprefix("posts = ").rstrip(";")


def read(tool, folder, name, form):
    """The rows of a table as this program reads them."""
    line = call_of(tool, form).replace("data/posts.", f"{folder}/{name}.")
    if tool == "duckdb":
        with duckdb.connect() as connection:
            connection.execute("set timezone = 'UTC'")
            return connection.sql(line).to_arrow_table().to_pylist()
    frame = eval(line, {"pd": pd, "pl": pl})
    if tool == "polars":
        return frame.to_dicts()
    return frame.to_dict("records")


def truth(folder, name):
    """The cells of a table with ids or names, each as its text: read by a parser of JSON, which guesses nothing."""
    with (folder / f"{name}.jsonl").open(encoding="utf-8") as file:
        return [{key: row[key] for key in naming(name)} for row in map(json.loads, file)]


def naming(name):
    columns = next(sheet.columns for sheet in SHEETS if sheet.name == name)
    return [column.name for column in columns if column.is_id or column.holds in ("person", "username", "people")]


def plain(cell, form):
    """A cell as the JSON lines have it."""
    if form == "csv" and isinstance(cell, str):
        return json.loads(cell) if cell.startswith("[") else cell or None
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, float) and isnan(cell):  # as pandas has nothing
        return None
    return str(cell) if isinstance(cell, int) else cell


@pytest.mark.parametrize("hidden", [False, True], ids=["named", "pseudonymised"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tool", TOOLS)
def test_every_digit_of_every_id_is_there_when_a_table_is_read_as_documented(tool, form, hidden):
    folder, _ = export_of(hidden=hidden)
    for name in (sheet.name for sheet in SHEETS):
        expected = truth(folder / "all", name)
        assert expected or name in QUIET
        if expected or form != "jsonl":  # an empty file of JSON lines has no columns
            found = read(tool, folder / "all", name, form)
            assert [{key: plain(row[key], form) for key in naming(name)} for row in found] == expected, name


def test_the_ids_of_posts_are_those_of_the_database_in_every_form():
    folder, posts = export_of()
    assert posts[str(LATE)] == (None,) * 4
    assert len(posts) > MANY
    for form in FORMS:
        found = read("duckdb", folder / "all", "posts", form)
        assert {row["id"]: tuple(row[name] for name in REFERRING) for row in found} == posts


def test_a_reader_that_guesses_loses_what_the_documented_calls_keep():
    folder, posts = export_of()
    late = {key for refers in posts.values() for key in refers if key}
    guessed = pd.read_csv(folder / "all" / "posts.csv", low_memory=False)["repost_of"].dropna()
    assert not {str(int(cell)) for cell in guessed} & late
    with duckdb.connect() as connection:
        assert not connection.sql(
            f"select repost_of from read_json('{folder}/all/posts.jsonl') where repost_of is not null"
        ).fetchall()
    with pytest.raises(pl.exceptions.ComputeError):
        pl.read_ndjson(folder / "all" / "posts.jsonl")


def in_r(line, folder, name):
    """What R makes of a table by the call that the page shows: {column: cells}.

    - readr::read_csv: a column of type "c" has the cells as they stand in the file; those in `na` are NA. Any other
      column is guessed: cells that are numbers make it double.
    - jsonlite::stream_in: a text is character, a number is integer or double, null is NA.
    - arrow::read_parquet: strings are character, int64 is integer or integer64: whole.
    """
    if "read_csv" in line:
        types, nothing = re.search(r'cols\(\.default = "(\w)"\)', line), re.search(r'na = "(.*?)"', line)
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            head, *cells = csv.reader(file, strict=True)
        missing = [nothing[1]] if nothing else ["", "NA"]
        columns = {key: [None if cell in missing else cell for cell in column]
                   for key, column in zip(head, zip(*cells, strict=True), strict=True)}  # fmt: skip
        return columns if types and types[1] == "c" else {key: guessed(cells) for key, cells in columns.items()}
    if "stream_in" in line:
        with (folder / f"{name}.jsonl").open(encoding="utf-8") as file:
            told = [json.loads(text, parse_int=float) for text in file]
        return {key: [row[key] for row in told] for key in (told[0] if told else {})}
    table = parquet.read_table(folder / f"{name}.parquet")
    kinds = (pa.string(), pa.int64(), pa.list_(pa.string()))
    return {key: table[key].to_pylist() for key in table.column_names if table.schema.field(key).type in kinds}


def guessed(cells):
    with suppress(ValueError):
        return [None if cell is None else float(cell) for cell in cells]
    return cells


@pytest.mark.parametrize("hidden", [False, True], ids=["named", "pseudonymised"])
@pytest.mark.parametrize("form", FORMS)
def test_the_calls_documented_for_r_keep_every_digit_by_what_its_functions_are_known_to_do(form, hidden):
    folder, _ = export_of(hidden=hidden)
    (block,) = re.findall(r"```r\n(.*?)```", PAGE, re.DOTALL)
    (line,) = [line for line in block.splitlines() if f"data/posts.{form}" in line]
    for name in (sheet.name for sheet in SHEETS):
        if expected := truth(folder / "all", name):
            found = in_r(line, folder / "all", name)
            for key in naming(name):
                assert [plain(cell, form) for cell in found[key]] == [row[key] for row in expected], (name, key)
    if form == "csv" and not hidden:
        loose = in_r("readr::read_csv(f)", folder / "all", "posts")["repost_of"]
        assert str(LATE) not in {str(cell) for cell in loose}


@pytest.mark.parametrize(("form", "reader"), [("gexf", nx.read_gexf), ("graphml", nx.read_graphml)])
def test_the_network_names_accounts_without_a_known_username_by_all_digits_of_their_ids(form, reader):
    folder, _ = export_of()
    graph = reader(folder / "out" / f"mentions.{form}")
    accounts = {row["node"]: row["account"] or row["node"] for row in truth(folder / "out", "accounts")}
    told = {node: data["label"] for node, data in graph.nodes(data=True)}
    assert told == accounts
    assert set(NAMED) <= set(told.values())


def package_of(folder):
    return json.loads((folder / "datapackage.json").read_text("utf-8"))


def fits(cell, kind):
    """Whether a cell of a table as text is of a type of Table Schema."""
    if kind in ("integer", "number"):
        return (int if kind == "integer" else float)(cell) is not None
    if kind == "datetime":
        return datetime.fromisoformat(cell) is not None
    return {"string": True, "boolean": cell in ("true", "false"), "array": cell[:1] == "["}[kind]


@pytest.mark.parametrize("hidden", [False, True], ids=["named", "pseudonymised"])
def test_the_data_dictionary_tells_of_every_column_its_type_and_what_it_holds(hidden):
    folder, _ = export_of(hidden=hidden)
    package = package_of(folder / "all")
    sheet = json.loads((folder / "all" / "datasheet.json").read_text("utf-8"))
    assert [(r["path"], r["bytes"], r["hash"]) for r in package["resources"]] == [
        (file["name"], file["bytes"], f"sha256:{file['sha256']}") for file in sheet["files"]
    ]
    assert ("pseudonyms" in package["description"]) is hidden
    for resource in package["resources"]:
        name, _, form = resource["path"].partition(".")
        fields, keys = resource["schema"]["fields"], resource["schema"]["primaryKey"]
        assert all(len(field["description"]) > 3 for field in fields)
        kinds = {field["name"]: field["type"] for field in fields}
        assert {kinds[key] for key in naming(name)} <= {"string", "array"} | (
            {"integer"} if form == "parquet" else set()
        )
        if form == "parquet":
            names = parquet.read_schema(folder / "all" / resource["path"]).names
            assert names == [field["name"] for field in fields]
        if form == "csv":
            with (folder / "all" / resource["path"]).open(encoding="utf-8", newline="") as file:
                told = list(csv.DictReader(file, strict=True))
            assert all(fits(cell, kinds[key]) for row in told for key, cell in row.items() if cell)
            assert len({tuple(row[key] for key in keys) for row in told}) == len(told), resource["path"]


def test_the_dictionary_says_what_the_database_says_of_a_column():
    from socialcrawl.storage.schema.tables import post

    folder, _ = export_of()
    posts = next(r for r in package_of(folder / "out")["resources"] if r["path"] == "posts.csv")
    told = {field["name"]: field["description"] for field in posts["schema"]["fields"]}
    assert told["repost_of"] == post.c.repost_of.comment
    assert told["hashtags"] == post.c.hashtags.comment.removeprefix("JSON list of ")
    ids = next(r for r in package_of(folder / "out")["resources"] if r["path"] == "post_ids.txt")
    assert ids["dialect"] == {"header": False}
    assert [field["name"] for field in ids["schema"]["fields"]] == ["id"]
    network = next(r for r in package_of(folder / "out")["resources"] if r["path"] == "mentions.gexf")
    assert "schema" not in network


def test_the_datasheet_says_how_to_read_the_files_that_are_there(tmp_path):
    folder, _ = export_of()
    told = (folder / "all" / "datasheet.md").read_text("utf-8")
    assert all(words in told for words in ("datapackage.json", "dtype=str", "dtype=False", "sample_size=-1"))
    with opened(tmp_path / "a.db") as connection:
        crawled(connection)
        exported(connection, tmp_path / "out", "ids")
    told = (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    assert "datapackage.json" in told
    assert "dtype" not in told


def test_an_export_of_before_dictionaries_keeps_a_file_of_that_name_which_somebody_put_beside_it(tmp_path):
    from socialcrawl.errors import SettingsError

    with opened(tmp_path / "a.db") as connection:
        crawled(connection)
        sheet = exported(connection, tmp_path / "out", "csv")
        old = {key: value for key, value in sheet.items() if key != "dictionary"}
        (tmp_path / "out" / "datasheet.json").write_text(json.dumps(old), "utf-8")
        with pytest.raises(SettingsError, match=r"datapackage\.json, which is not of the export"):
            exported(connection, tmp_path / "out", "csv", force=True)
        (tmp_path / "out" / "datapackage.json").unlink()
        exported(connection, tmp_path / "out", "csv", force=True)
        exported(connection, tmp_path / "out", "jsonl", force=True)


@pytest.mark.parametrize("name", ["links", "accounts", "posts", "mentions"])
def test_exports_of_before_with_numbers_for_nodes_are_imported_as_the_new_ones(name, tmp_path):
    folder, _ = export_of(hidden=False)
    lines = [json.loads(line) for line in (folder / "out" / f"{name}.jsonl").read_text("utf-8").splitlines()[:200]]
    numbers = [key for key in lines[0] if key in ("node", "source", "target", "author_node")]
    assert all(isinstance(line[key], str) for line in lines for key in numbers)
    found = []
    for old in (False, True):
        told = [line | ({key: int(line[key]) for key in numbers} if old else {}) for line in lines]
        path = tmp_path / f"{name}-{old}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in told), "utf-8")
        with a_database("sqlite") as connection:
            _, trouble = brought(connection, path)
            assert trouble.count == 0, str(trouble)
            found.append(graph_of(connection))
    assert found[0] == found[1]
    assert found[0]
