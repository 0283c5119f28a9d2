"""Datasets that grow: each run adds what is new, what was deleted leaves, and other people's programs read them."""

import json
from functools import partial
from pathlib import Path

import dask.dataframe
import duckdb
import polars as pl
import pytest
from erasure_towns import LATER, aged, carried_out, crawled, forgotten, order
from growing_exports import grown, is_like_an_export, parts_in, put_times, rows_of
from killed_campaigns import nursery
from postgres import a_place
from pyarrow import dataset
from stores import opened
from tiny_town import BEGIN, close

from socialcrawl.engine.model import format_time
from socialcrawl.errors import HeldError, SettingsError, StoreError
from socialcrawl.exporters.partitioned import PartitionOptions, write_dataset
from socialcrawl.storage.erasure.forgetting import forget
from socialcrawl.system.locks import Lock


@pytest.fixture
def town(database, tmp_path):
    """A store of the town's campaign after its first steps, in each database; the posts have times."""
    with a_place(database, tmp_path) as place:
        store, _ = crawled(place, steps=4)
        put_times(store.connection)
        yield store
        close(store)


def crawl_on(store, steps=14):
    crawled(None, store=store, steps=steps)
    put_times(store.connection)


def count_posts(store):
    with store.connection.begin():
        return store.connection.exec_driver_sql("select count(*) from post").scalar()


@pytest.mark.parametrize("whole", [False, True])
def test_each_run_adds_the_posts_that_are_new_and_leaves_the_files_that_are_there(town, tmp_path, whole):
    out, tables = tmp_path / "out", ("posts", "mentions", "accounts", *(("hits",) if whole else ()))
    check = partial(is_like_an_export, town.connection, out, tmp_path / "all", tables=tables, whole=whole)
    first = grown(town.connection, out, whole=whole)
    assert first["posts_added"] == count_posts(town) > 10
    assert check()
    before = parts_in(out)
    assert {name.split("/")[1] for name in before if name.startswith("posts/")} == {
        "month=2023-01", "month=2023-02", "month=2024-02", "month=unknown",
    }  # fmt: skip
    crawl_on(town)
    second = grown(town.connection, out, whole=whole)
    assert second["posts_added"] == count_posts(town) - first["posts_added"] > 10
    assert second["files_rewritten"] == 0
    assert check()
    after = parts_in(out)
    assert {name: after[name] for name in before if "accounts" not in name} == {
        name: facts for name, facts in before.items() if "accounts" not in name
    }
    assert grown(town.connection, out, whole=whole)["posts_added"] == 0
    assert parts_in(out) == after


def test_a_page_that_was_under_way_at_the_last_run_is_not_lost(town, tmp_path):
    late = "(select max(id) from request where post_ids is not null and id < (select max(id) from request))"
    with town.connection.begin():
        run = town.connection.exec_driver_sql
        (kept,) = run(f"select arrived_at || ' ' || post_ids from request where id = {late}").one()
        (number,) = run(f"select {late}").one()
        run(f"update request set arrived_at = null, post_ids = null where id = {number}")
    grown(town.connection, tmp_path / "out")
    at, _, ids = kept.partition(" ")
    with town.connection.begin():
        marks = "?, ?" if town.connection.dialect.name == "sqlite" else "%s, %s"
        at_mark, ids_mark = marks.split(", ")
        town.connection.exec_driver_sql(
            f"update request set arrived_at = {at_mark}, post_ids = {ids_mark} where id = {number}", (at, ids)
        )
    grown(town.connection, tmp_path / "out")
    assert is_like_an_export(town.connection, tmp_path / "out", tmp_path / "all", tables=("posts",))


def test_what_was_forgotten_leaves_the_files_that_had_it_and_no_others(town, tmp_path):
    crawl_on(town)
    out = tmp_path / "out"
    grown(town.connection, out)
    assert any("person3" in row.lower() for row in rows_of(out, "posts"))
    before, held = parts_in(out), count_posts(town)
    forgotten(town, "@person3", "1003")
    done = grown(town.connection, out)
    assert done["posts_removed"] == held - count_posts(town) > 0
    assert done["posts_added"] == 0
    assert not any("person3" in row.lower().replace("person3'", "person3") and "1003" in row
                   for table in ("posts", "mentions", "accounts") for row in rows_of(out, table))  # fmt: skip
    assert is_like_an_export(town.connection, out, tmp_path / "all")
    after = parts_in(out)
    grown(town.connection, out)
    assert parts_in(out) == after
    forgotten(town, posts=["1-1"])
    grown(town.connection, out)
    assert is_like_an_export(town.connection, out, tmp_path / "all")
    changed = {name for name, facts in after.items() if parts_in(out).get(name) != facts} - {
        "accounts/accounts.parquet"
    }
    assert {name.split("/")[1] for name in changed} == {"month=2023-02"}
    assert len(before) >= len(parts_in(out))


def test_all_that_became_too_old_leaves_and_so_do_files_without_rows(town, tmp_path):
    out = tmp_path / "out"
    grown(town.connection, out)
    aged(town, BEGIN + 1e7)
    assert count_posts(town) == 0
    done = grown(town.connection, out)
    assert done["posts_removed"] > 0
    assert [name for name in parts_in(out) if not name.startswith("accounts/")] == []
    assert is_like_an_export(town.connection, out, tmp_path / "all", tables=("accounts",))


