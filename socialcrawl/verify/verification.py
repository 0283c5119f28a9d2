"""A whole verification: every campaign of a database, check by check."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from socialcrawl.model import Node
from socialcrawl.store.database import Opened
from socialcrawl.store.summary import campaigns
from socialcrawl.store.traces import Traces
from socialcrawl.verify.findings import ACCOUNT, Check, Verified
from socialcrawl.verify.replay import Replay
from socialcrawl.verify.story import read_story

Watch = Callable[[str, int, int | None], None]


def verify(connection: Opened, campaign: str | None = None, watch: Watch = lambda *_: None) -> Iterator[Verified]:
    """Yield what the checks of each campaign found, the oldest campaign first.

    Args:
        connection: the database, in a transaction that only reads.
        campaign: the name of one; None: all.
        watch: told what is done, and how much of it.

    Raises:
        StoreError: there is no such campaign, or its settings are not understood.
    """
    names = [name for _, name in campaigns(connection)] if campaign is None else [campaign]
    for name in names:
        yield _one(connection, name, watch)


def _one(connection: Opened, name: str, watch: Watch) -> Verified:
    story = read_story(connection, name)
    replay = Replay(connection, story)
    replay.run(watch)
    checks: list[Check] = [replay.picks, replay.scores]
    _name_accounts(Traces(connection), checks)
    return Verified(name, f"{story.kind}, {story.begun.platform}", checks)


def _name_accounts(traces: Traces, checks: Sequence[Check]) -> None:
    """Say of accounts that differ what they are called."""
    for check in checks:
        for place, one in enumerate(check.differences):
            if one.column == ACCOUNT:
                stored, recomputed = (_called(traces, node) for node in (one.stored, one.recomputed))
                check.differences[place] = replace(one, stored=stored, recomputed=recomputed)


def _called(traces: Traces, node: Node | None) -> str:
    if node is None:
        return "nobody"
    if node < 0:
        return f"search {-node}"
    name = traces.names([node])[node]
    return name if name == f"account {node}" else f"{name} (account {node})"
