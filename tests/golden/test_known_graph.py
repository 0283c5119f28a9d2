"""Known graphs on disk and in order: every array against plain lists, every refusal by what it says."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs import check_graph, checks, graph_folder, read, read_seeds, write

ARRAYS = ("indptr", "indices", "alpha", "beta")


def graph(links, beta, names=None, index=np.int32) -> KnownGraph:
    """`links[u]` lists (target, weight)."""
    lengths = [len(row) for row in links]
    flat = [link for row in links for link in row]
    return KnownGraph(
        np.cumsum([0, *lengths], dtype=np.int64),
        np.array([v for v, _ in flat], index),
        np.array([w for _, w in flat], np.float64),
        np.array(beta, np.float64),
        names,
    )


def rows(known: KnownGraph) -> list[list[tuple[int, float]]]:
    return [list(zip(*(x.tolist() for x in known.list_links(u)), strict=True)) for u in range(known.size)]


def simple(links):
    """The referee: without self-links, parallel ones added in order at the first one's place."""
    result = []
    for u, row in enumerate(links):
        sums = {}
        for v, w in row:
            if u != v:
                sums[v] = sums.get(v, 0.0) + w
        result.append(list(sums.items()))
    return result


def held_in(folder) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def small(**changes) -> KnownGraph:
    """0 -> 1, 0 -> 2, 2 -> 0, and what a test breaks of it."""
    parts = {
        "indptr": np.array([0, 2, 2, 3]),
        "indices": np.array([1, 2, 0]),
        "alpha": np.array([0.5, 0.0, 2.0]),
        "beta": np.array([1.0, 0.0, 3.0]),
    }
    return KnownGraph(**parts | changes)


WEIGHTS = st.just(0.0) | st.floats(1e-20, 1e9)


@st.composite
def wild(draw):
    n = draw(st.integers(1, 12))
    link = st.tuples(st.integers(0, n - 1), WEIGHTS)
    return draw(st.lists(st.lists(link, max_size=8), min_size=n, max_size=n)), draw(
        st.lists(WEIGHTS, min_size=n, max_size=n)
    )


@pytest.fixture(params=[1, 3, 2**20])
def chunk(request, monkeypatch):
    monkeypatch.setattr(checks, "CHUNK", request.param)
    return request.param


def test_a_sound_graph_passes_and_nothing_of_it_is_copied(chunk):
    before = small()
    after = check_graph(before)
    assert all(getattr(after, name) is getattr(before, name) for name in ARRAYS)


@settings(deadline=None)
@given(wild(), st.sampled_from([1, 2, 5, 2**20]), st.sampled_from([np.int32, np.int64]))
def test_self_links_go_and_duplicates_add_up_at_the_first_ones_place(drawn, size, index):
    links, beta = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "CHUNK", size)
        after = check_graph(graph(links, beta, index=index))
        again = check_graph(after)
    assert rows(after) == simple(links)
    assert after.beta.tolist() == beta
    assert (after.indptr.dtype, after.indices.dtype, after.alpha.dtype) == (np.int64, index, np.float64)
    assert again.indices is after.indices


def test_only_what_has_duplicates_is_merged_in_a_graph_of_many_chunks(monkeypatch):
    monkeypatch.setattr(checks, "CHUNK", 64)
    rng = np.random.default_rng(5)
    links = [[(int(v), 1.0) for v in rng.permutation(200)[: rng.integers(0, 30)]] for _ in range(200)]
    links[77] += [(3, 0.25), (9, 0.5), (3, 0.125), (77, 8.0)]
    assert rows(check_graph(graph(links, [1.0] * 200))) == simple(links)


