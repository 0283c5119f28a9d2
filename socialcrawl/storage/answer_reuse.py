"""Answers that the database has: the same question asked a short while ago, by any campaign, is not paid for again.

Only what the platform itself answered counts, never a reply that was held: a chain of those would make an answer
younger than it is. The answer is made anew for the campaign that asks, whose topic may be another. Pages may overlap,
as new posts move the old ones on; a pick counts a post once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Column, Connection, Select, literal_column, select

from socialcrawl.engine.model import ANSWERED, Answer, Reason, Reply, ReplyKind, Request, Unavailable, Who, format_time
from socialcrawl.graph.recount import Recount, find_repeats
from socialcrawl.graph.relevance import Hits, Links
from socialcrawl.storage import answer_packing
from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.link_weights import LinkWeigher, select_hit_columns
from socialcrawl.storage.nodes import Nodes
from socialcrawl.storage.schema.tables import account, post, request
from socialcrawl.storage.writes import CampaignWriter
from socialcrawl.text.entities import has_opt_out


class SeenPosts:
    """The posts that the picks of an open batch have read, from the ledger where a process did not see them come."""

    def __init__(self, connection: Connection, campaign: int) -> None:
        self.connection, self.campaign = connection, campaign
        self._first: dict[int, dict[str, int]] = {}
        self._resumed: set[int] = set()

    def resume(self, numbers: Iterable[int]) -> None:
        """Note the picks, by number, of which an earlier process had read pages: any page may be requested again."""
        self._resumed.update(numbers)

    def find_repeats(self, n: int, part: int, ids: Sequence[str]) -> frozenset[int]:
        """Return the places of a page whose posts pick `n` has read already; see `recount.find_repeats`."""
        if n not in self._first and (part > 1 or n in self._resumed):
            self._first[n] = self._read_known(n)
        return find_repeats(self._first.setdefault(n, {}), ids, part)

    def forget(self) -> None:
        """Forget the posts of all picks: a batch is finished, or what was noted was not kept."""
        self._first.clear()

    def _read_known(self, n: int) -> dict[str, int]:
        mine = (request.c.campaign == self.campaign) & (request.c.n == n) & request.c.post_ids.is_not(None)
        first: dict[str, int] = {}
        for part, ids in self.connection.execute(select(request.c.part, request.c.post_ids).where(mine)):
            for key in orjson.loads(ids):
                first[key] = min(part, first.get(key, part))
        return first


HOUR, DAY = 3600.0, 24.0  # seconds, hours
FOR_A_DAY = ("/robots.txt",)  # endpoints whose answers hold for so long (RFC 9309), whatever a campaign says


@dataclass(frozen=True, slots=True)
class AnswerReuse:
    """Which answers are taken again: those of the last `hours`; 0 for none.

    `hits` counts this campaign's topic in a post, by its text, its language and when it was written; `keep` says that
    every post has to have its original JSON; `links` is what makes a link in this campaign.
    """

    hours: float
    hits: Hits
    keep: bool = False
    links: Links = answer_packing.ALIKE


class StoredAnswers:
    """The answers of a database for one campaign. Called inside a transaction.

    Args:
        connection: the database.
        writes: those of the campaign.
        nodes: the accounts of its platform.
        reuse: which answers to take.
        seen: the posts that the picks of the open batch have read.
    """

    def __init__(
        self, connection: Connection, writes: CampaignWriter, nodes: Nodes, reuse: AnswerReuse, seen: SeenPosts
    ) -> None:
        self.reuse, self._write, self._nodes, self._seen = reuse, writes, nodes, seen
        self._facts = writes.facts
        self.returning: frozenset[int] = frozenset()  # the picks of the open batch that go back to an account
        self._silent: dict[int, str] = {}  # accounts that opted out, and when they were found to have: no row says so
        asked = (request.c.id, request.c.campaign, request.c.n, request.c.part, request.c.kind, request.c.arrived_at)
        self._asked = Lookup(connection, select(*asked).where(match_keys(connection, request.c.digest)))
        came = (request.c.cursor, request.c.post_ids, request.c.nodes)
        self._came = Lookup(connection, select(*came).where(match_keys(connection, request.c.id)))
        texts = select(post.c.id, *select_hit_columns(connection, writes.platform)).where(
            match_keys(connection, post.c.id)
        )
        self._texts = Lookup(connection, texts.where(post.c.original.is_not(None)) if reuse.keep else texts)
        who = select(account.c.node, account.c.platform_id, account.c.username)
        self._linking = LinkWeigher(connection, reuse.links, writes.platform, reuse.hits)
        self._who = Lookup(connection, who.where(match_keys(connection, account.c.node)))
        self._by_id = Lookup(connection, _select_profiles(connection, writes.platform, account.c.platform_id))
        self._by_name = Lookup(connection, _select_profiles(connection, writes.platform, account.c.handle))

    def find_hours(self, asked: Request) -> float:
        """Return for how many hours an answer to this question holds; 0 and less: it is always asked."""
        return max(self.reuse.hours, DAY) if asked.endpoint.endswith(FOR_A_DAY) else self.reuse.hours

    def find_strangers(self, nodes: Sequence[int], now: float) -> list[Who]:
        """Return those of some accounts whose profiles the database lacks, or has of too long ago."""
        since = format_time(max(0.0, now - self.reuse.hours * HOUR))
        whos = {node: Who(key, username) for node, key, username in self._who.fetch_rows(nodes)}
        known = {
            row.node for row in self._by_id.fetch_rows([who.id for who in whos.values()]) if row.profile_at >= since
        }
        known |= {node for node in whos if self._silent.get(node, "") >= since}
        return [whos[node] for node in nodes if node in whos and node not in known and whos[node].id]

    def note(self, missing: Mapping[int, Unavailable], now: float) -> None:
        """Remember who of a look-up opted out."""
        self._silent |= {node: format_time(now) for node, why in missing.items() if why == Reason.OPTED_OUT}

    def find_reply(self, asked: Request, now: float) -> Reply | None:
        """See `protocols.Store.held`."""
        if asked.key[0] in self.returning and not asked.endpoint.endswith((*self._facts.profiles, *FOR_A_DAY)):
            return None  # somebody who was visited before is asked for what is new: no old answer has that
        since = format_time(max(0.0, now - self.find_hours(asked) * HOUR))
        known = self._asked.fetch_rows([self._write.make_digest(asked)])
        mine = [row for row in known if (row.campaign, row.n) == (self._write.campaign, asked.key[0])]
        if any(row.part != asked.key[1] for row in mine):
            return None  # this talk got that answer already, and asks once more: its list had led back to itself
        if any(row.kind == ReplyKind.HELD for row in mine):
            return None  # this pick was told so before, and still it asks: that did not help
        look_up = asked.endpoint in self._facts.profiles
        reply = self._find_users(asked, since, now) if look_up else self._find_posts(known, since, now, asked.key)
        if reply is not None:
            self._write.write_held(asked, reply)
        return reply

    def _find_posts(self, known: Sequence[Any], since: str, now: float, key: tuple[int, int]) -> Reply | None:
        """Return the newest page of posts, where the platform's last word was one and all of it is still here."""
        came = [row for row in known if row.kind in ANSWERED and row.arrived_at >= since]
        newest = max(came, key=lambda row: (row.arrived_at, row.id), default=None)
        if newest is None:
            return None
        (row,) = self._came.fetch_rows([newest.id])
        page = answer_packing.parse_page(row)  # None: the account is gone, or no page came
        kept = None if page is None else self._count(page, format_time(now), key)
        return None if kept is None else Reply(ReplyKind.HELD, now, kept, row.cursor, limits=[])

    def _count(self, page: answer_packing.StoredPage, now: str, asker: tuple[int, int]) -> Answer | None:
        """Count a page anew and write its hits; None where some of it is not here any more."""
        counts = {key: self.reuse.hits(*fields) for key, *fields in self._texts.fetch_rows(page.ids)}
        named = list(dict.fromkeys([*(node for _, node in page.pairs), *page.found, *page.follows]))
        who = {node: Who(key, username) for node, key, username in self._who.fetch_rows(named)}
        if len(who) < len(named) or len(counts) < len(set(page.ids)):
            return None
        # By name once more: one that was known by name only may have turned out to be another account.
        numbers = self._nodes.number(who.values(), now)
        repeats = self._seen.find_repeats(*asker, page.ids)
        self._write.write_hits(counts.items())
        hits = [counts[key] for key in page.ids]
        links: dict[tuple[int, int], int] = {}
        for place, node, many in self._linking.weigh(page, hits):
            links.setdefault((place, numbers[who[node]]), many)
        count = Recount()
        count.add_posts(hits, ((*mention, many) for mention, many in links.items()), repeats)
        about = {node: str(who[node].id) for node in page.found}
        follows = tuple(dict.fromkeys(numbers[who[node]] for node in page.follows))
        return count.make_answer(found=about, missing=page.missing, follows=follows, mark=page.mark)

    def _find_users(self, asked: Request, since: str, now: float) -> Reply | None:
        """Return those of the users whose profiles are young enough; the others have to be asked for."""
        heeded, rows = asked.params.get("opt_outs") != "no", []
        for lookup, named in ((self._by_id, asked.params.get("ids")), (self._by_name, asked.params.get("usernames"))):
            keys = [] if named is None else (named if lookup is self._by_id else named.lower()).split(",")
            known = {row[0]: row for row in lookup.fetch_rows(keys)}
            found = [row for key in dict.fromkeys(keys) if (row := known.get(key))]
            rows += [row for row in found if self._is_complete(row, since, heeded=heeded)]
        by_id = self._nodes.find_known((asked.params.get("ids") or "").split(",")) if self._silent and heeded else ()
        silent = {node: Reason.OPTED_OUT for node in by_id if self._silent.get(node, "") >= since}
        rows = [row for row in rows if row.node not in silent]
        if not rows and not silent:
            return None
        same = self._nodes.find_claims({row.handle: row.node for row in rows})
        hidden = {row.node: Reason.PROTECTED for row in rows if row.protected}
        about = {row.node: row.platform_id for row in rows}
        return Reply(ReplyKind.HELD, now, Answer(found=about, missing={**hidden, **silent, **same}), limits=[])

    def _is_complete(self, row: Any, since: str, *, heeded: bool) -> bool:
        """Return whether a profile is young enough, and says whether the posts can be read at all."""
        if self._facts.tells_protected:
            return bool(row.profile_at >= since and row.protected is not None)
        return bool(row.profile_at >= since and not (heeded and has_opt_out(row.description)))


def _select_profiles(connection: Connection, platform: str, key: Column[Any]) -> Select[Any]:
    """Select profiles by a key, which comes first; of several that had a name, the one last seen with it comes last."""
    profile_columns = (account.c.description, account.c.protected, account.c.profile_at)
    columns = (account.c.node, account.c.platform_id, account.c.handle, *profile_columns)
    shown = (account.c.platform_id.is_not(None), account.c.profile_at.is_not(None))
    ours = account.c.platform == literal_column(f"'{platform}'")
    asked = select(key.label("key"), *columns).where(ours, match_keys(connection, key))
    return asked.where(*shown).order_by(account.c.profile_at, account.c.node.desc())
