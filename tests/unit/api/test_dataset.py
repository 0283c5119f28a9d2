import inspect
import lzma
import re
import socket
import sqlite3
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from api_campaigns import run_example, sections_of
from postgres import a_server_database
from x_crawls import TOPIC, posts

import socialcrawl as sc
from socialcrawl.mock.server import serve_in_thread


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    campaign, ending = run_example(tmp_path_factory.mktemp("api"))
    assert (ending.state, ending.report.to_dict()["steps"]) == ("done", 30)
    return campaign.database


@pytest.fixture
def data(path):
    with sc.open(path) as opened:
        yield opened


def ask(path, query):
    """The same question, put to SQLite itself."""
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


def test_posts_are_those_of_the_database_oldest_first_with_their_ids_as_texts(data, path):
    frame = data.posts().to_pandas()
    stored = ask(path, "select id, text, likes from post order by created_at, id")
    assert [*zip(frame["id"], frame["text"], frame["likes"], strict=True)] == stored
    assert str(frame["id"].dtype).startswith("str")
    assert frame["created_at"].dt.tz is not None
    assert frame["created_at"].is_monotonic_increasing


def test_posts_on_topic_are_those_that_contain_the_keyword(data):
    texts = data.posts(on_topic=True).to_pandas()["text"]
    every = data.posts().to_pandas()["text"]
    assert 0 < len(texts) < len(every)
    assert set(texts) == {text for text in every if TOPIC in text.lower()}


def test_accounts_are_listed_by_relevance_and_top_limits_them(data, path):
    frame = data.accounts().to_pandas()
    stored = ask(path, "select max(o.value) from outcome o join pick p using (campaign, n) "
                       "where p.act in ('seed', 'expand') and o.occurrences > 0 group by o.node")  # fmt: skip
    assert frame["relevance"].tolist() == pytest.approx(sorted((value for (value,) in stored), reverse=True))
    assert frame["place"].tolist() == [*range(1, len(frame) + 1)]
    assert data.accounts(top=3).to_pandas().equals(frame.head(3))


def test_the_score_curve_adds_up_the_relevance_of_each_step(data, path):
    frame = data.score_curve().to_pandas()
    assert frame["step"].tolist() == [*range(1, 31)]
    steps = "pick p join outcome o using (campaign, n) where p.act = 'expand'"
    values = [value for (value,) in ask(path, f"select coalesce(o.value, 0) from {steps} order by p.n")]
    assert frame["relevance"].tolist() == pytest.approx(pd.Series(values).cumsum().tolist())
    ((sent,),) = ask(path, "select count(*) from request where kind != 'held'")
    assert frame["requests"].iloc[-1] == sent


def test_the_network_has_each_mention_once_and_none_of_oneself(data, path):
    network = data.network()
    graph = network.to_networkx()
    assert list(graph) == [node["account"] for node in network.nodes], "in the order of the table, not of a set"
    pairs = ask(
        path,
        "select distinct p.author, m.node from post p join mention m on m.post = p.id "
        "where p.author != m.node and p.author in (select node from outcome where missing is null)",
    )
    assert graph.number_of_edges() == len(pairs) == len(network.to_pandas())
    assert sum(data["collected"] for _, data in graph.nodes(data=True)) > 0
    drawn = network.to_igraph()
    assert (drawn.vcount(), drawn.ecount()) == (graph.number_of_nodes(), graph.number_of_edges())
    assert {drawn.vs[edge.source]["name"] for edge in drawn.es} == {source for source, _ in graph.edges}
    assert sum(drawn.es["weight"]) == sum(weight for _, _, weight in graph.edges(data="weight"))


def test_the_network_on_topic_has_only_links_of_posts_that_match(data):
    every, topical = (set(data.network(on_topic=only).to_networkx().edges) for only in (False, True))
    assert topical < every
    assert all(edge["alpha"] >= 1 for edge in data.network(on_topic=True).edges)


