"""Rules and conversations of X's filtered stream: what is asked of X, in which order, and what others' rules stop."""

import json

import pytest

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Act, Node, Page, Pick, Reason, Reply, ReplyKind, Request
from socialcrawl.engine.stream_places import Place, StreamPart, StreamTurn
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.x.live_source import (
    CHANGE,
    PART,
    RULES,
    STREAM,
    StreamSource,
    make_rules,
    make_tag,
    parse_rules,
    read_rules,
)
from socialcrawl.platforms.x.vocabulary import POST, TWEET

AT = 1_700_000_000.0
PICK = Pick(7, Node(-1), Act.LIVE, 0.0, (AT,), str(StreamTurn(20.0, Place(AT))))
READ = str(StreamPart(AT, Place(AT + 20.0, "1:9")))
TAG = make_tag("campaign")


def source(*, words=TWEET, rules=("(a) -is:retweet",), replaces=False):
    return StreamSource(words, load_policy("x"), {}, rules, TAG, replaces)


def ok(cursor=None, at=AT):
    return Reply(ReplyKind.OK, at, rows=Page(), cursor=cursor)


def known(*rules):
    return ok(json.dumps(rules))


def converse(source, answers):
    """What a conversation asks, given the answers in order, and its outcome; None: it asks for more."""
    asked, conversation = [], source.read(PICK)
    try:
        request = next(conversation)
        for answer in answers:
            asked.append(request)
            request = conversation.send(answer)
    except StopIteration as end:
        return asked, end.value
    return [*asked, request], None


def test_a_part_of_an_open_connection_is_one_request_reserved_at_its_posts():
    [part], outcome = converse(source(), [ok(READ)])
    assert (part.endpoint, part.items, part.most) == (PART, 100, 100 * 500)
    assert part.params == {"after": str(Place(AT)), "seconds": "20", "limit": "100", "max_results": "100"}
    assert (outcome.missing, outcome.mark) == (None, READ)


def test_where_none_is_open_rules_are_read_and_changed_before_it_is():
    stale = ["1", "(b) -is:retweet", TAG]
    answers = [ok(), known(stale), ok(), ok(at=AT + 5.0), ok(), ok(READ)]
    asked, outcome = converse(source(), answers)
    assert [one.endpoint for one in asked] == [PART, RULES, CHANGE, CHANGE, STREAM, PART]
    assert [json.loads(one.params["change"]) for one in asked[2:4]] == [
        {"delete": {"ids": ["1"]}},
        {"add": [{"value": "(a) -is:retweet", "tag": TAG}]},
    ]
    opening = asked[4]
    assert opening.most == 300 * 500
    assert opening.params["complete"] == "2023-11-14T22:13:45.000000Z", "rules hold 20 s after they were added"
    assert len({one.key for one in asked}) == len(asked)
    assert outcome.mark == READ


def test_rules_that_are_there_are_left_alone():
    asked, _ = converse(source(), [ok(), known(["1", "(a) -is:retweet", TAG]), ok(), ok(READ)])
    assert [one.endpoint for one in asked] == [PART, RULES, STREAM, PART]
    assert "complete" not in asked[2].params


def test_rules_of_others_are_deleted_where_they_are_to_be_replaced():
    other = ["9", "(a) -is:retweet", "someone's"]
    asked, _ = converse(source(replaces=True), [ok(), known(other), ok(), ok(), ok(), ok(READ)])
    assert asked[1].params["replace"] == "yes"
    assert json.loads(asked[2].params["change"]) == {"delete": {"ids": ["9"]}}
    assert json.loads(asked[3].params["change"]) == {"add": [{"value": "(a) -is:retweet", "tag": TAG}]}


@pytest.mark.parametrize("failing", [0, 1, 2, 3])
def test_what_fails_for_good_is_tried_again_by_another_pick(failing):
    answers = [ok(), known(), ok(), ok()]
    answers[failing] = Reply(ReplyKind.BROKEN, AT, why="no")
    asked, outcome = converse(source(), answers[: failing + 1])
    assert len(asked) == failing + 1
    assert outcome.missing == Reason.TEMPORARY


def test_a_stream_that_never_stays_open_is_given_up_after_three_connections():
    asked, outcome = converse(source(), [ok(), known(["1", "(a) -is:retweet", TAG]), ok()] * 3)
    assert [one.endpoint for one in asked].count(STREAM) == 3
    assert outcome.missing == Reason.TEMPORARY


def test_authors_that_come_along_are_reserved_too():
    [part], _ = converse(source(words=POST), [ok(READ)])
    assert part.most == 100 * 500 + 100 * 1_000


def test_reposts_are_left_out_and_too_many_rules_are_refused():
    assert make_rules(['"a" OR "b"']) == ['("a" OR "b") -is:retweet']
    with pytest.raises(SettingsError, match=r"make 1,001 rules of X's stream, which takes 1,000"):
        make_rules(["a"] * 1_001)


def listing(replace="no"):
    return Request((0, 1), RULES, {"tag": TAG, "replace": replace}, 1)


def test_rules_of_others_make_the_answer_invalid_unless_they_are_to_be_replaced():
    body = {"data": [{"id": "1", "value": "tea"}, {"id": "2", "value": "(a)", "tag": TAG}]}
    refused = read_rules(listing(), ok(), body)
    assert refused.kind == ReplyKind.INVALID
    assert "has 1 rule that this campaign did not make (such as 'tea', tag '')" in refused.why
    taken = read_rules(listing("yes"), ok(), body)
    assert [(rule.key, rule.value, rule.tag) for rule in parse_rules(taken.cursor)] == [
        ("1", "tea", ""),
        ("2", "(a)", TAG),
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"errors": [{"title": "UnprocessableEntity", "details": ["ambiguous use of and"]}]}, "ambiguous use of and"),
        ({"errors": [{"title": "RulesCapExceeded", "detail": "too many"}]}, "too many"),
        ({"errors": ["?"]}, "is base_url right?"),
    ],
)
def test_a_rule_that_x_does_not_take_is_named(body, why):
    reply = read_rules(Request((0, 2), CHANGE, {"change": "{}"}, 1), ok(), body)
    assert reply.kind == ReplyKind.INVALID
    assert why in reply.why


def test_a_rule_that_is_there_already_is_no_error():
    body = {"errors": [{"title": "DuplicateRule", "value": "(a)"}]}
    assert read_rules(Request((0, 2), CHANGE, {"change": "{}"}, 1), ok(), body).kind == ReplyKind.OK


@pytest.mark.parametrize("body", [[], {"data": 5}, {"data": [{"id": "1"}]}, None])
def test_an_answer_of_another_shape_is_invalid(body):
    assert read_rules(listing(), ok(), body).kind == ReplyKind.INVALID
