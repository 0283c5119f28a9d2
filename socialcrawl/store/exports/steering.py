"""How campaigns of other kinds than collect chose whom to ask, in the words of their datasheets."""

from collections.abc import Iterator, Mapping
from typing import Any

from socialcrawl.words import pluralize

TRACK, REFRESH, SAMPLE = KINDS = ("track", "refresh", "sample")
ALL, NEVER = "all", "never"  # a window or a memory without end; what is not done again
COLLECTS = (
    "estimator", "switch_after", "start", "strategy", "q", "zeta", "control", "nr_d", "features", "regressor",
    "shadows",
)  # fmt: skip
"""Keys of [crawl] that say nothing about campaigns of these kinds."""
MATTERS = {
    TRACK: "the accounts that count, and what they write",
    REFRESH: "the accounts of an old dataset that are still active",
    SAMPLE: "what the accounts that speak of the topic are like, all of them together",
}
DOES = {
    TRACK: "which finds accounts that count and goes back to them for what they wrote since",
    REFRESH: "which checks which accounts of an old dataset are active, the likely ones first",
    SAMPLE: "which walks along links at random to draw accounts that speak of the topic",
}
DRAWN = {
    REFRESH: """\
Accounts that were imported are those of an old dataset: what that was drawn from, and how, only its makers know. Those
that were not tested yet say nothing about its state today. Unless all were tested, those that were are no random
sample of it, but for the ones that were drawn by lot.""",
    SAMPLE: """\
Accounts that walks visited are a random sample of those that speak of the topic and can be reached from the seeds, as
far as the walks have mixed; where no link connects parts of these, of the largest part. They are drawn with unequal
chances: statistics have to weigh them (table `sampled`, `socialcrawl audit`).""",
}
"""What is said of kinds of campaigns: what matters to them, what they do, how their accounts were chosen."""

TARGETS = {
    "indegree": "links to an account that were seen; they never expire",
    "importance": "OPIC's cash, which an account has from those who link to it",
    "relevance": "the relevance of those who link to an account, times the weight of the link",
}
EXPANSIONS = {
    "gai": "the one that counts most; of equals the one discovered first",
    "ai": "one by lot, in proportion to how much it counts",
    "opic": "the one with the most of OPIC's cash",
}
RECRAWLS = {
    "u": "anybody, by equal lot",
    "or": "one by lot, in proportion to the links that were seen in its posts",
    "yr": "one by lot, in proportion to the new links per second between its two latest visits",
    "yru": "one by lot, in proportion to the new links per second between its two latest visits, or anybody, by a coin",
    "ldu": "the one whose latest visit brought links to the accounts that are linked to most, or anybody, by a coin",
    "ydu": "the one with the most new links per second between its two latest visits, or anybody, by a coin",
    "oru": "one by lot, in proportion to the links that were seen in its posts, or anybody, by a coin",
    "opic": "the one with the most of OPIC's cash",
}
PARALLEL = {"once": "once, however often it was seen", "visits": "once for each visit that brought it"}

RANKS = {
    "random": "by lot",
    "indegree": "whom most accounts of the dataset link to first",
    "pagerank": "by PageRank in the dataset",
    "pa": "by PageRank that starts from those of them that were found active",
    "pa+-": "by PageRank that starts from those found active, over that which starts from those found not to be",
    "asf": "by the share of their site's accounts that were found active",
    "bfs": "those first to whom the accounts found active link, in the order in which these were found",
    "ai": "by how many accounts that were found active link to them",
    "dpr": "by PageRank that starts from the best of those found active, computed again with the answers",
}
FOCUSES = {
    "none": "anywhere, and those off topic are left out afterwards",
    "hard": "to accounts on topic only, and stays where it is when it draws another",
    "neighbourhood": "to accounts on topic and to those from which short walks of {k} links meet one",
    "trial": "to anybody, and back when {k} accounts in a row were off topic",
    "ancestor": "to accounts on topic and to those on a wider topic, which are left out afterwards",
}


