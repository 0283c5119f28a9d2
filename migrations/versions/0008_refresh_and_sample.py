"""Campaigns that refresh and campaigns that sample: what was drawn, who is alive, and views that know their acts."""

# ruff: noqa: S608  (the names are our own)

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import change_comments, is_kept, make_view, put_rows_back, set_table_aside

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

Count = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
SAMPLED = ("campaign", "node", "visits", "weight", "degree")
ACTIVE = 8  # where an answer has when accounts were active
SAID = (
    ("pick", "act", sa.String(8), False, "search, resolve, seed, expand, recrawl, probe, walk, inward or import",
     "search, resolve, seed, expand, recrawl or import"),
    ("epoch", "why", sa.Text(), False,
     "begun, or what changed: topic, seeds, crawl, track, refresh, accounts, forget, retain",
     "begun, or what changed: topic, seeds, crawl, track, accounts, forget, retain"),
    ("outcome", "value", sa.Float(), False,
     "relevance beta = 1 + ln(occurrences), or 0; of probe, walk 1: alive, on topic, 0.5: wider topic only",
     "relevance beta = 1 + ln(occurrences), 0 without any"),
    ("outcome", "mark", sa.Text(), True,
     ("where a next visit can go on, in the platform's own terms; of probe: when it last posted; of walk and import: "
      "its host; NULL: none"),
     "where a next visit can go on, in the platform's own terms; NULL: nowhere"),
    ("outcome", "missing", sa.Text(), True,
     ("NULL, or why: suspended, protected, deleted, unknown, temporary, excluded, opted-out, redirected, soft-404, "
      "unreachable, forgotten, same-as:<node>"),
     ("NULL, or why: suspended, protected, deleted, unknown, temporary, excluded, opted-out, forgotten, "
      "same-as:<node>")),
    ("link", "node", Count, False, "account.node mentioned; of act inward: who mentions it", "account.node mentioned"),
)  # fmt: skip
CAMPAIGN = "name of the campaign"

