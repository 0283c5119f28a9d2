"""Who does not want to be collected is found out before posts are stored: profiles are looked up for that. Pure.

Posts come with the labels of their authors, but not with their descriptions. A look-up tells of 25 accounts at once;
where the database knows some of them, the store tells those for nothing, and the others are asked for.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from socialcrawl.engine.model import PUT_OFF, Node, Reason, Reply, ReplyKind, Request, Who
from socialcrawl.platforms.json_reader import has_object
from socialcrawl.platforms.look_ups import MOST
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.text.entities import has_opt_out

Asks = Callable[[tuple[int, int], Sequence[Who]], Request]
"""What makes the request for the profiles of some accounts, from its key."""

HIDES = "!no-unauthenticated"  # the label of accounts that do not want to be shown to who has not signed in
LOOK_UP = 25  # profiles that one request answers for
EACH = 200  # parts of the look-ups for one page of a search, whose 100 authors take 4 of them, each asked MOST times


def select_willing(
    n: int, first: int, whos: Mapping[Node, Who], ask: Asks
) -> Generator[Request, Reply, Mapping[Node, Who] | None]:
    """Return those of some accounts that may be collected; None where that cannot be found out now.

    Args:
        n: the pick that they were found by.
        first: the part of the first request.
        whos: the accounts.
        ask: makes the requests.
    """
    nodes, found = list(whos), dict[Node, Who]()
    for place in range(0, len(nodes), LOOK_UP):
        left = nodes[place : place + LOOK_UP]
        for attempt in range(MOST):
            reply = yield ask((n, first + place + attempt), [whos[node] for node in left])
            if reply.kind in PUT_OFF:
                return None
            answer = reply.answer
            found |= {node: whos[node] for node in left if node in answer.found and node not in answer.missing}
            left = [node for node in left if node not in answer.found and node not in answer.missing]
            if reply.kind != ReplyKind.HELD or not left:
                break
    return found


def look_up_account(
    reading: Reading, who: Who, crowd: Sequence[Who], ask: Asks, first: int
) -> Generator[Request, Reply, str | None]:
    """Return the DID of an account that is to be read; None where it is missing or opted out, which is noted.

    Args:
        reading: what is read of it.
        who: the account.
        crowd: others that are looked up with it, so that they need not be later.
        ask: makes the requests.
        first: the part of the second request; that of the first is 0.
    """
    node, known = reading.pick.node, None
    for part in (0, *range(first, first + MOST - 1)):
        reply = yield ask((reading.pick.n, part), [who, *crowd])
        reading.take(reply)
        known = reply.answer.found.get(node)
        if reply.kind != ReplyKind.HELD or known is not None or reading.missing is not None:
            break
    reading.found.clear()  # the others are none that it led to
    if known is None and reading.missing is None:
        reading.missing = Reason.UNKNOWN
    return known if reading.missing is None else None


def is_hidden(view: Mapping[str, Any]) -> bool:
    """Return whether an account or a post is labelled `HIDES`, by its owner or by a moderation service."""
    given = view.get("labels") or ()
    labels = given.get("values") or () if isinstance(given, Mapping) else given  # as a record has those it gave itself
    return any(one.get("val") == HIDES and not one.get("neg") for one in labels)


def has_opted_out(profile: Mapping[str, Any], *, heeded: bool = True) -> bool:
    """Return whether an account does not want to be collected: the label `HIDES`, or a hashtag in its description.

    Args:
        profile: a view of the account; the smallest has no description.
        heeded: whether the description counts; labels always do.
    """
    return is_hidden(profile) or (heeded and has_opt_out(profile.get("description")))


def shows_opted_out(answer: Any, *, heeded: bool = True) -> bool:
    """Return whether an answer shows an account that opted out, anywhere in it: then it is not kept as it came."""
    return has_object(answer, lambda one: has_opted_out(one, heeded=heeded) if "did" in one else is_hidden(one))
