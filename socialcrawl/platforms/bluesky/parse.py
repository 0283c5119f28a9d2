"""Bluesky's JSON as a Page: posts with their occurrences of the topic, whom they name, profiles, who is missing. Pure.

Shapes as in the lexicons app.bsky.feed.defs, app.bsky.actor.defs, app.bsky.richtext.facet. What is no such shape raises
KeyError, TypeError or AttributeError, which the wire turns into a reply that was lost.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from socialcrawl.engine.model import AccountRow, Mention, Page, PostRow, Reason, SoughtPost, Who, format_time
from socialcrawl.graph.relevance import Hits
from socialcrawl.platforms.bluesky.opt_outs import has_opted_out, is_hidden, shows_opted_out
from socialcrawl.platforms.bluesky.post_mentions import Named, find_quoted, find_replied, list_mentions, parse_who
from socialcrawl.platforms.hydration import match_sought
from socialcrawl.platforms.json_reader import ACCOUNT_TYPES, POST_TYPES, check_rows, parse_moment

Json = Mapping[str, Any]

NOTHING: Json = {}
REPOST, PIN = "app.bsky.feed.defs#reasonRepost", "app.bsky.feed.defs#reasonPin"


def parse_feed(
    payload: Json, actor: str, hits: Hits, *, keep: bool = False, after: str = "", of: Collection[str] | None = None
) -> Page:
    """Return a page of an account's feed: its own posts and its reposts, each once, and the account with its handle.

    Posts of others that are no reposts (what it answers to) are left out. The mark is when the platform saw the newest
    of them: whatever it sees later is newer, also what its author's client dates back. An account with the label
    `HIDES` is missing (opted-out), and a repost of such an account, or of one that is not among `of`, has no text.

    Args:
        payload: the decoded answer of getAuthorFeed.
        actor: the account, by DID or handle.
        hits: occurrences of the topic that count in a post, by its text, its language and when it was written.
        keep: whether each post's original JSON is kept.
        after: the mark of what was seen before, and is left out; "": nothing was.
        of: the DIDs of the authors of reposted posts whose texts are wanted; None: all are.
    """
    items = _list_own(payload, actor)
    if hidden := _drop_repeats(_find_owner(item) for item in items if is_hidden(_find_owner_view(item))):
        return Page(missing=[(one, Reason.OPTED_OUT) for one in hidden])
    shown = [item for item in items if _find_repost(item) or not is_hidden(item["post"])]
    page = _parse_posts(_list_newer(shown, after), hits, keep=keep, of=of)
    owner = _drop_repeats(map(_find_owner, items))
    return Page(
        page.posts,
        page.hits,
        page.mentions,
        answered=owner,
        mark=max(map(_find_seen_at, _list_placed(items)), default=""),
    )


def parse_reposts(payload: Json, actor: str, after: str = "") -> Page:
    """Return the authors of the posts that an account reposted, of which no label tells that they opted out.

    Args:
        payload: the decoded answer of getAuthorFeed.
        actor: the account, by DID or handle.
        after: see `parse_feed`.
    """
    items = _list_own(payload, actor)
    if any(is_hidden(_find_owner_view(item)) for item in items):
        return Page()
    others = [
        item for item in _list_newer(items, after) if _find_repost(item) and not _is_account(_find_author(item), actor)
    ]
    return Page(
        answered=_list_authors(
            item for item in others if not is_hidden(item["post"]) and not is_hidden(_find_author(item))
        )
    )


def parse_latest(payload: Json, actor: str) -> Page:
    """Return when the platform saw the newest post or repost of an account, from a page of its feed.

    The post is not kept.

    Args:
        payload: the decoded answer of getAuthorFeed.
        actor: the account, by DID or handle.
    """
    items = _list_placed(_list_own(payload, actor))
    owner = _drop_repeats(map(_find_owner, items))
    seen = max(map(_find_seen_at, items), default="")
    return Page(answered=owner, mark=seen, active=[(owner[0], seen)] if seen else ())


def parse_mentions(
    payload: Json, did: str, hits: Hits, *, keep: bool = False, of: Collection[str] | None = None
) -> Page:
    """Return a page of a search for posts that mention an account; other arguments as those of `parse_search`.

    Posts whose facets do not name it are left out: where a filter was not understood, the search finds everything.
    """
    return parse_search({"posts": _list_naming(payload["posts"], did)}, hits, keep=keep, of=of)


def parse_search(payload: Json, hits: Hits, *, keep: bool = False, of: Collection[str] | None = None) -> Page:
    """Return a page of a search for posts, and their authors, without posts that are labelled `HIDES`.

    Args:
        payload: the decoded answer of searchPosts.
        hits: see `parse_feed`.
        keep: see `parse_feed`.
        of: the DIDs of the authors whose posts are wanted; None: all are.
    """
    items: list[Json] = [
        {"post": post} for post in payload["posts"] if not is_hidden(post) and not is_hidden(post["author"])
    ]
    silent = len(payload["posts"]) - len(items)
    if of is not None:
        items = [item for item in items if item["post"]["author"]["did"] in of]
    page = _parse_posts(items, hits, keep=keep)
    return Page(page.posts, page.hits, page.mentions, answered=_list_authors(items), opted_out=silent)


def parse_authors(payload: Json, did: str | None) -> Page:
    """Return the authors of a page of a search for posts, and nothing of their posts.

    Args:
        payload: the decoded answer of searchPosts.
        did: the account that the posts mention; None: they were not searched for by that.
    """
    posts = payload["posts"] if did is None else _list_naming(payload["posts"], did)
    return Page(
        answered=_list_authors([{"post": one} for one in posts if not is_hidden(one) and not is_hidden(one["author"])])
    )


def list_sought(payload: Json, page: Page, asked: Sequence[tuple[str, str]]) -> list[SoughtPost]:
    """Return what became of posts that were asked for by their addresses; Bluesky leaves out those that are gone.

    Args:
        payload: the decoded answer of getPosts.
        page: what is kept of it: the others are of authors who opted out.
        asked: the addresses as they were imported, each with that which the server was asked for.
    """
    shown = {str(post["uri"]): Reason.OPTED_OUT for post in payload["posts"]}
    return match_sought(asked, {row.id for row in page.posts}, shown, Reason.DELETED)


def parse_profiles(payload: Json, asked: Sequence[str], *, heeded: bool = True, blocked: bool = False) -> Page:
    """Return a page of profiles, and who of `asked` (DIDs and handles) has none: Bluesky leaves them out silently.

    Accounts that opted out are missing (see `has_opted_out`), and where `blocked` those that block us, as "protected".
    """
    profiles = payload["profiles"]
    rows = check_rows([_parse_account(profile) for profile in profiles], ACCOUNT_TYPES)
    names = {name for row in rows for name in (row.id, row.username.lower())}
    lacking = [Who(name, None) if name.startswith("did:") else Who(None, name) for name in asked]
    silent = {profile["did"] for profile in profiles if has_opted_out(profile, heeded=heeded)}
    return Page(
        accounts=[row for row in rows if row.id not in silent],
        answered=_drop_repeats(parse_who(profile) for profile in profiles if profile["did"] not in silent),
        missing=[
            *((one, Reason.OPTED_OUT) for one in _drop_repeats(map(parse_who, profiles)) if one.id in silent),
            *(
                (parse_who(one), Reason.PROTECTED)
                for one in profiles
                if blocked and _is_blocking(one) and one["did"] not in silent
            ),
            *((one, Reason.UNKNOWN) for one in lacking if (one.id or str(one.username).lower()) not in names),
        ],
    )


def _is_blocking(profile: Json) -> bool:
    """Return whether the account blocks the one that asks."""
    return bool((profile.get("viewer") or {}).get("blockedBy"))


def parse_actors(payload: Json, *, heeded: bool = True) -> Page:
    """Return a page of a search for accounts, without those that opted out.

    Their profiles come without counts, and are not taken for news of them.
    """
    return Page(
        answered=_drop_repeats(parse_who(one) for one in payload["actors"] if not has_opted_out(one, heeded=heeded))
    )


def parse_members(payload: Json, *, heeded: bool = True) -> Page:
    """Return a page of a list's members, without those that opted out."""
    members = [item["subject"] for item in payload["items"]]
    return Page(answered=_drop_repeats(parse_who(one) for one in members if not has_opted_out(one, heeded=heeded)))


