"""A database of campaigns, opened for reading."""

from collections.abc import Mapping, Sequence
from datetime import date
from types import TracebackType
from typing import Any, Self

from socialcrawl.api import table_definitions as tables
from socialcrawl.api.argument_checks import (
    KEYWORDS,
    PARAMETERS,
    SWITCH,
    TEXT,
    check_arguments,
    make_whole_rule,
)  # fmt: skip
from socialcrawl.api.campaign_answers import CampaignAnswers
from socialcrawl.api.data_tables import Table, make_columns
from socialcrawl.api.match_preview import MatchPreview, preview_matches
from socialcrawl.api.network import Network
from socialcrawl.api.page_addresses import finish_account, finish_post
from socialcrawl.api.post_search import INSTANT, count_found, list_posts, make_filter, search_posts
from socialcrawl.api.sql_answers import run_sql
from socialcrawl.crawls.kept_crawls import KeptCrawls
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.post_search.index import is_behind
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.summary import find_campaign, list_campaigns
from socialcrawl.text.post_query import parse_query
from socialcrawl.text.wording import parse_seconds


class Dataset(CampaignAnswers):
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

    def __init__(self, place: DatabaseAddress, crawls: KeptCrawls | None = None) -> None:
        super().__init__(ReadSession(place), crawls)

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
        return tables.make_table(self._session, "campaigns", tables.CAMPAIGNS, {}, tables.finish_campaign)

    @check_arguments(
        on_topic=SWITCH, off_topic=SWITCH, author=TEXT, since=INSTANT, until=INSTANT, campaign=TEXT, after=TEXT,
        limit=make_whole_rule(0), newest_first=SWITCH,
    )  # fmt: skip
    def posts(
        self,
        *,
        on_topic: bool = False,
        off_topic: bool = False,
        author: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        campaign: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Table:
        """Return the posts, oldest first.

        Args:
            on_topic: only posts that match the topic of the campaign; else all posts of the database.
            off_topic: only posts that do not match it.
            author: only posts of this username or id.
            since: only posts written at this time or later: a date, a datetime, or either as text (UTC).
            until: only posts written before this time.
            campaign: whose topic counts.
            after: the id of a post: only those that come after it in this order.
            limit: how many; None: all.
            newest_first: the newest first instead.

        Raises:
            StoreError: there is no such campaign, or no account is called `author`.

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
        among = make_filter(author, number, since, until, off_topic=off_topic)
        definition, given = list_posts(self._session, among, after, newest_first=newest_first)
        given |= {"on_topic": int(on_topic), "most": tables.NO_LIMIT if limit is None else limit}
        return tables.make_table(self._session, "posts", definition, given, finish_post)

    @check_arguments(
        query=TEXT, on_topic=SWITCH, off_topic=SWITCH, author=TEXT, since=INSTANT, until=INSTANT, after=TEXT,
        limit=make_whole_rule(0), timeout=TEXT, campaign=TEXT,
    )  # fmt: skip
    def search(
        self,
        query: str,
        *,
        on_topic: bool = False,
        off_topic: bool = False,
        author: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        after: str | None = None,
        limit: int | None = None,
        timeout: str | None = None,
        campaign: str | None = None,
    ) -> Table:
        """Return the posts that match a query, newest first; the columns are those of `posts`.

        All words have to occur, in any order. Case and accents make no difference. `"clear sky"` is a phrase, `-cloud`
        must not occur, `tele*` is the beginning of a word, `#moon` a hashtag, `@ann` a mention; `OR` stands between
        alternatives. Of Chinese, Japanese, Thai and other scripts without spaces, any part of a text is found.

        It uses the index that `socialcrawl search` or `Project.update_search_index` made, and reads the texts of posts
        that are not in it.

        Args:
            query: what to search for.
            on_topic: only posts that match the topic of the campaign.
            off_topic: only posts that do not match it.
            author: only posts of this username or id.
            since: only posts written at this time or later: a date, a datetime, or either as text (UTC).
            until: only posts written before this time.
            after: TIME/ID, the `created_at` and `id` of the last post of the page before: the search goes on after it.
            limit: how many posts at most; None: all.
            timeout: the longest time to read texts that are in no index, as "20s"; None: until all are read.
            campaign: whose topic counts.

        Raises:
            SettingsError: the query has nothing to search for, or has parentheses.
            StoreError: there is no such campaign, no account is called `author`, or it takes too long.

        Example:
            >>> data.search("telescope -sky", limit=2).to_pandas()[["author", "text"]]
              author                              text
            0   hana  Is this telescope any good? @fay
            1    fay   A telescope for beginners @hana
        """
        number, _ = find_campaign(self._session.connection, campaign)
        chosen = number if on_topic or off_topic else None
        among = make_filter(author, chosen, since, until, after, off_topic=off_topic)
        return search_posts(self._session, number, (parse_query(query), among, limit), timeout)

    @check_arguments(
        query=TEXT, on_topic=SWITCH, off_topic=SWITCH, author=TEXT, since=INSTANT, until=INSTANT,
        most=make_whole_rule(1), timeout=TEXT, campaign=TEXT,
    )  # fmt: skip
    def count_posts(
        self,
        query: str = "",
        *,
        on_topic: bool = False,
        off_topic: bool = False,
        author: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        most: int = 10_000,
        timeout: str = "2s",
        campaign: str | None = None,
    ) -> int | None:
        """Return how many posts `search`, or without a query `posts`, would return, within bounds.

        Args:
            query: what to search for; "": all posts that the others leave.
            on_topic: as in `search`.
            off_topic: as in `search`.
            author: as in `search`.
            since: as in `search`.
            until: as in `search`.
            most: the number at which counting ends: that many, or more, are there.
            timeout: the time after which counting ends, as "2s".
            campaign: whose topic counts.

        Returns:
            the number of posts; None: they were not counted in time.

        Raises:
            SettingsError: the query has nothing to search for, or has parentheses.
            StoreError: there is no such campaign, or no account is called `author`.

        Example:
            >>> data.count_posts("telescope -sky"), data.count_posts("telescope -sky", most=1)
            (5, 1)
        """
        number, _ = find_campaign(self._session.connection, campaign)
        among = make_filter(author, number if on_topic or off_topic else None, since, until, off_topic=off_topic)
        return count_found(self._session, parse_query(query) if query.strip() else None, among, most, timeout)

    @property
    def needs_search_index(self) -> bool:
        """Whether searches would be faster after `Project.update_search_index`: 20,000 posts or more are in no index.

        Example:
            >>> data.needs_search_index
            False
        """
        with self._session.open_reader() as connection:
            return is_behind(connection)

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
        given = {"name": name, "after": after, "top": tables.NO_LIMIT if top is None else after + top}
        return tables.make_table(self._session, "accounts", tables.ACCOUNTS, given, finish_account)

    @check_arguments(top=make_whole_rule(0), campaign=TEXT)
    def best_posts(self, top: int = 15, *, campaign: str | None = None) -> Table:
        """Return the posts in which the topic of a campaign occurs most often, of equals the newest first.

        The columns are those of `posts`. This is the order in which `report --html --with-texts` lists posts.

        Args:
            top: how many.
            campaign: its name.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.best_posts(top=2).to_pandas()[["author", "occurrences"]]
              author  occurrences
            0   dora            3
            1   hana            1
        """
        number, _ = find_campaign(self._session.connection, campaign)
        given = {"number": number, "top": top}
        return tables.make_table(self._session, "best_posts", tables.BEST_POSTS, given, finish_post)

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
        return tables.make_score_curve(self._session, number, name)

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
        return tables.make_table(self._session, "ledger", tables.LEDGER, {"number": number})

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
        return Table(
            "changes",
            make_columns(tables.CHANGES.columns),
            lambda size: tables.read_changes(self._session, number, size),
        )

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

    @check_arguments(query=TEXT, params=PARAMETERS, timeout=TEXT, limit=make_whole_rule(0), max_size=TEXT)
    def sql(
        self,
        query: str,
        *,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        timeout: str = "30s",
        limit: int | None = None,
        max_size: str | None = None,
    ) -> Table:
        """Return the answer to one SELECT, held in memory; docs/reference/schema.md has the tables and views.

        Times are texts in ISO 8601 and UTC, such as `2026-01-31T12:00:00.000000Z`; they sort and compare as texts.

        Args:
            query: the SELECT, with placeholders for `params`: `?` or `:name`; in PostgreSQL `%s` or `%(name)s`.
            params: their values in order, or by name; they are never part of the statement. A datetime becomes text
                as it is stored (without a zone, it is UTC).
            timeout: the longest time that the database works on it, as "30s" or "5m".
            limit: how many rows at most; None: all.
            max_size: the most characters that its rows may have, as "16MB"; None: as many as there are.

        Raises:
            StoreError: the query is wrong, would change something, takes too long, or its answer is larger.

        Example:
            >>> query = "select lang, count(*) as posts from post where lang = ? group by lang"
            >>> data.sql(query, params=["en"]).to_pandas()
              lang  posts
            0   en      7
        """
        bounds = parse_seconds(timeout), limit, max_size
        return run_sql(self._session, query, params or (), bounds)

    def list_queries(self) -> Table:
        """Return ten questions with the queries that answer them, for `sql`; they are about all campaigns.

        Example:
            >>> queries = {row["name"]: row["sql"] for row in data.list_queries()}
            >>> data.sql(queries["best_accounts"], limit=2).to_pandas()[["place", "account"]]
               place account
            0      1    dora
            1      2     ann
        """
        return Table("queries", make_columns(tables.QUERIES.columns), tables.read_queries)
