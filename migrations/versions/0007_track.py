"""Campaigns that track accounts: marks of visits, what is known of each account, and views that know recrawls."""

# ruff: noqa: S608  (the names are our own)

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import is_kept, make_view, put_rows_back, set_table_aside

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

Count = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
NEW = {
    "pick": ("since", "the mark of the last visit: only what is newer was asked for; NULL: everything"),
    "outcome": ("mark", "where a next visit can go on, in the platform's own terms; NULL: nowhere"),
}
PAGES = {"answer": 7, "nodes": 4}  # where the mark of a page stands
STANDING = (
    "campaign", "node", "visits", "visited_at", "relevance", "occurrences", "indegree", "outlinks", "yield",
    "link_score", "importance", "history", "gone",
)  # fmt: skip
ACTS, OLD_ACTS = (f"search, resolve, seed, expand{more} or import" for more in (", recrawl", ""))
FEATURES, OLD_FEATURES = (
    f"JSON of the features as picked{more}; NULL for seeds" for more in (", by name", " (graph.COLUMNS by name)")
)
WHY, OLD_WHY = (
    f"begun, or what changed: topic, seeds, crawl, {more}accounts, forget, retain" for more in ("track, ", "")
)
CAMPAIGN = "name of the campaign"
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

CAMPAIGN_PROGRESS = (
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


TRACKED_ACCOUNT = (
    "tracked_account",
    "the accounts that a campaign of kind track knows, as it was last written",
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
        "link_score": "in-degrees of whom the latest visit newly linked to; NULL before the second",
        "gone": "why it could not be read when last asked, as in outcome.missing; NULL: it could, or was not asked",
        "node": "account.node",
    },
    """select c.name, coalesce(a.username, a.platform_id), s.importance, s.indegree, s.relevance, s.occurrences,
  s.visits, s.visited_at, s.outlinks, s.yield, s.link_score, s.gone, s.node
from standing s
join campaign c on c.id = s.campaign
join account a on a.node = s.node""",
)

RENEWED = (MENTION_NETWORK, CAMPAIGN_PROGRESS, FRONTIER_NOW, COVERAGE_GAP)


def upgrade() -> None:
    for table, (name, comment) in NEW.items():
        op.add_column(table, sa.Column(name, sa.Text(), nullable=True, comment=comment))
        _values_back(table, name)
    _marks_back()
    _standing()
    put_rows_back("standing", "standing", STANDING)
    _say(ACTS, OLD_ACTS, FEATURES, OLD_FEATURES, WHY, OLD_WHY)
    for name, *_ in RENEWED:
        op.execute(f"drop view {name}")
    for view in (*RENEWED, TRACKED_ACCOUNT):
        make_view(*view)


def downgrade() -> None:
    for name, *_ in (*RENEWED, TRACKED_ACCOUNT):
        op.execute(f"drop view {name}")
    set_table_aside("standing")
    _unmarked()
    for table, (name, _) in NEW.items():
        op.execute(f"create table kept_{table} as select campaign, n, {name} from {table} where {name} is not null")
        op.drop_column(table, name)
    _say(OLD_ACTS, ACTS, OLD_FEATURES, FEATURES, OLD_WHY, WHY)
    for name, comment, columns, sql in RENEWED:
        before = {key: words.replace("expand, recrawl or", "expand or") for key, words in columns.items()}
        make_view(
            name,
            comment.replace("graph and visit", "graph"),
            before,
            sql.replace(" 'recrawl',", "").replace(", 'recrawl')", ")"),
        )


def _standing() -> None:
    op.create_table(
        "standing",
        sa.Column("campaign", Count, nullable=False, comment="campaign.id"),
        sa.Column("node", Count, nullable=False, comment="account.node"),
        sa.Column("visits", Count, nullable=False, comment="times it was read"),
        sa.Column("visited_at", sa.Text(), nullable=True, comment="when it was last read; NULL: never"),
        sa.Column(
            "relevance", sa.Float(), nullable=False, comment="beta = 1 + ln(occurrences) over all visits, 0 without any"
        ),
        sa.Column(
            "occurrences", Count, nullable=False, comment="occurrences of the topic in the posts read, all visits"
        ),
        sa.Column("indegree", sa.Float(), nullable=False, comment="links to it, as [track] parallel counts them"),
        sa.Column("outlinks", sa.Float(), nullable=False, comment="links seen in its posts, all visits"),
        sa.Column(
            "yield",
            sa.Float(),
            nullable=True,
            comment="new links a day between its two latest visits; NULL before the second",
        ),
        sa.Column(
            "link_score",
            sa.Float(),
            nullable=True,
            comment="in-degrees of whom the latest visit newly linked to; NULL before the second",
        ),
        sa.Column(
            "importance", sa.Float(), nullable=False, comment="OPIC: (H + C) / (G + 1), its share of all importance"
        ),
        sa.Column("history", sa.Float(), nullable=False, comment="OPIC's H: all cash that it has paid out"),
        sa.Column(
            "gone",
            sa.Text(),
            nullable=True,
            comment="why it could not be read when last asked; NULL: it could, or nobody asked",
        ),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.id"], name=op.f("fk_standing_campaign")),
        sa.ForeignKeyConstraint(["node"], ["account.node"], name=op.f("fk_standing_node")),
        sa.PrimaryKeyConstraint("campaign", "node", name=op.f("pk_standing")),
        comment="what a campaign of kind track knows of each account, as it was last written",
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_standing_node"), "standing", ["node"], unique=False)


def _unmarked() -> None:
    """Take the marks of pages out of answers and notes: older programs do not read those that have them."""
    postgres = op.get_bind().dialect.name == "postgresql"
    for name, place in PAGES.items():
        many, less = f"json_array_length({name})", f"json_remove({name}, '$[{place}]')"
        if postgres:
            many, less = f"jsonb_array_length({name}::jsonb)", f"({name}::jsonb - {place})::text"
        some = f"{name} is not null and {many} > {place}"
        op.execute(f"create table kept_request_{name} as select id, {name} from request where {some}")
        op.execute(f"update request set {name} = {less} where id in (select id from kept_request_{name})")


def _marks_back() -> None:
    for name in PAGES:
        if is_kept(f"request_{name}"):  # what the older program has emptied since stays empty
            same = f"from kept_request_{name} k where k.id = request.id"
            again = f"update request set {name} = (select k.{name} {same})"
            op.execute(f"{again} where {name} is not null and exists (select 1 {same})")
            op.drop_table(f"kept_request_{name}")


def _values_back(table: str, name: str) -> None:
    if is_kept(table):
        same = f"from kept_{table} k where k.campaign = {table}.campaign and k.n = {table}.n"
        op.execute(f"update {table} set {name} = (select k.{name} {same}) where exists (select 1 {same})")
        op.drop_table(f"kept_{table}")


def _say(*said: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        acts, old_acts, features, old_features, why, old_why = said
        op.alter_column("epoch", "why", existing_type=sa.Text(), comment=why, existing_comment=old_why)
        op.alter_column("pick", "act", existing_type=sa.String(8), comment=acts, existing_comment=old_acts)
        op.alter_column("pick", "features", existing_type=sa.Text(), comment=features, existing_comment=old_features)
