"""What a verification finds: how much each check proved, what it could not prove and why, and what differs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isclose, isnan
from typing import Any

ACCOUNT = "account"  # the column of differences whose values are numbers of accounts
SHOWN = 10  # differences of a check that are told one by one
MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)  # what rows raise that no campaign has stored
CLOSE = 1e-9  # relative: what processors and libraries may differ in the last digits of a logarithm


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """A stored value that is not the one that was recomputed.

    Attributes:
        place: where it is stored, such as "pick 12" or "request 40".
        column: which value of it.
        stored: what is stored.
        recomputed: what follows from everything else.
    """

    place: str
    column: str
    stored: Any
    recomputed: Any


@dataclass(slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: what, in a few words.
        proved: how many items agree.
        unproved: how many items could not be checked, by why.
        differing: how many values differ.
        differences: the first of them, at most SHOWN.
    """

    name: str
    proved: int = 0
    unproved: Counter[str] = field(default_factory=Counter)
    differing: int = 0
    differences: list[ValueDifference] = field(default_factory=list)

    def prove(self, items: int = 1) -> None:
        """Count items that agree."""
        self.proved += items

    def leave(self, why: str, items: int = 1) -> None:
        """Count items that cannot be checked, and why."""
        if items:
            self.unproved[why] += items

    def differ(self, place: str, column: str, stored: Any, recomputed: Any) -> None:
        """Note a value that differs."""
        self.differing += 1
        if len(self.differences) < SHOWN:
            self.differences.append(ValueDifference(place, column, stored, recomputed))

    def compare(self, place: str, column: str, stored: Any, recomputed: Any) -> bool:
        """Return whether a stored value is the recomputed one; note it if it is not."""
        if is_equal(stored, recomputed):
            return True
        self.differ(place, column, stored, recomputed)
        return False


@dataclass(frozen=True, slots=True)
class CheckResults:
    """The checks of one campaign, or of what all campaigns of a database share (`campaign` None).

    Attributes:
        campaign: its name.
        about: its kind, platform and cost.
        checks: what was checked.
        runs_added: whether an estimator or strategy that is not built in made decisions.
        missing: of each file of the campaign that is missing or has changed, a sentence that says so.
    """

    campaign: str | None
    about: str
    checks: Sequence[Check]
    runs_added: bool = False
    missing: Sequence[str] = ()

    @property
    def differing(self) -> int:
        """How many values differ."""
        return sum(check.differing for check in self.checks)


def is_equal(stored: Any, recomputed: Any) -> bool:
    """Return whether two values are the same: numbers up to the last digits, in which processors may differ."""
    if isinstance(stored, float) and isinstance(recomputed, float | int):
        other = float(recomputed)
        return isclose(stored, other, rel_tol=CLOSE, abs_tol=1e-12) or (isnan(stored) and isnan(other))
    return bool(stored == recomputed)
