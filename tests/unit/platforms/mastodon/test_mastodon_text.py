import html as escaping
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.platforms.mastodon import account_names
from socialcrawl.platforms.mastodon.post_text import MAX_HTML, parse_html
from socialcrawl.platforms.mastodon.wire import find_next_page


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p>", "one"),
        ("<p>one<br>two<br />three</p><p>four</p>", "one\ntwo\nthree\n\nfour"),
        ("<p>a &amp; b &lt;c&gt; &quot;d&quot; &#39;e&#39; &eacute;</p>", "a & b <c> \"d\" 'e' é"),
        ("plain &amp; simple", "plain & simple"),
        ("<p>:blobcat: hi :blobcat:</p>", ":blobcat: hi :blobcat:"),
        ("<p>so <strong>very</strong> <em>nice</em>!</p>", "so very nice!"),
        ("<ul><li>one</li><li>two</li></ul><p>after</p>", "one\ntwo\n\nafter"),
        ("<blockquote><p>said</p></blockquote>\n<p>so</p>", "said\n\nso"),
        ("<p>kept  as   it is</p>", "kept  as   it is"),
        ("<p>a</p><script>alert(1)</script><style>p{}</style><p>b</p>", "a\n\nb"),
        ("", ""),
        ("<p></p>", ""),
        ("<!-- nothing -->", ""),
        ("<p>open <b>never closed", "open never closed"),
        ("<p>a\0b</p>", "a\ufffdb"),
    ],
)
def test_html_is_read_as_its_author_wrote_it(html, text):
    assert parse_html(html).text == text


def test_a_mention_is_its_name_and_a_link_its_whole_address():
    html = (
        '<p><span class="h-card" translate="no"><a href="https://other.example/@bob" class="u-url mention">@<span>bob'
        '</span></a></span> see <a href="https://news.example/2026/a-long-way?x=1&amp;y=2" rel="nofollow noopener">'
        '<span class="invisible">https://</span><span class="ellipsis">news.example/2026/a-long</span>'
        '<span class="invisible">-way?x=1&amp;y=2</span></a> '
        '<a href="https://home.example/tags/Sky" class="mention hashtag" rel="tag">#<span>Sky</span></a> '
        '<a class="hashtag" rel="tag" href="https://pleroma.example/tag/sea">#sea</a> '
        '<a href="javascript:alert(1)">no</a> <a>none</a></p>'
    )
    told = parse_html(html)
    assert told.text == "@bob see https://news.example/2026/a-long-way?x=1&y=2 #Sky #sea no none"
    assert told.urls == ("https://news.example/2026/a-long-way?x=1&y=2",)


LINES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=30).filter(
    lambda line: line.strip() == line and "\x85" not in line
)
POSTS = st.lists(st.lists(LINES, min_size=1, max_size=4), min_size=1, max_size=4)


@settings(deadline=None)
@given(POSTS)
def test_what_is_written_as_mastodon_writes_it_is_read_back(paragraphs):
    html = "".join(f"<p>{'<br>'.join(escaping.escape(line) for line in lines)}</p>" for lines in paragraphs)
    assert parse_html(html).text == "\n\n".join("\n".join(lines) for lines in paragraphs)


@settings(deadline=None)
@given(st.text(st.sampled_from(list('<>/pbra"= &;\n\f\v!-xé\0'))) | st.text())
def test_no_html_is_too_broken_to_be_read(html):
    told = parse_html(html)
    assert "\0" not in told.text
    assert told.text == told.text.strip()


@pytest.mark.parametrize("tag", ["<div>", "<b>", "<p>", "<a href='https://a.example'>", "<table>", "<"])
def test_a_post_of_nothing_but_tags_is_read_up_to_its_bound(tag):
    assert set(parse_html(tag * 100_000 + "x").text) <= set("<")  # of half a tag at the cut
    assert parse_html(tag * 1000 + " deep").text.endswith("deep")


def test_a_post_is_cut_where_it_is_longer_than_any():
    assert parse_html("<p>" + "x" * 2 * MAX_HTML).text == "x" * (MAX_HTML - 3)
    assert parse_html("y" * 2 * MAX_HTML).text == "y" * MAX_HTML


