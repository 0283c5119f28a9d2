"""A probe of Mastodon: one look-up tells whether an account is there and when it last posted; against the mock."""

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from socket import EAI_AGAIN, EAI_NONAME, gaierror, socket

import httpx
import pytest
from mastodon_posts import account_of
from stores import a_store, reopened
from test_mock_world import START, posts_of
from test_web_wire import of_service, plays

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Answer, Grant, Node, Page, Pick, Reply, Request, SameAs, Who
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.mock.gated_service import ServicePlatform
from socialcrawl.mock.mastodon.service import MastodonService
from socialcrawl.mock.names import DELETED, PROTECTED, SUSPENDED
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.platforms import unreachable_hosts
from socialcrawl.platforms.http_client import HttpAnswer
from socialcrawl.platforms.mastodon.parse import PageParser
from socialcrawl.platforms.mastodon.source import FOLLOW, LOOK_UP, NO_INSTANCE, STAY, MastodonSource
from socialcrawl.platforms.mastodon.wire import MastodonWire
from socialcrawl.storage.memory_store import MemoryStore

HOME, FAR, DAY = "home.example", "far.example", 86_400
TOPIC = Topic(["glacier"])
LAST = {"ann": 0, "bob@far.example": 1, "cy": 40, "dot": 400, "old@far.example": 3, "new": 2, "shy": 0}  # days ago
AT = START + 500 * DAY
GONE = {"sue": SUSPENDED, "del": DELETED, "pro": PROTECTED}
PEOPLE = {**LAST, **dict.fromkeys(GONE, 5)}


def day(name):
    """The day of an account's last post."""
    return datetime.fromtimestamp(AT - PEOPLE[name] * DAY, UTC).date().isoformat()


def served(**more):
    rows = [("silent", START, "hello @mute", ("mute",))]
    rows += [
        (name, AT - ago * DAY - 600 * n, "a glacier @ann", ("ann",)) for name, ago in PEOPLE.items() for n in (1, 0)
    ]
    world = build_world(posts_of(sorted(rows, key=lambda row: row[1])))
    changes = WorldChanges(world)
    for name, fate in GONE.items():
        changes.become(world.accounts.keys.index(name), fate)
    told = {"home": HOME, "nobot": {"shy"}, "moved": {"old@far.example": "new"}, "limited": {"cy"}, **more}
    return MastodonService(world, changes=changes, **told), changes


@pytest.fixture(scope="module")
def doors():
    """The mock, as the wire reaches it."""
    with ExitStack() as stack:
        mock = stack.enter_context(
            serve_in_thread(posts_of([("x", START, "x")]), platforms=("x",), more=[ServicePlatform(*served())])
        )
        wire = MastodonWire(mock.url, HOME, {}, hits=TOPIC.hits, now=lambda: float(AT))
        stack.callback(wire.close)
        yield mock, wire


def asked(talk, wire, store):
    """The requests of a talk, and its outcome."""
    requests, request = [], next(talk)
    while True:
        requests.append(request)
        grant = Grant(request, "public", float(AT))
        store.reserve(grant)
        try:
            request = talk.send(store.save(grant, wire.send(grant)))
        except StopIteration as end:
            (outcome,) = end.value.values()
            return requests, outcome


def whole(name):
    return name if "@" in name else f"{name}@{HOME}"


def visited(wire, name, act="probe", store=None, **more):
    store = MemoryStore() if store is None else store
    (node,) = store.enlist([whole(name)], 0.0)
    source = MastodonSource(load_policy("mastodon"), [], HOME, instances=["*"], **more)
    pick = Pick(7, node, act)
    store.open((pick,))
    (talk,) = source.start_conversations((pick,), store.accounts([node]))
    return asked(talk, wire, store)


