"""What each experiment compares, with the paper's set-ups (Gouriten et al., sections 4, 5.4 and 6.2).

A variant is written as words: a bare word is an estimator, `name=value` one of the other fields of `ReplaySetup`, as in
`hybrid-sum start=bfs switch_after=100`. All variants of an experiment crawl from the same sets of seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from socialcrawl.crawls.collect.estimators.registry import NAMES, OURS
from socialcrawl.errors import SettingsError
from socialcrawl.lab.simulation import ReplaySetup
from socialcrawl.text.wording import explain_unknown

SLOW = ("lnh-wide", "nr")
ESTIMATORS = tuple(name for name in NAMES if name not in (*OURS, *SLOW))
"""Every estimator of section 5 but Navigational Rank, which is too slow for all but short crawls."""

FIELDS = {one.name for one in fields(ReplaySetup)} - {"estimator", "budget", "seed", "objective"}


@dataclass(frozen=True)
class SeedDraw:
    """The sets of seeds: `sets` of `size` nodes each, drawn among those of value above `least`."""

    sets: int
    size: int
    least: float


@dataclass(frozen=True)
class Experiment:
    """One comparison.

    Attributes:
        title: what its figure shows.
        reference: the variant that the others are measured against, crawl by crawl.
        variants: the others.
        draw: the sets of seeds.
        steps: the budget of each crawl.
        base: what all variants have in common, as `ReplaySetup` names it.
        objective: sum | count.
    """

    title: str
    reference: str
    variants: tuple[str, ...]
    draw: SeedDraw
    steps: int
    base: Mapping[str, Any]
    objective: str = "sum"


RICH = SeedDraw(10, 1000, 1.5)
MANY = SeedDraw(100, 50, 0.0)
ORACLE: dict[str, Any] = {"estimator": "oracle"}
STEERED = ("bfs", "nh-n-sum", "nh-e-sum", "nh-ne-sum", "nh-ne-max", "lnh-sum", "lnh-max", "hybrid-sum", "opic")
STARTS = ("nh-n-sum", "nh-e-sum", "nh-ne-sum", "nh-ne-max", "nh-ne-avg", "bfs", "opic", "random")

EXPERIMENTS: Mapping[str, Experiment] = {
    "fig1": Experiment(
        "altered greedy against greedy, by the oracle",
        "strategy=greedy",
        tuple(f"q={q} zeta={zeta}" for q, zeta in product((0.5, 0.8, 0.95), (0.1, 0.5, 1.0))),
        RICH,
        5_000,
        ORACLE | {"strategy": "altered-greedy"},
    ),
    "fig2": Experiment(
        "refresh rates against 1, by the oracle",
        "refresh_rate=1",
        tuple(f"refresh_rate={rate}" for rate in (2, 10, 100, 500)),
        RICH,
        100_000,
        ORACLE,
    ),
    "fig3": Experiment(
        "value of the oracle's first choice less that of the estimator's, along the oracle's crawl",
        "oracle",
        ("nh-n-sum", "nh-e-sum", "nh-ne-sum", "nh-n-max", "nh-e-max", "nh-ne-max", "lnh-sum", "lnh-max", "bfs"),
        SeedDraw(10, 50, 0.0),
        100_000,
        {},
    ),
    "fig4": Experiment("estimators against the oracle, on graphs of mentions", "oracle", ESTIMATORS, MANY, 100_000, {}),
    "fig5": Experiment("estimators against the oracle, on graphs of pages", "oracle", ESTIMATORS, MANY, 100_000, {}),
    "count": Experiment(
        "estimators against the oracle, by the count of nodes", "oracle", ESTIMATORS, MANY, 100_000, {}, "count"
    ),
    "short": Experiment("estimators against the oracle, in very short crawls", "oracle", ESTIMATORS, MANY, 200, {}),
    "features": Experiment(
        "seven features against three", "oracle", ("lnh-sum", "lnh-max", "lnh-wide"), MANY, 100_000, {}
    ),
    "scorings": Experiment(
        "estimators against the oracle, under five functions of the counts", "oracle", STEERED, MANY, 100_000, {}
    ),
    "start": Experiment(
        "the start of the hybrid",
        "oracle",
        (
            "lnh-sum",
            *(f"hybrid-sum start={start}" for start in STARTS),
            *(f"hybrid-sum switch_after={after}" for after in (10, 30, 100, 300, 3000, 10_000)),
        ),
        MANY,
        100_000,
        {},
    ),
}
"""The crawls; tables 1 to 3 need none."""


def choose_experiment(
    name: str, variants: tuple[str, ...] = (), draw: SeedDraw | None = None, steps: int | None = None
) -> Experiment:
    """Return the experiment called `name`, with other variants, sets of seeds or steps where they are given."""
    paper = EXPERIMENTS[name]
    return replace(
        paper,
        variants=variants or paper.variants,
        draw=draw or paper.draw,
        steps=paper.steps if steps is None else steps,
    )


def parse_variant(experiment: Experiment, variant: str, budget: int, seed: int) -> ReplaySetup:
    """Return what a variant replays.

    Raises:
        SettingsError: a word of the variant is no field of `ReplaySetup`, or its value is none.
    """
    given: dict[str, Any] = dict(experiment.base)
    for word in variant.split():
        name, equals, value = word.partition("=")
        if not equals:
            given["estimator"] = word
        elif name in FIELDS:
            given[name] = _parse_value(name, value)
        else:
            raise SettingsError(f"{variant!r}: {explain_unknown('setting', name, sorted(FIELDS))}")
    if "estimator" not in given:
        raise SettingsError(f"{variant!r} names no estimator; write one, as in: nh-ne-sum {variant}")
    return ReplaySetup(budget=budget, seed=seed, **given)


def _parse_value(name: str, value: str) -> str | int | float:
    """Return the value of a field, of the field's type."""
    if name in ("strategy", "start"):
        return value
    try:
        return int(value) if name in ("refresh_rate", "switch_after") else float(value)
    except ValueError as error:
        raise SettingsError(f"{name}={value} is not a number; write one.") from error
