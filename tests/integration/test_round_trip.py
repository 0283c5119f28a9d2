"""What an export writes comes back as a dataset: no bad line, the same accounts and links, in every format."""

import json
from functools import lru_cache

import pytest
from refresh_campaigns import brought, graph_of, revived
from stores import a_database, opened
from tiny_town import BEGIN, Clock, Wire, parts_of
from x_crawls import scratch

from socialcrawl.engine.loop import run
from socialcrawl.errors import PostsFileError
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.sql_store import SqlStore

FORMATS = ("csv", "jsonl", "parquet")
# Acts of the kinds of campaigns that find links: collect, track, refresh, sample, and collect from acquaintances.
KINDS = {"collect": "expand", "track": "recrawl", "refresh": "import", "sample": "walk", "inward": "inward"}
SETTINGS = {
    "name": "old",
    "seed": 1,
    "source": {"platform": "x"},
    "topic": {"keywords": ["telescope"], "patterns": []},
    "seeds": {"most": 4, "search": True, "usernames": ["PERSON0"]},
    "crawl": {"estimator": "nh-ne-sum", "steps": 14},
}


@lru_cache
def folder_of(kind, *, gone=False):
    """An export of a campaign with links of that kind, and {account: {account: weight}} as the tables have them."""
    folder = scratch()
    with opened(folder / "old.db") as connection:
        store = SqlStore(
            connection, ensure_campaign(connection, SETTINGS, {"seeds": {"usernames": ["PERSON0"]}}, BEGIN), "x"
        )
        run(parts_of(store, Wire(Clock()), steps=14))
        with connection.begin():
            ask = connection.exec_driver_sql
            ask("update post set created_at = '2023-11-14T22:13:20.125Z'")
            ask(f"update pick set act = '{KINDS[kind]}' where act = 'expand'")
            if gone:
                ask("update account set username = null, handle = null, platform_id = null where node = 3")
            assert ask("select count(*) from link l join pick p using (campaign, n) where p.node = -1").scalar()
            sql = """select p.act, lower(coalesce(s.username, s.platform_id)), lower(coalesce(t.username,
              t.platform_id)), alpha from link l join pick p using (campaign, n)
              left join account s on s.node = p.node left join account t on t.node = l.node"""
            rows = ask(sql).all()
        export(connection, folder / "out", ExportOptions(formats=(*FORMATS, "gexf", "graphml", "ids")), 1_800_000_000.0)
    graph = {}
    for act, source, target, alpha in rows:
        one, two = (target, source) if act == "inward" else (source, target)
        for name in (one, two):
            if name is not None:
                graph.setdefault(name, {})
        if one is not None and two is not None and one != two:
            graph[one][two] = graph[one].get(two, 0) + alpha
    return folder / "out", graph


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_links_of_an_export_come_back_without_a_bad_line(kind, form):
    folder, graph = folder_of(kind)
    with a_database("sqlite") as connection:
        _, trouble = brought(connection, folder / f"links.{form}")
        assert trouble.count == 0
        found = graph_of(connection)
    assert {one: {two: pytest.approx(weight) for two, weight in to.items()} for one, to in graph.items()} == found
    assert sum(map(len, graph.values())) > 10


@pytest.mark.parametrize("form", FORMATS)
def test_who_was_forgotten_leaves_rows_that_are_passed_over(form):
    folder, graph = folder_of("collect", gone=True)
    for name in ("links", "accounts", "picks"):
        with a_database("sqlite") as connection:
            _, trouble = brought(connection, folder / f"{name}.{form}")
            assert trouble.count == 0, str(trouble)
            if name == "links":
                assert {one: set(to) for one, to in graph_of(connection).items()} == {
                    one: set(to) for one, to in graph.items()
                }


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["accounts", "posts", "mentions", "picks", "seeds"])
def test_the_accounts_of_every_table_that_has_some_come_back(name, form):
    folder, _ = folder_of("collect")
    lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]
    column = {"posts": "author"}.get(name, "account")
    named = {row[column].lower() for row in lines if row[column]}
    with a_database("sqlite") as connection:
        _, trouble = brought(connection, folder / f"{name}.{form}")
        assert trouble.count == 0
        assert named <= set(graph_of(connection))


def test_ids_come_back_and_all_tables_together_are_one_dataset():
    folder, graph = folder_of("collect")
    with a_database("sqlite") as connection:
        entered, trouble = brought(connection, folder / "user_ids.txt")
        assert trouble.count == 0
        assert entered.nodes > 10
    with a_database("sqlite") as connection:
        _, trouble = brought(connection, folder / "accounts.csv", folder / "links.jsonl")
        assert trouble.count == 0
        assert set(graph) <= set(graph_of(connection))


WITHOUT = [f"{name}.{form}" for name in ("hits", "requests", "versions") for form in FORMATS]


@pytest.mark.parametrize("name", [*WITHOUT, "shadows.csv", "shadows.parquet", "mentions.gexf", "mentions.graphml"])
def test_what_has_no_accounts_or_cannot_be_read_is_refused_with_what_to_import_instead(name):
    folder, _ = folder_of("collect")
    with a_database("sqlite") as connection, pytest.raises(PostsFileError, match=r"links\.csv"):
        brought(connection, folder / name)


def test_a_link_without_a_source_is_still_a_bad_line_where_it_is_not_ours(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("source,target\n,ann\nbob,ann\n", "utf-8")
    with a_database("sqlite") as connection, pytest.raises(PostsFileError, match="line 2: it is empty"):
        brought(connection, file, settings=revived())


@pytest.mark.parametrize("bad", ["{", "[1]", '{"n": "\\ud800"}'])
def test_lines_of_a_table_that_are_no_objects_are_bad_lines(tmp_path, bad):
    file = tmp_path / "links.jsonl"
    file.write_text(f'{{"source_account": "ann", "target_account": "bob", "alpha": 1.5}}\n{bad}\n', "utf-8")
    with a_database("sqlite") as connection, pytest.raises(PostsFileError, match=r"links\.jsonl, line 2"):
        brought(connection, file)