def test_other_types_are_converted():
    after = check_graph(
        small(
            indptr=np.array([0, 2, 2, 3], np.uint16),
            indices=np.array([1, 2, 0], ">u8"),
            alpha=np.array([0.5, 0.0, 2.0], np.float32),
            beta=np.array([1, 0, 3], np.int8),
        )
    )
    assert [getattr(after, name).dtype for name in ARRAYS] == [np.int64, np.int32, np.float64, np.float64]
    assert rows(after) == [[(1, 0.5), (2, 0.0)], [], [(0, 2.0)]]
    assert after.beta.tolist() == [1.0, 0.0, 3.0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"beta": np.zeros(0)}, r"no nodes"),
        ({"beta": np.ones(4)}, r"indptr has 4 entries and beta 4"),
        ({"beta": np.ones((3, 1))}, r"beta has 2 dimensions"),
        ({"indptr": np.array([1, 2, 2, 3])}, r"indptr\[0\] is 1"),
        ({"indptr": np.array([0, 2, 1, 3])}, r"indptr\[2\] = 1 is less than indptr\[1\] = 2"),
        ({"indptr": np.array([0.0, 2, 2, 3])}, r"indptr has the type float64; give an array of integers"),
        ({"indptr": np.array([0, 2, 2, 4])}, r"indices has 3 entries, but indptr ends at 4"),
        ({"alpha": np.ones(2)}, r"alpha has 2 entries, but indptr ends at 3"),
        ({"alpha": np.array(["a", "b", "c"])}, r"alpha has the type <U1; give an array of numbers"),
        ({"indices": np.array([1, 3, 5])}, r"indices\[1\], a link of node 0, is 3, outside the graph; .* 0 to 2"),
        ({"indices": np.array([1, 2, -1])}, r"indices\[2\], a link of node 2, is -1"),
        ({"alpha": np.array([1, -0.5, np.nan])}, r"alpha\[1\] is -0.5; weights are finite and not negative"),
        ({"alpha": np.array([1, np.nan, -1])}, r"alpha\[1\] is nan"),
        ({"beta": np.array([1, 1, np.inf])}, r"beta\[2\] is inf; values are finite"),
        ({"beta": np.array([1, np.nan, 0])}, r"beta\[1\] is nan"),
        ({"names": ["a", "b"]}, r"names has 2 entries for 3 nodes"),
        ({"alpha": np.array([1, 1e21, 2])}, r"alpha\[1\] is 1e\+21; .* from 1e-20 to 1e\+20"),
        ({"beta": np.array([1, 2, 1e-21])}, r"beta\[2\] is 1e-21; .* scale all"),
    ],
)
def test_the_first_bad_place_is_named(chunk, changes, said):
    with pytest.raises(SettingsError, match=said) as failure:
        check_graph(small(**changes))
    assert str(failure.value).endswith(".")


@settings(deadline=None, max_examples=40)
@given(drawn=wild(), named=st.booleans(), index=st.sampled_from([np.int32, np.int64]))
def test_a_written_graph_is_read_as_it_was(tmp_path_factory, drawn, named, index):
    links, beta = drawn
    names = [f"n {u} é\u2028x" for u in range(len(beta))] if named else None
    folder = tmp_path_factory.mktemp("graphs") / "g"
    write(graph(links, beta, names, index), folder)
    after = read(folder)
    assert rows(after) == simple(links)
    assert after.beta.tolist() == beta
    assert after.indices.dtype == index
    assert (after.names if names is None else list(after.names)) == names
    assert held_in(folder.parent) == ["g"]


def test_a_written_folder_is_memory_mapped_and_not_looked_through(tmp_path, monkeypatch):
    write(small(names=["a", "b", "c"]), tmp_path / "g")
    monkeypatch.setattr(graph_folder, "check_graph", None)  # calling it would fail
    known = read(str(tmp_path / "g"))
    assert all(isinstance(getattr(known, name).base, np.memmap) for name in ARRAYS)
    assert (len(known.names), known.names[2], known.names[-2:]) == (3, "c", ["b", "c"])
    with pytest.raises(ValueError, match="read-only"):
        known.beta[0] = 5


