"""Seeds among the accounts of a mock's world that post about a topic."""

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.world import World


def draw_topic_seeds(world: World, keyword: str, size: int, seed: int) -> list[str]:
    """Return the usernames of `size` accounts that post about a keyword, drawn; all of them where there are fewer.

    Raises:
        SettingsError: no post has the keyword.
    """
    count = Topic([keyword]).count
    matching = dict.fromkeys(int(a) for a, text in zip(world.author, world.texts, strict=True) if count(text))
    if not matching:
        raise SettingsError(f"No post uses the word {keyword!r}: choose another --keyword.")
    authors = list(matching)
    drawn = make_generator(seed, "seeds of the demo", 0).choice(len(authors), min(size, len(authors)), replace=False)
    return [world.accounts.usernames[authors[i]] for i in drawn.tolist()]
