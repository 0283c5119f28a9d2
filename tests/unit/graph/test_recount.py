"""Pages add up to the same outcome wherever they are counted: read live, replayed, reused, recounted or erased from."""

from dataclasses import dataclass, replace
from itertools import count

import pytest
from example_counts import many
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from stores import AT, a_store, profile, rows, save, timeline, users
from test_links import FOLLOWING, moons, suns
from tiny_town import BEGIN, SETTINGS, close, stored

from socialcrawl.engine.model import Mention, Node, Outcome, Page, Pick, PostRow, Reason, Request, Who, format_time
from socialcrawl.graph.relevance import Links, compute_worth
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.erasure.forgetting import forget
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.reread import PickReadings
from socialcrawl.storage.retopic import recount_topic
from socialcrawl.storage.sql_store import SqlStore

TARGETS = [Who(str(100 + i), f"target{i}") for i in range(4)]
WEIGHTS = {"mention": "mentions", "reply": "replies", "repost": "reposts", "quote": "quotes"}
SUNS, MOONS = 0, 1
LATER = AT + 1.0
NUMBERS = count(10_000)  # of accounts: each example has its own in one database


@dataclass(frozen=True)
class Case:
    """What an account wrote, and how it is read.

    Attributes:
        posts: (occurrences of each topic, (target, kind) of each mention).
        pages: the posts on each page; pages overlap.
        gone: the page at which the account turns out to be deleted; None: it does not.
        follows: targets that the account follows.
        links: the weights of a campaign file.
        erased: posts that are forgotten later.
    """

    posts: list[tuple[tuple[int, int], list[tuple[int, str]]]]
    pages: list[list[int]]
    gone: int | None
    follows: list[int]
    links: dict[str, int]
    erased: set[int]

    @property
    def read(self) -> list[list[int]]:
        return self.pages[: self.gone]


@st.composite
def cases(draw):
    target = st.integers(0, len(TARGETS) - 1)
    mention = st.tuples(target, st.sampled_from([*WEIGHTS]))
    post = st.tuples(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.lists(mention, max_size=4))
    posts = draw(st.lists(post, min_size=1, max_size=5))
    place = st.integers(0, len(posts) - 1)
    pages = draw(st.lists(st.lists(place, min_size=1, max_size=4), min_size=1, max_size=4))
    gone = draw(st.none() | st.integers(0, len(pages)))
    weights = st.dictionaries(st.sampled_from([*WEIGHTS.values(), "follows"]), st.integers(0, 3))
    follows = draw(st.lists(target, unique=True)) if gone is None else []
    return Case(posts, pages, gone, follows, draw(st.just({}) | weights), draw(st.sets(place, min_size=1)))


def weight(links, kind):
    if not links:
        return int(kind != "follows")
    return links.get(kind, 0 if kind in ("mentions", "follows") else links.get("mentions", 0))


def add_up(case, topic, without=frozenset()):
    """(posts, occurrences, {target: occurrences}) of what was read, as section 2.3 says, post by post."""
    posts = hits = 0
    links, seen = {}, set()
    for post in [post for page in case.read for post in page if post not in without]:
        many = 0 if post in seen else case.posts[post][0][topic]
        posts, hits = posts + 1, hits + many
        kinds = {}
        for target, kind in case.posts[post][1]:
            kinds.setdefault(target, kind)
        for target, kind in kinds.items():
            if factor := weight(case.links, WEIGHTS[kind]):
                links[target] = links.get(target, 0) + factor * many
        seen.add(post)
    for target in case.follows:
        if factor := weight(case.links, "follows"):
            links[target] = links.get(target, 0) + factor
    return posts, hits, {TARGETS[target].username: many for target, many in links.items()}


def is_missing(case):
    return case.gone == 0


def expected(case, topic, without=frozenset()):
    """What is known of the account: (posts, occurrences, value, [(target, alpha)])."""
    if is_missing(case):
        return 0, 0, 0.0, []
    posts, hits, links = add_up(case, topic, without)
    return posts, hits, compute_worth(hits), [(name, compute_worth(many)) for name, many in links.items()]


