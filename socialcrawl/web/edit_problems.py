"""What is wrong in a form: beside which field it stands, and in words of the form instead of the file. Pure."""

import re
from collections.abc import Collection

from socialcrawl import SettingsError
from socialcrawl.web.field_labels import BASIC, MORE, name_field

PLACE = re.compile(r"\b(\w+) under \[(\w+)\]|\[(\w+)\] (\w+)")
HINTS = (
    (re.compile(r"\bregular expression\b"), "topic.patterns"),
    (re.compile(r"\bkeywords?\b"), "topic.keywords"),
    (re.compile(r"\bfile of seeds\b"), "seeds.file"),
    (re.compile(r"\(under \[seeds\]\)"), "seeds.usernames"),
)
"""What sentences are about that name no key."""
BEGINNING = re.compile(r"^\[(\w+)\] (\w+)( = .*?)?: ")
LIST = re.compile(r'\b\w+ = \[("[^"]*"(?:, "[^"]*")*)\]')
KIND = re.compile(r'\bkind = "(\w+)"')
GIVEN = re.compile(r"\b(write|as) \w+ = (\S+)")
SET = re.compile(r"\bset (\w+) = (\w+)")
UNDER = re.compile(r"\b(\w+) (?:under|in) \[(\w+)\]")
SECTION = re.compile(r" ?\(?\b(?:under|in) \[(\w+)\]\)?")
NAMED = re.compile(r"\[(\w+)\]")
AMOUNT = re.compile(r"” = ([\d.]+)(?: dollars)?")
SWITCHES = {"true": "yes", "false": "no"}


def locate_problems(error: SettingsError, file: str = "", known: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return (dotted key, sentence) of each thing that is wrong; "" where no key is named.

    Args:
        error: what was raised.
        file: the path with which sentences may begin.
        known: the keys of the form, by which those of whole sections find their field.
    """
    if error.problems:
        return [(_find_key(key, sentence, known), sentence) for key, sentence in error.problems]
    found = []
    for line in str(error).splitlines():
        said = re.sub(rf"^{re.escape(file)}(, line \d+)?: ", "", line) if file else line
        place = PLACE.search(said)
        key = "" if place is None else f"{place[2]}.{place[1]}" if place[1] else f"{place[3]}.{place[4]}"
        if place is None or (known and key not in known):
            hinted = next((hint for pattern, hint in HINTS if pattern.search(said)), "")
            key = hinted or (_find_key(key.partition(".")[0], said, known) if key else "")
        found.append((key, said))
    return found


def put_in_words(sentence: str, known: Collection[str] = (*BASIC, *MORE)) -> str:
    """Return a sentence about a campaign file as one about a form: with labels in place of keys and sections.

    Args:
        sentence: see `locate_problems`.
        known: the keys of the form; all that have a label where there is no form.
    """

    def name(key: str, section: str = "") -> str:
        found = [one for one in known if one.rpartition(".")[2] == key and one.startswith(section)]
        return f"“{name_field(found[0])}”" if found else key

    said = KIND.sub(lambda found: f"“{found[1].capitalize()}”", BEGINNING.sub("", sentence))
    said = LIST.sub(lambda found: _list_lines(re.findall('"([^"]*)"', found[1])), said)
    said = GIVEN.sub(lambda found: f"{found[1]} {found[2]}", said)
    said = SET.sub(lambda found: f"set {name(found[1])} to {SWITCHES.get(found[2], found[2])}", said)
    said = UNDER.sub(lambda found: name(found[1], f"{found[2]}."), said)
    sections = NAMED.findall(sentence)
    for section, _, key in (one.partition(".") for one in known):
        if section in sections and "_" in key:  # no other word is written so
            said = re.sub(rf"\b{key}\b", name(key, f"{section}."), said)
    said = AMOUNT.sub(r"” (\1)", said)
    said = SECTION.sub("", said)
    is_path = re.match(r"\S*(?:/|\.toml\b)", said) is not None
    return said if is_path else said[:1].upper() + said[1:]


def _list_lines(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items)}, each on its own line"


def _find_key(key: str, sentence: str, known: Collection[str]) -> str:
    """Return the key itself; of a section, that of the first of its keys that a sentence names."""
    if key in known or not known:
        return key
    words = re.findall(r"\w+", sentence)
    return next((found for word in words if (found := f"{key}.{word}") in known), key)
