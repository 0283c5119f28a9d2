"""The web source, talk by talk: robots.txt first, every hop by its own host's rules, and what a pick comes to."""

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import a_store
from test_web_wire import HTML, MUSIC, plays, wire

from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Answer, Grant, Node, Pick, Reply, SameAs, Who
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.lab.instant import make_parts
from socialcrawl.mock.service import MockResponse
from socialcrawl.platforms.web.source import WebSource
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.memory_store import MemoryStore
from socialcrawl.storage.sql_store import SqlStore

RULES = (Rule(1, 1.0, "sliding"),)
POLICY = Policy(
    "web", "", "2026-11", {"/*": Endpoint(RULES, RULES, fee=0.00002), "/robots.txt": Endpoint(RULES, RULES)}
)
HERE = "http://h.example/a"
PICK = Pick(7, Node(3), "expand")


def source(**more):
    return WebSource(POLICY, "socialcrawl", **{"hosts": ["*.example"], **more})


def talk_of(pick=PICK, url=HERE, **more):
    (talk,) = source(**more).start_conversations((pick,), {pick.node: Who(url, url)})
    return talk


def converse(talk, *replies):
    """What a talk asked (endpoint and address), and its outcome; all replies are used."""
    left, asked = list(replies), []
    try:
        request = next(talk)
        while True:
            assert request.key == (7, len(asked))
            asked.append((request.endpoint, request.params["url"]))
            request = talk.send(left.pop(0))
    except StopIteration as end:
        assert not left
        (outcome,) = end.value.values()
        return asked, outcome


def rules(text="", at=1.0):
    return Reply("ok", at, Answer(), f"={text}" if text else "")


def moved(to, at=2.0):
    return Reply("ok", at, Answer(), to)


def found(node=3, at=3.0, **more):
    return Reply("ok", at, Answer(1, 2, [8, 9], [1, 0], {node: "x"}, **more))


def test_a_page_is_asked_for_after_the_rules_of_its_host():
    talk = talk_of()
    first = next(talk)
    assert (first.key, first.endpoint, first.params) == (
        (7, 0),
        "h.example/robots.txt",
        {"url": "http://h.example/robots.txt"},
    )
    second = talk.send(rules("User-agent: *\nDisallow: /b"))
    assert (second.key, second.endpoint, second.params) == ((7, 1), "h.example/*", {"url": HERE})
    assert (first.items, first.most, second.items, second.most) == (1, 0, 1, 2)
    with pytest.raises(StopIteration) as end:
        talk.send(found())
    (outcome,) = end.value.value.values()
    assert (outcome.n, outcome.node, outcome.missing, outcome.at, outcome.posts) == (7, 3, None, 3.0, 1)
    assert (outcome.value, outcome.targets.tolist(), outcome.alpha.tolist()) == (compute_worth(2), [8, 9], [1.0, 0.0])


def test_a_look_up_asks_for_headers_only():
    talk = talk_of(Pick(7, Node(3), "resolve"))
    next(talk)
    assert talk.send(rules()).params == {"url": HERE, "method": "HEAD"}


@pytest.mark.parametrize("text", ["User-agent: *\nDisallow: /", "User-agent: SocialCrawl\nDisallow: /a"])
def test_a_page_that_the_rules_forbid_is_not_asked_for(text):
    asked, outcome = converse(talk_of(), rules(text, at=4.0))
    assert (len(asked), outcome.missing, outcome.at) == (1, "opted-out", 4.0)


def test_a_campaign_that_heeds_no_opt_outs_asks_for_no_rules():
    request = next(talk_of(opt_outs=False))
    assert (request.key, request.endpoint, request.params) == ((7, 0), "h.example/*", {"url": HERE, "opt_outs": "no"})
    asked, outcome = converse(talk_of(opt_outs=False), moved("http://c.example/"), found())
    assert (len(asked), outcome.missing) == (2, None)


@pytest.mark.parametrize("kind", ["broken", "lost", "backoff"])
def test_a_host_in_trouble_is_asked_again_later(kind):
    asked, outcome = converse(talk_of(), Reply(kind, 4.0))
    assert (len(asked), outcome.missing, outcome.at) == (1, "temporary", 4.0)
    asked, outcome = converse(talk_of(), rules(), Reply(kind, 4.0))
    assert (len(asked), outcome.missing, outcome.at) == (2, "temporary", 4.0)


