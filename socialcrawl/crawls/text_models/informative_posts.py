"""Which posts a person should judge next, so that a model learns most from the answers.

With a model, those that it is least sure of (uncertainty sampling; Lewis and Gale: A Sequential Algorithm for Training
Text Classifiers, SIGIR 1994). Without one, half are drawn from the posts that match the topic, half from the others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, zip_longest

from socialcrawl.crawls.text_models.text_model import TextModel
from socialcrawl.crawls.text_models.vocabulary import Words, count_words, identify_words
from socialcrawl.engine.draws import draw_chance

SPARE = 4  # times as many posts are kept as are wanted: some have the same words


@dataclass(frozen=True, slots=True)
class StoredText:
    """A post that may be judged.

    Attributes:
        id: of the post.
        text: what it says.
        matches: whether it matches the topic of its campaign.
    """

    id: str
    text: str
    matches: bool


def choose_posts(
    given: Iterable[StoredText], count: int, seed: int, model: TextModel | None = None, judged: Iterable[Words] = ()
) -> list[StoredText]:
    """Return the posts to be judged, in order; of posts with the same words one, and of those without words none.

    Args:
        given: the posts, always in the same order.
        count: how many at most.
        seed: of the draws; with a model, of the order of those of which it is equally sure.
        model: whose doubt decides; None: they are drawn.
        judged: the words of texts that were judged before.
    """
    left_out = {*judged, frozenset()}
    ranked = _rank(given, seed, model, left_out)
    if model is not None:
        return list(_leave_repeats((post for *_, post in nsmallest(SPARE * count, ranked, _get_rank)), count))
    matching: list[tuple[float, float, StoredText]] = []
    others: list[tuple[float, float, StoredText]] = []
    for row in ranked:
        side = matching if row[2].matches else others
        side.append(row)
        if len(side) > 2 * SPARE * count:
            side[:] = nsmallest(SPARE * count, side, _get_rank)
    both = zip_longest(sorted(matching, key=_get_rank), sorted(others, key=_get_rank))
    return list(_leave_repeats((row[2] for row in chain.from_iterable(both) if row is not None), count))


def _get_rank(row: tuple[float, float, StoredText]) -> tuple[float, float]:
    return row[:2]


def _rank(
    given: Iterable[StoredText], seed: int, model: TextModel | None, left_out: set[Words]
) -> Iterator[tuple[float, float, StoredText]]:
    """Yield (how sure the model is, a draw, post) of all posts that are not left out."""
    for n, post in enumerate(given):
        counted = count_words(post.text)
        if identify_words(counted) not in left_out:
            sure = 0.0 if model is None else abs(model.estimate_share(counted) - 0.5)
            yield sure, draw_chance(seed, "label", n), post


def _leave_repeats(posts: Iterable[StoredText], count: int) -> Iterator[StoredText]:
    """Yield the first `count` posts whose words no earlier one has."""
    seen: set[Words] = set()
    for post in posts:
        words = identify_words(count_words(post.text))
        if len(seen) < count and words not in seen:
            seen.add(words)
            yield post
