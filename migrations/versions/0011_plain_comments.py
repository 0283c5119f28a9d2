"""Comments of tables, views and columns in plain words, which PostgreSQL keeps; SQLite keeps none, and nothing changes.

By table or view and column ("": the table or view itself): the comment before, and the new one.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TABLES = {
    ("campaign", ""): (
        "one row a campaign",
        "one row per campaign",
    ),
    ("campaign", "identity"): (
        "JSON of the settings that its history rests on, as they are now",
        "JSON of the present settings on which its history depends",
    ),
    ("campaign", "refresh_rate"): (
        "r as it was chosen, where the campaign file says auto; NULL: it does not",
        "batch size r as chosen, if the campaign file says auto; NULL: it does not",
    ),
    ("campaign", "paused_at"): (
        "when somebody paused it; NULL: a daemon may run it",
        "when it was paused; NULL: a daemon may run it",
    ),
    ("campaign", "paused_by"): (
        "the command that paused it until it is done; NULL: a person did, or nobody",
        "the command that paused it until that is done; NULL: it was `pause`, or none",
    ),
    ("account", ""): (
        "one row an account, fetched or only mentioned",
        "one row per account, fetched or only mentioned",
    ),
    ("account", "created_at"): (
        "when the account was made",
        "when the account was created",
    ),
    ("post", ""): (
        "one row a post",
        "one row per post",
    ),
    ("mention", ""): (
        "who is mentioned in which post",
        "which account is mentioned in which post",
    ),
    ("follow", ""): (
        "who follows whom, where a campaign asked for it",
        "which account follows which, if a campaign fetches that",
    ),
    ("follow", "seen_at"): (
        "when the platform first said so",
        "when the platform first returned it",
    ),
    ("pick", ""): (
        "one row a decision to ask a node",
        "one row per decision to read a node",
    ),
    ("pick", "since"): (
        "the mark of the last visit: only what is newer was asked for; NULL: everything",
        "the mark of the last visit: only newer posts were requested; NULL: all",
    ),
    ("outcome", "node"): (
        "account.node asked; negative: a query",
        "account.node read; negative: a query",
    ),
    ("outcome", "value"): (
        "relevance beta = 1 + ln(occurrences), or 0; of probe, walk 1: alive, on topic, 0.5: wider topic only",
        "relevance 1 + ln(occurrences), or 0; of probe 1: active; of walk 1: on topic, 0.5: wider topic only",
    ),
    ("outcome", "mark"): (
        (
            "where a next visit can go on, in the platform's own terms; of probe: when it last posted; of walk "
            "and import: its host; NULL: none"
        ),
        (
            "where a next visit continues, in the platform's own terms; of probe: when it last posted; of walk "
            "and import: its host; NULL: none"
        ),
    ),
    ("standing", ""): (
        "what a campaign of kind track knows of each account, as it was last written",
        "what a campaign of kind track knows about each account, as last computed",
    ),
    ("standing", "link_score"): (
        "in-degrees of whom the latest visit newly linked to; NULL before the second",
        "in-degrees of the accounts newly linked in the latest visit; NULL before the second",
    ),
    ("standing", "gone"): (
        "why it could not be read when last asked; NULL: it could, or nobody asked",
        "why the last attempt to read it failed; NULL: it did not, or there was none",
    ),
    ("sampled", ""): (
        "what a campaign of kind sample has drawn, as it was last written",
        "accounts that a campaign of kind sample has drawn, as last computed",
    ),
    ("request", ""): (
        "the ledger: one row a request, reserved before it is sent",
        "the ledger: one row per request, reserved before it is sent",
    ),
    ("request", "part"): (
        "its place in the conversation: page number",
        "its place among the requests of a pick: page number",
    ),
    ("request", "answer"): (
        "JSON: what the open batch goes on from; emptied when it is finished",
        "JSON: from what the open batch continues; emptied when it is finished",
    ),
    ("response", ""): (
        "the platform's answers as they came, kept on request",
        "the platform's original responses, kept on request",
    ),
    ("response", "url"): (
        "the address that was asked, with its parameters",
        "the address requested, with its parameters",
    ),
    ("shadow", ""): (
        "what estimators that did not steer thought of the picks",
        "scores of the picks by shadows, estimators that do not decide",
    ),
    ("shadow", "estimator"): (
        "an estimator that looked on, by its name",
        "name of the shadow",
    ),
    ("shadow", "score"): (
        "what it thought of the account when that was picked",
        "its score of the account when that was picked",
    ),
    ("daemon", "beat_at"): (
        "when it was last heard of",
        "when it last reported",
    ),
    ("daemon", "stop_at"): (
        "when somebody asked it to stop; NULL: nobody did",
        "when a stop was requested; NULL: none was",
    ),
    ("lease", ""): (
        "which daemon runs which campaign, and how that goes",
        "which daemon runs which campaign, and in which state",
    ),
    ("lease", "daemon"): (
        "daemon.id of who has it, or had it last",
        "daemon.id of the daemon that has it, or had it last",
    ),
    ("lease", "beat_at"): (
        "when its holder last said that it has it",
        "when its holder last renewed it",
    ),
    ("lease", "released_at"): (
        "when it was let go; NULL: it is held, or its holder was killed",
        "when it was released; NULL: it is held, or its holder was killed",
    ),
    ("lease", "until"): (
        "when it goes on by itself; NULL: it runs, or nobody can say",
        "when it continues by itself; NULL: it runs, or that is not known",
    ),
}
VIEWS = {
    ("top_account", ""): (
        "the accounts that were read and speak of the topic, one row each",
        "accounts that were read and have matching posts, one row each",
    ),
    ("top_account", "step"): (
        "how many accounts were asked after the seeds, this one included; NULL for seeds and imports",
        "how many accounts were read after the seeds, including this one; NULL for seeds and imports",
    ),
    ("top_account", "n"): (
        "number of the decision to ask it, pick.n",
        "number of the decision to read it, pick.n",
    ),
    ("topic_post", ""): (
        "the posts that speak of the topic",
        "the posts that match the topic",
    ),
    ("mention_network", ""): (
        "who mentions whom, as the campaign read it: one row a link of the graph and visit, without links to oneself",
        (
            "which account mentions which: one row per link of the graph and visit, without links of an account "
            "to itself"
        ),
    ),
    ("mention_network", "source"): (
        "who mentions: username as last shown, or the platform's id",
        "the account that mentions: username as last shown, or the platform's id",
    ),
    ("mention_network", "target"): (
        "who is mentioned: username as last shown, or the platform's id",
        "the account mentioned: username as last shown, or the platform's id",
    ),
    ("mention_network", "n"): (
        "number of the decision that told it, pick.n",
        "number of the decision that found it, pick.n",
    ),
    ("campaign_progress", ""): (
        "the course of a campaign: one row a decision, with sums over all decisions so far",
        "the course of a campaign: one row per decision, with sums over all decisions so far",
    ),
    ("campaign_progress", "step"): (
        "accounts asked after the seeds, this one included; NULL for everything but steps",
        "accounts read after the seeds, including this one; NULL for everything but steps",
    ),
    ("campaign_progress", "value"): (
        "relevance found by this decision (1: alive, on topic; 0.5: wider topic only); NULL while it is open",
        "relevance found by this decision (1: active, on topic; 0.5: wider topic only); NULL while it is open",
    ),
    ("spend_by_day", ""): (
        (
            "what was asked and what it cost: one row a UTC day and endpoint; answers that the database had are "
            "not in it"
        ),
        "requests and their cost: one row per UTC day and endpoint, without responses that the database had already",
    ),
    ("spend_by_day", "day"): (
        "UTC day of the answer (without an answer: of the question), as 2026-01-31",
        "UTC day of the response (without a response: of the request), as 2026-01-31",
    ),
    ("spend_by_day", "unanswered"): (
        "requests to which no answer came: they count as spent",
        "requests without a response: they count as spent",
    ),
    ("frontier_now", ""): (
        "the accounts that are linked to and were not read yet, with what the estimators know of each",
        "the accounts that are linked to and were not read yet, with the features of the estimators",
    ),
    ("frontier_now", "n_sum"): (
        "sum over these links of the relevance of who links",
        "sum over these links of the relevance of the accounts that link",
    ),
    ("frontier_now", "failures"): (
        "times it was asked and failed for a while; it rests for 20 decisions after each, and is out at 3",
        "attempts that failed for a while; it rests for 20 decisions after each, and is skipped after 3",
    ),
    ("coverage_gap", ""): (
        "what a campaign could not see, and why: one row a kind of gap",
        "what a campaign could not read, and why: one row per kind of gap",
    ),
    ("tracked_account", ""): (
        "the accounts that a campaign of kind track knows, as it was last written",
        "the accounts that a campaign of kind track knows, as last computed",
    ),
    ("tracked_account", "link_score"): (
        "in-degrees of whom the latest visit newly linked to; NULL before the second",
        "in-degrees of the accounts newly linked in the latest visit; NULL before the second",
    ),
    ("tracked_account", "gone"): (
        "why it could not be read when last asked, as in outcome.missing; NULL: it could, or was not asked",
        "why the last attempt to read it failed, as in outcome.missing; NULL: it did not, or there was none",
    ),
    ("liveness", ""): (
        (
            "who of an old dataset was found alive: one row an account tested by a campaign of kind refresh, as "
            "last tested"
        ),
        "which accounts of an old dataset are active: one row per account checked by a campaign of kind refresh",
    ),
    ("liveness", "active"): (
        "1: it is alive, 0: it is not (or nobody could tell, status temporary)",
        "1: it is active, 0: it is not (or that is not known, status temporary)",
    ),
    ("liveness", "status"): (
        "active, silent (it is there), or why it is not: as in outcome.missing",
        "active, silent (it exists), or why it is not active: as in outcome.missing",
    ),
    ("liveness", "last_active_at"): (
        "when it last posted (a page: changed), where that was told; on Mastodon a bare day",
        "when it last posted (a page: changed), if known; on Mastodon a day without a time",
    ),
    ("liveness", "n"): (
        "number of the decision to test it, pick.n",
        "number of the last decision to check it, pick.n",
    ),
    ("sampled_account", ""): (
        "the accounts of a sample: one row an account that its walks visited on topic, as it was last written",
        "the accounts of a sample: one row per account on topic that its walks visited, as last computed",
    ),
    ("decision", ""): (
        "what a campaign decided and what came of it: one row a decision, in order",
        "the decisions of a campaign and their outcomes: one row per decision, in order",
    ),
    ("decision", "features"): (
        "JSON of what was known of it then, by name; NULL for seeds",
        "JSON of the features at that time, by name; NULL for seeds",
    ),
    ("topic_match", ""): (
        "which posts match the topic of a campaign, without their texts: one row a match",
        "which posts match the topic of a campaign, without their texts: one row per match",
    ),
    ("importance", ""): (
        "how important a campaign of kind track finds each account, as it was last written",
        "importance of each account in a campaign of kind track, as last computed",
    ),
}


def upgrade() -> None:
    _write_comments(1)


def downgrade() -> None:
    _write_comments(0)


def _write_comments(which: int) -> None:
    if not op.get_bind().dialect.supports_comments:
        return
    for kind, changes in (("table", TABLES), ("view", VIEWS)):
        for (name, column), comments in changes.items():
            what = f'column {name}."{column}"' if column else f"{kind} {name}"
            words = comments[which].replace("'", "''")
            op.execute(f"comment on {what} is '{words}'")
