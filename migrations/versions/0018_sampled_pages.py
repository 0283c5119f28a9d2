"""`coverage_gap` knows the timelines of accounts that a sample judged by searches before it read them."""

from socialcrawl.storage.schema.kept import renew_views

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

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
        case when q.act in ('search', 'slice', 'hydrate') then q.since end order by o.n desc) as latest
    from outcome o join pick q on q.campaign = o.campaign and q.n = o.n
    where o.missing is not null and substr(o.missing, 1, 8) <> 'same-as:'
      and (q.act <> 'probe' or o.missing = 'temporary')
      and not exists (select 1 from outcome r join pick p on p.campaign = r.campaign and p.n = r.n
        where r.node = o.node and r.campaign = o.campaign and r.missing is null
          and (q.act <> 'page' or o.missing = 'temporary' or r.n > o.n)
          and (q.act not in ('search', 'slice', 'hydrate') or coalesce(p.since, '') = coalesce(q.since, ''))
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
    and (p.act in ('seed', 'expand', 'recrawl', 'walk') or (p.act = 'search' and p.since is null))
  union all
  select campaign, 'request', 'lost', n from request where coalesce(kind, 'lost') = 'lost') g
join campaign c on c.id = g.campaign
group by c.name, g.gap, g.why""",
)
ACTS = "    and (p.act in ('seed', 'expand', 'recrawl', 'walk') or (p.act = 'search' and p.since is null)"
PAGES = "      or (p.act = 'page' and p.campaign in (select w.campaign from pick w where w.act = 'walk')))\n"
BEFORE = (OLD_COVERAGE_GAP,)
RENEWED = ((*OLD_COVERAGE_GAP[:3], OLD_COVERAGE_GAP[3].replace(f"{ACTS})\n", f"{ACTS}\n{PAGES}")),)


def upgrade() -> None:
    renew_views(RENEWED)


def downgrade() -> None:
    renew_views(BEFORE)
