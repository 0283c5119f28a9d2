"""Probes of life on X: a hundred users a look-up, and their latest posts; against the mock."""

from types import SimpleNamespace

import orjson
import pytest
from probe_towns import DAY, HALF_A_YEAR, NOW, REASONS, Asking, carried, last, of, recent, stamp, town
from test_judge_openapi import _document, _validator

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Answer, Grant, Node, Pick, Reply, Request, SameAs, Who
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock import faults
from socialcrawl.mock.names import HERE, PROTECTED
from socialcrawl.platforms.x import parse
from socialcrawl.platforms.x.source import BY_ID, BY_NAME, XSource
from socialcrawl.platforms.x.vocabulary import POST, TWEET, USER_FIELDS
from socialcrawl.platforms.x.wire import XWire, make_client

POLICY = load_policy("x")
BOTH = pytest.mark.parametrize("words", [TWEET, POST], ids=["tweet", "post"])
RECENTLY = Activity(float(HALF_A_YEAR))
USER, POST_PRICE = 1_000, 500  # mills


@pytest.fixture(scope="module")
def people():
    with town() as found:
        yield found


def asking(url, words=TWEET, activity=RECENTLY):
    wire = XWire({"main": make_client("token", url)}, words, POLICY, Topic(["hello"]).hits, lambda: float(NOW))
    return Asking(url, XSource(POLICY, words, [], activity=activity), wire)


def probed(people, names, words=TWEET, activity=RECENTLY):
    """The outcomes of probes by name, and who asked."""
    who = asking(people.url, words, activity)
    picks = who.picks("probe", [people.username(name) for name in names])
    found = who.ask(picks)
    return {name: found[pick.n] for name, pick in zip(names, picks, strict=True)}, who


@BOTH
def test_a_probe_tells_who_is_active_when_they_posted_last_and_why_others_are_gone(people, words):
    found, who = probed(people, people.names, words)
    for name, outcome in found.items():
        fate = people.fate(name)
        if fate == HERE:
            at = last(name)
            assert (outcome.value, outcome.missing) == (float(recent(name)), None)
            assert outcome.mark == ("" if at is None else stamp(at))
        else:
            # By name, X tells no more of the deleted than of those who never were.
            expected = {"deleted": "unknown"}.get(REASONS[fate], REASONS[fate])
            assert (outcome.value, outcome.missing, outcome.mark) == (0.0, expected, "")
        assert (outcome.posts, outcome.at, len(outcome.targets)) == (0, float(NOW), 0)
    assert {outcome.value for outcome in found.values()} == {0.0, 1.0}
    assert [len(one.params["usernames"].split(",")) for one in who.asked(BY_NAME)] == [100, len(found) - 100]
    assert len(who.told) == 2


@BOTH
def test_ids_are_probed_as_names_are_and_the_deleted_are_told_from_the_unknown(people, words):
    who, by_id = asking(people.url, words), {people.number(name): name for name in people.names}
    numbers = list(by_id)
    for begin in range(0, len(numbers), 100):  # so that the store knows them, by nothing but their ids
        listed = ",".join(numbers[begin : begin + 100])
        who._send(Request((0, begin), BY_ID, {"ids": listed}))
    nodes = [node for _, reply in who.told for node in (*reply.answer.found, *reply.answer.missing)]
    names = {node: by_id[one.id] for node, one in who.store.accounts(nodes).items()}
    who.told.clear()
    found = who.ask(tuple(Pick(n, Node(node), "probe") for n, node in enumerate(names)))
    for outcome, name in zip(found.values(), names.values(), strict=True):
        fate = people.fate(name)
        assert (outcome.value, outcome.missing) == (float(fate == HERE and recent(name)), REASONS.get(fate))
    assert set(names.values()) == set(people.names)
    assert {outcome.missing for outcome in found.values()} == {None, *REASONS.values()}
    assert [len(one.params["ids"].split(",")) for one in who.asked(BY_ID)] == [100, len(numbers) - 100]


