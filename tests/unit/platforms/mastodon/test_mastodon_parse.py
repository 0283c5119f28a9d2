import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mastodon_posts import account_of, mention_of, status_of

from socialcrawl.engine.model import PostRow, Who, parse_time
from socialcrawl.platforms.mastodon.parse import PageParser
from socialcrawl.platforms.mastodon.profiles import has_opted_out

ANN, BOB = Who("ann@home.example", "ann@home.example"), Who("bob@other.example", "bob@other.example")


def length(text, lang=None, created_at=None, urls=None, names=None):
    return len(text)


def page_of(*statuses, author=ANN.id, domain="home.example", **more):
    return PageParser(domain, length, **more).parse_timeline(list(statuses), author)


def mentions_of(*statuses, **more):
    return [(m.post, m.who.id, m.kind) for m in page_of(*statuses, **more).mentions]


def test_a_status_becomes_a_row_with_its_counts_tags_links_and_language():
    content = '<p>Look:<br>&lt;3 <a href="https://a.example/x?y=1&amp;z=2">a</a></p>'
    given = status_of(content=content, tags=[{"name": "sky"}, {"name": "sea"}], spoiler_text="weather & more")
    (row,) = page_of(given).posts
    assert row[:6] == (
        "https://home.example/users/ann/statuses/7",
        "ann@home.example",
        "2026-01-02T03:04:05.000Z",
        "weather & more\nLook:\n<3 a",
        "en",
        None,
    )
    assert (row.reply_to, row.repost_of, row.quote_of) == (None, None, None)
    assert json.loads(row.hashtags) == ["sky", "sea"]
    assert json.loads(row.urls) == ["https://a.example/x?y=1&z=2"]
    assert (row.likes, row.replies, row.reposts, row.quotes, row.bookmarks, row.views) == (2, 3, 1, 4, None, None)
    assert row.original is None


def test_what_an_instance_does_not_tell_is_none():
    bare = {
        "uri": "u:1",
        "account": {"acct": "ann"},
        "favourites_count": -1,
        "replies_count": "3",
        "quotes_count": True,
    }
    (row,) = page_of(bare).posts
    assert row == PostRow("u:1", "ann@home.example", None, "", *[None] * 14)


def test_the_topic_is_counted_in_the_text_as_it_is_stored():
    page = page_of(status_of(content="<p>12345</p>"), status_of("8", content="<p>&amp;</p>"))
    assert page.hits == [5, 1]


def test_the_original_is_kept_on_request():
    given = status_of()
    (row,) = page_of(given, keep=True).posts
    assert json.loads(row.original) == given


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02T05:04:05.5+02:00", "2026-01-02T03:04:05.500Z"),
        ("2026-01-02T03:04:05", "2026-01-02T03:04:05.000Z"),
        ("long ago", None),
        (17, None),
    ],
)
def test_times_are_written_in_one_way(told, written):
    assert page_of(status_of(created_at=told)).posts[0].created_at == written


def test_a_mention_without_a_domain_is_of_the_instance_that_answers():
    given = status_of(mentions=[mention_of("Carl", "21"), mention_of("bob@Other.Example", "22")])
    assert mentions_of(given) == [(0, "carl@home.example", "mention"), (0, "bob@other.example", "mention")]
    elsewhere = mentions_of(given, domain="third.example", author="ann@third.example")
    assert elsewhere == [(0, "carl@third.example", "mention"), (0, "bob@other.example", "mention")]


def test_who_is_answered_is_found_by_the_number_that_the_page_knows():
    bob = mention_of("bob@other.example", "22")
    answer = status_of(in_reply_to_id="5", in_reply_to_account_id="22", mentions=[mention_of("carl", "21"), bob])
    assert mentions_of(answer) == [(0, "carl@home.example", "mention"), (0, "bob@other.example", "reply")]
    unnamed = status_of("8", in_reply_to_id="6", in_reply_to_account_id="22")
    assert mentions_of(answer, unnamed)[-1] == (1, "bob@other.example", "reply")
    assert mentions_of(unnamed) == []  # nobody tells who that is


def test_who_answers_themselves_names_themselves_as_on_x():
    thread = status_of("8", in_reply_to_id="7", in_reply_to_account_id="11")
    page = page_of(thread, status_of("7"))
    assert [(m.post, m.who, m.kind) for m in page.mentions] == [(0, ANN, "reply")]
    assert page.posts[0].reply_to == page.posts[1].id


def test_a_post_that_only_the_instance_knows_is_named_by_its_number_there():
    (row,) = page_of(status_of(in_reply_to_id="5")).posts
    assert row.reply_to == "local:home.example/5"


def boost_of(original, number="9", **more):
    return status_of(
        number, content="", uri=f"https://home.example/users/ann/statuses/{number}/activity", reblog=original, **more
    )


