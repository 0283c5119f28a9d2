"""The endpoints of search, counts and usage."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.query import QueryError
from socialcrawl.mock.search import WEEK, PostSearch
from socialcrawl.mock.x.bill import XBill
from socialcrawl.mock.x.bodies import XAnswer, make_posts_answer
from socialcrawl.mock.x.parameters import COUNTS_PARAMETERS, SEARCH_PARAMETERS, USAGE_PARAMETERS, Cursor
from socialcrawl.mock.x.post_ids import PostIds
from socialcrawl.mock.x.problems import InvalidRequestError, make_old_since_id
from socialcrawl.mock.x.render import XRenderer, format_stamp
from socialcrawl.mock.x.user_endpoints import XCall, make_filter

LONGEST_QUERY = 512
LONGEST_QUERY_OF_ALL = 1_024
INDEXED_AFTER = 30  # seconds until a post can be found: the implicit end_time
SOONEST_END = 10
TOKENS = ("next_token", "pagination_token")
ORDERS = ("recency", "relevancy")
STEPS = {"minute": 60, "hour": 3_600, "day": 86_400}
MONTH = 30 * 86_400  # how far a search of the whole archive reaches back where nothing says how far
LONGEST_COUNTS = 31 * 86_400  # of one answer


@dataclass(frozen=True)
class _Found:
    """What a search found: the positions of posts, int64[m] ascending, and the span searched in Unix seconds."""

    posts: NDArray[np.int64]
    start: float
    end: float


class XSearchEndpoints:
    """The endpoints for search and counts, over the last seven days and over all posts.

    Args:
        renderer: the world's JSON.
        now: the Unix second at which the world stands, as in `PostSearch`.
        since_id_reaches: whether `since_id` makes the archive begin there, as `start_time` does; X does not document
            it. Else a search without `start_time` finds the last 30 days.
    """

    def __init__(self, renderer: XRenderer, now: float, *, since_id_reaches: bool = True) -> None:
        self._renderer, self._world = renderer, renderer.world
        self._search = PostSearch(renderer.world, now, renderer.changes)
        self._ids = PostIds(renderer.world)
        self._since_id_reaches = since_id_reaches

    def recent(self, call: XCall) -> XAnswer:
        """GET /2/tweets/search/recent."""
        return self._answer_search(call, longest=LONGEST_QUERY, most=100, find=self._find_recent)

    def archive(self, call: XCall) -> XAnswer:
        """GET /2/tweets/search/all."""
        return self._answer_search(call, longest=LONGEST_QUERY_OF_ALL, most=500, find=self._find_all)

    def counts(self, call: XCall) -> XAnswer:
        """GET /2/tweets/counts/recent; all buckets in one answer, so there are no tokens to come back with."""
        query, step, _ = self._read_counts(call, LONGEST_QUERY, "counts")
        return XAnswer(self._count_buckets(call, self._find_counted(call, query), step, None), counts=1)

    def archive_counts(self, call: XCall) -> XAnswer:
        """GET /2/tweets/counts/all; at most 31 days in an answer, the newest first."""
        longest = LONGEST_QUERY_OF_ALL
        place = f"counts {call.parameters.given.get('query')}"
        query, step, cursor = self._read_counts(call, longest, place)
        found = self._find_all(call, query)
        end = found.end if cursor is None else min(found.end, cursor.post)
        if end <= found.start:  # the token of a search that began earlier
            raise call.parameters.refuse(TOKENS[TOKENS[0] not in call.parameters.given], "is not valid")
        # A bucket is never cut in two.
        start = max(found.start, ceil((end - LONGEST_COUNTS) / step) * step)
        token = None
        if found.start < start:
            token = self._renderer.changes.issue(Cursor(older=True, post=int(start)).token(place))
        times = self._world.created_at[found.posts]
        page = _Found(found.posts[(times >= start) & (times < end)], start, end)
        return XAnswer(self._count_buckets(call, page, step, token), archive_counts=1)

    def _answer_search(self, call: XCall, *, longest: int, most: int, find: Callable[[XCall, str], _Found]) -> XAnswer:
        call.parameters.allow(SEARCH_PARAMETERS)
        for pair in (("start_time", "since_id"), ("end_time", "until_id"), ("pagination_token", "next_token")):
            call.parameters.allow_one(*pair)
        size = call.parameters.number("max_results", 10, most, 10)
        call.parameters.one("sort_order", ORDERS)  # either way the newest come first
        query = call.parameters.text("query", longest)
        place = f"search {query}"
        cursor = call.parameters.cursor(self._renderer.changes, place, *TOKENS)
        newest_first, overlap = find(call, query).posts[::-1], call.overlap
        return make_posts_answer(
            self._renderer, newest_first, call.ask, size=size, cursor=cursor, place=place, overlap=overlap, back=False
        )

    def _read_counts(self, call: XCall, longest: int, place: str) -> tuple[str, int, Cursor | None]:
        """Return the query, the length of a bucket in seconds, and where to go on."""
        call.parameters.allow(COUNTS_PARAMETERS)
        call.parameters.allow_one("pagination_token", "next_token")
        query = call.parameters.text("query", longest)
        cursor = call.parameters.cursor(self._renderer.changes, place, *TOKENS)
        return query, STEPS[call.parameters.one("granularity", tuple(STEPS)) or "hour"], cursor

    def _count_buckets(self, call: XCall, found: _Found, step: int, token: str | None) -> bytes:
        start, end = found.start, found.end
        edges = np.concatenate(([start], np.arange((start // step + 1) * step, end, step), [end]))
        numbers, _ = np.histogram(self._world.created_at[found.posts], edges)
        kind = call.ask.vocabulary
        data = [
            {"end": format_stamp(right), "start": format_stamp(left), f"{kind}_count": number}
            for left, right, number in zip(edges[:-1].tolist(), edges[1:].tolist(), numbers.tolist(), strict=True)
        ]
        meta = {f"total_{kind}_count": len(found.posts)} | ({"next_token": token} if token else {})
        return orjson.dumps({"data": data, "meta": meta})

    def _find_recent(self, call: XCall, query: str) -> _Found:
        """Return what a search finds in the last seven days; counts were not seen to refuse an older `since_id`."""
        week = self._search.now - WEEK
        since, least = call.parameters.post_id("since_id"), self._ids.find_id_before(week)
        if since is not None and since <= least:
            raise make_old_since_id(since, week, least)
        return self._find_counted(call, query)

    def _find_counted(self, call: XCall, query: str) -> _Found:
        week = self._search.now - WEEK
        start, _ = call.parameters.span()
        if start is not None and start < week:
            raise call.parameters.refuse("start_time", f"must be on or after {format_stamp(week)}")
        return self._find(call, query, self._search.find_recent, week)

    def _find_all(self, call: XCall, query: str) -> _Found:
        _, end = call.parameters.span()
        begin = (self._search.now if end is None else end) - MONTH
        since = call.parameters.post_id("since_id")
        if since is not None and self._since_id_reaches:
            last = self._search.now - INDEXED_AFTER if end is None else end
            begin = min(self._ids.find_second_after(since), last - 1)
        return self._find(call, query, self._search.find_all, begin)

    def _find(self, call: XCall, query: str, find: Callable[[str], NDArray[np.int64]], begin: float) -> _Found:
        """Return what a query finds in the span that a request names, from `begin` on where it names no start."""
        narrowed = make_filter(self._world, call.parameters)
        start, end = call.parameters.span()
        now = self._search.now
        if end is not None and end > now - SOONEST_END:
            raise call.parameters.refuse("end_time", f"must be on or before {format_stamp(now - SOONEST_END)}")
        last = now - INDEXED_AFTER if end is None else end
        first = begin if start is None else start
        if first >= last:
            raise call.parameters.refuse("start_time", f"must be before {format_stamp(last)}")
        try:
            found = narrowed(find(query))
        except QueryError as error:
            message = f"There were errors processing your request: {error}"
            raise InvalidRequestError("query", query, message) from error
        times = self._world.created_at[found]
        return _Found(found[(times >= first) & (times < last)], first, last)


class XUsageEndpoint:
    """The endpoint that tells how many posts were billed; the whole server is one project with one app.

    Args:
        bill: the running bill.
        cap: the most posts of a billing cycle.
    """

    def __init__(self, bill: XBill, cap: int) -> None:
        self._bill = bill
        self._cap = cap

    def tweets(self, call: XCall) -> XAnswer:
        """GET /2/usage/tweets: posts by day for the last days, and in all for the billing cycle of today."""
        call.parameters.allow(USAGE_PARAMETERS | {"post.fields"})
        days = self._bill.posts_by_day(call.now, call.parameters.number("days", 1, 90, 7))
        usage = self._make_usage(days, self._bill.posts_in_cycle(call.now), as_text=call.ask.vocabulary == "post")
        wanted = call.parameters.given.get("usage.fields")
        shown = usage if wanted is None else {name: usage[name] for name in wanted.split(",") if name in usage}
        return XAnswer(orjson.dumps({"data": shown}))

    def _make_usage(self, days: Mapping[str, int], posts: int, *, as_text: bool) -> dict[str, Any]:
        """Return the official shape, whose numbers are whole until 2.166 and texts from 2.167."""

        def number(value: int) -> int | str:
            return str(value) if as_text else value

        by_day = [{"date": f"{date}T00:00:00.000Z", "usage": number(posts)} for date, posts in days.items()]
        return {
            "cap_reset_day": self._bill.reset_day,
            "daily_client_app_usage": [{"client_app_id": "1", "usage": by_day, "usage_result_count": len(by_day)}],
            "daily_project_usage": {"project_id": number(1), "usage": by_day},
            "project_cap": number(self._cap),
            "project_id": "1",
            "project_usage": number(posts),
        }
