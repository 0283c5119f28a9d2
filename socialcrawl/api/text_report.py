"""Texts for people beside the values that they show."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any


class TextReport:
    """A text for people, and its figures for programs.

    Attributes:
        text: what the command prints.
        values: the figures, as plain values of JSON.
    """

    def __init__(self, text: str, values: Mapping[str, Any]) -> None:
        self.text = text
        self.values = dict(values)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        return f"<pre>{escape(self.text)}</pre>"

    def to_json(self) -> str:
        """Return the figures as JSON."""
        return json.dumps(self.values, ensure_ascii=False)
