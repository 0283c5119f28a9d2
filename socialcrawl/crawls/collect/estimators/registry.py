"""The names of the estimators, as settings and the command line use them."""

from collections.abc import Mapping, Sequence
from typing import Any

from socialcrawl.crawls.collect.estimators.base import Estimator
from socialcrawl.crawls.collect.estimators.baseline import BreadthFirst, RandomEstimator
from socialcrawl.crawls.collect.estimators.hybrid import Hybrid
from socialcrawl.crawls.collect.estimators.linear import Linear, list_first_order
from socialcrawl.crawls.collect.estimators.neighbourhood import Neighbourhood
from socialcrawl.crawls.collect.estimators.regressor import FEATURES, PREFIX, make_regressor
from socialcrawl.crawls.collect.estimators.subgraph import NavigationalRank, Opic
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import COLUMNS, LINKS
from socialcrawl.text.wording import explain_unknown

H = ("sum", "avg", "max")
NAMES = (
    "random",
    "bfs",
    *(f"nh-{of}-{h}" for of in ("n", "e", "ne") for h in H),
    *(f"lnh-{h}" for h in H),
    "lnh-wide",
    *(f"hybrid-{h}" for h in H),
    "opic",
    *(f"opic-{by}" for by in ("e", "n", "ne")),
    "nr",
)
"""All estimators by name; `hybrid-H` starts as `nh-ne-H` unless another start is named."""


def check(name: str, also: tuple[str, ...] = ()) -> str:
    """Return the name itself, if it is one of NAMES or `also`, or that of a scikit-learn class.

    Raises:
        ValueError: there is no estimator of that name; the message gives the nearest one and all of them.
    """
    if name not in (*NAMES, *also) and not name.startswith(PREFIX):
        known = (*NAMES, *also, f"{PREFIX}MODULE.CLASS (a regressor with partial_fit)")
        raise ValueError(explain_unknown("estimator", name, known))
    return name


def check_start(name: str) -> str:
    """Return the name itself, if an estimator of that name can start a hybrid.

    Raises:
        ValueError: there is no such estimator, or it is a hybrid itself.
    """
    if check(name).startswith("hybrid-"):
        raise ValueError(f"a hybrid does not start with another one: choose another start than {name!r}.")
    return name


def make_estimator(
    name: str,
    *,
    seed: int,
    switch_after: int = 1000,
    start: str | None = None,
    nr_d: float = 0.5,
    features: Sequence[str] = FEATURES,
    options: Mapping[str, Any] | None = None,
) -> Estimator:
    """Return the estimator called `name`, fresh.

    Args:
        name: one of NAMES, or the dotted name of a scikit-learn regressor with partial_fit.
        seed: the campaign's seed, for estimators that draw.
        switch_after: the steps after which a hybrid turns to its linear estimator.
        start: the name of the estimator that a hybrid starts with.
        nr_d: the weight of a node's own score in Navigational Rank, from 0.001 to 1.
        features: the columns that a scikit-learn regressor learns over.
        options: the arguments of its class.

    Raises:
        SettingsError: the name is not known (the message gives the nearest one and all of them), or nr_d out of range.
    """
    try:
        family, _, rest = check(name).partition("-")
        check_start(start or "bfs")
    except ValueError as error:
        raise SettingsError(str(error)) from error
    if name.startswith(PREFIX):
        return make_regressor(name, seed=seed, features=features, options=options)
    match family:
        case "random":
            return RandomEstimator(seed)
        case "bfs":
            return BreadthFirst()
        case "nh":
            return Neighbourhood(*rest.split("-"))
        case "opic":
            return Opic(rest)
        case "nr":
            return NavigationalRank(nr_d)
        case "lnh":
            return Linear(COLUMNS[LINKS:] if rest == "wide" else list_first_order(rest))
    first = make_estimator(start or f"nh-ne-{rest}", seed=seed, nr_d=nr_d)
    return Hybrid(first, Linear(list_first_order(rest)), switch_after)
