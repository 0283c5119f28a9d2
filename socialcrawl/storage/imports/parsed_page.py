"""What was found in a file: a page as a platform would have sent it, and what only a file says of its posts. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from socialcrawl.engine.model import Page, Who

MADE = "made:"  # how the id of a post begins that came without one: no platform's does


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """Some posts of a file, in its order.

    Attributes:
        page: posts, their occurrences of the topic, mentions, profiles.
        at: when the profiles were fetched (ISO 8601), where the file tells it.
        times: (when its counts were read, when it was fetched) of each post, None where the file does not tell; or ().
        authors: whom `PostRow.author` means, where it is no platform id.
        named: accounts of which the file tells the name and no more.
        replies: (place of a post, the post or account that it answers) where the file does not say which of the two.
    """

    page: Page
    at: str | None = None
    times: Sequence[tuple[str, str] | None] = ()
    authors: Mapping[str, Who] = field(default_factory=dict)
    named: Sequence[Who] = ()
    replies: Sequence[tuple[int, str]] = ()

    def get_author(self, place: int) -> Who:
        """Return the author of the post at `place`."""
        key = self.page.posts[place].author
        return self.authors.get(key, Who(key, None))
