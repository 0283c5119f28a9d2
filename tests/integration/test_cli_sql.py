import csv
import io
import json
import os
import sqlite3
import subprocess
import time
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
from commands import COMMAND, ENVIRONMENT, demo_with_seeds, socialcrawl
from postgres import a_place, a_role, a_server_database, as_role
from stores import opened
from tiny_town import Clock, Wire, close, parts_of, stored
from x_crawls import rows

from socialcrawl.cli.commands import sql as asking
from socialcrawl.engine.loop import run
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.database.address import PostgresAddress
from socialcrawl.storage.database.readonly import SOME, run_query

KINDS = ("sqlite", "postgres")
FOREVER = "with recursive c(x) as (select 1 union all select x + 1 from c) select {} from c"


def sql(*words, **more):
    return socialcrawl("sql", "--db", demo_with_seeds().database, *words, **more)


def test_a_query_is_answered_as_table_csv_or_json():
    query = "select act, count(*) as picks, null as none from pick group by act order by act"
    expected = rows(demo_with_seeds().database, query)
    assert json.loads(sql(query, "--format", "json").stdout) == [
        {"act": act, "picks": picks, "none": None} for act, picks, _ in expected
    ]
    assert list(csv.reader(io.StringIO(sql(query, "--format", "csv").stdout))) == [
        ["act", "picks", "none"],
        *([act, str(picks), ""] for act, picks, _ in expected),
    ]
    table = sql(query).stdout
    assert [line.split() for line in table.splitlines()] == [
        ["act", "picks", "none"],
        *([act, str(picks)] for act, picks, _ in expected),
    ]
    assert sql("select x'00ff' as b, '[bold]ü' as t", "--format", "json").stdout == '[{"b": "00ff", "t": "[bold]ü"}]\n'
    assert "[bold]ü" in sql("select '[bold]ü'").stdout
    assert json.loads(sql("pragma table_info('post')", "--format", "json").stdout)[0]["name"]


WRITES = """insert into hit values (1, 'x', 1)
delete from post
drop table post
create table a (b)
update post set text = ''
vacuum
attach 'else.db' as other
vacuum into 'else.db'
pragma user_version = 7
pragma journal_mode = delete
pragma wal_checkpoint(truncate)
begin
select 1; drop table post
create temp table t (x)
with x as (select 1) delete from post
"""


@pytest.mark.parametrize("query", WRITES.split("\n"))
def test_a_query_that_would_write_is_refused_and_changes_nothing(query, tmp_path):
    database = demo_with_seeds().database
    before = database.read_bytes(), rows(database, "select count(*) from post")
    child = sql(query, folder=tmp_path)
    assert child.returncode == 1
    assert "only reads" in child.stderr or "one statement" in child.stderr
    assert (database.read_bytes(), rows(database, "select count(*) from post")) == before
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_query_is_told_with_the_tables_there_are(tmp_path):
    child = sql("select * from posts")
    assert child.returncode == 1
    assert "no such table: posts" in child.stderr
    for name in ("campaign", "account", "post", "mention", "pick", "outcome", "request"):
        assert name in child.stderr
    assert "syntax error" in sql("selct 1").stderr
    assert sql("select 1", "--format", "xml").returncode == 2
    (tmp_path / "text.db").write_text("this is not a database, however long it may be" * 99)
    for path in (tmp_path / "lost.db", tmp_path, tmp_path / "text.db"):
        child = socialcrawl("sql", "--db", path, "select 1 from post")
        assert child.returncode == 1
        assert "give" in child.stderr or "name another database" in child.stderr


def test_the_database_is_that_named_or_the_newest_here(tmp_path):
    for name in ("old", "new"):
        connection = sqlite3.connect(tmp_path / f"{name}.db")
        connection.execute(f"create table {name} (x)")
        connection.commit()
        connection.close()
        os.utime(tmp_path / f"{name}.db", (5, 5 if name == "old" else 6))
    child = socialcrawl("sql", "select name from sqlite_master", "--format", "csv", folder=tmp_path)
    assert (child.stdout, "reading new.db" in child.stderr) == ("name\nnew\n", True)
    child = socialcrawl(
        "sql", "select name from sqlite_master", "--format", "csv", folder=tmp_path, SOCIALCRAWL_DB="old.db"
    )
    assert child.stdout == "name\nold\n"