def chosen(track: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on who was asked, from the settings under [track]; nothing is said of those that are not there."""
    for key, names, said in (
        ("target", TARGETS, "what counts"),
        ("expansion", EXPANSIONS, "asked among accounts that were not read yet"),
        ("recrawl", RECRAWLS, "gone back to among those that were read and are rested"),
        ("parallel", PARALLEL, "how often a link between two accounts counts"),
    ):
        if key in track:
            yield f"{said}: {names.get(track[key], track[key])}"
    if "p" in track:
        yield f"visits that go back: {track['p']:.0%}, as long as there is somebody for either"
    if "window" in track:
        window = track["window"]
        yield "posts that count: " + ("of any age" if window == ALL else f"those of the {window} before a visit")
    if "rest" in track:
        yield f"after a visit an account is left alone for {track['rest']}"
    if again := track.get("again"):
        yield "accounts that were lost are " + ("not tried again" if again == NEVER else f"tried again after {again}")
    yield from _cash(track)


def told(kind: str, section: Mapping[str, Any], platform: str = "x") -> Iterator[str]:
    """Sentences on how a campaign of another kind than collect chose, from the settings of its section."""
    yield f"kind: `{kind}`, {DOES[kind]}"
    if kind == TRACK:
        yield from chosen(section)
    if kind == REFRESH:
        yield from _tested(section, platform)
    if kind == SAMPLE:
        yield from _walked(section)


def steered(refresh: Mapping[str, Any], platform: str) -> tuple[str, str]:
    """The rank and the training set of a refresh, where they are left to us; see `RefreshSection.steering`."""
    web = platform == "web"
    counted = refresh.get("fraction") is not None and not refresh.get("check")
    usual = "pa+-" if web else "pa", "random" if web or counted else "pagerank"
    given = refresh["rank"], refresh["training"]
    return tuple(own if told == "auto" else told for told, own in zip(given, usual, strict=True))  # type: ignore[return-value]


def _tested(refresh: Mapping[str, Any], platform: str) -> Iterator[str]:
    if active := refresh.get("active"):
        rule = _active(active, platform)
        more = "; whoever is closed to strangers counts as active" if refresh.get("protected") else ""
        yield f"active is {rule}{more}"
    if check := refresh.get("check"):
        yield f"asked first: {pluralize(check, 'account')} by lot, to estimate how many are active"
    if {"rank", "training", "z"} <= refresh.keys():
        rank, training = steered(refresh, platform)
        first = pluralize(refresh["z"], "account")
        yield f"asked then, to learn from: {first} in the order {training}, {RANKS[training]}"
        yield f"asked after those: all others in the order {rank}, {RANKS[rank]}"
    if fraction := refresh.get("fraction"):
        if refresh.get("stop") == "bound":  # of older programs, that knew nothing else, it is the estimate
            yield f"it ends when at least {fraction:.0%} of the active ones are found (95% interval)"
            yield "accounts drawn by lot are asked too, where they tell whether that is so"
        else:
            yield f"it ends when {fraction:.0%} of the active ones, as estimated, are found"


def _active(active: str, platform: str) -> str:
    """Whoever is active by a rule; see `RefreshSection.rule` for what is left to us."""
    web = platform == "web"
    if active == "exists" or (active == "auto" and web):
        return "whoever exists"
    span = "180d" if active == "auto" else active
    if web:
        return f"whoever changed within {span} before the test, or does not tell when"
    return f"whoever posted within {span} before the test"


def _walked(sample: Mapping[str, Any]) -> Iterator[str]:
    if "focus" in sample:
        yield f"asked: whoever a walk draws next, by lot among the neighbours of where it is; it goes {_goes(sample)}"
    if sample.get("inward"):
        yield "neighbours are also who mentions an account, as far as the platform's search tells: the first 100"
    if "walkers" in sample:
        dropped = f"its first {pluralize(sample.get('burn_in', 0), 'visit')} on topic, as these tell where it began"
        yield f"{pluralize(sample['walkers'], 'walk')}, of which each drops {dropped}"
    if "weights" in sample:
        weighed = "one over its neighbours" if sample["weights"] == "degree" else "the time that a walk stays, as drawn"
        yield f"each visit weighs {weighed}, so that all accounts count alike"
    if sample.get("tree") or sample.get("labels") or sample.get("patterns") or sample.get("expressions"):
        yield "who is on topic is told by names, labels or a decision tree as well: ask whoever made the sample"
    elif "least" in sample:
        least = pluralize(sample["least"] or 1, "occurrence")
        yield f"on topic is an account with {least} of the topic in what was read of it"


def _goes(sample: Mapping[str, Any]) -> str:
    return FOCUSES[sample["focus"]].format(k=sample.get("k") or (3 if sample["focus"] == "trial" else 1))


def _cash(track: Mapping[str, Any]) -> Iterator[str]:
    """How OPIC's cash flows, and what importance remembers of it."""
    if track.get("topical"):
        yield "OPIC's cash goes along links in proportion to how often the topic occurs in the posts that make them"
    if extra := track.get("extra"):
        yield f"OPIC's virtual page adds {extra:g} to each unit of cash that goes along links with the topic"
    if lean := track.get("lean"):
        yield f"OPIC's cash leans to accounts that were {'never' if lean > 0 else 'already'} read: {abs(lean):g} of 1"
    if memory := track.get("memory"):
        length = "its whole history" if memory == ALL else f"the last {memory:g} of its clock G"
        yield f"OPIC's importance looks back on {length}"
