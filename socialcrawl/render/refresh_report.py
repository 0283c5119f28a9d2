"""What a campaign that refreshes an old dataset knows, for people; and its order, shared out among workers."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from socialcrawl.campaign.settings import read
from socialcrawl.crawls.refresh.active_estimate import format_percent_floor
from socialcrawl.crawls.refresh.report import ProbePlan, RefreshReport, plan_probes
from socialcrawl.crawls.refresh.rules import BOUND
from socialcrawl.engine.model import MILLS_PER_DOLLAR
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.importers.probe_results import HEAD
from socialcrawl.render.console import Text
from socialcrawl.render.score_curve import ScoreCurve
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.text.terminal import write_error
from socialcrawl.text.wording import pluralize

WORDS = {"silent": "silent (it is there)", "temporary": "not known yet (temporary)"}


def list_parts(found: RefreshReport, *, billed: bool) -> Iterator[RenderableType]:
    """Yield the texts and tables of what a campaign that refreshes an old dataset knows.

    Args:
        found: what it knows.
        billed: whether the server charges for tests.
    """
    if not found.known.nodes:
        yield Text("there is no old dataset yet: socialcrawl import FILE --as dataset --db CAMPAIGN.toml")
        return
    yield _make_statuses(found)
    if found.slices:
        yield _make_slices(found)
    yield Text("\n".join(_make_totals(found, billed=billed)))


def make_curve(found: RefreshReport, name: str) -> ScoreCurve:
    """Return the active accounts that were found against the tests."""
    axes = ("tests", "active accounts found")
    return ScoreCurve("active accounts found", found.found.astype(np.float64), f"{name}: active accounts", axes)


def share_out(campaign: Path, workers: int, folder: Path, most: int | None, *, beyond: bool = False) -> None:
    """Write who is to be tested next into a folder, a list for each worker, and say what they are.

    Args:
        campaign: the campaign file.
        workers: how many lists.
        folder: where they are written.
        most: maximum number of accounts; None: all.
        beyond: whether there is an order though the wanted fraction is found.

    Raises:
        SettingsError: the campaign refreshes nothing, or the folder has such lists already.
        StoreError: the campaign was not begun, or the folder cannot be written.
    """
    settings = read(campaign)
    files = [folder / f"worker-{j}.csv" for j in range(workers)]
    if there := [file for file in files if file.exists()]:
        raise SettingsError(f"{there[0]} already exists and was not overwritten. Choose another folder.")
    with open_readable(settings.database) as connection:
        found = plan_probes(CampaignTraces(connection), settings, workers, most)
    if not found.nodes:
        write_error(f"no account is left to be tested: {found.why}")
        return
    if found.enough and not beyond:
        write_error(f"nothing was written: {found.enough}; with --beyond there are lists of what is left")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for j, file in enumerate(files):
            _write(file, found, np.flatnonzero(found.worker == j).tolist())
    except OSError as error:
        raise StoreError(f"{folder} cannot be written ({error.strerror}): name another folder.") from error
    people, lists = pluralize(len(found.nodes), "account"), pluralize(workers, "worker")
    write_error(
        f"{people} for {lists} in {folder}: {_find_round(found)}. When they have written what they "
        f"found into their lists: socialcrawl import {folder}/worker-*.csv --as liveness --db {campaign}"
    )


def _find_round(found: ProbePlan) -> str:
    """Return which round some lists are."""
    if found.training:
        random = f"{found.checked:,} drawn at random to estimate how many are active, and " if found.checked else ""
        return f"round one, {random}the training set; the order of what follows rests on their results"
    if found.changing:
        return (
            f"what is left, in the order {found.changing} as of now only: every answer changes it, so that results "
            f"call for new lists (--limit keeps them short; rank pa or pa+- needs two rounds only)"
        )
    return "round two, what is left, in order"


def _write(file: Path, found: ProbePlan, places: list[int]) -> None:
    with file.open("x", encoding="utf-8", newline="") as opened:
        rows = csv.writer(opened, lineterminator="\n")
        rows.writerow(HEAD)
        for place in places:
            who = found.whos[place]
            rows.writerow((place + 1, who.id or "", who.username or "", "", "", "", ""))


def _make_statuses(found: RefreshReport) -> Table:
    random = found.rank == found.training == "random"
    part = " (they are not a random part of the dataset)" if found.left and not random else ""
    title = f"accounts tested by what was found{part}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in ("accounts", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    total = sum(count for _, count in found.statuses)
    for name, count in found.statuses:
        table.add_row(WORDS.get(name, name), f"{count:,}", f"{count / total:.1%}")
    if not total:
        table.add_row("nobody was tested yet", "", "")
    return table


def _make_slices(found: RefreshReport) -> Table:
    table = Table(title="active among the tests, in their order", title_justify="left", box=None, pad_edge=False)
    for name in ("tests", "active", "share", "all so far", "tests per active one"):
        table.add_column(name, justify="right", no_wrap=True)
    active = 0
    for one in found.slices:
        active += one.active
        share = one.active / (one.last - one.first + 1)
        so_far = f"{one.last / active:,.2f}" if active else "-"
        table.add_row(f"{one.first:,} to {one.last:,}", f"{one.active:,}", f"{share:.1%}", f"{active:,}", so_far)
    return table


def _make_totals(found: RefreshReport, *, billed: bool) -> Iterator[str]:
    known = found.known
    first = f"{found.learning:,} of them to learn from ({found.training}), then in the order {found.rank}"
    yield f"{pluralize(known.nodes, 'account')} in the old dataset; {first}"
    yield f"{known.tested:,} were tested, {known.found:,} are active, {found.left:,} are left"
    if found.due:
        yield f"{found.due:,} of those to learn from are left: the order begins after them"
    yield from _estimate(found)
    yield from _describe_wanted(found)
    if known.found:
        yield f"for each active account found so far: {', '.join(_make_costs(found, billed=billed))}"


def _estimate(found: RefreshReport) -> Iterator[str]:
    """Yield how many are active in all, and the share of them that is found, as far as that is known."""
    known = found.known
    if not found.left:
        return
    if known.value is None:
        yield (
            f"how many are active in all is not known: {known.low:,.0f} at least, {known.high:,.0f} at most; only "
            "accounts drawn at random show more (check = 300)"
        )
        return
    among = "" if known.whole else " among those that the order has not reached"
    yield (
        f"active in all: about {known.value:,.0f} ({known.low:,.0f} to {known.high:,.0f}, 95% interval), by the "
        f"{known.found:,} found and {pluralize(known.sampled, 'account')} drawn at random{among}"
    )
    if known.share is not None:
        span = f"{format_percent_floor(known.share_low)} to {format_percent_floor(known.share_high)}, 95% interval"
        yield f"found so far: about {format_percent_floor(known.share)} of them ({span})"


def _describe_wanted(found: RefreshReport) -> Iterator[str]:
    """Yield whether the wanted fraction is found, and what the campaign does about it."""
    if found.verdict is None or found.fraction is None:
        return
    wanted = f"fraction = {found.fraction:g}"
    if found.verdict.reached:
        sure = "by the bound of the 95% interval" if found.stop == BOUND else "by the estimate, which may be wrong"
        yield f"{wanted} is found, {sure}: the campaign stops here"
    elif found.verdict.doubted:
        yield f"{wanted} may be found, which is not certain yet"
    else:
        yield f"{wanted} is not found yet"


def _make_costs(found: RefreshReport, *, billed: bool) -> Iterator[str]:
    active = found.known.found
    yield f"{found.cost:,.2f} tests"
    if found.requests:
        yield f"{found.requests / active:,.3g} requests"
    if billed and found.mills:
        yield f"${found.mills / active / MILLS_PER_DOLLAR:,.3g} at most"
