"""What a campaign's history rests on: which of it changed, what may change, and the numbers of its queries. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.storage.counting_rule import COUNTING
from socialcrawl.storage.erasure.seed_slots import has_same_seeds, keep_allowed
from socialcrawl.storage.versions import TOPIC, is_empty

LONGEST = 100  # characters of a setting that an error shows
QUERIES = "queries"  # kept beside what the campaign file says
FIRST, LAST = (TOPIC, "seeds", "crawl"), "accounts"
"""What may change while a campaign goes on, as an epoch names it; the section of its kind is between them."""
FIXED = frozenset({"seed", "source", "name", "kind", "crawl.links"})
"""What may not change in any campaign. Kinds have more of their own."""


UNCHANGEABLE = "this cannot change after the campaign has begun: restore it, or create a new campaign."


class SettingDifference(NamedTuple):
    """One setting that differs: its section, its key ("" where the section is none), and what it was."""

    section: str
    key: str
    before: object

    @property
    def dotted_key(self) -> str:
        """The key as versions name it."""
        return f"{self.section}.{self.key}" if self.key else self.section

    def __str__(self) -> str:
        text = "not set" if self.before is None else repr(self.before)
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
        return f"[{self.section}] {self.key} was {shown}" if self.key else f"{self.section} was {shown}"


def compare_identities(
    held: Mapping[str, Any], given: Mapping[str, Any], barred: Collection[str]
) -> list[SettingDifference]:
    """Return where two identities differ, in the order of `given`; `barred` are names that were forgotten.

    What is not there is the same as what says nothing.
    """
    found: list[SettingDifference] = []
    for key in dict.fromkeys([*given, *held]):
        before, after = held.get(key), given.get(key)
        if key in (QUERIES, COUNTING):
            continue
        if isinstance(before, dict) or isinstance(after, dict):
            found += _compare_sections(key, before or {}, after or {}, barred)
        elif not _is_alike(before, after):
            found.append(SettingDifference(key, "", before))
    return found


def list_parts(found: Sequence[SettingDifference]) -> list[str]:
    """Return the parts of the identity that differ, as an epoch names them."""
    sections = dict.fromkeys(one.section for one in found)
    own = [part for part in sections if part not in FIRST and part != LAST]
    return [*(part for part in FIRST if part in sections), *own, *([LAST] if LAST in sections else [])]


def check_changes(name: str, found: Sequence[SettingDifference], fixed: Collection[str] = ()) -> None:
    """Check that all that differs may change; `fixed` are the settings that this kind of campaign fixes besides.

    Raises:
        SettingsError: something may not; the message names it, and what to do.
    """
    wrong = [one for one in found if _is_fixed(one, fixed)]
    if wrong:
        raise SettingsError(
            f"The campaign {name!r} cannot continue with another {' or '.join(one.dotted_key for one in wrong)}: "
            f"{'; '.join(map(str, wrong))}. Restore it to continue it, or choose another name for a new campaign.",
            [(one.dotted_key, UNCHANGEABLE) for one in wrong],
        )


def refuse_changes(name: str, found: Sequence[SettingDifference], fixed: Collection[str] = ()) -> None:
    """Check that nothing differs; `fixed` are the settings that this kind of campaign fixes besides.

    Raises:
        SettingsError: something does; the message names it, and what to do.
    """
    if not found:
        return
    change = (
        ""
        if any(_is_fixed(one, fixed) for one in found)
        else " `socialcrawl run --change` continues with the new ones (as a daemon does)."
    )
    raise SettingsError(
        f"The campaign {name!r} was begun in this database with other settings: {'; '.join(map(str, found))}. "
        f"Restore them to continue it, or choose another name or database for a new campaign.{change}"
    )


def _is_fixed(one: SettingDifference, fixed: Collection[str]) -> bool:
    return not {*FIXED, *fixed}.isdisjoint({one.section, one.dotted_key})


def read_texts(identity: Mapping[str, Any]) -> list[str]:
    """Return the texts of all queries that a campaign ever had, in order: the first is node -1, the next -2.

    Campaigns of older programs kept none: theirs are the searches of their topic.
    """
    if QUERIES in identity:
        return [str(text) for text in identity[QUERIES]]
    topic, seeds = identity.get(TOPIC), identity.get("seeds")
    if not topic or not seeds or not seeds.get("search"):
        return []
    keywords, patterns, languages = (topic.get(key) or () for key in ("keywords", "patterns", "languages"))
    return Topic(keywords, patterns, languages).build_queries()


def read_queries(identity: Mapping[str, Any], current: Sequence[str]) -> tuple[list[str], list[Node]]:
    """Return all texts of a campaign's queries in order, and the nodes of the `current` ones.

    A text that the campaign had before keeps its number; new ones come last.
    """
    everything = list(dict.fromkeys([*read_texts(identity), *current]))
    numbers = {text: Node(-1 - place) for place, text in enumerate(everything)}
    return everything, [numbers[text] for text in dict.fromkeys(current)]


def _compare_sections(section: str, before: Any, after: Any, barred: Collection[str]) -> Iterator[SettingDifference]:
    old, new = (side if isinstance(side, dict) else {"": side} for side in (before, after))
    for key in dict.fromkeys([*new, *old]):
        was, now = old.get(key), new.get(key)
        if (section, key) == ("seeds", "usernames"):
            alike = has_same_seeds(was or [], now or [], barred)
        elif section == "accounts":
            alike = keep_allowed(was or [], barred) == keep_allowed(now or [], barred)
        else:
            alike = _is_alike(was, now)
        if not alike:
            yield SettingDifference(section, key, was)


def _is_alike(one: object, other: object) -> bool:
    return one == other or (is_empty(one) and is_empty(other))
