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
from socialcrawl.platforms.json_values import Json, count, instant, iso, listed, needed, text, thing, things
from socialcrawl.platforms.mastodon.post_text import PostText, shown
from socialcrawl.platforms.mastodon.profiles import account, last_active, names_silent, opted_out, who
from socialcrawl.platforms.mastodon.source import FOLLOW
from socialcrawl.platforms.mastodon.statuses import PageReferences, is_open, later_than, mark_of, mentioned, uri

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
        named = who(body, self.domain)
        if body.get("suspended") is True:
            return Page(missing=[(named, Reason.SUSPENDED)]), None
        if self._silent(body):
            return Page(missing=[(named, Reason.OPTED_OUT)]), None
        number = needed(body.get("id"))
        return (
            self._probed(body, named) if self.probe else Page(accounts=[account(body, named)], answered=[named])
        ), number

    def timeline(self, body: Any, author: str) -> Page:
        """Return a page of the statuses of `author`; an instance tells nothing of what others wrote."""
        own = [one for one in things(body) if who(one.get("account"), self.domain).id == author]
        return replace(self._posts(later_than(own, self.since)), mark=mark_of(own))

    def found(self, body: Any) -> Page:
        """Return a page of a hashtag or a search: posts and their authors."""
        shown = [one for one in things(body) if is_open(one)]
        given = [one for one in shown if not self._silent(thing(one.get("account")))]
        authors = {who(one["account"], self.domain): one["account"] for one in given}
        page = self._posts(given, [account(one, named) for named, one in authors.items()], list(authors))
        return replace(page, opted_out=len(shown) - len(given))

    def follows(self, body: Any) -> Page:
        """Return a page of those whom an account follows, with the profiles of those who do not mind."""
        given = {who(one, self.domain): one for one in things(body)}
        kept = [account(one, named) for named, one in given.items() if not self._silent(one)]
        return Page(accounts=kept, follows=list(given))

    def over(self, body: Any) -> bool:
        """Whether a page of statuses ends before `begin`, or shows what was seen before: those behind do not count."""
        given = things(body)
        if len(later_than(given, self.since)) < len(given):
            return True
        last = given[-1:]
        at = instant(last[0].get("created_at")) if last else None
        return self.begin is not None and at is not None and at < self.begin

    def _probed(self, body: Json, named: Who) -> Page:
        """Return the page of an account that is there: when it last posted; or that it has moved, and where to.

        One that approves its followers (`locked`) is both there and missing, as "protected".
        """
        last = last_active(body)
        active = [(named, last)] if last else []
        moved = body.get("moved")
        if not isinstance(moved, dict):
            closed = [(named, Reason.PROTECTED)] if body.get("locked") is True else []
            return Page(accounts=[account(body, named)], answered=[named], active=active, missing=closed)
        if self.probe == FOLLOW:
            return Page(answered=[who(moved, self.domain)])
        return Page(missing=[(named, Reason.REDIRECTED)], active=active)

    def _silent(self, profile: Json) -> bool:
        return self.opt_outs and opted_out(profile)

    def _counts(self, status: Json) -> bool:
        at = instant(status.get("created_at"))
        return at is None or ((self.begin is None or at >= self.begin) and (self.end is None or at < self.end))

    def _posts(self, given: Iterable[Json], accounts: Sequence[AccountRow] = (), answered: Sequence[Who] = ()) -> Page:
        statuses = {uri(one): one for one in given if is_open(one) and self._counts(one)}
        known = PageReferences(self.domain, statuses.values())
        rows = [self._row(key, status, known) for key, status in statuses.items()]
        named = [mentioned(status, known) for status in statuses.values()]
        mentions = [Mention(place, Who(name, name), kind) for place, some in enumerate(named) for name, kind in some]
        hits = [
            self.hits(row.text, row.lang, row.created_at, row.urls, listed(_counted(some, row.author)))
            for row, some in zip(rows, named, strict=True)
        ]
        return Page(posts=rows, hits=hits, mentions=mentions, accounts=accounts, answered=answered)

    def _row(self, key: str, status: Json, known: PageReferences) -> PostRow:
        original = thing(status.get("reblog") or NOTHING)
        hidden = bool(original) and self._silent(thing(original.get("account")))
        proper = NOTHING if hidden else original or status
        seen, tags = (
            _written(proper),
            [tag for one in things(proper.get("tags") or []) if (tag := text(one.get("name")))],
        )
        return PostRow(
            key,
            needed(who(status.get("account"), self.domain).id),
            iso(status.get("created_at")),
            _repeating(original) + seen.text,
            text(proper.get("language")),
            None,
            known.post(status.get("in_reply_to_id")),
            uri(original) if original else None,
            None if original else known.quoted(status)[0],
            listed(tags),
            listed(seen.urls),
            count(proper.get("favourites_count")),
            count(proper.get("replies_count")),
            count(proper.get("reblogs_count")),
            count(proper.get("quotes_count")),
            None,
            None,
            None if not self.keep or (self.opt_outs and names_silent(status)) else orjson.dumps(status).decode(),
        )


def _written(status: Json) -> PostText:
    """Return the text of a status, its warning before it."""
    warning, seen = text(status.get("spoiler_text")), shown(text(status.get("content")) or "")
    return PostText(f"{warning}\n{seen.text}".rstrip(), seen.urls) if warning else seen


def _counted(named: Iterable[tuple[str, str]], author: str) -> list[str]:
    """Return those of the accounts that a post names which count as named by its author; see `store.counted`."""
    return [name for name, kind in named if kind != "quote" and name != author]


def _repeating(original: Json) -> str:
    """Return what stands before the text that a repost repeats; "" for other posts."""
    return f"RT @{needed(thing(original.get('account')).get('username'))}: " if original else ""
