"""Which estimator would have guessed best so far: that which steered, and those that looked on, over the same picks.

Judged are picks that all of them scored and that were answered. Two measures, both of the order only, as a pick is all
that a score decides:

- *rank correlation*: Spearman's, of score and value; 1 where the higher score always had the higher value.
- *regret*: let an estimator put the m picks in its order, best first; c_i is the value found after i of them, b_i that
  of the best order there is. Regret is 1 - (c_1 + ... + c_m) / (b_1 + ... + b_m): 0 where no order finds more sooner.
  Of equal scores any order is as likely, so each of them counts as their mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.model import Outcome
from socialcrawl.protocols import Batch

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """m answered picks of the frontier that all k estimators scored, as columns in order of n.

    Attributes:
        names: the estimators: first that which steered ("" where nobody says which), then those that looked on.
        scores: float64[k, m].
        value: float64[m], what each pick turned out to be worth.
    """

    names: tuple[str, ...]
    scores: Floats
    value: Floats


@dataclass(frozen=True, slots=True)
class Judged:
    """How well one estimator guessed.

    Attributes:
        estimator: its name.
        steered: whether it made the picks; else it looked on.
        correlation: Spearman's rank correlation of score and value; None where one of them is always the same.
        regret: from 0 (perfect) to below 1; None without picks.
    """

    estimator: str
    steered: bool
    correlation: float | None
    regret: float | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """All estimators over the same `picks`, best first; `chance` is the regret of an order that is drawn."""

    picks: int
    chance: float | None
    estimators: tuple[Judged, ...]


def judged(found: Scored) -> Judgement:
    """How well each of the estimators guessed: by regret, then rank correlation, then in the order in which they are.

    Picks of which one of them said nothing that is a number are left out.
    """
    said = ~np.isnan(found.scores).any(axis=0)
    scores, value = found.scores[:, said], found.value[said]
    each = [
        Judged(name, place == 0, rank_correlation(score, value), regret(score, value))
        for place, (name, score) in enumerate(zip(found.names, scores, strict=True))
    ]
    return Judgement(len(value), regret(np.zeros(len(value)), value), tuple(sorted(each, key=_worse)))


def rank_correlation(score: Floats, value: Floats) -> float | None:
    """Spearman's rank correlation of m scores and values, from -1 to 1; equals have the mean of their ranks.

    None where all scores, or all values, are equal: nothing was put in an order then.
    """
    if not len(value) or (score == score[0]).all() or (value == value[0]).all():
        return None
    middle = (len(value) - 1) / 2.0
    x, y = _ranks(score) - middle, _ranks(value) - middle
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def regret(score: Floats, value: Floats) -> float | None:
    """What the order of m scores finds later than the best order of the values (>= 0) would: from 0 to below 1.

    None without picks; 0 where nothing was to be found.
    """
    if not len(value):
        return None
    _, place, many = np.unique(-score, return_inverse=True, return_counts=True)
    found = np.cumsum(np.repeat(np.bincount(place, value) / many, many)).sum()
    best = np.cumsum(np.sort(value)[::-1]).sum()
    return max(0.0, 1.0 - float(found / best)) if best > 0 else 0.0


def scored_of(
    history: Sequence[tuple[Batch, Sequence[Outcome]]], shadows: Mapping[int, Mapping[str, float]]
) -> Scored | None:
    """What the estimators thought of the picks of a history; `shadows` are scores by pick.n and name.

    Asked about are those who looked on last. None: nobody ever did.
    """
    if not shadows:
        return None
    names = sorted(shadows[max(shadows)])
    told = [
        (pick.score, *(shadows[pick.n][name] for name in names), outcome.value)
        for batch, outcomes in history
        for pick, outcome in zip(batch, outcomes, strict=True)
        if pick.act == "expand" and outcome.missing is None and shadows.get(pick.n, {}).keys() >= set(names)
    ]
    columns = np.array(told, np.float64).reshape(-1, 2 + len(names)).T
    return Scored(("", *names), columns[:-1], columns[-1])


def _ranks(numbers: Floats) -> Floats:
    """The ranks from 0, equals with the mean of theirs."""
    _, place, many = np.unique(numbers, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(many) - (many + 1) / 2.0)[place]
    return ranks


def _worse(one: Judged) -> tuple[float, float]:
    regret_ = np.inf if one.regret is None else one.regret
    return regret_, np.inf if one.correlation is None else -one.correlation
