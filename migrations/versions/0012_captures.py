"""Captures: slices of time as decisions, and what of them could not be read.

`captured_slice` lists them. `coverage_gap` counts each slice by its span of time, as their node is the query.
"""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import change_comments, make_view

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

CAMPAIGN = "name of the campaign"

COVERAGE_GAP = (
    "coverage_gap",
    "what a campaign could not read, and why: one row per kind of gap",
    {
        "campaign": CAMPAIGN,
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
      row_number() over (
        partition by o.campaign, o.node, case when q.act = 'slice' then q.since end order by o.n desc) as latest
    from outcome o join pick q on q.campaign = o.campaign and q.n = o.n
    where o.missing is not null and substr(o.missing, 1, 8) <> 'same-as:'
      and (q.act <> 'probe' or o.missing = 'temporary')
      and not exists (select 1 from outcome r join pick p on p.campaign = r.campaign and p.n = r.n
        where r.node = o.node and r.campaign = o.campaign and r.missing is null
          and (q.act <> 'slice' or p.since = q.since)
          and p.act in ('search', 'seed', 'expand', 'recrawl', 'probe', 'walk', 'slice', 'import'))) m
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

DECISION = (
    "decision",
    "the decisions of a campaign and their outcomes: one row per decision, in order",
    {
        "campaign": CAMPAIGN,
        "n": "number of the decision, from 0: pick.n",
        "act": "search, resolve, seed, expand, recrawl, probe, walk, inward, slice or import",
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

CAPTURED_SLICE = (
    "captured_slice",
    "the slices of time that a campaign of kind capture has read, or is reading: one row a decision, in order",
    {
        "campaign": CAMPAIGN,
        "query": "number of the query, from 1",
        "begins_at": "begin of the slice",
        "ends_at": "end of the slice, exclusive",
        "read_from": "from when on it was read to its end; NULL: not read yet",
        "posts": "posts returned, repeats included; NULL while it is open",
        "state": "complete; cut: what is older is left to other slices; open; or why it could not be read",
        "n": "number of the decision, pick.n",
        "finished_at": "when its last page arrived; NULL while it is open",
    },
    """select c.name, -p.node, substr(p.since, 1, 20), substr(p.since, 22, 20),
  case when o.missing is null then coalesce(o.mark, case when o.n is not null then substr(p.since, 1, 20) end) end,
  o.posts, coalesce(o.missing, case when o.n is null then 'open' when o.mark is null then 'complete' else 'cut' end),
  p.n, o.at
from pick p
join campaign c on c.id = p.campaign
left join outcome o on o.campaign = p.campaign and o.n = p.n
where p.act = 'slice'""",
)

OLD_COVERAGE_GAP = (
    *COVERAGE_GAP[:2],
    {
        **COVERAGE_GAP[2],
        "gap": "account: not read; timeline, search: older posts were left unread; request: no answer came",
    },
    """select c.name, g.gap, g.why, count(*), min(g.n), max(g.n)
from (
  select campaign, case when node < 0 then 'search' else 'account' end as gap, missing as why, n from (
    select o.campaign, o.node, o.missing, o.n,
      row_number() over (partition by o.campaign, o.node order by o.n desc) as latest
    from outcome o join pick q on q.campaign = o.campaign and q.n = o.n
    where o.missing is not null and substr(o.missing, 1, 8) <> 'same-as:'
      and (q.act <> 'probe' or o.missing = 'temporary')
      and not exists (select 1 from outcome r join pick p on p.campaign = r.campaign and p.n = r.n
        where r.node = o.node and r.campaign = o.campaign and r.missing is null
          and p.act in ('search', 'seed', 'expand', 'recrawl', 'probe', 'walk', 'import'))) m
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
    *DECISION[:2],
    {**DECISION[2], "act": "search, resolve, seed, expand, recrawl, probe, walk, inward or import"},
    DECISION[3],
)
RENEWED, BEFORE, NEW = (COVERAGE_GAP, DECISION), (OLD_COVERAGE_GAP, OLD_DECISION), (CAPTURED_SLICE,)

MARK = (
    "where a next visit continues, in the platform's own terms; of probe: when it last posted; of walk and "
    "import: its host"
)
SAID = (
    (
        "pick",
        "act",
        sa.String(8),
        False,
        "search, resolve, seed, expand, recrawl, probe, walk, inward, slice or import",
        "search, resolve, seed, expand, recrawl, probe, walk, inward or import",
    ),
    (
        "pick",
        "since",
        sa.Text(),
        True,
        "the mark of the last visit: only newer posts were requested; of slice: its span of time; NULL: all",
        "the mark of the last visit: only newer posts were requested; NULL: all",
    ),
    (
        "outcome",
        "mark",
        sa.Text(),
        True,
        f"{MARK}; of slice: from when on it was read, if not from its begin; NULL: none",
        f"{MARK}; NULL: none",
    ),
)
"""Table, column, its type, whether it may be NULL, its comment from now on and before."""


def upgrade() -> None:
    for name, *_ in BEFORE:
        op.execute(f"drop view {name}")
    change_comments(SAID, newer=True)
    for view in (*RENEWED, *NEW):
        make_view(*view)


def downgrade() -> None:
    for name, *_ in (*RENEWED, *NEW):
        op.execute(f"drop view {name}")
    change_comments(SAID, newer=False)
    for view in BEFORE:
        make_view(*view)
