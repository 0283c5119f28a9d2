"""How a campaign that tracks chose the accounts that it read, in the words of a datasheet."""

from collections.abc import Iterator, Mapping
from typing import Any

ALL, NEVER = "all", "never"  # a window or a memory without end; what is not done again
TARGETS = {
    "indegree": "links to an account that were seen; they never expire",
    "importance": "OPIC's cash, which an account receives from the accounts that link to it",
    "relevance": "the relevance of the accounts that link to an account, times the link weight",
}
EXPANSIONS = {
    "gai": "the one with the highest target; if equal, the one discovered first",
    "ai": "one at random, with a chance in proportion to its target",
    "opic": "the one with the most of OPIC's cash",
}
ANY = ", or any at random, decided by a coin"
RECRAWLS = {
    "u": "one at random, all with the same chance",
    "or": "one at random, with a chance in proportion to the links seen in its posts",
    "yr": "one at random, with a chance in proportion to the new links per second between its two latest visits",
    "yru": f"one at random, in proportion to the new links per second between its two latest visits{ANY}",
    "ldu": f"the one whose latest visit added links to the accounts with the most links{ANY}",
    "ydu": f"the one with the most new links per second between its two latest visits{ANY}",
    "oru": f"one at random, in proportion to the links seen in its posts{ANY}",
    "opic": "the one with the most of OPIC's cash",
}
PARALLEL = {"once": "once, however often it was seen", "visits": "once for each visit that found it"}


def tell_choice(track: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the settings under [track]; nothing of those that are not there."""
    for key, names, said in (
        ("target", TARGETS, "target"),
        ("expansion", EXPANSIONS, "account chosen from the frontier"),
        ("recrawl", RECRAWLS, "account chosen to be read again, after its rest"),
        ("parallel", PARALLEL, "how often a link between two accounts counts"),
    ):
        if key in track:
            yield f"{said}: {names.get(track[key], track[key])}"
    if "p" in track:
        yield f"visits that read an account again: {track['p']:.0%}, as long as there are new and known accounts"
    if "window" in track:
        window = track["window"]
        yield "posts that count: " + ("of any age" if window == ALL else f"those of the {window} before a visit")
    if "rest" in track:
        yield f"after a visit an account rests for {track['rest']}"
    if again := track.get("again"):
        yield "accounts that could not be read are " + (
            "not tried again" if again == NEVER else f"tried again after {again}"
        )
    yield from _describe_cash(track)


def _describe_cash(track: Mapping[str, Any]) -> Iterator[str]:
    """Yield how OPIC's cash flows, and what importance remembers of it."""
    if track.get("topical"):
        yield "OPIC's cash flows along links in proportion to how often the topic occurs in the posts that make them"
    if extra := track.get("extra"):
        yield f"OPIC's virtual page adds {extra:g} to each unit of cash that flows along links with the topic"
    if lean := track.get("lean"):
        which = "in the frontier" if lean > 0 else "that were read"
        yield f"OPIC's cash prefers accounts {which}: {abs(lean):g} of 1"
    if memory := track.get("memory"):
        length = "its whole history" if memory == ALL else f"the last {memory:g} of its clock G"
        yield f"OPIC's importance looks back on {length}"
