"""A probe of the web: HEAD tells whether a page is there; what has moved, gone, or says so with status 200 is not."""

from contextlib import ExitStack
from email.utils import formatdate

import httpx
import pyarrow as pa
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from known_worlds import collect
from pyarrow import parquet
from stores import a_store, reopened
from test_mock_site import MUSIC, PAGES, columns, site_of
from test_probe_mastodon import away
from test_web_wire import HTML, of_service, plays, wire

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Answer, Grant, Node, Pick, Reply, Request, Stop, Who, format_time
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.lab.instant import make_parts
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.service import MockResponse
from socialcrawl.platforms.http_client import HttpAnswer
from socialcrawl.platforms.unreachable_hosts import DOWN, NOWHERE
from socialcrawl.platforms.web.classify import says_not_found
from socialcrawl.platforms.web.source import NO_HEAD, WebSource
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.memory_store import MemoryStore
from socialcrawl.storage.sql_store import SqlStore

HOST, NOW = "http://wiki.example", 5.0
PICK = Pick(7, Node(3), "probe")
HERE = "http://h.example/a"


def source_of(**more):
    return WebSource(load_policy("web"), "socialcrawl", **{"hosts": ["*"], **more})


def asked(talk, made, store):
    """(method, path) of each request of a talk, and its outcome."""
    told, request = [], next(talk)
    while True:
        told.append((request.params.get("method", "GET"), request.params["url"].partition(".example")[2]))
        grant = Grant(request, "public", NOW)
        store.reserve(grant)
        try:
            request = talk.send(store.save(grant, made.send(grant)))
        except StopIteration as end:
            (outcome,) = end.value.values()
            return told, outcome


def visited(made, path, act="probe", store=None, **more):
    store = MemoryStore() if store is None else store
    (node,) = store.enlist([HOST + path], 0.0)
    pick = Pick(7, node, act)
    store.open((pick,))
    (talk,) = source_of(**more).start_conversations((pick,), store.accounts([node]))
    return asked(talk, made, store)


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """A wire to the mock's web site."""
    file = tmp_path_factory.mktemp("site") / "pages.parquet"
    parquet.write_table(pa.table(columns(PAGES)), file)
    with ExitStack() as stack:
        mock = stack.enter_context(serve_in_thread(platforms=(), pages=file, site_limit=10_000))
        made = wire(mock.url)
        stack.callback(made.close)
        yield made


RULES = ("GET", "/robots.txt")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/wiki/Art", None),
        ("/wiki/Nobody", "unknown"),
        ("/gone/Art", "deleted"),
        ("/closed/Art", "protected"),
        ("/moved/Art", "redirected"),
        ("/loop/Art", "redirected"),
        ("/hidden/Art", None),
        ("/soft/Art", None),
    ],
)
def test_a_page_is_asked_for_by_its_headers_alone(door, path, why):
    requests, outcome = visited(door, path)
    assert requests == [RULES, ("HEAD", path)]
    assert (outcome.value, outcome.missing, outcome.at) == (float(why is None), why, NOW)
    assert (outcome.posts, len(outcome.targets)) == (0, 0)


def test_a_page_that_may_not_be_asked_for_is_not(door):
    requests, outcome = visited(door, "/private/Art")
    assert (requests, outcome.value, outcome.missing) == ([RULES], 0.0, "opted-out")
    requests, outcome = visited(door, "/private/Art", opt_outs=False)
    assert (requests, outcome.value, outcome.missing) == ([("HEAD", "/private/Art")], 1.0, None)


def test_a_server_without_head_is_asked_for_the_page(door):
    requests, outcome = visited(door, "/headless/Art")
    assert requests == [RULES, ("HEAD", "/headless/Art"), ("GET", "/headless/Art")]
    assert (outcome.value, outcome.missing, outcome.posts) == (1.0, None, 0)
    assert visited(door, "/headless/Nobody")[1].missing == "unknown"