def test_a_folder_without_the_marker_is_checked(tmp_path):
    for name, array in {"indptr": [0, 2, 2], "indices": [1, 1], "alpha": [1, 2], "beta": [0, 1]}.items():
        np.save(tmp_path / f"{name}.npy", np.array(array))
    (tmp_path / "names.txt").write_bytes(b"a\r\nb")
    known = read(tmp_path)
    assert rows(known) == [[(1, 3.0)], []]
    assert list(known.names) == ["a", "b"]
    (tmp_path / "names.txt").write_text("a\nb\nc\n")
    with pytest.raises(SettingsError, match=r"names.txt has 3 lines for 2 nodes"):
        read(tmp_path)
    (tmp_path / "names.txt").unlink()
    np.save(tmp_path / "alpha.npy", np.array([1.0, -2.0]))
    with pytest.raises(SettingsError, match=r"alpha\[1\] is -2.0"):
        read(tmp_path)


def test_a_graph_folder_is_replaced_even_by_what_was_read_from_it(tmp_path):
    write(small(names=["a", "b", "c"]), tmp_path / "g")
    before = read(tmp_path / "g")
    write(KnownGraph(before.indptr, before.indices, before.alpha, before.beta * 2), tmp_path / "g")
    after = read(tmp_path / "g")
    assert after.beta.tolist() == [2.0, 0.0, 6.0]
    assert after.names is None
    assert held_in(tmp_path) == ["g"]


@pytest.mark.parametrize("held", [["notes.txt"], ["graph.json", "notes.txt"], ["beta.npy"]])
def test_a_folder_with_anything_else_is_left_alone(tmp_path, held):
    folder = tmp_path / "g"
    folder.mkdir()
    for name in held:
        (folder / name).write_text("mine")
    with pytest.raises(SettingsError, match=r"holds other things than a graph"):
        write(small(), folder)
    assert held_in(folder) == sorted(held)
    assert held_in(tmp_path) == ["g"]


def test_a_file_is_left_alone_an_empty_folder_is_filled_and_the_folder_above_has_to_be_there(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SettingsError, match=r"holds other things"):
        write(small(), tmp_path / "file")
    (tmp_path / "g").mkdir()
    write(small(), tmp_path / "g")
    assert read(tmp_path / "g").links == 3
    with pytest.raises(SettingsError, match=r"the folder .*nowhere does not exist"):
        write(small(), tmp_path / "nowhere" / "g")


def test_a_write_that_fails_leaves_the_old_graph_and_nothing_else(tmp_path, monkeypatch):
    write(small(), tmp_path / "g")
    with pytest.raises(SettingsError, match=r"The name of node 1, 'b\\nc', holds a line break"):
        write(small(names=["a", "b\nc", "d"]), tmp_path / "g")
    with pytest.raises(SettingsError, match=r"alpha\[0\] is nan"):
        write(small(alpha=np.full(3, np.nan)), tmp_path / "g")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(graph_folder.np, "save", full)
    with pytest.raises(SettingsError, match=r"g cannot be written: .*No space left"):
        write(small(), tmp_path / "g")
    assert rows(read(tmp_path / "g")) == rows(small())
    assert held_in(tmp_path) == ["g"]


def test_an_npz_is_checked_and_converted(tmp_path):
    for save, name in ((np.savez, "a.npz"), (np.savez_compressed, "b.NPZ")):
        with (tmp_path / name).open("wb") as file:
            save(
                file, indptr=[0, 2, 3], indices=np.array([1, 1, 1], np.uint8), alpha=np.float32([1, 2, 3]), beta=[4, 5]
            )
        known = read(tmp_path / name)
        assert rows(known) == [[(1, 3.0)], []]
        assert known.beta.tolist() == [4.0, 5.0]


