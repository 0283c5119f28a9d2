"""Ten questions that people ask of a crawl, with their SQL: the same on SQLite and PostgreSQL.

They are about all campaigns of a database; add `where campaign = '...'` for one.
"""

# ruff: noqa: S608  (the texts are our own)

from dataclasses import dataclass

READ = "act in ('seed', 'expand', 'match', 'page', 'recrawl', 'walk', 'import')"
READING = f"""reading as (
  select campaign, node from decision where missing is null and finished_at is not null
    and {READ} group by campaign, node
)"""
PAIR = """pair as (
  select campaign, source_node, target_node, min(source) as source, min(target) as target, max(posts) as posts
  from mention_network group by campaign, source_node, target_node
)"""
CAPTURES = "campaign in (select campaign from decision where act in ('slice', 'live', 'hydrate'))"


@dataclass(frozen=True, slots=True)
class Question:
    """One question: a short name, the question itself, the SELECT that answers it, and how to read the answer."""

    name: str
    words: str
    sql: str
    note: str


QUESTIONS = (
    Question(
        "best_accounts",
        "Which accounts matter most to the topic?",
        """with best as (
  select campaign, place, account, relevance, occurrences from top_account
  where campaign not in (select campaign from decision where act = 'recrawl')
  union all
  select campaign, row_number() over (partition by campaign order by relevance desc, node) as place, account,
    relevance, occurrences
  from tracked_account where occurrences > 0 and campaign in (select campaign from decision where act = 'recrawl')
)
select campaign, place, account, relevance, occurrences from best where place <= 20 order by campaign, place""",
        "Of the accounts that were read; in a sample, all on topic have the relevance 1, the first read come first.",
    ),
    Question(
        "loudest_posts",
        "Which posts mention the topic most often?",
        """select campaign, author, created_at, occurrences, likes, text
from topic_post order by occurrences desc, coalesce(likes, 0) desc, id limit 20""",
        "All stored posts, also those that a search returned and whose authors were not read.",
    ),
    Question(
        "topic_by_day",
        "When was the topic discussed?",
        f"""with {READING}, dated as (
  select campaign, substr(created_at, 1, 10) as day, occurrences, node, case when {CAPTURES}
    or (campaign, node) in (select campaign, node from reading) then 1 else 0 end as own
  from topic_post where created_at is not null
)
select campaign, day, sum(own) as posts, count(distinct case when own = 1 then node end) as authors,
  sum(own * occurrences) as occurrences, count(*) - sum(own) as only_searched
from dated group by campaign, day order by campaign, day""",
        "The posts of accounts that were read; of a capture, all. Posts of others, which only a search returned, are "
        "only_searched: a search returns the newest posts, so they would make the last days look busy. Where old posts "
        "of an account were left unread, old days have too few.",
    ),
    Question(
        "most_mentioned",
        "Who is mentioned by the most accounts, and was it read?",
        f"""with {READING}, {PAIR}, said as (
  select campaign, node, count(*) as posts from topic_post group by campaign, node
)
select m.campaign, m.target, count(*) as accounts, sum(m.posts) as posts,
  case when max(r.node) is null then 'no' else 'yes' end as was_read, coalesce(max(s.posts), 0) as own_posts_on_topic
from pair m
left join reading r on r.campaign = m.campaign and r.node = m.target_node
left join said s on s.campaign = m.campaign and s.node = m.target_node
group by m.campaign, m.target, m.target_node order by accounts desc, posts desc, m.target_node, m.campaign limit 20""",
        "By accounts that were read, and those that a walk's searches returned. Of an account that was not read, at "
        "most what a search returned is known.",
    ),
    Question(
        "mutual_mentions",
        "Who mentions each other?",
        f"""with {PAIR}
select m.campaign, m.source, m.target, m.posts as there, r.posts as back
from pair m join pair r
  on r.campaign = m.campaign and r.source_node = m.target_node and r.target_node = m.source_node
where m.source_node < m.target_node
order by m.posts + r.posts desc, m.source_node, m.target_node, m.campaign limit 20""",
        "Seen only where both accounts were read.",
    ),
    Question(
        "next_accounts",
        "Which accounts are worth reading next?",
        """select campaign, account, links, ne_sum, n_sum, e_sum, failures
from frontier_now order by ne_sum desc, first_n, node limit 20""",
        "By the relevance of the accounts that mention them. The campaign may have another estimator, and accounts "
        "that it excludes are here too: the page What comes next, and data.frontier(), compute its own order.",
    ),
    Question(
        "yield_by_steps",
        "What did the campaign find and spend over time?",
        """with course as (
  select campaign, count(step) over (partition by campaign order by n) as steps, relevance, requests, dollars
  from campaign_progress
)
select campaign, max(steps) as steps, max(relevance) as relevance, max(requests) as requests, max(dollars) as dollars
from course group by campaign, (steps + 99) / 100 order by campaign, steps""",
        "Sums up to a number of steps; 0 steps are the searches and seeds. Dollars are by the price table.",
    ),
    Question(
        "estimate_and_truth",
        "How good were the estimates?",
        """with scored as (
  select campaign, score, value, ntile(4) over (partition by campaign order by score, n) as quarter
  from decision where act in ('expand', 'match') and missing is null and finished_at is not null
)
select campaign, quarter, count(*) as steps, avg(value) as mean_relevance,
  avg(case when value > 0 then 1.0 else 0.0 end) as share_relevant, avg(score) as mean_score
from scored group by campaign, quarter order by campaign, quarter""",
        "The quarter of the steps with the lowest scores is 1. Good estimates find more in each next quarter. Scores "
        "need not have the scale of the relevance.",
    ),
    Question(
        "cost_by_day",
        "What did each day cost?",
        """select campaign, day, sum(requests) as requests, sum(posts) as posts, sum(dollars) as dollars,
  sum(answers_429) as answers_429, sum(unanswered) as unanswered
from spend_by_day group by campaign, day order by campaign, day""",
        "A post that was returned twice counts twice. Dollars are by the price table, also where no server charges.",
    ),
    Question(
        "what_is_missing",
        "What is missing, and why?",
        f"""with {READING}
select campaign, gap, why, size from coverage_gap
union all
select campaign, 'account', 'mentioned, not read', count(*) from frontier_now group by campaign
union all
select campaign, 'account', 'found by a search, not read', count(distinct node) from topic_post
where not ({CAPTURES})
  and (campaign, node) not in (select campaign, node from reading) group by campaign
order by campaign, size desc, gap, why""",
        "An account that was mentioned and found by a search counts in both. What nobody mentions and no search "
        "returns is not seen at all: the guide to audits says how to estimate it.",
    ),
)
"""The ten questions, in the order in which they are shown."""
