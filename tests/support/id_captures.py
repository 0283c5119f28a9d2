"""What the tests of captures of ids share: settings, ids of the generated posts, an import, and what is still there."""

from functools import lru_cache

import archive_captures
import numpy as np
import test_guarantees
from stores import opened
from x_crawls import posts

from socialcrawl.campaign.settings import check_settings
from socialcrawl.importers.import_ids import IdFiles, import_ids
from socialcrawl.mock.world import build_world
from socialcrawl.storage.database.connection import open_database

GONE = 0.25  # the share of accounts that are not there
EVERY = 6  # each sixth post is in the list
UNKNOWN = "77"  # an id that no post has
STATES = "select position, id, post, state from wanted_post order by 1"


def hydrating(url, place, *, capture=None, **more):
    """The settings of a capture that fetches posts by their ids, and searches for none."""
    given = archive_captures.capturing(url, place, **more)
    return {**given, "capture": {"ids": True, **(capture or {})}}


@lru_cache
def world():
    return build_world(posts(), GONE)


def list_chosen(every=EVERY):
    """The positions of the posts in the list, newest first, so that their order is not that of time."""
    return np.arange(0, len(posts()), every)[::-1].tolist()


def list_ids(every=EVERY):
    """The ids of X in the list; one of them is of no post."""
    made = world()
    return [UNKNOWN, *(str(made.ids[post]) for post in list_chosen(every))]


def list_texts(chosen=None):
    """The texts of those posts of the list whose authors are there."""
    made = world()
    return sorted(made.texts[post] for post in (chosen or list_chosen()) if made.visible[post])


def bring(given, folder, ids, name="ids.txt"):
    """Import ids into the campaign of some settings; what came of it."""
    file = folder / name
    file.write_text("".join(f"{one}\n" for one in ids))
    settings = check_settings(given, "test")
    with open_database(settings.database) as connection:
        added, trouble = import_ids(IdFiles([file]), connection, settings, 1_800_000_000.0)
    assert not trouble.count
    return added


def found(place):
    """What the campaign has found, with the states of its ids; see `test_guarantees.found`."""
    with opened(place) as connection, connection.begin():
        states = [tuple(row) for row in connection.exec_driver_sql(STATES)]
    return {**test_guarantees.found(place), "ids": states}
