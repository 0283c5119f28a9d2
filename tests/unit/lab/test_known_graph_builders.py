"""Known graphs built from posts, pages and edges, each against a referee of plain dictionaries."""

import gzip
import math
import re

import numpy as np
import pyarrow as pa
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from shared_data import needed

from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.generators.generate import choose_topics, generate
from socialcrawl.lab.graphs import build_edge_graph, build_mention_graph, build_page_graph, check_graph
from socialcrawl.lab.post_table import Posts, read_posts

KERNEL = Topic(["kernel"])


def f(x: int) -> float:
    return 1 + math.log(x) if x else 0.0


def rows(known) -> list[dict[int, float]]:
    """The links of every node, in order."""
    return [dict(zip(*(x.tolist() for x in known.list_links(u)), strict=True)) for u in range(known.size)]


def same(known, names, values, links) -> None:
    """Names, values and links, with their order; numbers to the last few bits."""
    assert list(known.names) == names
    assert known.beta.tolist() == pytest.approx(values, rel=1e-14)
    assert [list(row) for row in rows(known)] == [list(row) for row in links]
    assert known.alpha.tolist() == pytest.approx([w for row in links for w in row.values()], rel=1e-14)
    again = check_graph(known)
    assert again.indices is known.indices, "what is built is sound, without self-links or duplicates"


# ---- posts


def posts_of(rows_) -> Posts:
    lengths = [len(mentions) for _, _, mentions in rows_]
    return Posts(
        [author for author, _, _ in rows_],
        np.arange(len(rows_)),
        [text for _, text, _ in rows_],
        [name for _, _, mentions in rows_ for name in mentions],
        np.cumsum([0, *lengths]),
    )


def posts_referee(rows_):
    names, hits, links = {}, {}, {}
    for author, text, mentions in rows_:
        for name in (author, *mentions):
            names.setdefault(name.lower(), name)
        me, x = author.lower(), len(re.findall(r"\bkernel\b", text.lower()))
        hits[me] = hits.get(me, 0) + x
        to = links.setdefault(me, {})
        for name in dict.fromkeys(name.lower() for name in mentions):
            if name != me:
                to[name] = to.get(name, 0) + x
    number = {name: row for row, name in enumerate(names)}
    return (
        list(names.values()),
        [f(hits.get(name, 0)) for name in names],
        [{number[v]: f(x) for v, x in links.get(name, {}).items()} for name in names],
    )


def test_a_few_posts_worked_out_by_hand():
    made = build_mention_graph(
        posts_of(
            [
                ("Ann", "kernel kernel", ["bob", "ANN", "Bob"]),
                ("cy", "nothing", ["dee"]),
                ("ann", "Kernel", ["dee", "Bob"]),
                ("BOB", "kernels", []),
            ]
        ),
        KERNEL,
    )
    links = [{1: 1 + math.log(3), 3: 1.0}, {}, {3: 0.0}, {}]
    same(made, ["Ann", "bob", "cy", "dee"], [1 + math.log(3), 0, 0, 0], links)


PEOPLE = st.sampled_from(["ann", "Ann", "bob", "BOB", "cy", "dee", "Éva", "éva"])
TEXT = st.lists(st.sampled_from(["kernel", "Kernel,", "kernels", "x"]), max_size=5).map(" ".join)


@settings(deadline=None)
@given(st.lists(st.tuples(PEOPLE, TEXT, st.lists(PEOPLE, max_size=4)), min_size=1, max_size=12))
def test_posts_become_the_graph_of_the_referee(drawn):
    same(build_mention_graph(posts_of(drawn), KERNEL), *posts_referee(drawn))


def test_another_scoring_sees_every_count():
    drawn = [("a", "kernel kernel", ["b"]), ("a", "kernel", ["b", "c"]), ("b", "", ["a"])]
    made = build_mention_graph(posts_of(drawn), KERNEL, scoring=lambda x: x * x)
    same(made, ["a", "b", "c"], [9, 0, 0], [{1: 9, 2: 1}, {0: 0}, {}])


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        (lambda x: x - 1, r"gives -1.0 for 0 occurrences"),
        (lambda x: x + 1, r"gives 1.0 for 0 occurrences; .* 0 for 0"),
        (lambda x: math.inf if x == 3 else x, r"gives inf for 3 occurrences"),
        (lambda x: math.nan, r"gives nan"),
    ],
)
def test_a_scoring_that_is_none_is_refused(scoring, said):
    drawn = [("a", "kernel kernel kernel", ["b"]), ("b", "x", [])]
    with pytest.raises(SettingsError, match=said):
        build_mention_graph(posts_of(drawn), KERNEL, scoring)


