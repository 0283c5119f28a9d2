"""The leaderboard as one HTML page that explains itself, and needs no script, no network and no other file."""

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from socialcrawl import __version__
from socialcrawl.lab.experiments.steering.board import Leaderboard, format_number, format_ratio
from socialcrawl.lab.experiments.steering.standings import ENOUGH, FIRST, MEASURES, Standing
from socialcrawl.render.html_elements import Child, make_details, make_element, make_table, quote_text, write_document
from socialcrawl.render.html_report import STYLE
from socialcrawl.render.report_charts import EDGE, FAINT, INK, draw_chart
from socialcrawl.render.report_charts import FIRST as BLUE
from socialcrawl.text.wording import pluralize

WIDER = """
main { max-width: 60rem; }
a { color: var(--first); }
dt { font-weight: 600; }
dd { margin: 0 0 .5rem 1rem; }
"""
COVERAGE = """Student's t expects that logarithms of ratios are normal over graphs. In simulated comparisons of five
    estimators on 5 to 32 graphs, all intervals held the truth at once in 95 % where they were, in 89 to 91 % where they
    were skewed (exponential), and in 77 to 89 % where one graph in ten was far off (about a third of the usual
    ratio)."""
TITLES = {
    "area": "Over the whole crawl (area)",
    "end": "When the steps are used up (end)",
    "first": f"At the beginning (first {FIRST} steps)",
}


def draw_page(board: Leaderboard) -> str:
    """Return the page."""
    sections = [
        make_element("header", make_element("h1", "Leaderboard of estimators"), *_make_headline(board)),
        _make_section("compared", "What was compared", *_explain(board)),
        *(_make_section(measure, TITLES[measure], *_make_standings(board, measure)) for measure in MEASURES),
        _make_section("columns", "What the columns mean", _define_columns(board)),
        _make_section("graphs", "Graph by graph", *_make_graphs(board)),
        _make_section("limits", "What this does not show", _list_limits(board)),
        _make_section("repeat", "How to repeat it", *_make_sources(board)),
    ]
    style = STYLE.read_text("utf-8") + WIDER
    return write_document("Leaderboard of estimators", style, make_element("main", *sections))


def _make_section(name: str, title: str, *children: Child) -> ET.Element:
    return make_element("section", make_element("h2", title), *children, id=name)


def _make_headline(board: Leaderboard) -> Iterator[ET.Element]:
    first = board.standings["area"][0]
    lines = [("compared", board.size)]
    if len(first.known):
        lines.append(("largest share", f"{first.estimator}: its mean area is {first.share:.2f} of {board.best}"))
    rows = [make_element("div", make_element("dt", name), make_element("dd", quote_text(line))) for name, line in lines]
    yield make_element("dl", *rows, class_="headline")
    yield make_element("p", f"Made {board.at[:16].replace('T', ' ')} UTC by socialcrawl {__version__}.", class_="quiet")


def _explain(board: Leaderboard) -> Iterator[ET.Element]:
    yield make_element(
        "p",
        "A crawl looks for nodes of high value (such as accounts that post on a topic) in a graph that it can only see "
        "by fetching nodes. Each step fetches one node and shows its value and its links. An ",
        make_element("b", "estimator"),
        " scores the nodes that were seen but not fetched yet, and the one with the highest score is fetched next. ",
        "A good estimator finds more value in the same number of steps.",
    )
    yield make_element(
        "p",
        "Each graph is known completely, so that crawls can be replayed. On each graph, ",
        f"{pluralize(board.sets, 'set')} of seeds (the nodes that a crawl starts from) ",
        f"{'was' if board.sets == 1 else 'were'} drawn at random among the nodes with a value above 0. All estimators "
        "started from the same sets and had the same number of steps. The values of seeds do not count.",
    )
    yield make_element(
        "p",
        "Graphs differ in how much there is to find. Therefore each estimator's mean over the sets of seeds is divided "
        f"by that of {board.best}: the one that turned out best on that graph. The result is its ",
        make_element("b", "share"),
        ". Nobody knows beforehand which of them will be best, so a share below 1 may still be a good choice; a share "
        "above 1 is more than choosing among them with hindsight could give.",
    )