def test_a_boost_is_a_post_of_who_boosts_that_names_whom_it_repeats_and_whom_that_names():
    bob = account_of("bob@other.example", "22")
    original = status_of(
        "5",
        bob,
        uri="https://other.example/p/5",
        content='<p>see <a href="https://a.example">a</a></p>',
        language="fr",
        tags=[{"name": "sky"}],
        mentions=[mention_of("carl", "21")],
        in_reply_to_account_id="21",
        favourites_count=50,
    )
    page = page_of(boost_of(original))
    (row,) = page.posts
    assert row.id == "https://home.example/users/ann/statuses/9/activity"
    assert (row.author, row.text, row.lang) == ("ann@home.example", "RT @bob: see a", "fr")
    assert (row.repost_of, row.likes, row.hashtags) == ("https://other.example/p/5", 50, '["sky"]')
    assert row.urls == '["https://a.example"]'
    assert [(m.who.id, m.kind) for m in page.mentions] == [
        ("bob@other.example", "repost"),
        ("carl@home.example", "mention"),
    ]


def test_a_boost_says_nothing_of_what_somebody_wrote_who_wants_no_crawlers():
    silent = account_of("bob@other.example", "22", noindex=True)
    original = status_of("5", silent, uri="https://other.example/p/5", content="<p>secret</p>", tags=[{"name": "sky"}])
    page = page_of(boost_of(original), keep=True)
    assert (page.posts[0].text, page.posts[0].hashtags, page.posts[0].original) == ("RT @bob: ", None, None)
    assert mentions_of(boost_of(original)) == [(0, "bob@other.example", "repost")]
    assert page_of(boost_of(original), opt_outs=False).posts[0].text == "RT @bob: secret"


def test_the_original_of_a_post_is_not_kept_where_it_quotes_somebody_who_wants_no_crawlers():
    silent = status_of("5", account_of("bob@other.example", "22", noindex=True), content="<p>secret</p>")
    quoting = status_of(quote={"state": "accepted", "quoted_status": silent})
    assert page_of(quoting, keep=True).posts[0].original is None
    assert "secret" in page_of(quoting, keep=True, opt_outs=False).posts[0].original


@pytest.mark.parametrize(
    "quote",
    [
        lambda one: {"quote": {"state": "accepted", "quoted_status": one}},
        lambda one: {"quote": one, "quote_id": one["id"]},
    ],
    ids=["mastodon", "others"],
)
def test_a_quotation_names_whom_it_quotes_less_strongly_than_a_mention(quote):
    quoted = status_of("5", account_of("bob@other.example", "22"), uri="https://other.example/p/5")
    page = page_of(status_of(**quote(quoted)))
    assert page.posts[0].quote_of == "https://other.example/p/5"
    assert [(m.who, m.kind) for m in page.mentions] == [(BOB, "quote")]
    named = status_of(**quote(quoted), mentions=[mention_of("bob@other.example", "22")])
    assert mentions_of(named) == [(0, "bob@other.example", "mention")]
    answer = status_of(**quote(quoted), in_reply_to_account_id="22")
    assert mentions_of(answer) == [(0, "bob@other.example", "reply")]


@pytest.mark.parametrize(
    ("more", "quoted"),
    [
        ({"quote": {"state": "accepted", "quoted_status_id": "5"}}, "local:home.example/5"),
        ({"quote_id": "5"}, "local:home.example/5"),
        ({"quote": {"state": "revoked", "quoted_status": None}}, None),
        ({"quote": None}, None),
    ],
)
def test_a_quotation_that_is_not_shown_names_nobody(more, quoted):
    page = page_of(status_of(**more))
    assert (page.posts[0].quote_of, page.mentions) == (quoted, [])


def test_the_strongest_kind_counts_once_and_the_order_is_that_of_the_first_appearance():
    bob = account_of("bob@other.example", "22")
    both = boost_of(status_of("5", bob, mentions=[mention_of("carl", "21"), mention_of("bob@other.example", "22")]))
    assert mentions_of(both) == [(0, "bob@other.example", "repost"), (0, "carl@home.example", "mention")]


def test_posts_that_are_not_for_everybody_are_left_out():
    private = status_of("5", account_of("bob@other.example", "22"), visibility="private")
    given = [status_of("1", visibility="direct"), status_of("2", visibility="private"), boost_of(private)]
    assert page_of(*given, status_of("3", visibility="unlisted")).posts[0].id.endswith("/3")
    assert len(page_of(*given, status_of("3", visibility="unlisted")).posts) == 1


def test_a_post_that_comes_twice_counts_once():
    assert len(page_of(status_of("1"), status_of("1"), status_of("2")).posts) == 2


def test_an_instance_tells_nothing_of_what_others_wrote():
    assert page_of(status_of("1", account_of("bob@other.example", "22"))).posts == []


