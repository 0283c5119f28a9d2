"""The figures of the paper's experiments, as PNG and SVG: the same bytes for the same numbers."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SocialcrawlError
from socialcrawl.render.score_curve import group_digits
from socialcrawl.text.wording import pluralize

# Any two differ, and from the greys of FIXED, for readers who see no red or no green too.
COLOURS = ("#0015aa", "#bf6a2a", "#00d480", "#d400aa", "#00aaff", "#551540", "#bfbf00", "#004000", "#eaaad4")
FIXED = {"oracle": "#000000", "nothing": "#000000", "random": "#9a9a9a", "bfs": "#555555"}
STYLES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (7, 2, 1, 2)))
RULES: Any = {  # of matplotlib
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "socialcrawl",
    "svg.fonttype": "path",
}
BANDS = 10  # curves whose intervals can be bands; those of more would hide each other, and are bars at some points
MARKS = 6  # of these bars on a curve
WIDTH, HEIGHT = 4.6, 3.1  # of a panel, in inches
CROWDED = (7.0, 5.5)  # sizes of the numbers above bars, in points: the largest at which none touches another, or none
NOTHING = 1e-9  # a bar of less is one of 0, up to the rounding of sums


@dataclass(frozen=True)
class CurveStyle:
    """The colour, line style (of matplotlib) and width in points of a curve, and which of two is above the other."""

    colour: str
    style: Any = "-"
    width: float = 1.5
    above: float = 2.0


@dataclass(frozen=True)
class Curve:
    """A curve over steps: means, and half of their intervals, NaN or 0 where one crawl has none; shape (p,) each.

    Its `look` is chosen by its label where none is given.
    """

    label: str
    x: NDArray[np.int64] | NDArray[np.float64]
    y: NDArray[np.float64]
    error: NDArray[np.float64]
    look: CurveStyle | None = None


@dataclass(frozen=True)
class Panel:
    """Some curves in one frame.

    Attributes:
        title: what it shows.
        axis: what is measured.
        lines: the curves.
        log: whether the steps are on a logarithmic axis.
        level: a value to draw a thin line at, or None.
        along: what the x axis counts.
        ticks: the names of x = 0, 1, ..., where x stands for names; else none.
        steep: whether heights, all above 0, are on a logarithmic axis.
        begin: where the x axis begins; None: at 0, or at 1 or 10 steps where it is logarithmic.
        share: whether heights are shares, so that intervals end at 0 and 1; all of them are in sight then.
    """

    title: str
    axis: str
    lines: Sequence[Curve]
    log: bool = False
    level: float | None = None
    along: str = "steps after the seeds"
    ticks: Sequence[str] = ()
    steep: bool = False
    begin: float | None = None
    share: bool = False


@dataclass(frozen=True)
class Bars:
    """Groups of bars in one frame.

    Attributes:
        title: what it shows.
        axis: what is measured.
        groups: their names.
        series: a name and one height a group, each.
        errors: for each series and group the half of its interval, or NaN; none: nothing has one.
        log: whether heights are on a logarithmic axis.
        form: how heights are written above the bars.
        thin: whether these numbers are made smaller, or else left out, where they touch each other.
    """

    title: str
    axis: str
    groups: Sequence[str]
    series: Sequence[tuple[str, Sequence[float]]]
    errors: Sequence[Sequence[float]] = ()
    log: bool = False
    form: str = ".2g"
    thin: bool = False


def describe_intervals(title: str, number: int, of: str) -> str:
    """Return a title that says what bands and bars are: intervals over how many sets, seeds or webs (`of`)."""
    if number < 2:
        return f"{title}; one {of}, so no intervals"
    return f"{title}; bands and bars: 95\N{NO-BREAK SPACE}% intervals over {pluralize(number, of)}"


def draw(stem: Path, frames: Sequence[Panel | Bars], across: int, title: str, *, even: bool = False) -> list[Path]:
    """Return the files `stem`.png and `stem`.svg, drawn now: `across` frames in a row, one title and legend for all.

    Args:
        stem: the path without its ending.
        frames: row by row.
        across: how many there are in a row.
        title: above all of them.
        even: whether frames of a row have the same heights, so that they can be compared by eye.

    Raises:
        SocialcrawlError: they cannot be written.
    """
    import matplotlib as mpl  # noqa: PLC0415  (half a second that no other command need pay)
    from matplotlib.figure import Figure  # noqa: PLC0415

    across = min(across, len(frames))
    down = -(-len(frames) // across)
    with mpl.rc_context(RULES):
        figure = Figure(figsize=(WIDTH * across + 1.7, HEIGHT * down), layout="constrained")
        places = figure.subplots(down, across, squeeze=False).ravel()
        looks = _choose_styles(frames)
        for place, frame in zip(places, frames, strict=False):
            if isinstance(frame, Bars):
                _draw_bars(place, frame, looks)
            else:
                _draw_curves(place, frame, looks)
        for start in range(0, len(frames), across) if even else ():
            _equalize_heights(places[start : min(start + across, len(frames))].tolist())
        for place, frame in zip(places, frames, strict=False):
            group_digits(place, named=isinstance(frame, Bars) or bool(frame.ticks))
        for place in places[len(frames) :]:
            place.set_axis_off()
        shown: dict[str, Any] = {}
        for place in places:
            for handle, label in zip(*place.get_legend_handles_labels(), strict=True):
                shown.setdefault(label, handle)
        handles, labels = list(shown.values()), list(shown)
        legend = figure.legend(handles, labels, loc="outside right upper", frameon=False, handlelength=3.2)
        _write_head(figure, title, legend)
        _thin_numbers(
            figure, [at for at, one in zip(places, frames, strict=False) if isinstance(one, Bars) and one.thin]
        )
        return [_save(figure, stem.with_suffix(f".{kind}"), kind) for kind in ("png", "svg")]


def _write_head(figure: Any, title: str, legend: Any) -> None:
    """Write the title above the frames, and break it and theirs into lines that run into nothing else."""
    heading = figure.suptitle(title, x=0.01, ha="left", fontsize="large") if title else None
    figure.draw_without_rendering()
    for axes in figure.axes:
        _break_lines(axes.title, axes.get_window_extent().width)
    if heading is not None:
        _break_lines(heading, legend.get_window_extent().x0 - 0.02 * figure.bbox.width)


def _break_lines(text: Any, width: float) -> None:
    """Break a text into lines of at most `width` pixels; a word is not broken."""
    wide = text.get_window_extent().width
    if wide > width:
        text.set_text(textwrap.fill(text.get_text(), max(1, int(0.95 * len(text.get_text()) * width / wide))))


def _save(figure: Any, path: Path, kind: str) -> Path:
    nameless = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format=kind, dpi=110, metadata=nameless)
    except OSError as error:
        raise SocialcrawlError(f"{path} cannot be written: {error}. Free space or name another folder.") from error
    return path


def _draw_curves(axes: Any, panel: Panel, looks: dict[str, CurveStyle]) -> None:
    if panel.level is not None:
        axes.axhline(panel.level, color="#000000", linewidth=0.7)
    for number, line in enumerate(panel.lines):
        look = looks[line.label]
        drawn = {"color": look.colour, "linestyle": look.style, "linewidth": look.width, "zorder": look.above}
        axes.plot(line.x, line.y, label=line.label, **drawn)
        if len(panel.lines) <= BANDS:
            axes.fill_between(line.x, *_compute_band(panel, line), color=look.colour, alpha=0.15, linewidth=0)
        else:
            at = _choose_marks(line, number / len(panel.lines))
            axes.vlines(line.x[at], *(end[at] for end in _compute_band(panel, line)), color=look.colour, linewidth=0.8)
    last = max(math.ceil(line.x[-1]) for line in panel.lines)
    axes.set(title=panel.title, xlabel=panel.along, ylabel=panel.axis)
    if panel.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.10g}")
    first = ((10 if last > 100 else 1) if panel.log else 0) if panel.begin is None else panel.begin
    axes.set_xlim(first, max(last, first + 1))
    if panel.ticks:
        axes.set_xticks(range(len(panel.ticks)), panel.ticks)
    _fit_heights(axes, panel)
    axes.grid(alpha=0.25)


def _choose_marks(line: Curve, shift: float) -> NDArray[np.int64]:
    """Return the places of a curve at which its interval is drawn; `shift`, from 0 to 1, sets curves apart."""
    places = (np.arange(MARKS) + shift) * len(line.x) / MARKS
    return np.unique(places.astype(np.int64))


def _compute_band(panel: Panel, line: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and the upper end of a curve's intervals."""
    low, high = line.y - line.error, line.y + line.error
    return (np.clip(low, 0, 1), np.clip(high, 0, 1)) if panel.share else (low, high)


