"""Generated worlds: a web of hosts and domains with topics planted as communities, and texts that tell of them.

Every page is on a host, a host in a domain. A host has a topic or none; its pages have it too, mostly. A link goes to a
page of the same host, of the same topic, or of the same region (uk), or anywhere, always to famous pages rather than to
others; some are answered. Topics:

    cycling    one cohesive community; `mountain biking` is a part of it, at home on some hosts
    abortion   two camps that hardly link to each other: pro-choice and pro-life
    hiv        a smaller community, mostly of .org
    uk         all pages of a domain, whatever they are about: dense, large

The first three are told by a keyword, which some of their pages lack and some others have; `about` is what was planted.
Each is a part of a wider topic: cycling of riding, abortion and hiv of health, which are told by more words, and uk of
a europe that has .de as well.
A trap is a large host of cycling that links to itself: a walk gets in easily, and hardly out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.sampling.worlds import (
    Flags,
    Floats,
    Ints,
    PageTopic,
    PageWorld,
    find_mentions,
    link_pages,
    make_word_topic,
)

GENERAL, CYCLING, CHOICE, LIFE, HIV = range(5)
HOSTS = (0.70, 0.12, 0.045, 0.045, 0.09)  # how hosts divide among these
DOMAINS = ("com", "org", "net", "edu", "gov", "de", "other", "co.uk", "org.uk", "ac.uk", "gov.uk")
UK = (0.66, 0.16, 0.13, 0.05)  # how hosts in .uk divide among the last four
FIRST_UK, DE = 7, 5
DOMAIN_OF = (  # of the hosts of each: com, org, net, edu, gov, de, other, and uk
    (0.40, 0.11, 0.08, 0.09, 0.03, 0.07, 0.09, 0.13),
    (0.56, 0.08, 0.09, 0.03, 0.01, 0.05, 0.06, 0.12),
    (0.27, 0.42, 0.05, 0.11, 0.04, 0.01, 0.05, 0.05),
    (0.33, 0.45, 0.07, 0.02, 0.01, 0.01, 0.05, 0.06),
    (0.16, 0.40, 0.04, 0.16, 0.10, 0.02, 0.04, 0.08),
)
DEGREE = (9.0, 7.0, 11.0, 11.0, 9.0)  # median number of links, of pages of each
STAYS = 0.85  # share of a host's pages that have its topic
SAME_HOST, SAME_TOPIC, SAME_REGION, ANSWERED = 0.22, 0.45, 0.35, 0.25
ACROSS = 0.03  # share of topical links of abortion that go to the other camp
MOUNTAIN = (0.06, 0.55)  # share of mountain biking on usual hosts of cycling, and on those that it is at home on
SPREAD, FAME = 0.9, 1.5  # of degrees (log-normal) and of fame (Pareto)
MOST = 250  # links of a page
WORDS = 24  # usual words of a text
USUAL = "the of and to in page home site news links contact info welcome free online search people time year service"
RIDING, CAMPS, POSITIVE = {CYCLING: 0.4}, {CHOICE: 0.4, LIFE: 0.35}, {HIV: 0.45}
TOPICAL: Mapping[str, Mapping[int, float]] = {  # how often pages of each have a word; others have it with FAINT
    "cycling": {CYCLING: 0.86},
    **dict.fromkeys(("bike", "pedal", "saddle", "gear", "rider"), RIDING),
    "abortion": {CHOICE: 0.92, LIFE: 0.9},
    "pro-choice": {CHOICE: 0.7, LIFE: 0.14},
    "pro-life": {CHOICE: 0.12, LIFE: 0.74},
    **dict.fromkeys(("clinic", "pregnancy", "court"), CAMPS),
    "hiv": {HIV: 0.9},
    **dict.fromkeys(("aids", "virus", "treatment", "infection"), POSITIVE),
}
FAINT = 0.006
ABOVE = ({CYCLING}, {CHOICE, LIFE, HIV})  # what riding, and health, are made of


@dataclass(frozen=True)
class TopicWebParameters:
    """The shape of a generated world.

    Attributes:
        pages: n.
        trap: share of pages on the trap; 0: none.
        seed: of all draws.
    """

    pages: int = 20_000
    trap: float = 0.01
    seed: int = 1


def generate_web(shape: TopicWebParameters) -> PageWorld:
    """Return the world of a shape; the same for the same shape.

    Raises:
        SettingsError: it has too few pages, or too large a trap.
    """
    if shape.pages < 200 or not 0 <= shape.trap <= 0.2:
        raise SettingsError("A generated world has 200 pages or more, and a trap of 0 to 0.2 of them.")
    rng = make_generator(shape.seed, "sampling world", shape.pages)
    host, domain, theme, trapped = _draw_pages(shape, rng)
    graph = link_pages(*_draw_links(host, domain, theme, trapped, rng), shape.pages)
    texts = _write_texts(host, theme, rng)
    hosts = [f"{number}.{DOMAINS[place]}" for number, place in zip(host.tolist(), domain.tolist(), strict=True)]
    there = np.ones(shape.pages, bool)
    about = {"cycling": theme == CYCLING, "abortion": (theme == CHOICE) | (theme == LIFE), "hiv": theme == HIV}
    return PageWorld("generated", graph, hosts, domain, DOMAINS, _make_topics(texts, domain), there, texts, about)


def _make_topics(texts: Sequence[str], domain: Ints) -> dict[str, PageTopic]:
    europe = (domain >= FIRST_UK) | (domain == DE)
    riding, health = (
        find_mentions(texts, *(word for word, shares in TOPICAL.items() if some & {*shares})) for some in ABOVE
    )
    found = [
        PageTopic("uk", domain >= FIRST_UK, {"cycling": make_word_topic(texts, "", ["cycling"]).on}, europe),
        make_word_topic(texts, "cycling", ["cycling"], ["mountain biking"]),
        make_word_topic(texts, "abortion", ["abortion"], ["pro-choice", "pro-life"]),
        make_word_topic(texts, "hiv", ["hiv", "aids"], ["treatment"]),
    ]
    above = {"cycling": riding, "abortion": health, "hiv": health}
    return {one.name: replace(one, wider=above.get(one.name, one.wider)) for one in found}


def _draw_pages(shape: TopicWebParameters, rng: np.random.Generator) -> tuple[Ints, Ints, Ints, Flags]:
    """Return the host, domain and theme of every page, int64[n] each, and which are on the trap."""
    many = max(20, shape.pages // 40)
    theme = rng.choice(5, many, p=HOSTS)
    theme[:10] = [GENERAL, CYCLING, CHOICE, LIFE, HIV] * 2  # however small, a world has all
    domain = np.array([rng.choice(FIRST_UK + 1, p=DOMAIN_OF[one]) for one in theme.tolist()])
    domain += np.where(domain == FIRST_UK, rng.choice(len(UK), many, p=UK), 0)
    sizes = rng.lognormal(0.0, 0.8, many)
    host = np.sort(rng.choice(many, shape.pages, p=sizes / sizes.sum()))
    themes = np.where(rng.random(shape.pages) < STAYS, theme[host], GENERAL)
    trapped = np.zeros(shape.pages, bool)
    trapped[: round(shape.trap * shape.pages)] = True
    host = np.where(trapped, many, host)
    themes[trapped] = CYCLING
    return host, np.where(trapped, 0, domain[host % many]), themes, trapped


def _draw_links(host: Ints, domain: Ints, theme: Ints, trapped: Flags, rng: np.random.Generator) -> tuple[Ints, Ints]:
    pages = len(host)
    fame = np.minimum(rng.pareto(FAME, pages) + 0.2, 60.0)
    lengths = np.clip(np.array(DEGREE)[theme] * rng.lognormal(0.0, SPREAD, pages), 1, MOST).astype(np.int64)
    source = np.repeat(np.arange(pages), lengths)
    own, kind = theme[source], rng.random(len(source))
    camp = np.where(np.isin(own, (CHOICE, LIFE)) & (rng.random(len(source)) < ACROSS), CHOICE + LIFE - own, own)
    region = np.where(domain >= FIRST_UK, 1, 0)
    regional = (region[source] == 1) & (rng.random(len(source)) < SAME_REGION)
    target = _draw_targets(np.zeros(pages, np.int64), np.zeros(len(source), np.int64), fame, rng)
    target = np.where(regional, _draw_targets(region, region[source], fame, rng), target)
    topical = (kind < SAME_HOST + SAME_TOPIC) & (own != GENERAL)
    target = np.where(topical, _draw_targets(theme, camp, fame, rng), target)
    near = (kind < SAME_HOST) | (trapped[source] & (kind < 0.97))
    target = np.where(near, _draw_targets(host, host[source], fame, rng), target)
    back = rng.random(len(source)) < ANSWERED
    back &= ~(trapped[target] & ~trapped[source])  # a trap does not answer
    return np.concatenate((source, target[back])), np.concatenate((target, source[back]))


def _draw_targets(group: Ints, wanted: Ints, fame: Floats, rng: np.random.Generator) -> Ints:
    """Return a page of each wanted group, int64[m], drawn by fame."""
    order = np.argsort(group, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(fame[order])))
    low = total[np.searchsorted(group[order], wanted, side="left")]
    high = total[np.searchsorted(group[order], wanted, side="right")]
    place = np.searchsorted(total, low + rng.random(len(wanted)) * (high - low), side="right") - 1
    return np.asarray(order[np.minimum(place, len(order) - 1)])


def _write_texts(host: Ints, theme: Ints, rng: np.random.Generator) -> list[str]:
    pages = len(host)
    usual = np.array(USUAL.split())[np.minimum(rng.geometric(0.1, (pages, WORDS)) - 1, USUAL.count(" "))]
    texts = [" ".join(words) for words in usual.tolist()]
    home = rng.random(int(host.max()) + 1)[host] < 0.25  # of mountain biking
    mountain = (theme == CYCLING) & (rng.random(pages) < np.where(home, MOUNTAIN[1], MOUNTAIN[0]))
    for word, shares in TOPICAL.items():
        likely = np.full(5, FAINT)
        likely[list(shares)] = list(shares.values())
        _say(texts, word, rng.random(pages) < likely[theme])
    _say(texts, "mountain biking", mountain)
    return texts


def _say(texts: list[str], word: str, where: NDArray[np.bool_]) -> None:
    for page in np.flatnonzero(where).tolist():
        texts[page] += f" {word}"
