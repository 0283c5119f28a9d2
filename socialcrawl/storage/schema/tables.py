"""The tables, named for the analyst who will query them. Instants are ISO 8601 text (UTC), money is in mills of a cent.

`node` numbers accounts; queries of a campaign have negative numbers and no row here. `(campaign, n)` names a pick.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Count = Integer().with_variant(BigInteger(), "postgresql")  # SQLite's integers have 64 bits as they are
Short = String(16).with_variant(Text(), "postgresql")  # PostgreSQL would refuse a longer one
ACTS = (
    "search, resolve, seed, expand, match, page, recrawl, probe, walk, inward, slice, live, count, hydrate, import or "
    "captured"
)

campaign = Table(
    "campaign",
    metadata,
    Column("id", Count, primary_key=True, comment="number of the campaign in this database"),
    Column("name", Text, nullable=False, unique=True, comment="name given by the user"),
    Column("platform", String(16), nullable=False, comment="x, bluesky, mastodon or web"),
    Column("seed", Count, nullable=False, comment="seed of all random draws"),
    Column("settings", Text, nullable=False, comment="JSON of the settings when the campaign began, without secrets"),
    Column("identity", Text, nullable=False, comment="JSON of the present settings on which its history depends"),
    Column("created_at", Text, nullable=False, comment="when the campaign first ran"),
    Column("refresh_rate", Count, comment="batch size r as chosen, if the campaign file says auto; NULL: it does not"),
    Column("paused_at", Text, comment="when it was paused; NULL: a daemon may run it"),
    Column("paused_by", Text, comment="the command that paused it until that is done; NULL: it was `pause`, or none"),
    comment="one row per campaign",
)

account = Table(
    "account",
    metadata,
    Column("node", Count, primary_key=True, autoincrement=False, comment="number of the account in this database"),
    Column("platform", String(16), nullable=False, comment="x, bluesky, mastodon or web"),
    Column("platform_id", Text, comment="the platform's own id; NULL while only the username is known"),
    Column("username", Text, comment="username as last shown, without @; NULL while only the id is known"),
    Column("handle", Text, comment="username in lower case: usernames compare without case"),
    Column("name", Text, comment="display name"),
    Column("description", Text, comment="profile text"),
    Column("created_at", Text, comment="when the account was created"),
    Column("followers", Count, comment="followers at profile_at"),
    Column("following", Count, comment="accounts followed at profile_at"),
    Column("posts", Count, comment="posts written, at profile_at"),
    Column("listed", Count, comment="lists that include the account, at profile_at"),
    Column("protected", Boolean, comment="whether the posts are private, at profile_at"),
    Column("verified", Boolean, comment="whether the platform calls it verified, at profile_at"),
    Column("url", Text, comment="link in the profile"),
    Column("profile_at", Text, comment="when the profile was fetched; NULL: never, the account was only mentioned"),
    Column("first_seen_at", Text, nullable=False, comment="when the account was first seen"),
    Column(
        "forgotten_at", Text, comment="when the account was forgotten: nothing else of it is left; NULL: it was not"
    ),
    UniqueConstraint("platform", "platform_id"),
    Index(None, "platform", "handle"),
    comment="one row per account, fetched or only mentioned",
)

post = Table(
    "post",
    metadata,
    Column("id", Text, primary_key=True, comment="the platform's own id of the post"),
    Column("author", ForeignKey("account.node"), nullable=False, index=True, comment="account.node of the author"),
    Column("created_at", Text, comment="when it was posted"),
    Column("text", Text, nullable=False, comment="full text; reposts are cut by the platform"),
    Column("lang", Short, comment="language as the platform guesses it (BCP 47)"),
    Column("conversation_id", Text, comment="id of the post that began the conversation"),
    Column("reply_to", Text, comment="id of the post it replies to"),
    Column("repost_of", Text, comment="id of the post it reposts"),
    Column("quote_of", Text, comment="id of the post it quotes"),
    Column("hashtags", Text, comment="JSON list of hashtags, without #"),
    Column("urls", Text, comment="JSON list of links, expanded"),
    Column("likes", Count, comment="likes at metrics_at"),
    Column("replies", Count, comment="replies at metrics_at"),
    Column("reposts", Count, comment="reposts at metrics_at"),
    Column("quotes", Count, comment="quotes at metrics_at"),
    Column("bookmarks", Count, comment="bookmarks at metrics_at"),
    Column("views", Count, comment="views at metrics_at"),
    Column("original", Text, comment="the platform's JSON, kept on request"),
    Column("metrics_at", Text, nullable=False, comment="when the counts were read"),
    Column("fetched_at", Text, nullable=False, comment="when the post was first fetched"),
    comment="one row per post",
)

mention = Table(
    "mention",
    metadata,
    Column("post", ForeignKey("post.id"), primary_key=True, comment="post.id"),
    Column("node", ForeignKey("account.node"), primary_key=True, index=True, comment="account.node mentioned"),
    Column("kind", String(8), nullable=False, comment="mention, reply, repost or quote: the strongest that applies"),
    Column("spans", Text, comment="JSON list of [from, to]: characters of the text that count; NULL: all of them"),
    comment="which account is mentioned in which post",
    sqlite_with_rowid=False,
)

follow = Table(
    "follow",
    metadata,
    Column("node", ForeignKey("account.node"), primary_key=True, comment="account.node that follows"),
    Column("followed", ForeignKey("account.node"), primary_key=True, index=True, comment="account.node it follows"),
    Column("seen_at", Text, nullable=False, comment="when the platform first returned it"),
    comment="which account follows which, if a campaign fetches that",
    sqlite_with_rowid=False,
)

hit = Table(
    "hit",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("post", ForeignKey("post.id"), primary_key=True, comment="post.id"),
    Column("occurrences", Count, nullable=False, comment="occurrences of the campaign's topic in the post, at least 1"),
    comment="posts that match the topic of a campaign",
    sqlite_with_rowid=False,
)

pick = Table(
    "pick",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("n", Count, primary_key=True, comment="number of the decision, from 0"),
    Column("batch", Count, nullable=False, comment="n of the first pick of its batch"),
    Column("node", Count, nullable=False, index=True, comment="account.node picked; negative: a query"),
    Column("act", String(8), nullable=False, comment=ACTS),
    Column("score", Float, nullable=False, comment="the estimate that won; 0 for seeds"),
    Column("features", Text, comment="JSON of the features as picked, by name; NULL for seeds"),
    Column(
        "since",
        Text,
        comment="the mark of the last visit: only newer posts were requested; of slice and count: its span of time; of "
        "live: seconds that it may take, and the place in the stream where it goes on; of hydrate, and of import of "
        "ids: its positions in wanted_post, from/before; NULL: all",
    ),
    comment="one row per decision to read a node",
    sqlite_with_rowid=False,
)

outcome = Table(
    "outcome",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("n", Count, primary_key=True, comment="pick.n"),
    Column("node", Count, nullable=False, index=True, comment="account.node read; negative: a query"),
    Column("at", Text, nullable=False, comment="when the last reply arrived"),
    Column(
        "value",
        Float,
        nullable=False,
        comment="relevance 1 + ln(occurrences), or 0; of probe 1: active; of walk 1: on topic, 0.5: wider topic only",
    ),
    Column("occurrences", Count, nullable=False, comment="occurrences of the topic in the posts read"),
    Column("posts", Count, nullable=False, comment="posts read"),
    Column(
        "missing",
        Text,
        comment="NULL, or why: suspended, protected, deleted, unknown, temporary, excluded, opted-out, redirected, "
        "soft-404, unreachable, forgotten, same-as:<node>",
    ),
    Column(
        "mark",
        Text,
        comment="where a next visit continues, in the platform's own terms; of probe: when it last posted; of walk and "
        "import: its host, of import of ids: how many one request takes; of slice: from when on it was read, if not "
        "from its begin; of live: the part of the stream that was read, and its next place; of count: the slices and "
        "their posts; of hydrate: before which position it was read, if not to its end; of captured: the capture, and "
        "up to which of its decisions it was looked through; NULL: none",
    ),
    comment="what each pick found",
    sqlite_with_rowid=False,
)

link = Table(
    "link",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("n", Count, primary_key=True, comment="pick.n whose account mentions"),
    Column("position", Count, primary_key=True, comment="order of first appearance, from 0"),
    Column("node", Count, nullable=False, comment="account.node mentioned; of act inward: who mentions it"),
    Column("alpha", Float, nullable=False, comment="weight 1 + ln(occurrences in the posts that mention it), or 0"),
    comment="links of the graph as a pick found them",
    sqlite_with_rowid=False,
)

standing = Table(
    "standing",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("node", ForeignKey("account.node"), primary_key=True, index=True, comment="account.node"),
    Column("visits", Count, nullable=False, comment="times it was read"),
    Column("visited_at", Text, comment="when it was last read; NULL: never"),
    Column("relevance", Float, nullable=False, comment="beta = 1 + ln(occurrences) over all visits, 0 without any"),
    Column("occurrences", Count, nullable=False, comment="occurrences of the topic in the posts read, all visits"),
    Column("indegree", Float, nullable=False, comment="links to it, as [track] parallel counts them"),
    Column("outlinks", Float, nullable=False, comment="links seen in its posts, all visits"),
    Column("yield", Float, comment="new links a day between its two latest visits; NULL before the second"),
    Column(
        "link_score",
        Float,
        comment="in-degrees of the accounts newly linked in the latest visit; NULL before the second",
    ),
    Column("importance", Float, nullable=False, comment="OPIC: (H + C) / (G + 1), its share of all importance"),
    Column("history", Float, nullable=False, comment="OPIC's H: all cash that it has paid out"),
    Column("gone", Text, comment="why the last attempt to read it failed; NULL: it did not, or there was none"),
    comment="what a campaign of kind track knows about each account, as last computed",
    sqlite_with_rowid=False,
)

sampled = Table(
    "sampled",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("node", ForeignKey("account.node"), primary_key=True, index=True, comment="account.node"),
    Column("visits", Count, nullable=False, comment="visits after the burn-in, all walks"),
    Column("weight", Float, nullable=False, comment="its weight in means and shares: of all accounts together 1"),
    Column("degree", Count, nullable=False, comment="its neighbours, as the walks have them"),
    comment="accounts that a campaign of kind sample has drawn, as last computed",
    sqlite_with_rowid=False,
)

wanted_post = Table(
    "wanted_post",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("position", Count, primary_key=True, comment="its place in the list, from 0"),
    Column("id", Text, comment="the id by which the platform is asked for the post; NULL: it was forgotten"),
    Column("post", Text, index=True, comment="post.id of the post, if it is stored; NULL: it is not"),
    Column(
        "state",
        String(16),
        nullable=False,
        comment="wanted: not asked for yet; stored: it came; held: it was stored before; or why it did not come: "
        "deleted, suspended, protected, unknown, opted-out or forgotten",
    ),
    Index(None, "campaign", "id", unique=True),
    comment="ids of posts that were imported into a campaign of kind capture, and what became of each",
    sqlite_with_rowid=False,
)

request = Table(
    "request",
    metadata,
    Column("id", Count, primary_key=True, comment="order of sending"),
    Column("campaign", ForeignKey("campaign.id"), nullable=False, comment="campaign.id"),
    Column("n", Count, nullable=False, comment="first pick.n that it serves"),
    Column("part", Count, nullable=False, comment="its place among the requests of a pick: page number"),
    Column("endpoint", Text, nullable=False, comment="path of the endpoint"),
    Column("params", Text, nullable=False, comment="JSON of the parameters"),
    Column("credential", Text, nullable=False, comment="name of the token, never the token"),
    Column("items", Count, nullable=False, comment="most resources it could return"),
    Column("most", Count, nullable=False, comment="most it could cost, in mills"),
    Column("sent_at", Text, nullable=False, comment="when it was reserved, just before it left"),
    Column("arrived_at", Text, comment="when the reply arrived; NULL: never, it counts as spent"),
    Column(
        "kind",
        String(8),
        comment="ok, missing, window, day, month, money, backoff, refused, invalid, broken, lost or held",
    ),
    Column("status", Count, comment="HTTP status; 0 without an answer"),
    Column("posts", Count, comment="posts returned"),
    Column("cost", Count, comment="price by the price table, in mills"),
    Column("cursor", Text, comment="where the next page begins"),
    Column("headers", Text, comment="JSON: the server's clock and rate limits, from the headers"),
    Column("answer", Text, comment="JSON: from what the open batch continues; emptied when it is finished"),
    Column("digest", Text, index=True, comment="hash of platform, endpoint, params"),
    Column("new_posts", Count, comment="posts billed: those new to the UTC day"),
    Column("new_users", Count, comment="users billed: those new to the UTC day"),
    Column("post_ids", Text, comment="JSON list of the ids of the posts returned, in order"),
    Column(
        "nodes",
        Text,
        comment="JSON: [place of a post, account.node mentioned, ...], nodes answered about, [node, why missing]",
    ),
    Column(
        "clock",
        Float,
        comment="clock of the PostgreSQL server when it was reserved, Unix seconds; NULL: no other process was to know",
    ),
    Column(
        "opens",
        Text,
        comment="JSON list: places of the rate-limit windows that it opens, among those of its token; NULL: none",
    ),
    Index(None, "campaign", "n", "part"),
    # All that sums over the ledger need: its rows are wide, and there may be millions.
    Index(
        "ix_request_spent", "campaign", "sent_at", "endpoint", "kind", "arrived_at", "items", "posts", "most", "cost"
    ),
    comment="the ledger: one row per request, reserved before it is sent",
)

# As `answers.pack_headers` writes it: a limit whose last part, `daily`, is true.
DAILY = request.c.headers.like(literal_column("'%true]%'"))  # literally, or the index would not be known by it
Index("ix_request_daily", request.c.campaign, request.c.sent_at, sqlite_where=DAILY, postgresql_where=DAILY)

charge = Table(
    "charge",
    metadata,
    Column("day", String(10), primary_key=True, comment="UTC day of the server, as 2026-01-31"),
    Column("credential", Text, primary_key=True, comment="name of the token, never the token"),
    Column("kind", String(4), primary_key=True, comment="post or user"),
    Column("resource", Text, primary_key=True, comment="the platform's own id of the post or user"),
    comment="resources billed on a day: a day bills each once; rows older than yesterday are removed",
    sqlite_with_rowid=False,
)

epoch = Table(
    "epoch",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("number", Count, primary_key=True, comment="0, 1, 2, ..."),
    Column("first", Count, nullable=False, comment="pick.n with which it begins"),
    Column("began_at", Text, nullable=False, comment="when it began"),
    Column(
        "why",
        Text,
        nullable=False,
        comment="begun, or what changed: topic, seeds, crawl, track, refresh, accounts, forget, retain",
    ),
    comment="spans of a campaign in which its topic and its history did not change",
    sqlite_with_rowid=False,
)

tombstone = Table(
    "tombstone",
    metadata,
    Column("digest", String(32), primary_key=True, comment="hash of platform, kind and id (or name): nothing readable"),
    Column("kind", String(8), nullable=False, comment="user, name (of a user), short (of a name) or post"),
    Column("why", Text, nullable=False, comment="forget, compliance:<reason> or retain"),
    Column("at", Text, nullable=False, comment="when it was forgotten"),
    comment="what was forgotten, and is not collected again",
    sqlite_with_rowid=False,
)

compliance_job = Table(
    "compliance_job",
    metadata,
    Column("id", Count, primary_key=True, comment="order of the jobs of this database"),
    Column(
        "campaign", ForeignKey("campaign.id"), nullable=False, index=True, comment="campaign.id whose tokens it uses"
    ),
    Column("kind", String(8), nullable=False, comment="what was checked: posts or users"),
    Column("name", Text, nullable=False, unique=True, comment="the name by which the platform lists it"),
    Column("job", Text, comment="the platform's id of it; NULL: not known yet, or no platform's job"),
    Column(
        "status",
        String(16),
        nullable=False,
        comment="begun, created, uploaded, ready, applied, done, failed or expired",
    ),
    Column("ids", Count, nullable=False, comment="how many ids were checked"),
    Column("last", Boolean, nullable=False, comment="whether nothing was left to check after it"),
    Column("since", Text, nullable=False, comment="begin of the check that it is part of: older checks are repeated"),
    Column("began_at", Text, nullable=False, unique=True, comment="when it began: checked_at of what it checks"),
    Column("uploaded_at", Text, comment="when the ids were uploaded; NULL: they were not"),
    Column("looked_at", Text, comment="when its status was last requested; NULL: never"),
    Column("ended_at", Text, comment="when its result was applied, or it failed; NULL: it is under way"),
    Column("removed_posts", Count, comment="posts removed by its result; NULL: not applied yet"),
    Column("removed_accounts", Count, comment="accounts emptied by its result; NULL: not applied yet"),
    comment="checks whether the platform still shows what is stored: one row per job or batch of requests",
)

post_check = Table(
    "post_check",
    metadata,
    Column("post", ForeignKey("post.id"), primary_key=True, comment="post.id"),
    Column("checked_at", Text, nullable=False, index=True, comment="compliance_job.began_at of its latest check"),
    comment="when the platform was last asked whether it still shows a post",
    sqlite_with_rowid=False,
)

account_check = Table(
    "account_check",
    metadata,
    Column("node", ForeignKey("account.node"), primary_key=True, autoincrement=False, comment="account.node"),
    Column("checked_at", Text, nullable=False, index=True, comment="compliance_job.began_at of its latest check"),
    comment="when the platform was last asked whether it still shows an account",
    sqlite_with_rowid=False,
)

response = Table(
    "response",
    metadata,
    Column("request", ForeignKey("request.id"), primary_key=True, autoincrement=False, comment="request.id"),
    Column("url", Text, nullable=False, comment="the address requested, with its parameters"),
    Column("headers", Text, nullable=False, comment="JSON list of [name, value]: the headers of the answer"),
    Column("body", LargeBinary, nullable=False, comment="the answer's bytes, compressed with zlib"),
    comment="the platform's original responses, kept on request",
)

version = Table(
    "version",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("number", Count, primary_key=True, comment="0 as it was begun, 1, 2, ..."),
    Column("at", Text, nullable=False, comment="when it came into force"),
    Column("first", Count, nullable=False, comment="pick.n from which on it is in force"),
    Column("settings", Text, nullable=False, comment="JSON of the settings, without secrets"),
    Column("changed", Text, nullable=False, comment="JSON list of the settings that changed, as topic.keywords"),
    comment="the settings of a campaign, each time they changed",
    sqlite_with_rowid=False,
)

shadow = Table(
    "shadow",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, comment="campaign.id"),
    Column("n", Count, primary_key=True, comment="pick.n"),
    Column("estimator", Text, primary_key=True, comment="name of the shadow"),
    Column("score", Float, nullable=False, comment="its score of the account when that was picked"),
    comment="scores of the picks by shadows, estimators that do not decide",
    sqlite_with_rowid=False,
)

daemon = Table(
    "daemon",
    metadata,
    Column("id", Text, primary_key=True, comment="host, process id and start: one run of a daemon"),
    Column("host", Text, nullable=False, comment="the machine it runs on"),
    Column("pid", Count, nullable=False, comment="its process id there"),
    Column("began_at", Text, nullable=False, comment="when it began"),
    Column("beat_at", Text, nullable=False, comment="when it last reported"),
    Column("stop_at", Text, comment="when a stop was requested; NULL: none was"),
    Column("ended_at", Text, comment="when it left; NULL: it runs, or was killed"),
    Column("weight", Float, comment="its share of the campaigns, relative to other daemons"),
    Column("campaigns", Text, comment="names of the campaigns that it can run, as JSON; NULL: none"),
    comment="the daemons that ran campaigns of this database",
)

lease = Table(
    "lease",
    metadata,
    Column("campaign", ForeignKey("campaign.id"), primary_key=True, autoincrement=False, comment="campaign.id"),
    Column(
        "daemon", ForeignKey("daemon.id"), nullable=False, comment="daemon.id of the daemon that has it, or had it last"
    ),
    Column("taken_at", Text, nullable=False, comment="when it was taken"),
    Column("beat_at", Text, nullable=False, comment="when its holder last renewed it"),
    Column("released_at", Text, comment="when it was released; NULL: it is held, or its holder was killed"),
    Column(
        "state",
        String(16),
        nullable=False,
        comment="running, waiting, resting, paused, done, stopped, broken, elsewhere, stalled or down",
    ),
    Column("why", Text, nullable=False, comment="what it waits for, or why it ended"),
    Column("until", Text, comment="when it continues by itself; NULL: it runs, or that is not known"),
    Column("moved_at", Text, comment="when the last reply or step of it came"),
    Column("since", Text, comment="when it came into this state"),
    Column("file", Text, comment="the campaign file by which its daemon runs it"),
    comment="which daemon runs which campaign, and in which state",
)
