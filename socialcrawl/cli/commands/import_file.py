"""`socialcrawl import`: what the options mean, how far it has come, and what it says at the end."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from socialcrawl.campaign.plan import make_topic
from socialcrawl.campaign.settings import Settings, read
from socialcrawl.cli.commands.sql import find_database
from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError
from socialcrawl.formats.lines import LineErrors
from socialcrawl.importers.exported_datasets import find_files
from socialcrawl.importers.import_posts import PostFiles, PostImportResult, find_seeds, import_history, import_posts
from socialcrawl.platforms.facts import X
from socialcrawl.render.progress import Watch, show_progress
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import Opened, open_database
from socialcrawl.storage.imports.old_graph import GraphImportResult
from socialcrawl.storage.imports.parsed_page import ParsedPage
from socialcrawl.storage.imports.probes import ProbeImportResult
from socialcrawl.storage.imports.wanted_ids import IdImportResult
from socialcrawl.text.terminal import open_data_stream, write_error, write_json
from socialcrawl.text.wording import explain_unknown, pluralize

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of `socialcrawl import`."""

    files: list[Path]
    kind: str
    campaign: Path | None = None
    out: Path | None = None
    most: int | None = None
    database: str | None = None
    skip_bad: bool = False
    earlier: str | None = None
    by_id: bool | None = None
    pause: bool = False
    as_json: bool = False

    @property
    def reading(self) -> str:
        """How cells name accounts; see `account_cells.CellAccounts`."""
        return "auto" if self.by_id is None else "ids" if self.by_id else "names"


def import_files(wanted: ImportOptions) -> None:
    """Import what is wanted, and say what was imported.

    Raises:
        SettingsError: the options do not go together.
        PostsFileError: a file cannot be read, or is a folder that is no export.
    """
    if (kind := KINDS.get(wanted.kind)) is None:
        raise SettingsError(explain_unknown("--as", wanted.kind, KINDS))
    _check_options(wanted, kind)
    settings = None if wanted.campaign is None else read(wanted.campaign)
    values = kind.work(replace(wanted, files=find_files(wanted.files, kind.tables)), settings)
    if wanted.as_json:
        write_json(json.dumps({"as": wanted.kind, **values}, ensure_ascii=False))


def _import_posts(wanted: ImportOptions, settings: Settings | None) -> dict[str, Any]:
    def work(connection: Opened, watch: Watch) -> PostImportResult:
        return import_posts(PostFiles(wanted.files, wanted.skip_bad, watch), connection, settings, SystemClock().now())

    place = _find_place(wanted, settings)
    return {"database": str(place)} | _print_result(
        _store(place, wanted, settings, "posts", work), f"into {place}", as_json=wanted.as_json
    )


def _import_history(wanted: ImportOptions, settings: Settings | None) -> dict[str, Any]:
    assert settings is not None  # it needs a campaign

    def work(connection: Opened, watch: Watch) -> PostImportResult:
        return import_history(
            PostFiles(wanted.files, wanted.skip_bad, watch), connection, settings, SystemClock().now()
        )

    brought = _store(settings.database, wanted, settings, "posts", work)
    values = _print_result(brought, f"into {settings.database}", as_json=wanted.as_json)
    if not wanted.as_json:
        asked = f"; {brought.asked:,} had been fetched before" if brought.asked else ""
        authors = pluralize(brought.authors, "author is", "authors are")
        _print_line(f"{authors} now the history of the campaign {settings.name!r}{asked}")
    return values | {
        "database": str(settings.database),
        "campaign": settings.name,
        "history_accounts": brought.authors,
        "accounts_fetched_before": brought.asked,
    }


def _import_dataset(wanted: ImportOptions, settings: Settings | None) -> dict[str, Any]:
    assert settings is not None  # it needs a campaign
    from socialcrawl.importers.import_dataset import DatasetFiles, import_dataset  # noqa: PLC0415

    def work(connection: Opened, watch: Watch) -> tuple[GraphImportResult, LineErrors]:
        tables = DatasetFiles(wanted.files, wanted.reading, wanted.skip_bad, watch)
        return import_dataset(tables, connection, settings, SystemClock().now(), wanted.earlier)

    entered, trouble = _store(settings.database, wanted, settings, "rows", work)
    accounts, links = pluralize(entered.nodes, "account"), pluralize(entered.links, "link")
    lines = [
        f"{accounts} and {links} are new in the campaign {settings.name!r}",
        *([f"{pluralize(entered.known, 'account')} had been in it before"] if entered.known else []),
        *([f"{entered.forgotten:,} skipped: they were forgotten"] if entered.forgotten else []),
    ]
    return _tell_tables(
        wanted,
        settings,
        (lines, trouble),
        accounts_new=entered.nodes,
        links_new=entered.links,
        accounts_known=entered.known,
        accounts_forgotten=entered.forgotten,
    )


