"""Posts by their ids: how a platform is asked for them, and what comes of a group of ids. Pure."""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from socialcrawl.engine.model import PUT_OFF, Outcome, Pick, Reason, Reply, Request, SoughtPost
from socialcrawl.engine.positions import Positions, parse_positions
from socialcrawl.platforms.node_reading import Reading

Ids = Mapping[int, str]
"""Ids of posts by their positions in the list that was imported, in order."""


class FindIds(Protocol):
    """Finds ids that were imported, without those that were forgotten."""

    def __call__(self, positions: Positions, *, left: bool = False) -> Ids:
        """Return the ids at some positions: all, or those that are `left`, of which no answer has told yet."""


def find_none(positions: Positions, *, left: bool = False) -> Ids:
    """Return no ids: none were imported."""
    del positions, left
    return {}


PARTS = 2  # requests for each id at most


class PostIdError(ValueError):
    """A text that is no id of a post; `str(error)` says why."""


@dataclass(frozen=True, slots=True)
class PostLookUp:
    """How a platform is asked for posts by their ids.

    Attributes:
        endpoint: which one answers, as tables of limits name it.
        width: how many ids one request can name.
        parse: returns the id of a post as the platform is asked for it, of how a person writes it; raises PostIdError.
    """

    endpoint: str
    width: int
    parse: Callable[[str], str]


def read_ids(
    pick: Pick, find: FindIds, read: Callable[[int, Ids], Generator[Request, Reply, Reply]]
) -> Generator[Request, Reply, Outcome]:
    """Return the outcome of a pick that fetches posts by their ids: the authors found, as of a search.

    Where a request was granted for some ids only, as the budget did not pay for more, the others are asked for next.
    Which these are is looked up after each answer, not counted: after a restart some may have been forgotten. Where no
    answer came, the mark says before which position everything was asked for; the rest is left to other picks.

    Args:
        pick: says at which positions the ids are.
        find: finds them.
        read: sends the request for some ids by its number, from 1, with what else has to be sent for it, and returns
            the reply.
    """
    reading, positions, part = Reading(pick), parse_positions(pick.since), 0
    left = find(positions)
    most = PARTS * len(left)
    while left and part < most:
        part += 1
        reply = yield from read(part, left)
        reading.at = reply.at
        if reply.kind in PUT_OFF:
            break
        reading.take(reply)
        left = find(positions, left=True)
    found = replace(reading.make_search_outcome(), missing=None)
    if not left:
        return found
    reached = next(iter(left))
    return replace(found, mark=str(reached)) if reached > positions[0] else replace(found, missing=Reason.TEMPORARY)


def match_sought(
    asked: Sequence[tuple[str, str]], came: Collection[str], why: Mapping[str, Reason], otherwise: Reason
) -> list[SoughtPost]:
    """Return what became of posts that were asked for.

    Args:
        asked: their ids as they were imported, each with the id that the platform was asked for.
        came: the ids of the posts that came.
        why: why others did not come, as the platform says it, by id.
        otherwise: why they did not, where it says nothing.
    """
    return [
        SoughtPost(one, key) if key in came else SoughtPost(one, None, why.get(key, otherwise)) for one, key in asked
    ]
