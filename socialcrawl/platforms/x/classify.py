"""What an answer of X means for the crawl: its kind, its limits, and a sentence for people. Pure.

A 429 is classified in this order: the month's cap; a 24-hour bucket empty; the window empty; one that does not say
until when, with requests remaining (another bucket is empty), without headers or with a reset in the past. Of the
rest, first what concerns one user, then money, then the credential, then the request.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from socialcrawl.engine.model import LARGEST, Limit, ReplyKind
from socialcrawl.platforms.headers import LAST, LONGEST, clean_message
from socialcrawl.platforms.json_reader import NOT_JSON

FAMILIES = (
    ("x-rate-limit", False),
    ("x-app-limit-24hour", True),
    ("x-user-limit-24hour", True),
)
RESOURCE = ("resource-not-found", "not-authorized-for-resource", "disallowed-resource", "resource-unavailable")
SPENT = re.compile(r"credit|spend\w*[\s_-]*(cap|limit)|(limit|cap)\w* on spending", re.IGNORECASE)


def parse_limits(headers: Mapping[str, str]) -> list[Limit]:
    """Return the rate-limit headers, one Limit a complete family; `headers` compares names without case.

    A family that holds what is no number or beyond all numbers is left out; fewer than none remaining is none.
    """
    found = []
    for family, daily in FAMILIES:
        if (most := headers.get(f"{family}-limit")) is None:
            continue
        left, resets = headers.get(f"{family}-remaining", ""), headers.get(f"{family}-reset", "")
        with suppress(ValueError, OverflowError):
            limit = Limit(max(0, int(left)), int(most), float(resets), daily)
            if 0 <= limit.resets < LAST and max(limit.left, limit.most) <= LARGEST and limit.most >= 0:
                found.append(limit)
    return found


def classify(status: int, body: Any, known: list[Limit], now: float) -> tuple[ReplyKind, str]:
    """Return the kind of a reply (see `model.Reply`) and a sentence that says what happened and what to do.

    Args:
        status: the HTTP status.
        body: the decoded JSON, or None where it was not JSON.
        known: the limits that came with it.
        now: the server's clock, or ours where it did not come.
    """
    problem = body if isinstance(body, dict) else {}
    detail = clean_message(problem.get("detail") or problem.get("title") or f"HTTP {status}")
    if status == 429:
        return _explain_limit(problem, detail, known, now)
    if 200 <= status < 300:
        if isinstance(body, dict):
            return ReplyKind.OK, ""
        return ReplyKind.LOST, (
            f"the server answered {NOT_JSON}, which may have been billed: is base_url right, and no proxy in between?"
        )
    if status == 401:
        return ReplyKind.REFUSED, (
            f"the token was not accepted (401: {detail}): check the environment variable that holds it (token_env); "
            "with OAuth 1.0a check this machine's clock"
        )
    if status == 402:
        return (
            ReplyKind.MONEY,
            f"the X account has no credits left (402: {detail}); buy credits, then run again to go on",
        )
    if status == 403 and body is not None:
        return _explain_forbidden(problem, detail)
    if status == 404:
        if problem:
            return ReplyKind.MISSING, detail
        return ReplyKind.BROKEN, "the server does not know the address (404, and not as X says it): is base_url right?"
    if 300 <= status < 400:
        return ReplyKind.INVALID, f"the server sends us elsewhere (HTTP {status}): write the address itself as base_url"
    if status >= 500 or status == 408 or body is None:
        return ReplyKind.BROKEN, f"the server is in trouble (HTTP {status}): is it X, and not a proxy in between?"
    return ReplyKind.INVALID, f"X did not understand the request (HTTP {status}: {_list_reasons(problem) or detail})"


def _explain_forbidden(problem: Mapping[str, Any], detail: str) -> tuple[ReplyKind, str]:
    about = str(problem.get("type", ""))
    if about.endswith(RESOURCE):
        return ReplyKind.MISSING, detail
    if about.endswith("usage-capped"):
        return _explain_cap(problem, detail)
    if about.endswith("/credits") or SPENT.search(f"{problem.get('title')} {problem.get('detail')}"):
        return ReplyKind.MONEY, (
            f"X lets the account spend no more (403: {detail}); raise its spending limit or buy credits, then run "
            "again to go on"
        )
    if about.endswith("unsupported-authentication"):
        return ReplyKind.REFUSED, (
            f"this endpoint does not take this kind of token (403: {detail}); name one of the other kind: an app's "
            "bearer token, or a user's of OAuth 1.0a"
        )
    if about.endswith("client-forbidden"):
        return ReplyKind.REFUSED, (
            f"X does not let this app in (403: {detail}); attach the app to a project in X's developer console, or "
            "check its access level"
        )
    return (
        ReplyKind.REFUSED,
        f"X does not allow this request (403: {_list_reasons(problem) or detail}); check the access level of the app",
    )


def _explain_cap(problem: Mapping[str, Any], detail: str) -> tuple[ReplyKind, str]:
    if problem.get("period") == "Daily":
        return ReplyKind.DAY, f"the daily cap is reached ({detail})"
    return ReplyKind.MONTH, f"the monthly cap is reached ({detail}); run again when the billing cycle has begun again"


def _explain_limit(problem: Mapping[str, Any], detail: str, known: list[Limit], now: float) -> tuple[ReplyKind, str]:
    usable = [limit for limit in known if limit.left == 0 and limit.resets >= now]
    daily = any(limit.daily for limit in usable)
    capped = str(problem.get("type", "")).endswith("usage-capped") or problem.get("title") == "UsageCapExceeded"
    if capped and not (daily and problem.get("period") == "Daily"):
        return _explain_cap(problem, detail)
    if daily:
        return ReplyKind.DAY, "the 24-hour limit is reached (429)"
    if usable:
        return ReplyKind.WINDOW, "the server says that the window is used up (429)"
    return ReplyKind.BACKOFF, "the server says too many requests (429), but not until when"


def _list_reasons(problem: Mapping[str, Any]) -> str:
    errors = problem.get("errors")
    messages = (
        [clean_message(e.get("message", "")) for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
    )
    return "; ".join(message for message in messages if message)[:LONGEST]
