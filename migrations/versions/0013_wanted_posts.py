"""Ids of posts that a capture fetches: the table `wanted_post`, and decisions of act `hydrate`.

`coverage_gap` counts each group of such ids by its positions, as their node is the list.
"""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import change_comments, make_view, put_rows_back, set_table_aside

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

Count = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
WANTED = ("campaign", "position", "id", "post", "state")
CAMPAIGN = "name of the campaign"
ID = "the id by which the platform is asked for the post; NULL: it was forgotten"
LATEST = """row_number() over (partition by o.campaign, o.node,
        case when q.act in ('slice', 'hydrate') then q.since end order by o.n desc) as latest"""
OLD_LATEST = """row_number() over (
        partition by o.campaign, o.node, case when q.act = 'slice' then q.since end order by o.n desc) as latest"""

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
      row_number() over (partition by o.campaign, o.node,
        case when q.act in ('slice', 'hydrate') then q.since end order by o.n desc) as latest
    from outcome o join pick q on q.campaign = o.campaign and q.n = o.n
    where o.missing is not null and substr(o.missing, 1, 8) <> 'same-as:'
      and (q.act <> 'probe' or o.missing = 'temporary')
      and not exists (select 1 from outcome r join pick p on p.campaign = r.campaign and p.n = r.n
        where r.node = o.node and r.campaign = o.campaign and r.missing is null
          and (q.act not in ('slice', 'hydrate') or p.since = q.since)
          and p.act in ('search', 'seed', 'expand', 'recrawl', 'probe', 'walk', 'slice', 'hydrate', 'import'))) m
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
        "act": "search, resolve, seed, expand, recrawl, probe, walk, inward, slice, hydrate or import",
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

OLD_COVERAGE_GAP = (
    *COVERAGE_GAP[:3],
    COVERAGE_GAP[3]
    .replace(LATEST, OLD_LATEST)
    .replace("q.act not in ('slice', 'hydrate')", "q.act <> 'slice'")
    .replace("'slice', 'hydrate', 'import'", "'slice', 'import'"),
)
OLD_DECISION = (
    *DECISION[:2],
    {**DECISION[2], "act": "search, resolve, seed, expand, recrawl, probe, walk, inward, slice or import"},
    DECISION[3],
)
RENEWED, BEFORE = (COVERAGE_GAP, DECISION), (OLD_COVERAGE_GAP, OLD_DECISION)

SINCE = "the mark of the last visit: only newer posts were requested; of slice: its span of time"
MARK = (
    "where a next visit continues, in the platform's own terms; of probe: when it last posted; of walk and "
    "import: its host; of slice: from when on it was read, if not from its begin"
)
SAID = (
    (
        "pick",
        "act",
        sa.String(8),
        False,
        "search, resolve, seed, expand, recrawl, probe, walk, inward, slice, hydrate or import",
        "search, resolve, seed, expand, recrawl, probe, walk, inward, slice or import",
    ),
    (
        "pick",
        "since",
        sa.Text(),
        True,
        f"{SINCE}; of hydrate: its positions in wanted_post, from/before; NULL: all",
        f"{SINCE}; NULL: all",
    ),
    (
        "outcome",
        "mark",
        sa.Text(),
        True,
        f"{MARK}; of hydrate: before which position it was read, if not to its end; NULL: none",
        f"{MARK}; NULL: none",
    ),
)
"""Table, column, its type, whether it may be NULL, its comment from now on and before."""


def upgrade() -> None:
    for name, *_ in BEFORE:
        op.execute(f"drop view {name}")
    change_comments(SAID, newer=True)
    op.create_table(
        "wanted_post",
        sa.Column("campaign", Count, nullable=False, comment="campaign.id"),
        sa.Column("position", Count, nullable=False, comment="its place in the list, from 0"),
        sa.Column(
            "id", sa.Text(), comment="the id by which the platform is asked for the post; NULL: it was forgotten"
        ),
        sa.Column("post", sa.Text(), comment="post.id of the post, if it is stored; NULL: it is not"),
        sa.Column(
            "state",
            sa.String(16),
            nullable=False,
            comment="wanted: not asked for yet; stored: it came; held: it was stored before; or why it did not come: "
            "deleted, suspended, protected, unknown, opted-out or forgotten",
        ),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.id"], name=op.f("fk_wanted_post_campaign")),
        sa.PrimaryKeyConstraint("campaign", "position", name=op.f("pk_wanted_post")),
        comment="ids of posts that were imported into a campaign of kind capture, and what became of each",
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_wanted_post_campaign_id"), "wanted_post", ["campaign", "id"], unique=True)
    op.create_index(op.f("ix_wanted_post_post"), "wanted_post", ["post"])
    put_rows_back("wanted_post", "wanted_post", WANTED)
    for view in RENEWED:
        make_view(*view)


def downgrade() -> None:
    for name, *_ in RENEWED:
        op.execute(f"drop view {name}")
    change_comments(SAID, newer=False)
    set_table_aside("wanted_post")
    for view in BEFORE:
        make_view(*view)
