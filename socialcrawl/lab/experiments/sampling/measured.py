"""Statistics of a sample beside their truth: out-degrees, domains, links that stay on topic, sub-topics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from socialcrawl.crawls.sample.estimates import Estimate, Series
from socialcrawl.lab.experiments.sampling.truths import (
    DEGREE_BINS,
    FRACTIONS,
    degree_bin,
    fraction_bin,
    out_degrees,
    shares,
    staying,
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


def degrees(world: PageWorld) -> Quantity:
    """Return the distribution of out-degrees (figure 1)."""
    return Quantity("degrees", DEGREE_BINS, degree_bin(out_degrees(world)))


def domains(world: PageWorld, topic: PageTopic) -> Quantity:
    """Return the distribution of domains, without those that no page on topic has (figure 2)."""
    used = np.flatnonzero(np.bincount(world.domain[topic.on & world.there], minlength=len(world.domains)))
    place = np.full(len(world.domains), 0)
    place[used] = np.arange(len(used))
    return Quantity("domains", [world.domains[one] for one in used.tolist()], place[world.domain])


def links(world: PageWorld, topic: PageTopic) -> Quantity:
    """Return the distribution of the fraction of a page's links that stay on topic (figures 4, 5)."""
    return Quantity("staying", FRACTIONS, fraction_bin(staying(world, topic.on)))


def part(topic: PageTopic, name: str) -> Quantity:
    """Return the share of a sub-topic (figure 3)."""
    return Quantity(name, ("without", name), np.asarray(topic.parts[name], np.int64))


def camps(topic: PageTopic) -> Quantity:
    """The shares of pages that tell of the first part only, of the second only, of both, of neither (figure 4)."""
    first, second = list(topic.parts)[:2]
    place = np.asarray(topic.parts[first], np.int64) + 2 * np.asarray(topic.parts[second], np.int64)
    return Quantity("camps", ("neither", f"{first} only", f"{second} only", "both"), place)


def truth(quantity: Quantity, on: Flags) -> Any:
    """Return the share of each bin among the pages of `on`, float64[bins]."""
    return shares(quantity.place[on], len(quantity.bins))


def estimates(visits: Table, quantity: Quantity) -> list[Estimate]:
    """Return the estimated share of each bin."""
    place = quantity.place[visits["node"]]
    series = Series.of(visits["weight"], visits["walk"], place)
    return [series.share(place == number) for number in range(len(quantity.bins))]


def compared(
    visits: Table, quantity: Quantity, world: PageWorld, topic: PageTopic, method: str
) -> list[dict[str, Any]]:
    """A row a bin: world, topic, method, quantity, bin, truth (of all on topic), share, low, high, effective size."""
    true = truth(quantity, topic.on & world.there)
    named = {"world": world.name, "topic": topic.name, "method": method, "quantity": quantity.name}
    return [
        {**named, "bin": name, "truth": float(true[number]), "share": one.value, "low": one.low, "high": one.high,
         "effective": one.effective}
        for number, (name, one) in enumerate(zip(quantity.bins, estimates(visits, quantity), strict=True))
    ]  # fmt: skip
