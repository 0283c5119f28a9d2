"""The endpoints of search, counts and usage."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.query import QueryError
from socialcrawl.mock.search import WEEK, RecentSearch
from socialcrawl.mock.x.bill import XBill
from socialcrawl.mock.x.bodies import XAnswer, make_posts_answer
from socialcrawl.mock.x.parameters import COUNTS_PARAMETERS, SEARCH_PARAMETERS, USAGE_PARAMETERS
from socialcrawl.mock.x.problems import InvalidRequestError
from socialcrawl.mock.x.render import XRenderer, format_stamp
from socialcrawl.mock.x.user_endpoints import XCall, make_filter

LONGEST_QUERY = 512
INDEXED_AFTER = 30  # seconds until a post can be found: the implicit end_time
SOONEST_END = 10
ORDERS = ("recency", "relevancy")
STEPS = {"minute": 60, "hour": 3_600, "day": 86_400}


class XSearchEndpoints:
    """The endpoints for search and counts over the last seven days.

    Args:
        renderer: the world's JSON.
        now: the Unix second at which the world stands, as in `RecentSearch`.
    """

    def __init__(self, renderer: XRenderer, now: float) -> None:
        self._renderer = renderer
        self._search = RecentSearch(renderer.world, now, renderer.changes)

    def recent(self, call: XCall) -> XAnswer:
        """GET /2/tweets/search/recent."""
        call.parameters.allow(SEARCH_PARAMETERS)
        size = call.parameters.number("max_results", 10, 100, 10)
        call.parameters.one("sort_order", ORDERS)  # either way the newest come first
        query = call.parameters.text("query", LONGEST_QUERY)
        place = f"search {query}"
        cursor = call.parameters.cursor(self._renderer.changes, place, "next_token", "pagination_token")
        found, _, _ = self._find_posts(call, query)
        newest_first, overlap = found[::-1], call.overlap
        return make_posts_answer(
            self._renderer, newest_first, call.ask, size=size, cursor=cursor, place=place, overlap=overlap, back=False
        )

    def counts(self, call: XCall) -> XAnswer:
        """GET /2/tweets/counts/recent; all buckets in one answer, so there are no tokens to come back with."""
        call.parameters.allow(COUNTS_PARAMETERS)
        query = call.parameters.text("query", LONGEST_QUERY)
        call.parameters.cursor(self._renderer.changes, "counts", "next_token", "pagination_token")
        step = STEPS[call.parameters.one("granularity", tuple(STEPS)) or "hour"]
        found, start, end = self._find_posts(call, query)
        edges = np.concatenate(([start], np.arange((start // step + 1) * step, end, step), [end]))
        numbers, _ = np.histogram(self._renderer.world.created_at[found], edges)
        kind = call.ask.vocabulary
        data = [
            {"end": format_stamp(right), "start": format_stamp(left), f"{kind}_count": number}
            for left, right, number in zip(edges[:-1].tolist(), edges[1:].tolist(), numbers.tolist(), strict=True)
        ]
        return XAnswer(orjson.dumps({"data": data, "meta": {f"total_{kind}_count": len(found)}}), counts=1)

    def _find_posts(self, call: XCall, query: str) -> tuple[NDArray[np.int64], float, float]:
        """Return the posts found, ascending, and the span of time searched."""
        narrowed = make_filter(self._renderer.world, call.parameters)
        start, end = call.parameters.span()
        now = self._search.now
        if start is not None and start < now - WEEK:
            raise call.parameters.refuse("start_time", f"must be on or after {format_stamp(now - WEEK)}")
        if end is not None and end > now - SOONEST_END:
            raise call.parameters.refuse("end_time", f"must be on or before {format_stamp(now - SOONEST_END)}")
        first = now - WEEK if start is None else start
        last = now - INDEXED_AFTER if end is None else end
        if first >= last:
            raise call.parameters.refuse("start_time", f"must be before {format_stamp(last)}")
        try:
            found = narrowed(self._search.matches(query))
        except QueryError as error:
            raise InvalidRequestError("query", query, f"The query cannot be parsed: {error}") from error
        return found[self._renderer.world.created_at[found] < last], first, last


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
