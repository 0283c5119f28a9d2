"""What a datasheet says of where data are from: files or requests, the platform or a rehearsal; and whom it names."""

import json

import pytest
from exported_towns import SETTINGS, a_town, crawled, exported, rows
from import_files import NOW, columns, drawn, files, write_lines
from stores import a_database

from socialcrawl.campaign.policies import load_policy
from socialcrawl.campaign.sections.topic import CrawlSection
from socialcrawl.crawls.facts import list_foreign_keys
from socialcrawl.crawls.track import datasheet
from socialcrawl.crawls.track.section import TrackSection
from socialcrawl.crawls.track.target import TARGETS
from socialcrawl.crawls.track.visit_policies import EXPANSIONS, RECRAWLS
from socialcrawl.engine.model import Act
from socialcrawl.exporters.datasheet import ACTS
from socialcrawl.importers.import_posts import import_posts


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
    assert "No request in this export returned" not in told(tmp_path / "before")
    import_posts(files(write_lines(tmp_path / "a.jsonl", columns(drawn()))), connection, None, NOW)
    with connection.begin():  # posts of the topic belong to the campaign
        connection.exec_driver_sql("insert into hit select 1, id, 1 from post where id like '50__' and length(id) = 4")
    sheet = exported(connection, tmp_path / "out", "csv", whole=whole)
    assert sheet["posts"]["unasked"] == len(drawn())
    assert sheet["posts"]["posts"] == before["posts"]["posts"] + len(drawn())
    said = " ".join(told(tmp_path / "out").split())
    assert f"- No request in this export returned {len(drawn())} of these posts: they were imported from files" in said
    assert "Authors and times of imported posts are what the files claim" in said
    with connection.begin():
        connection.exec_driver_sql("update request set post_ids = null, nodes = null")  # as an older program left them
    sheet = exported(connection, tmp_path / "old", "csv", whole=whole)
    (asked,) = rows(connection, "select count(*) from request where posts > 0")[0]
    assert sheet["posts"]["unlisted"] == asked
    assert f"- {asked} requests are of an older version" in told(tmp_path / "old")


