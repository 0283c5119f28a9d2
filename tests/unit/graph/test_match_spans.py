"""Where a topic occurs in a text: as many places as it counts, each of them a text that matches alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.graph.match_spans import find_spans
from socialcrawl.graph.relevance import Topic


@pytest.mark.parametrize(
    ("keywords", "text", "places"),
    [
        (["sky"], "Sky, sky; skyline", ["Sky", "sky"]),
        (["dark sky"], "a DARK \n sky", ["DARK \n sky"]),
        (["modul*"], "Module modulation", ["Modul", "modul"]),
        (["caf\u00e9"], "a cafe\u0301 and a CAF\u00c9", ["cafe\u0301", "CAF\u00c9"]),
        (["strasse"], "die STRA\u00dfE", ["STRA\u00dfE"]),
        (["\u5929\u6587"], "\u5927\u5929\u6587\u53f0", ["\u5929\u6587"]),
        (["moon"], "", []),
    ],
)
def test_places_are_those_of_the_text_as_it_was_written(keywords, text, places):
    assert [text[begin:end] for begin, end in find_spans(Topic(keywords), text)] == places


@given(st.text(st.sampled_from("sky SKY\u0130\u00df\u0301\ufe0f\u00e9\U0001f319,."), max_size=40))
def test_there_is_a_place_for_each_occurrence_and_none_overlap(text):
    topic = Topic(["sky"], ["k."])
    found = find_spans(topic, text)
    assert len(found) in (0, topic.count(text))
    assert all(0 <= begin < end <= len(text) for begin, end in found)
    assert all(topic.count(text[begin:end]) for begin, end in found)
    assert found == sorted(found)
