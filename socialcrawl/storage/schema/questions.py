"""Ten questions that people ask of a crawl, with their SQL: the same on SQLite and PostgreSQL.

They are about all campaigns of a database; add `where campaign = '...'` for one.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """One question: a short name, the question itself, and the SELECT that answers it."""

    name: str
    words: str
    sql: str


QUESTIONS = (
    Question(
        "best_accounts",
        "Which accounts matter most to the topic?",
        """select campaign, place, account, relevance, occurrences, posts, act, step
from top_account where place <= 20 order by campaign, place""",
    ),
    Question(
        "loudest_posts",
        "Which posts mention the topic most often?",
        """select campaign, author, created_at, occurrences, likes, text
from topic_post order by occurrences desc, coalesce(likes, 0) desc, id limit 20""",
    ),
    Question(
        "topic_by_day",
        "When was the topic discussed?",
        """select campaign, substr(created_at, 1, 10) as day, count(*) as posts, count(distinct node) as authors,
  sum(occurrences) as occurrences
from topic_post where created_at is not null group by campaign, substr(created_at, 1, 10) order by campaign, day""",
    ),
    Question(
        "most_mentioned",
        "Who is mentioned by the most accounts, and was it read?",
        """select m.campaign, m.target, count(*) as accounts, sum(m.posts) as posts, sum(m.alpha) as alpha,
  max(t.relevance) as relevance
from mention_network m left join top_account t on t.campaign = m.campaign and t.node = m.target_node
group by m.campaign, m.target, m.target_node order by accounts desc, posts desc, m.target_node, m.campaign limit 20""",
    ),
    Question(
        "mutual_mentions",
        "Who mentions each other?",
        """select m.campaign, m.source, m.target, m.posts as there, r.posts as back
from mention_network m join mention_network r
  on r.campaign = m.campaign and r.source_node = m.target_node and r.target_node = m.source_node
where m.source_node < m.target_node order by m.posts + r.posts desc, m.source_node, m.target_node limit 20""",
    ),
    Question(
        "next_accounts",
        "Which accounts are worth reading next?",
        """select campaign, account, links, ne_sum, n_sum, e_sum, failures
from frontier_now order by ne_sum desc, first_n, node limit 20""",
    ),
    Question(
        "yield_by_steps",
        "What did the campaign find and spend over time?",
        """select campaign, step / 100 * 100 as steps_from, count(*) as steps, max(relevance) as relevance_so_far,
  max(requests) as requests_so_far, max(dollars) as dollars_so_far
from campaign_progress where step is not null group by campaign, step / 100 order by campaign, steps_from""",
    ),
    Question(
        "estimate_and_truth",
        "How good were the estimates?",
        """select c.name as campaign, count(*) as steps, avg(p.score) as mean_score, avg(o.value) as mean_relevance,
  avg(case when o.value > 0 then 1.0 else 0.0 end) as share_relevant
from pick p
join outcome o on o.campaign = p.campaign and o.n = p.n
join campaign c on c.id = p.campaign
where p.act in ('expand', 'match') and o.missing is null group by c.name order by c.name""",
    ),
    Question(
        "cost_by_day",
        "What did each day cost?",
        """select campaign, day, sum(requests) as requests, sum(posts) as posts, sum(dollars) as dollars,
  sum(answers_429) as answers_429, sum(unanswered) as unanswered
from spend_by_day group by campaign, day order by campaign, day""",
    ),
    Question(
        "what_is_missing",
        "What is missing, and why?",
        "select campaign, gap, why, size from coverage_gap order by campaign, size desc, gap, why",
    ),
)
"""The ten questions, in the order in which they are shown."""