@pytest.mark.parametrize(
    ("name", "within"),
    [*product(["ann", "bob@far.example", "cy", "dot", "new"], [None, 30, 365]), ("pro", 30), ("pro", 4)],
)
def test_an_account_is_active_that_posted_within_so_many_days(doors, name, within):
    rule = Activity(within and float(within * DAY))
    requests, outcome = visited(doors[1], name, activity=rule)
    assert [request.endpoint for request in requests] == [whole(name).rpartition("@")[2] + LOOK_UP]
    alive = within is None or PEOPLE[name] <= within
    assert (outcome.value, outcome.mark, outcome.missing) == (float(alive), day(name), None)
    assert (outcome.at, len(outcome.targets), outcome.posts) == (AT, 0, 0)


def test_an_account_that_approves_its_followers_is_protected_where_it_is_enough_to_exist(doors):
    outcome = visited(doors[1], "pro")[1]
    assert (outcome.value, outcome.mark, outcome.missing) == (0.0, day("pro"), "protected")
    outcome = visited(doors[1], "pro", activity=Activity(protected=True))[1]
    assert (outcome.value, outcome.mark, outcome.missing) == (1.0, day("pro"), None)


def test_who_has_posted_nothing_exists_and_is_not_active(doors):
    assert visited(doors[1], "mute")[1].value == 1.0
    outcome = visited(doors[1], "mute", activity=Activity(9e9))[1]
    assert (outcome.value, outcome.mark, outcome.missing) == (0.0, "", None)


@pytest.mark.parametrize(
    ("name", "why"), [("sue", "suspended"), ("del", "unknown"), ("nobody", "unknown"), ("shy", "opted-out")]
)
def test_who_is_not_there_or_wants_to_be_left_alone_is_missing_and_nothing_is_told_of_it(doors, name, why):
    requests, outcome = visited(doors[1], name)
    assert (len(requests), outcome.value, outcome.missing, outcome.mark) == (1, 0.0, why, "")
    if why == "opted-out":
        assert visited(doors[1], name, opt_outs=False)[1].mark == day(name)


def test_an_instance_may_say_that_an_account_is_gone_for_good():
    with plays(of_service(served(gone=True)[0])) as (url, _):
        wire = MastodonWire(url, HOME, {}, hits=TOPIC.hits, now=lambda: float(AT))
        assert visited(wire, "del")[1].missing == "deleted"
        wire.close()


def test_an_account_that_has_moved_posts_no_more(doors):
    requests, outcome = visited(doors[1], "old@far.example", activity=Activity(30.0 * DAY))
    assert (len(requests), outcome.value, outcome.missing) == (1, 0.0, "redirected")
    assert outcome.mark == day("old@far.example")


def test_an_account_that_has_moved_is_the_one_it_moved_to_on_request(doors):
    store = MemoryStore()
    _, outcome = visited(doors[1], "old@far.example", store=store, redirects=True)
    assert (outcome.value, type(outcome.missing)) == (0.0, SameAs)
    node = outcome.missing.node
    assert store.accounts([node])[node] == Who(f"new@{HOME}", f"new@{HOME}")
    assert visited(doors[1], "new", store=store, redirects=True)[1].value == 1.0


def test_a_server_is_told_nothing_of_what_a_probe_is():
    with plays(of_service(served()[0])) as (url, targets):
        wire = MastodonWire(url, HOME, {}, hits=TOPIC.hits, now=lambda: float(AT))
        visited(wire, "bob@far.example")
        wire.close()
    assert [(host, target) for _, host, target, _ in targets] == [(FAR, LOOK_UP + "?acct=bob")]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_what_was_stored_of_a_probe_is_replayed_to_the_same_outcome(doors, kind):
    with a_store(kind) as store:
        (request,), outcome = visited(doors[1], "cy", store=store, activity=Activity(30.0 * DAY))
        again = reopened(store)
        (pick,) = again.unfinished()
        kept = again.replies((pick,))[request.key]
        source = MastodonSource(load_policy("mastodon"), [], HOME, instances=["*"], activity=Activity(90.0 * DAY))
        (talk,) = source.start_conversations((pick,), again.accounts([pick.node]))
        assert next(talk) == request
        with pytest.raises(StopIteration) as end:
            talk.send(kept)
    (found,) = end.value.value.values()
    assert (outcome.value, found.value, found.mark) == (0.0, 1.0, outcome.mark)


