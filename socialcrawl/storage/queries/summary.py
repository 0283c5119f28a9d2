"""Questions that a report asks of a campaign, in SQL. They read; they change nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from socialcrawl.engine.model import MILLS_PER_DOLLAR, Act
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.platforms.facts import DEFAULT
from socialcrawl.storage.queries.further_pages import JOIN_LAST
from socialcrawl.storage.queries.linked import find_linked
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.search_recall import SearchRecall, count_search_recall
from socialcrawl.storage.queries.topic_counts import TopicCounts, count_on_topic

# Ties in value go to the earlier pick, as everywhere. What is counted, is counted for the rows that are shown only.
TOP = """
select best.account, best.id, best.value, best.occurrences, best.posts, best.act,
  case when exists (
      select 1 from request r where r.campaign = :campaign and r.n = best.n and r.endpoint like '%?author')
    then 0 else (select count(*) from post where author = best.node) end as stored,
  (select count(*) from post where author = best.node and exists (
    select 1 from hit where hit.campaign = :campaign and hit.post = post.id)) as matching,
  case when best.act in ('expand', 'match', 'walk') then (select count(*) from pick q
    where q.campaign = :campaign and q.act in ('expand', 'match', 'probe', 'walk') and q.n <= best.n) end as step
from (
  select coalesce('@' || a.username, a.platform_id) as account, a.platform_id as id,
    o.n, o.node, coalesce(u.value, o.value) as value, coalesce(u.occurrences, o.occurrences) as occurrences,
    coalesce(u.posts, o.posts) as posts, p.act
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n join account a on a.node = o.node
  {last}
  where o.campaign = :campaign and coalesce(u.value, o.value) > 0 and p.act in ({acts})
    and not (p.act = 'walk' and o.value < 1)
  order by 5 desc, o.n limit :most) best
order by best.value desc, best.n
"""
SEEDS, DISCOVERED = "'seed', 'import'", "'expand', 'match', 'walk'"  # acts by which an account was read
VALUES = """
select case when p.act = 'walk' and o.value < 1 then 0.0 else o.value end, p.act, o.node, o.missing
from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where o.campaign = :campaign and p.act in ('seed', 'expand', 'match', 'page', 'probe', 'walk') order by o.n
"""
REQUESTS = """
select endpoint, coalesce(kind, 'lost') as kind, coalesce(status, 0) as status, count(*) as requests
from request where campaign = :campaign and coalesce(kind, '') <> 'held' group by 1, 2, 3 order by 1, 2, 3
"""
# Each account once, by its latest outcome: one that was read after a failure is not missing.
MISSING = """
select o.missing, count(*) from outcome o
where o.campaign = :campaign and o.missing is not null and o.node >= 0 and not exists (
  select 1 from outcome later where later.campaign = o.campaign and later.node = o.node and later.n > o.n)
group by 1 order by 2 desc, 1
"""
ANSWERED = "select distinct node from outcome where campaign = :campaign and node >= 0"
# Rules of robots.txt and profiles looked up for opt-outs are read again and again: they are no answers reused, and
# neither are the posts of one account of a search for many.
TOTALS = """
select count(*) filter (where coalesce(kind, '') <> 'held'),
  coalesce(sum(posts) filter (where coalesce(kind, '') <> 'held'), 0), coalesce(sum(coalesce(cost, most)), 0),
  min(sent_at), max(arrived_at), count(*) filter (where kind = 'held'
    and endpoint not like '%/robots.txt' and endpoint not like '%.getProfiles' and endpoint not like '%?%')
from request where campaign = :campaign
"""
# A request without a reply counts as spent, on the day on which it was sent.
BILLED = """
select substr(coalesce(arrived_at, sent_at), 1, 10), sum(coalesce(new_posts, posts, 0)), sum(coalesce(cost, most))
from request where campaign = :campaign and coalesce(kind, '') <> 'held' group by 1 order by 1
"""

CAPTURED = """
select count(*), coalesce(sum(was_read), 0) from (
  select p.node, max(case when p.act <> 'captured' and o.missing is null then 1 else 0 end) as was_read
  from pick p join outcome o on o.campaign = p.campaign and o.n = p.n
  where p.campaign = :campaign and p.act in ('captured', 'seed', 'expand', 'match', 'recrawl', 'import')
  group by p.node
  having max(case when p.act = 'captured' and coalesce(o.missing, '') <> 'forgotten' then 1 else 0 end) = 1) as brought
