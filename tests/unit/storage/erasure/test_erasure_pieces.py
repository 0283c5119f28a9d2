"""The pieces of erasure that need no crawl: orders, texts, tombstones, pages without the forgotten, seats."""

import orjson
import pytest
from erasure_towns import Town, whom
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import a_database, profile
from tiny_town import PEOPLE, Clock, page_of, person, posts_of

from socialcrawl.engine.model import Mention, Node, Outcome, Page, Pick, PostRow, Request, Who
from socialcrawl.errors import SettingsError
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.erasure.page_redaction import ForgottenKeys, PageRedaction, mask_for_billing, remove_forgotten
from socialcrawl.storage.erasure.seed_slots import has_same_seeds, remove_names
from socialcrawl.storage.erasure.texts import find_link_ids, find_names, remove_links, replace_names
from socialcrawl.storage.erasure.tombstones import SkipForgottenSource, find_forgotten, make_digest, put_tombstones

NAMES = {"bob", "bob_2", "zo\u00eb", "ann.example.org"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("@bob hi", "@forgotten hi"),
        ("hi @BoB, and @bob_2!", "hi @forgotten, and @forgotten!"),
        ("@bobby and @bob_3 stay", "@bobby and @bob_3 stay"),
        (".@bob RT@bob \uff20bob (@bob)", ".@forgotten RT@forgotten @forgotten (@forgotten)"),
        ("@bob\u3055\u3093", "@forgotten\u3055\u3093"),
        ("bob is a word", "bob is a word"),
        ("see https://x.com/Bob/status/77?s=20 there", "see @forgotten there"),
        ("see twitter.com/@bob_2", "see @forgotten"),
        ("see https://x.com/bobby/status/77", "see @forgotten"),
        ("see https://x.com/bobby/status/78", "see https://x.com/bobby/status/78"),
        ("https://example.com/bob and https://ex.com/bob/status/77", "https://example.com/bob and https://ex.com/bob/status/77"),
        ("@bob.example.org @bob@example.org @bo.b", "@bob.example.org @bob@example.org @bo.b"),
        ("thanks @bob. And @bob... @bob-like", "thanks @forgotten. And @forgotten... @forgotten-like"),
        ("@Ann.example.org. Not @ann or @ann.example.com", "@forgotten. Not @ann or @ann.example.com"),
        ("@ZO\u00cb, @zo and @Zo\u00ebs", "@forgotten, @zo and @Zo\u00ebs"),
        ("@bob\u00e9 is nobody's name there", "@bob\u00e9 is nobody's name there"),
        ("twitter.com/intent/user?screen_name=BOB", "@forgotten"),
        ("a https://twitter.com/intent/follow?original_referer=x&screen_name=bob_2#top b", "a @forgotten b"),
        ("x.com/i/user/42 x.com/i/user/43", "@forgotten x.com/i/user/43"),
        ("https://x.com/intent/user?user_id=42", "@forgotten"),
        ("https://x.com/search?q=from%3Abob%20sky&src=typed", "@forgotten"),
        ("https://x.com/search?q=%22%40Bob%22", "@forgotten"),
        ("https://mobile.twitter.com/login?redirect=%2Fsearch%3Fq%3Dfrom%253Abob", "@forgotten"),
        ("https://x.com/share?via=bob&text=sky", "@forgotten"),
        ("https://x.com/share?bob=1&text=bobby", "https://x.com/share?bob=1&text=bobby"),
        ("https://x.com/intent/like?tweet_id=77", "@forgotten"),
    ],
)  # fmt: skip
def test_names_and_links_in_texts_are_replaced_and_nothing_else_is(text, left):
    assert replace_names(text, NAMES, {"77", "42"}) == left
    assert replace_names(left, NAMES, {"77", "42"}) == left
    assert find_names([text]) & NAMES or find_link_ids([text]) & {"77", "42"} or left == text  # what goes is looked up
    assert not find_names([left]) & NAMES


def test_words_of_links_that_are_not_names_do_not_take_the_links_of_others_along():
    links = ["https://x.com/ann/status/5/photo/1?s=20", "https://x.com/i/web/status/6", "https://x.com/i/user/7"]
    reserved = {"status", "web", "photo", "user", "x", "com", "https", "s"}
    assert [replace_names(link, reserved) for link in links] == links
    assert replace_names("https://x.com/status/status/8", {"status"}) == "@forgotten"


