"""Pages of a file into the tables of accounts, posts and mentions, in the same words as pages of the platform.

What the database has stays as it is: a second import changes nothing, and an old archive does not make a post or a
profile older. A profile that the archive saw later than the database did is renewed. What was forgotten is left out,
by the rules for a page of the platform.
"""

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.engine.model import AccountRow, Page, Reason, Who
from socialcrawl.storage import answer_packing
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.bulk import Lookup, make_update, match_keys
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.erasure.page_redaction import ForgottenKeys, PageRedaction, remove_forgotten
from socialcrawl.storage.imports.parsed_page import MADE, ParsedPage
from socialcrawl.storage.imports.temporary_tables import ImportTables
from socialcrawl.storage.nodes import Nodes
from socialcrawl.storage.schema.tables import account, post
from socialcrawl.storage.writes import CampaignWriter


def expand_page(found: ParsedPage) -> Page:
    """Return the page with all accounts that the file names, so that each is looked up among the forgotten."""
    everybody = (*found.named, *found.authors.values(), *(Who(None, to) for _, to in found.replies))
    return replace(found.page, missing=[(who, Reason.FORGOTTEN) for who in everybody])


def remove_forgotten_posts(found: ParsedPage, gone: ForgottenKeys) -> ParsedPage:
    """Remove forgotten posts, authors, mentions and profiles from a page, and the names of accounts that it answers."""
    if not gone:
        return found
    lost = {place for place, to in found.replies if to in gone.posts or to.lower() in gone.names}
    left = [place for place in range(len(found.page.posts)) if not gone.has_account(found.get_author(place))]
    page = remove_forgotten(_select_posts(_clear_answers(found.page, lost), left), gone)
    kept = iter(page.posts)
    following = next(kept, None)
    places: list[int] = []  # of the posts that are left, in the file; `remove_forgotten` keeps their order
    for place in left:
        if following is not None and found.page.posts[place].id == following.id:
            places.append(place)
            following = next(kept, None)
    new = {old: i for i, old in enumerate(places)}
    return replace(
        found,
        page=page,
        times=[found.times[place] for place in places] if found.times else (),
        named=[who for who in found.named if not gone.has_account(who)],
        replies=[(new[place], to) for place, to in found.replies if place in new and place not in lost],
    )


def _clear_answers(page: Page, places: Container[int]) -> Page:
    """Return the page, in which the posts at some places do not say whom they answer."""
    silent = [
        row._replace(reply_to=None, original=None) if place in places else row for place, row in enumerate(page.posts)
    ]
    return replace(page, posts=silent)


def _select_posts(page: Page, places: Sequence[int]) -> Page:
    new = {old: i for i, old in enumerate(places)}
    return replace(
        page,
        posts=[page.posts[place] for place in places],
        hits=[page.hits[place] for place in places],
        mentions=[m._replace(post=new[m.post]) for m in page.mentions if m.post in new],
    )


STAMPS = ("metrics_at", "fetched_at")
NOBODY = -1  # the campaign of an import that is for none: it has no hits


@dataclass(slots=True)
class ImportCounts:
    """What an import has stored so far: posts of the file, those new to the database, those left out as forgotten."""

    posts: int = 0
    new: int = 0
    forgotten: int = 0


