"""Bluesky as a source: picks become conversations with the API. Pure: they yield requests and are sent replies.

The parameters of a request are named as those of X (id, ids, usernames, query), so that stores and planners know which
of them name accounts; the wire calls them as Bluesky does.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil, floor

from socialcrawl.engine.model import (
    PUT_OFF,
    Act,
    Answer,
    Node,
    Outcome,
    Pick,
    Reason,
    Reply,
    ReplyKind,
    Request,
    RequestPart,
    Unavailable,
    Who,
)
from socialcrawl.engine.positions import parse_positions
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.engine.stream_places import parse_part
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.bluesky.entities import make_search_parameters, make_search_v2_parameters
from socialcrawl.platforms.bluesky.identifiers import parse_post_address
from socialcrawl.platforms.bluesky.opt_outs import EACH, LOOK_UP, look_up_account, select_willing
from socialcrawl.platforms.bluesky.parse import format_stamp
from socialcrawl.platforms.bluesky.post_mentions import is_did, is_handle
from socialcrawl.platforms.hydration import FindIds, Ids, PostIdError, PostLookUp, find_none, read_ids
from socialcrawl.platforms.live_reading import make_live_outcome, make_live_parameters
from socialcrawl.platforms.look_ups import explain_missing, list_mentioners, look_up
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.platforms.slice_pages import SlicePages, join_marks
from socialcrawl.platforms.slice_reading import BY_DEFAULT, V2, SlicePlan, read_slice
from socialcrawl.ratelimit.policy import Policy

PROFILES = "/xrpc/app.bsky.actor.getProfiles"
ACTORS = "/xrpc/app.bsky.actor.searchActors"
FEED = "/xrpc/app.bsky.feed.getAuthorFeed"
SEARCH, SEARCH_V2 = "/xrpc/app.bsky.feed.searchPosts", "/xrpc/app.bsky.feed.searchPostsV2"
SEARCHES = (SEARCH, SEARCH_V2)
FOLLOWS = "/xrpc/app.bsky.graph.getFollows"
MEMBERS = "/xrpc/app.bsky.graph.getList"
RESOLVE = "/xrpc/com.atproto.identity.resolveHandle"
POSTS = "/xrpc/app.bsky.feed.getPosts"

STREAM = "/xrpc/network.bsky.jetstream.subscribeEvents"  # which stands for version 1 too

LIST = "list:"  # how a query begins whose accounts are the members of a list
PROBE = 1  # posts
ATTEMPTS = 3  # pages until the newest post of an account is found
READ = (Act.SEED, Act.EXPAND, Act.RECRAWL, Act.WALK)
RECORD_KEY = re.compile(r"[A-Za-z0-9._:~-]{1,512}")
TOGETHER, NOBODY = (Act.RESOLVE, Act.PROBE), Who(None, None)


class BlueskySource:
    """Bluesky's AppView: search, profiles, feeds of accounts, whom they follow, members of lists.

    Of the requests of a pick, part 0 is a look-up and pages count from 1; pages of follows, and those of the search for
    accounts that stands in for a closed search for posts, count from a million on.

    An account with a mark is read until a page reaches it, and what is not newer counts no more; the mark is told to
    the wire in the parameter `after`, which no server is asked with. Whom it follows its first visit told.

    A probe looks profiles up, and then asks for the newest post of each account that is there, where it matters when
    that was (LiveRank, paper 003, section 3.2); the wire is told so by the parameter `latest`. Where it does not
    matter, it is told by `exists` that accounts which block us are missing, as their feeds would say. Who mentions an
    account is told by a search for the newest 100 posts that do (focused sampling, paper 004, section 4), which are
    asked for by the account's id; to callers who have not signed in it is often closed, and names nobody then.

    Posts come with the labels of their authors, but not with their descriptions. Where these count (`opt_outs`), an
    account is looked up before its feed is asked for, together with those that will probably be read next (`ahead`),
    whose profiles the database then has. A page of a search is asked for twice: who wrote the posts, and, once the
    authors were looked up, the posts of those who do not mind. So is a page of a feed with reposts: whose posts they
    are, and then the page, with the texts of those who do not mind. The parameter `show` tells the wire to keep no post
    (of a feed without reposts: to keep all), `ids` whose posts, or reposted posts, to keep, `opt_outs` ("no") that
    descriptions do not count. Of the pages of a slice of time, `oldest` wants the mark (see `parse.find_oldest`).

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
        activity: when a probed account counts as active; None: no probe is asked for.
        opt_outs: whether accounts opt out by their descriptions too, so that profiles are read before posts.
        ahead: tells which accounts will probably be read next.
        slices: how slices of time are read.
        ids: finds the ids of posts that were imported to be fetched.
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
        activity: Activity | None = None,
        opt_outs: bool = True,
        ahead: Callable[[], Sequence[Who]] = tuple,
        slices: SlicePlan = BY_DEFAULT,
        ids: FindIds = find_none,
    ) -> None:
        self.slices, self.ids = slices, ids
        self.activity, self.opt_outs, self.ahead = activity, opt_outs, ahead
        self._care = {} if opt_outs else {"opt_outs": "no"}
        self.policy, self.queries = policy, tuple(queries)
        self.pages_per_user, self.search_pages = pages_per_user, search_pages
        self.follows, self.follow = follows, follow
        self.since = {} if begin is None else {"since": _format_stamp(floor(begin))}
        self.until = {} if end is None else {"until": _format_stamp(ceil(end))}

    def width(self, act: Act) -> int:
        """Return 25 for look-ups and probes (accounts), 1 for everything else."""
        return LOOK_UP if act in TOGETHER else 1

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return one conversation a feed or search, one for each 25 accounts to look up or to probe."""
        crowds = iter(self._list_crowds([pick for pick in batch if pick.act in READ], accounts))
        made = []
        for pick in batch:
            who = accounts.get(pick.node, NOBODY)
            if pick.act in READ:
                made.append(self._read_user(pick, who, next(crowds)))
            elif pick.act == Act.SLICE:
                made.append(self._read_slice(pick))
            elif pick.act == Act.LIVE:
                made.append(self._read_stream(pick))
            elif pick.act == Act.HYDRATE:
                made.append(self._hydrate(pick))
            elif pick.act not in TOGETHER:
                made.append(self._search(pick) if pick.act == Act.SEARCH else self._read_inward(pick, who))
        for act, converse in (("resolve", self._look_up), ("probe", self._probe)):
            picks = [pick for pick in batch if pick.act == act]
            made += [converse(picks[i : i + LOOK_UP], accounts) for i in range(0, len(picks), LOOK_UP)]
        return made

    def mark(self, at: float) -> str:
        """Return the millisecond before that of `at`, as ISO 8601; "" where there is none."""
        return _format_stamp((floor(at * 1000) - 1) / 1000) if at > 0 else ""

    def _search(self, pick: Pick) -> Conversation:
        query, reading = self.queries[-1 - pick.node], Reading(pick)
        if query.startswith(LIST):
            yield from self._read_members(reading, query.removeprefix(LIST))
            return {pick.n: reading.make_search_outcome()}
        asked = {**make_search_parameters(query), "sort": "latest", **self.since, **self.until}
        last = yield from self._read_pages(reading, SEARCH, asked, pages=self.search_pages)
        if last == "missing" and not reading.posts:  # closed to callers who have not signed in
            yield from self._read_pages(
                reading,
                ACTORS,
                {"query": query, **self._care},
                pages=self.search_pages,
                first=RequestPart.FAR_SECOND_LIST,
            )
            reading.missing = reading.missing or Reason.PROTECTED  # of no account where some were found
        return {pick.n: reading.make_search_outcome()}

    def _read_slice(self, pick: Pick) -> Conversation:
        begin, end = parse_span(pick.since)
        query, endpoint = self.queries[-1 - pick.node], SEARCH if self.slices.search != V2 else SEARCH_V2
        size = self.policy.get_endpoint(endpoint).page
        pages, most = SlicePages(pick.node, begin, end, size), self.policy.compute_most(endpoint, size)
        asked = make_search_v2_parameters(query) if endpoint == SEARCH_V2 else make_search_parameters(query)
        asked = {"sort": "latest", **asked, "since": _format_stamp(begin), "oldest": "post", "limit": str(size)}

        def ask(part: int, cursor: str | None) -> Request:
            params = {**asked, "until": _format_stamp(pages.until)} | ({"cursor": cursor} if cursor else {})
            return Request((pick.n, part), endpoint, params, size, most)

        def read(request: Request) -> Generator[Request, Reply, Reply]:
            return pages.place((yield from self._read_page(request)))

        return {pick.n: (yield from read_slice(pick, self.slices.pages, ask, read))}

    def _read_stream(self, pick: Pick) -> Conversation:
        size = self.policy.get_endpoint(STREAM).page
        asked = make_live_parameters(pick, size)
        request = Request((pick.n, 1), STREAM, asked, size, self.policy.compute_most(STREAM, size))
        return {pick.n: make_live_outcome(pick, (yield from self._read_page(request)))}

    def _hydrate(self, pick: Pick) -> Conversation:
        first = parse_positions(pick.since)[0]

        def read(part: int, ids: Ids) -> Generator[Request, Reply, Reply]:
            places = {place - first: address for place, address in ids.items()}
            return (yield from self._read_posts((pick.n, part), places))

        return {pick.n: (yield from read_ids(pick, self.ids, read))}

    def _read_posts(self, key: tuple[int, int], places: Ids) -> Generator[Request, Reply, Reply]:
        """Return the reply to the request for posts by their addresses, with those of authors who do not mind.

        Servers know posts by the DIDs of their authors: handles are resolved before. `wanted` are the addresses as they
        were imported, `uris` those that the server is asked for.
        """
        n, part = key
        dids: dict[str, str | None] = {}
        for place, address in places.items():
            owner = split_address(address)[0]
            if not is_did(owner) and owner not in dids:
                asked = make_resolve_request((n, RequestPart.AUTHOR_OF_ID + EACH * part + place), owner)
                theirs = ",".join(one for one in places.values() if split_address(one)[0] == owner)
                reply = yield replace(asked, params={**asked.params, "wanted": theirs})
                if reply.kind in PUT_OFF:
                    return reply
                dids[owner] = next(iter(reply.answer.found.values()), None)
        known = {address: uri for address in places.values() if (uri := write_uri(address, dids)) is not None}
        if not known:
            return replace(reply, rows=Answer())
        posts = {"wanted": ",".join(known), "uris": ",".join(known.values())}
        size, most = len(known), self.policy.compute_most(POSTS, len(known))
        request = Request((n, RequestPart.POSTS_BY_ID + part), POSTS, posts, size, most)
        if not self.opt_outs:
            return (yield request)
        first = yield replace(
            request, key=(n, RequestPart.AUTHORS + part), params={**posts, "show": "authors"}, items=0
        )
        if first.kind not in (ReplyKind.OK, ReplyKind.HELD):
            return first
        authors = {Node(node): Who(did, None) for node, did in first.answer.found.items()}
        willing = yield from select_willing(
            n, RequestPart.AUTHOR_PROFILES + EACH * part, authors, self._make_profiles_request
        )
        if willing is None:
            return Reply(ReplyKind.BROKEN, first.at, why="the authors could not be looked up")
        return (yield replace(request, params={**posts, "ids": _list_ids(willing)}))

    def _read_members(self, reading: Reading, address: str) -> Generator[Request, Reply, None]:
        """Read the members of a list; servers know it by its owner's DID, people by the handle."""
        owner, slash, rest = address.removeprefix("at://").partition("/")
        if is_handle(owner):
            reply = yield make_resolve_request((reading.pick.n, 0), owner)
            did = next(iter(reply.answer.found.values()), None)
            if did is None:
                reading.take(reply)
                reading.missing = reading.missing or Reason.UNKNOWN
                return
            address = f"at://{did}{slash}{rest}"
        last = yield from self._read_pages(reading, MEMBERS, {"list": address, **self._care}, pages=self.search_pages)
        reading.missing = reading.missing or (Reason.UNKNOWN if last == "missing" else None)

    def _list_crowds(self, batch: Sequence[Pick], accounts: Mapping[Node, Who]) -> list[Sequence[Who]]:
        """Return for each pick the accounts looked up with its own: those that will probably be read next."""
        if not self.opt_outs or not batch:
            return [()] * len(batch)
        own = {accounts.get(pick.node, NOBODY) for pick in batch}
        next_ones = [who for who in dict.fromkeys(self.ahead()) if who not in own and _is_legal(who)]
        return [next_ones[place :: len(batch)][: LOOK_UP - 1] for place in range(len(batch))]

    def _read_user(self, pick: Pick, who: Who, crowd: Sequence[Who]) -> Conversation:
        reading = Reading(pick, self.follow)
        known = yield from self._find_did(reading, who, crowd, anyway=self.opt_outs)
        if reading.missing == Reason.UNKNOWN and who.id is not None and _is_legal(who):
            reading.missing = yield from self._explain_missing(pick, who.id)
        if known is not None:
            after = {"after": pick.since} if pick.since else {}
            asked = {"id": known, "filter": "posts_with_replies", **self.since, **after, **self._care}
            yield from self._read_pages(reading, FEED, asked, pages=self.pages_per_user)
            if reading.missing is None and pick.act != Act.RECRAWL:
                yield from self._read_pages(
                    reading, FOLLOWS, {"id": known}, pages=self.follows, first=RequestPart.FAR_SECOND_LIST
                )
        return {pick.n: reading.make_outcome()}

    def _read_inward(self, pick: Pick, who: Who) -> Conversation:
        reading = Reading(pick)
        known = yield from self._find_did(reading, who)
        if known is not None:
            asked = {"id": known, "sort": "latest", **self.since, **self.until}
            yield from self._read_pages(reading, SEARCH, asked, pages=1)
        return {pick.n: list_mentioners(reading)}

    def _find_did(
        self, reading: Reading, who: Who, crowd: Sequence[Who] = (), *, anyway: bool = False
    ) -> Generator[Request, Reply, str | None]:
        """Return the DID of an account, looked up `anyway` or where it is known by handle only.

        None where it is missing.
        """
        if not _is_legal(who):
            reading.missing = Reason.UNKNOWN  # the server refuses the whole request
            return None
        if who.id is not None and not anyway:
            return who.id
        return (
            yield from look_up_account(reading, who, crowd, self._make_profiles_request, RequestPart.SECOND_LOOK_UP)
        )

    def _explain_missing(self, pick: Pick, did: str) -> Generator[Request, Reply, Unavailable]:
        """Return why an account has no profile: that is told to who asks for its posts, of which none is kept."""
        params = {"id": did, "filter": "posts_with_replies", "latest": "post", "limit": "1", **self._care}
        reply = yield Request((pick.n, RequestPart.WHY_GONE), FEED, params, 1, self.policy.compute_most(FEED, 1))
        return Reason.TEMPORARY if reply.kind in PUT_OFF else reply.answer.missing.get(pick.node, Reason.UNKNOWN)

    def _read_pages(
        self, reading: Reading, endpoint: str, asked: Mapping[str, str], *, pages: int, first: int = 1
    ) -> Generator[Request, Reply, str]:
        """Return the kind of the last reply, after asking for `pages` pages at most."""
        page = self.policy.get_endpoint(endpoint).page if pages else 0
        cursor, kind = None, ""
        left, part = pages * page, first - 1
        while left > 0:
            size, part = min(page, left), part + 1
            params = {**asked, "limit": str(size)} | ({"cursor": cursor} if cursor else {})
            most = self.policy.compute_most(endpoint, size)
            reply = yield from self._read_page(Request((reading.pick.n, part), endpoint, params, size, most))
            if reading.is_expired(reply, cursor):
                cursor, left = None, pages * page
                continue
            left, cursor, kind = left - (reply.items or size), reply.cursor, reply.kind
            if not reading.take(reply) or cursor is None:
                break
        return kind

    def _read_page(self, asked: Request) -> Generator[Request, Reply, Reply]:
        """Return the reply to the request for a page, with what those have written who do not mind."""
        if not self.opt_outs or asked.endpoint not in (*SEARCHES, FEED, STREAM):
            return (yield asked)
        return (yield from (self._read_feed(asked) if asked.endpoint == FEED else self._read_search(asked)))

    def _read_search(self, asked: Request) -> Generator[Request, Reply, Reply]:
        """Return the reply to the request for a page of a search, with the posts of those only who do not mind.

        A part of a stream is read in the same way: first who wrote its posts, then those posts.
        """
        n, part = asked.key
        first = yield replace(
            asked, key=(n, RequestPart.AUTHORS + part), params={**asked.params, "show": "authors"}, items=0
        )
        if first.kind not in (ReplyKind.OK, ReplyKind.HELD):
            return first
        authors = {Node(node): Who(did, None) for node, did in first.answer.found.items()}
        found = yield from select_willing(
            n, RequestPart.AUTHOR_PROFILES + EACH * part, authors, self._make_profiles_request
        )
        if found is None:
            return Reply(ReplyKind.BROKEN, first.at, why="the authors could not be looked up")
        if not found:
            return replace(first, rows=Answer(mark=first.answer.mark))
        same = {"through": str(parse_part(first.cursor).end)} if asked.endpoint == STREAM and first.cursor else {}
        return join_marks(first, (yield replace(asked, params={**asked.params, **same, "ids": _list_ids(found)})))

    def _read_feed(self, asked: Request) -> Generator[Request, Reply, Reply]:
        """Return the reply to the request for a page of a feed, with reposts of those only who do not mind.

        A page without reposts of others comes at once.
        """
        n, part = asked.key
        first = yield replace(asked, params={**asked.params, "show": "authors"})
        authors = {Node(node): Who(did, None) for node, did in first.answer.found.items() if did != asked.params["id"]}
        if first.kind not in (ReplyKind.OK, ReplyKind.HELD) or not authors:
            return first
        found = yield from select_willing(
            n, RequestPart.AUTHOR_PROFILES + EACH * part, authors, self._make_profiles_request
        )
        if found is None:
            return Reply(ReplyKind.BROKEN, first.at, why="the authors of reposted posts could not be looked up")
        size = first.items or asked.items
        params = {**asked.params, "limit": str(size), "ids": _list_ids(found)}
        most = self.policy.compute_most(FEED, size)
        return (yield replace(asked, key=(n, RequestPart.REPEATED_PAGE + part), params=params, items=size, most=most))

    def _look_up(self, picks: Sequence[Pick], accounts: Mapping[Node, Who]) -> Conversation:
        def judged(pick: Pick, reply: Reply) -> Outcome:
            return Outcome(pick.n, pick.node, reply.at, missing=explain_missing(pick, reply))

        outcomes = {pick.n: Outcome(pick.n, pick.node, 0.0, missing=Reason.UNKNOWN) for pick in picks}
        there = [pick for pick in picks if _is_legal(accounts[pick.node])]
        return outcomes | (yield from look_up(there, accounts, self._make_profiles_request, judged))

    def _probe(self, picks: Sequence[Pick], accounts: Mapping[Node, Who]) -> Conversation:
        activity, dids = self.activity, dict[int, str]()
        if activity is None:
            raise ValueError("a probe of a source that was given no activity")

        def judged(pick: Pick, reply: Reply) -> Outcome:
            missing = explain_missing(pick, reply)
            if missing is None:
                dids[pick.n] = reply.answer.found[pick.node]
            return activity.make_outcome(pick, reply.at, missing=missing)

        outcomes = {pick.n: activity.make_outcome(pick, 0.0, missing=Reason.UNKNOWN) for pick in picks}
        there = [pick for pick in picks if _is_legal(accounts[pick.node])]
        outcomes |= yield from look_up(
            there,
            accounts,
            self._make_profiles_request if activity.within else self._make_exists_request,
            judged,
            anew=True,
        )
        for pick in there if activity.within is not None else ():
            if pick.n in dids:
                outcomes[pick.n] = yield from self._read_latest(pick, dids[pick.n], activity)
        return outcomes

    def _read_latest(self, pick: Pick, did: str, activity: Activity) -> Generator[Request, Reply, Outcome]:
        """Return what the newest post of an account says.

        A page may come without it, as what is gone is left out of pages.
        """
        params = {"id": did, "filter": "posts_with_replies", "latest": "post", **self._care}
        cursor, size = None, 1
        for part in range(RequestPart.FAR_SECOND_LIST, RequestPart.FAR_SECOND_LIST + ATTEMPTS):
            asked = {**params, "limit": str(size)} | ({"cursor": cursor} if cursor else {})
            reply = yield Request((pick.n, part), FEED, asked, size, self.policy.compute_most(FEED, size))
            last = reply.answer.active.get(pick.node)
            if reply.kind == ReplyKind.HELD:
                continue
            if last is not None or reply.kind != ReplyKind.OK or reply.cursor is None:
                break
            cursor, size = reply.cursor, self.policy.get_endpoint(FEED).page
        missing = Reason.TEMPORARY if reply.kind in (*PUT_OFF, ReplyKind.HELD) else reply.answer.missing.get(pick.node)
        return activity.make_outcome(pick, reply.at, last, missing)

    def _make_exists_request(self, key: tuple[int, int], whos: Sequence[Who]) -> Request:
        asked = self._make_profiles_request(key, whos)
        return replace(asked, params={**asked.params, "exists": "probe"})

    def _make_profiles_request(self, key: tuple[int, int], whos: Sequence[Who]) -> Request:
        ids = ",".join(who.id for who in whos if who.id)
        names = ",".join(str(who.username) for who in whos if not who.id)
        params = ({"ids": ids} if ids else {}) | ({"usernames": names} if names else {}) | self._care
        return Request(key, PROFILES, params, len(whos), self.policy.compute_most(PROFILES, len(whos)))


