"""Collections may search the topic span by span: `captured_slice` has these searches, `coverage_gap` knows them.

`top_account` counts steps of several acts together.
"""

# ruff: noqa: S608  (the names are our own)

from socialcrawl.storage.schema.kept import renew_views

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

View = tuple[str, str, dict[str, str], str]
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
        then row_number() over (partition by campaign, act order by n) end as step from pick) p
  on p.campaign = o.campaign and p.n = o.n
join campaign c on c.id = o.campaign
join account a on a.node = o.node
{JOIN_LAST}
where coalesce(u.value, o.value) > 0 and p.act in ('seed', 'expand', 'match', 'walk', 'import')
  and not (p.act = 'walk' and o.value < 1)""",
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
OLD_CAPTURED_SLICE = (
    "captured_slice",
    "the slices of time that a campaign of kind capture has read, or is reading: one row a decision, in order",
    {
        "campaign": "name of the campaign",
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


def _change(old: View, *changes: tuple[str, str], about: str | None = None) -> View:
    sql = old[3]
    for before, after in changes:
        sql = sql.replace(before, after)
    return old[0], about or old[1], old[2], sql


STEPS = "('expand', 'match', 'walk')"
RENEWED = (
    _change(
        OLD_TOP_ACCOUNT,
        (
            "partition by campaign, act order by n) end as step from pick) p",
            f"partition by campaign, act in {STEPS} order by n) end as step\n      from pick) p",
        ),
    ),
    _change(
        OLD_COVERAGE_GAP,
        ("case when q.act in ('slice', 'hydrate') then", "case when q.act in ('search', 'slice', 'hydrate') then"),
        (
            "(q.act not in ('slice', 'hydrate') or p.since = q.since)",
            "(q.act not in ('search', 'slice', 'hydrate') or coalesce(p.since, '') = coalesce(q.since, ''))",
        ),
        (
            "and p.act in ('search', 'seed', 'expand', 'recrawl', 'walk')\n",
            "and (p.act in ('seed', 'expand', 'recrawl', 'walk') or (p.act = 'search' and p.since is null))\n",
        ),
    ),
    _change(
        OLD_CAPTURED_SLICE,
        ("where p.act = 'slice'", "where p.act = 'slice' or (p.act = 'search' and p.since is not null)"),
        about="the slices of time that a campaign has searched, or is searching: one row a decision, in order",
    ),
)
BEFORE = (OLD_TOP_ACCOUNT, OLD_COVERAGE_GAP, OLD_CAPTURED_SLICE)


def upgrade() -> None:
    renew_views(RENEWED)


def downgrade() -> None:
    renew_views(BEFORE)
