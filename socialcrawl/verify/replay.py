"""The decisions of a campaign, made again: a new crawl is told the stored history and has to choose what was chosen.

It is the crawl of the campaign itself, as after a restart: what it absorbs are the stored picks and outcomes, and it
chooses before it is told each batch. Only the moment of a choice is not stored. It lies between the answer before and
the first request after. A kind of campaign whose choices depend on it lists the moments in between; at one of them the
crawl has to make the stored choice.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from socialcrawl.crawls.base import Crawling
from socialcrawl.engine.model import Act, Node, Pick, Stop, Wait
from socialcrawl.engine.protocols import Batch, cut_history
from socialcrawl.importance.pagerank_batch import TOLERANCE
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.decisions import StoredBatch, find_forgotten, read_decided
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.verify.findings import ACCOUNT, Check, is_equal
from socialcrawl.verify.story import CampaignRecord, SettingsStage

LINE = (Act.SEARCH, Act.RESOLVE, Act.SEED)  # acts whose order the campaign file gives
CAPTURED = "came from a capture of the same database (act captured): nobody chose them"
IMPORTED = "came from a file (act import): nobody chose them"
BROUGHT = "came from a file of tests (import --as liveness): nobody chose them"
EARLIER = "decided for an earlier topic, whose values are not stored any more"
ERASED = "decided before something was erased, which may have led to them"
FORGOTTEN = "their account was forgotten"
ORDER = "seeds in another order than the campaign file gives now"
COARSE = "ranked with a wide tolerance, as by earlier versions: nearly the same score"
RENAMED = "seeds whose names in the campaign file are somebody else's, or nobody's, by now"
NEARLY = 1e-3  # relative: what PageRanks may be apart whose sweeps ended where their sum hardly changed
Watch = Callable[[str, int, int | None], None]


class DecisionReplay:
    """The decisions of a campaign, held against those that its crawl makes.

    Args:
        connection: the database, in a transaction.
        story: what the decisions rest on.

    Attributes:
        picks: who was asked, why, and since which mark.
        scores: the estimates, the features and the scores of the shadows.
    """

    def __init__(self, connection: Opened, story: CampaignRecord) -> None:
        self.connection, self.story = connection, story
        self.picks, self.scores = Check("picks"), Check("scores and features")
        self._history = CampaignTraces(connection).read_history(story.begun, story.columns)
        self._gone = find_forgotten(connection, story.begun.id)
        self._found: set[Node] = set()  # by searches
        self._renamed: set[Node] = set()  # seeds that no name leads to any more
        self._n = story.since

    @property
    def place(self) -> str:
        """Where it is."""
        return f"pick {self._n}"

    def run(self, watch: Watch = lambda what, done, total: None) -> Crawling:
        """Replay all decisions; the crawl as it is after the last of them."""
        story, what = self.story, f"replaying {self.story.begun.name}"
        self.picks.leave(EARLIER, story.since)
        self.scores.leave(EARLIER, story.since)
        stage, crawl = story.find_stage(story.since), self._make_crawl(story.find_stage(story.since))
        for one in read_decided(self.connection, story.begun.id, story.columns, story.since):
            self._n = one.batch[0].n
            if (now := story.find_stage(self._n)) is not stage:
                stage, crawl = now, self._make_crawl(now)
            self._judge(crawl, one)
            if one.outcomes:
                crawl.absorb(one.batch, one.outcomes)
            watch(what, one.batch[-1].n + 1, None)
        return crawl

    def _make_crawl(self, stage: SettingsStage) -> Crawling:
        """Return the crawl of a stage, told everything before the present pick."""
        crawl = stage.make_crawl(self.story.topics)
        crawl.fold(cut_history(self._history, self._n))
        return crawl

    def _judge(self, crawl: Crawling, one: StoredBatch) -> None:
        batch = one.batch
        if batch[0].act == Act.IMPORT:
            self._leave(IMPORTED, batch)
        elif batch[0].act == Act.CAPTURED:
            self._leave(CAPTURED, batch)
        elif batch[0].act == Act.PROBE and one.sent_at is None and not any(pick.score for pick in batch):
            self._leave(BROUGHT, batch)
        else:
            chosen = self._choose(crawl, one)
            for place, pick in enumerate(batch):
                self._compare(pick, chosen[place] if place < len(chosen) else None, one)
            if len(chosen) > len(batch):
                self.picks.differ(_describe_place(batch[-1]), "picks of the batch", len(batch), len(chosen))
        if batch[0].act == Act.SEARCH:
            self._found |= {Node(node) for outcome in one.outcomes for node in outcome.targets.tolist()}

    def _choose(self, crawl: Crawling, one: StoredBatch) -> Batch:
        """Return what the crawl chooses in place of a batch; none where it would choose nothing."""
        size = len({(pick.node, pick.since) for pick in one.batch})
        first: Batch | None = None
        same: Batch | None = None  # but for the marks
        for now in self.story.kind.list_moments(crawl, one.sent_at):
            chosen = _make_batch(crawl.choose(size, now))
            if len(chosen) == len(one.batch) and all(map(_is_same, one.batch, chosen)):
                if _has_same_marks(one.batch, chosen):
                    return chosen
                same = chosen if same is None else same
            first = chosen if first is None else first
        return first or () if same is None else self._align_marks(crawl, one, same)

    def _align_marks(self, crawl: Crawling, one: StoredBatch, chosen: Batch) -> Batch:
        """Return the chosen with the stored marks where these are of a moment in between."""
        ends = self.story.kind.bound_marks(crawl, one.sent_at)
        if ends is None:
            return chosen
        low, high = map(_make_order_key, ends)
        return tuple(
            replace(made, since=stored.since)
            if low <= _make_order_key(stored.since) <= high and _is_same(stored, made)
            else made
            for stored, made in zip(one.batch, chosen, strict=True)
        )

    def _compare(self, stored: Pick, chosen: Pick | None, one: StoredBatch) -> None:
        place = _describe_place(stored)
        if stored.n in self._gone:
            self._leave(FORGOTTEN, [stored])
        elif chosen is None or not self._is_alike(stored, chosen):
            if stored.n < self.story.erased:
                self._leave(ERASED, [stored])
            elif chosen is not None and chosen.act in LINE and self._is_in_line(stored):
                self._leave(ORDER, [stored])
            elif stored.act in LINE and len(self._renamed) < self.story.renamed:
                self._renamed.add(stored.node)
                self._leave(RENAMED, [stored])
            elif chosen is not None and stored.score and self._is_near(stored.n, stored.score, chosen.score):
                self._leave(COARSE, [stored])
            else:
                self._differ(place, stored, chosen)
        else:
            self.picks.prove()
            self._compare_score(place, stored, chosen, one)

    def _compare_score(self, place: str, stored: Pick, chosen: Pick, one: StoredBatch) -> None:
        shadows = one.shadows.get(stored.n, {})
        pairs = [("score", stored.score, chosen.score)]
        pairs += zip(self.story.columns, stored.x, chosen.x, strict=False)
        pairs += [(f"score of {name}", shadows.get(name, math.nan), score) for name, score in chosen.shadows]
        wrong = [pair for pair in pairs if not is_equal(pair[1], pair[2])]
        if wrong and stored.n < self.story.erased:
            self.scores.leave(ERASED)
            return
        if wrong and all(self._is_near(stored.n, kept, made) for _, kept, made in wrong):
            self.scores.leave(COARSE)
            return
        for column, kept, made in wrong:
            self.scores.differ(place, column, kept, made)
        self.scores.prove(not wrong)

    def _is_near(self, n: int, kept: float, made: float) -> bool:
        """Return whether the scores of pick `n` are no more apart than PageRanks with a wide tolerance are."""
        tolerance = self.story.kind.tolerance(self.story.find_stage(n).settings)
        return tolerance > TOLERANCE and math.isclose(kept, made, rel_tol=NEARLY, abs_tol=NEARLY * tolerance)

    def _is_alike(self, stored: Pick, chosen: Pick) -> bool:
        """Return whether two picks ask the same account in the same way.

        A name that was looked up may have led to another.
        """
        if stored.act in LINE and stored.act == chosen.act and stored.since == chosen.since:
            return self.story.resolve_node(stored.node) == self.story.resolve_node(chosen.node)
        return _is_same(stored, chosen) and stored.since == chosen.since

    def _is_in_line(self, stored: Pick) -> bool:
        """Return whether somebody is asked before the estimator chooses whom the campaign named, or a search found."""
        if stored.act not in LINE or stored.since:  # searches of spans are in no line
            return False
        stage = self.story.find_stage(stored.n)
        there = {*stage.names, *stage.queries, *self._found}
        return self.story.resolve_node(stored.node) in {self.story.resolve_node(node) for node in there}

    def _differ(self, place: str, stored: Pick, chosen: Pick | None) -> None:
        if chosen is None:
            self.picks.differ(place, ACCOUNT, stored.node, None)
        elif (stored.act, stored.node) != (chosen.act, chosen.node):
            self.picks.compare(place, ACCOUNT, stored.node, chosen.node)
            self.picks.compare(place, "act", stored.act, chosen.act)
        else:
            self.picks.differ(place, "since", stored.since, chosen.since)
        self.scores.leave("another account was picked than the replay picks")

    def _leave(self, why: str, picks: Sequence[Pick]) -> None:
        self.picks.leave(why, len(picks))
        self.scores.leave(why, len(picks))


def _make_batch(choice: Batch | Wait | Stop) -> Batch:
    return choice if isinstance(choice, tuple) else ()


def _is_same(stored: Pick, chosen: Pick) -> bool:
    return (stored.n, stored.node, stored.act) == (chosen.n, chosen.node, chosen.act)


def _has_same_marks(stored: Batch, chosen: Batch) -> bool:
    return all(one.since == other.since for one, other in zip(stored, chosen, strict=True))


def _describe_place(pick: Pick) -> str:
    return f"pick {pick.n}"


def _make_order_key(mark: str) -> tuple[int, str]:
    """Return what marks of one platform are ordered by: numbers and instants grow in length, or have the same."""
    return len(mark), mark