def parse_follows(payload: Json) -> Page:
    """Return a page of those whom an account follows, in the platform's order: the latest first."""
    return Page(follows=_drop_repeats(map(parse_who, payload["follows"])))


def parse_resolved(payload: Json, handle: str) -> Page:
    """Return the account that a handle stands for."""
    return Page(answered=[parse_who({"did": payload["did"], "handle": handle})])


def find_cursor(payload: Json) -> str | None:
    """Return where the next page begins; None at the end."""
    found = payload.get("cursor")
    if found is not None and not isinstance(found, str):
        raise TypeError("cursor is not text")
    return found or None


def reaches(payload: Json, actor: str, begin: float) -> bool:
    """Return whether a page of a feed reaches back before `begin` (Unix seconds): later pages bring nothing after it.

    Feeds are in order of the earlier of writing and indexing: what was indexed before `begin` is followed by nothing
    that was written and indexed after it. What the account has pinned stands first, whatever its age.
    """
    times = (parse_moment(_find_indexed_at(item)) for item in _list_placed(_list_own(payload, actor)))
    return any(at is not None and at.timestamp() < begin for at in times)


def meets(payload: Json, actor: str, mark: str) -> bool:
    """Return whether a page of a feed shows what was seen before, at the mark or earlier; see `reaches`."""
    return any("" < _find_seen_at(item) <= mark for item in _list_placed(_list_own(payload, actor)))


