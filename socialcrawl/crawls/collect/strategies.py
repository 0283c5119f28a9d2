"""Strategies: which of the scored frontier nodes are picked (Gouriten et al., section 4), and steps for comparison.

Among accounts that an estimator chose, nothing shows what it passed over. So a coin, keyed by seed and step, gives a
share of the steps to two control groups of equal size: accounts drawn from the whole frontier (chance), and accounts
drawn from those of it that are nearest to the seeds (what a breadth-first crawl reads). As the coin knows nothing of
the accounts, the difference between the groups is what choosing them gained.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.added import call_guarded, find_class_fault, make_object, replace_undefined
from socialcrawl.engine.draws import NEAREST, STEERED, assign_arms, draw_chance, draw_uniform
from socialcrawl.errors import PluginError, SettingsError
from socialcrawl.system.plugins import PluginGroup
from socialcrawl.text.wording import explain_unknown

Scored = tuple[NDArray[np.int64], NDArray[np.float64]]


class Ranked(Protocol):
    """A frontier with its scores; what a strategy chooses from."""

    def find_best(self, size: int, n: int) -> Scored:
        """Return the `size` best rows after `n` steps, best first, and their scores."""

    def list_all(self, n: int) -> Scored:
        """Return all rows in order of discovery, and their scores after `n` steps."""

    def get_depth(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the shortest known distance of `rows` from the seeds, float64."""

    def is_open(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each of `rows` is in the frontier."""


class Strategy(Protocol):
    """A way to choose the next picks."""

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the rows of the next `size` picks, in order, and their scores, after `n` steps. Changes nothing."""


class Greedy:
    """The best estimated nodes (Definition 7)."""

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the `size` best, best first; of equals the one discovered first."""
        return frontier.find_best(size, n)


class AlteredGreedy:
    """With probability q the best; else a uniform draw among the nodes near the best (Definition 8).

    Near is max - b(v) <= zeta * max, the best included. Where max is negative, as a regression can say, nothing is:
    the best is taken. The picks of a batch are drawn one after the other, each from what the others left.

    Args:
        q: a probability.
        zeta: a number >= 0.
        seed: the campaign's; the draws of a pick are keyed by (seed, steps before it).

    Raises:
        SettingsError: q or zeta is out of range.
    """

    def __init__(self, q: float, zeta: float, seed: int) -> None:
        if not (0 <= q <= 1 and 0 <= zeta < np.inf):
            wrong = f"q = {q} has to be a probability, zeta = {zeta} a number from 0 on"
            raise SettingsError(f"altered greedy: {wrong}.")
        self.q, self.zeta, self.seed = q, zeta, seed

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the rows of the next `size` picks, in order, and their scores."""
        draws = [draw_uniform(self.seed, "altered greedy", n + i, 2) for i in range(size)]
        if all(coin < self.q for coin, _ in draws):
            return frontier.find_best(size, n)
        rows, scores = frontier.list_all(n)
        picked: list[int] = []
        left = np.arange(len(rows))
        for coin, place in draws[: len(rows)]:
            best = int(scores[left].argmax())
            most = scores[left[best]]
            with np.errstate(over="ignore"):
                near = np.flatnonzero(most - scores[left] <= self.zeta * most)
            chosen = best if coin < self.q or most < 0 else int(near[int(place * len(near))])
            picked.append(int(left[chosen]))
            left = np.delete(left, chosen)
        return rows[picked], scores[picked]


class Proportional:
    """A draw with probabilities proportional to the scores.

    A negative score counts as 0; where no score is positive, the draw is uniform. The picks of a batch are drawn one
    after the other, each from what the others left.

    Args:
        seed: the campaign's; the draw of a pick is keyed by (seed, steps before it).
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the rows of the next `size` picks, in order, and their scores."""
        rows, scores = frontier.list_all(n)
        picked: list[int] = []
        left = np.arange(len(rows))
        for i in range(min(size, len(rows))):
            draw = float(draw_uniform(self.seed, "proportional", n + i, 1)[0])
            chosen = _find_share(np.maximum(scores[left], 0.0), draw)
            picked.append(int(left[chosen]))
            left = np.delete(left, chosen)
        return rows[picked], scores[picked]


class AddedStrategy:
    """A strategy of another package: what it returns is checked, and what it raises becomes one sentence.

    Args:
        name: what campaign files call it.
        made: the object.
    """

    def __init__(self, name: str, made: Any) -> None:
        self.name, self.made = name, made

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the rows of the next `size` picks, in order, and their scores.

        Raises:
            PluginError: the other strategy raises, or returns anything but rows of the frontier, each once.
        """
        what = f"the strategy {self.name!r}"
        found = call_guarded(what, "pick", self.made.pick, frontier, size, n)
        try:
            rows, scores = np.asarray(found[0]), np.asarray(found[1], np.float64)
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise PluginError(f"{what} returned from pick a {type(found).__name__}, not (rows, scores).") from error
        if rows.ndim == 1 and (not 0 < len(rows) <= size or len(np.unique(rows)) < len(rows)):
            raise PluginError(f"{what} returned {len(rows)} rows from pick: needed are 1 to {size}, each once.")
        if rows.dtype.kind not in "iu" or rows.ndim != 1 or rows.shape != scores.shape:
            raise PluginError(
                f"{what} returned from pick rows and scores that are not one integer and one number each."
            )
        if not frontier.is_open(rows).all():
            raise PluginError(f"{what} returned a row from pick that is not in the frontier.")
        return rows.astype(np.int64), replace_undefined(scores)


def find_strategy_fault(_name: str, found: Any) -> str:
    """Return what is wrong with the class of a strategy, as a predicate; "": nothing."""
    return find_class_fault(found, {"pick": ("frontier", "size", "n")})


STRATEGIES = ("greedy", "altered-greedy", "proportional")
"""All strategies by name."""


ADDED = PluginGroup("socialcrawl.strategies", "strategy", STRATEGIES, find_strategy_fault, by_path=True)
"""The strategies; another package adds a class with the methods of `Strategy`."""


def check_strategy(name: str) -> str:
    """Return the name itself, if it is one of STRATEGIES, or one that is added. Imports nothing.

    Raises:
        ValueError: there is no strategy of that name; the message gives the nearest one and all of them.
    """
    if name not in STRATEGIES and not ADDED.is_added(name):
        raise ValueError(explain_unknown("strategy", name, (*ADDED.list_names(), "MODULE:CLASS")))
    return name


def make_strategy(
    name: str, *, seed: int, q: float = 0.9, zeta: float = 0.5, options: Mapping[str, Any] | None = None
) -> Strategy:
    """Return the strategy called `name`; `q` and `zeta` are those of altered greedy.

    `options` are the arguments of a class of another package.

    Raises:
        SettingsError: the name is not known, q or zeta is out of range, or the class of another package cannot be
            imported, is no strategy or does not take the options.
    """
    if name == "greedy":
        return Greedy()
    if name == "altered-greedy":
        return AlteredGreedy(q, zeta, seed)
    if name == "proportional":
        return Proportional(seed)
    try:
        check_strategy(name)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return AddedStrategy(name, make_object(ADDED.load(name), f"the strategy {name!r}", seed, options or {}))


def choose_greedily(scores: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return the positions of the `size` highest scores, best first (Definition 7); ties go to the smaller position.

    Positions are in order of discovery, so that of equal nodes the one discovered first is picked.
    """
    if size == 1:
        return np.array([np.argmax(scores)]) if len(scores) else np.empty(0, np.int64)
    if size < len(scores):
        worst = -np.partition(-scores, size - 1)[size - 1]
        candidates = np.flatnonzero(scores >= worst)
    else:
        candidates = np.arange(len(scores))
    return candidates[np.argsort(-scores[candidates], kind="stable")][:size]


def _find_share(weights: NDArray[np.float64], draw: float) -> int:
    """Return the place in which the point `draw` (of [0, 1)) of the total weight lies."""
    most = weights.max()
    if most <= 0:
        return int(draw * len(weights))
    total = np.cumsum(weights / most)  # scaled, so that large scores do not add up to infinity
    return int(np.searchsorted(total, draw * total[-1], side="right"))


class ControlledStrategy:
    """Another strategy, except for a share of the steps, which are drawn for comparison.

    Args:
        strategy: chooses in all other steps.
        share: of the steps, above 0 and at most 1.
        seed: the campaign's.
    """

    def __init__(self, strategy: Strategy, share: float, seed: int) -> None:
        self.strategy, self.share, self.seed = strategy, share, seed

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the rows of the next `size` picks, in order, and their scores; each from what the others left."""
        steered = self.strategy.pick(frontier, size, n)
        who = assign_arms(self.seed, self.share, n, size)
        if not who.any():
            return steered
        rows, scores = frontier.list_all(n)
        left = np.ones(len(rows), np.bool_)
        wanted = iter(np.searchsorted(rows, steered[0]).tolist())
        picked: list[int] = []
        for i, arm in enumerate(who[: len(rows)].tolist()):
            if arm == STEERED:
                place = next(place for place in wanted if left[place])
            else:
                place = self._draw(frontier, rows, left, n + i, nearest=arm == NEAREST)
            left[place] = False
            picked.append(place)
        return rows[picked], scores[picked]

    def _draw(
        self, frontier: Ranked, rows: NDArray[np.int64], left: NDArray[np.bool_], n: int, *, nearest: bool
    ) -> int:
        """Return a place in `rows` that is drawn among those `left`."""
        places = np.flatnonzero(left)
        if nearest:
            depth = frontier.get_depth(rows[places])
            places = places[depth == depth.min()]
        return int(places[int(draw_chance(self.seed, "control account", n) * len(places))])
