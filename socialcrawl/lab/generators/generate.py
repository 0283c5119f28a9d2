"""A synthetic world of posts, for machines that have no data: the same seed gives the same bytes.

    people    topics, communities, interest, fame, posts per user, ties         social_network.py
    posts     who posts when, whom a post mentions, what it is about            posting.py
    texts     phrases of invented vocabularies joined into words                phrases.py, word_pools.py

Interest runs along ties, mentions follow ties, and what is said to someone follows that someone's interest: the
three signals a focused crawler lives on. None is perfect: there are bridges, kin topics and chatter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.lab.generators.phrases import choose_word, make_phrases
from socialcrawl.lab.generators.posting import (
    MENTION_COLUMNS,
    Handles,
    PostTimes,
    draw_drafts,
    draw_post_times,
    make_batch,
)
from socialcrawl.lab.generators.social_network import NetworkAccounts, Ties, draw_accounts, draw_post_counts, draw_ties
from socialcrawl.lab.generators.word_pools import TOPICS, TopicWords
from socialcrawl.system.files import replace_file
from socialcrawl.text.wording import explain_unknown

LONGEST = 15  # what X allows

# fmt: off
_ONSETS = (
    "b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "kl", "l", "m",
    "n", "p", "pr", "r", "s", "sh", "st", "t", "th", "tr", "v", "w", "y", "z",
)
_VOWELS = ("a", "a", "a", "e", "e", "e", "i", "i", "o", "o", "u", "ai", "ea", "ia", "io", "ou")
# fmt: on
_CODAS = ("", "", "", "", "", "", "l", "n", "n", "r", "s")


def draw_usernames(count: int, seed: int | list[int]) -> list[str]:
    """Return `count` usernames `[A-Za-z0-9_]{1,15}` in mixed case, no two equal without case."""
    rng = np.random.default_rng(seed)
    syllables = [onset + vowel + coda for onset in _ONSETS for vowel in _VOWELS for coda in _CODAS]
    parts = rng.integers(0, len(syllables), (count, 4)).tolist()
    styles = rng.integers(0, 8, count).tolist()
    years = rng.integers(1, 100, count).tolist()
    taken: set[str] = set()  # asked for membership only, never iterated: its order cannot leak
    names: list[str] = []
    for part, style, year in zip(parts, styles, years, strict=True):
        name = _style_name([syllables[i] for i in part], style, year)
        number = len(names)
        while name.lower() in taken:
            number += 1
            name = f"{name[:7].rstrip('_')}{number}"
        taken.add(name.lower())
        names.append(name)
    return names


def _style_name(part: list[str], style: int, year: int) -> str:
    first, last = part[0] + part[1], part[2] + part[3]
    spellings = (
        first + part[2],
        first.title() + last.title(),
        f"{first}_{part[2]}",
        f"{first}{year}",
        f"{first.title()}_{last.title()}",
        first.title() + part[2].title(),
        f"{part[0].title()}{last}{year}",
        f"the_{first}",
    )
    return spellings[style][:LONGEST].rstrip("_")


UNTIL = 1_767_225_600  # 2026-01-01T00:00:00Z: fixed, so that no run depends on the day it is made
WEEK = 7 * 86_400
FEWEST_PER_TOPIC = 10
DEMO_USERS = 10_000  # of the world that `demo` makes where no posts are given: about ten times what it reads
MOCK_USERS = 2_000  # of the one that `mock` makes
BATCH = 200_000  # posts worded at a time: some 100 MB

_DRAW_NAMES, _DRAW_TEXTS = 5, 8


def choose_topics() -> dict[str, str]:
    """Return the topics that can be generated, most popular first: name of the topic -> its keyword."""
    return {topic.name: topic.keyword for topic in TOPICS}


@dataclass(frozen=True, slots=True)
class Generated:
    """A synthetic network with its posts planned; accounts are rows of `names`, `people` and `ties`.

    The texts, by far the largest part, are worded when asked for: at once by `table`, in pieces by `batches`.
    """

    topics: tuple[TopicWords, ...]
    names: tuple[str, ...]
    people: NetworkAccounts
    ties: Ties
    schedule: PostTimes
    mentions_per_post: float
    seed: int

    def iterate_batches(self) -> Iterator[Any]:
        """Yield the posts as Arrow record batches of at most 200,000 rows, oldest first; columns as in `table`."""
        import pyarrow as pa  # noqa: PLC0415 - importing the laboratory stays cheap

        pools = make_phrases(self.topics, self.seed)
        lower = pa.array([name.lower() for name in self.names])
        handles = Handles(pa.array(self.names), lower, pa.array([f"@{name}" for name in self.names]))
        for number, start in enumerate(range(0, len(self.schedule.author), BATCH)):
            author, time = self.schedule.author[start : start + BATCH], self.schedule.time[start : start + BATCH]
            drafts = draw_drafts(self.people, self.ties, author, self.mentions_per_post, [self.seed, number])
            rng = np.random.default_rng([self.seed, _DRAW_TEXTS, number])
            yield make_batch(drafts, handles, time, choose_word(drafts, pools, handles.at, rng))

    def make_table(self) -> Any:
        """Return all posts as a pyarrow.Table, oldest first, one row a post.

        Columns: author (string), created_at (int64, Unix seconds), text (string), mentions (list of string, lower
        case), reply_to (string, lower case; null unless the post is a reply).
        """
        import pyarrow as pa  # noqa: PLC0415

        return pa.Table.from_batches(self.iterate_batches())

    def spread(self, begin: int, end: int) -> "Generated":
        """Return the same posts in the same order, spread evenly over another range of time.

        Args:
            begin: of the range, Unix seconds.
            end: of it; the last post is before.
        """
        time = self.schedule.time
        first, length = int(time.min()), int(np.ptp(time)) + 1
        moved = begin + (time - first) * (end - begin) // length
        return replace(self, schedule=replace(self.schedule, time=moved))


def generate(
    users: int,
    seed: int,
    *,
    posts_per_user: float = 40.0,
    mentions_per_post: float = 0.7,
    homophily: float = 0.7,
    silent: float = 0.15,
    prolific: int = 0,
    weeks: int = 6,
    until: int = UNTIL,
    only: Sequence[str] | None = None,
) -> Generated:
    """Return a network of `users` accounts that post, and of those they mention: a function of its arguments alone.

    Args:
        users: accounts that post, each at least once; at least ten per topic.
        seed: any integer >= 0.
        posts_per_user: the mean over users, from 1 to 1,000; heavy-tailed, at most 3,000 for one user.
        mentions_per_post: about the mean over posts, from 0 to 3.
        homophily: the share of ties sought in the community, near in interest, from 0 to 1; the others go by fame, to
            the topic, its kin or anyone, and may fall into the community too.
        silent: accounts that never post, per user; most of them are mentioned.
        prolific: users with 3,300 to 5,000 posts, more than a timeline on X gives; they raise the mean.
        weeks: the length of the time range.
        until: the end of the time range (excluded), Unix seconds.
        only: names of the topics to use (see `choose_topics`), most popular first; all of them when None.

    Raises:
        SettingsError: an argument is out of range or a topic is unknown.
    """
    chosen = _choose_topics(only)
    _check("users", users, FEWEST_PER_TOPIC * len(chosen), 10_000_000, f" for {len(chosen)} topics, or fewer topics")
    _check("seed", seed, 0, 2**63)
    _check("posts_per_user", posts_per_user, 1, 1_000)
    _check("mentions_per_post", mentions_per_post, 0, MENTION_COLUMNS)
    _check("homophily", homophily, 0, 1)
    _check("silent", silent, 0, 10)
    _check("prolific", prolific, 0, users)
    _check("weeks", weeks, 1, 1_000)
    _check("until", until, weeks * WEEK, 2**40)
    people = draw_accounts(users, round(users * silent), len(chosen), seed)
    people = draw_post_counts(people, posts_per_user, prolific, seed)
    names = draw_usernames(len(people.posts), [seed, _DRAW_NAMES])
    planned = draw_post_times(people, weeks, until, seed)
    return Generated(chosen, tuple(names), people, draw_ties(people, homophily, seed), planned, mentions_per_post, seed)


def write(path: Path, generated: Generated) -> None:
    """Write the posts as a Parquet file at `path`, batch by batch; an incomplete file never has that name.

    Raises:
        SettingsError: the folder of `path` does not exist.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415

    if not path.parent.is_dir():
        raise SettingsError(f"{path}: the folder {path.parent} does not exist; create it first.")
    batches = generated.iterate_batches()
    first = next(batches)
    names = ["author", "reply_to", "mentions.list.element"]  # texts hardly repeat: a dictionary would cost time
    with (
        replace_file(path) as part,
        pq.ParquetWriter(part, first.schema, compression="zstd", use_dictionary=names) as file,
    ):
        file.write_batch(first)
        for batch in batches:
            file.write_batch(batch)


def _choose_topics(only: Sequence[str] | None) -> tuple[TopicWords, ...]:
    known = {topic.name: topic for topic in TOPICS}
    chosen = tuple(known) if only is None else tuple(only)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise SettingsError(explain_unknown("topic", unknown[0], known))
    if not chosen or len(set(chosen)) < len(chosen):
        raise SettingsError(f"only: name at least one topic, and each once. Choose from: {', '.join(known)}.")
    return tuple(known[name] for name in chosen)


def _check(name: str, value: float, low: float, high: float, why: str = "") -> None:
    if not low <= value <= high:  # also refuses NaN
        raise SettingsError(f"{name} = {value} is out of range; give a number from {low:,} to {high:,}{why}.")