def _make_standings(board: Leaderboard, measure: str) -> Iterator[ET.Element]:
    standings, baseline = board.standings[measure], board.entrants.baseline
    more = make_element("a", "What the columns mean", href="#columns")
    yield make_element("p", f"Compared by {MEASURES[measure]}. ", more, ".")
    if measure == "first" and (short := [one["graph"] for one in board.graphs if one["steps"] < FIRST]):
        yield make_element("p", f"Crawls had fewer than {FIRST} steps on ", quote_text(", ".join(short)), ".")
    head = ["", "estimator", "mean share", "least share", "on graph", "at least 1", "mean rank", f"ratio to {baseline}"]
    head += ["p", "more / less"]
    numbers = [0, 2, 3, 5, 6, 7, 8, 9]
    rows = [_make_row(board, place, one) for place, one in enumerate(standings, 1)]
    yield make_table(head, rows, caption=f"estimators by their mean share, {measure}", numbers=numbers)
    drawn = [one for one in standings if len(one.known)]
    if drawn:
        yield _make_figure(board, measure, drawn)


def _make_row(board: Leaderboard, place: int, one: Standing) -> list[Child]:
    against = one.against
    p = np.nan if against is None else against.p
    return [
        str(place),
        quote_text(one.estimator),
        format_number(one.share),
        format_number(one.least),
        quote_text(board.find_least(one)),
        f"{one.wins} of {len(one.known)}",
        format_number(one.rank, ".1f"),
        format_ratio(against),
        "< 0.001" if p < 0.001 else format_number(p, ".3f"),
        "-" if against is None or against.above is None else f"{against.above} / {against.below}",
    ]


def _make_figure(board: Leaderboard, measure: str, standings: Sequence[Standing]) -> ET.Element:
    """Return a picture of the shares: a line for each estimator, a dot for each graph."""

    def plot(axes: Any) -> None:
        axes.axvline(1.0, color=INK, linewidth=1, dashes=(4, 3), zorder=1)
        for place, one in enumerate(standings):
            axes.scatter(one.known, [place] * len(one.known), s=26, color=EDGE, alpha=0.8, linewidths=0, zorder=2)
        means = [one.share for one in standings]
        axes.scatter(means, range(len(means)), s=60, marker="D", color=BLUE, edgecolors=INK, linewidths=0.6, zorder=3)
        axes.set_yticks(range(len(means)), [one.estimator for one in standings])
        axes.set_ylim(len(means) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"share of the best reference, {measure}")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", color=FAINT, linewidth=0.5)
        axes.set_axisbelow(True)

    said = "; ".join(
        f"{one.estimator} {one.share:.2f}, from {one.least:.2f} to {one.known.max():.2f}" for one in standings
    )
    said = f"Dot chart of shares by estimator. Mean, and from the least to the largest graph: {said}."
    chart = draw_chart(f"shares-{measure}", f"Shares, {measure}", said, plot, (6.4, 0.9 + 0.3 * len(standings)))
    caption = (
        "Each grey dot is a graph, each diamond the mean over graphs. The dashed line is the best reference estimator "
        "of each graph."
    )
    return make_element("figure", chart, make_element("figcaption", caption))


