"""A source behind which accounts are read from what searches of spans of time returned. Pure.

A search of a span is a slice of a capture, whatever the platform. What it returned of an author is answered by the
store, as a part of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from socialcrawl.engine.model import FOUND_BY, OWN_PART, READ_BEFORE, Act, Node, Pick, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation, Source
from socialcrawl.platforms.node_reading import Reading

AT_ONCE = 100  # accounts that are read together, where none is requested


class SearchedAuthorsSource:
    """A source that reads slices of time for picks of act "search", and authors from what these returned.

    Args:
        source: the platform, which is given the other picks.
        endpoint: its search.
    """

    def __init__(self, source: Source, endpoint: str) -> None:
        self.source, self.endpoint = source, endpoint

    def width(self, act: Act) -> int:
        """See `protocols.Source.width`."""
        return max(AT_ONCE, self.source.width(act)) if act == Act.MATCH else self.source.width(act)

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """See `protocols.Source.start_conversations`."""
        found = [pick for pick in batch if pick.since.startswith(FOUND_BY)]
        rest = tuple(
            replace(pick, act=Act.SLICE) if pick.act == Act.SEARCH and pick.since else pick
            for pick in batch
            if not pick.since.startswith(FOUND_BY)
        )
        return [*map(self._read_found, found), *(self.source.start_conversations(rest, accounts) if rest else ())]

    def mark(self, at: float) -> str:
        """See `protocols.Source.mark`."""
        return self.source.mark(at)

    def _read_found(self, pick: Pick) -> Conversation:
        """Return what is known of an account, with what a search returned of its posts."""
        reading = Reading(replace(pick, since=""))
        if pick.act == Act.PAGE:
            reading.take((yield Request((pick.n, 0), self.endpoint + READ_BEFORE, {})))
        search = {"searched": pick.since.removeprefix(FOUND_BY)}
        reading.take((yield Request((pick.n, 1), self.endpoint + OWN_PART, search)))
        return {pick.n: reading.make_outcome()}