def test_a_table_is_the_same_in_every_form(data):
    table = data.posts()
    rows = list(table)
    arrow, frame, polars = table.to_arrow(), table.to_pandas(), table.to_polars()
    assert isinstance(arrow, pa.Table)
    assert isinstance(polars, pl.DataFrame)
    assert arrow.to_pylist() == rows == polars.to_dicts()
    assert len(frame) == len(rows)
    assert [*frame.columns] == polars.columns == [column.name for column in table.columns]
    assert all(isinstance(row["created_at"], datetime) for row in rows)


def test_batches_hold_no_more_rows_than_asked_for(data):
    batches = list(data.posts().batches(7))
    assert {batch.num_rows for batch in batches[:-1]} == {7}
    assert pa.Table.from_batches(batches) == data.posts().to_arrow()
    with pytest.raises(sc.SocialcrawlError, match="1 or more"):
        next(data.posts().batches(0))


def test_a_table_without_rows_has_its_columns_and_types(data):
    empty = data.accounts(top=0)
    assert empty.to_arrow().schema == data.accounts().to_arrow().schema
    assert empty.to_pandas().empty


def test_sql_answers_with_types_and_changes_nothing(data, path):
    frame = data.sql("select count(*) as n, avg(likes) as mean, 'x' as word, null as missing from post").to_pandas()
    assert frame["n"].item() == ask(path, "select count(*) from post")[0][0]
    assert frame["mean"].item() == pytest.approx(ask(path, "select avg(likes) from post")[0][0])
    assert data.sql("select 1 as a, 2 as a").to_pandas().columns.tolist() == ["a", "a_2"]
    with pytest.raises(sc.SocialcrawlError):
        data.sql("delete from post")
    assert ask(path, "select count(*) from post")[0][0] == frame["n"].item()


def test_the_report_and_the_explanation_have_a_text_and_values(data, path):
    report = data.report(top=3)
    assert report.to_dict()["posts"] == ask(path, "select count(*) from post")[0][0]
    assert f"{report.to_dict()['posts_read']:,}" in report.text
    who = next(iter(data.accounts(top=1)))["account"]
    explained = data.explain(who)
    assert who in explained.text
    assert explained.to_dict()["campaign"] == "example"
    assert "<pre>" in report._repr_html_()


def test_a_datasheet_says_how_the_data_came_about(data, path):
    sheet = data.datasheet()
    assert "example" in sheet.text
    assert sheet.to_dict()["campaigns"][0]["name"] == "example"


def test_a_table_escapes_what_others_wrote_where_a_notebook_shows_it(data):
    shown = data.sql("select '<script>alert(1)</script>' as text")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_a_campaign_that_is_not_there_is_named_with_those_that_are(data):
    assert data.campaigns == ["example"]
    assert [row["campaign"] for row in data.list_campaigns()] == ["example"]
    for ask_it in (data.posts, data.accounts, data.score_curve, data.network):
        with pytest.raises(sc.SocialcrawlError, match="example"):
            ask_it(campaign="exmaple")


@pytest.mark.parametrize("name", ["nowhere.db", "text.db"])
def test_what_is_no_database_is_refused_with_a_sentence(tmp_path, name):
    (tmp_path / "text.db").write_text("no database")
    with pytest.raises(sc.SocialcrawlError) as refused:
        sc.open(tmp_path / name)
    assert name in str(refused.value)


def test_reading_sends_nothing(path, monkeypatch):
    monkeypatch.setattr(socket, "socket", None)
    with sc.open(path) as data:
        assert len(data.posts().to_pandas()) > 0


def test_what_is_made_from_a_dataset_keeps_it_open(path):
    with sc.open(path) as data:
        edges, posts = data.network().to_pandas(), data.posts().to_pandas()
    assert sc.open(path).network().to_networkx().number_of_edges() == len(edges) > 0
    assert sc.open(path).network().to_pandas().equals(edges)
    assert sc.open(path).posts().to_pandas().equals(posts)


