"""The tables of a dataset: their columns, which are promised, and the queries that fill them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from socialcrawl.api.data_tables import Reader, Table, make_columns
from socialcrawl.errors import SettingsError
from socialcrawl.render.campaign_report import is_charged
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.summary import read_first_settings
from socialcrawl.storage.schema.questions import QUESTIONS
from socialcrawl.storage.versions import iterate_leaves
from socialcrawl.system.loopback import is_loopback

CHARGED = (
    "whether the server charges them: no server on this machine, and no platform without prices; missing where that is "
    "not known, for a price table of your own or a platform that is not installed"
)
COUNTED = "when it was last read"
NO_LIMIT = 2**62  # rows


class TableDefinition(NamedTuple):
    """A table of the Python API: its columns, as (kind, meaning) by name, and its SELECT."""

    columns: Mapping[str, tuple[str, str]]
    sql: str


POST_ROWS = """select p.id, coalesce(a.username, a.platform_id), a.platform_id, p.created_at, p.text, p.lang,
  coalesce(h.occurrences, 0), p.conversation_id, p.reply_to, p.repost_of, p.quote_of, p.hashtags, p.urls,
  p.likes, p.replies, p.reposts, p.quotes, p.bookmarks, p.views, p.fetched_at, a.platform
from post p join account a on a.node = p.author
left join hit h on h.post = p.id and h.campaign = :number"""
POSTS = TableDefinition(
    {
        "id": ("text", "the platform's own id of the post"),
        "author": ("text", "username as last shown, or the platform's id where no name is known"),
        "author_id": ("text", "the platform's own id of the author"),
        "created_at": ("time", "when it was posted"),
        "text": ("text", "full text; reposts are cut by the platform"),
        "lang": ("text", "language as the platform guesses it (BCP 47)"),
        "occurrences": ("int", "occurrences of the campaign's topic in it; 0: it does not match"),
        "conversation_id": ("text", "id of the post that began the conversation"),
        "reply_to": ("text", "id of the post it replies to"),
        "repost_of": ("text", "id of the post it reposts"),
        "quote_of": ("text", "id of the post it quotes"),
        "hashtags": ("list", "hashtags, without #"),
        "urls": ("list", "links, expanded"),
        "likes": ("int", f"likes {COUNTED}"),
        "replies": ("int", f"replies {COUNTED}"),
        "reposts": ("int", f"reposts {COUNTED}"),
        "quotes": ("int", f"quotes {COUNTED}"),
        "bookmarks": ("int", f"bookmarks {COUNTED}"),
        "views": ("int", f"views {COUNTED}"),
        "fetched_at": ("time", "when it was first fetched"),
        "page": ("text", "address where the platform shows it; missing where that is not known"),
    },
    f"""{POST_ROWS}
where (:on_topic = 0 or h.occurrences is not null) and (:off_topic = 0 or h.occurrences is null){{authors}}
and (:since = '' or p.created_at >= :since) and (:until = '' or coalesce(p.created_at, '') < :until)
and (:after = '' or (coalesce(p.created_at, ''), p.id) {{beyond}}
  (select coalesce(last.created_at, ''), last.id from post last where last.id = :after))
order by coalesce(p.created_at, '') {{direction}}, p.id {{direction}} limit :most""",  # noqa: S608  (our own text)
)
BEST_POSTS = TableDefinition(
    POSTS.columns,
    f"""{POST_ROWS} where p.id in (select best.post from hit best join post q on q.id = best.post
  where best.campaign = :number order by best.occurrences desc, q.created_at desc, q.id limit :top)
