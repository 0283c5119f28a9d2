"""Mastodon as a source: picks become conversations with instances. Pure: they yield requests and are sent replies."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

from socialcrawl.engine.model import (
    PUT_OFF,
    Act,
    Node,
    Pick,
    Reason,
    Reply,
    ReplyKind,
    Request,
    RequestPart,
    SameAs,
    Who,
    format_time,
)
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.relevance import fold
from socialcrawl.platforms.hydration import FindIds, Ids, PostIdError, find_none, read_ids
from socialcrawl.platforms.live_reading import make_live_outcome, make_live_parameters
from socialcrawl.platforms.marks import Snowflakes
from socialcrawl.platforms.mastodon import account_names
from socialcrawl.platforms.mastodon.entities import ENTITIES
from socialcrawl.platforms.mastodon.full_text import TextSearch
from socialcrawl.platforms.node_reading import ProbeReading, Reading
from socialcrawl.platforms.slice_reading import BY_DEFAULT, SlicePlan, read_slice
from socialcrawl.platforms.unreachable_hosts import DOWN
from socialcrawl.ratelimit.policy import Policy

LOOK_UP = "/api/v1/accounts/lookup"
STATUSES, FOLLOWING = "/api/v1/accounts/:id/statuses", "/api/v1/accounts/:id/following"
TAG, SEARCH = "/api/v1/timelines/tag/:hashtag", "/api/v2/search"
INSTANCE = "/api/v2/instance"
STREAM = "/api/v1/streaming"
POST = "/api/v1/statuses/:id"
PAGED_TAG = f"{TAG}?max_id"  # instances count requests with a bound of ids as they count those for later pages
SHOWN = re.compile(r"https?://([^/?#]+)/(?:web/)?(?:@[^/?#]+|(?:users/[^/?#]+/)?statuses)/(\d{1,20})(?:[/?#].*)?")
NUMBER = re.compile(r"[0-9]{1,20}")
NO_INSTANCE = "no-instance"  # the cursor of an answer of a server that is none of the kind, or closed to strangers
NOTHING_MORE: Mapping[str, str] = {}
SNOWFLAKES = Snowflakes(0, 16, 1 << 56)  # the numbers that Mastodon gives; short ones are older, or of other software
STAY, FOLLOW = "stay", "follow"  # what a probe says of accounts that have moved: they are none, or the new ones


class MastodonSource:
    """Many instances that know each other: hashtags, search, look-ups, timelines, and who follows whom.

    An account is asked on its own instance where the campaign allows that, else on the campaign's own, which knows what
    it has seen of others; so it is too where no instance answers at the domain of its name, or one that shows nothing
    to strangers.

    Of the requests of a pick, part 0 is the look-up of an account, which tells its number on that instance and whether
    it wants to be left alone; pages count from 1, those of a second list from 1000, and 2000 more where
    the instance let itself be asked for the account and not for its posts, and they are asked for at home.

    An account with a mark is looked up again, as it may want to be left alone by now, and asked for what came since
    (`since_id`), but not whom it follows, which its first visit told. What reaches an instance late, from another one,
    may have a number of when it was written there: if that is older than the mark, it is missed.

    A probe is a look-up alone, of which the wire tells when the account last posted (a day, on most servers). That is
    told of accounts that approve their followers, too (`locked`), which are "protected" only where whoever exists is
    active. An account that has moved posts no more: it is missing as "redirected", or, on request, is the account it
    moved to ("same-as:<node>"). One whose instance has no name any more is "unreachable".

    A slice of time is read from a hashtag timeline of the campaign's own instance, and its time is that of ids. A post
    of that instance has an id of when it was written; a post that another instance delivers, of when it arrived; a post
    that the instance fetches later (as part of a thread, say), of when it was written. So a slice is complete for what
    the instance had when the slice was read. A post that it fetches afterwards is missed, and one that was delivered
    late is in the slice of its arrival, whenever it was written. Only `max_id` is sent, and the wire ends the slice at
    its begin: thus a last page need not be followed by an empty one, and an instance shows what its ids look like even
    where the slice is empty. Where it has turned these timelines off, somebody who has signed in is shown an empty one:
    so it is asked for its settings after an empty slice.

    Some parameters of a request are for the wire alone: `acct` (whose list it is), `wanted` (the id of a post), `begin`
    and `end` (ISO 8601), `opt_outs` ("no" where nobody is left alone), `probe` (STAY or FOLLOW), `span` (the slice of
    time).

    Args:
        policy: page sizes.
        queries: the texts of the campaign's queries; node -1 is the first, -2 the second. A hashtag, or words: they are
            looked for as a hashtag, written together, and by search too where `signed_in`.
        home: the domain of the campaign's own instance, as it ends the names of its accounts.
        pages_per_user: the most pages of a timeline.
        search_pages: the most pages of a hashtag or a search.
        instances: whose accounts are asked on their own instance: domains, or patterns with `*`; "*" for all.
        follows: the most pages of those whom an account follows; 0: nobody asks for them.
        follow: the occurrences that it is worth to be followed; see `Reading`.
        signed_in: whether the campaign's own instance lets us search.
        opt_outs: whether those who want no crawlers are left alone.
        begin: paging stops where posts were written before; Unix seconds; None: no bound.
        end: posts written then or later are left out; None: no bound.
        activity: by which rule a probed account is active; None: whoever exists is.
        redirects: whether a probe goes on to the account that one has moved to.
        slices: how slices of time are read.
        ids: finds the ids of posts that were imported to be fetched.
    """

    def __init__(
        self,
        policy: Policy,
        queries: Sequence[str],
        home: str,
        pages_per_user: int = 1,
        search_pages: int = 1,
        *,
        instances: Sequence[str] = (),
        follows: int = 0,
        follow: int = 1,
        signed_in: bool = False,
        opt_outs: bool = True,
        begin: float | None = None,
        end: float | None = None,
        activity: Activity | None = None,
        redirects: bool = False,
        slices: SlicePlan = BY_DEFAULT,
        ids: FindIds = find_none,
    ) -> None:
        self.slices, self.ids = slices, ids
        self.activity, self._probing = activity or Activity(), {"probe": FOLLOW if redirects else STAY}
        self.policy, self.queries, self.home = policy, tuple(queries), account_names.normalize_domain(home)
        self.pages_per_user, self.search_pages = pages_per_user, search_pages
        self.follows, self.follow, self.signed_in = follows, follow, signed_in
        self._elsewhere = account_names.compile_pattern(instances)
        self._care = {} if opt_outs else {"opt_outs": "no"}
        bounds = {"begin": begin, "end": end}
        self._span = {name: format_time(at) for name, at in bounds.items() if at is not None}

    def width(self, act: Act) -> int:
        """Return one node in everything; 0: who mentions an account is not to be asked."""
        return 0 if act == Act.INWARD else 1

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return one conversation a pick."""
        alone = {
            Act.SEARCH: self._search,
            Act.SLICE: self._read_slice,
            Act.LIVE: self._read_stream,
            Act.HYDRATE: self._hydrate,
        }
        return [alone[p.act](p) if p.act in alone else self._read_account(p, accounts[p.node]) for p in batch]

    def mark(self, at: float) -> str:
        """Return the last number before the millisecond of `at` that Mastodon gives.

        Other servers may know none such.
        """
        return SNOWFLAKES.make_mark(at)

    def find_host(self, name: str) -> str:
        """Return the server that is asked about an account named in full."""
        own = account_names.find_instance(name)
        return own if self._elsewhere.fullmatch(own) and account_names.is_public(own) else self.home

    def _search(self, pick: Pick) -> Conversation:
        query, reading = self.queries[-1 - pick.node], Reading(pick)
        pages = self.search_pages
        if tag := find_hashtag(query):
            yield from self._read_pages(reading, self.home, TAG, {"hashtag": tag, **self._care}, pages=pages)
        if self.signed_in and not query.startswith("#") and reading.missing != Reason.TEMPORARY:
            asked = {"q": f'"{query}"' if is_plain(query) else query, "type": "statuses", **self._care}
            yield from self._read_pages(
                reading, self.home, SEARCH, asked, pages=pages, first=RequestPart.SECOND_LIST, by="offset"
            )
        return {pick.n: reading.make_search_outcome()}

    def _read_slice(self, pick: Pick) -> Conversation:
        if self.slices.full_text and not self.queries[-1 - pick.node].startswith("#"):
            search = TextSearch(self.home + SEARCH, self.policy, self.queries[-1 - pick.node], self._care)
            return {pick.n: (yield from search.read_slice(pick, self.slices.pages))}
        _, end = parse_span(pick.since)
        endpoint, tag = self.home + PAGED_TAG, find_hashtag(self.queries[-1 - pick.node])
        size = self.policy.get_endpoint(endpoint).page
        asked = {"hashtag": tag, "span": pick.since, "limit": str(size), **self._care}

        def ask(part: int, cursor: str | None) -> Request:
            below = cursor or str(SNOWFLAKES.make_first(end))
            return Request((pick.n, part), endpoint, {**asked, "max_id": below}, size)

        outcome = yield from read_slice(pick, self.slices.pages, ask)
        if self.signed_in and not outcome.posts and outcome.missing is None:
            reply = yield Request((pick.n, RequestPart.SECOND_LIST), self.home + INSTANCE, {}, 1)
            outcome = replace(outcome, missing=Reason.TEMPORARY) if reply.kind in PUT_OFF else outcome
        return {pick.n: outcome}

    def _read_stream(self, pick: Pick) -> Conversation:
        endpoint, tags = self.home + STREAM, ",".join(map(find_hashtag, self.queries))
        size = self.policy.get_endpoint(endpoint).page
        asked = {**make_live_parameters(pick, size), "tags": tags, **self._care}
        return {pick.n: make_live_outcome(pick, (yield Request((pick.n, 1), endpoint, asked, size)))}

    def _hydrate(self, pick: Pick) -> Conversation:
        def read(part: int, ids: Ids) -> Generator[Request, Reply, Reply]:
            number = next(iter(ids.values()))  # one at a time
            params = {"id": number, "wanted": number, **self._care}
            return (yield Request((pick.n, RequestPart.POSTS_BY_ID + part), self.home + POST, params, 1))

        return {pick.n: (yield from read_ids(pick, self.ids, read))}

    def _read_account(self, pick: Pick, who: Who) -> Conversation:
        return self._probe(pick, who) if pick.act == Act.PROBE else self._read_user(pick, who)

    def _probe(self, pick: Pick, who: Who) -> Conversation:
        reading, name = ProbeReading(pick), account_names.complete_name(who.username or who.id or "", self.home)
        if not account_names.is_legal(name):
            reading.missing = Reason.UNKNOWN
        elif (yield from self._look_up(reading, name, self.find_host(name), asked=self._probing)) == NO_INSTANCE:
            yield from self._look_up(reading, name, self.home, RequestPart.HOME_LOOK_UP, self._probing)
        if reading.missing == Reason.PROTECTED and pick.node in reading.found and self.activity.within is not None:
            reading.missing = None  # when it last posted is told all the same
        return {pick.n: reading.judge(self.activity)}

    def _read_user(self, pick: Pick, who: Who) -> Conversation:
        reading = Reading(pick, self.follow if self.follows else 0)
        name = account_names.complete_name(who.username or who.id or "", self.home)
        if not account_names.is_legal(name):
            reading.missing = Reason.UNKNOWN
            return {pick.n: reading.make_outcome()}
        first = yield from self._read(reading, name, self.find_host(name))
        if first is not None:
            yield from self._read(reading, name, self.home, RequestPart.HOME_LOOK_UP, first)
            if reading.missing == Reason.UNKNOWN and first == RequestPart.HOME_TIMELINE:
                reading.missing = Reason.PROTECTED  # its own instance knows it
        return {pick.n: reading.make_outcome()}

    def _read(
        self, reading: Reading, name: str, host: str, part: int = 0, first: int = 0
    ) -> Generator[Request, Reply, int | None]:
        """Ask an instance for all of an account; where it is closed to us, `first` for another that may show it."""
        number = yield from self._look_up(reading, name, host, part)
        if number is None or number == NO_INSTANCE or reading.pick.act == Act.RESOLVE:
            return first if number == NO_INSTANCE else None
        asked = {"id": number, "acct": name, **self._care}
        since = {"since_id": reading.pick.since} if reading.pick.since else {}
        timeline = {**asked, **self._span, **since}
        pages = self._read_pages(reading, host, STATUSES, timeline, pages=self.pages_per_user, first=first + 1)
        if (yield from pages):
            return RequestPart.HOME_TIMELINE
        if reading.missing is None and reading.pick.act != Act.RECRAWL:
            yield from self._read_pages(
                reading, host, FOLLOWING, asked, pages=self.follows, first=first + RequestPart.SECOND_LIST
            )
        return None

    def _look_up(
        self, reading: Reading, name: str, host: str, part: int = 0, asked: Mapping[str, str] = NOTHING_MORE
    ) -> Generator[Request, Reply, str | None]:
        """Return the number of an account on the instance that is asked; None where the account is not to be read."""
        query = name.rpartition("@")[0] if account_names.find_instance(name) == host else name
        reply = yield Request((reading.pick.n, part), host + LOOK_UP, {"acct": query, **self._care, **asked}, 1)
        if reply.cursor == DOWN:
            reading.at, reading.missing = reply.at, Reason.TEMPORARY
            return None
        if not reading.take(reply):
            return None
        if reply.cursor == NO_INSTANCE:
            return NO_INSTANCE
        if reading.pick.node not in reading.found:
            # The name that was asked is short for another one, or that of an account which is called otherwise.
            reasons = [*reply.answer.missing.values(), *(SameAs(Node(node)) for node in reading.found)]
            reading.missing = reasons[0] if reasons else Reason.UNKNOWN
            return None
        if reply.cursor is None and reading.pick.act not in (Act.RESOLVE, Act.PROBE):
            reading.missing = Reason.TEMPORARY  # an earlier answer, which does not tell the number any more
        return reply.cursor

    def _read_pages(
        self,
        reading: Reading,
        host: str,
        path: str,
        asked: Mapping[str, str],
        *,
        pages: int,
        first: int = 1,
        by: str = "max_id",
    ) -> Generator[Request, Reply, bool]:
        """Read a list; whether the instance shows it to its own people only, and nothing was read."""
        cursor: str | None = None
        stuck = 0  # pages on end that led to themselves: one may be a repetition, more would go on for ever
        page = self.policy.get_endpoint(host + path).page if pages else 0
        left, part = pages * page, first
        while left > 0:
            # Instances count requests with a since_id as they count those for later pages.
            endpoint = host + path + (f"?{by}" if cursor or "since_id" in asked else "")
            size = min(self.policy.get_endpoint(endpoint).page, left)
            params = {**asked, "limit": str(size)} | ({by: cursor} if cursor else {})
            reply = yield Request((reading.pick.n, part), endpoint, params, size)
            left, part = left - (reply.items or size), part + 1
            if reply.kind == ReplyKind.MISSING and path != STATUSES:
                if path != FOLLOWING:  # whom somebody follows may be hidden: what was read stays
                    reading.at, reading.missing = reply.at, Reason.PROTECTED
                return False
            if reply.kind == ReplyKind.MISSING and reply.cursor == NO_INSTANCE:
                reading.at, reading.missing = reply.at, Reason.PROTECTED
                return True
            stuck = stuck + 1 if reply.cursor == cursor else 0
            cursor = reply.cursor
            if not reading.take(reply) or cursor is None or stuck > 1:
                return False
        return False