WORDS = st.lists(
    st.sampled_from(["@bob", "@Bob_2", "@ann", "bob", "@bobo", "hello", "https://x.com/bob", "@"]), max_size=8
)


@settings(deadline=None)
@given(WORDS, st.sampled_from([" ", ", ", "\n"]))
def test_texts_are_replaced_word_by_word(words, between):
    gone = {"@bob", "@bob_2", "https://x.com/bob"}
    expected = between.join("@forgotten" if word.lower() in gone else word for word in words)
    assert replace_names(between.join(words), NAMES) == expected
    assert NAMES.isdisjoint(find_names([expected]))


def test_links_to_the_forgotten_leave_the_list_of_links():
    links = ["https://x.com/BOB", "https://example.org/bob", "https://x.com/i/web/status/77", "https://x.com/ann"]
    left = remove_links(orjson.dumps(links).decode(), NAMES, {"77"})
    assert orjson.loads(left) == [links[1], links[3]]
    assert remove_links('["https://x.com/bob"]', NAMES) is None
    assert remove_links(None, NAMES) is None
    assert find_names(links) == {"bob", "i", "77", "ann"}
    assert find_link_ids(links) == {"77"}


def test_a_file_names_users_posts_and_names(tmp_path):
    file = tmp_path / "ids.txt"
    file.write_text("\ufeff# who asked\nuser:12\n@Ann\npost:77\n\nuser:@42\nuser:did:plc:abc\n", "utf-8")
    order = read_order(["13", "bob"], ["78"], file, None)
    assert set(order.users) == {"12", "13", "did:plc:abc"}
    assert set(order.names) == {"ann", "bob", "42"}
    assert set(order.posts) == {"77", "78"}
    assert {*order.users.values(), *order.names.values(), *order.posts.values()} == {"forget"}


def result(key, reason, action="delete"):
    told = {"id": key, "action": action, "created_at": "2024-01-10T12:00:00.000Z", "reason": reason}
    return orjson.dumps(told).decode() + "\n"


@pytest.mark.parametrize("job", ["users", "posts"])
def test_a_compliance_result_is_an_order(tmp_path, job):
    file = tmp_path / "result.json"
    reasons = ["deleted", "suspended", "deactivated", "protected", "bounced"]
    whole = "".join(result(str(i), reason) for i, reason in enumerate(reasons))
    file.write_text(whole + result("9", "scrub_geo") + result("10", "deleted", "none"), "utf-8")
    order = read_order([], [], file, job)
    given_, other = (order.users, order.posts) if job == "users" else (order.posts, order.users)
    assert given_ == {str(i): f"compliance:{reason}" for i, reason in enumerate(reasons)}
    assert other == {}
    assert order.places == {(job.removesuffix("s"), "9")}
    assert order.passed == 1


@pytest.mark.parametrize(
    ("lines", "compliance", "why"),
    [
        ("user:1\n12345\n", None, "line 2: '12345' is not understood"),
        (result("1", "deleted"), None, "line 1: this is the result of a compliance job: say of which"),
        ('{"id": \n', "users", "line 1: no JSON"),
        ('{"action": "delete"}\n', "users", "line 1: a result has an id"),
        (result("1 2", "deleted"), "users", "line 1: a result has an id"),
        ("user:a b\n", None, "line 1: 'a b' is not a user"),
        ("post:\n", None, "line 1: '' is not an id"),
        ("user:1\n", "tweets", "--compliance is users or posts"),
    ],
)
def test_what_cannot_be_understood_is_said_with_its_line(tmp_path, lines, compliance, why):
    file = tmp_path / "ids.txt"
    file.write_text(lines, "utf-8")
    with pytest.raises(SettingsError, match=why):
        read_order([], [], file, compliance)


def test_an_order_names_something_in_a_file_that_can_be_read(tmp_path):
    with pytest.raises(SettingsError, match="Nothing is named"):
        read_order([], [], None, None)
    with pytest.raises(SettingsError, match="name it with --from-file"):
        read_order(["1"], [], None, "users")
    with pytest.raises(SettingsError, match="cannot be read"):
        read_order([], [], tmp_path / "none.txt", None)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00user")
    with pytest.raises(SettingsError, match="not UTF-8"):
        read_order([], [], tmp_path / "bytes", None)


