"""A database of campaigns, opened for reading."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import orjson

from socialcrawl.api.argument_checks import KEYWORDS, PATH, SWITCH, TEXT, ArgumentRule, check_arguments, make_whole_rule
from socialcrawl.api.data_tables import Table, make_columns, make_query_table
from socialcrawl.api.match_preview import MatchPreview, preview_matches
from socialcrawl.api.network import Network
from socialcrawl.api.text_report import CampaignPage, TextReport
from socialcrawl.crawls.base import ReportRequest
from socialcrawl.crawls.reporting import explain
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.datasheet import render_page
from socialcrawl.exporters.export import make_datasheet
from socialcrawl.exporters.selection import open_selection
from socialcrawl.render.campaign_report import collect_values, is_charged, read_report, show
from socialcrawl.render.console import render_text
from socialcrawl.render.explanation import collect_explanation, show_explanation
from socialcrawl.render.html_report import make_page
from socialcrawl.storage.database.address import DatabaseAddress, parse_address
from socialcrawl.storage.database.readonly import run_query
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.summary import find_campaign, list_campaigns, read_first_settings
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.system.loopback import is_loopback
from socialcrawl.text.wording import parse_seconds

CHARGED = (
    "whether the server charges them: no server on this machine, and no platform without prices; missing where that is "
    "not known, for a price table of your own or a platform that is not installed"
)
COUNTED = "when it was last read"


def _convert_parameters(given: Any) -> Any:
    if isinstance(given, str | bytes):
        raise TypeError
    if isinstance(given, Mapping):
        return {str(name): _convert_parameter(value) for name, value in given.items()}
    return [_convert_parameter(value) for value in given]


def _convert_parameter(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_time((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    return value.isoformat() if isinstance(value, date) else value


PARAMETERS = ArgumentRule("a list of values, or a dict of values by name", _convert_parameters)


class TableDefinition(NamedTuple):
    """A table of the Python API: its columns, as (kind, meaning) by name, and its SELECT."""

    columns: Mapping[str, tuple[str, str]]
    sql: str


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
    },
    """select p.id, coalesce(a.username, a.platform_id), a.platform_id, p.created_at, p.text, p.lang,
  coalesce(h.occurrences, 0), p.conversation_id, p.reply_to, p.repost_of, p.quote_of, p.hashtags, p.urls,
  p.likes, p.replies, p.reposts, p.quotes, p.bookmarks, p.views, p.fetched_at
from post p join account a on a.node = p.author
left join hit h on h.post = p.id and h.campaign = :number
where :on_topic = 0 or h.occurrences is not null
order by p.created_at, p.id""",
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
    },
    """select t.place, t.account, a.platform_id, t.display_name, t.relevance, t.occurrences, t.posts, t.act, t.step,
  t.read_at, t.followers