@pytest.mark.parametrize(
    ("hosts", "url", "why"),
    [
        ([], HERE, "excluded"),
        (["b.example"], HERE, "excluded"),
        (["*"], "ftp://h.example/", "unknown"),
        (["*"], "", "unknown"),
    ],
)
def test_what_may_not_or_cannot_be_asked_costs_nothing(hosts, url, why):
    asked, outcome = converse(talk_of(url=url, hosts=hosts))
    assert (asked, outcome.missing) == ([], why)


def test_a_page_that_moved_is_the_page_where_it_is_now():
    replies = [rules(), moved("http://h.example/b"), moved("https://c.example/"), rules(), found(12, at=9.0)]
    asked, outcome = converse(talk_of(), *replies)
    assert asked == [
        ("h.example/robots.txt", "http://h.example/robots.txt"),
        ("h.example/*", HERE),
        ("h.example/*", "http://h.example/b"),
        ("c.example/robots.txt", "https://c.example/robots.txt"),
        ("c.example/*", "https://c.example/"),
    ]
    assert (outcome.missing, outcome.value, outcome.at, len(outcome.targets)) == (SameAs(12), 0.0, 9.0, 0)


@pytest.mark.parametrize(
    ("replies", "why"),
    [([rules(), moved(HERE)], "unknown"),
     ([rules(), moved("http://h.example/b"), moved(HERE)], "unknown"),
     ([rules(), moved("http://elsewhere.test/")], "excluded"),
     ([rules("User-agent: *\nDisallow: /b"), moved("http://h.example/b")], "opted-out"),
     ([rules(), moved("http://c.example/"), Reply("broken", 5.0)], "temporary"),
     ([rules(), moved("http://h.example/b"), Reply("missing", 5.0, Answer(missing={4: "deleted"}))], "deleted"),
     ([rules(), Reply("missing", 5.0, Answer(missing={3: "protected"}))], "protected"),
     ([rules(), moved("http://h.example/b"), moved("http://h.example/c"), moved("http://h.example/d")], "unknown")],
)  # fmt: skip
def test_a_way_that_leads_to_no_page_ends_with_a_reason(replies, why):
    _, outcome = converse(talk_of(max_redirects=2), *replies)
    assert outcome.missing == why


def test_rules_that_moved_are_followed_five_times():
    talk = talk_of()
    assert next(talk).endpoint == "h.example/robots.txt"
    for n in range(5):
        request = talk.send(Reply("ok", 1.0, Answer(), f">https://r{n}.example/robots.txt"))
        assert (request.key, request.endpoint) == ((7, n + 1), f"r{n}.example/robots.txt")
    assert talk.send(rules()).endpoint == "h.example/*"
    _, outcome = converse(talk_of(), *[Reply("ok", 1.0, Answer(), ">http://r.example/x")] * 6, found())
    assert outcome.missing is None


def outcome_of(talk, made, store):
    """What a talk comes to by a wire and a store."""
    request = next(talk)
    while True:
        grant = Grant(request, "", 0.0)
        store.reserve(grant)
        try:
            request = talk.send(store.save(grant, made.send(grant)))
        except StopIteration as end:
            (outcome,) = end.value.values()
            return outcome


def test_a_seed_that_is_written_in_another_way_is_the_page_in_its_one_form():
    with plays(lambda *_: MockResponse(200, b"<p>music", {}, HTML)) as (url, asked):
        made, store = wire(url), MemoryStore()
        (node,) = store.enlist(["HTTP://H.example:80/%61"], 0.0)
        (talk,) = source().start_conversations((Pick(7, node, "seed"),), store.accounts([node]))
        outcome = outcome_of(talk, made, store)
        made.options.http.close()
    assert [target for _, _, target, _ in asked] == ["/robots.txt", "/a"]
    (other,) = [Node(n) for n in (0, 1) if n != node]
    assert outcome.missing == SameAs(other)
    assert store.accounts([other])[other] == Who(HERE, HERE)


def test_there_is_no_search():
    with pytest.raises(SettingsError, match="cannot be searched: name pages"):
        source(queries=["music"])
    assert source().width("seed") == source().width("resolve") == 1


PATHS = ["a", "b", "c", "moved", "gone", "private"]


