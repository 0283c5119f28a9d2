"""The wire to Mastodon's instances. It sends, parses and classifies; it never raises and never waits."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from socialcrawl.engine.model import Grant, Page, Reason, Reply, ReplyKind, Request, SoughtPost, Who
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.graph.relevance import Hits
from socialcrawl.platforms.headers import parse_date, parse_pause
from socialcrawl.platforms.http_client import HttpAnswer, HttpClient, bound_memory
from socialcrawl.platforms.json_reader import decode_json, name_empty, parse_unix_time
from socialcrawl.platforms.mastodon import account_names, classify
from socialcrawl.platforms.mastodon.instance_rules import read_about
from socialcrawl.platforms.mastodon.parse import (
    PageParser,
    UnreadableSlicesError,
    check_feeds,
    check_search,
)
from socialcrawl.platforms.mastodon.profiles import shows_opted_out
from socialcrawl.platforms.mastodon.source import (
    FOLLOWING,
    INSTANCE,
    LOOK_UP,
    NO_INSTANCE,
    POST,
    SEARCH,
    STATUSES,
    STREAM,
)
from socialcrawl.platforms.mastodon.streaming import StreamingTerms, make_connect, open_post
from socialcrawl.platforms.server_info import InstanceRules
from socialcrawl.platforms.stream_reader import StreamReader
from socialcrawl.platforms.unreachable_hosts import HostReachability
from socialcrawl.system.loopback import is_loopback
from socialcrawl.system.secret import conceal, redact

OURS = (
    "acct",
    "wanted",
    "begin",
    "control",
    "end",
    "opt_outs",
    "probe",
    "span",
)  # parameters that no server is asked for, except for the `acct` of a look-up
NO_TAG = {"error": "Record not found"}  # what is answered where nobody has ever used a hashtag, as documented
LINK = re.compile(r"<([^<>]*)>([^<]*)")
NEXT = re.compile(r";\s*rel\s*=\s*(?:\"(?:[^\"]*\s)?next(?:\s[^\"]*)?\"|next(?=[\s;,]|$))", re.IGNORECASE)


class MastodonWire:
    """The wire to Mastodon: the campaign's own instance, and others by their domains.

    Where `base` is on this machine, all instances are asked there, each by its name in the Host header.

    Args:
        base: scheme and host of the campaign's own instance.
        home: its domain, as it ends the names of its accounts.
        tokens: by the name of their credential; they are sent to `base` and nowhere else.
        hits: occurrences of the topic that count in a post, by its text, its language and when it was written.
        now: the clock, for the instant of arrival.
        timeout: seconds to wait for each part of an answer.
        deadline: seconds for a whole answer; None: four times the timeout.
        contact: whom those who run an instance may write to.
        keep: whether each post's original JSON is kept.
        whole: whether each answer is kept as it came, except for those of accounts that want to be left alone.
        stream: the address of the server that streams, of the campaign's own instance.
    """

    def __init__(
        self,
        base: str,
        home: str,
        tokens: Mapping[str, str],
        *,
        hits: Hits,
        now: Callable[[], float],
        timeout: float = 30.0,
        deadline: float | None = None,
        contact: str = "",
        keep: bool = False,
        whole: bool = False,
        stream: str = "",
    ) -> None:
        self.base, self.home, self.tokens = base.rstrip("/"), account_names.normalize_domain(home), dict(tokens)
        self.hits, self.now, self.keep, self.whole = hits, now, keep, whole
        self._alone = is_loopback(base)
        self._itself = urlsplit(base).hostname == self.home  # then its address names it, with the port
        self.http, self._network = HttpClient(base, now, timeout, contact, deadline), HostReachability(now)
        self.stream, self.timeout, self.contact = stream or self.base, timeout, contact
        self._reader: StreamReader | None = None
        for token in self.tokens.values():
            conceal(token)

    @bound_memory
    def send(self, grant: Grant) -> Reply:
        """Return the reply to one request; see `protocols.Wire.send`."""
        request = grant.request
        host, path = _split_endpoint(request.endpoint)
        if path == STREAM:
            return self._read_stream(grant)
        token = self.tokens.get(grant.credential, "") if host == self.home else ""
        came = self.http.fetch(
            "GET",
            self._make_address(host) + _fill_path(path, request.params),
            params=_select_parameters(path, request.params),
            headers=self._make_headers(host, token),
            public=not self._alone and host != self.home,
        )
        if isinstance(came, Reply):
            return self._explain_unanswered(request, came, host)
        if not self._alone:
            self._network.note_answer(host if host != self.home else urlsplit(self.base).hostname or host)
        return self._judge_probe(request, self._classify(request, came, token=bool(token)), host)

    def read_about(self) -> InstanceRules:
        """Return what the campaign's own instance says of itself to people."""
        return read_about(self.http, self.base)

    def hurry(self) -> None:
        """See `protocols.Hurried`."""
        if self._reader is not None:
            self._reader.hurry()

    def close(self) -> None:
        """Let go of the connections."""
        self.http.close()
        if self._reader is not None:
            self._reader.close()

    def _read_stream(self, grant: Grant) -> Reply:
        """Return a part of the stream, or why it cannot be read."""
        asked = grant.request.params
        parse = PageParser(self.home, self.hits, self.keep, asked.get("opt_outs") != "no").parse_found
        if self._reader is None:
            tags, token = asked["tags"].split(","), self.tokens.get(grant.credential, "")
            doing = StreamingTerms(tags, token, lambda status: parse([status]), self.now, self.timeout, self.contact)
            self._reader = StreamReader(make_connect(self.stream, doing), open_post, self.now)
        return self._reader.answer(asked, parse)

    def _explain_unanswered(self, request: Request, came: Reply, host: str) -> Reply:
        if came.kind in (ReplyKind.INVALID, ReplyKind.MISSING):  # missing: its address is of our own neighbourhood
            return replace(came, kind=ReplyKind.MISSING, rows=_make_missing_page(request, host))
        return self._judge_probe(request, came, host)

    def _judge_probe(self, request: Request, reply: Reply, host: str) -> Reply:
        """Return the reply; to a probe of another instance, where only that one is in trouble, that it is."""
        if "probe" not in request.params or host == self.home or self._alone:
            return reply
        return self._network.explain_failure(reply, host, _make_missing_page(request, host, Reason.UNREACHABLE))

    def _make_address(self, host: str) -> str:
        return self.base if self._alone or host == self.home else f"https://{host}"

    def _make_headers(self, host: str, token: str) -> dict[str, str]:
        named = {"Host": host} if self._alone and not (self._itself and host == self.home) else {}
        return named | ({"Authorization": f"Bearer {token}"} if token else {})

    def _classify(self, request: Request, came: HttpAnswer, *, token: bool) -> Reply:
        host = _split_endpoint(request.endpoint)[0]
        date = parse_date(came.headers)
        clock = came.at if date is None else date
        known, body = classify.parse_limits(came.headers, clock), None if came.cut else decode_json(came.body)
        path = request.endpoint.removeprefix(host)
        asked = classify.RequestContext(
            host == self.home,
            token,
            bool({"acct", "wanted"} & request.params.keys()),
            path == LOOK_UP,
            "span" in request.params,
        )
        sense = classify.classify(came.status, body, known, clock, asked)
        if came.status == 404 and body == NO_TAG and "hashtag" in request.params:
            sense, body = classify.Classification(ReplyKind.OK), []
        if path == INSTANCE and sense.kind in (ReplyKind.INVALID, ReplyKind.MISSING):  # it tells nothing of itself
            sense, body = classify.Classification(ReplyKind.OK), {}
        # Without the server's clock, a reset is read by ours.
        at = clock if came.status == 429 else date
        kept = came.make_archived() if self.whole else None
        why, after = redact(name_empty(sense.why, came.body)), parse_pause(came.status, came.headers, clock)
        bare = Reply(sense.kind, came.at, None, None, 0, came.status, at, known, why, kept, after)
        if sense.missing == NO_INSTANCE and path in (LOOK_UP, STATUSES):
            return replace(bare, rows=Page(), cursor=NO_INSTANCE)
        if sense.kind == ReplyKind.INVALID and path == SEARCH and "span" in request.params:
            return replace(bare, why=f"{why}: full_text needs Mastodon 4.3.2 or later")
        if sense.kind == ReplyKind.MISSING and "span" in request.params:  # another slice is not shown either
            return replace(bare, kind=ReplyKind.INVALID)
        if sense.kind == ReplyKind.MISSING:
            return replace(bare, rows=_make_missing_page(request, host, sense.missing))
        return self._read(request, came, body, bare) if sense.kind == ReplyKind.OK else bare

    def _read(self, request: Request, came: HttpAnswer, body: Any, bare: Reply) -> Reply:
        """Return the reply with its rows and cursor."""
        try:
            page, cursor = self._parse_page(request, came, body)
        except UnreadableSlicesError as error:
            return replace(bare, kind=ReplyKind.INVALID, why=str(error))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            why = f"the server's JSON is not what Mastodon sends ({type(error).__name__}: {error})"
            return replace(bare, kind=ReplyKind.LOST, why=redact(why))
        reasons = [reason for _, reason in page.missing]
        heeded = request.params.get("opt_outs") != "no"
        kept = None if bare.received is None or (heeded and shows_opted_out(body)) else bare.received
        return replace(
            bare, kind=ReplyKind.MISSING if reasons else ReplyKind.OK, rows=page, cursor=cursor, received=kept
        )

    def _parse_page(self, request: Request, came: HttpAnswer, body: Any) -> tuple[Page, str | None]:
        params, (host, path) = request.params, _split_endpoint(request.endpoint)
        begin, end = (parse_unix_time(params.get(name)) for name in ("begin", "end"))
        heeded, since = params.get("opt_outs") != "no", params.get("since_id", "")
        reader = PageParser(host, self.hits, self.keep, heeded, begin, end, since, params.get("probe", ""))
        if path == LOOK_UP:
            return reader.parse_profile(body)
        if path == INSTANCE:
            check_feeds(body)
            return Page(), None
        if path == SEARCH and "control" in params:
            check_search(body["statuses"])
            return Page(), None
        if path == SEARCH and "span" in params:
            page = reader.parse_text_slice(body["statuses"], *parse_span(params["span"]))
            return page, str(int(params.get("offset", "0")) + int(params["limit"])) if body["statuses"] else None
        if path == POST:
            return reader.parse_post(body, params["wanted"]), None
        if path == SEARCH:
            return reader.parse_found(body["statuses"]), _find_offset(params, len(body["statuses"]))
        next_page = find_next_page(came.headers.get("link"))
        if path == FOLLOWING:
            return reader.parse_follows(body), next_page
        if "span" in params:
            page, ends = reader.parse_slice(body, parse_span(params["span"])[0])
            return page, None if ends else _check_next(next_page, params["max_id"])
        if "acct" not in params:
            return reader.parse_found(body), next_page
        return reader.parse_timeline(body, params["acct"]), None if reader.is_over(body) else next_page


