"""The vocabulary of the package: one word per idea, each a small value that never changes once made.

| word | is |
|---|---|
| node | the store's number for an account (0, 1, ...) or a query (-1, -2, ...): a name, never an order |
| account | a person or bot on a platform, known by its platform id, its username, or both |
| post | something an account wrote |
| link | "account u mentions account v", with weight alpha(u, v); all links make the graph |
| frontier | the accounts that are linked to and were not asked yet |
| pick | one decision to ask one node, named for ever by its number n = 0, 1, 2, ... |
| batch | the picks decided together (r of them: the refresh rate) |
| conversation | what answers picks: requests out, replies in, outcomes at the end |
| request | one call to the platform, the same again after a restart (its key) |
| grant | the permission to send a request, reserved in the ledger before it leaves |
| window | k requests per d seconds for one credential on one endpoint |
| reply | what came back, parsed and classified once |
| outcome | everything now known of a picked node |
| epoch | the span of a campaign in which its topic and its history did not change |
| credential | a token by its name, and whether it speaks for an app or a user; never the token itself |
| budget | what a campaign may spend: steps, requests, nodes, posts, money, time |

Money is counted in mills of a cent (1/1000 cent, 1/100,000 dollar), so that sums are exact integers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, NewType

import numpy as np
from numpy.typing import NDArray

Node = NewType("Node", int)


class Act(StrEnum):
    """What a pick does with its node. The stored value is the member's value."""

    SEARCH = (
        "search"  # collect and track: find the authors of posts that match a query; with `since`, of a span of time
    )
    RESOLVE = "resolve"  # look an account up by its name
    SEED = "seed"  # read an account that the campaign file names
    EXPAND = "expand"  # read the posts of an account for the first time
    MATCH = "match"  # collect: find the posts of an account that match, by a search for many accounts at once
    PAGE = "page"  # collect: read the next page of an account that was read; the outcome is that of all its posts
    RECRAWL = "recrawl"  # track: read what is new since the last visit
    PROBE = "probe"  # refresh: test whether an account is still active
    WALK = "walk"  # sample: find whom an account links to
    INWARD = "inward"  # sample: find who links to an account
    SLICE = "slice"  # capture: read the posts that match a query in a span of time
    LIVE = "live"  # capture: read the posts that match from a stream, as they appear
    COUNT = "count"  # capture: count these posts, without reading them
    HYDRATE = "hydrate"  # capture: fetch the posts of some imported ids
    IMPORT = "import"  # nothing was asked: a file or an earlier campaign has the answer
    CAPTURED = "captured"  # nothing was asked: a capture has posts of an account that is still to be read


class ReplyKind(StrEnum):
    """How a request ended."""

    OK = "ok"
    HELD = "held"  # not sent: the database had the answer
    MISSING = "missing"  # the node is not there
    WINDOW = "window"  # 429, whose headers tell when the window ends
    DAY = "day"  # 429 of a limit of 24 hours
    MONTH = "month"  # the platform's cap of a billing cycle is reached
    MONEY = "money"  # the account of the credential has no money left
    BACKOFF = "backoff"  # 429 that does not tell when to come back
    REFUSED = "refused"  # the credential may not do this
    INVALID = "invalid"  # the request is wrong, whoever sends it
    BROKEN = "broken"  # the server failed, or was not reached: nothing is billed
    LOST = "lost"  # sent, and no usable answer came: it may be billed


class Reason(StrEnum):
    """Why a node could not be read."""

    SUSPENDED = "suspended"
    PROTECTED = "protected"  # its posts are for some people only
    DELETED = "deleted"
    UNKNOWN = "unknown"  # the platform knows no such name or number
    TEMPORARY = "temporary"  # no usable answer came: try again later
    EXCLUDED = "excluded"  # the campaign file leaves it out
    OPTED_OUT = "opted-out"
    REDIRECTED = "redirected"
    SOFT_404 = "soft-404"  # a page that says that there is no such page
    UNREACHABLE = "unreachable"  # its host has no address any more
    FORGOTTEN = "forgotten"  # erased from the database


SAME_AS = "same-as:"
"""How a stored reason begins that names the account that a node turned out to be."""


@dataclass(frozen=True, slots=True)
class SameAs:
    """The node turned out to be another one, under which it is read."""

    node: Node

    def __str__(self) -> str:
        return f"{SAME_AS}{self.node}"


Unavailable = Reason | SameAs
"""Why an outcome has nothing of its node; stored as `str` of it."""


