"""The forum as conversations: which requests answer a pick, and what their answers say together. No input or output."""

from collections.abc import Mapping, Sequence

from socialcrawl.contracts.platforms import Act, Batch, Conversation, Node, Pick, Policy, Reading, Request, Who

MEMBER, SEARCH = "/members/:name", "/search"
PAGE = 20  # posts


class ForumSource:
    """Pages of a member's posts, and of a search, until there are no more or enough were read.

    Args:
        policy: the limits and prices of the forum.
        queries: the words that are searched; the node -1 is the first of them, -2 the second.
        pages: the most pages that are read of a member.
    """

    def __init__(self, policy: Policy, queries: Sequence[str], pages: int) -> None:
        self.policy, self.queries, self.pages = policy, queries, pages

    def width(self, act: Act) -> int:
        """Return how many picks one request answers: 1; 0 for links to an account, which the forum cannot tell."""
        return 0 if act == Act.INWARD else 1

    def mark(self, at: float) -> str:
        """Return "": the forum cannot be asked for new posts only."""
        return ""

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> list[Conversation]:
        """Return one conversation for each pick."""
        return [self._talk(pick, accounts.get(pick.node)) for pick in batch]

    def _talk(self, pick: Pick, who: Who | None) -> Conversation:
        """Request page after page; the reply to each `yield` arrives already stored, with nodes for accounts."""
        reading = Reading(pick)
        if pick.act == Act.SEARCH:
            endpoint, params = SEARCH, {"q": self.queries[-1 - pick.node]}
        else:
            endpoint, params = MEMBER, {"name": (who and (who.username or who.id)) or ""}
        cursor: str | None = "1"
        for part in range(self.pages):
            request = Request(
                (pick.n, part),
                endpoint,
                {**params, "page": cursor or "1"},
                PAGE,
                self.policy.compute_most(endpoint, PAGE),
            )
            reply = yield request
            cursor = reply.cursor
            if not reading.take(reply) or cursor is None:
                break
        return {pick.n: reading.make_search_outcome() if pick.act == Act.SEARCH else reading.make_outcome()}
