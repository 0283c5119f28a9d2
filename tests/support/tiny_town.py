"""A small town that answers like X: look-ups, a search, timelines in pages of three posts; its clock and its doors."""

from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from math import floor
from pathlib import Path

from limit_referees import Fixed, said

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import Parts
from socialcrawl.engine.model import AccountRow, Credential, Mention, Node, Page, PostRow, Reply, Who
from socialcrawl.platforms.x.source import BY_ID, BY_NAME, SEARCH, TIMELINE, XSource
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.sql_store import SqlStore

PEOPLE = 18
SUSPENDED, PROTECTED = 5, 11
BEGIN = 1_700_000_000.0
K, D = 6, 20.0
POLICY = Policy(
    "x",
    "",
    "2026",
    {TIMELINE: Endpoint((Rule(K, D),), (), 3), SEARCH: Endpoint((Rule(K, D),), (), 4),
     BY_ID: Endpoint((Rule(K, D),), (), 100, "user"), BY_NAME: Endpoint((Rule(K, D),), (), 100, "user")},
    {"post": 0.005, "user": 0.01},
)  # fmt: skip
SETTINGS = {"name": "tiny", "seed": 1, "source": {"platform": "x"}}


def person(number: int) -> Who:
    return Who(str(1000 + number), f"Person{number}")


def posts_of(number: int) -> list[tuple[PostRow, int, list[int]]]:
    """(post, occurrences of the topic, people mentioned) of one person; nobody, some or nine posts."""
    found = []
    for j in range((number * 7 + 2) % 10):
        row = PostRow(f"{number}-{j}", str(person(number).id), None, f"post {j}", *[None] * 14)
        near = dict.fromkeys([(number * 7 + j * 5 + 1) % PEOPLE, (number + j + 2) % PEOPLE])
        found.append((row, (number * 3 + j) % 3, list(near)))
    return found


def page_of(posts, **more) -> Page:
    mentions = [Mention(i, person(who), "mention") for i, (_, _, whom) in enumerate(posts) for who in whom]
    return Page(posts=[post for post, _, _ in posts], hits=[hits for _, hits, _ in posts], mentions=mentions, **more)


def profile(number: int) -> AccountRow:
    return AccountRow(*person(number), f"P {number}", *[None] * 6, number == PROTECTED, None, None)


@dataclass
class Clock:
    """A clock that is moved by hand: sleeping is arriving."""

    time: float = BEGIN
    stopped: bool = False
    slept: list[float] = field(default_factory=list)

    def now(self):
        return self.time

    def sleep(self, until):
        self.slept.append(until)
        self.time = max(self.time, until)

    def interrupted(self):
        return self.stopped


