"""How a part of a live stream is asked for, and what came of it, whatever the platform. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from socialcrawl.engine.model import Outcome, Pick, Reason, Reply, ReplyKind
from socialcrawl.engine.stream_places import Place, parse_turn
from socialcrawl.platforms.node_reading import Reading

PROBED = 1.0  # seconds in which a server says that it knows no such stream


def make_live_parameters(pick: Pick, size: int) -> Mapping[str, str]:
    """Return the parameters of the request for a part of a stream, as `StreamReader.answer` reads them.

    Args:
        pick: of act `live`.
        size: posts after which the part ends.
    """
    turn = parse_turn(pick.since)
    return {"after": str(turn.place), "seconds": f"{turn.seconds:g}", "limit": str(size)}


def make_probe_parameters(now: float) -> Mapping[str, str]:
    """Return the parameters of a request that tells whether a stream can be read, from `now` (Unix seconds) on."""
    return {"after": str(Place(now)), "seconds": f"{PROBED:g}", "limit": "1"}


def make_live_outcome(pick: Pick, reply: Reply) -> Outcome:
    """Return the outcome of a part of a stream: its authors, and as its mark the part that was read.

    Args:
        pick: of act `live`.
        reply: whose cursor is that part (`stream_places.StreamPart`).
    """
    reading = Reading(pick)
    if reply.kind not in (ReplyKind.OK, ReplyKind.HELD) or not reply.cursor:
        return Outcome(pick.n, pick.node, reply.at, missing=Reason.TEMPORARY)
    reading.take(reply)
    return replace(reading.make_search_outcome(), missing=None, mark=reply.cursor)
