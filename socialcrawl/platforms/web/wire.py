"""The wire to the web: one request, one answer, read and classified. It never raises, never waits, follows nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import orjson

from socialcrawl.engine.model import (
    AccountRow,
    Grant,
    Limit,
    Mention,
    Page,
    PostRow,
    Reason,
    Reply,
    ReplyKind,
    Request,
    Who,
    format_time,
)
from socialcrawl.graph.link_context import Span, find_window, unite_spans
from socialcrawl.graph.relevance import Hits, count_within
from socialcrawl.platforms.headers import parse_date as read_date
from socialcrawl.platforms.headers import parse_http_date
from socialcrawl.platforms.http_client import HttpAnswer, HttpClient, bound_memory
from socialcrawl.platforms.sockets import PRIVATE
from socialcrawl.platforms.unreachable_hosts import HostReachability
from socialcrawl.platforms.web import classify, robots
from socialcrawl.platforms.web.page import Hyperlink, PageContent, parse_page, parse_plain_text
from socialcrawl.platforms.web.source import FOLLOW, NO_HEAD, ROBOTS, SOFT
from socialcrawl.platforms.web.urls import PORTS, find_server, is_private, join_url
from socialcrawl.system.loopback import is_loopback

MOST = 2_000_000  # bytes of a page; a longer one is read as far as that
NO_REFERENCES = (None, None, None, None, None, None)
NO_COUNTS = (None, None, None, None, None, None)
NO_FACTS = (None, None, None, None, None, False, None, None)  # of a profile: a page that answers is not protected
ACCEPT = {"Accept": "text/html,application/xhtml+xml,text/plain;q=0.5,*/*;q=0.1"}


@dataclass(frozen=True, slots=True)
class WireOptions:
    """What the wire was made with.

    Attributes:
        http: the client.
        base: scheme and host of a server on this machine that plays all hosts; None: each is asked itself.
        hits: occurrences of the topic that count in a text.
        now: the clock, for the instant of arrival.
        keep: whether each page's HTML is kept.
        whole: whether each answer is kept as it came.
        most: bytes of a page that are read.
    """

    http: HttpClient
    base: str | None
    hits: Hits
    now: Callable[[], float]
    keep: bool
    whole: bool
    most: int


class WebWire:
    """The wire to the web.

    Args:
        base: scheme and host of a server on this machine, which plays all hosts by the Host header and is told
            neither scheme nor port of an address; None, or a server elsewhere: the web itself.
        hits: occurrences of the topic that count in a text, by the text, its language and when it was written (None).
        now: the clock, for the instant of arrival.
        timeout: seconds to wait for each part of an answer.
        deadline: seconds for a whole answer; None: four times the timeout.
        contact: address at which the operator of the crawl can be reached; sent in the User-Agent.
        keep: whether each page's HTML is kept, in `PostRow.original`.
        whole: whether each answer is kept as it came.
        most: bytes of a page that are read.
    """

    def __init__(
        self,
        base: str | None,
        *,
        hits: Hits,
        now: Callable[[], float],
        timeout: float = 30.0,
        deadline: float | None = None,
        contact: str = "",
        keep: bool = False,
        whole: bool = False,
        most: int = MOST,
    ) -> None:
        local = base.rstrip("/") if base and is_loopback(base) else None
        http = HttpClient(local or "https://", now, timeout, contact, deadline)
        self.options = WireOptions(http, local, hits, now, keep, whole, most)
        self._network = HostReachability(now)

    @property
    def now(self) -> Callable[[], float]:
        """The clock."""
        return self.options.now

    def close(self) -> None:
        """Let go of the connections."""
        self.options.http.close()

    @bound_memory
    def send(self, grant: Grant) -> Reply:
        """Return the reply to one request; see `protocols.Wire.send`.

        To one for robots.txt: no rows, and the cursor is what `robots` describes. To one for a page: the page as a post
        of the account that it is, or why it is missing; where it has moved, the new address as cursor and no rows. To a
        probe: no post, but whether the page is there, and when it was last changed; where that cannot be told by its
        headers, NO_HEAD as cursor, and where its host is in trouble what `HostReachability` makes of that.
        """
        request = grant.request
        url = request.params["url"]
        of_robots = request.endpoint.endswith(ROBOTS)
        came = self._fetch(request, url, robots.MOST if of_robots else self.options.most)
        if isinstance(came, Reply) and came.kind == ReplyKind.MISSING:
            gone = Page() if of_robots else _make_missing_page(url, Reason.EXCLUDED)
            return replace(came, rows=gone, cursor="" if of_robots else None)
        if (
            isinstance(came, Reply) and came.kind == ReplyKind.INVALID
        ):  # one page's matter, and no reason to stop for all
            return replace(came, kind=ReplyKind.MISSING, rows=_make_missing_page(url, Reason.UNKNOWN))
        if isinstance(came, Reply):
            return self._explain_unanswered(request, came)
        self._note_answer(url)
        date = read_date(came.headers)
        kind, limit = classify.classify(came.status, came.headers, came.at if date is None else date)
        kind = ReplyKind.OK if _lacks_head(request, came) else kind
        reply = _ClassifiedAnswer(came, kind, limit, came.at if date is None and limit else date)
        if kind not in (ReplyKind.OK, ReplyKind.MISSING):
            return self._explain_unanswered(
                request, reply.reply(self.options, why=f"{find_server(url)} answered HTTP {came.status}")
            )
        if of_robots:
            return self._parse_robots(reply, url)
        return self._parse_page(reply, request)

    def _fetch(self, request: Request, url: str, most: int) -> HttpAnswer | Reply:
        headers, there, options = ACCEPT, url, self.options
        if options.base is None and is_private(url):
            return Reply(ReplyKind.MISSING, options.now(), why=PRIVATE)
        if options.base is not None:
            parts = urlsplit(url)
            there = f"{options.base}{parts.path}" + (f"?{parts.query}" if parts.query else "")
            headers = {**ACCEPT, "Host": parts.netloc}
        method = request.params.get("method", "GET")
        return options.http.fetch(
            method, there, headers=headers, max_bytes=most, cut=True, public=options.base is None, dearest=request.most
        )

    def _explain_unanswered(self, request: Request, reply: Reply) -> Reply:
        """Return the reply; to a probe, where only its host is in trouble, that it is."""
        if "probe" not in request.params or self.options.base is not None:
            return reply
        url = request.params["url"]
        gone = Page() if request.endpoint.endswith(ROBOTS) else _make_missing_page(url, Reason.UNREACHABLE)
        return self._network.explain_failure(reply, urlsplit(url).hostname or "", gone)

    def _note_answer(self, url: str) -> None:
        parts = urlsplit(url)
        self._network.note_answer(parts.hostname or "", parts.port or PORTS[parts.scheme])

    def _parse_robots(self, answer: "_ClassifiedAnswer", url: str) -> Reply:
        came = answer.came
        if came.status in classify.MOVED and (target := join_url(url, came.headers.get("location", ""))):
            return answer.reply(self.options, Page(), robots.MOVED + target)
        there = came.status == 200 and came.body
        text = came.body.decode("utf-8-sig", "replace").replace("\0", "\ufffd") if there else ""
        # A 404 of robots.txt is a good answer: nothing is forbidden.
        return answer.reply(self.options, Page(), robots.TEXT + text if text else "", kind=ReplyKind.OK)

    def _parse_page(self, answer: "_ClassifiedAnswer", request: Request) -> Reply:
        came, url = answer.came, request.params["url"]
        if "probe" in request.params:
            return self._judge_probe(answer, request)
        if came.status in classify.MOVED and came.headers.get("location"):
            target = join_url(url, came.headers["location"])
            page = Page() if target else _make_missing_page(url, Reason.UNKNOWN)
            return answer.reply(self.options, page, target, kind=ReplyKind.OK if target else ReplyKind.MISSING)
        heeded = request.params.get("opt_outs") != "no"
        head = request.params.get("method") == "HEAD"
        page = self._parse_head(came, url, heeded=heeded) if head else self._parse_shown(came, url, heeded=heeded)
        return answer.reply(self.options, page, kind=ReplyKind.MISSING if page.missing else ReplyKind.OK)

    def _judge_probe(self, answer: "_ClassifiedAnswer", request: Request) -> Reply:
        came, url = answer.came, request.params["url"]
        if _lacks_head(request, came):
            return answer.reply(self.options, Page(), NO_HEAD)
        if came.status in classify.MOVED:
            target = join_url(url, came.headers.get("location", "")) if request.params["probe"] == FOLLOW else None
            rows = Page() if target else _make_missing_page(url, Reason.REDIRECTED)
            return answer.reply(self.options, rows, target, kind=ReplyKind.OK if target else ReplyKind.MISSING)
        if not 200 <= came.status < 300:
            return answer.reply(
                self.options, _make_missing_page(url, classify.explain_missing(came.status)), kind=ReplyKind.MISSING
            )
        if SOFT in request.params and _is_soft(came, url):
            return answer.reply(self.options, _make_missing_page(url, Reason.SOFT_404), kind=ReplyKind.MISSING)
        page, changed = Who(url, url), parse_http_date(came.headers.get("last-modified", ""))
        return answer.reply(
            self.options, Page(answered=[page], active=[] if changed is None else [(page, format_time(changed))])
        )

    def _parse_head(self, came: HttpAnswer, url: str, *, heeded: bool) -> Page:
        if came.status in classify.NO_HEAD:
            return Page(answered=[Who(url, url)])
        content_type = classify.detect_type(came.headers, b"")
        if came.status != 200:
            return _make_missing_page(url, classify.explain_missing(came.status))
        if content_type and content_type not in (*classify.HTML, *classify.PLAIN):
            return _make_missing_page(url, Reason.UNKNOWN)
        if heeded and not classify.check_indexing(came.headers, frozenset())[0]:
            return _make_missing_page(url, Reason.OPTED_OUT)
        return Page(answered=[Who(url, url)])

    def _parse_shown(self, came: HttpAnswer, url: str, *, heeded: bool) -> Page:
        content_type = classify.detect_type(came.headers, came.body)
        if came.status != 200:
            return _make_missing_page(url, classify.explain_missing(came.status))
        if content_type not in (*classify.HTML, *classify.PLAIN):
            return _make_missing_page(url, Reason.UNKNOWN)
        html = classify.decode_page(came.headers, came.body)
        seen = parse_plain_text(html) if content_type in classify.PLAIN else parse_page(html, url)
        kept, followed = classify.check_indexing(came.headers, seen.robots)
        if heeded and not kept:
            return _make_missing_page(url, Reason.OPTED_OUT)
        if classify.is_soft_404(seen.title, seen.text):
            return _make_missing_page(url, Reason.DELETED)
        return make_page(
            seen, url, self.options.hits, html if self.options.keep else None, follow=followed or not heeded
        )


@dataclass(frozen=True, slots=True)
class _ClassifiedAnswer:
    """An answer of a server with its kind, its rate limit and the time of the server's clock."""

    came: HttpAnswer
    kind: ReplyKind
    limit: Limit | None
    date: float | None

    def reply(
        self,
        options: WireOptions,
        page: Page | None = None,
        cursor: str | None = None,
        *,
        kind: ReplyKind | None = None,
        why: str = "",
    ) -> Reply:
        """Return the answer as a reply with these rows."""
        return Reply(
            kind or self.kind,
            self.came.at,
            page,
            cursor,
            status=self.came.status,
            date=self.date,
            limits=[self.limit] if self.limit else (),
            why=why,
            received=self.came.make_archived() if options.whole else None,
        )


