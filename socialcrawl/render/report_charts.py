"""The charts of a report as SVG for its page: they follow its light or dark colours, and say what they show."""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from itertools import cycle
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from socialcrawl.render.block_charts import choose_points
from socialcrawl.render.network_layout import compute_layout
from socialcrawl.render.score_curve import SPANS, ScoreCurve, Span, group_digits, name_span, plot_days
from socialcrawl.storage.queries.top_network import TopNetwork
from socialcrawl.storage.queries.topic_counts import TopicCounts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 300  # of a curve that are drawn
LABELLED = 10  # nodes that have a number in the picture
WIDE = 330.0  # points from one side of a network to the other, about
# Colours that stand for those of the page; Okabe and Ito's palette, which colour-blind readers can tell apart.
INK, FAINT, FIRST, SECOND, THIRD, EDGE = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
LEVELS = ("#070707", "#080808", "#090909", "#0a0a0a")  # lowest relevance first
VARIABLES = {
    INK: "--ink", FAINT: "--faint", FIRST: "--first", SECOND: "--second", THIRD: "--third", EDGE: "--edge",
    **{colour: f"--level-{number}" for number, colour in enumerate(LEVELS, 1)},
}  # fmt: skip
STYLES = ((SECOND, (5, 2)), (THIRD, (1.5, 1.5)))  # colours and dashes of baselines
SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "socialcrawl", "font.family": "sans-serif", "font.size": 10,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": INK, "axes.labelcolor": INK,
    "text.color": INK, "xtick.color": INK, "ytick.color": INK, "grid.color": FAINT, "legend.frameon": False,
}  # fmt: skip


def draw_days(counts: TopicCounts, gaps: Sequence[Span] = ()) -> ET.Element:
    """Return a bar chart of the matching posts of accounts read per day, or per span of days; hatched in `gaps`."""
    length, spans = counts.fill_days(SPANS)
    each, most = name_span(length), max(count for _, count in spans)

    def plot(axes: "Axes") -> None:
        plot_days(axes, counts, FIRST, gaps)

    first, last = spans[0][0], counts.days[-1][0]
    said = f"Bar chart: matching posts{counts.source} per {each} from {first} to {last} (UTC), at most {most:,}."
    said += " Days that are not complete are hatched." if gaps else ""
    return draw_chart("days", "Matching posts over time", said, plot)


def draw_curves(curve: ScoreCurve, baselines: Mapping[str, NDArray[np.float64]]) -> ET.Element:
    """Return a line chart of what a campaign found, and of what baselines would have found."""
    own = np.add.accumulate(curve.values)
    places = np.array(choose_points(len(own), POINTS))
    x, y = curve.axes

    def plot(axes: "Axes") -> None:
        axes.plot([0, *places], [0.0, *own[places - 1]], color=FIRST, linewidth=2, label="this campaign")
        for (name, values), (colour, dashes) in zip(baselines.items(), cycle(STYLES), strict=False):
            shown = [0.0, *np.asarray(values)[places - 1]]
            axes.plot([0, *places], shown, color=colour, linewidth=1.6, dashes=dashes, label=name)
        axes.set(xlabel=x, ylabel=y)
        axes.set_xlim(0, len(own))
        axes.set_ylim(bottom=0)
        axes.grid(linewidth=0.5)
        if baselines:
            axes.legend(loc="upper left")
        group_digits(axes)

    ends = [f"{name} {values[-1]:,.1f}" for name, values in (("this campaign", own), *baselines.items())]
    said = f"Line chart: {y} against {x}, from 0 to {len(own):,}. At the end: {', '.join(ends)}."
    return draw_chart("curve", curve.name.capitalize(), said, plot)


