"""Sections on how a platform is asked: with which tokens, at which address, within which limits."""

import re
from typing import Annotated, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator, model_validator

from socialcrawl.campaign.sections.values import FilePath, Positive, Section, Size, Variable
from socialcrawl.platforms.facts import BUILT_IN, DEFAULT, PLATFORMS, find_platform_facts
from socialcrawl.text.wording import explain_unknown, parse_size

LONGEST = 366 * 86_400  # seconds of a window


class TokenSection(Section):
    """One of several tokens: the environment variable that holds it, and for whom it speaks."""

    env: Variable | list[Variable] = Field(
        description="one variable (bearer), or four: API key, its secret, access token, its secret (OAuth 1.0a)"
    )
    kind: Literal["app", "user"] | None = Field(
        default=None, description="app (bearer of an app: the default) or user (so are four secrets)"
    )

    @field_validator("env")
    @classmethod
    def _check_variables(cls, env: str | list[str]) -> str | list[str]:
        if isinstance(env, list) and len(env) != 4:
            raise ValueError("write one variable (bearer), or four: key, its secret, access token, its secret")
        return env

    @model_validator(mode="after")
    def _check_owner(self) -> Self:
        if self.kind == "app" and isinstance(self.env, list):
            raise ValueError('four secrets speak for a user: write kind = "user"')
        return self

    @property
    def speaks(self) -> str:
        """For whom the token speaks: app or user."""
        return self.kind or ("app" if isinstance(self.env, str) else "user")

    @property
    def name(self) -> str:
        """The name of the credential in the ledger."""
        return self.env if isinstance(self.env, str) else self.env[2]


TIMELINE, MATCH, SEARCH, AUTO = "timeline", "match", "search", "auto"
Reading = Literal["timeline", "match", "search", "auto"]
READINGS: tuple[Reading, ...] = get_args(Reading)
"""The ways of reading accounts."""
SEARCHING: tuple[Reading, ...] = ("search", "auto")
"""The ways that search the topic span by span, where the platform can."""
READING_KEYS = ("read", "archive", "search", "full_text")
"""The keys that say how accounts are read; what a campaign has read rests on them."""
MOST_PAGES = 32  # of a timeline: X hands out 3,200 posts


