"""Estimators that other packages add, or that a person names as `module:Class`."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import Estimator, Floats, ScoreTerms
from socialcrawl.errors import PluginError, SettingsError, SocialcrawlError
from socialcrawl.graph.graph import CrawlGraph, Rows
from socialcrawl.system.plugins import describe_error, describe_place, find_call_fault

METHODS = {
    "score": ("graph", "rows", "n"),
    "get_terms": ("n",),
    "sow": ("graph", "rows"),
    "note_fetched": ("graph", "row"),
    "learn": ("x", "y"),
}
"""The methods of an estimator and their arguments; only `score` has to be there."""
LOWEST = -1e300  # the score where an estimator says nothing that is a number
ALIKE = 0.86  # the share of common letters from which a name counts as misspelt: "lern", not "show" for "sow"
Result = TypeVar("Result")


def find_estimator_fault(_name: str, found: Any) -> str:
    """Return what is wrong with the class of an estimator, as a predicate; "": nothing."""
    if inspect.isclass(found) and getattr(found, "score", None) is Estimator.score:
        return "does not define score(graph, rows, n)"
    return find_class_fault(found, METHODS)


def find_class_fault(found: Any, methods: Mapping[str, tuple[str, ...]]) -> str:
    """Return what is wrong with a class that needs the first of these methods, and may have the others."""
    if not inspect.isclass(found):
        return f"is no class but a {type(found).__name__}"
    first = next(iter(methods))
    faults = (find_call_fault(found, name, given, needed=name == first) for name, given in methods.items())
    return next((fault for fault in faults if fault), "") or _find_misspelling(found, methods)


def _find_misspelling(found: type[Any], methods: Mapping[str, tuple[str, ...]]) -> str:
    """Return that a public method of a class looks like a misspelt optional one that the class does not define."""
    home = found.__module__.partition(".")[0]
    classes = [one for one in found.__mro__ if one.__module__.partition(".")[0] == home]
    names = {name: value for one in classes for name, value in vars(one).items()}
    for name in sorted(name for name, value in names.items() if callable(value) and not hasattr(Estimator, name)):
        near = get_close_matches(name, methods.keys() - names.keys(), 1, ALIKE)
        if near and not name.startswith("_"):
            call = f"{near[0]}({', '.join(methods[near[0]])})"
            return f"has a method {name} that is never called. Did you mean {call}? If not, rename it to _{name}"
    return ""


def make_object(made: type[Any], what: str, seed: int, options: Mapping[str, Any]) -> Any:
    """Return an object of a class of another package; `seed` is passed on if its constructor takes one.

    Args:
        made: the class.
        what: what messages call it, as "the estimator 'mine'".
        seed: the campaign's.
        options: the arguments of its constructor.

    Raises:
        SettingsError: the constructor raises.
    """
    arguments = dict(options)
    try:
        if "seed" in inspect.signature(made).parameters:
            arguments.setdefault("seed", seed)
        return made(**arguments)
    except Exception as error:  # whatever the constructor raises
        raise SettingsError(f"{what} cannot be made: {describe_error(error)}.") from error


def call_guarded(what: str, method: str, call: Callable[..., Result], *given: Any) -> Result:
    """Return what a method of another package returns.

    Args:
        what: what messages call the object, as "the estimator 'mine'".
        method: the name of the method.
        call: the method.
        given: its arguments.

    Raises:
        PluginError: it raises.
    """
    try:
        return call(*given)
    except SocialcrawlError:
        raise
    except Exception as error:
        place = describe_place(error, getattr(call, "__module__", ""))
        raise PluginError(f"{what} failed in {method}: {describe_error(error)}{place}.") from error


class AddedEstimator(Estimator):
    """An estimator of another package: what it returns is checked, and what it raises becomes one sentence.

    It need not inherit from `Estimator`; a method that it does not have does nothing.

    Args:
        name: what campaign files call it.
        made: the object.
    """

    def __init__(self, name: str, made: Any) -> None:
        self.name, self.made = name, made
        self.what = f"the estimator {name!r}"
        self._is_warned = False

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the scores of the other estimator; where they are no finite numbers, the lowest score.

        Warns once, the first time that no score of a batch is finite.

        Raises:
            PluginError: they are not one number for each of `rows`.
        """
        scores = call_guarded(self.what, "score", self.made.score, graph, rows, n)
        numbers = self._check_numbers("score", scores, (len(rows),))
        if len(rows) and not self._is_warned and not np.isfinite(numbers).any():
            self._is_warned = True
            said = f"After {n} steps {self.what} returned no finite score for any of {len(rows)} accounts: "
            said += "they are read in order of discovery."
            warnings.warn(said, RuntimeWarning, stacklevel=2)
        return replace_undefined(numbers)

    def get_terms(self, n: int) -> ScoreTerms | None:
        """Return the terms of the other estimator, if it has any."""
        if not hasattr(self.made, "get_terms"):
            return None
        terms: ScoreTerms | None = call_guarded(self.what, "get_terms", self.made.get_terms, n)
        if terms is None:
            return None
        if not isinstance(terms, ScoreTerms) or not terms.weights:
            raise PluginError(f"{self.what} returned from get_terms neither None nor ScoreTerms with weights.")
        if not np.isfinite([*terms.weights, terms.intercept]).all():
            return None  # `score` says what is left to say
        given, wide = terms.values, len(terms.weights)

        def read_values(graph: CrawlGraph, rows: Rows) -> Floats:
            found = call_guarded(self.what, "the values of get_terms", given, graph, rows)
            numbers = self._check_numbers("the values of get_terms", found, (wide, len(rows)))
            if not np.isfinite(numbers).all():
                raise PluginError(f"{self.what} returned values of get_terms that are not finite.")
            return numbers

        return terms._replace(values=read_values)

    def sow(self, graph: CrawlGraph, rows: Rows) -> None:
        """Tell the other estimator of the seeds."""
        if hasattr(self.made, "sow"):
            call_guarded(self.what, "sow", self.made.sow, graph, rows)

    def note_fetched(self, graph: CrawlGraph, row: int) -> None:
        """Tell the other estimator of a fetched node."""
        if hasattr(self.made, "note_fetched"):
            call_guarded(self.what, "note_fetched", self.made.note_fetched, graph, row)

    def is_sequential(self) -> bool:
        """Return whether the other estimator has to be told of every node at its moment."""
        return self._overrides("note_fetched")

    def learns(self) -> bool:
        """Return whether the other estimator overrides `learn`."""
        return self._overrides("learn")

    def learn(self, x: Floats, y: Floats) -> None:
        """Teach the other estimator row by row, so that many at once are the same as one by one."""
        if self.learns():
            for i in range(len(y)):
                call_guarded(self.what, "learn", self.made.learn, x[i : i + 1], y[i : i + 1])

    def _overrides(self, method: str) -> bool:
        own = getattr(type(self.made), method, None)
        return own is not None and own is not getattr(Estimator, method)

    def _check_numbers(self, method: str, given: Any, shape: tuple[int, ...]) -> Floats:
        try:
            numbers = np.asarray(given, np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(())
        if numbers.shape != shape:
            wanted = " x ".join(str(size) for size in shape)
            raise PluginError(
                f"{self.what} returned from {method} {_describe_shape(given)}, where {wanted} numbers are needed."
            )
        return numbers


def replace_undefined(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores of which those that are not finite are the lowest score."""
    return numbers if np.isfinite(numbers).all() else np.nan_to_num(numbers, nan=LOWEST, posinf=LOWEST, neginf=LOWEST)


def _describe_shape(given: Any) -> str:
    try:
        shape = np.shape(given)
    except ValueError:
        return f"a {type(given).__name__}"
    return f"a {type(given).__name__} of shape {shape}"
