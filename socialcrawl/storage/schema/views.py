"""The views for people: whole questions under one name, the same on SQLite and PostgreSQL.

Every view is about all campaigns of a database; its first column, `campaign`, is the name to filter by. This is their
newest text; migrations hold what they made (`migrations/versions`), and a test holds the two equal.
Numbers of the graph follow Gouriten et al., section 5.2; where two rows have the same, the earlier pick comes first.
"""

# ruff: noqa: S608  (the texts are our own)

from collections.abc import Mapping
from dataclasses import dataclass

from socialcrawl.storage.queries.further_pages import JOIN_LAST, LAST_PAGE
from socialcrawl.storage.schema.tables import ACTS

CAMPAIGN = "name of the campaign"


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """One view: its name, what a row is, what each column is (in their order), and the SELECT behind it."""

    name: str
    comment: str
    columns: Mapping[str, str]
    sql: str

    @property
    def create(self) -> str:
        """The statement that makes the view; the same for both databases."""
        return f"create view {self.name} ({', '.join(self.columns)}) as\n{self.sql}"


TOP_ACCOUNT = ViewDefinition(
    "top_account",
    "accounts that were read and have matching posts, one row each",
    {
        "campaign": CAMPAIGN,
        "place": "1 for the most relevant; of equals the one read first",
        "account": "username as last shown, or the platform's id where no name is known",
        "display_name": "name in the profile",
        "relevance": "beta = 1 + ln(occurrences); in a sample 1: on topic",
        "occurrences": "occurrences of the topic in the posts read",
        "posts": "posts read",
        "act": "seed, expand, match, walk or import: how the account came to be read",
        "step": "how many accounts were read after the seeds, including this one; NULL for seeds and imports",
        "n": "number of the decision to read it, pick.n",
        "read_at": "when its last page arrived",
        "followers": "followers, where the profile is known",
        "node": "account.node",
    },
    f"""select c.name, row_number() over (partition by o.campaign order by coalesce(u.value, o.value) desc, o.n),
  coalesce(a.username, a.platform_id), a.name, coalesce(u.value, o.value), coalesce(u.occurrences, o.occurrences),
  coalesce(u.posts, o.posts), p.act, p.step, o.n, coalesce(u.at, o.at), a.followers, o.node
from outcome o
join (select campaign, n, act, case when act in ('expand', 'match', 'walk')
        then row_number() over (partition by campaign, act in ('expand', 'match', 'walk') order by n) end as step
      from pick) p
  on p.campaign = o.campaign and p.n = o.n
join campaign c on c.id = o.campaign
join account a on a.node = o.node
{JOIN_LAST}
where coalesce(u.value, o.value) > 0 and p.act in ('seed', 'expand', 'match', 'walk', 'import')
  and not (p.act = 'walk' and o.value < 1)""",
)