def _import_liveness(wanted: ImportOptions, settings: Settings | None) -> dict[str, Any]:
    assert settings is not None  # it needs a campaign
    from socialcrawl.importers.import_dataset import DatasetFiles, import_liveness  # noqa: PLC0415

    def work(connection: Opened, watch: Watch) -> tuple[ProbeImportResult, LineErrors]:
        tables = DatasetFiles(wanted.files, wanted.reading, wanted.skip_bad, watch)
        return import_liveness(tables, connection, settings, SystemClock().now())

    learned, trouble = _store(settings.database, wanted, settings, "rows", work)
    lines = [
        f"{pluralize(learned.new, 'test is', 'tests are')} new in the campaign {settings.name!r}",
        *([f"{pluralize(learned.known, 'account')} had been tested before"] if learned.known else []),
        *([f"{learned.strange:,} not in its dataset"] if learned.strange else []),
        *([f"{learned.waiting:,} of the lists not tested yet"] if learned.waiting else []),
    ]
    return _tell_tables(
        wanted,
        settings,
        (lines, trouble),
        tests_new=learned.new,
        tests_known=learned.known,
        accounts_not_in_dataset=learned.strange,
        accounts_not_tested=learned.waiting,
    )


def _import_ids(wanted: ImportOptions, settings: Settings | None) -> dict[str, Any]:
    assert settings is not None  # it needs a campaign
    from socialcrawl.importers.import_ids import IdFiles, import_ids  # noqa: PLC0415

    def work(connection: Opened, watch: Watch) -> tuple[IdImportResult, LineErrors]:
        return import_ids(IdFiles(wanted.files, wanted.skip_bad, watch), connection, settings, SystemClock().now())

    added, trouble = _store(settings.database, wanted, settings, "rows", work)
    lines = [
        f"{pluralize(added.new, 'id is', 'ids are')} new in the campaign {settings.name!r}",
        *([f"the posts of {added.held:,} are stored already"] if added.held else []),
        *([f"{added.known:,} had been in it before"] if added.known else []),
        *([f"{added.forgotten:,} skipped: they were forgotten"] if added.forgotten else []),
    ]
    return _tell_tables(
        wanted,
        settings,
        (lines, trouble),
        ids_new=added.new,
        ids_held=added.held,
        ids_known=added.known,
        ids_forgotten=added.forgotten,
    )


def _store(
    place: DatabaseAddress,
    wanted: ImportOptions,
    settings: Settings | None,
    unit: str,
    work: Callable[[Opened, Watch], T],
) -> T:
    """Return what comes of work with a database, which shows how far it has come and may pause a daemon."""

    def storing() -> T:
        with open_database(place) as connection, show_progress("reading", unit=unit, lines=True) as watch:
            return work(connection, watch)

    return give_way("import", place, None if settings is None else [settings.name], storing, pause=wanted.pause)


def _check_options(wanted: ImportOptions, kind: "ImportKind") -> None:
    if kind.needs and wanted.campaign is None:
        raise SettingsError(f"--as {wanted.kind} needs the campaign {kind.needs}: name its file with --db FILE.toml.")
    if wanted.kind != "dataset" and wanted.earlier is not None:
        raise SettingsError("--from-campaign is for --as dataset.")
    if not kind.names_accounts and wanted.by_id is not None:
        raise SettingsError("--ids and --names are for --as dataset and --as liveness.")
    if not wanted.files and wanted.earlier is None:
        raise SettingsError("There is nothing to import: name files.")
    if kind.stores and (wanted.out is not None or wanted.most is not None):
        raise SettingsError("--out and --limit are for --as seeds.")
    if wanted.out is not None and wanted.out.exists():
        raise SettingsError(f"{wanted.out} already exists and was not overwritten. Choose another file name.")


def _import_seeds(wanted: ImportOptions, settings: Settings | None) -> dict[str, Any]:
    topic = None if settings is None else make_topic(settings)
    with _skip_forgotten(wanted, settings) as spare, show_progress("reading", unit="posts", lines=True) as watch:
        names, brought = find_seeds(PostFiles(wanted.files, wanted.skip_bad, watch), topic, spare)
    chosen = [name for name, _ in names[: wanted.most]]
    lines = "".join(f"{name}\n" for name in chosen)
    if wanted.out is None and not wanted.as_json:
        open_data_stream().write(lines)
    elif wanted.out is not None:
        try:
            with wanted.out.open("x", encoding="utf-8") as file:
                file.write(lines)
        except OSError as error:
            raise SettingsError(f"{wanted.out} cannot be written ({error.strerror}): name another file.") from error
    what = "posts" if topic is None else "posts of the topic"
    authors = pluralize(brought.authors, "author")
    more = f"by {authors}; {len(names):,} of them can be fetched by name and have {what}"
    values = _print_result(brought, more, as_json=wanted.as_json)
    return values | {"authors": brought.authors, "eligible": len(names), "usernames": chosen}


