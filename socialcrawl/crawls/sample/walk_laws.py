"""Walks that other packages add, or that a person names as `module:Class`.

Every walk draws one of the d(u) neighbours of its node u, each alike. The built-in one goes there. Another one goes
there with a chance a(d(u), d(v)), and else stays, which is a draw at u too. The neighbour is read first, as its degree
is not known before. If for all degrees

    pi(x) a(x, y) / x = pi(y) a(y, x) / y          (Hastings: Monte Carlo sampling methods, Biometrika 57, 1970)

then draws at a node of degree x are in proportion to pi(x) in the long run, and with weights 1 / pi(x) all nodes count
equally. The built-in walk has a = 1 and weights 1/x.
"""

from contextlib import suppress
from itertools import combinations
from math import isclose, isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.added import call_guarded, find_class_fault, make_object
from socialcrawl.errors import PluginError, SocialcrawlError
from socialcrawl.system.plugins import PluginGroup
from socialcrawl.text.wording import explain_unknown

Floats = NDArray[np.float64]

BUILT_IN = "max-degree"
"""The walk of Bar-Yossef, Kanungo and Krauthgamer: uniform by loops that fill all degrees up to D."""
METHODS = {"accept": ("degree", "proposed"), "weigh": ("degree",)}
"""The methods of a walk and their arguments."""
PLAIN = {"exact": False, "crude": False, "weights": "degree", "consistency": "symmetric", "corrected": True}
"""Settings of the built-in walk that others do not have, as they have to be."""

DEGREES = (
    *range(1, 13), *(13, 14, 16, 19, 23, 28, 34, 41, 49, 58, 68, 80, 98, 99, 100, 101, 128, 200, 317, 500),
    *(1_000, 2_048, 5_000, 10_000, 12_345, 10**6),
)  # fmt: skip
"""The degrees for which the equation of a walk is computed before anything is read."""


class WalkLaw(Protocol):
    """What makes a walk: which of the neighbours that are drawn it goes to, and what its draws weigh.

    Attributes:
        paper: where it is described, for reports; may be left out.
    """

    paper: str

    def accept(self, degree: int, proposed: int) -> float:
        """Return the chance, above 0 and at most 1, of going from a node to a neighbour that was drawn.

        Args:
            degree: how many neighbours the node has.
            proposed: how many the neighbour has.
        """

    def weigh(self, degree: int) -> float:
        """Return the weight, above 0, of a draw at a node with this many neighbours."""


def find_walk_fault(_name: str, found: Any) -> str:
    """Return what is wrong with the class of a walk, as a predicate; "": nothing."""
    faults = (find_class_fault(found, {name: given, **METHODS}) for name, given in METHODS.items())
    return next((fault for fault in faults if fault), "")


WALKS = PluginGroup("socialcrawl.walks", "walk", (BUILT_IN,), find_walk_fault, by_path=True)
"""The walks; another package adds a class with the methods of `WalkLaw`."""


def check_walk(name: str) -> str:
    """Return the name itself, if it is the built-in walk, or one that is added. Imports nothing.

    Raises:
        ValueError: there is no walk of that name; the message gives the nearest one and all of them.
    """
    if name != BUILT_IN and not WALKS.is_added(name):
        known = explain_unknown("walk", name, (*WALKS.list_names(), "MODULE:CLASS"))
        raise ValueError(f"{known} If a package adds it, install that; `socialcrawl plugins` lists what is installed.")
    return name


def find_conflict(rules: Any) -> str:
    """Return why the walk of some rules, or of a section, cannot be had with its other settings; "": it can."""
    if rules.walk == BUILT_IN:
        return ""
    if rules.focus == "trial":
        return f'focus = "trial" is for walk = "{BUILT_IN}" only: choose another focus'
    changed = next((key for key, usual in PLAIN.items() if getattr(rules, key) != usual), "")
    return f'{changed} is for walk = "{BUILT_IN}" only: remove it' if changed else ""