def format_stamp(at: datetime | None) -> str | None:
    """Return the instant as rows hold it: ISO 8601, UTC, milliseconds."""
    return None if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _list_own(payload: Json, actor: str) -> list[Json]:
    """Return the items of a feed that its owner wrote or reposted."""
    return [
        item
        for item in payload["feed"]
        if _is_account((_find_repost(item) or NOTHING).get("by") or _find_author(item), actor)
    ]


def _find_owner(item: Json) -> Who:
    """Return whose feed an item is in."""
    return parse_who(_find_owner_view(item))


def _find_owner_view(item: Json) -> Json:
    found: Json = (_find_repost(item) or NOTHING).get("by") or _find_author(item)
    return found


def _list_authors(items: Iterable[Json]) -> list[Who]:
    return _drop_repeats(parse_who(_find_author(item)) for item in items)


def _list_naming(posts: Iterable[Json], did: str) -> list[Json]:
    """Return the posts whose facets name an account."""
    return [post for post in posts if any(one.id == did for one, _ in list_mentions(post["record"]))]


def _find_author(item: Json) -> Json:
    found: Json = item["post"]["author"]
    return found


def _is_account(profile: Json, actor: str) -> bool:
    return actor.lower() in (profile["did"].lower(), profile["handle"].lower())


def _find_repost(item: Json) -> Json | None:
    """Return the reason of a feed item that says it is a repost."""
    reason: Json = item.get("reason") or NOTHING
    return reason if reason.get("$type") == REPOST else None


def _find_indexed_at(item: Json) -> Any:
    return (_find_repost(item) or item["post"]).get("indexedAt")


def _find_seen_at(item: Json) -> str:
    """Return when the platform saw an item of a feed, as marks have it; "" where it does not tell."""
    return format_stamp(parse_moment(_find_indexed_at(item))) or ""


def _list_newer(items: Iterable[Json], after: str) -> list[Json]:
    """Return the items of a feed that the platform saw after a mark; "": all of them."""
    return [item for item in items if not after or _find_seen_at(item) > after]


def _list_placed(items: Iterable[Json]) -> list[Json]:
    """Return the items of a feed that stand where their time puts them: not what is pinned, which stands first."""
    return [item for item in items if (item.get("reason") or NOTHING).get("$type") != PIN]


def _parse_posts(items: Iterable[Json], hits: Hits, *, keep: bool, of: Collection[str] | None = None) -> Page:
    rows: dict[str, PostRow] = {}
    mentions: list[Mention] = []
    for item in items:
        repost = _find_repost(item)
        row, named = _parse_repost(item, repost, of, keep=keep) if repost else _parse_post(item, keep=keep)
        if row.id not in rows:
            mentions += [Mention(len(rows), one, kind) for one, kind in named]
            rows[row.id] = row
    posts = check_rows(list(rows.values()), POST_TYPES)
    return Page(posts, [hits(row.text, row.lang, row.created_at, row.urls) for row in posts], mentions)


def _parse_post(item: Json, *, keep: bool) -> tuple[PostRow, Named]:
    """Return a post that its author wrote, and whom it names."""
    post = item["post"]
    record = post["record"]
    reply = record.get("reply") or NOTHING
    parent = (reply.get("parent") or NOTHING).get("uri")
    quote, of = find_quoted(record, post.get("embed") or NOTHING)
    to = find_replied(parent, (item.get("reply") or NOTHING).get("parent") or NOTHING)
    row = PostRow(
        post["uri"],
        post["author"]["did"],
        format_stamp(_find_written_at(record.get("createdAt"), post.get("indexedAt"))),
        record.get("text") or "",
        _find_language(record),
        (reply.get("root") or NOTHING).get("uri") or post["uri"],
        parent,
        None,
        quote,
        *_find_tags_and_urls(record),
        post.get("likeCount"),
        post.get("replyCount"),
        post.get("repostCount"),
        post.get("quoteCount"),
        post.get("bookmarkCount"),
        None,
        _find_original(post) if keep else None,
    )
    return row, list_mentions(record, reply=to, quote=of)