@pytest.mark.parametrize("act", ["seed", "expand", "walk"])
def test_a_walk_reads_an_account_as_other_visits_do(doors, act):
    requests, outcome = visited(doors[1], "bob@far.example", act=act)
    assert [request.key[1] for request in requests] == [0, 1]
    assert (outcome.posts, outcome.occurrences, outcome.value, len(outcome.targets)) == (2, 2, compute_worth(2), 1)


ANN = Who("ann@home.example", "ann@home.example")
PICK = Pick(7, Node(3), "probe")


def talk_of(who=ANN, **more):
    (talk,) = MastodonSource(load_policy("mastodon"), [], HOME, instances=["*"], **more).start_conversations(
        (PICK,), {PICK.node: who}
    )
    return talk


def converse(talk, *replies):
    """The requests of a talk that ends with the last of `replies`, and its outcome."""
    requests = [next(talk), *(talk.send(reply) for reply in replies[:-1])]
    with pytest.raises(StopIteration) as end:
        talk.send(replies[-1])
    (outcome,) = end.value.value.values()
    return requests, outcome


def test_where_no_instance_answers_at_its_domain_the_campaigns_own_tells_of_an_account():
    nowhere = Reply("missing", 5.0, Answer(), NO_INSTANCE)
    there = Reply("ok", 6.0, Answer(found={3: "bob@far.example"}, active={3: "1970-01-01"}), "9")
    requests, outcome = converse(talk_of(Who(None, "bob@far.example")), nowhere, there)
    assert [(request.key, request.endpoint, dict(request.params)) for request in requests] == [
        ((7, 0), FAR + LOOK_UP, {"acct": "bob", "probe": STAY}),
        ((7, 999), HOME + LOOK_UP, {"acct": "bob@far.example", "probe": STAY}),
    ]
    assert (outcome.value, outcome.mark, outcome.at) == (1.0, "1970-01-01", 6.0)


@pytest.mark.parametrize("kind", ["broken", "lost", "backoff", "window"])
def test_an_instance_in_trouble_says_nothing_of_the_account(kind):
    _, outcome = converse(talk_of(activity=Activity(protected=True)), Reply(kind, 5.0))
    assert (outcome.value, outcome.missing, outcome.at) == (0.0, "temporary", 5.0)


def test_a_name_that_is_short_for_another_is_that_other_account():
    _, outcome = converse(talk_of(), Reply("ok", 5.0, Answer(found={8: "anna@home.example"}, active={8: "2020-01-01"})))
    assert (outcome.value, outcome.missing, outcome.mark) == (0.0, SameAs(8), "")


def test_what_is_shown_to_some_only_counts_as_active_on_request():
    closed = Reply("missing", 5.0, Answer(missing={3: "protected"}))
    assert converse(talk_of(activity=Activity(9.0)), closed)[1].missing == "protected"
    _, outcome = converse(talk_of(activity=Activity(9.0, protected=True)), closed)
    assert (outcome.value, outcome.missing) == (1.0, None)


def test_what_nobody_is_called_is_not_asked_for():
    with pytest.raises(StopIteration) as end:
        next(talk_of(Who(None, "a b")))
    assert (end.value.value[7].missing, end.value.value[7].value) == ("unknown", 0.0)


def test_nobody_can_be_asked_who_mentions_an_account():
    source = MastodonSource(load_policy("mastodon"), [], HOME)
    assert (source.width("probe"), source.width("walk"), source.width("inward")) == (1, 1, 0)


