"""What a datasheet says of where data are from: files or requests, the platform or a rehearsal; and whom it names."""

import json

import pytest
from exporting import SETTINGS, crawled, exported, rows
from importing import NOW, columns, drawn, files, write_lines
from storing import a_database

from socialcrawl.imports.bring import as_posts
from socialcrawl.policies import policy


@pytest.fixture
def connection(database):
    with a_database(database) as made:
        yield made


def told(folder):
    return (folder / "datasheet.md").read_text("utf-8")


@pytest.mark.parametrize("whole", [False, True])
def test_posts_that_no_request_brought_are_counted_and_said_to_be_from_files(connection, tmp_path, whole):
    crawled(connection)
    before = exported(connection, tmp_path / "before", "csv", whole=whole)
    assert (before["posts"]["unasked"], before["posts"]["unlisted"]) == (0, 0)
    assert "no request that is known" not in told(tmp_path / "before")
    as_posts(files(write_lines(tmp_path / "a.jsonl", columns(drawn()))), connection, None, NOW)
    with connection.begin():  # posts of the topic belong to the campaign
        connection.exec_driver_sql("insert into hit select 1, id, 1 from post where id like '50__' and length(id) = 4")
    sheet = exported(connection, tmp_path / "out", "csv", whole=whole)
    assert sheet["posts"]["unasked"] == len(drawn())
    assert sheet["posts"]["posts"] == before["posts"]["posts"] + len(drawn())
    assert f"- {len(drawn())} of these posts came by no request that is known here" in told(tmp_path / "out")
    assert "is what the files claim" in told(tmp_path / "out")
    with connection.begin():
        connection.exec_driver_sql("update request set post_ids = null, nodes = null")  # as an older program left them
    sheet = exported(connection, tmp_path / "old", "csv", whole=whole)
    (asked,) = rows(connection, "select count(*) from request where posts > 0")[0]
    assert sheet["posts"]["unlisted"] == asked
    assert f"- {asked} requests are of an older program" in told(tmp_path / "old")


@pytest.mark.parametrize(
    ("base_url", "rehearsal"),
    [
        ("http://127.0.0.1:8080", True), ("https://mock.example/2", True), (None, False),
        (policy("x").base_url, False), ("https://API.x.com/", False),
    ],
)  # fmt: skip
def test_a_rehearsal_says_that_it_is_one_and_that_nothing_was_paid(connection, tmp_path, base_url, rehearsal):
    crawled(connection)
    settings = json.dumps(SETTINGS | {"source": SETTINGS["source"] | {"base_url": base_url}})
    with connection.begin():
        connection.exec_driver_sql(f"update campaign set settings = '{settings}'")
    (campaign,) = exported(connection, tmp_path / "out", "csv")["campaigns"]
    (mills,) = rows(connection, "select sum(cost) from request")[0]
    assert mills > 0
    assert (campaign["rehearsal"], campaign["dollars"]) == (rehearsal, 0.0 if rehearsal else float(mills) / 100_000)
    line = "asked a server other than the platform's (a mock or a rehearsal); nothing was paid"
    assert (line in told(tmp_path / "out")) == rehearsal
    assert ("by the price table" in told(tmp_path / "out")) != rehearsal


def test_an_export_of_ids_names_nobody_in_its_datasheet(connection, tmp_path):
    crawled(connection)
    seeds = rows(
        connection,
        "select a.platform_id, a.username from pick p join account a using (node) where act = 'seed' order by n",
    )
    assert len(seeds) > 2
    with connection.begin():
        connection.exec_driver_sql(f"update account set platform_id = null where platform_id = '{seeds[0][0]}'")
    (campaign,) = exported(connection, tmp_path / "ids", "ids")["campaigns"]
    assert campaign["seeds"] == ["(no id known)", *(key for key, _ in seeds[1:])]
    whole = "".join(path.read_text("utf-8") for path in sorted((tmp_path / "ids").iterdir())).lower()
    assert not [name for (name,) in rows(connection, "select username from account") if name and name.lower() in whole]
    assert "`telescope`" in whole
    (named,) = exported(connection, tmp_path / "both", "ids", "csv")["campaigns"]
    assert named["seeds"] == [name for _, name in seeds]
