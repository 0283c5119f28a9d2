"""Addresses in one form, pages as readers see them, windows around links, rules of robots: by hand and at random."""

import re
import time
from html import escape
from itertools import pairwise

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.graph.link_context import NOWHERE, find_window, unite_spans
from socialcrawl.platforms import bounded_html
from socialcrawl.platforms.bounded_html import MAX_LINKS
from socialcrawl.platforms.sockets import resolves_privately
from socialcrawl.platforms.web.page import MAX_INTERNATIONAL, Hyperlink, parse_page, parse_plain_text
from socialcrawl.platforms.web.robots import ParsedFiles, permits
from socialcrawl.platforms.web.urls import find_server, is_allowed, is_private, join_url, list_hosts, normalize_url

HERE = "http://h.example/d/p"


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("HTTP://User:pw@Example.ORG:80#part", "http://example.org/"),
        ("https://example.org:443/?", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org./a/./b/../c/..", "http://example.org/a/"),
        ("http://example.org/../../a//b", "http://example.org/a//b"),
        ("http://example.org/%7euser/%e2%82%ac%2f/€ x", "http://example.org/~user/%E2%82%AC%2F/%E2%82%AC%20x"),
        ("http://example.org/100%/%zz", "http://example.org/100%25/%25zz"),
        ("http://example.org/%2e%2E/a", "http://example.org/a"),
        ("http://example.org?utm_source=x&b=ä b&&a=%C3%a4", "http://example.org/?utm_source=x&b=%C3%A4%20b&&a=%C3%A4"),
        ("http://Bücher.example/", "http://xn--bcher-kva.example/"),
        ("  http://exa\nmple.org/a\tb ", "http://example.org/ab"),
        ("http://[::FFFF:1.2.3.4]:80/", "http://1.2.3.4/"),
        ("http://[2001:DB8::1]/", "http://[2001:db8::1]/"),
        ("ftp://example.org/", None),
        ("javascript:alert(1)", None),
        ("mailto:a@example.org", None),
        ("//example.org/", None),
        ("http:///x", None),
        ("http://exa mple.org/", None),
        ("http://example.org:port/", None),
        ("http://example.org:99999/", None),
        ("http://[x]/", None),
        ("http://a..b/", None),
        ("http://example.org/" + "x" * 1_990, None),
        ("", None),
    ],
)
def test_an_address_has_one_form(url, form):
    assert normalize_url(url) == form


@settings(deadline=None, max_examples=many(150))
@given(st.one_of(
    st.text(max_size=60),
    st.text(st.sampled_from("aB%2eEf/.:?#@[]é &;=~-_\\\n"), max_size=40).map(lambda rest: f"http://h.example/{rest}"),
    st.text(st.sampled_from("aB%2eEf/.:?#@[]é &;=~-_\\\n"), max_size=40).map(lambda rest: f"http://{rest}"),
))  # fmt: skip
def test_normalising_twice_changes_nothing_and_the_form_is_plain(url):
    form = normalize_url(url)
    if form is not None:
        assert normalize_url(form) == form
        assert re.fullmatch(r"https?://[a-z0-9_.:\[\]-]+/[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*", form)
        assert not re.search(r"%(?![0-9A-F]{2})|/\.\.?(/|$)", form.partition("?")[0])
        assert join_url(form, "#part") == form


def test_links_are_followed_from_where_they_stand():
    told = {"x": "d/x", "../x": "x", "/x?y": "x?y", "?y": "d/p?y", "": "d/p", "//h.example/x": "x", " x\n": "d/x"}
    assert {href: join_url(HERE, href) for href in told} == {
        href: f"http://h.example/{path}" for href, path in told.items()
    }
    assert [join_url(HERE, href) for href in ("tel:1", "http://[", "data:text/html,x")] == [None] * 3


def test_hosts_are_told_apart_by_patterns():
    url = "http://www.Example.org:8080/"
    form = normalize_url(url)
    assert find_server(form) == "www.example.org:8080"
    assert list_hosts([url, "https://b.example/", "http://b.example/x", "nonsense"]) == ["www.example.org", "b.example"]
    yes = (["www.example.org"], ["*.EXAMPLE.org"], ["*"], ["a", "*example*"])
    no = ([], ["example.org"], ["*.example"], ["wwwXexample.org"], ["*.b.example"])
    assert [is_allowed(form, patterns) for patterns in (*yes, *no)] == [True] * 4 + [False] * 5


