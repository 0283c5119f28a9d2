"""What people say of the mock: its rules, ENDPOINT K/PERIOD [KIND] [HEADERS], its platforms and their limits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from socialcrawl.errors import SettingsError
from socialcrawl.mock.rate_windows import KINDS, LimitRule
from socialcrawl.mock.server_settings import DEFAULT_LIMIT, PLATFORMS, MockSettings
from socialcrawl.text.wording import parse_instant, parse_seconds

LIMITS = {"bluesky": "bluesky_limit", "mastodon": "mastodon_limit", "paged": "paged_limit", "web": "site_limit"}
OF_X: Mapping[str, Any] = {
    "window": "15m", "limit": DEFAULT_LIMIT, "user_limit": None, "rule": None, "cap": None, "credit": None, "now": None
}  # fmt: skip
"""The options that X alone has, and what they are where nobody sets them."""
SHORTEST = 10.0  # seconds that a mock shows new posts for
FORM = '"/2/users/:id/tweets 25/24h fixed x-app-limit-24hour"'


def parse_rules(texts: Sequence[str]) -> dict[str, list[LimitRule]]:
    """Parse rules by endpoint, each written as ENDPOINT K/PERIOD, with a kind (fixed) and its headers.

    Raises:
        SettingsError: a text is no rule.
        MockError: a number or the name of the headers is out of range.
    """
    found: dict[str, list[LimitRule]] = {}
    for text in texts:
        endpoint, _, rest = text.strip().partition(" ")
        words = rest.split()
        k, slash, period = words.pop(0).partition("/") if words else ("", "", "")
        kind = words.pop(0) if words and words[0] in KINDS else KINDS[0]
        if not (slash and k.isdecimal()) or len(words) > 1:
            raise SettingsError(f"--rule {text!r} is not a rule: write for example {FORM}.")
        found.setdefault(endpoint, []).append(
            LimitRule(int(k), parse_seconds(period), kind, words[0] if words else None)
        )
    return found


def make_settings(given: Mapping[str, Any]) -> MockSettings:
    """Return the settings of a mock, as the options of the command `mock` give them, by their names.

    Raises:
        SettingsError: a rule, a limit or a length is written wrongly, or is for X, which is not served.
        MockError: a number is out of range, or there is no such platform.
    """
    now, latency = given["now"], given["latency"]
    plain = ("posts", "export", "pages", "host", "port", "limit", "user_limit", "scenario", "skew", "cap", "missing")
    also = ("noindex", "closed_search", "search_v2", "report", "allow_remote")
    platforms = choose_served(given["platform"], posts=given["posts"], export=given["export"])
    _check_for_x(given, platforms)
    return MockSettings(
        **{name: given[name] for name in (*plain, *also)},
        **parse_limits(given["platform_limit"] or []),
        platforms=platforms,
        window=parse_seconds(given["window"]),
        rules=parse_rules(given["rule"] or []),
        replay=parse_seconds(given["replay"]),
        latency=0.0 if latency is None else parse_seconds(latency),
        credits=given["credit"],
        now=None if now is None else parse_instant(now),
    )


def choose_moment(given: Mapping[str, Any], now: float) -> tuple[float | None, float, float | None]:
    """Return the moment of the file at which a mock begins, the speed, and for how long generated posts appear.

    Args:
        given: the options.
        now: the time, Unix seconds: the moment with --live.

    Raises:
        SettingsError: an option is written wrongly, or goes against --live.
    """
    if given["live"] is None:
        return None if given["from_"] is None else parse_instant(given["from_"]), given["speed"], None
    against = {"posts": None, "export": None, "pages": None, "now": None, "from_": None, "speed": 0.0}
    for name, usual in against.items():
        if given[name] != usual:
            option = name.rstrip("_")
            raise SettingsError(f"--live moves generated posts to the present: leave out --{option}, or --live.")
    if (lasting := parse_seconds(given["live"])) < SHORTEST:
        raise SettingsError(
            f"--live: at least {SHORTEST:.0f} s, with a unit, such as 1h: {given['live']!r} is shorter."
        )
    return now, 1.0, lasting


def _check_for_x(given: Mapping[str, Any], platforms: Sequence[str]) -> None:
    """Refuse options that would do nothing, as they are X's and X is not served."""
    idle = [name for name, usual in OF_X.items() if "x" not in platforms and (given[name] or usual) != usual]
    if idle:
        other = platforms[0] if platforms else "web"
        raise SettingsError(
            f"--{idle[0].replace('_', '-')} is for X, which is not served here. For windows of other platforms write "
            f'--platform-limit "{other} 300/5m".'
        )


def parse_limits(texts: Sequence[str]) -> dict[str, Any]:
    """Return the limits and windows of the platforms beside X as settings of the mock, each written as NAME K/PERIOD.

    Raises:
        SettingsError: a text is no such limit.
    """
    found: dict[str, Any] = {}
    windows: dict[str, float] = {}
    for text in texts:
        name, _, rest = text.strip().partition(" ")
        k, slash, period = rest.strip().partition("/")
        if name not in LIMITS or not (slash and k.isdecimal()):
            raise SettingsError(
                f'--platform-limit {text!r} is not a limit: write "bluesky 3000/5m", or one of {", ".join(LIMITS)}.'
            )
        found[LIMITS[name]] = int(k)
        windows[name] = parse_seconds(period)
    return found | ({"windows": windows} if windows else {})


def choose_served(platforms: Sequence[str] | None, *, posts: Path | None, export: Path | None) -> tuple[str, ...]:
    """Return what the mock serves: what is said, or else all that can be made of posts; an export is one of X."""
    if platforms:
        return tuple(platforms)
    return ("x",) if export is not None else PLATFORMS if posts is not None else ()
