"""The section of a campaign that captures every post that matches, from a span of time and as it appears."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from socialcrawl.campaign.sections.values import Moment, Positive, Section, Span, parse_moments
from socialcrawl.crawls.capture.rules import CaptureRules
from socialcrawl.engine.model import LARGEST
from socialcrawl.text.wording import parse_seconds

USUAL = CaptureRules(0.0)
"""Whose defaults are those of the campaign file."""


class CaptureSection(Section):
    """From when until when posts are read, and in which order."""

    from_: Moment = Field(
        default=None,
        alias="from",
        description="posts written then (UTC) or later are read; required unless ids = true",
    )
    until: Moment = Field(
        default=None, description="posts written before that (UTC) are read; none: until the campaign begins"
    )
    order: Literal["newest", "oldest", "even"] = Field(
        default="newest",
        description="which part of the span is read first; even: parts drawn at random, so that report can estimate "
        "how many posts there are before all are read",
    )
    parts: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=USUAL.parts, description="into how many parts the span is cut at first, of an hour at least"
    )
    pages: Positive = Field(
        default=USUAL.pages, description="pages of a slice that are read before its rest is cut into new slices"
    )
    ongoing: bool = Field(default=USUAL.ongoing, description="also read new posts as they appear, without an end")
    soonest: Span = Field(
        default="1m",
        description="ongoing: how long it waits for new posts at least, and never less than a minute ...",
    )
    latest: Span = Field(default="1h", description="... and at most: as long as about a page of them takes")
    live: bool = Field(
        default=USUAL.live,
        description="also read new posts from a stream, without an end; what the stream cannot replay is searched",
    )
    segment: Span = Field(default="20s", description="live: how much of the stream is stored together, at most")
    stream: str | None = Field(
        default=None,
        description="live: address of the server, such as wss://jetstream.us-east.bsky.network; one that speaks "
        "version 1 only ends in /subscribe",
    )
    replace_rules: bool = Field(
        default=False, description="live, X: delete the stream rules of your app that this campaign did not make"
    )
    ids: bool = Field(
        default=False,
        description="without from: only posts of imported ids are read (socialcrawl import FILE --as ids)",
    )
    archive: bool = Field(
        default=True, description="X: search the full archive; false: the last 7 days, which more tokens may search"
    )
    authors: bool = Field(
        default=False, description="X: also fetch the authors' profiles, which are billed; else they are known by id"
    )
    counts: bool = Field(
        default=USUAL.counts,
        description="X: count the posts first, for $0.010 per query and 31 days (without archive $0.005 per query), "
        "and cut the span into slices of as many posts as pages hold",
    )

    search: Literal["v1", "v2"] = Field(
        default="v1",
        description="Bluesky: v1, searchPosts, which every server has; v2, searchPostsV2, where it is enabled",
    )

    full_text: bool = Field(
        default=False,
        description="Mastodon: with a token of your instance, search texts for keywords without #",
    )

    @model_validator(mode="after")
    def _check_span(self) -> Self:
        begin, end = self.span
        if begin is not None and end is not None and begin >= end:
            raise ValueError("from is not before until, so there is nothing to read: put an earlier from")
        if self.until is not None and self.ongoing:
            raise ValueError("ongoing = true has no end, and until names one: remove one of them")
        if self.live and (self.ongoing or self.until is not None):
            other = "ongoing = true searches for new posts instead" if self.ongoing else "until names an end"
            raise ValueError(f"live = true reads new posts from the stream without an end, and {other}: remove one")
        if self.stream is not None and not self.live:
            raise ValueError(
                "stream names the server of live = true, which is not set: write live = true, or remove stream"
            )
        if self.replace_rules and not self.live:
            raise ValueError("replace_rules is about the stream of live = true, which is not set: remove it")
        if self.stream is not None and not self.stream.startswith(("wss://", "ws://", "https://", "http://")):
            raise ValueError("stream is the address of a server: write wss:// before its name")
        if parse_seconds(self.soonest) > parse_seconds(self.latest):
            raise ValueError("soonest is longer than latest: exchange them")
        return self

    @property
    def is_endless(self) -> bool:
        """Whether it goes on with new posts as they appear, without an end."""
        return self.ongoing or self.live

    @property
    def searches(self) -> bool:
        """Whether posts are searched for; else only those of imported ids are read."""
        return self.from_ is not None or not self.ids

    @property
    def span(self) -> tuple[float | None, float | None]:
        """From when until when (exclusive) posts are read, Unix seconds; None: not said."""
        return parse_moments(self.from_, self.until)

    def make_rules(self) -> CaptureRules:
        """Return the rules of the crawl; a span that names no begin, which `CaptureKind.check` refuses, is empty."""
        begin, end = self.span
        return CaptureRules(
            float(LARGEST if begin is None else int(begin)),
            None if end is None else float(-int(-end)),
            self.order,
            self.parts,
            self.pages,
            self.ongoing,
            parse_seconds(self.soonest),
            parse_seconds(self.latest),
            live=self.live,
            segment=parse_seconds(self.segment),
            counts=self.counts,
        )
