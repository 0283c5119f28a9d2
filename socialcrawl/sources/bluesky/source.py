"""Bluesky as a source: picks become conversations with the API. Pure: a talk yields requests and is sent replies.

The parameters of a request are named as those of X (id, ids, usernames, query), so that stores and planners know which
of them name accounts; the wire calls them as Bluesky does.
"""

from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil, floor

from socialcrawl.limits.policy import Policy
from socialcrawl.model import PUT_OFF, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.protocols import Batch, Talk
from socialcrawl.sources.bluesky.naming import is_did, is_handle
from socialcrawl.sources.bluesky.parse import stamp
from socialcrawl.sources.reading import Reading

PROFILES = "/xrpc/app.bsky.actor.getProfiles"
ACTORS = "/xrpc/app.bsky.actor.searchActors"
FEED = "/xrpc/app.bsky.feed.getAuthorFeed"
SEARCH = "/xrpc/app.bsky.feed.searchPosts"
FOLLOWS = "/xrpc/app.bsky.graph.getFollows"
MEMBERS = "/xrpc/app.bsky.graph.getList"
RESOLVE = "/xrpc/com.atproto.identity.resolveHandle"

LOOK_UP = 25  # profiles that one request answers for
SECOND = 1_000_000  # part of the first page of what is asked after the pages of a feed or a search, however many
LIST = "list:"  # how a query begins whose accounts are the members of a list
PROBE = 1  # posts


