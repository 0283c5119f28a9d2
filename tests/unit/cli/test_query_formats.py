"""Rows as CSV, TSV, JSON and NDJSON: each is written before the next is read, and readers of others read them."""

import csv
import io
import json

import pytest

from socialcrawl.cli.commands.check import check
from socialcrawl.cli.commands.sql import STYLES, write
from socialcrawl.render.console import make_console

COLUMNS = ["id", "text", "id"]
ROWS = [(1, "tab\there", None), (2, 'quote " and\nline', 2.5), (3, "=cmd()", float("inf"))]
TEXT_STYLES = [style for style in STYLES if style != "table"]


def written(capsys, style, rows=ROWS, **more):
    write(COLUMNS, iter(rows), style, **more)
    return capsys.readouterr().out


def test_tsv_is_csv_with_tabs(capsys):
    read = list(csv.reader(io.StringIO(written(capsys, "tsv"), newline=""), delimiter="\t"))
    assert read == [COLUMNS, ["1", "tab\there", ""], ["2", 'quote " and\nline', "2.5"], ["3", "=cmd()", "inf"]]
    assert "'=cmd()" in written(capsys, "tsv", safe_csv=True)


def test_ndjson_is_one_object_a_line_and_the_same_as_json(capsys):
    lines = written(capsys, "ndjson").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(written(capsys, "json"))
    assert json.loads(lines[2]) == {"id": 3, "text": "=cmd()", "id_2": None}


@pytest.mark.parametrize(("style", "empty"), [("json", "[]\n"), ("ndjson", ""), ("csv", "id,text,id\n")])
def test_an_answer_without_rows(capsys, style, empty):
    assert written(capsys, style, []) == empty


@pytest.mark.parametrize("style", TEXT_STYLES)
def test_a_row_is_written_before_the_next_is_read(capsys, style):
    """So memory does not grow with the answer."""

    def rows():
        for number in range(50):
            yield (number, f"text-{number}", None)
            assert f"text-{number}" in capsys.readouterr().out

    write(COLUMNS, rows(), style)


def test_files_are_checked_for_scripts(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.toml").write_text(
        'name = "good"\n[topic]\nkeywords = ["a"]\n[crawl]\nsteps = 3\n[budget]\nmax_money = 5.0\n'
    )
    (tmp_path / "bad.toml").write_text('name = "bad"\n[topic]\nkeyword = ["a"]\n')
    assert check([tmp_path / "good.toml", tmp_path / "bad.toml"], make_console(), as_json=True) == 2
    told = json.loads(capsys.readouterr().out)
    good, bad = told["files"]
    assert (told["valid"], good["campaign"], good["errors"], bad["campaign"]) == (False, "good", [], None)
    assert "keywords" in bad["errors"][0]
