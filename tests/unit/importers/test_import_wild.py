"""Files of any content: what is no post is a bad row, what is one goes into both databases; never a traceback."""

import csv
import gzip
import json
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from import_files import NOW, files, table
from limited_memory import limited
from stores import a_database

from socialcrawl.campaign.settings import read
from socialcrawl.errors import PostsFileError, SocialcrawlError
from socialcrawl.formats.lines import LineErrors
from socialcrawl.importers.account_cells import CellAccounts
from socialcrawl.importers.dataset_files import read_datasets
from socialcrawl.importers.import_posts import find_seeds, import_posts
from socialcrawl.importers.post_columns import KNOWN

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
ODD = [
    "",
    "\0",
    "a\0b",
    "\ufeff",
    "\u2028",
    "\x85",
    "é😀",
    '"',
    "[",
    '["a"',
    "@a",
    "RT @b: x",
    "1e5",
    "-1",
    "9" * 30,
    "[" * 300,
]
TEXT = st.sampled_from(ODD) | st.text(max_size=6)
NUMBER = (
    st.sampled_from([0, 1, -1, 2**31, 2**53, 2**63 - 1, 2**64 - 1, 10**30, 0.5, 1e300]) | st.integers() | st.floats()
)
CELL = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
GOOD = {"id": "1", "author": "ann", "created_at": 1_600_000_000, "text": "a telescope"}
X_KEYS = ("data", "includes", "author_id", "user", "full_text", "public_metrics", "entities", "__twarc", "errors")
CHANGES = st.dictionaries(st.sampled_from((*KNOWN, *X_KEYS)), CELL, max_size=4)
NESTED = b'{"author": "a", "created_at": 1, "text": "\\u0000", "original": ' + b"[" * 1010 + b"]" * 1010 + b"}"
LINE = CHANGES.map(lambda changes: json.dumps({**GOOD, **changes}).encode()) | st.binary(max_size=20)
LINE |= st.sampled_from(
    [
        NESTED,
        NESTED.replace(b"\\u0000", b"x"),
        b'{"author": "\\ud800"}',
        b"\xff",
        b'{"a":' * 2000,
        b"{}",
        b"[]",
        b'{"data": [null]}',
    ]
)


@contextmanager
def refused_by_name(path):
    """What is done meanwhile succeeds, or says which file cannot be read."""
    try:
        yield
    except SocialcrawlError as error:
        told = str(error)
    else:
        return
    assert str(path) in told


def stored(path, connection):
    """The posts that were read from a file, bad rows left out, and those that are in the database then."""
    with connection.begin():
        connection.exec_driver_sql("delete from mention")
        connection.exec_driver_sql("delete from post")
    with refused_by_name(path):
        brought = import_posts(files(path, skip_bad=True), connection, None, NOW)
        return brought.stored.posts, table(connection, "select count(*) from post")[0][0]
    return 0, 0


@BOTH
def test_whatever_json_lines_hold_their_posts_go_into_the_database(kind, tmp_path):
    path = tmp_path / "a.jsonl"
    with a_database(kind) as connection:

        @settings(deadline=None, max_examples=many(80))
        @given(st.lists(LINE, max_size=3))
        def lines(given):
            path.write_bytes(b"\n".join([json.dumps(GOOD).encode(), *given]))
            read_now, kept = stored(path, connection)
            assert 1 <= kept <= read_now

        lines()


@BOTH
def test_whatever_csv_holds_its_posts_go_into_the_database(kind, tmp_path):
    path = tmp_path / "a.csv"
    rows = st.lists(st.lists(TEXT | NUMBER.map(str), min_size=1, max_size=7), max_size=4)
    with a_database(kind) as connection:

        @settings(deadline=None, max_examples=many(80))
        @given(st.lists(st.sampled_from(KNOWN), max_size=3), rows, st.sampled_from(",;\t"), st.binary(max_size=9))
        def tables(names, rows, mark, end):
            text = StringIO()
            written = csv.writer(text, delimiter=mark)
            written.writerow([*GOOD, *names])
            written.writerow([*GOOD.values(), *([""] * len(names))])
            written.writerows(rows)
            path.write_bytes(text.getvalue().encode() + end)
            read_now, kept = stored(path, connection)
            assert kept <= read_now

        tables()