def check_posts_file(path, keyword) -> tuple[int, int]:
    table = parquet.read_table(path)
    authors, texts, mentions = (table[name].to_pylist() for name in ("author", "text", "mentions"))
    names, hits = dict.fromkeys(author.lower() for author in authors), {}
    pairs = {}
    word = re.compile(rf"(?<!\w){keyword}(?!\w)")
    for author, text, named in zip(authors, texts, mentions, strict=True):
        me, x = author.lower(), len(word.findall(text.lower()))
        hits[me] = hits.get(me, 0) + x
        for name in {name.lower() for name in named}:
            names[name] = None
            pairs[me, name] = pairs.get((me, name), 0) + x
    pairs = {(u, v): x for (u, v), x in pairs.items() if u != v}
    known = build_mention_graph(read_posts(path), Topic([keyword]))
    called = [name.lower() for name in known.names]
    assert set(called) == set(names)
    assert len(called) == len(names)
    assert known.beta.tolist() == pytest.approx([f(hits.get(name, 0)) for name in called])
    made = {(called[u], called[v]): w for u, row in enumerate(rows(known)) for v, w in row.items()}
    assert made == pytest.approx({pair: f(x) for pair, x in pairs.items()})
    return known.size, known.links


def test_a_generated_file_of_posts_becomes_a_graph(tmp_path):
    parquet.write_table(generate(200, 3, posts_per_user=8).make_table(), tmp_path / "posts.parquet")
    size, links = check_posts_file(tmp_path / "posts.parquet", next(iter(choose_topics().values())))
    assert size > 200
    assert links > 200


def test_a_recorded_file_of_posts_becomes_a_graph():
    # The note beside the file counts 31,598 links; the pairs author -> mention are 31,672, 39 of them to oneself.
    assert check_posts_file(needed("data/ubuntu_irc.parquet"), "kernel") == (18_071, 31_633)


# ---- pages

MUSIC = Topic(["music"])
FAR = " .".join(["far"] * 30)  # longer than half a window


def window_referee(text, title, half):
    """Word by word: where the link begins and ends, and which whole words lie in the window."""
    text, title = " ".join(text.lower().split()), title.lower()
    starts = [m.start() for m in re.finditer(rf"(?<![a-z0-9]){re.escape(title)}", text)]
    if not starts:
        return 0
    begin, end = starts[0] - half, starts[0] + len(title) + half
    return sum(begin <= m.start() and m.end() <= end for m in re.finditer(r"(?<!\w)music(?!\w)", text))


def pages_referee(pages, half=50):
    keys = [key for key, _, _ in pages]
    keys += [key for key in dict.fromkeys(key for _, _, to in pages for key in to) if key not in keys]
    values = [f(len(re.findall(r"\bmusic\b", text.lower()))) for _, text, _ in pages]
    links = [
        {keys.index(to): f(window_referee(text, to.replace("_", " "), half)) for to in named if to != key}
        for key, text, named in pages
    ]
    more = len(keys) - len(pages)
    return keys, values + [0] * more, links + [{}] * more


def columns(pages):
    return dict(zip(("key", "text", "links"), zip(*pages, strict=True), strict=True))


def test_a_few_pages_worked_out_by_hand():
    pages = [
        ("Jazz_(style)", f"Music! {FAR} music of New\n   Orleans, music {FAR} music", ["New_Orleans", "Caf%C3%A9"]),
        ("New_Orleans", f"The café, the CAFÉ music and music. {FAR} Paris", ["Caf%C3%A9", "Paris", "New_Orleans"]),
        ("Caf%C3%A9", "a party in Art: see art music", ["Art", "Art", "Nowhere"]),
    ]
    two = 1 + math.log(2)
    links = [{1: two, 2: 0.0}, {2: two, 3: 0.0}, {4: 1.0, 5: 0.0}, {}, {}, {}]
    names = ["Jazz_(style)", "New_Orleans", "Caf%C3%A9", "Paris", "Art", "Nowhere"]
    same(build_page_graph(columns(pages), MUSIC), names, [1 + math.log(4), two, 1, 0, 0, 0], links)


