"""The names of the estimators, as settings and the command line use them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from socialcrawl.crawls.collect.estimators.adaptive import Adaptive
from socialcrawl.crawls.collect.estimators.added import AddedEstimator, find_estimator_fault, make_object
from socialcrawl.crawls.collect.estimators.base import Estimator
from socialcrawl.crawls.collect.estimators.baseline import BreadthFirst, RandomEstimator
from socialcrawl.crawls.collect.estimators.hybrid import Hybrid
from socialcrawl.crawls.collect.estimators.linear import Linear, list_first_order
from socialcrawl.crawls.collect.estimators.neighbourhood import Neighbourhood
from socialcrawl.crawls.collect.estimators.regressor import FEATURES, PREFIX, make_regressor
from socialcrawl.crawls.collect.estimators.subgraph import NavigationalRank, Opic
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import COLUMNS, LINKS
from socialcrawl.system.plugins import PluginGroup
from socialcrawl.text.wording import explain_unknown

H = ("sum", "avg", "max")
NAMES = (
    "adaptive",
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
USUAL = "adaptive"
"""The one that steers where a new campaign, or a demo, names none."""
HYBRID = "hybrid-sum"  # the default before
SHADOWS = ("bfs", HYBRID)
"""Those that look on where a new campaign names none."""
OURS = ("adaptive",)
"""Those of them that are not the paper's."""
PLAIN: Mapping[str, Callable[[], Estimator]] = {"adaptive": Adaptive, "bfs": BreadthFirst}
"""Those that nothing is said of but their name."""


ESTIMATORS = PluginGroup("socialcrawl.estimators", "estimator", NAMES, find_estimator_fault, by_path=True)
"""The estimators; another package adds a class with the methods of `Estimator`."""


def check(name: str, also: tuple[str, ...] = ()) -> str:
    """Return the name itself, if it is one of NAMES or `also`, that of a scikit-learn class, or one that is added.

    Nothing is imported: a class that is named as `module:Class` may not be there.

    Raises:
        ValueError: there is no estimator of that name; the message gives the nearest one and all of them.
    """
    if name not in (*NAMES, *also) and not name.startswith(PREFIX) and not ESTIMATORS.is_added(name):
        known = (
            *ESTIMATORS.list_names(),
            *also,
            f"{PREFIX}MODULE.CLASS (a regressor with partial_fit)",
            "MODULE:CLASS",
        )
        raise ValueError(explain_unknown("estimator", name, known))
    return name


def list_usual_shadows(estimator: str) -> list[str]:
    """Return who looks on where `estimator` steers and no shadows are named."""
    return [name for name in SHADOWS if name != estimator]


def takes_options(name: str) -> bool:
    """Return whether users can set arguments of the estimator `name`."""
    return name.startswith(PREFIX) or ESTIMATORS.is_added(name)


def check_start(name: str) -> str:
    """Return the name itself, if an estimator of that name can start a hybrid.

    Raises:
        ValueError: there is no such estimator, or it is a hybrid itself.
    """
    if check(name).startswith("hybrid-"):
        raise ValueError(f"a hybrid does not start with another one: choose another start than {name!r}.")
    return name


def explain_late_switch(name: str, steps: int | None, switch_after: int, start: str | None) -> str:
    """Return why a hybrid never learns within `steps` steps, as a clause; "" if it does or is no hybrid."""
    if not name.startswith("hybrid-") or steps is None or steps > switch_after:
        return ""
    first = start or name.replace("hybrid", "nh-ne")
    return (
        f"{name} chooses as {first} in all {steps:,} steps, because it switches after {switch_after:,} (switch_after)"
    )


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
        name: one of NAMES, the dotted name of a scikit-learn regressor with partial_fit, a name that another package
            adds, or `module:Class`.
        seed: the campaign's seed, for estimators that draw.
        switch_after: the steps after which a hybrid turns to its linear estimator.
        start: the name of the estimator that a hybrid starts with.
        nr_d: the weight of a node's own score in Navigational Rank, from 0.001 to 1.
        features: the columns that a scikit-learn regressor learns over.
        options: the arguments of the class of scikit-learn or of another package.

    Raises:
        SettingsError: the name is not known (the message gives the nearest one and all of them), nr_d is out of range,
            or the class of another package cannot be imported, is no estimator or does not take the options.
    """
    try:
        family, _, rest = check(name).partition("-")
        check_start(start or "bfs")
    except ValueError as error:
        raise SettingsError(str(error)) from error
    if name in PLAIN:
        return PLAIN[name]()
    if name.startswith(PREFIX):
        return make_regressor(name, seed=seed, features=features, options=options)
    if ESTIMATORS.is_added(name):
        return AddedEstimator(name, make_object(ESTIMATORS.load(name), f"the estimator {name!r}", seed, options or {}))
    match family:
        case "random":
            return RandomEstimator(seed)
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
