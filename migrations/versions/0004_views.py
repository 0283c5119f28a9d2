"""Views for people; with what they and their columns are, where the database keeps comments."""

from alembic import op

from socialcrawl.storage.schema.kept import make_view

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

CAMPAIGN = "name of the campaign"
TOP_ACCOUNT = (
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

TOPIC_POST = (
    "topic_post",
    "the posts that speak of the topic",
    {
        "campaign": CAMPAIGN,
        "id": "the platform's own id of the post",
        "author": "username as last shown, or the platform's id where no name is known",
        "created_at": "when it was posted",
        "occurrences": "occurrences of the topic in it",
        "text": "full text; reposts are cut by the platform",
        "lang": "language as the platform guesses it (BCP 47)",
        "reply_to": "id of the post it replies to",
        "repost_of": "id of the post it reposts",
        "quote_of": "id of the post it quotes",
        "likes": "likes, when it was last read",
        "replies": "replies, when it was last read",
        "reposts": "reposts, when it was last read",
        "quotes": "quotes, when it was last read",
        "views": "views, when it was last read",
        "fetched_at": "when it was first fetched",
        "node": "account.node of the author",
    },
    """select c.name, p.id, coalesce(a.username, a.platform_id), p.created_at, h.occurrences, p.text, p.lang,
  p.reply_to, p.repost_of, p.quote_of, p.likes, p.replies, p.reposts, p.quotes, p.views, p.fetched_at, p.author
from hit h
join campaign c on c.id = h.campaign
join post p on p.id = h.post
join account a on a.node = p.author""",
)

MENTION_NETWORK = (
    "mention_network",
    "who mentions whom, as the campaign read it: one row a link of the graph, without links to oneself",
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
where p.act in ('seed', 'expand', 'import') and o.missing is null and l.node <> o.node""",
)

CAMPAIGN_PROGRESS = (
    "campaign_progress",
    "the course of a campaign: one row a decision, with sums over all decisions so far",
    {
        "campaign": CAMPAIGN,
        "n": "number of the decision, pick.n",
        "act": "search, resolve, seed, expand or import",
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

SPEND_BY_DAY = (
    "spend_by_day",
    "what was asked and what it cost: one row a UTC day and endpoint; answers that the database had are not in it",
    {
        "campaign": CAMPAIGN,
        "day": "UTC day of the answer (without an answer: of the question), as 2026-01-31",
        "endpoint": "path of the endpoint",
        "requests": "requests sent",
        "posts": "posts returned; a post returned twice counts twice",
        "posts_billed": "posts billed: those new to the day, where each is billed once a day",
        "users_billed": "users billed: those new to the day, where each is billed once a day",
        "dollars": "price by the price table; without an answer the dearest",
        "answers_429": "requests refused because a rate limit was reached",
        "unanswered": "requests to which no answer came: they count as spent",
    },
    """select c.name, substr(coalesce(r.arrived_at, r.sent_at), 1, 10), r.endpoint, count(*),
  cast(coalesce(sum(r.posts), 0) as bigint), cast(sum(coalesce(r.new_posts, r.posts, 0)) as bigint),
  cast(coalesce(sum(r.new_users), 0) as bigint),
  cast(sum(coalesce(r.cost, r.most)) as double precision) / 100000,
  count(case when r.status = 429 then 1 end), count(case when coalesce(r.kind, 'lost') = 'lost' then 1 end)
from request r
join campaign c on c.id = r.campaign
where coalesce(r.kind, '') <> 'held'
group by c.name, substr(coalesce(r.arrived_at, r.sent_at), 1, 10), r.endpoint""",
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
  where substr(o.missing, 1, 8) = 'same-as:' and p.act in ('seed', 'expand', 'import')
), reached as (
  select l.campaign as campaign, coalesce(s.meant, l.node) as node, count(*) as links, sum(o.value) as n_sum,
    max(o.value) as n_max, sum(l.alpha) as e_sum, max(l.alpha) as e_max, sum(o.value * l.alpha) as ne_sum,
    max(o.value * l.alpha) as ne_max, min(l.n) as first_n
  from outcome o
  join pick p on p.campaign = o.campaign and p.n = o.n
  join link l on l.campaign = o.campaign and l.n = o.n
  left join alias s on s.campaign = l.campaign and s.node = l.node
  where p.act in ('seed', 'expand', 'import') and o.missing is null and l.node <> o.node
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
    from outcome o where o.missing is not null and substr(o.missing, 1, 8) <> 'same-as:'
      and not exists (select 1 from outcome r join pick p on p.campaign = r.campaign and p.n = r.n
        where r.node = o.node and r.campaign = o.campaign and r.missing is null
          and p.act in ('search', 'seed', 'expand', 'import'))) m
  where m.latest = 1
  union all
  select q.campaign, case when p.act = 'search' then 'search' else 'timeline' end, 'more pages', q.n
  from request q
  join pick p on p.campaign = q.campaign and p.n = q.n
  join outcome o on o.campaign = q.campaign and o.n = q.n
  where q.kind in ('ok', 'held') and q.cursor is not null and o.missing is null
    and p.act in ('search', 'seed', 'expand') and not exists (
      select 1 from request l where l.campaign = q.campaign and l.n = q.n and l.part > q.part
        and l.kind in ('ok', 'held', 'missing'))
  union all
  select campaign, 'request', 'lost', n from request where coalesce(kind, 'lost') = 'lost') g
join campaign c on c.id = g.campaign
group by c.name, g.gap, g.why""",
)

VIEWS = (TOP_ACCOUNT, TOPIC_POST, MENTION_NETWORK, CAMPAIGN_PROGRESS, SPEND_BY_DAY, FRONTIER_NOW, COVERAGE_GAP)


def upgrade() -> None:
    for view in VIEWS:
        make_view(*view)


def downgrade() -> None:
    for name, *_ in reversed(VIEWS):
        op.execute(f"drop view {name}")
