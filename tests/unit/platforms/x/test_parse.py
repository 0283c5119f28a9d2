import json

import pytest

from socialcrawl.engine.model import Mention, Who
from socialcrawl.platforms.x import parse
from socialcrawl.platforms.x.vocabulary import POST, TWEET

BOTH = pytest.mark.parametrize("words", [TWEET, POST], ids=["tweet", "post"])


def post_of(words, **more):
    """A post with everything that every post has; `None` takes a field away."""
    found = {
        "id": "7",
        "text": "hello",
        "author_id": "1",
        "conversation_id": "7",
        "created_at": "2026-01-02T03:04:05.000Z",
        "public_metrics": {words.reposts: 1, "like_count": 2, "reply_count": 3, "quote_count": 4},
        **more,
    }
    return {key: value for key, value in found.items() if value is not None}


def named(username, key=None):
    return {"start": 0, "end": 3, "username": username} | ({"id": key} if key else {})


def long(text, lang=None, created_at=None, urls=None):
    return len(text)


def page_of(words, *given, hits=long, author="1", **more):
    return parse.parse_posts({"data": list(given), "meta": {}}, words, hits, author=author, **more)


def mentions_of(words, **more):
    return [(m.who.id, m.who.username, m.kind) for m in page_of(words, post_of(words, **more)).mentions]


@BOTH
def test_a_post_becomes_a_row_with_its_counts_tags_links_and_references(words):
    entities = {
        "hashtags": [{"tag": "sky"}, {"tag": "Überall"}],
        "urls": [{"url": "https://t.co/a", "expanded_url": "https://a.org"}, {"url": "https://t.co/b"}],
    }
    references = [{"type": "replied_to", "id": "5"}, {"type": "quoted", "id": "6"}, {"type": "unheard", "id": "8"}]
    given = post_of(words, lang="en", entities=entities, **{words.references: references})
    (row,) = page_of(words, given).posts
    assert row[:6] == ("7", "1", "2026-01-02T03:04:05.000Z", "hello", "en", "7")
    assert (row.reply_to, row.repost_of, row.quote_of) == ("5", None, "6")
    assert json.loads(row.hashtags) == ["sky", "Überall"]
    assert json.loads(row.urls) == ["https://a.org", "https://t.co/b"]
    assert (row.likes, row.replies, row.reposts, row.quotes, row.bookmarks, row.views) == (2, 3, 1, 4, None, None)
    assert row.original is None


@BOTH
def test_a_post_without_its_optional_fields_is_a_row_of_nones(words):
    (row,) = page_of(words, post_of(words)).posts
    assert (row.lang, row.hashtags, row.urls, row.reply_to, row.repost_of, row.quote_of) == (None,) * 6


@BOTH
def test_the_original_is_kept_on_request_only(words):
    given = post_of(words, lang="de", unheard_of={"a": [1]})
    assert json.loads(page_of(words, given, keep=True).posts[0].original) == given


@BOTH
def test_mentions_come_from_the_entities_and_each_account_once(words):
    entities = {"mentions": [named("Bob", "2"), named("bob", "2"), named("Carol"), named("carol"), named("", None)]}
    assert mentions_of(words, entities=entities) == [("2", "Bob", "mention"), (None, "Carol", "mention")]


@BOTH
def test_a_long_post_is_read_from_its_note(words):
    note = {"text": "the whole of it", "entities": {"mentions": [named("dora", "4")], "hashtags": [{"tag": "end"}]}}
    given = post_of(words, entities={"mentions": [named("bob", "2")]}, **{words.note: note})
    page = page_of(words, given)
    assert page.posts[0].text == "the whole of it"
    assert page.hits == [len("the whole of it")]
    assert json.loads(page.posts[0].hashtags) == ["end"]
    assert [m.who.username for m in page.mentions] == ["bob", "dora"]


