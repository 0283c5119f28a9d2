"""All that takes long to read of campaigns: reports, explanations of accounts, networks, and what comes next."""

from collections.abc import Callable
from typing import Any

from socialcrawl import CampaignStatus, Dataset, Project, TextReport
from socialcrawl.web.campaign_reports import ReadReport, read_report
from socialcrawl.web.kept_readings import PATIENCE, KeptReadings
from socialcrawl.web.picture_models import MapItem, MapNodeItem, NextItem, NextItems


class CampaignReadings:
    """Reads what takes long, and keeps it for a while.

    Args:
        project: the campaigns.
        now: the clock, Unix seconds.
        patience: seconds that a page waits.

    Attributes:
        reports: reports.
        explanations: why accounts were read or not; what is wanted is a name.
        maps: mention networks; what is wanted is a number of accounts.
        next: what comes next; what is wanted is a number of decisions.
    """

    def __init__(self, project: Project, now: Callable[[], float], patience: float = PATIENCE) -> None:
        def keep(make: Callable[[Dataset, CampaignStatus, Any], Any]) -> KeptReadings[Any]:
            return KeptReadings(project, now, make, patience)

        self.reports: KeptReadings[ReadReport] = keep(read_report)
        self.explanations: KeptReadings[TextReport] = keep(read_explanation)
        self.maps: KeptReadings[MapItem] = keep(read_map)
        self.next: KeptReadings[NextItems] = keep(read_next)


def read_explanation(data: Dataset, status: CampaignStatus, account: str) -> TextReport:
    """Return why a campaign read an account, or did not."""
    return data.explain(account, campaign=status.name)


def read_map(data: Dataset, status: CampaignStatus, size: int) -> MapItem:
    """Return the map of the network of a campaign, of at most `size` accounts."""
    found = data.network(campaign=status.name).compute_map(size)
    nodes = [MapNodeItem.model_validate(row) for row in found.nodes]
    return MapItem(
        nodes=nodes, edges=found.edges, read=found.read, unread=found.unread, alone=found.alone, left_out=found.left_out
    )


def read_next(data: Dataset, status: CampaignStatus, size: int) -> NextItems:
    """Return what a campaign would read next: `size` decisions."""
    found = data.frontier(size, campaign=status.name)
    accounts = [NextItem.model_validate(row) for row in found.accounts]
    return NextItems(step=found.step, left=found.left, why=found.why, accounts=accounts)
