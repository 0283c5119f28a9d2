"""What the tests of erasure share: a town whose people speak of each other, stores that know tombstones, a referee."""

from contextlib import suppress
from dataclasses import replace
from functools import partial

import orjson
from stores import opened
from tiny_town import BEGIN, PEOPLE, PROTECTED, SETTINGS, SUSPENDED, Clock, Wire, parts_of, person, posts_of

from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node, format_time
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.erasure.execution import erase
from socialcrawl.storage.erasure.forgetting import forget, retain
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.erasure.tombstones import SkipForgottenSource
from socialcrawl.storage.sql_store import SqlStore

NAMED = ["PERSON0", "person11", "nobody"]
IDENTITY = {"seeds": {"usernames": NAMED}}
LATER = BEGIN + 1e6


def whom(post_id):
    """The people mentioned in a post of the town, by number."""
    author, j = map(int, post_id.split("-"))
    return posts_of(author)[j][2]


def kind_of(post_id):
    """What a post is to the first post of the first person it mentions: a reply, a repost, a quote, or nothing."""
    return ("reply", "repost", "quote", "plain")[int(post_id.split("-")[1]) % 4]


class EndError(Exception):
    """The process is gone."""


class Town(Wire):
    """The tiny town, whose posts name in words, links and references whom they mention."""

    last = None

    def send(self, grant):
        if self.last is not None and len(self.calls) >= self.last:
            raise EndError
        return super().send(grant)

    def answer(self, endpoint, params, begin):
        page, cursor = super().answer(endpoint, params, begin)
        return self.told(page), cursor

    def told(self, page):
        posts = [self.worded(post) for post in page.posts]
        first = {}
        mentions = []
        for mention in page.mentions:
            kind = kind_of(page.posts[mention.post].id)
            kind = kind if kind in ("reply", "repost") and mention.post not in first else "mention"
            first.setdefault(mention.post, mention)
            mentions.append(mention._replace(kind=kind))
        accounts = [self.profiled(row) for row in page.accounts]
        return replace(page, posts=posts, mentions=mentions, accounts=accounts)

    def worded(self, post):
        near = [person(number).username for number in whom(post.id)]
        kind, to = kind_of(post.id), f"{whom(post.id)[0]}-0"
        text = f"secret-of-{post.author} {post.text} " + " ".join(f"@{name.upper()}" for name in near)
        return post._replace(
            text=text,
            urls=orjson.dumps([f"https://x.com/{near[0]}/status/1", "https://example.org/"]).decode(),
            reply_to=to if kind == "reply" else None,
            repost_of=to if kind == "repost" else None,
            quote_of=to if kind == "quote" else None,
            conversation_id=to if kind == "reply" else post.id,
            original=orjson.dumps({"id": post.id, "text": text, "geo": {"place_id": "Paris"}}).decode(),
        )

    def profiled(self, row):
        other = person((int(row.id) - 999) % PEOPLE).username
        return row._replace(description=f"secret-of-{row.id}, friend of @{other}", url=f"https://x.com/{other}")


def stored(where, name="tiny", **more):
    """The store of a campaign in the town, which is begun if it is new."""
    connection = connect(where)
    number = ensure_campaign(connection, {**SETTINGS, **IDENTITY, "name": name}, IDENTITY, BEGIN)
    return SqlStore(connection, number, "x", **more)


def crawled(where, wire=None, *, size=1, stop=None, store=None, **more):
    """A store after (more of) a crawl that leaves the forgotten alone; it dies before request number `stop`."""
    store, wire = store or stored(where), wire or Town(Clock())
    whole = parts_of(store, wire, **more)
    whole = replace(whole, source=SkipForgottenSource(whole.source))
    if stop is not None:
        wire.last = stop
    with suppress(EndError):
        assert run(whole, size=size).kind == "done"
    wire.last = None
    return store, wire


def replayed(store, first, *, size=1, **more):
    """What a new crawl picks after it was told the history before pick `first`, and the picks that are stored."""
    crawl = parts_of(store, Town(Clock()), **more).crawl
    chosen, kept = [], []
    for batch, outcomes in store.history():
        if batch[0].n >= first:
            chosen.append(crawl.choose(size, 0.0))
            kept.append(batch)
        crawl.absorb(batch, outcomes)
    return chosen, kept