order by h.occurrences desc, p.created_at desc, p.id""",  # noqa: S608  (our own text)
)
ACCOUNTS = TableDefinition(
    {
        "place": ("int", "1 for the most relevant; of equals the one that was read first"),
        "account": ("text", "username as last shown, or the platform's id where no name is known"),
        "account_id": ("text", "the platform's own id of the account"),
        "display_name": ("text", "name in the profile"),
        "relevance": ("float", "beta = 1 + ln(occurrences); in a sample 1: on topic"),
        "occurrences": ("int", "occurrences of the topic in the posts that were read"),
        "posts": ("int", "posts that were read"),
        "act": ("text", "seed, expand, match, walk or import: how the account came to be read"),
        "step": ("int", "number of accounts read after the seeds, this one included; missing for seeds and imports"),
        "read_at": ("time", "when its last page arrived"),
        "followers": ("int", "followers, where the profile is known"),
        "page": ("text", "address where the platform shows it; missing where that is not known"),
    },
    """select t.place, t.account, a.platform_id, t.display_name, t.relevance, t.occurrences, t.posts, t.act, t.step,
  t.read_at, t.followers, a.platform, a.username
from top_account t join account a on a.node = t.node where t.campaign = :name and t.place > :after
  and t.place <= :top order by t.place""",
)
SCORE_CURVE = TableDefinition(
    {
        "step": ("int", "number of accounts read after the seeds, this one included"),
        "account": ("text", "username as last shown, or the platform's id where no name is known"),
        "value": ("float", "relevance of this account; 0 where it could not be read"),
        "relevance": ("float", "relevance of all steps so far, without the seeds"),
        "requests": ("int", "requests sent so far, those of seeds and searches included"),
        "dollars": ("float", "their price by the price table"),
        "finished_at": ("time", "when its last page arrived"),
        "charged": ("bool", CHARGED),
    },
    """select step, account, coalesce(value, 0.0), relevance, requests, dollars, finished_at from campaign_progress
where campaign = :name and step is not null and finished_at is not null order by n""",
)
CAMPAIGNS = TableDefinition(
    {
        "campaign": ("text", "name of the campaign"),
        "platform": ("text", "x, bluesky, mastodon, web, or one that a plug-in adds"),
        "created_at": ("time", "when it first ran"),
        "posts_on_topic": ("int", "posts that match its topic"),
        "accounts_read": ("int", "accounts whose posts were read"),
        "requests": ("int", "requests sent"),
        "dollars": ("float", "their price by the price table"),
        "charged": ("bool", CHARGED),
    },
    """select c.name, c.platform, c.created_at,
  (select count(*) from hit h where h.campaign = c.id),
  (select count(distinct o.node) from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
    where o.campaign = c.id and o.node >= 0 and o.missing is null
    and p.act in ('seed', 'expand', 'match', 'recrawl', 'walk', 'import')),
  (select count(*) from request r where r.campaign = c.id and coalesce(r.kind, '') <> 'held'),
  (select coalesce(sum(coalesce(r.cost, r.most)), 0) from request r where r.campaign = c.id) / 100000.0,
  c.settings
from campaign c order by c.id""",
)
LEDGER = TableDefinition(
    {
        "endpoint": ("text", "path of the endpoint; on platforms with many servers it begins with the host"),
        "requests": ("int", "requests sent"),
        "posts": ("int", "posts that they returned, repeats included"),
        "failed": ("int", "requests without a usable reply"),
        "dollars": ("float", "their price by the price table; what is not settled counts at its highest"),
        "last_at": ("time", "when the last one was sent"),
    },
    """select endpoint, count(*), cast(coalesce(sum(posts), 0) as bigint),
  count(case when kind is null or kind not in ('ok', 'missing') then 1 end),
  cast(coalesce(sum(coalesce(cost, most)), 0) as double precision) / 100000.0, max(sent_at)
