"""The tiny town for campaigns that refresh and that sample: when people last posted, and who mentions them.

Besides the troubles of the town, one person goes by two names, and some requests fail whenever they are sent.
"""

from dataclasses import replace
from datetime import UTC, datetime
from math import ceil

import numpy as np
from tiny_town import BEGIN, PEOPLE, POLICY, SETTINGS, AtOnce, Clock, Watcher, Wire, page_of, person, posts_of, profile

from socialcrawl.crawls.refresh.crawl import Refresh
from socialcrawl.crawls.refresh.rules import RefreshRules as Order
from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import Parts
from socialcrawl.engine.model import Credential, Node, Outcome, Page, Pick, Reply, Who
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.focusing import FocusedSource, Predicate
from socialcrawl.platforms.x.source import BY_ID, BY_NAME, MENTIONS, TIMELINE, XSource
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.sql_store import SqlStore

DAY, WIDTH = 86_400.0, 3

WITHIN = 100 * DAY
ALIAS, MEANT = "Renamed4", 4  # a name that person 4 is also known by
OFTEN = 2  # occurrences of a narrow topic, of which whoever speaks of it at all is on the wider one
DULL, DEAF = 1, 10  # requests about the one fail, and those about who mentions the other
TOWN = replace(POLICY, endpoints=POLICY.endpoints | {MENTIONS: replace(POLICY.endpoints[TIMELINE], page=100)})
DATASET = [*range(14), ALIAS, *range(14, PEOPLE)]  # people of the old dataset, and the name


def last(number):
    """When a person posted last, Unix seconds."""
    return BEGIN - (number * 37 % 200) * DAY


def name_of(one):
    """What a person, or the name, is called."""
    return one if isinstance(one, str) else person(one).username


class Ticking(Clock):
    """A clock of quarter seconds, which a database, that knows microseconds, keeps as they are."""

    def sleep(self, until):
        super().sleep(ceil(until * 4) / 4)


class Lively(Wire):
    """The town's answers, with when people posted last and who mentions them; `away`: how often somebody left it."""

    away = 0

    def answer(self, endpoint, params, begin):
        if endpoint == MENTIONS:
            return self.mentioning(int(params["id"]) - 1000), None
        page, cursor = super().answer(endpoint, params, begin)
        if endpoint == TIMELINE and page.posts:  # people 0 to 5 speak of person 4 by the other name
            fan = int(params["id"]) - 1000 < 6
            mentions = [one._replace(who=Who(None, ALIAS)) if fan and one.who == person(MEANT) else one
                        for one in page.mentions]  # fmt: skip
            page = replace(page, mentions=mentions)
        return page, cursor

    def mentioning(self, number):
        """The newest hundred posts of others that mention a person."""
        found = [one for n in range(PEOPLE) if n != number for one in posts_of(n) if number in one[2]][::-1][:100]
        page = page_of(found)
        return replace(page, answered=tuple(dict.fromkeys(Who(post.author, None) for post in page.posts)))

    def look_up(self, names, by_id):
        bare = [name for name in names if name != ALIAS.lower()]
        page = super().look_up(bare, by_id) if bare else Page()
        if len(bare) < len(names):
            who = Who(person(MEANT).id, ALIAS)
            row = profile(MEANT)._replace(username=ALIAS)
            page = replace(page, answered=[*page.answered, who], accounts=[*page.accounts, row])
        there = [who for who in page.answered if who not in [gone for gone, _ in page.missing]]
        return replace(page, active=[(who, stamp(int(who.id) - 1000)) for who in there])

    def send(self, grant):
        endpoint, asked = grant.request.endpoint, grant.request.params
        names = asked.get("ids", asked.get("usernames", "")).lower().split(",")
        dull = {str(name).lower() for name in person(DULL)}
        if (endpoint in (BY_ID, BY_NAME) and dull & {*names}) or (endpoint == TIMELINE and asked["id"] in dull):
            self.faults[len(self.calls)] = "broken"
        reply = super().send(grant)
        if endpoint == MENTIONS and asked["id"] == person(DEAF).id and reply.kind == "ok":
            return Reply("invalid", reply.at, status=400, date=reply.date, limits=reply.limits, why="not now")
        return reply


