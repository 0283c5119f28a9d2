"""What sections are made of: a table of typed keys, and the values that many of them take."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from socialcrawl.engine.model import LARGEST
from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import explain_unknown, parse_instant, parse_seconds, parse_size

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}")
LINKS = ("mentions", "replies", "reposts", "quotes", "follows")
ACCOUNT = re.compile(r"@?[\w.@:/%?=&~+*-]+", re.ASCII)


def _check_variable(name: str) -> str:
    if not VARIABLE.fullmatch(name):
        raise ValueError("write the name of an environment variable, never the token itself")
    return name


def make_check(understood: Callable[[str], object]) -> AfterValidator:
    """Return what keeps a text as it is written, if it is `understood`."""

    def keep(text: str) -> str:
        try:
            understood(text)
        except SettingsError as error:
            raise ValueError(str(error)) from error
        return text

    return AfterValidator(keep)


def make_span_check(*others: str, years: int = 1) -> tuple[BeforeValidator, AfterValidator]:
    """Return what keeps a span of time with its unit as it is written, or one of the `others`.

    It says how to write one.
    """
    named = [f'"{other}"' for other in others]
    unit, span = _join_or('"12h"', '"7d"', *named), _join_or("3s", "15m", "1h", "7d", *named)

    def text(given: Any) -> Any:
        if not isinstance(given, str):
            raise ValueError(f"write it with its unit and in quotes, as {unit}")  # noqa: TRY004 - pydantic wants it
        return given

    def lasting(text: str) -> None:
        if text in others:
            return
        parse_seconds(text, f"write {span}", years)
        if not any(letter.isalpha() for letter in text):
            raise SettingsError(f"write it with its unit, as {unit}")

    return BeforeValidator(text), make_check(lasting)


def _require_text(given: Any) -> Any:
    if not isinstance(given, str):
        raise ValueError('write it with its unit and in quotes, as "500 MB"')  # noqa: TRY004 - pydantic wants it
    return given


def _join_or(*words: str) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _check_count(given: Any) -> int | str:
    if given != "auto" and (type(given) is not int or not 1 <= given <= LARGEST):
        raise ValueError('write a number, 1 or more, or "auto"')
    return cast("int | str", given)


def _parse_moment(given: Any) -> Any:
    """Return an instant, however TOML has it, as ISO 8601 in UTC; a date is its midnight."""
    if given is None:
        return None
    try:
        at = datetime.fromtimestamp(parse_instant(given.isoformat() if isinstance(given, date) else given), UTC)
    except (SettingsError, TypeError, ValueError, OverflowError, OSError) as error:
        raise ValueError("this is not an instant: write 2026-11-20 or 2026-11-20T12:00:00Z") from error
    return at.isoformat().replace("+00:00", "Z")


def _check_language(given: str) -> str:
    if not LANGUAGE.fullmatch(given):
        raise ValueError("a language is written as its BCP 47 tag: en, de, zh-TW")
    return given


def _parse_links(given: Any) -> dict[str, int]:
    """Return kinds of links and their weights from TOML: a name, a list of names, or a table of weights."""
    named = [given] if isinstance(given, str) else given
    weights = dict.fromkeys(named, 1) if isinstance(named, list) and all(isinstance(n, str) for n in named) else named
    if not isinstance(weights, dict) or not all(
        type(weight) is int and 0 <= weight <= 1000 for weight in weights.values()
    ):
        raise ValueError(
            'write a list, as ["mentions", "follows"], or weights from 0 to 1000, as { replies = 2, mentions = 1 }'
        )
    unknown = next((name for name in weights if name not in LINKS), None)
    if unknown is not None:
        raise ValueError(explain_unknown("kind of link", unknown, LINKS))
    if not any(weights.values()):
        raise ValueError("without any link there is nowhere to go: give one kind a weight above 0")
    return {name: weights[name] for name in LINKS if name in weights}


def _check_account(name: str) -> str:
    if not ACCOUNT.fullmatch(name.strip()):
        raise ValueError("write a username, or a pattern of it with *, such as *_bot")
    return name


Variable = Annotated[str, AfterValidator(_check_variable)]
Span = Annotated[str, *make_span_check()]
Size = Annotated[str, BeforeValidator(_require_text), make_check(parse_size)]
Moment = Annotated[str | None, BeforeValidator(_parse_moment)]
Together = Annotated[
    int | str,
    PlainValidator(_check_count),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": LARGEST}, {"const": "auto"}]}),
]
Language = Annotated[str, AfterValidator(_check_language)]
Kinds = Annotated[
    dict[str, int],
    PlainValidator(_parse_links),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(LINKS)},
                {"type": "array", "items": {"enum": list(LINKS)}, "minItems": 1},
                {
                    "type": "object",
                    "propertyNames": {"enum": list(LINKS)},
                    "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 1000},
                },
            ]
        }
    ),
]
Names = list[Annotated[str, AfterValidator(_check_account)]]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
FilePath = Annotated[Path, Field(strict=False)]


def parse_moments(begin: str | None, end: str | None) -> tuple[float | None, float | None]:
    """Return both instants of a span of time in Unix seconds; None: not said."""
    first, last = (None if text is None else parse_instant(text) for text in (begin, end))
    return first, last


class Section(BaseModel):
    """A table of a campaign file; unknown keys are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        hide_input_in_errors=True,  # a traceback shows no value, as that may be a secret
    )

    def resolve(self, platform: str) -> dict[str, Any]:
        """Return the values of keys whose meaning depends on the platform, for the identity of a campaign."""
        del platform
        return {}
