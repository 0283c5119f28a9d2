"""Usernames made of syllables: legal on X, unique without case, pronounceable."""

import numpy as np

LONGEST = 15  # what X allows

# fmt: off
_ONSETS = (
    "b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "kl", "l", "m",
    "n", "p", "pr", "r", "s", "sh", "st", "t", "th", "tr", "v", "w", "y", "z",
)
_VOWELS = ("a", "a", "a", "e", "e", "e", "i", "i", "o", "o", "u", "ai", "ea", "ia", "io", "ou")
# fmt: on
_CODAS = ("", "", "", "", "", "", "l", "n", "n", "r", "s")


def draw_usernames(count: int, seed: int | list[int]) -> list[str]:
    """Return `count` usernames `[A-Za-z0-9_]{1,15}` in mixed case, no two equal without case."""
    rng = np.random.default_rng(seed)
    syllables = [onset + vowel + coda for onset in _ONSETS for vowel in _VOWELS for coda in _CODAS]
    parts = rng.integers(0, len(syllables), (count, 4)).tolist()
    styles = rng.integers(0, 8, count).tolist()
    years = rng.integers(1, 100, count).tolist()
    taken: set[str] = set()  # asked for membership only, never iterated: its order cannot leak
    names: list[str] = []
    for part, style, year in zip(parts, styles, years, strict=True):
        name = _style_name([syllables[i] for i in part], style, year)
        number = len(names)
        while name.lower() in taken:
            number += 1
            name = f"{name[:7].rstrip('_')}{number}"
        taken.add(name.lower())
        names.append(name)
    return names


def _style_name(part: list[str], style: int, year: int) -> str:
    first, last = part[0] + part[1], part[2] + part[3]
    spellings = (
        first + part[2],
        first.title() + last.title(),
        f"{first}_{part[2]}",
        f"{first}{year}",
        f"{first.title()}_{last.title()}",
        first.title() + part[2].title(),
        f"{part[0].title()}{last}{year}",
        f"the_{first}",
    )
    return spellings[style][:LONGEST].rstrip("_")