def stamp(number):
    return datetime.fromtimestamp(last(number), UTC).isoformat()


class Narrow(XSource):
    """X, if a look-up answered for three."""

    def width(self, act):
        return WIDTH if act == "probe" else super().width(act)

    def start_conversations(self, batch, accounts):
        return [
            talk
            for i in range(0, len(batch), WIDTH)
            for talk in super(Narrow, self).start_conversations(batch[i : i + WIDTH], accounts)
        ]


class Homes(FocusedSource):
    """Those who judge walks, if accounts of X lived on three hosts."""

    def _focus(self, outcome, who):
        return replace(super()._focus(outcome, who), mark=f"host{int(who.id or 0) % 3}")


def opened(path):
    connection = connect(path)
    return SqlStore(connection, ensure_campaign(connection, SETTINGS, {}, BEGIN), "x")


def refreshing(store, wire, how, steps=None):
    """A crawl of the town's old dataset, all made anew."""
    source = Narrow(TOWN, TWEET, [], activity=Activity(WITHIN))
    crawl = Refresh(Order(**how), 3, steps, source.width)
    return parts(crawl, source, store, wire)


def sampling(store, wire, how, steps=None):
    """A sample of the town, all made anew; person 0 and 11 are named, the search finds the others."""
    ways = (Predicate(OFTEN), Predicate(1)) if how.focus == "ancestor" else (Predicate(1),)
    source = Homes(XSource(TOWN, TWEET, ["telescope"], pages_per_user=9, search_pages=2), *ways)
    names = store.enlist(["PERSON0", "person11", "nobody"], wire.clock.now())
    return parts(Sample(Seeds([Node(-1)], names, 4), how, steps, source.width), source, store, wire)


def parts(crawl, source, store, wire):
    planner = WindowPlanner(TOWN, [Credential("main")], Caps())
    return Parts(crawl, source, store, wire, planner, wire.clock, AtOnce(), Watcher())


def bring(store, upto=None):
    """Put the first of the old dataset into a store, as an import does; a second import adds only what is new."""
    known = {pick.node for batch, _ in store.history() for pick in batch if pick.act == "import"}
    nodes = dict(zip(DATASET[:upto], store.enlist([name_of(one) for one in DATASET[:upto]], BEGIN), strict=True))
    lines = []
    for one, node in nodes.items():
        whom = {nodes[v]: 1.0 for _, _, row in posts_of(MEANT if one == ALIAS else one) for v in row if v in nodes}
        new = [v for v in whom if node not in known or v not in known]
        if new or node not in known:
            lines.append((node, np.array(new, np.int64)))
    first = sum(len(batch) for batch, _ in store.history())
    batch = tuple(Pick(first + i, node, "import") for i, (node, _) in enumerate(lines))
    store.open(batch)
    store.finish(batch, [
        Outcome(pick.n, pick.node, BEGIN, targets=new, alpha=np.ones(len(new)), mark=f"site{pick.node % 3}")
        for pick, (_, new) in zip(batch, lines, strict=True)
    ])  # fmt: skip


def told(store):
    """What a campaign did, in the platform's own names: every pick with what it found, bit for bit."""
    found = []
    for batch, outcomes in list(store.history()):
        for pick, outcome in zip(batch, outcomes, strict=True):
            nodes = [pick.node, *outcome.targets.tolist()]
            who = store.accounts([node for node in nodes if node >= 0])
            ids = [who[node].username or who[node].id if node >= 0 else node for node in nodes]
            found.append(
                (pick.n, batch[0].n, pick.act, pick.score, *ids, outcome.value, *outcome.alpha.tolist(),
                 str(outcome.missing or "").partition(":")[0], outcome.posts, outcome.occurrences, outcome.mark)
            )  # fmt: skip
    return found
