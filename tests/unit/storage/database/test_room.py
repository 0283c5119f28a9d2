"""How much of a disk stays free: written with a unit, a small disk keeps less, a server has a disk of its own."""

from pathlib import Path

import pytest
from postgres import a_server_database
from x_crawls import campaign_of, crawl, posts_file, rows

from socialcrawl.campaign.sections.access import LimitsSection
from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.connection import open_database
from socialcrawl.storage.database.disk_space import DiskReserve, DiskSpace, measure_database, measure_disk
from socialcrawl.text.wording import parse_size

FILE = Path("a.db")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("500 MB", 500_000_000), ("1.5gb", 1_500_000_000), ("2 TB", 2 * 10**12), ("10kB", 10_000), ("7 b", 7), ("0", 0)],
)
def test_a_size_is_written_with_its_unit(written, meant):
    assert parse_size(written) == meant
    assert LimitsSection(min_free_disk=written).least_free == meant


@pytest.mark.parametrize("written", ["", "500", "MB", "-1 MB", "1 MiB", "1e9 b", "5 m"])
def test_what_is_no_size_is_refused_with_how_to_write_it(written):
    with pytest.raises(SettingsError, match="write 500 MB or 2 GB"):
        parse_size(written)
    with pytest.raises(ValueError, match="write 500 MB or 2 GB"):
        LimitsSection(min_free_disk=written)


def test_a_number_without_a_unit_is_refused():
    with pytest.raises(ValueError, match="write it with its unit and in quotes"):
        LimitsSection(min_free_disk=500)


@pytest.mark.parametrize(
    ("least", "disk", "lacks"),
    [
        (None, DiskSpace(200_000_000, 10**12), False),
        (None, DiskSpace(199_999_999, 10**12), True),
        (None, DiskSpace(2_000_000, 10**8), False),  # a small disk keeps 2 %
        (None, DiskSpace(1_999_999, 10**8), True),
        (10**9, DiskSpace(2_000_000, 10**8), True),
        (0, DiskSpace(0, 10**8), False),
        (None, None, False),
    ],
)
def test_campaigns_stop_where_less_is_free_than_they_leave(least, disk, lacks):
    assert (DiskReserve(FILE, least, lambda file: disk).describe_shortage() is not None) == lacks


def test_a_margin_keeps_a_campaign_from_beginning_and_stopping_by_turns():
    reserve = DiskReserve(FILE, 1000, lambda file: DiskSpace(1050, 10**9))
    assert (reserve.describe_shortage(), reserve.describe_shortage(1.1) is None) == (None, False)


def test_the_disk_of_a_file_is_looked_at_also_before_the_file_is_there(tmp_path):
    there = measure_disk(tmp_path / "a.db")
    assert 0 < there.free < there.total
    assert measure_disk(tmp_path / "nowhere" / "a.db") is None


def test_the_room_of_a_database_is_its_size_and_what_is_free(tmp_path):
    with open_database(tmp_path / "a.db") as connection:
        room = measure_database(connection, lambda file: DiskSpace(77, 100))
        files = [tmp_path / "a.db", tmp_path / "a.db-wal"]
        assert room == (sum(file.stat().st_size for file in files if file.exists()), 77)


def test_of_a_server_the_size_is_known_and_nobody_looks_at_a_disk():
    with a_server_database() as place, open_database(place) as connection:
        size, free = measure_database(connection, lambda file: 1 / 0)
        assert DiskReserve(place, None, lambda file: 1 / 0).describe_shortage() is None
    assert (size > 1_000_000, free) == (True, None)


def test_a_run_stops_before_it_asks_where_the_disk_has_less_room_and_goes_on_when_less_is_to_stay_free(tmp_path):
    """The disk is the one of the tests."""
    path = tmp_path / "a.db"
    with serve_in_thread(posts_file()) as mock:
        for least, kind in (("100000 TB", "room"), ("0", "done")):
            reason, _ = crawl(campaign_of(mock.url, path, crawl={"steps": 3}, limits={"min_free_disk": least}))
            assert reason.kind == kind
            if kind == "room":
                assert reason.why.startswith(f"less than 100,000,000 GB are free on the disk of {path}")
                assert rows(path, "select count(*) from pick") == [(0,)]
    assert rows(path, "select count(*) from pick where act = 'expand'") == [(3,)]
