"""What the tests of samples and audits share: crawls of a world of posts, and the truth, worked out from its file."""

import re
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import networkx as nx
from x_crawls import campaign_of, crawl, posts, rows, scratch

from socialcrawl.campaign.settings import CrawlSection
from socialcrawl.lab.generators.generate import choose_topics
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.traces import CampaignTraces

OTHER, WORD = list(choose_topics().values())[:2]  # the topic of the sample is WORD: nearly all who use it hang together
SAMPLE = {"walkers": 8, "burn_in": 20, "length": 1500, "trap": "off"}


@dataclass(frozen=True)
class World:
    """The truth of a world: who wrote what, by which id the mock knows whom, who mentions whom; by lower-case names.

    `shown` is who wrote the latest hundred posts that mention somebody: whom the search tells of.
    """

    texts: dict[str, list[str]]
    names: dict[str, str]
    mentions: dict[str, set[str]]
    shown: dict[str, set[str]]

    def occurrences(self, name, word):
        return sum(len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text.lower())) for text in self.texts[name])

    def speakers(self, word):
        return {name for name in self.texts if self.occurrences(name, word)}

    def reached(self, word):
        """The speakers that a walk among speakers can come to, from the many who can come to each other.

        It lacks the few who hang on no others, and two who only mention somebody whom over a hundred posts mention.
        """
        speakers = self.speakers(word)
        graph = nx.DiGraph((a, b) for a in speakers for b in (self.mentions[a] | self.shown.get(a, set())) & speakers)
        core = max(nx.strongly_connected_components(graph), key=len)
        return core | nx.descendants(graph, min(core))


@lru_cache
def world():
    found = posts()
    texts, mentions, posted = {}, {}, {}
    for row, author in enumerate(found.authors):
        name, others = author.lower(), [other.lower() for other in found.list_mentions(row)]
        texts.setdefault(name, []).append(found.texts[row])
        mentions.setdefault(name, set()).update(others)
        for other in {*others} - {name}:
            posted.setdefault(other, []).append((int(found.created_at[row]), name))
    shown = {other: {name for _, name in sorted(by)[-100:]} for other, by in posted.items()}
    accounts = build_world(found).accounts
    names = {str(key): accounts.usernames[number].lower() for key, number in accounts.by_id.items()}
    silent = {name: set() for name in names.values()}
    return World(texts, names, silent | {name: whom - {name} for name, whom in mentions.items()}, shown)


def key_of(name):
    """The id by which the mock knows an account."""
    return next(key for key, known in world().names.items() if known == name)


def sample_of(url, database, **more):
    """The settings of a sample of the world's topic."""
    given = {
        "name": "sample",
        "kind": "sample",
        "topic": {"keywords": [WORD]},
        "crawl": {"steps": 2000, "estimator": CrawlSection().estimator},
        "sample": SAMPLE,
    }
    return campaign_of(url, database, **{**given, **more, "crawl": {**given["crawl"], **more.get("crawl", {})}})


@lru_cache
def crawled(steps=180):
    """The database of a world: a sample of its topic, a campaign that collects it, one that collects the other.

    With 180 steps the sample has enough data; with 2,000 it has read everybody whom its walks can come to.
    """
    database = Path(tempfile.mkdtemp(dir=scratch())) / "a.db"
    with serve_in_thread(posts(), limit=1_000_000) as mock:
        crawl(campaign_of(mock.url, database, name="small", topic={"keywords": [WORD]}, crawl={"steps": 30}))
        crawl(campaign_of(mock.url, database, name="other", topic={"keywords": [OTHER]}, crawl={"steps": 40}))
        crawl(sample_of(mock.url, database, crawl={"steps": steps}))
    return database


@contextmanager
def looking(database):
    with open_readable(database) as connection:
        yield CampaignTraces(connection)


def read_by(database, name):
    """Whom a campaign has read, by lower-case names."""
    found = rows(
        database,
        "select distinct coalesce(a.handle, a.platform_id) from outcome o join pick p using (campaign, n) "
        "join campaign c on c.id = o.campaign join account a on a.node = o.node "
        "where c.name = ? and o.missing is null and p.act in ('seed', 'expand', 'walk')",
        name,
    )
    return {world().names.get(one, one) for (one,) in found}


def searched_by(database, *names):
    """Whom the searches of campaigns found, by lower-case names."""
    found = rows(
        database,
        "select distinct coalesce(a.handle, a.platform_id) from link l join pick p using (campaign, n) "
        "join campaign c on c.id = l.campaign join account a on a.node = l.node "
        f"where p.act = 'search' and c.name in ({', '.join('?' * len(names))})",
        *names,
    )
    return {world().names.get(one, one) for (one,) in found}
