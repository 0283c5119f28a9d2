"""What the picks of a campaign found, computed again from the posts that are stored (section 2.3).

The ledger says which posts each pick has read. Their texts are counted again: matches, outcomes and link weights have
to follow from them, by the same code that computes them for a changed topic (`storage.reread`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from socialcrawl.campaign.plan import make_topic, make_word_topic
from socialcrawl.engine.model import (
    FINDING,
    ON_TOPIC,
    WALKS,
    WIDER,
    Act,
    Node,
    Reason,
    ReplyKind,
    Who,
    format_time,
    parse_time,
)
from socialcrawl.errors import SettingsError
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.recount import Recount
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.platforms.focusing import NOBODY
from socialcrawl.storage.counting_rule import COUNTING, CountingRule
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.holdings import select_names as called
from socialcrawl.storage.queries.integrity import count_rows
from socialcrawl.storage.queries.topic_posts import Matches, read_matches
from socialcrawl.storage.reread import PickReadings
from socialcrawl.verify.findings import Check, is_equal
from socialcrawl.verify.replay import BROUGHT, FORGOTTEN, IMPORTED
from socialcrawl.verify.stored_posts import PostCheck
from socialcrawl.verify.story import CampaignRecord

# Acts that have an account's posts.
READ = (Act.SEED, Act.EXPAND, Act.MATCH, Act.PAGE, Act.RECRAWL, Act.WALK, Act.IMPORT, Act.CAPTURED)
TOGETHER = (Act.RESOLVE, Act.PROBE)  # acts of which one request serves many picks
CLEANED = "@forgotten"  # what stands in texts for names that were erased
NO_PAGE = "look-ups of accounts, whose answers are not kept"
NOT_LISTED = "the ledger does not say which posts were read (an older program, or an import)"
EDITED = "from posts that were read again later and may have been edited"
UNNAMED = "from texts in which names were erased"
EARLIER_RULE = "counted by the rule of an earlier socialcrawl"
BY_NAME = "judged by names, which may have been others"
Watch = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True)
class MissingSources:
    """What is not there to count outcomes by: each is why, or None where it is there.

    Attributes:
        texts: of posts; occurrences are taken from the matches.
        answers: whom answers to searches and look-ups spoke of.
        tests: what tests of life found.
        parts: the parts of posts that count for a link, and whom accounts follow.
        names: by which a sample judges who is on topic.
    """

    texts: str | None = None
    answers: str | None = None
    tests: str | None = None
    parts: str | None = None
    names: str | None = None


NOTHING = MissingSources()


class OutcomeCheck:
    """The outcomes and links of a campaign, held against what its posts make of them.

    Args:
        connection: the database, in a transaction.
        story: the campaign.
        lacking: what is not there, where it is of an export.

    Attributes:
        matches: the occurrences of the topic in posts.
        outcomes: posts, occurrences and value of each pick.
        links: whom each pick linked to, with weights.
        missing: of each file of the campaign that is missing or has changed, a sentence that says so.
    """

    def __init__(self, connection: Opened, story: CampaignRecord, lacking: MissingSources = NOTHING) -> None:
        self.connection, self.story, self._lacking = connection, story, lacking
        self._posts, self._facts = PostCheck(connection, story), find_platform_facts(story.begun.platform)
        self.matches, self.outcomes, self.links = Check("matches"), Check("outcomes"), Check("link weights")
        self.missing: list[str] = []
        self._settings = story.stages[-1].settings
        self.place = "the first pick"  # where it is
        self._asked: dict[int, list[Any]] = {}  # the requests for each of the picks at hand
        self._came: dict[int, set[str | None]] = {}  # when answers came for the batches at hand
        self._doubts: dict[str, str] = {}  # of the posts at hand, why their texts may be others
        self._authors: dict[str, int] = {}  # of the posts at hand

    @property
    def checks(self) -> list[Check]:
        """All of them."""
        return [self._posts.posts, self._posts.mentions, self.matches, self.outcomes, self.links]

    def run(self, watch: Watch = lambda what, done, total: None) -> None:
        """Check everything."""
        try:
            texts_are_here = self._lacking.texts is None
            topic = make_topic(self._settings) if texts_are_here else make_word_topic(self._settings)
        except SettingsError as error:  # a model is missing or has changed: what it accepted is taken from the matches
            self.missing.append(str(error))
            self._lacking = replace(self._lacking, texts=str(error))
            topic = make_word_topic(self._settings)
        try:
            self._judges = self.story.kind.predicates(self._settings)
        except SettingsError as error:  # a file of labels is missing or has changed
            self.missing.append(str(error))
            self._judges, self._lacking = None, replace(self._lacking, names=str(error))
        if self._is_counted_otherwise(topic):
            for check, table in ((self.matches, "hit"), (self.outcomes, "outcome"), (self.links, "link")):
                check.leave(EARLIER_RULE, count_rows(self.connection, (table,), self.story.begun.id))
            return
        self._topic = topic
        self._reread = PickReadings(self.connection, self.story.begun.id, topic.hits)
        self._matching = Matches(self.connection, self.story.begun.id)
        self._check_matches()
        for picks in self._reread.read_picks():
            self._check_picks(picks)
            watch(f"counting {self.story.begun.name}", picks[-1].n + 1, None)
        self._posts.finish(self._reread)

    def _is_counted_otherwise(self, topic: Topic) -> bool:
        identity = self.story.begun.identity
        return bool(identity.get("topic")) and identity.get(COUNTING, 1) < CountingRule.from_topic(topic).since

    def _check_matches(self) -> None:
        """Count the posts again that are said to match."""
        if self._lacking.texts is not None:
            self.matches.leave(self._lacking.texts, count_rows(self.connection, ("hit",), self.story.begun.id))
            return
        for rows in read_matches(self.connection, self.story.begun.id):
            self._doubts, self._authors = {}, {}
            by_post = {row.post: row for row in rows}
            counts = self._count(list(by_post))
            for key, row in by_post.items():
                if key not in counts:
                    self.matches.differ(f"post {key}", "text", "nothing", "a post that matches")
                elif counts[key] == row.occurrences:
                    self.matches.prove()
                elif key in self._doubts:
                    self.matches.leave(self._doubts[key])
                else:
                    self.matches.differ(f"post {key}", "occurrences", row.occurrences, counts[key])

    def _count(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the occurrences in posts; note who wrote them, and why some may have had other texts."""
        found: dict[str, int] = {}
        said = None if self._lacking.texts is None else self._matching.find_counts(ids)
        editable = self._facts.edits_posts
        for key, again, author, *fields in self._reread.read_texts(ids):
            found[key] = self._topic.hits(*fields) if said is None else said.get(key, 0)
            self._authors[key] = author
            if CLEANED in fields[0]:
                self._doubts[key] = UNNAMED
            elif again and editable:
                self._doubts[key] = EDITED
        return found

    def _check_picks(self, picks: Sequence[Any]) -> None:
        self._doubts, self._authors = {}, {}
        first, last = picks[0].n, picks[-1].n
        self.place = f"pick {first} to {last}"
        pages = self._reread.read_pages(first, last, every=True)
        counts = self._count(list(dict.fromkeys(key for _, came in pages if came is not None for key in came.ids)))
        asked = {row.n: None if row.act in FINDING else row.node for row in picks if row.act in (*READ, *FINDING)}
        self._posts.check(self._reread, pages, self._authors, self._doubts, asked)
        self._check_unmatched(counts)
        sums, unknown = self._reread.sum_pages(pages, counts)
        unlisted = [row for row in picks if self._is_unlisted(row, sums, unknown)]
        sums |= self._reread.sum_by_author(unlisted, self._count)
        links, named = self._reread.read_links(first, last), self._find_names(picks)
        self._asked, batches = self._reread.read_requests(picks), {row.n: row.batch for row in picks}
        self._came = {}
        for n, rows in self._asked.items():
            self._came.setdefault(batches.get(n, picks[0].batch), set()).update(one.arrived_at for one in rows)
        for row in picks:
            if row.at is not None:
                self._check_answer(row)
                read = sums.get(row.n) or Recount()
                self._check_pick(
                    row,
                    read,
                    links.get(row.n, []),
                    self._explain_difference(row, read, {one.n for one in unlisted}),
                    named,
                )

    def _is_unlisted(self, row: Any, sums: Mapping[int, Recount], unknown: set[int]) -> bool:
        read = row.at is not None and row.missing is None and row.act in READ
        return read and (row.n in unknown or bool(row.posts and row.n not in sums))

    def _check_unmatched(self, counts: Mapping[str, int]) -> None:
        """Look for posts that match, and are not said to."""
        matching = [key for key, many in counts.items() if many and key not in self._doubts]
        said = self._matching.find_counts(matching)
        for key in matching:
            if key not in said:
                self.matches.differ(f"post {key}", "occurrences", 0, counts[key])

    def _explain_difference(self, row: Any, read: Recount, unlisted: set[int]) -> str | None:
        """Return why what a pick has read may differ from what was stored then; None where it may not."""
        if row.n in unlisted:
            return NOT_LISTED
        return next((self._doubts[key] for key in read.first if key in self._doubts), None)

    def _find_names(self, picks: Sequence[Any]) -> Mapping[int, Who]:
        """Return what those are called whom a walk read, as that may tell who is on topic."""
        walks = [row.node for row in picks if row.act in WALKS]
        return called(self.connection, walks) if walks and self._judges else {}

    def _check_pick(
        self, row: Any, read: Recount, links: Sequence[Any], why: str | None, named: Mapping[int, Who]
    ) -> None:
        """Check one pick that was answered."""
        if row.missing is not None:
            self._compare_values(
                row, {"value": 0.0, "occurrences": 0}, FORGOTTEN if row.missing == Reason.FORGOTTEN else None
            )
            self._check_links(row, links, Recount(), None)
        elif row.act == Act.RESOLVE:
            self.outcomes.leave(NO_PAGE)
        elif row.act == Act.PROBE:
            self._check_probe(row)
        elif row.act in FINDING:
            self._compare_values(row, {"posts": read.posts, "value": 0.0, "occurrences": 0}, why)
            why = why or self._lacking.answers
            own = {row.node} if row.act == Act.INWARD else set()
            read.targets = {node: 0 for node in read.found if node not in own}
            self._check_links(row, links, read, why)
        elif row.act == Act.IMPORT and not row.posts:
            self.outcomes.leave(IMPORTED)
            self.links.leave(IMPORTED, len(links))
        else:
            if row.act == Act.CAPTURED:  # whom these posts mention is learned when the account is read
                read.targets = {}
            value, doubt = self._compute_value(row, read.hits, named)
            values = {"posts": read.posts, "occurrences": read.hits, "value": value}
            self._compare_values(row, values, why or (doubt if row.value != value else None))
            self._check_links(row, links, read, why or self._lacking.parts)

    def _compute_value(self, row: Any, hits: int, named: Mapping[int, Who]) -> tuple[float, str | None]:
        """Return the value of who was read, and why it may have been another."""
        if row.act not in WALKS:
            return compute_worth(hits), None
        if self._judges is None:
            return (compute_worth(hits), None) if self._lacking.names is None else (nan, self._lacking.names)
        whose, broad = self._judges
        who = named.get(row.node, NOBODY)
        by_name = any(one.patterns or one.expressions or one.labels for one in self._judges if one is not None)
        value = ON_TOPIC if whose.holds(who, hits) else WIDER if broad is not None and broad.holds(who, hits) else 0.0
        return value, BY_NAME if by_name else self._lacking.names

    def _check_answer(self, row: Any) -> None:
        """Hold when a pick was answered, and whether it is missing, against its requests."""
        asked, came = self._asked.get(row.n, ()), self._came.get(row.batch, ())
        together = row.act in TOGETHER or (row.act == Act.INWARD and row.missing is not None and not asked)
        if not came or row.at == format_time(0.0):  # what a file brought, and who is not asked
            return
        last = next((one for one in reversed(asked) if one.arrived_at == row.at), None)
        if last is None and not (together and row.at in came):
            self.outcomes.differ(f"pick {row.n}", "at", row.at, "when an answer for it came")
        if last is None or row.act not in READ or self._facts.pages:  # where redirects may lead nowhere
            return
        looked_up = last.endpoint.endswith((*self._facts.profiles, *self._facts.look_ups))
        read = not looked_up and all(one.kind in (ReplyKind.OK, ReplyKind.HELD) for one in asked)
        gone = looked_up or (last.kind == ReplyKind.MISSING and not any(one.posts for one in asked))
        if read and row.missing not in (None, Reason.FORGOTTEN):
            self.outcomes.differ(f"pick {row.n}", "missing", row.missing, None)
        elif gone and row.missing is None:
            self.outcomes.differ(f"pick {row.n}", "missing", None, "why: the platform did not show its posts")

    def _check_probe(self, row: Any) -> None:
        """Check the judgement of a test of life by the rule of the campaign."""
        rule = self.story.kind.activity(self._settings) or Activity()
        value = float(rule.is_active(row.mark, parse_time(row.at), None))
        if row.value != value and row.value == 1.0 and rule.protected and not row.mark:
            value = 1.0  # it is there, and shows what it does to its friends only
        self._compare_values(row, {"value": value}, self._lacking.tests if row.batch in self._came else BROUGHT)

    def _compare_values(self, row: Any, values: Mapping[str, float], why: str | None) -> None:
        wrong = {name: value for name, value in values.items() if not is_equal(getattr(row, name), value)}
        if not wrong:
            self.outcomes.prove()
        elif why is not None:
            self.outcomes.leave(why)
        else:
            for name, value in wrong.items():
                self.outcomes.differ(f"pick {row.n}", name, getattr(row, name), value)

    def _check_links(self, row: Any, links: Sequence[Any], read: Recount, why: str | None) -> None:
        """Check the links of a pick, in order; after an erasure some are left out, which may change the order."""
        named = self._find_named(links, read)
        pairs = [(one, None if node is None else compute_worth(read.targets[node]))
                 for one, node in zip(links, named, strict=True)]  # fmt: skip
        wrong = [(one, alpha) for one, alpha in pairs if alpha is None or not is_equal(one.alpha, alpha)]
        there = {*named}
        lost = [node for node in read.targets if node not in there]
        ordered = [node for node in named if node is not None] == [node for node in read.targets if node in there]
        in_order = read.ordered and not self._reread.linking.links.follows and row.n >= self.story.erased
        moved = in_order and not ordered
        if why is not None and (wrong or lost or moved):
            self.links.leave(why, len(links))
            return
        self.links.prove(len(links) - len(wrong))
        place = f"pick {row.n}"
        for one, alpha in wrong:
            column = "link" if alpha is None else "weight of the link"
            self.links.differ(place, f"{column} to account {one.node}", one.alpha, alpha)
        for node in lost:
            self.links.differ(place, f"link to account {node}", None, compute_worth(read.targets[node]))
        if moved and not (wrong or lost):
            self.links.differ(place, "order of links", [one.node for one in links], [*read.targets])

    def _find_named(self, links: Sequence[Any], read: Recount) -> list[int | None]:
        """Return the account of each link as the posts have it, each once; None where they do not name it.

        A name may have turned out to be another account, so that the page has another number.
        """
        nodes: list[int] = [one.node for one in links]
        left = dict.fromkeys(read.targets, True)
        if read.ordered and len(nodes) == len(left) and any(node not in left for node in nodes):
            return [mine if self._can_be(node, mine) else None for node, mine in zip(nodes, left, strict=True)]
        return [node if left.pop(node, False) else None for node in nodes]

    def _can_be(self, node: int, other: int) -> bool:
        return node == other or self.story.resolve_node(Node(node)) == self.story.resolve_node(Node(other))