@dataclass
class Wire:
    """The town's answers; `calls` is what was paid for, `faults` maps the number of a call to a kind of failure."""

    clock: Clock
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)
    referees: dict[str, Fixed] = field(default_factory=dict)

    def send(self, grant):
        request, at = grant.request, self.clock.now()
        referee = self.referees.setdefault(request.endpoint, Fixed(K, D))
        limit, date = said(referee, referee.receive(at), 0.0), float(floor(at))
        number = len(self.calls)
        token = request.params.get("pagination_token") or request.params.get("next_token") or ""
        asked = {key: value for key, value in request.params.items() if key in ("id", "ids", "usernames", "query")}
        self.calls.append((request.endpoint, str(asked), token))
        if referee.windows[-1][1] > K:
            return Reply("window", at, date=date, limits=[limit], status=429, why="too many")
        if kind := self.faults.get(number):
            return Reply(kind, at, status=503 if kind == "broken" else 0, why=kind)
        rows, cursor = self.answer(request.endpoint, request.params, int(token or 0))
        kind = "missing" if rows.missing and not (rows.posts or rows.accounts) else "ok"
        cost = 500 * len(rows.posts) + 1000 * len(rows.accounts)
        return Reply(kind, at, rows, cursor, cost, 200, date, [limit])

    def answer(self, endpoint, params, begin):
        if endpoint in (BY_ID, BY_NAME):
            return self.look_up(params.get("ids", params.get("usernames")).lower().split(","), endpoint == BY_ID), None
        if endpoint == SEARCH:
            found = [posts_of(number)[0] for number in (3, 4, SUSPENDED, 7, 3, 9, 12) if posts_of(number)]
            whole = page_of(found[begin : begin + 4])
            authors = tuple(dict.fromkeys(Who(post.author, None) for post in whole.posts))
            return Page(whole.posts, whole.hits, whole.mentions, (), authors), "4" if begin == 0 else None
        number = int(params["id"]) - 1000
        if number in (SUSPENDED, PROTECTED):
            return Page(missing=[(Who(params["id"], None), "suspended" if number == SUSPENDED else "protected")]), None
        posts = posts_of(number)
        return page_of(posts[begin : begin + 3]), str(begin + 3) if begin + 3 < len(posts) else None

    def look_up(self, names, by_id):
        numbers = {str(person(n)[0 if by_id else 1]).lower(): n for n in range(PEOPLE) if n != SUSPENDED}
        found = [numbers[name] for name in names if name in numbers]
        missing = [
            (Who(name, None) if by_id else Who(None, name), "suspended") for name in names if name not in numbers
        ]
        hidden = [(person(n), "protected") for n in found if n == PROTECTED]
        return Page(
            accounts=[profile(n) for n in found], answered=[person(n) for n in found], missing=[*hidden, *missing]
        )


class AtOnce(Executor):
    """A pool without threads: what is submitted is done."""

    def submit(self, fn, /, *args, **kwargs):
        done = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Watcher:
    def __init__(self):
        self.seen = []

    def sent(self, grant):
        pass

    def landed(self, grant, reply):
        self.seen.append(("landed", grant.request.key, reply.kind))

    def learned(self, batch, outcomes):
        self.seen.append(("learned", batch[0].n, len(outcomes)))

    def waits(self, wait):
        self.seen.append(("waits", wait.until))


def parts_of(store, wire, *, steps=14, estimator="nh-ne-sum", caps=None, pool=None, planner=None) -> Parts:
    """A crawl of the town, all made anew, on `store`; person 0 and 11 are named, the search finds the others."""
    source = XSource(POLICY, TWEET, ["telescope"], pages_per_user=9, search_pages=2)
    names = store.enlist(["PERSON0", "person11", "nobody"], wire.clock.now())
    crawl = Collect(Seeds([Node(-1)], names, 4), make_estimator(estimator, seed=3, switch_after=3), steps, source.width)
    planner = planner or WindowPlanner(POLICY, [Credential("main")], caps or Caps())
    return Parts(crawl, source, store, wire, planner, wire.clock, pool or AtOnce(), Watcher())


def stored(path: Path) -> SqlStore:
    connection = connect(path)
    return SqlStore(connection, ensure_campaign(connection, SETTINGS, {}, BEGIN), "x")


def close(store: SqlStore) -> None:
    store.connection.close()
    store.connection.engine.dispose()


def story(store):
    """What a campaign did, in the platform's own names: every pick with what it found, bit for bit."""
    told = []
    for batch, outcomes in list(store.history()):
        for pick, outcome in zip(batch, outcomes, strict=True):
            nodes = [pick.node, *outcome.targets.tolist()]
            who = store.accounts([node for node in nodes if node >= 0])
            ids = [who[node].id or who[node].username if node >= 0 else node for node in nodes]
            told.append(
                (pick.n, batch[0].n, pick.act, pick.score, pick.x, *ids, outcome.value, *outcome.alpha.tolist(),
                 str(outcome.missing or "").partition(":")[0], outcome.posts, outcome.occurrences)
            )  # fmt: skip
    return told
