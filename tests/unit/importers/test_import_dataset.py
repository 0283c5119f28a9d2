"""Old datasets into a campaign that refreshes them: edge lists, ids, posts, whatever their form."""

import gzip
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from import_files import columns, drawn, everything, flat, name, pages, table, write_lines
from pyarrow import parquet
from refresh_campaigns import brought, graph_of, revived, sites_of, written
from stores import a_database, failing

from socialcrawl.campaign.settings import check_settings
from socialcrawl.errors import PostsFileError, SettingsError, StoreError
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.erasure.tombstones import make_digest, put_tombstones

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
EDGES = [("12", "7"), ("7", "12"), ("12", "99"), ("5", "12")]
GRAPH = {"12": {"7": 1.0, "99": 1.0}, "7": {"12": 1.0}, "99": {}, "5": {"12": 1.0}}


def lines(mark, *head):
    return "\n".join([*head, *(mark.join(edge) for edge in EDGES)]) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        lines(",", "source,target"),
        lines(","),
        lines("\t", "# a remark", "src\tdst"),
        lines(" ", "% made by hand"),
        lines(";", "Source;Target"),
        lines(",", "left,right"),
        "target,weight,source\n" + "".join(f'"{t}",1,"{s}"\r\n' for s, t in EDGES),
        "\ufeffsource,target\n" + lines(","),
    ],
    ids=["names", "bare", "tabs", "blanks", "semicolons", "other names", "turned round", "with a mark"],
)
def test_an_edge_list_is_read_whatever_stands_between_its_cells(tmp_path, text):
    with a_database("sqlite") as connection:
        entered, trouble = brought(connection, written(tmp_path / "a", text))
        assert graph_of(connection) == GRAPH
        assert (entered.nodes, entered.links, entered.known, trouble.count) == (4, 4, 0, 0)


@BOTH
def test_parquet_and_packed_text_say_the_same_as_text(kind, tmp_path):
    ends = {"source": [int(a) for a, _ in EDGES], "target": pa.array([b for _, b in EDGES])}
    parquet.write_table(pa.table(ends), tmp_path / "a.parquet")
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines(",").encode()))
    for path in (tmp_path / "a.parquet", tmp_path / "a.gz"):
        with a_database(kind) as connection:
            brought(connection, path)
            assert graph_of(connection) == GRAPH


def test_a_list_of_ids_or_names_is_a_dataset_without_links(tmp_path):
    text = "id,username\n12,Ann\n,bob\n7,\n"
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "a", text), written(tmp_path / "b", "99\n@Cyd\n# nobody\n12\n"))
        assert graph_of(connection) == {key: {} for key in ["ann", "bob", "7", "99", "cyd"]}
        known = table(connection, "select platform_id, username from account order by node")
        assert sorted(known, key=str) == sorted(
            [("12", "Ann"), (None, "bob"), ("7", None), ("99", None), (None, "Cyd")], key=str
        )


def test_numbers_are_ids_on_x_unless_they_are_said_to_be_names(tmp_path):
    path = written(tmp_path / "a", "2024,ann\nann,2024\n")
    for reading, expected in (("auto", {("2024", None), (None, "ann")}), ("names", {(None, "2024"), (None, "ann")})):
        with a_database("sqlite") as connection:
            brought(connection, path, reading=reading)
            assert set(table(connection, "select platform_id, username from account")) == expected
    with a_database("sqlite") as connection, pytest.raises(PostsFileError, match="'ann' is not an id of X"):
        brought(connection, path, reading="ids")


def test_an_account_under_several_names_is_one_node_with_all_its_links(tmp_path):
    path = written(tmp_path / "a", "Ann,bob\nANN,cyd\n@ann,bob\nann,Ann\n")
    with a_database("sqlite") as connection:
        entered, _ = brought(connection, path)
        assert graph_of(connection) == {"ann": {"bob": 2.0, "cyd": 1.0}, "bob": {}, "cyd": {}}
        assert (entered.nodes, entered.links) == (3, 2)


def test_weights_are_kept_and_those_of_one_link_add_up(tmp_path):
    path = written(tmp_path / "a", "source,target,weight\n1,2,0.5\n1,3,2\n1,2,4\n4,,\n")
    with a_database("sqlite") as connection:
        brought(connection, path)
        assert graph_of(connection) == {"1": {"2": 4.5, "3": 2.0}, "2": {}, "3": {}, "4": {}}


