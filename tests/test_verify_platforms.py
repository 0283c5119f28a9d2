"""`socialcrawl verify` proves campaigns of every kind on every platform that died on the way."""

import json

import pytest
from crawling import rows
from reviving import written
from test_platforms import AND_THE_WEB, told
from test_refresh_campaign import bring, edges
from verifying import checks, differences, lived

from socialcrawl.apps.erasing import Manner, forget
from socialcrawl.lab.posts import read_posts
from socialcrawl.settings import checked
from socialcrawl.store.erasure.orders import ordered
from socialcrawl.verify.outcomes import NO_PAGE
from socialcrawl.verify.replay import FORGOTTEN, IMPORTED

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
    return checked(given, "test")


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
    # One of those whom it read is forgotten, named by its campaign in most of these.
    (name,) = rows(database, READ)[1]
    forget(database, Manner(yes=True, as_json=True), ordered([name], [], None, None), on.name)
    assert differences(database) == []
    assert checks(database)["picks"].unproved[FORGOTTEN] > 0


LINKS = "select count(*) from link join pick using (campaign, n) where true"
READ = (
    "select coalesce(a.username, a.platform_id) from pick p join account a using (node) join outcome o "
    "using (campaign, n) where act in ('seed', 'expand', 'walk', 'probe') and missing is null order by n"
)
