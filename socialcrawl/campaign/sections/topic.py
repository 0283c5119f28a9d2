"""Sections on what a campaign is about: its topic, its accounts, its choice, its budget."""

from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from socialcrawl.campaign.sections.values import (
    FilePath,
    Kinds,
    Language,
    Moment,
    Names,
    Positive,
    Section,
    Span,
    Together,
    parse_moments,
)
from socialcrawl.crawls.collect.estimators.registry import (
    HYBRID,
    NAMES,
    SHADOWS,
    USUAL,
    check,
    check_start,
    list_usual_shadows,
    takes_options,
)
from socialcrawl.crawls.collect.estimators.regressor import FEATURES
from socialcrawl.crawls.collect.strategies import STRATEGIES, check_strategy
from socialcrawl.engine.model import LARGEST

OF_HYBRIDS = ("switch_after", "start")


class TopicSection(Section):
    """What the campaign is about: words or a model, languages and time span; see `relevance.Topic`."""

    keywords: list[str] = Field(default=[], description="words, phrases and prefixes (modul*), compared without case")
    patterns: list[str] = Field(default=[], description="regular expressions, on request")
    model: FilePath | None = Field(
        default=None,
        description="a model of `socialcrawl train`, which decides what posts are on topic; keywords are then searched "
        "only",
    )
    model_checksum: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = Field(
        default=None, description="refuse a model of any other content; campaigns store the one they ran with"
    )
    languages: list[Language] = Field(
        default=[], max_length=10, description="only posts in these languages count (BCP 47: en, zh-TW); none: all do"
    )
    from_: Moment = Field(default=None, alias="from", description="only posts written then (UTC) or later count")
    until: Moment = Field(default=None, description="only posts written before that (UTC) count")

    @model_validator(mode="after")
    def _check_span(self) -> Self:
        begin, end = self.span
        if begin is not None and end is not None and begin >= end:
            raise ValueError("from is not before until, so nothing would count: put an earlier from, or a later until")
        return self

    @property
    def span(self) -> tuple[float | None, float | None]:
        """From when until when (exclusive) posts count, Unix seconds; None: nothing bounds it."""
        return parse_moments(self.from_, self.until)


class AccountsSection(Section):
    """Accounts that are never read, such as bots and hubs."""

    exclude: Names = Field(default=[], description="usernames, ids, or patterns with * (*_bot), that are never read")
    include: Names = Field(default=[], description="exceptions: read although a pattern excludes them")

    @model_validator(mode="after")
    def _check_include(self) -> Self:
        if self.include and not self.exclude:
            raise ValueError("include names exceptions, and nothing is excluded: set exclude too, or remove include")
        if not self.include and any(not name.strip("@* ") for name in self.exclude):
            raise ValueError('exclude = ["*"] leaves no account: name in include which may be read')
        return self

    @property
    def only(self) -> list[str]:
        """The accounts that alone may be read; none: all that are not excluded."""
        return self.include if any(not name.strip("@* ") for name in self.exclude) else []


class SeedsSection(Section):
    """Where the campaign starts: accounts that you name, and authors found by a search for the keywords."""

    search: bool = Field(default=True, description="search the keywords and begin with the authors")
    usernames: list[str] = Field(default=[], description="accounts to begin with: names, or addresses of their pages")
    file: FilePath | None = Field(default=None, description="a text file with one username per line")
    lists: list[str] = Field(
        default=[],
        description="lists whose members are seeds (Bluesky: at://..., or the address of the list's page)",
    )
    capture: Annotated[str, Field(pattern=r"^[\w.-]+$")] | None = Field(
        default=None,
        description="collect and track: a capture of the same database, whose authors are accounts to read; the posts "
        "that it holds of them count as partial evidence of their relevance",
    )
    most: Positive | None = Field(default=50, description="the most accounts that the search adds")
    search_pages: Positive = Field(default=1, description="pages of 100 posts that each search may read")


