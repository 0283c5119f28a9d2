"""Scenarios (docs/how-to/faults.md): which requests meet which fault, and when accounts, cursors and the clock change.

A scenario is a TOML file with `seed` and tables `[[fault]]`, or the same as JSON at /_mock/faults. A rule counts the
requests that fit its platform and endpoint, or the messages of such streams; all its conditions must hold.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path
from typing import Any

from socialcrawl.engine.draws import draw_uniform
from socialcrawl.errors import MockError
from socialcrawl.formats.documents import read_toml
from socialcrawl.mock import faults
from socialcrawl.mock.faults import Fault
from socialcrawl.mock.names import DELETED, HERE, PROTECTED, SUSPENDED
from socialcrawl.text.wording import explain_unknown

PAGING = frozenset({"pagination_token", "next_token", "cursor", "max_id"})  # parameters that ask for a later page
FATES = {"suspend": SUSPENDED, "protect": PROTECTED, "delete": DELETED, "restore": HERE}
WHEN = ("platform", "endpoint", "from", "to", "every", "burst", "after", "before", "probability", "times")
# The keys of each kind: those that it needs, and those that it may have.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "too-many": ((), ("headers",)),
    "error": ((), ("status",)),
    "html": ((), ("status",)),
    "half": ((), ()),
    "cut": ((), ()),
    "slow": (("seconds",), ()),
    "overlap": (("posts",), ()),
    "repeat": ((), ()),
    "skew": (("seconds",), ()),
    "rename": (("account", "name"), ()),
    "suspend": (("account",), ()),
    "protect": (("account",), ()),
    "delete": ((), ("account", "post", "share", "seconds")),
    "restore": (("account",), ()),
    "edit": (("post", "text"), ()),
    "expire": ((), ("seconds", "requests")),
    "drop": ((), ()),
    "stall": ((), ("seconds",)),
    "silence": (("seconds",), ()),
    "duplicate": ((), ()),
    "swap": ((), ()),
    "hole": ((), ()),
    "disconnect": ((), ("reason",)),
}
STREAMED = frozenset(
    {"drop", "stall", "silence", "duplicate", "swap", "hole", "disconnect"}
)  # strike messages of streams
LASTING = ("skew", "rename", *FATES, "edit", "expire")  # kinds that change what follows, not one answer
HEADERS = ("spent", "window", "none")
# The least value of each key that is a whole number, and of each that is any number.
WHOLE = {"from": 1, "to": 1, "every": 1, "burst": 1, "times": 1, "status": 200, "posts": 1, "requests": 0}
REAL = {"after": 0.0, "before": 0.0, "probability": 0.0, "seconds": 0.0, "share": 0.0}
_MOST = {"status": 599, "probability": 1, "share": 1}


@dataclass
class ScenarioRule:
    """One rule of a scenario, and how often it was met.

    Attributes:
        table: its keys, all checked.
        number: its place in the scenario, from 0.
        seen, done: the requests that fit it, and those that it struck.
    """

    table: Mapping[str, Any]
    number: int
    seen: int = 0
    done: int = 0
    _burst: int = 0  # the last request of the burst that goes on

    @property
    def kind(self) -> str:
        """What happens."""
        return str(self.table["kind"])

    @property
    def platform(self) -> str | None:
        """Where; None is everywhere."""
        return self.table.get("platform")

    def is_struck(self, platform: str, endpoint: str, *, paged: bool, since: float, seed: int) -> bool:
        """Return whether this request is struck; counted."""
        table = self.table
        if self.platform not in (None, platform) or not fnmatchcase(endpoint, table.get("endpoint", "*")):
            return False
        if self.kind in ("overlap", "repeat") and not paged:
            return False
        self.seen += 1
        most = table.get("times", 1 if self.kind in LASTING else None)
        if most is not None and self.done >= most:
            return False
        if not (self.seen <= self._burst or self._begins(since, seed)):
            return False
        self.done += 1
        return True

    def _begins(self, since: float, seed: int) -> bool:
        table, first = self.table, self.table.get("from", 1)
        if not first <= self.seen <= table.get("to", self.seen) or (self.seen - first) % table.get("every", 1):
            return False
        if not table.get("after", 0.0) <= since < table.get("before", float("inf")):
            return False
        chance = table.get("probability", 1.0)
        if chance < 1 and draw_uniform(seed, f"fault {self.number}", self.seen, 1)[0] >= chance:
            return False
        self._burst = self.seen + table.get("burst", 1) - 1
        return True

    def fault(self, platform: str) -> Fault:
        """Return what becomes of the answer that is struck, in the form of the platform."""
        table = self.table
        made: dict[str, Callable[[], Fault]] = {
            "too-many": lambda: Fault(
                "too_many",
                429,
                limited=table.get("headers", "spent") != "none",
                spent=table.get("headers", "spent") == "spent",
            ),
            "error": lambda: faults.make_error(platform, table.get("status", 503)),
            "html": lambda: faults.make_html_fault(table.get("status", 503)),
            "half": faults.make_half,
            "cut": faults.make_cut,
            "slow": lambda: faults.make_hang(table["seconds"]),
            "overlap": lambda: Fault("overlap", posts=table["posts"]),
            "repeat": lambda: Fault("repeat"),
        }
        return made[self.kind]()

    def report(self) -> dict[str, Any]:
        """Return the rule and its counts as plain values for JSON."""
        return {**self.table, "seen": self.seen, "done": self.done}


class Scenario:
    """Rules in their order; of several that strike one answer, the first decides.

    Args:
        tables: `seed` (a whole number, default 0) and `fault` (a list of rules).

    Raises:
        MockError: a key or value that cannot be.
    """

    def __init__(self, tables: Mapping[str, Any]) -> None:
        if wrong := sorted(set(tables) - {"seed", "fault"}):
            raise MockError(f"A scenario has no {wrong[0]!r}; give `seed` and tables [[fault]].")
        self.seed = tables.get("seed", 0)
        if not _is_whole(self.seed) or self.seed < 0:
            raise MockError(f"The seed of the scenario is {self.seed!r}; give a whole number from 0.")
        rules = tables.get("fault", [])
        if not isinstance(rules, Sequence) or not all(isinstance(rule, Mapping) for rule in rules):
            raise MockError("The faults of a scenario are a list of tables; begin each one with [[fault]].")
        self.troubles = [ScenarioRule(_check_rule(rule, number), number) for number, rule in enumerate(rules)]
        self.has_streams = any(trouble.kind in STREAMED for trouble in self.troubles)

    def strike(self, platform: str, endpoint: str, *, paged: bool, since: float) -> Iterator[ScenarioRule]:
        """Yield the rules that strike a request, which all count it.

        Args:
            platform: where it came.
            endpoint: the template that its path fits.
            paged: whether it asks for a later page of a list.
            since: seconds since the mock was started.
        """
        for trouble in self.troubles:
            if trouble.kind not in STREAMED and trouble.is_struck(
                platform, endpoint, paged=paged, since=since, seed=self.seed
            ):
                yield trouble

    def strike_message(self, platform: str, endpoint: str, *, since: float) -> ScenarioRule | None:
        """Return the first of the rules that strike a message of a stream, which all count it; None where none does.

        The arguments are those of `strike`.
        """
        rules = [trouble for trouble in self.troubles if trouble.kind in STREAMED]
        struck = [one for one in rules if one.is_struck(platform, endpoint, paged=False, since=since, seed=self.seed)]
        return struck[0] if struck else None

    def report(self) -> dict[str, Any]:
        """Return the rules with their counts as plain values for JSON."""
        return {"seed": self.seed, "fault": [trouble.report() for trouble in self.troubles]}


def read_scenario(path: Path) -> Scenario:
    """Return the scenario in a TOML file.

    Raises:
        MockError: the file is missing, is no TOML, or says something that cannot be.
    """
    try:
        tables = read_toml(path)
    except OSError as error:
        raise MockError(f"The scenario {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise MockError(f"The scenario {path} is not valid TOML: {error}.") from error
    try:
        return Scenario(tables)
    except MockError as error:
        raise MockError(f"{path}: {error}") from error


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_rule(rule: Mapping[str, Any], number: int) -> dict[str, Any]:
    place = f"Fault {number + 1}"
    kind = rule.get("kind")
    if kind not in KINDS:
        raise MockError(f"{place}: {explain_unknown('kind', kind, KINDS)}")
    needs, may = KINDS[kind]
    for key in needs:
        if key not in rule:
            raise MockError(f"{place} ({kind}) says nothing of `{key}`; give it.")
    for key, value in rule.items():
        if key not in ("kind", *needs, *may, *WHEN):
            raise MockError(f"{place} ({kind}) has no `{key}`; it may have {', '.join((*needs, *may, *WHEN))}.")
        _check_value(f"`{key}` of fault {number + 1} ({kind})", kind, key, value)
    if kind == "expire" and not set(may) & rule.keys():
        raise MockError(f"{place} (expire) says nothing of how long a cursor holds; give `seconds` or `requests`.")
    if kind == "delete" and len({"account", "post", "share"} & rule.keys()) != 1:
        raise MockError(f"{place} (delete) does not say what is deleted; give one of `account`, `post` and `share`.")
    if kind == "delete" and {"account", "seconds"} <= rule.keys():
        raise MockError(f"{place} (delete): `seconds` is for posts, and an account is deleted at once; leave it out.")
    if kind == "error" and rule.get("status", 503) < 500:
        raise MockError(f"`status` of fault {number + 1} (error) is {rule['status']}; give one from 500 to 599.")
    return dict(rule)


def _check_value(name: str, kind: str, key: str, value: Any) -> None:
    least: float
    if key in WHOLE:
        least, good, what = WHOLE[key], _is_whole(value), "a whole number"
    elif key in REAL:
        least = float("-inf") if kind == "skew" else REAL[key]
        good, what = (_is_whole(value) or isinstance(value, float)) and isfinite(value), "a number"
    else:
        if not isinstance(value, str) or not value:
            raise MockError(f"{name} is {value!r}; give a text.")
        if key == "headers" and value not in HEADERS:
            raise MockError(explain_unknown(name, value, HEADERS))
        return
    most = _MOST.get(key)
    if not good or value < least or (most is not None and value > most):
        bounds = "" if least == float("-inf") else f" from {least:g}" + ("" if most is None else f" to {most}")
        raise MockError(f"{name} is {value!r}; give {what}{bounds}.")