def test_posts_outside_the_bounds_are_left_out_and_a_page_that_ends_before_them_is_the_last():
    times = [f"2026-01-0{day}T00:00:00.000Z" for day in (5, 4, 3, 2)]
    given = [status_of(str(n), created_at=at) for n, at in enumerate(times)]
    begin, end = parse_time(times[2]), parse_time(times[0])
    reader = PageParser("home.example", length, begin=begin, end=end)
    assert [row.created_at for row in reader.parse_timeline(given, ANN.id).posts] == times[1:3]
    assert reader.is_over(given)
    assert not reader.is_over(given[:3])
    assert not reader.is_over([])
    assert not reader.is_over([status_of(created_at="long ago")])
    assert not PageParser("home.example", length).is_over(given)


def test_a_look_up_gives_the_profile_and_the_number_on_that_instance():
    given = account_of("Ann", "11", note="<p>I write<br>daily</p>", locked=True)
    page, number = PageParser("home.example", length).parse_profile(given)
    assert number == "11"
    assert page.answered == [ANN]
    (row,) = page.accounts
    assert row == (
        "ann@home.example",
        "ann@home.example",
        "Ann",
        "I write\ndaily",
        "2020-01-01T00:00:00.000Z",
        3,
        2,
        1,
        None,
        None,
        None,
        "https://home.example/@Ann",
    )


SILENT = [
    {"noindex": True},
    {"note": "<p>no bots please #<span>nobot</span></p>"},
    {"note": '<p><a href="https://home.example/tags/NoBots" class="mention hashtag">#<span>NoBots</span></a></p>'},
    {"note": "#noindex"},
    {"fields": [{"name": "search", "value": "(#nosearch)"}]},
    {"fields": [{"name": "#nobot", "value": ""}]},
]
OTHERS = [
    {},
    {"noindex": None},
    {"noindex": "yes"},
    {"note": "I make nobot noindex nosearch"},
    {"note": "#nobotany", "fields": None},
    {"note": None, "fields": "none"},
    {"fields": [{"name": 1, "value": None}, "odd"]},
]


@pytest.mark.parametrize("more", SILENT)
def test_whoever_wants_no_crawlers_is_missing_and_nothing_of_them_is_kept(more):
    given = {**account_of(), **more}
    page, number = PageParser("home.example", length).parse_profile(given)
    assert (page.missing, page.accounts, page.answered, number) == ([(ANN, "opted-out")], (), (), None)
    page, number = PageParser("home.example", length, opt_outs=False).parse_profile(given)
    assert (page.missing, page.answered, number) == ((), [ANN], "11")


@pytest.mark.parametrize("more", OTHERS)
def test_others_are_read(more):
    assert not has_opted_out({**account_of(), **more})


def test_a_suspended_account_is_missing_whatever_the_campaign_thinks_of_opt_outs():
    page, number = PageParser("home.example", length, opt_outs=False).parse_profile(account_of(suspended=True))
    assert (page.missing, number) == ([(ANN, "suspended")], None)


def test_a_search_finds_authors_and_their_profiles_but_nobody_who_opted_out():
    bob, silent = account_of("bob@other.example", "22"), account_of("carl", "33", noindex=True)
    given = [status_of("1", bob), status_of("2", silent), status_of("3"), status_of("4", bob)]
    page = PageParser("home.example", length).parse_found(given)
    assert page.answered == [BOB, ANN]
    assert [row.id for row in page.accounts] == ["bob@other.example", "ann@home.example"]
    assert [row.author for row in page.posts] == ["bob@other.example", "ann@home.example", "bob@other.example"]


def test_those_whom_an_account_follows_come_in_order_and_with_their_profiles():
    given = [account_of("bob@other.example", "22"), account_of("carl", "33", noindex=True)]
    page = PageParser("home.example", length).parse_follows(given)
    assert [who.id for who in page.follows] == ["bob@other.example", "carl@home.example"]
    assert [row.id for row in page.accounts] == ["bob@other.example"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ODD = st.dictionaries(st.sampled_from([*status_of(), "quote_id", "quoted_status"]), JSON, max_size=6)


@settings(deadline=None)
@given(ODD, st.dictionaries(st.sampled_from([*account_of()]), JSON, max_size=3), st.booleans())
def test_odd_json_is_a_page_or_a_type_error(odd, profile, within):
    whole = {**status_of(account={**account_of(), **profile}), **odd}
    reader = PageParser("home.example", length, keep=True)
    for read in (
        reader.parse_found,
        lambda body: reader.parse_timeline(body, ANN.id),
        lambda body: reader.parse_follows([whole["account"]]),
    ):
        try:
            page = read([boost_of(whole) if within else whole])
        except (TypeError, AttributeError):
            continue
        for row in page.posts:
            assert all(value is None or isinstance(value, str | int) for value in row)
            assert isinstance(row.id, str)
            assert row.id


@settings(deadline=None)
@given(JSON)
def test_json_that_is_no_answer_at_all_is_a_type_error_or_nothing(body):
    reader = PageParser("home.example", length)
    for read in (
        reader.parse_profile,
        reader.parse_found,
        reader.parse_follows,
        lambda given: reader.parse_timeline(given, ANN.id),
    ):
        try:
            page = read(body)
        except TypeError:
            continue
        assert not page.posts
        assert body == []
