"""What a campaign found, for people: the best accounts, the curve, the requests."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from socialcrawl.apps import figure
from socialcrawl.limits.budget import dollars
from socialcrawl.store.summary import Summary


def show(console: Console, found: Summary, png: Path | None, *, billed: bool) -> None:
    """Print a summary, and draw its curve into `png` if one is named."""
    console.print()
    console.print(_best(found))
    if len(found.steps):
        console.print()
        console.print(figure.letters(found.steps, width=min(60, max(20, console.width - 14))))
    console.print()
    console.print(_requests(found))
    console.print(_totals(found, billed=billed))
    if png is not None and len(found.steps):
        figure.png(png, found.steps, f"{found.name}: relevance found")
        console.print(f"score curve: {png}", soft_wrap=True)


def _best(found: Summary) -> Table:
    table = Table(title="most relevant accounts", title_justify="left", box=None, pad_edge=False)
    table.add_column("account", overflow="fold")
    for name in ("relevance", "matches", "posts read", "step"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    for row in found.top:
        step = "seed" if row["act"] == "seed" else f"{row['step']:,}"
        table.add_row(Text(row["account"]), f"{row['value']:.2f}", f"{row['occurrences']:,}", f"{row['posts']:,}", step)
    if not found.top:
        table.add_row("none yet", "", "", "", "")
    return table


def _requests(found: Summary) -> Table:
    table = Table(title="requests by status", title_justify="left", box=None, pad_edge=False)
    table.add_column("endpoint", no_wrap=True)
    table.add_column("answer")
    table.add_column("status", justify="right")
    table.add_column("requests", justify="right")
    for row in found.requests:
        table.add_row(row["endpoint"], row["kind"], str(row["status"] or "-"), f"{row['requests']:,}")
    return table


def _totals(found: Summary, *, billed: bool) -> Text:
    missing = ", ".join(f"{count:,} {reason}" for reason, count in found.missing.items())
    asked = len(found.steps) + len(found.seeds)
    lines = [
        f"{len(found.steps):,} steps after {len(found.seeds):,} seeds found relevance {found.relevance:,.1f} in all",
        f"the seeds themselves are worth {found.seed_relevance:,.1f}",
        f"{found.posts:,} posts read, {asked:,} accounts asked, {found.known:,} known",
    ]
    if missing:
        lines.append(f"not to be read: {missing}")
    if billed:
        lines.append(f"cost by the price table, at most: {dollars(found.cost)}")
    return Text("\n" + "\n".join(lines))
