"""What a database tells about the next requests: what a campaign has done and spent, and what answers are like, in SQL.

They read; they change nothing, and understand every schema since the first.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import BindParameter, Connection, CursorResult, Text, bindparam, inspect, text

from socialcrawl.engine.model import STEPS, VISITS, RequestPart, format_time, parse_time
from socialcrawl.forecast.expected import STORED, TypicalNeeds
from socialcrawl.forecast.shape import CampaignProgress, EndpointRoles, StoredResources
from socialcrawl.forecast.spread import ENOUGH, FEW, NeedSums, Spread, measure_spread
from socialcrawl.platforms.facts import DEFAULT
from socialcrawl.storage.erasure.tombstones import find_forgotten
from socialcrawl.storage.identity import read_queries
from socialcrawl.storage.wanted_posts import WANTED, count_states

LEAST = 10  # observations that a mean has to rest on

NUMBER = "select id from campaign where name = :name"
# What is not settled, or was lost, counts at its dearest, as in `Budget`; what was held cost nothing.
SPENT = """
select count(*), min(sent_at), coalesce(sum(coalesce(cost, most)), 0),
  coalesce(sum(case when coalesce(kind, 'lost') <> 'lost' then posts
                    when endpoint in :reading then items else 0 end), 0)
from request where campaign = :campaign and coalesce(kind, '') <> 'held'
"""
ASKED = "select distinct endpoint from request where campaign = :campaign"
ACTS = """
select p.act, count(*), count(distinct o.node) filter (where coalesce(o.missing, '') <> 'temporary'),
  count(distinct o.node) filter (where o.missing <> 'temporary' and o.missing not like 'same-as:%'),
  count(distinct o.node)
from outcome o join pick p on p.campaign = o.campaign and p.n = o.n where o.campaign = :campaign group by p.act
"""
# Of an old dataset: its accounts, those still to be tested, of these the ones without an id, and accounts with ids
# that are none of it. An account that turned out to be another one is tested as that one.
DATASET = """
with old as ({members}),
tested as (select p.node, o.missing from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where p.campaign = :campaign and p.act = 'probe' and coalesce(o.missing, '') <> 'temporary'),
due as (
  select node from old union
  select cast(substr(missing, 9) as bigint) from tested where missing like 'same-as:%'
  except select node from tested)
select (select count(*) from old), count(*), count(*) filter (where a.platform_id is null),
  (select count(*) from account where platform = :platform and platform_id is not null
     and node not in (select node from old))
from due d join account a on a.node = d.node where a.forgotten_at is null
"""
IMPORTED = "select distinct node from pick where campaign = :campaign and act = 'import'"
LINKED = """ union select l.node from link l join pick p on p.campaign = l.campaign and p.n = l.n
where p.campaign = :campaign and p.act = 'import'"""
# Searches come before accounts: one that only failed has been given up where an account was read after it.
FINISHED = """
select distinct p.node from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where p.campaign = :campaign and p.act = 'search' and (coalesce(o.missing, '') <> 'temporary' or exists (
  select 1 from pick later where later.campaign = p.campaign and later.n > p.n
    and later.act in ('seed', 'expand', 'match', 'recrawl')))
"""
IDENTITY = "select identity from campaign where id = :campaign"
# Names are looked up, or read, before any account is read that was not named.
STARTED = """
select lower(a.username) from pick p join account a on a.node = p.node
where p.campaign = :campaign and p.act in ('resolve', 'seed') and a.username is not null
"""
SEEDED = "select coalesce(max(first), 0) from epoch where campaign = :campaign and why like '%seeds%'"
READ_SINCE = """
select count(*) from (select 1 from pick where campaign = :campaign and n >= :since
                      and act in ('seed', 'expand', 'match', 'recrawl') limit 1) as read
"""
FOUND = """
select count(distinct l.node) from link l join pick p on p.campaign = l.campaign and p.n = l.n
where l.campaign = :campaign and p.act = 'search'
"""
KNOWN = """
select count(*) from account
where platform = :platform and platform_id is not null and handle in :names
"""
# What the steps of a campaign needed, for both halves of those that ended.
NEEDS = ("requests", "posts", "money")
NEEDED = """
with step as (
  select p.n, p.act, count(r.n) as requests, coalesce(sum(r.posts), 0) as posts,
    coalesce(sum(coalesce(r.cost, r.most)), 0) as money,
    row_number() over (order by p.n) > count(*) over () / 2 as later
  from pick p join outcome o on o.campaign = p.campaign and o.n = p.n
  left join request r on r.campaign = p.campaign and r.n = p.n and coalesce(r.kind, '') <> 'held'
  where p.campaign = :campaign and p.act in :steps and coalesce(o.missing, '') <> 'temporary'
  group by p.n, p.act)
