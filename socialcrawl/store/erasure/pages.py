"""A parsed page without what was forgotten: nothing of it reaches the store. Pure, but for `Barring`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from socialcrawl.model import AccountRow, Mention, Page, PostRow, Who
from socialcrawl.store.erasure.texts import linked, named, without_links, without_names
from socialcrawl.store.erasure.tombstones import AGED, any_set, digest, put, reasons


@dataclass(frozen=True, slots=True)
class Barred:
    """What of a page was forgotten: users by id, names in lower case, posts by id.

    `aged` are posts that only became too old: they are not stored again, but others may repost and answer them.
    """

    users: Collection[str] = frozenset()
    names: Collection[str] = frozenset()
    posts: Collection[str] = frozenset()
    aged: Collection[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.users or self.names or self.posts or self.aged)

    def who(self, who: Who) -> bool:
        """Whether an account was forgotten, by its id or its name."""
        return who.id in self.users or (who.username or "").lower() in self.names


def without(page: Page, gone: Barred) -> Page:
    """The page without forgotten posts, authors, mentions and profiles, and without reposts of them.

    Others' posts stay: names in their texts become `@forgotten`, references to forgotten posts are cut, and the
    platform's JSON is dropped where it spoke of them.
    """
    if not gone:
        return page
    cited = {mention.post for mention in page.mentions if gone.who(mention.who)}
    copies = {m.post for m in page.mentions if m.kind == "repost" and gone.who(m.who)}
    kept = [i for i, post in enumerate(page.posts) if i not in copies and not _forgotten(post, gone)]
    places = {old: new for new, old in enumerate(kept)}
    return Page(
        posts=[_post(page.posts[i], gone, cited=i in cited) for i in kept],
        hits=[page.hits[i] for i in kept],
        mentions=[
            Mention(places[m.post], m.who, m.kind) for m in page.mentions if m.post in places and not gone.who(m.who)
        ],
        accounts=[_account(row, gone) for row in page.accounts if not gone.who(Who(row.id, row.username))],
        answered=[who for who in page.answered if not gone.who(who)],
        missing=[(who, why) for who, why in page.missing if not gone.who(who)],
    )


def billed_as(page: Page, gone: Barred, platform: str) -> Page:
    """The page as it is billed: whole, but the forgotten under their digests, so that the bill names nobody."""
    if not gone:
        return page
    posts = [
        post._replace(id=digest(platform, "post", post.id)) if _forgotten(post, gone) else post for post in page.posts
    ]
    accounts = [
        row._replace(id=digest(platform, "user", row.id)) if gone.who(Who(row.id, row.username)) else row
        for row in page.accounts
    ]
    return replace(page, posts=posts, accounts=accounts)


class Barring:
    """The tombstones of a database as a store meets them: pages come in, and go on without the forgotten.

    Nothing can be forgotten while a campaign runs, so whether there are tombstones at all is looked up once.

    Args:
        connection: the database.
        platform: that of the pages.
    """

    def __init__(self, connection: Connection, platform: str) -> None:
        self.connection, self.platform = connection, platform
        self._any: bool | None = None

    def of(self, page: Page, now: str) -> Barred:
        """What of a page was forgotten; called in a transaction.

        Whoever was forgotten by name and comes with an id is from now on known by that too: a tombstone is put.
        """
        if self._any is None:
            self._any = any_set(self.connection)
        if not self._any:
            return Barred()
        whos = _whos(page)
        names = self.names([*(w.username.lower() for w in whos if w.username), *named(_texts(page))])
        users = set(self._of("user", [*(w.id for w in whos if w.id), *(post.author for post in page.posts)]))
        learned = {w.id for w in whos if w.id and (w.username or "").lower() in names} - users
        put(self.connection, [(digest(self.platform, "user", key), "user", "forget", now) for key in sorted(learned)])
        posts = self._of("post", _ids(page))
        aged = {key for key, why in posts.items() if why == AGED}
        return Barred(users | learned, names, posts.keys() - aged, aged)

    def names(self, names: Sequence[str]) -> set[str]:
        """Those of the usernames that were forgotten, as they were given; called in a transaction."""
        return set(self._of("name", names))

    def _of(self, kind: str, keys: Sequence[str]) -> dict[str, str]:
        return reasons(self.connection, self.platform, kind, dict.fromkeys(keys))


def _forgotten(post: PostRow, gone: Barred) -> bool:
    whole = post.id in gone.posts or post.id in gone.aged
    return whole or post.author in gone.users or post.repost_of in gone.posts


def _post(post: PostRow, gone: Barred, *, cited: bool) -> PostRow:
    kept = post._replace(
        text=without_names(post.text, gone.names, gone.posts),
        urls=without_links(post.urls, gone.names, gone.posts),
        reply_to=_cut(post.reply_to, gone),
        quote_of=_cut(post.quote_of, gone),
        conversation_id=_cut(post.conversation_id, gone),
    )
    return kept._replace(original=None) if cited or kept != post else kept


def _cut(post: str | None, gone: Barred) -> str | None:
    return None if post in gone.posts else post


def _account(row: AccountRow, gone: Barred) -> AccountRow:
    return row._replace(
        name=row.name and without_names(row.name, gone.names, gone.posts),
        description=row.description and without_names(row.description, gone.names, gone.posts),
        url=row.url and without_names(row.url, gone.names, gone.posts),
    )


def _whos(page: Page) -> list[Who]:
    return [
        *(Who(row.id, row.username) for row in page.accounts),
        *page.answered,
        *(mention.who for mention in page.mentions),
        *(who for who, _ in page.missing),
    ]


def _texts(page: Page) -> list[str]:
    profiles = (text for row in page.accounts for text in (row.name, row.description, row.url))
    return [text for text in (*(t for post in page.posts for t in (post.text, post.urls)), *profiles) if text]


def _ids(page: Page) -> list[str]:
    referred = (p for post in page.posts for p in (post.id, post.reply_to, post.quote_of, post.repost_of,
                                                   post.conversation_id))  # fmt: skip
    return [key for key in (*referred, *linked(_texts(page))) if key]