DELETED = {Reason.UNKNOWN: Reason.DELETED}


def _split_endpoint(endpoint: str) -> tuple[str, str]:
    """Return the host and the template of an endpoint, as pages after the first have it too."""
    host, _, path = endpoint.partition("/")
    return host, "/" + path.partition("?")[0]


def _fill_path(path: str, params: Mapping[str, str]) -> str:
    """Return the path of a template: what it names is put in, whatever signs that has."""
    parts = [quote(params.get(part[1:], ""), safe="") if part.startswith(":") else part for part in path.split("/")]
    return "/".join(parts)


def _select_parameters(path: str, params: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters that are sent: neither those in the path nor those for us alone."""
    within = {part[1:] for part in path.split("/") if part.startswith(":")}
    ours = within | (set(OURS) - {"acct"} if path == LOOK_UP else set(OURS))
    return {name: value for name, value in params.items() if name not in ours}


def _make_missing_page(request: Request, host: str, reason: str | None = None) -> Page:
    """Return the page on which the account that was asked about is missing; one of nobody where none was."""
    why = Reason.PROTECTED if reason == NO_INSTANCE else Reason(reason or Reason.UNKNOWN)
    if "wanted" in request.params:  # instances do not tell deleted posts from those that never were
        return Page(sought=[SoughtPost(request.params["wanted"], None, DELETED.get(why, why))])
    if "acct" not in request.params:
        return Page()
    name = account_names.complete_name(request.params["acct"], host)
    return Page(missing=[(Who(name, name), why)])


def _check_next(cursor: str | None, before: str) -> str | None:
    """Return the `max_id` of the next page of a slice.

    Raises:
        ValueError: it leads to newer posts than the `max_id` of this one, `before`: the server ignores that.
    """
    if cursor is not None and int(cursor) > int(before):
        raise ValueError("the next page is a newer one")
    return cursor


def _find_offset(params: Mapping[str, str], came: int) -> str | None:
    """Return where the next page of a search begins; None where this one was not full."""
    return str(int(params.get("offset", "0")) + came) if came >= int(params["limit"]) else None


def find_next_page(link: str | None) -> str | None:
    """Return the `max_id` of the address that a Link header calls the next; None at the end of a list."""
    for url, parameters in LINK.findall(link or ""):
        if NEXT.search(parameters):
            try:
                found = parse_qs(urlsplit(url).query).get("max_id")
            except ValueError:
                return None
            return found[-1] if found else None
    return None
