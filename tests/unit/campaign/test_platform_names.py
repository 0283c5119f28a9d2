"""Accounts and lists as people copy them, from the address line of a browser too."""

import pytest

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.registry import find_platform

DID = "did:plc:z72i7hdynmk6r22z27h6tvur"
OF_DID, OF_HANDLE = (f"at://{owner}/app.bsky.graph.list/3kAb" for owner in (DID, "alice.bsky.social"))


def names(of, *given):
    return find_platform(of).parse_names(given)


@pytest.mark.parametrize(
    "copied",
    ["@Ann_1", " Ann_1 ", "https://x.com/Ann_1", "http://www.twitter.com/@Ann_1/", "mobile.twitter.com/Ann_1?s=20#a"],
)
def test_a_page_of_x_is_its_account(copied):
    assert names("x", copied) == ["Ann_1"]


@pytest.mark.parametrize(
    "given",
    [
        "https://x.com/search?q=ann",
        "https://x.com/i/lists/1",
        "https://x.com/ann/status/1",
        "https://x.example/ann",
        "",
    ],
)
def test_what_is_no_account_of_x_is_refused_with_what_to_write(given):
    with pytest.raises(SettingsError, match=r"https://x\.com/NAME"):
        names("x", given)


def test_all_names_that_are_none_are_told_at_once_ten_of_many():
    with pytest.raises(SettingsError, match=r"^'a b', 'c!' are not usernames of X"):
        names("x", "ann", "a b", "bob", "c!")
    with pytest.raises(SettingsError, match="'9!' and 2 more are not usernames"):
        names("x", *(f"{n}!" for n in range(12)))


@pytest.mark.parametrize(
    ("copied", "name"),
    [
        ("https://bsky.app/profile/alice.bsky.social", "alice.bsky.social"),
        (" https://bsky.app/profile/Alice.bsky.social/ ", "alice.bsky.social"),
        ("http://www.bsky.app/profile/alice.bsky.social?x=1#y", "alice.bsky.social"),
        ("bsky.app/profile/@alice.bsky.social", "alice.bsky.social"),
        (f"https://bsky.app/profile/{DID}", DID),
        (f"https://bsky.app/profile/{DID.replace(':', '%3A')}", DID),
        ("@Alice.bsky.social", "alice.bsky.social"),
    ],
)
def test_a_page_of_bluesky_is_its_account(copied, name):
    assert names("bluesky", copied) == [name]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("https://bsky.app/profile/alice.bsky.social/lists/3k", r"\[seeds\] lists"),
        ("https://bsky.app/profile/alice.bsky.social/post/3k", "https://bsky.app/profile/alice.bsky.social"),
        ("https://bsky.app/profile/alice", "not an account of Bluesky"),
        ("https://bsky.example/profile/alice.bsky.social", "not an account of Bluesky"),
        ("https://bsky.app/profile/", "not an account of Bluesky"),
        ("did:x", "not an account of Bluesky"),
    ],
)
def test_what_is_no_account_of_bluesky_is_refused_with_what_to_write(given, said):
    with pytest.raises(SettingsError, match=said):
        names("bluesky", given)


def listed(*lists):
    given = {"name": "a", "topic": {"keywords": ["sun"]}, "source": {"platform": "bluesky"}, "seeds": {"search": False}}
    given["seeds"]["lists"] = list(lists)
    return make_plan(check_settings(given, "a.toml")).queries


@pytest.mark.parametrize(
    ("copied", "address"),
    [
        (f"https://bsky.app/profile/{DID}/lists/3kAb", OF_DID),
        ("https://bsky.app/profile/Alice.bsky.social/lists/3kAb/", OF_HANDLE),
        ("at://@Alice.bsky.social/app.bsky.graph.list/3kAb", OF_HANDLE),
        (OF_DID, OF_DID),
    ],
)
def test_a_list_is_its_address_or_that_of_its_page(copied, address):
    assert listed(copied) == [f"list:{address}"]


def test_a_list_that_is_named_twice_is_asked_for_once():
    assert listed(OF_DID, f"bsky.app/profile/{DID}/lists/3kAb", OF_HANDLE) == [f"list:{OF_DID}", f"list:{OF_HANDLE}"]


@pytest.mark.parametrize(
    "given",
    [
        "https://bsky.app/profile/alice.bsky.social",
        "https://bsky.app/profile/alice/lists/3k",
        "at://alice/app.bsky.graph.list/3k",
        f"at://{DID}/app.bsky.graph.list/",
        f"at://{DID}/app.bsky.feed.post/3k",
        "3k",
    ],
)
def test_what_is_no_list_of_bluesky_is_refused_with_what_to_write(given):
    with pytest.raises(SettingsError, match=r"at://DID/app.bsky.graph.list/KEY, or .*/profile/NAME/lists/KEY"):
        listed(given)


@pytest.mark.parametrize(
    ("copied", "name"),
    [
        ("https://mastodon.social/@Alice", "alice@mastodon.social"),
        (" https://Mastodon.social/@alice/?a#b ", "alice@mastodon.social"),
        ("mastodon.social/@alice", "alice@mastodon.social"),
        ("https://mastodon.social/@bob@Fosstodon.org", "bob@fosstodon.org"),
        ("https://mastodon.social/users/alice", "alice@mastodon.social"),
        ("@Bob@fosstodon.org", "bob@fosstodon.org"),
    ],
)
def test_a_page_of_an_instance_is_its_account(copied, name):
    assert names("mastodon", copied) == [name]


@pytest.mark.parametrize(
    "given", ["https://mastodon.social/@alice/1123", "https://mastodon.social/tags/sun", "https://x.example/", "alice"]
)
def test_what_is_no_account_of_mastodon_is_refused_with_what_to_write(given):
    with pytest.raises(SettingsError, match=r"such as alice@mastodon\.social"):
        names("mastodon", given)