@pytest.mark.parametrize(
    ("path", "why"),
    [("/soft/Art", "soft-404"), ("/wiki/Art", None), ("/wiki/Nobody", "unknown"), ("/headless/Art", None)],
)
def test_pages_that_say_with_status_200_that_there_are_none_take_a_get(door, path, why):
    store = MemoryStore()
    requests, outcome = visited(door, path, store=store, soft=True)
    assert requests == [RULES, ("GET", path)]
    assert (outcome.value, outcome.missing, outcome.posts) == (float(why is None), why, 0)


def test_what_is_shown_to_some_only_counts_as_there_on_request(door):
    outcome = visited(door, "/closed/Art", activity=Activity(protected=True))[1]
    assert (outcome.value, outcome.missing) == (1.0, None)


def test_a_page_that_has_moved_is_the_page_where_it_is_now_on_request(door):
    store = MemoryStore()
    requests, outcome = visited(door, "/moved/Art", store=store, redirects=True)
    assert requests == [RULES, ("HEAD", "/moved/Art"), ("HEAD", "/wiki/Art")]
    node = outcome.missing.node
    assert (outcome.value, store.accounts([node])[node].id) == (0.0, f"{HOST}/wiki/Art")
    assert visited(door, "/moved/Nobody", redirects=True)[1].missing == "unknown"
    requests, outcome = visited(door, "/loop/Art", redirects=True)
    assert (len(requests), outcome.missing) == (3, "redirected")


def test_the_last_change_of_a_page_is_its_last_activity(door):
    epoch = format_time(0.0)  # the mock's pages say that they were changed then
    assert visited(door, "/wiki/Art")[1].mark == epoch
    told = [visited(door, "/wiki/Art", activity=Activity(span))[1] for span in (NOW, NOW - 1)]
    assert [(one.value, one.mark, one.missing) for one in told] == [(1.0, epoch, None), (0.0, epoch, None)]
    with plays(lambda *_: MockResponse(200, b"x", {}, HTML)) as (url, _):
        made = wire(url)
        silent, counts = (visited(made, "/wiki/Art", activity=Activity(9e9, untold=told))[1] for told in (False, True))
        made.close()
    assert (silent.value, silent.mark, silent.missing) == (0.0, "", None)
    assert (counts.value, counts.mark, counts.missing) == (1.0, "", None)


def answering(told, path="/a", **more):
    """The outcome of a probe where every page is answered so."""
    with plays(lambda method, host, target: MockResponse(404) if target == "/robots.txt" else told) as (url, _):
        made = wire(url)
        outcome = visited(made, path, **more)[1]
        made.close()
    return outcome


@pytest.mark.parametrize(
    ("status", "why"),
    [(200, None), (203, None), (301, "redirected"), (302, "redirected"), (307, "redirected"), (308, "redirected"),
     (400, "unknown"), (401, "protected"), (404, "unknown"), (410, "deleted"), (451, "protected"), (500, "temporary"),
     (503, "temporary")],
)  # fmt: skip
@pytest.mark.parametrize("soft", [False, True])
def test_every_status_is_a_reason(status, why, soft):
    outcome = answering(MockResponse(status, b"", {}, HTML), soft=soft)
    assert (outcome.value, outcome.missing) == (float(why is None), why)


def test_what_is_no_text_is_a_page_all_the_same():
    assert answering(
        MockResponse(200, b"%PDF", {"Last-Modified": formatdate(1, usegmt=True)}, "application/pdf")
    ).mark == format_time(1.0)
    assert answering(MockResponse(200, b"Error 404", {}, "application/pdf"), soft=True).value == 1.0


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_a_server_that_knows_no_head_at_all_may_say_501(method):
    def answer(asked_by, host, target):
        return (
            MockResponse(404)
            if target == "/robots.txt"
            else MockResponse(501 if asked_by == method else 200, b"x", {}, HTML)
        )

    with plays(answer) as (url, _):
        made = wire(url)
        outcome = visited(made, "/a", soft=method == "GET")[1]
        made.close()
    assert (outcome.value, outcome.missing) == ((1.0, None) if method == "HEAD" else (0.0, "temporary"))


LONG = "words of a page that says something " * 60


