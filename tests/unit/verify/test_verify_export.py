"""`socialcrawl verify FOLDER`: exports of every kind of campaign agree with themselves; every lie is found."""

import csv
import hashlib
import io
import json
import shutil
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from commands import socialcrawl
from pyarrow import parquet
from rich.console import Console
from stores import opened
from verified_campaigns import DECIDED, MADE, checks, copied, lasting
from x_crawls import rows, scratch

from socialcrawl.cli.commands.forget import ErasureOptions, forget
from socialcrawl.cli.commands.verify import prove
from socialcrawl.engine.model import parse_time
from socialcrawl.errors import StoreError
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.exporters.restore import DECISIONS, TABLES
from socialcrawl.importers.export_tables import COLUMNS, read_table
from socialcrawl.importers.exported_datasets import FORMATS
from socialcrawl.storage.database.address import parse_address
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.verify.exported import ACTIVE_ONLY, HIDDEN, RENUMBERED, verify_export

OUTSIDE = {"name": "../a", "bytes": 1, "sha256": "", "rows": 0}
KEY = b"a key that nobody else has, of 32 bytes"
NOW = 1_800_000_000.0


@lru_cache
def exported(kind, *forms, key=None, **more):
    """The folder of an export of a campaign of that kind, which nobody changes."""
    folder = scratch() / "out"
    with opened(lasting(kind)) as connection:
        export(connection, folder, ExportOptions(formats=forms, key=key, **more), NOW)
    return folder


def found_in(folder):
    """The checks of an export: {(which part, name): check}."""
    return {(one.about, check.name): check for one in verify_export(folder) for check in one.checks}


def differences(folder):
    return [(name, one.place, one.column) for (_, name), check in found_in(folder).items() for one in check.differences]


@pytest.mark.parametrize("kind", MADE)
def test_an_export_in_every_form_agrees_with_itself(kind):
    folder, database = exported(kind, "parquet", "csv", "jsonl", "ids", "gexf"), lasting(kind)
    found = found_in(folder)
    assert not [one for check in found.values() for one in check.differences]
    files = {path.name for path in folder.iterdir()} - {"datasheet.json", "datasheet.md", "datapackage.json"}
    assert found[f"files of {folder}", "checksums"].proved == len(files) > 30
    assert found[f"files of {folder}", "rows of files"].proved == len(files) - 1  # the network is no table
    count = {name: rows(database, f"select count(*) from {name}")[0][0] for name in ("post", "hit", "outcome", "link")}
    decided = checks(database)
    imported = "select count(*) from outcome join pick using (campaign, n) where act in ('import', 'resolve')"
    for form in ("parquet", "csv", "jsonl"):
        one = {name: check for (about, name), check in found.items() if about == f"{form} of the export"}
        for name in DECIDED & decided.keys():
            assert (one[name].proved, one[name].unproved) == (decided[name].proved, decided[name].unproved)
        assert one["picks"].proved >= 40
        assert one["matches"].proved == count["hit"]
        assert one["outcomes"].proved >= count["outcome"] - rows(database, imported)[0][0] > 0
        assert one["link weights"].proved + one["link weights"].unproved.total() == count["link"]
        assert one["origins of posts"].proved == count["post"]
        assert one["posts of the datasheet"].proved == 7
        assert one["copied columns"].proved > 4 * count["post"] + 2 * count["link"]
        assert not one["copied columns"].unproved
        assert one["settings of the datasheet"].proved > 20


@pytest.mark.parametrize("kind", MADE)
def test_every_form_of_a_table_has_the_same_cells(kind):
    folder = exported(kind, "parquet", "csv", "jsonl", "ids", "gexf")
    for table, names in {**TABLES, **DECISIONS}.items():
        columns = [next(column for column in COLUMNS[table] if column.name == name) for name in names]

        def plain(row, columns=columns):
            pairs = zip(columns, row, strict=True)
            return [parse_time(cell) if column.kind == "time" and cell is not None else cell for column, cell in pairs]

        one, two, three = (list(map(plain, read_table(folder, table, form, names))) for form in FORMATS)
        assert one == two == three
        assert one or table not in ("accounts", "picks", "links", "requests", "versions")