def _fit_heights(axes: Any, panel: Panel) -> None:
    """Choose heights that show what is in sight: the first ten steps, when left out, must not flatten the rest."""
    low, _ = axes.get_xlim()
    seen = _join_known([line.y[line.x >= low] for line in panel.lines])
    ends = _join_known([end[line.x >= low] for line in panel.lines for end in _compute_band(panel, line)])
    if panel.share:
        seen = np.concatenate([seen, ends])
    elif len(seen):  # intervals that reach far must not flatten the curves
        seen = np.concatenate([seen, np.clip(ends, seen.min() - np.ptp(seen), seen.max() + np.ptp(seen))])
    if panel.level is not None:
        seen = np.append(seen, panel.level)
    if len(seen) and panel.steep:
        axes.set_yscale("log", subs=())
        axes.yaxis.get_major_locator().set_params(subs=(1, 2, 5))
        axes.yaxis.set_major_formatter("{x:,.10g}")
        axes.set_ylim(float(seen[seen > 0].min()) / 1.2, float(seen.max()) * 1.2)
    elif len(seen):
        room = 0.05 * max(float(np.ptp(seen)), 1e-9)
        axes.set_ylim(float(seen.min()) - room, float(seen.max()) + room)


def _join_known(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    joined = np.concatenate(parts)
    return joined[np.isfinite(joined)]


def _equalize_heights(row: Sequence[Any]) -> None:
    """Give all frames of a row the same heights: what is lower looks lower."""
    low, high = zip(*(axes.get_ylim() for axes in row), strict=True)
    for axes in row:
        axes.set_ylim(min(low), max(high))


def _draw_bars(axes: Any, bars: Bars, looks: dict[str, CurveStyle]) -> None:
    width = 0.8 / len(bars.series)
    places = np.arange(len(bars.groups))
    for number, (label, heights) in enumerate(bars.series):
        at = places + (number - (len(bars.series) - 1) / 2) * width
        error = {"yerr": bars.errors[number], "error_kw": {"elinewidth": 0.9, "capsize": 1.5}} if bars.errors else {}
        drawn = axes.bar(at, heights, width, color=looks[label].colour, label=label, **error)
        written = [format(0 if abs(height) < NOTHING else height, bars.form) for height in heights]
        axes.bar_label(drawn, written, fontsize=CROWDED[0], padding=2)
    axes.set_xticks(places, bars.groups)
    axes.set(title=bars.title, ylabel=bars.axis)
    axes.axhline(0, color="#000000", linewidth=0.7)
    if bars.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:,.10g}")
    axes.margins(y=0.15)
    axes.grid(axis="y", alpha=0.25)


