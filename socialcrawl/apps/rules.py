"""The rules of the mock as people write them: ENDPOINT K/PERIOD [KIND] [HEADERS]."""

from collections.abc import Sequence

from socialcrawl.errors import SettingsError
from socialcrawl.mock.windows import KINDS, Rule
from socialcrawl.words import seconds

FORM = '"/2/users/:id/tweets 25/24h fixed x-app-limit-24hour"'


def rules(texts: Sequence[str]) -> dict[str, list[Rule]]:
    """The rules by endpoint, each written as ENDPOINT K/PERIOD, with a kind (fixed) and the headers that tell of it.

    Raises:
        SettingsError: a text is no rule.
        MockError: a number or the name of the headers is out of range.
    """
    found: dict[str, list[Rule]] = {}
    for text in texts:
        endpoint, _, rest = text.strip().partition(" ")
        words = rest.split()
        k, slash, period = words.pop(0).partition("/") if words else ("", "", "")
        kind = words.pop(0) if words and words[0] in KINDS else KINDS[0]
        if not (slash and k.isdecimal()) or len(words) > 1:
            raise SettingsError(f"--rule {text!r} is no rule: write for example {FORM}.")
        found.setdefault(endpoint, []).append(Rule(int(k), seconds(period), kind, words[0] if words else None))
    return found
