"""What a person can set about the mock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from socialcrawl.errors import MockError
from socialcrawl.mock.dataset_clock import check_moment
from socialcrawl.mock.rate_windows import LimitRule
from socialcrawl.system.loopback import is_loopback_host
from socialcrawl.text.wording import explain_unknown

DEFAULT_LIMIT = 300
DEFAULT_WINDOW = 900.0
POST_LOOK_UP, SEARCH_ALL, COUNTS_ALL = "/2/tweets", "/2/tweets/search/all", "/2/tweets/counts/all"
STREAM, STREAM_RULES, CONNECTIONS = "/2/tweets/search/stream", "/2/tweets/search/stream/rules", "/2/connections/all"
POST_RULES = f"POST {STREAM_RULES}"  # has its own window
COMPLIANCE = ("/2/compliance/jobs", "/2/compliance/jobs/:id")
X_CAP = 3_000_000  # posts per billing cycle, docs.x.com as of November 2026
ENDPOINTS = (
    "/2/users/by",
    "/2/users/by/username/:username",
    "/2/users/:id",
    "/2/users",
    "/2/users/:id/tweets",
    "/2/users/:id/mentions",
    "/2/users/:id/following",
    POST_LOOK_UP,
    "/2/tweets/:id",
    "/2/tweets/search/recent",
    SEARCH_ALL,
    "/2/tweets/counts/recent",
    COUNTS_ALL,
    "/2/usage/tweets",
    *COMPLIANCE,
)
STREAM_ENDPOINTS = (STREAM, STREAM_RULES, POST_RULES, CONNECTIONS)
READING_POSTS = frozenset(
    {
        "/2/users/:id/tweets",
        "/2/users/:id/mentions",
        POST_LOOK_UP,
        "/2/tweets/:id",
        "/2/tweets/search/recent",
        SEARCH_ALL,
        STREAM,
    }
)
APP_ONLY = frozenset(
    {
        SEARCH_ALL,
        "/2/tweets/counts/recent",
        COUNTS_ALL,
        "/2/usage/tweets",
        STREAM,
        STREAM_RULES,
        CONNECTIONS,
        *COMPLIANCE,
    }
)
LIMITS: Mapping[str, int] = {STREAM: 50, STREAM_RULES: 450, POST_RULES: 100}  # X's own, where they are not 300
RULES: Mapping[str, Sequence[LimitRule]] = {SEARCH_ALL: (LimitRule(1, 1.0),)}  # X's own besides its windows
FREE = frozenset({"/2/usage/tweets", STREAM_RULES, CONNECTIONS, *COMPLIANCE})

PLATFORMS = ("x", "bluesky", "mastodon")  # made of posts; the web site is made of pages
FEED_ACCESS = ("public", "authenticated", "disabled")  # who is shown hashtag timelines on Mastodon (since 4.5)
FULL_TEXT = ("on", "days", "silent")
WINDOWS: Mapping[str, float] = {"bluesky": 300.0, "mastodon": 300.0, "paged": 900.0, "web": 1.0}

Limits = int | Mapping[str, int]


@dataclass(frozen=True)
class MockSettings:
    """The settings of a mock server; wrong ones raise MockError.

    Attributes:
        posts: the file of posts, see `socialcrawl.lab.post_table`; None where the posts are given otherwise.
        export: the folder of an export whose campaign is to be rehearsed, instead of posts; see docs/how-to/exports.md.
        host, port: where to listen; port 0 picks a free one. Hosts that others can reach need `allow_remote`.
        window: the length of a window, seconds.
        limit: requests per window, for all endpoints or by endpoint (a key of ENDPOINTS or STREAM_ENDPOINTS; the rest
            have 300, or those of LIMITS).
        user_limit: the same for tokens of users; None is as `limit`.
        rules: more limits of endpoints, which hold together with the window, for every token on its own. An endpoint
            without an entry has X's own (RULES) as long as its window and limit are X's: a mock with windows of its
            own has only the rules given. An empty sequence leaves X's out.
        missing: the expected share of accounts that are suspended, protected or deleted, 0..1.
        now: the Unix second at which search and counts stand; None is 30 s after the end of the file.
        report: where the report is written, about every second and at the end; None is nowhere.
        tokens: the tokens that are let in besides `user_tokens`; None lets every token in.
        user_tokens: the bearer tokens that are tokens of users; those of OAuth 1.0a always are.
        skew: seconds by which the server's clock is ahead of ours; all that it says of time, its UTC days and its
            report are by this clock.
        latency: seconds until an answer is sent; the request is counted and billed when it comes.
        cap: the most posts of a billing cycle; None is X's 3,000,000. Once these are billed, nothing that reads
            posts is answered (429); the answer that reaches the cap is given whole.
        cap_reset_day: the day of the month on which a billing cycle begins (UTC), 1..31; in shorter months the last.
        platforms: what the posts are served as, names of PLATFORMS.
        pages: a file of pages, served as a web site beside the posts or alone, see `socialcrawl.mock.web`.
        windows: the lengths of the windows of the other platforms, seconds, by name (a key of WINDOWS; the rest have
            the length that is there); `window` and `limit` are those of X.
        bluesky_limit, mastodon_limit, paged_limit, site_limit: requests in each of them.
        home: the Mastodon instance of accounts that name none.
        passwords: who may sign in to Bluesky: app password by handle; None lets everybody in.
        closed_search: whether Bluesky's search refuses who is not signed in.
        closed_cursors: whether it refuses cursors to those, and answers with one page.
        search_depth: how many posts of a search cursors reach on Bluesky.
        search_v2: whether Bluesky's searchPostsV2 is enabled; else it answers 400. search_v2_depth: how many of its
            posts cursors reach; None: all, as Bluesky documents no bound.
        noindex: the share of accounts that want to be in no index: on Mastodon by `noindex`, on Bluesky by the label
            !no-unauthenticated; 0..1.
        nobot: the share of those that say #nobot in their profile on Mastodon and Bluesky; 0..1.
        hashtag_feeds: who is shown hashtag timelines on Mastodon: "public", "authenticated" or "disabled".
        full_text: how Mastodon searches texts: "on"; "days", as before 4.3.2, where before: and after: take days only;
            or "silent", where the search finds nothing and does not say why.
        held: the bytes of X's answers that are held, so that they need not be made again.
        scenario: the file of a scenario of faults, see docs/how-to/faults.md; None is none.
        credits: the dollars that may be billed; None is no end of them. Once so much is billed, only what is free of
            charge is answered, the rest with 402; the answer that uses them up is given whole.
        moment: the Unix second of the file at which the mock begins: what was posted later comes as time passes, see
            `dataset_clock.DatasetClock`; None: all posts are there. Search and counts then stand there too, so it
            leaves no `now`.
        speed: how many seconds of the file pass in a second; 0: it stays at the moment.
        jetstream_offset: what is added to the numbers of Jetstream's events: another one is another instance.
        replay: for how many seconds of the file Jetstream can be replayed.
        heartbeat: seconds of silence after which a stream says that it is open; None: as long as on the platform.
        job_seconds: how long X works on a compliance job.
        since_id_reaches: whether `since_id` without `start_time` lets a search of all posts reach back beyond 30 days,
            which X does not document.
    """

    posts: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    window: float = DEFAULT_WINDOW
    limit: Limits = DEFAULT_LIMIT
    missing: float = 0.0
    now: float | None = None
    report: Path | None = None
    tokens: frozenset[str] | None = field(default=None, repr=False)  # secrets stay out of logs
    allow_remote: bool = False
    user_limit: Limits | None = None
    user_tokens: frozenset[str] = field(default=frozenset(), repr=False)
    rules: Mapping[str, Sequence[LimitRule]] = field(default_factory=dict)
    skew: float = 0.0
    latency: float = 0.0
    cap: int | None = None
    cap_reset_day: int = 1
    credits: float | None = None
    export: Path | None = None
    platforms: tuple[str, ...] = PLATFORMS
    pages: Path | None = None
    windows: Mapping[str, float] = field(default_factory=dict)
    bluesky_limit: int = 3_000
    mastodon_limit: int = 300
    paged_limit: int = 300
    site_limit: int = 1_000
    home: str = "home.example"
    passwords: Mapping[str, str] | None = field(default=None, repr=False)
    closed_search: bool = False
    closed_cursors: bool = False
    search_depth: int = 10_000
    search_v2: bool = False
    search_v2_depth: int | None = None
    noindex: float = 0.0
    nobot: float = 0.0
    hashtag_feeds: str = "public"
    full_text: str = "on"
    scenario: Path | None = None
    held: int = 1_000_000_000
    moment: float | None = None
    speed: float = 0.0
    since_id_reaches: bool = True
    jetstream_offset: int = 0
    replay: float = 36 * 3_600.0
    heartbeat: float | None = None
    job_seconds: float = 0.0

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_platforms()
        self._check_place()
        self._check_streams()
        self._check_moment()
        if self.export is not None and (self.posts is not None or self.missing):
            raise MockError("An export says itself what there is and who is missing: remove --posts and --missing.")
        _check_limits("limit", self.limit)
        if self.user_limit is not None:
            _check_limits("user_limit", self.user_limit)
        for endpoint, rules in self.rules.items():
            _check_endpoint(endpoint)
            families = [rule.family for rule in rules if rule.family is not None]
            if len(families) > len(set(families)):
                raise MockError(f"Two rules of {endpoint} have the same headers; give one of them another family.")

    def _check_numbers(self) -> None:
        if not self.window > 0:
            raise MockError(f"The window is {self.window} s; give a length above 0.")
        if not 0 <= self.missing <= 1:
            raise MockError(f"The share of missing accounts is {self.missing}; give one from 0 to 1.")
        if not isfinite(self.skew):
            raise MockError(f"The skew is {self.skew} s; give a number of seconds.")
        if not (self.latency >= 0 and isfinite(self.latency)):
            raise MockError(f"The latency is {self.latency} s; give 0 or more.")
        if not (self.job_seconds >= 0 and isfinite(self.job_seconds)):
            raise MockError(f"A compliance job takes {self.job_seconds} s; give 0 or more.")
        if self.cap is not None and self.cap < 0:
            raise MockError(f"The cap is {self.cap} posts; give 0 or more.")
        if not 1 <= self.cap_reset_day <= 31:
            raise MockError(f"The cap is reset on day {self.cap_reset_day} of the month; give one from 1 to 31.")
        if self.credits is not None and not self.credits >= 0:
            raise MockError(f"The credits are {self.credits} dollars; give 0 or more.")

    def _check_platforms(self) -> None:
        if len(set(self.platforms)) < len(self.platforms) or set(self.platforms) - set(PLATFORMS):
            said = ", ".join(self.platforms)
            raise MockError(f"The mock cannot serve posts as {said}; give some of {', '.join(PLATFORMS)}, each once.")
        if not self.platforms and self.pages is None:
            raise MockError(f"The mock has nothing to serve; give some of {', '.join(PLATFORMS)}, or a file of pages.")
        for name, length in self.windows.items():
            if name not in WINDOWS:
                raise MockError(explain_unknown("platform limit", name, WINDOWS))
            if not (length > 0 and isfinite(length)):
                raise MockError(f"The window of {name} is {length} s; give a length above 0.")
        for name in ("bluesky_limit", "mastodon_limit", "paged_limit", "site_limit"):
            if getattr(self, name) < 1:
                raise MockError(f"The {name} is {getattr(self, name)} requests per window; give at least 1.")
        for name in ("noindex", "nobot"):
            if not 0 <= getattr(self, name) <= 1:
                raise MockError(f"The share {name} is {getattr(self, name)}; give one from 0 to 1.")
        if self.hashtag_feeds not in FEED_ACCESS:
            raise MockError(f"Unknown hashtag_feeds {self.hashtag_feeds!r}. Choose one of: {', '.join(FEED_ACCESS)}.")
        if self.full_text not in FULL_TEXT:
            raise MockError(f"Unknown full_text {self.full_text!r}. Choose one of: {', '.join(FULL_TEXT)}.")

    def _check_streams(self) -> None:
        if not 0 <= self.jetstream_offset < 10**14:
            raise MockError(f"The jetstream_offset is {self.jetstream_offset}; give 0 or more, below 10^14.")
        if not self.replay > 0:
            raise MockError(f"The replay is {self.replay} s; give a length above 0.")
        if self.heartbeat is not None and not self.heartbeat > 0:
            raise MockError(f"The heartbeat is {self.heartbeat} s; give a length above 0.")

    def _check_moment(self) -> None:
        if self.moment is None and self.speed:
            raise MockError("The speed says how fast posts come from a moment on; give that moment as well (--from).")
        if self.moment is None:
            return
        if self.now is not None:
            raise MockError("Search and counts stand at the moment of the file; give either that (--from) or --now.")
        check_moment(self.moment, self.speed)

    def _check_place(self) -> None:
        if not 0 <= self.port <= 65535:
            raise MockError(f"The port is {self.port}; give one from 1 to 65535, or 0 for a free one.")
        if self.report is not None and not self.report.absolute().parent.is_dir():
            raise MockError(f"There is no folder for the report {self.report}; make the folder or name another file.")
        if self.report is not None and self.report.is_dir():
            raise MockError(f"{self.report} is a folder; name a file for the report.")
        if not self.allow_remote and not is_loopback_host(self.host):
            raise MockError(
                f"The host {self.host} is not this machine alone; give 127.0.0.1, or --allow-remote as well."
            )

    def limit_of(self, endpoint: str) -> int:
        """Return the requests that one token of an app may send to an endpoint in one window."""
        return _find_limit(self.limit, endpoint)

    def user_limit_of(self, endpoint: str) -> int:
        """Return the requests that one token of a user may send to an endpoint in one window."""
        return _find_limit(self.limit if self.user_limit is None else self.user_limit, endpoint)

    def make_rules(self) -> dict[str, Sequence[LimitRule]]:
        """Return the rules of each endpoint that has some: those given, and X's own where these hold."""
        own = {
            endpoint: rules
            for endpoint, rules in RULES.items()
            if self.window == DEFAULT_WINDOW and self.limit_of(endpoint) == DEFAULT_LIMIT
        }
        return {endpoint: rules for endpoint, rules in {**own, **self.rules}.items() if rules}

    def window_of(self, name: str) -> float:
        """Return the length of a window of another platform, seconds; `name` is a key of WINDOWS."""
        return self.windows.get(name, WINDOWS[name])

    @property
    def post_cap(self) -> int:
        """The cap on posts of a billing cycle, X's where none is set."""
        return X_CAP if self.cap is None else self.cap


def _find_limit(limits: Limits, endpoint: str) -> int:
    usual = LIMITS.get(endpoint, DEFAULT_LIMIT)
    if isinstance(limits, int):
        return usual if limits == DEFAULT_LIMIT else limits
    return limits.get(endpoint, usual)


def _check_limits(name: str, limits: Limits) -> None:
    for endpoint, limit in ({name: limits} if isinstance(limits, int) else limits).items():
        if limit < 1:
            raise MockError(f"The limit of {endpoint} is {limit} requests per window; give at least 1.")
        if not isinstance(limits, int):
            _check_endpoint(endpoint)


def _check_endpoint(name: str) -> None:
    if name not in (*ENDPOINTS, *STREAM_ENDPOINTS):
        raise MockError(explain_unknown("endpoint", name, (*ENDPOINTS, *STREAM_ENDPOINTS)))