class BlueskySource:
    """Bluesky's AppView: search, profiles, feeds of accounts, whom they follow, members of lists.

    Of the requests of a pick, part 0 is a look-up and pages count from 1; pages of follows, and those of the search for
    accounts that stands in for a closed search for posts, count from a million on.

    An account with a mark is read until a page reaches it, and what is not newer counts no more; the mark is told to
    the wire in the parameter `after`, which no server is asked with. Whom it follows its first visit told.

    Args:
        policy: page sizes.
        queries: the texts of the campaign's queries; node -1 is the first, -2 the second. One that is
            "list:at://did/app.bsky.graph.list/key" stands for the members of that list; a handle may stand for the DID.
        pages_per_user: the most pages of a feed.
        search_pages: the most pages of a search or a list.
        follows: the most pages of accounts followed that are asked for besides; 0: none.
        follow: the occurrences that it is worth to be followed by an account, where `follows` is not 0.
        begin: the first instant that counts, Unix seconds; None: no bound. Feeds cannot be bounded: their pages end
            with the first one that goes back further.
        end: the first that does not; it bounds searches.
    """

    def __init__(
        self,
        policy: Policy,
        queries: Sequence[str],
        pages_per_user: int = 1,
        search_pages: int = 1,
        *,
        follows: int = 0,
        follow: int = 1,
        begin: float | None = None,
        end: float | None = None,
    ) -> None:
        self.policy, self.queries = policy, tuple(queries)
        self.pages_per_user, self.search_pages, self.follows, self.follow = (
            pages_per_user,
            search_pages,
            follows,
            follow,
        )
        self.since = {} if begin is None else {"since": _stamp(floor(begin))}
        self.until = {} if end is None else {"until": _stamp(ceil(end))}

    def width(self, act: str) -> int:
        """25 accounts in a look-up; one node in everything else."""
        return LOOK_UP if act == "resolve" else 1

    def talks(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Talk]:
        """One talk a feed or search, one for each 25 accounts to look up."""
        single = [pick for pick in batch if pick.act != "resolve"]
        named = [pick for pick in batch if pick.act == "resolve"]
        made: list[Talk] = [self._search(p) if p.act == "search" else self._user(p, accounts[p.node]) for p in single]
        made += [self._look_up(named[i : i + LOOK_UP], accounts) for i in range(0, len(named), LOOK_UP)]
        return made

    def mark(self, at: float) -> str:
        """The millisecond before that of `at`, as ISO 8601; "" where there is none."""
        return _stamp((floor(at * 1000) - 1) / 1000) if at > 0 else ""

    def _search(self, pick: Pick) -> Talk:
        query, reading = self.queries[-1 - pick.node], Reading(pick)
        if query.startswith(LIST):
            yield from self._members(reading, query.removeprefix(LIST))
            return {pick.n: reading.authors()}
        asked = {"query": query, "sort": "latest", **self.since, **self.until}
        last = yield from self._pages(reading, SEARCH, asked, pages=self.search_pages)
        if last == "missing" and not reading.posts:  # closed to callers who have not signed in
            yield from self._pages(reading, ACTORS, {"query": query}, pages=self.search_pages, first=SECOND)
            reading.missing = reading.missing or "protected"  # of no account where some were found
        return {pick.n: reading.authors()}

    def _members(self, reading: Reading, address: str) -> Generator[Request, Reply, None]:
        """Read the members of a list; servers know it by its owner's DID, people by the handle."""
        owner, slash, rest = address.removeprefix("at://").partition("/")
        if is_handle(owner):
            reply = yield resolve_request((reading.pick.n, 0), owner)
            did = next(iter(reply.answer.found.values()), None)
            if did is None:
                reading.take(reply)
                reading.missing = reading.missing or "unknown"
                return
            address = f"at://{did}{slash}{rest}"
        last = yield from self._pages(reading, MEMBERS, {"list": address}, pages=self.search_pages)
        reading.missing = reading.missing or ("unknown" if last == "missing" else None)

    def _user(self, pick: Pick, who: Who) -> Talk:
        reading, known = Reading(pick, self.follow), who.id
        if not _legal(who):
            reading.missing = "unknown"  # the server refuses the whole request
        elif known is None:
            reply = yield self._profiles((pick.n, 0), [who])
            reading.take(reply)
            known = reply.answer.found.get(pick.node)
            if known is None and reading.missing is None:
                reading.missing = "unknown"
        if known is not None and reading.missing is None:
            after = {"after": pick.since} if pick.since else {}
            asked = {"id": known, "filter": "posts_with_replies", **self.since, **after}
            yield from self._pages(reading, FEED, asked, pages=self.pages_per_user)
        if known is not None and reading.missing is None and pick.act != "recrawl":
            yield from self._pages(reading, FOLLOWS, {"id": known}, pages=self.follows, first=SECOND)
        return {pick.n: reading.outcome()}

    def _pages(
        self, reading: Reading, endpoint: str, asked: Mapping[str, str], *, pages: int, first: int = 1
    ) -> Generator[Request, Reply, str]:
        """The kind of the last reply, after asking for `pages` pages at most."""
        size = self.policy.endpoint(endpoint).page
        cursor, kind = None, ""
        left, part = pages, first - 1
        while left:
            left, part = left - 1, part + 1
            params = {**asked, "limit": str(size)} | ({"cursor": cursor} if cursor else {})
            reply = yield Request((reading.pick.n, part), endpoint, params, size, self.policy.most(endpoint, size))
            if reading.expired(reply, cursor):
                cursor, left = None, pages
                continue
            cursor, kind = reply.cursor, reply.kind
            if not reading.take(reply) or cursor is None:
                break
        return kind

    def _look_up(self, picks: Sequence[Pick], accounts: Mapping[Node, Who]) -> Talk:
        outcomes = {p.n: Outcome(p.n, p.node, 0.0, missing="unknown") for p in picks}
        left = [pick for pick in picks if _legal(accounts[pick.node])]
        sent = part = 0
        # Whoever was not answered about is asked for once more: the database may hold the answer for some only.
        while left and sent < 2:
            reply = yield self._profiles((picks[0].n, part), [accounts[pick.node] for pick in left])
            outcomes |= {p.n: Outcome(p.n, p.node, reply.at, missing=_why(p, reply)) for p in left}
            told = reply.answer.found.keys() | reply.answer.missing.keys()
            left = [pick for pick in left if reply.kind not in PUT_OFF and pick.node not in told]
            sent, part = sent + (reply.kind != "held"), part + 1
        return outcomes

    def _profiles(self, key: tuple[int, int], whos: Sequence[Who]) -> Request:
        ids = ",".join(who.id for who in whos if who.id)
        names = ",".join(str(who.username) for who in whos if not who.id)
        params = ({"ids": ids} if ids else {}) | ({"usernames": names} if names else {})
        return Request(key, PROFILES, params, len(whos), self.policy.most(PROFILES, len(whos)))


def resolve_request(key: tuple[int, int], handle: str) -> Request:
    """The request for the DID of a handle: one small answer, which tells whether the server is there."""
    return Request(key, RESOLVE, {"username": handle}, 1)


def probe_request(key: tuple[int, int], query: str) -> Request:
    """The smallest search: is it open to who asks?"""
    return Request(key, SEARCH, {"query": query, "sort": "latest", "limit": str(PROBE)}, PROBE)


def _stamp(at: float) -> str:
    return str(stamp(datetime.fromtimestamp(at, UTC)))


def _legal(who: Who) -> bool:
    return is_did(who.id) if who.id else is_handle(str(who.username))


def _why(pick: Pick, reply: Reply) -> str | None:
    if reply.kind in PUT_OFF:
        return "temporary"
    if pick.node in reply.answer.missing:
        return reply.answer.missing[pick.node]
    return None if pick.node in reply.answer.found else "unknown"