def test_what_is_no_graph_is_refused_with_a_remedy(tmp_path):
    np.savez(tmp_path / "bare.npz", indptr=[0, 1], indices=[0], beta=[1])
    np.savez(tmp_path / "bad.npz", indptr=[0, 1], indices=[3], alpha=[1], beta=[1])
    np.savez(tmp_path / "objects.npz", indptr=[0, 1], indices=[0], alpha=np.array([None]), beta=[1])
    (tmp_path / "half.npz").write_bytes((tmp_path / "bad.npz").read_bytes()[:-200])
    (tmp_path / "words.npz").write_text("no zip at all")
    np.save(tmp_path / "one.npy", [1])
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    (tmp_path / "graph.csv").write_text("a,b\n")
    (tmp_path / "empty").mkdir()
    for name, said in {
        "bare.npz": r"bare.npz lacks alpha; a graph has indptr, indices, alpha, beta",
        "bad.npz": r"bad.npz: indices\[0\], a link of node 0, is 3",
        "objects.npz": r"cannot be read as .npz",
        "half.npz": r"cannot be read as .npz",
        "words.npz": r"cannot be read as .npz",
        "one.npz": r"cannot be read as .npz",
        "graph.csv": r"graph.csv is no graph; give a folder",
        "empty": r"lacks indptr.npy, indices.npy, alpha.npy, beta.npy",
        "gone.npz": r"There is no file",
        "gone": r"gone is not there; give a folder",
    }.items():
        with pytest.raises(SettingsError, match=said):
            read(tmp_path / name)


def test_one_flipped_byte_in_an_npz_is_noticed(tmp_path):
    path = tmp_path / "g.npz"
    np.savez_compressed(path, **{name: getattr(small(), name) for name in ARRAYS})
    whole = path.read_bytes()
    middle = whole.index(b"alpha.npy") + 60
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
    with pytest.raises(SettingsError, match=r"cannot be read as .npz"):
        read(path)


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("{", r"graph.json is damaged; remove it"),
        ("[]", r"graph.json is damaged"),
        (json.dumps({"version": 1}), r"graph.json is damaged"),
        (json.dumps({"version": 2, "nodes": 3, "links": 3}), r"has the format 2, this program knows 1"),
        (json.dumps({"version": 1, "nodes": 4, "links": 3}), r"does not hold what its graph.json says"),
        (json.dumps({"version": 1, "nodes": 3, "links": 2}), r"does not hold what its graph.json says"),
        (json.dumps({"version": 1, "nodes": 3, "links": 3, "names": True}), r"does not hold what its"),
        (json.dumps({"version": 1, "nodes": "3", "links": 3}), r"graph.json is damaged"),
        (json.dumps({"version": 1, "nodes": 3.0, "links": True}), r"graph.json is damaged"),
        (json.dumps({"version": 1, "nodes": -1, "links": 0}), r"graph.json is damaged"),
        ('{"version": 1, "nodes": 1e999, "links": NaN}', r"graph.json is damaged"),
        ("[" * 100_000, r"graph.json is damaged"),
        ("[" * 5000, r"graph.json is damaged"),
        ("\ud800", r"graph.json is damaged"),
    ],
)
def test_a_marker_that_does_not_fit_is_no_pass(tmp_path, marker, said):
    write(small(), tmp_path / "g")
    (tmp_path / "g" / "graph.json").write_text(marker, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(SettingsError, match=said):
        read(tmp_path / "g")


@pytest.mark.parametrize("array", ["indptr", "indices", "alpha", "beta"])
@pytest.mark.parametrize(
    "forged",
    [
        np.float64(1),
        np.ones((3, 3)),
        np.array([None, {}, 1]),
        np.zeros(0),
        np.array(["a", "b", "c"]),
        np.ones(3, "c16"),
    ],
    ids=["no list", "table", "objects", "empty", "texts", "complex"],
)
def test_a_forged_array_in_a_marked_folder_is_refused(tmp_path, array, forged):
    write(small(), tmp_path / "g")
    np.save(tmp_path / "g" / f"{array}.npy", forged, allow_pickle=True)
    with pytest.raises(SettingsError, match=r"g.*(graph\.json|\.npy)"):
        read(tmp_path / "g")


@pytest.mark.parametrize(
    ("array", "forged", "said"),
    [
        ("indices", [9, 1, 2], r"indices\[0\], a link of node \d, is 9, outside the graph"),
        ("indices", [0, -1, 2], r"is -1, outside the graph"),
        ("indptr", [0, 5, 1, 3], r"indptr must not decrease"),
        ("alpha", [1.0, np.nan, 1.0], r"alpha\[1\] is nan"),
        ("beta", [1.0, -1.0, 1.0], r"beta\[1\] is -1.0"),
    ],
)
def test_links_that_lead_nowhere_are_found_behind_a_marker(tmp_path, array, forged, said):
    write(small(), tmp_path / "g")
    path = tmp_path / "g" / f"{array}.npy"
    np.save(path, np.array(forged, np.load(path).dtype))
    with pytest.raises(SettingsError, match=said):
        read(tmp_path / "g")


def test_a_marked_folder_with_an_exchanged_or_broken_array_is_refused(tmp_path):
    write(small(), tmp_path / "g")
    np.save(tmp_path / "g" / "alpha.npy", np.ones(3, np.float32))
    with pytest.raises(SettingsError, match=r"does not hold what its graph.json says"):
        read(tmp_path / "g")
    (tmp_path / "g" / "alpha.npy").write_bytes(b"\x93NUMPY\x01")
    with pytest.raises(SettingsError, match=r"alpha.npy cannot be read"):
        read(tmp_path / "g")


def test_a_graph_without_links_is_a_graph(tmp_path):
    write(graph([[], []], [1, 2]), tmp_path / "g")
    assert rows(read(tmp_path / "g")) == [[], []]


def test_seeds_come_in_the_order_given_each_once(tmp_path):
    path = tmp_path / "seeds.txt"
    path.write_bytes(b"\xef\xbb\xbf2\r\n\n# one a line\n 0 \n2\n+1")
    assert read_seeds(path, small()) == [2, 0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0\nann\n", r"line 2: 'ann' is not a row number"),
        ("1.0\n", r"line 1: '1.0' is not a row number"),
        ("1 2\n", r"line 1: '1 2' is not a row number"),
        ("1_0\n", r"line 1: '1_0' is not a row number"),
        ("٢\n", r"is not a row number"),
        ("0\n\n3\n", r"line 3: row 3 is outside the graph; its rows are 0 to 2"),
        ("-1\n", r"row -1 is outside the graph"),
        ("9" * 30, r"is not a row number"),
        ("# none\n\n", r"names no row; write at least one"),
        ("", r"names no row"),
    ],
)
def test_bad_seeds_are_refused_with_the_line(tmp_path, text, said):
    path = tmp_path / "seeds.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=said):
        read_seeds(path, small())


