"""A source behind which every node that a walk reads is on the topic or off it: P(u) of focused sampling. Pure.

The predicates of "Focused Sampling" (paper 004, "Computing the predicate"): by the address, by keywords, by a
classifier; and labels by hand. A classifier acts through the hits of the topic, which count the posts that it accepts.
A second predicate may tell who is on a wider topic that it is a part of (section 3.5, "hierarchical classification").
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from socialcrawl.engine.model import ON_TOPIC, WALKS, WIDER, Act, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation, Source
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.excluding import write_pattern

NOBODY = Who(None, None)


@dataclass(frozen=True)
class Predicate:
    """P(u): whether a node is on the topic. A label decides; without one, all that is asked for below has to hold.

    Attributes:
        least: the occurrences of the topic in what was read of the node that make it on topic; 0: no matter its text.
            Where a classifier counts, an occurrence is a post (a page) that it accepts.
        patterns: what it is called, with `*` for any part and in any case: its name (alice@mastodon.social), its
            address (https://example.org/jazz/*), or its host alone (*.example.org); one of them has to fit. None: not
            asked.
        expressions: regular expressions likewise, of which one has to be found in its name or address, in any case.
        labels: by hand: name, platform id or address -> on the topic or not; names in any case, with or without @.

    Raises:
        SettingsError: there is nothing to judge by, `least` is negative, a pattern is empty, or an expression is not
            valid or fits the empty text.
    """

    least: int = 1
    patterns: Sequence[str] = ()
    expressions: Sequence[str] = ()
    labels: Mapping[str, bool] = field(default_factory=dict)
    _names: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    _found: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    _labels: Mapping[str, bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.least < 0 or not (self.least or self.patterns or self.expressions or self.labels):
            raise SettingsError(
                "Nothing tells what is on topic: give least (occurrences, 1 or more), patterns, expressions or labels."
            )
        object.__setattr__(self, "_names", _compile([_write_pattern(one) for one in self.patterns]))
        object.__setattr__(self, "_found", _compile([_check_expression(one) for one in self.expressions]))
        object.__setattr__(self, "_labels", {_make_key(name): on for name, on in self.labels.items()})

    def holds(self, who: Who, occurrences: int) -> bool:
        """Return whether the node `who`, with this number of occurrences in what was read of it, is on the topic."""
        names = [name for name in (who.username, who.id) if name]
        label = next((self._labels[key] for name in names if (key := _make_key(name)) in self._labels), None)
        if label is not None:
            return label
        asked = bool(self.least or self._names or self._found)
        return asked and occurrences >= self.least and self._has_match(names)

    def _has_match(self, names: Sequence[str]) -> bool:
        if self._names is None and self._found is None:
            return True
        candidates = {*names, *map(find_host, names)} - {""}
        is_named = self._names is not None and any(self._names.fullmatch(name) for name in candidates)
        return is_named or (self._found is not None and any(self._found.search(name) for name in names))


class FocusedSource:
    """A source whose walks tell P(u) and where a node lives, and everything else as the source within does.

    The outcome of an act `walk`, or `page` after it, has as value 1.0 (on the topic), 0.5 (only on the wider topic) or
    0.0, also where the node is missing, and as mark its host. A node is judged by what it was called when it was
    picked.

    Args:
        source: the platform.
        predicate: what is on the topic.
        wider: what is on the wider topic, besides all that is on the topic; None: there is none.
    """

    def __init__(self, source: Source, predicate: Predicate, wider: Predicate | None = None) -> None:
        self.source, self.predicate, self.wider = source, predicate, wider

    def width(self, act: Act) -> int:
        """See `protocols.Source.width`."""
        return self.source.width(act)

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """See `protocols.Source.start_conversations`."""
        walks = {pick.n: pick for pick in batch if pick.act in WALKS}
        talks = self.source.start_conversations(batch, accounts)
        return [self._judge_walks(conversation, walks, accounts) for conversation in talks] if walks else talks

    def mark(self, at: float) -> str:
        """See `protocols.Source.mark`."""
        return self.source.mark(at)

    def _judge_walks(
        self, conversation: Conversation, walks: Mapping[int, Pick], accounts: Mapping[Node, Who]
    ) -> Generator[Request, Reply, Mapping[int, Outcome]]:
        outcomes = yield from conversation
        return {
            n: self._focus(one, accounts.get(one.node, NOBODY)) if n in walks else one for n, one in outcomes.items()
        }

    def _focus(self, outcome: Outcome, who: Who) -> Outcome:
        value = self._compute_value(who, outcome.occurrences) if outcome.missing is None else 0.0
        return replace(outcome, value=value, mark=find_host(who.username or who.id or ""))

    def _compute_value(self, who: Who, occurrences: int) -> float:
        if self.predicate.holds(who, occurrences):
            return ON_TOPIC
        return WIDER if self.wider is not None and self.wider.holds(who, occurrences) else 0.0


def find_host(name: str) -> str:
    """Return where a node lives, by what it is called: a page's host, an account's instance; "" where there is none."""
    if "://" in name:
        try:
            return urlsplit(name).hostname or ""
        except ValueError:
            return ""
    return name.rpartition("@")[2].lower() if "@" in name.removeprefix("@") else ""


def _make_key(name: str) -> str:
    """Return what a label is found by: addresses as they are, other names in any case and without an @ before them."""
    bare = name.strip()
    return bare if "://" in bare else bare.removeprefix("@").casefold()


def _write_pattern(pattern: str) -> str:
    bare = pattern.strip().removeprefix("@")
    if not bare:
        raise SettingsError('A pattern of what is on the topic is empty: write a name, such as "*@jazz.example".')
    return write_pattern(bare)


def _check_expression(expression: str) -> str:
    try:
        compiled = re.compile(expression, re.IGNORECASE)
    except re.error as error:
        raise SettingsError(f"The regular expression {expression!r} is not valid: {error}.") from error
    if compiled.match(""):
        raise SettingsError(f"The regular expression {expression!r} fits the empty text: everything would be on topic.")
    if compiled.groupindex or compiled.flags & ~(re.IGNORECASE | re.UNICODE) or re.search(r"\\[1-9]", expression):
        raise SettingsError(f"The regular expression {expression!r} names groups or sets flags: write it without.")
    return expression


def _compile(parts: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE | re.DOTALL) if parts else None