def test_whatever_is_read_after_closing_says_what_to_do(path, tmp_path):
    data = sc.open(path)
    network, table, report, begun = data.network(), data.posts(), data.report(), data.posts().batches(3)
    next(begun)
    data.close()
    data.close()
    who = "someone"
    calls = [
        lambda: data.campaigns, data.list_campaigns, data.posts, data.accounts, data.score_curve, data.network,
        data.report, data.datasheet, lambda: data.explain(who), lambda: data.sql("select 1"), lambda: list(table),
        table.to_pandas, table.to_polars, table._repr_html_, network.to_networkx, network.to_igraph, network.to_pandas,
        lambda: list(network.nodes), lambda: report.to_html(tmp_path / "page.html"), lambda: next(begun),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(sc.SocialcrawlError, match=r"was closed.*open the database again"):
            call()


def test_an_older_database_is_read_and_stays_as_it_is(tmp_path, capfd):
    frozen = Path(__file__).parents[2] / "compatibility/frozen/0.1.0/x-collect.db.xz"
    older = tmp_path / "older.db"
    older.write_bytes(lzma.decompress(frozen.read_bytes()))
    before = older.read_bytes()
    with sc.open(older) as data:
        assert len(data.score_curve().to_pandas()) == 3
        assert data.sql("select version_num from alembic_version").to_pandas()["version_num"].item() > "0009"
        assert "older.db" in repr(data)
    assert older.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["older.db"]
    assert capfd.readouterr().err == ""


def test_an_empty_file_is_no_database_and_stays_empty(tmp_path):
    (tmp_path / "empty.db").touch()
    with pytest.raises(sc.SocialcrawlError, match=r"empty\.db"):
        sc.open(tmp_path / "empty.db")
    assert (tmp_path / "empty.db").read_bytes() == b""


WRONG = [None, -1, 2, 2.5, 10**30, "a", "", b"a", True, [], {}, object()]


@pytest.mark.parametrize(
    "name", ["posts", "accounts", "score_curve", "network", "sql", "report", "explain", "datasheet"]
)
def test_a_wrong_argument_is_accepted_or_refused_with_a_sentence(data, name):
    method, refused = getattr(data, name), 0
    for parameter in inspect.signature(method).parameters:
        for value in WRONG:
            required = {"sql": {"query": "select 1"}, "explain": {"user": "someone"}}.get(name, {})
            try:
                method(**{**required, parameter: value})
            except sc.SocialcrawlError:  # anything else fails the test
                refused += 1
    assert refused


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda data: data.accounts(top=-1), r"accounts\(top=-1\): give a whole number, 0 or more"),
        (lambda data: data.accounts(top="a"), "give a whole number"),
        (lambda data: data.posts(on_topic=2), r"posts\(on_topic=2\): give True or False"),
        (lambda data: data.posts().batches("x"), r"batches\(size='x'\)"),
        (lambda data: data.sql(5), r"sql\(query=5\): give a text"),
        (lambda data: sc.open(None), r"place=None\): give a path"),
        (lambda data: sc.simulate("x", ["bfs"], steps=1), "is a Graph"),
        (lambda data: sc.simulate("x", ["bfs"], steps="10"), r"simulate\(steps='10'\)"),
        (lambda data: sc.simulate("x", ["bfs"], steps=1, seeds=[1]), r"simulate\(seeds=\[1\]\)"),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_wanted(data, call, said):
    with pytest.raises(sc.SocialcrawlError, match=said):
        call(data)


