"""Which database, and which campaign in it, people mean: a campaign file stands for both."""

from pathlib import Path
from typing import NamedTuple

from socialcrawl.cli.commands.sql import find_database
from socialcrawl.errors import SettingsError
from socialcrawl.storage.database.address import LIKE_A_SERVER, DatabaseAddress
from socialcrawl.storage.database.filetypes import CAMPAIGN, DATABASE, recognize, require_campaign
from socialcrawl.text.terminal import write_error

ENDINGS = (".toml", ".db")  # of a campaign file and a database, also where there is none yet


class ChosenDatabase(NamedTuple):
    """A database, and what else is known of what is meant.

    Attributes:
        address: the database.
        campaign: the name of the campaign; None where none is named.
        file: the campaign file; None where the database itself is named.
    """

    address: DatabaseAddress
    campaign: str | None = None
    file: Path | None = None


def choose_database(
    given: str | None, option: str | None = None, campaign: str | None = None, *, changed: bool = False
) -> ChosenDatabase:
    """Return the database that is meant: that of a campaign file, the one named, or the one in this folder.

    Args:
        given: a campaign file, an SQLite file or postgresql://USER@HOST/NAME, as an argument.
        option: the same as --db.
        campaign: the name of a campaign, as --campaign.
        changed: whether the database will be changed; see `find_database`.

    Raises:
        SettingsError: two are named, a file is no campaign file, or the campaign of a file is not the one named.
        StoreError: none is named, and there is none in this folder.
    """
    _check_once(given, option)
    named = given if given is not None else option
    address = find_database(named, changed=changed)
    if not isinstance(address, Path) or not is_campaign_file(str(address)):
        return ChosenDatabase(address, campaign)
    own = require_campaign(address)
    if campaign not in (None, own.name):
        raise SettingsError(
            f"{address} is the campaign {own.name!r}: remove --campaign {campaign}, or name {own.database}."
        )
    return ChosenDatabase(own.database, own.name, address)


def split_target(given: str | None, option: str | None, out: Path | None, what: str) -> tuple[str | None, Path | None]:
    """Return the database and the target that a command names.

    Args:
        given: the argument: a database, or as before the target.
        option: --db.
        out: --out.
        what: what the target is.

    Raises:
        SettingsError: two databases are named.
    """
    _check_once(given if out is not None else None, option)
    if out is not None or given is None or (option is None and is_database(given)):
        return given, out
    write_error(f"hint: name {what} with --out {given}; without --out this works until the next version")
    return None, Path(given)


def split_words(words: list[str], what: str) -> tuple[str | None, str]:
    """Return the database and the last argument of a command that takes both, and may take the last alone.

    Args:
        words: the arguments.
        what: what the last one is: "a query".

    Raises:
        SettingsError: there are more, or the last one is a database, a campaign file or an export.
    """
    *places, last = words
    if is_database(last) and places and not is_database(places[0]):
        raise SettingsError(f"Swap the arguments: {last} comes first, {what} after it.")
    if len(places) > 1:
        quotes = ", and put it into quotes" if "query" in what else ""
        raise SettingsError(f"Give at most a database and {what}{quotes}.")
    if is_database(last):
        raise SettingsError(f"{last} is no {what.removeprefix('a ').removeprefix('an ')}: add {what} after it.")
    return (places[0] if places else None), last


def _check_once(given: str | None, option: str | None) -> None:
    if given is not None and option is not None:
        raise SettingsError(f"Name the database once: {given}, or --db {option}.")


def is_database(word: str) -> bool:
    """Return whether a word names a database or a campaign file, one that is there or one that could be."""
    return bool(LIKE_A_SERVER.search(word)) or word.endswith(ENDINGS) or _recognize(Path(word)) in (DATABASE, CAMPAIGN)


def is_campaign_file(word: str) -> bool:
    """Return whether a word names a campaign file, one that is there or one that could be."""
    path = Path(word)
    kind = _recognize(path)
    return kind == CAMPAIGN or (path.suffix == ".toml" and kind != DATABASE)


def _recognize(path: Path) -> str | None:
    try:
        return recognize(path) if path.is_file() else None
    except (OSError, ValueError):  # too long for a file's name, or with a character that none has
        return None