class Account:
    """An account of one example, under a number of its own, and the pages that it answers with."""

    def __init__(self, case: Case, topic: int) -> None:
        self.case, self.topic, self.key = case, topic, str(next(NUMBERS))

    def with_topic(self, topic: int) -> "Account":
        other = Account(self.case, topic)
        other.key = self.key
        return other

    def name(self, post: int) -> str:
        return f"{self.key}-{post}"

    def page(self, posts):
        found = [self.case.posts[post] for post in posts]
        texts = [" ".join(["sun"] * hits[SUNS] + ["moon"] * hits[MOONS]) for hits, _ in found]
        written = [
            PostRow(self.name(post), self.key, None, text, *[None] * 14)
            for post, text in zip(posts, texts, strict=True)
        ]
        mentions = [Mention(i, TARGETS[who], kind) for i, (_, named) in enumerate(found) for who, kind in named]
        return Page(written, [hits[self.topic] for hits, _ in found], mentions)

    def node(self, store, n=0):
        """Look the account up, as pick `n`."""
        pick = Pick(n, Node(-1), "resolve")
        store.open((pick,))
        asked = Request((n, 0), "/2/users", {"ids": self.key})
        (node,) = save(store, users(profile(self.key, f"name{self.key}")), n, asked=asked).answer.found
        store.finish((pick,), [Outcome(n, Node(node), AT)])
        return node

    def replies(self, store, n, kept=()):
        """Answer the requests of pick `n` one by one: from `kept`, with what the database has, or with a new page."""
        kept = dict(kept)
        for part, posts in enumerate(self.case.pages, 1):
            asked = timeline(n, part, self.key, f"c{part}")
            if part - 1 == self.case.gone:
                page = Page(missing=[(Who(self.key, None), Reason.DELETED)])
                yield save(store, page, n, asked=asked, kind="missing")
                return
            yield kept.get(asked.key) or store.held(asked, LATER) or save(store, self.page(posts), n, asked=asked)
        if self.case.gone is None:
            asked = Request((n, 1000), FOLLOWING, {"id": self.key})
            page = Page(follows=[TARGETS[who] for who in self.case.follows])
            yield kept.get(asked.key) or store.held(asked, LATER) or save(store, page, n, asked=asked)

    def crawl(self, store, n=1):
        """Read the account as pick `n`, whose batch stays open; the pick and what was read."""
        pick = Pick(n, Node(self.node(store, n - 1)), "expand")
        store.open((pick,))
        return pick, read(pick, self.case, self.replies(store, n))


def read(pick, case, replies):
    reading = Reading(pick, weight(case.links, "follows"))
    for reply in replies:
        if not reading.take(reply):
            break
    return reading.make_outcome()


def replay(store, pick, case):
    return read(pick, case, [reply for _, reply in sorted(store.replies((pick,)).items())])


def names(store, nodes):
    who = store.accounts([Node(node) for node in nodes])
    return [who[node].username for node in nodes]


def shown(store, outcome):
    links = zip(names(store, outcome.targets.tolist()), outcome.alpha.tolist(), strict=True)
    return outcome.posts, outcome.occurrences, outcome.value, [*links]


def written(store, pick):
    """What the tables say of a pick."""
    mine = f"campaign = {store.campaign} and n = {pick.n}"
    ((posts, hits, value),) = rows(store, f"select posts, occurrences, value from outcome where {mine}")
    links = rows(store, f"select node, alpha from link where {mine} order by position")
    return posts, hits, value, list(zip(names(store, [node for node, _ in links]), [a for _, a in links], strict=True))


def a_campaign(made, links, topic, hours=0.0):
    hits = (suns, moons)[topic]
    number = ensure_campaign(
        made.connection, SETTINGS | {"name": f"c{next(NUMBERS)}", "crawl": {"links": links}}, {}, BEGIN
    )
    weights = Links.of(links)
    return SqlStore(made.connection, number, "x", links=weights, reuse=AnswerReuse(hours, hits, links=weights))


@pytest.fixture(scope="module")
def made(database, tmp_path_factory):
    from postgres import a_place

    with a_place(database, tmp_path_factory.mktemp("recount"), empty=True) as place:
        opened = stored(place)
        yield opened
        close(opened)


def on_examples(test):
    """Run a test on pages that overlap with weighted links, and on others."""
    both = [(1, 2), (2, 1)]
    posts = [(many, [(0, "mention"), (i + 1, "reply")]) for i, many in enumerate(both)]
    overlapping = Case(posts, [[0, 1], [1, 0]], None, [3, 0], {"mentions": 1, "replies": 2, "follows": 2}, {0})
    plain = replace(overlapping, pages=[[0], [0, 1], [1]], follows=[], links={})
    longer = replace(overlapping, posts=[*posts, ((1, 1), [(2, "quote")])], pages=[[0, 1], [1, 2]])
    # After an erasure of post 0, post 2 is on page 3, which is kept, and on page 4, which is requested again.
    some = [[], [(0, "mention")], [(0, "mention")] * 2, [(0, "mention")] * 4, [(0, "mention")] * 3]
    counted = [(0, 0), (0, 0), (2, 0), (0, 0), (0, 0)]
    pages = [[0, 0, 0, 0], [0, 0], [3, 2, 3, 4], [0, 0, 2, 0]]
    partly = Case([*zip(counted, some, strict=True)], pages, None, [], {"mentions": 0}, {0})
    quick = settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
    test = given(cases())(quick(test))
    for case in (overlapping, plain, longer, partly):
        test = example(case)(test)
    return test


