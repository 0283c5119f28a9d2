"""Settings of a campaign: typed, read from TOML, refused with a sentence that names the key and the remedy."""

import tomllib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails

from socialcrawl.campaign import pasted_secrets
from socialcrawl.campaign.sections.access import MATCH, MOST_PAGES, READING_KEYS, LimitsSection, SourceSection
from socialcrawl.campaign.sections.operation import ComplianceSection, FleetSection, NotifySection, ScheduleSection
from socialcrawl.campaign.sections.topic import AccountsSection, BudgetSection, CrawlSection, SeedsSection, TopicSection
from socialcrawl.campaign.sections.values import Section
from socialcrawl.campaign.settings_errors import INIT, explain_settings_error, list_unshown
from socialcrawl.crawls.capture.section import CaptureSection
from socialcrawl.crawls.collect.estimators.registry import HYBRID
from socialcrawl.crawls.facts import BUILT_IN, DEFAULT, KindFacts, find_kind_facts, list_foreign_keys
from socialcrawl.crawls.refresh.section import RefreshSection
from socialcrawl.crawls.sample.section import SampleSection
from socialcrawl.crawls.track.section import TrackSection
from socialcrawl.engine.model import LARGEST
from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import (
    compute_checksum,
    decode_text,
    explain_toml_error,
    explain_unreadable,
    parse_toml,
    read_bytes,
)
from socialcrawl.platforms import facts as platform_facts
from socialcrawl.storage.database.address import DatabaseAddress, PostgresAddress, parse_address
from socialcrawl.storage.database.filetypes import describe_wrong_campaign
from socialcrawl.system.bounds import MAX_TOML

__all__ = ["CrawlSection", "Section", "Settings", "check_settings", "read"]


def _digest(path: Path, kind: str) -> str:
    try:
        return compute_checksum(read_bytes(path))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}): [{kind}] names it.") from error


def _database(given: Any) -> DatabaseAddress:
    if isinstance(given, Path | PostgresAddress):
        return given
    if not isinstance(given, str) or not given:
        raise ValueError("write the name of a file, or postgresql://USER@HOST/NAME")
    try:
        found = parse_address(given)
    except SettingsError as error:
        raise ValueError(str(error)) from error
    if isinstance(found, PostgresAddress) and found.secret:
        raise ValueError("the password does not go into this file: put it into PGPASSWORD or ~/.pgpass")
    return found


def _check_kind(name: str) -> str:
    try:
        return find_kind_facts(name).name
    except SettingsError as error:
        raise ValueError(str(error)) from error


NAME_ONE = "name a campaign file (`socialcrawl init` writes one)"
FORMER: dict[str, object] = {"estimator": HYBRID, "shadows": []}
"""Defaults of keys under [crawl] that were others once, and that campaigns of every kind have stored."""