def _thin_numbers(figure: Any, places: Sequence[Any]) -> None:
    """Make the numbers above bars smaller where two touch each other, and leave them out where that is not enough."""
    crowded = list(places)
    for size in CROWDED:
        if crowded:
            for text in (text for axes in crowded for text in axes.texts):
                text.set_fontsize(size)
            figure.draw_without_rendering()
            crowded = [axes for axes in crowded if _do_touch(axes)]
    for text in (text for axes in crowded for text in axes.texts):
        text.set_visible(False)


def _do_touch(axes: Any) -> bool:
    boxes = [text.get_window_extent() for text in axes.texts]
    return any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])


def _choose_styles(frames: Sequence[Panel | Bars]) -> dict[str, CurveStyle]:
    """Return a style for each label: its own, or one colour for kin (nh-n-sum and nh-n-max, q=0.5 with any zeta)."""
    labels: dict[str, None] = {}
    for frame in frames:
        named = [name for name, _ in frame.series] if isinstance(frame, Bars) else [line.label for line in frame.lines]
        labels.update(dict.fromkeys(named))
    keys = {label: _find_kin(label) for label in labels}
    families = [family for family in dict.fromkeys(family for family, _ in keys.values()) if family not in FIXED]
    members = list(dict.fromkeys(member for _, member in keys.values()))
    colours = FIXED | {family: COLOURS[i % len(COLOURS)] for i, family in enumerate(families)}
    extra = {family: i // len(COLOURS) for i, family in enumerate(families)}
    looks = {
        label: CurveStyle(colours[family], STYLES[(members.index(member) + extra.get(family, 0)) % len(STYLES)])
        for label, (family, member) in keys.items()
    }
    lines = [line for frame in frames if isinstance(frame, Panel) for line in frame.lines]
    return looks | {line.label: line.look for line in lines if line.look is not None}


def _find_kin(label: str) -> tuple[str, str]:
    words = label.split()
    if len(words) > 1:
        return (words[0], words[-1]) if "=" in words[0] else (" ".join(words[1:]), "")
    stem, _, h = label.rpartition("-")
    return (stem, h) if h in ("sum", "avg", "max") else (label, "sum")
