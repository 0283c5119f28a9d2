"""The files in which models are kept: JSON that people can read, which nothing but its numbers and words goes into.

What is read is checked and bounded, as a file may come from anybody; nothing is pickled.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.crawls.text_models.decision_tree import DecisionTree
from socialcrawl.crawls.text_models.logistic_regression import LogisticRegressionModel
from socialcrawl.crawls.text_models.text_model import MAX_WORDS, TextModel
from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import compute_checksum, read_bytes
from socialcrawl.system.bounds import MAX_VALUES, is_crowded

KINDS: Mapping[str, type[TextModel]] = {one.kind: one for one in (DecisionTree, LogisticRegressionModel)}
MALFORMED = (ValueError, TypeError, KeyError, AttributeError, OverflowError)
MOST_WORTH = 100.0  # of a word: ln((1 + N) / N_w) is 23 for as many texts as there are people
REMEDY = "make one with `socialcrawl train`"


def write_model(model: TextModel, path: Path) -> None:
    """Write a model into a file that is not there yet.

    Raises:
        SettingsError: the file is there, or cannot be written.
    """
    made = {"kind": model.kind, "about": dict(model.about), **model.dump()}
    try:
        with path.open("xb") as file:
            file.write(orjson.dumps(made, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except FileExistsError as error:
        raise SettingsError(f"{path} already exists and was not overwritten. Choose another file name.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be written ({error.strerror}): name another file.") from error


def read_model(path: Path, checksum: str | None = None) -> TextModel:
    """Return the model that a file keeps.

    Args:
        path: the file.
        checksum: that of the content which the file has to have; None: any.

    Raises:
        SettingsError: the file is missing, holds another content, or no model.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise SettingsError(f"The model {path} cannot be read ({error.strerror}): {REMEDY}, or restore it.") from error
    if checksum is not None and (found := compute_checksum(data)) != checksum:
        raise SettingsError(
            f"The model {path} has changed: its checksum is {found}, and not {checksum}. Restore the file, or train a "
            "new model into another file."
        )
    try:
        return parse_model(data)
    except MALFORMED as error:
        raise SettingsError(f"{path} is not a model ({error}): {REMEDY}.") from error


def parse_model(data: bytes) -> TextModel:
    """Return the model that the bytes of a file say.

    Raises:
        ValueError, TypeError, KeyError, AttributeError, OverflowError: they say none.
    """
    if is_crowded(data):
        raise ValueError(f"it holds more than {MAX_VALUES:,} values")
    made: Any = orjson.loads(data)
    kind = made["kind"]
    if kind not in KINDS:
        raise ValueError(f"its kind is {kind!r}, not {' or '.join(map(repr, KINDS))}")
    model = KINDS[kind].parse(made)
    if len(model.vocabulary.idf) > MAX_WORDS:
        raise ValueError(f"it has more than {MAX_WORDS:,} words")
    if not all(0.0 <= worth <= MOST_WORTH for worth in model.vocabulary.idf.values()):
        raise ValueError(f"the idf of a word is not from 0 to {MOST_WORTH:g}")
    return model