class Settings(Section):
    """A campaign."""

    name: Annotated[str, Field(min_length=1, pattern=r"^[\w.-]+$", description="letters, digits and _ . -")]
    seed: Annotated[int, Field(ge=0, le=LARGEST, description="of all random draws")] = 1
    database: Annotated[
        DatabaseAddress,
        PlainValidator(_database),
        PlainSerializer(str),
        WithJsonSchema({"type": "string", "default": "socialcrawl.db"}),
        Field(description="an SQLite file, created if missing, or postgresql://USER@HOST/NAME"),
    ] = Path("socialcrawl.db")
    kind: Annotated[
        str,
        AfterValidator(_check_kind),
        Field(
            description="; ".join(f"{facts.name}: {facts.purpose}" for facts in BUILT_IN.values()),
            examples=list(BUILT_IN),
        ),
    ] = DEFAULT.name
    topic: TopicSection = TopicSection()
    accounts: AccountsSection = AccountsSection()
    seeds: SeedsSection = SeedsSection()
    crawl: CrawlSection = CrawlSection()
    track: TrackSection = TrackSection()
    refresh: RefreshSection = RefreshSection()
    sample: SampleSection = SampleSection()
    capture: CaptureSection = CaptureSection()
    budget: BudgetSection = BudgetSection()
    source: SourceSection = SourceSection()
    limits: LimitsSection = LimitsSection()
    schedule: ScheduleSection = ScheduleSection()
    compliance: ComplianceSection = ComplianceSection()
    fleet: FleetSection = FleetSection()
    notify: NotifySection = NotifySection()
    _extension: Section | None = PrivateAttr(None)  # of a kind that another package adds

    @model_validator(mode="wrap")
    @classmethod
    def _read_section(cls, given: Any, read: ModelWrapValidatorHandler["Settings"]) -> "Settings":
        """Refuse a section of another kind as a whole, before each of its keys is; read that of an added kind."""
        own = given.get("kind", DEFAULT.name) if isinstance(given, dict) else None
        if not isinstance(own, str):
            return read(given)
        try:
            facts = find_kind_facts(own)
        except SettingsError:  # which the field says
            return read(given)
        given = _complete_pages(given, facts)
        for kind, other in BUILT_IN.items():
            if kind != own and other.section is not None and isinstance(given.get(kind), dict):
                raise ValueError(f'[{kind}] belongs to kind = "{kind}": write that above [topic], or remove [{kind}]')
        if own in BUILT_IN or facts.section is None:
            return read(given)
        made = read({key: value for key, value in given.items() if key != own})
        try:
            return made.with_section(facts.section.model_validate(given.get(own, {})))
        except ValidationError as error:
            wrong = [
                InitErrorDetails(type=one["type"], loc=(own, *one["loc"]), input=one["input"], ctx=one.get("ctx", {}))
                for one in error.errors()
            ]
            raise ValidationError.from_exception_data(cls.__name__, wrong) from error

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        facts = find_kind_facts(self.kind)
        if facts.topical and "topic" not in self.model_fields_set:
            raise ValueError(f"topic is missing: {INIT}")
        if idle := [name for name in facts.idle if getattr(self, name) != type(getattr(self, name))()]:
            raise ValueError(f'[{idle[0]}] has no effect where kind = "{self.kind}"{facts.why_idle}: remove it')
        if self.seeds.capture is not None and not facts.follows_captures:
            raise ValueError(
                f'capture under [seeds] has no effect where kind = "{self.kind}": remove it. Campaigns that collect or '
                "track accounts begin with the authors of a capture"
            )
        for other in BUILT_IN.values():
            self._lacks_keys_of(other)
        return self

    def _lacks_keys_of(self, other: KindFacts) -> None:
        foreign = list_foreign_keys(self.kind)
        wrong = [key for key in other.crawl if key in self.crawl.model_fields_set and key in foreign]
        usual = {key: (getattr(CrawlSection(), key), FORMER.get(key)) for key in wrong}
        if any(getattr(self.crawl, key) not in values for key, values in usual.items()):
            raise ValueError(
                f'{wrong[0]} under [crawl] belongs to kind = "{other.name}": remove it; the accounts to read are '
                f"set under [{self.kind}]"
            )

    @model_serializer(mode="wrap")
    def _write_extension(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = dump(self)
        return written if self._extension is None else {**written, self.kind: self._extension.model_dump(mode="json")}

    @property
    def section(self) -> Section | None:
        """The section of its kind; None where the kind has none."""
        own: Section | None = getattr(self, self.kind) if self.kind in type(self).model_fields else self._extension
        return own

    def with_section(self, section: Section) -> "Settings":
        """Return the same settings with another section of its kind."""
        if self.kind in type(self).model_fields:
            return self.model_copy(update={self.kind: section})
        copy = self.model_copy()
        copy._extension = section  # noqa: SLF001 - its own
        return copy

    def limit_steps(self, steps: int | None) -> "Settings":
        """Return the same settings with another number of steps, at least 1; None: as they are."""
        if steps is None:
            return self
        return self.model_copy(update={"crawl": self.crawl.model_copy(update={"steps": steps})})

    def pin_model(self) -> "Settings":
        """Return the same settings with the checksum of the model under [topic], if they name one without it.

        Raises:
            SettingsError: the model cannot be read, or there is a checksum and no model.
        """
        topic = self.topic
        if topic.model is None and topic.model_checksum is not None:
            raise SettingsError("[topic] model_checksum is that of a model: set model too, or remove model_checksum.")
        if topic.model is None or topic.model_checksum is not None:
            return self
        pinned = topic.model_copy(update={"model_checksum": _digest(topic.model, "topic")})
        return self.model_copy(update={"topic": pinned})

    def identity(self, usernames: list[str]) -> dict[str, Any]:
        """Return what may not change while a campaign goes on, because its history rests on it.

        `usernames` are its seeds.
        """
        values = self.model_dump(mode="json")
        chosen = {"seed": values["seed"]}
        topic, own = TopicSection().model_dump(mode="json"), ("keywords", "patterns")
        chosen["topic"] = {key: value for key, value in values["topic"].items() if key in own or value != topic[key]}
        if chosen["topic"].pop("model", None):  # what it says counts, not where it is
            chosen["topic"]["model_checksum"] = self.pin_model().topic.model_checksum
        chosen["seeds"] = {key: values["seeds"][key] for key in ("search", "most", "search_pages")}
        chosen["seeds"]["usernames"] = usernames
        chosen["seeds"] |= {key: values["seeds"][key] for key in ("lists", "capture") if values["seeds"][key]}
        chosen["crawl"] = {key: values["crawl"][key] for key in ("estimator", "switch_after", "start")}
        # Older campaigns have the defaults.
        later = ("strategy", "q", "zeta", "control", "nr_d", "features", "regressor", "links", "estimator_options",
                 "strategy_options")  # fmt: skip
        plain = CrawlSection().model_dump(mode="json")
        chosen["crawl"] |= {key: values["crawl"][key] for key in later if values["crawl"][key] != plain[key]}
        chosen["source"] = {key: values["source"][key] for key in ("platform", "pages_per_user")}
        read = SourceSection()
        changed = [key for key in READING_KEYS if values["source"][key] != getattr(read, key)]
        chosen["source"] |= {key: values["source"][key] for key in changed}
        facts, section = find_kind_facts(self.kind), self.section
        if facts is not DEFAULT:
            chosen["kind"] = values["kind"]
        foreign = list_foreign_keys(self.kind)
        chosen["crawl"] = {key: value for key, value in chosen["crawl"].items() if key not in foreign}
        if section is not None:
            usual, own = type(section)().model_dump(mode="json"), values[self.kind]
            chosen[self.kind] = {key: own[key] for key in own if key in facts.keys or own[key] != usual[key]}
            # What files say counts, not where they are.
            named = {key: path for key in facts.files if (path := getattr(section, key))}
            chosen[self.kind] |= {key: _digest(path, self.kind) for key, path in named.items()}
            chosen[self.kind] |= section.resolve(self.source.platform)
        if "seeds" in facts.idle:  # nobody is searched for
            chosen["seeds"] = {"usernames": usernames}
        if "topic" in facts.idle:  # nothing that is fetched depends on it
            del chosen["topic"]
        if accounts := {key: names for key, names in values["accounts"].items() if names}:
            chosen["accounts"] = accounts
        return chosen


def describe_namesake(first: Path, settings: Settings) -> str:
    """Return what to do about a second file of a campaign, whose first file is `first`."""
    return f"{first} is the campaign {settings.name!r} of that database too: rename one."


def read(path: Path) -> Settings:
    """Return the settings in the campaign file `path`; paths in it are taken from its folder.

    Raises:
        SettingsError: the file is missing, is not TOML, or a key is unknown or out of range.
    """
    text, given = decode_campaign(read_campaign_bytes(path), path)
    return place_settings(check_settings(given, str(path), text), path)


def read_campaign_bytes(path: Path) -> bytes:
    """Return what is in the campaign file `path`.

    Raises:
        SettingsError: the file is missing or cannot be read.
    """
    if (wrong := describe_wrong_campaign(path)) is not None:
        raise SettingsError(wrong)
    try:
        return read_bytes(path, MAX_TOML)
    except OSError as error:
        raise SettingsError(f"{explain_unreadable(path, error)}: {NAME_ONE}.") from error


def decode_campaign(data: bytes, path: Path) -> tuple[str, dict[str, Any]]:
    r"""Return the text of the campaign file `path`, each end of a line as \n, and what it says, unchecked.

    Raises:
        SettingsError: it is not TOML.
    """
    try:
        text = decode_text(data, "utf-8-sig")
        return text, parse_toml(text)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{explain_unreadable(path, error)}: {NAME_ONE}.") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {explain_toml_error(error, path)}.") from error