@BOTH
def test_a_reply_is_stronger_than_a_mention_and_known_without_one(words):
    entities = {"mentions": [named("bob", "2"), named("carol", "3")]}
    assert mentions_of(words, entities=entities, in_reply_to_user_id="3") == [
        ("2", "bob", "mention"),
        ("3", "carol", "reply"),
    ]
    assert mentions_of(words, in_reply_to_user_id="9") == [("9", None, "reply")]


@BOTH
@pytest.mark.parametrize("kind", ["retweeted", "reposted"])
def test_whom_a_repost_repeats_is_its_first_name(words, kind):
    entities = {"mentions": [named("bob", "2"), named("carol", "3")]}
    expected = [("2", "bob", "repost"), ("3", "carol", "mention")]
    references = {words.references: [{"type": kind, "id": "5"}]}
    assert mentions_of(words, entities=entities, text="look", **references) == expected
    assert mentions_of(words, entities=entities, text="RT @bob: see @carol") == expected


@BOTH
def test_mentions_carry_the_place_of_their_post(words):
    second = post_of(words, id="8", entities={"mentions": [named("bob", "2")]})
    page = page_of(words, post_of(words), second)
    assert page.mentions == [Mention(1, Who("2", "bob"), "mention")]


@BOTH
def test_a_search_names_its_authors_once_in_order(words):
    given = [post_of(words, id=str(i), author_id=author) for i, author in enumerate("5355")]
    page = page_of(words, *given, author=None)
    assert page.answered == (Who("5", None), Who("3", None))
    assert page_of(words, *given, author="5").answered == ()


@BOTH
def test_profiles_that_came_along_are_accounts(words):
    user = {"id": "1", "username": "Ann", "public_metrics": {words.posts: 12, "followers_count": 3}, "protected": False}
    page = parse.parse_posts({"data": [post_of(words)], "includes": {"users": [user]}}, words, long)
    assert [(a.id, a.username, a.posts, a.followers, a.protected) for a in page.accounts] == [
        ("1", "Ann", 12, 3, False)
    ]


@BOTH
@pytest.mark.parametrize("payload", [{}, {"meta": {"result_count": 0}}, {"data": None}, {"data": []}])
def test_an_empty_page_is_a_page_without_posts(words, payload):
    page = parse.parse_posts(payload, words, long, author="1")
    assert (page.posts, page.hits, page.mentions, page.answered) == ([], [], [], ())
    assert parse.find_cursor(payload) is None


@BOTH
@pytest.mark.parametrize("field", ["conversation_id", "created_at", "public_metrics"])
def test_a_field_that_did_not_arrive_is_named(words, field):
    with pytest.raises(parse.FieldsMissingError) as error:
        page_of(words, post_of(words, **{field: None}))
    assert error.value.args == ([field],)


def test_an_author_is_needed_where_nobody_else_names_him():
    nobody = {"author_id": None}
    assert page_of(POST, post_of(POST, **nobody)).posts[0].author == "1"
    for words, author in ((POST, None), (TWEET, None), (TWEET, "1")):
        with pytest.raises(parse.FieldsMissingError):
            page_of(words, post_of(words, **nobody), author=author)


def problem(**more):
    found = {"resource_type": "user", "parameter": "ids", "resource_id": "5", "title": "Not Found Error", "detail": ""}
    return found | {"type": "https://api.x.com/2/problems/resource-not-found"} | more


@pytest.mark.parametrize(
    ("error", "who", "reason"),
    [
        (problem(detail="User has been suspended: [5].", title="Forbidden"), Who("5", None), "suspended"),
        (problem(type="https://api.twitter.com/2/problems/not-authorized-for-resource"), Who("5", None), "protected"),
        (problem(detail="Sorry, you are not authorized to see the user"), Who("5", None), "protected"),
        (problem(detail="Could not find user with ids: [5]."), Who("5", None), "deleted"),
        (problem(parameter="usernames", resource_id="x", value="x"), Who(None, "x"), "unknown"),
        (problem(parameter="username", resource_id=None, value="x"), Who(None, "x"), "unknown"),
        (
            problem(parameter="usernames", resource_id="x", detail="User has been suspended: [x]."),
            Who(None, "x"),
            "suspended",
        ),
        (problem(section="data"), Who("5", None), "deleted"),
    ],
)
def test_a_partial_error_says_who_is_missing_and_why(error, who, reason):
    assert parse.list_missing([error]) == [(who, reason)]
    assert parse.explain_missing([error]) == reason


