"""The endpoints that tell lists of statuses: those of an account, and those with a hashtag."""

from collections.abc import Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from socialcrawl.mock.mastodon.instance_info import DISABLED, PUBLIC
from socialcrawl.mock.mastodon.instance_world import Answer, InstanceWorld
from socialcrawl.mock.mastodon.post_html import find_hashtags
from socialcrawl.mock.mastodon.responses import (
    cut_list,
    is_true,
    join_array,
    make_link_header,
    make_refusal,
    make_response,
    parse_whole_number,
    read_size,
)
from socialcrawl.mock.service import Guest, MockRequest, MockResponse

STATUSES, MOST_STATUSES = 20, 40
_FILTERS = ("pinned", "tagged", "only_media", "exclude_replies", "exclude_reblogs")
_OF_TAGS = ("limit", "local", "only_media")  # all that the next page is told; clients send the others again
_MOST_TAGS = 4  # of each of any[] (with the hashtag of the path), all[] and none[]
_NO_STRANGERS = make_refusal(422, "This method requires an authenticated user")
_EMPTY = np.zeros(0, np.int64)


class TimelineEndpoints:
    """Answers with statuses, each (request, who asks, instance) -> answer."""

    def __init__(self, town: InstanceWorld) -> None:
        self._town = town

    def answers(self) -> Mapping[str, Answer]:
        """Return the endpoints by template."""
        return {"/api/v1/accounts/:id/statuses": self.statuses, "/api/v1/timelines/tag/:hashtag": self.tag}

    def statuses(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the statuses of an account, newest first, as far as the instance knows them."""
        town = self._town
        row = town.require_visible(town.instances.row(asked.path["id"], domain))
        if isinstance(row, MockResponse):
            return row
        known = town.open(row) and domain in (town.instances.home, town.instances.domains[row])
        posts = self._filter_statuses(asked, town.select_existing(town.world.timelines.of(row))) if known else _EMPTY
        return self._page(asked, guest, domain, posts, ("limit", *_FILTERS), always=False)

    def _filter_statuses(self, asked: MockRequest, posts: NDArray[np.int64]) -> NDArray[np.int64]:
        world = self._town.world
        if is_true(asked, "pinned") or is_true(asked, "only_media"):
            return _EMPTY  # the file knows of neither
        if is_true(asked, "exclude_replies"):
            answered = world.references.replied_account[posts]
            posts = posts[(answered < 0) | (answered == world.author[posts])]
        if is_true(asked, "exclude_reblogs"):
            posts = posts[~self._town.numbers.reposts[posts]]
        tag = asked.one("tagged")
        if tag:
            posts = posts[[tag.lower() in find_hashtags(world.texts[post]) for post in posts.tolist()]]
        return posts

    def tag(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the statuses with a hashtag that the instance knows, newest first.

        `local`: those of its own accounts. Where the instance shows these timelines to its own people only, others are
        refused; where it has turned them off, its own people are shown an empty one.
        """
        finding, visible = self._town.finding, self._town.changes.visible
        access = self._town.hashtag_feeds
        if access != PUBLIC and guest.kind == "public":
            return _NO_STRANGERS

        def found(*names: str) -> list[NDArray[np.int64]]:
            return [finding.with_tag(name, domain) for name in list(dict.fromkeys(names))[:_MOST_TAGS]]

        def given(name: str) -> list[str]:
            return [value.lower() for key, value in asked.query if key == name]

        posts = reduce(np.union1d, found(asked.path["hashtag"].lower(), *given("any[]")))
        posts = reduce(np.intersect1d, found(*given("all[]")), posts)
        posts = reduce(np.setdiff1d, found(*given("none[]")), posts)
        posts = _EMPTY if access == DISABLED or is_true(asked, "only_media") else posts
        for name, kept in (("local", True), ("remote", False)):
            if is_true(asked, name):
                posts = posts[finding.living(domain)[self._town.world.author[posts]] == kept]
        posts = self._town.select_existing(posts)
        return self._page(asked, guest, domain, posts[visible[posts]], _OF_TAGS, always=True)

    def _page(
        self,
        asked: MockRequest,
        guest: Guest,
        domain: str,
        posts: NDArray[np.int64],
        kept: tuple[str, ...],
        *,
        always: bool,
    ) -> MockResponse:
        """Return one page of posts (positions, ascending).

        Args:
            asked: the request.
            guest: who asks.
            domain: the instance that is asked.
            posts: the whole list.
            kept: the parameters that the next page is asked with too.
            always: whether a page that is not full has a next one too, as hashtags do.
        """
        numbers = self._town.numbers
        # What counts is the order of ids, and that is the order of positions.
        bounds = {name: self._bound(asked, name, domain) for name in ("max_id", "min_id", "since_id")}
        upward = bounds["min_id"] is not None
        above = bounds["min_id"] if upward else bounds["since_id"]
        most = read_size(asked, STATUSES, MOST_STATUSES)
        part = cut_list(posts, most, below=bounds["max_id"], above=above, upward=upward, overlap=asked.overlap)
        page = part.members.tolist()
        older = numbers.of(page[-1], domain) if page and (always or part.full) else None
        newer = numbers.of(page[0], domain) if page else None
        signed_in = guest.kind != "public"
        body = join_array(self._town.renderer.status(post, domain, signed_in=signed_in) for post in page)
        return make_response(body, len(page), make_link_header(asked, kept, older=older, newer=newer))

    def _bound(self, asked: MockRequest, name: str, domain: str) -> int | None:
        """Return the position that a cursor means: posts before it for max_id, and after it for the others."""
        given = asked.one(name)
        if not given:
            return None
        number = parse_whole_number(given)
        place = self._town.numbers.below(number, domain)
        if name == "max_id":
            return place
        return place if self._town.numbers.post(number, domain) == place else place - 1
