"""What the tests of changes share: a town that can be crawled for stars or for moons, and campaigns that change."""

from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count

import orjson
from erasure_towns import EndError, Town
from tiny_town import BEGIN, POLICY, Clock, Watcher, page_of, posts_of

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import Parts, run
from socialcrawl.engine.model import Credential, Who
from socialcrawl.platforms.x.source import SEARCH, XSource
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.campaigns import TopicChange, ensure_campaign, read_query_history
from socialcrawl.storage.sql_store import SqlStore
from socialcrawl.storage.versions import read_versions

NAMES = ("PERSON0", "person11", "nobody")
FOUND = {"star": (3, 4, 7), "moon": (9, 12, 3, 15)}  # whom a search finds; another one finds them all


def hits_of(word):
    """The occurrences of a word in a post; posts in another language than English count double in nothing."""
    return lambda text, lang, created_at, urls=None: (
        text.split().count(word) if lang == "en" and created_at >= "2021" else 0
    )


def worded(post):
    """A post with some stars and moons, as its id says."""
    author, j = map(int, post.id.split("-"))
    words = ["star"] * ((author * 3 + j) % 3) + ["moon"] * ((author * 5 + j * 2 + 1) % 4)
    return post._replace(
        text=f"{post.text} {' '.join(words)}",
        lang="fr" if (author + j) % 5 == 0 else "en",
        created_at="2020" if (author * j) % 7 == 1 else "2024",
    )


class Sky(Town):
    """The town, whose people speak of stars and moons; `hits` counts the topic in a post."""

    def __init__(self, word="star", **more):
        super().__init__(Clock(), **more)
        self.hits = hits_of(word)

    def answer(self, endpoint, params, begin):
        page, cursor = super().answer(endpoint, params, begin)
        if endpoint == SEARCH and (asked := params["query"]) in FOUND:
            posts = [posts_of(number)[0] for number in FOUND[asked] if posts_of(number)]
            page, cursor = self.told(self.page(posts)), None
        posts = [worded(post) for post in page.posts]
        hits = [self.hits(post.text, post.lang, post.created_at) for post in posts]
        return replace(page, posts=posts, hits=hits), cursor

    def page(self, posts):
        whole = page_of(posts)
        return replace(whole, answered=tuple(dict.fromkeys(Who(post.author, None) for post in whole.posts)))


class Numbered(Future):
    """What is done, by its number: `wait` hands over sets, whose order shall be the same in every run."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def __hash__(self):
        return self.number


class InOrder(Executor):
    def __init__(self):
        self.numbers = count()

    def submit(self, fn, /, *args, **kwargs):
        done = Numbered(next(self.numbers))
        done.set_result(fn(*args, **kwargs))
        return done


@dataclass
class File:
    """A campaign file in short."""

    word: str = "star"
    name: str = "tiny"
    queries: tuple = ("anything",)
    usernames: tuple = NAMES
    most: int = 4
    estimator: str = "nh-ne-sum"
    steps: int = 9
    pages: int = 9
    seed: int = 3
    more: dict = field(default_factory=dict)

    @property
    def identity(self):
        return {
            "seed": self.seed,
            "topic": {"keywords": [self.word]},
            "seeds": {"search": True, "most": self.most, "usernames": list(self.usernames)},
            "crawl": {"estimator": self.estimator},
            "source": {"platform": "x", "pages_per_user": self.pages},
            **self.more,
        }

    @property
    def settings(self):
        own = {"name": self.name, "budget": {"steps": self.steps}}
        return self.identity | own | {"seeds": {**self.identity["seeds"], "file": None}}

    @property
    def change(self):
        return TopicChange(hits_of(self.word), self.queries)


def begun(connection, file, now=BEGIN, *, change=False, **more):
    """The store of a campaign, which is begun, gone on with, or changed."""
    how = {"change": file.change} if change else {"queries": file.queries}
    return SqlStore(connection, ensure_campaign(connection, file.settings, file.identity, now, **how), "x", **more)


def parts_of(store, wire, file):
    """The parts of a campaign, all made anew, as `build` makes them."""
    known = read_query_history(store.connection, store.campaign, file.queries)
    source = XSource(POLICY, TWEET, known.texts, pages_per_user=file.pages, search_pages=2)
    names = store.enlist(list(file.usernames), wire.clock.now())
    seeds = Seeds(known.queries, names, file.most, topics=known.topics)
    crawl = Collect(seeds, make_estimator(file.estimator, seed=file.seed, switch_after=3), file.steps, source.width)
    planner = WindowPlanner(POLICY, [Credential("main")], Caps())
    return Parts(crawl, source, store, wire, planner, wire.clock, InOrder(), Watcher())


def crawled(store, wire, file, *, size=1, stop=None):
    """What a run said; None: the process died before request number `stop`."""
    wire.last, wire.hits = stop, hits_of(file.word)
    with suppress(EndError):
        return run(parts_of(store, wire, file), size=size)


def replayed(store, wire, file, first, *, size=1):
    """What a fresh crawl picks from pick `first` on, told the history as it is now, and the picks that are stored."""
    crawl = parts_of(store, wire, file).crawl
    chosen, kept = [], []
    for batch, outcomes in store.history():
        if batch[0].n >= first:
            chosen.append(crawl.choose(size, 0.0))
            kept.append(batch)
        crawl.absorb(batch, outcomes)
    return chosen, kept


def rows(store, sql):
    with store.connection.begin():
        return [tuple(row) for row in store.connection.exec_driver_sql(sql)]


def derived(store):
    """All that is derived from the posts of a campaign, bit for bit, in the platform's own names."""
    mine = f"where campaign = {store.campaign}"
    who = {node: key or name for node, key, name in rows(store, "select node, platform_id, username from account")}
    outcomes = f"select n, node, value, occurrences, posts, missing from outcome {mine} order by n"
    links = f"select n, position, node, alpha from link {mine} order by n, position"
    answers = f"select n, part, answer from request {mine} and answer is not null order by n, part"
    return {
        "hit": rows(store, f"select post, occurrences from hit {mine} order by post"),
        "outcome": [(n, who.get(node, node), *more) for n, node, *more in rows(store, outcomes)],
        "link": [(n, position, who[node], alpha) for n, position, node, alpha in rows(store, links)],
        "answer": [(n, part, *answered(text, who)) for n, part, text in rows(store, answers)],
    }


def answered(text, who):
    posts, hits, targets, target_hits, found, missing = orjson.loads(text)
    lines = [[(who[node], more) for node, more in line] for line in (found, missing)]
    return posts, hits, [who[node] for node in targets], target_hits, *lines


def told(store):
    """The versions of a campaign."""
    with store.connection.begin():
        return read_versions(store.connection, store.campaign)


def epochs(store):
    return rows(store, f"select first, why from epoch where campaign = {store.campaign} order by number")