@pytest.mark.parametrize(
    ("told", "last"),
    [
        ("2026-11-01", "2026-11-01"),
        ("2021-07-30T09:20:25.000Z", "2021-07-30T09:20:25.000Z"),
        ("2021-07-30T11:20:25+02:00", "2021-07-30T09:20:25.000Z"),
        ("2026-13-01", None),
        ("yesterday", None),
        (17, None),
        (None, None),
    ],
)
def test_the_last_activity_is_a_day_or_an_instant_or_not_told(told, last):
    page, number = PageParser(HOME, TOPIC.hits, probe=STAY).parse_profile(account_of(last_status_at=told))
    assert (page.active, page.answered, number) == ([(ANN, last)] if last else [], [ANN], "11")


def test_a_look_up_that_is_no_probe_tells_nothing_of_activity():
    page, _ = PageParser(HOME, TOPIC.hits).parse_profile(
        account_of(last_status_at="2026-11-01", moved=account_of("bob"))
    )
    assert (page.active, page.answered, page.missing) == ((), [ANN], ())


@pytest.mark.parametrize("probe", [STAY, FOLLOW])
def test_an_account_that_wants_to_be_left_alone_is_not_said_to_have_moved(probe):
    body = account_of(last_status_at="2026-11-01", noindex=True, moved=account_of("bob"))
    page, _ = PageParser(HOME, TOPIC.hits, probe=probe).parse_profile(body)
    assert (page.missing, page.active, page.answered) == ([(ANN, "opted-out")], (), ())


def away(monkeypatch, *, nameless=(), connects=True):
    """The network as a test wants it: names that nobody has, and whether a host takes a connection."""

    def named(host, *_, **__):
        if host in nameless:
            raise gaierror(EAI_NONAME, "no such name")

    def connected(*_):
        if not connects:
            raise TimeoutError
        return socket()

    monkeypatch.setattr(unreachable_hosts, "getaddrinfo", named)
    monkeypatch.setattr(unreachable_hosts, "create_connection", connected)
    monkeypatch.setattr(unreachable_hosts, "getproxies", dict)


def reply_of(monkeypatch, came, host=FAR, params=None):
    """The reply of a wire to which its own instance has answered before, and then comes `came`."""
    wire = MastodonWire(f"https://{HOME}", HOME, {}, hits=TOPIC.hits, now=lambda: 5.0)
    answers = iter([HttpAnswer("", 404, httpx.Headers(), b'{"error": "Record not found"}', 5.0), came])
    monkeypatch.setattr(wire.http, "fetch", lambda *_, **__: next(answers))
    for place, asked_of in (
        (HOME, {"acct": "x"}),
        (host, {"acct": "bob", "probe": STAY} if params is None else params),
    ):
        reply = wire.send(Grant(Request((7, 0), place + LOOK_UP, asked_of, 1), "public", 0.0))
    wire.close()
    return reply


FAILURES = [Reply("broken", 5.0), Reply("lost", 5.0), HttpAnswer("", 502, httpx.Headers(), b"", 5.0)]


@pytest.mark.parametrize("came", FAILURES)
def test_an_instance_that_has_no_name_any_more_is_unreachable(monkeypatch, came):
    away(monkeypatch, nameless=[FAR])
    reply = reply_of(monkeypatch, came)
    assert (reply.kind, reply.rows.missing) == ("missing", [(Who(f"bob@{FAR}", f"bob@{FAR}"), "unreachable")])
    _, outcome = converse(talk_of(), Reply("missing", 5.0, Answer(missing={3: "unreachable"}), reply.cursor))
    assert (outcome.value, outcome.missing) == (0.0, "unreachable")


@pytest.mark.parametrize("came", FAILURES)
def test_an_instance_that_alone_is_in_trouble_is_probed_again_later_and_not_waited_for(monkeypatch, came):
    away(monkeypatch)
    reply = reply_of(monkeypatch, came)
    assert (reply.kind, reply.rows) == ("missing", None)
    requests, outcome = converse(talk_of(), replace(reply, rows=Answer()))
    assert (len(requests), outcome.value, outcome.missing, outcome.at) == (1, 0.0, "temporary", 5.0)