COLUMNS = [
    pa.array([None, "a\0b", "é"], pa.string()),
    pa.array([b"\xff\xfe", b"a", None], pa.binary()),
    pa.array([b"\xff\xfe", b"a", b"\xed\xa0\x80"], pa.binary()).view(pa.string()),  # no UTF-8; a lone surrogate
    pa.array(["x", None, "y"], pa.large_string()),
    pa.array(["x", None, "y"], pa.string_view()),
    pa.array(["x", None, "x"]).dictionary_encode(),
    pa.array([0.5, float("nan"), float("-inf")]),
    pa.array([1, -1, 2**63 - 1]),
    pa.array([1, 2, 2**64 - 1], pa.uint64()),
    pa.array([Decimal("1.50"), Decimal(10**20), None], pa.decimal128(38, 2)),
    pa.array([0, 2**62, -(2**62)], pa.timestamp("ms")),
    pa.array([1, 2**62, -(2**62)], pa.timestamp("ns")),
    pa.array([1, 2**62, None], pa.timestamp("us", "Europe/Rome")),
    pa.array([0, 2**31 - 1, -(2**31)], pa.date32()),
    pa.array([0, 86_399, None], pa.time32("s")),
    pa.array([0, 2**62, None], pa.duration("s")),
    pa.array([True, False, None]),
    pa.array([["a", None], [], None]),
    pa.array([["a"], ["b"], ["c"]], pa.list_(pa.string(), 1)),
    pa.array([[["a"]], [[], None], None]),
    pa.array([{"a": 1}, None, {"a": None}]),
    pa.array([[("k", "v")], [], None], pa.map_(pa.string(), pa.string())),
    pa.array([None, None, None], pa.null()),
]
PLAIN = {name: pa.array([value] * 3) for name, value in GOOD.items()} | {"id": pa.array(["1", "2", "3"])}
CHANGED = st.dictionaries(st.sampled_from(KNOWN), st.sampled_from(range(len(COLUMNS))), min_size=1, max_size=3)
OPTIONS = st.fixed_dictionaries(
    {
        "use_dictionary": st.booleans(),
        "store_schema": st.booleans(),
        "compression": st.sampled_from(["none", "snappy", "gzip", "zstd", "brotli", "lz4"]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "row_group_size": st.sampled_from([1, 2, 3]),
    }
)


@BOTH
def test_whatever_columns_parquet_has_its_posts_go_into_the_database(kind, tmp_path):
    path = tmp_path / "a.parquet"
    with a_database(kind) as connection:

        @settings(deadline=None, max_examples=many(100))
        @given(CHANGED, OPTIONS)
        def tables(changed, options):
            pq.write_table(pa.table(PLAIN | {name: COLUMNS[place] for name, place in changed.items()}), path, **options)
            read_now, kept = stored(path, connection)
            assert kept <= read_now <= 3

        tables()


@pytest.mark.parametrize("place", range(len(COLUMNS)), ids=lambda place: str(COLUMNS[place].type))
@pytest.mark.parametrize("name", ["original", "likes", "created_at"])
def test_a_column_of_any_type_is_read_or_its_rows_are_bad(name, place, tmp_path):
    pq.write_table(pa.table(PLAIN | {name: COLUMNS[place]}), tmp_path / "a.parquet")
    with a_database("sqlite") as connection:
        brought = import_posts(files(tmp_path / "a.parquet", skip_bad=True), connection, None, NOW)
        assert brought.stored.posts + brought.trouble.count == 3


@settings(deadline=None, max_examples=many(100))
@given(st.lists(st.sampled_from(range(len(COLUMNS))), min_size=1, max_size=3), st.booleans(), OPTIONS)
def test_a_dataset_of_columns_of_any_type_is_read_or_its_rows_are_bad(tmp_path_factory, places, named, options):
    path = tmp_path_factory.mktemp("a") / "a.parquet"
    names = ["source", "target", "weight"] if named else ["a", "b", "c"]
    pq.write_table(
        pa.table({name: COLUMNS[place] for name, place in zip(names, places, strict=False)}), path, **options
    )
    if not named and len(places) > 2:  # nobody can say which of them are the ends of a link
        with pytest.raises(PostsFileError, match="the columns a, b, c are not known"):
            read_datasets([path], CellAccounts("x", "auto"), LineErrors())
        return
    trouble = LineErrors()
    found = read_datasets([path], CellAccounts("x", "auto"), trouble)
    assert len(found.source) <= 3


@settings(deadline=None, max_examples=many(80))
@given(
    st.lists(st.lists(TEXT | NUMBER.map(str), max_size=4).map(" ".join), max_size=4),
    st.sampled_from(" ,;\t"),
    st.binary(max_size=9),
)
def test_a_dataset_of_any_text_is_read_or_its_lines_are_bad(tmp_path_factory, lines, mark, end):
    path = tmp_path_factory.mktemp("a") / "a.txt"
    path.write_bytes("\n".join(lines).replace(" ", mark).encode() + end)
    with refused_by_name(path):
        read_datasets([path], CellAccounts("x", "auto"), LineErrors())


VALUE = st.sampled_from(
    [
        "1",
        "-1",
        "1e999",
        "nan",
        '"x"',
        '""',
        "[]",
        "[[]]",
        "{}",
        "true",
        "1979-05-27",
        "0x10",
        "9" * 5000,
        "[1, 'a', {}]",
        "'''\n'''",
        '["a", 1]',
        "{a.b = 1}",
        "2024-01-01T00:00:00Z",
        "00:00:01",
        "[" * 2000 + "]" * 2000,
        '"\\ud800"',
        '"\\u0000"',
    ]
)
KEY = st.sampled_from(
    [
        "name",
        "kind",
        "seed",
        "database",
        "keywords",
        "languages",
        "max_requests",
        "max_time",
        "usernames",
        "file",
        "policy",
        "platform",
        "base_url",
        "active",
        "'a b'",
        "a.b",
        "topic",
        "x" * 300,
    ]
)
SECTION = st.sampled_from(
    [
        "topic",
        "accounts",
        "seeds",
        "crawl",
        "track",
        "refresh",
        "sample",
        "budget",
        "source",
        "limits",
        "schedule",
        "notify",
    ]
)
PAIR = st.tuples(KEY, VALUE).map(" = ".join)
TOML = st.lists(PAIR | SECTION.map(lambda name: f"[{name}]") | SECTION.map(lambda name: f"[[{name}]]"), max_size=8)
TOML = TOML.map("\n".join) | st.text(max_size=40)


@settings(deadline=None, max_examples=many(400))
@given(TOML, st.sampled_from(["", 'name = "a"\n[topic]\nkeywords = ["a"]\n']))
def test_a_campaign_file_of_any_text_is_read_or_refused_by_name(tmp_path_factory, text, begin):
    path = tmp_path_factory.getbasetemp() / "wild.toml"
    path.write_bytes((begin + text).encode())
    with refused_by_name(path):
        read(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "is not valid TOML: its values are nested too deeply"),
        ("a" + ".a" * 50_000 + " = 1", "is not valid TOML: a key has more than 100 parts"),
        ("[a" + ".a" * 50_000 + "]", "is not valid TOML: a key has more than 100 parts"),
        ("a = " + "9" * 5000, "is not valid TOML: Exceeds the limit"),
        ("a = 1\n" * 200_000, "cannot be read (it is larger than 1 MB)"),
    ],
    ids=["brackets", "dots", "section", "digits", "length"],
)
def test_a_campaign_file_that_no_parser_survives_is_refused_by_check(text, says, tmp_path):
    (tmp_path / "a.toml").write_text(text)
    done = limited("check", tmp_path / "a.toml")
    assert done.code == 2
    assert "Traceback" not in done.err
    assert says in done.out + done.err


