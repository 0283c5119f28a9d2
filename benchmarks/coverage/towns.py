"""Small generated towns for mock servers, and what is true of them by their posts."""

import re
import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import networkx as nx
import numpy as np

from socialcrawl.lab.experiments.sampling.worlds import Flags
from socialcrawl.lab.generators.generate import choose_topics, generate, write
from socialcrawl.lab.post_table import Posts, fold_name, read_posts
from socialcrawl.mock.bluesky.identifiers import make_did
from socialcrawl.mock.names import HERE
from socialcrawl.mock.world import World, build_world

NEWEST = 100  # posts that mention an account, which a platform shows
LANGUAGES = ("en", "de", "fr")
TOPIC, WORD = next(iter(choose_topics().items()))  # nearly all who write the word hang together
POSTS = 20.0  # of an account, in the mean


@dataclass(frozen=True, eq=False)
class Town:
    """Accounts that post, as one platform shows them. Accounts are rows of the mock's world.

    Attributes:
        posts: what they post; every account writes in one language.
        world: the same as the mock has it, which says who is gone.
        missing: about the share of accounts that are gone.
        platform: "x" or "bluesky".
    """

    posts: Posts
    world: World
    missing: float
    platform: str

    @cached_property
    def here(self) -> Flags:
        """Which accounts can be read, bool[n]."""
        return np.asarray(self.world.accounts.fates == HERE)

    @cached_property
    def shown(self) -> list[int]:
        """The posts that the platform shows; Bluesky shows no repost of an account that is gone."""
        world = self.world
        found = np.flatnonzero(world.visible).tolist()
        if self.platform != "bluesky":
            return found
        return [post for post in found if not self._repeats(post) or self.here[world.mentions.of(post)[0]]]

    @cached_property
    def links(self) -> dict[int, set[int]]:
        """The accounts that the posts of each account name, but for itself, as the platform shows them."""
        return self._named_in(self.shown)

    @cached_property
    def former(self) -> dict[int, set[int]]:
        """The same before anybody was gone."""
        return self._named_in(range(len(self.world.ids)))

    @cached_property
    def on_topic(self) -> set[int]:
        """The accounts that write the word in a post that is shown."""
        word = re.compile(rf"(?<!\w){re.escape(WORD)}(?!\w)", re.IGNORECASE)
        return {int(self.world.author[post]) for post in self.shown if word.search(self.world.texts[post])}

    @cached_property
    def reached(self) -> set[int]:
        """The on-topic accounts that walks can come to: the largest part of them that hangs together.

        Two accounts are neighbours if one names the other in a post, and that is among the newest which name the other.
        """
        named: dict[int, list[int]] = {}
        for post in self.shown:
            if self.platform != "bluesky" or not self._repeats(post):  # its search finds no reposts
                for other in self.world.mentions.of(post).tolist():
                    named.setdefault(other, []).append(int(self.world.author[post]))
        pairs = [(author, other) for other, authors in named.items() for author in authors[-NEWEST:]]
        graph = nx.Graph((a, b) for a, b in pairs if a in self.on_topic and b in self.on_topic and a != b)
        parts: list[set[int]] = list(nx.connected_components(graph))
        return max(parts, key=len)

    @cached_property
    def staying(self) -> float:
        """The share of links of these accounts, to accounts that can be read, that lead to on-topic accounts."""
        ends = [other for one in self.reached for other in self.links.get(one, ()) if self.here[other]]
        return sum(other in self.on_topic for other in ends) / len(ends)

    def speakers(self, language: str) -> set[int]:
        """Return the accounts that write in a language."""
        lang = self.world.lang or []
        return {int(author) for author, one in zip(self.world.author, lang, strict=True) if one == language}

    def rows(self, names: Collection[str]) -> set[int]:
        """Return the accounts that a database calls by these ids or names."""
        accounts = self.world.accounts
        known = {str(number): row for row, number in enumerate(accounts.ids.tolist())}
        known |= {make_did(key): row for row, key in enumerate(accounts.keys)} | accounts.by_username
        return {known[fold_name(name)] for name in names}

    def _named_in(self, posts: Iterable[int]) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for post in posts:
            author = int(self.world.author[post])
            found.setdefault(author, set()).update(self.world.mentions.of(post).tolist())
        return {author: others - {author} for author, others in found.items()}

    def _repeats(self, post: int) -> bool:
        return self.world.references.is_retweet(post)


def make_town(platform: str, seed: int, users: int, missing: float) -> Town:
    """Return a town of `users` accounts that post, and some that are only named; a share `missing` of all is gone.

    Neighbourhoods write in different languages, so that a crawl that begins in one of them has gaps elsewhere.
    """
    made = generate(users, seed, posts_per_user=POSTS, weeks=2, only=[TOPIC])
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "posts.parquet", made)
        posts = read_posts(Path(folder) / "posts.parquet")
    number = {fold_name(name): row for row, name in enumerate(made.names)}
    community = made.people.community
    lang = [LANGUAGES[int(community[number[fold_name(name)]]) % len(LANGUAGES)] for name in posts.authors]
    posts = replace(posts, lang=lang)
    return Town(posts, build_world(posts, missing), missing, platform)
