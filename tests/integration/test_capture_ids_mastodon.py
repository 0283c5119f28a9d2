"""A capture of posts by their numbers on the mock of Mastodon: all that are there once, opt-outs, kills, erasure."""

import json

import pytest
import tag_captures
from archive_captures import MANY, D, K, reported
from commands import socialcrawl
from id_captures import GONE, bring, found, list_chosen, world
from test_guarantees import FORKED, find_undisturbed, hold_the_guarantee
from x_crawls import crawl, posts, rows, scratch

from socialcrawl.campaign.settings import check_settings
from socialcrawl.mock.mastodon.status_facts import StatusIds
from socialcrawl.mock.names import is_chosen
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.hydration import PostIdError
from socialcrawl.platforms.mastodon.source import parse_post_id

HOME, NOBOT = "home.example", 0.2
PEOPLE = {"missing": GONE, "nobot": NOBOT}


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), mastodon_limit=100_000, paged_limit=100_000, **PEOPLE) as made:
        yield made


def hydrating(url, place, **more):
    return {**tag_captures.capturing(url, place, **more), "capture": {"ids": True}}


def list_originals():
    """The positions of the posts in the list, without those that only repeat others."""
    return [post for post in list_chosen(24) if not world().references.is_retweet(post)]


def list_numbers(chosen):
    """What people have of posts: the numbers on the instance, or the addresses at which it shows them."""
    numbers = StatusIds(world())
    forms = ("{}", "https://home.example/@ann/{}", "https://home.example/users/ann/statuses/{}")
    return [forms[place % 3].format(numbers.of(post, HOME)) for place, post in enumerate(chosen)]


def opted_out(post):
    made = world()
    return bool(is_chosen(made.accounts.keys[int(made.author[post])], NOBOT, b"nobot"))


def list_texts(chosen):
    made = world()
    return sorted(made.texts[post] for post in chosen if made.visible[post] and not opted_out(post))


def hydrated(given):
    reason, _ = crawl(check_settings(given, "test"))
    return reason


def stored(database):
    return sorted(text for (text,) in rows(database, "select text from post"))


def test_every_post_of_the_list_that_is_there_is_stored_once_without_opt_outs_and_a_budget_resumes(mock, tmp_path):
    database, chosen = tmp_path / "a.db", list_originals()
    given = hydrating(mock.url, database, limits=MANY, budget={"max_requests": 30})
    assert bring(given, tmp_path, list_numbers(chosen)).new == len(chosen)
    assert hydrated(given).kind == "budget"
    told = reported(database)["hydrated"]
    assert (told["share"], told["left"]) == (None, len(chosen) - 30)
    given["budget"] = {"max_requests": 100_000}
    assert hydrated(given).kind == "done"
    there = list_texts(chosen)
    assert stored(database) == there
    told = reported(database)["hydrated"]
    gone = sum(not world().visible[post] for post in chosen)
    out = len(chosen) - gone - len(there)
    assert out
    assert (told["stored"], told["gone"]) == (len(there), {"deleted": gone, "opted-out": out})
    assert told["share"] == pytest.approx((gone + out) / len(chosen))
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def all_numbers(url, place):
    given = hydrating(url, place)
    bring(given, scratch(), list_numbers(list_originals()[:60]))
    return given


KILLED = {"mastodon_limit": K, "paged_limit": K, "windows": {"mastodon": D, "paged": D}, **PEOPLE}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    whole = find_undisturbed(tmp_path_factory.mktemp("whole"), given=all_numbers, found=found, serving=KILLED)
    assert {row[2] for row in whole["picks"]} == {"import", "hydrate"}
    assert all(rows for name, rows in whole.items() if name != "hits")
    return whole


@FORKED
def test_a_capture_of_numbers_killed_at_random_moments_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 4, undisturbed, tmp_path, given=all_numbers, found=found, serving=KILLED)


def test_what_is_forgotten_is_not_fetched_again_and_its_numbers_are_in_no_table(mock, tmp_path):
    database, chosen = tmp_path / "a.db", list_originals()
    given = hydrating(mock.url, database, limits=MANY, budget={"max_requests": 60})
    bring(given, tmp_path, list_numbers(chosen))
    hydrated(given)
    asked = "from post p join account a on a.node = p.author join wanted_post w on w.post = p.id"
    loudest = f"select a.platform_id, min(w.id) {asked} group by 1 order by count(*) desc limit 1"
    author, key = rows(database, loudest)[0]
    child = socialcrawl("forget", "--user", author, "--platform", "mastodon", "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    text = json.dumps([rows(database, f"select * from {name}") for name in ("wanted_post", "request", "pick", "post")])
    assert author not in text
    assert f'"{key}"' not in text.replace('\\"', '"')
    given["budget"] = {"max_requests": 100_000}
    assert hydrated(given).kind == "done"
    assert rows(database, "select count(*) from account where platform_id = ?", author) == [(0,)]
    emptied = rows(database, "select count(*) from wanted_post where state = 'forgotten' and id is null")[0][0]
    assert emptied
    again = bring(given, tmp_path, list_numbers(chosen))
    assert (again.new, again.forgotten) == (0, emptied)
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("112233", "112233"),
        ("https://home.example/@ann/112233", "112233"),
        ("https://home.example/@bob@far.example/112233?x=1", "112233"),
        ("https://home.example/users/ann/statuses/112233", "112233"),
        ("https://HOME.example/web/statuses/112233#top", "112233"),
    ],
)
def test_addresses_of_the_own_instance_tell_the_number(text, number):
    assert parse_post_id(text, HOME) == number


@pytest.mark.parametrize("text", ["", "-1", "1e17", "https://home.example/@ann", "https://home.example/1", "at://x/1"])
def test_what_is_no_id_is_refused(text):
    with pytest.raises(PostIdError, match="is no id of a post"):
        parse_post_id(text, HOME)


def test_an_address_of_another_instance_is_refused_with_what_to_write():
    with pytest.raises(PostIdError, match=r"as https://home.example/@NAME@far.example/NUMBER"):
        parse_post_id("https://far.example/@bob/17", HOME)
