"""Settings of a campaign: typed, read from TOML, refused with a sentence that names the key and the remedy."""

import json
import re
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
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
from socialcrawl.campaign.sections.access import LimitsSection, SourceSection
from socialcrawl.campaign.sections.operation import NotifySection, ScheduleSection
from socialcrawl.campaign.sections.topic import AccountsSection, BudgetSection, CrawlSection, SeedsSection, TopicSection
from socialcrawl.campaign.sections.values import Section
from socialcrawl.crawls.facts import BUILT_IN, DEFAULT, KindFacts, find_kind_facts, list_foreign_keys
from socialcrawl.crawls.refresh.section import RefreshSection
from socialcrawl.crawls.sample.section import SampleSection
from socialcrawl.crawls.track.section import TrackSection
from socialcrawl.engine.model import LARGEST
from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import explain_toml_error, explain_unreadable, read_bytes, read_toml
from socialcrawl.platforms import facts as platform_facts
from socialcrawl.storage.database.address import DatabaseAddress, PostgresAddress, parse_address
from socialcrawl.storage.database.filetypes import describe_wrong_campaign

__all__ = ["CrawlSection", "Section", "Settings", "check_settings", "read"]

# Settings into which a token or a secret address may be pasted: they are never shown.
SECRETS = {"source": ("token_env", "tokens", "base_url"), "notify": ("webhook_env", "apprise_env", "command")}


INSIDE = re.compile(r"\[|function-")  # parts of a place that pydantic adds where a value has several forms


def _digest(path: Path, kind: str) -> str:
    try:
        return blake2b(read_bytes(path), digest_size=16).hexdigest()
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
        Field(description="; ".join(f"{facts.name}: {facts.purpose}" for facts in BUILT_IN.values())),
    ] = DEFAULT.name
    topic: TopicSection = TopicSection()
    accounts: AccountsSection = AccountsSection()
    seeds: SeedsSection = SeedsSection()
    crawl: CrawlSection = CrawlSection()
    track: TrackSection = TrackSection()
    refresh: RefreshSection = RefreshSection()
    sample: SampleSection = SampleSection()
    budget: BudgetSection = BudgetSection()
    source: SourceSection = SourceSection()
    limits: LimitsSection = LimitsSection()
    schedule: ScheduleSection = ScheduleSection()
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
            raise ValueError("topic is missing: `socialcrawl init` writes a file that has it")
        if idle := [name for name in facts.idle if getattr(self, name) != type(getattr(self, name))()]:
            raise ValueError(
                f'[{idle[0]}] has no effect where kind = "{self.kind}", whose accounts `socialcrawl import` brings: '
                "remove it"
            )
        for other in BUILT_IN.values():
            self._lacks_keys_of(other)
        return self

    def _lacks_keys_of(self, other: KindFacts) -> None:
        foreign = list_foreign_keys(self.kind)
        wrong = [key for key in other.crawl if key in self.crawl.model_fields_set and key in foreign]
        if wrong and any(getattr(self.crawl, key) != getattr(CrawlSection(), key) for key in wrong):
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

    def identity(self, usernames: list[str]) -> dict[str, Any]:
        """Return what may not change while a campaign goes on, because its history rests on it.

        `usernames` are its seeds.
        """
        values = self.model_dump(mode="json")
        chosen = {"seed": values["seed"]}
        topic, own = TopicSection().model_dump(mode="json"), ("keywords", "patterns")
        chosen["topic"] = {key: value for key, value in values["topic"].items() if key in own or value != topic[key]}
        chosen["seeds"] = {key: values["seeds"][key] for key in ("search", "most", "search_pages")}
        chosen["seeds"]["usernames"] = usernames
        if values["seeds"]["lists"]:
            chosen["seeds"]["lists"] = values["seeds"]["lists"]
        chosen["crawl"] = {key: values["crawl"][key] for key in ("estimator", "switch_after", "start")}
        # Older campaigns have the defaults.
        later = ("strategy", "q", "zeta", "control", "nr_d", "features", "regressor", "links", "estimator_options",
                 "strategy_options")  # fmt: skip
        plain = CrawlSection().model_dump(mode="json")
        chosen["crawl"] |= {key: values["crawl"][key] for key in later if values["crawl"][key] != plain[key]}
        chosen["source"] = {key: values["source"][key] for key in ("platform", "pages_per_user")}
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
    if (wrong := describe_wrong_campaign(path)) is not None:
        raise SettingsError(wrong)
    try:
        given = read_toml(path)
    except (OSError, UnicodeDecodeError) as error:
        why = explain_unreadable(path, error)
        raise SettingsError(f"{why}: name a campaign file (`socialcrawl init` writes one).") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {explain_toml_error(error, path)}.") from error
    settings = check_settings(given, str(path))
    file, own = settings.seeds.file, settings.source.policy
    seeds = settings.seeds.model_copy(update={"file": path.parent / file if file else None})
    source = settings.source.model_copy(update={"policy": path.parent / own if own else None})
    database = path.parent / settings.database if isinstance(settings.database, Path) else settings.database
    placed: dict[str, Any] = {"database": database, "seeds": seeds, "source": source}
    if (section := settings.section) is not None:
        files = {
            key: path.parent / name for key in find_kind_facts(settings.kind).files if (name := getattr(section, key))
        }
        settings = settings.with_section(section.model_copy(update=files))
    return settings.model_copy(update=placed)


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