class SourceSection(Section):
    """Which platform, and how to access it. The token stays in the environment."""

    platform: str = Field(default=DEFAULT.name, description=f"one of {', '.join(BUILT_IN)}", examples=list(BUILT_IN))
    base_url: str | None = Field(default=None, description="another server than the platform's own, such as the mock")
    insecure: bool = Field(
        default=False, description="send the token to an http:// server on another machine, unencrypted"
    )
    token_env: Variable | None = Field(
        default=None,
        description="environment variable that holds the token (default on X: X_BEARER_TOKEN) or the app password",
    )
    identifier: str | None = Field(default=None, description="the handle to sign in with (Bluesky)")
    hosts: list[str] = Field(
        default=[],
        description="other instances from which accounts are fetched (Mastodon); hosts of pages (web); * for any",
    )
    domain: str | None = Field(
        default=None, description="the domain in the names of your instance, if it is not the host (Mastodon)"
    )
    contact: str | None = Field(
        default=None, description="address at which server operators can reach you; sent in the User-Agent"
    )
    opt_outs: bool = Field(
        default=True, description="skip accounts and pages that opt out (noindex, #nobot, robots.txt)"
    )
    tokens: list[TokenSection] = Field(default=[], description="several tokens instead of token_env")
    applications: Literal["one", "approved"] | None = Field(
        default=None,
        description="one: all tokens belong to one application of X; approved: X agreed in writing to several",
    )
    vocabulary: Literal["tweet", "post"] = Field(
        default="tweet", description="tweet (tweet.fields) or post (post.fields)"
    )
    read: Reading = Field(
        default="timeline",
        description="how accounts are read (kind collect; track and sample: timeline or match). timeline: by their "
        "timelines; search (X, Bluesky, Mastodon): by searches for the topic; match (X): by searches of named "
        "accounts; auto: by what finds most for its cost",
    )
    archive: bool = Field(
        default=True,
        description="X, read: search the full archive; false: the last 7 days, which more tokens may search",
    )
    search: Literal["v1", "v2"] = Field(
        default="v1",
        description="Bluesky, read: v1, searchPosts, which every server has; v2, searchPostsV2, where it is enabled",
    )
    full_text: bool = Field(
        default=False,
        description="Mastodon, read: with a token of your instance, search texts for keywords without #",
    )
    pages_per_user: Annotated[int, Field(ge=1, le=MOST_PAGES)] = Field(
        default=1, description='pages of 100 posts of a timeline (default with read = "match" and kind collect: 32)'
    )
    reuse_hours: Annotated[float, Field(ge=0, le=8784)] = Field(
        default=24.0, description="responses in the database that are younger are not fetched again"
    )
    policy: FilePath | None = Field(default=None, description="a price and limit table of your own")
    keep_original: bool = Field(default=False, description="keep the platform's JSON of every post")
    keep_answers: bool = Field(default=False, description="keep every answer as it came, for web archives (WARC)")
    timeout: Annotated[float, Field(gt=0, le=3600)] = Field(default=30.0, description="seconds to wait for an answer")
    deadline: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        default=None, description="seconds for a whole response, however slowly it arrives (default: 4 times timeout)"
    )

    @property
    def pages_after_match(self) -> int | None:
        """The most pages of a timeline that are read of an account that was matched; None: none is matched."""
        return self.pages_per_user if self.read == MATCH else None

    @model_validator(mode="after")
    def _check_token(self) -> Self:
        if self.tokens and self.token_env is not None:  # None is how a database keeps that none was named
            raise ValueError("token_env and tokens both name tokens: keep one of the two")
        return self

    @field_validator("platform")
    @classmethod
    def _check_platform(cls, name: str) -> str:
        if name not in BUILT_IN and name not in (known := PLATFORMS.list_names()):
            raise ValueError(explain_unknown("platform", name, known))
        return name

    @field_validator("contact")
    @classmethod
    def _check_contact(cls, text: str | None) -> str | None:
        if text and not (text.isascii() and text.isprintable() and re.search(r"[^\s@]+@[^\s@]+|[a-z]+:\S", text)):
            raise ValueError(
                'write an address in plain letters (ASCII): "mailto:me@example.org", or a page about your project'
            )
        return text

    @field_validator("hosts")
    @classmethod
    def _check_hosts(cls, names: list[str]) -> list[str]:
        for name in names:
            if not name.strip() or re.search(r"[/@\s]|:(?!\d+$)", name):
                raise ValueError(
                    f'{name!r} is not a host: write its name alone, as "example.org", or a pattern, "*.example.org"'
                )
        return names

    @property
    def variable(self) -> str | None:
        """The environment variable that holds the token of a campaign that has one; None: it asks without."""
        return self.token_env or find_platform_facts(self.platform).variable

    @field_validator("base_url")
    @classmethod
    def _address(cls, url: str | None, given: ValidationInfo) -> str | None:
        platform = given.data.get("platform")  # None: it is not known
        to_fill_in = (
            url == "" and platform and find_platform_facts(platform).federated
        )  # a template's line: name your server
        if url is not None and not to_fill_in and not _is_address(url):
            raise ValueError("write the address of a server, such as https://api.x.com or http://127.0.0.1:8000")
        return url


class LimitsSection(Section):
    """Windows that differ from the platform's table: k requests per d seconds on every endpoint."""

    k: Positive | None = Field(default=None, description="requests in a window")
    d: Annotated[float, Field(gt=0, le=LONGEST)] | None = Field(default=None, description="seconds of a window")
    pause: Annotated[float, Field(gt=0, le=900)] = Field(default=1.0, description="seconds of the first back-off")
    longest_pause: Annotated[float, Field(gt=0, le=LONGEST)] = Field(
        default=900.0, description="seconds of the longest"
    )
    give_up: Annotated[float, Field(gt=0, le=LONGEST)] = Field(
        default=3600.0, description="seconds of nothing but failures after which the run stops"
    )
    cycle_day: Annotated[int, Field(ge=1, le=31)] = Field(
        default=1, description="day of the month on which the billing cycle begins"
    )
    weight: Annotated[float, Field(gt=0, le=1000)] = Field(
        default=1.0, description="share of a token's windows beside other campaigns of a daemon: 2 gets twice that of 1"
    )
    min_free_disk: Size | None = Field(
        default=None,
        description='what stays free on the disk of the database file: "500 MB", "2 GB"; "0": nothing (200 MB, or 2 % '
        "of the disk where that is less)",
    )

    @property
    def least_free(self) -> int | None:
        """The bytes that stay free on the disk; None: as many as usual."""
        return None if self.min_free_disk is None else parse_size(self.min_free_disk)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        known = parts.port is None or parts.port > 0
    except ValueError:
        return False
    # Two programs read such an address: what they could take for different hosts is refused.
    host = re.fullmatch(r"[\w-]+(\.[\w-]+)*|[0-9a-f:.]*:[0-9a-f:.]*", parts.hostname or "", re.ASCII)
    plain = url.isprintable() and not re.search(r"[\\@?#\s]", url)
    return bool(known and host and plain and parts.scheme in ("http", "https"))