def place_settings(settings: Settings, path: Path) -> Settings:
    """Return the settings of the campaign file `path` with the paths in them taken from its folder."""
    file, own = settings.seeds.file, settings.source.policy
    seeds = settings.seeds.model_copy(update={"file": path.parent / file if file else None})
    source = settings.source.model_copy(update={"policy": path.parent / own if own else None})
    model = settings.topic.model
    topic = settings.topic.model_copy(update={"model": path.parent / model if model else None})
    database = path.parent / settings.database if isinstance(settings.database, Path) else settings.database
    placed: dict[str, Any] = {"database": database, "topic": topic, "seeds": seeds, "source": source}
    if (section := settings.section) is not None:
        files = {
            key: path.parent / name for key in find_kind_facts(settings.kind).files if (name := getattr(section, key))
        }
        settings = settings.with_section(section.model_copy(update=files))
    return settings.model_copy(update=placed)


def select_campaign_files(files: Iterable[Path]) -> list[Path]:
    """Return those of the TOML files of a folder that may be campaign files, by name.

    Left out are hidden ones, and those that have no key of a campaign, such as pyproject.toml. One that is not valid
    TOML may be a campaign file.
    """
    return [file for file in sorted(files) if not file.name.startswith(".") and _may_be_campaign(file)]