@pytest.mark.parametrize("came", FAILURES)
@pytest.mark.parametrize(("host", "params"), [(HOME, None), (FAR, {"acct": "bob"})])
def test_the_campaigns_own_instance_is_waited_for_and_so_is_any_by_other_visits(monkeypatch, came, host, params):
    away(monkeypatch, nameless=[FAR, HOME])
    reply = reply_of(monkeypatch, came, host, params)
    assert (reply.kind, reply.rows) == (getattr(came, "kind", "broken"), None)


FAILED = Reply("broken", 5.0)
GONE_PAGE = Page(missing=[(ANN, "unreachable")])


def told(monkeypatch, nameless=(), *, connects=True, after=0.0, answered="up.example"):
    """What is made of a failure `after` so many seconds since a host has answered."""
    clock = [100.0]
    away(monkeypatch, nameless=nameless, connects=connects)
    network = unreachable_hosts.HostReachability(lambda: clock[0])
    if answered:
        network.note_answer(answered, 8443)
    clock[0] += after
    reply = network.explain_failure(FAILED, "far.example", GONE_PAGE)
    return {None: reply.kind, unreachable_hosts.DOWN: "down", unreachable_hosts.NOWHERE: "nowhere"}[reply.cursor]


def test_a_host_is_in_trouble_alone_while_another_answers_or_takes_a_connection(monkeypatch):
    assert told(monkeypatch, connects=False, after=60.0) == "down"
    assert told(monkeypatch, connects=False, after=61.0) == "broken", "it may be our network"
    assert told(monkeypatch, connects=True, after=61.0) == "down"
    assert told(monkeypatch, answered="") == "broken", "nobody has answered yet"


def test_a_name_is_unknown_while_the_network_is_up_or_nobody_has_answered_yet(monkeypatch):
    assert told(monkeypatch, ["far.example"]) == "nowhere"
    assert told(monkeypatch, ["far.example"], answered="") == "nowhere"
    assert told(monkeypatch, ["far.example"], connects=False, after=61.0) == "broken"


def test_behind_a_proxy_nothing_is_known_of_hosts(monkeypatch):
    away(monkeypatch, nameless=["far.example"])
    monkeypatch.setattr(unreachable_hosts, "getproxies", lambda: {"https": "http://proxy.example"})
    network = unreachable_hosts.HostReachability(lambda: 5.0)
    network.note_answer("up.example")
    assert network.explain_failure(FAILED, "far.example", GONE_PAGE) is FAILED


@pytest.mark.parametrize("kind", ["ok", "missing", "window", "backoff", "invalid"])
def test_only_failures_say_something_of_a_host(monkeypatch, kind):
    away(monkeypatch, nameless=["far.example"])
    reply = Reply(kind, 5.0)
    assert unreachable_hosts.HostReachability(lambda: 5.0).explain_failure(reply, "far.example", GONE_PAGE) is reply


def test_a_name_that_cannot_be_resolved_for_now_is_not_unknown(monkeypatch):
    def later(*_, **__):
        raise gaierror(EAI_AGAIN, "try again")

    away(monkeypatch)
    monkeypatch.setattr(unreachable_hosts, "getaddrinfo", later)
    assert unreachable_hosts.HostReachability(lambda: 5.0).explain_failure(FAILED, "far.example", GONE_PAGE) is FAILED


def test_the_mock_tells_where_an_account_has_moved_once_and_who_is_limited():
    posts = posts_of([(name, START, "x") for name in ("ann", "bob", "cy")])
    service = MastodonService(build_world(posts), moved={"ann": "bob", "bob": "ann"}, limited={"ann"})
    with plays(of_service(service)) as (url, _), httpx.Client(base_url=url) as client:
        ann, cy = (client.get(LOOK_UP, params={"acct": name}).json() for name in ("ann", "cy"))
    assert (ann["moved"]["acct"], ann["limited"], "moved" in ann["moved"]) == ("bob", True, False)
    assert not {"moved", "limited"} & set(cy)
