"""`socialcrawl verify` proves campaigns of every kind on every platform that died on the way."""

import json

import httpx
import pytest
from refresh_campaigns import judged, written
from stores import opened
from test_platforms import AND_THE_WEB, EVERY, PEOPLE, file_of, told
from test_refresh_campaign import bring, edges, refreshing
from verified_campaigns import DECIDED, changed, checks, differences, lived
from x_crawls import crawl, rows

from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.commands.forget import ErasureOptions, forget
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.lab.post_table import read_posts
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.verify.exported import RENUMBERED, verify_export
from socialcrawl.verify.outcomes import NO_PAGE
from socialcrawl.verify.replay import BROUGHT, FORGOTTEN, IMPORTED

KINDS = {
    "collect": {"crawl": {"estimator": "nh-ne-sum", "refresh_rate": 3, "steps": 12}},
    "track": {"track": {"window": "all", "rest": "1ms", "p": 0.6}, "crawl": {"steps": 25}},
    "refresh": {"refresh": {"rank": "pa", "z": 3, "active": "exists"}},
    "sample": {"sample": {"walkers": 2, "burn_in": 2}, "crawl": {"steps": 20, "refresh_rate": 2}},
}


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    path = tmp_path_factory.mktemp("town") / "town.jsonl"
    path.write_text("\n".join(map(json.dumps, told())), "utf-8")
    return read_posts(path)


def made(kind, on, url, database):
    """The settings of a campaign of a kind on a platform."""
    given = {
        "name": "town",
        "kind": kind,
        "database": database,
        "source": {**on.source, "base_url": url, "timeout": 10.0},
        "limits": {"k": 100_000, "d": 60.0, "pause": 0.01, "longest_pause": 0.04, "give_up": 30.0},
        **KINDS[kind],
    }
    if kind != "refresh":
        seeds = [on.called(name) for name in (on.seeds if on.name == "web" else list(on.truth())[:3])]
        given |= {"topic": {"keywords": list(on.topic.keywords)}, "seeds": {"search": False, "usernames": seeds}}
    return check_settings(given, "test")


@AND_THE_WEB
@pytest.mark.parametrize("kind", KINDS)
def test_a_campaign_of_every_kind_is_proved_on_every_platform(kind, on, town, tmp_path):
    database = tmp_path / "a.db"
    with on.serving(town) as mock:
        settings = made(kind, on, mock.url, database)
        if kind == "refresh":
            bring(settings, written(tmp_path / "old.csv", edges([on.called(name) for name in on.truth()])))
        lived(settings, every=5)
    assert differences(database) == []
    found, everything = checks(database), rows(database, "select count(*) from pick")[0][0]
    imported = rows(database, "select count(*) from pick where act = 'import'")[0][0]
    assert found["picks"].proved == everything - imported > 5
    assert set(found["outcomes"].unproved) <= {IMPORTED, NO_PAGE}
    assert found["posts of the ledger"].proved >= rows(database, "select count(*) from post")[0][0]
    assert found["matches"].proved == rows(database, "select count(*) from hit")[0][0]
    assert found["link weights"].proved == rows(database, f"{LINKS} and act <> 'import'")[0][0]
    agrees(database, tmp_path / "export")
    # One of those whom it read is forgotten, named by its campaign in most of these.
    (name,) = rows(database, READ)[1]
    forget(database, ErasureOptions(yes=True, as_json=True), read_order([name], [], None, None), on.name)
    assert differences(database) == []
    assert checks(database)["picks"].unproved[FORGOTTEN] > 0
    agrees(database, tmp_path / "later")
    hidden = proved(database, tmp_path / "hidden", key=b"a key that nobody else has, of 32 bytes")
    assert not [one for check in hidden.values() for one in check.differences]
    assert (hidden["picks"].proved, set(hidden["picks"].unproved)) == (0, {RENUMBERED})


def agrees(database, folder):
    """The export of a campaign proves what its database does of its decisions, tests of life and budget."""
    found, told = checks(database), proved(database, folder)
    assert not [one for check in told.values() for one in check.differences]
    for name in DECIDED & found.keys():
        assert (told[name].proved, told[name].unproved) == (found[name].proved, found[name].unproved), name
    assert told["outcomes"].proved == found["outcomes"].proved


def proved(database, folder, key=None):
    """The checks of the tables of an export, by their names."""
    with opened(database) as connection:
        export(connection, folder, ExportOptions(formats=("csv",), key=key), 1_800_000_000.0)
    return {check.name: check for part in verify_export(folder) for check in part.checks}


@EVERY
def test_links_to_whom_accounts_follow_and_cursors_that_grew_old_are_no_differences(on, town, tmp_path):
    database, links = tmp_path / "a.db", {"mentions": 2, "follows": 3}
    with on.serving(town, platforms=(on.name,)) as mock:
        given = {"links": links, "estimator": "nh-ne-sum", "refresh_rate": 1}
        settings = file_of(on, mock.url, database, crawl=given, budget={"max_requests": 9})
        crawl(settings)
        old = {"fault": [{"kind": "expire", "requests": 2}]}
        httpx.post(f"{mock.url}/_mock/faults", json=old).raise_for_status()
        crawl(file_of(on, mock.url, database, crawl={**given, "steps": 12}))
    assert rows(database, "select count(*) from follow")[0][0] > 10
    assert differences(database) == []
    changed(database, "update link set alpha = alpha + 1 where n = (select max(n) from link)")
    assert {check for check, _, _ in differences(database)} >= {"link weights"}


def test_tests_of_life_that_came_from_a_file_are_not_judged_again(tmp_path):
    settings = refreshing("http://localhost:1", tmp_path / "a.db", refresh={"active": "180d"})
    bring(settings, written(tmp_path / "old.csv", edges(PEOPLE)))
    told = "account,active,checked_at\n" + "".join(f"{name},1,2026-01-05\n" for name in PEOPLE[:5])
    with opened(settings.database) as connection:
        judged(connection, written(tmp_path / "tests.csv", told), settings=settings)
    assert rows(settings.database, "select count(*) from pick where act = 'probe'") == [(5,)]
    assert differences(settings.database) == []
    assert checks(settings.database)["outcomes"].unproved == {IMPORTED: len(PEOPLE), BROUGHT: 5}


LINKS = "select count(*) from link join pick using (campaign, n) where true"
READ = (
    "select coalesce(a.username, a.platform_id) from pick p join account a using (node) join outcome o "
    "using (campaign, n) where act in ('seed', 'expand', 'walk', 'probe') and missing is null order by n"
)