def _may_be_campaign(file: Path) -> bool:
    try:
        stat = file.stat()
    except OSError:
        return True
    return _has_campaign_key(file, (stat.st_mtime_ns, stat.st_size, stat.st_ino))


@lru_cache(maxsize=10_000)
def _has_campaign_key(file: Path, mark: tuple[int, ...]) -> bool:
    """Return whether a file has a key of a campaign; `mark` tells two states of it apart."""
    del mark
    try:
        _, given = decode_campaign(read_campaign_bytes(file), file)
    except SettingsError:
        return True
    return not Settings.model_fields.keys().isdisjoint(given)


def load_stored(given: dict[str, Any], origin: str) -> Settings:
    """Return the settings that a database keeps, all of them: sections of other kinds of campaigns say nothing.

    A seed that was forgotten has left the number of its account in place of its name; it is left out.

    Raises:
        SettingsError: with one line for each key that is wrong.
    """
    kind = given.get("kind", DEFAULT.name)
    idle = {*(other for other in BUILT_IN if other != kind), *find_kind_facts(kind).idle}
    kept = {key: value for key, value in given.items() if key not in idle}
    if named := (seeds := kept.get("seeds") or {}).get("usernames"):
        kept["seeds"] = {**seeds, "usernames": [name for name in named if isinstance(name, str)]}
    return _validate(kept, origin)


def _complete_pages(given: dict[str, Any], facts: KindFacts) -> dict[str, Any]:
    """Return the settings given, with all pages of timelines where accounts that were matched are read further."""
    source = given.get("source")
    if not facts.reads_further or not isinstance(source, dict) or source.get("read") != MATCH:
        return given
    return given | {"source": {"pages_per_user": MOST_PAGES, **source}}


def check_settings(given: dict[str, Any], origin: str, text: str = "") -> Settings:
    """Return the settings given as a dictionary; errors name `origin`, and lines of `text` if a file's says them.

    Raises:
        SettingsError: with one line for each key that is wrong, or that holds what looks like a secret.
    """
    source, usual = given.get("source"), platform_facts.DEFAULT.name
    platform = str(source.get("platform", usual) if isinstance(source, dict) else usual)
    if found := dict(pasted_secrets.find_secrets(given, platform)):
        lines = [f"{origin}: {line}." for line in pasted_secrets.advise(found, platform)]
        keys = pasted_secrets.name_keys(found)
        problems = [(key, pasted_secrets.NOT_HERE) for key in keys]
        try:
            _validate(given, origin)
        except SettingsError as error:
            keys = [*keys, *error.secrets]
        raise SettingsError("\n".join(lines), problems, keys)
    return _validate(given, origin, text)


def _validate(given: dict[str, Any], origin: str, text: str = "") -> Settings:
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        lines = {line: (key, advice) for key, line, advice in explain_settings_error(error, Settings, origin, text)}
        unshown = list_unshown(error)
        raise SettingsError("\n".join(lines), lines.values(), unshown) from None  # a traceback of pydantic says less
