import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from shared_data import needed

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.lines import LineErrors
from socialcrawl.importers.post_files import read_posts as imported
from socialcrawl.lab.post_table import read_posts

ROWS = [
    {"author": "Ann", "created_at": 1_700_000_000, "text": "hello @bob and @Cy", "id": "11"},
    {"author": "bob", "created_at": 1_700_000_060, "text": "mail bob@example.org, no mention", "id": "12"},
]


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_json_lines_are_read_with_mentions_from_the_text(tmp_path):
    posts = read_posts(_write(tmp_path / "p.jsonl", "\n".join(map(json.dumps, ROWS))))
    assert posts.authors == ["Ann", "bob"]
    assert posts.created_at.tolist() == [1_700_000_000, 1_700_000_060]
    assert posts.created_at.dtype == np.int64
    assert posts.ids == ["11", "12"]
    assert [posts.list_mentions(row) for row in range(2)] == [["bob", "Cy"], []]
    assert len(posts) == 2


def test_compressed_json_lines_and_csv_are_read(tmp_path):
    lines = tmp_path / "p.ndjson.gz"
    lines.write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode()))
    table = tmp_path / "p.csv.gz"
    table.write_bytes(gzip.compress(b"author,created_at,text\nAnn,5,hi\n"))
    assert read_posts(lines).texts == [row["text"] for row in ROWS]
    assert read_posts(table).texts == ["hi"]


@pytest.mark.parametrize("cell", ['["bob", "@cy"]', "bob cy", "bob,cy", "@bob; cy"])
def test_mentions_in_csv_are_a_json_list_or_separated_names(tmp_path, cell):
    quoted = '"' + cell.replace('"', '""') + '"'
    posts = read_posts(_write(tmp_path / "p.csv", f"author,created_at,text,mentions\nann,5,hi,{quoted}\ndee,6,x,\n"))
    assert [posts.list_mentions(row) for row in range(2)] == [["bob", "cy"], []]


def test_a_csv_text_may_span_lines_and_look_like_nothing(tmp_path):
    posts = read_posts(_write(tmp_path / "p.csv", 'author,created_at,text\nann,5,"one\ntwo"\n007,6,NA\n'))
    assert posts.texts == ["one\ntwo", "NA"]
    assert posts.authors == ["ann", "007"]


@pytest.mark.parametrize(
    ("cell", "second"),
    [
        ("1700000000", 1_700_000_000),
        ("1700000000.9", 1_700_000_000),
        ("2023-11-14T22:13:20Z", 1_700_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000),
        ("2023-11-14 22:13:20", 1_700_000_000),
        ("1970-01-01", 0),
    ],
)
def test_times_are_unix_seconds_or_iso_text(tmp_path, cell, second):
    assert read_posts(_write(tmp_path / "p.csv", f"author,created_at,text\na,{cell},x\n")).created_at.tolist() == [
        second
    ]


def test_numbers_and_iso_text_may_be_mixed_in_one_column(tmp_path):
    posts = read_posts(_write(tmp_path / "p.csv", "author,created_at,text\na,5,x\na,1970-01-01T00:00:06Z,x\n"))
    assert posts.created_at.tolist() == [5, 6]