def find_hashtag(query: str) -> str:
    """Return the hashtag that a query asks for, without its sign: its words written together.

    "" where there is none.
    """
    if is_plain(query):
        return ""
    return query[1:] if ENTITIES.mark(fold(query)) else re.sub(r"\W+", "", query)


def find_captured(query: str) -> str | None:
    """Return the hashtag, with its sign, whose timeline has the posts of a query; None where there is none."""
    tag = f"#{find_hashtag(query)}"
    return tag if ENTITIES.mark(fold(tag)) else None


def is_plain(query: str) -> bool:
    """Return whether a query is an @name or an address: no hashtag has them, and search finds them as they stand."""
    return bool(ENTITIES.address(query)) or (query.startswith("@") and ENTITIES.mark(fold(query)) is not None)


def parse_post_id(text: str, home: str) -> str:
    """Return the number of a post on the instance `home`: of itself, or of the address at which that instance shows it.

    Raises:
        PostIdError: it is none, or an address of another instance.
    """
    if NUMBER.fullmatch(text):
        return text
    found = SHOWN.fullmatch(text)
    if found is None:
        raise PostIdError(f"{text!r:.80} is no id of a post: write its number, or the address at which {home} shows it")
    if found[1].lower() != home:
        raise PostIdError(
            f"{text!r:.80} is an address of another instance: write the one at which yours shows the post, as "
            f"https://{home}/@NAME@{found[1].lower()}/NUMBER, or the number in it"
        )
    return found[2]
