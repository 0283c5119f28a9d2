"""The frames of `socialcrawl lab liverank`: a rank has one colour in all figures, a training set its line style."""

from collections.abc import Sequence
from itertools import chain

from socialcrawl.crawls.refresh.liveranks import TRAININGS as KINDS
from socialcrawl.lab.experiments.figures import COLOURS, FIXED, STYLES, Bars, Curve, CurveStyle, Panel
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Floats
from socialcrawl.lab.experiments.liverank.probe_orders import LETTERS, Frame, Way
from socialcrawl.lab.experiments.seed_means import average_for_figure, list_variants, select_variant
from socialcrawl.lab.result_tables import Table, list_rows

RANKS = dict(zip(LETTERS, (FIXED["random"], *COLOURS), strict=False))
TRAININGS = dict(zip(KINDS, (COLOURS[1], COLOURS[0], COLOURS[2]), strict=True))
SIZES = (COLOURS[3], COLOURS[4], COLOURS[5], COLOURS[7])  # of training sets that are not the usual one
DASHED = {"indegree": STYLES[1], "pagerank": STYLES[2]}  # orders that lie on the others for most of their way
WHOSE = {  # curves of distributions
    "active": CurveStyle(COLOURS[0]),
    "not active": CurveStyle(COLOURS[1], STYLES[1]),
    "all": CurveStyle(FIXED["random"], STYLES[2]),
}
WIDTH = 1.3
NARROW = 5.0  # the largest cost that is read well from an axis which is not logarithmic


def draw_statuses(world: DatasetWorld) -> Bars:
    """Return a frame of the share of a world's nodes that has each status, in per cent as it is told."""
    counted = list_rows(world.count_statuses())[:-1]
    groups = [row["status"].replace(" ", "\n") for row in counted]
    heights = [100 * row["share"] for row in counted]
    return Bars(world.name, "% of all nodes", groups, [("all nodes", heights)], form=".3g", thin=True)


def draw_costs(found: Table, frames: Sequence[Frame]) -> list[Panel]:
    """Return a panel of cost curves for each graph and frame, from all curves of a figure (see `cost_curves`)."""
    ways = list(chain.from_iterable(frame.ways for frame in frames))
    many = len(list_variants(found, ("graph",))) > 1
    panels = []
    for graph, title in list_variants(found, ("graph", "frame")):
        here = select_variant(found, ("graph", "frame"), (graph, title))
        own = next(frame for frame in frames if frame.title == title).ways  # in the order of the curves
        lines = [
            Curve(_shorten_label(label, way, ways, many=many), *_find_points(here, label), _choose_style(way, ways))
            for (label,), way in zip(list_variants(here, ("way",)), own, strict=False)  # sizes above n are one curve
        ]
        panels.append(_make_panel(f"{graph}: {title}", lines))
    return panels


def _make_panel(title: str, lines: Sequence[Curve]) -> Panel:
    steep = max(float(line.y.max()) for line in lines) > NARROW
    along = "share of the active nodes found"
    return Panel(title, "tests for each active node found", lines, along=along, level=1.0, steep=steep)


def _find_points(here: Table, label: str) -> tuple[Floats, Floats, Floats]:
    return average_for_figure(select_variant(here, ("way",), (label,)), "alpha", "cost")


def _shorten_label(label: str, way: Way, ways: Sequence[Way], *, many: bool) -> str:
    """Return what the legend calls a way: the same in all frames, and in the frames of many graphs."""
    if way.by == "z" and many:
        return f"{way.times:g} z"  # z is another number in each
    shown = f"{LETTERS[way.rank]}:{way.training}" if _compares_both(ways) else label
    return shown.replace("/-", "/\N{MINUS SIGN}")  # a hyphen at the edge looks like a letter that is cut


def _compares_both(ways: Sequence[Way]) -> bool:
    """Return whether a figure compares ranks and training sets at once."""
    return any(way.by == "both" for way in ways)


def _choose_style(way: Way, ways: Sequence[Way]) -> CurveStyle:
    """Return what a way looks like beside the others of its figure: the same way is the same in all frames."""
    if way.times != 1:
        number = sorted({one.times for one in ways} - {1}).index(way.times)
        return _place_style(SIZES[number], STYLES[number])
    if way.by in ("z", "training"):
        return _place_style(TRAININGS[way.training], "-" if way.neighbours else STYLES[1])
    if _compares_both(ways):
        kinds = list(dict.fromkeys(one.training for one in ways))
        return _place_style(RANKS[way.rank], STYLES[kinds.index(way.training)])
    return _place_style(RANKS[way.rank], DASHED.get(way.rank, "-"))


def _place_style(colour: str, style: object) -> CurveStyle:
    """Draw broken lines above others, so that both are seen where they are the same."""
    return CurveStyle(colour, style, WIDTH, 2.0 if style == "-" else 2.1)