def draw_network(network: TopNetwork) -> ET.Element:
    """Return a picture of who mentions whom, coloured by relevance."""
    nodes = network.nodes
    source, target = (np.array([edge[end] for edge in network.edges], np.int64) for end in (0, 1))
    at = compute_layout(len(nodes), source, target)
    values = np.array([node.value for node in nodes])
    bounds = choose_bounds(values)
    level = np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, len(bounds) - 2)
    colours = LEVELS[len(LEVELS) + 1 - len(bounds) :]
    seed = np.array([node.is_seed for node in nodes])

    def plot(axes: "Axes") -> None:
        from matplotlib.collections import LineCollection  # noqa: PLC0415

        lines = [at[[a, b]] for a, b, _ in network.edges]
        axes.add_collection(LineCollection(lines, colors=EDGE, linewidths=0.4, zorder=1))
        for marker, which, what in (("o", ~seed, "discovered"), ("s", seed, "seed")):
            axes.scatter([], [], marker=marker, facecolors="none", edgecolors=INK, label=what)
            for number, colour in enumerate(colours):
                here = which & (level == number)
                x, y = at[here].T
                axes.scatter(
                    x, y, s=22 + 16 * number, color=colour, edgecolors=INK, linewidths=0.6, zorder=2, marker=marker
                )
        for number, colour in enumerate(colours):
            label = f"relevance {bounds[number]:.1f} to {bounds[number + 1]:.1f}"
            axes.scatter([], [], s=22 + 16 * number, color=colour, edgecolors=INK, linewidths=0.6, label=label)
        for number, (spot, offset) in enumerate(zip(at, place_labels(at, LABELLED), strict=False), 1):
            axes.annotate(
                str(number), spot, offset, textcoords="offset points", ha="center", va="center", fontsize=9, zorder=3
            )
        axes.set_axis_off()
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, fontsize=9)

    said = (
        f"Network of {len(nodes):,} accounts ({int(seed.sum()):,} seeds, drawn as squares) and {len(network.edges):,} "
        f"ordered pairs of who mentions whom, coloured by relevance from {values.min():.1f} to {values.max():.1f}. "
        f"Numbers 1 to {min(LABELLED, len(nodes))} are the places in the table."
    )
    return draw_chart("network", "Mention network", said, plot, (5.2, 5.6))


def choose_bounds(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bounds of at most as many classes as there are LEVELS, at tenths, so that each value is in one."""
    low, high = np.floor(values.min() * 10), np.ceil(values.max() * 10)
    tenths = np.unique(np.round(np.linspace(low, max(high, low + 1), len(LEVELS) + 1)))
    return np.asarray(tenths / 10)


def place_labels(at: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return where the labels of the first `count` nodes stand, float64[min(count, n), 2], in points from their nodes.

    Each goes where it is farthest from other nodes and from the labels before it, of eight places around its node.
    """
    points = at * (WIDE / max(1e-9, float(np.ptp(at, axis=0).max())))
    turns = np.arange(8) * np.pi / 4 + np.pi / 4  # the upper right one first
    around = 11.0 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    taken, offsets = points, []
    for number in range(min(count, len(at))):
        others = np.delete(taken, number, axis=0)
        spots = points[number] + around
        gaps = np.sqrt(((spots[:, None] - others[None]) ** 2).sum(axis=2))
        best = int(np.argmax(gaps.min(axis=1))) if len(others) else 0
        offsets.append(around[best])
        taken = np.concatenate([taken, spots[best : best + 1]])
    return np.array(offsets).reshape(-1, 2)


def draw_chart(
    name: str, title: str, said: str, plot: "Callable[[Axes], None]", size: tuple[float, float] = (5.2, 3.0)
) -> ET.Element:
    """Return a picture as SVG, which follows the colours of the page.

    Args:
        name: begins its ids.
        title: its title, for those who do not see it.
        said: what it shows, likewise.
        plot: draws it, in the colours of this module.
        size: width and height in inches.
    """
    import matplotlib as mpl  # noqa: PLC0415  (half a second that no other command need pay)
    from matplotlib.figure import Figure  # noqa: PLC0415

    buffer = BytesIO()
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        plot(figure.subplots())
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    made = ET.fromstring(buffer.getvalue())  # noqa: S314  (our own picture)
    for child in [one for one in made if one.tag in (f"{SVG}metadata", f"{SVG}defs")]:
        if child.tag == f"{SVG}metadata" or child.find(f"{SVG}style") is not None:
            made.remove(child)
    for one in made.iter():
        one.tag = one.tag.removeprefix(SVG)
        one.attrib = dict(_adapt_attribute(name, *pair) for pair in one.attrib.items())
    made.attrib = {
        "viewBox": made.attrib["viewBox"], "role": "img", "aria-labelledby": f"{name}-title {name}-description",
    }  # fmt: skip
    for place, (tag, text) in enumerate((("title", title), ("desc", said))):
        child = ET.Element(tag, id=f"{name}-{'title' if tag == 'title' else 'description'}")
        child.text = text
        made.insert(place, child)
    return made


def _adapt_attribute(name: str, key: str, value: str) -> tuple[str, str]:
    """Return an attribute without name spaces, with ids of its own and the colours and letters of the page."""
    key = key.removeprefix(XLINK)
    if key == "id":
        return key, f"{name}-{value}"
    if key == "href":
        return key, f"#{name}-{value.removeprefix('#')}"
    value = value.replace("url(#", f"url(#{name}-")
    for colour, variable in VARIABLES.items():
        value = value.replace(colour, f"var({variable})")
    if key == "style" and "font:" in value:
        size = value.split("font:")[1].split("px")[0].strip()
        rest = [part for part in value.split(";") if "font:" not in part]
        value = ";".join([f"font-size: {size}px", *rest])
    return key, value
