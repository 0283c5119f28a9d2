"""What came of a part of a live stream, whatever the platform. Pure."""

from dataclasses import replace

from socialcrawl.engine.model import Outcome, Pick, Reason, Reply, ReplyKind
from socialcrawl.platforms.node_reading import Reading


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