@given(cases())
@settings(deadline=None, max_examples=many(30))
def test_in_memory_pages_add_up_as_section_2_3_says(case):
    with a_store("memory") as store:
        store.links = Links.of(case.links)
        pick, outcome = Account(case, SUNS).crawl(store)
        assert shown(store, outcome) == expected(case, SUNS)
        assert shown(store, replay(store, pick, case)) == expected(case, SUNS)


@on_examples
def test_pages_add_up_alike_live_replayed_reused_and_for_another_topic(made, case):
    account = Account(case, SUNS)
    first = a_campaign(made, case.links, SUNS)
    pick, outcome = account.crawl(first)
    assert shown(first, outcome) == expected(case, SUNS)
    assert shown(first, replay(first, pick, case)) == expected(case, SUNS)
    second = a_campaign(made, case.links, MOONS, hours=1e6)
    pick, outcome = account.with_topic(MOONS).crawl(second)
    assert shown(second, outcome) == expected(case, MOONS)
    with made.connection.begin():
        recount_topic(made.connection, second.campaign, suns)
    if not is_missing(case):
        assert shown(second, replay(second, pick, case)) == expected(case, SUNS)
    second.finish((pick,), [outcome])
    with made.connection.begin():
        recount_topic(made.connection, second.campaign, suns)
    assert written(second, pick) == expected(case, SUNS)
    if not is_missing(case):
        assert recounted(second, pick, suns) == add_up(case, SUNS)


def recounted(store, pick, hits):
    """What a verification counts."""
    with store.connection.begin():
        reread = PickReadings(store.connection, store.campaign, hits)
        pages = reread.read_pages(pick.n, pick.n, every=True)
        ids = [key for _, page in pages if page is not None for key in page.ids]
        sums, _ = reread.sum_pages(pages, reread.count_hits(ids))
    found = sums[pick.n]
    links = zip(names(store, found.targets), found.targets.values(), strict=True)
    return found.posts, found.hits, dict(links)


def erase(made, *names):
    with made.connection.begin():
        forget(made.connection, read_order([], names, None, None), format_time(AT))


def left(case, topic, without):
    """What is known after an erasure: links that are left stay in their order."""
    *numbers, links = expected(case, topic, without)
    before = [name for name, _ in expected(case, topic)[3]]
    return *numbers, sorted(links, key=lambda link: before.index(link[0]))


@on_examples
def test_what_is_left_after_an_erasure_is_what_the_posts_left_add_up_to(made, case):
    account = Account(case, SUNS)
    first, second = a_campaign(made, case.links, SUNS), a_campaign(made, case.links, MOONS, hours=1e6)
    for store, mine in ((first, account), (second, account.with_topic(MOONS))):
        pick, outcome = mine.crawl(store)
        store.finish((pick,), [outcome])
    erase(made, *(account.name(post) for post in sorted(case.erased)))
    assert written(first, pick) == left(case, SUNS, case.erased)
    assert written(second, pick) == left(case, MOONS, case.erased)


@on_examples
def test_an_open_batch_goes_on_from_what_an_erasure_left_and_counts_pages_once_that_are_asked_for_again(made, case):
    account, store = Account(case, SUNS), a_campaign(made, case.links, SUNS)
    pick, _ = account.crawl(store)
    erase(made, *(account.name(post) for post in sorted(case.erased)))
    store = SqlStore(store.connection, store.campaign, "x", links=store.links)  # as a new process finds it
    kept = store.replies((pick,))
    pages = {part for part, _ in enumerate(case.read, 1) if (pick.n, part) in kept}
    touched = {part for part, page in enumerate(case.read, 1) if case.erased & {*page}}
    assert pages == {*range(1, len(case.read) + 1)} - (set() if Links.of(case.links).plain else touched)
    outcome = read(pick, case, account.replies(store, pick.n, kept))
    posts, hits, value, links = expected(case, SUNS, case.erased)
    found = shown(store, outcome)
    assert (*found[:3], sorted(found[3])) == (posts, hits, value, sorted(links))
    store.finish((pick,), [outcome])
    assert sorted(written(store, pick)[3]) == sorted(links)
    if not (others := {post for page in case.read for post in page} - case.erased):
        return
    erase(made, account.name(max(others)))
    posts, hits, value, links = expected(case, SUNS, case.erased | {max(others)})
    found = written(store, pick)
    assert (*found[:3], sorted(found[3])) == (posts, hits, value, sorted(links))
