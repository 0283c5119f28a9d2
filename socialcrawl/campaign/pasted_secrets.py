"""Secrets that were pasted into a file where they do not belong: found by their shape, answered, never shown. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from socialcrawl.platforms.facts import BUILT_IN, PLATFORMS, PlatformFacts, find_platform_facts

WORD = re.compile(r"[A-Za-z0-9_-]{22,}={0,2}")
_KEY = r"(?:token|secret|password|passwd|bearer|api_?key|access_?key|credentials?)"
KEYED = re.compile(rf"(?i)^(?:.*_)?{_KEY}$")
"""Keys that are no settings, and that people write a secret behind."""
ADDRESS = re.compile(r"\S[:/]\S")
LOCKED = re.compile(rf"(?i)://[^\s/?#@]*:[^\s/?#@]+@|[?&](?:[\w-]*[_-])?{_KEY}=[^&\s]")
"""An address with a password before its host, or with a secret among its parameters."""
ADDRESSED = (("notify", "webhook_env"), ("notify", "apprise_env"))
"""Where the variable of an address is named: whoever has the address can write there, so it is a secret itself."""
SEPARATORS = 3  # - and _ in a random word at most
RANDOM = 0.42  # of neighbours that differ in kind: 62 % in a random word of letters and digits, 33 % in CamelCase
ANYBODY = ""  # whose a secret is that has no shape of its own
ADVICE = "export NAME=..., and write NAME where that is wanted: token_env under [source], webhook_env under [notify]"
NOTICES = (
    'export NOTICES=..., and under [notify] webhook_env = "NOTICES", or '
    'apprise_env = "NOTICES" for an address of apprise'
)
STAYS = f"A token stays out of this file: {ADVICE}."
NOT_HERE = "this looks like a token or a password: put it into an environment variable, and write only its name here."
FREE = (("notify", "command"),)  # a program's arguments, which belong to who wrote them, and are never shown
DATABASE = ("database",)  # its password has another place, which its own refusal names

Place = tuple[str | int, ...]
"""The keys that lead to a value, and numbers in lists; the last is "" for a key that is itself a secret."""


def find_secrets(given: Any, platform: str = "") -> Iterator[tuple[Place, str]]:
    """Iterate over what looks like a secret in a file: its place, and a platform whose it probably is, or ANYBODY.

    Args:
        given: the values of the file.
        platform: that of the campaign, which another package may add; "": none is known.
    """
    added = platform not in BUILT_IN and platform in PLATFORMS.list_names()
    yield from _find_secrets(given, (), [*BUILT_IN.values(), *([find_platform_facts(platform)] if added else [])])


def _find_secrets(given: Any, place: Place, platforms: Sequence[PlatformFacts]) -> Iterator[tuple[Place, str]]:
    if place in FREE:
        return
    if isinstance(given, Mapping):
        for key, value in given.items():
            if whose := _guess_owner(str(key), place, platforms):
                yield (*place, ""), whose[0]
            else:
                yield from _find_secrets(value, (*place, str(key)), platforms)
    elif isinstance(given, list):
        for number, value in enumerate(given):
            yield from _find_secrets(value, (*place, number), platforms)
    elif isinstance(given, str) and (found := _guess_owner(given, place, platforms)):
        yield place, found[0]


def advise(found: Mapping[Place, str], platform: str) -> Iterator[str]:
    """Iterate over what to do about secrets, for people: a sentence for all that go to the same place; none is shown.

    Args:
        found: see `find_secrets`.
        platform: of the campaign, for a secret that may be anybody's.
    """
    places: dict[str, list[Place]] = {}
    for place, whose in found.items():
        advice = NOTICES if place[0] == "notify" else _advise_on(whose or platform)
        places.setdefault(advice, []).append(place)
    for advice, some in places.items():
        names = _name_places(some)
        several = len(names) > 1
        where = f"{', '.join(names[:-1])} and {names[-1]} hold" if several else f"{names[0]} holds"
        what = "tokens or passwords" if several else "a token or a password"
        each = "each into an environment variable of its own" if several else "it into an environment variable"
        names_of = "the names of these" if several else "that one's name"
        yield (
            f"{where} what looks like {what}. Secrets do not go into this file: put {each}, and only {names_of} here: "
            f"{advice}. A file can hold it too: NAME_FILE is its path"
        )


def name_keys(places: Iterable[Place]) -> list[str]:
    """Return the dotted keys at which secrets were found; a section for a key that is itself a secret."""
    return list(
        dict.fromkeys(".".join(part for part in place[:2] if isinstance(part, str) and part) for place in places)
    )


def _advise_on(platform: str) -> str:
    """Return where a secret of a platform belongs; of one that is not known, where any secret does."""
    known = platform in PLATFORMS.list_names()
    return (find_platform_facts(platform).env_advice if known else "") or ADVICE


def _name_places(places: Sequence[Place]) -> list[str]:
    """Return how people call places: `[section] key`, `key` of the same section again, or of none."""
    names: dict[str, None] = {}
    before: str | int | None = None
    for place in places:
        first, *keys = place
        if place[-1] == "":
            names[f"a key under [{first}]" if keys else "a key"] = None
        elif keys and isinstance(keys[0], str):
            key = ".".join(map(str, keys))
            names[key if first == before else f"[{first}] {key}"] = None
        else:
            names[".".join(map(str, place))] = None
        before = first if keys else None
    return [*names]


def _guess_owner(text: str, place: Place, platforms: Iterable[PlatformFacts]) -> tuple[str] | None:
    """Return the platform whose secret a text probably is; None where it is no secret."""
    word = re.sub(r"^(?:[Bb]earer|OAuth)\s+", "", text.strip())
    section = str(place[0]) if place else ""
    for platform in platforms:
        if platform.is_token(word, section):
            return (platform.name,)
    if (LOCKED.search(word) and place != DATABASE) or (ADDRESS.search(word) and place in ADDRESSED):
        return (ANYBODY,)
    return (ANYBODY,) if _is_random(word) else None


def _is_random(word: str) -> bool:
    """Return whether a word is letters and digits as chance throws them, and none that a person would write.

    It has capitals, small letters and digits in several places, and they change often or make no part of a word.
    """
    if not WORD.fullmatch(word) or len(re.findall(r"[_-]", word)) > SEPARATORS or len(re.findall(r"\d+", word)) < 2:
        return False
    kinds = ["d" if sign.isdigit() else "u" if sign.isupper() else "l" if sign.islower() else "-" for sign in word]
    changes = sum(one != other for one, other in pairwise(kinds))
    mixed = changes >= RANDOM * (len(word) - 1) or not re.search(r"[a-z]{4}", word)
    return {"u", "l"} <= {*kinds} and mixed
