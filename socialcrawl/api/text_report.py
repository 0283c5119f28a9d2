"""Texts for people beside the values that they show."""

import json
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from html import escape
from pathlib import Path
from typing import Any

from socialcrawl.api.argument_checks import PATH, SWITCH, check_arguments
from socialcrawl.render.html_report import write_page


class TextReport:
    """A text for people, and its figures for programs.

    Attributes:
        text: what the command prints.

    Example:
        >>> quote = sc.Campaign.load("new.toml").quote()
        >>> print(quote.text.splitlines()[0].strip())
        At most
        >>> sorted(quote.to_dict())[:3]
        ['allowed', 'at_most', 'began']
        >>> len(quote.to_json()) > 100
        True
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


class CampaignPage(TextReport):
    """The report of a campaign: its text, its figures, and a page with charts.

    Attributes:
        text: what the command prints.
        values: the figures, as plain values of JSON.

    Example:
        >>> report = data.report()
        >>> report.to_dict()["posts_on_topic"]
        6
        >>> report.to_html("report.html")
    """

    def __init__(self, text: str, values: Mapping[str, Any], make_page: Callable[[bool], str]) -> None:
        super().__init__(text, values)
        self._make_page = make_page

    @check_arguments(path=PATH, with_texts=SWITCH)
    def to_html(self, path: "str | os.PathLike[str]", *, with_texts: bool = False) -> None:
        """Write the report as one HTML page with charts, as `socialcrawl report --html` does.

        The page needs no script and no network. The database has to be open.

        Args:
            path: the file; what was in it is replaced.
            with_texts: whether names of accounts and texts of posts are in it: read the platform's terms first.

        Raises:
            StoreError: it cannot be written.
        """
        write_page(Path(path), self._make_page(with_texts))
