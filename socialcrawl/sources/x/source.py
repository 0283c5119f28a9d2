"""X as a source: picks become conversations with the API. Pure: a talk yields requests and is sent replies."""

import re
from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil, floor

from socialcrawl.limits.policy import Policy
from socialcrawl.model import PUT_OFF, Answer, Node, Outcome, Pick, Reply, Request, Who, unix
from socialcrawl.protocols import Batch, Talk
from socialcrawl.sources.marks import Snowflakes
from socialcrawl.sources.reading import Reading
from socialcrawl.sources.x.vocabulary import USER_FIELDS, Vocabulary

LOOK_UP = 100  # users that one look-up answers for
TIMELINE, SEARCH = "/2/users/:id/tweets", "/2/tweets/search/recent"
FIRST = 1_289_001_600  # 2010-11-06, Unix seconds: the first time that a timeline can be bounded by
LATEST = 60.0  # seconds: X wants an end to lie ten seconds back by its clock
LEGAL = re.compile(r"[A-Za-z0-9_]{1,15}")  # usernames that a look-up accepts
BY_ID, BY_NAME, FOLLOWING = "/2/users", "/2/users/by", "/2/users/:id/following"
TOKEN = {TIMELINE: "pagination_token", SEARCH: "next_token"}
SNOWFLAKES = Snowflakes(1_288_834_974_657, 22, 30_000_000_000)  # posts of before November 2010 are counted, to 29.7e9
LATER = 1000  # the part of the first page of whom an account follows: timelines have fewer pages


