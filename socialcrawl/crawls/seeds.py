"""Where a crawl starts: queries to search, usernames to look up, accounts to ask first."""

from collections.abc import Callable, Iterable

from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reason, SameAs, Unavailable

TRIES = 3  # times a node may fail before it counts as missing
REST = 20  # picks after which a node that failed for a while is asked again


class Seeds:
    """The seeds of a campaign on their way: search -> resolve -> seed, each in the order given.

    A history may have searched what is searched no more, and asked names that were added since: what is in line is what
    the history leaves to do.

    Args:
        queries: nodes of the keyword searches; their authors become seeds, after the named ones.
        names: nodes of the accounts that the user named; those that were added later come last.
        most: the most seeds that the searches of one topic may add; None for all.
        look_up: whether authors that a search found are looked up before they are asked; not needed where the search
            brings their profiles.
        topics: the first pick.n under each new topic, in order.
        known: whether names are all that is needed of an account, so that they are not looked up.
        advice: what a person can do where the searches find nobody.
        searches: whether the platform has a search at all.
    """

    def __init__(
        self,
        queries: Iterable[Node] = (),
        names: Iterable[Node] = (),
        most: int | None = None,
        *,
        look_up: bool = True,
        topics: Iterable[int] = (),
        known: bool = False,
        advice: str = "use other keywords, or name seeds (usernames = [...])",
        searches: bool = True,
    ) -> None:
        self.look_up, self.advice, self.searches = look_up, advice, searches
        self.topics = list(topics)
        self.queries = list(queries)
        self.unresolved = [] if known else list(dict.fromkeys(names))
        self.most = most
        self.found = 0  # authors whom the searches of the present topic brought
        self.authors: set[Node] = set()  # all whom searches found
        self.ready: list[Node] = list(dict.fromkeys(names)) if known else []
        self.brought: set[Node] = set()  # accounts whose posts came from a file: they are not asked again
        self.asked: dict[Node, None] = {}
        self.missing: dict[Node, Unavailable] = {}
        self.answered: set[Node] = set()  # searches that worked, whether or not they found anybody
        self.failures: dict[Node, int] = {}

    def __contains__(self, node: object) -> bool:
        return node in self.asked

    def choose_next(self, size: int, width: Callable[[Act], int]) -> tuple[Act, list[Node]]:
        """Return the next act and its nodes, at most `size` requests of them; no nodes when the seeds are done."""
        for act, nodes in ((Act.SEARCH, self.queries), (Act.RESOLVE, self.unresolved)):
            if nodes:
                return act, nodes[: size * width(act)]
        return Act.SEED, self.ready[: size * width(Act.SEED)]

    def absorb(self, pick: Pick, outcome: Outcome, asked: Callable[[Node], bool] = lambda _: False) -> None:
        """Learn from a search or a look-up; one that failed for a while stays in line, up to TRIES times.

        `asked` says of a node whether the crawl has asked it already, so that it needs not be asked as a seed.
        """
        if outcome.missing == Reason.TEMPORARY:
            self.failures[pick.node] = self.failures.get(pick.node, 0) + 1
            if self.failures[pick.node] < TRIES:
                return
        if pick.act == Act.SEARCH:
            while self.topics and pick.n >= self.topics[0]:
                del self.topics[0]
                self.found = 0
            if pick.node in self.queries:
                self.queries.remove(pick.node)
            if outcome.missing:
                self.missing[pick.node] = outcome.missing
            else:
                self.answered.add(pick.node)
            found = [Node(int(node)) for node in outcome.targets]
            self.authors.update(found)
            self._take_authors([node for node in found if not asked(node)])
            return
        node = pick.node
        if outcome.missing == Reason.FORGOTTEN:  # it may have gone out of line long ago: nobody else is meant
            if node in self.unresolved:
                self.unresolved.remove(node)
            self.missing[node] = outcome.missing
            return
        if isinstance(outcome.missing, SameAs):
            node = outcome.missing.node
        self._remove_resolved(pick.node, node)
        if node == pick.node and outcome.missing:
            self.missing[node] = outcome.missing
            return
        if node not in self.ready and node not in self.asked and node not in self.brought and not asked(node):
            self.ready.append(node)

    @property
    def unread(self) -> bool:
        """Whether no seed that was asked could be read."""
        return all(node in self.missing for node in self.asked)

    def note_done(self, node: Node, missing: Unavailable | None) -> None:
        """Note that a seed was asked, and why it could not be read if so."""
        if missing is not None:
            self.missing[node] = missing
        else:
            self.missing.pop(node, None)
        if node in self.ready:
            self.ready.remove(node)
        self.asked[node] = None

    def bring(self, node: Node) -> None:
        """Take an account out of the line whose posts came from a file."""
        self.brought.add(node)
        for line in (self.unresolved, self.ready):
            if node in line:
                line.remove(node)

    def retry(self, node: Node) -> bool:
        """Put a seed that failed for a while back in line; False if `node` is no seed."""
        if node not in self.asked:
            return False
        if node not in self.ready:
            self.ready.append(node)
        return True

    def explain_empty(self) -> str:
        """Return why there is nothing to start from, and what to do."""
        if any(node < 0 and why == Reason.PROTECTED for node, why in self.missing.items()):
            return (
                "search is closed to those who have not signed in, and no seed that was named can be read: name seeds "
                "(usernames, lists, file), or sign in"
            )
        if self.missing:
            reasons, count = ", ".join(sorted({str(why) for why in self.missing.values()})), len(self.missing)
            if self.answered:
                seeds = f"none of the {count:,} seeds can be read" if count > 1 else "the seed cannot be read"
                return f"the search found no posts, and {seeds} ({reasons}): use other keywords, or check the usernames"
            which = f"none of the {count:,} seeds and searches" if count > 1 else "neither a seed nor a search"
            return (
                f"{which} can be read ({reasons}): check the usernames"
                f"{', or let the keywords find seeds (search = true)' if self.searches else ''}"
            )
        return f"the search found no posts, so there is no account to start from: {self.advice}"

    def _remove_resolved(self, asked: Node, node: Node) -> None:
        """Take out of the line who was looked up as `asked` and is `node`.

        After a restart, a name may stand for the account that it turned out to be, or for one that took the name over;
        names are looked up in their order, so then it was the first. Two names may have become one. Authors whom a
        search found are nobody else, also where fewer of them are taken now than were then.
        """
        known = next((one for one in (asked, node) if one in self.unresolved), None)
        strange = node not in self.ready and node not in self.asked and asked not in self.authors
        if known is None and self.unresolved and strange:
            known = self.unresolved[0]
        if known is not None:
            self.unresolved.remove(known)

    def _take_authors(self, nodes: list[Node]) -> None:
        for node in nodes:
            if self.most is not None and self.found >= self.most:
                return
            if not any(node in line for line in (self.unresolved, self.ready, self.asked, self.brought)):
                (self.unresolved if self.look_up else self.ready).append(node)
                self.found += 1
