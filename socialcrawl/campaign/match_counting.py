"""How often posts contain a topic that somebody tries out, counted within a time.

Regular expressions can take longer for one text than anybody waits, and nothing interrupts them: they are counted in a
process of their own, which is killed when the time is over.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.campaign.keywords import check_keywords
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.registry import find_platform
from socialcrawl.text.wording import pluralize

COMMAND = (sys.executable, "-P", "-m", "socialcrawl.campaign.match_counting")
ROOT = str(Path(__file__).parents[2])  # from where this process has the package


def count_matches(
    platform: str,
    words: tuple[Sequence[str], Sequence[str], Sequence[str]],
    posts: Sequence[Sequence[Any]],
    seconds: float,
    clock: Callable[[], float],
) -> list[int]:
    """Return the occurrences of a topic in each of some posts.

    Args:
        platform: that of the posts.
        words: the keywords, regular expressions and languages of the topic.
        posts: of each what `Topic.hits` takes.
        seconds: the longest time that it may take.
        clock: seconds since any moment.

    Raises:
        SettingsError: the topic is unusable, or it takes longer.
    """
    check_keywords(words[0])
    topic = _make_topic(platform, words)
    if words[1]:
        return _count_in_child(platform, words, posts, seconds)
    end, found = clock() + seconds, []
    for one in posts:
        if clock() > end:
            raise SettingsError(_explain_timeout(len(posts), seconds))
        found.append(topic.hits(*one))
    return found


def _make_topic(platform: str, words: Sequence[Sequence[str]]) -> Topic:
    keywords, patterns, languages = words
    return Topic(keywords, patterns, languages, entities=find_platform(platform).entities)


def _count_in_child(
    platform: str, words: Sequence[Sequence[str]], posts: Sequence[Sequence[Any]], seconds: float
) -> list[int]:
    try:
        given = orjson.dumps([platform, [[*one] for one in words], [[*one] for one in posts]])
    except TypeError as error:  # half a character
        raise SettingsError("A keyword or regular expression is not valid text: type it again.") from error
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))}
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            COMMAND, input=given, capture_output=True, timeout=seconds, check=True, env=env
        )
    except subprocess.TimeoutExpired:
        raise SettingsError(
            f"{_explain_timeout(len(posts), seconds)} A regular expression that repeats what it repeats, such as "
            "(a+)+, can take forever."
        ) from None
    found: list[int] = orjson.loads(done.stdout)
    return found


def _explain_timeout(posts: int, seconds: float) -> str:
    return f"Counting {pluralize(posts, 'post')} takes longer than {seconds:g} s: look at fewer, or give more time."


def main() -> None:
    """Count what stdin names, and write the counts to stdout."""
    platform, words, posts = orjson.loads(sys.stdin.buffer.read())
    topic = _make_topic(platform, words)
    sys.stdout.buffer.write(orjson.dumps([topic.hits(*one) for one in posts]))


if __name__ == "__main__":
    main()
