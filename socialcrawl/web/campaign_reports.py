"""Reports of campaigns for pages and API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from socialcrawl import CampaignStatus, Dataset

POSTS = 10  # that are shown


@dataclass(frozen=True, slots=True)
class ReadReport:
    """A report as pages show it.

    Attributes:
        sections: its parts as HTML, by their ids.
        charts: what its charts show, see `CampaignPage.to_charts`.
        values: its figures.
        posts: those in which the topic occurs most often.
        ledger: requests and dollars by endpoint.
        changes: of settings and history, oldest first.
        steps: of the campaign when it was read, as its status counts them.
    """

    sections: Mapping[str, str]
    charts: Mapping[str, Any]
    values: Mapping[str, Any]
    posts: Sequence[Mapping[str, Any]]
    ledger: Sequence[Mapping[str, Any]]
    changes: Sequence[Mapping[str, Any]]
    steps: int


def read_report(data: Dataset, status: CampaignStatus, wanted: object) -> ReadReport:
    """Return the report of a campaign."""
    del wanted
    report = data.report(campaign=status.name, top=15)
    return ReadReport(
        dict(report.to_sections(partial(make_account_path, status.key))),
        report.to_charts(),
        report.to_dict(),
        [*data.best_posts(POSTS, campaign=status.name)],
        [*data.ledger(campaign=status.name)],
        [*data.changes(campaign=status.name)],
        status.steps,
    )


def make_account_path(key: str, account: str, known_id: str | None = None) -> str:
    """Return the address of the page that explains an account; a name of the web may have any character.

    Args:
        key: of the campaign.
        account: its name; "": it is called by its id.
        known_id: the platform's own id.
    """
    return f"/campaigns/{quote(key, safe='')}/account?name={quote(account or known_id or '', safe='')}"
