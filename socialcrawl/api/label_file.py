"""Labels of posts by hand: the file that keeps them, and which posts to label next."""

import csv
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from socialcrawl.api.argument_checks import PATH, TEXT, ArgumentRule, check_arguments, make_type_rule
from socialcrawl.crawls.sample.labels import NO, YES, read_cells
from socialcrawl.crawls.text_models.cross_validation import FOLDS
from socialcrawl.crawls.text_models.informative_posts import StoredText, choose_posts
from socialcrawl.crawls.text_models.text_model import TextModel
from socialcrawl.crawls.text_models.vocabulary import count_words, identify_words
from socialcrawl.engine.draws import draw_chance
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.post_search.reading import match_authors
from socialcrawl.storage.queries.topic_posts import CampaignPost, count_stored_posts, read_stored_posts
from socialcrawl.system.files import replace_file
from socialcrawl.system.locks import Lock

HEADER = ["id", "text", "on_topic"]
WRITTEN = {True: "yes", False: "no", None: ""}
ENDING = "labels.csv"


def _convert_any_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()
    return value


ANY_TEXT = ArgumentRule("a text", _convert_any_text)
ANSWER = make_type_rule((bool, type(None)), "True, False or None")


class LabelFile:
    """Labels of posts in a CSV file, with the columns id, text and on_topic: yes, no, or empty for a skipped post.

    `socialcrawl label` writes such files, and `socialcrawl train --labels` reads them. Several programs may write one
    at the same time: each change is applied to the file as it is then, and the file is there as a whole at any time.

    Attributes:
        path: the file; it is made with the first label.

    Example:
        >>> labels = sc.LabelFile.load("labels.csv")
        >>> labels
        <LabelFile labels.csv>
        >>> for post in data.choose_posts_to_label(labels, count=3):
        ...     labels.put(post["id"], post["text"], on_topic="telescope" in post["text"])
        >>> labels.posts[1]["text"], labels.posts[1]["on_topic"], labels.path.name
        ('Bread recipes for Sunday @emil', False, 'labels.csv')
        >>> labels.counts
        {'on_topic': 2, 'off_topic': 1, 'skipped': 0}
        >>> labels.delete(labels.posts[1]["id"])
        True
        >>> labels.LEAST - labels.counts["on_topic"]  # so many more posts on topic are needed to train a model
        3
    """

    LEAST: ClassVar[int] = FOLDS
    """The number of posts of each kind that a model needs at least."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = _read_rows(path)

    @classmethod
    @check_arguments(path=PATH)
    def load(cls, path: "str | os.PathLike[str]") -> Self:
        """Return the labels of a file; one that is not there has none.

        Raises:
            SettingsError: it cannot be read, or has other columns.
        """
        return cls(Path(path))

    def __repr__(self) -> str:
        return f"<LabelFile {self.path}>"

    @property
    def posts(self) -> list[dict[str, Any]]:
        """The posts that have a label or were skipped, as dicts of id, text and on_topic, the last one last."""
        return [{"id": key, "text": text, "on_topic": _parse_label(label)} for key, (text, label) in self._rows.items()]

    @property
    def counts(self) -> dict[str, int]:
        """The number of posts that are on topic, off it, and that were skipped."""
        labels = [_parse_label(label) for _, label in self._rows.values()]
        return {"on_topic": labels.count(True), "off_topic": labels.count(False), "skipped": labels.count(None)}

    @check_arguments(post_id=TEXT, text=ANY_TEXT, on_topic=ANSWER)
    def put(self, post_id: str, text: str, *, on_topic: bool | None) -> None:
        """Write the label of a post, in place of an earlier one; None: it was skipped.

        Raises:
            SettingsError: the file cannot be written, or has other columns now.
        """
        with self._change() as rows:
            rows.pop(post_id, None)
            rows[post_id] = text, WRITTEN[on_topic]

    @check_arguments(post_id=TEXT)
    def delete(self, post_id: str) -> bool:
        """Delete the label of a post; return False if it has none.

        Raises:
            SettingsError: the file cannot be written, or has other columns now.
        """
        with self._change() as rows:
            return rows.pop(post_id, None) is not None

    @contextmanager
    def _change(self) -> Iterator[dict[str, tuple[str, str]]]:
        """Yield the rows as they are in the file now; write them at the end.

        Raises:
            SettingsError: the file cannot be written, or has other columns now.
        """
        try:
            lock = Lock(self.path.with_name(f".{self.path.name}.lock"), "It is locked.", wait=True)
        except StoreError as error:
            raise SettingsError(f"{self.path} cannot be written ({error}): name another file.") from error
        try:
            rows = _read_rows(self.path)
            before = list(rows.items())
            yield rows
            if list(rows.items()) != before:
                _write_rows(self.path, rows)
            self._rows = rows
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be written ({error.strerror}): name another file.") from error
        finally:
            lock.release()


LABELS = make_type_rule(LabelFile, "a LabelFile")


def choose_unlabelled(
    connection: Opened,
    campaign: int,
    labels: LabelFile | None,
    wanted: tuple[int, int, int | None],
    model: TextModel | None = None,
    *,
    author: str | None = None,
) -> list[StoredText]:
    """Return the stored posts of a campaign that a person should label next.

    Args:
        connection: the database.
        campaign: campaign.id.
        labels: those that are there; None: none.
        wanted: the number of posts; the seed of the draws; posts to look at, drawn from all (None: all).
        model: whose doubt decides; None: half of the posts match the topic, half do not.
        author: only posts of this username or id.

    Raises:
        StoreError: no account is called `author`.
    """
    count, seed, most = wanted
    held: Collection[dict[str, Any]] = () if labels is None else labels.posts
    known = {post["id"] for post in held}
    authors = "" if author is None else match_authors(connection, author)
    drawn, _ = draw_stored_posts(connection, campaign, seed, most, authors)
    rows = (StoredText(post.id, post.text, post.matches) for post in drawn if post.id not in known)
    return choose_posts(rows, count, seed, model, [identify_words(count_words(post["text"])) for post in held])


def draw_stored_posts(
    connection: Opened, campaign: int, seed: int, most: int | None, authors: str = ""
) -> tuple[Iterator[CampaignPost], int]:
    """Return the stored posts of a campaign by their ids, about `most` of them, drawn; and how many there are.

    Args:
        connection: the database.
        campaign: campaign.id.
        seed: of the draws.
        most: None: all.
        authors: whose posts, as `match_authors` says it; "": all.
    """
    count = count_stored_posts(connection, campaign, authors)
    share = 1.0 if most is None else most / max(1, count)
    posts = enumerate(read_stored_posts(connection, campaign, authors))
    return (post for n, post in posts if share >= 1.0 or draw_chance(seed, "label: look at", n) < share), count


def _read_rows(path: Path) -> dict[str, tuple[str, str]]:
    """Return text and label of the posts of a file, by their ids.

    Raises:
        SettingsError: it cannot be read, or has other columns.
    """
    if not path.exists():
        return {}
    (_, header), *lines = read_cells(path) or [(1, [])]
    wrong = next((line for line, cells in lines if len(cells) != len(HEADER)), 1 if header != HEADER else None)
    if wrong is not None:
        raise SettingsError(
            f"{path}, line {wrong}: the columns are not {', '.join(HEADER)}, as `socialcrawl label` writes them. "
            "Choose another file."
        )
    return {key: (text, label) for _, (key, text, label) in lines}


def _write_rows(path: Path, rows: Mapping[str, tuple[str, str]]) -> None:
    with replace_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows([key, *row] for key, row in rows.items())


def _parse_label(written: str) -> bool | None:
    """Return what a label says; None where a post was skipped. People may have edited the file."""
    label = written.strip().lower()
    return True if label in YES else False if label in NO else None
