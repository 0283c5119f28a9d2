"""Pictures of the laboratories: what can be told apart, what is written above bars, where bands end."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from socialcrawl.lab.experiments import figures, runner
from socialcrawl.lab.experiments.figures import CROWDED, Bars, Curve, Panel
from socialcrawl.lab.experiments.liverank import frames as liverank_figures
from socialcrawl.lab.experiments.liverank import runs as liverank_runs
from socialcrawl.lab.experiments.liverank.probe_orders import FRAMES
from socialcrawl.lab.experiments.liverank.weblike import DeathModel, WebParameters, generate_web, plant_death
from socialcrawl.lab.experiments.sampling import figure_runs
from socialcrawl.lab.experiments.sampling import runs as sampling_runs
from socialcrawl.lab.experiments.sampling.measured import Quantity
from socialcrawl.lab.result_tables import join_tables

DIFFERENT = 15.0  # how far colours lie apart in CIELAB, for each kind of sight: lines of 1.3 points are told apart
SIGHTS = {  # what is seen of linear RGB: Machado, Oliveira and Fernandes (2009), severity 1
    "all": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
PER_CENT = np.arange(1, 101) / 100


@pytest.fixture
def drawn_as(monkeypatch, tmp_path):
    """The figure of some frames under a title, as it is saved first."""

    def draw(frames, across, title):
        saved = []
        monkeypatch.setattr(figures, "_save", lambda figure, path, _kind: saved.append(figure) or path)
        figures.draw(tmp_path / "x", frames, across, title)
        return saved[0]

    return draw


@pytest.fixture
def drawn(drawn_as):
    """The figure of some frames, as it is saved first."""
    return lambda frames, across=2: drawn_as(frames, across, "title")


def curves(name, top=16.0, graphs=("web",), n=1000):
    """All curves of a figure of LiveRanks, from 1 to `top`."""
    parts = []
    for number, graph in enumerate(graphs):
        for frame in FRAMES[name]:
            for way in frame.ways:
                z = frame.count_training((number + 1) * n, way, 100 * (number + 1))
                named = {"graph": graph, "frame": frame.title, "way": way.label(z), "z": z, "seed": 1}
                cells = {key: np.full(len(PER_CENT), value) for key, value in named.items()}
                parts.append(cells | {"alpha": PER_CENT, "cost": top**PER_CENT})
    return join_tables(parts)


def looks(axes):
    """Colour and line style by label, of the curves that have one."""
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    return {line.get_label(): (to_hex(line.get_color()), str(line._unscaled_dash_pattern)) for line in lines}


@pytest.mark.parametrize("name", ["fig6", "fig11"])
def test_a_rank_has_one_colour_in_both_panels_and_a_training_set_one_line_style(drawn, name):
    left, right = map(looks, drawn(liverank_figures.draw_costs(curves(name), FRAMES[name])).axes)
    assert len(left) == 3
    assert left.items() <= right.items()
    assert len(right) == 7
    for place in (0, 1):  # colours by rank, styles by training set
        by = {}
        for label, look in right.items():
            by.setdefault(label.split(":")[place], set()).add(look[place])
        assert all(len(own) == 1 for own in by.values())
        assert len(set.union(*by.values())) == len(by) == 3


@pytest.mark.parametrize("name", ["fig5", "fig10"])
def test_sizes_and_kinds_of_training_sets_can_be_told_apart_and_the_usual_one_is_the_same(drawn, name):
    figure = drawn(liverank_figures.draw_costs(curves(name), FRAMES[name]))
    left, right = map(looks, figure.axes)
    assert len(set(left.values())) == len(left) == 4
    assert len(set(right.values())) == len(right) == 5
    usual = "z=100"
    assert {label for label, look in left.items() if look in right.values()} == ({usual} if usual in left else set())
    assert right["pagerank"][0] == right["pagerank-apart"][0] != right["indegree"][0]


@pytest.mark.parametrize("name", sorted(FRAMES))
def test_curves_of_a_frame_differ_in_look_whatever_the_number_of_graphs(drawn, name):
    frames = liverank_figures.draw_costs(curves(name, graphs=("one", "two")), FRAMES[name])
    for axes in drawn(frames, len(FRAMES[name])).axes:
        assert len(set(looks(axes).values())) == len(looks(axes)) > 2


def test_a_rank_keeps_its_colour_from_figure_to_figure(drawn):
    seen = {}
    for name in ("fig4", "fig6", "fig8", "fig9", "fig11", "dpr"):
        for axes in drawn(liverank_figures.draw_costs(curves(name), FRAMES[name])).axes:
            for label, (colour, _) in looks(axes).items():
                seen.setdefault(label.split(":")[0], set()).add(colour)
    assert len(seen) == 9
    assert all(len(own) == 1 for own in seen.values())
    assert len(set.union(*seen.values())) == 9


@pytest.mark.parametrize(("top", "scale"), [(16.0, "log"), (2.8, "linear")])
def test_the_axis_of_costs_is_logarithmic_where_they_reach_far(drawn, top, scale):
    axes = drawn(liverank_figures.draw_costs(curves("fig4", top), FRAMES["fig4"])).axes[0]
    assert axes.get_yscale() == scale
    assert axes.get_ylim()[0] < 1 < top < axes.get_ylim()[1]


@pytest.mark.parametrize("name", ["fig5", "fig6", "fig9"])
def test_no_word_of_the_legend_is_cut(drawn, name):
    figure = drawn(liverank_figures.draw_costs(curves(name), FRAMES[name]))
    figure.draw_without_rendering()
    right = max(text.get_window_extent().x1 for text in figure.legends[0].get_texts())
    assert right < figure.bbox.x1 - 2
    assert not any(text.get_text().endswith("/-") for text in figure.legends[0].get_texts())


def test_table_1_has_its_statuses_below_the_bars_and_reads_in_per_cent(drawn):
    world = plant_death("net", generate_web(WebParameters(pages=1000, degree=4, a_site=30)), DeathModel(0.2))
    axes = drawn([liverank_figures.draw_statuses(world)]).axes[0]
    shares = np.bincount(world.status, minlength=len(world.words)) / world.size
    assert [tick.get_text().replace("\n", " ") for tick in axes.get_xticklabels()] == list(world.words)
    assert [float(text.get_text()) for text in axes.texts] == pytest.approx(100 * shares, abs=0.051)
    assert axes.texts[-1].get_text() == "20"
    assert axes.get_ylabel() == "% of all nodes"


def test_bands_of_shares_end_at_0_and_1_and_are_all_in_sight(drawn):
    x = np.arange(4.0)
    line = Curve("a", x, np.array([0.0, 0.5, 0.7, 1.0]), np.array([0.1, 0.2, 0.2, 0.3]))
    for share, ends in ((True, (0.0, 1.0)), (False, (-0.1, 1.3))):
        axes = drawn([Panel("t", "y", [line], share=share)]).axes[0]
        heights = axes.collections[0].get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == pytest.approx(ends)
    axes = drawn([Panel("t", "y", [Curve("a", x, 0 * x + 0.2, 0 * x + 0.15)], share=True)]).axes[0]
    assert axes.get_ylim()[0] < 0.05
    assert axes.get_ylim()[1] > 0.35


def test_what_is_0_but_for_rounding_is_called_0(drawn):
    heights = [1.2e-15, -8e-16, 0.0, 2e-9, 0.0061, 0.208]
    texts = drawn([Bars("t", "y", list("abcdef"), [("one", heights)])]).axes[0].texts
    assert [text.get_text() for text in texts] == ["0", "0", "0", "2e-09", "0.0061", "0.21"]


@pytest.mark.parametrize(
    ("groups", "series", "seen", "size"), [(3, 2, True, CROWDED[0]), (5, 4, True, CROWDED[1]), (9, 5, False, None)]
)
def test_numbers_above_bars_are_smaller_where_they_touch_and_left_out_where_they_still_do(
    drawn, groups, series, seen, size
):
    bars = Bars(
        "t", "y", [str(n) for n in range(groups)], [(f"s{n}", [0.48] * groups) for n in range(series)], thin=True
    )
    figure = drawn([bars])
    figure.draw_without_rendering()
    texts = figure.axes[0].texts
    assert len(texts) == groups * series
    assert {text.get_visible() for text in texts} == {seen}
    assert size is None or {text.get_fontsize() for text in texts} == {size}
    boxes = [text.get_window_extent() for text in texts if text.get_visible()]
    assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])


def test_bands_of_samples_end_at_0_and_their_numbers_do_not_touch():
    x = np.arange(4)
    lines = [Curve(f"way {n}", x, x / 10.0, 0 * x + 0.05) for n in range(4)]
    degrees, domains = (Quantity(name, list("abcd"), x) for name in ("degrees", "domains"))
    assert figure_runs._make_frame("t", degrees, lines, "share", "").share
    assert figure_runs._make_frame("t", domains, lines, "share", "").thin


def test_all_intervals_of_an_audit_are_100_per_cent(drawn):
    alike = {"question": "held", "method": "hard", "runs": 200, "shown": 100}
    rows = [{**alike, "inside": inside} for inside in (100, 97)]
    texts = drawn([sampling_runs._draw_coverage("t", [rows[0]]), sampling_runs._draw_coverage("t", [rows[1]])]).axes
    assert [axes.texts[0].get_text() for axes in texts] == ["100", "97"]


def lab(colours, sight):
    """CIELAB of colours as somebody sees them, float64[n, 3]."""
    rgb = np.array([to_rgb(colour) for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ SIGHTS[sight].T, 0, 1)
    xyz = seen @ np.array([[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]])
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_can_be_told_apart_by_readers_who_see_no_red_or_no_green(sight):
    colours = [*figures.COLOURS, *dict.fromkeys(figures.FIXED.values())]
    points = lab(colours, sight)
    near = [
        (one, other)
        for i, one in enumerate(colours)
        for j, other in enumerate(colours[:i])
        if np.linalg.norm(points[i] - points[j]) < DIFFERENT
    ]
    assert not near


def titled(title, labels, frames=1):
    lines = [Curve(label, np.arange(5), np.arange(5.0), np.full(5, 0.1)) for label in labels]
    return [Panel(title, "y", lines) for _ in range(frames)]


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_titles_run_into_no_legend_no_other_frame_and_not_off_the_page(drawn_as, frames):
    long = "altered greedy against greedy, by the oracle, and what else a title may tell of a figure with one frame"
    figure = drawn_as(titled(long, ["q=0.95 zeta=0.5, a long label", "bfs"], frames), frames, long)
    figure.draw_without_rendering()
    page, legend = figure.bbox, figure.legends[0].get_window_extent()
    texts = [figure._suptitle, *(axes.title for axes in figure.axes)]
    boxes = [text.get_window_extent() for text in texts]
    assert all(page.x0 <= box.x0 < box.x1 <= page.x1 and page.y0 <= box.y0 < box.y1 <= page.y1 for box in boxes)
    for n, box in enumerate(boxes):
        assert not box.overlaps(legend)
        assert not any(box.overlaps(other) for other in boxes[:n])
    assert all(" ".join(text.get_text().split()) == long for text in texts), "no word is lost"


def heights(drawn_):
    """The lowest and the highest point of each part of what is drawn."""
    for path in drawn_.get_paths():
        yield path.vertices[:, 1].min(), path.vertices[:, 1].max()


@pytest.mark.parametrize("many", [3, 16])
def test_every_curve_shows_its_intervals_however_many_there_are(drawn, many):
    x = np.arange(1, 41)
    lines = [Curve(f"way-{n}", x, x * 0 + float(n), np.full(40, 0.25)) for n in range(many)]
    axes = drawn([Panel("t", "y", lines)]).axes[0]
    shown = {(round(low, 6), round(high, 6)) for one in axes.collections for low, high in heights(one) if low < high}
    assert sorted(shown) == [(n - 0.25, n + 0.25) for n in range(many)]


def test_curves_of_one_crawl_have_no_interval(drawn):
    x = np.arange(9.0)
    for many in (2, 16):
        lines = [Curve(f"way-{n}", x, x + n, np.full(9, np.nan)) for n in range(many)]
        axes = drawn([Panel("t", "y", lines)]).axes[0]
        assert np.isfinite(axes.get_ylim()).all()
        assert not [ends for one in axes.collections for ends in heights(one) if np.isfinite(ends).all()]


def test_bars_show_the_intervals_that_the_data_have(drawn):
    bars = Bars("t", "y", ["a", "b"], [("one", [0.4, 0.5]), ("truth", [0.45, 0.5])], [[0.1, np.nan], [np.nan, np.nan]])
    axes = drawn([bars]).axes[0]
    ends = [segment[:, 1] for one in axes.collections for segment in one.get_segments() if len(segment)]
    assert [sorted(end) for end in ends if np.isfinite(end).all()] == [pytest.approx([0.3, 0.5])]


def numbers(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def test_thousands_are_written_alike_on_every_axis(drawn):
    """Logarithmic or not, of curves, bars and shares."""
    x = np.arange(1.0, 3001.0)
    line = Curve("a", x, x * 400, np.zeros(3000))
    frames = [
        Panel("straight", "y", [line]),
        Panel("log", "y", [line], log=True),
        Panel("steep", "y", [line], steep=True),
        Bars("bars", "y", ["1"], [("a", [12_000.0])]),
        Bars("log bars", "y", ["1"], [("a", [12_000.0])], log=True),
        Panel("share", "y", [Curve("a", x / 3000, x / 3000, np.zeros(3000))]),
    ]
    figure = drawn(frames, 3)
    figure.draw_without_rendering()
    straight, log, steep, bars, high, share = figure.axes
    assert {"1,000", "2,000", "3,000"} <= set(numbers(straight.xaxis))
    assert {"200,000", "1,000,000"} <= set(numbers(straight.yaxis))
    assert {"10", "100", "1,000"} <= set(numbers(log.xaxis))
    assert {"1,000", "1,000,000"} <= set(numbers(steep.yaxis))
    assert {"2,000", "10,000"} <= set(numbers(bars.yaxis))
    assert "10,000" in numbers(high.yaxis)
    assert {"0.2", "1.0"} <= set(numbers(share.yaxis))
    shown = [text for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for text in numbers(axis)]
    assert not [text for text in shown if re.search(r"\d{4}", text)]


def test_far_intervals_do_not_flatten_curves(drawn):
    x = np.arange(9.0)
    low, high = drawn([Panel("t", "y", [Curve("a", x, x, np.full(9, 500.0))])]).axes[0].get_ylim()
    assert -10 < low < -8
    assert 16 < high < 18


def test_active_nodes_and_others_differ_in_look(drawn, tmp_path, monkeypatch):
    world = plant_death("net", generate_web(WebParameters(pages=600, degree=4, a_site=30)), DeathModel(0.2))
    frames = []
    monkeypatch.setattr(runner, "draw", lambda stem, given, *_, **__: frames.extend(given) or [])
    liverank_runs._run_distributions("fig2", [world], runner.ExperimentRun(tmp_path))
    seen = looks(drawn(frames).axes[0])
    colours, styles = (set(part) for part in zip(*seen.values(), strict=True))
    assert len(colours) == len(styles) == len(seen) == 3