@pytest.mark.parametrize(
    "error", [problem(section="includes"), problem(resource_type="tweet"), problem(resource_type="post"), {}]
)
def test_errors_of_includes_and_of_posts_make_nobody_missing(error):
    assert parse.list_missing([error]) == []
    assert parse.explain_missing([error]) is None


def test_an_error_without_a_name_makes_nobody_up_but_closes_a_timeline():
    nameless = problem(resource_id=None, detail="Sorry, you are not authorized to see the user")
    assert parse.list_missing([nameless]) == []
    assert parse.explain_missing([nameless]) == "protected"


def test_a_protected_account_is_known_and_missing():
    users = [{"id": "1", "username": "Ann", "protected": True}, {"id": "2", "username": "bob", "protected": False}]
    page = parse.parse_users({"data": users, "errors": [problem()]}, TWEET)
    assert [a.username for a in page.accounts] == ["Ann", "bob"]
    assert page.answered == [Who("1", "Ann"), Who("2", "bob")]
    assert page.missing == [(Who("1", "Ann"), "protected"), (Who("5", None), "deleted")]


@BOTH
def test_hits_are_counted_by_text_language_time_and_links(words):
    seen = []

    def hits(*told):
        seen.append(told)
        return len(seen)

    posts = [post_of(words, text="one", lang="de", created_at="2026-11-20T00:00:00.000Z"), post_of(words, text="two")]
    posts[1].pop("lang", None)
    page = page_of(words, *posts, hits=hits)
    assert page.hits == [1, 2]
    assert seen == [(row.text, row.lang, row.created_at, row.urls) for row in page.posts]
    assert seen[0] == ("one", "de", "2026-11-20T00:00:00.000Z", None)
    assert seen[1][:2] == ("two", None)


@BOTH
@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://twitter.com/Bob/status/6", "Bob"),
        ("https://x.com/Bob/status/6?s=20", "Bob"),
        ("https://mobile.twitter.com/Bob/status/6/photo/1", "Bob"),
        ("https://x.com/Bob/status/7", None),
        ("https://x.com/i/status/6", None),
        ("https://example.org/Bob/status/6", None),
    ],
)
def test_who_is_quoted_is_named_by_the_link_to_the_quoted_post(words, address, name):
    quoting = {words.references: [{"type": "quoted", "id": "6"}], "entities": {"urls": [{"expanded_url": address}]}}
    assert mentions_of(words, **quoting) == ([(None, name, "quote")] if name else [])


@BOTH
def test_whoever_is_quoted_and_named_too_is_mentioned_once(words):
    entities = {"urls": [{"expanded_url": "https://x.com/Bob/status/6"}], "mentions": [named("bob", "2")]}
    quoting = {words.references: [{"type": "quoted", "id": "6"}], "entities": entities}
    assert mentions_of(words, **quoting) == [("2", "bob", "mention")]


@BOTH
def test_a_page_of_whom_an_account_follows_has_their_profiles_or_says_why_not(words):
    users = {"data": [{"id": "2", "username": "bob"}, {"id": "3", "username": "eve"}], "meta": {"result_count": 2}}
    page = parse.parse_follows(users, words, "1")
    assert page.follows == [Who("2", "bob"), Who("3", "eve")]
    assert [row.username for row in page.accounts] == ["bob", "eve"]
    assert not page.answered
    error = {"resource_type": "user", "parameter": "id", "resource_id": "1", "detail": "User has been suspended: [1]."}
    assert parse.parse_follows({"errors": [error]}, words, "1").missing == [(Who("1", None), "suspended")]