def order(*users, posts=(), file=None, compliance=None):
    return read_order(users, posts, file, compliance)


def carried_out(connection, work):
    """What an erasure did: as much as it said before, when it only read and campaigns were being written."""
    with opened(find_address(connection)) as other, other.begin():
        would = erase(connection, work, dry=True)
    report = erase(connection, work)
    assert would == report
    return report


def forgotten(store, *users, posts=(), dry=False, shown=0):
    work = partial(forget, order=order(*users, posts=posts), now=format_time(LATER), shown=shown)
    return erase(store.connection, work, dry=True) if dry else carried_out(store.connection, work)


def aged(store, before, *, dry=False):
    work = partial(retain, before=format_time(before), now=format_time(LATER))
    return erase(store.connection, work, dry=True) if dry else carried_out(store.connection, work)


def gone_posts(people, posts=()):
    """The posts that go, by the town itself: theirs, those named, and the reposts of both."""
    everything = [post.id for number in range(PEOPLE) for post, _, _ in posts_of(number)]
    gone = {key for key in everything if int(key.split("-")[0]) in people} | set(posts)
    while True:
        more = {key for key in everything if kind_of(key) == "repost"
                and (whom(key)[0] in people or f"{whom(key)[0]}-0" in gone)}  # fmt: skip
        if more <= gone:
            return gone
        gone |= more


def read_of(number, people=(), gone=(), count=None):
    """(occurrences, posts, {person mentioned: occurrences}) of a timeline of the town without what goes.

    The mentioned stay in the order in which the whole timeline names them first.
    """
    everyone = dict.fromkeys(other for _, _, near in posts_of(number) for other in near if other not in people)
    left = [(hits if count is None else count, near) for post, hits, near in posts_of(number) if post.id not in gone]
    targets = {other: [hits for hits, near in left if other in near] for other in everyone}
    totals = {other: sum(hits) for other, hits in targets.items() if hits}
    return sum(hits for hits, _ in left), len(left), totals


def derived(store, campaign=1):
    """What the tables say of each expanded or seed pick: person, value, occurrences, posts, missing, links."""
    with store.connection.begin():
        ask = store.connection.exec_driver_sql
        known = ask("select node, platform_id from account where platform_id is not null").all()
        who = {node: int(key) - 1000 for node, key in known if key.isdecimal()}
        links = {}
        ordered_ = f"select n, node, alpha from link where campaign = {campaign} order by n, position"
        for n, node, alpha in ask(ordered_).all():
            links.setdefault(n, []).append((who.get(node, node), alpha))
        asked = (
            "select o.n, o.node, value, occurrences, posts, missing from outcome o join pick p "
            "on p.n = o.n and p.campaign = o.campaign "
            f"where act not in ('search', 'resolve') and o.campaign = {campaign} order by o.n"
        )
        rows = ask(asked).all()
    return [(who.get(node), *row, links.get(n, [])) for n, node, *row in rows]


def expected(number, people, gone, count=None):
    """The row of `derived` that the town without the forgotten gives for a person; `count` is each post's worth."""
    hits, posts, targets = read_of(number, people, gone, count)
    return compute_worth(hits), hits, posts, None, [(to, compute_worth(count)) for to, count in targets.items()]


def agrees(store, people, gone, campaign=1, count=None):
    """How many picks read something; every outcome and link is what the town without the forgotten gives."""
    checked = 0
    for number, *row in derived(store, campaign):
        if number is None:
            assert row == [0.0, 0, 0, "forgotten", []]
        elif number not in (SUSPENDED, PROTECTED):
            *sums, links = row
            *theirs, targets = expected(number, people, gone, count)
            assert (sums, dict(links)) == (theirs, dict(targets)), number
            checked += 1
    return checked


def node_of(store, key):
    with store.connection.begin():
        return Node(store.connection.exec_driver_sql(f"select node from account where platform_id = '{key}'").scalar())
