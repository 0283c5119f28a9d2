"""Mastodon's JSON as a Page: posts with their occurrences of the topic, whom they mention, profiles, who is missing.

Pure. A post is called by its `uri`, which is the same on every instance; a post that is only known by the number that
the answering instance gave it is "local:domain/number". Posts that are not for everybody are left out. Statuses refer
to other statuses and to accounts by numbers that only the answering instance knows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from socialcrawl.engine.mark_order import are_comparable, is_number, make_sort_key
from socialcrawl.engine.model import AccountRow, Mention, Page, PostRow, Reason, SoughtPost, Who, format_time
from socialcrawl.graph.relevance import Hits
from socialcrawl.platforms.json_reader import (
    Json,
    dump_list,
    expect_object,
    expect_objects,
    expect_text,
    format_moment,
    parse_count,
    parse_text,
    parse_unix_time,
)
from socialcrawl.platforms.mastodon.post_text import PlainText, parse_html
from socialcrawl.platforms.mastodon.profiles import (
    complete_name,
    find_last_active,
    has_opted_out,
    parse_account,
    parse_who,
    shows_opted_out,
)
from socialcrawl.platforms.mastodon.source import FOLLOW, SNOWFLAKES

OPEN = ("public", "unlisted")  # a crawler that has signed in may be shown others
LATE = 30 * 86_400.0  # seconds by which ids differ from when posts were written where they are no times
STRENGTH = {"quote": 0, "mention": 1, "repost": 2, "reply": 3}  # of the ways to name somebody, the strongest counts


def find_uri(status: Json) -> str:
    """Return what a status is called on every instance.

    Raises:
        TypeError: it has no name.
    """
    return expect_text(status.get("uri"))


def is_open(status: Json) -> bool:
    """Return whether a status, and the one that it repeats, are for everybody."""
    original = status.get("reblog") or {}
    return all(one.get("visibility", "public") in OPEN for one in (status, expect_object(original)))


def list_later(given: Sequence[Json], mark: str) -> Sequence[Json]:
    """Return the statuses of a page that are newer than a mark, as far as their numbers tell; "": all of them.

    Some servers do not heed `since_id`. Numbers are compared; names that are none are taken as the server gives them,
    except for the mark itself. Where the mark is of another kind than they are, another server answers than before:
    nothing is known to be new, and the next visit goes on from here.
    """
    if not mark:
        return given
    ids = [parse_text(one.get("id")) or "" for one in given]
    return [one for one, number in zip(given, ids, strict=True) if _is_later(number, mark)]


def find_mark(given: Iterable[Json]) -> str:
    """Return the newest of some statuses as a mark; "" where there are none."""
    return SNOWFLAKES.mark(max((parse_text(one.get("id")) or "" for one in given), key=make_sort_key, default=""))


class UnreadableSlicesError(ValueError):
    """A server's hashtag timelines cannot be read by time; the message is for people."""


OTHER_IDS = (
    "the ids of this server's posts do not tell their time as Mastodon's do, so its hashtag timelines cannot be read "
    "by time: set base_url to a Mastodon instance"
)
SILENT = (
    "this instance finds no posts, whatever is searched: its full-text search is off or in trouble, which it does not "
    "say. Try later, or begin a new campaign without full_text"
)
UNHEEDED = "this instance searches without regard to before: and after:, so that full_text is of no use"
TURNED_OFF = "this instance has turned its hashtag timelines off: set base_url to another instance"


def find_id_times(given: Sequence[Json]) -> list[float]:
    """Return the times of the ids of statuses, Unix seconds; of ids from before Mastodon 2.0, which have none, 0.

    Raises:
        UnreadableSlicesError: the ids are of another kind: they are no numbers, or all of them are far from when the
            posts were written.
    """
    ids = [expect_text(one.get("id")) for one in given]
    if not all(map(is_number, ids)):
        raise UnreadableSlicesError(OTHER_IDS)
    times = [SNOWFLAKES.time(number) or 0.0 for number in ids]
    written = [parse_unix_time(one.get("created_at")) for one in given]
    apart = [abs(at - then) > LATE for at, then in zip(times, written, strict=True) if at and then is not None]
    if apart and all(apart):
        raise UnreadableSlicesError(OTHER_IDS)
    return times


