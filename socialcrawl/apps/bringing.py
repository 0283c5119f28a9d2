"""`socialcrawl import`: what the options mean, how far it has come, and what it says at the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.apps.giving_way import give_way
from socialcrawl.apps.progress import shown as progress
from socialcrawl.apps.query import database
from socialcrawl.clock import SystemClock
from socialcrawl.errors import SettingsError
from socialcrawl.imports.bring import Brought, Files, as_history, as_posts, as_seeds
from socialcrawl.imports.trouble import Trouble
from socialcrawl.model import iso
from socialcrawl.plan import about
from socialcrawl.settings import Settings, read
from socialcrawl.store.address import Where
from socialcrawl.store.database import opened
from socialcrawl.store.imports.found import Found
from socialcrawl.terminal import data_stream, write_error

KINDS = ("posts", "seeds", "history", "dataset", "liveness")
REVIVING = {"dataset": "that tests it for life", "liveness": "whose accounts were tested"}


@dataclass(frozen=True, slots=True)
class Wanted:
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


def bring(wanted: Wanted) -> None:
    """Bring in what is wanted, and say what came of it.

    Raises:
        SettingsError: the options do not go together.
    """
    _agree(wanted)
    settings = None if wanted.campaign is None else read(wanted.campaign)
    if wanted.kind in REVIVING and settings is not None:
        _revive(wanted, settings)
        return
    if wanted.kind == "seeds":
        _seeds(wanted, settings)
        return
    place = _place(wanted, settings)

    def work() -> Brought:
        with opened(place) as connection, progress("reading", unit="posts", lines=True) as watch:
            files = Files(wanted.files, wanted.skip_bad, watch)
            if wanted.kind == "history" and settings is not None:
                return as_history(files, connection, settings, SystemClock().now())
            return as_posts(files, connection, settings, SystemClock().now())

    brought = give_way(place, None if settings is None else [settings.name], work, pause=wanted.pause)
    _tell(brought, f"into {place}")
    if wanted.kind == "history" and settings is not None:
        asked = f"; {brought.asked:,} had been asked before" if brought.asked else ""
        _say(f"{brought.authors:,} authors are now the history of the campaign {settings.name!r}{asked}")


def _revive(wanted: Wanted, settings: Settings) -> None:
    """Bring an old dataset, or tests of it, into the campaign that refreshes it."""
    from socialcrawl.imports.refreshing import Tables, as_dataset, as_liveness  # noqa: PLC0415

    reading = "auto" if wanted.by_id is None else "ids" if wanted.by_id else "names"

    def work() -> tuple[list[str], Trouble]:
        with opened(settings.database) as connection, progress("reading", unit="rows", lines=True) as watch:
            tables = Tables(wanted.files, reading, wanted.skip_bad, watch)
            now = SystemClock().now()
            if wanted.kind == "dataset":
                entered, trouble = as_dataset(tables, connection, settings, now, wanted.earlier)
                return [
                    f"{entered.nodes:,} accounts and {entered.links:,} links are new in the campaign {settings.name!r}",
                    *([f"{entered.known:,} accounts had been in it before"] if entered.known else []),
                    *([f"{entered.forgotten:,} were left out: they were forgotten"] if entered.forgotten else []),
                ], trouble
            learned, trouble = as_liveness(tables, connection, settings, now)
            return [
                f"{learned.new:,} tests are new in the campaign {settings.name!r}",
                *([f"{learned.known:,} accounts had been tested before"] if learned.known else []),
                *([f"{learned.strange:,} are no part of its dataset"] if learned.strange else []),
                *([f"{learned.waiting:,} of the lists are not tested yet"] if learned.waiting else []),
            ], trouble

    said, trouble = give_way(settings.database, [settings.name], work, pause=wanted.pause)
    _left_out(trouble)
    _say("; ".join(said))


def _agree(wanted: Wanted) -> None:
    if wanted.kind not in KINDS:
        raise SettingsError(f"--as {wanted.kind!r} is not known: write posts, seeds, history, dataset or liveness.")
    if wanted.kind == "history" and wanted.campaign is None:
        raise SettingsError("--as history needs the campaign that goes on from it: --campaign FILE.toml.")
    if wanted.kind in REVIVING and wanted.campaign is None:
        raise SettingsError(
            f"--as {wanted.kind} needs the campaign {REVIVING[wanted.kind]}: --campaign FILE.toml, of kind refresh."
        )
    if wanted.kind != "dataset" and wanted.earlier is not None:
        raise SettingsError("--from-campaign is for --as dataset.")
    if wanted.kind not in REVIVING and wanted.by_id is not None:
        raise SettingsError("--ids and --names are for --as dataset and --as liveness.")
    if not wanted.files and wanted.earlier is None:
        raise SettingsError("There is nothing to import: name files.")
    if wanted.campaign is not None and wanted.database is not None:
        raise SettingsError("--campaign names the campaign and its database: leave --db out.")
    if wanted.kind != "seeds" and (wanted.out is not None or wanted.most is not None):
        raise SettingsError("--out and --most are for --as seeds.")
    if wanted.out is not None and wanted.out.exists():
        raise SettingsError(f"{wanted.out} exists already and is left as it is: name another file.")


def _seeds(wanted: Wanted, settings: Settings | None) -> None:
    topic = None if settings is None else about(settings)
    with _sparing(wanted, settings) as spare, progress("reading", unit="posts", lines=True) as watch:
        names, brought = as_seeds(Files(wanted.files, wanted.skip_bad, watch), topic, spare)
    lines = "".join(f"{name}\n" for name, _ in names[: wanted.most])
    if wanted.out is None:
        data_stream().write(lines)
    else:
        try:
            with wanted.out.open("x", encoding="utf-8") as file:
                file.write(lines)
        except OSError as error:
            raise SettingsError(f"{wanted.out} cannot be written ({error.strerror}): name another file.") from error
    what = "posts" if topic is None else "posts of the topic"
    _tell(brought, f"by {brought.authors:,} authors; {len(names):,} of them can be asked by name and have {what}")


@contextmanager
def _sparing(wanted: Wanted, settings: Settings | None) -> Iterator[Callable[[Found], Found]]:
    """What takes the forgotten out of what is found, by the database, where there is one."""
    place = _place(wanted, settings)
    if (wanted.database is None and settings is None) or (isinstance(place, Path) and not place.exists()):
        yield lambda found: found
        return
    from socialcrawl.store.erasure.pages import Barring  # noqa: PLC0415
    from socialcrawl.store.imports.sparing import shown, spared  # noqa: PLC0415

    with opened(place) as connection:
        barring, now = Barring(connection, "x"), iso(SystemClock().now())

        def spare(found: Found) -> Found:
            with connection.begin():
                return spared(found, barring.of(shown(found), now))

        yield spare


def _place(wanted: Wanted, settings: Settings | None) -> Where:
    if settings is not None:
        return settings.database
    stores = wanted.kind != "seeds"
    return database(wanted.database, changed=stores) if stores or wanted.database else Path("none")


def _tell(brought: Brought, more: str) -> None:
    stored = brought.stored
    _left_out(brought.trouble)
    new = f", {stored.new:,} of them new," if stored.new or more.startswith("into") else ""
    _say(f"{stored.posts:,} posts{new} {more}")
    if stored.forgotten:
        _say(f"{stored.forgotten:,} posts were left out: they, or who wrote them, were forgotten")


def _left_out(trouble: Trouble) -> None:
    for note in trouble.notes:
        _say(note)
    if trouble.count:
        _say(f"{trouble.count:,} bad lines were left out:\n{trouble}")


def _say(line: str) -> None:
    write_error(line)
