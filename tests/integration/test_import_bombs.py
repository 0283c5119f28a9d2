"""Files that unpack to more than a machine has: each is refused with its place, in 200 MB, and nothing is stored."""

import gzip
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from limited_memory import MORE, limited

from socialcrawl.formats.lines import LineErrors
from socialcrawl.importers.account_cells import CellAccounts
from socialcrawl.importers.dataset_files import read_datasets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
MB = 1_000_000
LESS = 40 * MB
HEAD = b"author,created_at,text\n"


def packed(path, *pieces):
    """A file of gzip: (bytes, how often)."""
    with gzip.open(path, "wb", 6) as file:
        for piece, times in pieces:
            for _ in range(times):
                file.write(piece)
    return path


def sparse(path, begin, size):
    """A file that is `begin` and then zeros, which take no room on the disk."""
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(size)
    return path


def repeated(path, text, rows, **more):
    """A Parquet file in which each row refers to one text: it is written once."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    table = pa.table({"author": ["a"] * rows, "created_at": [1_600_000_000] * rows, "text": texts})
    pq.write_table(table, path, compression="zstd", write_statistics=False, store_schema=False, **more)
    return path


def endless_line(folder):
    return packed(folder / "a.jsonl.gz", (b'{"text": "', 1), (b"x" * MB, 200)), (
        "line 1: a.jsonl.gz unpacks to more than",
        "over 200 times its size",
    )


def long_line(folder):
    return sparse(folder / "a.jsonl", b'{"text": "', 220 * MB), ("a.jsonl, line 1: it is longer than 16 MB",)


def crowded_line(folder):
    path = folder / "a.jsonl"
    path.write_bytes(b'{"data": [' + b"{}," * 5 * MB + b"{}]}\n")
    return path, ("a.jsonl, line 1: it holds more than 500,000 values",)


def crowded_lines(folder):
    line = b'{"author": "a", "x": [' + b"{}," * 160_000 + b"{}]}\n"
    path = packed(folder / "a.jsonl.gz", (line, 40))
    return path, ("a.jsonl.gz, line 1: created_at is None", "and 35 more")


def endless_row(folder):
    path = folder / "a.csv"
    path.write_bytes(HEAD + (b'"' + b"x" * 40 + b'\n",') * 450_000)
    return path, ("it is longer than 1 MB: a quotation mark may be left open",)


def open_quote(folder):
    path = folder / "a.csv"
    path.write_bytes(HEAD + b'a,1600000000,"' + b"x" * 999 + b"\n" + b"x\n" * 200_000)
    return path, ("a cell is longer than 131,072 characters: a quotation mark may be left open",)


def endless_csv_line(folder):
    return sparse(folder / "a.csv", HEAD.rstrip() + b"," * 70_000, 220 * MB), ("a.csv, line 1: it is longer than 1 MB",)


def long_rows(folder):
    row = b"a,1600000000," + b",".join([b"x" * 100_000] * 9) + b"\n"
    head = HEAD.rstrip() + b"," + b",".join(b"more%d" % i for i in range(8)) + b"\n"
    return packed(folder / "a.csv.gz", (head, 1), (row, 112)), ("unpacks to more than 100 MB",)


def many_columns(folder):
    path = folder / "a.csv"
    path.write_bytes(HEAD.rstrip() + b"," * 450_000 + b"\n" + b"," * 450_000 + b"\n")
    return path, ("a.csv, line 1: it names 450,003 columns, more than 2,000",)


def one_text_often(folder):
    return repeated(folder / "a.parquet", "x" * 4 * MB, 2000), ("row 25: a.parquet unpacks to more than 100 MB",)


def long_texts(folder):
    return repeated(folder / "a.parquet", "x" * 4 * MB, 9), ("a.parquet, row 1: it is longer than 4 MB", "4 more")


def one_text_of_a_row_often(folder):
    return repeated(folder / "a.parquet", "x" * 3 * MB, 2000), ("row 31: a.parquet unpacks to more than 100 MB",)


def one_text_with_a_dictionary_in_arrow_often(folder):
    path = folder / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 3 * MB]))
    table = pa.table({"author": ["a"] * 2000, "created_at": [1_600_000_000] * 2000, "text": texts})
    pq.write_table(table, path, compression="zstd", write_statistics=False)
    return path, ("a.parquet unpacks to more than 100 MB",)


def one_beginning_often(folder):
    texts = pa.array(["x" * 2 * MB + str(i) for i in range(60)])
    table = pa.table({"author": ["a"] * 60, "created_at": [1_600_000_000] * 60, "text": texts})
    path, more = folder / "a.parquet", {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    pq.write_table(table, path, compression="zstd", write_statistics=False, **more)
    return path, ("a.parquet unpacks to more than 100 MB",)


def one_name_mentioned_often(folder):
    names = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * MB]))
    lists = pa.ListArray.from_arrays([0, 1000], names)
    table = pa.table({"author": ["a"], "created_at": [1_600_000_000], "text": ["x"], "mentions": lists})
    pq.write_table(table, folder / "a.parquet", compression="zstd", write_statistics=False, store_schema=False)
    return folder / "a.parquet", ("the lists of mentions.list.element in row group 1 may be too long",)


def large_page(folder):
    path, more = folder / "a.parquet", {"use_dictionary": False, "data_page_size": 2**30}
    table = pa.table({"author": ["a"] * 200, "created_at": [1_600_000_000] * 200, "text": ["x" * MB] * 200})
    pq.write_table(table, path, compression="zstd", write_statistics=False, write_batch_size=1000, **more)
    return path, ("a.parquet cannot be read: the pages of its columns unpack to more than 128 MB",)


BOMBS = [
    endless_line, long_line, crowded_line, crowded_lines, endless_row, open_quote, endless_csv_line, long_rows,
    many_columns, one_text_often, long_texts, one_text_of_a_row_often, one_text_with_a_dictionary_in_arrow_often,
    one_beginning_often, one_name_mentioned_often, large_page,
]  # fmt: skip


@pytest.mark.parametrize("make", BOMBS, ids=lambda make: make.__name__)
def test_a_bomb_is_refused_with_its_place_in_200_mb(make, tmp_path):
    path, says = make(tmp_path)
    done = limited("import", path, "--db", tmp_path / "a.db", more=LESS if make is endless_row else MORE)
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    for words in says:
        assert words in done.err
    kept = limited("sql", "select count(*) from post", "--db", tmp_path / "a.db")
    assert kept.out.split()[-1:] in ([], ["0"])


@pytest.mark.parametrize("mark", [",", " "])
def test_a_dataset_of_long_lines_is_read_whole_in_pieces(mark, tmp_path):
    rows = [mark.join(["source", "target", *(f"note{i}" for i in range(9))])]
    rows += [mark.join([f"user{i}", f"user{i + 1}", *["x" * 100_000] * 9]) for i in range(12)]
    (tmp_path / "a.csv").write_text("\n".join([*rows, "y" * 1_100_000, rows[1]]))
    trouble, pieces = LineErrors(), []
    found = read_datasets(
        [tmp_path / "a.csv"], CellAccounts("x", "names"), trouble, lambda _, count: pieces.append(count)
    )
    assert (len(found.source), len(found.whos)) == (13, 13)
    assert trouble.first == [f"{tmp_path / 'a.csv'}, line 14: it is longer than 1 MB"]
    assert pieces == [5, 10, 13]


def lab_text_often(folder):
    return repeated(folder / "a.parquet", "x" * 3 * MB, 2000), "read_posts", "a.parquet unpacks to more than 50 MB"


def lab_lines_without_end(folder):
    path = packed(folder / "a.jsonl.gz", (b'{"text": "', 1), (b"x" * MB, 200))
    return path, "read_posts", "a.jsonl.gz unpacks to more than 100 MB"


def lab_cells_without_end(folder):
    path = packed(folder / "a.csv.gz", (HEAD + b'a,1,"', 1), (b"x" * MB, 200))
    return path, "read_posts", "a.csv.gz unpacks to more than 100 MB"


def lab_long_edge(folder):
    return sparse(folder / "a.txt", b"a b ", 220 * MB), "build_edge_graph", "a.txt, line 1: it is longer than 1 MB"


def lab_packed_edges(folder):
    return packed(folder / "a.txt.gz", (b"a" * MB, 200)), "build_edge_graph", "a.txt.gz unpacks to more than 100 MB"


def lab_edges_often(folder):
    ends = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 3 * MB]))
    path = folder / "a.parquet"
    pq.write_table(pa.table({"source": ends, "target": ends}), path, compression="zstd", write_statistics=False)
    return path, "build_edge_graph", "a.parquet unpacks to more than 50 MB"


def lab_zeros(folder):
    path, zeros = folder / "a.npz", np.zeros(40 * MB)
    np.savez_compressed(path, indptr=zeros, indices=zeros[:1], alpha=zeros[:1], beta=zeros[:1])
    return path, "graph", "a.npz unpacks to more than 100 MB"


def lab_array_that_lies(folder):
    path = folder / "a.npz"
    header = (
        b"\x93NUMPY\x01\x00\x76\x00"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000,), }".ljust(117)
        + b"\n"
    )
    with zipfile.ZipFile(path, "w") as file:
        for name in ("indptr", "indices", "alpha", "beta"):
            file.writestr(f"{name}.npy", header)
    return path, "graph", "a.npz cannot be read as .npz"


LAB = [
    lab_text_often, lab_lines_without_end, lab_cells_without_end, lab_long_edge, lab_packed_edges, lab_edges_often,
    lab_zeros, lab_array_that_lies,
]  # fmt: skip
CALLS = """
from socialcrawl.errors import SocialcrawlError
from socialcrawl.lab.graphs.from_edges import build_edge_graph
from socialcrawl.lab.graphs.graph_folder import read as graph
from socialcrawl.lab.post_table import read_posts
try:
    {call}({path!r})
except SocialcrawlError as error:
    print(error)
"""


@pytest.mark.parametrize("make", LAB, ids=lambda make: make.__name__.removeprefix("lab_"))
def test_a_bomb_among_files_of_the_lab_is_refused_in_200_mb(make, tmp_path):
    path, call, says = make(tmp_path)
    done = limited("lab", code=CALLS.format(call=call, path=str(path)))
    assert done.err == ""
    assert says in done.out