@pytest.mark.parametrize("rows_", [1, 9_000])
@pytest.mark.parametrize("style", ["table", "csv", "json"])
def test_a_reader_that_goes_away_is_no_trouble(rows_, style):
    query = f"with recursive c(x) as (select 1 union all select x + 1 from c limit {rows_}) select * from c"
    words = [*COMMAND, "sql", "--db", str(demo_with_seeds().database), query, "--format", style]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(30) in (0, 1)


def test_the_report_shows_the_best_accounts_the_curve_and_the_requests(tmp_path):
    from matplotlib.image import imread

    png = tmp_path / "curve.png"
    demo = demo_with_seeds()
    child = socialcrawl("report", "--db", demo.database, "--png", png, "--top", 3, folder=tmp_path)
    assert child.returncode == 0, child.stderr
    best = rows(
        demo.database, "select a.username from outcome o join account a using (node) order by o.value desc, o.n limit 3"
    )
    assert all(f"@{name}" in child.stdout for (name,) in best)
    held, returned = (
        rows(demo.database, f"select {what}")[0][0]
        for what in ("count(*) from post", "sum(posts) from request where kind <> 'held'")
    )
    assert f"which returned {returned:,} posts (repeats included)" in " ".join(child.stdout.split())
    assert held <= returned
    assert "/2/users/:id/tweets" in child.stdout
    assert "accounts that could not be read:" in child.stdout
    assert png.stat().st_size > 10_000
    pixels = imread(png)
    assert pixels.shape[:2] == (576, 1008)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 10
    lost = socialcrawl("report", "--db", demo.database, "--png", tmp_path / "no" / "c.png")
    assert (lost.returncode, "name another file" in lost.stderr) == (1, True)
    nobody = socialcrawl("report", "--db", demo.database, "--campaign", "else")
    assert (nobody.returncode, "there are: demo" in nobody.stderr) == (1, True)
    assert socialcrawl("report", "--db", tmp_path / "lost.db").returncode == 1


def test_columns_of_one_name_are_told_apart_in_json(tmp_path):
    database = demo_with_seeds().database
    child = socialcrawl("sql", "select 1 as a, 2 as a, 3 as b, 4 as a", "--db", database, "--format", "json")
    assert json.loads(child.stdout) == [{"a": 1, "a_2": 2, "b": 3, "a_3": 4}]


def test_a_table_for_another_program_is_not_folded():
    database = demo_with_seeds().database
    child = socialcrawl("sql", f"select '{'x' * 300}' as wide, count(*) from post", "--db", database)
    head, row = child.stdout.splitlines()
    assert "count(*)" in head
    assert row.startswith("x" * 300)


@pytest.fixture(scope="module", params=KINDS)
def place(request):
    """Where a small campaign was crawled."""
    with a_place(request.param) as made:
        store = stored(made)
        run(parts_of(store, Wire(Clock())))
        close(store)
        yield made


def found(place, sql, seconds=20.0, clock=time.monotonic):
    with run_query(place, sql, seconds, clock, allow_superuser=True) as (
        columns,
        answer,
    ):  # the strongest role there is
        return columns, [tuple(row) for row in answer]


def written(capsys, place, sql, style, most=None):
    asking.answer(place, sql, style, 20.0, most, allow_superuser=True)
    out, err = capsys.readouterr()
    kept = [line for line in err.splitlines(keepends=True) if not line.startswith("warning: the role ")]
    return SimpleNamespace(out=out, err="".join(kept))


def test_both_databases_answer_in_all_three_ways(place, capsys):
    query = "select act, count(*) as picks, null as none, '50%s' as t from pick where act like 'se%' group by act"
    with opened(place) as connection, connection.begin():
        sql = query.replace("%", "%%") if isinstance(place, PostgresAddress) else query
        expected = [tuple(row) for row in connection.exec_driver_sql(f"{sql} order by act")]
    assert len(expected) == 2
    assert found(place, f"{query} order by act;") == (["act", "picks", "none", "t"], expected)
    told = written(capsys, place, f"{query} order by act", "json").out
    assert [tuple(row.values()) for row in json.loads(told)] == expected
    told = written(capsys, place, f"{query} order by act", "csv").out
    assert told == "act,picks,none,t\n" + "".join(f"{a},{b},,{d}\n" for a, b, _, d in expected)
    table = written(capsys, place, f"-- all\n/* of it */ {query}", "table").out
    assert sorted(line.split() for line in table.splitlines()[1:]) == [[a, str(b), d] for a, b, _, d in expected]
    assert found(place, "values (1, 'x')")[1] == [(1, "x")]
    assert found(place, "explain select 1")[1]
    assert found(place, "select * from pick where n < 0")[1] == []