@pytest.mark.parametrize(
    ("base_url", "rehearsal"),
    [
        ("http://127.0.0.1:8080", True), ("https://mock.example/2", True), (None, False),
        (load_policy("x").base_url, False), ("https://API.x.com/", False),
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
    line = "sent to a mock or test server instead of the platform; nothing was paid"
    assert (line in told(tmp_path / "out")) == rehearsal
    assert ("by the price table" in told(tmp_path / "out")) != rehearsal


def test_files_without_rows_are_written_and_named_in_one_line_only(connection, tmp_path):
    crawled(connection)
    sheet = exported(connection, tmp_path / "out", "csv")
    empty = [file["name"] for file in sheet["files"] if not file["rows"]]
    assert {"standings.csv", "liveness.csv", "sampled.csv"} <= set(empty)
    assert all((tmp_path / "out" / name).is_file() for name in empty)
    text = told(tmp_path / "out")
    assert f"\nWithout rows: {', '.join(empty)}. Their checksums are in datasheet.json.\n" in text
    assert not [name for name in empty if f"| {name} |" in text]
    assert "| posts.csv | one row per post, oldest id first | " in text


def test_decisions_are_counted_in_words_and_by_their_stored_names(connection, tmp_path):
    crawled(connection)
    (campaign,) = exported(connection, tmp_path / "out", "csv")["campaigns"]
    assert f"{campaign['picks']['expand']:,} accounts of the frontier read (`expand`)" in told(tmp_path / "out")
    assert f"- {len(campaign['seeds'])} seeds: `" in told(tmp_path / "out")
    assert set(ACTS) == set(Act)


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


SAMPLE = """\
`metrics_at`. Profiles of accounts are as of `profile_at`. The accounts are not a random sample: a
focused crawl first reads the accounts that its estimator expects to post most about the topic, and the choice
depends on the seeds. Shares and averages over these posts do not describe the platform as a whole.
Accounts that were not read are included because other accounts mention them, or because a search found them.
"""
TRACK = TrackSection().model_dump(mode="json")


@pytest.fixture
def town(tmp_path):
    with a_town(tmp_path) as made:
        yield made


def settle(connection, settings):
    """Write other settings for the campaign, as if it had always had them."""
    with connection.begin():
        for table in ("campaign", "version"):
            connection.exec_driver_sql(f"update {table} set settings = ?", (json.dumps(settings),))


def tracked(connection, folder, **track):
    """(datasheet.md, the campaign in datasheet.json) of the town's crawl, as if it had tracked accounts."""
    had = {"crawl": CrawlSection(steps=14).model_dump(mode="json"), "track": TRACK | track}
    settle(connection, SETTINGS | {"kind": "track"} | had)
    (campaign,) = exported(connection, folder, "csv")["campaigns"]
    return told(folder), campaign


def test_a_campaign_that_tracks_accounts_says_how_it_chose_and_names_no_estimator(town, tmp_path):
    changed = {
        "expansion": "opic",
        "recrawl": "ldu",
        "p": 0.7,
        "window": "7d",
        "rest": "12h",
        "memory": 4.0,
        "again": "30d",
    }
    text, campaign = tracked(town, tmp_path / "a", **changed, lean=-0.5, extra=2.0, topical=True)
    assert campaign["kind"] == "track"
    assert campaign["settings"]["track"] == TRACK | changed | {"lean": -0.5, "extra": 2.0, "topical": True}
    assert not set(campaign["settings"]["crawl"]) & list_foreign_keys("track")
    assert campaign["settings"]["crawl"]["steps"] == 14
    for of_another_kind in ("estimator", "strategy", "switch_after", "nr_d", "focused crawl"):
        assert of_another_kind not in text
    for line in (
        "Motivation: the most important accounts, and what they write",
        "- kind: `track`, which finds the most important accounts and reads them again for new posts",
        "- target: links to an account that were seen; they never expire",
        "- account chosen from the frontier: the one with the most of OPIC's cash",
        "- visits that read an account again: 70%, as long as there are new and known accounts",
        "- posts that count: those of the 7d before a visit",
        "- after a visit an account rests for 12h",
        "- accounts that could not be read are tried again after 30d",
        "- OPIC's cash prefers accounts that were read: 0.5 of 1",
        "- OPIC's importance looks back on the last 4 of its clock G",
    ):
        assert f"\n{line}\n" in text
    assert "the accounts with the most links, or any at random, decided by a coin" in text
    assert all(f"{key} = `{value}`" in text for key, value in campaign["settings"]["track"].items())
    assert "not a random sample: a\ncrawl that tracks accounts prefers those" in text
    assert max(map(len, text.split("## Composition")[1].split("## Campaign")[0].splitlines())) <= 120
    plain, _ = tracked(town, tmp_path / "b", window="all", again="never")
    assert "- accounts that could not be read are not tried again\n" in plain
    assert "- posts that count: of any age\n" in plain
    assert "- OPIC's importance looks back on its whole history\n" in plain
    assert "prefers accounts" not in plain.split("## Campaign")[1]
    assert "adds" not in plain


def test_there_are_words_for_all_that_a_campaign_may_choose_by():
    assert set(datasheet.EXPANSIONS) == set(EXPANSIONS)
    assert set(datasheet.RECRAWLS) == set(RECRAWLS)
    assert set(datasheet.TARGETS) == set(TARGETS)
    assert set(datasheet.PARALLEL) == {"once", "visits"}


def test_campaigns_of_both_kinds_say_so_each_for_itself_and_others_stay_as_they_were(town, tmp_path):
    settle(town, SETTINGS | {"kind": "collect", "track": TRACK})
    (campaign,) = exported(town, tmp_path / "now", "csv")["campaigns"]
    assert "kind" not in campaign
    assert "track" not in campaign["settings"]
    settle(town, SETTINGS)
    exported(town, tmp_path / "older", "csv")
    assert told(tmp_path / "now") == told(tmp_path / "older")
    assert SAMPLE in told(tmp_path / "now")
    tracked(town, tmp_path / "kinds")
    crawled(town, name="other")
    exported(town, tmp_path / "both", "csv", whole=True)
    text = told(tmp_path / "both")
    assert "The accounts are not a random sample: a\nfocused crawl first reads" in text
    assert "\na crawl that tracks accounts prefers those" in text
    assert text.count("- kind: `track`") == 1
    assert text.count("estimator = `nh-ne-sum`") == 1
