"""How a campaign that tracks chose whom to read, in the words of a datasheet."""

from collections.abc import Iterator, Mapping
from typing import Any

ALL, NEVER = "all", "never"  # a window or a memory without end; what is not done again
TARGETS = {
    "indegree": "links to an account that were seen; they never expire",
    "importance": "OPIC's cash, which an account has from those who link to it",
    "relevance": "the relevance of those who link to an account, times the weight of the link",
}
EXPANSIONS = {
    "gai": "the one that counts most; of equals the one discovered first",
    "ai": "one by lot, in proportion to how much it counts",
    "opic": "the one with the most of OPIC's cash",
}
RECRAWLS = {
    "u": "anybody, by equal lot",
    "or": "one by lot, in proportion to the links that were seen in its posts",
    "yr": "one by lot, in proportion to the new links per second between its two latest visits",
    "yru": "one by lot, in proportion to the new links per second between its two latest visits, or anybody, by a coin",
    "ldu": "the one whose latest visit brought links to the accounts that are linked to most, or anybody, by a coin",
    "ydu": "the one with the most new links per second between its two latest visits, or anybody, by a coin",
    "oru": "one by lot, in proportion to the links that were seen in its posts, or anybody, by a coin",
    "opic": "the one with the most of OPIC's cash",
}
PARALLEL = {"once": "once, however often it was seen", "visits": "once for each visit that brought it"}


def tell_choice(track: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the settings under [track]; nothing of those that are not there."""
    for key, names, said in (
        ("target", TARGETS, "what counts"),
        ("expansion", EXPANSIONS, "asked among accounts that were not read yet"),
        ("recrawl", RECRAWLS, "gone back to among those that were read and are rested"),
        ("parallel", PARALLEL, "how often a link between two accounts counts"),
    ):
        if key in track:
            yield f"{said}: {names.get(track[key], track[key])}"
    if "p" in track:
        yield f"visits that go back: {track['p']:.0%}, as long as there is somebody for either"
    if "window" in track:
        window = track["window"]
        yield "posts that count: " + ("of any age" if window == ALL else f"those of the {window} before a visit")
    if "rest" in track:
        yield f"after a visit an account is left alone for {track['rest']}"
    if again := track.get("again"):
        yield "accounts that were lost are " + ("not tried again" if again == NEVER else f"tried again after {again}")
    yield from _describe_cash(track)


def _describe_cash(track: Mapping[str, Any]) -> Iterator[str]:
    """Yield how OPIC's cash flows, and what importance remembers of it."""
    if track.get("topical"):
        yield "OPIC's cash goes along links in proportion to how often the topic occurs in the posts that make them"
    if extra := track.get("extra"):
        yield f"OPIC's virtual page adds {extra:g} to each unit of cash that goes along links with the topic"
    if lean := track.get("lean"):
        yield f"OPIC's cash leans to accounts that were {'never' if lean > 0 else 'already'} read: {abs(lean):g} of 1"
    if memory := track.get("memory"):
        length = "its whole history" if memory == ALL else f"the last {memory:g} of its clock G"
        yield f"OPIC's importance looks back on {length}"