def test_what_is_of_the_neighbourhood_is_told_by_its_name():
    assert is_private("http://10.1.2.3/")
    assert not is_private("http://8.8.8.8/")
    assert not is_private("http://134744072/")  # the same, as one number
    assert not is_private("http://[2606:4700::1111]/")
    assert not is_private("http://10.example/")


@pytest.mark.parametrize(
    ("inside", "private"),
    [("10.0.0.1", True), ("127.0.0.1", True), ("192.168.7.9", True), ("169.254.169.254", True), ("8.8.8.8", False)],
)
def test_an_address_of_ipv6_that_stands_for_one_of_ipv4_is_as_private_as_that(inside, private):
    high, low = (int.from_bytes(bytes(map(int, inside.split(".")))[i : i + 2]) for i in (0, 2))
    for form in (f"64:ff9b::{inside}", f"64:ff9b::{high:x}:{low:x}", f"2002:{high:x}:{low:x}::1", f"::{inside}"):
        assert is_private(f"http://[{form}]/") is private
        assert is_private(normalize_url(f"http://[{form}]/")) is private
        assert resolves_privately(form) is private


@pytest.mark.parametrize(
    "host", ["64:ff9b:1::808:808", "fec0::1", "::1", "::", "fe80::1", "fd00::1", "::ffff:10.0.0.1"]
)
def test_addresses_of_ipv6_that_are_of_one_place_only_are_private(host):
    assert is_private(f"http://[{host}]/")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<b>b</b>c <i> d</i> e", "abc d e"),
        ("<p>one<p>two<div>three</div>four<br>five", "one\ntwo\nthree\nfour\nfive"),
        ("<ul><li>a<li>b</ul><table><tr><td>c<td>d</table>", "a\nb\nc\nd"),
        ("x\n \t&nbsp;y&#160;z", "x y z"),
        ("<script>no</script><style>no</style><template>no</template><noscript>no</noscript><!-- no -->yes", "yes"),
        ("<title>no</title><head>no", "no"),
        ("<nav>no<p>no</nav><header>no</header><main>yes</main><footer>no</footer><aside>no</aside> yes", "yes\nyes"),
        ("<div hidden>no <b>no</b></div>yes", "yes"),
        ("<textarea>no</textarea><select><option>no</select><svg><text>no</text></svg>yes", "yes"),
        ("&lt;b&gt; &amp;amp; &copy;", "<b> &amp; ©"),
        ("a<script>if (x < 1) { '</div>' }</script>b", "ab"),
        ("<script>unfinished <p>no", ""),
        ("<!-- unfinished <p>no", ""),
        ("", ""),
        ("<pre>a\n  b</pre>", "a b"),
        ("&#xD800;&#0;\0", "\ufffd\ufffd\ufffd"),
        ("<div title='a>b' class=x/y>t</div><img alt='>no'>u", "t\nu"),
        ("a < b and <3", "a < b and <3"),
    ],
)
def test_the_text_of_a_page_is_what_is_shown(html, text):
    assert parse_page(html, HERE).text == text


def test_links_have_their_places_and_lead_where_the_page_says():
    page = parse_page(
        "<base href='/b/'><base href='/c/'><header><a href=top>no</a></header><p>see <a href='x?a=1&amp;b&copy=2&lt;'>"
        " the  <b>link</b> </a>, <a name=y>y</a> <a href>self</a> <a href=z>un<a href=w>closed</a> <a href=pic><img>"
        "</a>!<map><area href=area></map><a href='tel:1'>call</a>",
        HERE,
    )
    assert page.text == "see the link , y self unclosed !\ncall"
    told = [(link.url.removeprefix("http://h.example/"), page.text[slice(*link[1:])]) for link in page.links]
    assert told == [("b/top", ""), ("b/x?a=1&b&copy=2%3C", "the link"), ("b/", "self"), ("b/z", "un"),
                    ("b/w", "closed"), ("b/pic", ""), ("b/area", "")]  # fmt: skip
    assert [(link.start, link.end) for link in page.links if link.url.endswith(("top", "area"))] == [(-1, -1)] * 2
    assert page.links[5] == Hyperlink("http://h.example/b/pic", 31, 31)


