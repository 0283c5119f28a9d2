"""The SQL store: the only place that begins transactions. Each method is one; when it returns, its work is kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.engine.model import (
    OWN_PART,
    READ_BEFORE,
    Act,
    Answer,
    Grant,
    Node,
    Outcome,
    Page,
    Reply,
    ReplyKind,
    Request,
    Stop,
    Wait,
    Who,
    format_time,
)
from socialcrawl.engine.positions import Positions
from socialcrawl.engine.protocols import Batch, History, Ledger
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.graph.relevance import NOTHING, Links
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage import answer_packing
from socialcrawl.storage.answer_reuse import AnswerReuse, SeenPosts, StoredAnswers
from socialcrawl.storage.database import address
from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.database.connection import close_connection, send_together
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.erasure.execution import prepare
from socialcrawl.storage.erasure.forgetting import forget_deleted
from socialcrawl.storage.erasure.page_redaction import ForgottenKeys, PageRedaction, mask_for_billing, remove_forgotten
from socialcrawl.storage.erasure.seed_slots import read_seeds
from socialcrawl.storage.imports.captured_authors import CapturedAuthors
from socialcrawl.storage.ledger.charges import SqlCharges, compute_bill
from socialcrawl.storage.ledger.request_log import RequestLog
from socialcrawl.storage.ledger.shared_ledger import SharedLedger
from socialcrawl.storage.nodes import Nodes
from socialcrawl.storage.queries import row_values, snapshots
from socialcrawl.storage.queries.history import FinishedBatches, find_gap
from socialcrawl.storage.queries.snapshots import SampledRow, StandingRow
from socialcrawl.storage.schema.tables import account, outcome, pick, request
from socialcrawl.storage.shared_pages import SharedPages
from socialcrawl.storage.versions import find_topic_starts
from socialcrawl.storage.wanted_posts import WantedPosts
from socialcrawl.storage.writes import CampaignWriter


class SqlStore:
    """What one campaign remembers, in the tables of `schema/tables.py`.

    Args:
        connection: from `connection.connect`; used by one thread.
        campaign: campaign.id.
        platform: the platform of its accounts.
        tariff: the prices of what is billed once a UTC day; None where every reading is billed.
        reuse: which answers of this database are taken again; None: none.
        server: the address that is asked: a mock and the platform itself do not answer for each other.
        marks: what tells the tokens of the credentials apart, by name: a token is billed, not its name.
        links: what makes a link in this campaign.
        columns: the names of its picks' features.

    Attributes:
        note: told of each request before it is reserved, and again with its reply when that is kept.
        captured: what brings the authors of a capture to the campaign; None: nothing does.
    """

    def __init__(
        self,
        connection: Connection,
        campaign: int,
        platform: str,
        tariff: Tariff | None = None,
        *,
        reuse: AnswerReuse | None = None,
        server: str = "",
        marks: Mapping[str, str] | None = None,
        links: Links = answer_packing.ALIKE,
        columns: Sequence[str] = COLUMNS,
    ) -> None:
        self.connection, self.campaign, self.tariff, self.marks = connection, campaign, tariff, marks or {}
        self.links, self.names = links, columns
        self.captured: CapturedAuthors | None = None
        self.note: Callable[[Grant, Reply | None], None] = lambda grant, reply: None
        self._write = CampaignWriter(connection, campaign, platform, server, columns)
        self._nodes = Nodes(connection, platform)
        self._charges = SqlCharges(connection)
        self._barring = PageRedaction(connection, platform)
        self._seen = SeenPosts(connection, campaign)
        self._wanted = WantedPosts(connection, campaign, platform)
        self._held = StoredAnswers(connection, self._write, self._nodes, reuse, self._seen) if reuse else None
        self._shared = SharedPages(connection, self._write, (reuse or NOTHING).hits)
        known = select(account.c.node, account.c.platform_id, account.c.username)
        self._who = Lookup(connection, known.where(match_keys(connection, account.c.node)))
        self._looked = False  # whether it is known if others were imported after the picks of an open batch
        self._gap: tuple[int, int] | None = None  # these picks, if so: the first and the last
        self._deleted: list[tuple[Sequence[str], Sequence[str]]] = []  # posts and accounts, by answers of an open batch
        self._sent: dict[tuple[int, int], int] = {}  # request key -> request.id of its latest sending

    def close(self) -> None:
        """Let go of the database, also of one that was lost."""
        close_connection(self.connection)

    def enlist(self, usernames: Sequence[str], now: float) -> list[Node]:
        """Return the nodes of accounts that a person names, the same again whenever asked.

        Unknown ones are stored by name.

        An account that was once stored by name only stays what the name stands for, also when it turned out to be
        another one: the history of a campaign tells so itself.
        """
        with self._begin_transaction():
            gone = self._barring.find_names([name.lower() for name in usernames])
            slots = read_seeds(self.connection, self.campaign, usernames, gone)
            named = self._nodes.find_enlisted([slot for slot in slots if isinstance(slot, str)], format_time(now))
        return [named[slot] if isinstance(slot, str) else Node(slot) for slot in slots]

    def open(self, batch: Batch) -> None:
        """See `protocols.Store.open`."""
        with self._begin_transaction():
            self._write.write_picks(batch)
        self._note(batch)

    def accounts(self, nodes: Sequence[Node]) -> Mapping[Node, Who]:
        """See `protocols.Store.accounts`."""
        with self._begin_transaction():
            found = self._who.fetch_rows(nodes)
        return {Node(node): Who(key, username) for node, key, username in found}

    def follow_others(self, shared: SharedLedger) -> None:
        """Count, from now on, what other processes send, whenever a request is reserved or saved."""
        self._write.shared = shared

    def reserve(self, grant: Grant) -> Wait | Stop | None:
        """See `protocols.Store.reserve`."""
        self.note(grant, None)
        with self._begin_transaction():
            self._sent[grant.request.key], refused = self._write.write_request(grant)
        if refused is not None:
            self.note(grant, Reply(ReplyKind.BROKEN, grant.at))  # it did not leave
        return refused

    def save(self, grant: Grant, reply: Reply) -> Reply:
        """See `protocols.Store.save`."""
        kept = self._save(grant, reply)
        self.note(grant, reply)
        return kept

    def held(self, request: Request, now: float) -> Reply | None:
        """See `protocols.Store.held`."""
        if request.endpoint.endswith((OWN_PART, READ_BEFORE)):
            with self._begin_transaction():
                reply, ids = self._shared.answer(request, now)
                self._seen.find_repeats(*request.key, ids)
                return reply
        if self._held is None or self._held.find_hours(request) <= 0:
            return None
        with self._begin_transaction():
            return self._held.find_reply(request, now)

    def strangers(self, nodes: Sequence[Node], now: float) -> Sequence[Who]:
        """Return those of some accounts whose profiles have to be asked for; none where no answer is taken again."""
        if self._held is None or self._held.reuse.hours <= 0:
            return ()
        with self._begin_transaction():
            return self._held.find_strangers(nodes, now)

    def wanted(self, positions: Positions, *, left: bool = False) -> Mapping[int, str]:
        """Return the ids of posts that were imported, by their positions; see `hydration.FindIds`."""
        with self._begin_transaction():
            return self._wanted.read_ids(*positions, left=left)

    def replies(self, batch: Batch) -> Mapping[tuple[int, int], Reply]:
        """See `protocols.Store.replies`."""
        if not batch:
            return {}
        kept = select(request).where(
            request.c.campaign == self.campaign,
            request.c.n.between(batch[0].n, batch[-1].n),
            request.c.answer.is_not(None),
        )
        with self._begin_transaction():
            rows = self.connection.execute(kept.order_by(request.c.id)).all()
        self._seen.resume(row.n for row in rows)
        answers = [answer_packing.unpack_answer(row.answer) for row in rows]
        for answer in answers:
            self._note_deleted(answer)
        return {
            (row.n, row.part): replace(row_values.parse_reply(row), rows=answer)
            for row, answer in zip(rows, answers, strict=True)
        }

    def finish(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """See `protocols.Store.finish`; what a stream says was deleted is erased in the same transaction."""
        if self._deleted:
            prepare(self.connection)
        with self._begin_transaction():
            self._write.write_outcomes(outcomes)
            self._write.clear_answers(batch)
            self._erase_deleted(max((one.at for one in outcomes), default=0.0))
        self._seen.forget()
        self._gap = None

    def unfinished(self) -> Batch:
        """See `protocols.Store.unfinished`."""
        last = select(func.coalesce(func.max(outcome.c.n), -1)).where(outcome.c.campaign == self.campaign)
        with self._begin_transaction():
            if not self._looked:  # nothing is imported while it runs
                self._looked, self._gap = True, find_gap(self.connection, self.campaign)
            still = pick.c.n.between(*self._gap) if self._gap else pick.c.n > last.scalar_subquery()
            rows = self.connection.execute(
                select(pick).where(pick.c.campaign == self.campaign, still).order_by(pick.c.n)
            ).all()
            since = max(find_topic_starts(self.connection, self.campaign), default=0)
        picks = (row_values.parse_pick(row, self.names) for row in rows)
        batch = tuple(pick if pick.n >= since else replace(pick, x=()) for pick in picks)
        self._note(batch)
        return batch

    def history(self) -> History:
        """See `protocols.Store.history`."""
        return FinishedBatches(self.connection, self.campaign, self._begin_transaction, self.names)

    def imported(self, batch: Batch) -> History:
        """See `protocols.Store.imported`."""
        if not batch or self._gap is None:
            return ()
        return FinishedBatches(
            self.connection, self.campaign, self._begin_transaction, self.names, first=batch[-1].n + 1
        )

    def receive(self, now: float) -> History:
        """See `protocols.Store.receive`."""
        if self.captured is None or not self.captured.has_news():
            return ()
        try:
            with self._begin_transaction():
                first = self.captured.bring(now)
        except BaseException:
            self.captured.forget()
            raise
        if first is None:
            return ()
        return FinishedBatches(self.connection, self.campaign, self._begin_transaction, self.names, first=first)

    def stand(self, rows: Sequence[StandingRow]) -> None:
        """Write what is known of all accounts; see `snapshots.write_standings`."""
        with self._begin_transaction():
            snapshots.write_standings(self.connection, self.campaign, rows)

    def sample(self, rows: Sequence[SampledRow]) -> None:
        """Write what the walks have drawn; see `snapshots.write_sampled`."""
        with self._begin_transaction():
            snapshots.write_sampled(self.connection, self.campaign, rows)

    def ledger(self) -> Ledger:
        """See `protocols.Store.ledger`."""
        return RequestLog(self.connection, self.campaign, self._begin_transaction)

    def _save(self, grant: Grant, reply: Reply) -> Reply:
        reply = replace(reply, items=grant.request.items)
        with self._begin_transaction():
            number = self._sent[grant.request.key]
            gone = (
                self._barring.find_forgotten(reply.rows, format_time(reply.at))
                if isinstance(reply.rows, Page)
                else None
            )
            if reply.received is not None and not gone:
                self._write.write_response(number, reply.received)
            if not isinstance(reply.rows, Page):
                self._write.write_settlement(number, reply)
                return reply
            return self._keep(number, grant, reply, reply.rows, gone or ForgottenKeys())

    def _note_deleted(self, kept: Answer) -> None:
        if kept.deleted or kept.deleted_accounts:
            self._deleted.append((kept.deleted, kept.deleted_accounts))

    def _erase_deleted(self, at: float) -> None:
        if self._deleted:
            posts, accounts = (
                list(dict.fromkeys(chain.from_iterable(part))) for part in zip(*self._deleted, strict=True)
            )
            if forget_deleted(self.connection, posts, accounts, format_time(at), self._write.platform):
                self._nodes.forget()
            self._deleted.clear()

    def _note(self, batch: Batch) -> None:
        if self._held is not None:
            self._held.returning = frozenset(pick.n for pick in batch if pick.act == Act.RECRAWL)

    def _keep(self, number: int, grant: Grant, reply: Reply, complete: Page, gone: ForgottenKeys) -> Reply:
        """Store a page without what of it was `gone`; the bill is that of the whole page."""
        now, page = format_time(reply.at), remove_forgotten(complete, gone)
        same = self._nodes.store_profiles(page.accounts, now) if page.accounts else {}
        numbers = self._nodes.number(answer_packing.list_accounts(page), now)
        self._barring.empty_accounts(gone.asked, now, number)
        repeats = self._seen.find_repeats(*grant.request.key, [row.id for row in page.posts])
        payer = replace(grant, credential=self.marks.get(grant.credential, grant.credential))
        billed = compute_bill(
            payer, reply, mask_for_billing(complete, gone, self._write.platform), self.tariff, self._charges
        )
        pairs = answer_packing.collect_mentions(page, numbers)
        with send_together(self.connection):
            self._write.write_page(page, numbers, pairs, now)
            kept = answer_packing.build_answer(page, numbers, same, pairs, self.links, repeats=repeats)
            if page.deleted or page.deleted_accounts:
                kept = replace(kept, deleted=page.deleted, deleted_accounts=page.deleted_accounts)
                self._note_deleted(kept)
            reply = replace(reply, rows=kept, cost=billed.cost)
            # A look-up needs no note: what it told of each user is in the user's own row.
            noted = reply.kind == ReplyKind.OK and bool(page.posts or page.follows or not page.accounts)
            nodes = answer_packing.pack_nodes(pairs, kept) if noted else None
        self._write.write_settlement(number, reply, billed, page, nodes)  # it returns what other processes did
        if complete.sought:
            self._wanted.write_found(complete.sought, {row.id for row in page.posts}, now)
        if self._held is not None and kept.missing:
            self._held.note(kept.missing, reply.at)
        if kept.follows:
            self._write.write_follows(grant.request.key[0], kept.follows, now)
        return reply

    @contextmanager
    def _begin_transaction(self) -> Iterator[None]:
        try:
            with self.connection.begin():
                yield
        except DBAPIError as error:
            self._nodes.forget()
            self._seen.forget()
            raise convert_error(error, address.find_address(self.connection)) from error
        except BaseException:
            self._nodes.forget()
            self._seen.forget()
            raise
