"""How often posts contain a topic that somebody tries out, counted within a time.

Regular expressions can take longer for one text than anybody waits, and nothing interrupts them: they are counted in a
process of their own. The system ends that process at a limit of processor time, which a busy machine does not use up.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.campaign.keywords import check_keywords
from socialcrawl.errors import SettingsError
from socialcrawl.graph.match_spans import find_spans
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.registry import find_platform
from socialcrawl.text.wording import pluralize

COMMAND = (sys.executable, "-P", "-m", "socialcrawl.campaign.match_counting")
PATIENCE = 6  # a child that may use a second of the processor is ended after 6 seconds in any case
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
        seconds: the longest time that it may take; for regular expressions, time of the processor.
        clock: seconds since any moment.

    Raises:
        SettingsError: the topic is unusable, or it takes longer.
    """
    check_keywords(words[0])
    topic = _make_topic(platform, words)
    if words[1]:
        counts: list[int] = _ask_child("count", platform, words, posts, seconds)
        return counts
    end, found = clock() + seconds, []
    for one in posts:
        if clock() > end:
            raise SettingsError(_explain_timeout(len(posts), seconds))
        found.append(topic.hits(*one))
    return found


def find_match_spans(
    platform: str, words: tuple[Sequence[str], Sequence[str], Sequence[str]], texts: Sequence[str], seconds: float
) -> list[list[list[int]]]:
    """Return where a topic occurs in each of some texts: [from, to] of each place.

    Raises:
        SettingsError: see `count_matches`.
    """
    if not words[1] or not texts:
        topic = _make_topic(platform, words)
        return [[[*span] for span in find_spans(topic, text)] for text in texts]
    found: list[list[list[int]]] = _ask_child("find", platform, words, [[text] for text in texts], seconds)
    return found


def _make_topic(platform: str, words: Sequence[Sequence[str]]) -> Topic:
    keywords, patterns, languages = words
    return Topic(keywords, patterns, languages, entities=find_platform(platform).entities)


def _ask_child(
    what: str, platform: str, words: Sequence[Sequence[str]], posts: Sequence[Sequence[Any]], seconds: float
) -> Any:
    try:
        given = orjson.dumps([seconds, what, platform, [[*one] for one in words], [[*one] for one in posts]])
    except TypeError as error:  # half a character
        raise SettingsError("A keyword or regular expression is not valid text: type it again.") from error
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))}
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            COMMAND, input=given, capture_output=True, timeout=PATIENCE * seconds, check=False, env=env
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode == -signal.SIGPROF:
        raise SettingsError(
            f"{_explain_timeout(len(posts), seconds)} A regular expression that repeats what it repeats, such as "
            "(a+)+, can take forever."
        )
    done.check_returncode()
    return orjson.loads(done.stdout)


def _explain_timeout(posts: int, seconds: float) -> str:
    return f"Counting {pluralize(posts, 'post')} takes longer than {seconds:g} s: look at fewer, or give more time."


def main() -> None:
    """Count or find what stdin names, and write the counts or places to stdout; SIGPROF ends what takes too long."""
    seconds, what, platform, words, posts = orjson.loads(sys.stdin.buffer.read())
    topic = _make_topic(platform, words)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    found = [topic.hits(*one) if what == "count" else find_spans(topic, one[0]) for one in posts]
    sys.stdout.buffer.write(orjson.dumps(found))


if __name__ == "__main__":
    main()
