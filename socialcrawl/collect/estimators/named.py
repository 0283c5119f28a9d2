"""Estimators by the names that campaign files and the command line use."""

from difflib import get_close_matches

from socialcrawl.collect.estimators.baseline import BreadthFirst, Random
from socialcrawl.collect.estimators.contract import Estimator
from socialcrawl.collect.estimators.hybrid import Hybrid
from socialcrawl.collect.estimators.linear import Linear
from socialcrawl.collect.estimators.neighbourhood import Neighbourhood
from socialcrawl.errors import SettingsError

H = ("sum", "avg", "max")
NAMES = (
    "random",
    "bfs",
    *(f"nh-{of}-{h}" for of in ("n", "e", "ne") for h in H),
    *(f"lnh-{h}" for h in H),
    *(f"hybrid-{h}" for h in H),
)
"""All estimators by name; `hybrid-H` starts as `nh-ne-H` unless another start is named."""


def check(name: str) -> str:
    """The name itself.

    Raises:
        ValueError: there is no estimator of that name; the message gives the nearest one and all of them.
    """
    if name not in NAMES:
        nearest = get_close_matches(name, NAMES, 1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"there is no estimator {name!r}.{hint} Known are: {', '.join(NAMES)}")
    return name


def named(name: str, *, seed: int, switch_after: int = 1000, start: str | None = None) -> Estimator:
    """The estimator called `name`, fresh.

    Args:
        name: one of NAMES.
        seed: the campaign's seed, for estimators that draw.
        switch_after: the steps after which a hybrid turns to its linear estimator.
        start: the name of the estimator that a hybrid starts with.

    Raises:
        SettingsError: the name is not known; the message gives the nearest one and all of them.
    """
    try:
        family, _, rest = check(name).partition("-")
    except ValueError as error:
        raise SettingsError(f"{error}.") from error
    if family == "random":
        return Random(seed)
    if family == "bfs":
        return BreadthFirst()
    if family == "nh":
        of, h = rest.split("-")
        return Neighbourhood(of, h)
    if family == "lnh":
        return Linear(rest)
    first = named(start or f"nh-ne-{rest}", seed=seed)
    return Hybrid(first, Linear(rest), switch_after)