def test_digests_tell_platform_kind_and_key_apart_and_names_only_without_case():
    keys = [(p, k, key) for p in ("x", "y") for k in ("user", "name", "post") for key in ("1", "12")]
    assert len({make_digest(*key) for key in keys}) == len(keys)
    assert make_digest("x", "name", "Bob") == make_digest("x", "name", "bOB") != make_digest("x", "user", "bob")
    assert make_digest("x", "post", "A") != make_digest("x", "post", "a")
    assert "12345" not in make_digest("x", "user", "12345")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_keys_with_a_tombstone_are_barred_and_no_others(kind):
    with a_database(kind) as connection, connection.begin():
        assert find_forgotten(connection, "x", "user", ["1", "2"]) == set()
        put_tombstones(
            connection, [(make_digest("x", "user", str(key)), "user", "forget", "2026") for key in range(0, 12_000, 3)]
        )
        put_tombstones(
            connection,
            [
                (make_digest("x", "user", "0"), "user", "another", "2027"),
                (make_digest("x", "name", "bob"), "name", "f", "2"),
            ],
        )
        keys = [str(key) for key in range(12_000)]
        assert find_forgotten(connection, "x", "user", keys) == set(keys[::3])
        assert find_forgotten(connection, "x", "post", keys) == find_forgotten(connection, "y", "user", keys) == set()
        assert find_forgotten(connection, "x", "name", ["BOB", "bobby"]) == {"BOB"}
        assert connection.exec_driver_sql("select why from tombstone where at = '2027'").all() == []


def test_what_only_became_too_old_is_forgotten_once_somebody_asks_for_it(database):
    with a_database(database) as connection, connection.begin():
        stones = [make_digest("x", "post", str(key)) for key in range(4)]
        put_tombstones(connection, [(key, "post", "retain", "2026") for key in stones[:3]])
        assert (
            put_tombstones(connection, [(stones[0], "post", "forget", "2027"), (stones[3], "post", "forget", "2027")])
            == 2
        )
        assert put_tombstones(connection, [(key, "post", "retain", "2028") for key in stones]) == 0
        told = connection.exec_driver_sql("select digest, why, at from tombstone").all()
        whys = [("forget", "2027"), ("retain", "2026"), ("retain", "2026"), ("forget", "2027")]
        assert {row[0]: tuple(row[1:]) for row in told} == dict(zip(stones, whys, strict=True))


def town_page(people):
    town = Town(Clock())
    posts = [post for number in people for post in posts_of(number)]
    profiles = town.look_up([person(number).id for number in people], by_id=True)
    told = town.told(page_of(posts, accounts=profiles.accounts, answered=profiles.answered))
    return Page(told.posts, told.hits, told.mentions, told.accounts, told.answered, profiles.missing)


@settings(deadline=None, max_examples=many(40))
@given(st.sets(st.integers(0, PEOPLE - 1), min_size=1, max_size=5), st.sets(st.integers(0, PEOPLE - 1), max_size=3),
       st.sets(st.integers(0, PEOPLE - 1), max_size=3), st.integers(0, 9))  # fmt: skip
def test_a_page_goes_on_without_the_forgotten(people, by_id, by_name, j):
    page = town_page(sorted(people))
    gone = ForgottenKeys(
        {person(n).id for n in by_id}, {person(n).username.lower() for n in by_name}, {f"{n}-{j}" for n in people}
    )
    left, out = remove_forgotten(page, gone), by_id | by_name
    kept = [i for i, post in enumerate(page.posts)
            if post.id not in gone.posts and int(post.author) - 1000 not in by_id and post.repost_of not in gone.posts
            and not (post.repost_of and whom(post.id)[0] in out)]  # fmt: skip
    assert [post.id for post in left.posts] == [page.posts[i].id for i in kept]
    assert list(left.hits) == [page.hits[i] for i in kept]
    assert [(left.posts[m.post].id, m.who, m.kind) for m in left.mentions] == [
        (page.posts[m.post].id, m.who, m.kind)
        for m in page.mentions
        if m.post in kept and int(m.who.id) - 1000 not in out
    ]
    assert [int(row.id) - 1000 for row in left.accounts] == [
        n for row in page.accounts if (n := int(row.id) - 1000) not in out
    ]
    assert not {int(who.id) - 1000 for who in left.answered if who.id} & out
    whole = repr([post._replace(author="") for post in left.posts]) + repr(left.accounts)
    assert not find_names([whole.lower()]) & gone.names
    assert not any(f"'{key}'" in whole for key in gone.posts)
    for post in left.posts:
        first = next(row for row in page.posts if row.id == post.id)
        named_ = {*whom(post.id)} & out
        cut = {first.reply_to, first.quote_of, first.conversation_id} & gone.posts
        assert (post.original is None) == bool(named_ or cut)
        if not named_ & by_name:
            assert post.text == first.text
    assert remove_forgotten(page, ForgottenKeys()) is page


