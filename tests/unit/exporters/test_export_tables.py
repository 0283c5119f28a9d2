"""Tables that are exported, read as their users read them: with pandas, DuckDB, a CSV reader, and the mock's reader."""

import csv
import hashlib
import json
import re
import sqlite3
from datetime import UTC, datetime

import duckdb
import pandas as pd
import pytest
from exported_towns import HARD, SETTINGS, a_town, crawled, exported, rows, town
from stores import a_database, opened

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.exporters import export_folder
from socialcrawl.exporters.datasheet_facts import is_other_server
from socialcrawl.exporters.exported_tables import SHEETS
from socialcrawl.lab.post_table import read_posts

SEATS = "campaign, json_each(campaign.identity, '$.seeds.usernames')"
NAMES = [sheet.name for sheet in SHEETS]
TYPES = {"text": "VARCHAR", "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "list": "VARCHAR[]"}


def asked(sql):
    connection = sqlite3.connect(town() / "town.db")
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def duck(sql, *values):
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        found = connection.sql(sql.replace("OUT", str(town() / "out")), params=values).to_arrow_table()
        return [tuple(row.values()) for row in found.to_pylist()]


def test_duckdb_reads_every_table_with_its_rows_and_its_types():
    assert asked("select count(*) from post")[0][0] > 20
    for sheet in SHEETS:
        described = duck(f"describe select * from 'OUT/{sheet.name}.parquet'")
        expected = [(c.name, TYPES.get(c.kind, "TIMESTAMP WITH TIME ZONE")) for c in sheet.columns]
        assert [tuple(row[:2]) for row in described] == expected
        table = {"liveness": "liveness", "seeds": SEATS}.get(sheet.name, sheet.name.removesuffix("s"))
        assert duck(f"select count(*) from 'OUT/{sheet.name}.parquet'") == asked(f"select count(*) from {table}")


def test_every_cell_of_a_post_is_the_one_in_the_database():
    same = "lang, reply_to, likes, metrics_at, fetched_at, created_at, text"
    mine = "author, author_id, mentions, occurrences, hashtags, urls"
    name = "(select username from account where node = author)"
    for key, author, *rest in asked(f"select id, {name}, {same} from post"):
        (found,) = duck(f"select {mine}, {same} from 'OUT/posts.parquet' where id = ?", key)
        hits = asked(f"select occurrences from hit where post = '{key}'") or [(0,)]
        assert (found[0], found[3]) == (author or found[1], hits[0][0])
        assert found[4:6] == (["sky", "two words"], ["https://a.example/x?y=1"])
        assert found[6:9] == tuple(rest[:3])
        assert found[9:12] == tuple(datetime.fromisoformat(at) for at in rest[3:6])
        assert found[12] == rest[6]
        mentioned = "select a.username, a.platform_id from mention m join account a using (node) where m.post = "
        assert sorted(found[2]) == sorted(name or number for name, number in asked(f"{mentioned}'{key}'"))


def test_pandas_reads_true_timestamps_and_booleans():
    posts = pd.read_parquet(town() / "out" / "posts.parquet")
    assert str(posts["created_at"].dtype) == "datetime64[us, UTC]"
    assert set(posts["created_at"]) == {pd.Timestamp("2023-11-14T22:13:20.125Z")}
    assert posts["likes"].tolist() == [len(key) for key in posts["id"]]
    accounts = pd.read_parquet(town() / "out" / "accounts.parquet")
    known = accounts.set_index("platform_id")["protected"].dropna()
    assert known["1011"]
    assert not known["1000"]


def test_posts_come_in_the_order_of_their_ids_and_mentions_in_the_order_of_the_text():
    keys = [key for (key,) in duck("select id from 'OUT/posts.parquet'")]
    assert keys == sorted(keys, key=lambda key: (len(key), key))
    from tiny_town import person, posts_of

    told = {post.id: [person(who).id for who in whom] for n in range(18) for post, _, whom in posts_of(n)}
    ids = "select post, account_id from 'OUT/mentions.parquet' order by position"
    found = {}
    for post, key in duck(ids):
        found.setdefault(post, []).append(key)
    assert found == {post: whom for post, whom in told.items() if post in keys and whom}


def test_the_three_forms_of_a_table_tell_the_same():
    for name in NAMES:
        frame = duck(f"select * from 'OUT/{name}.parquet'")
        columns = next(sheet.columns for sheet in SHEETS if sheet.name == name)
        lines = lines_of(town() / "out" / f"{name}.jsonl")
        with (town() / "out" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            head, *cells = csv.reader(file)
        assert head == [column.name for column in columns]
        assert len(frame) == len(lines) == len(cells)
        for in_parquet, in_json, in_csv in zip(frame, lines, cells, strict=True):
            for column, one, two, three in zip(columns, in_parquet, in_json.values(), in_csv, strict=True):
                if column.kind == "time" and one is not None:
                    assert one.astimezone(UTC) == datetime.fromisoformat(two) == datetime.fromisoformat(three)
                elif column.is_id and isinstance(one, int):
                    assert str(one) == two == three  # a number that only names something is a text, and loses no digit
                elif one is None or isinstance(one, list):
                    assert one == two
                    assert three == ("" if one is None else json.dumps(one, separators=(",", ":"), ensure_ascii=False))
                else:
                    assert one == two
                    assert three == (str(one).lower() if isinstance(one, bool) else str(one))


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_the_mock_reads_exported_posts(form):
    posts = read_posts(town() / "out" / f"posts.{form}")
    assert len(posts) == asked("select count(*) from post")[0][0]
    assert set(posts.created_at.tolist()) == {1_700_000_000}
    assert HARD in posts.texts
    assert len(posts.mentioned) == asked("select count(*) from mention")[0][0]


def test_picks_carry_what_they_found():
    joined = (
        "select p.n, p.node, p.act, p.score, o.value, o.missing from pick p left join outcome o using (campaign, n) "
        "order by n"
    )
    assert duck("select n, node, act, score, value, missing from 'OUT/picks.parquet'") == asked(joined)
    assert {row[0] for row in duck("select missing from 'OUT/picks.parquet'")} >= {None, "suspended", "protected"}


def test_ids_are_one_a_line():
    posts = (town() / "out" / "post_ids.txt").read_text().splitlines()
    users = (town() / "out" / "user_ids.txt").read_text().splitlines()
    assert sorted(posts) == [key for (key,) in asked("select id from post order by id")]
    assert sorted(users) == [k for (k,) in asked("select platform_id from account where platform_id > '' order by 1")]


def test_the_datasheet_counts_and_hashes_the_files_and_tells_how_they_came_about():
    sheet = json.loads((town() / "out" / "datasheet.json").read_text("utf-8"))
    files = {file["name"]: file for file in sheet["files"]}
    assert {path.name for path in (town() / "out").iterdir()} == files.keys() | set(export_folder.SHEETS) | {
        "datapackage.json"
    }
    for name, file in files.items():
        whole = (town() / "out" / name).read_bytes()
        assert (file["bytes"], file["sha256"]) == (len(whole), hashlib.sha256(whole).hexdigest())
    assert files["posts.parquet"]["rows"] == asked("select count(*) from post")[0][0]
    (campaign,) = sheet["campaigns"]
    assert (campaign["name"], campaign["settings"]["topic"]["keywords"]) == ("tiny", ["telescope"])
    assert sum(row["requests"] for row in campaign["requests"]) == asked("select count(*) from request")[0][0]
    assert (campaign["rehearsal"], campaign["dollars"]) == (True, 0.0)  # the town is not the platform
    missing = asked("select missing, count(distinct node) from outcome where missing is not null group by 1")
    assert campaign["gaps"]["missing"] == dict(missing)
    (first, last) = asked("select min(sent_at), max(arrived_at) from request")[0]
    assert (campaign["began"], campaign["ended"]) == (first, last)
    told = (town() / "out" / "datasheet.md").read_text("utf-8")
    assert all(
        word in told
        for word in (
            "`telescope`",
            "nh-ne-sum",
            files["posts.csv"]["sha256"],
            f"{dict(missing)['suspended']} suspended",
        )
    )
    assert "SECRET_TOKEN" not in told + json.dumps(sheet)
    assert "secret.example" not in told + json.dumps(sheet)


@pytest.mark.parametrize(
    ("platform", "server", "other"),
    [
        ("x", None, False),
        ("x", "https://api.x.com", False),
        ("x", "https://proxy.example", True),
        ("mastodon", "https://mastodon.example", False),
        ("mastodon", "http://127.0.0.1:8000", True),
        ("bluesky", "https://pds.example", False),
        ("web", "http://localhost:8000", True),
    ],
)
def test_a_campaign_is_a_rehearsal_where_it_asked_another_server_than_the_platforms(platform, server, other):
    assert is_other_server(platform, server) is other


def test_gaps_are_counted(tmp_path):
    with opened(tmp_path / "a.db") as connection:
        crawled(connection)
        with connection.begin():
            run = connection.exec_driver_sql
            run("update request set kind = null, arrived_at = null where id = 3")
            run("update request set kind = 'window' where id = 4")
            run("insert into tombstone values ('ab', 'post', 'retain', '2026-01-01T00:00:00Z')")
            run("insert into epoch values (1, 1, 5, '2026-01-01T00:00:00Z', 'forget')")
            last = "(select max(id) from request where endpoint = '/2/users/:id/tweets' and posts > 0)"
            run(f"update request set cursor = 'more' where id = {last}")
        sheet = exported(connection, tmp_path / "out")
    gaps = sheet["campaigns"][0]["gaps"]
    assert (gaps["lost"], gaps["limited"], gaps["timelines_cut"]) == (1, {"window": 1}, 1)
    assert sheet["tombstones"] == [{"kind": "post", "why": "retain", "tombstones": 1}]
    told = (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    assert "- 1 of kind post: retain" in told
    assert "from decision 5 on: forget" in told


def test_equal_data_make_equal_bytes(tmp_path):
    with a_town(tmp_path) as connection:
        every = ("parquet", "csv", "jsonl", "gexf", "graphml", "ids")
        for name in ("one", "two"):
            exported(connection, tmp_path / name, *every)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_campaign_is_exported_without_the_posts_of_others_and_all_is_exported_with_them(tmp_path):
    with opened(tmp_path / "a.db") as connection:
        crawled(connection, steps=1, name="small")
        crawled(connection, steps=14, name="large")
        small = exported(connection, tmp_path / "small", "jsonl", campaign="small")
        whole = exported(connection, tmp_path / "whole", "jsonl", whole=True)
        newest = exported(connection, tmp_path / "newest", "jsonl")
        everything = {table: rows(connection, f"select count(*) from {table}")[0][0] for table in ("post", "pick")}
        read = rows(connection, "select post_ids from request where campaign = 1 and post_ids is not null")
    count = {sheet["campaign"]: {f["name"]: f["rows"] for f in sheet["files"]} for sheet in (small, whole, newest)}
    assert count["small"]["posts.jsonl"] == len({key for (ids,) in read for key in json.loads(ids)})
    assert count["small"]["posts.jsonl"] < count["large"]["posts.jsonl"] <= count[None]["posts.jsonl"]
    assert (count[None]["posts.jsonl"], count[None]["picks.jsonl"]) == (everything["post"], everything["pick"])
    assert {row["campaign"] for row in lines_of(tmp_path / "whole/picks.jsonl")} == {"small", "large"}


def test_what_was_forgotten_is_not_exported(tmp_path):
    from socialcrawl.storage.erasure.forgetting import forget
    from socialcrawl.storage.erasure.orders import ErasureOrder

    with opened(tmp_path / "a.db") as connection:
        crawled(connection)
        busiest = "select author from post group by author order by count(*) desc, author limit 1"
        (node, key, name), *_ = rows(
            connection, f"select node, platform_id, username from account where node = ({busiest})"
        )
        gone = [post for (post,) in rows(connection, f"select id from post where author = {node}")]
        exported(connection, tmp_path / "before", "jsonl", "gexf", "ids")
        order = ErasureOrder()
        order.add_user(key)
        with connection.begin():
            forget(connection, order, "2026-01-01T00:00:00.000000Z")
        exported(connection, tmp_path / "after", "jsonl", "gexf", "ids")

    def found(folder):
        whole = "".join(path.read_text("utf-8") for path in sorted((tmp_path / folder).iterdir()))
        return {word for word in (*gone, key, name) if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", whole)}

    assert found("before") == {*gone, key, name}
    assert found("after") == set()
    assert str(node) not in {row["node"] for row in lines_of(tmp_path / "after/accounts.jsonl")}
    assert "forgotten" in {row["missing"] for row in lines_of(tmp_path / "after/picks.jsonl")}
    told = json.loads((tmp_path / "after/datasheet.json").read_text("utf-8"))
    assert sum(row["tombstones"] for row in told["tombstones"] if row["kind"] == "user") == 1


def test_a_campaign_may_write_while_it_is_exported(tmp_path):
    from socialcrawl.exporters.selection import open_selection

    with opened(tmp_path / "a.db") as connection, opened(tmp_path / "a.db") as other:
        crawled(connection)
        (before,) = rows(other, "select count(*) from post")[0]
        with open_selection(connection, whole=True) as choice:
            with other.begin():
                other.exec_driver_sql("delete from hit")
                other.exec_driver_sql("delete from mention")
                other.exec_driver_sql("delete from post")
            assert choice.read_rows("select count(*) from post")[0][0] == before
        assert rows(connection, "select count(*) from post") == [(0,)]


def test_postgresql_exports_the_same_bytes_as_sqlite(tmp_path):
    forms = ("csv", "jsonl", "gexf", "graphml", "ids")
    for kind in ("sqlite", "postgres"):
        with a_database(kind) as connection:
            crawled(connection)
            exported(connection, tmp_path / kind, *forms)
            exported(connection, tmp_path / f"{kind}-hidden", "csv", "gexf", key=b"k" * 32)
    for folder in ("", "-hidden"):
        for path in (tmp_path / f"sqlite{folder}").iterdir():
            if not path.name.startswith("datasheet"):
                assert path.read_bytes() == (tmp_path / f"postgres{folder}" / path.name).read_bytes(), path
        told = [
            json.loads((tmp_path / f"{kind}{folder}/datasheet.json").read_text()) for kind in ("sqlite", "postgres")
        ]
        for sheet in told:
            sheet["versions"].pop("database")
        assert told[0] == told[1]


def test_an_export_is_never_put_in_the_place_of_something_else(tmp_path):
    with a_town(tmp_path) as connection:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.tex").write_text("years of work")
        for force in (False, True):
            with pytest.raises(SettingsError, match="not empty and no export"):
                exported(connection, tmp_path / "mine", force=force)
        (tmp_path / "empty").mkdir()
        exported(connection, tmp_path / "empty", "csv")
        with pytest.raises(SettingsError, match="--force"):
            exported(connection, tmp_path / "empty", "jsonl")
        exported(connection, tmp_path / "empty", "jsonl", force=True)
        assert not list((tmp_path / "empty").glob("*.csv"))
        (tmp_path / "empty" / "notes.txt").write_text("mine")
        with pytest.raises(SettingsError, match=r"notes\.txt"):
            exported(connection, tmp_path / "empty", force=True)
        with pytest.raises(SettingsError, match="is a file"):
            exported(connection, tmp_path / "mine" / "thesis.tex")
        with pytest.raises(SettingsError, match="create it first"):
            exported(connection, tmp_path / "no" / "where")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


def test_an_export_that_fails_leaves_the_one_before_and_nothing_else(tmp_path, monkeypatch):
    with a_town(tmp_path) as connection:
        exported(connection, tmp_path / "out", "csv")
        before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
        there = {path.name for path in tmp_path.iterdir()}

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("socialcrawl.exporters.export.render_page", full)
        with pytest.raises(StoreError, match="No space left"):
            exported(connection, tmp_path / "out", "csv", force=True)
        monkeypatch.undo()
        monkeypatch.setattr(export_folder.Path, "rename", full)
        with pytest.raises(StoreError, match="still there"):
            exported(connection, tmp_path / "out", "csv", force=True)
        monkeypatch.undo()
        assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
        assert {path.name for path in tmp_path.iterdir()} == there


def test_what_cannot_be_exported_is_refused_in_a_sentence(tmp_path):
    with a_town(tmp_path) as connection:
        for more, words in (
            ({"campaign": "nobody"}, "there are: tiny"),
            ({"formats": ("xlsx",)}, "parquet, csv, jsonl"),
            ({"formats": ("ids",), "key": b"k" * 32}, "names people"),
            ({"formats": ("gexf",), "whole": True}, "one campaign"),
            ({"formats": ("csv",), "on_topic": True}, "--only-on-topic is for the network"),
            ({"key": b"short"}, "openssl rand"),
        ):
            formats = more.pop("formats", ("csv",))
            with pytest.raises((SettingsError, StoreError), match=words):
                exported(connection, tmp_path / "out", *formats, **more)
    assert not (tmp_path / "out").exists()
    assert SETTINGS["name"] == "tiny"