def check_settings(given: dict[str, Any], origin: str) -> Settings:
    """Return the settings given as a dictionary; `origin` is named in errors.

    Raises:
        SettingsError: with one line for each key that is wrong, or that holds what looks like a secret.
    """
    source, usual = given.get("source"), platform_facts.DEFAULT.name
    platform = str(source.get("platform", usual) if isinstance(source, dict) else usual)
    if found := dict(pasted_secrets.find_secrets(given, platform)):
        raise SettingsError("\n".join(f"{origin}: {line}." for line in pasted_secrets.advise(found, platform)))
    return _validate(given, origin)


def _validate(given: dict[str, Any], origin: str) -> Settings:
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        raise SettingsError("\n".join(dict.fromkeys(_explain_error(error, origin)))) from error


FROM_PYTHON = "Campaign"  # the origin of settings that a Python program gave
NUMBERS = {"float_type": "20.0", "float_parsing": "20.0", "int_type": "300", "int_parsing": "300"}


def _explain_error(error: ValidationError, origin: str) -> Iterator[str]:
    for problem in error.errors():
        place = [str(part) for part in problem["loc"] if not INSIDE.search(str(part))]
        if len(place) < len(problem["loc"]) and _has_other_form(problem):
            continue
        if not place:  # of the file as a whole
            yield f"{origin}: {problem['msg'].removeprefix('Value error, ')}."
            continue
        kept = SECRETS.get(place[0], ())
        hidden = place[0] in SECRETS and (len(place) < 2 or place[1] in kept) and place[-1] != "kind"
        is_section = len(place) == 1 and problem["type"] == "value_error"  # of several keys of a section
        where = f"[{place[0]}] {'.'.join(place[1:])}".rstrip() if len(place) > 1 or _is_table(place[0]) else place[0]
        where = f"[{place[0]}]" if is_section and isinstance(problem["input"], dict) else where
        shown = "" if hidden or is_section or place[0] == "database" else f" = {problem['input']!r}"
        if problem["type"] == "extra_forbidden" and pasted_secrets.KEYED.match(place[-1]):
            yield f"{origin}: {where} is not a setting. {pasted_secrets.STAYS}"
        elif problem["type"] == "extra_forbidden":
            yield f"{origin}: {where} is not a setting.{_suggest_key(place)}"
        elif problem["type"] == "missing":
            yield f"{origin}: {where} is missing: `socialcrawl init` writes a file that has it."
        elif problem["type"] == "model_type" and len(place) == 1:
            form = f"give its keys as a dict: {place[0]}={{...}}"
            form = form if origin == FROM_PYTHON else f"it is a table, so write [{place[0]}] and its keys below"
            yield f"{origin}: {place[0]}{shown}: {form}."
        else:
            message = problem["msg"].removeprefix("Value error, ")
            if problem["type"] in NUMBERS and isinstance(problem["input"], str) and not hidden:
                example = re.search(r"\d+(?:[.,]\d+)?", problem["input"])
                number = example[0].replace(",", ".") if example else NUMBERS[problem["type"]]
                message = f"a number without quotes is wanted: write {place[-1]} = {number}"
            if problem["type"] == "list_type" and isinstance(problem["input"], str) and not hidden:
                message = f"a list is wanted: write {place[-1]} = {json.dumps([problem['input']], ensure_ascii=False)}"
            yield f"{origin}: {where}{shown}: {message[0].lower()}{message[1:].rstrip('.')}."


def _has_other_form(problem: Any) -> bool:
    """Return whether a value has the wrong form: a list where a text is expected, or a text for a list."""
    return (problem["type"], isinstance(problem["input"], str)) in (("list_type", True), ("string_type", False))


def _is_table(name: str) -> bool:
    """Return whether it is a table that may be left out."""
    return name in Settings.model_fields and isinstance(Settings.model_fields[name].default, Section)


def _find_sections(key: str) -> list[str]:
    """Return the sections of a campaign file that have a key."""
    sections = ((name, type(field.default)) for name, field in Settings.model_fields.items())
    return [
        name
        for name, section in sections
        if issubclass(section, Section) and key in {field.alias or own for own, field in section.model_fields.items()}
    ]


def _suggest_key(place: list[str]) -> str:
    model: type[BaseModel] = Settings
    if len(place) > 1 and place[0] not in Settings.model_fields:  # the section of a kind that another package adds
        model, place = find_kind_facts(place[0]).section or Settings, place[1:]
    for part in place[:-1]:
        if not part.isdigit():  # the place in a list
            kind = next(field.annotation for name, field in model.model_fields.items() if part in (name, field.alias))
            (model,) = get_args(kind) or (kind,)
    known = [field.alias or name for name, field in model.model_fields.items()]
    homes = _find_sections(place[-1])
    if homes:
        return f" It belongs under {' or '.join(f'[{name}]' for name in homes)}."
    nearest = get_close_matches(place[-1], known, 1)
    if nearest:
        return f" Did you mean {nearest[0]!r}?"
    return f" Known here are: {', '.join(known)}."