def test_what_a_link_says_of_itself_is_heard_behind_any_number_of_attributes():
    noise = " ".join(f"data-{i}=1" for i in range(500))
    post = (
        f"<a {noise} class='u-url mention' href='https://a.example/@b'>@b</a> <a {noise} href='https://c.example'>c</a>"
    )
    assert parse_html(post) == ("@b c", ("https://c.example",))


@pytest.mark.parametrize(
    ("acct", "told", "whole"),
    [
        ("Ann", "Home.Example", "ann@home.example"),
        ("@bob@Other.Example", "home.example", "bob@other.example"),
        (" carl@other.example ", "home.example", "carl@other.example"),
        ("dora@münchen.example", "home.example", "dora@xn--mnchen-3ya.example"),
        ("eve@localhost:3000", "home.example", "eve@localhost:3000"),
    ],
)
def test_an_account_is_named_in_full_and_in_lower_case(acct, told, whole):
    assert account_names.complete_name(acct, told) == whole
    assert account_names.is_legal(whole)
    assert account_names.complete_name(whole, "third.example") == whole  # a name in full is nobody else's


@pytest.mark.parametrize(
    "name",
    [
        "",
        "@",
        "a@",
        "@b.example",
        "a b@c.example",
        "a@b@c.example",
        "a@b/c",
        "a@b?c",
        "a@-",
        "a@b..c",
        f"a@{64 * 'b'}.c",
    ],
)
def test_what_nobody_is_called_is_no_name(name):
    assert not account_names.is_legal(name)


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_name_is_legal_or_not_and_its_instance_holds_no_path(acct, told):
    name = account_names.complete_name(acct, told)
    if account_names.is_legal(name):
        assert re.fullmatch(r"[a-z0-9.:-]+", account_names.find_instance(name))
        assert account_names.complete_name(name, "x.example") == name


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "2130706433",
        "0x7f.1",
        "a.local",
        "db.internal",
        "a.b:81",
    ],
)
def test_no_post_sends_the_crawler_into_its_own_network(host):
    assert not account_names.is_public(host)


def test_instances_are_named_by_domain_or_pattern():
    match = account_names.compile_pattern(["Mastodon.Example", "*.art", "münchen.*"]).fullmatch
    assert match("mastodon.example")
    assert match("pixel.art")
    assert match("xn--mnchen-3ya.social")
    assert not match("mastodon.example.org")
    assert not match("art")
    assert account_names.compile_pattern(["*"]).fullmatch("anything.at.all")
    assert not account_names.compile_pattern([]).fullmatch("anything.at.all")
    assert not account_names.compile_pattern([]).fullmatch("")


@pytest.mark.parametrize(
    ("link", "cursor"),
    [
        (
            '<https://h.example/x?limit=40&max_id=109>; rel="next", <https://h.example/x?min_id=200>; rel="prev"',
            "109",
        ),
        ('<https://h.example/x?min_id=200>; rel="prev", <https://h.example/x?max_id=9&limit=1>; rel="next"', "9"),
        ("<https://h.example/x?max_id=01ABC%2Fz>; rel=next", "01ABC/z"),
        ('</x?max_id=9>;rel="last next"', "9"),
        ('<https://h.example/x?max_id=9>; rel="prev"', None),
        ('<https://h.example/x?since_id=9>; rel="next"', None),
        ('<https://h.example/x?max_id=9>; rel="nextish"', None),
        ('<http://[broken?max_id=9>; rel="next"', None),
        ("", None),
        (None, None),
    ],
)
def test_the_next_page_is_what_the_link_header_calls_so(link, cursor):
    assert find_next_page(link) == cursor


IDS = st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), min_size=1, max_size=20)


@settings(deadline=None)
@given(IDS, st.booleans(), st.booleans())
def test_any_cursor_comes_back_from_a_link_header(cursor, quoted, first):
    from urllib.parse import urlencode

    following = f"<https://h.example/x?{urlencode({'limit': 2, 'max_id': cursor})}>; rel=" + (
        '"next"' if quoted else "next"
    )
    before = '<https://h.example/x?min_id=1>; rel="prev"'
    assert find_next_page(", ".join([following, before] if first else [before, following])) == cursor


@settings(deadline=None)
@given(st.text(st.sampled_from(list('<>;, ="relnxt?max_id9/'))) | st.text())
def test_no_link_header_is_too_broken_to_be_read(link):
    assert isinstance(find_next_page(link), str | None)