class PostImport:
    """An import under way.

    Args:
        connection: from `connection.connect`.
        platform: the platform of the accounts.
        now: when it happens, ISO 8601: when a post was fetched of which the file does not tell it.
        campaign: campaign.id of the one whose topic the occurrences are of; None for none.
        history: whether the posts become the history of the campaign.
    """

    def __init__(
        self,
        connection: Connection,
        platform: str,
        now: str,
        campaign: int | None = None,
        *,
        history: bool = False,
    ) -> None:
        self.connection, self.platform, self.now = connection, platform, now
        self.stored = ImportCounts()
        self._nodes = Nodes(connection, platform)
        self._write = CampaignWriter(connection, NOBODY if campaign is None else campaign, platform)
        self._held = Lookup(connection, select(post.c.id).where(match_keys(connection, post.c.id)))
        seen = (account.c.node, account.c.profile_at)
        self._seen = Lookup(connection, select(*seen).where(match_keys(connection, account.c.node)))
        self._stamp = make_update(connection, post, STAMPS, "id")
        with self.begin_transaction():
            self.notes = ImportTables(connection, history=history)

    def take(self, found: ParsedPage) -> None:
        """Store a page of the file: one transaction."""
        with self.begin_transaction():
            # Anew for every page: somebody may be forgotten while an import is under way.
            left = remove_forgotten_posts(
                found, PageRedaction(self.connection, self.platform).find_forgotten(expand_page(found), self.now)
            )
            self._keep(left)
            self.stored.forgotten += len(found.page.posts) - len(left.page.posts)

    def store_answers(self) -> None:
        """Store who was answered, where the file named the post only, or left open which of the two it named."""
        with self.begin_transaction():
            self.notes.resolve()
            after = -1
            while some := self.notes.read_names(after):
                after = some[-1][0]
                self._store_names([row for row in some if not (row[2].isdigit() or row[2].startswith(MADE))])
            self.notes.add_mentions()

    def close(self) -> None:
        """Let go of what was noted."""
        with self.begin_transaction():
            self.notes.drop()

    @contextmanager
    def begin_transaction(self) -> Iterator[None]:
        """Open a transaction whose errors say what to do."""
        try:
            with self.connection.begin():
                yield
        except DBAPIError as error:
            self._nodes.forget()
            raise convert_error(error, find_address(self.connection)) from error
        except BaseException:
            self._nodes.forget()
            raise

    def _store_names(self, answered: Sequence[tuple[int, str, str]]) -> None:
        """Store that these are names of accounts: what is no post here and looks like no id."""
        gone = PageRedaction(self.connection, self.platform).find_names([name for _, _, name in answered])
        kept = [(place, key, Who(None, name)) for place, key, name in answered if name not in gone]
        numbers = self._nodes.number([who for _, _, who in kept], self.now)
        self.notes.note_names([(place, key, numbers[who]) for place, key, who in kept])
        self.notes.clear_names([key for _, key, name in answered if name in gone])

    def _keep(self, found: ParsedPage) -> None:
        page = found.page
        self._store_profiles(page.accounts, found.at)
        authors = [found.get_author(place) for place in range(len(page.posts))]
        everyone = [*found.named, *authors, *(mention.who for mention in page.mentions)]
        numbers = self._nodes.number(everyone, self.now)
        numbers |= {Who(row.author, None): numbers[who] for row, who in zip(page.posts, authors, strict=True)}
        pairs = answer_packing.collect_mentions(page, numbers)
        fresh = self._find_new(page)
        places = {place: i for i, place in enumerate(fresh)}
        new = Page([page.posts[place] for place in fresh], [page.hits[place] for place in fresh])
        theirs = {(places[place], node): kind for (place, node), kind in pairs.items() if place in places}
        self._write.write_page(new, numbers, theirs, self.now)
        self._write.write_hits((row.id, hits) for row, hits in zip(page.posts, page.hits, strict=True))
        stamps = [(at, page.posts[place].id) for place in fresh if found.times and (at := found.times[place])]
        self._stamp.run([(min(read, self.now), min(came, self.now), key) for (read, came), key in stamps])
        self.notes.note_page(found, numbers, pairs)
        self.stored.posts += len(page.posts)
        self.stored.new += len(fresh)

    def _find_new(self, page: Page) -> list[int]:
        """Return the places of the posts that the database has not yet, each id once."""
        held = {row[0] for row in self._held.fetch_rows([row.id for row in page.posts])}
        first: dict[str, int] = {}
        for place, row in enumerate(page.posts):
            if row.id not in held:
                first.setdefault(row.id, place)
        return list(first.values())

    def _store_profiles(self, accounts: Sequence[AccountRow], at: str | None) -> None:
        """Store the profiles that are younger than what is known, and those of accounts of which nothing is."""
        rows = list({row.id: row for row in accounts}.values())
        if not rows:
            return
        numbers = self._nodes.number([Who(row.id, row.username) for row in rows], self.now)
        seen = dict(map(tuple, self._seen.fetch_rows(list(set(numbers.values())))))
        at = None if at is None else min(at, self.now)
        younger = [
            row
            for row in rows
            if (before := seen.get(numbers[Who(row.id, row.username)])) is None or (at is not None and before < at)
        ]
        self._nodes.store_profiles(younger, at or self.now)
