"""The arguments of public functions, checked before anything else: a wrong one is named with what is wanted."""

import inspect
import operator
import os
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, date, datetime
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
MOST = 10**9  # the largest whole number; a database counts up to 2**63


class ArgumentRule(NamedTuple):
    """What an argument has to be.

    Attributes:
        wanted: in words.
        convert: returns the value to use; raises TypeError or ValueError for one that is not usable.
    """

    wanted: str
    convert: Callable[[Any], Any]


def check_arguments(**rules: ArgumentRule) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return a decorator that checks the arguments of a function, by the rule of each parameter.

    The default of a parameter is always accepted. A decorated function raises SettingsError for any other value that
    its rule refuses.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = inspect.signature(function)
        shown = function.__name__ if function.__name__ != "__init__" else function.__qualname__.split(".")[-2]

        @wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            bound = signature.bind(*args, **kwargs)
            for name, value in bound.arguments.items():
                if name in rules and value is not signature.parameters[name].default:
                    bound.arguments[name] = _convert(shown, name, rules[name], value)
            return function(*bound.args, **bound.kwargs)

        call.__dict__["argument_rules"] = rules
        return call

    return decorate


def _convert(function: str, name: str, rule: ArgumentRule, value: Any) -> Any:
    try:
        return rule.convert(value)
    except (TypeError, ValueError):
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
        raise SettingsError(f"{function}({name}={shown}): give {rule.wanted}.") from None


def make_whole_rule(least: int) -> ArgumentRule:
    """Return the rule of a whole number from `least` to MOST; numpy's are accepted, True and False are not."""

    def convert(value: Any) -> int:
        if isinstance(value, bool) or not least <= (number := operator.index(value)) <= MOST:
            raise ValueError
        return number

    return ArgumentRule(f"a whole number, {least} or more (at most {MOST:,})", convert)


def make_type_rule(kinds: type | tuple[type, ...], wanted: str) -> ArgumentRule:
    """Return the rule of an object of one of `kinds`."""

    def convert(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise TypeError
        return value

    return ArgumentRule(wanted, convert)


def _convert_path(value: Any) -> Any:
    if not isinstance(path := os.fspath(value), str) or not path or "\0" in path:
        raise ValueError
    return value


def _convert_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _convert_texts(value: Any) -> tuple[str, ...]:
    # Not any iterable: an error of an iterator would be taken for one of its type.
    if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping) or not len(value):
        raise ValueError
    return tuple(map(_convert_text, value))


SWITCH = make_type_rule(bool, "True or False")
TEXT = ArgumentRule("a text that is not empty", _convert_text)
PATH = ArgumentRule("a path, as text or pathlib.Path", _convert_path)
KEYWORDS = ArgumentRule('a list of texts, such as ["telescope"]', _convert_texts)
FUNCTION = make_type_rule(Callable, "a function")  # type: ignore[arg-type]


def _convert_parameters(given: Any) -> Any:
    if isinstance(given, str | bytes):
        raise TypeError
    if isinstance(given, Mapping):
        return {str(name): _convert_parameter(value) for name, value in given.items()}
    return [_convert_parameter(value) for value in given]


def _convert_parameter(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_time((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    return value.isoformat() if isinstance(value, date) else value


PARAMETERS = ArgumentRule("a list of values, or a dict of values by name", _convert_parameters)
