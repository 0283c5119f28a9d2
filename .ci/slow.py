"""Write tests/slow.txt, the tests that `make test` leaves to `make test-all`, from a run of all: see the Makefile.

A test is slow if all its cases together take longer than LONGEST seconds and it is none of KEEP. So `make test` covers
each feature: sequences, contracts, a kill test on each database, a crawl on each platform, the command line.
"""

import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree as ET

LIST = Path(__file__).parent.parent / "tests" / "slow.txt"
LONGEST = 0.8  # seconds
KEEP = (
    "test_golden_sequences.py::",
    "test_house.py::",
    "test_crash.py::test_a_crawl_that_dies_again_and_again_arrives",
    "test_store_contract.py::",
    "test_platforms.py::test_every_platform_shows_the_same_graph",
    "test_refresh_guarantees.py::",
    "test_sample_guarantees.py::",
    "test_cli.py::test_a_campaign_is_begun_run_paused_and_gone_on_with",
    "test_added_kind.py::test_a_campaign_of_an_added_kind_runs_reports_explains_verifies_and_exports",
    "test_added_platform.py::test_an_added_platform_is_crawled_reported_explained_verified_exported_and_made_to_forget",
    "test_capture_campaign.py::test_every_match_of_the_archive_is_stored_once_and_paid_once",
    "test_live_capture_x.py::test_the_past_and_what_appears_is_stored_once",
    "test_migrations.py::test_a_newer_schema_is_refused_on_every_database_and_nothing_is_changed",
)


def list_slow(*reports: Path) -> list[str]:
    """Return the slow tests of JUnit reports, as file::function, in order."""
    seconds: Counter[str] = Counter()
    cases = chain.from_iterable(ET.parse(report).iter("testcase") for report in reports)  # noqa: S314 - ours
    for case in cases:
        file = case.attrib["classname"].split(".")[-1] + ".py"
        name = case.attrib["name"].split("[", maxsplit=1)[0]
        seconds[f"{file}::{name}"] += float(case.attrib["time"])
    return sorted(name for name, taken in seconds.items() if taken > LONGEST and not name.startswith(KEEP))


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in list_slow(*map(Path, sys.argv[1:]))), "utf-8")