def test_pages_have_their_host_as_site_and_accounts_of_mastodon_their_instance(tmp_path):
    web = "https://a.example/x,https://B.example:8080/y?q=1\nhttps://b.example/,https://a.example/x\n"
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "w", web), settings=revived("web"))
        sites = sites_of(connection)
        assert sites == {
            "https://a.example/x": "a.example",
            "https://b.example:8080/y?q=1": "b.example",
            "https://b.example/": "b.example",
        }
    with a_database("sqlite") as connection:
        told = "@Ann@One.example,bob@two.example\n"
        brought(connection, written(tmp_path / "m", told), settings=revived("mastodon"))
        assert sites_of(connection) == {"ann@one.example": "one.example", "bob@two.example": "two.example"}
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "x", "ann,bob\n"))
        assert sites_of(connection) == {"ann": None, "bob": None}


def test_addresses_with_commas_are_one_cell_each(tmp_path):
    path = written(tmp_path / "a", "https://a.example/1,2\nhttps://a.example/b;c d\n")
    with a_database("sqlite") as connection:
        brought(connection, path, settings=revived("web"))
        assert list(graph_of(connection)) == ["https://a.example/1,2", "https://a.example/b;c%20d"]


@pytest.mark.parametrize("form", [pages, flat, columns], ids=lambda form: form.__name__)
def test_posts_link_their_authors_to_whom_they_name_and_answer(tmp_path, form):
    posts = drawn(posts=80)
    expected = {name(person).lower(): set() for person in {post.author for post in posts}}
    for post in posts:
        expected[name(post.author).lower()] |= {name(other).lower() for other in post.kinds()} - {
            name(post.author).lower()
        }
    with a_database("sqlite") as connection:
        brought(connection, write_lines(tmp_path / "a", form(posts)))
        assert {source: set(targets) for source, targets in graph_of(connection).items()} == expected
        assert table(connection, "select count(*) from post") == [(0,)]


@BOTH
def test_a_second_import_adds_only_what_is_new(kind, tmp_path):
    first = written(tmp_path / "a", lines(","))
    second = written(tmp_path / "b", lines(",") + "12,400\n400,5\n12,7\n")
    with a_database(kind) as connection:
        brought(connection, first)
        before = everything(connection)
        entered, _ = brought(connection, first)
        assert (entered.nodes, entered.links, entered.known) == (0, 0, 4)
        assert everything(connection) == before
        entered, _ = brought(connection, second)
        assert (entered.nodes, entered.links, entered.known) == (1, 2, 4)
        assert graph_of(connection) == GRAPH | {"12": GRAPH["12"] | {"400": 1.0}, "400": {"5": 1.0}}
        assert [n for (n,) in table(connection, "select n from pick order by n")] == list(range(6))
        assert table(connection, "select count(*) from pick where n <> batch") == [(0,)]


@BOTH
def test_whoever_was_forgotten_is_no_part_of_a_dataset(kind, tmp_path):
    with a_database(kind) as connection:
        gone = [("name", "bob"), ("user", "7")]
        with connection.begin():
            put_tombstones(connection, [(make_digest("x", what, key), what, "forget", "2023") for what, key in gone])
        entered, _ = brought(connection, written(tmp_path / "a", "ann,Bob\nbob,cyd\n7,ann\nann,7\nann,cyd\n"))
        assert graph_of(connection) == {"ann": {"cyd": 1.0}, "cyd": {}}
        assert entered.forgotten == 2
        assert table(connection, "select count(*) from account") == [(2,)]


@BOTH
def test_nothing_is_stored_where_something_fails(kind, tmp_path):
    path = written(tmp_path / "a", lines(","))
    with a_database(kind) as connection:
        with failing(connection, "link"), pytest.raises(StoreError):
            brought(connection, path)
        assert not any(everything(connection).values())
        with pytest.raises(PostsFileError, match=r"1 bad line, nothing was stored:\n  .*b, line 2: 'no name'"):
            brought(connection, path, written(tmp_path / "b", "1,2\nno name,3\n"))
        assert not any(everything(connection).values())
        _, trouble = brought(connection, path, tmp_path / "b", skip_bad=True)
        assert trouble.count == 1
        assert graph_of(connection) == GRAPH | {"1": {"2": 1.0}, "2": {}}


UNKNOWN = r"look like names of columns, and are not known\. Call them source,target \(and weight\)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("from_user,to_user,n\nann,bob,3\n", f"a, line 1: from_user, to_user, n {UNKNOWN}"),
        (
            "from_user,to_user,n\n12,7,3\n",
            r"a: the columns from_user, to_user, n are not known\. Call them source,target",
        ),
        ("FromUser;ToUser\nann;bob\n", UNKNOWN),
        ("retweeter\tretweeted\nann\tbob\n", UNKNOWN),
        ("wer,wen,gewicht\nann,bob,3\n", UNKNOWN),
        (
            "user\nann\nbob\n",
            "line 1: user look like names .* If they are accounts, write a line with such names above",
        ),
    ],
)
def test_a_first_line_of_unknown_names_is_refused_and_makes_nobody(tmp_path, text, says):
    with a_database("sqlite") as connection:
        with pytest.raises(PostsFileError, match=says):
            brought(connection, written(tmp_path / "a", text), skip_bad=True)
        assert not any(everything(connection).values())


