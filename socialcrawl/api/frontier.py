"""What a campaign would read next, and why."""

from collections.abc import Mapping
from typing import Any

from socialcrawl.api.data_tables import Table, make_columns, split_rows
from socialcrawl.api.page_addresses import find_account_page
from socialcrawl.crawls.next_picks import NextPick, NextPicks
from socialcrawl.engine.draws import CHANCE, STEERED
from socialcrawl.engine.model import Act
from socialcrawl.render.explanation import summarize_explanation

FRONTIER_COLUMNS = {
    "place": ("int", "1 for what is read next"),
    "account": ("text", "username as last shown, or the platform's id; missing: a search or a span of time"),
    "account_id": ("text", "the platform's own id of the account"),
    "act": ("text", "what would be done: expand, match, seed, recrawl, probe, walk, search, slice and others"),
    "score": ("float", "what decided, where something is estimated; else 0"),
    "open": ("bool", "whether this was chosen already, and its answer has not come yet"),
    "drawn": ("bool", "whether it is drawn at random, to measure what the estimator gains"),
    "why": ("text", "why it is next, as a sentence"),
    "page": ("text", "address where the platform shows it; missing where that is not known"),
}
REASONS: Mapping[Act, str] = {
    Act.SEARCH: "A search for the topic, whose authors become seeds.",
    Act.RESOLVE: "It is a seed, whose profile is looked up first.",
    Act.SEED: "It is a seed: the campaign begins with it.",
    Act.EXPAND: "It was not read yet, and accounts that were read link to it.",
    Act.PAGE: "It was read, and a further page of its posts is expected to bring more than another account.",
    Act.MATCH: "A search for the topic found posts of it.",
    Act.RECRAWL: "It was read before, and is read again for what is new.",
    Act.PROBE: "It is next in the order in which accounts of the old dataset are tested.",
    Act.WALK: "A walk has arrived at it.",
    Act.INWARD: "A walk has arrived at it, and needs to know who links to it.",
    Act.LIVE: "The stream of new posts is read on.",
    Act.HYDRATE: "Posts whose ids were imported are fetched.",
}
"""Why decisions of each act are next, where nothing explains the single one."""
SPANS: Mapping[Act, str] = {Act.SLICE: "Posts from {} are read.", Act.COUNT: "Posts from {} are counted."}


class CampaignFrontier:
    """What a campaign would read next, as of the answers that are stored.

    The first one is what it reads next; the others follow if no answer in between changes the order.

    Attributes:
        step: steps that were done.
        left: accounts that are known and were not read yet; spans of time of a capture.
        why: why nothing is next, or why these would not be read, as a clause; "": they would be.
        accounts: a table of them, in order.

    Example:
        >>> frontier = data.frontier()
        >>> frontier
        <CampaignFrontier after 4 steps: 1 next>
        >>> frontier.step, frontier.left, frontier.why
        (4, 1, 'the limit of 4 steps is reached: with a higher one, these are next')
        >>> [first] = frontier.accounts
        >>> first["account"], first["score"], first["why"][:49]
        ('emil', 0.0, 'Not read yet: 1 account read before mentions it, ')
    """

    def __init__(self, found: NextPicks) -> None:
        rows = [[place, *_list_cells(found.platform, one)] for place, one in enumerate(found.picks, 1)]
        self.step, self.left, self.why = found.taken, found.left, found.why
        self.accounts = Table("frontier", make_columns(FRONTIER_COLUMNS), lambda size: split_rows(rows, size))
        self._size = len(rows)

    def __repr__(self) -> str:
        return f"<CampaignFrontier after {self.step:,} steps: {self._size:,} next>"


def _list_cells(platform: str, one: NextPick) -> list[Any]:
    """Return the cells of a decision, without its place."""
    pick, name = one.pick, one.name
    page = None if name is None else find_account_page(platform, None if name == one.id else name, one.id)
    return [name, one.id, str(pick.act), pick.score, one.is_open, one.drawn != STEERED, _explain(one), page]


def _explain(one: NextPick) -> str:
    """Return why a decision is next, as sentences."""
    pick = one.pick
    if pick.act in SPANS:
        begin, _, end = pick.since.partition("/")
        return SPANS[pick.act].format(f"{begin} to {end}" if end else begin)
    said = summarize_explanation(one.explanation) if one.explanation is not None else ""
    if one.drawn != STEERED:
        among = "all accounts that can be read" if one.drawn == CHANCE else "those that are nearest to the seeds"
        return f"Drawn at random from {among}, to measure what the estimator gains. {said}".strip()
    return said or REASONS.get(pick.act, "")