def check_search(found: Any) -> None:
    """Check that an instance finds posts at all, by a search that every post answers.

    Raises:
        UnreadableSlicesError: it finds none.
    """
    if not expect_objects(found):
        raise UnreadableSlicesError(SILENT)


def check_feeds(instance: Any) -> None:
    """Check the answer of an instance about itself: its hashtag timelines are not turned off (Mastodon 4.5).

    Raises:
        UnreadableSlicesError: they are, for posts of its own accounts and for those of others.
    """
    access = instance
    for name in ("configuration", "timelines_access", "hashtag_feeds"):
        access = access.get(name) if isinstance(access, dict) else None
    if isinstance(access, dict) and access and all(value == "disabled" for value in access.values()):
        raise UnreadableSlicesError(TURNED_OFF)


def _is_later(number: str, mark: str) -> bool:
    if not are_comparable(number, mark):
        return False
    return make_sort_key(number) > make_sort_key(mark) if is_number(mark) else number != mark


class PageReferences:
    """What a page tells of the numbers in it.

    Args:
        domain: of the instance that answers.
        given: the statuses of the page.
    """

    def __init__(self, domain: str, given: Iterable[Json]) -> None:
        self.domain = domain
        self._posts: dict[str, str] = {}
        self._accounts: dict[str, str] = {}
        for status in given:
            for one in filter(None, (status, status.get("reblog"), _find_quoted(status))):
                self._note(expect_object(one))

    def post(self, number: Any) -> str | None:
        """Return what the status of that number is called."""
        key = parse_text(number)
        return key and self._posts.get(key, f"local:{self.domain}/{key}")

    def find_account(self, number: Any) -> str | None:
        """Return the account of that number, in full; None where the page does not tell."""
        return self._accounts.get(number) if isinstance(number, str) else None

    def find_quoted(self, status: Json) -> tuple[str | None, str | None]:
        """Return what a status quotes, and whom; (None, None) where it quotes nothing, or may not show it."""
        found = _find_quoted(status)
        if found is not None:
            return find_uri(found), parse_who(found.get("account"), self.domain).id
        quote = status.get("quote")
        number = quote.get("quoted_status_id") if isinstance(quote, dict) else None
        return self.post(number or status.get("quote_id")), None

    def _note(self, status: Json) -> None:
        if (number := parse_text(status.get("id"))) is not None:
            self._posts[number] = find_uri(status)
        for one in (expect_object(status.get("account")), *_list_mention_objects(status)):
            name = complete_name(one.get("acct"), self.domain)
            if name and isinstance(one.get("id"), str):
                self._accounts[one["id"]] = name


def list_mentions(status: Json, known: PageReferences) -> Iterable[tuple[str, str]]:
    """Return whom a status names, each once in order of first appearance, with the strongest kind that applies."""
    kinds: dict[str, str] = {}
    for name, kind in _list_named(status, known):
        if name and STRENGTH[kind] >= STRENGTH[kinds.setdefault(name, kind)]:
            kinds[name] = kind
    return kinds.items()


def _list_named(status: Json, known: PageReferences) -> Iterator[tuple[str | None, str]]:
    original = status.get("reblog")
    if original:
        yield parse_who(expect_object(original).get("account"), known.domain).id, "repost"
    for one in _list_mention_objects(expect_object(original or status)):
        yield complete_name(one.get("acct"), known.domain), "mention"
    if original:
        return  # it is not the one who repeats an answer or a quotation that answers or quotes
    yield known.find_account(status.get("in_reply_to_account_id")), "reply"
    yield known.find_quoted(status)[1], "quote"


def _list_mention_objects(status: Json) -> list[Json]:
    return expect_objects(status.get("mentions") or [])


def _find_quoted(status: Json) -> Json | None:
    """Return the status that one quotes: Mastodon tells how the quotation stands beside it, others only the status."""
    quote: Mapping[str, Any] | None = status.get("quote")
    if not isinstance(quote, dict):
        return None
    found = quote.get("quoted_status", quote)
    return found if isinstance(found, dict) and "uri" in found and "account" in found else None


NOTHING: Json = {}


