"""What the tests of exports share: a crawl of the town with texts that are hard to write down, and its export."""

from contextlib import contextmanager
from functools import lru_cache

from stores import opened
from tiny_town import BEGIN, Clock, Wire, parts_of

from socialcrawl.engine.loop import run
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.sql_store import SqlStore

NOW = 1_800_000_000.0
SETTINGS = {
    "name": "tiny",
    "seed": 1,
    "source": {"platform": "x", "base_url": "http://secret.example", "token_env": "SECRET_TOKEN"},
    "topic": {"keywords": ["telescope"], "patterns": []},
    "seeds": {"most": 4, "search": True, "usernames": ["PERSON0"]},
    "crawl": {"estimator": "nh-ne-sum", "steps": 14},
}
HARD = 'a "quoted", <b>&amp;</b> line\r\nwith \x01 control \x0b letters, 漢字, \U0001f52d and ]]>;'


def crawled(connection, *, steps=14, name="tiny"):
    """The campaign of the town, run to its end in this database; some texts and names are hard, some things gone."""
    store = SqlStore(connection, ensure_campaign(connection, SETTINGS | {"name": name}, {}, BEGIN), "x")
    clock = Clock()
    run(parts_of(store, Wire(clock), steps=steps))
    with connection.begin():
        run_sql = connection.exec_driver_sql
        run_sql("update post set created_at = '2023-11-14T22:13:20.125Z', lang = 'en', likes = length(id)")
        run_sql("""update post set hashtags = '["sky", "two words"]', urls = '["https://a.example/x?y=1"]'""")
        (hard,) = run_sql("select min(id) from post").one()
        marker = "?" if connection.dialect.name == "sqlite" else "%s"
        run_sql(f"update post set text = {marker}, lang = null where id = {marker}", (HARD, hard))
        run_sql(f"update account set username = {marker} where node = 0", ("Odd\x02<name>",))
    return store


def rows(connection, sql):
    with connection.begin():
        return [tuple(row) for row in connection.exec_driver_sql(sql).all()]


@contextmanager
def a_town(folder):
    """A connection to a database with the finished crawl of the town."""
    with opened(folder / "town.db") as connection:
        crawled(connection)
        yield connection


def exported(connection, folder, *formats, now=NOW, **more):
    """The datasheet of an export into `folder`."""
    return export(connection, folder, ExportOptions(formats=formats or ("parquet",), **more), now)


@lru_cache
def town():
    """A folder with the town's database and an export of it in every form of tables and network."""
    from x_crawls import scratch

    folder = scratch()
    with a_town(folder) as connection:
        exported(connection, folder / "out", "parquet", "csv", "jsonl", "gexf", "graphml", "ids")
    return folder
