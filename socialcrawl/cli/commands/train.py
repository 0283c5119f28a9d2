"""`socialcrawl train`: where the examples come from, the model that is learned of them, and what is said of it."""

import json
from dataclasses import asdict, dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from socialcrawl.crawls.sample.labels import read_text_labels
from socialcrawl.crawls.text_models.cross_validation import ConfusionMatrix, Examples, cross_validate, make_examples
from socialcrawl.crawls.text_models.decision_tree import PLAIN, TreeParameters
from socialcrawl.crawls.text_models.logistic_regression import LogisticParameters
from socialcrawl.crawls.text_models.model_file import write_model
from socialcrawl.crawls.text_models.text_model import TextModel, TrainingParameters
from socialcrawl.crawls.text_models.vocabulary import count_words
from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.formats.documents import explain_unreadable, read_text
from socialcrawl.render.console import Text
from socialcrawl.render.progress import show_progress
from socialcrawl.text.terminal import write_json
from socialcrawl.text.wording import explain_unknown, pluralize

LEARNERS = ("tree", "logistic")
TELLING = 15  # words that are shown
REMEDY = (
    "A campaign judged by it would be one of something else: give it more posts, or posts judged by hand (--labels), "
    "and see with --without which words it leans on."
)


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The options of `socialcrawl train`."""

    out: Path
    labels: Path | None
    on: Path | None
    off: Path | None
    campaign: str | None
    database: str | None
    most: int
    folds: int
    how: TrainingParameters


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


def train(wanted: TrainingOptions, console: Console, *, as_json: bool = False) -> TextModel:
    """Learn a model from what is wanted, write it, and say how well it judges; the model.

    Args:
        wanted: the options.
        console: where it is read.
        as_json: one JSON object to stdout instead.

    Raises:
        SettingsError: options do not go together, there are too few examples, or the file is there already.
        PostsFileError: a file of posts cannot be read.
        StoreError: there is no such database or campaign.
    """
    _check_options(wanted)
    with show_progress("reading posts", unit="folds") as watch:
        given, where = _read_examples(wanted)
        without = frozenset(word for one in wanted.how.without for word in count_words(one))
        how: TrainingParameters = replace(cast("Any", wanted.how), without=without)
        learned = make_examples(given)
        _check_enough(learned, wanted.folds)
        measured = cross_validate(learned, how, wanted.folds, lambda done: watch("testing", done, wanted.folds))
        watch("learning the model")
        model: Any = how.learn(learned.texts, learned.on_topic)
    about = _describe_training(where, learned, measured, how)
    telling = [list(one) for one in model.list_telling_words(TELLING)]
    model = replace(model, about={**about, "telling": telling})
    write_model(model, wanted.out)
    if as_json:
        write_json(json.dumps({"file": str(wanted.out), **model.about}, ensure_ascii=False))
    else:
        _print_model(console, wanted.out, model, learned, measured)
    return cast("TextModel", model)


def _check_options(wanted: TrainingOptions) -> None:
    if wanted.labels is not None and (wanted.on is not None or wanted.off is not None):
        raise SettingsError("--labels has posts of both kinds: remove --on and --off.")
    own = wanted.labels is not None or (wanted.on is not None and wanted.off is not None)
    if own and (wanted.campaign is not None or wanted.database is not None):
        raise SettingsError("All posts come from files: remove --db and --campaign.")
    if wanted.out.exists():
        raise SettingsError(f"{wanted.out} already exists and was not overwritten. Choose another file name.")


def _read_examples(wanted: TrainingOptions) -> tuple[list[tuple[str, bool]], dict[str, str]]:
    """Return the posts to learn from, with whether each is on topic; and where both kinds come from."""
    if wanted.labels is not None:
        return read_text_labels(wanted.labels), {"on_from": str(wanted.labels), "off_from": str(wanted.labels)}
    on, off, name = _read_campaign_examples(wanted) if wanted.on is None or wanted.off is None else ([], [], "")
    where = {"on_from": f"search of {name}", "off_from": f"read by {name}"}
    if wanted.on is not None:
        on, where["on_from"] = _read_posts(wanted.on)[: wanted.most], str(wanted.on)
    if wanted.off is not None:
        off, where["off_from"] = _read_posts(wanted.off)[: wanted.most], str(wanted.off)
    return [(one, True) for one in on] + [(one, False) for one in off], where


def _read_campaign_examples(wanted: TrainingOptions) -> tuple[list[str], list[str], str]:
    from socialcrawl.cli.commands.sql import choose_campaign  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database  # noqa: PLC0415
    from socialcrawl.storage.database.health import open_readable  # noqa: PLC0415
    from socialcrawl.storage.queries.summary import find_campaign  # noqa: PLC0415
    from socialcrawl.storage.queries.topic_posts import read_found_posts, read_off_topic_posts  # noqa: PLC0415

    where, named, _ = choose_database(wanted.database, None, wanted.campaign)
    with open_readable(where) as connection:
        number, name = find_campaign(connection, choose_campaign(connection, named))
        on = read_found_posts(connection, number, wanted.most) if wanted.on is None else []
        off = read_off_topic_posts(connection, number, wanted.most) if wanted.off is None else []
    if wanted.on is None and not on:
        raise SettingsError(
            f"No search of the campaign {name!r} found posts: name a file of posts on topic with --on, or a CSV of "
            "posts judged by hand with --labels."
        )
    if wanted.off is None and not off:
        raise SettingsError(f"The campaign {name!r} has read no post off topic: name a file of such posts with --off.")
    return on, off, name


def _read_posts(path: Path) -> list[str]:
    """Return the texts of a file of posts: one a line, or what `socialcrawl import` reads."""
    if path.suffix.lower() == ".txt":
        try:
            return [line for line in read_text(path, "utf-8-sig").splitlines() if line.strip()]
        except UnicodeDecodeError as error:
            raise PostsFileError(f"{path} is not UTF-8: save the file as UTF-8.") from error
        except OSError as error:
            raise PostsFileError(f"{explain_unreadable(path, error)}: name a file of posts.") from error
    from socialcrawl.formats.lines import LineErrors  # noqa: PLC0415
    from socialcrawl.importers.post_files import read_posts  # noqa: PLC0415

    trouble = LineErrors()
    found = [post.text for some in read_posts(path, lambda *_: 0, trouble) for post in some.page.posts]
    if trouble.count:
        raise PostsFileError(
            f"{path}: {pluralize(trouble.count, 'line is not a post', 'lines are not posts')}:\n{trouble}\n"
            "Fix the file."
        )
    return found


def _check_enough(learned: Examples, folds: int) -> None:
    on = sum(learned.on_topic)
    if min(on, len(learned.on_topic) - on) < folds:
        both = pluralize(learned.torn, "text was", "texts were")
        torn = f" {both} given both as on topic and as off it, and left out." if learned.torn else ""
        raise SettingsError(
            f"{on:,} different posts are on topic and {len(learned.on_topic) - on:,} off it: both have to be {folds} "
            f"at least.{torn} Give more posts, or fewer --folds."
        )


def _describe_training(
    where: dict[str, str], learned: Examples, measured: ConfusionMatrix, how: TrainingParameters
) -> dict[str, Any]:
    on = sum(learned.on_topic)
    settings = {**asdict(cast("Any", how)), "without": sorted(how.without)}
    scores = {name: _format_number(getattr(measured, name)) for name in ("precision", "recall", "f1", "accuracy")}
    counts = {"on_topic": on, "off_topic": len(learned.on_topic) - on, "same": learned.twice, "torn": learned.torn}
    values = {**asdict(measured), **scores, "doubt": measured.doubt}
    return {**where, **counts, "learner": how.learner, "settings": settings, **values}


def _format_number(value: float) -> float | None:
    return None if isnan(value) else value  # JSON knows no NaN


def _print_model(console: Console, out: Path, model: TextModel, learned: Examples, measured: ConfusionMatrix) -> None:
    on = sum(learned.on_topic)
    left = f"; left out: {learned.twice:,} with the words of another, {learned.torn:,} given as both"
    console.print(f"{pluralize(on, 'post')} on topic, {len(learned.on_topic) - on:,} off it{left}", soft_wrap=True)
    console.print()
    console.print(_format_confusion(measured))
    console.print(
        f"among these posts: precision {measured.precision:.2f}, recall {measured.recall:.2f}, F1 {measured.f1:.2f}, "
        f"accuracy {measured.accuracy:.2f}; each of {measured.folds} parts was judged by a model learned from "
        "the others. Where fewer posts are on topic than here, precision is lower.",
        soft_wrap=True,
    )
    console.print()
    console.print(_format_features(model))
    use = "" if measured.doubt else "; use it as model under [topic], or as tree under [sample]"
    console.print(f"wrote {out}: {model.title}, {model.describe_size()}{use}", soft_wrap=True)
    if measured.doubt:
        console.print(f"WARNING: {measured.doubt}. {REMEDY}", soft_wrap=True)


def _format_confusion(measured: ConfusionMatrix) -> Table:
    table = Table(title="judged, by what they are", title_justify="left", box=None, pad_edge=False)
    for name in ("", "said on topic", "said off topic"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    table.add_row("on topic", f"{measured.right:,}", f"{measured.lost:,}")
    table.add_row("off topic", f"{measured.wrong:,}", f"{measured.kept_out:,}")
    return table


def _format_features(model: TextModel) -> Table:
    table = Table(title="words that decide most", title_justify="left", box=None, pad_edge=False)
    table.add_column("word", overflow="fold")
    table.add_column("part", justify="right", no_wrap=True)
    table.add_column("speaks", no_wrap=True)
    for word, part, forth in model.list_telling_words(TELLING):
        table.add_row(Text(word), f"{part:.0%}", "for" if forth else "against")
    return table