def test_a_page_says_its_title_language_and_wishes():
    page = parse_page("<html lang=' de-AT '><title> A\n b </title><svg><title>no</title></svg>"
                "<meta name=ROBOTS content='NoIndex, X'><meta name=robots content=nofollow>"
                "<meta name=description content=' all\nof it'>", HERE)  # fmt: skip
    assert (page.title, page.lang, page.robots, page.description) == (
        "A b",
        "de-AT",
        {"noindex", "x", "nofollow"},
        "all of it",
    )
    bare = parse_page("<html lang='no language'><p>x", HERE)
    assert (bare.title, bare.lang, bare.robots, bare.description) == ("", None, frozenset(), None)
    assert parse_plain_text(" a\n\0 b ").text == "a \ufffd b"


TAGS = "p /p div /div a nav /nav script /script table tr td /table b /b svg /svg title /title template /template"
PIECES = [f"<{tag}>" for tag in f"{TAGS} select option button form frameset plaintext math br/ noscript".split()] + [
    "<a href=x>", "<a href='y'>", "</a>", "text", " ", "&amp;", "<", ">", "</", "<!--", "-->", '"', "'", "=",
    "<a href='",     "<body hidden>", "é", "\0", "<base href=q>", "<area href=z>",
]  # fmt: skip


@settings(deadline=None, max_examples=many(200))
@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=80)))
def test_whatever_the_page_its_text_is_collapsed_and_its_links_lie_inside(html):
    page = parse_page(html, HERE)
    assert page == parse_page(html, HERE)
    assert "\n".join(" ".join(line.split()) for line in page.text.split("\n")) == page.text
    assert page.text == page.text.strip()
    assert "\0" not in page.text
    for link in page.links:
        assert normalize_url(link.url) == link.url
        assert (link.start, link.end) == (-1, -1) or 0 <= link.start <= link.end <= len(page.text)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8), st.booleans()), max_size=12)
)
def test_a_page_of_plain_pieces_and_links_is_read_as_it_was_written(pieces):
    html = "".join(f"<a href='{n}'>{escape(t)}</a>" if linked else escape(t) for n, (t, linked) in enumerate(pieces))
    page = parse_page(f"<main>{html}</main>", HERE)
    assert page.text == " ".join("".join(text for text, _ in pieces).split())
    linked = {f"http://h.example/d/{n}": " ".join(text.split()) for n, (text, is_link) in enumerate(pieces) if is_link}
    assert {link.url: page.text[link.start : link.end] for link in page.links} == linked


SLOW = {
    "deep": "<div>" * 40_000 + "<a href=x>music</a>",
    "deep and closed": "<div>" * 20_000 + "<a href=x>music</a>" + "</div>" * 20_000,
    "looks": "".join(f"<b a{n}>" for n in range(2_000)) + "<p>x" * 20_000 + "<a href=x>music</a>",
    "a link over all": f"<a href='{'y' * 1_500}'>" + "<p>x" * 20_000 + "<a href=x>music</a>",
    "attributes": f"<p {' '.join(f'a{n}' for n in range(20_000))}><a href=x>music</a>",
    "tops": "".join(f"<body a{n}>" for n in range(20_000)) + "<a href=x>music</a>",
    "ends of nothing": "<option><b></x>" * 12_000 + "<a href=x>music</a>",
    "comments": "<!--" * 20_000 + "--><a href=x>music</a>",
    "drawings": "<svg>" * 20_000 + "</svg><a href=x>music</a>",
    "quotes": "<a href='" * 20_000 + "'><a href=x>music</a>",
    "nested cells": "<table><td>" * 12_000 + "<a href=x>music</a>",
}


@pytest.mark.parametrize("name", SLOW)
def test_no_page_takes_long(name):
    began = time.process_time()
    page = parse_page(SLOW[name], HERE)
    # Seconds of the processor, whoever else uses it: 0.2 at most here. The parser alone takes 3 s to minutes.
    assert time.process_time() - began < 2
    assert [(link.url, page.text[link.start : link.end]) for link in page.links][-1:] == [
        ("http://h.example/d/x", "music")
    ]


def test_the_window_is_fifty_characters_on_either_side_without_half_words():
    text = "a" * 60 + " " + "b" * 10 + " LINK " + "c" * 43 + " dd " + "e" * 60
    start = text.index("LINK")
    left, right = find_window(text, start, start + 4)
    assert text[left:right] == " " + "b" * 10 + " LINK " + "c" * 43 + " dd "
    assert find_window("one LINK two", 4, 8) == (0, 12)
    assert find_window("x" * 200, 100, 100) == (150, 150)  # one long word
    assert find_window("楽" * 200, 100, 102) == (50, 152)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6))
