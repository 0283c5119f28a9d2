"""What a probe has seen of one node: a reading that asks for a sign of life and nothing else. Pure."""

from socialcrawl.engine.model import Outcome, Pick, Reply
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.node_reading import Reading


class ProbeReading(Reading):
    """The answers to one probe, and what they come to."""

    def __init__(self, pick: Pick) -> None:
        super().__init__(pick)
        self.last = ""  # when the node was last seen to act, ISO 8601

    def take(self, reply: Reply) -> bool:
        """Add an answer; False if there is nothing more to ask."""
        self.last = reply.answer.active.get(self.pick.node, self.last)
        return super().take(reply)

    def judged(self, activity: Activity) -> Outcome:
        """Return the outcome of the probe by the campaign's rule."""
        return activity.outcome(self.pick, self.at, self.last, self.missing)
