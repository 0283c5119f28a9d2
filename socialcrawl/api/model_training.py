"""Models of texts, learned from labelled posts: how well they judge is measured by cross-validation."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, cast

from socialcrawl.api.argument_checks import KEYWORDS, PATH, SWITCH, TEXT, check_arguments, make_whole_rule
from socialcrawl.api.label_file import ENDING
from socialcrawl.api.text_report import TextReport
from socialcrawl.crawls.sample.labels import read_text_labels
from socialcrawl.crawls.text_models.cross_validation import (
    FOLDS,
    ConfusionMatrix,
    Examples,
    cross_validate,
    make_examples,
)
from socialcrawl.crawls.text_models.decision_tree import PLAIN, TreeParameters
from socialcrawl.crawls.text_models.logistic_regression import LogisticParameters
from socialcrawl.crawls.text_models.model_file import MALFORMED, read_model, write_model
from socialcrawl.crawls.text_models.text_model import TextModel, TrainingParameters
from socialcrawl.crawls.text_models.vocabulary import count_words
from socialcrawl.errors import SettingsError
from socialcrawl.render.console import render_text
from socialcrawl.render.html_elements import render_fragment
from socialcrawl.render.model_report import show_model
from socialcrawl.text.wording import explain_unknown, pluralize

LEARNERS = ("tree", "logistic")
TELLING = 15  # words that are shown
LEAST_POSTS = 2  # that have to have a word, as `socialcrawl train` asks for where nothing is said
MOST_MODELS = 1_000  # of the same labels
WORDS = KEYWORDS._replace(convert=lambda given: () if given in ([], ()) else KEYWORDS.convert(given))


@check_arguments(
    labels=PATH, out=PATH, learner=TEXT, without=WORDS, least=make_whole_rule(1), balanced=SWITCH,
    folds=make_whole_rule(2), seed=make_whole_rule(0),
)  # fmt: skip
def train_model(
    labels: "str | os.PathLike[str]",
    out: "str | os.PathLike[str] | None" = None,
    *,
    learner: str = "tree",
    without: Sequence[str] = (),
    least: int = LEAST_POSTS,
    balanced: bool = False,
    folds: int = FOLDS,
    seed: int = 1,
) -> TextReport:
    """Train a model from labelled posts, as `socialcrawl train --labels` does, and return how well it judges.

    It is tested by cross-validation: each post is judged by a model that was learned without it. The figures have the
    confusion matrix as `right` and `lost` (posts on topic), `wrong` and `kept_out` (posts off topic); `precision`,
    `recall`, `f1` and `accuracy`; `doubt`, why not to rely on it, or ""; and `telling`, the words that decide most,
    each with its part in all decisions and whether it speaks for the topic.

    Args:
        labels: a CSV with columns text and on_topic, such as a LabelFile writes.
        out: the file to write, which is not there yet. None: a new one beside the labels, named like them: model.json,
            or NAME-model.json beside NAME-labels.csv; if that exists, model2.json and so on.
        learner: tree, a decision tree; or logistic, a logistic regression, whose doubt differs from post to post.
        without: words that the model must not use.
        least: the number of posts that have to have a word.
        balanced: whether both kinds of posts get the same total weight.
        folds: the number of parts of the cross-validation.
        seed: of all draws.

    Raises:
        SettingsError: there are too few labels, the file exists or cannot be written, or the learner is unknown.

    Example:
        >>> report = sc.train_model("sky-labels.csv", learner="logistic")
        >>> report.to_dict()["file"], report.to_dict()["right"], report.to_dict()["f1"]
        ('sky-model.json', 10, 1.0)
        >>> print(report.text.splitlines()[0])
        10 posts on topic, 10 off it; left out: 0 with the words of another, 0 given as both
    """
    source = Path(labels)
    how = choose_parameters(learner, (None, None), (least, balanced, frozenset(without), seed))
    path = _find_free_name(source) if out is None else Path(out)
    check_new(path)
    where = {"on_from": str(source), "off_from": str(source)}
    learn_model(read_text_labels(source), where, how, folds, path)
    return describe_model(path)


@check_arguments(path=PATH)
def describe_model(path: "str | os.PathLike[str]") -> TextReport:
    """Return what a model file says of its model: how well it judges, and by which words; see `train_model`.

    Raises:
        SettingsError: the file is missing or no model, or nothing was measured.

    Example:
        >>> made = sc.train_model("sky-labels.csv", "described.json")
        >>> report = sc.describe_model("described.json")
        >>> report.to_dict() == made.to_dict(), report.to_dict()["title"], report.to_dict()["telling"]
        (True, 'decision tree', [['dinner', 1.0, False]])
    """
    model = read_model(Path(path))
    try:
        values = {"file": str(path), "title": model.title, "size": model.describe_size(), **model.about}
        text = render_text(lambda console: show_model(console, model, str(path)))
    except MALFORMED as error:
        raise SettingsError(f"{path} does not say how well its model judges: train it again.") from error
    return TextReport(
        text, values, partial(render_fragment, lambda console: show_model(console, model, Path(path).name))
    )


@check_arguments(labels=PATH)
def list_models(labels: "str | os.PathLike[str]") -> list[Path]:
    """Return the models that `train_model` wrote beside a file of labels without another name, oldest first.

    Args:
        labels: the file of labels.

    Example:
        >>> report = sc.train_model("sky-labels.csv", "sky-model2.json")
        >>> sc.list_models("sky-labels.csv")[-1].name
        'sky-model2.json'
    """
    return [path for path in _list_names(Path(labels)) if path.exists()]


def choose_parameters(
    learner: str, tree: tuple[int | None, int | None], shared: tuple[int, bool, frozenset[str], int]
) -> TrainingParameters:
    """Return how a model is learned.

    Args:
        learner: one of LEARNERS.
        tree: the least number of posts of a leaf, and the largest depth; None: as usual.
        shared: the parameters that all learners have: least, balanced, without, seed.

    Raises:
        SettingsError: there is no such learner, or it grows no tree and is told how.
    """
    leaf, depth = tree
    if learner == "tree":
        return TreeParameters(PLAIN.leaf if leaf is None else leaf, depth, *shared)
    if learner not in LEARNERS:
        raise SettingsError(explain_unknown("learner", learner, LEARNERS))
    if leaf is not None or depth is not None:
        raise SettingsError("--leaf and --depth are for --learner tree: remove them.")
    return LogisticParameters(*shared)


def check_new(path: Path) -> None:
    """Check that a file is not there yet.

    Raises:
        SettingsError: it is.
    """
    if path.exists():
        raise SettingsError(f"{path} already exists and was not overwritten. Choose another file name.")


def learn_model(
    given: Sequence[tuple[str, bool]],
    where: Mapping[str, str],
    parameters: TrainingParameters,
    folds: int,
    out: Path,
    *,
    watch: Callable[[int], None] = lambda done: None,
) -> TextModel:
    """Learn a model from posts, measure how well it judges, and write it with both.

    Args:
        given: texts, and whether each is on topic.
        where: what the model's file says of where they come from.
        parameters: how it is learned.
        folds: parts of the cross-validation.
        out: the file, which is not there yet.
        watch: told how many parts are judged; all, when the model itself is learned.

    Raises:
        SettingsError: there are too few examples, or the file is there already or cannot be written.
    """
    without = frozenset(word for one in parameters.without for word in count_words(one))
    how: TrainingParameters = replace(cast("Any", parameters), without=without)
    learned = make_examples(given)
    _check_enough(learned, folds)
    measured = cross_validate(learned, how, folds, watch)
    watch(folds)
    model: Any = how.learn(learned.texts, learned.on_topic)
    about = {**where, **_describe_training(learned, measured, how)}
    telling = [list(one) for one in model.list_telling_words(TELLING)]
    model = replace(model, about={**about, "telling": telling})
    write_model(model, out)
    return cast("TextModel", model)


def _list_names(labels: Path) -> list[Path]:
    """Return the files for models of some labels, in the order in which they are written."""
    start = labels.name.removesuffix(ENDING) if labels.name.endswith(ENDING) else f"{labels.stem}-"
    return [labels.with_name(f"{start}model{number}.json") for number in ("", *range(2, MOST_MODELS))]


def _find_free_name(labels: Path) -> Path:
    names = _list_names(labels)
    return next((path for path in names if not path.exists()), names[-1])


def _check_enough(learned: Examples, folds: int) -> None:
    on = sum(learned.on_topic)
    if min(on, len(learned.on_topic) - on) < folds:
        both = pluralize(learned.torn, "text was", "texts were")
        torn = f" {both} given both as on topic and as off it, and left out." if learned.torn else ""
        raise SettingsError(
            f"{on:,} different posts are on topic and {len(learned.on_topic) - on:,} off it: both have to be {folds} "
            f"at least.{torn} Give more posts, or fewer --folds."
        )


def _describe_training(learned: Examples, measured: ConfusionMatrix, how: TrainingParameters) -> dict[str, Any]:
    on = sum(learned.on_topic)
    settings = {**asdict(cast("Any", how)), "without": sorted(how.without)}
    scores = {name: _format_number(getattr(measured, name)) for name in ("precision", "recall", "f1", "accuracy")}
    counts = {"on_topic": on, "off_topic": len(learned.on_topic) - on, "same": learned.twice, "torn": learned.torn}
    values = {**asdict(measured), **scores, "doubt": measured.doubt}
    return {**counts, "learner": how.learner, "settings": settings, **values}


def _format_number(value: float) -> float | None:
    return None if isnan(value) else value  # JSON knows no NaN