def test_parquet_keeps_lists_times_and_unknown_cells(tmp_path):
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    path = tmp_path / "p.parquet"
    parquet.write_table(
        pa.table(
            {
                "author": ["@Ann", "bob", "cy"],
                "created_at": pa.array([moment] * 3, pa.timestamp("ms", tz="UTC")),
                "text": ["x", None, "z"],
                "mentions": pa.array([["bob", "", "@cy"], None, []], pa.list_(pa.string())),
                "reply_to": [None, "Ann", ""],
                "lang": ["fr", None, "en"],
            }
        ),
        path,
    )
    posts = read_posts(path)
    assert posts.authors == ["Ann", "bob", "cy"]
    assert posts.texts == ["x", "", "z"]
    assert posts.created_at.tolist() == [int(moment.timestamp())] * 3
    assert [posts.list_mentions(row) for row in range(3)] == [["bob", "cy"], [], []]
    assert posts.reply_to == [None, "Ann", None]
    assert posts.lang == ["fr", "und", "en"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.csv", "author,words\na,b\n", r"lacks the columns created_at, text; it has author, words"),
        ("p.csv", "author,created_at,text\n", r"has no rows"),
        ("p.csv", "author,created_at,text\na,5,x\nb,soon,y\n", r"row 2: created_at is 'soon'"),
        ("p.csv", "author,created_at,text\na,1700000000000,x\n", r"row 1: .*milliseconds are too large"),
        ("p.csv", "author,created_at,text\na,5,x\n,6,y\n", r"row 2: the author is empty"),
        ("p.csv", "author,created_at,text,mentions\na,5,x,[bob\n", r"row 1: mentions is not a JSON list"),
        ("p.csv", "author,created_at,text,id\na,5,x,7\na,5,x,7\n", r"the id '7' more than once"),
        ("p.csv", "author,created_at,text\na,5,x\na,6\n", r"line 3: it has more or fewer cells than the header"),
        ("p.csv", 'author,created_at,text\na,5,"x\n', r"line 2: unexpected end of data"),
        ("p.csv", "author,created_at,text\na,5," + "x" * 3_000_000, r"p\.csv, line 2: it is longer than 1 MB"),
        ("p.jsonl", '{"author": "a"}\n\n{"author": ', r"p\.jsonl, line 3: it is damaged JSON"),
        ("p.jsonl", '{"author": "a"}\n[1]', r"p\.jsonl, line 2: it is not a JSON object"),
        ("p.jsonl", '{"author": "a", "created_at": [5], "text": "x"}', r"created_at has the type list"),
        ("p.jsonl", '{"author": "a", "created_at": 5, "text": "x", "mentions": 5}', r"mentions has the type int64"),
        ("p.parquet", "PAR1 and no more", r"cannot be read"),
        ("p.parquet", "no parquet", r"lacks the columns author, created_at, text; it has no parquet"),
        ("p.txt", "\0", r"of no known kind"),
        ("p.txt", "", r"is empty"),
    ],
)
def test_a_bad_file_is_refused_with_file_place_and_remedy(tmp_path, name, text, said):
    path = _write(tmp_path / name, text)
    with pytest.raises(PostsFileError, match=said) as failure:
        read_posts(path)
    assert str(path) in str(failure.value)
    assert str(failure.value).endswith((".", ")."))


TABLES = {
    "semicolons": 'Author;Created_At;TEXT;mentions\nann;5;"one, two";bob, cy\nbob;6;x;\n',
    "tabs": "author\tcreated_at\ttext\tmentions\nann\t5\tone, two\tbob cy\nbob\t6\tx\t\n",
    "a mark": '\ufeffauthor,created_at,text,mentions\nann,5,"one, two","bob, cy"\nbob,6,x,\n',
    "line ends": 'author,created_at,text,mentions\r\nann,5,"one, two",bob cy\r\n\r\nbob,6,x,\r\n',
}


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "posts"])
@pytest.mark.parametrize("kind", TABLES)
def test_the_lab_reads_every_table_that_an_import_reads_as_the_import_does(tmp_path, name, kind):
    path = _write(tmp_path / name, TABLES[kind])
    mine, trouble = read_posts(path), LineErrors()
    (theirs,) = imported(path, lambda *_: 0, trouble)
    assert trouble.count == 0
    assert mine.texts == [post.text for post in theirs.page.posts] == ["one, two", "x"]
    assert mine.authors == [theirs.get_author(i).username for i in range(2)] == ["ann", "bob"]
    assert mine.list_mentions(0) == [mention.who.username for mention in theirs.page.mentions] == ["bob", "cy"]
    assert mine.created_at.tolist() == [5, 6]


def test_a_file_is_told_by_what_is_in_it_and_not_by_its_name(tmp_path):
    lines = "\n".join(map(json.dumps, ROWS))
    assert read_posts(_write(tmp_path / "p.csv", lines)).ids == ["11", "12"]
    (tmp_path / "posts").write_bytes(gzip.compress(lines.encode()))
    assert read_posts(tmp_path / "posts").ids == ["11", "12"]


def test_a_line_of_json_may_be_longer_than_a_megabyte(tmp_path):
    rows = [ROWS[0] | {"text": "x" * 3_000_000}, ROWS[1]]
    posts = read_posts(_write(tmp_path / "p.jsonl", "\n".join(map(json.dumps, rows))))
    assert [len(text) for text in posts.texts] == [3_000_000, len(ROWS[1]["text"])]


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(PostsFileError, match=r"There is no file .*nowhere\.csv"):
        read_posts(tmp_path / "nowhere.csv")


def test_a_recorded_file_is_read_whole():
    path = needed("data/ubuntu_irc.parquet")
    posts = read_posts(path)
    table = parquet.read_table(path)
    assert posts.texts == table["text"].to_pylist()
    assert [posts.list_mentions(row) for row in range(2000)] == table["mentions"].slice(0, 2000).to_pylist()
    assert posts.mention_offsets[-1] == len(posts.mentioned) == 91_287
