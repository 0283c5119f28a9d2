"""The part of the HTTP API that pictures of a campaign are drawn from."""

from typing import Annotated

from fastapi import APIRouter, Query

from socialcrawl.web.http_api import BUSY, ERRORS, OWN, Readings, Status
from socialcrawl.web.picture_models import MapItem, NextItems

MOST_NODES = 5_000  # accounts of a map
MOST_NEXT = 50  # decisions ahead
picture_api = APIRouter(prefix="/api/v1", responses=ERRORS, tags=["pictures"])


def cut_next(found: NextItems, size: int) -> NextItems:
    """Return the first `size` decisions of what a campaign would do next."""
    return found.model_copy(update={"accounts": found.accounts[:size]})


@picture_api.get("/campaigns/{key}/network", dependencies=OWN, responses=BUSY)
async def get_network(
    status: Status,
    readings: Readings,
    limit: Annotated[int, Query(ge=1, le=MOST_NODES, description="accounts of the map, at most")] = MOST_NODES,
) -> MapItem:
    """Return the part of the mention network that fits into a picture, with places, the same each time.

    Where that takes long, it may be some minutes older than the campaign.
    """
    return await readings.maps.read(status, limit)


@picture_api.get("/campaigns/{key}/next", dependencies=OWN, responses=BUSY)
async def list_next(
    status: Status,
    readings: Readings,
    limit: Annotated[int, Query(ge=1, le=MOST_NEXT, description="decisions, at most")] = 20,
) -> NextItems:
    """Return what the campaign would read next, and why, as of the answers that are stored; nobody is asked.

    Where that takes long, it may be some minutes older than the campaign.
    """
    return cut_next(await readings.next.read(status, MOST_NEXT), limit)