@pytest.mark.parametrize(
    ("query", "params"),
    [
        (
            "select count(*) as n from post where text like ? and created_at >= ?",
            ["%a%", datetime(2020, 1, 1, tzinfo=UTC)],
        ),
        (
            "select count(*) as n from post where text like :t and created_at >= :at",
            {"t": "%a%", "at": date(2020, 1, 1)},
        ),
    ],
)
def test_values_of_a_query_are_bound_to_its_placeholders_and_never_part_of_it(data, path, query, params):
    ((n,),) = ask(path, "select count(*) from post where text like '%a%' and created_at >= '2020-01-01T00:00:00'")
    assert [row["n"] for row in data.sql(query, params=params)] == [n]
    assert n > 0
    (row,) = data.sql("select ? as said", params=["'; drop table post; --"])
    assert row["said"] == "'; drop table post; --"


def test_a_datetime_is_bound_as_times_are_stored(data):
    (row,) = data.sql("select ? as at", params=[datetime(2026, 1, 31, 13, tzinfo=timezone(timedelta(hours=1)))])
    assert row["at"] == "2026-01-31T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("query", "params", "said"),
    [
        ("select ?", "en", r"sql\(params='en'\): give a list of values, or a dict of values by name"),
        ("select ?, ?", [1], "Fix the query"),
        ("delete from post", None, "only reads"),
        ("pragma journal_mode = wal", None, "only reads"),
        ("select * from nowhere", None, "Tables are"),
    ],
)
def test_errors_of_a_query_do_not_speak_of_the_command_line(data, query, params, said):
    with pytest.raises(sc.SocialcrawlError, match=said) as error:
        data.sql(query, params=params)
    assert not re.search("socialcrawl sql|--", str(error.value))


@pytest.mark.parametrize("method", ["report", "datasheet", "list_campaigns"])
def test_reports_can_be_made_in_any_order_and_while_a_table_is_read(data, method):
    rows = iter(data.posts())
    next(rows)

    def make():
        made = getattr(data, method)()
        return [*made] if method == "list_campaigns" else len(str(made))  # a table is read when it is converted

    first = make()
    data.datasheet()
    data.report()
    assert make() == first
    assert len([*rows]) + 1 == len(data.posts().to_arrow())


def test_dollars_of_a_test_server_are_marked_as_not_charged(data, path, tmp_path):
    def read(opened):
        curve, campaigns = opened.score_curve().to_pandas(), opened.list_campaigns().to_pandas()
        assert campaigns["dollars"].iloc[-1] > 0
        return {*curve["charged"]}, {*campaigns["charged"]}, opened.report().to_dict()["charged"]

    assert read(data) == ({False}, {False}, False)
    copy = tmp_path / "live.db"
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        target.execute("update campaign set settings = json_remove(settings, '$.source.base_url')")
    with sc.open(copy) as live:
        assert read(live) == ({True}, {True}, True), "the same campaign on the platform itself"


@pytest.mark.parametrize(
    ("change", "charged"),
    [
        ("platform = 'elsewhere'", None),
        ("platform = 'bluesky', settings = json_set(settings, '$.source.policy', 'own.toml')", None),
        ("platform = 'bluesky'", False),
    ],
    ids=["of a platform that is not installed", "with prices of its own", "of a platform without prices"],
)
def test_whether_dollars_are_charged_is_missing_where_nobody_can_tell(path, tmp_path, change, charged):
    copy = tmp_path / "other.db"
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        target.execute("update campaign set settings = json_set(settings, '$.source.base_url', 'https://a.example')")
        target.execute(f"update campaign set {change}")
    with sc.open(copy) as data:
        assert [row["charged"] for row in data.list_campaigns()] == [charged]
        assert {row["charged"] for row in data.score_curve()} == {charged}


def test_a_preview_of_the_campaigns_own_topic_matches_the_posts_that_it_has_matched(data, path):
    preview = data.preview_matches([TOPIC], limit=10**6)
    stored = ask(path, "select post, occurrences from hit order by post")
    assert sorted((one["id"], one["occurrences"]) for one in preview.matches) == stored
    assert preview.occurrences == sum(count for _, count in stored)
    assert (preview.matching, preview.examined) == (len(stored), ask(path, "select count(*) from post")[0][0])
    assert len(preview.others) == preview.examined - preview.matching


