"""`socialcrawl train`: where the examples come from, the model that is learned of them, and what is said of it."""

import json
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.api.model_training import check_new, learn_model
from socialcrawl.crawls.sample.labels import read_text_labels
from socialcrawl.crawls.text_models.text_model import TextModel, TrainingParameters
from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.formats.documents import explain_unreadable, read_text
from socialcrawl.render.console import Console
from socialcrawl.render.model_report import show_model
from socialcrawl.render.progress import show_progress
from socialcrawl.text.terminal import write_json
from socialcrawl.text.wording import pluralize


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

        def tell(done: int) -> None:
            if done < wanted.folds:
                watch("testing", done, wanted.folds)
            else:
                watch("learning the model")

        given, where = _read_examples(wanted)
        model = learn_model(given, where, wanted.how, wanted.folds, wanted.out, watch=tell)
    if as_json:
        write_json(json.dumps({"file": str(wanted.out), **model.about}, ensure_ascii=False))
    else:
        show_model(console, model, f"wrote {wanted.out}")
    return model


def _check_options(wanted: TrainingOptions) -> None:
    if wanted.labels is not None and (wanted.on is not None or wanted.off is not None):
        raise SettingsError("--labels has posts of both kinds: remove --on and --off.")
    own = wanted.labels is not None or (wanted.on is not None and wanted.off is not None)
    if own and (wanted.campaign is not None or wanted.database is not None):
        raise SettingsError("All posts come from files: remove --db and --campaign.")
    check_new(wanted.out)


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
