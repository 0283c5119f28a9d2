"""The pieces of the mock's Mastodon: HTML of any text, ids, pages, windows and headers."""

import re
from datetime import UTC, datetime

import numpy as np
import pytest
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_mock_mastodon import caller, text_of
from test_mock_world import START, posts_of, synthetic

from socialcrawl.mock.mastodon.instances import make_key
from socialcrawl.mock.mastodon.post_html import find_hashtags, render_content
from socialcrawl.mock.mastodon.responses import cut_list, parse_whole_number
from socialcrawl.mock.mastodon.service import MastodonService
from socialcrawl.mock.mastodon.status_facts import StatusIds
from socialcrawl.mock.service import Guest, MockRequest, WindowState
from socialcrawl.mock.world import build_world

NAMES = {"ann": "https://a.example/@ann", "bob@b.example": "https://b.example/@bob"}
SNIPPETS = [
    "@ann",
    "@Bob@b.example",
    "@zoe",
    "#tag",
    "#1",
    "https://www.x.org/a?b=1&c=2.",
    "<b>",
    "&amp;",
    '"',
    "'",
    "\n",
    " ",
]
WILD = st.lists(st.sampled_from(SNIPPETS) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6))


@given(WILD, st.booleans())
@example(["@ann@a.example", "@ann@c.example"], False)
@settings(max_examples=many(200), deadline=None)
def test_any_text_can_be_read_back_from_its_html(parts, foreign):
    text = "".join(parts)
    html = render_content(text, "a.example", NAMES, foreign=foreign)
    assert lines(text_of(html)) == lines(text)
    assert "<b>" not in html


def lines(text):
    return [line for line in text.replace("\r", "\n").split("\n") if line.strip()]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("  ", ""),
        ("you can't", "<p>you can&#39;t</p>"),  # as recorded
        ("a\nb\n\nc\n\n\nd", "<p>a<br />b</p><p>c</p><p>d</p>"),
        ("a\r\nb", "<p>a<br />b</p>"),
        (
            "#hoot (x)",
            '<p><a href="https://a.example/tags/hoot" class="mention hashtag" rel="tag">#<span>hoot</span></a> (x)</p>',
        ),
        ("#2024 a#b", "<p>#2024 a#b</p>"),
        ("me@ann.org @zoe", "<p>me@ann.org @zoe</p>"),
        (
            "see https://www.example.org/abcdefghijklmnopqrstuvwxyz?a=1&b=2.",
            (
                '<p>see <a href="https://www.example.org/abcdefghijklmnopqrstuvwxyz?a=1&amp;b=2" target="_blank" '
                'rel="nofollow noopener" translate="no"><span class="invisible">https://www.</span>'
                '<span class="ellipsis">example.org/abcdefghijklmnopqr</span>'
                '<span class="invisible">stuvwxyz?a=1&amp;b=2</span></a>.</p>'
            ),
        ),
        (
            "@ann.",
            (
                '<p><span class="h-card" translate="no"><a href="https://a.example/@ann" class="u-url mention">'
                "@<span>ann</span></a></span>.</p>"
            ),
        ),
    ],
)
def test_html_is_written_as_mastodon_writes_it(text, html):
    assert render_content(text, "a.example", NAMES) == html


@pytest.mark.parametrize(
    ("text", "linked", "after"),
    [
        ("@Ann", "Ann", ""),
        ("@ann@a.example", "ann@a.example", ""),  # of the author's own instance
        ("@ann@c.example", "ann", "@c.example"),
        ("@ann.bye", "ann", ".bye"),
        ("@bob@b.example.", "bob@b.example", "."),
        ("@bob", None, "@bob"),
    ],
)
def test_the_longest_spelling_that_is_a_name_is_linked(text, linked, after):
    html = render_content(text, "a.example", NAMES)
    assert html.endswith(f"{after}</p>")
    assert re.findall(r"<span>(.*?)</span>", html) == ([linked] if linked else [])


def test_links_of_another_instance_s_posts_say_that_nobody_answers_for_them():
    far = 'rel="nofollow noopener" target="_blank"'
    assert render_content("@ann #x", "a.example", NAMES, foreign=True).count(far) == 2


def test_hashtags_are_told_once_in_lower_case_and_numbers_are_none():
    assert find_hashtags("#One #two #ONE #3 https://x.org/#four a#five") == ["one", "two"]


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=60),
    st.sampled_from(["a.example", "b.example"]),
    st.integers(-10, 2**64),
)
@settings(max_examples=many(150), deadline=None)
def test_status_ids_grow_with_time_and_lead_back(seconds, domain, wild):
    posts = posts_of([("ann", START + second, "x") for second in sorted(seconds)])
    numbers = StatusIds(build_world(posts))
    ids = [numbers.of(post, domain) for post in range(len(seconds))]
    assert ids == sorted(set(ids))
    assert [numbers.post(number, domain) for number in ids] == list(range(len(ids)))
    assert ids[0] >> 16 == (START + min(seconds)) * 1000  # Unix milliseconds, as Mastodon's own
    for bound in (*ids, ids[-1] + 1, wild):
        assert numbers.below(bound, domain) == sum(number < bound for number in ids)
        assert numbers.post(bound, domain) == (ids.index(bound) if bound in ids else None)


