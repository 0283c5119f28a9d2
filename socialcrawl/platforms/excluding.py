"""A source that leaves bots and hubs alone: they are picks whose outcome is `missing`, at once and for nothing."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

from socialcrawl.engine.model import Act, Node, Outcome, Reason, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation, Source

ACTS = (
    Act.RESOLVE,
    Act.SEED,
    Act.EXPAND,
    Act.MATCH,
    Act.PAGE,
    Act.RECRAWL,
    Act.PROBE,
    Act.WALK,
    Act.INWARD,
)  # what is done to an account; a search asks for none


@dataclass(frozen=True)
class ExcludedAccounts:
    """The accounts that are not asked: usernames, patterns with `*` in any case, and ids; `include` are exceptions."""

    exclude: Sequence[str] = ()
    include: Sequence[str] = ()
    _ids: frozenset[str] = field(init=False, repr=False, compare=False)
    _out: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    _in: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", frozenset(_strip_names(self.exclude)))
        object.__setattr__(self, "_out", _compile(self.exclude))
        object.__setattr__(self, "_in", _compile(self.include))

    def excludes(self, username: str) -> bool:
        """Return whether nobody asks the account of that name."""
        out = self._out is not None and self._out.fullmatch(username) is not None
        return out and (self._in is None or self._in.fullmatch(username) is None)

    def excludes_account(self, who: Who) -> bool:
        """Return whether nobody asks an account: its username or its id is excluded; no pattern means an id."""
        return who.id in self._ids or (who.username is not None and self.excludes(who.username))

    def find_reason(self, username: str) -> str | None:
        """Return the first of `exclude` because of which it is not asked; None if it is."""
        if not self.excludes(username):
            return None
        return next(name for name in self.exclude if ExcludedAccounts([name]).excludes(username))


class ExcludingSource:
    """A source behind which the excluded are not asked.

    An account that is known by its id only is asked, unless that is excluded: whose it is comes out by that.

    Args:
        source: the platform, which is given the other picks.
        accounts: who is excluded.
    """

    def __init__(self, source: Source, accounts: ExcludedAccounts) -> None:
        self.source, self.accounts = source, accounts

    def width(self, act: Act) -> int:
        """See `protocols.Source.width`."""
        return self.source.width(act)

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """See `protocols.Source.start_conversations`."""
        out = {pick.n for pick in batch if pick.act in ACTS and self._is_excluded(accounts.get(pick.node))}
        if not out:
            return self.source.start_conversations(batch, accounts)
        left = tuple(pick for pick in batch if pick.n not in out)
        silent = _skip_picks(tuple(pick for pick in batch if pick.n in out))
        return [silent, *(self.source.start_conversations(left, accounts) if left else ())]

    def mark(self, at: float) -> str:
        """See `protocols.Source.mark`."""
        return self.source.mark(at)

    def _is_excluded(self, who: Who | None) -> bool:
        return who is not None and self.accounts.excludes_account(who)


def _skip_picks(out: Batch) -> Generator[Request, Reply, Mapping[int, Outcome]]:
    yield from ()
    return {pick.n: Outcome(pick.n, pick.node, 0.0, missing=Reason.EXCLUDED) for pick in out}


def write_pattern(name: str) -> str:
    """Return the regular expression of a name with `*` for any part."""
    return ".*".join(map(re.escape, name.split("*")))


def _compile(names: Sequence[str]) -> re.Pattern[str] | None:
    if not names:
        return None
    return re.compile("|".join(map(write_pattern, _strip_names(names))), re.IGNORECASE | re.DOTALL)


def _strip_names(names: Sequence[str]) -> list[str]:
    return [name.strip().removeprefix("@") for name in names]
