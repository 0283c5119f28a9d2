"""The section of a campaign that tracks accounts: expand or go back, and to whom (Kumar et al., section III)."""

from math import isfinite
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, field_validator, model_validator

from socialcrawl.campaign.sections.values import Section, Span, make_span_check
from socialcrawl.crawls.track.visit_policies import EXPANSIONS, RECRAWLS
from socialcrawl.text.wording import explain_unknown, parse_seconds

ALL = "all"
NEVER = "never"


def _parse_memory(given: Any) -> float | str:
    if given == ALL:
        return ALL
    if type(given) not in (int, float) or not (given > 0 and isfinite(given)):
        raise ValueError('write a number above 0, as 4.0 (units of OPIC\'s clock), or "all"')
    return float(given)


Memory = Annotated[
    float | str,
    PlainValidator(_parse_memory),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": ALL}]}),
]


class TrackSection(Section):
    """How to divide visits between known and new accounts."""

    target: Literal["indegree", "importance", "relevance"] = Field(
        default="indegree",
        description="what makes an account important: links to it; OPIC; relevance of accounts that link to it",
    )
    topical: bool = Field(
        default=False, description="importance along links of the topic: cash flows in proportion to their weights"
    )
    extra: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="what OPIC's virtual page adds to each unit of cash that flows along links on topic"
    )
    memory: Memory = Field(
        default=ALL,
        description='how far back importance looks: "all", or so much of OPIC\'s clock G; 2 is about a visit of each',
    )
    lean: Annotated[float, Field(ge=-1, le=1)] = Field(
        default=0.0,
        description="where cash goes: 1: to accounts that were never read; -1: to those that were; 0: to neither",
    )
    expansion: str = Field(
        default="gai",
        description=f"which account of the frontier is read: {', '.join(EXPANSIONS)}",
        examples=list(EXPANSIONS),
    )
    recrawl: str = Field(
        default="oru",
        description=f"which known account is read again: {', '.join(RECRAWLS)}",
        examples=list(RECRAWLS),
    )
    p: Annotated[float, Field(ge=0, le=1)] = Field(default=0.5, description="probability of a return visit")
    window: Annotated[str, *make_span_check(ALL)] = Field(
        default="7d", description='w: posts that are older when an account is read do not count; 12h, 7d; "all": all do'
    )
    rest: Span = Field(default="1d", description="how long an account is left alone after a visit")
    again: Annotated[str, *make_span_check(NEVER)] = Field(
        default="14d",
        description='when an account that was lost is tried again, twice as late after each further loss; "never"',
    )
    parallel: Literal["once", "visits"] = Field(
        default="once", description="a link between two accounts counts once, or once a visit that brought it"
    )

    @field_validator("expansion")
    @classmethod
    def _check_expansion(cls, name: str) -> str:
        return _check_among(name, EXPANSIONS, "expansion")

    @field_validator("recrawl")
    @classmethod
    def _check_recrawl(cls, name: str) -> str:
        return _check_among(name, RECRAWLS, "recrawl policy")

    @model_validator(mode="after")
    def _check_lean(self) -> Self:
        if self.lean and self.target != "importance" and "opic" not in (self.expansion, self.recrawl):
            raise ValueError(
                f"lean = {self.lean:g} moves cash, by which nobody is chosen here: remove it, or go by cash with "
                'target = "importance", expansion = "opic" or recrawl = "opic"'
            )
        return self

    @property
    def width(self) -> float | None:
        """The window w in seconds; None: posts of any age count."""
        return None if self.window == ALL else parse_seconds(self.window)

    @property
    def memory_span(self) -> float | None:
        """How much of OPIC's clock importance looks back on; None: all of it."""
        return None if isinstance(self.memory, str) else self.memory

    @property
    def pause(self) -> float:
        """How long an account is left alone after a visit, in seconds."""
        return parse_seconds(self.rest)

    @property
    def absence(self) -> float | None:
        """How long after it was lost an account may be asked again, in seconds; None: never."""
        return None if self.again == NEVER else parse_seconds(self.again)


def _check_among(name: str, known: tuple[str, ...], what: str) -> str:
    if name not in known:
        raise ValueError(explain_unknown(what, name, known))
    return name