def test_ids_say_nothing_of_another_instance_s():
    world = build_world(synthetic())
    numbers = StatusIds(world)
    first, second = ([numbers.of(post, domain) & 0xFFFF for post in range(60)] for domain in ("a.example", "b.example"))
    assert len(set(first)) > 55  # 60 draws of 65,536 seldom agree
    assert sum(a == b for a, b in zip(first, second, strict=True)) <= 1
    assert make_key("a.example") != make_key("b.example")


@given(
    st.sets(st.integers(0, 50)),
    st.integers(1, 8),
    st.none() | st.integers(-1, 52),
    st.none() | st.integers(-1, 52),
    st.booleans(),
)
@settings(max_examples=many(300), deadline=None)
def test_a_page_is_the_newest_below_or_the_next_above(members, n, below, above, upward):
    kept = [m for m in sorted(members) if (below is None or m < below) and (above is None or m > above)]
    part = cut_list(np.array(sorted(members), dtype=np.int64), n, below=below, above=above, upward=upward)
    expected = kept[:n] if upward else kept[-n:]
    assert part.members.tolist() == expected[::-1]
    assert part.full == (len(expected) == n)


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), (" 7x", 7), ("-3", -3), ("x", 0), ("", 0), ("9" * 30, 10**19 - 1)]
)
def test_numbers_are_read_as_ruby_reads_them(text, number):
    assert parse_whole_number(text) == number


def service(**more):
    return MastodonService(
        build_world(synthetic()), limit=300, window=300.0, paged_limit=200, paged_window=900.0, **more
    )


def asked(query=(), host="home.example", now=START + 0.5):
    return MockRequest("GET", "/api/v1/instance", {}, query, {"host": host}, now, host=host)


PUBLIC = Guest("public", "public")


@pytest.mark.parametrize("name", ["max_id", "since_id", "min_id", "page", None, "offset", "limit"])
def test_a_request_with_a_cursor_is_counted_by_a_window_besides(name):
    found = service().counted(asked([(name, "5")] if name else []), PUBLIC)
    windows = [(counting.k, counting.period, counting.kind) for counting in found]
    paged = name in ("max_id", "since_id", "min_id", "page")
    assert windows == [(300, 300.0, "aligned"), (200, 900.0, "aligned")][: 1 + paged]


def test_windows_belong_to_an_instance_and_a_token():
    mastodon = MastodonService(build_world(posts_of([("ann@a.example", START, "x"), ("bob", START, "y")])))
    hosts = ("home.example", "127.0.0.1", "a.example")
    guests = (PUBLIC, Guest("one", "user"))
    keys = {(host, guest.label): mastodon.counted(asked(host=host), guest)[0].key for host in hosts for guest in guests}
    assert len(set(keys.values())) == 4  # two instances, of which one has two names
    assert keys["home.example", "public"] == keys["127.0.0.1", "public"]
    assert mastodon.counted(asked(host="nowhere.example"), PUBLIC) == ()


def test_headers_tell_the_window_with_the_least_left_and_its_end_with_the_microseconds_of_now():
    mastodon = service()
    now = datetime(2026, 4, 11, 23, 14, 11, 996_774, tzinfo=UTC).timestamp()
    request = asked([("max_id", "5")], now=now)
    every, paged = mastodon.counted(request, PUBLIC)
    ends = [datetime(2026, 4, 11, 23, 15, tzinfo=UTC).timestamp()] * 2

    def told(*left):
        return mastodon.limits(request, [WindowState(*one) for one in zip((every, paged), left, ends, strict=True)])

    reset = "2026-04-11T23:15:00.996774Z"  # as recorded on mastodon.social
    assert told(299, 150) == {
        "x-ratelimit-limit": "200",
        "x-ratelimit-remaining": "150",
        "x-ratelimit-reset": reset,
    }
    assert told(0, 150)["x-ratelimit-limit"] == "300"
    assert mastodon.limits(request, []) == {}


def test_the_429_says_nothing_but_that():
    told = service().too_many(asked(), [])
    assert (told.status, told.body) == (429, b'{"error":"Too many requests"}')
    assert "retry-after" not in told.headers


def test_statuses_are_rendered_once_and_anew_after_a_change():
    call = caller()
    page = call.told(f"/api/v1/accounts/{call.row('ann')['id']}/statuses")
    assert page.body == call.told(f"/api/v1/accounts/{call.row('ann')['id']}/statuses").body
    assert page.posts == 20