def make_page(seen: PageContent, url: str, hits: Hits, html: str | None = None, *, follow: bool = True) -> Page:
    """Return a page as rows: its text as the one post of the account `url`, its links as mentions.

    Several links to one page are one mention, of the union of their windows; a link to itself is none.

    Args:
        seen: the page.
        url: its address in the one form.
        hits: occurrences of the topic that count in a text.
        html: kept as the original; None: not kept.
        follow: whether the page wants its links followed.
    """
    lang = seen.lang
    original = None if html is None else orjson.dumps({"url": url, "html": html.replace("\0", "\ufffd")}).decode()
    post = PostRow(url, url, None, seen.text, lang, *NO_REFERENCES, *NO_COUNTS, original)
    around: dict[str, list[Span]] = {}
    for link in seen.links if follow else ():
        if link.url != url:
            around.setdefault(link.url, []).extend(_find_context(seen.text, link))
    mentions = []
    for target, spans in around.items():
        parts = unite_spans(spans)
        count = count_within(seen.text, parts, lambda part: hits(part, lang, None))
        mentions.append(Mention(0, Who(target, target), "mention", parts, count))
    account = AccountRow(url, url, seen.title or None, seen.description, *NO_FACTS)
    return Page([post], [hits(seen.text, lang, None)], mentions, [account], [Who(url, url)])


def _lacks_head(request: Request, came: HttpAnswer) -> bool:
    """Return whether the server does not know HEAD: that says nothing of the page."""
    return request.params.get("method") == "HEAD" and came.status in classify.NO_HEAD


def _is_soft(came: HttpAnswer, url: str) -> bool:
    """Return whether an answer is a page that says that there is no such page."""
    content_type = classify.detect_type(came.headers, came.body)
    if content_type not in (*classify.HTML, *classify.PLAIN):
        return False
    html = classify.decode_page(came.headers, came.body)
    seen = parse_plain_text(html) if content_type in classify.PLAIN else parse_page(html, url)
    return classify.says_not_found(seen.title, seen.text)


def _find_context(text: str, link: Hyperlink) -> list[Span]:
    return [] if link.start < 0 else [find_window(text, link.start, link.end)]


def _make_missing_page(url: str, reason: Reason) -> Page:
    return Page(missing=[(Who(url, url), reason)])
