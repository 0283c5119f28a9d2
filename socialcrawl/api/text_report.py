"""Texts for people beside the values that they show."""

import json
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from html import escape
from pathlib import Path
from typing import Any

from socialcrawl.api.argument_checks import FUNCTION, PATH, SWITCH, check_arguments
from socialcrawl.render.html_elements import AccountLink
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
        >>> quote.to_fragment()[:5]
        '<pre>'
    """

    def __init__(
        self, text: str, values: Mapping[str, Any], fragment: Callable[[AccountLink], str] | None = None
    ) -> None:
        self.text = text
        self._values = dict(values)
        self._fragment = fragment

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        return self.to_fragment()

    @check_arguments(link=FUNCTION)
    def to_fragment(self, link: AccountLink = None) -> str:
        """Return the text as HTML, with its tables where it has some; names and texts of others are escaped.

        Args:
            link: returns the address of a page on an account, by its name and id; None: names are no links.
        """
        return f"<pre>{escape(self.text)}</pre>" if self._fragment is None else self._fragment(link)

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
        >>> [name for name, _ in report.to_sections()][:3]
        ['top', 'steering', 'days']
        >>> report.to_charts()["curve"]["points"][-1]
        [4, 5.09861228866811]
    """

    def __init__(
        self,
        text: str,
        values: Mapping[str, Any],
        make_page: Callable[[bool], str],
        list_sections: Callable[[AccountLink], list[tuple[str, str]]],
        collect: Callable[[], Mapping[str, Any]],
    ) -> None:
        super().__init__(text, values)
        self._make_page, self._list_sections, self._collect = make_page, list_sections, collect

    @check_arguments(link=FUNCTION)
    def to_sections(self, link: AccountLink = None) -> list[tuple[str, str]]:
        """Return the parts of the page as (id, HTML), with names, without charts: `to_charts` has what they show.

        Where a chart belongs, there is an empty element whose attribute `data-chart` names it. The database has to be
        open.

        Args:
            link: returns the address of a page on an account, by its name and id; None: names are no links.
        """
        return self._list_sections(link)

    def to_charts(self) -> dict[str, Any]:
        """Return what its charts show, as plain values of JSON by name, None where there is none.

        They are `curve`, `days`, `hours`, `spending`, `moves`, `shares` and `coverage`. The database has to be open.
        """
        return dict(self._collect())

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