def parse_unavailable(text: str) -> Unavailable:
    """Return the reason that was stored as `text`.

    Raises:
        ValueError: there is no such reason.
    """
    return SameAs(Node(int(text.removeprefix(SAME_AS)))) if text.startswith(SAME_AS) else Reason(text)


class StopKind(StrEnum):
    """Why a crawl goes no further."""

    DONE = "done"
    BUDGET = "budget"
    ROOM = "room"  # the disk is nearly full
    FAILED = "failed"
    INTERRUPTED = "interrupted"


MILLS_PER_DOLLAR = 100_000
LARGEST = 2**63 - 1  # the largest integer that a database can hold
ANSWERED = (ReplyKind.OK, ReplyKind.MISSING)
"""The platform answered what was asked."""
USEFUL = (*ANSWERED, ReplyKind.HELD)
"""A conversation continues from these replies, also after a restart."""
FAILED = (ReplyKind.BROKEN, ReplyKind.LOST)
"""There is no reply: the server or the network failed."""
PUT_OFF = (*FAILED, ReplyKind.BACKOFF, ReplyKind.WINDOW, ReplyKind.DAY, ReplyKind.INVALID)
"""These replies say nothing of the node, which is picked again later."""
STEPS = (Act.EXPAND, Act.MATCH, Act.RECRAWL, Act.PROBE, Act.WALK, Act.SLICE, Act.LIVE, Act.HYDRATE)
"""The steps of a campaign, which its budget of steps counts."""
VISITS = (Act.EXPAND, Act.WALK)
"""The steps that read all posts of an account; others may bring none."""
FIRST_READS = (Act.EXPAND, Act.MATCH)
"""The steps that read an account of the frontier."""
WALKS = (Act.WALK, Act.PAGE)
"""Acts by which a sample reads an account, whose value says whether that is on topic."""
SEARCHES = (Act.SEARCH, Act.SLICE, Act.LIVE, Act.COUNT)
"""Acts whose node is a query."""
FINDING = (*SEARCHES, Act.INWARD, Act.HYDRATE)
"""Acts that find the authors of posts: their outcomes have no value, and link to these."""
OWN_PART = "?author"
"""How an endpoint ends whose request the store answers: the posts of one pick, of a search for several picks."""
READ_BEFORE = "?before"
"""How an endpoint ends whose request the store answers: the posts that earlier picks of the account have read."""
FOUND_BY = "search:"
"""How the `since` of a pick begins that reads an account from what a search of a span returned: its number follows."""
OF_NOBODY = -1
"""The first number of the key of a request that serves no pick."""
ID_LIST = Node(-(2**31))
"""The node of the ids of posts that were imported into a campaign: no account, and no query."""
ON_TOPIC, WIDER = 1.0, 0.5  # values of walks: of accounts on the topic, and of those on the wider topic only
NOBODY: NDArray[np.int64] = np.empty(0, np.int64)
NO_WEIGHT: NDArray[np.float64] = np.empty(0, np.float64)


class RequestPart:
    """The second number of a request's key, where it is not the next page of the pick's first list.

    Pages of that list count from 1. Bluesky's lists can be longer than 998 pages.
    """

    PAGES_END = 999  # X and Mastodon: pages of the first list have smaller numbers
    HOME_LOOK_UP = 999  # Mastodon: the look-up is repeated at the campaign's own instance
    SECOND_LIST = 1_000  # X and Mastodon: whom the account follows, or what another search found
    HOME_TIMELINE = 2_000  # Mastodon: the timeline is read from the campaign's own instance
    FAR_SECOND_LIST = 1_000_000  # Bluesky: as SECOND_LIST
    WHY_GONE = 2_000_000  # Bluesky: why an account has no profile
    SECOND_LOOK_UP = 2_000_001  # Bluesky: the look-up is repeated for the account alone
    AUTHORS = 3_000_000  # Bluesky: who wrote the posts of page 0 of a search; those of later pages follow
    AUTHOR_PROFILES = 4_000_000  # Bluesky: the profiles of these authors, or of those whose posts an account reposted
    POSTS_BY_ID = 6_000_000  # groups of posts that are fetched by their ids: none leads to the next
    AUTHOR_OF_ID = 7_000_000  # Bluesky: the account of a post that is fetched by an address with a handle
    MATCHED = 8_000_000  # X: pages of a search for the posts of several picks, of which each then has its own part
    STREAM = 5_500_000  # X: parts of a stream, and what opens its connection
    REPEATED_PAGE = 5_000_000  # Bluesky: page 0 of a timeline again, where the first request told of authors only

    @classmethod
    def is_authors(cls, part: int) -> bool:
        """Return whether a request told only who wrote the posts that another one brings, or is of several picks."""
        return cls.AUTHORS <= part < cls.AUTHOR_PROFILES or part >= cls.AUTHOR_OF_ID


