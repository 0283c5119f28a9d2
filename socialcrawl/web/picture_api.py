"""The part of the HTTP API that pictures of a campaign are drawn from."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from socialcrawl import CampaignStatus, Dataset, Project
from socialcrawl.web.http_api import ERRORS, Status
from socialcrawl.web.kept_readings import KeptReadings
from socialcrawl.web.picture_models import MapItem, MapNodeItem, NextItem, NextItems

MOST_NODES = 5_000  # accounts of a map
MOST_NEXT = 50  # decisions ahead
RESTING = 30.0  # seconds for which a picture is good enough though the campaign has moved
picture_api = APIRouter(prefix="/api/v1", responses=ERRORS, tags=["pictures"])


class CampaignPictures:
    """Reads what pictures of campaigns show, which may take seconds, and keeps it for a while.

    Args:
        project: the campaigns.
        now: the clock, Unix seconds.
    """

    def __init__(self, project: Project, now: Callable[[], float]) -> None:
        self.maps = KeptReadings(project, now, read_map, RESTING)
        self.next = KeptReadings(project, now, read_next, RESTING)


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


def cut_next(found: NextItems, size: int) -> NextItems:
    """Return the first `size` decisions of what a campaign would do next."""
    return found.model_copy(update={"accounts": found.accounts[:size]})


def get_pictures(request: Request) -> CampaignPictures:
    """Return what reads pictures."""
    pictures: CampaignPictures = request.app.state.pictures
    return pictures


Pictures = Annotated[CampaignPictures, Depends(get_pictures)]


@picture_api.get("/campaigns/{key}/network")
def get_network(
    status: Status,
    pictures: Pictures,
    limit: Annotated[int, Query(ge=1, le=MOST_NODES, description="accounts of the map, at most")] = MOST_NODES,
) -> MapItem:
    """Return the part of the mention network that fits into a picture, with places, the same each time.

    It is at most 30 s older than the campaign.
    """
    return pictures.maps.read(status, limit)


@picture_api.get("/campaigns/{key}/next")
def list_next(
    status: Status,
    pictures: Pictures,
    limit: Annotated[int, Query(ge=1, le=MOST_NEXT, description="decisions, at most")] = 20,
) -> NextItems:
    """Return what the campaign would read next, and why, as of the answers that are stored; nobody is asked.

    It is at most 30 s older than the campaign.
    """
    return cut_next(pictures.next.read(status, MOST_NEXT), limit)