@pytest.mark.parametrize(
    ("words", "within", "each"),
    [(TWEET, HALF_A_YEAR, USER), (POST, HALF_A_YEAR, USER + POST_PRICE), (TWEET, None, USER), (POST, None, USER)],
)
def test_the_new_vocabulary_pays_for_latest_posts_and_asks_for_them_only_where_they_matter(people, words, within, each):
    names = [name for name in of(people, HERE) if name.startswith("user")][:20]
    found, who = probed(people, names, words, Activity(within))
    ((request, reply),) = who.told
    assert request.most == len(names) * each
    assert reply.cost == request.most
    assert request.items == len(names)
    asked = {key: value for key, value in request.params.items() if key != "usernames"}
    assert asked == (words.probe if words is TWEET or within else {"user.fields": USER_FIELDS})
    assert any(outcome.mark for outcome in found.values()) == (words is TWEET or within is not None)


def test_where_activity_is_to_exist_whoever_is_there_is_active(people):
    found, _ = probed(people, people.names, activity=Activity(None))
    assert {name for name, outcome in found.items() if outcome.value} == set(of(people, HERE))
    assert any(last(name) is None for name in of(people, HERE))


def test_protected_accounts_are_active_where_the_campaign_says_so(people):
    hidden = of(people, PROTECTED)
    assert hidden
    for counts in (False, True):
        found, _ = probed(people, hidden, activity=Activity(float(HALF_A_YEAR), protected=counts))
        assert {(one.value, one.missing) for one in found.values()} == {(1.0, None) if counts else (0.0, "protected")}


def test_names_and_ids_that_x_would_refuse_are_unknown_and_spoil_no_request(people):
    names = [people.username(name) for name in of(people, HERE)[:2]]
    who = asking(people.url)
    picks = who.picks("probe", [names[0], "no name", "much_too_long_for_x", "", names[1]])
    accounts = {**who.store.accounts([pick.node for pick in picks]), Node(77): Who("not a number", None)}
    batch = (*picks, Pick(9, Node(77), "probe"))
    found = {}
    for talk in who.source.start_conversations(batch, accounts):
        found |= carried(talk, who._send)
    assert [found[n].missing for n in (0, 1, 2, 3, 4, 9)] == [None, "unknown", "unknown", "unknown", None, "unknown"]
    ((request, _),) = who.told
    assert request.params["usernames"] == ",".join(names)


def ok(kind="ok", at=float(NOW), **answer):
    return Reply(kind, at, rows=Answer(**answer))


def talk(*picks, activity=RECENTLY, words=TWEET, whos=None):
    (found,) = XSource(POLICY, words, [], activity=activity).start_conversations(
        picks, whos or {pick.node: Who(str(pick.node), None) for pick in picks}
    )
    return found


ONE, TWO = Pick(4, Node(1), "probe"), Pick(5, Node(2), "probe")


def test_an_answer_that_the_database_has_is_no_sign_of_life():
    asked = talk(ONE, TWO)
    first = next(asked)
    second = asked.send(ok("held", found={1: "1", 2: "2"}))
    assert (second.key, dict(second.params)) == ((4, 1), dict(first.params))
    with pytest.raises(StopIteration) as end:
        asked.send(ok(found={1: "1", 2: "2"}, active={1: stamp(NOW - DAY)}))
    assert [(one.value, one.mark) for one in end.value.value.values()] == [(1.0, stamp(NOW - DAY)), (0.0, "")]


@pytest.mark.parametrize("kind", ["broken", "lost", "backoff", "invalid"])
def test_a_failure_says_nothing_of_who_lives(kind):
    found = carried(talk(ONE, TWO), lambda _: Reply(kind, 3.0))
    assert [(one.value, one.missing, one.at) for one in found.values()] == [(0.0, "temporary", 3.0)] * 2


def test_whoever_was_not_answered_about_is_asked_for_once_more():
    asked = talk(ONE, TWO)
    next(asked)
    again = asked.send(ok(found={1: "1"}, active={1: stamp(NOW)}))
    assert (again.key, again.params["ids"]) == ((4, 1), "2")
    with pytest.raises(StopIteration) as end:
        asked.send(ok())
    assert [(one.value, one.missing) for one in end.value.value.values()] == [(1.0, None), (0.0, "unknown")]


def test_an_account_that_is_another_says_so():
    found = carried(talk(ONE), lambda _: ok(missing={1: SameAs(8)}))
    assert (found[4].value, found[4].missing) == (0.0, SameAs(8))


def test_a_source_without_a_rule_refuses_probes():
    with pytest.raises(ValueError, match="no activity"):
        next(talk(ONE, activity=None))


