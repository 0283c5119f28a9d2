"""Settings of a campaign: typed, read from TOML, refused with a sentence that names the key and the remedy."""

import re
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from socialcrawl.collect.estimators.named import NAMES, begins, check
from socialcrawl.collect.estimators.regressor import FEATURES
from socialcrawl.collect.strategies import STRATEGIES
from socialcrawl.errors import SettingsError
from socialcrawl.model import LARGEST
from socialcrawl.sources.x.vocabulary import VOCABULARIES
from socialcrawl.store.address import Server, Where, where
from socialcrawl.words import seconds

SECRETS = ("token_env", "tokens", "base_url")  # settings into which a token may be pasted: they are never shown
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def _variable(name: str) -> str:
    if not VARIABLE.fullmatch(name):
        raise ValueError("write the name of an environment variable, never the token itself")
    return name


def _database(given: Any) -> Where:
    if isinstance(given, Path | Server):
        return given
    if not isinstance(given, str) or not given:
        raise ValueError("write the name of a file, or postgresql://USER@HOST/NAME")
    try:
        found = where(given)
    except SettingsError as error:
        raise ValueError(str(error)) from error
    if isinstance(found, Server) and found.secret:
        raise ValueError("the password does not go into this file: put it into PGPASSWORD or ~/.pgpass")
    return found


