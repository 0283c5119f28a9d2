import csv
import io
import json
import sqlite3
import subprocess
import time

import numpy as np
import pytest
from commands import COMMAND, ENVIRONMENT, demo_with_seeds, socialcrawl
from crawling import rows


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
    (tmp_path / "text.db").write_text("this is no database, however long it may be" * 99)
    for path in (tmp_path / "lost.db", tmp_path, tmp_path / "text.db"):
        child = socialcrawl("sql", "--db", path, "select 1 from post")
        assert child.returncode == 1
        assert "--db" in child.stderr


def test_the_database_is_that_named_or_the_newest_here(tmp_path):
    for name in ("old", "new"):
        connection = sqlite3.connect(tmp_path / f"{name}.db")
        connection.execute(f"create table {name} (x)")
        connection.commit()
        connection.close()
        time.sleep(0.02)
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
    assert f"{demo.told['posts']:,} posts read" in child.stdout
    assert "/2/users/:id/tweets" in child.stdout
    assert "not to be read:" in child.stdout
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
