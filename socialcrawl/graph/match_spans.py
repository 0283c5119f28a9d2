"""Where a topic occurs in a text, for people who look at it. Pure."""

from itertools import pairwise

from socialcrawl.graph.relevance import Topic, fold, may_join


def find_spans(topic: Topic, text: str) -> list[tuple[int, int]]:
    """Return the places (from, to) in a text at which words and expressions of a topic occur.

    Topics look at the folded text, which may be longer or shorter. None are returned where a letter with its
    marks cannot be folded on its own, and for what a link or a name beside the text says.
    """
    begins = [place for place, sign in enumerate(text) if not place or sign.isascii() or not may_join(sign)]
    parts = [(begin, end, fold(text[begin:end])) for begin, end in pairwise([*begins, len(text)])]
    if "".join(folded for _, _, folded in parts) != (whole := fold(text)):
        return []
    places = [(begin, end) for begin, end, folded in parts for _ in folded]
    return [(places[begin][0], places[end - 1][1]) for begin, end in topic.find_words(whole)]
