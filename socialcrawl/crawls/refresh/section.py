"""The section of a campaign that tests which accounts of an old dataset are active (Huynh, Mathieu, Viennot)."""

from dataclasses import fields
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from socialcrawl.campaign.sections.values import Positive, Section, make_span_check
from socialcrawl.crawls.refresh.rules import RefreshRules
from socialcrawl.engine.model import LARGEST
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.facts import DEFAULT, find_platform_facts
from socialcrawl.text.wording import parse_seconds

AUTO, EXISTS = "auto", "exists"
YEARS = 20  # that the last activity may lie back: more than any of the platforms is old
RULES: Any = RefreshRules()
"""Whose defaults are those of the campaign file."""


class RefreshSection(Section):
    """Which accounts of an old dataset are tested first, and what it takes to be active."""

    rank: Literal["auto", "random", "indegree", "pagerank", "pa", "pa+-", "asf", "bfs", "ai", "dpr"] = Field(
        default="auto", description="the order (LiveRank); auto: pa for accounts, pa+- for pages of the web"
    )
    training: Literal["auto", "random", "indegree", "pagerank"] = Field(
        default="auto",
        description="which accounts are tested first, to learn from; auto: pagerank for accounts, random for pages",
    )
    z: Annotated[int, Field(ge=0, le=LARGEST)] = Field(
        default=RULES.z, description="how many are tested first, those of check on top; 0: the order itself begins"
    )
    neighbours: bool = Field(
        default=RULES.neighbours,
        description="whether neighbours of those may be among them; false: while there are others, not",
    )
    check: Annotated[int, Field(ge=0, le=LARGEST)] = Field(
        default=RULES.check,
        description="random accounts tested before all, on top of z, to estimate how many are active; they count",
    )
    fraction: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=RULES.fraction, description="stop when this fraction of the active accounts is found; none: test all"
    )
    stop: Literal["bound", "estimate"] = Field(
        default=RULES.stop,
        description='how fraction is judged: "bound": by the bound of a 95% interval (more random accounts are tested '
        'where that decides it); "estimate": when about this fraction is found, in about half of the runs less',
    )
    active: Annotated[str, *make_span_check(AUTO, EXISTS, years=YEARS)] = Field(
        default=AUTO,
        description='which accounts are active: "180d": those with a post in the last 180 days (pages: changed in '
        'them, or do not tell when); "exists": all that exist; auto: 180d for accounts, exists for pages of the web',
    )
    protected: bool = Field(default=False, description="whether accounts that are closed to strangers count as active")
    linked: bool = Field(default=RULES.linked, description="also test accounts that the old dataset only links to")
    damping: Annotated[float, Field(ge=0, lt=1)] = Field(default=RULES.damping, description="d of PageRank")
    tolerance: Annotated[float, Field(gt=0, le=1)] = Field(
        default=RULES.tolerance,
        description="the error at which a PageRank stops: how far each rank may be off, as a share of it",
    )
    rounds: Positive = Field(
        default=RULES.rounds, description="dpr: how often PageRank is zapped to the top of the one before"
    )
    top: Annotated[float, Field(gt=0, le=1e9)] = Field(
        default=RULES.top, description="dpr: the size of that top, for each account found active"
    )
    every: Positive = Field(
        default=RULES.every, description="dpr: the number of tests after which it is computed again"
    )
    redirects: bool = Field(default=False, description="web: a page that has moved counts as active where it leads")
    soft: bool = Field(
        default=True,
        description='web: a page that says "Page Not Found" or "Error 404" is not active, whatever its status',
    )
    workers: Positive = Field(default=1, description="p, among how many campaigns the order is shared out")
    worker: Annotated[int, Field(ge=0, le=LARGEST)] = Field(
        default=0, description="which of them this one is, from 0: it tests number i of the order where i mod p is that"
    )

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        self.make_rules(DEFAULT.name)
        return self

    def make_rules(self, platform: str) -> RefreshRules:
        """Return the rules of the crawl on a platform.

        Raises:
            ValueError: two settings do not go together; the message says which.
        """
        rank, training = self.steering(platform)
        own = {one.name: getattr(self, one.name) for one in fields(RefreshRules)}
        worker = (self.worker, self.workers) if self.workers > 1 or self.worker else None
        return RefreshRules(**{**own, "rank": rank, "training": training, "worker": worker})

    def resolve(self, platform: str) -> dict[str, Any]:
        """See `Section.resolve`."""
        return {"active": self.rule(platform)}

    def rule(self, platform: str) -> str:
        """Return who is active on a platform, in the words of `active`, where it is left to us (2.1 and 3.2)."""
        return find_platform_facts(platform).active if self.active == AUTO else self.active

    def within(self, platform: str) -> float | None:
        """Return how long ago somebody active has posted at most, seconds; None: whoever exists is active."""
        rule = self.rule(platform)
        return None if rule == EXISTS else parse_seconds(rule, years=YEARS)

    def activity(self, platform: str) -> Activity:
        """Return the rule by which a probe is judged on a platform."""
        undated = find_platform_facts(platform).undated
        return Activity(self.within(platform), self.protected, undated, redirects=self.redirects, soft=self.soft)

    def steering(self, platform: str) -> tuple[str, str]:
        """Return the rank and the training set on a platform, where they are left to us (section 5 of the paper)."""
        facts = find_platform_facts(platform)
        rank = facts.rank if self.rank == "auto" else self.rank
        training = "random" if self.fraction is not None and not self.check else facts.training
        return rank, training if self.training == "auto" else self.training