def user(number, posts=5, **more):
    metrics = {"followers_count": 0, "following_count": 0, "tweet_count": posts, "listed_count": 0}
    return {"id": str(number), "username": f"u{number}", "name": "U", "public_metrics": metrics, **more}


def test_a_post_from_before_snowflakes_is_no_younger_than_the_last_of_its_kind():
    given = {"data": [user(1, most_recent_tweet_id="20"), user(2, most_recent_tweet_id="1580661436132757506")]}
    page = parse.parse_users(given, TWEET, recent=True)
    old, new = (at for _, at in page.active)
    assert old == "2010-11-04T01:42:54.657000Z"
    assert new.startswith("2022-10-13T20:47:08.")  # as X's own documents say of this post


@pytest.mark.parametrize("wrong", [5, None, "", "x", "-5", "9" * 20])
def test_a_latest_post_that_has_no_id_is_no_answer_of_x(wrong):
    with pytest.raises(TypeError, match="not a number"):
        parse.parse_users({"data": [user(1, most_recent_tweet_id=wrong)]}, TWEET, recent=True)


def body(users):
    return faults.Fault("answer", 200, orjson.dumps({"data": users}), limited=False)


@pytest.fixture(scope="module")
def answering():
    """Who asks a mock that answers everything with one body."""
    answer = []
    with town(fault=lambda endpoint, nth: answer[0]) as found:
        asker = asking(found.url)
        yield SimpleNamespace(answer=answer, send=lambda request: asker.wire.send(Grant(request, "main", 0.0)))


@pytest.mark.parametrize(
    ("users", "kind"),
    [
        ([user(1), user(2), user(3)], "invalid"),
        ([user(1), user(2)], "ok"),
        ([user(1), user(2), user(3, posts=0)], "ok"),
        ([user(1), user(2), user(3, protected=True)], "ok"),
        ([user(1), user(2), user(3), user(4, most_recent_tweet_id="1580661436132757506")], "ok"),
    ],
)
def test_a_field_that_never_arrives_ends_the_campaign_instead_of_calling_all_dead(answering, users, kind):
    ids = ",".join(one["id"] for one in users)
    answering.answer[:] = [body(users)]
    reply = answering.send(Request((0, 0), BY_ID, {"ids": ids, **TWEET.probe}, len(users), 9_000))
    plain = answering.send(Request((0, 0), BY_ID, {"ids": ids, "user.fields": USER_FIELDS}))
    assert (reply.kind, reply.cost) == (kind, len(users) * USER)
    assert (kind == "invalid") == ("most_recent_tweet_id" in reply.why)
    assert plain.kind == "ok"


@BOTH
def test_the_mock_tells_latest_posts_only_to_who_asks_in_its_words(people, words):
    other = POST if words is TWEET else TWEET
    name = of(people, HERE)[0]
    for asked, told in (
        (words.probe, True),
        ({"user.fields": USER_FIELDS}, False),
        ({"user.fields": other.recent, "post.fields": "created_at"}, False),
    ):
        given = {**asked, "usernames": people.username(name)}
        _, raw = asking(people.url, words).wire.ask(Grant(Request((0, 0), BY_NAME, given), "main", 0.0))
        (found,) = raw["data"]
        assert (words.recent in found) == told
        assert other.recent not in found
        assert ("includes" in raw) == (told and words is POST)
        if told and words is POST:
            (post,) = raw["includes"]["posts"]
            assert post["id"] == found[words.recent]


@BOTH
def test_what_a_probe_asks_for_and_what_it_is_told_is_as_the_official_documents_have_it(people, words):
    found = _document(words.name)["paths"]["/2/users/by"]["get"]["parameters"]
    known = {one["name"]: one["schema"]["items"].get("enum", ()) for one in found if "name" in one}
    shared = _document(words.name)["components"].get("parameters", {})
    known |= {one["name"]: one["schema"].get("items", {}).get("enum", ()) for one in shared.values()}
    for name, asked in words.probe.items():
        assert set(asked.split(",")) <= set(known[name])
    names = ",".join(people.username(name) for name in people.names[:90])
    request = Request((0, 0), BY_NAME, {**words.probe, "usernames": names})
    _, raw = asking(people.url, words).wire.ask(Grant(request, "main", 0.0))
    assert any(words.recent in user for user in raw["data"])
    _validator(words.name, "/2/users/by").validate(raw)