def test_values_of_all_kinds_are_written_as_json_and_csv_have_them(capsys):
    with a_server_database(empty=True) as server:
        query = (
            "select 1.50::numeric as a, 3::numeric as b, 'nan'::numeric as c, date '2026-01-02' as d, "
            "'infinity'::float8 as e, '\\x00ff'::bytea as f, '{\"x\": [1]}'::jsonb as g, interval '1 day' as h, "
            "1e400::numeric > 0 as i, timestamptz '2026-01-02 03:04:05+00' as j"
        )
        (row,) = json.loads(written(capsys, server, query, "json").out)
        assert row == {"a": 1.5, "b": 3, "c": None, "d": "2026-01-02", "e": None, "f": "00ff", "g": {"x": [1]},
                       "h": "1 day, 0:00:00", "i": True, "j": "2026-01-02T03:04:05+00:00"}  # fmt: skip
        assert list(csv.reader(io.StringIO(written(capsys, server, query, "csv").out)))[1][5:7] == [
            "00ff",
            '{"x": [1]}',
        ]
        assert "00ff" in written(capsys, server, query, "table").out
    told = written(capsys, demo_with_seeds().database, "select 9e999 as a, x'00ff' as b, 'ä' as c", "json").out
    assert told == '[{"a": null, "b": "00ff", "c": "ä"}]\n'


@pytest.mark.parametrize("query", [
    "insert into hit values (1, 'x', 1)", "delete from post", "drop table post", "create table a (b int)",
    "update post set text = ''", "create temp table t (x int)", "select 1; drop table post",
    "with x as (select 1) delete from post", "begin", "with x as (delete from post returning *) select * from x",
    "select 1; commit; drop table post", "commit; drop table post", "explain analyze delete from post",
    "set transaction read write", "select set_config('transaction_read_only', 'off', false)", "vacuum",
    "select nextval('campaign_id_seq')", "explain select 1; drop table post", "select 1 into unheard",
    "do $$ begin delete from post; end $$", "copy post to '/tmp/socialcrawl-never'", "", ";", "--",
])  # fmt: skip
def test_a_query_that_would_write_changes_nothing_on_either_database(place, query):
    count = "select count(*), sum(length(text)) from post"
    before = found(place, count)
    with pytest.raises(StoreError, match=r"only reads|one statement|Fix the query"):
        found(place, query)
    assert found(place, count) == before


def test_a_query_may_take_as_long_as_it_is_given_and_no_longer(place):
    for query in (FOREVER.format("count(*)"), FOREVER.format("max(x)")):
        began = time.monotonic()
        with pytest.raises(StoreError, match=r"longer than 0\.3 s and was stopped.*longer timeout"):
            found(place, query, 0.3)
        assert time.monotonic() - began > 0.2
    with pytest.raises(StoreError, match="was stopped"):
        found(place, FOREVER.format("x"), 0.3)


def test_time_in_which_nobody_reads_does_not_count(place):
    now = [0.0]
    query = FOREVER.format("x") + f" limit {4 * SOME}"
    with run_query(place, query, 5.0, lambda: now[0], allow_superuser=True) as (_, answer):
        for number, (value,) in enumerate(answer, 1):
            assert value == number
            now[0] += 1.0
    assert now[0] == 4.0 * SOME


def test_rows_are_read_while_they_are_written_and_no_more_than_asked_for(place, capsys):
    with run_query(place, FOREVER.format("x"), 20.0, time.monotonic, allow_superuser=True) as (_, answer):
        assert list(islice(answer, 3)) == [(1,), (2,), (3,)]
    for style, whole in (("csv", "x\n1\n2\n"), ("json", '[{"x": 1}, {"x": 2}]\n'), ("table", "x\n1\n2\n")):
        told = written(capsys, place, FOREVER.format("x"), style, 2)
        assert (told.out, told.err) == (whole, "the first 2 rows: there are more\n")
    assert written(capsys, place, "select 1 as x", "csv", 1).err == ""
    assert written(capsys, place, "select 1 as x", "csv", 0).out == "x\n"
    told = written(capsys, place, FOREVER.format("x"), "table")
    assert (len(told.out.splitlines()), "first 10,000 rows" in told.err) == (10_001, True)


