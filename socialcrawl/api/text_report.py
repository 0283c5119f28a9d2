"""Texts for people beside the values that they show."""

import json
from collections.abc import Mapping
from copy import deepcopy
from html import escape
from typing import Any


class TextReport:
    """A text for people, and its figures for programs.

    Attributes:
        text: what the command prints.
    """

    def __init__(self, text: str, values: Mapping[str, Any]) -> None:
        self.text = text
        self._values = dict(values)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        return f"<pre>{escape(self.text)}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values of JSON."""
        return deepcopy(self._values)

    def to_json(self) -> str:
        """Return the figures as JSON."""
        return json.dumps(self._values, ensure_ascii=False)
