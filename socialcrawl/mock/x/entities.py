"""What X finds in a text: mentions, hashtags and links with their places, and the cut of long texts."""

import re
from typing import Any, NamedTuple

from socialcrawl.mock.world import World

LONGEST = 280
CUT = 277

Entities = dict[str, list[dict[str, Any]]]

_WORD = re.compile(r"\w+")
_CASHTAG = re.compile(
    r"(?<!\S)\$[a-z]{1,6}(?:[._][a-z]{1,2})?(?=$|\s|[!'#%&()*+,\-./:;<=>?@\[\]^_{|}~$])", re.IGNORECASE
)
_LINK = re.compile(r"https?://[^\s<>\"]+")


class XPostText(NamedTuple):
    """A post's text as X shows it: at most 280 characters, and the whole as a note where it was longer.

    Attributes:
        text, entities: what is shown; only entities that lie within it.
        accounts: the rows of the accounts in `entities["mentions"]`.
        note, note_entities, note_accounts: the same for the whole text; all None where nothing was cut.
    """

    text: str
    entities: Entities
    accounts: list[int]
    note: str | None = None
    note_entities: Entities | None = None
    note_accounts: list[int] | None = None


def write_text(world: World, post: int) -> XPostText:
    """Return the text of the post at this position with its entities.

    A mentioned name that the text does not contain stands at start = end = 0, and in a cut post only in the note. A
    post that is repeated (`World.record`) is never cut, and names people in the order in which it did.
    """
    text = world.texts[post]
    mentions = _find_mentions(world, post, text)
    others = _find_others(text)
    if len(text) <= LONGEST or world.record is not None:
        return XPostText(text, _make_entities([m for m, _ in mentions], others), [a for _, a in mentions])
    inside = [(m, a) for m, a in mentions if 0 < m["end"] <= CUT]
    kept = {kind: [e for e in found if e["end"] <= CUT] for kind, found in others.items()}
    return XPostText(
        text=text[:CUT] + "…",
        entities=_make_entities([m for m, _ in inside], kept),
        accounts=[a for _, a in inside],
        note=text,
        note_entities=_make_entities([m for m, _ in mentions], others),
        note_accounts=[a for _, a in mentions],
    )


def _make_entities(mentions: list[dict[str, Any]], others: Entities) -> Entities:
    found = {kind: entities for kind, entities in others.items() if entities}
    if mentions:
        found["mentions"] = mentions
    return found


def _find_mentions(world: World, post: int, text: str) -> list[tuple[dict[str, Any], int]]:
    accounts = world.accounts
    mentioned = world.mentions.of(post).tolist()
    if not mentioned:
        return []
    low = lower_text(text)
    found = []
    for account in mentioned:
        start, end = locate(low, accounts.keys[account])
        mention = {"start": start, "end": end, "username": accounts.usernames[account]}
        if world.tells_id(account):
            mention["id"] = str(accounts.ids[account])
        found.append((mention, account))
    if world.record is None:
        found.sort(key=lambda pair: pair[0]["start"])
    return found


def lower_text(text: str) -> str:
    """Return the text in lower case, every letter at its place."""
    low = text.lower()
    if len(low) == len(text):
        return low
    # A few letters grow when lowered.
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def locate(low: str, key: str) -> tuple[int, int]:
    """Return where a name stands in a lower-case text: the first `@name`, else the first bare name, else (0, 0)."""
    for needle in ("@" + key, key):
        start = low.find(needle)
        while start >= 0:
            end = start + len(needle)
            # An empty slice is no letter.
            if not (low[start - 1 : start].isalnum() or low[end : end + 1].isalnum()) and not (
                low[start - 1 : start] == "_" or low[end : end + 1] == "_"
            ):
                return start, end
            start = low.find(needle, start + 1)
    return 0, 0


def find_tags(text: str) -> list[tuple[int, int, str]]:
    """Return the hashtags of a text: (start, end, tag); numbers are none."""
    found, start = [], text.find("#")
    while start >= 0:
        before = text[start - 1 : start]
        # Searching for # and then looking around is five times as fast as a pattern that does both.
        if not before.isalnum() and before != "_" and (match := _WORD.match(text, start + 1)):
            tag = match[0]
            if not tag.isdigit():
                found.append((start, start + 1 + len(tag), tag))
        start = text.find("#", start + 1)
    return found


def _find_others(text: str) -> Entities:
    found: Entities = {}
    if "#" in text:
        found["hashtags"] = [{"start": start, "end": end, "tag": tag} for start, end, tag in find_tags(text)]
    if "://" in text:
        found["urls"] = find_links(text)
    return found


def find_cashtags(text: str) -> list[str]:
    """Return the cashtags of a text, without their sign."""
    return [match[0][1:] for match in _CASHTAG.finditer(text)] if "$" in text else []


def find_links(text: str) -> list[dict[str, Any]]:
    """Return the links of a text as X tells of them."""
    return [_make_link(match.start(), match[0].rstrip(".,;:!?')]…")) for match in _LINK.finditer(text)]


def _make_link(start: int, url: str) -> dict[str, Any]:
    shown = url.split("://", 1)[1]
    return {
        "start": start,
        "end": start + len(url),
        "url": url,
        "expanded_url": url,
        "display_url": shown if len(shown) <= 27 else shown[:26] + "…",
    }
