"""A capture of posts by their addresses on the mock of Bluesky: what is there, opt-outs, handles, kills, erasure."""

import json

import pytest
from archive_captures import MANY, D, K, capturing_on_bluesky, reported
from commands import socialcrawl
from id_captures import GONE, bring, found, list_chosen, world
from test_guarantees import FORKED, find_undisturbed, hold_the_guarantee
from x_crawls import crawl, posts, rows, scratch

from socialcrawl.campaign.settings import check_settings
from socialcrawl.mock.bluesky.identifiers import BlueskyNames
from socialcrawl.mock.bluesky.service import DOMAIN
from socialcrawl.mock.names import is_chosen
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world_changes import WorldChanges

NOBOT = 0.2  # the share of accounts that opted out


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), bluesky_limit=100_000, missing=GONE, nobot=NOBOT) as made:
        yield made


def hydrating(url, place, *, source=None, **more):
    given = capturing_on_bluesky(url, place, source=source, **more)
    return {**given, "capture": {"ids": True}}


def list_originals(every=4):
    """The positions of posts in the list: Bluesky has no posts that only repeat others."""
    return [post for post in list_chosen(every) if not world().references.is_retweet(post)]


def names():
    return BlueskyNames(world(), WorldChanges(world()), DOMAIN)


def list_addresses(chosen):
    """The addresses of posts as people have them: with DIDs, or those of pages, with handles."""
    made, called = world(), names()
    addresses = []
    for place, post in enumerate(chosen):
        row, uri = int(made.author[post]), called.uri(int(made.author[post]), int(made.ids[post]))
        key = uri.rpartition("/")[2]
        addresses.append(f"https://bsky.app/profile/{called.handle(row)}/post/{key}" if place % 3 == 0 else uri)
    return addresses


def opted_out(post):
    made = world()
    return bool(is_chosen(made.accounts.keys[int(made.author[post])], NOBOT, b"nobot"))


def list_texts(chosen, *, heeded=True):
    made = world()
    return sorted(made.texts[post] for post in chosen if made.visible[post] and not (heeded and opted_out(post)))


def hydrated(given):
    reason, _ = crawl(check_settings(given, "test"))
    return reason


def stored(database):
    return sorted(text for (text,) in rows(database, "select text from post"))


@pytest.mark.parametrize("heeded", [True, False], ids=["profiles", "labels"])
def test_every_post_of_the_list_that_is_there_is_stored_once_without_opt_outs(mock, heeded, tmp_path):
    database, chosen = tmp_path / "a.db", list_originals()
    given = hydrating(mock.url, database, limits=MANY, source={"opt_outs": heeded})
    assert bring(given, tmp_path, list_addresses(chosen)).new == len(chosen)
    assert hydrated(given).kind == "done"
    there = list_texts(chosen, heeded=heeded)
    assert stored(database) == there
    told = reported(database)["hydrated"]
    out = sum(world().visible[post] and opted_out(post) for post in chosen) if heeded else 0
    assert (told["ids"], told["stored"], told["left"]) == (len(chosen), len(there), 0)
    assert told["gone"].get("opted-out", 0) == out
    assert sum(told["gone"].values()) == len(chosen) - len(there)
    assert told["gone"]["unknown"], "handles that nobody has any more"
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def test_a_budget_that_ends_early_resumes(mock, tmp_path):
    database, chosen = tmp_path / "a.db", list_originals()
    given = hydrating(mock.url, database, limits=MANY, budget={"max_requests": 40})
    bring(given, tmp_path, list_addresses(chosen))
    assert hydrated(given).kind == "budget"
    told = reported(database)["hydrated"]
    assert (told["share"], 0 < told["left"] < len(chosen)) == (None, True)
    given["budget"] = {"max_requests": 100_000}
    assert hydrated(given).kind == "done"
    assert stored(database) == list_texts(chosen)


def all_addresses(url, place):
    given = hydrating(url, place)
    bring(given, scratch(), list_addresses(list_originals(12)))
    return given


KILLED = {"bluesky_limit": K, "windows": {"bluesky": D}, "missing": GONE, "nobot": NOBOT}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    whole = find_undisturbed(tmp_path_factory.mktemp("whole"), given=all_addresses, found=found, serving=KILLED)
    assert {row[2] for row in whole["picks"]} == {"import", "hydrate"}
    assert all(whole.values())
    return whole


@FORKED
def test_a_capture_of_addresses_killed_at_random_moments_finds_what_it_would_have_found(
    database, undisturbed, tmp_path
):
    hold_the_guarantee(database, 4, undisturbed, tmp_path, given=all_addresses, found=found, serving=KILLED)


def test_what_is_forgotten_is_not_fetched_again_and_its_addresses_are_in_no_table(mock, tmp_path):
    database, chosen = tmp_path / "a.db", list_originals()
    addresses = list_addresses(chosen)
    given = hydrating(mock.url, database, limits=MANY, budget={"max_requests": 60})
    bring(given, tmp_path, addresses)
    hydrated(given)
    loudest = "select a.platform_id from post p join account a on a.node = p.author group by 1 order by count(*) desc"
    author = rows(database, f"{loudest} limit 1")[0][0]
    child = socialcrawl("forget", "--user", author, "--platform", "bluesky", "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    handle = names().handle(names().row(author))
    text = json.dumps([rows(database, f"select * from {name}") for name in ("wanted_post", "request", "pick", "post")])
    assert author not in text
    assert handle not in text
    given["budget"] = {"max_requests": 100_000}
    assert hydrated(given).kind == "done"
    theirs = [post for post in chosen if names().did(int(world().author[post])) == author]
    made, called = world(), names()
    left = [post for post in chosen if post not in theirs and made.visible[post] and not opted_out(post)]
    expected = sorted(called.uri(int(made.author[post]), int(made.ids[post])) for post in left)
    assert sorted(key for (key,) in rows(database, "select id from post")) == expected
    states = dict(rows(database, "select state, count(*) from wanted_post group by 1"))
    assert states["forgotten"] == len(theirs)
    again = bring(given, tmp_path, addresses)
    assert (again.new, again.forgotten) == (0, len(theirs))
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout
