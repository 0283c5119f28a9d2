"""The section of a campaign that draws a uniform sample of a topic (Bar-Yossef, Kanungo, Krauthgamer)."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from socialcrawl.campaign.sections.values import FilePath, Positive, Section
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.sample.walk_laws import check_walk, find_conflict
from socialcrawl.engine.model import LARGEST
from socialcrawl.platforms.facts import find_platform_facts

WIDER_JUDGES = ("wider_patterns", "wider_expressions", "wider_labels")
WIDER = (*WIDER_JUDGES, "wider_least")
"""The keys that tell who is on the wider topic of focus = "ancestor"."""
RULES: Any = WalkRules()
"""Whose defaults are those of the campaign file."""


class SampleSection(Section):
    """How walks move, which accounts are on topic, and which visits count."""

    focus: Literal["none", "hard", "neighbourhood", "trial", "ancestor"] = Field(
        default=RULES.focus,
        description="where walks may go: anywhere; on topic; also near the topic; off it for k steps; on a wider topic",
    )
    walk: str = Field(
        default=RULES.walk,
        description="max-degree: that of the paper; or the walk of another package, by its name or as module:Class",
    )
    exact: bool = Field(
        default=RULES.exact, description="hard: judge all neighbours of an account, not only the one drawn"
    )
    k: Positive | None = Field(
        default=None,
        description="neighbourhood: links from the topic (1); trial: steps off it before the walk returns (3)",
    )
    b: Positive = Field(default=RULES.b, description="neighbourhood: short walks that tell whether an account is near")
    crude: bool = Field(
        default=RULES.crude,
        description="neighbourhood: visits weigh by a degree estimated from short walks, as printed",
    )
    degree: Positive = Field(default=RULES.degree, description="D: more than any account has neighbours")
    walkers: Positive = Field(default=RULES.walkers, description="independent walks")
    burn_in: Annotated[int, Field(ge=0, le=LARGEST)] = Field(
        default=RULES.burn_in, description="visits on topic at the start of each walk that do not count"
    )
    samples: Positive | None = Field(
        default=RULES.samples, description="stop after this many on-topic visits beyond burn_in"
    )
    length: Positive | None = Field(
        default=RULES.length, description="steps after which a walk ends; none: the budget decides"
    )
    inward: bool = Field(
        default=RULES.inward, description="also search for accounts that mention an account, where the platform can"
    )
    mutual: Literal["once", "twice"] = Field(
        default=RULES.mutual, description="how two accounts that link to each other count as neighbours"
    )
    consistency: Literal["symmetric", "printed"] = Field(
        default=RULES.consistency,
        description="symmetric: one-sided links are dropped, so that samples are uniform; printed: as in the paper",
    )
    weights: Literal["degree", "holding"] = Field(
        default=RULES.weights, description="visits weigh 1/degree; or the time that the walk stays, as it is drawn"
    )
    corrected: bool = Field(
        default=RULES.corrected, description="trial: visits weigh 1/degree; false: all alike, as printed"
    )
    trap: Literal["auto", "host", "community", "off"] = Field(
        default="auto", description="what a walk must not be caught in, by jumps, which bias; auto: hosts on the web"
    )
    trap_window: Positive = Field(
        default=RULES.trap_window, description="L: latest visits, of which half may be of one host"
    )
    trap_hosts: Positive = Field(
        default=RULES.trap_hosts, description="H: hosts visited last, to one of which it jumps"
    )
    least: Annotated[int, Field(ge=0, le=LARGEST)] | None = Field(
        default=None,
        description="minimum occurrences of the topic in what was read of an on-topic account; 1, or 0 with patterns",
    )
    patterns: list[str] = Field(
        default=[], description="on topic: names, addresses or hosts like these, with * (*@jazz.example, *.uk)"
    )
    expressions: list[str] = Field(
        default=[], description="on topic: regular expressions, of which one is found in its name or address"
    )
    tree: FilePath | None = Field(default=None, description="on topic: what the tree of `socialcrawl train` says")
    labels: FilePath | None = Field(default=None, description="a CSV of accounts judged by hand: account, on_topic")
    wider_least: Annotated[int, Field(ge=0, le=LARGEST)] = Field(
        default=0, description="ancestor: minimum occurrences of the topic on the wider topic, fewer than least"
    )
    wider_patterns: list[str] = Field(
        default=[], description="ancestor: on the wider topic: names, addresses or hosts like these, with *"
    )
    wider_expressions: list[str] = Field(
        default=[], description="ancestor: on the wider topic: regular expressions over names and addresses"
    )
    wider_labels: FilePath | None = Field(
        default=None, description="ancestor: a CSV of accounts on the wider topic by hand: account, on_topic"
    )

    @field_validator("walk")
    @classmethod
    def _check_walk(cls, name: str) -> str:
        return check_walk(name)

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        if self.exact and self.focus != "hard":
            raise ValueError(f'exact is for focus = "hard", not "{self.focus}": remove it')
        if conflict := find_conflict(self):
            raise ValueError(conflict)
        wider = next((key for key in WIDER if getattr(self, key)), "")
        if wider and self.focus != "ancestor":
            raise ValueError(f'{wider} is for focus = "ancestor", not "{self.focus}": remove it')
        if self.focus == "ancestor" and not wider:
            raise ValueError(
                'focus = "ancestor" walks on a wider topic, and nothing tells what that is: give wider_patterns, '
                "wider_expressions, wider_labels or wider_least"
            )
        if wider == "wider_least" and not self.by_name and self.wider_least >= self.occurrences:
            raise ValueError(
                f"wider_least = {self.wider_least} is not less than least, {self.occurrences}: nobody would be on the "
                "wider topic only"
            )
        return self

    @property
    def by_name(self) -> bool:
        """Whether names and addresses tell who is on topic."""
        return bool(self.patterns or self.expressions)

    @property
    def occurrences(self) -> int:
        """The occurrences of the topic that make an account on topic."""
        return int(not self.by_name) if self.least is None else self.least

    @property
    def counts(self) -> bool:
        """Whether occurrences of the topic tell anything of an account."""
        return bool(self.occurrences or self.wider_least)

    @property
    def reach(self) -> int:
        """The k of the focus."""
        return self.k or (3 if self.focus == "trial" else 1)

    def traps(self, platform: str) -> str:
        """Return what a walk must not be caught in, where that is left to us: the web has pages without end."""
        return find_platform_facts(platform).trap if self.trap == "auto" else self.trap
