"""Which estimator would have guessed best so far: that which steered, and its shadows, over the same picks.

Judged are picks that all of them scored and that were answered, in groups of `GROUP` or more that were made in a row.
Scores grow with what is known, and the most relevant accounts are found first: so a score is compared with those of
the same group only, or any score that grows would look worse than chance. Two measures, both of the order only, as a
pick is all that a score decides:

- *rank correlation*: Spearman's, of score and value; 1 where the higher score always had the higher value.
- *regret*: let an estimator put the m picks of a group in its order, best first; c_i is the value found after i of
  them, b_i that of the best order there is. Regret is 1 - (sum of all c_i) / (sum of all b_i) over all groups: 0 where
  no order finds more sooner. Of equal scores any order is as likely, so each of them counts as their mean.

Groups are independent enough for Student's interval of how much lower the regret of one estimator is. It judges the
order of accounts that the steering estimator chose, and says nothing of those that it passed over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from socialcrawl.engine.model import FIRST_READS, Outcome
from socialcrawl.engine.protocols import Batch
from socialcrawl.forecast.intervals import CONFIDENCE, Interval, estimate_mean
from socialcrawl.storage.versions import find_comparable_start
from socialcrawl.system.garbage_collection import pause_garbage_collection

Floats = NDArray[np.float64]

GROUP = 50  # picks in a row that are compared with each other
LEAST = 5  # groups from which on an interval is shown


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPicks:
    """m answered picks of the frontier that all k estimators scored, as columns in order of n.

    Attributes:
        names: the estimators: first that which steered ("" where nobody says which), then its shadows.
        scores: float64[k, m].
        value: float64[m], what each pick turned out to be worth.
    """

    names: tuple[str, ...]
    scores: Floats
    value: Floats


@dataclass(frozen=True, slots=True)
class EstimatorRank:
    """How well one estimator guessed.

    Attributes:
        estimator: its name.
        steered: whether it made the picks; else it is a shadow.
        correlation: Spearman's rank correlation of score and value; None where one of them is always the same.
        regret: from 0 (perfect) to below 1; None without picks.
        than_chance: how much lower its regret is than that of an order by chance (n counts groups); above 0 is better.
            None: there are fewer groups than `LEAST`.
        than_steered: how much lower it is than that of the estimator that steered; None for that one, too.

    Both intervals are Bonferroni's: that all of one kind hold what they estimate has 95 %.
    """

    estimator: str
    steered: bool
    correlation: float | None
    regret: float | None
    than_chance: Interval | None = None
    than_steered: Interval | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """All estimators over the same `picks`, best first; `chance` is the mean regret of orders that are drawn."""

    picks: int
    chance: float | None
    estimators: tuple[EstimatorRank, ...]


def judge_estimators(found: ScoredPicks) -> Judgement:
    """Judge how well each estimator guessed, in order of regret, then rank correlation, then their given order.

    Picks of which one of them said nothing that is a number are left out.
    """
    said = ~np.isnan(found.scores).any(axis=0)
    scores, value = found.scores[:, said], found.value[said]
    areas, best = np.array([_compute_areas(score, value) for score in scores]), _compute_areas(value, value)
    chance = _compute_areas(np.zeros(len(value)), value)
    each = [
        EstimatorRank(
            name,
            place == 0,
            compute_rank_correlation(score, value),
            compute_regret(score, value),
            _estimate_gain(areas[place] - chance, best, len(scores)),
            _estimate_gain(areas[place] - areas[0], best, len(scores) - 1) if place else None,
        )
        for place, (name, score) in enumerate(zip(found.names, scores, strict=True))
    ]
    return Judgement(len(value), compute_regret(np.zeros(len(value)), value), tuple(sorted(each, key=_make_sort_key)))


def compute_rank_correlation(score: Floats, value: Floats) -> float | None:
    """Return Spearman's rank correlation of m scores and values, from -1 to 1; ties have the mean of their ranks.

    Ranks are those in the groups. None where no group has different scores, or values: nothing was put in an order.
    """
    x, y = (np.concatenate([_compute_ranks(group) for group in _group_numbers(numbers)]) for numbers in (score, value))
    if not x.any() or not y.any():
        return None
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def compute_regret(score: Floats, value: Floats) -> float | None:
    """Return what the order of m scores finds later than the best order of the values (>= 0) would: from 0 to below 1.

    None without picks; 0 where nothing was to be found.
    """
    if not len(value):
        return None
    found, best = _compute_areas(score, value).sum(), _compute_areas(value, value).sum()
    return max(0.0, 1.0 - float(found / best)) if best > 0 else 0.0


def collect_scores(
    history: Sequence[tuple[Batch, Sequence[Outcome]]], shadows: Mapping[int, Mapping[str, float]]
) -> ScoredPicks | None:
    """Return what the estimators thought of the picks of a history; `shadows` are scores by pick.n and name.

    The shadows are those of the last scores. None: there never were any.
    """
    if not shadows:
        return None
    names = sorted(shadows[max(shadows)])
    scores = [
        (pick.score, *(shadows[pick.n][name] for name in names), outcome.value)
        for batch, outcomes in history
        for pick, outcome in zip(batch, outcomes, strict=True)
        if pick.act in FIRST_READS and outcome.missing is None and shadows.get(pick.n, {}).keys() >= set(names)
    ]
    columns = np.array(scores, np.float64).reshape(-1, 2 + len(names)).T
    return ScoredPicks(("", *names), columns[:-1], columns[-1])


def _group_numbers(numbers: Floats) -> list[Floats]:
    """Return the numbers in groups of `GROUP` or some more, of nearly equal size; one group where there are fewer."""
    return np.array_split(numbers, max(1, len(numbers) // GROUP))


def _compute_areas(score: Floats, value: Floats) -> Floats:
    """Return the value found after each pick, summed, by the order of the scores: float64, one for each group."""
    return np.array([_compute_area(*pair) for pair in zip(_group_numbers(score), _group_numbers(value), strict=True)])


def _compute_area(score: Floats, value: Floats) -> float:
    _, place, many = np.unique(-score, return_inverse=True, return_counts=True)
    return float(np.cumsum(np.repeat(np.bincount(place, value) / many, many)).sum())


def _estimate_gain(more: Floats, best: Floats, comparisons: int) -> Interval | None:
    """Return how much lower a regret is that finds `more` in each group, of which `best` were to be found."""
    if len(more) < LEAST or not best.any():
        return None
    return estimate_mean(more / best.mean(), 1.0 - (1.0 - CONFIDENCE) / comparisons)


def _compute_ranks(numbers: Floats) -> Floats:
    """Return the ranks around their mean, equals with the mean of theirs."""
    _, place, many = np.unique(numbers, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(many) - (many + len(numbers)) / 2.0)[place]
    return ranks


def _make_sort_key(one: EstimatorRank) -> tuple[float, float]:
    regret_ = np.inf if one.regret is None else one.regret
    return regret_, np.inf if one.correlation is None else -one.correlation


NUMBER = "select id from campaign where name = :name"
SETTINGS = """
select settings from (
  select settings, number from version where campaign = :campaign
  union all select settings, -1 from campaign where id = :campaign) as known order by number desc limit 1