select min(n), count(*), count(*) filter (where posts > 0 or act not in :visits),
  sum(requests), sum(1.0 * requests * requests), sum(posts), sum(1.0 * posts * posts),
  sum(money), sum(1.0 * money * money)
from step group by later order by later
"""
RECENT = " and {0}.campaign = :campaign and {0}.n >= :since"
# Only answers of the platform: what was held was one before. Returns bring what is new, and no pages of an account.
# Of a page that was asked for twice the second answer counts.
PAGES = """
select part % :again as page, count(*), count(cursor), sum(posts), count(*) filter (where part > :again) from request r
where endpoint like :timeline and kind = 'ok' and part % :again between 1 and 999{recent}
  and not exists (select 1 from pick p where p.campaign = r.campaign and p.n = r.n and p.act in ('recrawl', 'page'))
  and not exists (select 1 from request later where later.campaign = r.campaign and later.n = r.n
                    and later.part = r.part + :again and later.kind = 'ok')
group by page order by page
"""
# Returns that ended, however; who had to be looked up for them; the pages of timelines, and the posts on them.
RETURNS = """
with ended as (
  select o.campaign, o.n from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where p.act = 'recrawl' and coalesce(o.missing, '') <> 'temporary'{recent})
select (select count(*) from ended), count(*) filter (where r.part = 0 and r.endpoint like :by_name),
  count(*) filter (where r.part > 0 and r.endpoint like :timeline),
  coalesce(sum(r.posts) filter (where r.part > 0 and r.endpoint like :timeline), 0)
from request r join ended e on e.campaign = r.campaign and e.n = r.n where r.kind in ('ok', 'missing')
"""
ACCOUNTS = """
select count(*), count(o.missing) filter (where o.missing not like 'same-as:%') from outcome o
join pick p on p.campaign = o.campaign and p.n = o.n
where p.act in ('seed', 'expand', 'match', 'walk') and coalesce(o.missing, '') <> 'temporary'{recent}
"""
NAMED = """
select count(*), count(*) filter (where exists (select 1 from request r
  where r.campaign = p.campaign and r.n = p.n and r.endpoint like :by_name and coalesce(r.kind, '') <> 'held'))
from pick p join outcome o on o.campaign = p.campaign and o.n = p.n where p.act in ('expand', 'match'){recent}
"""
SEARCHED = """
select coalesce(sum(o.posts), 0),
  (select count(*) from (select distinct l.campaign, l.node from link l
                         join pick q on q.campaign = l.campaign and q.n = l.n where q.act = 'search') as found)
from outcome o join pick p on p.campaign = o.campaign and p.n = o.n where p.act = 'search'
"""
# Answers of other campaigns to questions that this one has not asked, each question once.
FRESH = """
select count(*), coalesce(sum(posts), 0), coalesce(sum(cost), 0) from (
  select max(coalesce(r.posts, 0)) as posts, max(coalesce(r.cost, 0)) as cost
  from request r join campaign c on c.id = r.campaign
  where c.platform = :platform and c.name <> :name and r.kind in ('ok', 'missing') and r.arrived_at >= :since
    and not exists (select 1 from request own join campaign mine on mine.id = own.campaign
                    where own.digest = r.digest and mine.name = :name)
  group by r.digest) as fresh
