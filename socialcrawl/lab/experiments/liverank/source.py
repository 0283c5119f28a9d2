"""What a probe of a world answers: the node is active, or it is not."""

from collections.abc import Generator, Mapping, Sequence

from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.lab.experiments.liverank.dataset_worlds import Flags


class ProbedSource:
    """The source of a world in which `active` (bool[n]) is the truth: one conversation a batch, without requests."""

    def __init__(self, active: Flags) -> None:
        self._active: list[bool] = active.tolist()

    def width(self, act: Act) -> int:
        """Return one node a pick: how many are asked together is said to the run."""
        return 1

    def talks(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return one conversation."""
        return [self._talk(batch)]

    def mark(self, at: float) -> str:
        """Return None: a probe is not resumed."""
        return ""

    def _talk(self, batch: Batch) -> Generator[Request, Reply, Mapping[int, Outcome]]:
        yield from ()  # a conversation, though nothing has to be asked
        return {pick.n: self._outcome(pick) for pick in batch}

    def _outcome(self, pick: Pick) -> Outcome:
        return Outcome(pick.n, pick.node, 0.0, float(self._active[pick.node]))