@pytest.mark.parametrize(
    ("gap", "inside"),
    [(44, True), (45, False), (46, False)],
)
def test_an_occurrence_counts_when_it_lies_whole_in_the_fifty_characters_on_either_side(gap, inside):
    for text in (f"music{'.' * (gap + 1)}Link", f"Link{'.' * (gap + 1)}music", f"Link{'.' * gap} musical"):
        expected = f(int(inside and "musical" not in text))
        made = build_page_graph({"key": ["a"], "text": [text], "links": [["Link"]]}, MUSIC)
        assert made.alpha.tolist() == [expected]


def test_a_word_cut_by_the_window_is_outside_and_scripts_without_spaces_are_cut_anywhere():
    cut = {"key": ["a"], "text": [f"Link{'.' * 45}musically"], "links": [["Link"]]}
    assert build_page_graph(cut, MUSIC).alpha.tolist() == [0.0]
    text = f"{'楽' * 60}Link音楽{'楽' * 60}"
    assert build_page_graph({"key": ["a"], "text": [text], "links": [["Link"]]}, Topic(["音楽"])).alpha.tolist() == [
        1.0
    ]


def test_the_links_own_text_is_in_the_window():
    page = {"key": ["a"], "text": [f"{FAR} Folk  MUSIC {FAR}"], "links": [["Folk_music", "music"]]}
    assert build_page_graph(page, MUSIC, window=0).alpha.tolist() == [1.0, 1.0]


KEYS = ["Art", "Music", "New_art", "Far_away", "music_hall"]
WORDS = st.sampled_from(
    ["music", "Music", "musical", "art", "party", "arts", "new", "far", "away", "hall", "\n", "- ."]
)


