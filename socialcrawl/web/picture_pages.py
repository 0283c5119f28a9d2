"""Pages with pictures of a campaign: its mention network, and what it would read next."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from socialcrawl.web.http_api import OWN, Readings, Status
from socialcrawl.web.page_answers import render
from socialcrawl.web.picture_api import MOST_NEXT, MOST_NODES, cut_next

LISTED = 25  # accounts of the map in its table
NEXT = 20  # decisions ahead
picture_pages = APIRouter(include_in_schema=False)


@picture_pages.get("/campaigns/{key}/network", dependencies=OWN)
async def show_network(request: Request, status: Status, readings: Readings) -> Response:
    """Show who mentions whom."""
    found = await readings.maps.find(status, MOST_NODES)
    nodes = [] if found is None else found.nodes
    read = sum(node.act is not None for node in nodes)
    return render(request, "network.html", status=status, map=found, nodes=nodes[:LISTED], drawn=read, limit=MOST_NODES)


@picture_pages.get("/campaigns/{key}/next", dependencies=OWN)
async def show_next(request: Request, status: Status, readings: Readings) -> Response:
    """Show what a campaign would read next, and why."""
    found = await readings.next.find(status, MOST_NEXT)
    return render(request, "next.html", status=status, next=found and cut_next(found, NEXT))