class AddedWalk:
    """A walk of another package: what it returns is checked, and what it raises becomes one sentence.

    Args:
        name: what campaign files call it.
        made: the object.

    Attributes:
        paper: where it is described; "" where it does not say so.
    """

    def __init__(self, name: str, made: Any) -> None:
        self.made, self.what = made, f"the walk {name!r}"
        self.paper = str(getattr(made, "paper", ""))

    def accept(self, degree: int, proposed: int) -> float:
        """Return the chance of going to a neighbour.

        Raises:
            PluginError: it is none above 0, or the other walk raises.
        """
        return self._check("accept", call_guarded(self.what, "accept", self.made.accept, degree, proposed), 1.0)

    def weigh_all(self, degrees: Floats) -> Floats:
        """Return the weights of draws at nodes with these degrees.

        Raises:
            PluginError: one is not above 0, or the other walk raises.
        """
        different, places = np.unique(degrees.astype(np.int64), return_inverse=True)
        return np.array([self._weigh(one) for one in different.tolist()], np.float64)[places]

    def accept_all(self, degrees: Floats, proposed: Floats) -> Floats:
        """Return the chances of going from nodes to neighbours with these degrees; errors as of `accept`."""
        pairs, places = np.unique(np.stack([degrees, proposed]).astype(np.int64), axis=1, return_inverse=True)
        return np.array([self.accept(one, other) for one, other in pairs.T.tolist()], np.float64)[places.ravel()]

    def find_imbalance(self) -> str:
        """Return for which of DEGREES its draws, so weighted, do not count nodes equally, as a sentence; "": for none.

        Raises:
            PluginError: as of `accept`.
        """
        weights = {degree: self._weigh(degree) for degree in DEGREES}
        for x, y in combinations(DEGREES, 2):
            there, back = self.accept(x, y) / (x * weights[x]), self.accept(y, x) / (y * weights[y])
            if not isclose(there, back, rel_tol=1e-9):
                return (
                    f"accept(x, y) / (x weigh(x)) is {there:g} for degrees {x} and {y}, and {back:g} the other way "
                    "round. They need to be equal, or accounts do not count equally"
                )
        return ""

    def _weigh(self, degree: int) -> float:
        return self._check("weigh", call_guarded(self.what, "weigh", self.made.weigh, degree))

    def _check(self, method: str, given: Any, most: float = np.inf) -> float:
        try:
            number = float(given)
        except (TypeError, ValueError):
            number = np.nan
        if not isfinite(number) or not 0.0 < number <= most:
            wanted = "a number above 0" if most > 1.0 else "a chance above 0 and at most 1"
            raise PluginError(f"{self.what} returned from {method} {given!r}, where {wanted} is needed.")
        return number


def weigh_links(law: AddedWalk, links: Any, degrees: Floats) -> tuple[Any, Floats]:
    """Return how often, in the long run, a walk takes each link, and how often it is at each node.

    Both are multiples of the same unit: of the share of the node where it is least often.

    Args:
        law: of the walk.
        links: [n, n], scipy CSR, symmetric: how many links join two nodes.
        degrees: float64[n], how many neighbours nodes have, those that are not in `links` included.
    """
    shares = 1.0 / law.weigh_all(degrees)
    shares /= shares.min(initial=np.inf)
    found = links.tocoo()
    chances = law.accept_all(degrees[found.row], degrees[found.col]) / degrees[found.row]
    found.data = found.data * shares[found.row] * chances
    taken = found.tocsr()
    return taken.maximum(taken.T), shares


def make_walk(name: str, seed: int = 0) -> AddedWalk | None:
    """Return the walk called `name`; None: the built-in one.

    Args:
        name: a name that another package adds, or `module:Class`.
        seed: passed on to a constructor that takes one.

    Raises:
        SettingsError: nothing adds it, it cannot be imported, is no walk or cannot be made.
        PluginError: its numbers are no chances or weights, or accounts would not count equally.
    """
    if name == BUILT_IN:
        return None
    made = AddedWalk(name, make_object(WALKS.load(name), f"the walk {name!r}", seed, {}))
    if fault := made.find_imbalance():
        raise PluginError(f"{made.what}: {fault}.")
    return made


def describe_walk(name: str) -> str:
    """Return which walk of another package was used, with its package and its paper as far as these are installed."""
    package = WALKS.describe_package(name)
    source = f"package {package}, as installed when this was written" if package else "our own code: add its source"
    paper = ""
    with suppress(SocialcrawlError):  # a report can be written where the package is not installed
        paper = getattr(make_walk(name), "paper", "")
    return f"{name} ({source}{'; ' if paper else ''}{paper})"
