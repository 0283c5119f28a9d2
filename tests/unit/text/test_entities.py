"""Hashtags, cashtags, names and links as keywords: what each platform is asked, and what its mock finds."""

import pytest
from mastodon_posts import POLICY
from x_crawls import campaign_of

from socialcrawl.campaign.plan import make_topic
from socialcrawl.engine.model import Answer, Node, Pick, Reply
from socialcrawl.mock.bluesky.post_json import find_tags
from socialcrawl.platforms.bluesky.entities import make_search_parameters
from socialcrawl.platforms.bluesky.platform import BlueskyPlatform
from socialcrawl.platforms.mastodon.platform import MastodonPlatform
from socialcrawl.platforms.mastodon.source import MastodonSource, find_hashtag
from socialcrawl.text.entities import plain_address

KEYWORDS = ["climate", "dark sky", "#climate", "$TSLA", "@nasa.bsky.social", "@nasa", "https://example.org/a", "c#"]


def settings_of(platform, tmp_path, *, signed_in=False):
    source = {"platform": platform, "token_env": "TOKEN" if signed_in else None, "contact": "mailto:me@example.org"}
    source |= {"identifier": "me.bsky.social"} if signed_in and platform == "bluesky" else {}
    return campaign_of("http://127.0.0.1:9", tmp_path / "a.db", topic={"keywords": KEYWORDS}, source=source)


def test_bluesky_is_asked_for_entities_by_the_parameters_that_it_has_for_them(tmp_path):
    settings = settings_of("bluesky", tmp_path)
    queries = BlueskyPlatform().list_queries(settings, make_topic(settings))
    assert queries == [
        "climate", '"dark sky"', "#climate", "$TSLA", "@nasa.bsky.social", '"@nasa"', "https://example.org/a", '"c#"',
    ]  # fmt: skip
    assert [make_search_parameters(query) for query in queries] == [
        {"query": "climate"},
        {"query": '"dark sky"'},
        {"query": "#climate", "tag": "climate"},
        {"query": "$TSLA"},
        {"query": "*", "mentions": "nasa.bsky.social"},
        {"query": '"@nasa"'},
        {"query": "*", "url": "https://example.org/a"},
        {"query": '"c#"'},
    ]
    assert make_search_parameters("https://Example.org/") == {"query": "*", "domain": "example.org"}


@pytest.mark.parametrize(
    ("query", "tag", "searched"),
    [
        ("climate", "climate", "climate"), ("climate strike", "climatestrike", "climate strike"),
        ("#climate", "climate", None), ("#llibertat·d", "llibertat·d", None), ("@nasa", "", '"@nasa"'),
        ("@nasa@example.org", "", '"@nasa@example.org"'), ("https://example.org/a", "", '"https://example.org/a"'),
        ("c++", "c", "c++"), ("$TSLA", "TSLA", "$TSLA"),
    ],
)  # fmt: skip
def test_mastodon_is_asked_for_hashtags_by_their_timeline_and_for_names_and_links_by_search(query, tag, searched):
    assert find_hashtag(query) == tag
    source = MastodonSource(POLICY, [query], "home.example", signed_in=True)
    (talk,) = source.start_conversations([Pick(0, Node(-1), "search")], {})
    asked, more = [next(talk)], True
    while more:
        try:
            asked.append(talk.send(Reply("ok", 5.0, rows=Answer())))
        except StopIteration:
            more = False
    assert [one.params.get("hashtag") or one.params["q"] for one in asked] == [one for one in (tag, searched) if one]


def test_without_a_token_nobody_is_searched_for_by_names_and_links_on_mastodon(tmp_path):
    def queries(signed_in):
        settings = settings_of("mastodon", tmp_path, signed_in=signed_in)
        return MastodonPlatform().list_queries(settings, make_topic(settings))

    left_out = {"@nasa.bsky.social", "@nasa", "https://example.org/a"}
    assert queries(True) == KEYWORDS
    assert queries(False) == [keyword for keyword in KEYWORDS if keyword not in left_out]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#a #b-c, (#d) x#e #7 #8th ##f #g!", ["a", "b-c", "8th", "#f", "g"]),
        ("no tag", []),
        ("#日本、 #\u200bx", ["日本"]),
    ],
)
def test_the_mock_of_bluesky_tags_what_its_client_would(text, found):
    assert [tag for _, _, tag in find_tags(text)] == found
    assert all(text[begin:end] == f"#{tag}" for begin, end, tag in find_tags(text))


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://www.Example.org:443/A/?x=1#part", "example.org/A?x=1"), ("http://example.org", "example.org"),
        ("https://user@example.org:8080/%7Ea", "example.org:8080/~a"), ("https://straße.de/", "xn--strae-oqa.de"),
        ("example.org", None), ("ftp://example.org", None), ("https://", None), ("https://[x]/", None),
        ("https://example.org:port/", None), ("https://" + "é" * 300 + ".de", None),
    ],
)  # fmt: skip
def test_addresses_are_compared_in_one_form(url, plain):
    assert plain_address(url) == plain