@pytest.mark.parametrize("kind", ["collect", "sample"])
def test_without_names_and_texts_the_sums_are_proved_all_the_same(kind):
    found = found_in(exported(kind, "csv", key=KEY, safe_csv=True))
    assert not [one for check in found.values() for one in check.differences]
    one = {name: check for (about, name), check in found.items() if about == "csv of the export"}
    assert [*one["matches"].unproved] == [HIDDEN]
    assert (one["picks"].proved, [*one["picks"].unproved]) == (0, [RENUMBERED])
    assert one["outcomes"].proved > 30
    assert one["link weights"].proved > 100
    assert (one["copied columns"].proved > 1000, one["copied columns"].unproved.total()) == (True, 0)


def test_an_export_after_an_erasure_agrees(tmp_path):
    database = copied("collect", tmp_path)
    (name,) = rows(database, "select username from pick join account using (node) where act = 'expand'")[0]
    forget(database, ErasureOptions(yes=True, as_json=True), read_order([name], [], None, None), "x")
    with opened(database) as connection:
        export(connection, tmp_path / "out", ExportOptions(formats=("csv",)), NOW)
    assert differences(tmp_path / "out") == []


def test_an_export_of_active_accounts_is_proved_by_its_checksums_only():
    found = found_in(exported("refresh", "parquet", active=True))
    assert found["tables", "sums"].unproved == {ACTIVE_ONLY: 1}
    assert not any(check.differing for check in found.values())