def _define_columns(board: Leaderboard) -> ET.Element:
    base, several = board.entrants.baseline, len(board.entrants.estimators) - 1
    alone = f"{100 - 5 / max(1, several):.4g} %"
    defined = {
        "mean share": f"The mean over graphs of the shares: 1 is {board.best}, chosen for each graph afterwards.",
        "least share, on graph": "Its least share, and the graph on which it has that.",
        "at least 1": """The number of graphs on which it found at least as much as the best reference estimator. A
            reference has at most 1, where it is the best of them itself.""",
        "mean rank": """The mean over graphs of its place among all estimators compared; 1 is the best. Equal ones share
            the mean of their places.""",
        f"ratio to {base}": f"""What it found divided by what {base} found from the same seeds: the geometric mean over
            graphs. In brackets is its interval, for graphs that are a random sample of those that you care about. All
            intervals of a table hold at once with 95 % confidence, so that each one is at {alone} (Student's t over
            the logarithms, a number for each graph).""",
        "p": f"""How often chance alone would show so large a difference from {base}, if there were none on average over
            graphs; corrected for the number of estimators by Holm's method. Below 0.05, a difference is shown. An
            interval that leaves out 1 always has such a p; Holm's method may find a few more.""",
        "more / less": f"""The number of graphs on which it found more, and less, than {base}, as far as the sets of
            seeds show: paired t tests, corrected for all graphs and estimators of the table by Holm's method. This says
            nothing of other graphs.""",
    }
    pairs = (
        (make_element("dt", name), make_element("dd", " ".join(meaning.split()))) for name, meaning in defined.items()
    )
    return make_element("dl", *(one for pair in pairs for one in pair))


def _make_graphs(board: Leaderboard) -> Iterator[ET.Element]:
    head = ["graph", "nodes", "links", "with a value", "seeds in a set", "steps"]
    rows: list[list[Child]] = [
        [quote_text(one["graph"]), *(f"{one[name]:,}" for name in ("nodes", "links", "positive", "seeds", "steps"))]
        for one in board.graphs
    ]
    yield make_table(head, rows, caption="the graphs", numbers=[1, 2, 3, 4, 5])
    for measure, standings in board.standings.items():
        shares: list[list[Child]] = [
            [quote_text(graph), *(format_number(float(one.shares[place])) for one in standings)]
            for place, graph in enumerate(board.entrants.graphs)
        ]
        names = [one.estimator for one in standings]
        table = make_table(
            ["graph", *names], shares, caption=f"share by graph, {measure}", numbers=range(1, 1 + len(names))
        )
        yield table if measure == "area" else make_details(f"The same by {measure}", table)


def _list_limits(board: Leaderboard) -> ET.Element:
    limits = (
        """The graphs were chosen by the person who ran this. Intervals and p-values hold for other graphs only as far
        as these are a random sample of them. Graphs that share nodes or links, such as several topics of one network,
        count as if they were independent: intervals are then too narrow.""",
        "An estimator that was tuned on these graphs looks better here than elsewhere.",
        """The best reference estimator is chosen with the same crawls that it is measured with, so that chance makes it
        look better than it is: shares are slightly too low.""",
        COVERAGE,
        f"With fewer than {ENOUGH} graphs, or sets of seeds, nothing is said about chance.",
        """Crawls are replayed one node per step, on graphs that do not change. Live campaigns meet rate limits, pages,
        missing accounts and new posts. How long an estimator takes to compute is not compared.""",
    )
    lines = [*board.notes, *(" ".join(one.split()) for one in limits)]
    return make_element("ul", *(make_element("li", quote_text(one)) for one in lines))


def _make_sources(board: Leaderboard) -> Iterator[ET.Element]:
    yield make_element(
        "p",
        f"With socialcrawl {__version__} and {', '.join(f'{name} {known}' for name, known in board.versions.items())}, "
        "the same graphs give the same numbers. leaderboard.json and leaderboard.csv beside this page have all "
        "numbers, leaderboard-graphs.csv those of each graph, leaderboard.parquet those of each crawl.",
    )
    yield make_element("pre", make_element("code", quote_text(board.command)))
    rows: list[list[Child]] = [
        [quote_text(one["graph"]), make_element("code", one["sha256"][:16])] for one in board.graphs
    ]
    yield make_details("Checksums of the graphs", make_table(["graph", "SHA-256 begins"], rows, caption="graphs"))
    listed: list[list[Child]] = [
        [quote_text(one["estimator"]), _describe_origin(one), make_element("code", one["code"])]
        for one in board.estimators
    ]
    table = make_table(["estimator", "is", "checksum of its code"], listed, caption="estimators")
    yield make_details("Estimators and their code", table)


def _describe_origin(one: dict[str, object]) -> str:
    origin = f"added by {one['package'] or 'you'}" if one["added"] else "part of socialcrawl"
    return f"{origin}, a reference" if one["reference"] else origin