def find_search(since: str) -> int | None:
    """Return the number of the search from which a pick with this `since` reads; None: it reads in another way."""
    return int(since.removeprefix(FOUND_BY)) if since.startswith(FOUND_BY) else None


def format_time(at: float) -> str:
    """Return the instant `at` (Unix seconds) as the store writes it: ISO 8601, UTC, microseconds."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> float:
    """Return the instant of ISO 8601 `text`, in Unix seconds; the inverse of `format_time` to the microsecond."""
    return datetime.fromisoformat(text).timestamp()


@dataclass(frozen=True, slots=True)
class Pick:
    """One decision: ask `node`. `x` holds the features as picked, `score` the estimate that won.

    The features are () where there are none, or where they are not known any more. `since` is the mark of the last
    visit (`Outcome.mark`): only what is newer is fetched; "": everything. `shadows` are the scores of other estimators
    by name; they are no part of the decision: picks that differ in nothing else are equal.
    """

    n: int
    node: Node
    act: Act
    score: float = 0.0
    x: tuple[float, ...] = ()
    since: str = ""
    shadows: tuple[tuple[str, float], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now: `until` is when to ask again (Unix seconds), `why` is said to the person who watches."""

    until: float
    why: str


@dataclass(frozen=True, slots=True)
class Stop:
    """No further: `why` says what happened and what to do.

    `until` is when it may go on by itself (Unix seconds), where that is known: a new billing cycle, a new day.
    """

    kind: StopKind
    why: str
    until: float | None = None


class Who(NamedTuple):
    """An account as an answer names it: by platform id, by username, or both."""

    id: str | None
    username: str | None


@dataclass(frozen=True, slots=True)
class Request:
    """One call: `key` = (first pick's n, part); `items` and `most` are the most resources and mills it can cost.

    `endpoint` is a path of the platform (/2/users), after the host where a platform is many servers
    (mastodon.social/api/v1/accounts/lookup).
    """

    key: tuple[int, int]
    endpoint: str
    params: Mapping[str, str]
    items: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class Grant:
    """The permission to send `request` with `credential`, given at `at` (Unix seconds)."""

    request: Request
    credential: str
    at: float


class Credential(NamedTuple):
    """A token by its name in the ledger; `kind` is app | user | public (no token at all).

    Platforms allow them different numbers of requests. A token of one `host` only is used nowhere else, and others are
    not used there; "" is the server of the campaign, or any.
    """

    name: str
    kind: str = "app"
    host: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """One family of rate-limit headers: `left` of `most`, until `resets` (Unix seconds, server's clock)."""

    left: int
    most: int
    resets: float
    daily: bool = False


class PostRow(NamedTuple):
    """One parsed post, in the order of the columns of table `post`; times are ISO 8601 text."""

    id: str
    author: str
    created_at: str | None
    text: str
    lang: str | None
    conversation_id: str | None
    reply_to: str | None
    repost_of: str | None
    quote_of: str | None
    hashtags: str | None
    urls: str | None
    likes: int | None
    replies: int | None
    reposts: int | None
    quotes: int | None
    bookmarks: int | None
    views: int | None
    original: str | None


class AccountRow(NamedTuple):
    """One parsed profile; counts are those of the moment it was fetched."""

    id: str
    username: str
    name: str | None
    description: str | None
    created_at: str | None
    followers: int | None
    following: int | None
    posts: int | None
    listed: int | None
    protected: bool | None
    verified: bool | None
    url: str | None


class Mention(NamedTuple):
    """Post number `post` of its page mentions `who`; `kind` is mention | reply | repost | quote.

    `spans` are the parts of the post's text (places of characters, from and to) whose occurrences of the topic count
    for the link, and `hits` those occurrences; () and None: the whole post counts.
    """

    post: int
    who: Who
    kind: str
    spans: tuple[tuple[int, int], ...] = ()
    hits: int | None = None


