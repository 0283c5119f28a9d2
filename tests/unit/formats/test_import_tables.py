"""Tables as spreadsheets write them: other marks between cells, other letters, rounded numbers."""

import csv

import pytest
from import_files import NOW, columns, drawn, files, long, table
from stores import a_database

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.lines import LineErrors
from socialcrawl.importers.import_posts import import_posts
from socialcrawl.importers.post_files import read_posts

SPREADSHEET = [
    ("id", "1.858E+18"), ("id", "1,858e18"), ("author_id", "1858000000000000000.0"), ("conversation_id", "12E3"),
    ("repost_of", "1858000000000000000."), ("quote_of", "1858000000000000000,00"), ("reply_to", " 1.85E+18 "),
]  # fmt: skip


@pytest.mark.parametrize(("column", "cell"), SPREADSHEET)
def test_ids_that_a_spreadsheet_rounded_are_refused(column, cell, tmp_path):
    cells = {"id": "7", "author": "ann", "created_at": "1", "text": "1.858E+18", column: cell}
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(cells))
        writer.writeheader()
        writer.writerows([cells, cells | {column: "1858000000000000001"}])
    trouble = LineErrors()
    (found,) = read_posts(tmp_path / "a.csv", long, trouble)
    assert [post.text for post in found.page.posts] == ["1.858E+18"]  # a text may say what it likes
    assert str(trouble).endswith(
        f"line 2: {column} was turned into the rounded number {cell.strip()!r}: keep ids as text"
    )


def test_a_table_that_is_not_utf8_is_refused_line_by_line(tmp_path):
    lines = [
        "id,author,created_at,text",
        "1,ann,1,plain",
        "2,ann,1,caf\u00e9",
        '3,ann,1,"two',
        'lines \u00e9"',
        "4,ann,1,x",
    ]
    path = tmp_path / "a.csv"
    path.write_bytes("\n".join(lines).encode("latin-1"))
    with a_database("sqlite") as connection:
        with pytest.raises(PostsFileError, match=r"2 bad lines(?s:.)*line 3: it is not UTF-8: save the file as UTF-8"):
            import_posts(files(path), connection, None, NOW)
        brought = import_posts(files(path, skip_bad=True), connection, None, NOW)
        assert table(connection, "select id, text from post order by id") == [("1", "plain"), ("4", "x")]
    assert [line.split(": ")[0].rpartition(" ")[2] for line in brought.trouble.first] == ["3", "5"]
    path.write_bytes("id,author,created_at,text,caf\u00e9\n".encode("latin-1"))
    with pytest.raises(PostsFileError, match="line 1: it is not UTF-8"):
        list(read_posts(path, long, LineErrors()))
    path.write_text("\n".join(lines), "utf-8")
    assert [post.text for found in read_posts(path, long, LineErrors()) for post in found.page.posts] == [
        "plain", "caf\u00e9", "two\nlines \u00e9", "x"]  # fmt: skip


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("case", [str, str.upper, str.title])
def test_tables_of_spreadsheets_are_read_whatever_stands_between_cells_and_however_columns_are_written(
    mark, case, tmp_path
):
    rows = list(columns(drawn()))
    plain, other = tmp_path / "a.csv", tmp_path / "b.csv"
    for path, between, head in ((plain, ",", str), (other, mark, case)):
        with path.open("w", newline="", encoding="utf-8-sig") as file:
            writer = csv.writer(file, delimiter=between)
            writer.writerow([head(name) for name in rows[0]])
            writer.writerows(
                [*list(row.values())[:4], "; ".join(row["mentions"]), *list(row.values())[5:]] for row in rows
            )
    one, two = ([found.page for found in read_posts(path, long, LineErrors())] for path in (plain, other))
    assert one == two
    assert sum(len(page.posts) for page in one) == len(rows)


def test_columns_whose_names_differ_in_case_only_are_told_apart(tmp_path):
    (tmp_path / "a.csv").write_text("id,ID,Author,created_at,text\n1,2,ann,1,x\n", "utf-8")
    (found,) = read_posts(tmp_path / "a.csv", long, LineErrors())
    assert [post.id for post in found.page.posts] == ["1"]
