"""Accounts may be matched by searches, and read further page by page: views know the acts `match` and `page`."""

# ruff: noqa: S608  (the names are our own)

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import change_comments, make_view

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

View = tuple[str, str, dict[str, str], str]
ACTS = (
    "search, resolve, seed, expand, match, page, recrawl, probe, walk, inward, slice, live, count, hydrate, import or "
    "captured"
)
OLD_ACTS = (
    "search, resolve, seed, expand, recrawl, probe, walk, inward, slice, live, count, hydrate, import or captured"
)
LAST_PAGE = """(select x.campaign as campaign, x.node as node, max(x.n) as n
  from pick y cross join outcome x
  where y.act = 'page' and x.campaign = y.campaign and x.n = y.n and x.missing is null group by x.campaign, x.node)"""
JOIN_LAST = f"""left join {LAST_PAGE} g on g.campaign = o.campaign and g.node = o.node and o.missing is null
left join outcome u on u.campaign = g.campaign and u.n = g.n"""

OLD_TOP_ACCOUNT = (
    "top_account",
    "accounts that were read and have matching posts, one row each",
    {
        "campaign": "name of the campaign",
        "place": "1 for the most relevant; of equals the one read first",
        "account": "username as last shown, or the platform's id where no name is known",
        "display_name": "name in the profile",
        "relevance": "beta = 1 + ln(occurrences); in a sample 1: on topic",
        "occurrences": "occurrences of the topic in the posts read",
        "posts": "posts read",
        "act": "seed, expand, walk or import: how the account came to be read",
        "step": "how many accounts were read after the seeds, including this one; NULL for seeds and imports",
        "n": "number of the decision to read it, pick.n",
        "read_at": "when its last page arrived",
        "followers": "followers, where the profile is known",
        "node": "account.node",
    },
    """select c.name, row_number() over (partition by o.campaign order by o.value desc, o.n),
  coalesce(a.username, a.platform_id), a.name, o.value, o.occurrences, o.posts, p.act, p.step, o.n, o.at, a.followers,
  o.node
from outcome o
join (select campaign, n, act, case when act in ('expand', 'walk')
        then row_number() over (partition by campaign, act order by n) end as step from pick) p
  on p.campaign = o.campaign and p.n = o.n
join campaign c on c.id = o.campaign
join account a on a.node = o.node
where o.value > 0 and p.act in ('seed', 'expand', 'walk', 'import') and not (p.act = 'walk' and o.value < 1)""",
)
TOP_ACCOUNT = (
    "top_account",
    "accounts that were read and have matching posts, one row each",
    {
        **OLD_TOP_ACCOUNT[2],
        "act": "seed, expand, match, walk or import: how the account came to be read",
    },
    f"""select c.name, row_number() over (partition by o.campaign order by coalesce(u.value, o.value) desc, o.n),
  coalesce(a.username, a.platform_id), a.name, coalesce(u.value, o.value), coalesce(u.occurrences, o.occurrences),
  coalesce(u.posts, o.posts), p.act, p.step, o.n, coalesce(u.at, o.at), a.followers, o.node
from outcome o
join (select campaign, n, act, case when act in ('expand', 'match', 'walk')
        then row_number() over (partition by campaign, act order by n) end as step from pick) p
  on p.campaign = o.campaign and p.n = o.n
join campaign c on c.id = o.campaign
join account a on a.node = o.node
{JOIN_LAST}
where coalesce(u.value, o.value) > 0 and p.act in ('seed', 'expand', 'match', 'walk', 'import')
  and not (p.act = 'walk' and o.value < 1)""",
)
OLD_MENTION_NETWORK = (
    "mention_network",
    "which account mentions which: one row per link of the graph and visit, without links of an account to itself",
    {
        "campaign": "name of the campaign",
        "source": "the account that mentions: username as last shown, or the platform's id",
        "target": "the account mentioned: username as last shown, or the platform's id",
        "posts": "posts in the database in which the source mentions the target; 0 when they were removed since",
        "alpha": "weight of the link: 1 + ln(occurrences of the topic in the posts that mention), 0 without any",
        "first_at": "when the first of these posts was written",
        "last_at": "when the last of these posts was written",
        "n": "number of the decision that found it, pick.n",
        "source_node": "account.node of the source",
        "target_node": "account.node of the target",
    },
    """select c.name, coalesce(s.username, s.platform_id), coalesce(t.username, t.platform_id), coalesce(m.posts, 0),
  e.alpha, m.first_at, m.last_at, e.n, e.source, e.target
from (select l.campaign as campaign, l.n as n, l.alpha as alpha,
        case when p.act = 'inward' then l.node else o.node end as source,
        case when p.act = 'inward' then o.node else l.node end as target
      from outcome o
      join pick p on p.campaign = o.campaign and p.n = o.n
      join link l on l.campaign = o.campaign and l.n = o.n
      where p.act in ('seed', 'expand', 'recrawl', 'walk', 'inward', 'import') and o.missing is null
        and l.node <> o.node) e
join campaign c on c.id = e.campaign
join account s on s.node = e.source
join account t on t.node = e.target
left join (select w.author as author, x.node as node, count(*) as posts, min(w.created_at) as first_at,
             max(w.created_at) as last_at from mention x join post w on w.id = x.post group by w.author, x.node) m
  on m.author = e.source and m.node = e.target""",
)
MENTION_NETWORK = (
    "mention_network",
    "which account mentions which: one row per link of the graph and visit, without links of an account to itself",
    OLD_MENTION_NETWORK[2],
    f"""select c.name, coalesce(s.username, s.platform_id), coalesce(t.username, t.platform_id), coalesce(m.posts, 0),
  e.alpha, m.first_at, m.last_at, e.n, e.source, e.target
from (select l.campaign as campaign, l.n as n, l.alpha as alpha,
        case when p.act = 'inward' then l.node else o.node end as source,
        case when p.act = 'inward' then o.node else l.node end as target
      from outcome o
      join pick p on p.campaign = o.campaign and p.n = o.n
      join link l on l.campaign = o.campaign and l.n = o.n
      left join {LAST_PAGE} g on g.campaign = o.campaign and g.node = o.node
      where p.act in ('seed', 'expand', 'match', 'page', 'recrawl', 'walk', 'inward', 'import') and o.missing is null
        and l.node <> o.node and o.n >= coalesce(g.n, 0)) e
join campaign c on c.id = e.campaign
join account s on s.node = e.source
join account t on t.node = e.target
left join (select w.author as author, x.node as node, count(*) as posts, min(w.created_at) as first_at,
             max(w.created_at) as last_at from mention x join post w on w.id = x.post group by w.author, x.node) m
  on m.author = e.source and m.node = e.target""",
)
OLD_CAMPAIGN_PROGRESS = (
    "campaign_progress",
    "the course of a campaign: one row per decision, with sums over all decisions so far",
    {
        "campaign": "name of the campaign",
        "n": "number of the decision, pick.n",
        "act": OLD_ACTS,
        "account": "username as last shown, or the platform's id; NULL for a search",
        "finished_at": "when its last page arrived; NULL while it is open",
        "missing": "why nothing was found, if so; see outcome.missing",
        "step": "accounts read after the seeds, including this one; NULL for everything but steps",
        "value": (
            "relevance found by this decision (1: active, on topic; 0.5: wider topic only); NULL while it is open"
        ),
        "relevance": "relevance found by all steps so far (seeds and imports are no steps)",
        "seed_relevance": "relevance of the seeds and imports so far",
        "requests": "requests sent so far, those without an answer included",
        "dollars": "their price so far by the price table; without an answer the dearest",
        "node": "account.node; negative: a query",
    },
    """select c.name, p.n, p.act, coalesce(a.username, a.platform_id), o.at, o.missing,
  case when p.act in ('expand', 'probe', 'walk')
    then count(case when p.act in ('expand', 'probe', 'walk') then 1 end) over w end, o.value,
  sum(case when p.act = 'walk' and o.value < 1 then 0.0
    when p.act in ('expand', 'probe', 'walk') then coalesce(o.value, 0.0) else 0.0 end) over w,
  sum(case when p.act in ('seed', 'import') then coalesce(o.value, 0.0) else 0.0 end) over w,
  cast(coalesce(sum(r.requests) over w, 0) as bigint),
  cast(coalesce(sum(r.cost) over w, 0) as double precision) / 100000, p.node
from pick p
join campaign c on c.id = p.campaign
left join outcome o on o.campaign = p.campaign and o.n = p.n
left join account a on a.node = p.node
left join (select campaign, n, count(*) as requests, sum(coalesce(cost, most)) as cost from request
           where coalesce(kind, '') <> 'held' group by campaign, n) r on r.campaign = p.campaign and r.n = p.n
window w as (partition by p.campaign order by p.n)""",
)
CAMPAIGN_PROGRESS = (
    "campaign_progress",
    "the course of a campaign: one row per decision, with sums over all decisions so far",
    {
        **OLD_CAMPAIGN_PROGRESS[2],
        "act": ACTS,
        "value": (
            "relevance found by this decision (1: active, on topic; 0.5: wider topic only; of page: all of the "
            "account so far); NULL while it is open"
        ),
    },
    """select c.name, p.n, p.act, coalesce(a.username, a.platform_id), o.at, o.missing,
  case when p.act in ('expand', 'match', 'probe', 'walk')
    then count(case when p.act in ('expand', 'match', 'probe', 'walk') then 1 end) over w end, o.value,
  sum(case when p.act = 'walk' and o.value < 1 then 0.0
    when p.act in ('expand', 'match', 'probe', 'walk') then coalesce(o.value, 0.0)
    when d.act in ('expand', 'match') then d.more else 0.0 end) over w,
  sum(case when p.act in ('seed', 'import') then coalesce(o.value, 0.0)
    when d.act in ('seed', 'import') then d.more else 0.0 end) over w,
  cast(coalesce(sum(r.requests) over w, 0) as bigint),
  cast(coalesce(sum(r.cost) over w, 0) as double precision) / 100000, p.node
from pick p
join campaign c on c.id = p.campaign
left join outcome o on o.campaign = p.campaign and o.n = p.n
left join account a on a.node = p.node
left join (select campaign, n, count(*) as requests, sum(coalesce(cost, most)) as cost from request
           where coalesce(kind, '') <> 'held' group by campaign, n) r on r.campaign = p.campaign and r.n = p.n
left join (select o.campaign as campaign, o.n as n, q.act as page,
             first_value(q.act) over (partition by o.campaign, o.node order by o.n) as act,
             o.value - coalesce(lag(o.value) over (partition by o.campaign, o.node order by o.n), 0.0) as more
           from outcome o join pick q on q.campaign = o.campaign and q.n = o.n
           where q.act in ('seed', 'expand', 'match', 'page', 'import') and o.missing is null
             and o.campaign in (select campaign from pick where act = 'page')) d
  on d.campaign = p.campaign and d.n = p.n and d.page = 'page'
window w as (partition by p.campaign order by p.n)""",
)
OLD_FRONTIER_NOW = (
    "frontier_now",
    "the accounts that are linked to or came from a capture and were not read yet, with the features of the estimators",
    {
        "campaign": "name of the campaign",
        "account": "username as last shown, or the platform's id",
        "links": "links to it from accounts that were read; its own posts of a capture count as one link",
        "n_sum": "sum over these links of the relevance of the accounts that link",
        "n_max": "the largest of these",
        "e_sum": "sum of the weights alpha of these links",
        "e_max": "the largest of these",
        "ne_sum": "sum of relevance times weight",
        "ne_max": "the largest of these",
        "first_n": "number of the decision that first found a link to it, or brought it from a capture, pick.n",
        "failures": "attempts that failed for a while; it rests for 20 decisions after each, and is skipped after 3",
        "node": "account.node",
    },
    """with alias as (
  select o.campaign as campaign, o.node as node,
    case when substr(o.missing, 1, 8) = 'same-as:' then cast(substr(o.missing, 9) as bigint) end as meant
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where substr(o.missing, 1, 8) = 'same-as:' and p.act in ('seed', 'expand', 'walk', 'probe', 'import')
), held as (
  select o.campaign as campaign, o.node as node, o.value as value,
    min(o.n) over (partition by o.campaign, o.node) as first_n,
    row_number() over (partition by o.campaign, o.node order by o.n desc) as latest
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where p.act = 'captured' and o.missing is null
), met as (
  select l.campaign as campaign, l.node as node, o.value as value, l.alpha as alpha, l.n as n
  from outcome o
  join pick p on p.campaign = o.campaign and p.n = o.n
  join link l on l.campaign = o.campaign and l.n = o.n
  where p.act in ('seed', 'expand', 'recrawl', 'walk', 'import') and o.missing is null and l.node <> o.node
  union all
  select campaign, node, value, value, first_n from held where latest = 1
), reached as (
  select m.campaign as campaign, coalesce(s.meant, m.node) as node, count(*) as links, sum(m.value) as n_sum,
    max(m.value) as n_max, sum(m.alpha) as e_sum, max(m.alpha) as e_max, sum(m.value * m.alpha) as ne_sum,
    max(m.value * m.alpha) as ne_max, min(m.n) as first_n
  from met m left join alias s on s.campaign = m.campaign and s.node = m.node
  group by m.campaign, coalesce(s.meant, m.node)
), failed as (
  select o.campaign as campaign, o.node as node, count(*) as failures
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where o.missing = 'temporary' and p.act in ('expand', 'walk', 'probe') group by o.campaign, o.node
)
select c.name, coalesce(a.username, a.platform_id), r.links, r.n_sum, r.n_max, r.e_sum, r.e_max, r.ne_sum, r.ne_max,
  r.first_n, coalesce(f.failures, 0), r.node
from reached r
join campaign c on c.id = r.campaign
join account a on a.node = r.node
left join failed f on f.campaign = r.campaign and f.node = r.node
where a.forgotten_at is null and coalesce(f.failures, 0) < 3 and not exists (
  select 1 from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where o.node = r.node and o.campaign = r.campaign and (p.act in ('seed', 'import')
    or (p.act in ('expand', 'walk', 'probe') and coalesce(o.missing, '') <> 'temporary')))""",
)
FRONTIER_NOW = (
    "frontier_now",
    "the accounts that are linked to or came from a capture and were not read yet, with the features of the estimators",
    OLD_FRONTIER_NOW[2],
    f"""with alias as (
  select o.campaign as campaign, o.node as node,
    case when substr(o.missing, 1, 8) = 'same-as:' then cast(substr(o.missing, 9) as bigint) end as meant
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where substr(o.missing, 1, 8) = 'same-as:' and p.act in ('seed', 'expand', 'match', 'walk', 'probe', 'import')
), held as (
  select o.campaign as campaign, o.node as node, o.value as value,
    min(o.n) over (partition by o.campaign, o.node) as first_n,
    row_number() over (partition by o.campaign, o.node order by o.n desc) as latest
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where p.act = 'captured' and o.missing is null
), met as (
  select l.campaign as campaign, l.node as node, o.value as value, l.alpha as alpha, l.n as n
  from outcome o
  join pick p on p.campaign = o.campaign and p.n = o.n
  join link l on l.campaign = o.campaign and l.n = o.n
  left join {LAST_PAGE} g on g.campaign = o.campaign and g.node = o.node
  where p.act in ('seed', 'expand', 'match', 'page', 'recrawl', 'walk', 'import') and o.missing is null
    and l.node <> o.node and o.n >= coalesce(g.n, 0)
  union all
  select campaign, node, value, value, first_n from held where latest = 1
), reached as (
  select m.campaign as campaign, coalesce(s.meant, m.node) as node, count(*) as links, sum(m.value) as n_sum,
    max(m.value) as n_max, sum(m.alpha) as e_sum, max(m.alpha) as e_max, sum(m.value * m.alpha) as ne_sum,
    max(m.value * m.alpha) as ne_max, min(m.n) as first_n
  from met m left join alias s on s.campaign = m.campaign and s.node = m.node
  group by m.campaign, coalesce(s.meant, m.node)
), failed as (
  select o.campaign as campaign, o.node as node, count(*) as failures
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where o.missing = 'temporary' and p.act in ('expand', 'match', 'walk', 'probe') group by o.campaign, o.node
)
select c.name, coalesce(a.username, a.platform_id), r.links, r.n_sum, r.n_max, r.e_sum, r.e_max, r.ne_sum, r.ne_max,
  r.first_n, coalesce(f.failures, 0), r.node
from reached r
join campaign c on c.id = r.campaign
join account a on a.node = r.node
left join failed f on f.campaign = r.campaign and f.node = r.node
where a.forgotten_at is null and coalesce(f.failures, 0) < 3 and not exists (
  select 1 from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where o.node = r.node and o.campaign = r.campaign and (p.act in ('seed', 'import')
    or (p.act in ('expand', 'match', 'walk', 'probe') and coalesce(o.missing, '') <> 'temporary')))""",
)
OLD_COVERAGE_GAP = (
    "coverage_gap",
    "what a campaign could not read, and why: one row per kind of gap",
    {
        "campaign": "name of the campaign",
        "gap": "account: not read; timeline, search: posts were left unread; request: no answer came",
        "why": "the reason, as in outcome.missing; more pages: there was a next page; lost: sent, but not answered",
        "size": "how many accounts, timelines, searches or requests",
        "first_n": "number of the first decision that it concerns, pick.n",
        "last_n": "number of the last one",
    },
    """select c.name, g.gap, g.why, count(*), min(g.n), max(g.n)
from (
  select campaign, case when node < 0 then 'search' else 'account' end as gap, missing as why, n from (
    select o.campaign, o.node, o.missing, o.n,
      row_number() over (partition by o.campaign, o.node,
        case when q.act in ('slice', 'hydrate') then q.since end order by o.n desc) as latest
    from outcome o join pick q on q.campaign = o.campaign and q.n = o.n
    where o.missing is not null and substr(o.missing, 1, 8) <> 'same-as:'
      and (q.act <> 'probe' or o.missing = 'temporary')
      and not exists (select 1 from outcome r join pick p on p.campaign = r.campaign and p.n = r.n
        where r.node = o.node and r.campaign = o.campaign and r.missing is null
          and (q.act not in ('slice', 'hydrate') or p.since = q.since)
          and p.act in ('search', 'seed', 'expand', 'recrawl', 'probe', 'walk', 'slice', 'hydrate', 'import'))) m
  where m.latest = 1
  union all
  select q.campaign, case when p.act = 'search' then 'search' else 'timeline' end, 'more pages', q.n
  from (select campaign, n, max(id) as last from request
        where kind in ('ok', 'held', 'missing') and lower(endpoint) not like '%follow%' group by campaign, n) t
  join request q on q.id = t.last
  join pick p on p.campaign = q.campaign and p.n = q.n
  join outcome o on o.campaign = q.campaign and o.n = q.n
  where q.kind in ('ok', 'held') and q.cursor is not null and o.missing is null
    and p.act in ('search', 'seed', 'expand', 'recrawl', 'walk')
  union all
  select campaign, 'request', 'lost', n from request where coalesce(kind, 'lost') = 'lost') g
join campaign c on c.id = g.campaign
group by c.name, g.gap, g.why""",
)
COVERAGE_GAP = (
    "coverage_gap",
    "what a campaign could not read, and why: one row per kind of gap",
    OLD_COVERAGE_GAP[2],
    """select c.name, g.gap, g.why, count(*), min(g.n), max(g.n)
from (
  select campaign, case when node < 0 then 'search' else 'account' end as gap, missing as why, n from (
    select o.campaign, o.node, o.missing, o.n,
      row_number() over (partition by o.campaign, o.node,
        case when q.act in ('slice', 'hydrate') then q.since end order by o.n desc) as latest
    from outcome o join pick q on q.campaign = o.campaign and q.n = o.n
    where o.missing is not null and substr(o.missing, 1, 8) <> 'same-as:'
      and (q.act <> 'probe' or o.missing = 'temporary')
      and not exists (select 1 from outcome r join pick p on p.campaign = r.campaign and p.n = r.n
        where r.node = o.node and r.campaign = o.campaign and r.missing is null
          and (q.act <> 'page' or o.missing = 'temporary' or r.n > o.n)
          and (q.act not in ('slice', 'hydrate') or p.since = q.since)
          and p.act in ('search', 'seed', 'expand', 'match', 'recrawl', 'probe', 'walk', 'slice', 'hydrate', 'import')
        )) m
  where m.latest = 1
  union all
  select q.campaign, case when p.act = 'search' then 'search' else 'timeline' end, 'more pages', q.n
  from (select campaign, n, max(id) as last from request
        where kind in ('ok', 'held', 'missing') and lower(endpoint) not like '%follow%' group by campaign, n) t
  join request q on q.id = t.last
  join pick p on p.campaign = q.campaign and p.n = q.n
  join outcome o on o.campaign = q.campaign and o.n = q.n
  where q.kind in ('ok', 'held') and q.cursor is not null and o.missing is null
    and p.act in ('search', 'seed', 'expand', 'recrawl', 'walk')
  union all
  select campaign, 'request', 'lost', n from request where coalesce(kind, 'lost') = 'lost') g
join campaign c on c.id = g.campaign
group by c.name, g.gap, g.why""",
)
OLD_DECISION = (
    "decision",
    "the decisions of a campaign and their outcomes: one row per decision, in order",
    {
        "campaign": "name of the campaign",
        "n": "number of the decision, from 0: pick.n",
        "act": OLD_ACTS,
        "account": "username as last shown, or the platform's id; NULL for a search",
        "score": "the estimate by which it was chosen; 0 for seeds",
        "features": "JSON of the features at that time, by name; NULL for seeds",
        "batch": "number of the first decision of its batch",
        "value": "relevance found (of probe and walk 1: active, on topic); NULL while it is open",
        "occurrences": "occurrences of the topic in the posts read; NULL while it is open",
        "posts": "posts read; NULL while it is open",
        "missing": "why nothing was found, if so; see outcome.missing",
        "finished_at": "when its last page arrived; NULL while it is open",
        "node": "account.node; negative: a query",
    },
    """select c.name, p.n, p.act, coalesce(a.username, a.platform_id), p.score, p.features, p.batch, o.value,
  o.occurrences, o.posts, o.missing, o.at, p.node
from pick p
join campaign c on c.id = p.campaign
left join outcome o on o.campaign = p.campaign and o.n = p.n
left join account a on a.node = p.node""",
)
DECISION = (*OLD_DECISION[:2], {**OLD_DECISION[2], "act": ACTS}, OLD_DECISION[3])
RENEWED = (TOP_ACCOUNT, MENTION_NETWORK, CAMPAIGN_PROGRESS, FRONTIER_NOW, COVERAGE_GAP, DECISION)
BEFORE = (OLD_TOP_ACCOUNT, OLD_MENTION_NETWORK, OLD_CAMPAIGN_PROGRESS, OLD_FRONTIER_NOW, OLD_COVERAGE_GAP, OLD_DECISION)
SAID = (("pick", "act", sa.String(8), False, ACTS, OLD_ACTS),)
"""Table, column, its type, whether it may be NULL, its comment from now on and before."""


def upgrade() -> None:
    _renew(BEFORE, RENEWED, newer=True)


def downgrade() -> None:
    _renew(RENEWED, BEFORE, newer=False)


def _renew(old: tuple[View, ...], new: tuple[View, ...], *, newer: bool) -> None:
    for name, *_ in old:
        op.execute(f"drop view {name}")
    change_comments(SAID, newer=newer)
    for view in new:
        make_view(*view)
