"""The picture of a report in a file: relevance found against accounts read, or matching posts per day."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.queries.topic_counts import TopicCounts

FORMATS = ("png", "svg", "pdf")
SPANS = 90  # bars
BLUE, HATCHED = "#1f5fa8", "#8a8a8a"
THOUSAND = 1000.0  # from here on, numbers on axes are grouped
Span = tuple[float, float]

RELEVANCE = ("accounts read after the seeds", "relevance found (sum)")


def find_format(path: Path) -> str:
    """Return the format of a picture by the ending of its file: png, svg or pdf; without an ending, png.

    Raises:
        SettingsError: the ending is another one.
    """
    kind = path.suffix.lower().removeprefix(".") or "png"
    if kind not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise SettingsError(
            f"Unknown picture format {path.suffix!r} ({path}). Choose a file name ending in: {endings}."
        )
    return kind


class ScoreCurve(NamedTuple):
    """What is drawn: the cumulative sum of some values.

    Attributes:
        name: what sentences call it.
        values: what each step found.
        title: what stands above.
        axes: the names of x and y.
    """

    name: str
    values: NDArray[np.float64]
    title: str
    axes: tuple[str, str] = RELEVANCE


def draw_png(path: Path, given: ScoreCurve) -> None:
    """Draw a curve into a file; its ending decides the format.

    Args:
        path: the file, see `find_format`.
        given: the curve.

    Raises:
        SettingsError: the ending is not known.
        StoreError: the file cannot be written.
    """

    def plot(axes: Any) -> None:
        curve = np.concatenate([[0.0], np.add.accumulate(given.values)])
        axes.plot(curve, color=BLUE, linewidth=1.8)
        axes.fill_between(np.arange(len(curve)), curve, color=BLUE, alpha=0.10, linewidth=0)
        axes.set(xlabel=given.axes[0], ylabel=given.axes[1], title=given.title)
        axes.set_xlim(0, max(1, len(given.values)))
        axes.set_ylim(bottom=0)
        group_digits(axes)
        axes.grid(alpha=0.25)

    _draw(path, plot)


def draw_days_png(path: Path, counts: TopicCounts, title: str, gaps: Sequence[Span] = ()) -> None:
    """Draw matching posts per day (or span of days) into a file; its ending decides the format.

    Args:
        path: the file, see `find_format`.
        counts: the posts, of one day at least.
        title: what stands above.
        gaps: spans of time that are not complete, Unix seconds.

    Raises:
        SettingsError, StoreError: see `draw_png`.
    """

    def plot(axes: Any) -> None:
        plot_days(axes, counts, BLUE, gaps)
        axes.set_title(title)
        axes.set_axisbelow(True)
        axes.grid(axis="y", alpha=0.25)

    _draw(path, plot)


def plot_days(axes: Any, counts: TopicCounts, colour: str, gaps: Sequence[Span] = ()) -> None:
    """Plot one bar for each day, or for each span of days where there are more than SPANS; hatched where `gaps` are."""
    length, spans = counts.fill_days(SPANS)
    axes.bar(range(len(spans)), [count for _, count in spans], color=colour, width=0.85)
    lacking = [place for place, (day, _) in enumerate(spans) if _overlaps(day, length, gaps)]
    drawn: dict[str, Any] = {"facecolor": "none", "edgecolor": HATCHED, "hatch": "///", "linewidth": 0, "zorder": 0}
    for place in lacking:
        axes.axvspan(place - 0.5, place + 0.5, **drawn)
    if lacking:
        axes.fill_between([], [], **drawn, label="not complete: counted too low")
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.18), frameon=False)
    shown = sorted({0, len(spans) // 2, len(spans) - 1})
    axes.set_xticks(shown, [str(spans[place][0]) for place in shown])
    if len(shown) > 1:  # else the outer ones reach over the ends of the axis
        axes.get_xticklabels()[0].set_horizontalalignment("left")
        axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.set(xlabel="day (UTC)", ylabel=f"matching posts per {name_span(length)}")
    group_digits(axes, named=True)


def _overlaps(day: date, length: int, gaps: Sequence[Span]) -> bool:
    """Return whether some days, from `day` on, are in a gap."""
    begin = datetime.combine(day, time(), UTC).timestamp()
    return any(first < begin + length * 86_400 and begin < end for first, end in gaps)


def name_span(length: int) -> str:
    """Return what a bar stands for: "day", or so many days."""
    return "day" if length == 1 else f"{length:,} days"


def _draw(path: Path, plot: Callable[[Any], None]) -> None:
    kind = find_format(path)
    import matplotlib as mpl  # noqa: PLC0415  (half a second that no other command need pay)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(7, 4), dpi=144, layout="constrained")
        plot(figure.subplots())
        try:
            figure.savefig(path, format=kind)
        except OSError as error:
            raise StoreError(f"The picture {path} cannot be written ({error.strerror}): name another file.") from error


def group_digits(axes: Any, *, named: bool = False) -> None:
    """Let axes write thousands as 1,000, as logarithmic ones do; where x is `named`, only the other one."""
    for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if max(map(abs, ends)) >= THOUSAND and not (named and axis is axes.xaxis):
            axis.set_major_formatter("{x:,.10g}")
