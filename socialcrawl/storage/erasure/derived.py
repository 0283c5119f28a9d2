"""Outcomes and links as they would be without what goes: section 2.3 over the posts that are left."""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, select, update

from socialcrawl.engine.model import FINDING, WALKS, Act, Reason
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage.answer_packing import StoredPage
from socialcrawl.storage.database.bulk import Statement, select_by_keys
from socialcrawl.storage.erasure.dry_run import carry_out, change_rows, write_rows
from socialcrawl.storage.erasure.ledger import Key, MatchCounts, PickRecount, read_link_weighers
from socialcrawl.storage.erasure.targets import ErasureTargets, gone_node, gone_post
from socialcrawl.storage.link_weights import LinkWeigher
from socialcrawl.storage.schema import tables
from socialcrawl.storage.schema.tables import account, link, mention, outcome, pick, post, sampled, shadow, standing

CHUNK = 1_000  # picks at a time
OUTCOME = ("value", "occurrences", "posts", "the_campaign", "the_n")
WHICH = (outcome.c.campaign == bindparam("the_campaign"), outcome.c.n == bindparam("the_n"))
READ = (Act.SEED, Act.EXPAND, Act.RECRAWL)  # acts whose mark is that of a post
ONCE = "-"  # a mark that says that there was one
LINK = ("the_campaign", "the_n", "the_position")
PLACE = (
    link.c.campaign == bindparam("the_campaign"),
    link.c.n == bindparam("the_n"),
    link.c.position == bindparam("the_position"),
)


