"""Queries for posts: which words a text has, what a query wants of it, and what is shown of the match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.errors import SettingsError
from socialcrawl.text.post_query import parse_query
from socialcrawl.text.post_words import find_spans, fold, normalize, read_words

WILD = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("moon", "The MOON rises"),
        ("moon", "the #moon rises"),
        ("ann", "hello @Ann!"),
        ("cafe", "un café"),
        ("CAFÉ", "un cafe"),
        ("cafe\u0301", "un café"),
        ("strasse", "Die Straße"),
        ("abc", "the \uff21\uff22\uff23"),
        ("moon sky", "a sky without a moon"),
        ('"clear sky"', "a clear, sky"),
        ("\u201cclear sky\u201d", "a clear sky"),
        ('"clear sky', "a clear sky"),
        ("tele*", "my telescope"),
        ("#moon", "see #Moon"),
        ("#tele*", "see #telescope"),
        ("@ann", "hello @ann@example.org"),
        ("@bob.bsky.social", "thanks @bob.bsky.social"),
        ("moon -sky", "the moon"),
        ("nothing OR moon", "the moon"),
        ("nothing | moon", "the moon"),
        ("don't", "I don't know"),
        ("京都", "東京都へ行く"),
        ("京", "東京都へ行く"),
        ("都", "東京都"),
        ("望遠鏡", "夜空の望遠鏡で見た"),
        ('"東京 tower"', "the 東京 Tower"),
        ("서울", "서울에서 만나요 서울"),
        ("ดาว", "กล้องดูดาวใหญ่"),
        ("#望遠鏡", "新しい #望遠鏡 です"),
        ("\U0001f52d", "new \U0001f52d!"),
    ],
)
def test_a_post_matches(query, text):
    assert parse_query(query).matches(text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("moon", "moonlight"),
        ("moon sky", "the moon"),
        ('"clear sky"', "sky clear"),
        ('"clear sky"', "clear blue sky"),
        ("#moon", "moon"),
        ("#moon", "#moonlight"),
        ("@ann", "ann"),
        ("@example", "hello ann@example"),
        ("moon -sky", "the moon in the sky"),
        ('moon -"clear sky"', "moon, clear sky"),
        ("京都", "東京の都"),
        ("tele*", "a small tel"),
        ("ดาว", "กล้อง"),
    ],
)
def test_a_post_does_not_match(query, text):
    assert not parse_query(query).matches(text)


@pytest.mark.parametrize("query", ["", " ", "-moon", "moon OR -sky", '""', "*", "- OR |", "...", "#"])
def test_a_query_without_a_word_to_search_for_is_refused_and_says_what_to_write(query):
    with pytest.raises(SettingsError, match="write at least one word"):
        parse_query(query)


def test_parentheses_and_very_long_queries_are_refused():
    with pytest.raises(SettingsError, match="write out each alternative"):
        parse_query("(dark OR clear) sky")
    with pytest.raises(SettingsError, match="at most 1,000"):
        parse_query("moon " * 300)
    with pytest.raises(SettingsError, match="at most 50"):
        parse_query("moon " * 60)


@given(WILD, WILD)
def test_any_text_is_a_query_or_an_error_in_words(query, text):
    try:
        found = parse_query(query)
    except SettingsError:
        return
    found.matches(text)
    shown = normalize(text)
    assert all(0 <= begin < end <= len(shown) for begin, end in found.find_marks(shown))


@given(WILD)
def test_the_words_that_are_marked_are_those_that_are_searched(text):
    assert [word for word, _, _ in find_spans(normalize(text))] == read_words(text).words


@given(WILD, WILD, st.integers(0, 20), st.integers(1, 20))
def test_any_part_of_a_run_without_spaces_is_found(before, after, begin, length):
    part = "夜空の望遠鏡で土星の輪がとてもきれい"[begin:][:length]
    if part:
        assert parse_query(part).matches(f"{before} 夜空の望遠鏡で土星の輪がとてもきれい {after}")


@given(WILD)
def test_marks_are_where_the_words_are(text):
    shown = normalize(text)
    for word, begin, end in find_spans(shown):
        assert word in fold(shown[begin:end])


def test_marks_lie_apart_and_cover_phrases_tags_and_beginnings():
    text = "Clear sky, #Moon and moonlight: 東京都へ"
    marks = parse_query('"clear sky" #moon moonl* 京都').find_marks(text)
    assert [text[begin:end] for begin, end in marks] == ["Clear sky", "Moon", "moonlight", "京都"]
    assert parse_query("東京 京都").find_marks("東京都") == [(0, 3)]
