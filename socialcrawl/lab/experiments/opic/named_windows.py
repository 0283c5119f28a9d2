"""Windows by name, as the figures have them: "variable-8", "fixed-8", "improved-4", "interpolation-4", "none".

A number is m for variable windows, and months for the others; "+held" behind it reads importance with the cash that is
held now. "none" is plain OPIC, (H + C) / (G + 1), which forgets nothing.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.importance.history_windows import (
    FixedHistory,
    HistoryWindow,
    ImprovedFixedHistory,
    InterpolatedHistory,
    VariableHistory,
)
from socialcrawl.importance.opic import Cash

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

FIG4: Final = ("variable-4", "variable-8", "variable-16", "interpolation-4")
FIG6: Final = ("variable-8", "fixed-8", "improved-4", "interpolation-4")
BEGINNINGS: Final = ("listing", "equal", "nothing")
NONE: Final = "none"
HELD: Final = "+held"


def parse_window(name: str, month: float) -> HistoryWindow:
    """Return the window of that name, a month being `month` units of G.

    Raises:
        SettingsError: there is none of that name.
    """
    stem = name.removesuffix(HELD)
    kind, _, number = stem.partition("-")
    fresh = stem != name
    if number.isdecimal() and int(number) > 0:
        size = int(number)
        if kind == "variable":
            return VariableHistory(size, fresh=fresh)
        if kind == "fixed":
            return FixedHistory(size * month, fresh=fresh)
        if kind == "improved":
            return ImprovedFixedHistory(size * month, fresh=fresh)
        if kind == "interpolation":
            return InterpolatedHistory(size * month, fresh=fresh)
    raise SettingsError(
        f"{name} is not a window: say variable-M (measures), fixed-N, improved-N or interpolation-N (months), or none; "
        f"{HELD} may follow."
    )


class WindowComparison:
    """Some windows that watch one crawl; what they say does not steer it.

    What pages begin with is open in the paper. "equal": the importance of their first cash, 1/(n + 1), as if it had
    always been so; "nothing": as the listing of OPIC has it, H = 0; "listing" (the default): nothing, but for
    interpolation, which would read low for the length of its window.

    Raises:
        SettingsError: a name is no window's.
    """

    def __init__(self, names: tuple[str, ...], month: float, pages: Rows, begin: str = "listing") -> None:
        self.names, self.pages = names, pages
        self.windows = {name: parse_window(name, month) for name in names if name != NONE}
        for each in self.windows.values():
            if begin == "equal" or (begin == "listing" and isinstance(each, InterpolatedHistory)):
                for page in pages.tolist():
                    each.join(page, 0.0, 1.0 / (len(pages) + 1))

    def crawled(self, page: int, cash: float, paid: float) -> None:
        """Show all windows a crawl: the page, its cash, and G before that is paid out."""
        for each in self.windows.values():
            each.crawled(page, cash, paid)

    def importance(self, cash: Cash) -> dict[str, Floats]:
        """Return what each says of all pages now, float64[n]."""
        held = cash.of(self.pages)
        found = {name: each.importance(self.pages, held, cash.paid) for name, each in self.windows.items()}
        return {name: found[name] if name in found else cash.estimate(self.pages) for name in self.names}

    def measures(self) -> dict[str, float]:
        """Return the mean number of measures a page that each keeps (Figure 5); plain OPIC keeps one number, H."""
        counts = {name: float(each.measures(self.pages).mean()) for name, each in self.windows.items()}
        return {name: counts.get(name, 1.0) for name in self.names}