@pytest.mark.parametrize(
    ("title", "text", "gone"),
    [
        ("Page Not Found", LONG, True),
        ("Jazz", f"{LONG} page not found {LONG}", True),
        ("Jazz", f"{LONG} ERROR 404", True),
        ("Seite nicht gefunden", "Leider", True),
        ("Jazz", LONG, False),
        ("Area code 404", "Georgia has 404", False),
    ],
)
def test_a_page_is_none_that_says_so_in_the_words_of_the_paper_or_in_other_languages(title, text, gone):
    assert says_not_found(title, text) == gone
    html = f"<title>{title}</title><p>{text}".encode()
    assert answering(MockResponse(200, html, {}, HTML), soft=True).missing == ("soft-404" if gone else None)
    assert answering(MockResponse(200, html, {}, HTML)).missing is None


def replayed(talk, kept):
    """The outcome of a talk from what a store has kept."""
    request = next(talk)
    try:
        while True:
            request = talk.send(kept[request.key])
    except StopIteration as end:
        (outcome,) = end.value.values()
        return outcome


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_what_was_stored_of_a_probe_is_replayed_to_the_same_outcome(door, kind):
    with a_store(kind) as store:
        requests, outcome = visited(door, "/headless/Art", store=store, activity=Activity(NOW))
        again = reopened(store)
        (pick,) = again.unfinished()
        kept = again.replies((pick,))
        (talk,) = source_of(activity=Activity(1.0)).start_conversations((pick,), again.accounts([pick.node]))
        found = replayed(talk, kept)
    assert (len(requests), outcome.value, found.value, found.mark) == (3, 1.0, 0.0, outcome.mark)


@pytest.mark.parametrize("act", ["seed", "expand", "walk"])
def test_a_walk_reads_a_page_as_other_visits_do(door, act):
    requests, outcome = visited(door, "/wiki/Caf%25C3%25A9", act=act)
    assert [method for method, _ in requests] == ["GET", "GET"]
    assert (outcome.posts, outcome.value, len(outcome.targets)) == (
        1,
        compute_worth(MUSIC.count(PAGES["Caf%C3%A9"][0])),
        3,
    )


def test_nobody_can_be_asked_who_links_to_a_page():
    source = source_of()
    assert (source.width("probe"), source.width("walk"), source.width("inward")) == (1, 1, 0)


def test_a_probe_is_not_answered_by_what_a_visit_has_read():
    with a_store("sqlite") as made, plays(of_service(site_of(PAGES))) as (url, targets):
        store = SqlStore(made.connection, made.campaign, "web", reuse=AnswerReuse(24.0, MUSIC.hits))
        seeds = store.enlist([f"{HOST}/wiki/Paris"], 0.0)
        door = wire(url, now=lambda: 1_700_000_000.0)
        work = make_parts(collect("bfs", seeds, 1), source_of(), store, door)
        work.clock.sleep(1_700_000_000.0)
        assert isinstance(run(work), Stop)
        before = len(targets)
        (talk,) = source_of().start_conversations((Pick(99, seeds[0], "probe"),), store.accounts(seeds))
        assert store.held(next(talk), 1_700_000_001.0) is None
        door.close()
    assert before >= 2


def failing(monkeypatch, came, nameless=()):
    """A wire by which a host has answered, and then all that comes is `came`."""
    away(monkeypatch, nameless=nameless, connects=False)
    made = wire(None)
    monkeypatch.setattr(made.options.http, "fetch", lambda *_, **__: HttpAnswer("", 404, httpx.Headers(), b"", NOW))
    made.send(Grant(Request((0, 0), "up.example/robots.txt", {"url": "http://up.example/robots.txt"}), "public", NOW))
    monkeypatch.setattr(made.options.http, "fetch", lambda *_, **__: came)
    made.close()
    return made


FAILURES = [Reply("broken", NOW), Reply("lost", NOW), HttpAnswer("", 502, httpx.Headers(), b"", NOW)]


