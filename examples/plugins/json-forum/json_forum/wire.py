"""The forum over HTTP: one request, its answer parsed into rows, and every failure a reply of some kind."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from json_forum.source import SEARCH
from socialcrawl.contracts.platforms import (
    AccountRow,
    Grant,
    HttpAnswer,
    HttpClient,
    Mention,
    Page,
    PostRow,
    Reason,
    Reply,
    ReplyKind,
    Topic,
    Who,
)

NAMED = re.compile(r"@([A-Za-z0-9_]{1,30})")


class ForumWire:
    """The connection to a forum. It keeps no state of the crawl and never raises.

    Args:
        base: the address of the forum.
        topic: counts the keywords in texts.
        now: the clock, Unix seconds.
        timeout: seconds to wait for a part of an answer.
    """

    def __init__(self, base: str, topic: Topic, now: Callable[[], float], timeout: float) -> None:
        self.base, self.topic, self.http = base.rstrip("/"), topic, HttpClient(base, now, timeout)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def send(self, grant: Grant) -> Reply:
        """Return the reply to one request."""
        endpoint, params = grant.request.endpoint, grant.request.params
        if endpoint == SEARCH:
            path = f"/search?q={quote(params['q'], safe='')}&page={params['page']}"
        else:
            path = f"/members/{quote(params['name'], safe='')}?page={params['page']}"
        came = self.http.fetch("GET", self.base + path, dearest=grant.request.most)
        return came if isinstance(came, Reply) else self._classify(came, params)

    def _classify(self, came: HttpAnswer, params: Mapping[str, str]) -> Reply:
        """Return what an answer means: rows, nobody there, later, not allowed, or a failure of the server."""
        if came.status == 404:
            gone = Page(missing=[(Who(params["name"], params["name"]), Reason.DELETED)] if "name" in params else [])
            return Reply(ReplyKind.MISSING, came.at, gone, status=404)
        if came.status == 429:
            pause = came.headers.get("retry-after", "")
            after = float(pause) if pause.isdigit() else None
            return Reply(ReplyKind.BACKOFF, came.at, status=429, after=after, why="the forum asks for a pause")
        if came.status in (401, 403):
            return Reply(ReplyKind.REFUSED, came.at, status=came.status, why="the forum does not let us in")
        if came.status != 200:
            return Reply(ReplyKind.BROKEN, came.at, status=came.status, why=f"the forum answered {came.status}")
        try:
            told = json.loads(came.body)
            page = self._parse(told, params)
            cursor = None if told["next"] is None else str(int(told["next"]))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            why = f"the answer is not what the forum sends ({type(error).__name__})"
            return Reply(ReplyKind.LOST, came.at, status=200, why=why)
        return Reply(ReplyKind.OK, came.at, page, cursor, status=200)

    def _parse(self, told: Any, params: Mapping[str, str]) -> Page:
        """Return the rows of a page; `answered` are the accounts that it is about."""
        posts = [
            PostRow(
                id=str(post["id"]), author=str(post["by"]), created_at=str(post["at"]), text=str(post["text"]),
                lang=None, conversation_id=None, reply_to=None, repost_of=None, quote_of=None, hashtags=None,
                urls=None, likes=None, replies=None, reposts=None, quotes=None, bookmarks=None, views=None,
                original=None,
            )
            for post in told["posts"]
        ]  # fmt: skip
        mentions = [
            Mention(place, Who(name.lower(), name.lower()), "mention")
            for place, post in enumerate(posts)
            for name in NAMED.findall(post.text)
        ]
        members = list(dict.fromkeys([params["name"]] if "name" in params else [post.author for post in posts]))
        return Page(
            posts=posts,
            hits=[self.topic.hits(post.text, None, post.created_at) for post in posts],
            mentions=mentions,
            accounts=[AccountRow(name, name, *[None] * 10) for name in members],
            answered=[Who(name, name) for name in members],
        )