from request where campaign = :number and coalesce(kind, '') <> 'held' group by endpoint order by 5 desc, 2 desc, 1""",
)
CHANGES = TableDefinition(
    {
        "at": ("time", "when it came into force"),
        "decision": ("int", "number of the first decision after it"),
        "what": ("text", "settings: the campaign file changed; history: a new epoch began"),
        "changed": ("list", "the settings that changed, as topic.keywords; of history: why"),
        "before": ("list", "their values before, as JSON; none of history"),
        "after": ("list", "their values since then, as JSON; none of history"),
    },
    """select at, first, 'settings', changed, settings, (select earlier.settings from version earlier
    where earlier.campaign = version.campaign and earlier.number = version.number - 1)
from version where campaign = :number and number > 0
union all select began_at, first, 'history', why, null, null from epoch where campaign = :number and number > 0
order by 1, 2, 3""",
)
QUERIES = TableDefinition(
    {
        "name": ("text", "a short name"),
        "question": ("text", "the question"),
        "sql": ("text", "the query that answers it, on SQLite and PostgreSQL alike"),
        "note": ("text", "how to read the answer"),
    },
    "",
)


def read_queries(size: int) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield the documented questions, at most `size` at a time, as QUERIES has them."""
    for begin in range(0, len(QUESTIONS), size):
        yield [[one.name, one.words, one.sql, one.note] for one in QUESTIONS[begin : begin + size]]


def make_table(  # noqa: PLR0917 (a table has so many parts)
    session: ReadSession,
    name: str,
    definition: TableDefinition,
    parameters: Mapping[str, Any],
    finish: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
    source: Reader | None = None,
) -> Table:
    """Return a table of the rows of a definition's SELECT, or of those that `source` reads, each finished.

    Raises:
        StoreError: the database was closed.
    """
    session.check_open()
    lists = [place for place, (kind, _) in enumerate(definition.columns.values()) if kind == "list"]
    source = source or partial(session.stream, definition.sql, parameters)

    def read(size: int) -> Iterator[Sequence[Sequence[Any]]]:
        for rows in source(size):
            parsed = [_parse_lists(row, lists) for row in rows] if lists else rows
            yield parsed if finish is None else [finish(row) for row in parsed]

    return Table(name, make_columns(definition.columns), read)


def _parse_lists(row: Sequence[Any], places: Sequence[int]) -> list[Any]:
    cells = list(row)
    for place in places:
        cells[place] = None if cells[place] is None else orjson.loads(cells[place])
    return cells


def make_score_curve(session: ReadSession, campaign: int, name: str) -> Table:
    """Return the relevance that a campaign had found after each step, by its number and name."""
    with session.open_reader() as connection:
        charged = read_charged(*read_first_settings(connection, campaign))
    return make_table(session, "score_curve", SCORE_CURVE, {"name": name}, lambda row: [*row, charged])


def read_changes(session: ReadSession, campaign: int, size: int) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield the changes of a campaign by its number, at most `size` at a time, as CHANGES has them."""
    for rows in session.stream(CHANGES.sql, {"number": campaign}, size):
        yield [_make_change(row) for row in rows]


def _make_change(row: Sequence[Any]) -> list[Any]:
    at, first, what, changed, settings, before = row
    if settings is None:
        return [at, first, what, changed.split(","), [], []]
    keys = orjson.loads(changed)
    new, old = (dict(iterate_leaves(orjson.loads(text or "{}"))) for text in (settings, before))
    return [at, first, what, keys, *([orjson.dumps(values.get(key)).decode() for key in keys] for values in (old, new))]


def finish_campaign(row: Sequence[Any]) -> list[Any]:
    """Return a row of CAMPAIGNS that says whether the server charges, in place of the settings."""
    return [*row[:-1], read_charged(platform=row[1], settings=row[-1])]


def read_charged(platform: str, settings: str) -> bool | None:
    """Return whether a campaign's server charges; None where the installed platforms and prices cannot tell."""
    source = orjson.loads(settings)["source"]
    base_url = source.get("base_url") or ""
    try:
        charged = is_charged(platform, base_url)
    except SettingsError:
        return None
    return None if source.get("policy") and not charged and not is_loopback(base_url) else charged
