"""Opening a database of campaigns for reading."""

import os
from pathlib import Path

from socialcrawl.api.argument_checks import PATH, check_arguments
from socialcrawl.api.dataset import Dataset
from socialcrawl.storage.database.address import parse_address


@check_arguments(place=PATH)
def open_dataset(place: "str | os.PathLike[str]") -> Dataset:
    """Open a database for reading.

    The file stays as it is, and a campaign may run at the same time. An SQLite file of an older version is copied to a
    temporary folder and read there, which takes its size in disk space each time: `socialcrawl report FILE` upgrades
    the file once. A server's database is not copied: upgrade it first.

    Args:
        place: an SQLite file, or `postgresql://USER@HOST/NAME`.

    Raises:
        StoreError: it is not there, is no database of socialcrawl, or is an older version's on a server.

    Example:
        >>> with sc.open("example.db") as data:
        ...     print(data.campaigns)
        ['sky']
    """
    return Dataset(parse_address(os.fspath(place)) if isinstance(place, str) else Path(place))
