"""Accounts that a capture brought are in the view `frontier_now`; comments name the acts of captures."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import change_comments, make_view

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

View = tuple[str, str, dict[str, str], str]
CAMPAIGN = "name of the campaign"
ACTS = "search, resolve, seed, expand, recrawl, probe, walk, inward, slice, live, count, hydrate, import or captured"
OLD_ACTS = "search, resolve, seed, expand, recrawl, probe, walk, inward, slice, hydrate or import"
OLDER_ACTS = "search, resolve, seed, expand, recrawl, probe, walk, inward or import"

ALIAS = """with alias as (
  select o.campaign as campaign, o.node as node,
    case when substr(o.missing, 1, 8) = 'same-as:' then cast(substr(o.missing, 9) as bigint) end as meant
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where substr(o.missing, 1, 8) = 'same-as:' and p.act in ('seed', 'expand', 'walk', 'probe', 'import')
"""
REACHED = """), held as (
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
"""
OLD_REACHED = """), reached as (
  select l.campaign as campaign, coalesce(s.meant, l.node) as node, count(*) as links, sum(o.value) as n_sum,
    max(o.value) as n_max, sum(l.alpha) as e_sum, max(l.alpha) as e_max, sum(o.value * l.alpha) as ne_sum,
    max(o.value * l.alpha) as ne_max, min(l.n) as first_n
  from outcome o
  join pick p on p.campaign = o.campaign and p.n = o.n
  join link l on l.campaign = o.campaign and l.n = o.n
  left join alias s on s.campaign = l.campaign and s.node = l.node
  where p.act in ('seed', 'expand', 'recrawl', 'walk', 'import') and o.missing is null and l.node <> o.node
  group by l.campaign, coalesce(s.meant, l.node)
"""
LEFT = """), failed as (
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
    or (p.act in ('expand', 'walk', 'probe') and coalesce(o.missing, '') <> 'temporary')))"""
FRONTIER_NOW = (
    "frontier_now",
    "the accounts that are linked to or came from a capture and were not read yet, with the features of the estimators",
    {
        "campaign": CAMPAIGN,
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
    ALIAS + REACHED + LEFT,
)
OLD_FRONTIER_NOW = (
    "frontier_now",
    "the accounts that are linked to and were not read yet, with the features of the estimators",
    {
        **FRONTIER_NOW[2],
        "links": "links to it from accounts that were read",
        "first_n": "number of the decision that first found a link to it, pick.n",
    },
    ALIAS + OLD_REACHED + LEFT,
)
CAMPAIGN_PROGRESS = (
    "campaign_progress",
    "the course of a campaign: one row per decision, with sums over all decisions so far",
    {
        "campaign": CAMPAIGN,
        "n": "number of the decision, pick.n",
        "act": ACTS,
        "account": "username as last shown, or the platform's id; NULL for a search",
        "finished_at": "when its last page arrived; NULL while it is open",
        "missing": "why nothing was found, if so; see outcome.missing",
        "step": "accounts read after the seeds, including this one; NULL for everything but steps",
        "value": "relevance found by this decision (1: active, on topic; 0.5: wider topic only); NULL while it is open",
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
DECISION = (
    "decision",
    "the decisions of a campaign and their outcomes: one row per decision, in order",
    {
        "campaign": CAMPAIGN,
        "n": "number of the decision, from 0: pick.n",
        "act": ACTS,
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
RENEWED = (FRONTIER_NOW, CAMPAIGN_PROGRESS, DECISION)
BEFORE = (
    OLD_FRONTIER_NOW,
    (*CAMPAIGN_PROGRESS[:2], {**CAMPAIGN_PROGRESS[2], "act": OLDER_ACTS}, CAMPAIGN_PROGRESS[3]),
    (*DECISION[:2], {**DECISION[2], "act": OLD_ACTS}, DECISION[3]),
)

SINCE = (
    "the mark of the last visit: only newer posts were requested; of slice and count: its span of time; of live: "
    "seconds that it may take, and the place in the stream where it goes on; of hydrate, and of import of ids: its "
    "positions in wanted_post, from/before; NULL: all"
)
OLD_SINCE = (
    "the mark of the last visit: only newer posts were requested; of slice: its span of time; of hydrate: its "
    "positions in wanted_post, from/before; NULL: all"
)
MARK = (
    "where a next visit continues, in the platform's own terms; of probe: when it last posted; of walk and import: its "
    "host, of import of ids: how many one request takes; of slice: from when on it was read, if not from its begin; of "
    "live: the part of the stream that was read, and its next place; of count: the slices and their posts; of hydrate: "
    "before which position it was read, if not to its end; of captured: the capture, and up to which of its decisions "
    "it was looked through; NULL: none"
)
OLD_MARK = (
    "where a next visit continues, in the platform's own terms; of probe: when it last posted; of walk and import: its "
    "host; of slice: from when on it was read, if not from its begin; of hydrate: before which position it was read, "
    "if not to its end; NULL: none"
)
SAID = (
    ("pick", "act", sa.String(8), False, ACTS, OLD_ACTS),
    ("pick", "since", sa.Text(), True, SINCE, OLD_SINCE),
    ("outcome", "mark", sa.Text(), True, MARK, OLD_MARK),
)
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
