"""Campaigns that refresh an old dataset, live: against the mock server, on disk, changed, erased, exported."""

import csv
import io
import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from math import ceil
from time import time

import pytest
from import_files import NOW
from refresh_campaigns import brought, written
from rich.console import Console
from stores import opened
from test_platforms import BEGIN, EVERY, told
from x_crawls import TOKEN_ENV, crawl, posts, rows

from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.commands.forget import ErasureOptions, forget
from socialcrawl.cli.commands.run import run_campaign
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock.names import HERE, PROTECTED
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.storage.erasure.orders import read_order

MANY, DAY = 100_000, 86_400
SNOWFLAKES = 1_288_834_974  # Unix seconds, rounded: ids of X count from then on
SOME = {"limits": {"k": MANY, "d": 60.0, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5}}
LIMITS = {"limit": MANY, "bluesky_limit": MANY, "mastodon_limit": MANY, "paged_limit": MANY}
X = {"platform": "x", "token_env": TOKEN_ENV}


def refreshing(url, database, source=X, **sections):
    given = {
        "name": "revive",
        "kind": "refresh",
        "database": database,
        "refresh": {"rank": "pa", "z": 100, "active": "exists"},
        "source": {**source, "base_url": url, "timeout": 10.0},
        **SOME,
    }
    for name, values in sections.items():
        given[name] = {**given.get(name, {}), **values} if isinstance(values, dict) else values
    return check_settings(given, "test")


def bring(settings, path):
    with opened(settings.database) as connection:
        return brought(connection, path, settings=settings)


def edges(names):
    """An old dataset of these accounts: two links of each."""
    size = len(names)
    pairs = [(i, (i * k + 1) % size) for i in range(size) for k in (3, 7)]
    return "source,target\n" + "".join(f"{names[i]},{names[j]}\n" for i, j in pairs)


def found_in(database, campaign="revive"):
    """By name as it was brought: (alive, status) of all that were tested."""
    told = "select coalesce(account, platform_id), active, status from liveness where campaign = ?"
    return {name.lower(): (active, status) for name, active, status in rows(database, told, campaign)}


def run(settings, **more):
    return run_campaign(settings, Console(file=io.StringIO()), quiet=True, **{"change": False, **more})


SHARE = 0.3  # of the accounts that are gone


@pytest.fixture(scope="module")
def world():
    return build_world(posts(), SHARE).accounts


@pytest.fixture(scope="module")
def tested(tmp_path_factory, world):
    """A dataset of more than three hundred accounts of X, all tested: its database, the server, and the end."""
    folder = tmp_path_factory.mktemp("refresh")
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        settings = refreshing(mock.url, folder / "a.db")
        bring(settings, written(folder / "old.csv", edges(world.usernames)))
        ending = run(settings)
    return settings, ending, mock.report()


def test_who_exists_is_alive_and_the_others_are_told_why_not(tested, world):
    settings, ending, _ = tested
    assert ending.reason.kind == "done"
    assert "every node of the dataset was tested" in ending.reason.why
    found = found_in(settings.database)
    assert len(found) == len(world.keys) > 300
    fates = dict(zip(map(str.lower, world.usernames), world.fates.tolist(), strict=True))
    assert {name: active for name, (active, _) in found.items()} == {
        name: int(fate == HERE) for name, fate in fates.items()
    }
    assert {status for _, status in found.values()} == {"active", "suspended", "protected", "unknown"}