def test_the_bill_is_of_the_whole_page_and_names_nobody_who_is_gone():
    page = town_page([3, 9])
    gone = ForgottenKeys({"1003"}, {"person9"}, {"9-0"})
    billed = mask_for_billing(page, gone, "x")
    assert len(billed.posts) == len({post.id for post in billed.posts}) == len(page.posts)
    assert len({row.id for row in billed.accounts}) == len(page.accounts) == 2
    assert not {post.id for post in billed.posts} & {
        post.id for post in page.posts if post.author == "1003" or post.id == "9-0"
    }
    assert {row.id for row in billed.accounts} == {make_digest("x", "user", "1003"), make_digest("x", "user", "1009")}
    assert mask_for_billing(page, ForgottenKeys(), "x") is page


def test_who_was_forgotten_by_name_is_known_by_id_once_a_page_tells_it():
    with a_database("sqlite") as connection, connection.begin():
        put_tombstones(connection, [(make_digest("x", "name", "bob"), "name", "forget", "2026")])
        barring = PageRedaction(connection, "x")
        row = PostRow("1", "5", None, "text", *[None] * 14)
        alone = Page([row], [0], [], [], [Who("5", None)])
        assert not barring.find_forgotten(alone, "2026")
        told = Page([row], [0], [Mention(0, Who("7", "ann"), "mention")], [profile("5", "Bob")], [Who("5", None)])
        assert remove_forgotten(told, barring.find_forgotten(told, "2027")).posts == []
        assert remove_forgotten(alone, barring.find_forgotten(alone, "2028")) == Page([], [], [], [], [], [])
        assert find_forgotten(connection, "x", "user", ["5", "7"]) == {"5"}
        assert barring.find_names(["BOB", "ann"]) == {"BOB"}


def test_who_was_forgotten_by_id_is_known_by_name_once_a_page_tells_it(database):
    with a_database(database) as connection, connection.begin():
        put_tombstones(connection, [(make_digest("x", "user", "5"), "user", "forget", "2026")])
        run = connection.exec_driver_sql
        for node, key, handle in ((0, None, "bob"), (1, None, "ann"), (2, "9", "old_bob"), (3, None, "wrote")):
            known = "null" if key is None else f"'{key}'"
            run("insert into account (node, platform, platform_id, username, handle, first_seen_at) "
                f"values ({node}, 'x', {known}, '{handle}', '{handle}', '2020')")  # fmt: skip
        run("insert into post (id, author, text, metrics_at, fetched_at) values ('p', 3, 'hi @bob', '2020', '2020')")
        run("insert into mention (post, node, kind) values ('p', 0, 'mention')")
        barring = PageRedaction(connection, "x")
        row = PostRow("1", "6", None, "with @bob, @old_bob, @Ann", *[None] * 14)
        mentions = [Mention(0, Who("5", name), "mention") for name in ("Bob", "old_bob", "wrote")]
        page = Page([row], [0], [*mentions, Mention(0, Who("7", "ann"), "mention")])
        gone = barring.find_forgotten(page, "2027")
        left = remove_forgotten(page, gone)
        assert left.posts[0].text == "with @forgotten, @old_bob, @Ann"  # who has the name old_bob is somebody else
        assert [m.who.id for m in left.mentions] == ["7"]
        assert left.missing == []
        assert barring.find_names(["BOB", "ann", "old_bob"]) == {"BOB"}
        names = run("select node, username, handle, forgotten_at from account order by node").all()
        assert [tuple(row) for row in names] == [
            (0, None, None, "2027"), (1, "ann", "ann", None), (2, "old_bob", "old_bob", None),
            (3, "wrote", "wrote", None)]  # fmt: skip
        assert run("select 1 from mention").all() == []
        assert not barring.find_forgotten(Page([row._replace(text="@bob")], [0], []), "2028").asked


