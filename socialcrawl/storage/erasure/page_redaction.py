"""A parsed page without what was forgotten: nothing of it reaches the store. Pure, except for `PageRedaction`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson
from sqlalchemy import Connection, delete, exists, select, update

from socialcrawl.engine.model import AccountRow, Page, PostRow, Reason, Who
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage.database.bulk import select_by_keys
from socialcrawl.storage.erasure.ledger import redact_question
from socialcrawl.storage.erasure.orders import WHY
from socialcrawl.storage.erasure.ownership import find_owners, is_owned, shorten_names
from socialcrawl.storage.erasure.seed_slots import clear_seeds
from socialcrawl.storage.erasure.targets import ErasureTargets
from socialcrawl.storage.erasure.texts import find_link_ids, find_names, remove_links, replace_names
from socialcrawl.storage.erasure.tombstones import (
    AGED,
    SHORT,
    has_tombstones,
    make_digest,
    put_tombstones,
    read_reasons,
)
from socialcrawl.storage.schema.tables import account, mention, post, request


@dataclass(frozen=True, slots=True)
class ForgottenKeys:
    """What of a page was forgotten: users by id, names in lower case, posts by id.

    `aged` are posts that only became too old: they are not stored again, but others may repost and answer them.
    `asked` are names that a look-up asked about, of accounts that are stored by that name only. `short` are short forms
    of names, in lower case, which count in posts that mention somebody who was forgotten, and nowhere else.
    """

    users: Collection[str] = frozenset()
    names: Collection[str] = frozenset()
    posts: Collection[str] = frozenset()
    aged: Collection[str] = frozenset()
    asked: Collection[str] = frozenset()
    short: Collection[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.users or self.names or self.posts or self.aged)

    def has_account(self, who: Who) -> bool:
        """Return whether an account was forgotten, by its id or its name."""
        return who.id in self.users or (who.username or "").lower() in self.names

    @property
    def keys(self) -> Collection[str]:
        """What links may hold: ids of users and posts."""
        return {*self.users, *self.posts}


def remove_forgotten(page: Page, gone: ForgottenKeys) -> Page:
    """Return the page without forgotten posts, authors, mentions and profiles, and without reposts of them.

    Others' posts stay: names in their texts become `@forgotten`, references to forgotten posts are cut, and the
    platform's JSON is dropped where it spoke of them. Whoever was asked about by name is missing: forgotten.
    """
    if not gone:
        return page
    cited = {mention.post for mention in page.mentions if gone.has_account(mention.who)}
    copies = {m.post for m in page.mentions if m.kind == "repost" and gone.has_account(m.who)}
    kept = [i for i, row in enumerate(page.posts) if i not in copies and not _is_forgotten(row, gone)]
    places = {old: new for new, old in enumerate(kept)}
    return Page(
        posts=[_redact_post(page.posts[i], gone, cited=i in cited) for i in kept],
        hits=[page.hits[i] for i in kept],
        mentions=[
            m._replace(post=places[m.post]) for m in page.mentions if m.post in places and not gone.has_account(m.who)
        ],
        follows=tuple(who for who in page.follows if not gone.has_account(who)),
        mark=page.mark,
        accounts=[
            _redact_account(row, gone) for row in page.accounts if not gone.has_account(Who(row.id, row.username))
        ],
        answered=[who for who in page.answered if not gone.has_account(who)],
        missing=[
            *((who, why) for who, why in page.missing if not gone.has_account(who)),
            *((Who(None, name), Reason.FORGOTTEN) for name in sorted(gone.asked)),
        ],
        active=tuple((who, at) for who, at in page.active if not gone.has_account(who)),
        deleted=page.deleted,
        deleted_accounts=page.deleted_accounts,
    )


def mask_for_billing(page: Page, gone: ForgottenKeys, platform: str) -> Page:
    """Return the page as it is billed: whole, but the forgotten under their digests, so that the bill names nobody."""
    if not gone:
        return page
    posts = [
        row._replace(id=make_digest(platform, "post", row.id)) if _is_forgotten(row, gone) else row
        for row in page.posts
    ]
    accounts = [
        row._replace(id=make_digest(platform, "user", row.id)) if gone.has_account(Who(row.id, row.username)) else row
        for row in page.accounts
    ]
    return replace(page, posts=posts, accounts=accounts)


class PageRedaction:
    """The tombstones of a database as a store meets them: pages come in, and go on without the forgotten.

    Nothing can be forgotten while a campaign runs, so whether there are tombstones at all is looked up once.

    Args:
        connection: the database.
        platform: that of the pages.
    """

    def __init__(self, connection: Connection, platform: str) -> None:
        self.connection, self.platform, self._facts = connection, platform, find_platform_facts(platform)
        self._any: bool | None = None

    def find_forgotten(self, page: Page, now: str) -> ForgottenKeys:
        """Return what of a page was forgotten; called in a transaction.

        Whoever was forgotten by name and comes with an id is from now on known by that too, and whoever was forgotten
        by id by the name: tombstones are put, and accounts that were stored by that name only are emptied, except for
        those in `ForgottenKeys.asked`, which whoever stores the page is to `empty` when it has numbered them.
        """
        if self._any is None:
            self._any = has_tombstones(self.connection)
        if not self._any:
            return ForgottenKeys()
        whos = _list_accounts(page)
        referred = {owner for key in _list_ids(page) for owner in find_owners(key)}
        known = [w.username.lower() for w in whos if w.username]
        names = self.find_names([*known, *find_names(_list_texts(page)), *(owner.lower() for owner in referred)])
        ids, links = [w.id for w in whos if w.id], find_link_ids(_list_texts(page))
        users = set(
            self._read_reasons(
                "user", [*ids, *(row.author for row in page.posts), *links, *referred, *self._list_pages(page)]
            )
        )
        learned = {w.id for w in whos if w.id and (w.username or "").lower() in names} - users
        users |= learned
        posts = self._read_reasons("post", [*_list_ids(page), *links])
        aged = {key for key, why in posts.items() if why == AGED}
        shown = self._find_unowned({w.username.lower() for w in whos if w.username and w.id in users} - names, users)
        self._remember("user", learned, now)
        self._remember("name", shown, now)
        self._remember(SHORT, shorten_names(shown) if self._facts.short_names else (), now)
        found = ForgottenKeys(users, names | shown, posts.keys() - aged, aged, self._find_emptied(shown, page, now))
        return replace(found, short=self._find_short_names(page, found)) if found else found

    def empty_accounts(self, names: Collection[str], now: str, request_id: int) -> None:
        """Empty the accounts that are stored by one of these names only, and take the names out of a request.

        Called in a transaction. They were forgotten by their ids, which that request told.
        """
        if not names:
            return
        self._empty_nodes(list(self._find_by_name(names).values()), now)
        mine = request.c.id == request_id
        query = select(request.c.params, request.c.digest, request.c.cursor, request.c.endpoint)
        row = self.connection.execute(query.where(mine)).one()
        params, hashed, _ = redact_question(row, self._gone(names))
        self.connection.execute(update(request).where(mine).values(params=params, digest=hashed))

    def _find_short_names(self, page: Page, gone: ForgottenKeys) -> set[str]:
        """Return what the posts that mention somebody who was forgotten may call them for short."""
        theirs = [m for m in page.mentions if gone.has_account(m.who)] if self._facts.short_names else []
        names = shorten_names(m.who.username for m in theirs if m.who.username)
        return names | set(self._read_reasons(SHORT, sorted(find_names(page.posts[m.post].text for m in theirs))))

    def _list_pages(self, page: Page) -> list[str]:
        """Return the addresses to which pages of the web link: ids of accounts."""
        if not self._facts.pages:
            return []
        return [str(url) for row in page.posts if row.urls for url in orjson.loads(row.urls)]

    def _find_unowned(self, names: Collection[str], users: Collection[str]) -> set[str]:
        """Return those of the names that are not known as the name of somebody else, who is not forgotten."""
        known = select(account.c.handle, account.c.platform_id).where(
            account.c.platform == self.platform, account.c.platform_id.is_not(None)
        )
        others = select_by_keys(self.connection, known, account.c.handle, sorted(names))
        return set(names) - {row.handle for row in others if row.platform_id not in users}

    def _find_emptied(self, names: Collection[str], page: Page, now: str) -> set[str]:
        """Return the names that the page was asked about, of accounts stored by name only.

        The other such accounts go.
        """
        if not names:
            return set()
        named = self._find_by_name(names)
        clear_seeds(self.connection, self._gone(names, named))
        about = {(who.username or "").lower() for who in page.answered}
        self._empty_nodes([node for name, node in named.items() if name not in about], now)
        return named.keys() & about

    def _gone(self, names: Collection[str], owners: Mapping[str, int] | None = None) -> ErasureTargets:
        return ErasureTargets(self.platform, names=dict.fromkeys(names, WHY), owners=dict(owners or {}))

    def _find_by_name(self, names: Collection[str]) -> dict[str, int]:
        """Return accounts without an id and without posts. Imported ones are left to `forget` itself."""
        wrote = exists().where(post.c.author == account.c.node)
        ours = select(account.c.node, account.c.handle).where(
            account.c.platform == self.platform, account.c.platform_id.is_(None), ~wrote
        )
        rows = select_by_keys(self.connection, ours, account.c.handle, sorted(names))
        return {row.handle: row.node for row in sorted(rows, reverse=True)}

    def _empty_nodes(self, nodes: Sequence[int], now: str) -> None:
        if nodes:
            mine = account.c.node.in_(nodes)
            self.connection.execute(update(account).where(mine).values(username=None, handle=None, forgotten_at=now))
            self.connection.execute(delete(mention).where(mention.c.node.in_(nodes)))

    def _remember(self, kind: str, keys: Collection[str], now: str) -> None:
        put_tombstones(
            self.connection, [(make_digest(self.platform, kind, key), kind, WHY, now) for key in sorted(keys)]
        )

    def find_names(self, names: Sequence[str]) -> set[str]:
        """Return those of the usernames that were forgotten, as they were given; called in a transaction."""
        return set(self._read_reasons("name", names))

    def _read_reasons(self, kind: str, keys: Sequence[str]) -> dict[str, str]:
        return read_reasons(self.connection, self.platform, kind, dict.fromkeys(keys))


def _is_forgotten(row: PostRow, gone: ForgottenKeys) -> bool:
    is_gone = row.id in gone.posts or row.id in gone.aged
    theirs = row.repost_of in gone.posts or is_owned(row.repost_of, gone.users, gone.names)
    return is_gone or row.author in gone.users or theirs


def _redact_post(row: PostRow, gone: ForgottenKeys, *, cited: bool) -> PostRow:
    kept = row._replace(
        text=replace_names(row.text, {*gone.names, *gone.short} if cited else gone.names, gone.keys),
        urls=remove_links(row.urls, gone.names, gone.keys),
        reply_to=_redact_key(row.reply_to, gone),
        quote_of=_redact_key(row.quote_of, gone),
        conversation_id=_redact_key(row.conversation_id, gone),
    )
    return kept._replace(original=None) if cited or kept != row else kept


def _redact_key(key: str | None, gone: ForgottenKeys) -> str | None:
    return None if key in gone.posts or is_owned(key, gone.users, gone.names) else key


def _redact_account(row: AccountRow, gone: ForgottenKeys) -> AccountRow:
    return row._replace(
        name=row.name and replace_names(row.name, gone.names, gone.keys),
        description=row.description and replace_names(row.description, gone.names, gone.keys),
        url=row.url and replace_names(row.url, gone.names, gone.keys),
    )


def _list_accounts(page: Page) -> list[Who]:
    return [
        *(Who(row.id, row.username) for row in page.accounts),
        *page.answered,
        *(mention.who for mention in page.mentions),
        *(who for who, _ in page.missing),
        *page.follows,
    ]


def _list_texts(page: Page) -> list[str]:
    profiles = (text for row in page.accounts for text in (row.name, row.description, row.url))
    return [text for text in (*(t for one in page.posts for t in (one.text, one.urls)), *profiles) if text]


def _list_ids(page: Page) -> list[str]:
    referred = (key for one in page.posts for key in (one.id, one.reply_to, one.quote_of, one.repost_of,
                                                      one.conversation_id))  # fmt: skip
    return [key for key in referred if key]