def test_a_name_that_a_second_order_finds_in_a_text_leaves_the_dataset(town, tmp_path):
    """Nothing else but a text changes: neither an outcome nor the number of tombstones."""
    out = tmp_path / "out"
    forgotten(town, "@person3")
    with town.connection.begin():
        town.connection.exec_driver_sql("update post set text = 'see @person3' where id = (select min(id) from post)")
    grown(town.connection, out)
    assert any("@person3" in row for row in rows_of(out, "posts"))
    again = partial(forget, order=order("@person3"), now=format_time(LATER + 1))
    assert carried_out(town.connection, again).counts["tombstone"] == 0
    assert grown(town.connection, out)["files_rewritten"] == 1
    assert not any("@person3" in row for row in rows_of(out, "posts"))


def test_an_erasure_after_a_first_run_that_was_cut_short_is_not_missed(town, tmp_path):
    out = tmp_path / "out"
    grown(town.connection, out)
    path = out / "_socialcrawl/state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"position": None}))  # as the first run leaves it
    forgotten(town, "@person3")
    assert grown(town.connection, out)["posts_removed"] > 0
    assert is_like_an_export(town.connection, out, tmp_path / "all")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # which Dask gives to pandas
def test_other_programs_read_the_folder_as_one_table_and_its_months_as_a_column(town, tmp_path):
    crawl_on(town)
    out = tmp_path / "out"
    for steps in range(2):
        grown(town.connection, out)
        crawl_on(town, 14 + steps)
    folder, files = out / "posts", f"{out}/posts/**/*.parquet"
    wanted = {"2023-01", "2023-02", "2024-02", "unknown"}
    with duckdb.connect() as connection:
        found = connection.sql(
            f"select month, count(*) from read_parquet('{files}', hive_partitioning = true) group by 1"
        )
        by_month = dict(found.fetchall())
    assert by_month.keys() == wanted
    assert sum(by_month.values()) == count_posts(town)
    frame = pl.scan_parquet(folder, hive_partitioning=True).group_by("month").len().collect()
    assert dict(frame.iter_rows()) == by_month
    table = dataset.dataset(folder, partitioning="hive").to_table(columns=["id", "month"])
    assert {name: table["month"].to_pylist().count(name) for name in wanted} == by_month
    lazy = dask.dataframe.read_parquet(folder)
    assert lazy["month"].astype("string").value_counts().compute().to_dict() == by_month


def test_an_export_killed_before_any_event_can_be_read_and_goes_on(tmp_path):
    path, out = tmp_path / "a.db", tmp_path / "out"
    store, _ = crawled(path, steps=4)
    put_times(store.connection)
    kills, gone = 0, set()

    def all_ids():
        with store.connection.begin():
            return store.connection.exec_driver_sql("select id from post").scalars().all()

    with nursery(tmp_path / "errors", "growing_exports") as children:

        def kill_until_done():
            nonlocal kills
            before = set(rows_of(out, "posts", "id"))
            for event in range(3, 2000, 13):
                code = children.run(str(path), str(out), event=event)
                ids = rows_of(out, "posts", "id")
                assert len(set(ids)) == len(ids)
                assert before - gone <= set(ids) <= {repr((key,)) for key in all_ids()} | before
                if code == 0:
                    return
                assert code == -9, (tmp_path / "errors").read_text()
                kills += 1

        kill_until_done()
        assert is_like_an_export(store.connection, out, tmp_path / "all")
        crawl_on(store)
        kill_until_done()
        assert is_like_an_export(store.connection, out, tmp_path / "all")
        held = set(all_ids())
        forgotten(store, "@person3")
        gone = {repr((key,)) for key in held - set(all_ids())}
        assert gone
        kill_until_done()
        assert is_like_an_export(store.connection, out, tmp_path / "all")
    assert kills > 12
    assert not list(Path(out).rglob("*.part"))
    close(store)


def test_another_dataset_another_program_and_other_files_are_left_alone(town, tmp_path):
    out, run = tmp_path / "out", partial(grown, town.connection)
    run(out)
    for more, why in (({"whole": True}, "not of all campaigns"), ({"by": "day"}, "divided by month, not by day")):
        with pytest.raises(SettingsError, match=why):
            run(out, **more)
    with pytest.raises(SettingsError, match="replace it with --force"):
        write_dataset(town.connection, out, PartitionOptions())
    (out / "posts/mine.txt").write_text("mine")
    for since_last in (True, False):
        with pytest.raises(SettingsError, match=r"mine\.txt is not of the dataset"):
            write_dataset(town.connection, out, PartitionOptions(since_last=since_last, force=not since_last))
    (out / "posts/mine.txt").unlink()
    held = Lock(out / "_socialcrawl/lock", "busy")
    with pytest.raises(HeldError, match="written by another process"):
        run(out)
    held.release()
    with town.connection.begin():
        town.connection.exec_driver_sql("update campaign set created_at = '2020-01-01T00:00:00Z'")
    with pytest.raises(SettingsError, match="another database"):
        run(out)
    write_dataset(town.connection, out, PartitionOptions(by="year", force=True))
    assert {path.name for path in (out / "posts").iterdir()} >= {"year=2023", "year=2024"}


def test_a_database_that_is_older_than_the_dataset_is_refused(town, tmp_path):
    grown(town.connection, tmp_path / "out")
    with town.connection.begin():
        town.connection.exec_driver_sql("delete from request where id = (select max(id) from request)")
    with pytest.raises(StoreError, match="fewer requests than when the dataset was last written"):
        grown(town.connection, tmp_path / "out")


def test_a_setting_that_is_no_period_is_refused(tmp_path):
    with opened(tmp_path / "a.db") as connection, pytest.raises(SettingsError, match="Unknown period 'week'"):
        write_dataset(connection, tmp_path / "out", PartitionOptions(by="week"))