def changed(folder, file, work, *, honest=False):
    """Change the rows of a CSV file; with `honest` its new size and checksum are told everywhere."""
    path = folder / file
    with path.open(encoding="utf-8", newline="") as text:
        table = list(csv.DictReader(text))
    before = [dict(row) for row in table]
    table = work(table) or table
    assert table != before
    with path.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, before[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    if honest:
        write_checksum(folder, file, len(table))


def write_checksum(folder, file, count):
    """Tell the new size, checksum and rows of a file in datasheet.json and in what is made of it."""
    sheet, raw = json.loads((folder / "datasheet.json").read_text("utf-8")), (folder / file).read_bytes()
    (one,) = [one for one in sheet["files"] if one["name"] == file]
    one |= {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest(), "rows": count}
    describe(folder, sheet)


def describe(folder, sheet):
    """Write another datasheet.json, and what is made of it."""
    from socialcrawl.exporters import data_dictionary, datasheet

    (folder / "datasheet.json").write_text(json.dumps(sheet), "utf-8")
    (folder / "datasheet.md").write_text(datasheet.render_page(sheet), "utf-8")
    (folder / "datapackage.json").write_text(json.dumps(data_dictionary.make_package(sheet)), "utf-8")


def first(table, **values):
    return next(row for row in table if all(row[name] == value for name, value in values.items()))


def read_pick(table):
    return next(row for row in table if row["act"] == "expand" and int(row["occurrences"] or 0) > 1)


def put(row, **values):
    row.update(values)


LIES = {
    "the value of a pick": ("picks.csv", lambda t: put(read_pick(t), value="9.0"), "value: stored 9.0"),
    "the occurrences of a pick": ("picks.csv", lambda t: put(read_pick(t), occurrences="1"), "occurrences: stored 1,"),
    "a pick that is removed": ("picks.csv", lambda t: t[:20] + t[21:], "pick 21, n: stored the decision before it"),
    "the weight of a link": ("links.csv", lambda t: put(t[50], alpha="77.0"), "stored 77.0"),
    "a link that is removed": ("links.csv", lambda t: t[:-1], "link to account"),
    "a match that is removed": ("hits.csv", lambda t: t[1:], "occurrences: stored 0, recomputed"),
    "the occurrences of a match": ("hits.csv", lambda t: put(t[0], occurrences="77"), "occurrences: stored 77,"),
    "a mention that is removed": ("mentions.csv", lambda t: t[1:], "link"),
    "a post that is removed": ("posts.csv", lambda t: t[1:], "stored nothing, recomputed read by pick"),
    "a post that is given twice": ("posts.csv", lambda t: [*t, t[0]], "posts.csv, rows with the key of another:"),
    "the text of a post": ("posts.csv", lambda t: put(first(t, occurrences="1"), text="x"), "occurrences: stored 1,"),
    "the cost of a request": (
        "requests.csv",
        lambda t: put(next(row for row in t if int(row["cost"] or 0) > 3000), cost="7"),
        "cost: stored 7, recomputed",
    ),
    "a request that is removed": ("requests.csv", lambda t: t[:-1], "datasheet.json, requests of /2/"),
    "who was asked": ("picks.csv", lambda t: put(read_pick(t), account="somebody"), "account: stored somebody, recom"),
    "who links": ("links.csv", lambda t: put(t[50], source_account="somebody"), "source_account: stored somebody,"),
    "who is linked to": ("links.csv", lambda t: put(t[50], target_account=""), "target_account: stored nothing, recom"),
    "who wrote a post": ("posts.csv", lambda t: put(t[7], author="somebody"), "author: stored somebody, recomputed"),
    "the id of who wrote a post": (
        "posts.csv",
        lambda t: put(t[7], author_id="77"),
        "author_id: stored 77, recomputed",
    ),
    "the occurrences of a post": ("posts.csv", lambda t: put(t[7], occurrences="77"), ", occurrences: stored 77, reco"),
    "whom a post mentions": (
        "posts.csv",
        lambda t: put(t[7], mentions='["x"]'),
        ", mentions: stored ['x'], recomputed",
    ),
    "who is mentioned": ("mentions.csv", lambda t: put(t[7], account="somebody"), "account: stored somebody, recompu"),
    "the id of who is mentioned": (
        "mentions.csv",
        lambda t: put(t[7], account_id="77"),
        "account_id: stored 77, recom",
    ),
    "what an account is called": ("accounts.csv", lambda t: put(t[7], account="somebody"), "account: stored somebody,"),
    "how an account was drawn": (
        "picks.csv",
        lambda t: put(read_pick(t), drawn="all"),
        "drawn: stored all, recomputed nothing",
    ),
    "a number that is none": ("picks.csv", lambda t: put(t[0], n="none"), "tables as csv, rows: stored"),
}


@pytest.mark.parametrize("honest", [False, True], ids=["careless", "thorough"])
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_ends_the_command_with_1_and_is_told_where_it_is(lie, honest, tmp_path):
    """Who changes a file has other checksums; who tells these anew as well is found by the sums."""
    folder = shutil.copytree(exported("collect", "csv"), tmp_path / "out")
    file, work, said = LIES[lie]
    changed(folder, file, work, honest=honest)
    screen = io.StringIO()
    assert prove(parse_address(str(folder)), None, Console(file=screen), as_json=False) == 1
    told = [line for line in screen.getvalue().splitlines() if line.startswith("differs: ")]
    assert [line for line in told if said in line], told
    assert any(line.startswith(f"differs: {file}, sha256: ") for line in told) != honest


SHEETS = {
    "how many posts": ("posts.posts", 1),
    "how many authors": ("posts.authors", 1),
    "how many posts came by no request": ("posts.unasked", 1),
    "when the first post was written": ("posts.first", "2009-01-01T00:00:00.000Z"),
    "when the last post was written": ("posts.last", None),
    "when the last post was fetched": ("posts.fetched_last", "2049-01-01T00:00:00Z"),
    "when the first request was sent": ("began", "2009-01-01T00:00:00.000Z"),
    "when the last answer came": ("ended", "2049-01-01T00:00:00Z"),
    "whom it began with": ("seeds", ["somebody"]),
    "how many accounts are suspended": ("gaps.missing.suspended", 1),
    "how many answers were lost": ("gaps.lost", 0),
    "how many picks are open": ("gaps.picks_without_outcome", 7),
}


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("lie", SHEETS)
def test_what_the_datasheet_alone_tells_otherwise_is_found(lie, form, tmp_path):
    key, value = SHEETS[lie]
    folder = shutil.copytree(exported("collect", form), tmp_path / "out")
    sheet = json.loads((folder / "datasheet.json").read_text("utf-8"))
    of_posts = key.startswith("posts")
    *sections, last = key.split(".")
    told = sheet if of_posts else sheet["campaigns"][0]
    for section in sections:
        told = told[section]
    told[last] = value
    describe(folder, sheet)
    check = "posts of the datasheet" if of_posts else "sums of the datasheet"
    assert differences(folder) == [(check, "datasheet.json", key)]


def test_what_a_test_of_life_found_is_the_same_in_all_tables_and_in_the_datasheet(tmp_path):
    folder = shutil.copytree(exported("refresh", "csv"), tmp_path / "out")
    with (folder / "liveness.csv").open(encoding="utf-8", newline="") as text:
        row = list(csv.DictReader(text))[3]
    changed(folder, "liveness.csv", lambda t: put(t[3], status="cheerful"), honest=True)
    place = f"liveness, campaign {row['campaign']}, node {row['node']}"
    assert differences(folder) == [("copied columns", place, "status")]
    sheet = json.loads((folder / "datasheet.json").read_text("utf-8"))
    sheet["campaigns"][0]["liveness"]["active"] += 1
    describe(folder, sheet)
    assert ("sums of the datasheet", "datasheet.json", "liveness.active") in differences(folder)


def test_a_changed_copy_is_found_in_its_row_also_where_people_have_pseudonyms(tmp_path):
    folder = shutil.copytree(exported("collect", "csv", key=KEY, safe_csv=True), tmp_path / "out")
    with (folder / "links.csv").open(encoding="utf-8", newline="") as text:
        row = list(csv.DictReader(text))[50]
    changed(folder, "links.csv", lambda t: put(t[50], target_account="somebody"), honest=True)
    place = f"links, campaign {row['campaign']}, n {row['n']}, position {row['position']}"
    assert differences(folder) == [("copied columns", place, "target_account")]


def test_a_changed_parquet_file_is_found(tmp_path):
    folder = shutil.copytree(exported("collect", "parquet"), tmp_path / "out")
    table = parquet.read_table(folder / "picks.parquet")
    place = table.column_names.index("value")
    table = table.set_column(place, "value", pc.add(table["value"], pa.scalar(1.0)))
    parquet.write_table(table, folder / "picks.parquet")
    write_checksum(folder, "picks.parquet", table.num_rows)
    found = found_in(folder)["parquet of the export", "outcomes"]
    assert found.differing == rows(lasting("collect"), "select count(*) from pick where act <> 'resolve'")[0][0]


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda folder: (folder / "hits.csv").unlink(), "hits.csv, file: stored listed in the datasheet"),
        (lambda folder: edited(folder, "dollars", 1.0), "datasheet.json, dollars: stored 1.0, recomputed"),
        (
            lambda folder: edited(folder, "files", [OUTSIDE]),
            "../a, file: stored",
        ),
        (lambda folder: (folder / "datasheet.md").write_text("x"), "datasheet.md, text: stored another"),
        (lambda folder: (folder / "datapackage.json").write_text("x"), ", descriptions: stored cannot be read"),
    ],
)
def test_what_is_wrong_beside_the_tables_is_found_too(work, said, tmp_path):
    folder = shutil.copytree(exported("collect", "csv"), tmp_path / "out")
    work(folder)
    screen = io.StringIO()
    assert prove(parse_address(str(folder)), None, Console(file=screen), as_json=False) == 1
    assert said in screen.getvalue()


def edited(folder, key, value):
    path = folder / "datasheet.json"
    sheet = json.loads(path.read_text("utf-8"))
    if key == "dollars":
        sheet["campaigns"][0][key] = value
    else:
        sheet[key] += value
    path.write_text(json.dumps(sheet), "utf-8")


def test_a_folder_without_an_export_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(StoreError, match="is not an export that can be read"):
        list(verify_export(tmp_path))
    (tmp_path / "datasheet.json").write_text('{"format": "another"}')
    with pytest.raises(StoreError, match="is not an export of socialcrawl: name a folder of `export`, or a database"):
        list(verify_export(tmp_path))


def test_the_command_says_what_an_export_cannot_prove():
    done = socialcrawl("verify", exported("collect", "csv", key=KEY, safe_csv=True))
    assert done.returncode == 0, done.stderr
    assert "pseudonymised: its accounts have other numbers and its settings are left out" in done.stdout
    assert "Everything that can be checked agrees." in done.stdout
    told = json.loads(socialcrawl("verify", exported("collect", "csv"), "--json").stdout)
    assert told["agrees"] is True
    assert told["verified"][0]["checks"][0]["name"] == "checksums"