@dataclass(frozen=True, slots=True)
class PageParser:
    """How the answers of one instance are read. Its methods raise TypeError where an answer is none of Mastodon's.

    Attributes:
        domain: of the instance that answers, which names without a domain belong to.
        hits: occurrences of the topic that count in a post, by its text, its language and when it was written.
        keep: whether each post's original JSON is kept.
        opt_outs: whether those who want no crawlers are left alone.
        begin, end: posts count that were written at `begin` or later and before `end`, Unix seconds; None: no bound.
        since: the mark of what was seen of a timeline before, and does not count again; "": nothing was.
        probe: STAY or FOLLOW where a look-up asks for a sign of life; "": it does not.
    """

    domain: str
    hits: Hits
    keep: bool = False
    opt_outs: bool = True
    begin: float | None = None
    end: float | None = None
    since: str = ""
    probe: str = ""

    def parse_profile(self, body: Any) -> tuple[Page, str | None]:
        """Return the page of a look-up, and the account's number on the instance.

        One that is not to be read is missing.
        """
        named = parse_who(body, self.domain)
        if body.get("suspended") is True:
            return Page(missing=[(named, Reason.SUSPENDED)]), None
        if self._is_silent(body):
            return Page(missing=[(named, Reason.OPTED_OUT)]), None
        number = expect_text(body.get("id"))
        return (
            self._parse_probe(body, named)
            if self.probe
            else Page(accounts=[parse_account(body, named)], answered=[named])
        ), number

    def parse_timeline(self, body: Any, author: str) -> Page:
        """Return a page of the statuses of `author`; an instance tells nothing of what others wrote."""
        own = [one for one in expect_objects(body) if parse_who(one.get("account"), self.domain).id == author]
        return replace(self._parse_posts(list_later(own, self.since)), mark=find_mark(own))

    def parse_found(self, body: Any) -> Page:
        """Return a page of a hashtag or a search: posts and their authors."""
        shown = [one for one in expect_objects(body) if is_open(one)]
        given = [one for one in shown if not self._is_silent(expect_object(one.get("account")))]
        authors = {parse_who(one["account"], self.domain): one["account"] for one in given}
        page = self._parse_posts(given, [parse_account(one, named) for named, one in authors.items()], list(authors))
        return replace(page, opted_out=len(shown) - len(given))

    def parse_post(self, body: Any, wanted: str) -> Page:
        """Return a post that was asked for by its id `wanted`, or why it is not kept."""
        page = self.parse_found([body])
        why = None if page.posts else Reason.OPTED_OUT if page.opted_out else Reason.PROTECTED
        return replace(page, sought=[SoughtPost(wanted, page.posts[0].id if page.posts else None, why)])

    def parse_slice(self, body: Any, begin: float) -> tuple[Page, bool]:
        """Return a page of a slice of time, and whether the slice ends on it.

        The time is that of ids; posts from before the begin are left out. The mark of the page is when its oldest post
        got its id, whoever may read it.

        Args:
            body: the statuses.
            begin: when the slice begins, Unix seconds.

        Raises:
            UnreadableSlicesError: the server's ids tell no time.
        """
        given = expect_objects(body)
        times = find_id_times(given)
        within = [one for one, at in zip(given, times, strict=True) if at >= begin]
        oldest = min((at for at in times if at >= begin), default=None)
        page = self.parse_found(within)
        return replace(page, mark="" if oldest is None else format_time(oldest)), len(within) < len(given)

    def parse_text_slice(self, body: Any, begin: float, end: float) -> Page:
        """Return a page of a search for the posts that were written in a span of time (Unix seconds).

        Searches are in the order of ids. A post that is on a later page has a smaller id, so it was written before the
        time of the smallest id here, which is the mark: an id tells when a post was written or, later, when it came.

        Raises:
            UnreadableSlicesError: the server's ids tell no time, or its search heeds none.
        """
        given = expect_objects(body)
        times, written = find_id_times(given), [parse_unix_time(one.get("created_at")) for one in given]
        if any(at is not None and not begin - LATE <= at < end + LATE for at in written):
            raise UnreadableSlicesError(UNHEEDED)
        within = [one for one, at in zip(given, written, strict=True) if at is not None and begin <= at < end]
        return replace(self.parse_found(within), mark=format_time(min(times)) if times else "")

    def parse_follows(self, body: Any) -> Page:
        """Return a page of those whom an account follows, with the profiles of those who do not mind."""
        given = {parse_who(one, self.domain): one for one in expect_objects(body)}
        kept = [parse_account(one, named) for named, one in given.items() if not self._is_silent(one)]
        return Page(accounts=kept, follows=list(given))

    def is_over(self, body: Any) -> bool:
        """Return whether a page of statuses ends before `begin` or repeats earlier ones: later pages do not count."""
        given = expect_objects(body)
        if len(list_later(given, self.since)) < len(given):
            return True
        last = given[-1:]
        at = parse_unix_time(last[0].get("created_at")) if last else None
        return self.begin is not None and at is not None and at < self.begin

    def _parse_probe(self, body: Json, named: Who) -> Page:
        """Return the page of an account that is there: when it last posted; or that it has moved, and where to.

        One that approves its followers (`locked`) is both there and missing, as "protected".
        """
        last = find_last_active(body)
        active = [(named, last)] if last else []
        moved = body.get("moved")
        if not isinstance(moved, dict):
            closed = [(named, Reason.PROTECTED)] if body.get("locked") is True else []
            return Page(accounts=[parse_account(body, named)], answered=[named], active=active, missing=closed)
        if self.probe == FOLLOW:
            return Page(answered=[parse_who(moved, self.domain)])
        return Page(missing=[(named, Reason.REDIRECTED)], active=active)

    def _is_silent(self, profile: Json) -> bool:
        return self.opt_outs and has_opted_out(profile)

    def _is_counted(self, status: Json) -> bool:
        at = parse_unix_time(status.get("created_at"))
        return at is None or ((self.begin is None or at >= self.begin) and (self.end is None or at < self.end))

    def _parse_posts(
        self, given: Iterable[Json], accounts: Sequence[AccountRow] = (), answered: Sequence[Who] = ()
    ) -> Page:
        statuses = {find_uri(one): one for one in given if is_open(one) and self._is_counted(one)}
        known = PageReferences(self.domain, statuses.values())
        rows = [self._make_row(key, status, known) for key, status in statuses.items()]
        named = [list_mentions(status, known) for status in statuses.values()]
        mentions = [Mention(place, Who(name, name), kind) for place, some in enumerate(named) for name, kind in some]
        hits = [
            self.hits(row.text, row.lang, row.created_at, row.urls, dump_list(_list_counted(some, row.author)))
            for row, some in zip(rows, named, strict=True)
        ]
        return Page(posts=rows, hits=hits, mentions=mentions, accounts=accounts, answered=answered)

    def _make_row(self, key: str, status: Json, known: PageReferences) -> PostRow:
        original = expect_object(status.get("reblog") or NOTHING)
        hidden = bool(original) and self._is_silent(expect_object(original.get("account")))
        proper = NOTHING if hidden else original or status
        seen, tags = (
            _join_warning(proper),
            [tag for one in expect_objects(proper.get("tags") or []) if (tag := parse_text(one.get("name")))],
        )
        return PostRow(
            key,
            expect_text(parse_who(status.get("account"), self.domain).id),
            format_moment(status.get("created_at")),
            _write_repost_prefix(original) + seen.text,
            parse_text(proper.get("language")),
            None,
            known.post(status.get("in_reply_to_id")),
            find_uri(original) if original else None,
            None if original else known.find_quoted(status)[0],
            dump_list(tags),
            dump_list(seen.urls),
            parse_count(proper.get("favourites_count")),
            parse_count(proper.get("replies_count")),
            parse_count(proper.get("reblogs_count")),
            parse_count(proper.get("quotes_count")),
            None,
            None,
            None if not self.keep or (self.opt_outs and shows_opted_out(status)) else orjson.dumps(status).decode(),
        )


def _join_warning(status: Json) -> PlainText:
    """Return the text of a status, its warning before it."""
    warning, seen = parse_text(status.get("spoiler_text")), parse_html(parse_text(status.get("content")) or "")
    return PlainText(f"{warning}\n{seen.text}".rstrip(), seen.urls) if warning else seen


def _list_counted(named: Iterable[tuple[str, str]], author: str) -> list[str]:
    """Return those of the accounts that a post names which its author mentions: neither quoted nor the author."""
    return [name for name, kind in named if kind != "quote" and name != author]


def _write_repost_prefix(original: Json) -> str:
    """Return what stands before the text that a repost repeats; "" for other posts."""
    return f"RT @{expect_text(expect_object(original.get('account')).get('username'))}: " if original else ""