def test_whoever_was_asked_about_by_name_and_is_forgotten_by_id_is_missing(database):
    with a_database(database) as connection, connection.begin():
        put_tombstones(connection, [(make_digest("x", "user", "5"), "user", "forget", "2026")])
        run = connection.exec_driver_sql
        run("insert into account (node, platform, username, handle, first_seen_at) values (4, 'x', 'B', 'bob', '2020')")
        seeds = '{"seeds": {"usernames": ["Bob", "ann"]}}'
        run("insert into campaign (id, name, platform, seed, settings, identity, created_at) "
            f"values (1, 'c', 'x', 1, '{seeds}', '{seeds}', '2020')")  # fmt: skip
        run("insert into request (id, campaign, n, part, endpoint, params, credential, items, most, sent_at, digest) "
            """values (7, 1, 0, 0, 'by', '{"usernames":"Bob,ann","x":"1"}', '', 1, 1, '2026', 'hash')""")  # fmt: skip
        barring = PageRedaction(connection, "x")
        page = Page(accounts=[profile("5", "Bob")], answered=[Who("5", "Bob")])
        gone = barring.find_forgotten(page, "2027")
        assert remove_forgotten(page, gone) == Page([], [], [], [], [], [(Who(None, "bob"), "forgotten")])
        barring.empty_accounts(gone.asked, "2027", 7)
        assert tuple(run("select username, handle, forgotten_at from account").one()) == (None, None, "2027")
        assert tuple(run("select params, digest from request").one()) == ('{"usernames":"ann","x":"1"}', None)
        left = orjson.loads(run("select identity from campaign").scalar())
        assert left == orjson.loads(run("select settings from campaign").scalar())
        assert left == {"seeds": {"usernames": [4, "ann"]}}  # the seat stays, the name does not


def test_posts_that_only_became_too_old_may_still_be_answered_and_reposted():
    with a_database("sqlite") as connection, connection.begin():
        put_tombstones(connection, [(make_digest("x", "post", "1"), "post", "retain", "2026")])
        nothing = [None] * 14
        old, answer = (
            PostRow("1", "5", None, "old", *nothing),
            PostRow("2", "6", None, "new", *nothing)._replace(reply_to="1"),
        )
        copy = PostRow("3", "7", None, "RT old", *nothing)._replace(repost_of="1")
        page = Page([old, answer, copy], [1, 1, 1])
        assert list(remove_forgotten(page, PageRedaction(connection, "x").find_forgotten(page, "2027")).posts) == [
            answer,
            copy,
        ]
        put_tombstones(connection, [(make_digest("x", "post", "1"), "post", "forget", "2028")])
        assert list(remove_forgotten(page, PageRedaction(connection, "x").find_forgotten(page, "2029")).posts) == [
            answer._replace(reply_to=None)
        ]


def test_the_forgotten_are_not_asked_and_the_others_are():
    class Source:
        def width(self, act):
            return 7

        def start_conversations(self, batch, accounts):
            return [self.talk(pick) for pick in batch]

        def talk(self, pick):
            yield Request((pick.n, 0), "e", {})
            return {pick.n: Outcome(pick.n, pick.node, 1.0)}

    batch = (Pick(4, Node(0), "seed"), Pick(5, Node(1), "expand"), Pick(6, Node(-1), "search"))
    accounts = {Node(0): Who(None, None), Node(1): Who("5", None)}
    sparing = SkipForgottenSource(Source())
    first, *others = sparing.start_conversations(batch, accounts)
    with pytest.raises(StopIteration) as end:
        next(first)
    assert {n: (o.node, o.missing, o.posts) for n, o in end.value.value.items()} == {4: (0, "forgotten", 0)}
    assert [next(talk).key for talk in others] == [(5, 0), (6, 0)]
    assert sparing.width("resolve") == 7
    assert len(sparing.start_conversations(batch[1:], accounts)) == 2
    assert len(sparing.start_conversations(batch[:1], accounts)) == 1


def test_seats_of_forgotten_seeds_stay_without_their_names():
    identity = {"seed": 1, "seeds": {"most": 4, "usernames": ["Ann", "@BOB", "carl"]}}
    left = remove_names(identity, {"bob", "carl"}, {"bob": 5}.get)
    assert left == {"seed": 1, "seeds": {"most": 4, "usernames": ["Ann", 5, None]}}
    assert remove_names(left, {"bob"}, {"bob": 6}.get) is left
    assert remove_names({"seed": 1}, {"bob"}, {}.get) == {"seed": 1}
    held = left["seeds"]["usernames"]
    assert has_same_seeds(held, ["Ann", "BOB", "carl"], {"bob", "carl"})
    assert has_same_seeds(held, ["Ann"], set())
    assert not has_same_seeds(held, ["Ann", "dora"], {"bob", "carl"})
    assert not has_same_seeds(held, [], {"bob", "carl"})
