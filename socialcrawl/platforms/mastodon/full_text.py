"""Slices of time of Mastodon's full-text search. Pure.

The search finds posts of those who let their public posts be searched, and what its user wrote or dealt with. It is in
the order of ids, and bounded by when posts were written, to the second. Posts whose authors the user blocks are left
out after a page was cut, so a short page need not be the last one: an empty page is. But the search answers with an
empty page too where it is off or in trouble (app/services/statuses_search_service.rb). So after an empty page it is
asked for anything at all, and then for the same page once more: what it finds nothing on then is the end.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from socialcrawl.engine.model import PUT_OFF, Outcome, Pick, Reply, ReplyKind, Request, RequestPart
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.graph.relevance import fold
from socialcrawl.platforms.slice_pages import SlicePages
from socialcrawl.platforms.slice_reading import read_slice
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.text.wording import format_instant

EVERYTHING = 'after:"2016-01-01T00:00:00Z"'  # a query that all posts match, if times are understood


@dataclass(frozen=True, slots=True)
class TextSearch:
    """A search for words in the texts of posts.

    Attributes:
        endpoint: with its host.
        policy: page sizes.
        words: a phrase to search for.
        care: parameters for the wire, about who opted out.
    """

    endpoint: str
    policy: Policy
    words: str
    care: Mapping[str, str]

    def read_slice(self, pick: Pick, pages: int) -> Generator[Request, Reply, Outcome]:
        """Return the outcome of a slice, of which a pick reads at most `pages` pages."""
        begin, end = parse_span(pick.since)
        size = self.policy.get_endpoint(self.endpoint).page
        place = SlicePages(pick.node, begin, end, size)

        def ask(part: int, cursor: str | None) -> Request:
            asked = {"q": write_query(self.words, begin, place.until), "type": "statuses", "limit": str(size)}
            asked |= {"span": pick.since, **self.care} | ({"offset": cursor} if cursor else {})
            return Request((pick.n, part), self.endpoint + ("?offset" if cursor else ""), asked, size)

        def read(request: Request) -> Generator[Request, Reply, Reply]:
            reply = yield request
            if reply.kind == ReplyKind.OK and reply.cursor is None:
                n, part = request.key
                control = yield make_control((n, RequestPart.FAR_SECOND_LIST + part), self.endpoint)
                if control.kind in PUT_OFF:
                    return control
                reply = yield replace(request, key=(pick.n, RequestPart.REPEATED_PAGE + request.key[1]))
            return place.place(reply)

        return (yield from read_slice(pick, pages, ask, read))


def make_control(key: tuple[int, int], endpoint: str) -> Request:
    """Return the request that finds posts wherever the search works."""
    return Request(key, endpoint, {"q": EVERYTHING, "type": "statuses", "limit": "1", "control": "post"}, 1)


def write_query(words: str, begin: float, end: float) -> str:
    """Return the query for posts with a phrase that were written from `begin` on and before `end`.

    These are whole Unix seconds: `after:` leaves out all of the second that it names.
    """
    return f'"{words}" after:"{format_instant(begin - 1)}" before:"{format_instant(end)}"'


def list_text_queries(words: Sequence[str]) -> list[str]:
    """Return keywords as they are searched, each once: hashtags with their sign, others as phrases without quotes."""
    written = (word if word.startswith("#") else " ".join(word.replace('"', " ").split()) for word in words)
    return list({fold(word): word for word in written if word.strip("#")}.values())