def test_a_hundred_accounts_are_looked_up_at_once(tested, world):
    settings, _, report = tested
    ((asked, requests, items),) = rows(
        settings.database, "select endpoint, count(*), sum(items) from request group by 1"
    )
    size = len(world.keys)
    assert (asked, items) == ("/2/users/by", size)
    assert requests == 1 + ceil((size - 100) / 100)  # those to learn from, then the others
    assert sum(report["received"].values()) == requests


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """The town of the platforms, if it posted once a day."""
    path = tmp_path_factory.mktemp("days") / "town.jsonl"
    lines = [
        row | {"created_at": BEGIN + i * DAY, "id": str((BEGIN + i * DAY - SNOWFLAKES) * 1000 << 22)}
        for i, row in enumerate(told())
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return read_posts(path), {row["author"].lower(): row["created_at"] for row in lines}, len(lines)


@EVERY
def test_who_posted_of_late_is_alive_on_every_platform(on, days, tmp_path):
    town, last, length = days
    cut = BEGIN + (length * 0.9 // 1 + 0.5) * DAY
    with serve_in_thread(town, missing=SHARE, **LIMITS) as mock:
        refresh = {"rank": "bfs", "training": "random", "z": 6, "active": f"{time() - cut:.0f}s"}
        settings = refreshing(mock.url, tmp_path / "a.db", on.source, refresh=refresh)
        accounts = build_world(town, SHARE).accounts
        bring(settings, written(tmp_path / "old.csv", edges([on.called(name) for name in accounts.keys])))
        reason, _ = crawl(settings)
    assert reason.kind == "done"
    found = {on.person(name): told for name, told in found_in(tmp_path / "a.db").items()}
    fates = dict(zip(accounts.keys, accounts.fates.tolist(), strict=True))
    expected = {name: int(fate == HERE and last.get(name, 0) > cut) for name, fate in fates.items()}
    if on.name == "mastodon":  # who shows his posts to his followers only shows when he last posted
        found, expected = ({name: one[name] for name in fates if fates[name] != PROTECTED} for one in (found, expected))
    assert {name: found[name][0] for name in expected} == expected
    assert 2 < sum(expected.values()) < len(expected) - 4
    here = [found[name][1] for name in expected if fates[name] == HERE]
    assert set(here) == {"active", "silent"}
    assert {found[name][1] for name in expected if fates[name] != HERE} <= {
        "suspended", "protected", "deleted", "unknown"
    }  # fmt: skip
    shape = r"\d{4}-\d\d-\d\d" + ("" if on.name == "mastodon" else r"T.+Z")  # as the comment of the view says
    marks = [at for (at,) in rows(tmp_path / "a.db", "select last_active_at from liveness where active = 1")]
    assert all(re.fullmatch(shape, at) for at in marks)
    several = {"x": ceil(6 / 100) + 1, "bluesky": 2}.get(on.name)
    if several:
        ((lookups,),) = rows(tmp_path / "a.db", "select count(distinct n) from request where part = 0")
        assert lookups <= several


@EVERY
@pytest.mark.parametrize("protected", [False, True])
def test_who_is_there_is_active_where_that_is_asked_and_protected_accounts_on_request(on, protected, days, tmp_path):
    town, _, _ = days
    with serve_in_thread(town, missing=SHARE, **LIMITS) as mock:
        refresh = {"rank": "indegree", "z": 0, "active": "exists", "protected": protected}
        settings = refreshing(mock.url, tmp_path / "a.db", on.source, refresh=refresh)
        accounts = build_world(town, SHARE).accounts
        bring(settings, written(tmp_path / "old.csv", edges([on.called(name) for name in accounts.keys])))
        crawl(settings)
    found = {on.person(name): told for name, told in found_in(tmp_path / "a.db").items()}
    fates = dict(zip(accounts.keys, accounts.fates.tolist(), strict=True))
    closed = (1, "active") if protected else (0, "protected")
    assert {found[name] for name in fates if fates[name] == PROTECTED} == {closed}
    assert {found[name] for name in fates if fates[name] == HERE} == {(1, "active")}
    assert {found[name][0] for name in fates if fates[name] not in (HERE, PROTECTED)} == {0}


@pytest.mark.parametrize(
    ("budget", "most"), [({"max_requests": 2}, 200), ({"max_money": 1.5}, 300), ({"max_nodes": 30}, 30)], ids=str
)
def test_a_budget_ends_the_tests_and_more_of_it_goes_on(budget, most, world, tmp_path):
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        small = refreshing(mock.url, tmp_path / "a.db", budget=budget)
        bring(small, written(tmp_path / "old.csv", edges(world.usernames)))
        reason, _ = crawl(small)
        assert reason.kind in ("budget", "done")
        tested = len(found_in(tmp_path / "a.db"))
        assert 0 < tested <= most
        assert tested == most or "max_nodes" not in budget, "some of the hundred that one request answers for"
        ((spent,),) = rows(tmp_path / "a.db", "select sum(cost) from request")
        assert "max_money" not in budget or 149_000 < spent <= 150_000, "less than an account costs is left"
        assert crawl(refreshing(mock.url, tmp_path / "a.db"))[0].kind == "done"
    assert len(found_in(tmp_path / "a.db")) == len(world.keys)


def test_another_order_is_taken_up_when_it_is_asked_for_and_begins_an_epoch(world, tmp_path):
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        first = refreshing(mock.url, tmp_path / "a.db", crawl={"steps": 120})
        bring(first, written(tmp_path / "old.csv", edges(world.usernames)))
        crawl(first)
        other = refreshing(mock.url, tmp_path / "a.db", refresh={"rank": "indegree"})
        with pytest.raises(SettingsError, match=r"\[refresh\] rank was 'pa'.*run --change"):
            run(other)
        assert run(other, change=True).reason.kind == "done"
    assert rows(tmp_path / "a.db", "select why from epoch order by number")[-1] == ("refresh",)
    assert len(found_in(tmp_path / "a.db")) == len(world.keys)
    assert rows(tmp_path / "a.db", "select count(*) - count(distinct node) from pick where act = 'probe'") == [(0,)]


@pytest.mark.parametrize("sections", [{"refresh": {"active": "90d"}}, {"refresh": {"protected": True}}], ids=str)
def test_who_is_alive_is_not_to_be_changed(sections, tested):
    settings, _, _ = tested
    other = refreshing("http://127.0.0.1:9", settings.database, **sections)
    with pytest.raises(SettingsError, match="cannot continue with another refresh"):
        run(other, change=True)


def test_answers_of_another_campaign_are_no_sign_of_life(tested, world, tmp_path):
    first, _, _ = tested
    database = tmp_path / "b.db"
    database.write_bytes(first.database.read_bytes())
    with serve_in_thread(posts(), missing=0.0, limit=MANY) as mock:
        again = refreshing(mock.url, database, name="again", source=X | {"reuse_hours": 100})
        bring(again, written(tmp_path / "old.csv", edges(world.usernames)))
        crawl(again)
    assert rows(database, "select count(*) from request where kind = 'held'") == [(0,)]
    assert {active for active, _ in found_in(database, "again").values()} == {1}


def everything(database):
    """All that stands in a database, but for digests."""
    with closing(sqlite3.connect(database)) as connection:
        return "\n".join(connection.iterdump())


def test_who_was_forgotten_is_not_asked_and_takes_nobody_along(world, tmp_path):
    database = tmp_path / "a.db"
    name = world.usernames[world.fates.tolist().index(HERE)]
    number = str(world.ids[world.usernames.index(name)])
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        settings = refreshing(mock.url, database)
        bring(settings, written(tmp_path / "old.csv", edges(world.usernames)))
        forget(database, ErasureOptions(yes=True, as_json=True), read_order([name], [], None, None), "x")
        assert crawl(settings)[0].kind == "done"
        found = found_in(database)
        assert not {name.lower(), number} & found.keys()
        fates = dict(zip(map(str.lower, world.usernames), world.fates.tolist(), strict=True))
        assert {one: active for one, (active, _) in found.items()} == {
            one: int(fate == HERE) for one, fate in fates.items() if one != name.lower()
        }
        # Afterwards as well, and of a second account, whose test was stored already.
        other = next(one for one in found if found[one][0])
        forget(database, ErasureOptions(yes=True, as_json=True), read_order([other], [], None, None), "x")
        entered, _ = bring(settings, tmp_path / "old.csv")
        assert (entered.nodes, entered.forgotten) == (0, 2)
        assert crawl(settings)[0].kind == "done"
    left = found_in(database)
    assert left == {one: told for one, told in found.items() if one != other}
    text = everything(database).lower()
    for gone in (name, number, other, str(world.ids[[one.lower() for one in world.usernames].index(other)])):
        assert f"'{gone.lower()}'" not in text
        assert f'"{gone.lower()}"' not in text
        assert f",{gone.lower()}," not in text


def exported(settings, folder, **more):
    with opened(settings.database) as connection:
        sheet = export(
            connection, folder, ExportOptions(**{"formats": ("csv",), "campaign": settings.name, **more}), NOW
        )
    return sheet, (folder / "datasheet.md").read_text("utf-8")


def test_an_export_says_who_is_alive_and_its_datasheet_who_was_asked_in_which_order_and_why(tested, tmp_path):
    settings, _, _ = tested
    sheet, page = exported(settings, tmp_path / "out")
    found = found_in(settings.database)
    with (tmp_path / "out" / "liveness.csv").open(encoding="utf-8", newline="") as file:
        told = {row["account"].lower(): (int(row["active"] == "true"), row["status"]) for row in csv.DictReader(file)}
    assert told == found
    (campaign,) = sheet["campaigns"]
    assert (campaign["kind"], campaign["picks"]) == ("refresh", {"import": len(found), "probe": len(found)})
    assert "focused crawl" not in page
    counts = Counter(status for _, status in found.values())
    gone = {status: count for status, count in counts.items() if status not in ("active", "silent")}
    assert campaign["gaps"]["missing"] == gone
    assert sum(gone.values()) == sum(not active for active, _ in found.values()) > 80
    assert campaign["liveness"] == counts
    for words in (
        "that are still active",
        "counted as active: all accounts that exist",
        "100 accounts in the order pagerank, by PageRank in the dataset",
        "all others in the order pa, by PageRank that starts from the accounts of the training set that were active",
        f"{len(found):,} accounts imported (`import`), {len(found):,} accounts checked (`probe`)",
        f"{counts['active']:,} active",
        f"accounts that could not be read: {gone['protected']} protected, {gone['suspended']} suspended, ",
    ):
        assert words in page, words


def test_without_a_dataset_nobody_is_asked_and_the_way_to_one_is_told(tmp_path):
    reason, _ = crawl(refreshing("http://127.0.0.1:9", tmp_path / "a.db"))
    assert reason.kind == "failed"
    assert "socialcrawl import FILE --as dataset" in reason.why
    assert rows(tmp_path / "a.db", "select count(*) from request") == [(0,)]


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"sample": {"walkers": 2}}, '[sample] belongs to kind = "sample"'),
        ({"refresh": {"fraction": 0.9, "training": "pagerank"}}, "set check = 300"),
        ({"refresh": {"fraction": 0.9, "neighbours": False}}, "set check = 300"),
        ({"refresh": {"rank": "best"}}, "'pa', 'pa+-'"),
        ({"refresh": {"active": "180"}}, 'write it with its unit, as "12h", "7d", "auto" or "exists"'),
        ({"refresh": {"active": "90y"}}, "is not a span of time"),
        ({"refresh": {"worker": 2, "workers": 2}}, "they are numbered from 0"),
        ({"refresh": {"rank": "bfs", "workers": 2}}, 'choose another rank, such as rank = "pa", or workers = 1'),
        ({"crawl": {"estimator": "bfs"}}, "the accounts to read are set under [refresh]"),
    ],
)
def test_what_is_wrong_with_a_campaign_that_refreshes_is_told(sections, said, tmp_path):
    with pytest.raises(SettingsError) as error:
        refreshing("http://127.0.0.1:9", tmp_path / "a.db", **sections)
    assert said in str(error.value)
    assert str(error.value).startswith("test: ")
