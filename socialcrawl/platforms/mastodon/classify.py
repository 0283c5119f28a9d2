"""What an answer of an instance means for the crawl: its kind, its limits, and a sentence for people. Pure.

What one account or one instance does not show is missing: the others are asked all the same. Only what concerns the
campaign's own instance as a whole ends a run.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from socialcrawl.engine.model import LARGEST, Limit, Reason, ReplyKind
from socialcrawl.platforms.headers import LAST, clean_message
from socialcrawl.platforms.json_reader import NOT_JSON, parse_unix_time
from socialcrawl.platforms.mastodon.source import NO_INSTANCE

GONE = {404: Reason.UNKNOWN, 410: Reason.DELETED}
NOT_UNDERSTOOD = (400, 404, 406, 410, 414, 422, 451)  # what concerns the account that was asked about, and no other
AGAIN = (408, 425)
SIGNED_IN = re.compile(r"authenticated user", re.IGNORECASE)  # what a 422 says where something is not for strangers
TOKEN = re.compile(r"token|revoked|expired|scope|disabled|confirm|pending|suspended", re.IGNORECASE)


class Classification(NamedTuple):
    """What an answer means: a kind of `model.Reply`, a sentence, and why an account is missing where it is.

    It is missing because of NO_INSTANCE where the server knows nothing of accounts at all.
    """

    kind: ReplyKind
    why: str = ""
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What was asked: whether of the campaign's own instance, with a token, about one account, and who that is.

    `sliced` says that it is a page of a slice of time, which accounts that are named could not replace.
    """

    home: bool
    token: bool
    account: bool
    look_up: bool = False
    sliced: bool = False


def parse_limits(headers: Mapping[str, str], now: float) -> list[Limit]:
    """Return the rate limit that Mastodon, GoToSocial and Pixelfed send in headers: one Limit, or none.

    Args:
        headers: names in any case.
        now: the server's clock, for servers that tell in how many seconds to come back.
    """
    most, left = (headers.get(f"x-ratelimit-{name}", "") for name in ("limit", "remaining"))
    with suppress(ValueError, OverflowError):
        resets = _find_reset(headers.get("x-ratelimit-reset", ""), headers.get("retry-after", ""), now)
        found = Limit(max(0, int(left)), int(most), resets)
        if 0 <= resets < LAST and 0 <= found.most <= LARGEST and found.left <= LARGEST:
            return [found]
    return []


def classify(status: int, body: Any, known: Sequence[Limit], now: float, asked: RequestContext) -> Classification:
    """Return what an answer means.

    Args:
        status: the HTTP status.
        body: the decoded JSON, or None where it was none.
        known: the limits that came with it.
        now: the server's clock, or ours where it did not come.
        asked: what it answers.
    """
    message = clean_message((body.get("error") if isinstance(body, dict) else None) or "") or f"HTTP {status}"
    if status == 429:
        return _explain_limit(known, now)
    if 200 <= status < 300:
        return Classification(ReplyKind.OK) if body is not None else _explain_no_json(asked)
    if status >= 500 or status in AGAIN:
        return Classification(ReplyKind.BROKEN, f"the server is in trouble (HTTP {status})")
    if status in (401, 403) or (status == 422 and SIGNED_IN.search(message)):
        return _explain_closed(status, body, message, asked)
    if body is None:
        return _explain_error_page(status, asked)
    if not asked.home:
        return Classification(ReplyKind.MISSING, message, GONE.get(status, Reason.UNKNOWN))
    if status < 400:
        return Classification(ReplyKind.INVALID, f"{_explain_redirect(status)} write the address itself as base_url")
    if message == f"HTTP {status}":
        message += ": is base_url a Mastodon instance?"
    if asked.account and status in NOT_UNDERSTOOD:
        return Classification(ReplyKind.MISSING, message, GONE.get(status, Reason.UNKNOWN))
    return Classification(ReplyKind.INVALID, f"the instance did not understand the request ({message})")


def _find_reset(reset: str, after: str, now: float) -> float:
    """Return when a window ends, Unix seconds.

    Raises:
        ValueError: nobody tells.
    """
    instant = parse_unix_time(reset)
    if instant is not None and not reset.strip().isdecimal():
        return instant
    return float(reset) if reset.strip() or not after.strip() else now + float(after)


def _explain_limit(known: Sequence[Limit], now: float) -> Classification:
    if any(limit.left == 0 and limit.resets >= now for limit in known):
        return Classification(ReplyKind.WINDOW, "the instance says that the window is used up (429)")
    return Classification(ReplyKind.BACKOFF, "the instance says too many requests (429), but not until when")


def _explain_no_instance(message: str) -> Classification:
    """Classify a web site that is no instance, or a redirect: the name of an instance need not be where it is."""
    return Classification(ReplyKind.MISSING, f"the server does not answer as Mastodon does ({message})", NO_INSTANCE)


def _explain_no_json(asked: RequestContext) -> Classification:
    """Return an answer that should have been JSON, and is a page for people, or cut off."""
    if asked.look_up and not asked.home:
        return _explain_no_instance("no JSON")
    return Classification(ReplyKind.LOST, f"the server answered {NOT_JSON}: is base_url right, and no proxy between?")


def _explain_error_page(status: int, asked: RequestContext) -> Classification:
    """Explain an error that is not JSON: where an instance answered before, or should, a proxy may stand between."""
    if asked.look_up and not asked.home:
        return _explain_no_instance(f"HTTP {status}")
    if status < 400:
        return Classification(
            ReplyKind.BROKEN, f"{_explain_redirect(status)} is base_url right, and no proxy or log-in page between?"
        )
    return Classification(ReplyKind.BROKEN, f"the answer is not one of Mastodon's (HTTP {status}): check base_url")


def _explain_redirect(status: int) -> str:
    return f"the server sends us elsewhere (HTTP {status}):"


def _explain_closed(status: int, body: Any, message: str, asked: RequestContext) -> Classification:
    """Return what is shown to some people only, or not to a token like this."""
    if asked.home and body is None:
        return Classification(
            ReplyKind.BROKEN, f"a server in front of the instance refused the request (HTTP {status}): a proxy?"
        )
    if asked.token and TOKEN.search(message):
        return Classification(
            ReplyKind.REFUSED,
            f"the token was not accepted ({status}: {message}): check the environment variable that holds it "
            "(token_env), and that it may read (scope read)",
        )
    if not asked.home:  # it says nothing of the person: others may be shown it
        return Classification(
            ReplyKind.MISSING, f"the instance is closed to strangers ({status}: {message})", NO_INSTANCE
        )
    if asked.account:
        return Classification(
            ReplyKind.MISSING, f"the instance does not show this to everybody ({status}: {message})", Reason.PROTECTED
        )
    advice = "name seeds by username, list or file, or sign in with a token of its own"
    if asked.sliced:
        advice = "set token_env under [source] to a token of this instance, or base_url to another instance"
    return Classification(
        ReplyKind.MISSING,
        f"the instance does not show hashtags or search to everybody ({status}: {message}): {advice}",
        Reason.PROTECTED,
    )