"""
CHARGED = """
select count(distinct resource) filter (where kind = 'post'), count(distinct resource) filter (where kind = 'user')
from charge where day = :day
"""
ANSWERS = """
select count(*), coalesce(avg({arrived} - {sent}), 0) from request
where kind in ('ok', 'missing') and arrived_at >= sent_at
"""
SECONDS = {  # an instant that is ISO 8601 text, in seconds
    "sqlite": "julianday({0}) * 86400",
    "postgresql": "extract(epoch from cast({0} as timestamptz))",
}
SPENDING = """
select coalesce(p.act, ''), count(*), coalesce(sum(coalesce(r.cost, r.most)), 0)
from request r left join pick p on p.campaign = r.campaign and p.n = r.n
where r.campaign = (select id from campaign where name = :name) and coalesce(r.kind, '') <> 'held' group by 1
"""


def count_done(
    connection: Connection,
    name: str,
    reading: Sequence[str],
    platform: str = DEFAULT.name,
    usernames: Sequence[str] = (),
    *,
    queries: Sequence[str] = (),
    linked: bool | None = None,
) -> CampaignProgress:
    """Return what the campaign `name` has done and spent; nothing, if this database does not have it.

    Its file may have changed since: searches and names that are new in it are counted whether or not the change was
    applied.

    Args:
        connection: the database.
        name: of the campaign.
        reading: the endpoints that return posts.
        platform: where its accounts are.
        usernames: those it begins with.
        queries: the texts that it searches.
        linked: of a campaign that tests an old dataset, whether accounts that were only linked to belong to it.
    """
    names = [name.lower() for name in usernames]
    with connection.begin():
        known = _read_one(connection, KNOWN, platform=platform, names=names)[0]
        number = connection.execute(text(NUMBER), {"name": name}).scalar()
        if number is None:
            return CampaignProgress(known=known)
        asked = connection.execute(text(ASKED), {"campaign": number}).scalars()
        returning = [endpoint for endpoint in asked if endpoint.endswith(tuple(reading))]  # with a host, or without
        requests, began, money, posts = _read_one(connection, SPENT, campaign=number, reading=returning)
        acts = _count_acts(connection, number)
        (found,) = _read_one(connection, FOUND, campaign=number)
        old = {} if linked is None else _count_dataset(connection, number, platform, linked=linked)
        ids = count_states(connection, number).get(WANTED, 0)
        new_queries, new_names = list_new_starts(connection, number, platform, queries, usernames)
    return CampaignProgress(
        requests=requests,
        posts=int(posts),
        money=int(money),
        began=None if began is None else parse_time(began),
        found=found,
        known=known,
        new_queries=len(new_queries),
        new_names=len(new_names),
        **{**acts, **old, "ids": ids},
    )


def _count_acts(connection: Connection, campaign: int) -> dict[str, int]:
    """Return what `CampaignProgress` says of searches, look-ups, seeds and steps."""
    nothing = (0, 0, 0, 0)
    acts = {row[0]: row[1:] for row in connection.execute(text(ACTS), {"campaign": campaign})}
    seeds, looked_up = (acts.get(act, nothing) for act in ("seed", "resolve"))
    steps = sum(acts.get(act, nothing)[0] for act in STEPS)
    return {
        "queries": acts.get("search", nothing)[1],
        "looked_up": looked_up[1],
        "gone": looked_up[2],
        "asked": seeds[0] + steps,
        "seeds": seeds[1],
        "waiting": seeds[3] - seeds[1],
        "steps": steps,
    }


def list_new_starts(
    connection: Connection, campaign: int, platform: str, queries: Sequence[str], usernames: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return those of the texts that a campaign has not searched, and of the usernames that it has not looked up.

    It is the same before and after a change of its file is applied. Called in a transaction.
    """
    if not inspect(connection).has_table("epoch"):  # in the first schemas nothing could change
        return [], []
    held = orjson.loads(_read_one(connection, IDENTITY, campaign=campaign)[0])
    texts, nodes = list(dict.fromkeys(queries)), read_queries(held, queries)[1]
    finished = set(connection.execute(text(FINISHED), {"campaign": campaign}).scalars())
    names = dict.fromkeys(name.lower() for name in usernames)
    slots = (held.get("seeds") or {}).get("usernames") or []
    done = {slot.lower() for slot in slots if isinstance(slot, str)}
    (since,) = _read_one(connection, SEEDED, campaign=campaign)
    if not _read_one(connection, READ_SINCE, campaign=campaign, since=since)[0]:
        done &= set(connection.execute(text(STARTED), {"campaign": campaign}).scalars())
    done |= find_forgotten(connection, platform, "name", names)
    return (
        [query for query, node in zip(texts, nodes, strict=True) if node not in finished],
        [name for name in names if name not in done],
    )


def count_stored(connection: Connection, name: str, platform: str, since: float, day: str) -> StoredResources:
    """Return what the campaign `name` may get without paying for it.

    Args:
        connection: the database; of its first schema, which had no such answers, nothing is known.
        name: of the campaign, begun or not.
        platform: whose answers count.
        since: answers that arrived before are not reused (Unix seconds).
        day: the day (UTC) whose charges count, as `2026-01-31`.
    """
    with connection.begin():
        if not inspect(connection).has_table("charge"):
            return StoredResources()
        fresh = _read_one(connection, FRESH, name=name, platform=platform, since=format_time(since))
        billed = _read_one(connection, CHARGED, day=day)
    return StoredResources(*map(int, (*fresh, *billed)))


def _count_dataset(connection: Connection, campaign: int, platform: str, *, linked: bool) -> dict[str, int]:
    """Return what `CampaignProgress` says of an old dataset."""
    members = IMPORTED + (LINKED if linked else "")
    size, due, named, others = _read_one(
        connection, DATASET.format(members=members), campaign=campaign, platform=platform
    )
    return {"dataset": size, "tested": size - due, "named": named, "again": min(named, others)}


