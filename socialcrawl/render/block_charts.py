"""Charts for terminals, in block letters: relevance found against accounts read, and matching posts per day."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from socialcrawl.render.console import Text
from socialcrawl.storage.queries.topic_counts import TopicCounts
from socialcrawl.text.wording import pluralize

BARS = " ▁▂▃▄▅▆▇█"
POINTS = 4  # columns of a table of curves


def draw_curve(values: NDArray[np.float64], width: int = 60, height: int = 8) -> Text:
    """Return the cumulative sum of `values` in block letters, `width` by `height`, with its two ends labelled."""
    curve = np.add.accumulate(values) if len(values) else np.zeros(1)
    places = np.linspace(0, len(curve) - 1, width).round().astype(int)
    right = f"{pluralize(len(values), 'account')} read"
    return _draw_bars(curve[places], f"{curve[-1]:,.0f}", ("0", right), height)


def draw_days(counts: TopicCounts, width: int = 60, height: int = 5, cut: int = 0) -> Text:
    """Return the matching posts per day (or span of days) in block letters, at most `width` by `height`.

    Only posts of accounts read are drawn; lines below say how many others a search found, and which days lack posts.

    Args:
        counts: the posts.
        width: of the chart, in characters.
        height: of the chart, in lines.
        cut: accounts of which only the newest posts were read.
    """
    length, spans = counts.fill_days(width)
    posts = np.array([count for _, count in spans], np.float64)
    wide = np.repeat(posts, max(1, width // len(posts)))
    each = "per day" if length == 1 else f"per {length:,} days"
    title = f"matching posts{counts.source}, {each} (UTC), {pluralize(int(posts.max()), 'post')} at most"
    ends = (f"{spans[0][0]}", f"{counts.days[-1][0]}")
    chart = Text(f"{title}\n{_draw_bars(wide, f'{posts.max():,.0f}', ends, height).plain}", no_wrap=True)
    for line in filter(None, (describe_left_out(counts), describe_cut(cut))):
        chart.append(f"\n{line}")
    return chart


def describe_left_out(counts: TopicCounts) -> str:
    """Return how many matching posts a chart of days leaves out, as only a search found them; "" for none."""
    if not counts.unread_posts:
        return ""
    more, are = pluralize(counts.unread_posts, "more post"), "is" if counts.unread_posts == 1 else "are"
    return f"{more}, found only by a search, {are} not shown"


def describe_cut(accounts: int) -> str:
    """Return that early days lack posts of accounts of which only the newest posts were read; "" for no accounts."""
    if not accounts:
        return ""
    return f"Of {pluralize(accounts, 'account')} only the newest posts were read, so early days are counted too low."


def _draw_bars(values: NDArray[np.float64], top: str, ends: tuple[str, str], height: int) -> Text:
    """Return one bar for each value; `top` names the largest, `ends` the first and last place."""
    eighths = np.round(values / (values.max() or 1.0) * height * 8).astype(int)
    width, edge = len(values), max(8, len(top))
    lines = []
    for row in range(height - 1, -1, -1):
        bars = "".join(BARS[int(n)] for n in np.clip(eighths - row * 8, 0, 8))
        lines.append(f"{top if row == height - 1 else '0' if row == 0 else '':>{edge}} ┤{bars}")
    lines.append(f"{'':>{edge}} └{'─' * width}")
    first, last = ends
    lines.append(f"{'':>{edge + 2}}{first}{last:>{max(len(last) + 1, width - len(first))}}")
    return Text("\n".join(lines), no_wrap=True)


def make_curves_table(name: str, values: NDArray[np.float64], baselines: Mapping[str, NDArray[np.float64]]) -> Table:
    """Return the relevance that a crawl had found at a few places, beside what others would have.

    Args:
        name: what the crawl is called, as "this campaign".
        values: the relevance of each step, at least one.
        baselines: float64[steps] by name: the relevance found after each step.
    """
    table = Table(
        title="relevance found, by accounts read after the seeds", title_justify="left", box=None, pad_edge=False
    )
    places = choose_points(len(values), POINTS)
    table.add_column("accounts read", overflow="fold")
    for place in places:
        table.add_column(f"{place:,}", justify="right", no_wrap=True)
    own: NDArray[np.float64] = np.add.accumulate(values)
    for label, curve in ((name, own), *baselines.items()):
        table.add_row(Text(label), *(f"{curve[place - 1]:,.1f}" for place in places))
    return table


def choose_points(count: int, most: int) -> list[int]:
    """Return at most `most` numbers from 1 to `count`, evenly spaced, the last included."""
    return sorted({max(1, round(count * place / most)) for place in range(1, most + 1)})