class DerivedRows:
    """What is derived from the posts, made anew; `changed` collects the campaigns whose history is another now.

    Args:
        connection: the database, in a transaction; what goes is listed, and still there.
        gone: what goes.
        read: what the ledger says of the picks' pages.
        picks: the only picks that can have read what goes; None: any can.
    """

    def __init__(
        self,
        connection: Connection,
        gone: ErasureTargets,
        read: dict[Key, PickRecount],
        picks: Collection[Key] | None = None,
    ) -> None:
        self.connection, self.gone, self.read, self.picks = connection, gone, read, picks
        self.linked = read_link_weighers(connection)
        self.changed: set[int] = set()
        self.outcomes = self.links = 0
        values: dict[str, Any] = {name: bindparam(name) for name in OUTCOME[:3]}
        self._outcome = Statement(connection, update(outcome).where(*WHICH).values(values), OUTCOME)
        self._cut = Statement(connection, delete(link).where(*PLACE), LINK)
        alpha = update(link).where(*PLACE).values(alpha=bindparam("alpha"))
        self._alpha = Statement(connection, alpha, ("alpha", *LINK))

    @cached_property
    def _samples(self) -> set[int]:
        """The campaigns that walk."""
        walked = select(pick.c.campaign).where(pick.c.act == Act.WALK).distinct()
        return set(self.connection.execute(walked).scalars())

    def run(self) -> None:
        """Write all that changes: first the forgotten themselves, then accounts whose posts are erased."""
        if self.gone.nodes:
            self._write_forgotten()
        if self.gone.posts:
            self._recount_others()

    def _write_forgotten(self) -> None:
        mine = outcome.c.node.in_(select(gone_node.c.node))
        fresh = mine & (outcome.c.missing.is_distinct_from(Reason.FORGOTTEN))
        self._note(select(outcome.c.campaign).where(fresh))
        emptied = (
            update(outcome).where(fresh).values(value=0.0, occurrences=0, posts=0, missing=Reason.FORGOTTEN, mark=None)
        )
        self.outcomes += change_rows(self.connection, emptied)
        asked = (outcome.c.campaign == link.c.campaign) & (outcome.c.n == link.c.n) & mine
        theirs = link.c.node.in_(select(gone_node.c.node)) | exists().where(asked)
        self._note(select(link.c.campaign).where(theirs))
        self.links += change_rows(self.connection, delete(link).where(theirs))
        seen = (pick.c.campaign == shadow.c.campaign) & (pick.c.n == shadow.c.n)
        picked = pick.c.node.in_(select(gone_node.c.node))
        carry_out(self.connection, delete(shadow).where(exists().where(seen & picked)))
        shown = pick.c.features.is_not(None) | (pick.c.score != 0.0)  # made of who linked to them, and how
        scored = update(pick).where(picked, shown)
        carry_out(self.connection, scored.values(score=0.0, features=None))
        carry_out(self.connection, update(pick).where(picked, pick.c.since.is_not(None)).values(since=ONCE))
        carry_out(self.connection, delete(standing).where(standing.c.node.in_(select(gone_node.c.node))))
        drawn = select(sampled.c.campaign).where(sampled.c.node.in_(select(gone_node.c.node)))
        weighed = delete(sampled).where(sampled.c.campaign.in_(drawn))  # its weights are another's now
        carry_out(self.connection, weighed)

    def _clear_marks(self) -> None:
        """Empty the marks of visits that may be the id of a post that goes; those of other platforms are instants."""
        used = self.connection.execute(select(tables.campaign.c.platform).distinct()).scalars()
        marking = [name for name in used if find_platform_facts(name).post_marks]
        if not marking:
            return
        here = select(account.c.node).where(account.c.platform.in_(marking))
        authors = select(post.c.author).where(post.c.id.in_(select(gone_post.c.id)), post.c.author.in_(here))
        same = (pick.c.campaign == outcome.c.campaign) & (pick.c.n == outcome.c.n)
        read = exists().where(same & pick.c.act.in_(READ))
        marked = update(outcome).where(outcome.c.node.in_(authors), outcome.c.mark.is_not(None), read)
        carry_out(self.connection, marked.values(mark=None))
        since = update(pick).where(pick.c.node.in_(authors), pick.c.since.is_not(None))
        carry_out(self.connection, since.values(since=ONCE))

    def _recount_others(self) -> None:
        """Recompute the picks that read posts to be erased, of accounts that are not forgotten themselves."""
        self._clear_marks()
        hits = MatchCounts(self.connection)
        for campaign in self._find_campaigns():
            of_others = self._find_picks(campaign)
            for begin in range(0, len(of_others), CHUNK):
                self._renew(campaign, of_others[begin : begin + CHUNK], hits)

    def _find_campaigns(self) -> Sequence[int]:
        if self.picks is not None:
            return sorted({campaign for campaign, _ in self.picks})
        return (
            self.connection.execute(select(outcome.c.campaign).distinct().order_by(outcome.c.campaign)).scalars().all()
        )

    def _find_picks(self, campaign: int) -> list[Any]:
        """Return the picks of a campaign that may have read posts that go, by the ledger or by their author."""
        authors = select(post.c.author).where(post.c.id.in_(select(gone_post.c.id)))
        author = outcome.c.node.in_(authors).label("author")
        query = select(
            outcome.c.n,
            outcome.c.node,
            outcome.c.at,
            outcome.c.posts,
            outcome.c.missing,
            outcome.c.value,
            pick.c.act,
            author,
        )
        joined = query.join(pick, (pick.c.campaign == outcome.c.campaign) & (pick.c.n == outcome.c.n))
        mine = outcome.c.campaign == campaign
        wanted = joined.where(mine, outcome.c.posts > 0, outcome.c.node.not_in(select(gone_node.c.node)))
        if self.picks is not None:
            wanted = wanted.where(outcome.c.n.in_([n for of, n in self.picks if of == campaign]))
        return [row for row in self.connection.execute(wanted.order_by(outcome.c.n)) if self._is_lost(campaign, row)]

    def _is_lost(self, campaign: int, row: Any) -> bool:
        read = self.read.get((campaign, row.n))
        known = read is not None and not read.unknown
        return bool(read and read.lost.posts) if known or row.act in FINDING else bool(row.author)

    def _renew(self, campaign: int, rows: Sequence[Any], hits: MatchCounts) -> None:
        outcomes, of_links = [], {}
        for row in rows:
            read = self.read.get((campaign, row.n))
            if (read is None or read.unknown) and row.act not in FINDING:
                read = self._recount_by_author(row, hits.read_campaign(campaign), self.linked[campaign])
            assert read is not None
            if not read.lost.posts:
                continue
            valued = row.missing is None and row.act not in FINDING
            count = read.left.hits if valued else 0
            # A judgement stands as it was made.
            is_judged = row.act == Act.PROBE or (row.act in WALKS and campaign in self._samples)
            value = row.value if is_judged else compute_worth(count)
            outcomes.append((value, count, read.left.posts, campaign, row.n))
            if valued:
                of_links[row.n] = read
        write_rows(self._outcome, outcomes)
        self.outcomes += len(outcomes)
        if outcomes:
            self.changed.add(campaign)
        self._relink(campaign, of_links)

    def _relink(self, campaign: int, reads: dict[int, PickRecount]) -> None:
        query = select(link.c.n, link.c.position, link.c.node, link.c.alpha).where(
            link.c.campaign == campaign, link.c.node.not_in(select(gone_node.c.node))
        )
        cut, renewed = [], []
        for row in select_by_keys(self.connection, query, link.c.n, list(reads)):
            read = reads[row.n]
            if row.node in read.left.targets:
                if (alpha := compute_worth(read.left.targets[row.node])) != row.alpha:
                    renewed.append((alpha, campaign, row.n, row.position))
            elif row.node in read.lost.targets:  # not a name that was settled on another account later
                cut.append((campaign, row.n, row.position))
        write_rows(self._cut, cut)
        write_rows(self._alpha, renewed)
        self.links += len(cut) + len(renewed)

    def _recount_by_author(self, row: Any, hits: Any, linking: LinkWeigher) -> PickRecount:
        """Return what a pick read, where the ledger does not say: the author's posts that were there by then."""
        mine = (post.c.author == row.node) & (post.c.fetched_at <= row.at)
        keys = list(self.connection.execute(select(post.c.id).where(mine)).scalars())
        places = {key: place for place, key in enumerate(keys)}
        named = select(mention.c.post, mention.c.node).join(post, post.c.id == mention.c.post).where(mine)
        pairs = [(places[key], node) for key, node in self.connection.execute(named)]
        read = PickRecount()
        read.add(StoredPage(keys, pairs, [], {}), self.gone, hits, linking)
        return read

    def _note(self, campaigns: Any) -> None:
        self.changed.update(self.connection.execute(campaigns.distinct()).scalars())
