"""A web that changes: pages whose in-degree doubles or halves (Abiteboul et al., section 4, Figure 4).

The change rate is the share of pages to which this happens during n fetches, n pages being a crawl.
"""

from typing import Final

import numpy as np

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.opic.webs import GeneratedWeb

TRIES: Final = 20  # draws for a link's source, before a page goes with one link less


class WebChanges:
    """What happens to a web while it is crawled, the same for the same seed.

    Pages are drawn without doubles from an order of all pages, a new one when all have changed. A coin says whether a
    page doubles or halves; below two links it can only double, and from none it goes to one. New links come from pages
    drawn evenly; of d links, d // 2 are taken away, drawn evenly. (The paper does not say.)

    Args:
        web: what is changed.
        rate: the share of pages that change in a crawl, 0 or more.
        seed: of all draws.

    Raises:
        SettingsError: the rate is below 0.
    """

    def __init__(self, web: GeneratedWeb, rate: float, seed: int) -> None:
        if not 0 <= rate < float("inf"):
            raise SettingsError(f"A change rate of {rate:g} is none; give 0 or more.")
        self.web, self.rate, self.seed = web, rate, seed
        self.done = 0

    def until(self, crawls: float) -> int:
        """Bring the web to what it is after so many crawls since the start; how many pages changed now."""
        due = int(self.rate * self.web.size * crawls + 1e-9)
        before = self.done
        while self.done < due:
            self._change(self.done)
            self.done += 1
        return self.done - before

    def _change(self, number: int) -> None:
        lap, place = divmod(number, self.web.size)
        if not place:
            self.order = make_generator(self.seed, "changed pages", lap).permutation(self.web.size)
        page = int(self.order[place])
        draws = make_generator(self.seed, "change", number)
        degree = len(self.web.into[page])
        if degree >= 2 and draws.random() < 0.5:
            self.web.cut(draws.choice(self.web.into[page], degree // 2, replace=False).tolist(), page)
        else:
            self._grow(page, max(degree, 1), draws)

    def _grow(self, page: int, more: int, draws: np.random.Generator) -> None:
        for _ in range(more):
            for source in draws.integers(0, self.web.size, TRIES).tolist():
                if self.web.link(source, page):
                    break
