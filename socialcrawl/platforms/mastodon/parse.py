"""Mastodon's JSON as a Page: posts with their occurrences of the topic, whom they mention, profiles, who is missing.

Pure. A post is called by its `uri`, which is the same on every instance; a post that is only known by the number that
the answering instance gave it is "local:domain/number". Posts that are not for everybody are left out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from socialcrawl.engine.model import AccountRow, Mention, Page, PostRow, Reason, Who
from socialcrawl.graph.relevance import Hits
from socialcrawl.platforms.json_values import (
    Json,
    dump_list,
    expect_object,
    expect_objects,
    expect_text,
    format_moment,
    parse_count,
    parse_instant,
    parse_text,
)
from socialcrawl.platforms.mastodon.post_text import PlainText, parse_html
from socialcrawl.platforms.mastodon.profiles import (
    find_last_active,
    has_opted_out,
    parse_account,
    parse_who,
    shows_opted_out,
)
from socialcrawl.platforms.mastodon.source import FOLLOW
from socialcrawl.platforms.mastodon.statuses import (
    PageReferences,
    find_mark,
    find_uri,
    is_open,
    list_later,
    list_mentions,
)

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

    def profile(self, body: Any) -> tuple[Page, str | None]:
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

    def timeline(self, body: Any, author: str) -> Page:
        """Return a page of the statuses of `author`; an instance tells nothing of what others wrote."""
        own = [one for one in expect_objects(body) if parse_who(one.get("account"), self.domain).id == author]
        return replace(self._parse_posts(list_later(own, self.since)), mark=find_mark(own))

    def found(self, body: Any) -> Page:
        """Return a page of a hashtag or a search: posts and their authors."""
        shown = [one for one in expect_objects(body) if is_open(one)]
        given = [one for one in shown if not self._is_silent(expect_object(one.get("account")))]
        authors = {parse_who(one["account"], self.domain): one["account"] for one in given}
        page = self._parse_posts(given, [parse_account(one, named) for named, one in authors.items()], list(authors))
        return replace(page, opted_out=len(shown) - len(given))

    def follows(self, body: Any) -> Page:
        """Return a page of those whom an account follows, with the profiles of those who do not mind."""
        given = {parse_who(one, self.domain): one for one in expect_objects(body)}
        kept = [parse_account(one, named) for named, one in given.items() if not self._is_silent(one)]
        return Page(accounts=kept, follows=list(given))

    def over(self, body: Any) -> bool:
        """Whether a page of statuses ends before `begin`, or shows what was seen before: those behind do not count."""
        given = expect_objects(body)
        if len(list_later(given, self.since)) < len(given):
            return True
        last = given[-1:]
        at = parse_instant(last[0].get("created_at")) if last else None
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
        at = parse_instant(status.get("created_at"))
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
            None if original else known.quoted(status)[0],
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
    """Return those of the accounts that a post names which count as named by its author; see `store.counted`."""
    return [name for name, kind in named if kind != "quote" and name != author]


def _write_repost_prefix(original: Json) -> str:
    """Return what stands before the text that a repost repeats; "" for other posts."""
    return f"RT @{expect_text(expect_object(original.get('account')).get('username'))}: " if original else ""