def estimate_typical(connection: Connection, roles: EndpointRoles, name: str = "") -> TypicalNeeds:
    """Return what answers are like: assumed where there are too few.

    Those of all campaigns of this database count. As accounts that many others name come first in a crawl, and post
    most, only the later half of the steps counts of a campaign that has done `FEW`.

    Args:
        connection: the database.
        roles: which endpoint does what.
        name: of the campaign that they are for.
    """
    with connection.begin():
        since, spreads = _measure_later_half(connection, name)
        pages = connection.execute(
            text(_make_recent_sql(PAGES, "r", since)),
            {"timeline": f"%{roles.timeline}%", "again": RequestPart.REPEATED_PAGE} | since,
        ).all()
        accounts, gone = _read_one(connection, _make_recent_sql(ACCOUNTS, "o", since), **since)
        steps, named = _read_one(connection, _make_recent_sql(NAMED, "p", since), by_name=f"%{roles.by_name}", **since)
        asked = {"timeline": f"%{roles.timeline}%", "by_name": f"%{roles.by_name}"} | since
        returns, *brought = map(int, _read_one(connection, _make_recent_sql(RETURNS, "o", since), **asked))
        searched, authors = map(int, _read_one(connection, SEARCHED))
        seconds = SECONDS[connection.dialect.name]
        answers, mean = _read_one(
            connection, ANSWERS.format(arrived=seconds.format("arrived_at"), sent=seconds.format("sent_at"))
        )
    read = sum(row[1] for row in pages)
    found: dict[str, Any] = {}
    if read >= LEAST:
        # Page by page, as later ones are asked for of those accounts only that have them.
        shares = {row[0]: row[2] / row[1] for row in pages}
        overall = sum(row[2] for row in pages) / read
        found["posts_per_page"] = int(sum(row[3] for row in pages)) / read
        found["again"] = sum(row[4] for row in pages) / read
        found["more"] = tuple(shares.get(page, overall) for page in range(1, max(shares) + 1))
    if accounts >= LEAST:
        found["missing"] = gone / accounts
    if steps >= LEAST:
        found["named"] = named / steps
    if returns >= LEAST:
        found |= zip(("return_named", "return_pages", "returned"), (each / returns for each in brought), strict=True)
    if searched >= LEAST:
        found["authors"] = min(1.0, authors / searched)
    if answers >= LEAST:
        found["answer"] = float(mean)
    return TypicalNeeds(**found, spreads=spreads, rests=dict.fromkeys(found, STORED))


def _measure_later_half(connection: Connection, name: str) -> tuple[dict[str, int], dict[str, Spread]]:
    """Return where the later half of a campaign's steps begins, and how they differed; nothing while they are few."""
    campaign = connection.execute(text(NUMBER), {"name": name}).scalar()
    if campaign is None:
        return {}, {}
    halves: list[Any] = list(_run_query(connection, NEEDED, campaign=campaign, steps=list(STEPS), visits=list(VISITS)))
    if sum(half[1] for half in halves) < FEW:
        return {}, {}
    begins, count, read = halves[1][:3]
    spreads = {}
    for place, needed in enumerate(NEEDS):
        before, used = (NeedSums(half[1], *map(float, half[3 + 2 * place : 5 + 2 * place])) for half in halves)
        spreads[needed] = measure_spread(before, used, read / count, FEW if needed == "requests" else ENOUGH)
    return {"campaign": int(campaign), "since": int(begins)}, spreads


def _make_recent_sql(sql: str, table: str, since: Mapping[str, int]) -> str:
    return sql.format(recent=RECENT.format(table) if since else "")


def sum_spending(connection: Connection, name: str) -> Mapping[str, tuple[int, int]]:
    """Return the requests of a campaign and what they cost, in mills, by the act that they served ("" for none)."""
    with connection.begin():
        rows = connection.execute(text(SPENDING), {"name": name}).all()
    return {act: (requests, int(money)) for act, requests, money in rows}


def _read_one(connection: Connection, sql: str, **values: Any) -> Any:
    return _run_query(connection, sql, **values).one()


def _run_query(connection: Connection, sql: str, **values: Any) -> CursorResult[Any]:
    """Run a query in which values may be lists."""
    lists: list[BindParameter[Any]] = [
        bindparam(name, expanding=True, type_=Text) for name, value in values.items() if isinstance(value, list)
    ]
    return connection.execute(text(sql).bindparams(*lists), values)