"""
SETTINGS = "select settings from campaign where id = :campaign"
LATEST = "select settings from version where campaign = :campaign order by number desc limit 1"
HELD = "select count(*) from post"
INVENTED_TOKEN_ENV = "SOCIALCRAWL_INVENTED_TOKEN"  # noqa: S105  (the name of a variable)
"""Where campaigns find their token that crawl generated posts: a report says of these that nothing in them is real."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a campaign has found so far, and what it took.

    `topic` has today's keywords and patterns, `top_seeds` and `discovered` the most relevant accounts: those among the
    seeds (and an imported history), and those that were read after them. `base_url` is the
    server that was asked when it began, "" for the platform itself; `invented` says that its posts were generated, and
    `own_prices` that a table of the campaign's own has the prices. `seeds` and `steps` are the values beta of the
    seeds and of the steps after them, in order (float64); steps of a sample are worth 1 on topic, those of a
    refresh 1 alive. `missing` counts accounts by why their latest outcome is none. `posts` counts posts read (a
    post read twice counts twice), `held` those in the database, of all campaigns. `cost` is in mills of a cent by
    the price table, `began` and `ended` are ISO 8601. `reused` counts answers that the database had and that were
    not asked for again, which are in no other count. `billed_posts` has, for each UTC day of our clock, (day, posts
    billed, dollars for everything); posts where each is billed once a day, else posts read. `captured` counts the
    authors whom a capture brought, `captured_read` those of them that were read since. `recall` is that of the searches
    of a campaign that matches accounts. `model` is the name of the file whose model judges texts, "" without.
    """

    name: str
    platform: str
    topic: tuple[str, ...]
    base_url: str
    invented: bool
    own_prices: bool
    top_seeds: list[dict[str, Any]]
    discovered: list[dict[str, Any]]
    seeds: NDArray[np.float64]
    steps: NDArray[np.float64]
    requests: list[dict[str, Any]]
    missing: dict[str, int]
    known: int
    sent: int
    posts: int
    held: int
    cost: int
    began: str | None
    ended: str | None
    reused: int
    billed_posts: list[tuple[str, int, float]]
    on_topic: TopicCounts
    captured: int = 0
    captured_read: int = 0
    recall: SearchRecall | None = None
    model: str = ""

    @property
    def relevance(self) -> float:
        """The sum of beta over the steps after the seeds."""
        return _sum_in_order(self.steps)

    @property
    def seed_relevance(self) -> float:
        """The sum of beta over the seeds."""
        return _sum_in_order(self.seeds)


def list_campaigns(connection: Connection) -> list[tuple[int, str]]:
    """Return (id, name) of the campaigns in the database, oldest first."""
    with join_transaction(connection):
        return [(row[0], row[1]) for row in connection.execute(text("select id, name from campaign order by id"))]


class ElsewhereError(SettingsError):
    """A platform of which a database has nothing."""


def choose_platform(connection: Connection, given: str | None) -> str:
    """Return the platform that a person means: the one `given`, or the only one of the database (x in an empty one).

    Raises:
        ElsewhereError: the database has nothing of the one given.
        SettingsError: it has several to choose from.
    """
    statement = "select platform from campaign union select distinct platform from account order by 1"
    with connection.begin():
        there = [str(name) for name in connection.execute(text(statement)).scalars()]
    if given is not None and there and given not in there:
        raise ElsewhereError(f"This database has nothing of {given!r}: there is {' and '.join(there)}.")
    if given is None and len(there) > 1:
        raise SettingsError(f"This database has accounts of {' and '.join(there)}: say whose with --platform.")
    return given or next(iter(there), DEFAULT.name)


def find_campaign(connection: Connection, name: str | None) -> tuple[int, str]:
    """Return (id, name) of the campaign `name`, or of the newest.

    Raises:
        StoreError: there is no such campaign; the message names those there are.
    """
    known = list_campaigns(connection)
    matches = [pair for pair in known if name is None or pair[1] == name]
    if not matches:
        if not known:
            raise StoreError("There is no campaign in this database yet: `socialcrawl run` begins one.")
        names = ", ".join(pair[1] for pair in known)
        raise StoreError(f"There is no campaign {name!r} in this database; there are: {names}.")
    return matches[-1]


def read_first_settings(connection: Connection, number: int) -> tuple[str, str]:
    """Return (platform, settings as JSON) of a campaign as it began; both stay as long as it goes on."""
    with join_transaction(connection):
        row = connection.execute(text("select platform, settings from campaign where id = :n"), {"n": number}).one()
    return str(row[0]), str(row[1])


def summarize_campaign(connection: Connection, name: str | None = None, most: int = 15) -> Summary:
    """Return the summary of the campaign `name`, or of the newest, with its `most` best accounts.

    Raises:
        StoreError: there is no such campaign; the message names those there are.
    """
    number, title = find_campaign(connection, name)
    with connection.begin():
        values = _replace_by_pages(_read_rows(connection, VALUES, number))
        sent, posts, cost, began, ended, reused = _read_rows(connection, TOTALS, number)[0]
        billed = _read_rows(connection, BILLED, number)
        captured, captured_read = _read_rows(connection, CAPTURED, number)[0]
        began_with = orjson.loads(_read_rows(connection, SETTINGS, number)[0][0])
        source = began_with["source"]
        changed = _read_rows(connection, LATEST, number)
        topic = (orjson.loads(changed[0][0]) if changed else began_with).get("topic") or {}
        linked, answered = find_linked(connection, number), _read_rows(connection, ANSWERED, number)
        return Summary(
            name=title,
            platform=source["platform"],
            topic=(*(topic.get("keywords") or ()), *(topic.get("patterns") or ())),
            base_url=source.get("base_url") or "",
            invented=source.get("token_env") == INVENTED_TOKEN_ENV,
            own_prices=bool(source.get("policy")),
            top_seeds=_read_dicts(connection, TOP.format(acts=SEEDS, last=JOIN_LAST), number, most=most),
            discovered=_read_dicts(connection, TOP.format(acts=DISCOVERED, last=JOIN_LAST), number, most=most),
            seeds=np.array([value for value, step in values if not step], np.float64),
            steps=np.array([value for value, step in values if step], np.float64),
            requests=_read_dicts(connection, REQUESTS, number),
            missing=dict(tuple(row) for row in _read_rows(connection, MISSING, number)),
            known=int(linked.sum()) + sum(node >= len(linked) or not linked[node] for (node,) in answered),
            sent=sent,
            posts=int(posts),
            held=int(_read_rows(connection, HELD, number)[0][0]),
            cost=int(cost),
            began=began,
            ended=ended,
            reused=reused,
            billed_posts=[(day, int(new), int(mills) / MILLS_PER_DOLLAR) for day, new, mills in billed],
            on_topic=count_on_topic(connection, number, linked),
            captured=captured,
            captured_read=int(captured_read),
            recall=count_search_recall(connection, number) if source.get("read") == "match" else None,
            model=PurePath(topic.get("model") or "").name,
        )


def _sum_in_order(values: NDArray[np.float64]) -> float:
    """Return the sum in order, as the crawl adds them up: `np.sum` adds in pairs."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0


def _replace_by_pages(rows: Sequence[Any]) -> list[tuple[float, bool]]:
    """Return the values of accounts, each with whether it was no seed; a further page has that of all that was read."""
    found: list[tuple[float, bool]] = []
    places: dict[int, int] = {}
    for value, act, node, missing in rows:
        if act != Act.PAGE:
            places[node] = len(found)
            found.append((value, act != Act.SEED))
        elif missing is None and node in places:
            found[places[node]] = value, found[places[node]][1]
    return found


def _read_rows(connection: Connection, sql: str, campaign: int, **more: Any) -> Any:
    return connection.execute(text(sql), {"campaign": campaign, **more}).all()


def _read_dicts(connection: Connection, sql: str, campaign: int, **more: Any) -> list[dict[str, Any]]:
    rows = connection.execute(text(sql), {"campaign": campaign, **more}).mappings()
    return [dict(row) for row in rows]