Variable = Annotated[str, AfterValidator(_variable)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
LONGEST = 366 * 86_400  # seconds of a window
FilePath = Annotated[Path, Field(strict=False)]


class Section(BaseModel):
    """A table of a campaign file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class TopicSection(Section):
    """What the campaign is about; see `relevance.Topic`."""

    keywords: list[str] = Field(default=[], description="words, phrases and prefixes (modul*), compared without case")
    patterns: list[str] = Field(default=[], description="regular expressions, on request")


class SeedsSection(Section):
    """Where it starts: accounts that are named, and authors that a search for the keywords finds."""

    search: bool = Field(default=True, description="search the keywords and begin with the authors")
    usernames: list[str] = Field(default=[], description="accounts to begin with, without @")
    file: FilePath | None = Field(default=None, description="a text file with one username a line")
    most: Positive | None = Field(default=50, description="the most accounts that the search adds")
    search_pages: Positive = Field(default=1, description="pages of 100 posts that each search may read")


class CrawlSection(Section):
    """How it chooses: Algorithm 1's estimator, refresh rate r and budget n."""

    estimator: str = Field(default="hybrid-sum", description=f"one of {', '.join(NAMES)}")
    switch_after: Annotated[int, Field(ge=0, le=LARGEST)] = Field(
        default=1000, description="steps before a hybrid turns linear"
    )
    start: str | None = Field(default=None, description="estimator that a hybrid starts with")
    refresh_rate: Positive = Field(default=1, description="r: accounts picked together before the estimate is renewed")
    steps: Positive | None = Field(default=None, description="n: accounts to ask after the seeds")
    strategy: str = Field(default="greedy", description=f"one of {', '.join(STRATEGIES)}")
    q: Annotated[float, Field(ge=0, le=1)] = Field(default=0.9, description="altered greedy: how often the best")
    zeta: Annotated[float, Field(ge=0, le=1e9)] = Field(
        default=0.5, description="altered greedy: how far from the best"
    )
    nr_d: Annotated[float, Field(ge=0.001, le=1)] = Field(default=0.5, description="nr: weight of a node's own score")
    features: list[str] = Field(default=list(FEATURES), description="what a scikit-learn regressor learns over")
    regressor: dict[str, Any] = Field(default={}, description="arguments of a scikit-learn regressor")

    @field_validator("strategy")
    @classmethod
    def _planned(cls, name: str) -> str:
        if name not in STRATEGIES:
            raise ValueError(f"there is no strategy {name!r}; known are: {', '.join(STRATEGIES)}")
        return name

    @field_validator("estimator")
    @classmethod
    def _known(cls, name: str) -> str:
        return check(name)

    @field_validator("start")
    @classmethod
    def _starting(cls, name: str | None) -> str | None:
        return begins(name) if name is not None else None


class BudgetSection(Section):
    """What it may spend at most; reaching one pauses the campaign."""

    max_requests: Positive | None = Field(default=None, description="requests sent, whatever they bring")
    max_nodes: Positive | None = Field(default=None, description="accounts asked, seeds included")
    max_posts: Positive | None = Field(default=None, description="posts read")
    max_money: Annotated[float, Field(gt=0, le=1e9)] | None = Field(default=None, description="dollars")
    max_time: str | None = Field(default=None, description="since its first request: 12h, 7d")
    confirm_above: Annotated[float, Field(ge=0, le=1e9)] = Field(
        default=10.0, description="dollars from which a run asks for confirmation (or for --yes)"
    )

    @field_validator("max_time")
    @classmethod
    def _lasting(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                seconds(text)
            except SettingsError as error:
                raise ValueError(str(error)) from error
            if not any(letter.isalpha() for letter in text):
                raise ValueError("write it with its unit, as 12h or 7d")
        return text


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
    def _one_or_four(cls, env: str | list[str]) -> str | list[str]:
        if isinstance(env, list) and len(env) != 4:
            raise ValueError("write one variable (bearer), or four: key, its secret, access token, its secret")
        return env

    @model_validator(mode="after")
    def _of_whom(self) -> Self:
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


class SourceSection(Section):
    """Which platform, and how to speak to it. The token stays in the environment."""

    platform: str = Field(default="x", description="x")
    base_url: str | None = Field(default=None, description="another server than the platform's own, such as the mock")
    token_env: Variable = Field(
        default="X_BEARER_TOKEN", description="environment variable that holds the bearer token"
    )
    tokens: list[TokenSection] = Field(default=[], description="several tokens instead of token_env")
    vocabulary: str = Field(default="tweet", description="tweet (tweet.fields) or post (post.fields)")
    pages_per_user: Annotated[int, Field(ge=1, le=32)] = Field(
        default=1, description="pages of 100 posts of a timeline"
    )
    reuse_hours: Annotated[float, Field(ge=0, le=8784)] = Field(
        default=24.0, description="answers in the database that are younger are not asked for again"
    )
    policy: FilePath | None = Field(default=None, description="a price and limit table of your own")
    keep_original: bool = Field(default=False, description="keep the platform's JSON of every post")
    keep_answers: bool = Field(default=False, description="keep every answer as it came, for web archives (WARC)")
    timeout: Annotated[float, Field(gt=0, le=3600)] = Field(default=30.0, description="seconds to wait for an answer")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.tokens and "token_env" in self.model_fields_set:
            raise ValueError("token_env and tokens both name tokens: keep one of the two")
        return self

    @field_validator("platform")
    @classmethod
    def _known(cls, name: str) -> str:
        if name != "x":
            raise ValueError(f"the platform {name!r} is not known; known is: x")
        return name

    @field_validator("base_url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        if url is not None and not _is_address(url):
            raise ValueError("write the address of a server, such as https://api.x.com or http://127.0.0.1:8000")
        return url

    @field_validator("vocabulary")
    @classmethod
    def _spoken(cls, name: str) -> str:
        if name not in VOCABULARIES:
            raise ValueError(f"the vocabulary {name!r} is not known; known are: {', '.join(VOCABULARIES)}")
        return name


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


class Settings(Section):
    """A campaign."""

    name: Annotated[str, Field(min_length=1, pattern=r"^[\w.-]+$", description="letters, digits and _ . -")]
    seed: Annotated[int, Field(ge=0, le=LARGEST, description="of all random draws")] = 1
    database: Annotated[
        Where,
        PlainValidator(_database),
        PlainSerializer(str),
        WithJsonSchema({"type": "string", "default": "socialcrawl.db"}),
        Field(description="an SQLite file, made if it is not there, or postgresql://USER@HOST/NAME"),
    ] = Path("socialcrawl.db")
    topic: TopicSection
    seeds: SeedsSection = SeedsSection()
    crawl: CrawlSection = CrawlSection()
    budget: BudgetSection = BudgetSection()
    source: SourceSection = SourceSection()
    limits: LimitsSection = LimitsSection()

    def identity(self, usernames: list[str]) -> dict[str, Any]:
        """What may not change while a campaign goes on, because its history rests on it; `usernames` are its seeds."""
        whole = self.model_dump(mode="json")
        chosen = {key: whole[key] for key in ("seed", "topic")}
        chosen["seeds"] = {key: whole["seeds"][key] for key in ("search", "most", "search_pages")}
        chosen["seeds"]["usernames"] = usernames
        chosen["crawl"] = {key: whole["crawl"][key] for key in ("estimator", "switch_after", "start")}
        later = ("strategy", "q", "zeta", "nr_d", "features", "regressor")  # older campaigns have the defaults
        plain = CrawlSection().model_dump(mode="json")
        chosen["crawl"] |= {key: whole["crawl"][key] for key in later if whole["crawl"][key] != plain[key]}
        chosen["source"] = {key: whole["source"][key] for key in ("platform", "pages_per_user")}
        return chosen


def read(path: Path) -> Settings:
    """The settings in the campaign file `path`; paths in it are taken from its folder.

    Raises:
        SettingsError: the file is missing, is not TOML, or a key is unknown or out of range.
    """
    try:
        given = tomllib.loads(path.read_text("utf-8-sig"))  # Windows editors put a mark before the text
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SettingsError(f"{path} cannot be read ({reason}): `socialcrawl init` writes a campaign file.") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from error
    settings = checked(given, str(path))
    file, own = settings.seeds.file, settings.source.policy
    seeds = settings.seeds.model_copy(update={"file": path.parent / file if file else None})
    source = settings.source.model_copy(update={"policy": path.parent / own if own else None})
    database = path.parent / settings.database if isinstance(settings.database, Path) else settings.database
    return settings.model_copy(update={"database": database, "seeds": seeds, "source": source})


def checked(given: dict[str, Any], origin: str) -> Settings:
    """The settings given as a dictionary; `origin` is named in errors.

    Raises:
        SettingsError: with one line for each key that is wrong.
    """
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        raise SettingsError("\n".join(_told(error, origin))) from error


def _told(error: ValidationError, origin: str) -> Iterator[str]:
    for problem in error.errors():
        place = [str(part) for part in problem["loc"]]
        section = (
            isinstance(Settings.model_fields[place[0]].default, Section) if place[0] in Settings.model_fields else False
        )
        where = f"[{place[0]}] {'.'.join(place[1:])}".rstrip() if len(place) > 1 or section else place[0]
        hidden = place[0] == "source" and (len(place) < 2 or place[1] in SECRETS) and place[-1] != "kind"
        shown = "" if hidden or place[0] == "database" else f" = {problem['input']!r}"
        if problem["type"] == "extra_forbidden":
            yield f"{origin}: {where} is not a setting.{_nearest(place)}"
        elif problem["type"] == "missing":
            yield f"{origin}: {where} is missing: `socialcrawl init` writes a file that has it."
        elif problem["type"] == "model_type" and len(place) == 1:
            yield f"{origin}: {place[0]}{shown}: it is a table, so write [{place[0]}] and its keys below."
        else:
            message = problem["msg"].removeprefix("Value error, ")
            yield f"{origin}: {where}{shown}: {message[0].lower()}{message[1:].rstrip('.')}."


def _nearest(place: list[str]) -> str:
    model: type[BaseModel] = Settings
    for part in place[:-1]:
        if not part.isdigit():  # the place in a list
            kind = model.model_fields[part].annotation
            (model,) = get_args(kind) or (kind,)
    known = list(model.model_fields)
    nearest = get_close_matches(place[-1], known, 1)
    if nearest:
        return f" Did you mean {nearest[0]!r}?"
    return f" Known here are: {', '.join(known)}."


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