@settings(deadline=None, max_examples=many(60))
@given(
    st.lists(st.lists(WORDS, max_size=60).map(" ".join), min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from(KEYS), max_size=5), min_size=4, max_size=4),
    st.sampled_from([0, 7, 40, 100]),
)
def test_pages_become_the_graph_of_the_referee(texts, links, window):
    pages = list(zip(KEYS, texts, links, strict=False))
    same(build_page_graph(columns(pages), MUSIC, window=window), *pages_referee(pages, window // 2))


def test_a_file_of_pages_is_the_same_graph_as_its_columns(tmp_path):
    pages = [("Art", "art and music", ["Music", None]), ("Music", None, None), ("B", "music", [])]
    parquet.write_table(pa.table(columns(pages)), tmp_path / "pages.parquet")
    known = build_page_graph(tmp_path / "pages.parquet", MUSIC)
    same(known, ["Art", "Music", "B"], [1, 0, 1], [{1: 1.0}, {}, {}])
    same(build_page_graph(columns(pages), MUSIC), list(known.names), known.beta.tolist(), rows(known))


@pytest.mark.parametrize(
    ("given_columns", "said"),
    [
        ({"key": ["a"], "text": ["x"]}, r"needs the columns key, text, links; it has key, text"),
        ({"key": ["a"], "text": ["x"], "links": ["b"]}, r"links has the type (large_)?string; give lists of keys"),
        ({"key": [["a"]], "text": ["x"], "links": [["b"]]}, r"column key has the type list"),
        ({"key": ["a", "a"], "text": ["x", "y"], "links": [["b"], []]}, r"Page 2: the key 'a' is there twice"),
        ({"key": ["a", None], "text": ["x", "y"], "links": [["b"], []]}, r"Page 2: the key is empty"),
    ],
)
def test_bad_pages_are_refused(tmp_path, given_columns, said):
    parquet.write_table(pa.table(given_columns), tmp_path / "pages.parquet")
    with pytest.raises(SettingsError, match=said):
        build_page_graph(tmp_path / "pages.parquet", MUSIC)


def test_pages_that_are_not_there_or_not_columns_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"There is no file"):
        build_page_graph(tmp_path / "gone.parquet", MUSIC)
    (tmp_path / "pages.parquet").write_text("key,text\n")
    with pytest.raises(SettingsError, match=r"cannot be read"):
        build_page_graph(tmp_path / "pages.parquet", MUSIC)
    with pytest.raises(SettingsError, match=r"have 2, 1 and 0 rows"):
        build_page_graph({"key": ["a", "b"], "text": ["x"]}, MUSIC)
    with pytest.raises(SettingsError, match=r"window = -1 is out of range"):
        build_page_graph({"key": ["a"], "text": ["x"], "links": [[]]}, MUSIC, window=-1)


def test_the_recorded_pages_become_a_graph():
    path = needed("data/wikispeedia_6k.parquet")
    known = build_page_graph(path, MUSIC)
    table = parquet.read_table(path)
    keys, texts, links = (table[name].to_pylist() for name in ("key", "text", "links"))
    assert list(known.names) == keys
    assert known.links == sum(to != key for key, named in zip(keys, links, strict=True) for to in named) == 119_769
    row = {key: number for number, key in enumerate(keys)}
    made = rows(known)
    assert [list(to) for to in made] == [
        [row[v] for v in named if v != u] for u, named in zip(keys, links, strict=True)
    ]
    counts = [len(re.findall(r"(?<!\w)music(?!\w)", text.lower())) for text in texts]
    assert known.beta.tolist() == pytest.approx([f(count) for count in counts])
    for u in np.flatnonzero(counts)[:40]:
        if texts[u].isascii():
            plain = {v: keys[v].replace("_", " ") for v in made[u] if "%" not in keys[v]}
            expected = {v: f(window_referee(texts[u], title, 50)) for v, title in plain.items()}
            assert {v: made[u][v] for v in plain} == pytest.approx(expected)


# ---- edges


def edges_referee(edges, values=None):
    names = dict.fromkeys(name for u, v, *_ in edges for name in (u, v))
    names = list(dict.fromkeys((*names, *(values or {}))))
    links = [{} for _ in names]
    for u, v, *weight in edges:
        if u != v:
            to = links[names.index(u)]
            to.setdefault(names.index(v), []).append(weight)
    made = [{v: sum(w[0] for w in ws) if ws[0] else f(len(ws)) for v, ws in to.items()} for to in links]
    return names, [1 if values is None else values.get(name, 0) for name in names], made


NAME = st.sampled_from(["a", "b", "C#", "d-e", "10", "é", "@x"])
EDGES = st.lists(st.tuples(NAME, NAME), min_size=1, max_size=15)
WEIGHTED = st.lists(st.tuples(NAME, NAME, st.just(0.0) | st.floats(1e-20, 1e6)), min_size=1, max_size=15)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("edges")


@settings(deadline=None)
@given(
    edges=EDGES | WEIGHTED,
    values=st.none() | st.dictionaries(NAME | st.just("alone"), st.just(0.0) | st.floats(1e-20, 9)),
    between=st.sampled_from([" ", "\t", ",", " , ", "   "]),
)
def test_lines_of_text_become_the_graph_of_the_referee(folder, edges, values, between):
    lines = [between.join(map(str, edge)) for edge in edges]
    (folder / "edges.txt").write_text("\n".join(["# u v", "", *lines, "  # end"]), encoding="utf-8")
    same(build_edge_graph(folder / "edges.txt", values), *edges_referee(edges, values))


@settings(deadline=None)
@given(
    edges=EDGES | WEIGHTED,
    ends=st.sampled_from([("source", "target"), ("src", "dst"), ("a", "b")]),
    kind=st.sampled_from(["csv", "csv.gz", "parquet"]),
)
def test_columns_become_the_graph_of_the_referee(folder, edges, ends, kind):
    table = {"ts": [5] * len(edges)} | dict(zip((*ends, "weight"), zip(*edges, strict=True), strict=False))
    path = folder / f"edges.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table(table), path, row_group_size=4)
    else:
        text = "\n".join([",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))])
        path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
    same(build_edge_graph(path), *edges_referee(edges))


def test_numbers_are_names_and_packed_text_is_unpacked(tmp_path):
    parquet.write_table(pa.table({"a": [7, 5, 7], "b": [5, 7, 5], "t": ["x"] * 3}), tmp_path / "e.parquet")
    expected = ["7", "5"], [1, 1], [{1: 1 + math.log(2)}, {0: 1.0}]
    same(build_edge_graph(tmp_path / "e.parquet"), *expected)
    (tmp_path / "e.txt.gz").write_bytes(gzip.compress(b"7 5\n5 7\n7 5\n"))
    same(build_edge_graph(str(tmp_path / "e.txt.gz")), *expected)
    doubled = build_edge_graph(tmp_path / "e.txt.gz", scoring=lambda x: 2 * x)
    assert doubled.alpha.tolist() == [4.0, 2.0]


def test_values_may_stand_in_a_file(tmp_path):
    (tmp_path / "e.txt").write_text("a b\nb c\n")
    (tmp_path / "v.txt").write_text("# node value\nb\t2.5\nzed,1\n")
    same(
        build_edge_graph(tmp_path / "e.txt", tmp_path / "v.txt"),
        ["a", "b", "c", "zed"],
        [0, 2.5, 0, 1],
        [{1: 1}, {2: 1}, {}, {}],
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("e.txt", "a b\na\n", r"line 2 has 1 words; give 2, as the lines before"),
        ("e.txt", "a\n", r"line 1 has 1 words; give 2, or 3 with a weight"),
        ("e.txt", "a b c d\n", r"line 1 has 4 words"),
        ("e.txt", "a b\n\na b 3\n", r"line 3 has 3 words; give 2, as"),
        ("e.txt", "a b 1\na b\n", r"line 2 has 2 words; give 3, as"),
        ("e.txt", "a b much\n", r"line 1: 'much' is not a number"),
        ("e.txt", "a b 1\nb c -2\n", r"edge 2 \(b -> c\): the weight is -2.0"),
        ("e.txt", "a b nan\n", r"edge 1 \(a -> b\): the weight is nan"),
        ("e.txt", "# none\n", r"has no edges"),
        ("e.csv", "left,right\na,b\n", r"needs the columns source, target; it has left, right"),
        (
            "e.csv",
            "source,target\na,b\n" + "x" * 3_000_000 + ",b\n",
            r"e\.csv, line 3: it is longer than 1 MB\. Correct",
        ),
        ("e.txt", "from_user to_user\na b\n", r"line 1: from_user, to_user look like names of columns"),
        ("e.txt", "from_user to_user n\na b 2\n", r"Call them source,target \(and weight\)"),
        ("e.csv", "source,target\n", r"has no edges"),
        ("e.csv", "source,target\na,b\n,c\n", r"row 2: source is empty"),
        ("e.csv", "source,target,weight\na,b,heavy\n", r"weight is not a number"),
        ("e.csv", "source,target,weight\na,b,inf\n", r"edge 1 \(a -> b\): the weight is inf"),
        ("e.csv", "source,target\na,b,c\n", r"e\.csv, line 2: it has more or fewer cells than the header"),
        ("e.parquet", "no parquet", r"cannot be read"),
        ("e.txt.gz", "not packed", r"cannot be read"),
    ],
)
def test_bad_edges_are_refused_with_the_place(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=said) as failure:
        build_edge_graph(tmp_path / name)
    assert str(tmp_path / name) in str(failure.value)


HEADS = ["source target", "target\tsource", "src,dst", "from,to", "Follower,Followee", "from_id to_id"]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("weight", [None, "weight", "Count"])
def test_a_first_line_that_names_the_columns_is_no_edge(tmp_path, head, weight):
    turned = head.startswith("target")
    edges = [(b, a) if turned else (a, b) for a, b in (("ann", "bob"), ("bob", "cleo"))]
    told = [f"{head}{',' + weight if weight else ''}", *(f"{a},{b}{',2' if weight else ''}" for a, b in edges)]
    (tmp_path / "e.txt").write_text("\n".join(told))
    alpha = 2.0 if weight else 1.0
    (tmp_path / "e.csv").write_text("\n".join(line.replace(" ", ",").replace("\t", ",") for line in told))
    for name in ("e.txt", "e.csv"):
        found = build_edge_graph(tmp_path / name)
        links = {(found.names[u], found.names[v]): w for u, row in enumerate(rows(found)) for v, w in row.items()}
        assert links == {("ann", "bob"): alpha, ("bob", "cleo"): alpha}


VALUES = {
    "v.csv": 'name,value\nann,2\n"cleo, the 1st",3\n',
    "w.csv": 'Value,User\n2,ann\n3,"cleo, the 1st"\n',
    "v.txt": "# made by hand\nnode score\nann 2\nbob 0\n",
    "bare.csv": "ann,2\nbob,0\n",
    "v.parquet": None,
}


@pytest.mark.parametrize("name", VALUES)
def test_values_may_have_a_first_line_that_names_the_columns(tmp_path, name):
    (tmp_path / "e.csv").write_text('source,target\nann,bob\nbob,"cleo, the 1st"\n')
    if VALUES[name] is None:
        parquet.write_table(pa.table({"name": ["ann", "cleo, the 1st"], "value": [2.0, 3.0]}), tmp_path / name)
    else:
        (tmp_path / name).write_text(VALUES[name])
    said = []
    graph = build_edge_graph(tmp_path / "e.csv", tmp_path / name, say=said.append)
    assert graph.names == ["ann", "bob", "cleo, the 1st"]
    assert graph.beta.tolist() == [2, 0, 0 if "bob,0" in str(VALUES[name]) or name == "v.txt" else 3]
    assert not said


def test_names_of_values_that_are_in_no_edge_are_counted_and_shown(tmp_path):
    (tmp_path / "e.txt").write_text("ann bob\n")
    (tmp_path / "v.csv").write_text("name,value\nbob,1\n" + "".join(f"x{i},1\n" for i in range(7)))
    said = []
    graph = build_edge_graph(tmp_path / "e.txt", tmp_path / "v.csv", say=said.append)
    assert len(graph.names) == 9
    (line,) = said
    assert line.startswith(
        f"7 of the 8 names in {tmp_path / 'v.csv'} are in no edge of {tmp_path / 'e.txt'}: x0, x1, x2,"
    )
    assert line.endswith("x4 and 2 more. They are nodes without links.")
    (tmp_path / "v.csv").write_text("name,value\n@bob,1\n")
    with pytest.raises(
        SettingsError, match=r"1 of the 1 names .* are in no edge .*: @bob\. Call the nodes as the edges do"
    ):
        build_edge_graph(tmp_path / "e.txt", tmp_path / "v.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user,n\na,2\n", r"line 1: 'n' is not a number; .* if the line names the columns, call them name and value"),
        ("a 1\na 2\n", r"line 2: 'a' has a value already"),
        ("a\n", r"line 1 has 1 words; give a name and a value"),
        ("a b\n", r"line 1: 'b' is not a number"),
        ("a -1\n", r"The value of 'a' is -1.0; give one from 0 up"),
        ("a nan\n", r"The value of 'a' is nan"),
    ],
)
def test_bad_values_are_refused(tmp_path, text, said):
    (tmp_path / "e.txt").write_text("a b\n")
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(SettingsError, match=said):
        build_edge_graph(tmp_path / "e.txt", tmp_path / "v.txt")
    with pytest.raises(SettingsError, match=r"There is no file"):
        build_edge_graph(tmp_path / "e.txt", tmp_path / "gone.txt")


@pytest.mark.parametrize(
    ("file", "ends"),
    [
        ("mathoverflow_activity", ("a", "b")),
        ("raku_mentions_2005_2026", ("src", "dst")),
    ],
)
def test_recorded_edges_become_a_graph(file, ends):
    path = needed(f"data/{file}.parquet")
    u, v = (column.to_pylist() for column in parquet.read_table(path, columns=list(ends)).columns)
    known, count = build_edge_graph(path), {}
    for pair in zip(map(str, u), map(str, v), strict=True):
        count[pair] = count.get(pair, 0) + 1
    assert set(known.names) == {name for pair in count for name in pair}
    source = np.repeat(np.arange(known.size), np.diff(known.indptr)).tolist()
    made = [(known.names[s], known.names[t]) for s, t in zip(source, known.indices.tolist(), strict=True)]
    assert len(made) == len(set(made)) == sum(s != t for s, t in count)
    assert known.alpha.tolist() == pytest.approx([f(count[pair]) for pair in made])
