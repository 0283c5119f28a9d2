"""What an answer of X means for the crawl: its kind, its limits, and a sentence for people. Pure.

Classified in this order: month's cap or no credits; a 24-hour bucket empty; the window empty; a 429 that does not say
when; refusals; servers in trouble. A 429 may come with requests remaining (another bucket is empty) or without
headers.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from socialcrawl.model import Limit

FAMILIES = (
    ("x-rate-limit", False),
    ("x-app-limit-24hour", True),
    ("x-user-limit-24hour", True),
)


def limits(headers: Mapping[str, str]) -> list[Limit]:
    """The rate-limit headers, one Limit a complete family; `headers` compares names without case."""
    found = []
    for family, daily in FAMILIES:
        if (most := headers.get(f"{family}-limit")) is None:
            continue
        left, resets = headers.get(f"{family}-remaining", ""), headers.get(f"{family}-reset", "")
        with suppress(ValueError):
            limit = Limit(int(left), int(most), float(resets), daily)
            if math.isfinite(limit.resets):
                found.append(limit)
    return found


def date(headers: Mapping[str, str]) -> float | None:
    """The server's clock in Unix seconds; X writes the zone as UTC or GMT."""
    try:
        moment = parsedate_to_datetime(headers["Date"])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None


def kind(status: int, body: Any, known: list[Limit], now: float) -> tuple[str, str]:
    """The kind of a reply (see `model.Reply`) and a sentence that says what happened and what to do.

    Args:
        status: the HTTP status.
        body: the decoded JSON, or None where it was not JSON.
        known: the limits that came with it.
        now: the server's clock, or ours where it did not come.
    """
    problem = body if isinstance(body, dict) else {}
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
    if status == 429:
        return _too_many(problem, detail, known, now)
    if 200 <= status < 300:
        if isinstance(body, dict):
            return "ok", ""
        return "broken", "the server answered something that is not JSON: is base_url right, and no proxy in between?"
    if status == 401:
        return "refused", "the token was not accepted (401): check the environment variable that token_env names"
    if status == 402:
        return "money", f"the X account has no credits left (402: {detail}); buy credits, then run again to go on"
    if status == 403 and str(problem.get("type", "")).endswith("not-authorized-for-resource"):
        return "missing", detail
    if status == 403:
        return "refused", f"X does not allow this request (403: {detail}); check the access level of the app"
    if status == 404 and problem:
        return "missing", detail
    if status == 404:
        return "broken", "the server does not know the address (404, and not as X says it): is base_url right?"
    if 300 <= status < 400:
        return "refused", f"the server sends us elsewhere (HTTP {status}): write the address itself as base_url"
    if status >= 500 or body is None:
        return "broken", f"the server is in trouble (HTTP {status}): is it X, and not a proxy in between?"
    return "refused", f"X did not understand the request (HTTP {status}: {_reasons(problem) or detail})"


def _too_many(problem: Mapping[str, Any], detail: str, known: list[Limit], now: float) -> tuple[str, str]:
    if str(problem.get("type", "")).endswith("usage-capped"):
        if problem.get("period") != "Daily":
            return "month", f"the monthly cap is reached ({detail}); run again when the billing cycle has begun anew"
        if not any(limit.daily and limit.left == 0 and limit.resets >= now for limit in known):
            return "month", f"the daily cap is reached ({detail}); run again tomorrow to go on"
    usable = [limit for limit in known if limit.left == 0 and limit.resets >= now]
    if any(limit.daily for limit in usable):
        return "day", "the 24-hour limit is reached (429)"
    if usable:
        return "window", "the server says that the window is used up (429)"
    return "backoff", "the server says too many requests (429), but not until when"


def _reasons(problem: Mapping[str, Any]) -> str:
    errors = problem.get("errors")
    messages = [str(e.get("message", "")) for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
    return "; ".join(message for message in messages if message)
