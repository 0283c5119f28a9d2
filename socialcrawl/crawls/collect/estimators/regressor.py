"""Any scikit-learn regressor that learns step by step, as an estimator."""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.added import replace_undefined
from socialcrawl.crawls.collect.estimators.base import Estimator
from socialcrawl.crawls.collect.estimators.linear import list_first_order, select_features
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import COLUMNS, CrawlGraph, Rows
from socialcrawl.importance.opic import Cash
from socialcrawl.text.wording import explain_unknown

PREFIX = "sklearn."
FEATURES = list_first_order("sum")
CASH = "cash"
CHOICE = (*COLUMNS, *list_first_order("avg"))
EVERY = (*CHOICE, CASH)
SUCH = "sklearn.linear_model.SGDRegressor"


class Regressor(Estimator):
    """A regressor with `partial_fit`, taught one fetched node after the other, over some of the features.

    Before the first node every score is 0. The whole frontier is predicted at every step.

    Args:
        model: the regressor, not taught yet.
        features: names of `graph.COLUMNS`, or `n_avg`, `e_avg`, `ne_avg`.
    """

    def __init__(self, model: Any, features: Sequence[str] = FEATURES) -> None:
        self.model, self.features = model, tuple(features)
        self.taught = False

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return the predictions for `rows`; where they are no numbers, the lowest score."""
        if not self.taught or not len(rows):
            return np.zeros(len(rows))
        with np.errstate(all="ignore"):
            predicted = self.model.predict(self._read_columns(graph, rows))
        return replace_undefined(np.asarray(predicted, np.float64))

    def learn(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Teach the regressor row by row, so that many at once are the same as one by one.

        A regressor whose weights have outgrown float64 refuses more lessons; it stays as it is.
        """
        for features, value in zip(self._make_lessons(x), y, strict=True):
            with np.errstate(all="ignore"), suppress(ValueError):
                self.model.partial_fit(features[None], [value])
            self.taught = True

    def _read_columns(self, graph: CrawlGraph, rows: Rows) -> NDArray[np.float64]:
        """Return what is known of `rows`, shape (len(rows), columns)."""
        return graph.columns(self.features, rows).T if self.features else np.empty((len(rows), 0))

    def _make_lessons(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what was known of fetched nodes whose features as picked are `x`, shape (len(x), columns)."""
        return select_features(x, self.features) if self.features else np.empty((len(x), 0))


class Flowing(Regressor):
    """A regressor whose last column is OPIC's cash: 1 in all on the seeds, paid on to links when a node is fetched.

    It learns from the cash that a node had when it was fetched: what it had when it was picked, and what the picks
    before it in its batch have paid to it since (Abiteboul, Preda, Cobena; see `importance.opic`).

    Args:
        model: the regressor, not taught yet.
        features: those of the graph; cash comes last.
    """

    def __init__(self, model: Any, features: Sequence[str]) -> None:
        super().__init__(model, features)
        self.accounts = Cash()
        self._had = 0.0

    def sow(self, graph: CrawlGraph, rows: Rows) -> None:
        """Give the seeds equal shares of a cash of 1."""
        self.accounts.start(rows)

    def note_fetched(self, graph: CrawlGraph, row: int) -> None:
        """Pay out what the fetched node holds."""
        self._had = float(self.accounts.get_cash(np.array([row]))[0])
        self.accounts.pay(row, graph.list_links(row)[0])

    def _read_columns(self, graph: CrawlGraph, rows: Rows) -> NDArray[np.float64]:
        return np.column_stack([super()._read_columns(graph, rows), self.accounts.get_cash(rows)])

    def _make_lessons(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([super()._make_lessons(x), np.full(len(x), self._had)])


def make_regressor(
    name: str, *, seed: int, features: Sequence[str] = FEATURES, options: Mapping[str, Any] | None = None
) -> Regressor:
    """Return the estimator over the scikit-learn class with that dotted name, as `sklearn.linear_model.SGDRegressor`.

    Args:
        name: begins with `sklearn.`.
        seed: becomes `random_state`, where the class has one and `options` do not say otherwise.
        features: the columns it learns over.
        options: arguments of the class.

    Raises:
        SettingsError: there is no such class, it is no regressor with partial_fit, or it does not take the options.
    """
    from sklearn.base import clone, is_regressor  # noqa: PLC0415

    unknown = [feature for feature in features if feature not in EVERY]
    if unknown:
        raise SettingsError(explain_unknown("feature", unknown[0], EVERY))
    if not features:
        raise SettingsError(f"No feature is named. Choose one or more of: {', '.join(EVERY)}.")
    try:
        made = _load_class(name)
        arguments = dict(options or {})
        if "random_state" in inspect.signature(made).parameters:
            arguments.setdefault("random_state", seed)
        model = made(**arguments)
        if not (is_regressor(model) and hasattr(model, "partial_fit")):
            raise SettingsError(f"{name} is not a regressor with partial_fit: choose one as {SUCH}.")
        clone(model).partial_fit(np.zeros((1, len(features))), [0.0])  # it looks at its arguments only now
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SettingsError(f"the estimator {name!r} cannot be made from scikit-learn: {error}.") from error
    of_graph = [feature for feature in features if feature != CASH]
    return Regressor(model, features) if CASH not in features else Flowing(model, of_graph)


def _load_class(name: str) -> type[Any]:
    module, _, kind = name.rpartition(".")
    made: type[Any] = getattr(import_module(module), kind)
    if not inspect.isclass(made):
        raise TypeError(f"{kind} is not a class")
    return made
