"""The pictures of the first pages and of a report, from real crawls of the mock: `make pictures` draws them again.

Posts of 10,000 invented people are crawled from 20 drawn seeds by the default estimator, breadth-first and by chance.
Nothing is shown of the seeds but their places: only what a crawl discovered counts.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import networkx as nx
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from socialcrawl.lab.generators.generate import generate, write

DOCS = Path(__file__).parents[2] / "docs"
FIGURES, TUTORIAL = DOCS / "figures", DOCS / "tutorial/first-network.md"
PEOPLE, SEEDS, STEPS, KEYWORD = 10_000, 20, 1_000, "telescope"
CRAWLS = {  # estimator: label, colour (Okabe and Ito), line, where the label stands (points)
    "hybrid-sum": ("socialcrawl (hybrid-sum)", "#0072B2", "-", 7),
    "bfs": ("breadth-first", "#D55E00", "--", 7),
    "random": ("by chance", "#666666", ":", -22),
}
SHOWN = 70  # discovered accounts in the picture of the network


def crawl(posts: Path, folder: Path) -> dict[str, Path]:
    """Crawl the posts with each estimator; the databases."""
    databases = {name: folder / f"{name}.db" for name in CRAWLS}
    for name, database in databases.items():
        options = {"posts": posts, "keyword": KEYWORD, "seed-size": SEEDS, "switch-after": 100, "estimator": name}
        options |= {"steps": STEPS, "per-window": 3_000, "db": database}
        words = [text for option, value in options.items() for text in (f"--{option}", str(value))]
        subprocess.run([sys.executable, "-m", "socialcrawl", "demo", "--json", *words], check=True, cwd=folder)
    return databases


def draw_curves(axes: Axes, databases: dict[str, Path]) -> None:
    """Draw the relevance of the accounts that each crawl discovered, over the accounts that it read."""
    for name, database in databases.items():
        label, colour, line, above = CRAWLS[name]
        with sqlite3.connect(database) as connection:
            rows = connection.execute(
                "select step, max(relevance) from campaign_progress where step > 0 group by step order by step"
            ).fetchall()
        steps, relevance = zip(*rows, strict=True)
        axes.plot(steps, relevance, line, color=colour, linewidth=2.5)
        words, end = f"{label}: {relevance[-1]:,.0f}", (steps[-1], relevance[-1])
        axes.annotate(words, end, (-6, above), textcoords="offset points", ha="right", color=colour, fontweight="bold")
    axes.set(xlabel="accounts read after the seeds", ylabel="relevance of the accounts discovered", xlim=(0, STEPS))
    axes.set_title("What is found by reading the same number of accounts", loc="left", fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)


def draw_network(axes: Axes, database: Path) -> None:
    """Draw who mentions whom on topic: the most relevant accounts that a crawl discovered, and the seeds."""
    with sqlite3.connect(database) as connection:
        found = connection.execute("select account, relevance, act from top_account order by relevance desc").fetchall()
        edges = connection.execute(
            "select source, target from mention_network where alpha > 0 and source <> target"
        ).fetchall()
    relevance = {account: value for account, value, _ in found}
    seeds = {account for account, _, act in found if act == "seed"}
    shown = {account for account, _, act in found if act != "seed"}
    shown = set([account for account in relevance if account in shown][:SHOWN]) | seeds
    graph = nx.Graph((a, b) for a, b in edges if a in shown and b in shown)
    graph = graph.subgraph(max(nx.connected_components(graph), key=len))
    places = nx.spring_layout(graph, seed=3, k=0.35, iterations=300)
    nx.draw_networkx_edges(graph, places, ax=axes, alpha=0.25, width=0.8)
    low, high = (choose(relevance[one] for one in set(graph) - seeds) for choose in (min, max))
    for marker, edge, nodes in (("o", "#222222", set(graph) - seeds), ("s", "#D55E00", set(graph) & seeds)):
        if nodes:
            named = sorted(nodes)
            dots = nx.draw_networkx_nodes(
                graph, places, named, ax=axes, node_shape=marker, edgecolors=edge, cmap="cividis_r",
                node_color=[relevance[one] for one in named], node_size=[25 * relevance[one] for one in named],
                vmin=low, vmax=high, linewidths=1.6 if marker == "s" else 0.6,
            )  # fmt: skip
    axes.figure.colorbar(dots, ax=axes, shrink=0.6, label="relevance")
    axes.set_title("Who mentions whom on the topic", loc="left", fontweight="bold")
    axes.text(0, -0.04, f"circles: discovered accounts, of the {SHOWN} most relevant; squares: seeds linked to them",
              transform=axes.transAxes, fontsize=9)  # fmt: skip
    axes.axis("off")


def draw_first_network(folder: Path) -> None:
    """Run the demo and the program of the tutorial, which draws its network."""
    (program,) = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL)
    for words in (["-m", "socialcrawl", "demo", "--json"], ["-c", program]):
        subprocess.run([sys.executable, *words], check=True, cwd=folder, env=os.environ | {"MPLBACKEND": "agg"})
    shutil.copy(folder / "network.png", FIGURES / "first-network.png")


def draw_report(folder: Path) -> None:
    """Write the page of a campaign with drawn steps, and take a picture of it, where there is a browser."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return  # the picture stays as it is
    database, page = folder / "report.db", folder / "report.html"
    options = ["--control", "0.2", "--db", database, "--json"]
    for words in (["demo", *options], ["report", "--db", database, "--html", page]):
        subprocess.run([sys.executable, "-m", "socialcrawl", *map(str, words)], check=True, cwd=folder)
    flags = ["--headless=new", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={folder / 'browser'}"]
    shot = f"--screenshot={FIGURES / 'report.png'}"
    subprocess.run([browser, *flags, "--window-size=860,2655", shot, page.as_uri()], check=True)


def main() -> None:
    """Crawl and draw."""
    mpl.use("agg")
    with tempfile.TemporaryDirectory() as scratch:
        posts = Path(scratch) / "posts.parquet"
        write(posts, generate(PEOPLE, 1))
        databases = crawl(posts, Path(scratch))
        figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), width_ratios=(1, 1.15), layout="constrained")
        draw_curves(left, databases)
        draw_network(right, databases["hybrid-sum"])
        figure.savefig(FIGURES / "discovered.png", dpi=110, metadata={"Software": None})
        draw_first_network(Path(scratch))
        draw_report(Path(scratch))


if __name__ == "__main__":
    main()