def test_accounts_that_are_called_as_columns_are_read_below_a_known_line(tmp_path):
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "a", "source,target\nfriend,user\nann,_\n"))
        assert graph_of(connection) == {"friend": {"user": 1.0}, "user": {}, "ann": {"_": 1.0}, "_": {}}
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "a", "user_1,_\nann,user\n"))
        assert set(graph_of(connection)) == {"user_1", "_", "ann", "user"}


@pytest.mark.parametrize("head", ["source_id,target_id,weight", "FROM_ID,TO_ID,Count", "from,to,weights"])
def test_other_well_known_names_of_columns_are_read_with_their_weight(tmp_path, head):
    with a_database("sqlite") as connection:
        _, trouble = brought(connection, written(tmp_path / "a", f"{head}\nann,bob,3\n"))
        assert graph_of(connection) == {"ann": {"bob": 3.0}, "bob": {}}
        assert trouble.notes == []


def test_columns_that_may_be_weights_and_are_not_read_are_named(tmp_path):
    with a_database("sqlite") as connection:
        _, trouble = brought(connection, written(tmp_path / "a", "source,target,n\nann,bob,3\n"))
        assert graph_of(connection) == {"ann": {"bob": 1.0}, "bob": {}}
        assert trouble.notes == [f"{tmp_path / 'a'}: not read: n. If a column holds weights, call it weight."]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1,2\n3\n", r"line 2: it has 1 cell, others have 2"),
        ("source,target\n1.23E+18,2\n", "rounded number: keep ids as text"),
        ("source,target,weight\n1,2,-1\n", "its weight is '-1'"),
        ("source,target,weight\n1,2,many\n", "its weight is 'many'"),
        ("source,target\n,2\n", "it is empty"),
        ("username\nfar_too_long_for_a_name\n", "is not a username of X"),
        ("", "is empty: give Parquet"),
        ("a\0b", "is of no known kind"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(tmp_path, text, says):
    with a_database("sqlite") as connection, pytest.raises(PostsFileError, match=says):
        brought(connection, written(tmp_path / "a", text))


def test_a_missing_file_and_a_damaged_parquet_are_said(tmp_path):
    (tmp_path / "p").write_bytes(b"PAR1 and nothing else")
    with a_database("sqlite") as connection:
        for path in (tmp_path / "none", tmp_path / "p"):
            with pytest.raises(PostsFileError, match=f"{path.name} cannot be read"):
                brought(connection, path)


def test_only_a_campaign_that_refreshes_takes_a_dataset(tmp_path):
    collecting = check_settings({"name": "c", "topic": {"keywords": ["a"]}}, "test")
    with a_database("sqlite") as connection, pytest.raises(SettingsError, match='kind = "refresh"'):
        brought(connection, written(tmp_path / "a", "1\n"), settings=collecting)


def test_a_campaign_that_runs_takes_no_dataset(tmp_path):
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "a", "1\n"))
        lease = Lease(connection, "revive")
        with pytest.raises(StoreError, match="Another process is running"):
            brought(connection, tmp_path / "a")
        lease.release()


@settings(deadline=None, max_examples=many(60))
@given(st.data())
def test_wild_graphs_in_pieces_come_to_the_same_graph(data):
    edge = st.tuples(st.integers(1, 12), st.integers(1, 12))
    parts = data.draw(st.lists(st.lists(edge, min_size=1, max_size=20), min_size=1, max_size=3))
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder, a_database("sqlite") as connection:
        expected, seen = {}, {}
        for number, part in enumerate(parts):
            path = written(Path(folder) / str(number), "\n".join(f"{a},{b}" for a, b in part))
            brought(connection, path)
            for a, b in part:
                expected.setdefault(str(a), {}), expected.setdefault(str(b), {})
            for (a, b), count in Counter(part).items():
                if a != b and (a, b) not in seen:
                    seen[a, b] = float(count)
                    expected[str(a)][str(b)] = float(count)
        assert graph_of(connection) == expected


def test_links_lie_in_the_order_of_the_file(tmp_path):
    chance = Random(4)
    edges = list(dict.fromkeys((chance.randrange(1, 40), chance.randrange(40, 80)) for _ in range(400)))
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "a", "\n".join(f"{a},{b}" for a, b in edges)))
        found = graph_of(connection)
        assert list(found) == [str(node) for node in dict.fromkeys(node for edge in edges for node in edge)]
        for node in range(1, 40):
            assert list(found.get(str(node), ())) == [str(b) for a, b in edges if a == node]