def test_a_preview_looks_at_the_posts_that_were_stored_last(data, path):
    preview = data.preview_matches([TOPIC], newest=40, limit=10**6)
    assert preview.examined == 40
    newest = [key for (key,) in ask(path, "select id from post order by rowid desc limit 40")]
    on_topic = {key for (key,) in ask(path, "select post from hit")}
    assert [one["id"] for one in preview.matches] == [key for key in newest if key in on_topic]
    assert [one["id"] for one in preview.others] == [key for key in newest if key not in on_topic]
    few = data.preview_matches([TOPIC], newest=40, limit=1)
    assert (few.matching, few.matches, few.others) == (preview.matching, preview.matches[:1], preview.others[:1])


def test_a_preview_of_a_database_on_a_server_is_counted_alike():
    with a_server_database() as place, serve_in_thread(posts(), limit=100_000) as mock:
        campaign = sc.Campaign(name="example", **sections_of(mock.url, place.url))
        campaign.run(steps=5)
        with campaign.open() as data:
            preview = data.preview_matches([TOPIC], limit=10**6)
            frame = data.posts(on_topic=True).to_pandas()
            fetched = data.posts().to_pandas().set_index("id")["fetched_at"]
            few = data.preview_matches([TOPIC], newest=30, limit=10**6)
    matches = [(one["id"], one["occurrences"]) for one in preview.matches]
    assert sorted(matches) == sorted(zip(frame["id"], frame["occurrences"], strict=True))
    seen = [one["id"] for one in (*few.matches, *few.others)]
    assert len(set(seen)) == few.examined == 30
    assert fetched[seen].min() >= fetched.nlargest(30).min()


def test_a_preview_counts_regular_expressions_and_languages(data):
    by_pattern = data.preview_matches(patterns=[rf"\b{TOPIC}\b"], timeout="5m", limit=10**6)
    by_word = data.preview_matches([TOPIC], limit=10**6)
    assert by_pattern.matches == by_word.matches
    assert data.preview_matches([TOPIC], languages=["zh"]).matching < by_word.matching


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "no keywords"), ({"patterns": ["("]}, "is not valid"), ({"patterns": ["a*"]}, "matches the empty text"),
        ({"keywords": ["a OR b"]}, "would be searched as one phrase"), ({"keywords": "sky"}, "give a list of texts"),
        ({"keywords": ["a"], "newest": 0}, "1 or more"),
        ({"patterns": ["\ud800"]}, "is not valid text"), ({"keywords": ["a"], "timeout": "soon"}, "soon"),
    ],
)  # fmt: skip
def test_a_preview_of_an_unusable_topic_is_refused(data, given, said):
    with pytest.raises(sc.SettingsError, match=said):
        data.preview_matches(**given)


def test_a_preview_of_a_regular_expression_without_an_end_is_given_up():
    from socialcrawl.campaign.match_counting import count_matches

    posts = [("a" * 60, None, None, None)]
    with pytest.raises(sc.SettingsError, match=r"Counting 1 posts? takes longer than 1 s"):
        count_matches("x", ((), ("(a+)+b",), ()), posts, 1.0, iter([]).__next__)


def test_a_preview_that_takes_longer_than_it_may_is_given_up():
    from socialcrawl.campaign.match_counting import count_matches

    posts = [("telescope", None, None, None)] * 3
    assert count_matches("x", (("telescope",), (), ()), posts, 2.0, iter([0.0, 1.0, 1.5, 2.0]).__next__) == [1, 1, 1]
    with pytest.raises(sc.SettingsError, match="Counting 3 posts takes longer than 2 s"):
        count_matches("x", (("telescope",), (), ()), posts, 2.0, iter([0.0, 1.0, 3.0]).__next__)