TOPIC_POST = ViewDefinition(
    "topic_post",
    "the posts that match the topic",
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

MENTION_NETWORK = ViewDefinition(
    "mention_network",
    "which account mentions which: one row per link of the graph and visit, without links of an account to itself",
    {
        "campaign": CAMPAIGN,
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

CAMPAIGN_PROGRESS = ViewDefinition(
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
        "value": "relevance found by this decision (1: active, on topic; 0.5: wider topic only; of page: all of the "
        "account so far); NULL while it is open",
        "relevance": "relevance found by all steps so far (seeds and imports are no steps)",
        "seed_relevance": "relevance of the seeds and imports so far",
        "requests": "requests sent so far, those without an answer included",
        "dollars": "their price so far by the price table; without an answer the dearest",
        "node": "account.node; negative: a query",
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

SPEND_BY_DAY = ViewDefinition(
    "spend_by_day",
    "requests and their cost: one row per UTC day and endpoint, without responses that the database had already",
    {
        "campaign": CAMPAIGN,
        "day": "UTC day of the response (without a response: of the request), as 2026-01-31",
        "endpoint": "path of the endpoint",
        "requests": "requests sent",
        "posts": "posts returned; a post returned twice counts twice",
        "posts_billed": "posts billed: those new to the day, where each is billed once a day",
        "users_billed": "users billed: those new to the day, where each is billed once a day",
        "dollars": "price by the price table; without an answer the dearest",
        "answers_429": "requests refused because a rate limit was reached",
        "unanswered": "requests without a response: they count as spent",
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

FRONTIER_NOW = ViewDefinition(
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

COVERAGE_GAP = ViewDefinition(
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
    and (p.act in ('seed', 'expand', 'recrawl', 'walk') or (p.act = 'search' and p.since is null)
      or (p.act = 'page' and p.campaign in (select w.campaign from pick w where w.act = 'walk')))
  union all
  select campaign, 'request', 'lost', n from request where coalesce(kind, 'lost') = 'lost') g
join campaign c on c.id = g.campaign
group by c.name, g.gap, g.why""",
)

TRACKED_ACCOUNT = ViewDefinition(
    "tracked_account",
    "the accounts that a campaign of kind track knows, as last computed",
    {
        "campaign": CAMPAIGN,
        "account": "username as last shown, or the platform's id",
        "importance": "OPIC: (H + C) / (G + 1), its share of all importance",
        "indegree": "links to it, as [track] parallel counts them",
        "relevance": "beta = 1 + ln(occurrences) over all visits",
        "occurrences": "occurrences of the topic in the posts read, all visits",
        "visits": "times it was read; 0: it is in the frontier",
        "visited_at": "when it was last read",
        "outlinks": "links seen in its posts, all visits",
        "yield": "new links a day between its two latest visits; NULL before the second",
        "link_score": "in-degrees of the accounts newly linked in the latest visit; NULL before the second",
        "gone": "why the last attempt to read it failed, as in outcome.missing; NULL: it did not, or there was none",
        "node": "account.node",
    },
    """select c.name, coalesce(a.username, a.platform_id), s.importance, s.indegree, s.relevance, s.occurrences,
  s.visits, s.visited_at, s.outlinks, s.yield, s.link_score, s.gone, s.node
from standing s
join campaign c on c.id = s.campaign
join account a on a.node = s.node""",
)

LIVENESS = ViewDefinition(
    "liveness",
    "which accounts of an old dataset are active: one row per account checked by a campaign of kind refresh",
    {
        "campaign": CAMPAIGN,
        "account": "username as last shown, or the platform's id",
        "platform_id": "the platform's own id; NULL where only the username is known",
        "active": "1: it is active, 0: it is not (or that is not known, status temporary)",
        "status": "active, silent (it exists), or why it is not active: as in outcome.missing",
        "last_active_at": "when it last posted (a page: changed), if known; on Mastodon a day without a time",
        "checked_at": "when the platform answered",
        "n": "number of the last decision to check it, pick.n",
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

SAMPLED_ACCOUNT = ViewDefinition(
    "sampled_account",
    "the accounts of a sample: one row per account on topic that its walks visited, as last computed",
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

DECISION = ViewDefinition(
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

TOPIC_MATCH = ViewDefinition(
    "topic_match",
    "which posts match the topic of a campaign, without their texts: one row per match",
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

IMPORTANCE = ViewDefinition(
    "importance",
    "importance of each account in a campaign of kind track, as last computed",
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

CAPTURED_SLICE = ViewDefinition(
    "captured_slice",
    "the slices of time that a campaign has searched, or is searching: one row a decision, in order",
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
where p.act = 'slice' or (p.act = 'search' and p.since is not null)""",
)

VIEWS = (
    TOP_ACCOUNT,
    TOPIC_POST,
    MENTION_NETWORK,
    CAMPAIGN_PROGRESS,
    SPEND_BY_DAY,
    FRONTIER_NOW,
    COVERAGE_GAP,
    TRACKED_ACCOUNT,
    LIVENESS,
    SAMPLED_ACCOUNT,
    DECISION,
    TOPIC_MATCH,
    IMPORTANCE,
    CAPTURED_SLICE,
)
"""All views, in the order in which people ask."""
