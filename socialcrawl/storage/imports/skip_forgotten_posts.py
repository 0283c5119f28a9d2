"""What was found in a file, without what was forgotten: the rules are those of a page of the platform. Pure."""

from collections.abc import Container, Sequence
from dataclasses import replace

from socialcrawl.engine.model import Page, Reason, Who
from socialcrawl.storage.erasure.page_redaction import ForgottenKeys, remove_forgotten
from socialcrawl.storage.imports.parsed_page import ParsedPage


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