@contextmanager
def _skip_forgotten(wanted: ImportOptions, settings: Settings | None) -> Iterator[Callable[[ParsedPage], ParsedPage]]:
    """Yield a filter that removes forgotten accounts and posts, by the database, where there is one."""
    place = _find_place(wanted, settings)
    if (wanted.database is None and settings is None) or (isinstance(place, Path) and not place.exists()):
        yield lambda found: found
        return
    from socialcrawl.storage.erasure.page_redaction import PageRedaction  # noqa: PLC0415
    from socialcrawl.storage.imports.page_rows import expand_page, remove_forgotten_posts  # noqa: PLC0415

    with open_database(place) as connection:
        barring, now = PageRedaction(connection, X.name), format_time(SystemClock().now())

        def spare(found: ParsedPage) -> ParsedPage:
            with connection.begin():
                return remove_forgotten_posts(found, barring.find_forgotten(expand_page(found), now))

        yield spare


def _find_place(wanted: ImportOptions, settings: Settings | None) -> DatabaseAddress:
    if settings is not None:
        return settings.database
    stores = KINDS[wanted.kind].stores
    return find_database(wanted.database, changed=stores) if stores or wanted.database else Path("none")


def _print_result(brought: PostImportResult, more: str, *, as_json: bool) -> dict[str, Any]:
    """Print what became of posts, unless it is wanted as JSON, and return it as plain values."""
    stored = brought.stored
    _print_skipped(brought.trouble)
    if not as_json:
        new = f", {stored.new:,} of them new," if stored.new or more.startswith("into") else ""
        _print_line(f"{pluralize(stored.posts, 'post')}{new} {more}")
        if stored.forgotten:
            _print_line(f"{pluralize(stored.forgotten, 'post')} skipped: forgotten, or by forgotten authors")
    return {
        "posts": stored.posts,
        "posts_new": stored.new,
        "posts_forgotten": stored.forgotten,
        "lines_skipped": brought.trouble.count,
    }


def _tell_tables(
    wanted: ImportOptions, settings: Settings, told: tuple[Sequence[str], LineErrors], **facts: int
) -> dict[str, Any]:
    """Print what came of tables: lines, and which of theirs were left out; return it for scripts, with `facts`."""
    lines, trouble = told
    _print_skipped(trouble)
    if not wanted.as_json:
        _print_line("; ".join(lines))
    place = {"database": str(settings.database), "campaign": settings.name}
    return {**place, **facts, "lines_skipped": trouble.count}


def _print_skipped(trouble: LineErrors) -> None:
    for note in trouble.notes:
        _print_line(note)
    if trouble.count:
        _print_line(f"{pluralize(trouble.count, 'bad line')} skipped:\n{trouble}")


def _print_line(line: str) -> None:
    write_error(line)


@dataclass(frozen=True, slots=True)
class ImportKind:
    """What a file can be imported as.

    Attributes:
        work: does it, with the campaign, if one is named; returns counts and names as plain values.
        tables: those of an export that are imported where a folder with one is named.
        needs: which campaign it needs; "": none.
        stores: whether it changes the database.
        names_accounts: whether --ids and --names say what its cells are.
    """

    work: Callable[[ImportOptions, Settings | None], dict[str, Any]]
    tables: Sequence[str]
    needs: str = ""
    stores: bool = True
    names_accounts: bool = False


CAPTURING = "--campaign FILE.toml, of kind capture"
REFRESHING = "--campaign FILE.toml, of kind refresh"
KINDS: Mapping[str, ImportKind] = {
    "posts": ImportKind(_import_posts, ("posts",)),
    "seeds": ImportKind(_import_seeds, ("posts",), stores=False),
    "history": ImportKind(_import_history, ("posts",), "that goes on from it: --campaign FILE.toml"),
    "ids": ImportKind(_import_ids, ("posts",), f"that fetches their posts: {CAPTURING}"),
    "dataset": ImportKind(
        _import_dataset,
        ("accounts", "links"),
        f"that checks which accounts are active: {REFRESHING}",
        names_accounts=True,
    ),
    "liveness": ImportKind(
        _import_liveness, ("liveness",), f"whose accounts were checked: {REFRESHING}", names_accounts=True
    ),
}
