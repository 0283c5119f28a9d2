"""A database of campaigns, opened for reading."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from socialcrawl.api.argument_checks import KEYWORDS, PARAMETERS, PATH, SWITCH, TEXT, check_arguments, make_whole_rule
from socialcrawl.api.data_tables import Reader, Table, make_columns, make_query_table
from socialcrawl.api.frontier import CampaignFrontier
from socialcrawl.api.match_preview import MatchPreview, preview_matches
from socialcrawl.api.network import Network
from socialcrawl.api.page_addresses import find_account_page, finish_post
from socialcrawl.api.post_search import INSTANT, make_filter, read_found
from socialcrawl.api.table_definitions import (
    ACCOUNTS,
    CAMPAIGNS,
    CHANGES,
    LEDGER,
    NO_LIMIT,
    POST_ROWS,
    POSTS,
    SCORE_CURVE,
    TableDefinition,
    read_changes,
    read_charged,
)
from socialcrawl.api.text_report import CampaignPage, TextReport, make_campaign_page, make_explanation
from socialcrawl.crawls.base import ReportRequest
from socialcrawl.crawls.next_picks import list_next
from socialcrawl.engine.clock import SystemClock
from socialcrawl.exporters.datasheet import render_page
from socialcrawl.exporters.export import make_datasheet
from socialcrawl.exporters.selection import open_selection
from socialcrawl.storage.database.address import DatabaseAddress, parse_address
from socialcrawl.storage.database.readonly import run_query
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.summary import find_campaign, list_campaigns, read_first_settings
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.text.post_query import parse_query
from socialcrawl.text.wording import parse_seconds


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
            "campaigns", CAMPAIGNS, {}, lambda row: [*row[:-1], read_charged(platform=row[1], settings=row[-1])]
        )

    @check_arguments(on_topic=SWITCH, campaign=TEXT, after=TEXT, limit=make_whole_rule(0), newest_first=SWITCH)
    def posts(
        self,
        *,
        on_topic: bool = False,
        campaign: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Table:
        """Return the posts, oldest first.

        Args:
            on_topic: only posts that match the topic of the campaign; else all posts of the database.
            campaign: whose topic counts.
            after: the id of a post: only those that come after it in this order.
            limit: how many; None: all.
            newest_first: the newest first instead.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.posts(on_topic=True).to_pandas()[["author", "occurrences"]].head(3)
              author  occurrences
            0    ann            1
            1    ann            1
            2    ben            1
            >>> newest = data.posts(on_topic=True, newest_first=True, limit=1)
            >>> [post["author"] for post in newest], [post["author"] for post in data.posts(after=[*newest][0]["id"])]
            (['hana'], [])
        """
        number, _ = find_campaign(self._session.connection, campaign)
        order = ("desc", "<") if newest_first else ("asc", ">")
        given = {
            "number": number,
            "on_topic": int(on_topic),
            "after": after or "",
            "most": NO_LIMIT if limit is None else limit,
        }
        definition = POSTS._replace(sql=POSTS.sql.format(direction=order[0], beyond=order[1]))
        return self._make_table("posts", definition, given, finish_post)

    @check_arguments(
        query=TEXT, on_topic=SWITCH, author=TEXT, since=INSTANT, until=INSTANT, after=TEXT, limit=make_whole_rule(0),
        campaign=TEXT,
    )  # fmt: skip
    def search(
        self,
        query: str,
        *,
        on_topic: bool = False,
        author: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        after: str | None = None,
        limit: int | None = None,
        campaign: str | None = None,
    ) -> Table:
        """Return the posts that match a query, newest first; the columns are those of `posts`.

        All words have to occur, in any order. Case and accents make no difference. `"clear sky"` is a phrase, `-cloud`
        must not occur, `tele*` is the beginning of a word, `#moon` a hashtag, `@ann` a mention; `OR` stands between
        alternatives. Of Chinese, Japanese, Thai and other scripts without spaces, any part of a text is found.

        It uses the index that `socialcrawl search` makes in a large database, and reads the texts of posts that are not
        in it.

        Args:
            query: what to search for.
            on_topic: only posts that match the topic of the campaign.
            author: only posts of this username or id.
            since: only posts written at this time or later: a date, a datetime, or either as text (UTC).
            until: only posts written before this time.
            after: TIME/ID, the `created_at` and `id` of the last post of the page before: the search goes on after it.
            limit: how many posts at most; None: all.
            campaign: whose topic counts.

        Raises:
            SettingsError: the query has nothing to search for, or has parentheses.
            StoreError: there is no such campaign, or no account is called `author`.

        Example:
            >>> data.search("telescope -sky", limit=2).to_pandas()[["author", "text"]]
              author                              text
            0   hana  Is this telescope any good? @fay
            1    fay   A telescope for beginners @hana
        """
        number, _ = find_campaign(self._session.connection, campaign)
        among = make_filter(author, number if on_topic else None, since, until, after)
        question = parse_query(query), among, limit
        read = partial(read_found, self._session, POST_ROWS, {"number": number}, question)
        return self._make_table("search", POSTS, {}, finish_post, read)

    @check_arguments(top=make_whole_rule(0), campaign=TEXT, after=make_whole_rule(0))
    def accounts(self, top: int | None = None, *, campaign: str | None = None, after: int = 0) -> Table:
        """Return the accounts on topic that were read, the most relevant first.

        Args:
            top: how many; None: all.
            campaign: its name.
            after: a place: only those that come after it.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.accounts(top=2).to_pandas()[["account", "relevance", "posts"]]
              account  relevance  posts
            0    dora   2.098612      1
            1     ann   1.693147      2
        """
        _, name = find_campaign(self._session.connection, campaign)
        given = {"name": name, "after": after, "top": NO_LIMIT if top is None else after + top}

        def finish(row: Sequence[Any]) -> list[Any]:
            *cells, platform, username = row
            return [*cells, find_account_page(platform, username, row[2])]

        return self._make_table("accounts", ACCOUNTS, given, finish)

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
            charged = read_charged(*read_first_settings(connection, number))
        return self._make_table("score_curve", SCORE_CURVE, {"name": name}, lambda row: [*row, charged])

    @check_arguments(campaign=TEXT)
    def ledger(self, *, campaign: str | None = None) -> Table:
        """Return the requests of a campaign and their price, a row for each endpoint.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.ledger().to_pandas()[["endpoint", "requests", "posts"]]
                          endpoint  requests  posts
            0  /2/users/:id/tweets         6      7
            1          /2/users/by         1      0
        """
        number, _ = find_campaign(self._session.connection, campaign)
        return self._make_table("ledger", LEDGER, {"number": number})

    @check_arguments(campaign=TEXT)
    def changes(self, *, campaign: str | None = None) -> Table:
        """Return the changes of a campaign after it began, oldest first: of its settings, and of its history.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> [*data.changes()]
            []
        """
        number, _ = find_campaign(self._session.connection, campaign)
        return Table("changes", make_columns(CHANGES.columns), lambda size: read_changes(self._session, number, size))

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
        return make_campaign_page(self._session, campaign, ReportRequest(top, SystemClock().now()))

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
        return make_explanation(self._session, campaign, user, top)

    @check_arguments(top=make_whole_rule(1), campaign=TEXT)
    def frontier(self, top: int = 20, *, campaign: str | None = None) -> CampaignFrontier:
        """Return what a campaign would read next, and why, as of the answers that are stored; nobody is asked.

        Its crawl is built from the database as after a restart, which takes as long.

        Args:
            top: how many decisions.
            campaign: its name.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> [row["account"] for row in data.frontier(top=5).accounts]
            ['emil']
        """
        with self._session.open_reader() as connection:
            return CampaignFrontier(list_next(CampaignTraces(connection), campaign, top, SystemClock().now()))

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
        source: Reader | None = None,
    ) -> Table:
        """Return a table of the rows of a definition's SELECT, or of those that `source` reads, each finished."""
        self._session.check_open()
        lists = [place for place, (kind, _) in enumerate(definition.columns.values()) if kind == "list"]
        source = source or partial(self._session.stream, definition.sql, parameters)

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
