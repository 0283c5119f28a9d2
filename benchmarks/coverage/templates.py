"""Walks with the settings that campaigns have by themselves: how often what they show holds the truth."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.coverage import walks
from benchmarks.coverage.table import Shown, repeat
from benchmarks.coverage.worlds import Place, places
from socialcrawl.crawls.sample.section import SampleSection

TITLE = "Samples and audits with the settings of `init`, and repeated looks"
SECTION = SampleSection()
OFTEN = 100  # accounts read from one look to the next
NOTE = f"""The same runs with the settings that `socialcrawl init` writes: {SECTION.walkers} walkers with a burn-in
of {SECTION.burn_in} visits. The last column is for a user who runs the report every {OFTEN} steps and stops when it
shows estimates. One row is for both audited collections, and one for both gaps of each. The first three bars of the
histogram are accounts with no link, with one, and with two or three. A report shows no bar in which it saw no
account."""

RUNS = KEPT = 40
APART = False


def measure(runs: int) -> list[Shown]:
    """Return what `runs` runs on each graph showed."""
    return repeat(places(), runs, find_intervals)


def find_intervals(
    place: Place, seed: int, lengths: Sequence[int] = walks.LENGTHS, often: int = OFTEN
) -> Iterator[Shown]:
    """Yield what one run shows at each length, and at the first look that shows anything; alike rows have one name."""
    set_so = {"walkers": SECTION.walkers, "burn_in": SECTION.burn_in}
    for one in walks.find_intervals(place, seed, lengths, often=often, **set_so):
        name = re.sub("^audit of .*?: ", "audit: ", one.interval)
        yield replace(one, interval=re.sub("(largest group|gap listed first)", "a gap", name))