from top_account t join account a on a.node = t.node where t.campaign = :name and t.place <= :top order by t.place""",
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


@check_arguments(place=PATH)
def open_dataset(place: "str | os.PathLike[str]") -> "Dataset":
    """Open a database for reading.

    The file stays as it is, and a campaign may run at the same time. An SQLite file of an older version is copied to a
    temporary folder and read there, which takes its size in disk space each time: `socialcrawl report FILE` upgrades
    the file once. A server's database is not copied: upgrade it first.

    Args:
        place: an SQLite file, or `postgresql://USER@HOST/NAME`.

    Raises:
        StoreError: it is not there, is no database of socialcrawl, or is an older version's on a server.

    Example:
        >>> with sc.open("example.db") as data:
        ...     print(data.campaigns)
        ['sky']
    """
    return Dataset(parse_address(os.fspath(place)) if isinstance(place, str) else Path(place))


class Dataset:
    """A database of campaigns, opened for reading: nothing here changes it.

    Use it in a `with` statement, or close it: afterwards, it and its tables raise an error. Where a method takes a
    `campaign`, None stands for the newest.

    Example:
        >>> data = sc.open("example.db")
        >>> data
        <Dataset example.db>
        >>> data.campaigns
        ['sky']
        >>> data.close()
    """

    def __init__(self, place: DatabaseAddress) -> None:
        self._session = ReadSession(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Dataset {self._session.place}>"

    def close(self) -> None:
        """Close the database."""
        self._session.close()

    @property
    def campaigns(self) -> list[str]:
        """The names of its campaigns, oldest first."""
        return [name for _, name in list_campaigns(self._session.connection)]

    def list_campaigns(self) -> Table:
        """Return a table with one row a campaign: what it found and what it cost.

        Example:
            >>> data.list_campaigns().to_pandas()[["campaign", "platform", "accounts_read"]]
              campaign platform  accounts_read
            0      sky        x              6
        """
        return self._make_table(
            "campaigns", CAMPAIGNS, {}, lambda row: [*row[:-1], _read_charged(platform=row[1], settings=row[-1])]
        )

    @check_arguments(on_topic=SWITCH, campaign=TEXT)
    def posts(self, *, on_topic: bool = False, campaign: str | None = None) -> Table:
        """Return the posts, oldest first.

        Args:
            on_topic: only posts that match the topic of the campaign; else all posts of the database.
            campaign: whose topic counts.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.posts(on_topic=True).to_pandas()[["author", "occurrences"]].head(3)
              author  occurrences
            0    ann            1
            1    ann            1
            2    ben            1
        """
        number, _ = find_campaign(self._session.connection, campaign)
        return self._make_table("posts", POSTS, {"number": number, "on_topic": int(on_topic)})

    @check_arguments(top=make_whole_rule(0), campaign=TEXT)
    def accounts(self, top: int | None = None, *, campaign: str | None = None) -> Table:
        """Return the accounts on topic that were read, the most relevant first.

        Args:
            top: how many; None: all.
            campaign: its name.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.accounts(top=2).to_pandas()[["account", "relevance", "posts"]]
              account  relevance  posts
            0    dora   2.098612      1
            1     ann   1.693147      2
        """
        _, name = find_campaign(self._session.connection, campaign)
        return self._make_table("accounts", ACCOUNTS, {"name": name, "top": 2**62 if top is None else top})

    @check_arguments(campaign=TEXT)
    def score_curve(self, *, campaign: str | None = None) -> Table:
        """Return the relevance that a campaign had found after each step.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.score_curve().to_pandas()[["step", "account", "relevance"]]
               step account  relevance
            0     1     ben   1.000000
            1     2    dora   3.098612
            2     3     fay   4.098612
            3     4    hana   5.098612
        """
        number, name = find_campaign(self._session.connection, campaign)
        with self._session.open_reader() as connection:
            charged = _read_charged(*read_first_settings(connection, number))
        return self._make_table("score_curve", SCORE_CURVE, {"name": name}, lambda row: [*row, charged])

    @check_arguments(on_topic=SWITCH, campaign=TEXT)
    def network(self, *, on_topic: bool = False, campaign: str | None = None) -> Network:
        """Return who mentions whom, as a campaign read it, without mentions of oneself.

        Args:
            on_topic: only mentions in posts that match the topic.
            campaign: its name.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.network(on_topic=True).to_pandas()[["source", "target", "posts"]]
              source target  posts
            0    ann   cleo      1
            1    ann    ben      2
            2    ben   dora      1
            3   dora    ann      1
            4   dora    fay      1
            5    fay   hana      1
            6   hana    fay      1
        """
        number, name = find_campaign(self._session.connection, campaign)
        return Network(self._session, number, name, on_topic=on_topic)

    @check_arguments(
        keywords=KEYWORDS,
        patterns=KEYWORDS,
        languages=KEYWORDS,
        limit=make_whole_rule(0),
        newest=make_whole_rule(1),
        timeout=TEXT,
        campaign=TEXT,
    )
    def preview_matches(
        self,
        keywords: Sequence[str] = (),
        *,
        patterns: Sequence[str] = (),
        languages: Sequence[str] = (),
        limit: int = 50,
        newest: int = 10_000,
        timeout: str = "5s",
        campaign: str | None = None,
    ) -> MatchPreview:
        """Return which of the posts that were stored last match a topic, before you change a campaign to it.

        They are counted as a campaign counts them. The posts are those of all campaigns of the database on the
        platform of one.

        Args:
            keywords: as under [topic] of a campaign file.
            patterns: regular expressions, likewise; they are counted in a process of their own.
            languages: only posts in these languages match; none: all.
            limit: the number of matching posts to return, and of others.
            newest: the number of posts to look at.
            timeout: the longest time to count, as "5s".
            campaign: whose platform counts.

        Raises:
            SettingsError: the topic is unusable, or counting takes too long.
            StoreError: there is no such campaign.

        Example:
            >>> preview = data.preview_matches(["mirror", "bread"], limit=1)
            >>> preview.matching, preview.examined
            (2, 7)
        """
        words, bounds = (keywords, patterns, languages), (limit, newest, parse_seconds(timeout))
        return preview_matches(self._session, campaign, words, bounds)

    @check_arguments(query=TEXT, params=PARAMETERS, timeout=TEXT)
    def sql(
        self, query: str, *, params: Sequence[Any] | Mapping[str, Any] | None = None, timeout: str = "30s"
    ) -> Table:
        """Return the answer to one SELECT, held in memory; docs/reference/schema.md has the tables and views.

        Times are texts in ISO 8601 and UTC, such as `2026-01-31T12:00:00.000000Z`; they sort and compare as texts.

        Args:
            query: the SELECT, with placeholders for `params`: `?` or `:name`; in PostgreSQL `%s` or `%(name)s`.
            params: their values in order, or by name; they are never part of the statement. A datetime becomes text
                as it is stored (without a zone, it is UTC).
            timeout: the longest time that the database works on it, as "30s" or "5m".

        Raises:
            StoreError: the query is wrong, would change something, or takes too long.

        Example:
            >>> query = "select lang, count(*) as posts from post where lang = ? group by lang"
            >>> data.sql(query, params=["en"]).to_pandas()
              lang  posts
            0   en      7
        """
        self._session.check_open()
        seconds, values = parse_seconds(timeout), params or ()
        with run_query(self._session.source, query, seconds, time.monotonic, parameters=values) as (names, rows):
            return make_query_table(names, [*rows])

    @check_arguments(campaign=TEXT, top=make_whole_rule(0))
    def report(self, *, campaign: str | None = None, top: int = 15) -> CampaignPage:
        """Return what a campaign found and what it took, as `socialcrawl report` shows it.

        Args:
            campaign: its name.
            top: the number of accounts to list.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> report = data.report(top=3)
            >>> print(report.text.splitlines()[2].strip())
            topic              telescope
            >>> report.to_dict()["accounts_on_topic"]
            5
        """
        now = SystemClock().now()
        with self._session.open_reader() as connection:
            found = read_report(connection, campaign, ReportRequest(top, now))

        def render(with_texts: bool) -> str:  # noqa: FBT001 (the page calls it)
            with self._session.open_reader() as connection:
                return make_page(connection, found, now, with_texts=with_texts)

        return CampaignPage(render_text(lambda console: show(console, found)), collect_values(found), render)

    @check_arguments(user=TEXT, campaign=TEXT, top=make_whole_rule(0))
    def explain(self, user: str, *, campaign: str | None = None, top: int = 10) -> TextReport:
        """Return why a campaign read an account or did not, as `socialcrawl explain` shows it.

        An account that the campaign has never seen is no error: the text says so.

        Args:
            user: a username or id.
            campaign: its name.
            top: the number of links to the account to list.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> print(data.explain("dora").text.splitlines()[0])
            @dora in the campaign sky
        """
        with self._session.open_reader() as connection:
            trace = explain(CampaignTraces(connection), user, campaign)
        shown = render_text(lambda console: show_explanation(trace, console, top))
        return TextReport(shown, collect_explanation(trace))

    @check_arguments(campaign=TEXT)
    def datasheet(self, *, campaign: str | None = None) -> TextReport:
        """Return how the data came about, for publication, as an export writes it.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> print(data.datasheet().text.splitlines()[0])
            # Datasheet: sky
        """
        with self._session.open_reader() as connection, open_selection(connection, campaign) as choice:
            values = make_datasheet(choice, None, SystemClock().now())
        return TextReport(render_page({**values, "files": []}), values)

    def _make_table(
        self,
        name: str,
        definition: TableDefinition,
        parameters: Mapping[str, Any],
        finish: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
    ) -> Table:
        self._session.check_open()
        lists = [place for place, (kind, _) in enumerate(definition.columns.values()) if kind == "list"]

        def read(size: int) -> Iterator[Sequence[Sequence[Any]]]:
            for rows in self._session.stream(definition.sql, parameters, size):
                parsed = [_parse_lists(row, lists) for row in rows] if lists else rows
                yield parsed if finish is None else [finish(row) for row in parsed]

        return Table(name, make_columns(definition.columns), read)


def _parse_lists(row: Sequence[Any], places: Sequence[int]) -> list[Any]:
    cells = list(row)
    for place in places:
        cells[place] = None if cells[place] is None else orjson.loads(cells[place])
    return cells


def _read_charged(platform: str, settings: str) -> bool | None:
    """Return whether a campaign's server charges; None where the installed platforms and prices cannot tell."""
    source = orjson.loads(settings)["source"]
    base_url = source.get("base_url") or ""
    try:
        charged = is_charged(platform, base_url)
    except SettingsError:
        return None
    return None if source.get("policy") and not charged and not is_loopback(base_url) else charged
