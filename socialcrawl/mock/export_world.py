"""The world of a finished campaign, from its export: it answers the same questions in the same way once more.

A world of posts is looked at through search and timelines; here these are given, as the platform answered them then:
which posts a search found, which ones a timeline showed, whom each post names and in which order, who was missing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.exported_campaign import Exported
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.names import (
    DELETED,
    HERE,
    LEGAL,
    PROTECTED,
    SUSPENDED,
    hash_names,
    make_legal_names,
    make_user_ids,
)
from socialcrawl.mock.references import References
from socialcrawl.mock.world import Accounts, Grouping, Record, World, make_ids

FATES = {"suspended": SUSPENDED, "protected": PROTECTED}
POST = ("id", "created_at", "text", "lang", "conversation_id", "reply_to", "repost_of", "author_node")


@dataclass(frozen=True)
class _ExportedPosts:
    """The posts of an export in the order of their ids: rows, ids as numbers, and where each id stands."""

    rows: list[dict[str, Any]]
    ids: NDArray[np.int64]
    created_at: NDArray[np.int64]
    place: dict[str, int]


def build_rehearsal(export: Exported) -> World:
    """Return the world in which an exported campaign finds again what it found."""
    posts = _read_posts(export)
    accounts, ids_known, row_of = _read_accounts(export)
    authors = np.array([row_of[row["author_node"]] for row in posts.rows], np.int64)
    # Who has no name was told by the id of the answered account alone, and is again.
    named = {node for node, _, username, *_ in export.accounts if username is not None}
    mentions = [(posts.place[post], row_of[node]) for post, node, _, _ in export.mentions if node in named]
    by_post, mentioned = np.array(mentions, np.int64).reshape(-1, 2).T
    answered = {posts.place[post]: row_of[node] for post, node, kind, _ in export.mentions if kind == "reply"}
    ascending = np.argsort(by_post, kind="stable")
    shown = _find_shown(export, posts)
    n = len(accounts)
    return World(
        ids=posts.ids,
        created_at=posts.created_at,
        author=authors,
        texts=[row["text"] or "" for row in posts.rows],
        lang=[row["lang"] or "und" for row in posts.rows],
        accounts=accounts,
        mentions=Grouping.by(by_post, mentioned, len(posts.rows)),
        references=_make_references(posts, answered),
        timelines=Grouping.by(authors[shown], shown, n),
        mentioned_in=Grouping.by(mentioned[ascending], by_post[ascending], n),
        record=Record(
            ids_known,
            {
                query: np.unique(np.array([posts.place[key] for key in ids if key in posts.place], np.int64))
                for query, ids in export.searches.items()
            },
        ),
    )


def _read_posts(export: Exported) -> _ExportedPosts:
    rows = [dict(zip(POST, row, strict=True)) for row in export.posts]
    seconds = {row["id"]: int(row["created_at"].timestamp()) if row["created_at"] else 0 for row in rows}
    numbered = all(key.isascii() and key.isdecimal() and 0 < int(key) < 2**63 for key in seconds)
    rows.sort(key=lambda row: int(row["id"]) if numbered else (seconds[row["id"]], len(row["id"]), row["id"]))
    created_at = np.array([seconds[row["id"]] for row in rows], np.int64)
    # Posts that came from files may have ids that are no numbers.
    ids = np.array([int(row["id"]) for row in rows], np.int64) if numbered else make_ids(created_at)
    return _ExportedPosts(rows, ids, created_at, {row["id"]: place for place, row in enumerate(rows)})


def _read_accounts(export: Exported) -> tuple[Accounts, NDArray[np.bool_], dict[int, int]]:
    """Return the accounts, which of them are known by id, and the row of every node."""
    nodes = [row[0] for row in export.accounts]
    keys = _read_keys(export)
    usernames = make_legal_names(keys)
    # An account whose id was never told must not tell one now; it is found under its name, if at all.
    known = np.array([bool(row[1]) and row[1].isdecimal() and 0 < int(row[1]) < 2**63 for row in export.accounts])
    ids = make_user_ids(keys, hash_names(keys)[:, 0])
    ids[known] = [int(row[1]) for row, there in zip(export.accounts, known.tolist(), strict=True) if there]
    fates = np.full(len(nodes), HERE, np.int8)
    fates[~known] = DELETED
    for place, (node, _, _, _, protected) in enumerate(export.accounts):
        if (why := export.missing.get(node)) is not None:
            fates[place] = FATES.get(why, DELETED)
        elif protected and node not in export.timelines:
            fates[place] = PROTECTED
    spelled = [
        row[2] if row[2] and fold_name(row[2]) == key else usernames[key]
        for row, key in zip(export.accounts, keys, strict=True)
    ]
    shown = [row[3] or name for row, name in zip(export.accounts, spelled, strict=True)]
    return Accounts(keys, shown, spelled, ids, fates), known, {node: row for row, node in enumerate(nodes)}


def _read_keys(export: Exported) -> list[str]:
    """Return the name of every account.

    Of several that had one name, the one with an id has it, and of these the last.
    """
    holders: dict[str, int] = {}
    for node, _, username, *_ in sorted(export.accounts, key=lambda row: (row[1] is not None, row[0])):
        if username and LEGAL.fullmatch(username):
            holders[fold_name(username)] = node
    return [
        fold_name(username) if username and holders.get(fold_name(username)) == node else f"#{node}"
        for node, _, username, *_ in export.accounts
    ]


def _find_shown(export: Exported, posts: _ExportedPosts) -> NDArray[np.int64]:
    """Return the places of posts that timelines show, ascending: of a read account, those that were shown then."""
    asked = set(export.timelines)
    listed = {key for ids in export.timelines.values() for key in ids}
    shown = [p for p, row in enumerate(posts.rows) if row["id"] in listed or row["author_node"] not in asked]
    return np.array(shown, np.int64)


def _make_references(posts: _ExportedPosts, answered: dict[int, int]) -> References:
    n = len(posts.rows)
    nobody = np.full(n, -1)
    replied_post, replied_account, retweeted_id, retweeted_post = (nobody.copy() for _ in range(4))
    conversation = np.arange(n)
    for place, row in enumerate(posts.rows):
        replied_post[place] = posts.place.get(row["reply_to"], -1)
        replied_account[place] = answered.get(place, -1)
        if (original := row["repost_of"]) is not None and original.isdecimal() and int(original) < 2**63:
            retweeted_id[place], retweeted_post[place] = int(original), posts.place.get(original, -1)
        conversation[place] = posts.place.get(row["conversation_id"], place)
    return References(
        ids=posts.ids,
        replied_post=replied_post,
        replied_account=replied_account,
        retweeted_id=retweeted_id,
        retweeted_post=retweeted_post,
        conversation=conversation,
        replies=np.bincount(replied_post[replied_post >= 0], minlength=n),
        retweets=np.bincount(retweeted_post[retweeted_post >= 0], minlength=n),
    )
