"""The ledger of a campaign: what each request cost by the price table, and whether its pages belong together."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from socialcrawl.campaign.policies import load_policy, load_policy_file
from socialcrawl.engine.model import OWN_PART, READ_BEFORE, ReplyKind
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.erasure.tombstones import has_tombstones
from socialcrawl.storage.ledger.request_log import FetchTimes, FirstAnswers, find_loose_pages, read_bills
from socialcrawl.verify.budgets import BudgetCheck
from socialcrawl.verify.findings import SHOWN, Check
from socialcrawl.verify.story import CampaignRecord

UNANSWERED = "no answer came: the dearest price counts"
INCLUDED = "answers with posts or users that they carried along, whose number is not kept"
UNPRICED = "endpoints that the price table does not have"
ADVANCE = "connections of streams, which pay in advance for posts that may come"
REFUSED = "answers that could not be used, whose size is not kept"
UNLISTED = "an older program did not write down which posts came"
NO_QUESTION = "held answers whose questions are not there: erased, or in an export"
PROFILES = "held answers to look-ups, made of the profiles that are stored"
OTHER_PRICES = "every price differs: another price table was in force"
FREE = (
    ReplyKind.WINDOW,
    ReplyKind.DAY,
    ReplyKind.MONTH,
    ReplyKind.MONEY,
    ReplyKind.BACKOFF,
    ReplyKind.REFUSED,
    ReplyKind.BROKEN,
    ReplyKind.HELD,
)
"""Kinds of replies that bring nothing and cost nothing."""
Watch = Callable[[str, int, int | None], None]


class BillingCheck:
    """The requests of a campaign, held against prices and posts.

    Args:
        connection: the database, in a transaction.
        story: the campaign.
        whole: whether the ledger has cursors, by which pages follow one another, and digests of questions.

    Attributes:
        costs: what each request cost.
        pages: the posts that each brought, and the page before.
        budgets: whether what was spent was allowed.
    """

    def __init__(self, connection: Opened, story: CampaignRecord, *, whole: bool = True) -> None:
        self.connection, self.story, self._whole = connection, story, whole
        self.costs, self.pages = Check("costs of requests"), Check("pages of requests")
        self.place = "the first request"  # where it is
        self._fetched, self._answered = FetchTimes(connection), FirstAnswers(connection)
        self._prices, self._why = _find_prices(story)
        self._erased = not whole or has_tombstones(connection)  # whether questions may have gone
        self._profiles = find_platform_facts(story.begun.platform).profiles
        self._budgets = BudgetCheck(connection, story, self._prices)
        self.budgets = self._budgets.check

    def run(self, watch: Watch = lambda what, done, total: None) -> None:
        """Check every request."""
        done = 0
        for rows in read_bills(self.connection, self.story.begun.id):
            self.place = f"request {rows[0].id} to {rows[-1].id}"
            first = self._fetched.find_times([key for row in rows for key in _parse_ids(row)])
            held = {row.digest for row in rows if row.kind == ReplyKind.HELD and row.digest is not None}
            answered = self._answered.find_requests(sorted(held))
            for row in rows:
                self._budgets.add(row)
                if _is_part(row):
                    self._check_part(row, first)
                elif row.kind == ReplyKind.HELD:
                    self._check_held(row, answered.get(row.digest, row.id))
                else:
                    self._check_page(row)
                self._check_cost(row, sum(first.get(key) == row.arrived_at for key in _parse_ids(row)))
            done += len(rows)
            watch(f"adding up {self.story.begun.name}", done, None)
        loose = find_loose_pages(self.connection, self.story.begun.id, SHOWN + 1) if self._whole else ()
        for number, n, part in loose:
            self.pages.differ(
                f"request {number}", f"page {part - 1} of pick {n}", None, "a page that leads to this one"
            )
        if self.costs.differing > 1 and not self.costs.proved:
            self.costs.leave(OTHER_PRICES, self.costs.differing)
            self.costs.differing = 0
            self.costs.differences.clear()

    def _check_page(self, row: Any) -> None:
        """Hold the number of posts that came against the list of them: what was erased is in the number only."""
        if not row.posts:
            return
        listed = len(_parse_ids(row))
        if row.post_ids is None:
            self.pages.leave(UNLISTED)
        elif listed == row.posts or (listed < row.posts and row.n < self.story.erased):
            self.pages.prove()
        else:
            self.pages.differ(f"request {row.id}", "posts", row.posts, listed)

    def _check_held(self, row: Any, first: int) -> None:
        """Hold an answer that was held against request `first`, the first with an answer to the same question."""
        if row.digest is None and self._erased:
            self.pages.leave(NO_QUESTION)
        elif row.digest is None:
            self.pages.differ(f"request {row.id}", "digest", None, "a question: nobody was forgotten")
        elif row.endpoint in self._profiles:
            self.pages.leave(PROFILES)
        elif first < row.id:
            self.pages.prove()
        else:
            self.pages.differ(f"request {row.id}", "answer that was held", None, "an earlier answer to the question")

    def _check_part(self, row: Any, first: Mapping[str, str]) -> None:
        """Hold what a pick has of the pages of others: posts that came before."""
        self._check_page(row)
        for key in _parse_ids(row):
            if (came := first.get(key)) is not None and came > row.arrived_at:
                self.pages.differ(f"request {row.id}", f"post {key}", row.arrived_at, f"came at {came}")

    def _check_cost(self, row: Any, fresh: int) -> None:
        """Hold the cost of a request against the prices; `fresh` posts were new to the database with it."""
        place = f"request {row.id}"
        if self._prices is None:
            self.costs.leave(str(self._why))
        elif row.arrived_at is None:
            self.costs.leave(UNANSWERED)
        elif row.kind in FREE or (row.kind == ReplyKind.LOST and row.cost != row.most):
            self._compare_cost(place, row.cost, row.most if row.kind == ReplyKind.LOST else 0)
        elif row.kind == ReplyKind.LOST:
            self.costs.leave(UNANSWERED)
        elif (endpoint := self._prices.find_endpoint(row.endpoint)) is None:
            self.costs.leave(UNPRICED)
        elif endpoint.advance and 0 <= row.cost <= row.most:
            self.costs.leave(ADVANCE)
        elif row.new_posts is not None and not fresh <= row.new_posts:
            self.costs.differ(place, "new_posts", row.new_posts, fresh)
        elif row.kind == ReplyKind.INVALID:
            self._compute_cost(place, row, REFUSED)
        else:
            self._compute_cost(place, row, INCLUDED)

    def _compute_cost(self, place: str, row: Any, why: str) -> None:
        """Hold the cost of an answer against the prices of what it brought."""
        prices = self._prices
        assert prices is not None
        post, user = prices.compute_price("post", 1), prices.compute_price("user", 1)
        posts = row.new_posts if prices.once_a_day else row.posts
        cost = post * (posts or 0) + user * (row.new_users or 0)
        fee = prices.compute_fee(row.endpoint)
        rest = row.cost - cost - (fee if row.kind == ReplyKind.OK or row.cost - cost >= fee else 0)
        unit = min((one for one in (post, user) if one), default=0)
        if rest > 0 and unit and rest % unit == 0 and (why == REFUSED or row.new_users is None or row.posts):
            self.costs.leave(why)
        else:
            self._compare_cost(place, row.cost, row.cost - rest)

    def _compare_cost(self, place: str, cost: Any, expected: int) -> None:
        if self.costs.compare(place, "cost", cost, expected):
            self.costs.prove()


def _find_prices(story: CampaignRecord) -> tuple[Policy | None, str | None]:
    """Return the price table of a campaign; None, and why, where it is a file that is not here."""
    own = ((story.settings or {}).get("source") or {}).get("policy")
    if own is None:
        return load_policy(story.begun.platform), None
    try:
        return load_policy_file(Path(own)), None
    except SettingsError as error:
        return None, str(error)


def _is_part(row: Any) -> bool:
    """Return whether a request was answered with posts that other requests brought."""
    return bool(row.endpoint.endswith((OWN_PART, READ_BEFORE)))


def _parse_ids(row: Any) -> Sequence[str]:
    return json.loads(row.post_ids) if row.post_ids and (row.kind != ReplyKind.HELD or _is_part(row)) else ()