def _find_original(view: Json) -> str | None:
    """Return the platform's JSON of a post; None where it shows an account that opted out."""
    return None if shows_opted_out(view, heeded=False) else orjson.dumps(view).decode()


def _parse_repost(item: Json, reason: Json, of: Collection[str] | None, *, keep: bool) -> tuple[PostRow, Named]:
    """Return a repost as a post of who reposts, and whom it names: first whose post it is."""
    post, by = item["post"], reason["by"]["did"]
    wanted = of is None or post["author"]["did"] in (*of, by)
    record = post["record"] if wanted and not is_hidden(post) and not is_hidden(post["author"]) else NOTHING
    row = PostRow(
        reason.get("uri") or f"repost:{by}:{post['uri']}",
        by,
        format_stamp(parse_moment(reason.get("indexedAt"))),
        f"RT @{post['author']['handle']}: {record.get('text') or ''}",
        _find_language(record),
        None,
        None,
        post["uri"],
        None,
        *_find_tags_and_urls(record),
        None,
        None,
        None,
        None,
        None,
        None,
        _find_original({"post": post, "reason": reason}) if keep and wanted else None,
    )
    return row, list_mentions(record, repost=parse_who(post["author"]))


def _find_written_at(written: Any, indexed: Any) -> datetime | None:
    """Return when a post was written: as its author's client says, but not later than the platform saw it."""
    instants = [at for at in (parse_moment(written), parse_moment(indexed)) if at is not None]
    return min(instants, default=None)


def find_oldest(payload: Json) -> str:
    """Return an instant (ISO 8601) from which on a page of a search, newest first, has all posts; "" of an empty one.

    Posts that come on later pages may be of that very instant. The search orders and bounds posts by `sortAt`, which
    the lexicon says may differ from `createdAt`; it is the earlier of `createdAt` and `indexedAt`, but no answer has it
    and the server of the search is not public. So nothing more is assumed here than that it lies between the two, or
    before `indexedAt` where `createdAt` is no instant: then the later of a post's two instants is at or after its
    `sortAt`, which is at or after that of every post on later pages. The earliest of these instants over the page is
    the bound. Posts with a wrong `createdAt`, such as imported ones, do not move it; the earlier instants would, and
    posts would be missed. All posts of the page count, also those that are left out because their authors opted out.
    """
    bounds = []
    for post in payload["posts"]:
        created, indexed = parse_moment(post["record"].get("createdAt")), parse_moment(post.get("indexedAt"))
        if indexed is not None:
            bounds.append(indexed if created is None else max(created, indexed))
    return format_time(min(bounds).timestamp()) if bounds else ""


def _find_language(record: Json) -> str | None:
    langs: Sequence[str] = record.get("langs") or ()
    return langs[0] if langs else None


def _find_tags_and_urls(record: Json) -> tuple[str | None, str | None]:
    """Return the hashtags and the addresses of a post, each as a JSON list."""
    features = [feature for facet in record.get("facets") or () for feature in facet["features"]]
    tags = [feature["tag"] for feature in features if feature.get("$type") == "app.bsky.richtext.facet#tag"]
    links = [feature["uri"] for feature in features if feature.get("$type") == "app.bsky.richtext.facet#link"]
    embed = record.get("embed") or NOTHING
    shown = [place["external"] for place in (embed, embed.get("media") or NOTHING) if place.get("external")]
    links += [external["uri"] for external in shown]
    return _dump_list([*tags, *(record.get("tags") or ())]), _dump_list(links)


def _dump_list(values: Sequence[Any]) -> str | None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a hashtag or an address is not text")
    return orjson.dumps(list(dict.fromkeys(values))).decode() if values else None


def _drop_repeats(found: Iterable[Who]) -> list[Who]:
    """Return accounts without repetition, in order."""
    return list({one.id: one for one in found}.values())


def _parse_account(profile: Json) -> AccountRow:
    verification = profile.get("verification")
    return AccountRow(
        profile["did"],
        profile["handle"],
        profile.get("displayName"),
        profile.get("description"),
        format_stamp(parse_moment(profile.get("createdAt"))),
        profile.get("followersCount"),
        profile.get("followsCount"),
        profile.get("postsCount"),
        None,
        None,
        None if verification is None else verification.get("verifiedStatus") == "valid",
        profile.get("website"),
    )