class CrawlSection(Section):
    """How accounts are chosen: estimator, batch size r and number of steps n of Algorithm 1."""

    estimator: str = Field(
        default=USUAL,
        description=f"one of {', '.join(NAMES)}; one that another package adds; or module:Class",
        examples=list(NAMES),
    )
    switch_after: Annotated[int, Field(ge=0, le=LARGEST)] = Field(
        default=1000, description=f"steps before a hybrid turns linear; without estimator, the one meant is {HYBRID}"
    )
    start: str | None = Field(default=None, description="estimator that a hybrid starts with; likewise")
    refresh_rate: Together = Field(
        default=1,
        description='r: accounts picked together before the estimate is renewed; "auto": as few as keep a window busy',
    )
    steps: Positive | None = Field(default=None, description="n: accounts to read after the seeds")
    strategy: str = Field(
        default="greedy",
        description=f"one of {', '.join(STRATEGIES)}; one that another package adds; or module:Class",
        examples=list(STRATEGIES),
    )
    q: Annotated[float, Field(ge=0, le=1)] = Field(default=0.9, description="altered greedy: how often the best")
    zeta: Annotated[float, Field(ge=0, le=1e9)] = Field(
        default=0.5, description="altered greedy: how far from the best"
    )
    control: Annotated[float, Field(ge=0, le=0.5)] = Field(
        default=0.0,
        description="share of the steps that are drawn, so that report can say what the estimator gains",
    )
    nr_d: Annotated[float, Field(ge=0.001, le=1)] = Field(default=0.5, description="nr: weight of a node's own score")
    features: list[str] = Field(default=list(FEATURES), description="what a scikit-learn regressor learns over")
    regressor: dict[str, Any] = Field(default={}, description="an earlier name of estimator_options")
    estimator_options: dict[str, Any] = Field(
        default={}, description="arguments of an estimator of another package, or of a scikit-learn regressor"
    )
    strategy_options: dict[str, Any] = Field(default={}, description="arguments of a strategy of another package")
    links: Kinds = Field(
        default={"mentions": 1},
        description="what makes a link: mentions (of any kind), replies, reposts, quotes, follows; or their weights",
    )
    shadows: list[Annotated[str, Field(examples=list(NAMES))]] = Field(
        default=list(SHADOWS),
        validate_default=True,
        description="estimators that score alongside at no cost, without that which steers; report compares them",
    )
    follow: bool = Field(
        default=False, description="a shadow takes over where drawn steps show beyond doubt that it is better"
    )

    @model_validator(mode="before")
    @classmethod
    def _name_hybrid(cls, given: Any) -> Any:
        """Let keys of a hybrid mean one where no estimator is named, as they did when it was the default."""
        if isinstance(given, dict) and "estimator" not in given and not given.keys().isdisjoint(OF_HYBRIDS):
            return {"estimator": HYBRID, **given}
        return given

    @property
    def runs_added(self) -> bool:
        """Whether an estimator or strategy is not built in."""
        estimators = {self.estimator, self.start or self.estimator, *self.shadows}
        return self.strategy not in STRATEGIES or not estimators <= {*NAMES}

    @field_validator("strategy")
    @classmethod
    def _check_strategy(cls, name: str) -> str:
        return check_strategy(name)

    @field_validator("estimator")
    @classmethod
    def _check_estimator(cls, name: str) -> str:
        return check(name)

    @field_validator("start")
    @classmethod
    def _check_start(cls, name: str | None) -> str | None:
        return check_start(name) if name is not None else None

    @field_validator("shadows")
    @classmethod
    def _check_shadows(cls, names: list[str], info: ValidationInfo) -> list[str]:
        if names == list(SHADOWS):  # or as a campaign has stored it that names none
            return list_usual_shadows(info.data.get("estimator", USUAL))
        for place, name in enumerate(names):
            check(name)
            if name in names[:place]:
                raise ValueError(f"{name!r} is named twice: once is enough")
        return names

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.estimator_options and not takes_options(self.estimator):
            raise ValueError(f"the estimator {self.estimator!r} takes no estimator_options: remove them")
        if self.strategy_options and self.strategy in STRATEGIES:
            raise ValueError(f"the strategy {self.strategy!r} takes no strategy_options: remove them")
        return self

    @model_validator(mode="after")
    def _check_itself(self) -> Self:
        if "estimator" in self.model_fields_set and "shadows" in self.model_fields_set:
            self.require_others()
        return self

    def require_others(self) -> None:
        """Check that the estimator is not also a shadow.

        Raises:
            ValueError: it is.
        """
        if self.estimator in self.shadows:
            raise ValueError(f"shadows: {self.estimator!r} is the estimator itself: a shadow is another one")

    @model_validator(mode="after")
    def _check_follow(self) -> Self:
        if not self.follow:
            return self
        if not self.shadows:
            raise ValueError("follow = true follows a shadow: name estimators as shadows, or remove follow")
        if not self.control:
            raise ValueError(
                "follow = true compares estimators by drawn steps only, and none are drawn: set control = 0.2, or "
                "remove follow"
            )
        if self.regressor or self.estimator_options:
            raise ValueError("estimator_options are of one estimator, which follow = true changes: remove one of them")
        return self

    @property
    def together(self) -> int | None:
        """The refresh rate r; None: it is chosen when the campaign begins (auto)."""
        return self.refresh_rate if isinstance(self.refresh_rate, int) else None


class BudgetSection(Section):
    """Limits on what the campaign may spend; reaching one pauses it."""

    max_requests: Positive | None = Field(default=None, description="requests sent, whatever they return")
    max_nodes: Positive | None = Field(default=None, description="accounts read, seeds included; for track, visits")
    max_posts: Positive | None = Field(default=None, description="posts read")
    max_money: Annotated[float, Field(gt=0, le=1e9)] | None = Field(default=None, description="dollars")
    max_time: Span | None = Field(default=None, description="since its first request: 12h, 7d")
    confirm_above: Annotated[float, Field(ge=0, le=1e9)] = Field(
        default=10.0, description="dollars from which run asks for confirmation (or --yes)"
    )
