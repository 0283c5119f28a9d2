"""The curve of a report: relevance found against accounts read, as a picture in a file."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError, StoreError

FORMATS = ("png", "svg", "pdf")
THOUSAND = 1000.0  # from here on, numbers on axes are grouped


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
    kind = find_format(path)
    import matplotlib as mpl  # noqa: PLC0415  (half a second that no other command need pay)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(7, 4), dpi=144, layout="constrained")
        axes = figure.subplots()
        curve = np.concatenate([[0.0], np.add.accumulate(given.values)])
        axes.plot(curve, color="#1f5fa8", linewidth=1.8)
        axes.fill_between(np.arange(len(curve)), curve, color="#1f5fa8", alpha=0.10, linewidth=0)
        axes.set(xlabel=given.axes[0], ylabel=given.axes[1], title=given.title)
        axes.set_xlim(0, max(1, len(given.values)))
        axes.set_ylim(bottom=0)
        group_digits(axes)
        axes.grid(alpha=0.25)
        try:
            figure.savefig(path, format=kind)
        except OSError as error:
            raise StoreError(f"The picture {path} cannot be written ({error.strerror}): name another file.") from error


def group_digits(axes: Any, *, named: bool = False) -> None:
    """Let axes write thousands as 1,000, as logarithmic ones do; where x is `named`, only the other one."""
    for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if max(map(abs, ends)) >= THOUSAND and not (named and axis is axes.xaxis):
            axis.set_major_formatter("{x:,.10g}")
