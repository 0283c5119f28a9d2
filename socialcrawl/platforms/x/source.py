"""X as a source: picks become conversations with the API. Pure: they yield requests and are sent replies."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor

from socialcrawl.engine.mark_order import find_newest
from socialcrawl.engine.model import (
    OWN_PART,
    READ_BEFORE,
    Act,
    Node,
    Outcome,
    Pick,
    Reason,
    Reply,
    ReplyKind,
    Request,
    RequestPart,
    Who,
    format_time,
    parse_time,
)
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.hydration import FindIds, Ids, PostIdError, PostLookUp, find_none, read_ids
from socialcrawl.platforms.look_ups import explain_missing, find_id, list_mentioners, look_up
from socialcrawl.platforms.marks import Snowflakes
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.platforms.slice_reading import BY_DEFAULT, SlicePlan, read_slice
from socialcrawl.platforms.x.author_queries import count_authors, join_authors
from socialcrawl.platforms.x.live_source import StreamSource
from socialcrawl.platforms.x.vocabulary import USER_FIELDS, Vocabulary
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.text.wording import format_instant

LOOK_UP = 100  # users that one look-up answers for
LOOK_UP_POSTS = 100  # posts that one request names
POSTS = "/2/tweets"
TIMELINE, SEARCH, ARCHIVE = "/2/users/:id/tweets", "/2/tweets/search/recent", "/2/tweets/search/all"
MENTIONS = "/2/users/:id/mentions"
FIRST = 1_289_001_600  # 2010-11-06, Unix seconds: the first time that a timeline can be bounded by
LATEST = 60.0  # seconds: X wants an end to lie ten seconds back by its clock
LEGAL = re.compile(r"[A-Za-z0-9_]{1,15}")  # usernames that a look-up accepts
NUMBER = re.compile(r"[0-9]{1,19}")  # ids that it accepts
ROUNDED = re.compile(r"\d+(?:\.\d+)?[eE]\+?\d+|\d+\.\d*")  # what spreadsheets make of them
STATUS = re.compile(
    r"https?://(?:www\.|mobile\.)?(?:twitter|x)\.com/(?P<name>\w{1,15})/status/(?P<id>\d+)(?:[/?#].*)?", re.ASCII
)
BY_ID, BY_NAME, FOLLOWING = "/2/users", "/2/users/by", "/2/users/:id/following"
TOKEN = {TIMELINE: "pagination_token", MENTIONS: "pagination_token", SEARCH: "next_token", ARCHIVE: "next_token"}
SNOWFLAKES = Snowflakes(1_288_834_974_657, 22, 30_000_000_000)  # posts from before November 2010 are counted, to 29.7e9
AUTHORS = {"expansions": "author_id", "user.fields": USER_FIELDS}  # who wrote the posts, which is billed
MATCHED_ONCE = (Act.MATCH, Act.SEED, Act.WALK)  # acts that match accounts
MATCHED_AGAIN = (*MATCHED_ONCE, Act.EXPAND, Act.RECRAWL)  # where accounts are matched again
TOGETHER, NOBODY = (Act.RESOLVE, Act.PROBE), Who(None, None)
EARLIEST = 1_142_899_200.0  # 2006-03-21, Unix seconds: the first posts; without it, X searches the last 30 days
UNSEEN = 120.0  # seconds before an answer, of which a search may not show all posts: X leaves out the last 30
OPERATORS = ("and", "or")  # usernames that a query cannot name
CountPosts = Callable[[Pick, str], Generator[Request, Reply, Outcome]]


class XSource:
    """X API v2: keyword search, look-ups of users, timelines, mentions.

    An account with a mark is asked for what came since (`since_id`), and not whom it follows, which its first visit
    told. Where more came than X hands out, it begins with the oldest that it has; it refuses no `since_id` as too old.

    Of the requests of a pick, part 0 is a look-up and pages count from 1: an account whose id was learned before a
    restart is asked for its first page afterwards, and the stored look-up is not taken for that page.

    A probe looks users up together with the ids of their latest posts, whose snowflakes tell when these were written
    (LiveRank, paper 003, section 3.2). Who mentions an account is told by the newest 100 posts that do (focused
    sampling, paper 004, section 4: the first 100 of a search for links to a page).

    Args:
        policy: page sizes and prices.
        words: the vocabulary to ask in.
        queries: the texts of the campaign's queries; node -1 is the first, -2 the second.
        pages_per_user: the most pages of a timeline; X hands out at most 3,200 posts, 32 pages.
        search_pages: the most pages of a search.
        span: what bounds a timeline in time, as `make_time_bounds` gives it; searches are not bounded.
        follows: the most pages (1,000 users each, all billed) of whom an account follows; 0 asks for none.
        follow: the occurrences that it is worth to be followed.
        activity: when a probed account counts as active; None: no probe is asked for.
        slices: how slices of time are read.
        reach: from when on searches find posts (Unix seconds, whole); older slices are missing. None: no bound.
        count: counts the posts of a query in the span of a pick; None: no pick asks for that.
        ids: finds the ids of posts that were imported to be fetched.
        stream: reads the stream; None: no pick asks for that.
        matching: the queries of the topic with which accounts are matched, and the characters that a query may have;
            None: accounts are read by their timelines.
        returns: whether accounts are matched again, for what is new since the mark of a pick.
        whole: whether a pick of act "page" reads all `pages_per_user` pages.
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
        activity: Activity | None = None,
        slices: SlicePlan = BY_DEFAULT,
        reach: float | None = None,
        count: CountPosts | None = None,
        ids: FindIds = find_none,
        stream: StreamSource | None = None,
        matching: tuple[Sequence[str], int] | None = None,
        returns: bool = False,
        whole: bool = False,
    ) -> None:
        self.stream, self.matching, self.returns, self.whole = stream, matching, returns, whole
        self._at_once = 1 if matching is None else count_authors(*matching)
        self.slices, self.reach, self.count, self.ids = slices, reach, count, ids
        self.span, self.follows, self.follow, self.activity = dict(span or {}), follows, follow, activity
        self.policy, self.words, self.queries = policy, words, tuple(queries)
        self.pages_per_user, self.search_pages = pages_per_user, search_pages

    def width(self, act: Act) -> int:
        """Return 100 for look-ups and probes (users), what fits into a query for matches, 1 for everything else."""
        if self._is_matched(act):
            return self._at_once
        return LOOK_UP if act in TOGETHER else 1

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return one conversation a timeline or search, one for each hundred users to look up or to probe.

        Who mentions an account that is walked to at once, and is known by name only, is part of the same conversation:
        one look-up tells both its id.
        """
        alone = {
            Act.SEARCH: lambda pick, _: self._search(pick),
            Act.SLICE: lambda pick, _: self._read_slice(pick),
            Act.COUNT: lambda pick, _: self._count_posts(pick),
            Act.HYDRATE: lambda pick, _: self._hydrate(pick),
            Act.LIVE: lambda pick, _: self._read_stream(pick),
            Act.INWARD: self._read_inward,
            Act.PAGE: self._read_page,
        }
        matched = [pick for pick in batch if self._is_matched(pick.act)]
        pairs = _find_pairs(batch, accounts)
        shared = {pick.n for group in (matched, *pairs) for pick in group}
        single = [pick for pick in batch if pick.act not in TOGETHER and pick.n not in shared]
        made = [alone.get(pick.act, self._read_user)(pick, accounts.get(pick.node, NOBODY)) for pick in single]
        made += [self._read_both(walk, inward, accounts[walk.node]) for walk, inward in pairs]
        made += self._start_matches(matched, accounts)
        for act, converse in (("resolve", self._look_up), ("probe", self._probe)):
            asked = [pick for pick in batch if pick.act == act]
            for known in (True, False):
                picks = [pick for pick in asked if bool(accounts[pick.node].id) is known]
                made += [converse(picks[i : i + LOOK_UP], accounts) for i in range(0, len(picks), LOOK_UP)]
        return made

    def _is_matched(self, act: Act) -> bool:
        """Return whether accounts are read by a search for what matches."""
        return self.matching is not None and act in (MATCHED_AGAIN if self.returns else MATCHED_ONCE)

    def _start_matches(self, picks: Sequence[Pick], accounts: Mapping[Node, Who]) -> list[Conversation]:
        """Return conversations about as many picks as a query can name.

        Which picks are asked together follows from their numbers alone: after a restart more may be known of accounts.
        Where these are matched again, visits and first visits are apart, as the latter search further back.
        """
        groups: dict[tuple[bool, int], list[Pick]] = {}
        for pick in picks:
            place = pick.n if self.returns else pick.n - picks[0].n
            groups.setdefault((pick.act == Act.RECRAWL, place // self._at_once), []).append(pick)
        return [self._match(group, accounts) for group in groups.values()]

    def _match(self, picks: Sequence[Pick], accounts: Mapping[Node, Who]) -> Conversation:
        """Search for the posts of accounts that match, to the end; then each pick asks the store for its own.

        Posts name their authors by id, so ids that are not known are looked up before.
        """
        found: dict[int, Outcome] = {}
        names: list[str] = []
        for pick in picks:
            reading, who = Reading(pick), accounts.get(pick.node, NOBODY)
            known = yield from self._find_id(reading, who)
            if known is None:
                found[pick.n] = reading.make_outcome()
            else:
                names += _name_author(Who(known, who.username))
        if not names:
            return found
        begin = min(map(self._find_begin, picks)) if self.returns else EARLIEST
        last, first = yield from self._search_authors(picks[0].n, names, begin)
        searched = self.mark(first - UNSEEN) if self.returns else ""
        for pick in picks:
            if pick.n in found:
                continue
            if last.kind not in (ReplyKind.OK, ReplyKind.HELD):
                found[pick.n] = Outcome(pick.n, pick.node, last.at, missing=Reason.TEMPORARY)
                continue
            reading = Reading(pick)
            asked = {"of": str(picks[0].n)} | ({"after": pick.since, "until": searched} if self.returns else {})
            reading.take((yield Request((pick.n, 1), ARCHIVE + OWN_PART, asked)))
            found[pick.n] = replace(reading.make_outcome(), mark=find_newest(pick.since, searched))
        return found

    def _find_begin(self, pick: Pick) -> float:
        """Return from when on an account is matched, Unix seconds: from the mark of its last visit on."""
        begin = (SNOWFLAKES.time(pick.since) or EARLIEST) if pick.since else EARLIEST
        end = self.span.get("end_time")
        return begin if end is None else min(begin, parse_time(end) - 1.0)

    def _search_authors(
        self, n: int, names: Sequence[str], begin: float = EARLIEST
    ) -> Generator[Request, Reply, tuple[Reply, float]]:
        """Search for what matches of some accounts since `begin` (Unix seconds), to the end.

        Returns:
            The last reply, which may be a failure, and up to when posts were searched (Unix seconds).
        """
        assert self.matching is not None
        until: list[float] = []
        part, size = RequestPart.MATCHED, self.policy.get_endpoint(ARCHIVE).page
        for query in self.matching[0]:
            asked = {"query": join_authors(query, names), **self.words.fields, **self.words.search}
            asked |= {"start_time": format_instant(EARLIEST), **self.span}
            asked["start_time"] = max(asked["start_time"], format_instant(floor(begin)))
            cursor: str | None = None
            while True:
                reply = yield self._make_page_request((n, part), ARCHIVE, asked, size, cursor)
                until += [min(reply.at, reply.date or reply.at)] * (cursor is None)
                if reply.kind not in (ReplyKind.OK, ReplyKind.HELD):
                    return reply, min(until)
                part += 1
                if reply.cursor is None or (reply.cursor == cursor and not reply.answer.posts):
                    break
                cursor = reply.cursor
        return reply, min(until)

    def _read_page(self, pick: Pick, who: Who) -> Conversation:
        """Read the next page of a timeline; the mark of the outcome is where the one after it begins, "" at the end.

        Where the place of the next page is not known any more, the timeline is read from its start: posts count once.
        """
        if who.id is None:
            return {pick.n: Outcome(pick.n, pick.node, 0.0, missing=Reason.UNKNOWN)}
        reading, page = Reading(replace(pick, since="")), Reading(replace(pick, since=""))
        reading.take((yield Request((pick.n, 0), TIMELINE + READ_BEFORE, {})))
        asked = {"id": who.id, **self.words.fields, **self.span}
        if self.whole:
            yield from self._read_pages(reading, TIMELINE, asked, pages=self.pages_per_user)
            return {pick.n: reading.make_outcome()}
        size, cursor = self.policy.get_endpoint(TIMELINE).page, pick.since or None
        reply = yield self._make_page_request((pick.n, 1), TIMELINE, asked, size, cursor)
        if page.is_expired(reply, cursor):
            reply = yield self._make_page_request((pick.n, 2), TIMELINE, asked, size, None)
        page.take(reply)
        if page.missing is not None:
            return {pick.n: page.make_outcome()}
        reading.take(reply)
        return {pick.n: replace(reading.make_outcome(), mark=reply.cursor or "")}

    def mark(self, at: float) -> str:
        """Return the last snowflake before the millisecond of `at`; "" in the years before snowflakes."""
        return SNOWFLAKES.make_mark(at)

    def _search(self, pick: Pick) -> Conversation:
        query = self.queries[-1 - pick.node]
        asked = {"query": query, **self.words.fields, **self.words.search}
        reading = Reading(pick)
        yield from self._read_pages(reading, SEARCH, asked, pages=self.search_pages)
        return {pick.n: reading.make_search_outcome()}

    def _read_slice(self, pick: Pick) -> Conversation:
        begin, end = parse_span(pick.since)
        first = begin if self.reach is None else max(begin, self.reach)
        if first >= end:
            return {pick.n: Outcome(pick.n, pick.node, 0.0, missing=Reason.UNREACHABLE)}
        asked = {"query": self.queries[-1 - pick.node], **self.words.fields, **self.words.search}
        asked |= AUTHORS if self.slices.authors else {}
        asked |= {"start_time": format_instant(first), "end_time": format_instant(end), "sort_order": "recency"}
        endpoint = ARCHIVE if self.slices.archive else SEARCH
        size = self.policy.get_endpoint(endpoint).page
        size = min(size, self.slices.page or size)

        def ask(part: int, cursor: str | None) -> Request:
            return self._make_page_request((pick.n, part), endpoint, asked, size, cursor)

        found = yield from read_slice(pick, self.slices.pages, ask)
        if first > begin and found.missing is None and not found.mark:
            found = replace(found, mark=format_time(first))
        return {pick.n: found}

    def _count_posts(self, pick: Pick) -> Conversation:
        if self.count is None:
            raise ValueError("a count of posts by a source that counts none")
        return {pick.n: (yield from self.count(pick, self.queries[-1 - pick.node]))}

    def _read_stream(self, pick: Pick) -> Conversation:
        if self.stream is None:
            raise ValueError("a part of a stream of a source that reads none")
        return {pick.n: (yield from self.stream.read(pick))}

    def _hydrate(self, pick: Pick) -> Conversation:
        asked = {**self.words.fields, **self.words.search, **(AUTHORS if self.slices.authors else {})}

        def read(part: int, ids: Ids) -> Generator[Request, Reply, Reply]:
            users = self.policy.compute_price("user", len(ids)) if "expansions" in asked else 0
            most = self.policy.compute_most(POSTS, len(ids)) + users
            key = (pick.n, RequestPart.POSTS_BY_ID + part)
            return (yield Request(key, POSTS, {"ids": ",".join(ids.values()), **asked}, len(ids), most))

        return {pick.n: (yield from read_ids(pick, self.ids, read))}

    def _read_user(self, pick: Pick, who: Who) -> Conversation:
        reading = Reading(pick, self.follow)
        known = yield from self._find_id(reading, who)
        if known is not None:
            asked = {"id": known, **self.words.fields, **self._make_bounds(pick.since)}
            yield from self._read_pages(reading, TIMELINE, asked, pages=self.pages_per_user)
            if reading.missing is None and pick.act != Act.RECRAWL:
                yield from self._read_follows(reading, known)
        return {pick.n: reading.make_outcome()}

    def _read_inward(self, pick: Pick, who: Who) -> Conversation:
        reading = Reading(pick)
        known = yield from self._find_id(reading, who)
        if known is not None:
            asked = {"id": known, **self.words.fields, **self.words.search, **self.span}
            yield from self._read_pages(reading, MENTIONS, asked, pages=1)
        return {pick.n: list_mentioners(reading)}

    def _read_both(self, walk: Pick, inward: Pick, who: Who) -> Conversation:
        reading = Reading(walk)
        known = yield from self._find_id(reading, who)
        if known is None:
            outcome = reading.make_outcome()
            return {walk.n: outcome, inward.n: replace(outcome, n=inward.n)}
        there = Who(known, who.username)
        told_of = yield from self._read_user(walk, there)
        return {**told_of, **(yield from self._read_inward(inward, there))}

    def _find_id(self, reading: Reading, who: Who) -> Generator[Request, Reply, str | None]:
        """Return the id of an account, looked up where it is known by name only; None where it is missing."""
        if who.id is not None:
            return who.id
        if not _is_legal(who):
            # X refuses the whole request; such names are left over from its early years.
            reading.missing = Reason.UNKNOWN
            return None
        return (yield from find_id(reading, self._make_names_request((reading.pick.n, 0), [who])))

    def _make_bounds(self, since: str) -> Mapping[str, str]:
        """Return the bounds of a timeline: the later of `since_id` and `start_time`, as X heeds only `since_id`."""
        begin = self.span.get("start_time")
        if not since or (begin is not None and (SNOWFLAKES.time(since) or 0.0) < parse_time(begin)):
            return self.span
        return {name: at for name, at in self.span.items() if name != "start_time"} | {"since_id": since}

    def _read_follows(self, reading: Reading, known: str) -> Generator[Request, Reply, None]:
        """Return whom the account follows. A list that cannot be had now leaves what was read of the posts."""
        cursor: str | None = None
        page = self.policy.get_endpoint(FOLLOWING).page if self.follows else 0
        left, part = self.follows * page, RequestPart.SECOND_LIST
        while left > 0:
            size = min(page, left)
            params = {"id": known, "user.fields": USER_FIELDS, "max_results": str(size)}
            params |= {"pagination_token": cursor} if cursor else {}
            most = self.policy.compute_most(FOLLOWING, size)
            reply = yield Request((reading.pick.n, part), FOLLOWING, params, size, most)
            left, part, cursor = left - (reply.items or size), part + 1, reply.cursor
            if reply.kind not in (ReplyKind.OK, ReplyKind.HELD) or not reading.take(reply) or cursor is None:
                return

    def _read_pages(
        self, reading: Reading, endpoint: str, asked: Mapping[str, str], *, pages: int
    ) -> Generator[Request, Reply, None]:
        page = self.policy.get_endpoint(endpoint).page
        cursor: str | None = None
        left, part = pages * page, 0
        while left > 0:
            size, part = min(page, left), part + 1
            reply = yield self._make_page_request((reading.pick.n, part), endpoint, asked, size, cursor)
            if reading.is_expired(reply, cursor):
                cursor, left = None, pages * page
                continue
            left, cursor = left - (reply.items or size), reply.cursor
            if not reading.take(reply) or cursor is None:
                return

    def _make_page_request(
        self, key: tuple[int, int], endpoint: str, asked: Mapping[str, str], size: int, cursor: str | None
    ) -> Request:
        users = self.policy.compute_price("user", size) if "expansions" in asked else 0
        params = {**asked, "max_results": str(size)} | ({TOKEN[endpoint]: cursor} if cursor else {})
        return Request(key, endpoint, params, size, self.policy.compute_most(endpoint, size) + users)

    def _look_up(self, picks: Sequence[Pick], accounts: Mapping[Node, Who]) -> Conversation:
        def judged(pick: Pick, reply: Reply) -> Outcome:
            return Outcome(pick.n, pick.node, reply.at, missing=explain_missing(pick, reply))

        return (yield from look_up(picks, accounts, self._make_names_request, judged))

    def _probe(self, picks: Sequence[Pick], accounts: Mapping[Node, Who]) -> Conversation:
        activity = self._find_activity()

        def judged(pick: Pick, reply: Reply) -> Outcome:
            return activity.make_outcome(
                pick, reply.at, reply.answer.active.get(pick.node), explain_missing(pick, reply)
            )

        # X refuses a whole request for one name that it has never given.
        there = [pick for pick in picks if _is_legal(accounts[pick.node])]
        outcomes = {pick.n: activity.make_outcome(pick, 0.0, missing=Reason.UNKNOWN) for pick in picks}
        return outcomes | (yield from look_up(there, accounts, self._make_latest_request, judged, anew=True))

    def _find_activity(self) -> Activity:
        if self.activity is None:
            raise ValueError("a probe of a source that was given no activity")
        return self.activity

    def _make_names_request(self, key: tuple[int, int], whos: Sequence[Who]) -> Request:
        """Return the look-up of users who are all known by id, or all by name."""
        by_id = whos[0].id is not None
        endpoint, listed = (BY_ID if by_id else BY_NAME), ",".join(str(who.id or who.username) for who in whos)
        params = {"ids" if by_id else "usernames": listed, "user.fields": USER_FIELDS}
        return Request(key, endpoint, params, len(whos), self.policy.compute_most(endpoint, len(whos)))

    def _make_latest_request(self, key: tuple[int, int], whos: Sequence[Who]) -> Request:
        """Return the look-up of users with their latest posts.

        Where these are billed, only if it matters when they wrote.
        """
        plain, more = self._make_names_request(key, whos), self.words.probe
        if "expansions" not in more:
            return replace(plain, params={**plain.params, **more})
        if self._find_activity().within is None:
            return plain
        most = plain.most + self.policy.compute_price("post", len(whos))
        return replace(plain, params={**plain.params, **more}, most=most)


def parse_post_id(text: str) -> str:
    """Return the id of a post: digits, or the last part of its address.

    Raises:
        PostIdError: it is neither.
    """
    found = STATUS.fullmatch(text)
    key = found["id"] if found is not None else text
    if not NUMBER.fullmatch(key):
        rounded = "it was turned into a rounded number: keep ids as text" if ROUNDED.fullmatch(key) else ""
        raise PostIdError(f"{text!r:.80} is no id of a post: {rounded or 'ids are numbers of up to 19 digits'}")
    return key.lstrip("0") or "0"


HYDRATION = PostLookUp(POSTS, LOOK_UP_POSTS, parse_post_id)


def make_time_bounds(begin: float | None, end: float | None, now: float) -> dict[str, str]:
    """Return the parameters that bound a timeline in time, so that X neither returns nor bills what does not count.

    X knows whole seconds from November 2010 on, so what is asked for may begin a little early and end a little late;
    it refuses an end that has not come, which bounds nothing.

    Args:
        begin: the first instant that counts, Unix seconds; None: no bound.
        end: the first that does not; None: no bound.
        now: Unix seconds.
    """
    found: dict[str, str] = {}
    if begin is not None and FIRST < begin < now - LATEST:
        found["start_time"] = format_instant(floor(begin))
    if end is not None and end <= now - LATEST:
        found["end_time"] = format_instant(max(ceil(end), FIRST + 1))
    return found


def _find_pairs(batch: Batch, accounts: Mapping[Node, Who]) -> list[tuple[Pick, Pick]]:
    """Return (walk, inward) to the accounts of a batch that both ask for, and that are known by name only."""
    named = [pick for pick in batch if accounts.get(pick.node, NOBODY).username and not accounts[pick.node].id]
    inward = {pick.node: pick for pick in named if pick.act == Act.INWARD}
    return [(pick, inward[pick.node]) for pick in named if pick.act == Act.WALK and pick.node in inward]


def _name_author(who: Who) -> list[str]:
    """Return how a query names the author of posts: by the id, and by the username, if that says nothing else.

    Names change, and X's present page on operators shows none by id (an earlier one did).
    """
    name = who.username or ""
    usual = LEGAL.fullmatch(name) and not name.isdigit() and name.lower() not in OPERATORS
    return [str(who.id), name] if usual else [str(who.id)]


def _is_legal(who: Who) -> bool:
    return bool(NUMBER.fullmatch(who.id) if who.id else LEGAL.fullmatch(who.username or ""))
