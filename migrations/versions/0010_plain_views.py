"""Plain names for what people ask of private tables, and cut timelines counted once, by their last page.

What `pick`, `hit` and `standing` hold has views with names that stay: `decision`, `topic_match`, `importance`.
`coverage_gap` took pages of whom an account follows for pages of its timeline.
"""

from alembic import op

from socialcrawl.storage.schema.kept import make_view

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

CAMPAIGN = "name of the campaign"

DECISION = (
    "decision",
    "what a campaign decided and what came of it: one row a decision, in order",
    {
        "campaign": CAMPAIGN,
        "n": "number of the decision, from 0: pick.n",
        "act": "search, resolve, seed, expand, recrawl, probe, walk, inward or import",
        "account": "username as last shown, or the platform's id; NULL for a search",
        "score": "the estimate by which it was chosen; 0 for seeds",
        "features": "JSON of what was known of it then, by name; NULL for seeds",
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

TOPIC_MATCH = (
    "topic_match",
    "which posts match the topic of a campaign, without their texts: one row a match",
    {
        "campaign": CAMPAIGN,
        "post": "the platform's own id of the post",
        "author": "username as last shown, or the platform's id",
        "occurrences": "occurrences of the topic in the post, at least 1",
        "created_at": "when it was posted",
        "node": "account.node of the author",
    },
    """select c.name, h.post, coalesce(a.username, a.platform_id), h.occurrences, p.created_at, p.author
from hit h
join campaign c on c.id = h.campaign
join post p on p.id = h.post
join account a on a.node = p.author""",
)

IMPORTANCE = (
    "importance",
    "how important a campaign of kind track finds each account, as it was last written",
    {
        "campaign": CAMPAIGN,
        "place": "1 for the most important; of equals the one with the lower number",
        "account": "username as last shown, or the platform's id",
        "importance": "OPIC: (H + C) / (G + 1), its share of all importance",
        "history": "OPIC's H: all cash that it has paid out",
        "indegree": "links to it, as [track] parallel counts them",
        "relevance": "beta = 1 + ln(occurrences) over all visits",
        "visits": "times it was read; 0: it is in the frontier",
        "node": "account.node",
    },
    """select c.name, row_number() over (partition by s.campaign order by s.importance desc, s.node),
  coalesce(a.username, a.platform_id), s.importance, s.history, s.indegree, s.relevance, s.visits, s.node
from standing s
join campaign c on c.id = s.campaign
join account a on a.node = s.node""",
)

COVERAGE_GAP = (
    "coverage_gap",
    "what a campaign could not see, and why: one row a kind of gap",
    {
        "campaign": CAMPAIGN,
        "gap": "account: not read; timeline, search: older posts were left unread; request: no answer came",
        "why": "the reason, as in outcome.missing; more pages: there was a next page; lost: sent, but not answered",
        "size": "how many accounts, timelines, searches or requests",
        "first_n": "number of the first decision that it concerns, pick.n",
        "last_n": "number of the last one",
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

OLD_COVERAGE_GAP = (
    *COVERAGE_GAP[:3],
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
  from request q
  join pick p on p.campaign = q.campaign and p.n = q.n
  join outcome o on o.campaign = q.campaign and o.n = q.n
  where q.kind in ('ok', 'held') and q.cursor is not null and o.missing is null
    and p.act in ('search', 'seed', 'expand', 'recrawl', 'walk') and not exists (
      select 1 from request l where l.campaign = q.campaign and l.n = q.n and l.part > q.part
        and l.kind in ('ok', 'held', 'missing'))
  union all
  select campaign, 'request', 'lost', n from request where coalesce(kind, 'lost') = 'lost') g
join campaign c on c.id = g.campaign
group by c.name, g.gap, g.why""",
)
RENEWED, BEFORE, NEW = (COVERAGE_GAP,), (OLD_COVERAGE_GAP,), (DECISION, TOPIC_MATCH, IMPORTANCE)


def upgrade() -> None:
    for name, *_ in BEFORE:
        op.execute(f"drop view {name}")
    for view in (*RENEWED, *NEW):
        make_view(*view)


def downgrade() -> None:
    for name, *_ in (*RENEWED, *NEW):
        op.execute(f"drop view {name}")
    for view in BEFORE:
        make_view(*view)