TOP_ACCOUNT = (
    "top_account",
    "the accounts that were read and speak of the topic, one row each",
    {
        "campaign": CAMPAIGN,
        "place": "1 for the most relevant; of equals the one read first",
        "account": "username as last shown, or the platform's id where no name is known",
        "display_name": "name in the profile",
        "relevance": "beta = 1 + ln(occurrences); in a sample 1: on topic",
        "occurrences": "occurrences of the topic in the posts read",
        "posts": "posts read",
        "act": "seed, expand, walk or import: how the account came to be read",
        "step": "how many accounts were asked after the seeds, this one included; NULL for seeds and imports",
        "n": "number of the decision to ask it, pick.n",
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

MENTION_NETWORK = (
    "mention_network",
    "who mentions whom, as the campaign read it: one row a link of the graph and visit, without links to oneself",
    {
        "campaign": CAMPAIGN,
        "source": "who mentions: username as last shown, or the platform's id",
        "target": "who is mentioned: username as last shown, or the platform's id",
        "posts": "posts in the database in which the source mentions the target; 0 when they were removed since",
        "alpha": "weight of the link: 1 + ln(occurrences of the topic in the posts that mention), 0 without any",
        "first_at": "when the first of these posts was written",
        "last_at": "when the last of these posts was written",
        "n": "number of the decision that told it, pick.n",
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

CAMPAIGN_PROGRESS = (
    "campaign_progress",
    "the course of a campaign: one row a decision, with sums over all decisions so far",
    {
        "campaign": CAMPAIGN,
        "n": "number of the decision, pick.n",
        "act": "search, resolve, seed, expand, recrawl, probe, walk, inward or import",
        "account": "username as last shown, or the platform's id; NULL for a search",
        "finished_at": "when its last page arrived; NULL while it is open",
        "missing": "why nothing was found, if so; see outcome.missing",
        "step": "accounts asked after the seeds, this one included; NULL for everything but steps",
        "value": "relevance found by this decision (1: alive, on topic; 0.5: wider topic only); NULL while it is open",
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

FRONTIER_NOW = (
    "frontier_now",
    "the accounts that are linked to and were not read yet, with what the estimators know of each",
    {
        "campaign": CAMPAIGN,
        "account": "username as last shown, or the platform's id",
        "links": "links to it from accounts that were read",
        "n_sum": "sum over these links of the relevance of who links",
        "n_max": "the largest of these",
        "e_sum": "sum of the weights alpha of these links",
        "e_max": "the largest of these",
        "ne_sum": "sum of relevance times weight",
        "ne_max": "the largest of these",
        "first_n": "number of the decision that first found a link to it, pick.n",
        "failures": "times it was asked and failed for a while; it rests for 20 decisions after each, and is out at 3",
        "node": "account.node",
    },
    """with alias as (
  select o.campaign as campaign, o.node as node,
    case when substr(o.missing, 1, 8) = 'same-as:' then cast(substr(o.missing, 9) as bigint) end as meant
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where substr(o.missing, 1, 8) = 'same-as:' and p.act in ('seed', 'expand', 'walk', 'probe', 'import')
), reached as (
  select l.campaign as campaign, coalesce(s.meant, l.node) as node, count(*) as links, sum(o.value) as n_sum,
    max(o.value) as n_max, sum(l.alpha) as e_sum, max(l.alpha) as e_max, sum(o.value * l.alpha) as ne_sum,
    max(o.value * l.alpha) as ne_max, min(l.n) as first_n
  from outcome o
  join pick p on p.campaign = o.campaign and p.n = o.n
  join link l on l.campaign = o.campaign and l.n = o.n
  left join alias s on s.campaign = l.campaign and s.node = l.node
  where p.act in ('seed', 'expand', 'recrawl', 'walk', 'import') and o.missing is null and l.node <> o.node
  group by l.campaign, coalesce(s.meant, l.node)
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

LIVENESS = (
    "liveness",
    "who of an old dataset was found alive: one row an account tested by a campaign of kind refresh, as last tested",
    {
        "campaign": CAMPAIGN,
        "account": "username as last shown, or the platform's id",
        "platform_id": "the platform's own id; NULL where only the username is known",
        "active": "1: it is alive, 0: it is not (or nobody could tell, status temporary)",
        "status": "active, silent (it is there), or why it is not: as in outcome.missing",
        "last_active_at": "when it last posted (a page: changed), where that was told; on Mastodon a bare day",
        "checked_at": "when the platform answered",
        "n": "number of the decision to test it, pick.n",
        "node": "account.node",
    },
    """select c.name, coalesce(a.username, a.platform_id), a.platform_id, case when l.value > 0 then 1 else 0 end,
  case when l.value > 0 then 'active' else coalesce(l.missing, 'silent') end, l.mark, l.at, l.n, l.node
from (select o.campaign as campaign, o.node as node, o.n as n, o.value as value, o.missing as missing, o.mark as mark,
        o.at as at, row_number() over (partition by o.campaign, o.node order by o.n desc) as latest
      from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
      where p.act = 'probe' and substr(coalesce(o.missing, ''), 1, 8) <> 'same-as:') l
join campaign c on c.id = l.campaign
join account a on a.node = l.node
where l.latest = 1 and a.forgotten_at is null""",
)

SAMPLED_ACCOUNT = (
    "sampled_account",
    "the accounts of a sample: one row an account that its walks visited on topic, as it was last written",
    {
        "campaign": CAMPAIGN,
        "account": "username as last shown, or the platform's id",
        "visits": "visits after the burn-in, all walks",
        "weight": "its weight in means and shares: of all accounts together they are 1",
        "degree": "its neighbours, as the walks have them",
        "occurrences": "occurrences of the topic in the posts read",
        "posts": "posts read",
        "host": "its instance or host; NULL where there are none",
        "read_at": "when it was read",
        "node": "account.node",
    },
    """select c.name, coalesce(a.username, a.platform_id), s.visits, s.weight, s.degree, o.occurrences, o.posts,
  o.mark, o.at, s.node
from sampled s
join campaign c on c.id = s.campaign
join account a on a.node = s.node
join outcome o on o.campaign = s.campaign and o.node = s.node and o.missing is null
join pick p on p.campaign = o.campaign and p.n = o.n
where a.forgotten_at is null and p.act = 'walk'""",
)

OLD_TOP_ACCOUNT = (
    "top_account",
    "the accounts that were read and speak of the topic, one row each",
    {
        "campaign": CAMPAIGN,
        "place": "1 for the most relevant; of equals the one read first",
        "account": "username as last shown, or the platform's id where no name is known",
        "display_name": "name in the profile",
        "relevance": "beta = 1 + ln(occurrences)",
        "occurrences": "occurrences of the topic in the posts read",
        "posts": "posts read",
        "act": "seed, expand or import: how the account came to be read",
        "step": "how many accounts were asked after the seeds, this one included; NULL for seeds and imports",
        "n": "number of the decision to ask it, pick.n",
        "read_at": "when its last page arrived",
        "followers": "followers, where the profile is known",
        "node": "account.node",
    },
    """select c.name, row_number() over (partition by o.campaign order by o.value desc, o.n),
  coalesce(a.username, a.platform_id), a.name, o.value, o.occurrences, o.posts, p.act, p.step, o.n, o.at, a.followers,
  o.node
from outcome o
join (select campaign, n, act, case when act = 'expand'
        then row_number() over (partition by campaign, act order by n) end as step from pick) p
  on p.campaign = o.campaign and p.n = o.n
join campaign c on c.id = o.campaign
join account a on a.node = o.node
where o.value > 0 and p.act in ('seed', 'expand', 'import')""",
)

OLD_MENTION_NETWORK = (
    "mention_network",
    "who mentions whom, as the campaign read it: one row a link of the graph and visit, without links to oneself",
    {
        "campaign": CAMPAIGN,
        "source": "who mentions: username as last shown, or the platform's id",
        "target": "who is mentioned: username as last shown, or the platform's id",
        "posts": "posts in the database in which the source mentions the target; 0 when they were removed since",
        "alpha": "weight of the link: 1 + ln(occurrences of the topic in the posts that mention), 0 without any",
        "first_at": "when the first of these posts was written",
        "last_at": "when the last of these posts was written",
        "n": "number of the decision that read the source, pick.n",
        "source_node": "account.node of the source",
        "target_node": "account.node of the target",
    },
    """select c.name, coalesce(s.username, s.platform_id), coalesce(t.username, t.platform_id), coalesce(m.posts, 0),
  l.alpha, m.first_at, m.last_at, l.n, o.node, l.node
from outcome o
join pick p on p.campaign = o.campaign and p.n = o.n
join link l on l.campaign = o.campaign and l.n = o.n
join campaign c on c.id = o.campaign
join account s on s.node = o.node
join account t on t.node = l.node
left join (select w.author as author, x.node as node, count(*) as posts, min(w.created_at) as first_at,
             max(w.created_at) as last_at from mention x join post w on w.id = x.post group by w.author, x.node) m
  on m.author = o.node and m.node = l.node
where p.act in ('seed', 'expand', 'recrawl', 'import') and o.missing is null and l.node <> o.node""",
)

OLD_CAMPAIGN_PROGRESS = (
    "campaign_progress",
    "the course of a campaign: one row a decision, with sums over all decisions so far",
    {
        "campaign": CAMPAIGN,
        "n": "number of the decision, pick.n",
        "act": "search, resolve, seed, expand, recrawl or import",
        "account": "username as last shown, or the platform's id; NULL for a search",
        "finished_at": "when its last page arrived; NULL while it is open",
        "missing": "why nothing was found, if so; see outcome.missing",
        "step": "accounts asked after the seeds, this one included; NULL for everything but steps",
        "value": "relevance found by this decision; NULL while it is open",
        "relevance": "relevance found by all steps so far (seeds and imports are no steps)",
        "seed_relevance": "relevance of the seeds and imports so far",
        "requests": "requests sent so far, those without an answer included",
        "dollars": "their price so far by the price table; without an answer the dearest",
        "node": "account.node; negative: a query",
    },
    """select c.name, p.n, p.act, coalesce(a.username, a.platform_id), o.at, o.missing,
  case when p.act = 'expand' then count(case when p.act = 'expand' then 1 end) over w end, o.value,
  sum(case when p.act = 'expand' then coalesce(o.value, 0.0) else 0.0 end) over w,
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

OLD_FRONTIER_NOW = (
    "frontier_now",
    "the accounts that are linked to and were not read yet, with what the estimators know of each",
    {
        "campaign": CAMPAIGN,
        "account": "username as last shown, or the platform's id",
        "links": "links to it from accounts that were read",
        "n_sum": "sum over these links of the relevance of who links",
        "n_max": "the largest of these",
        "e_sum": "sum of the weights alpha of these links",
        "e_max": "the largest of these",
        "ne_sum": "sum of relevance times weight",
        "ne_max": "the largest of these",
        "first_n": "number of the decision that first found a link to it, pick.n",
        "failures": "times it was asked and failed for a while; it rests for 20 decisions after each, and is out at 3",
        "node": "account.node",
    },
    """with alias as (
  select o.campaign as campaign, o.node as node,
    case when substr(o.missing, 1, 8) = 'same-as:' then cast(substr(o.missing, 9) as bigint) end as meant
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where substr(o.missing, 1, 8) = 'same-as:' and p.act in ('seed', 'expand', 'import')
), reached as (
  select l.campaign as campaign, coalesce(s.meant, l.node) as node, count(*) as links, sum(o.value) as n_sum,
    max(o.value) as n_max, sum(l.alpha) as e_sum, max(l.alpha) as e_max, sum(o.value * l.alpha) as ne_sum,
    max(o.value * l.alpha) as ne_max, min(l.n) as first_n
  from outcome o
  join pick p on p.campaign = o.campaign and p.n = o.n
  join link l on l.campaign = o.campaign and l.n = o.n
  left join alias s on s.campaign = l.campaign and s.node = l.node
  where p.act in ('seed', 'expand', 'recrawl', 'import') and o.missing is null and l.node <> o.node
  group by l.campaign, coalesce(s.meant, l.node)
), failed as (
  select o.campaign as campaign, o.node as node, count(*) as failures
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where o.missing = 'temporary' and p.act = 'expand' group by o.campaign, o.node
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
    or (p.act = 'expand' and coalesce(o.missing, '') <> 'temporary')))""",
)

OLD_COVERAGE_GAP = (
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
    from outcome o where o.missing is not null and substr(o.missing, 1, 8) <> 'same-as:'
      and not exists (select 1 from outcome r join pick p on p.campaign = r.campaign and p.n = r.n
        where r.node = o.node and r.campaign = o.campaign and r.missing is null
          and p.act in ('search', 'seed', 'expand', 'recrawl', 'import'))) m
  where m.latest = 1
  union all
  select q.campaign, case when p.act = 'search' then 'search' else 'timeline' end, 'more pages', q.n
  from request q
  join pick p on p.campaign = q.campaign and p.n = q.n
  join outcome o on o.campaign = q.campaign and o.n = q.n
  where q.kind in ('ok', 'held') and q.cursor is not null and o.missing is null
    and p.act in ('search', 'seed', 'expand', 'recrawl') and not exists (
      select 1 from request l where l.campaign = q.campaign and l.n = q.n and l.part > q.part
        and l.kind in ('ok', 'held', 'missing'))
  union all
  select campaign, 'request', 'lost', n from request where coalesce(kind, 'lost') = 'lost') g
join campaign c on c.id = g.campaign
group by c.name, g.gap, g.why""",
)

RENEWED = (TOP_ACCOUNT, MENTION_NETWORK, CAMPAIGN_PROGRESS, FRONTIER_NOW, COVERAGE_GAP)
BEFORE = (OLD_TOP_ACCOUNT, OLD_MENTION_NETWORK, OLD_CAMPAIGN_PROGRESS, OLD_FRONTIER_NOW, OLD_COVERAGE_GAP)
NEW = (LIVENESS, SAMPLED_ACCOUNT)


def upgrade() -> None:
    _active_back()
    _sampled()
    put_rows_back("sampled", "sampled", SAMPLED)
    change_comments(SAID, newer=True)
    _drop(*BEFORE)
    for view in (*RENEWED, *NEW):
        make_view(*view)


def downgrade() -> None:
    _drop(*RENEWED, *NEW)
    set_table_aside("sampled")
    _inactive()
    change_comments(SAID, newer=False)
    for view in BEFORE:
        make_view(*view)


def _sampled() -> None:
    op.create_table(
        "sampled",
        sa.Column("campaign", Count, nullable=False, comment="campaign.id"),
        sa.Column("node", Count, nullable=False, comment="account.node"),
        sa.Column("visits", Count, nullable=False, comment="visits after the burn-in, all walks"),
        sa.Column(
            "weight",
            sa.Float(),
            nullable=False,
            comment="its weight in means and shares: of all accounts together 1",
        ),
        sa.Column("degree", Count, nullable=False, comment="its neighbours, as the walks have them"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.id"], name=op.f("fk_sampled_campaign")),
        sa.ForeignKeyConstraint(["node"], ["account.node"], name=op.f("fk_sampled_node")),
        sa.PrimaryKeyConstraint("campaign", "node", name=op.f("pk_sampled")),
        comment="what a campaign of kind sample has drawn, as it was last written",
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_sampled_node"), "sampled", ["node"], unique=False)


def _inactive() -> None:
    """Take out of answers when accounts were active: older programs do not read those that tell it."""
    many, less = "json_array_length(answer)", f"json_remove(answer, '$[{ACTIVE}]')"
    if op.get_bind().dialect.name == "postgresql":
        many, less = "jsonb_array_length(answer::jsonb)", f"(answer::jsonb - {ACTIVE})::text"
    some = f"answer is not null and {many} > {ACTIVE}"
    op.execute(f"create table kept_request_active as select id, answer from request where {some}")
    op.execute(f"update request set answer = {less} where id in (select id from kept_request_active)")


def _active_back() -> None:
    if is_kept("request_active"):  # what the older program has emptied since stays empty
        same = "from kept_request_active k where k.id = request.id"
        again = f"update request set answer = (select k.answer {same})"
        op.execute(f"{again} where answer is not null and exists (select 1 {same})")
        op.drop_table("kept_request_active")


def _drop(*views: tuple[str, str, dict[str, str], str]) -> None:
    for name, *_ in views:
        op.execute(f"drop view {name}")