def parse_post_id(text: str) -> str:
    """Return the address of a post, at://DID/app.bsky.feed.post/KEY, of itself or of its page; it may have a handle.

    Raises:
        PostIdError: it is none.
    """
    found = parse_post_address(text)
    owner, key = found or ("", "")
    owner = owner if is_did(owner) else owner.lower()
    if not (is_did(owner) or is_handle(owner)) or not RECORD_KEY.fullmatch(key):
        raise PostIdError(
            f"{text!r:.80} is no address of a post: write at://DID/app.bsky.feed.post/KEY, or that of its page, "
            "https://bsky.app/profile/NAME/post/KEY"
        )
    return f"at://{owner}/app.bsky.feed.post/{key}"


def split_address(address: str) -> tuple[str, str]:
    """Return the account of an address that `parse_post_id` made, and what follows it."""
    owner, _, rest = address.removeprefix("at://").partition("/")
    return owner, rest


def write_uri(address: str, dids: Mapping[str, str | None]) -> str | None:
    """Return the address of a post by the DID of its author; None where nobody has the handle."""
    owner, rest = split_address(address)
    did = owner if is_did(owner) else dids[owner]
    return None if did is None else f"at://{did}/{rest}"


HYDRATION = PostLookUp(POSTS, LOOK_UP, parse_post_id)


def make_resolve_request(key: tuple[int, int], handle: str) -> Request:
    """Return the request for the DID of a handle: one small answer, which tells whether the server is there."""
    return Request(key, RESOLVE, {"username": handle}, 1)


def make_probe_request(key: tuple[int, int], query: str) -> Request:
    """Return the smallest search: is it open to who asks?"""
    return Request(key, SEARCH, {"query": query, "sort": "latest", "limit": str(PROBE)}, PROBE)


def _list_ids(found: Mapping[Node, Who]) -> str:
    return ",".join(str(one.id) for one in found.values())


def _format_stamp(at: float) -> str:
    return str(format_stamp(datetime.fromtimestamp(at, UTC)))


def _is_legal(who: Who) -> bool:
    return is_did(who.id) if who.id else is_handle(str(who.username))
