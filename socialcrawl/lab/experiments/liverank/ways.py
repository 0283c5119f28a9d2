"""Ways to order a world for testing, and which of them each figure of the paper compares."""

from dataclasses import dataclass

from socialcrawl.crawls.refresh.liveranks import STATIC, TRAININGS

LETTERS = {
    "random": "R",
    "indegree": "I",
    "pagerank": "P",
    "pa": "Pa",
    "pa+-": "Pa+/-",
    "asf": "ASF",
    "bfs": "BFS",
    "ai": "AI",
    "dpr": "DPR",
}
WEB_Z, WEB06_Z, SOCIAL_Z = 0.0054, 0.0064, 0.0024  # shares of n: 100,000 of uk-2002, 200,000 of uk-2006, Twitter's
LEAST = 100  # nodes tested first, at least: of a small graph the paper's shares are next to nothing


@dataclass(frozen=True)
class Way:
    """One LiveRank with its training set.

    Attributes:
        rank: one of `refresh.ranks.RANKS`.
        training: how its training set is chosen: random, indegree, pagerank; of no meaning for static ranks.
        neighbours: whether the training set may hold neighbours of its own nodes.
        times: the size of the training set, as a multiple of the figure's.
        by: what its curve is called by: "rank", "training", "z", or "both" (rank and training).
    """

    rank: str
    training: str = "pagerank"
    neighbours: bool = True
    times: float = 1.0
    by: str = "rank"

    def label(self, z: int) -> str:
        """Return what figures call it, where z nodes are tested first."""
        training = self.training if self.neighbours else f"{self.training}-apart"
        names = {"rank": LETTERS[self.rank], "training": training, "z": f"z={z:,}"}
        return names.get(self.by) or f"{LETTERS[self.rank]}:{training}"

    def chance(self) -> bool:
        """Return whether its order depends on a seed."""
        return self.rank in ("random", "asf") or (self.rank not in STATIC and self.training == "random")


@dataclass(frozen=True)
class Frame:
    """What one frame of a figure compares: a title, the ways, and z as a share of all nodes."""

    title: str
    ways: tuple[Way, ...]
    share: float

    def z(self, size: int, way: Way, given: int | None = None) -> int:
        """Return how many of `size` nodes a way tests first: its multiple of the share, or of the number given."""
        usual = max(LEAST, round(self.share * size)) if given is None else given
        return min(size, max(1, round(way.times * usual)))


def _list_main_ways(training: str, *more: Way) -> tuple[Way, ...]:
    return (*map(Way, STATIC), Way("pa", training), Way("pa+-", training), *more)


def _list_trained_ways(rank: str) -> tuple[Way, ...]:
    apart = tuple(Way(rank, kind, neighbours=False, by="training") for kind in TRAININGS[1:])
    return (*(Way(rank, kind, by="training") for kind in TRAININGS), *apart)


def _list_swept_ways(rank: str, training: str, times: tuple[float, ...]) -> tuple[Way, ...]:
    return tuple(Way(rank, training, times=one, by="z") for one in times)


def _list_dynamic_ways(training: str, landmark: Way) -> tuple[Way, ...]:
    return (landmark, Way("bfs", training), Way("ai", training))


def _list_dynamic_frames(landmark: Way) -> tuple[Way, ...]:
    return (landmark, *(Way(rank, kind, by="both") for rank in ("bfs", "ai") for kind in TRAININGS))


FRAMES: dict[str, tuple[Frame, ...]] = {
    "fig4": (Frame("training by PageRank", _list_main_ways("pagerank"), WEB_Z),),
    "fig5": (
        Frame("size of the training set (Pa+/-)", _list_swept_ways("pa+-", "pagerank", (0.5, 1, 2, 5)), WEB_Z),
        Frame("kind of training set (Pa+/-)", _list_trained_ways("pa+-"), WEB_Z),
    ),
    "fig6": (
        Frame("dynamic, training at random", _list_dynamic_ways("random", Way("pa+-", "random")), WEB_Z),
        Frame("kind of training set", _list_dynamic_frames(Way("pa+-", "random", by="both")), WEB_Z),
    ),
    "fig7": (Frame("training at random", _list_main_ways("random"), WEB06_Z),),
    "fig8": (Frame("training at random", (Way("random"), Way("pa+-", "random"), Way("asf", "random")), WEB_Z),),
    "fig9": (Frame("training by PageRank", _list_main_ways("pagerank"), SOCIAL_Z),),
    "fig10": (
        Frame("size of the training set (Pa)", _list_swept_ways("pa", "pagerank", (2, 4, 7, 10)), SOCIAL_Z),
        Frame("kind of training set (Pa)", _list_trained_ways("pa"), SOCIAL_Z),
    ),
    "fig11": (
        Frame("dynamic, training by PageRank", _list_dynamic_ways("pagerank", Way("pa")), SOCIAL_Z),
        Frame("kind of training set", _list_dynamic_frames(Way("pa", "pagerank", by="both")), SOCIAL_Z),
    ),
    "dpr": (
        Frame("training at random", tuple(Way(rank, "random") for rank in ("pa", "pa+-", "ai", "dpr")), WEB_Z),
        Frame("training by PageRank", tuple(map(Way, ("pa", "pa+-", "ai", "dpr"))), WEB_Z),
    ),
}
"""The figures of cost curves, frame by frame; dpr is what the paper tried and did not draw."""