def called(*names):
    return graph([[] for _ in names], [1] * len(names), names=list(names))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("cleo\n# one a line\n@Ann\nann\n", [2, 0]),
        ("ANN\nbob 2\n", [0, 3]),
        ("cleo\n7\n", [2, 4]),
        ("@7\n", [4]),
        ("1\n2\n", [1, 2]),  # as ever: a file of numbers has rows
        ("@x\n", [5]),
    ],
)
def test_seeds_may_be_named_where_nodes_have_names(tmp_path, text, rows):
    (tmp_path / "seeds.txt").write_text(text, "utf-8")
    known = called("ann", "Bob", "cleo", "bob 2", "7", "@x", "bOB")
    write(known, tmp_path / "g")
    assert read_seeds(tmp_path / "seeds.txt", known) == rows
    assert read_seeds(tmp_path / "seeds.txt", read(tmp_path / "g")) == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ann\ndan\n", r"line 2: no node is called 'dan'; write names of nodes, or row numbers in all lines"),
        ("ann\n1\n", r"line 2: no node is called '1'"),
        ("BOB\n", r"line 1: 2 nodes are called 'BOB'"),
        ("twin\n", r"line 1: 2 nodes are called 'twin'"),
    ],
)
def test_names_of_nobody_or_of_several_are_refused_with_the_line(tmp_path, text, said):
    (tmp_path / "seeds.txt").write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=said):
        read_seeds(tmp_path / "seeds.txt", called("ann", "Bob", "bOB", "twin", "twin"))


def test_a_file_of_seeds_that_is_missing_or_no_text_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"There is no file .*; give a text file"):
        read_seeds(tmp_path / "gone.txt", small())
    (tmp_path / "s.txt").write_bytes(b"\xff\xfe1\n")
    with pytest.raises(SettingsError, match=r"cannot be read as UTF-8 text"):
        read_seeds(tmp_path / "s.txt", small())
