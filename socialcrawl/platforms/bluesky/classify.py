"""What an answer of Bluesky means for the crawl: its kind, its limits, and a sentence for people. Pure.

Errors are {"error": name, "message": text}; names as in the lexicons and in the servers of the AT Protocol. An access
token that has run out is told by status 400, not 401.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from socialcrawl.engine.model import LARGEST, Limit, Reason, ReplyKind
from socialcrawl.platforms.headers import LAST, clean_message
from socialcrawl.platforms.json_reader import NOT_JSON

DAY = 86_400  # seconds
ENDED = ("ExpiredToken", "InvalidToken")
MISSING = {
    "AccountTakedown": Reason.SUSPENDED,
    "AccountSuspended": Reason.SUSPENDED,
    "RepoTakendown": Reason.SUSPENDED,
    "RepoSuspended": Reason.SUSPENDED,
    "AccountDeactivated": Reason.DELETED,
    "RepoDeactivated": Reason.DELETED,
    "BlockedActor": Reason.PROTECTED,
    "BlockedByActor": Reason.PROTECTED,
}
NOBODY = re.compile(
    r"\b(profile|actor|account|user|list|repo|handle)\b.*\bnot found|could not find (user|repo|account|list)|"
    r"unable to resolve handle",
    re.IGNORECASE,
)
PERIOD = re.compile(r"\bw=(\d{1,9})\b")


def parse_limits(headers: Mapping[str, str]) -> list[Limit]:
    """Return the rate-limit headers, none or one; `headers` compares names without case.

    Several windows may count a request: the headers are of the one with the fewest requests left, and
    RateLimit-Policy ("3000;w=300") tells how long it is. What is no number or beyond all numbers is left out.
    """
    with suppress(KeyError, ValueError, OverflowError):
        left, most = int(headers["RateLimit-Remaining"]), int(headers["RateLimit-Limit"])
        period = PERIOD.search(headers.get("RateLimit-Policy", ""))
        daily = period is not None and int(period[1]) >= DAY
        limit = Limit(max(0, left), most, float(headers["RateLimit-Reset"]), daily)
        if 0 <= limit.resets < LAST and max(limit.left, most) <= LARGEST and most >= 0:
            return [limit]
    return []


def parse_error(body: Any) -> tuple[str, str]:
    """Return the name of an error and its message, "" where there are none."""
    error = body if isinstance(body, dict) else {}
    return clean_message(error.get("error") or ""), clean_message(error.get("message") or "")


def explain_missing(status: int, body: Any, *, by_id: bool) -> Reason | None:
    """Return why the account that was asked for cannot be read (see `model.Outcome`).

    None if the error says no such thing.

    Args:
        status: the HTTP status; 401 speaks of who asks.
        body: the decoded JSON.
        by_id: whether it was asked for by DID: such an account was there once.
    """
    error, message = parse_error(body)
    if status not in (400, 403, 404):
        return None
    if error in MISSING:
        return MISSING[error]
    nobody = error in ("NotFound", "InvalidRequest", "HandleNotFound", "ActorNotFound") and NOBODY.search(message)
    return (Reason.DELETED if by_id else Reason.UNKNOWN) if nobody else None


def classify(status: int, body: Any, known: Sequence[Limit], now: float, *, signed: bool) -> tuple[ReplyKind, str]:
    """Return the kind of a reply (see `model.Reply`) and a sentence that says what happened and what to do.

    Args:
        status: the HTTP status.
        body: the decoded JSON, or None where it was not JSON.
        known: the limits that came with it.
        now: the server's clock, or ours where it did not come.
        signed: whether the request had an access token.
    """
    error, message = parse_error(body)
    detail = ": ".join(part for part in (error, message) if part) or f"HTTP {status}"
    if status == 429:
        return _explain_limit(known, now)
    if 200 <= status < 300:
        if isinstance(body, dict):
            return ReplyKind.OK, ""
        return ReplyKind.LOST, f"the server answered {NOT_JSON}: is base_url right, and no proxy in between?"
    if signed and error in ENDED:
        return ReplyKind.BROKEN, f"the session has ended ({error}); it is renewed before the next request"
    # What names no error is not of Bluesky: a page of a network that wants a sign-in of its own, or of a proxy.
    if status == 401 or error in ENDED:
        return ReplyKind.REFUSED if error else ReplyKind.BROKEN, _explain_refusal(detail, signed=signed)
    if status == 403 and error:
        return ReplyKind.REFUSED, f"Bluesky does not allow this request (403: {detail})"
    if 300 <= status < 400:
        why = f"the server sends us elsewhere (HTTP {status}): write the address itself as base_url"
        return ReplyKind.INVALID if error else ReplyKind.BROKEN, why
    if status in (404, 501) and error:
        return (
            ReplyKind.INVALID,
            f"the server does not know this request ({detail}): is base_url that of an AppView or a PDS?",
        )
    if status >= 500 or status == 408 or not error:
        return ReplyKind.BROKEN, f"the server is in trouble (HTTP {status}): is it Bluesky, and not a proxy in between?"
    return ReplyKind.INVALID, f"Bluesky did not understand the request (HTTP {status}: {detail})"


def _explain_refusal(detail: str, *, signed: bool) -> str:
    if signed:
        return f"the session was not accepted ({detail}): make a new app password, and check which account it is of"
    return f"the server wants callers to sign in ({detail}): name an app password, or another base_url"


def _explain_limit(known: Sequence[Limit], now: float) -> tuple[ReplyKind, str]:
    usable = [limit for limit in known if limit.left == 0 and limit.resets >= now]
    if any(limit.daily for limit in usable):
        return ReplyKind.DAY, "the 24-hour limit is reached (429)"
    if usable:
        return ReplyKind.WINDOW, "the server says that the window is used up (429)"
    return ReplyKind.BACKOFF, "the server says too many requests (429), but not until when"