def test_the_union_of_windows_has_each_place_once(spans):
    made = unite_spans(spans)
    places = {place for left, right in spans for place in range(left, right)}
    assert {place for left, right in made for place in range(left, right)} == places
    assert made == NOWHERE if not places else all(a[1] < b[0] for a, b in pairwise(made))


def test_robots_are_let_in_as_the_file_says():
    rules = (
        "=User-agent: *\nDisallow: /a\nAllow: /a/b\n\nUser-agent: SocialCrawl\nDisallow: /only\nAllow: /only/*.html$\n"
    )
    told = {
        "/a": (False, True),
        "/a/b/c": (True, True),
        "/only": (True, False),
        "/only/x.html": (True, True),
        "/": (True, True),
    }
    for path, expected in told.items():
        found = tuple(permits(rules, f"http://h.example{path}", agent) for agent in ("otherbot", "socialcrawl"))
        assert found == expected, path
    assert permits("", "http://h.example/a", "socialcrawl")
    assert permits("=", "http://h.example/a", "socialcrawl")
    assert not permits("=User-agent: *\nDisallow: /", "http://h.example/a", "socialcrawl")


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_file_of_rules_is_too_odd_to_be_read(text):
    assert permits("=" + text, "http://h.example/a?b=%C3%A4", "socialcrawl") in (True, False)


def test_a_page_of_nothing_but_links_has_the_first_of_them_and_all_of_its_text():
    page = parse_page("".join(f"<a href=/{n}>{n} </a>" for n in range(MAX_LINKS + 5)), HERE)
    assert [link.url for link in page.links] == [f"http://h.example/{n}" for n in range(MAX_LINKS)]
    assert page.text.split() == [str(n) for n in range(MAX_LINKS + 5)]


def test_rules_of_robots_are_kept_by_their_size_and_not_by_their_number():
    files = ParsedFiles(most=1000)
    small = [f"User-agent: *\nDisallow: /{n:04}\n" for n in range(100)]  # 30 characters each
    for text in small:
        assert not files.parse(text).can_fetch(f"http://h.example/{small.index(text):04}", "socialcrawl")
    assert len(files) == 1000 // len(small[0])
    assert files.size == len(files) * len(small[0])
    assert files.parse(small[-1]) is files.parse(small[-1])
    files.parse("# " + "x" * 5000)
    assert len(files) == 1  # the newest stays, however large it is
    files.parse(small[0])
    assert (len(files), files.size) == (1, len(small[0]))


def test_only_attributes_that_say_something_reach_the_parser():
    tame = bounded_html.tame(
        "<p a1 b2='x' HREF=/u Lang='de'>one <b class=c>two</b> <a id=i rel='tag x' href='/v?a&amp;b'>"
    )
    assert tame == (
        '<p href="/u" lang="de">one <span>two</span> <a href=0>',
        [bounded_html.Anchor("/v?a&b", "", "tag x")],
    )


def test_what_more_tags_than_any_page_has_hold_is_text():
    assert parse_page("<p>x</p>" * (bounded_html.MAX_TAGS // 2) + "<b>end</b>", HERE).text.endswith("x\nend")


@pytest.mark.parametrize("scheme", ["http://", "//", " HTTPS:\\\\"])
def test_no_more_hosts_beyond_ascii_are_encoded_than_a_page_has(scheme):
    hrefs = [f"{scheme}\u00e9{n}.example/" for n in range(MAX_INTERNATIONAL + 5)]
    page = parse_page("".join(f"<a href='{href}'>x</a>" for href in [*hrefs, "/after"]), HERE)
    assert len({link.url for link in page.links}) in (
        1,
        MAX_INTERNATIONAL + 1,
    )  # a backslash is no slash to our joining
    assert page.links[-1].url == "http://h.example/after"


@pytest.mark.parametrize(
    "href", ["http://" + "\u00e9" * 300 + ".example/", "/" + "a" * 3000, "http://a" + "\u0301" * 5000]
)
def test_a_link_that_is_longer_than_any_address_leads_nowhere(href):
    assert join_url(HERE, href) is None
    assert normalize_url(href) is None


def test_too_little_memory_for_the_parser_is_told_as_such(monkeypatch):
    from selectolax import lexbor

    def fails(*_):
        raise lexbor.SelectolaxError("Can't parse HTML.")

    monkeypatch.setattr(lexbor, "LexborHTMLParser", fails)
    with pytest.raises(MemoryError):
        parse_page("<p>x", HERE)
