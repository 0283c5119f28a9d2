"""`socialcrawl lab`: known graphs to replay crawls on, made from files or generated."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from socialcrawl.cli.choices import offer
from socialcrawl.cli.command_group import CommandGroup
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.gouriten.commands import gouriten_app
from socialcrawl.lab.experiments.kumar.commands import kumar_app
from socialcrawl.lab.experiments.liverank.commands import liverank_app
from socialcrawl.lab.experiments.opic.commands import opic_app
from socialcrawl.lab.experiments.reading.commands import compare as compare_readings
from socialcrawl.lab.experiments.sampling.commands import sampling_app
from socialcrawl.lab.experiments.steering.commands import compare as compare_steering
from socialcrawl.text.terminal import write_error, write_line
from socialcrawl.text.wording import explain_unknown

lab_app = typer.Typer(cls=CommandGroup, no_args_is_help=True, rich_markup_mode=None)
graph_app = typer.Typer(cls=CommandGroup, help="Make a graph from a file.", no_args_is_help=True, rich_markup_mode=None)
lab_app.add_typer(graph_app, name="graph")
lab_app.add_typer(gouriten_app, name="gouriten")
lab_app.add_typer(kumar_app, name="kumar")
lab_app.add_typer(opic_app, name="opic")
lab_app.add_typer(liverank_app, name="liverank")
lab_app.add_typer(sampling_app, name="sampling")
lab_app.command("reading")(compare_readings)
lab_app.command("steering")(compare_steering)

Scheduler = Annotated[str | None, typer.Option(help="Crawl on a Dask cluster: tcp://HOST:PORT.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="Folder to write. An existing graph is replaced.")]
Keywords = Annotated[list[str], typer.Option(help="Keyword or phrase of the topic. Repeatable.")]


@lab_app.callback()
def connect(context: typer.Context, *, scheduler: Scheduler = None) -> None:
    """Make graphs and repeat experiments.

    Graphs come from files, or are generated.
    """
    if scheduler is not None:
        from socialcrawl.lab.grid import connect_scheduler  # noqa: PLC0415

        context.with_resource(connect_scheduler(scheduler))


@graph_app.command()
def posts(
    file: Annotated[Path, typer.Argument(help="Posts: Parquet, CSV or JSON lines with author, created_at, text.")],
    *,
    keyword: Keywords,
    out: Out,
) -> None:
    """Make a graph of mentions.

    Accounts are valued by what they write about a topic.
    """
    from socialcrawl.graph.relevance import Topic  # noqa: PLC0415
    from socialcrawl.lab.graphs import build_mention_graph  # noqa: PLC0415
    from socialcrawl.lab.post_table import read_posts  # noqa: PLC0415

    topic = Topic(keyword)
    _keep(lambda: build_mention_graph(read_posts(file), topic), out)


@graph_app.command()
def pages(
    file: Annotated[Path, typer.Argument(help="Pages: Parquet with key, text, links (lists of keys).")],
    *,
    keyword: Keywords,
    out: Out,
) -> None:
    """Make a graph of linked pages.

    Pages and links are valued by what they, and the text around the links, say about a topic.
    """
    from socialcrawl.graph.relevance import Topic  # noqa: PLC0415
    from socialcrawl.lab.graphs import build_page_graph  # noqa: PLC0415

    topic = Topic(keyword)
    _keep(lambda: build_page_graph(file, topic), out)


@graph_app.command()
def edges(
    file: Annotated[Path, typer.Argument(help="Edges: text (u v, or u v weight), CSV or Parquet (source, target).")],
    *,
    values: Annotated[Path | None, typer.Option(help="Names and values: text, CSV or Parquet. Default: all 1.")] = None,
    out: Out,
) -> None:
    """Make a graph of edges.

    It has weights and values where the file has them.
    """
    from socialcrawl.lab.graphs import build_edge_graph  # noqa: PLC0415

    _keep(lambda: build_edge_graph(file, values, say=write_error), out)


@graph_app.command()
def npz(
    file: Annotated[Path, typer.Argument(help="A .npz with indptr, indices, alpha, beta (CSR of out-links).")],
    *,
    out: Out,
) -> None:
    """Turn a .npz into a folder.

    The folder opens at once and is shared by all processes that read it.
    """
    from socialcrawl.lab.graphs import read  # noqa: PLC0415

    _keep(lambda: read(file), out)


@lab_app.command("twitter-like")
def twitter_like(
    *,
    users: Annotated[int, typer.Option(help="Number of nodes. The paper: 17000000.")] = 100_000,
    links: Annotated[int, typer.Option(help="Number of links. The paper: 93000000.")] = 550_000,
    topic: Annotated[str | None, typer.Option(help="A topic of the paper.", **offer("happy|jazz|weird"))] = None,
    topic_share: Annotated[
        float | None, typer.Option(help="Share of nodes with a value. Default: as for happy.")
    ] = None,
    link_share: Annotated[
        float | None, typer.Option(help="Share of links with a weight. Default: derived from the nodes' share.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    out: Out,
) -> None:
    """Generate a graph like Twitter's.

    It has the shape of the paper's graph of mentions.
    """
    from socialcrawl.lab.generators import twitterlike  # noqa: PLC0415

    if topic is not None:
        if topic not in twitterlike.TOPICS:
            raise SettingsError(explain_unknown("topic", topic, twitterlike.TOPICS))
        if topic_share is not None or link_share is not None:
            raise SettingsError("--topic says both shares: remove --topic-share and --link-share, or --topic.")
        topic_share, link_share = twitterlike.TOPICS[topic]
    share = twitterlike.TOPICS["happy"][0] if topic_share is None else topic_share
    _keep(lambda: twitterlike.generate_twitter_like(users, links, share, link_share, seed), out)


def _keep(make: Callable[[], Any], out: Path) -> None:
    """Make a known graph, write it and say what it is."""
    from socialcrawl.lab.graphs import write  # noqa: PLC0415

    if not out.resolve().parent.is_dir():
        raise SettingsError(f"{out}: the folder {out.resolve().parent} does not exist; create it first.")
    graph = make()
    write(graph, out)
    nodes, links = (int((weights > 0).sum()) for weights in (graph.beta, graph.alpha))
    write_line(
        f"wrote {out}: {graph.size:,} nodes ({nodes / graph.size:.2%} with a value), "
        f"{graph.links:,} links ({links / max(1, graph.links):.2%} with a weight)"
    )
