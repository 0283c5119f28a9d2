"""Pages with pictures of a campaign: its mention network, and what it would read next."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from socialcrawl.web.http_api import Status
from socialcrawl.web.page_answers import render
from socialcrawl.web.picture_api import MOST_NEXT, MOST_NODES, Pictures, cut_next

LISTED = 25  # accounts of the map in its table
NEXT = 20  # decisions ahead
picture_pages = APIRouter(include_in_schema=False)


@picture_pages.get("/campaigns/{key}/network")
def show_network(request: Request, status: Status, pictures: Pictures) -> Response:
    """Show who mentions whom."""
    found = pictures.maps.read(status, MOST_NODES)
    read = sum(node.act is not None for node in found.nodes)
    return render(
        request, "network.html", status=status, map=found, nodes=found.nodes[:LISTED], drawn=read, limit=MOST_NODES
    )


@picture_pages.get("/campaigns/{key}/next")
def show_next(request: Request, status: Status, pictures: Pictures) -> Response:
    """Show what a campaign would read next, and why."""
    found = cut_next(pictures.next.read(status, MOST_NEXT), NEXT)
    return render(request, "next.html", status=status, next=found)