@pytest.mark.parametrize("opt_outs", [True, False])
@pytest.mark.parametrize("came", FAILURES)
def test_a_host_that_has_no_name_any_more_is_asked_once_and_unreachable(monkeypatch, came, opt_outs):
    made = failing(monkeypatch, came, ["wiki.example"])
    requests, outcome = visited(made, "/a", opt_outs=opt_outs)
    assert (len(requests), outcome.value, outcome.missing) == (1, 0.0, "unreachable")


class Kinds(MemoryStore):
    """A store that notes the kinds of replies."""

    def __init__(self):
        super().__init__()
        self.kinds = []

    def save(self, grant, reply):
        self.kinds.append(reply.kind)
        return super().save(grant, reply)


@pytest.mark.parametrize("opt_outs", [True, False])
@pytest.mark.parametrize("came", FAILURES)
@pytest.mark.parametrize("act", ["probe", "expand", "walk"])
def test_a_host_in_trouble_is_asked_again_later_and_waited_for_only_by_other_visits(monkeypatch, came, opt_outs, act):
    store, made = Kinds(), failing(monkeypatch, came)
    requests, outcome = visited(made, "/a", act, store, opt_outs=opt_outs)
    assert (len(requests), outcome.value, outcome.missing, outcome.at) == (1, 0.0, "temporary", NOW)
    assert store.kinds == ["missing" if act == "probe" else getattr(came, "kind", "broken")]


def talk_of(url=HERE, **more):
    (talk,) = source_of(**more).start_conversations((PICK,), {PICK.node: Who(url, url)})
    return talk


@pytest.mark.parametrize(
    ("url", "hosts", "why"), [(HERE, ["b.example"], "excluded"), ("ftp://h.example/", ["*"], "unknown")]
)
def test_what_may_not_or_cannot_be_asked_costs_nothing(url, hosts, why):
    with pytest.raises(StopIteration) as end:
        next(talk_of(url, hosts=hosts, activity=Activity(protected=True)))
    assert (end.value.value[7].missing, end.value.value[7].value) == (why, 0.0)


def test_too_many_redirects_end_as_such():
    talk = talk_of(redirects=True, opt_outs=False, max_redirects=3)
    next(talk)
    for n in range(3):
        assert talk.send(Reply("ok", 1.0, Answer(), f"http://h.example/{n}")).params["url"] == f"http://h.example/{n}"
    with pytest.raises(StopIteration) as end:
        talk.send(Reply("ok", 2.0, Answer(), "http://h.example/9"))
    assert (end.value.value[7].missing, end.value.value[7].at) == ("redirected", 2.0)


REPLIES = st.one_of(
    st.builds(
        Reply,
        st.sampled_from(["ok", "missing", "broken", "lost", "window", "backoff", "held"]),
        st.just(1.0),
        st.builds(
            Answer,
            found=st.sampled_from([{}, {3: "x"}, {4: "y"}]),
            missing=st.sampled_from([{}, {3: "deleted"}, {3: "redirected"}]),
            active=st.sampled_from([{}, {3: "2026-01-02"}, {4: "2026-01-02"}]),
        ),
        st.sampled_from([None, "", NO_HEAD, NOWHERE, DOWN, "=User-agent: *\nDisallow: /b", HERE, "http://h.example/b"]),
    ),
)


@settings(deadline=None, max_examples=many(80))
@given(st.lists(REPLIES, min_size=20, max_size=20), st.booleans(), st.booleans())
def test_a_talk_ends_and_only_what_is_there_has_a_value_whatever_is_answered(replies, redirects, soft):
    def told():
        talk, requests = talk_of(redirects=redirects, soft=soft), []
        try:
            requests.append(next(talk))
            for reply in replies:
                requests += [talk.send(reply)]
        except StopIteration as end:
            return requests, end.value[7]
        raise AssertionError(requests)

    requests, outcome = told()
    again, other = told()
    assert (requests, outcome.value, outcome.missing) == (again, other.value, other.missing)
    assert [request.key for request in requests] == [(7, part) for part in range(len(requests))]
    assert all(isinstance(request, Request) and "probe" in request.params for request in requests)
    assert (outcome.value == 1.0) == (outcome.missing is None)