def test_dots_that_are_no_keys_may_stand_in_a_campaign_file(tmp_path):
    dots = "# " + "." * 300 + "\n" + "# " + ", ".join(["a.b.c"] * 100) + "\n"
    (tmp_path / "a.toml").write_text(dots + 'name = "a"\n[topic]\nkeywords = ["a"]\n')
    assert read(tmp_path / "a.toml").name == "a"


def test_seeds_of_any_line_are_names_or_a_bad_line(tmp_path):
    @settings(deadline=None, max_examples=many(60))
    @given(st.lists(LINE, max_size=3))
    def lines(given):
        (tmp_path / "a.jsonl").write_bytes(b"\n".join([json.dumps(GOOD).encode(), *given]))
        try:
            names, _ = find_seeds(files(tmp_path / "a.jsonl", skip_bad=True), None)
        except SocialcrawlError:
            return
        assert all(isinstance(name, str) for name, _ in names)

    lines()


def test_a_timestamp_in_nanoseconds_is_read_as_it_is(tmp_path):
    at = pa.array([1_600_000_000_123_456_789] * 3, pa.timestamp("ns"))
    pq.write_table(pa.table(PLAIN | {"created_at": at}), tmp_path / "a.parquet")
    with a_database("sqlite") as connection:
        import_posts(files(tmp_path / "a.parquet"), connection, None, NOW)
        kept = table(connection, "select distinct created_at from post")
    assert kept == [(f"{datetime.fromtimestamp(1_600_000_000, UTC):%Y-%m-%dT%H:%M:%S}.123Z",)]


@pytest.mark.parametrize("text", [b"author,created_at,text\nann,1600000000,a\n" * 99, b"ann bob\n" * 99])
def test_a_damaged_file_of_gzip_is_refused_by_name(text, tmp_path):
    path, whole = tmp_path / "a.gz", gzip.compress(text)
    for data in (whole[:30], whole[:20] + b"\xff" * 9 + whole[29:], whole[:-9]):
        path.write_bytes(data)
        for reader in (
            find_seeds,
            lambda given, _: read_datasets(given.paths, CellAccounts("x", "auto"), LineErrors()),
        ):
            with pytest.raises(PostsFileError, match=r"a\.gz"):
                reader(files(path), None)


@pytest.mark.parametrize(
    "header", ['author,created_at,"text', "author,created_at,text\ra", '"author"x,created_at,text']
)
def test_a_damaged_header_is_refused_by_name(header, tmp_path):
    (tmp_path / "a.csv").write_text(header + "\n", newline="")
    with pytest.raises(PostsFileError, match=r"a\.csv"):
        find_seeds(files(tmp_path / "a.csv"), None)
