"""Statistics of a sample beside their truth: out-degrees, domains, links that stay on topic, sub-topics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from socialcrawl.crawls.sample.estimates import Estimate, Series
from socialcrawl.lab.experiments.sampling.truths import (
    DEGREE_BINS,
    FRACTIONS,
    compute_shares,
    count_out_degrees,
    find_degree_bin,
    find_fraction_bin,
    measure_staying,
)
from socialcrawl.lab.experiments.sampling.worlds import Flags, Ints, PageTopic, PageWorld
from socialcrawl.lab.result_tables import Table


@dataclass(frozen=True, eq=False)
class Quantity:
    """What is counted of pages: a bin for each.

    Attributes:
        name: degrees, domains, staying, or a sub-topic.
        bins: what the bins are called.
        place: int64[n], the bin of each page.
    """

    name: str
    bins: Sequence[str]
    place: Ints


def count_degrees(world: PageWorld) -> Quantity:
    """Return the distribution of out-degrees (figure 1)."""
    return Quantity("degrees", DEGREE_BINS, find_degree_bin(count_out_degrees(world)))


def count_domains(world: PageWorld, topic: PageTopic) -> Quantity:
    """Return the distribution of domains, without those that no page on topic has (figure 2)."""
    used = np.flatnonzero(np.bincount(world.domain[topic.on & world.there], minlength=len(world.domains)))
    place = np.full(len(world.domains), 0)
    place[used] = np.arange(len(used))
    return Quantity("domains", [world.domains[one] for one in used.tolist()], place[world.domain])


def count_staying_links(world: PageWorld, topic: PageTopic) -> Quantity:
    """Return the distribution of the fraction of a page's links that stay on topic (figures 4, 5)."""
    return Quantity("staying", FRACTIONS, find_fraction_bin(measure_staying(world, topic.on)))


def count_part(topic: PageTopic, name: str) -> Quantity:
    """Return the share of a sub-topic (figure 3)."""
    return Quantity(name, ("without", name), np.asarray(topic.parts[name], np.int64))


def count_camps(topic: PageTopic) -> Quantity:
    """Return the shares of pages that mention the first part only, the second only, both, neither (figure 4)."""
    first, second = list(topic.parts)[:2]
    place = np.asarray(topic.parts[first], np.int64) + 2 * np.asarray(topic.parts[second], np.int64)
    return Quantity("camps", ("neither", f"{first} only", f"{second} only", "both"), place)


def compute_truth(quantity: Quantity, on: Flags) -> Any:
    """Return the share of each bin among the pages of `on`, float64[bins]."""
    return compute_shares(quantity.place[on], len(quantity.bins))


def estimate_shares(visits: Table, quantity: Quantity) -> list[Estimate]:
    """Return the estimated share of each bin."""
    place = quantity.place[visits["node"]]
    series = Series.of(visits["weight"], visits["walk"], place)
    return [series.estimate_share(place == number) for number in range(len(quantity.bins))]


def compare_shares(
    visits: Table, quantity: Quantity, world: PageWorld, topic: PageTopic, method: str
) -> list[dict[str, Any]]:
    """Return a row for each bin: world, topic, method, quantity, bin, truth, share, low, high, effective size."""
    true = compute_truth(quantity, topic.on & world.there)
    named = {"world": world.name, "topic": topic.name, "method": method, "quantity": quantity.name}
    return [
        {**named, "bin": name, "truth": float(true[number]), "share": one.value, "low": one.low, "high": one.high,
         "effective": one.effective}
        for number, (name, one) in enumerate(zip(quantity.bins, estimate_shares(visits, quantity), strict=True))
    ]  # fmt: skip