class XSource:
    """X API v2: keyword search, look-ups of users, timelines.

    An account with a mark is asked for what came since (`since_id`), and not whom it follows, which its first visit
    told. Where more came than X hands out, it begins with the oldest that it has; it refuses no `since_id` as too old.

    Of the requests of a pick, part 0 is a look-up and pages count from 1: an account whose id was learned before a
    restart is asked for its first page afterwards, and the stored look-up is not taken for that page.

    Args:
        policy: page sizes and prices.
        words: the vocabulary to ask in.
        queries: the texts of the campaign's queries; node -1 is the first, -2 the second.
        pages_per_user: the most pages of a timeline; X hands out at most 3,200 posts, 32 pages.
        search_pages: the most pages of a search.
        span: what bounds a timeline in time, as `span` gives it; searches are not bounded.
        follows: the most pages (1,000 users each, all billed) of whom an account follows; 0 asks for none.
        follow: the occurrences that it is worth to be followed.
    """

    def __init__(
        self,
        policy: Policy,
        words: Vocabulary,
        queries: Sequence[str],
        pages_per_user: int = 1,
        search_pages: int = 1,
        *,
        span: Mapping[str, str] | None = None,
        follows: int = 0,
        follow: int = 0,
    ) -> None:
        self.span, self.follows, self.follow = dict(span or {}), follows, follow
        self.policy, self.words, self.queries = policy, words, tuple(queries)
        self.pages_per_user, self.search_pages = pages_per_user, search_pages

    def width(self, act: str) -> int:
        """100 users in a look-up; one node in everything else."""
        return LOOK_UP if act == "resolve" else 1

    def talks(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Talk]:
        """One talk a timeline or search, one for each hundred users to look up."""
        single = [pick for pick in batch if pick.act != "resolve"]
        known = [pick for pick in batch if pick.act == "resolve" and accounts[pick.node].id]
        named = [pick for pick in batch if pick.act == "resolve" and not accounts[pick.node].id]
        made: list[Talk] = [self._search(p) if p.act == "search" else self._user(p, accounts[p.node]) for p in single]
        for picks in (known, named):
            made += [self._look_up(picks[i : i + LOOK_UP], accounts) for i in range(0, len(picks), LOOK_UP)]
        return made

    def mark(self, at: float) -> str:
        """The last snowflake before the millisecond of `at`; "" in the years before snowflakes."""
        return SNOWFLAKES.before(at)

    def _search(self, pick: Pick) -> Talk:
        query = self.queries[-1 - pick.node]
        asked = {"query": query, **self.words.fields, **self.words.search}
        reading = Reading(pick)
        yield from self._pages(reading, SEARCH, asked, pages=self.search_pages)
        return {pick.n: reading.authors()}

    def _user(self, pick: Pick, who: Who) -> Talk:
        reading, known = Reading(pick, self.follow), who.id
        if known is None and not LEGAL.fullmatch(str(who.username)):
            reading.missing = "unknown"  # X refuses the whole request; such names are left over from its early years
        elif known is None:
            reply = yield self._names((pick.n, 0), BY_NAME, {"usernames": str(who.username)}, 1)
            reading.take(reply)
            known = reply.answer.found.get(pick.node)
            if known is None and reading.missing is None:
                reading.missing = "unknown"
        if known is not None and reading.missing is None:
            asked = {"id": known, **self.words.fields, **self._bounds(pick.since)}
            yield from self._pages(reading, TIMELINE, asked, pages=self.pages_per_user)
            if reading.missing is None and pick.act != "recrawl":
                yield from self._follows(reading, known)
        return {pick.n: reading.outcome()}

    def _bounds(self, since: str) -> Mapping[str, str]:
        """What bounds a timeline: of `since_id` and `start_time` the later one, as X heeds only the former of both."""
        begin = self.span.get("start_time")
        if not since or (begin is not None and (SNOWFLAKES.time(since) or 0.0) < unix(begin)):
            return self.span
        return {name: at for name, at in self.span.items() if name != "start_time"} | {"since_id": since}

    def _follows(self, reading: Reading, known: str) -> Generator[Request, Reply, None]:
        """Whom the account follows. A list that cannot be had now leaves what was read of the posts."""
        cursor: str | None = None
        for page in range(LATER, LATER + self.follows):
            size = self.policy.endpoint(FOLLOWING).page
            params = {"id": known, "user.fields": USER_FIELDS, "max_results": str(size)}
            params |= {"pagination_token": cursor} if cursor else {}
            most = self.policy.most(FOLLOWING, size)
            reply = yield Request((reading.pick.n, page), FOLLOWING, params, size, most)
            cursor = reply.cursor
            if reply.kind not in ("ok", "held") or not reading.take(reply) or cursor is None:
                return

    def _pages(
        self, reading: Reading, endpoint: str, asked: Mapping[str, str], *, pages: int
    ) -> Generator[Request, Reply, None]:
        size = self.policy.endpoint(endpoint).page
        users = self.policy.price("user", size) if "expansions" in asked else 0
        cursor: str | None = None
        left, part = pages, 0
        while left:
            left, part = left - 1, part + 1
            params = {**asked, "max_results": str(size)} | ({TOKEN[endpoint]: cursor} if cursor else {})
            most = self.policy.most(endpoint, size) + users
            reply = yield Request((reading.pick.n, part), endpoint, params, size, most)
            if reading.expired(reply, cursor):
                cursor, left = None, pages
                continue
            cursor = reply.cursor
            if not reading.take(reply) or cursor is None:
                return

    def _look_up(self, picks: Sequence[Pick], accounts: Mapping[Node, Who]) -> Talk:
        by_id = accounts[picks[0].node].id is not None
        outcomes: dict[int, Outcome] = {}
        left = picks
        sent = part = 0
        # Whoever was not answered about is asked for once more: a reply that was stored before a restart may be that of
        # fewer users, as an id learned in between moves a user from the names to the ids. The database may hold some.
        while left and sent < 2:
            names = [accounts[pick.node] for pick in left]
            listed = ",".join(str(who.id if by_id else who.username) for who in names)
            params = {"ids" if by_id else "usernames": listed}
            reply = yield self._names((picks[0].n, part), BY_ID if by_id else BY_NAME, params, len(left))
            answer = reply.answer
            outcomes |= {p.n: Outcome(p.n, p.node, reply.at, missing=_why(p, reply, answer)) for p in left}
            told = answer.found.keys() | answer.missing.keys()
            left = [pick for pick in left if reply.kind not in PUT_OFF and pick.node not in told]
            sent, part = sent + (reply.kind != "held"), part + 1
        return outcomes

    def _names(self, key: tuple[int, int], endpoint: str, params: Mapping[str, str], count: int) -> Request:
        params = {**params, "user.fields": USER_FIELDS}
        return Request(key, endpoint, params, count, self.policy.most(endpoint, count))


def span(begin: float | None, end: float | None, now: float) -> dict[str, str]:
    """The parameters that bound a timeline in time, so that X neither returns nor bills what does not count.

    X knows whole seconds from November 2010 on, so what is asked for may begin a little early and end a little late;
    it refuses an end that has not come, which bounds nothing.

    Args:
        begin: the first instant that counts, Unix seconds; None: no bound.
        end: the first that does not; None: no bound.
        now: Unix seconds.
    """
    found: dict[str, str] = {}
    if begin is not None and FIRST < begin < now - LATEST:
        found["start_time"] = _stamp(floor(begin))
    if end is not None and end <= now - LATEST:
        found["end_time"] = _stamp(max(ceil(end), FIRST + 1))
    return found


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _why(pick: Pick, reply: Reply, answer: Answer) -> str | None:
    if reply.kind in PUT_OFF:
        return "temporary"
    if pick.node in answer.missing:
        return answer.missing[pick.node]
    return None if pick.node in answer.found else "unknown"
