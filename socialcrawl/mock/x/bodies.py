"""The bodies of answers: data, includes, errors and meta joined from ready bytes, with what they cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.names import HERE, PROTECTED
from socialcrawl.mock.x.parameters import Cursor, cut_page
from socialcrawl.mock.x.problems import Problem, make_missing_reference, make_missing_user
from socialcrawl.mock.x.render import XRenderer
from socialcrawl.mock.x.vocabulary import ShownFields


@dataclass(frozen=True)
class XAnswer:
    """An answer with status 200, and what is billed for it.

    Attributes:
        body: its bytes.
        posts, users: the resources in it: positions of posts, rows of accounts.
        counts, archive_counts: requests for counts of the last seven days, and of all posts.
    """

    body: bytes
    posts: Iterable[int] = ()
    users: Iterable[int] = ()
    counts: int = 0
    archive_counts: int = 0


def make_users_answer(
    renderer: XRenderer, accounts: list[int], problems: list[Problem], ask: ShownFields, *, single: bool
) -> XAnswer:
    """Return the answer to a lookup: the accounts found (one object if `single`, else a list) and the errors.

    Their latest posts come beside them where these are expanded.
    """
    found = [renderer.user(account, ask) for account in accounts]
    parts = []
    if found:
        parts.append(b'"data":' + (found[0] if single else _join_array(found)))
    posts = [renderer.recent(account) for account in accounts] if "recent" in ask.expansions else []
    shown = [post for post in posts if post is not None]
    if shown:
        name = ask.words.includes.encode()
        parts.append(b'"includes":{"' + name + b'":' + _join_array([renderer.post(post, ask) for post in shown]) + b"}")
    if problems:
        parts.append(b'"errors":' + orjson.dumps(problems))
    return XAnswer(_join_object(parts), posts=shown, users=accounts)


def make_list_answer(renderer: XRenderer, accounts: list[int], ask: ShownFields, token: str | None) -> XAnswer:
    """Return one page of a list of users; `token` leads to the next one."""
    meta: dict[str, Any] = {"result_count": len(accounts)} | ({"next_token": token} if token else {})
    parts = [b'"data":' + _join_array([renderer.user(account, ask) for account in accounts])] if accounts else []
    return XAnswer(_join_object([*parts, b'"meta":' + orjson.dumps(meta)]), users=accounts)


def make_look_up_answer(
    renderer: XRenderer, positions: list[int], problems: list[Problem], ask: ShownFields, *, single: bool
) -> XAnswer:
    """Return the answer to a look-up of posts: those found (one object if `single`, else a list) and the errors."""
    parts, more = [], _Includes(renderer, ask)
    if positions:
        shown = renderer.post(positions[0], ask) if single else renderer.posts(np.array(positions), ask)
        parts.append(b'"data":' + shown)
        more.gather(positions)
    parts += more.parts(problems)
    return XAnswer(_join_object(parts), posts=[*positions, *more.posts], users=list(more.users))


def make_posts_answer(
    renderer: XRenderer,
    positions: NDArray[np.int64],
    ask: ShownFields,
    *,
    size: int,
    cursor: Cursor | None,
    place: str,
    overlap: int = 0,
    back: bool = True,
) -> XAnswer:
    """Return one page of posts.

    Args:
        renderer: the world's JSON.
        positions: all posts of the list, int64[n], newest first.
        ask: what is to be shown.
        size: the page size.
        cursor: where the page begins; None is at the newest.
        place: the name of the list, for its tokens.
        overlap: how many posts of the page before it begins with.
        back: whether the list can be read backwards; search cannot.
    """
    ids = renderer.world.ids[positions]
    part = cut_page(ids, size, cursor, overlap)
    shown = positions[part.start : part.stop]
    page = shown.tolist()
    meta: dict[str, Any] = {"result_count": len(page)}
    parts = []
    more = _Includes(renderer, ask)
    if page:
        newest, oldest = int(ids[part.start]), int(ids[part.stop - 1])
        meta |= {"newest_id": str(newest), "oldest_id": str(oldest)}
        if part.older:
            meta["next_token"] = renderer.changes.issue(Cursor(older=True, post=oldest).token(place))
        if part.newer and back:
            meta["previous_token"] = renderer.changes.issue(Cursor(older=False, post=newest).token(place))
        parts.append(b'"data":' + renderer.posts(shown, ask))
        more.gather(page)
        parts += more.parts()
    parts.append(b'"meta":' + orjson.dumps(meta))
    return XAnswer(_join_object(parts), posts=[*page, *more.posts], users=list(more.users))


def make_stream_body(renderer: XRenderer, post: int, ask: ShownFields, matching: list[dict[str, str]]) -> bytes:
    """Return a message of a stream: the post at this position, its expansions and the rules that it matches."""
    more = _Includes(renderer, ask)
    more.gather([post])
    data = b'"data":' + renderer.post(post, ask)
    return _join_object([data, *more.parts(), b'"matching_rules":' + orjson.dumps(matching)])


def find_billed(renderer: XRenderer, post: int, ask: ShownFields) -> tuple[list[int], list[int]]:
    """Return what a message of a stream costs: positions of posts, and rows of accounts."""
    more = _Includes(renderer, ask)
    more.gather([post])
    return [post, *more.posts], list(more.users)


class _Includes:
    """The objects that a page's expansions bring, each once, in order of first appearance."""

    def __init__(self, renderer: XRenderer, ask: ShownFields) -> None:
        self._renderer = renderer
        self._world, self._changes = renderer.world, renderer.changes
        self._ask = ask
        self.posts: dict[int, None] = {}
        self.users: dict[int, None] = {}
        self._problems: dict[tuple[str, str], Problem] = {}

    def gather(self, page: list[int]) -> None:
        """Add the expansions of the posts at these positions."""
        expansions = self._ask.expansions
        if not expansions:
            return
        if expansions & {"references", "references.author_id"}:
            for post in page:
                self._add_references(post)
        for post in page:
            if "author_id" in expansions:
                self._add_user(int(self._world.author[post]), "author_id")
            if "in_reply_to_user_id" in expansions and self._world.references.is_reply(post):
                self._add_user(int(self._world.references.replied_account[post]), "in_reply_to_user_id")
            if "entities.mentions.username" in expansions:
                for account in self._renderer.get_text(post).accounts:
                    self._add_user(account, "entities.mentions.username")
            if "note.mentions" in expansions:
                for account in self._renderer.get_text(post).note_accounts or ():
                    self._add_user(account, "entities.note.mentions.username")

    def _add_references(self, post: int) -> None:
        for _, number, place in self._world.references.of(post):
            position = self._changes.place(place)
            author = int(self._world.author[position]) if position >= 0 else -1
            if author >= 0 and self._changes.find_fate(author) == HERE:
                self.posts[position] = None
                if "references.author_id" in self._ask.expansions:
                    self._add_user(author, "referenced_tweets.id.author_id")
            else:
                fate = HERE if author < 0 else self._changes.find_fate(author)
                self._problems["reference", str(number)] = make_missing_reference(self._ask.words, str(number), fate)

    def _add_user(self, account: int, parameter: str) -> None:
        fate = self._changes.find_fate(account)
        if fate in (HERE, PROTECTED):
            self.users[account] = None
            return
        by_name = parameter.endswith("username")
        value = self._changes.username(account) if by_name else str(self._world.accounts.ids[account])
        key = (parameter, value)
        if key not in self._problems:
            self._problems[key] = make_missing_user(self._ask.words, parameter, value, fate, section="includes")

    def parts(self, problems: Iterable[Problem] = ()) -> list[bytes]:
        """Return the members `includes` and `errors` of the body, where there are any; `problems` are the data's."""
        ask, renderer = self._ask, self._renderer
        includes = []
        if self.users:
            includes.append(b'"users":' + _join_array([renderer.user(account, ask) for account in self.users]))
        if self.posts:
            name = ask.words.includes.encode()
            includes.append(b'"' + name + b'":' + _join_array([renderer.post(post, ask) for post in self.posts]))
        parts = [b'"includes":' + _join_object(includes)] if includes else []
        if errors := [*problems, *self._problems.values()]:
            parts.append(b'"errors":' + orjson.dumps(errors))
        return parts


def _join_array(parts: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(parts) + b"]"


def _join_object(members: Iterable[bytes]) -> bytes:
    return b"{" + b",".join(members) + b"}"