class SoughtPost(NamedTuple):
    """A post that was asked for by its id.

    Attributes:
        asked: the id as it was imported.
        post: its id as the platform has it; None: it did not come.
        why: why it did not come; None: it came.
    """

    asked: str
    post: str | None
    why: Reason | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One parsed answer, before the store has given its accounts their nodes.

    `hits[i]` counts the topic's occurrences in `posts[i]`; `answered` are the accounts that the page is about,
    in order (authors of a search, users of a look-up); `missing` pairs accounts with the reason they are not here;
    `follows` are whom the account that was asked follows, in the platform's order; `mark` is the newest that a page of
    an account's posts shows, in the platform's own terms, whether or not it counts; "" where there is no such thing;
    `active` pairs accounts with when they last posted (ISO 8601), as far as the answer tells it to who probes them;
    `opted_out` counts the posts of a search that were left out because their authors opted out; `deleted` are the ids
    of posts, and `deleted_accounts` those of accounts, that a stream says were deleted; `sought` says what became of
    each post that was asked for by its id.
    """

    posts: Sequence[PostRow] = ()
    hits: Sequence[int] = ()
    mentions: Sequence[Mention] = ()
    accounts: Sequence[AccountRow] = ()
    answered: Sequence[Who] = ()
    missing: Sequence[tuple[Who, Reason]] = ()
    follows: Sequence[Who] = ()
    mark: str = ""
    active: Sequence[tuple[Who, str]] = ()
    opted_out: int = 0
    deleted: Sequence[str] = ()
    deleted_accounts: Sequence[str] = ()
    sought: Sequence[SoughtPost] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a conversation goes on from: nodes and counts. The store keeps it until the batch is finished.

    `targets[i]` was mentioned in posts with `target_hits[i]` occurrences of the topic together (weighed by the kind of
    mention, where the campaign does so), in order of first appearance; `found` maps the nodes answered about, in order,
    to their platform ids; `missing` maps nodes to reasons; `follows` are the nodes that the account follows; `mark` is
    that of the page; `active` maps nodes to when they last posted (ISO 8601), where the page told it; `deleted` and
    `deleted_accounts` are those of the page, which are erased when the batch is finished.
    """

    posts: int = 0
    hits: int = 0
    targets: Sequence[int] = ()
    target_hits: Sequence[int] = ()
    found: Mapping[int, str] = field(default_factory=dict)
    missing: Mapping[int, Unavailable] = field(default_factory=dict)
    follows: tuple[int, ...] = ()
    mark: str = ""
    active: Mapping[int, str] = field(default_factory=dict)
    deleted: Sequence[str] = ()
    deleted_accounts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Received:
    """An answer as it came, for archives: the address that was asked, the answer's headers and bytes.

    Headers that speak of the way and not of the answer (encoding, cookies) are left out, `body` is decoded.
    """

    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for a request.

    A broken reply without a status was never sent, and counts in no window; the `cost` of a lost one is the dearest
    price.
    `rows` is a Page until the store has saved it, then an Answer. `at` is our clock at arrival, `date` the server's
    (Unix seconds), `cost` in mills, `why` a sentence for people. `received` is the answer as it came, where it is kept.
    `after` are the seconds for which a server that failed asked to be left alone (Retry-After).
    `items`, once saved, are the resources that were asked for, perhaps fewer than the conversation wanted; 0: as many.
    `late`: it was not sent, as it had waited for too long here.
    """

    kind: ReplyKind
    at: float
    rows: Page | Answer | None = None
    cursor: str | None = None
    cost: int = 0
    status: int = 0
    date: float | None = None
    limits: Sequence[Limit] = ()
    why: str = ""
    received: Received | None = None
    after: float | None = None
    items: int = 0
    late: bool = False

    @property
    def reached(self) -> bool:
        """Whether the server may have received the request: not if nothing was sent, as no connection was made."""
        return self.kind != ReplyKind.BROKEN or self.status != 0

    @property
    def answer(self) -> Answer:
        """The rows as the store has saved them; empty where there are none."""
        return self.rows if isinstance(self.rows, Answer) else Answer()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that the answers to one pick say of its node: all of it, or, of a pick with `since`, what is new.

    `value` is beta(node), `alpha[i]` the weight of the link to `targets[i]`; both float64. `missing` says why
    there is nothing; None: there is. `mark` is
    where the next visit can go on, in the platform's own terms: the newest that was seen; "" where there is no such
    thing.
    """

    n: int
    node: Node
    at: float
    value: float = 0.0
    targets: NDArray[np.int64] = field(default_factory=lambda: NOBODY)
    alpha: NDArray[np.float64] = field(default_factory=lambda: NO_WEIGHT)
    missing: Unavailable | None = None
    posts: int = 0
    occurrences: int = 0
    mark: str = ""
