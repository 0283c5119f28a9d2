"""The store without a database: for the laboratory and for tests. It forgets everything with its process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from socialcrawl.model import Answer, Grant, Node, Outcome, Page, Reply, Who
from socialcrawl.protocols import Batch, History, Ledger
from socialcrawl.store import answers


class MemoryStore:
    """What one campaign remembers, in lists and dictionaries; the same contract as the SQL store."""

    def __init__(self) -> None:
        self._accounts: list[Who] = []
        self._by_id: dict[str, int] = {}
        self._by_handle: dict[str, int] = {}
        self._open: Batch = ()
        self._history: list[tuple[Batch, Sequence[Outcome]]] = []
        self._ledger: list[tuple[Grant, Reply | None]] = []
        self._replies: dict[tuple[int, int], Reply] = {}

    def enlist(self, usernames: Sequence[str], now: float) -> list[Node]:
        """The nodes of accounts that a person names."""
        return [Node(self._number(Who(None, name))) for name in usernames]

    def open(self, batch: Batch) -> None:
        """See `protocols.Store.open`."""
        self._open, self._replies = batch, {}

    def accounts(self, nodes: Sequence[Node]) -> Mapping[Node, Who]:
        """See `protocols.Store.accounts`."""
        return {node: self._accounts[node] for node in nodes if 0 <= node < len(self._accounts)}

    def reserve(self, grant: Grant) -> None:
        """See `protocols.Store.reserve`."""
        self._ledger.append((grant, None))

    def save(self, grant: Grant, reply: Reply) -> Reply:
        """See `protocols.Store.save`."""
        if isinstance(reply.rows, Page):
            reply = replace(reply, rows=self._keep(reply.rows))
        place = next(i for i in reversed(range(len(self._ledger))) if self._ledger[i][0] is grant)
        self._ledger[place] = (grant, reply)
        if reply.kind in ("ok", "missing"):
            self._replies[grant.request.key] = reply
        return reply

    def replies(self, batch: Batch) -> Mapping[tuple[int, int], Reply]:
        """See `protocols.Store.replies`."""
        return dict(self._replies) if batch else {}

    def finish(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """See `protocols.Store.finish`."""
        self._history.append((batch, list(outcomes)))
        self._open, self._replies = (), {}

    def unfinished(self) -> Batch:
        """See `protocols.Store.unfinished`."""
        return self._open

    def history(self) -> History:
        """See `protocols.Store.history`."""
        return list(self._history)

    def ledger(self) -> Ledger:
        """See `protocols.Store.ledger`."""
        return list(self._ledger)

    def _keep(self, page: Page) -> Answer:
        same: dict[int, str] = {}
        for row in page.accounts:
            claimed = self._by_handle.get(row.username.lower())
            node = self._number(Who(row.id, row.username))
            if claimed is not None and claimed != node and self._accounts[claimed].id is None:
                same[claimed] = f"same-as:{node}"
            self._accounts[node] = Who(row.id, row.username)
            self._by_handle[row.username.lower()] = node
        numbers = {who: self._number(who) for who in sorted(answers.everyone(page), key=lambda who: who.id is None)}
        return answers.answer(page, numbers, same)

    def _number(self, who: Who) -> int:
        handle = (who.username or "").lower()
        node = self._by_id.get(who.id) if who.id is not None else self._by_handle.get(handle)
        named = self._by_handle.get(handle) if handle else None
        if node is None and named is not None and self._accounts[named].id is None:
            node = named
        if node is None:
            node = len(self._accounts)
            self._accounts.append(who)
        known = self._accounts[node]
        self._accounts[node] = Who(known.id or who.id, known.username or who.username)
        if who.id is not None:
            self._by_id[who.id] = node
        if handle and (named is None or known.username is None):
            self._by_handle[handle] = node
        return node