def test_a_wrong_query_is_told_in_one_sentence_on_either_database(place):
    with pytest.raises(StoreError, match=r"posts.*Tables are: account, account_check, campaign, .*top_account"):
        found(place, "select * from posts")
    with pytest.raises(StoreError, match=r"syntax error.*Fix the query"):
        found(place, "select from where")
    with opened(place) as connection, connection.begin():
        connection.exec_driver_sql("drop view topic_post")
    with pytest.raises(StoreError, match=r"topic_post.*older socialcrawl.*`socialcrawl report`"):
        found(place, "select * from topic_post")


def test_a_reader_leaves_no_files_beside_the_database(tmp_path):
    path = tmp_path / "a.db"
    store = stored(path)
    run(parts_of(store, Wire(Clock())))
    close(store)
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
    before = path.read_bytes()
    for query in ("select count(*) from pick", "select * from nowhere", "delete from pick"):
        socialcrawl("sql", "--db", path, query)
        assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
    with pytest.raises(StoreError):
        found(path, FOREVER.format("count(*)"), 0.1)
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
    assert path.read_bytes() == before


def test_a_campaign_that_is_writing_is_read_as_it_is(tmp_path):
    store = stored(tmp_path / "a.db")
    parts = parts_of(store, Wire(Clock()))
    run(parts)
    with store.connection.begin():
        store.connection.exec_driver_sql("delete from link")
        assert found(tmp_path / "a.db", "select count(*) > 0 from link")[1] == [(1,)]
    assert found(tmp_path / "a.db", "select count(*) from link")[1] == [(0,)]
    close(store)


def test_a_server_is_named_by_its_url_or_the_variable_and_its_password_is_never_shown(tmp_path):
    with a_role(grants=["pg_read_all_data"]) as role, a_server_database() as server:
        url = as_role(server, role).url
        child = socialcrawl("sql", "select count(*) as c from pick", "--db", url, "--format", "csv", folder=tmp_path)
        assert (child.stdout, child.stderr) == ("c\n0\n", "")
        child = socialcrawl("sql", "select 7 as c", "--format", "csv", folder=tmp_path, SOCIALCRAWL_DB=url)
        assert child.stdout == "c\n7\n"
        child = socialcrawl("sql", "select * from nowhere", "--db", url, folder=tmp_path)
        assert (child.returncode, "Tables are: account" in child.stderr) == (1, True)
    secret = "postgresql://ann:hush-hush@127.0.0.1:1/none?password=hush-too"
    for words, variables in ((("--db", secret), {}), ((), {"SOCIALCRAWL_DB": secret})):
        child = socialcrawl("sql", "select 1", *words, folder=tmp_path, **variables)
        assert (child.returncode, "hush" in child.stderr) == (1, False)
        assert "ann@127.0.0.1:1" in child.stderr
    child = socialcrawl("sql", "select 1", "--db", "mysql://ann:hush@localhost/x")
    assert (child.returncode, "hush" in child.stderr, "postgresql://" in child.stderr) == (2, False, True)


def test_the_options_of_the_command_are_checked():
    assert "took longer" in sql(FOREVER.format("count(*)"), "--timeout", "200ms").stderr.replace("The query ", "")
    assert sql("select 1", "--timeout", "soon").returncode == 2
    assert sql("select 1 as x union select 2", "--limit", 1, "--format", "csv").stdout == "x\n1\n"
    with pytest.raises(SettingsError, match="table, csv, tsv, json, ndjson"):
        asking.answer(demo_with_seeds().database, "select 1", "xml", 1.0)


def test_values_are_bound_to_placeholders_and_a_percent_sign_alone_is_none(place):
    one, named = ("%s", "%(it)s") if isinstance(place, PostgresAddress) else ("?", ":it")
    wanted = "'; drop table post; -- 50 %"
    for sql, parameters in ((f"select {one}", [wanted]), (f"select {named}", {"it": wanted}), ("select '5 %'", ())):
        given = run_query(place, sql, 20.0, time.monotonic, allow_superuser=True, parameters=parameters)
        with given as (_, rows):
            assert [*rows] == [(wanted if parameters else "5 %",)]
