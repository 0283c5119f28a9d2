"""An old dataset, or tests of life that were made elsewhere, into a campaign that refreshes the dataset."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.registry import kind_of
from socialcrawl.engine.model import Who, format_time
from socialcrawl.errors import SettingsError
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.liveness import Activity
from socialcrawl.importers.account_cells import CellAccounts, find_site
from socialcrawl.importers.dataset_files import read_datasets
from socialcrawl.importers.import_posts import Watch
from socialcrawl.importers.probe_results import read_results
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.imports.old_graph import (
    GraphImportResult,
    NumberedGraph,
    import_graphs,
    number_accounts,
    read_earlier_campaign,
)
from socialcrawl.storage.imports.probes import ProbeImportResult, import_results


@dataclass(frozen=True, slots=True)
class DatasetFiles:
    """Files with tables and how they are read.

    Attributes:
        paths: the files.
        reading: auto | ids | names; see `account_cells.CellAccounts`.
        skip_bad: whether bad lines may be left out.
        watch: told how far it has come.
    """

    paths: Sequence[Path]
    reading: str = "auto"
    skip_bad: bool = False
    watch: Watch = lambda what, rows: None


def import_dataset(
    tables: DatasetFiles, connection: Opened, settings: Settings, now: float, earlier_one: str | None = None
) -> tuple[GraphImportResult, LineErrors]:
    """Return what came of bringing an old dataset into a campaign, and the lines that were left out.

    Nothing is stored where something is wrong. A second time only what is new is stored.

    Args:
        tables: the files.
        connection: the database.
        settings: the campaign, which is begun if it is new.
        now: Unix seconds.
        earlier_one: the name of an earlier campaign of the database, whose accounts are brought in too.

    Raises:
        SettingsError: the campaign is of another kind.
        PostsFileError: a file cannot be read.
        StoreError: the campaign is running; there is no earlier one.
    """
    _check_kind(settings)
    platform, trouble = settings.source.platform, LineErrors()
    data = read_datasets(tables.paths, CellAccounts(platform, tables.reading), trouble, tables.watch)
    if not tables.skip_bad:
        trouble.refuse()
    with lock_campaign(connection, settings, now) as number:

        def site(who: Who) -> str:
            return find_site(platform, who)

        arrivals: list[Callable[[], NumberedGraph]] = []
        if tables.paths:
            arrivals.append(lambda: number_accounts(connection, platform, data, format_time(now)))
        if earlier_one is not None:
            arrivals.append(lambda: read_earlier_campaign(connection, earlier_one, platform, site))
        return import_graphs(connection, number, arrivals, now), trouble


def import_liveness(
    tables: DatasetFiles, connection: Opened, settings: Settings, now: float
) -> tuple[ProbeImportResult, LineErrors]:
    """Return what came of bringing tests into a campaign that were made elsewhere, and the lines that were left out.

    Raises:
        SettingsError: the campaign is of another kind.
        PostsFileError: a file cannot be read.
        StoreError: the campaign is running.
    """
    _check_kind(settings)
    kind, trouble = kind_of(settings), LineErrors()
    found, waiting = read_results(
        tables.paths,
        CellAccounts(settings.source.platform, tables.reading),
        kind.activity(settings) or Activity(),
        now,
        trouble,
    )
    if not tables.skip_bad:
        trouble.refuse()
    with lock_campaign(connection, settings, now) as number:
        learned = import_results(connection, number, found, linked=kind.tests_linked(settings))
        return replace(learned, waiting=waiting), trouble


@contextmanager
def lock_campaign(connection: Opened, settings: Settings, now: float) -> Iterator[int]:
    """Yield the campaign.id of a campaign that cannot run inside the block."""
    lease = Lease(connection, settings.name)
    try:
        plan = make_plan(settings)
        identity = plan.settings.identity(plan.usernames)
        values, fixed = plan.settings.model_dump(mode="json"), plan.fixed
        number = ensure_campaign(connection, values, identity, now, queries=plan.queries, fixed=fixed)
        yield number
    finally:
        lease.release()


def _check_kind(settings: Settings) -> None:
    if not kind_of(settings).dataset:
        raise SettingsError(
            f"The campaign {settings.name!r} is of kind {settings.kind}: an old dataset is tested for life by one of "
            'kind refresh. Write kind = "refresh" above the first section of a new campaign file, with another name.'
        )
