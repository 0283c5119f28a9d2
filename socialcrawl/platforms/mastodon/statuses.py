"""What statuses refer to: other statuses and accounts, by numbers that only the answering instance knows. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from socialcrawl.platforms.json_values import Json, expect_object, expect_objects, expect_text, parse_text
from socialcrawl.platforms.marks import are_comparable, is_number, make_sort_key
from socialcrawl.platforms.mastodon.profiles import complete_name, parse_who
from socialcrawl.platforms.mastodon.source import SNOWFLAKES

OPEN = ("public", "unlisted")  # a crawler that has signed in may be shown others
STRENGTH = {"quote": 0, "mention": 1, "repost": 2, "reply": 3}  # of the ways to name somebody, the strongest counts


def find_uri(status: Json) -> str:
    """Return what a status is called on every instance.

    Raises:
        TypeError: it has no name.
    """
    return expect_text(status.get("uri"))


def is_open(status: Json) -> bool:
    """Return whether a status, and the one that it repeats, are for everybody."""
    original = status.get("reblog") or {}
    return all(one.get("visibility", "public") in OPEN for one in (status, expect_object(original)))


def list_later(given: Sequence[Json], mark: str) -> Sequence[Json]:
    """Return the statuses of a page that are newer than a mark, as far as their numbers tell; "": all of them.

    Some servers do not heed `since_id`. Numbers are compared; names that are none are taken as the server gives them,
    but for the mark itself. Where the mark is of another kind than they are, another server answers than before:
    nothing is known to be new, and the next visit goes on from here.
    """
    if not mark:
        return given
    ids = [parse_text(one.get("id")) or "" for one in given]
    return [one for one, number in zip(given, ids, strict=True) if _is_later(number, mark)]


def find_mark(given: Iterable[Json]) -> str:
    """Return the newest of some statuses as a mark; "" where there are none."""
    return SNOWFLAKES.mark(max((parse_text(one.get("id")) or "" for one in given), key=make_sort_key, default=""))


def _is_later(number: str, mark: str) -> bool:
    if not are_comparable(number, mark):
        return False
    return make_sort_key(number) > make_sort_key(mark) if is_number(mark) else number != mark


class PageReferences:
    """What a page tells of the numbers in it.

    Args:
        domain: of the instance that answers.
        given: the statuses of the page.
    """

    def __init__(self, domain: str, given: Iterable[Json]) -> None:
        self.domain = domain
        self._posts: dict[str, str] = {}
        self._accounts: dict[str, str] = {}
        for status in given:
            for one in filter(None, (status, status.get("reblog"), _find_quoted(status))):
                self._note(expect_object(one))

    def post(self, number: Any) -> str | None:
        """Return what the status of that number is called."""
        key = parse_text(number)
        return key and self._posts.get(key, f"local:{self.domain}/{key}")

    def account(self, number: Any) -> str | None:
        """Return the account of that number, in full; None where the page does not tell."""
        return self._accounts.get(number) if isinstance(number, str) else None

    def quoted(self, status: Json) -> tuple[str | None, str | None]:
        """Return what a status quotes, and whom; (None, None) where it quotes nothing, or may not show it."""
        found = _find_quoted(status)
        if found is not None:
            return find_uri(found), parse_who(found.get("account"), self.domain).id
        quote = status.get("quote")
        number = quote.get("quoted_status_id") if isinstance(quote, dict) else None
        return self.post(number or status.get("quote_id")), None

    def _note(self, status: Json) -> None:
        if (number := parse_text(status.get("id"))) is not None:
            self._posts[number] = find_uri(status)
        for one in (expect_object(status.get("account")), *_list_mention_objects(status)):
            name = complete_name(one.get("acct"), self.domain)
            if name and isinstance(one.get("id"), str):
                self._accounts[one["id"]] = name


def list_mentions(status: Json, known: PageReferences) -> Iterable[tuple[str, str]]:
    """Return whom a status names, each once in order of first appearance, with the strongest kind that applies."""
    kinds: dict[str, str] = {}
    for name, kind in _list_named(status, known):
        if name and STRENGTH[kind] >= STRENGTH[kinds.setdefault(name, kind)]:
            kinds[name] = kind
    return kinds.items()


def _list_named(status: Json, known: PageReferences) -> Iterator[tuple[str | None, str]]:
    original = status.get("reblog")
    if original:
        yield parse_who(expect_object(original).get("account"), known.domain).id, "repost"
    for one in _list_mention_objects(expect_object(original or status)):
        yield complete_name(one.get("acct"), known.domain), "mention"
    if original:
        return  # it is not the one who repeats an answer or a quotation that answers or quotes
    yield known.account(status.get("in_reply_to_account_id")), "reply"
    yield known.quoted(status)[1], "quote"


def _list_mention_objects(status: Json) -> list[Json]:
    return expect_objects(status.get("mentions") or [])


def _find_quoted(status: Json) -> Json | None:
    """Return the status that one quotes: Mastodon tells how the quotation stands beside it, others only the status."""
    quote: Mapping[str, Any] | None = status.get("quote")
    if not isinstance(quote, dict):
        return None
    found = quote.get("quoted_status", quote)
    return found if isinstance(found, dict) and "uri" in found and "account" in found else None
