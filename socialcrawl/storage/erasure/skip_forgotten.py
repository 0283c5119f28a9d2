"""A source that leaves the forgotten alone: they are picks whose outcome is known, and nobody asks the platform."""

from collections.abc import Generator, Mapping, Sequence

from socialcrawl.engine.model import Act, Node, Outcome, Reason, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation, Source

NOBODY = Who(None, None)  # what a store says of an account of which nothing is left


class SkipForgottenSource:
    """A source behind which the forgotten are not asked: their outcome is `missing`, at once and for nothing.

    Args:
        source: the platform, which is given the other picks.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def width(self, act: Act) -> int:
        """See `protocols.Source.width`."""
        return self.source.width(act)

    def mark(self, at: float) -> str:
        """See `protocols.Source.mark`."""
        return self.source.mark(at)

    def talks(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """See `protocols.Source.talks`."""
        gone = tuple(pick for pick in batch if accounts.get(pick.node) == NOBODY)
        if not gone:
            return self.source.talks(batch, accounts)
        left = tuple(pick for pick in batch if accounts.get(pick.node) != NOBODY)
        return [_skip_forgotten(gone), *(self.source.talks(left, accounts) if left else ())]


def _skip_forgotten(gone: Batch) -> Generator[Request, Reply, Mapping[int, Outcome]]:
    yield from ()
    return {pick.n: Outcome(pick.n, pick.node, 0.0, missing=Reason.FORGOTTEN) for pick in gone}