"""
LAST = """
select estimator from shadow
where campaign = :campaign and n = (select max(n) from shadow where campaign = :campaign) order by estimator
"""
# The shadows lead, in the order of their key: there may be a million picks from before they were named. (SQLite takes
# the tables of a cross join in this order.)
SCORED = """
select p.score, {scores}, o.value
from shadow s0 cross join outcome o cross join pick p {joined}
where s0.campaign = :campaign and s0.n >= :since and s0.estimator = :name0
  and o.campaign = :campaign and o.n = s0.n and o.missing is null
  and p.campaign = :campaign and p.n = s0.n and p.act in ('expand', 'match'){where}
order by s0.n
"""
JOINED = "cross join shadow s{0} "
WHERE = "\n  and s{0}.campaign = :campaign and s{0}.n = s0.n and s{0}.estimator = :name{0}"


def judge_shadows(connection: Connection, name: str) -> Judgement | None:
    """Return how well the estimators of the campaign `name` guessed so far; None where there are no shadows."""
    found = read_scores(connection, name)
    return None if found is None else judge_estimators(found)


def read_scores(connection: Connection, name: str) -> ScoredPicks | None:
    """Return the scores of the answered picks of the campaign `name`, of one topic and one way to crawl.

    The estimators are that which steers and the shadows of the last scores. None: there never were shadows.
    """
    with connection.begin():
        number = connection.execute(text(NUMBER), {"name": name}).scalar()
        if number is None:
            return None
        names = connection.execute(text(LAST), {"campaign": number}).scalars().all()
        if not names:
            return None
        steering = orjson.loads(connection.execute(text(SETTINGS), {"campaign": number}).scalar_one())
        columns = _read_columns(connection, number, names, find_comparable_start(connection, number))
    return ScoredPicks((steering.get("crawl", {}).get("estimator", ""), *names), columns[:-1], columns[-1])


def _read_columns(connection: Connection, campaign: int, names: Sequence[str], since: int) -> NDArray[np.float64]:
    """Return float64[2 + len(names), m]: the score of the pick, those by `names`, and the value found."""
    places = range(len(names))
    sql = SCORED.format(
        scores=", ".join(f"s{place}.score" for place in places),
        joined="".join(JOINED.format(place) for place in places[1:]),
        where="".join(WHERE.format(place) for place in places[1:]),
    )
    given = {f"name{place}": name for place, name in enumerate(names)}
    with (
        pause_garbage_collection(),
        connection.execute(text(sql), {"campaign": campaign, "since": since, **given}) as result,
    ):
        rows: Any = result.cursor  # the driver's own: as SQLAlchemy's, rows would take twice as long
        numbers = np.fromiter(chain.from_iterable(rows), np.float64)
    return numbers.reshape(-1, 2 + len(names)).T