def webpage(method, host, target):
    if target == "/robots.txt":
        return MockResponse(200, b"User-agent: *\nDisallow: /private", {}, "text/plain")
    if target == "/moved":
        return MockResponse(301, b"", {"Location": "/c"}, HTML)
    if target == "/gone":
        return MockResponse(410, b"", {}, HTML)
    links = "".join(f"<a href=/{path}>{path}</a> music, " for path in PATHS)
    return MockResponse(
        200, f"<p>{links}<a href=//{'y' if host == 'x.example' else 'x'}.example/b>other</a>".encode(), {}, HTML
    )


def test_a_campaign_asks_for_the_rules_of_a_host_once_and_for_no_page_twice():
    with a_store("sqlite") as made, plays(webpage) as (url, asked):
        store = SqlStore(made.connection, made.campaign, "web", reuse=AnswerReuse(24.0, MUSIC.hits))
        seeds = store.enlist(["http://x.example/a"], 0.0)
        door, crawl = wire(url, now=lambda: 1_700_000_000.0), crawl_from(seeds)
        work = make_parts(crawl, source(), store, door)
        work.clock.sleep(1_700_000_000.0)
        assert run(work).kind == "done"
        door.options.http.close()
        outcomes = [
            (pick, outcome) for batch, ones in store.history() for pick, outcome in zip(batch, ones, strict=True)
        ]
        everybody = {node for _, one in outcomes for node in (one.node, *one.targets.tolist())}
        urls = {node: who.id for node, who in store.accounts(sorted(everybody)).items()}
    requests = [f"{host}{target}" for _, host, target, _ in asked]
    assert len(requests) == len(set(requests))
    expected = [f"{host}.example/{path}" for host in "xy" for path in ["robots.txt", "a", "b", "c", "moved", "gone"]]
    assert sorted(requests) == sorted(expected)
    told = {urls[pick.node].removeprefix("http://"): outcome for pick, outcome in outcomes}
    assert {path: told[f"x.example/{path}"].missing for path in ("private", "gone", "b")} == {
        "private": "opted-out", "gone": "deleted", "b": None}  # fmt: skip
    here = next(node for node, name in urls.items() if name == "http://y.example/c")
    assert told["y.example/moved"].missing == SameAs(here)
    # That one was answered by what is stored: its links weigh what those of its neighbour do, which was asked for.
    held, fresh = (
        {urls[node]: alpha for node, alpha in zip(one.targets.tolist(), one.alpha.tolist(), strict=True)}
        for one in (told["y.example/c"], told["y.example/b"])
    )
    assert told["y.example/c"].value == compute_worth(len(PATHS))
    assert {url: fresh[url] for url in held if url in fresh} == {url: held[url] for url in held if url in fresh}
    assert 0 < min(held.values()) < max(held.values())


def crawl_from(seeds):
    from known_worlds import collect

    return collect("bfs", seeds)


REPLIES = st.one_of(
    st.builds(rules, st.sampled_from(["", "User-agent: *\nDisallow: /b"])),
    st.builds(moved, st.sampled_from([HERE, "http://h.example/b", "http://c.example/", "http://z.test/"])),
    st.builds(found, st.sampled_from([3, 4])),
    st.builds(Reply, st.sampled_from(["broken", "lost", "backoff", "window", "missing"]), st.just(1.0)),
)


@settings(deadline=None, max_examples=many(150))
@given(st.lists(REPLIES, min_size=20, max_size=20))
def test_a_talk_ends_and_is_the_same_again_whatever_is_answered(replies):
    def told():
        talk, asked = talk_of(), []
        try:
            asked.append(next(talk))
            for number in range(len(replies)):
                asked += [talk.send(replies[number])]
        except StopIteration as end:
            return asked, {n: (o.missing, o.value, o.at, o.targets.tolist()) for n, o in end.value.items()}
        raise AssertionError(asked)

    first = told()
    assert first == told()
    assert [request.key for request in first[0]] == [(7, part) for part in range(len(first[0]))]


def test_a_page_is_read_whole_at_every_visit_as_it_has_no_older_and_newer_parts():
    again = Pick(7, Node(3), "recrawl")
    first, second = (converse(talk_of(pick), rules(), found()) for pick in (PICK, again))
    assert first[0] == second[0]
    assert (second[1].posts, second[1].targets.tolist(), second[1].mark) == (1, [8, 9], "")
    assert source().mark(1_700_000_000.0) == ""
