"""What counts as an occurrence of a topic, and how the topic is searched for."""

import itertools
import json
import math
import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
import regex
from example_counts import many
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic, compute_worth, fold
from socialcrawl.mock.query import parse
from socialcrawl.mock.searched_post import SearchedPost
from socialcrawl.platforms.bluesky.entities import ENTITIES as BLUESKY
from socialcrawl.platforms.mastodon.entities import ENTITIES as MASTODON
from socialcrawl.platforms.x.entities import ENTITIES as X
from socialcrawl.text.word_boundaries import LETTER, is_unspaced, make_pattern

MARKS = [mark for entities in (X, BLUESKY, MASTODON) for mark in entities.marks]


@pytest.mark.parametrize(("x", "f"), [(-3, 0.0), (0, 0.0), (1, 1.0), (2, 1 + math.log(2)), (3000, 1 + math.log(3000))])
def test_worth_is_one_plus_the_natural_logarithm_and_nothing_for_none(x, f):
    assert compute_worth(x) == f
    assert type(compute_worth(x)) is float


CASES = [
    # keyword, text, occurrences
    ("kernel", "Kernel KERNEL kernel.", 3),
    ("kernel", "kernels microkernel kernel_x kernel2 2kernel", 0),
    ("kernel", "(kernel) kernel-panic, #kernel @kernel 'kernel' kernel/kernel", 7),
    ("kernel", "", 0),
    ("kern*", "kern kernel kernels Kernel_x akern", 4),
    ("kern*", "popkern kern", 1),
    ("kernel panic", "kernel panic, kernel\n\tpanic, kernel\u00a0panic kernel \u3000 panic", 4),
    ("kernel panic", "kernelpanic kernel-panic kernel, panic kernel panics", 0),
    ("kernel  panic", "kernel panic", 1),
    ("new york ci*", "new york city new  york\ncircle new york", 2),
    ("c++", "c++ C++, (c++) c++11 objc++", 3),
    (".net", ".NET asp.net .nets", 1),
    ("#kernel", "#kernel #Kernel #kernels x#kernel", 2),
    ("@name", "@name: hi @NAME me@name.org @names", 2),
    ("don't", "don't DON\u2019T don't dont", 3),
    ("*", "", None),
    ("straße", "STRASSE Straße straße STRA\u1e9eE strassen", 4),
    ("caf\u00e9", "cafe\u0301 CAFE\u0301 caf\u00e9 cafe", 3),
    ("cafe\u0301", "caf\u00e9 CAF\u00c9", 2),
    ("cafe", "cafe\u0301", 0),
    ("\u0390", "\u03aa\u0301 \u0399\u0308\u0301 \u03ca\u0301", 3),  # iota with two accents: case folding takes it apart
    ("istanbul", "Istanbul ISTANBUL \u0130stanbul \u0130STANBUL \u0131stanbul", 5),
    ("\u0130stanbul", "istanbul \u0130STANBUL", 2),
    ("ядро", "Ядро ЯДРО ядро, ядром", 3),
    ("ядр*", "ядро ядром ЯДРА", 3),
    ("ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ Ὀδυσσεύς ὀδυσσεύσ", 3),
    ("ﬁle", "file FILE ﬁle", 3),
    ("内核", "我的内核崩溃了,内核", 2),
    ("内核", "内 核", 0),
    ("linux", "我用Linux系统 linuxの linux, яlinux", 3),
    ("人々", "人々が", 1),
    ("カーネル", "このカーネルは ｶｰﾈﾙ", 2),
    ("กิน", "ฉันกินข้าวกิน", 2),
    ("हिन्द", "हिन्दी हिन्द", 1),
    ("हिन्दी", "हिन्दी हिन्दीमें", 1),
    ("🐧", "linux🐧 🐧🐧!", 3),
    ("⭐", "a⭐b ⭐⭐", 3),  # as ☀, whichever block it is in
    ("☀", "a☀b ☀\ufe0f", 2),
    ("↔", "a↔b", 1),
    ("❤️‍🔥", "so❤️‍🔥hot", 1),
    ("ꦱꦼ", "ꦧꦱꦼꦴꦮ", 1),  # Javanese
    ("ㄅㄆ", "ㄇㄅㄆㄈ", 1),  # Bopomofo
    ("ᬩᬮᬶ", "ᬧᬸᬩᬮᬶᬓ", 1),  # Balinese
    ("ꀀꀁ", "ꀂꀀꀁꀃ", 1),  # Yi
    ("linux", "ꦱlinuxꦱ ㄅlinuxㄆ กlinux๕", 3),
    ("བོད", "བོད་ བོདི བོད", 2),  # Tibetan: a vowel sign makes another syllable
    ("a.c", "abc a.c", 1),
    ("[x]", "x [x] [X]", 2),
]


@pytest.mark.parametrize(("keyword", "text", "occurrences"), [case for case in CASES if case[2] is not None])
def test_a_keyword_is_counted_as_a_person_would(keyword, text, occurrences):
    assert Topic([keyword]).count(text) == occurrences


@pytest.mark.parametrize(
    ("keywords", "text", "occurrences"),
    [
        (["new york", "new york city"], "New York City", 1),
        (["new york city", "new york", "york"], "new york city, new york, york", 3),
        (["kernel", "kernel*", "KERNEL"], "kernel kernels", 2),
        (["aa"], "aa aa aaaa", 2),
        (["a b", "b c"], "a b c", 1),  # what is used up is used up
        (["kernel", "kernel-x*", "x1"], "kernel-x1", 1),  # the longer keyword, not the longer expression
        (["中", "中国"], "中国中", 2),
    ],
)
def test_keywords_that_overlap_count_once_and_the_longer_one_first(keywords, text, occurrences):
    assert Topic(keywords).count(text) == Topic(keywords[::-1]).count(text) == occurrences


@pytest.mark.parametrize(
    ("patterns", "text", "occurrences"),
    [
        ([r"kernels?"], "Kernel kernels", 2),
        ([r"K\w+"], "kernel", 1),
        ([r"(foo|bar)(baz)?"], "foo barbaz foobaz", 3),
        ([r"v\d+\.\d+", "panic"], "v2.6 PANIC v3.10", 3),
        ([r"\bkernel\b|", "x"], "", None),
        ([r"\b"], "two words", 0),  # an empty match is no occurrence
        ([r"x*y"], "xxy y", 2),
    ],
)
def test_regular_expressions_see_the_folded_text(patterns, text, occurrences):
    if occurrences is None:
        with pytest.raises(SettingsError, match="matches the empty text"):
            Topic((), patterns)
    else:
        assert Topic((), patterns).count(text) == occurrences


def test_keywords_and_regular_expressions_are_counted_in_one_pass():
    assert Topic(["kernel panic"], [r"kernel|panic"]).count("Kernel Panic, kernel or panic") == 3


@pytest.mark.parametrize(
    ("keywords", "patterns", "says"),
    [
        ([], [], "no keywords"),
        (["kernel", ""], [], "'' is empty"),
        (["  "], [], "is empty"),
        (["*"], [], "is empty"),
        ("kernel", [], "is a list"),
        ([], "kernel", "is a list"),
        ([], ["(unclosed"], "'(unclosed' is not valid"),
        ([], ["a", "(?x)b"], "is not valid"),  # settings for the whole expression, in the middle of it
        ([], ["a)|(b"], "is not valid"),
        ([], ["x*"], "matches the empty text"),
        ([], [r"(a)\1"], "refers to groups"),
        ([], [r"(?P<name>a)"], "names or refers to groups"),
        ([], [r"(a)?(?(1)b|c)"], "refers to groups"),
    ],
)
def test_what_cannot_be_a_topic_is_said_in_words(keywords, patterns, says):
    with pytest.raises(SettingsError, match=re.escape(says)):
        Topic(keywords, patterns)


EVERY = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0xE0000))))
SPACED = ("Latin", "Greek", "Cyrillic", "Arabic", "Hebrew", "Devanagari", "Tamil", "Hangul", "Ethiopic", "Tibetan")


def of_scripts(*names):
    """The assigned characters of some scripts as they stand in folded texts."""
    wanted = regex.compile("[" + "".join(rf"\p{{sc={name}}}" for name in names) + "]")
    return [sign for sign in wanted.findall(EVERY) if unicodedata.category(sign) != "Cn" and fold(sign) == sign]


@pytest.mark.parametrize(
    "wanted", [LETTER, *(part for mark in MARKS for part in (mark.before, mark.inside) if r"\p" in part)]
)
def test_a_set_of_characters_is_the_same_for_both_engines(wanted):
    assigned = "".join(sign for sign in EVERY if unicodedata.category(sign) != "Cn")
    assert re.findall(make_pattern(wanted), assigned) == regex.findall(wanted, assigned, regex.V1)


def test_letters_are_unspaced_in_the_scripts_whose_lines_break_without_spaces_and_in_no_others():
    # UAX 14: by dictionary, anywhere, at syllables; what the Japanese do not begin a line with
    breaks = set(regex.findall(r"[\p{lb=SA}\p{lb=ID}\p{lb=CJ}\p{lb=AK}\p{lb=AS}\p{lb=AP}\p{lb=EB}]", EVERY))
    letters = [sign for sign in breaks if unicodedata.category(sign)[0] == "L" and fold(sign) == sign]
    assert len(letters) > 20_000
    assert not [sign for sign in letters if not is_unspaced(sign)]
    assert not [sign for sign in of_scripts(*SPACED) if unicodedata.category(sign)[0] in "LM" and is_unspaced(sign)]
    assert not [sign for sign in EVERY if unicodedata.category(sign) == "So" and not is_unspaced(sign)]


NEIGHBOURS = st.sampled_from([*of_scripts(*SPACED), *of_scripts("Thai", "Javanese", "Bopomofo", "Han", "Hiragana")])
PICTURES = st.sampled_from(regex.findall(r"\p{Emoji_Presentation}", EVERY))


@given(NEIGHBOURS, NEIGHBOURS | PICTURES, NEIGHBOURS)
@settings(max_examples=many(300), deadline=None)
def test_a_word_ends_beside_letters_of_a_script_without_spaces_and_at_pictures_only(before, inside, after):
    def letter(sign):
        spaced = regex.fullmatch("[" + "".join(rf"\p{{sc={name}}}" for name in SPACED) + "]", sign)
        return spaced is not None and unicodedata.category(sign)[0] in "LMN"

    text = f"{before}{inside}{after}"
    assume(fold(text) == text and inside not in (before, after) and fold(inside) == inside)
    alone = not letter(inside)
    kind = unicodedata.category(inside)
    assume(kind[0] in "LN" or (alone and (kind[0] == "M" or kind == "So")))  # other signs are no words
    expected = alone or not (letter(before) or letter(after))
    assert Topic([inside]).count(text) == expected


@given(
    st.lists(st.text("ab ", min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=8),
    st.lists(st.booleans(), min_size=8, max_size=8),
    st.text("ab 内-", max_size=40),
)
@settings(max_examples=many(400), deadline=None)
def test_keywords_compiled_together_count_as_their_expressions_one_after_the_other(keywords, prefixes, text):
    given_ = [word.strip() + "*" * prefix for word, prefix in zip(keywords, prefixes, strict=False)] + ["内"]
    longest = sorted(dict.fromkeys(given_), key=lambda word: len(word.rstrip("*")), reverse=True)
    said = []
    for word in longest:
        stem = r"\s+".join(word.rstrip("*").split())
        said.append(stem if word == "内" else rf"(?<![ab]){stem}" + ("" if word.endswith("*") else "(?![ab])"))
    assert Topic(given_).count(text) == len(re.findall("|".join(said), text))


WORDS = ["kernel", "Kernel", "kernels", "panic", "PANIC", "a", "straße", "STRASSE", "ядро", "x_y", "don't", "c++"]
PARTS = [" ", "\n", "\t ", ", ", ". ", " - ", "! ", " (", ") ", "\u00a0", "; "]


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(PARTS)), max_size=40))
@settings(max_examples=many(300), deadline=None)
def test_counting_agrees_with_an_oracle_that_cuts_at_separators(pieces):
    text = "".join(word + part for word, part in pieces)
    words = [word.casefold() for word in re.split(r"[\s,.;!()-]+", text)]
    for keyword in ("kernel", "panic", "strasse", "ядро", "x_y", "a", "don't", "c++"):
        assert Topic([keyword]).count(text) == words.count(keyword)
    assert Topic(["kern*"]).count(text) == sum(word.startswith("kern") for word in words)
    assert Topic(["kernel", "panic", "kernel*"]).count(text) == sum(w.startswith(("kernel", "panic")) for w in words)
    follows = itertools.pairwise(pieces)
    phrases = sum((a.lower(), b.lower()) == ("kernel", "panic") and part.isspace() for (a, part), (b, _) in follows)
    assert Topic(["kernel panic"]).count(text) == phrases


@given(st.text(max_size=20), st.text(max_size=5), st.text(max_size=5))
@settings(max_examples=many(300), deadline=None)
def test_a_text_and_its_composed_decomposed_and_upper_case_forms_count_alike(keyword, before, after):
    if not fold(keyword.removesuffix("*")).split():
        return
    counts = set()
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, f"{before} {keyword.rstrip('*')} {after}")
        word = unicodedata.normalize(form, keyword)
        counts |= {Topic([word]).count(text), Topic([keyword]).count(text), Topic([keyword.casefold()]).count(text)}
    assert len(counts) == 1


@given(st.text(alphabet="a*(+)[]{}.?\\|^$ #-", max_size=12).filter(lambda word: word.removesuffix("*").split()))
@settings(deadline=None)
def test_a_keyword_is_never_read_as_an_expression(keyword):
    stem = keyword.removesuffix("*")
    assert Topic([keyword]).count(f" {stem} ") == 1
    assert Topic([keyword]).count("zzz") == 0


def test_searches_quote_what_is_not_one_word_and_join_with_or():
    topic = Topic(["kernel", "kernel panic", "modul*", "c++", "#linux", 'say "hi"', "OR", "内核"], [r"v\d+"])
    assert topic.build_queries() == [
        'kernel OR "kernel panic" OR modul OR "c++" OR "#linux" OR "say hi" OR "OR" OR 内核'
    ]


ENTITY_CASES = [
    # platform, keyword, text, occurrences
    (X, "#climate", "#climate #Climate \uff03CLIMATE (#climate) #climate-change 「#climate」", 6),
    (X, "#climate", "climate #climatestrike #climate_ a#climate &#climate #climate#x #climate://", 0),
    (X, "#climate", "#climateé #climate\u0301 #climate・x", 0),
    (X, "#clim*", "#climate #clim a#clim", 2),
    (X, "#2026", "#2026 2026", 1),  # a number is a word like others
    (X, "#kernel panic", "#kernel panic #kernel", 1),
    (X, "$tsla", "$TSLA, ($TSLA) $tsla! $TSLA", 3),
    (X, "$tsla", "US$TSLA $TSLAQ $TSLA.us TSLA", 0),
    (X, "$brk.b", "$BRK.B $BRK", 1),
    (X, "@ann", "@ann @ANN: .@ann (@ann) RT @ann", 5),
    (X, "@ann", "me@ann.org @anna @ann_ &@ann @@ann @ann@x.org @anné", 0),
    (BLUESKY, "#climate", "#climate #Climate! #climate, #CLIMATE", 4),
    (BLUESKY, "#climate", "(#climate) #climate-change a#climate ##climate #climate's", 0),
    (BLUESKY, "#climate-change", "#climate-change #climate #climate-changes", 1),
    (BLUESKY, "$aapl", "($AAPL) $aapl. $AAPLX US$AAPL", 2),
    (
        BLUESKY,
        "@ann.bsky.social",
        "@ann.bsky.social (@Ann.bsky.social) @ann.bsky.social. @ann.bsky.social.uk x@ann.bsky.social",
        3,
    ),
    (MASTODON, "#climate", "#climate (#Climate) #climate-change #climate·", 4),
    (MASTODON, "#climate", "a#climate /#climate #climate·x #climates )#climate", 0),
    (MASTODON, "#llibertat·d", "#llibertat·d #Llibertat", 1),
    (MASTODON, "$tsla", "$tsla $TSLA.us", 2),  # no cashtags: a word
    (MASTODON, "@ann", "@ann @Ann@example.org @ann.b x@ann", 2),
    (MASTODON, "@ann@example.org", "@ann@example.org @ann", 1),
]


@pytest.mark.parametrize(("entities", "keyword", "text", "occurrences"), ENTITY_CASES)
def test_an_entity_is_counted_where_its_platform_finds_it(entities, keyword, text, occurrences):
    assert Topic([keyword], entities=entities).count(text) == occurrences
    assert Topic([keyword], [r"\bnothing else\b"], entities=entities).count(text) == occurrences


# What the platforms' own programs extract: twitter-text, Bluesky's rich text, Mastodon's Tag and Account.
EXTRACT = {
    X: regex.compile(
        r"(?:^|(?<=[^&\p{L}\p{M}\p{Nd}_\u200c\u200d·・]))#((?>[\p{L}\p{M}\p{Nd}_\u200c\u200d·・]*[\p{L}\p{M}]"
        r"[\p{L}\p{M}\p{Nd}_\u200c\u200d·・]*))(?!#|://)"
    ),
    BLUESKY: regex.compile(
        r"(?:^|(?<=\s))#((?!\ufe0f)[^\s\u200b-\u200d]*[^\d\s\p{P}\u200b-\u200d]+[^\s\u200b-\u200d]*)"
    ),
    MASTODON: regex.compile(
        r"(?:^|(?<=[^=/)\p{L}\p{M}\p{Nd}_]))#([WORD][WORD·・\u200c]*[\p{Alphabetic}·・_\u200c][WORD·・\u200c]*[WORD]"
        r"|[WORD]*\p{Alphabetic}[WORD]*)".replace("WORD", r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}")
    ),
}
TAGS = ["#sun", "#suns", "#sun_", "#sun-set", "#sün", "#日", "#日本", "#7", "#sun7", "#sun·x"]


@pytest.mark.parametrize("entities", EXTRACT, ids=["x", "bluesky", "mastodon"])
@given(
    st.lists(
        st.sampled_from(
            [*TAGS, "sun", "日", " ", " ", "\n", "#", "-", "·", ".", ")", "(", "&", "_", "\u200d", "7", "e", "!"]
        ),
        max_size=25,
    )
)
@settings(max_examples=many(300), deadline=None)
def test_hashtags_are_those_that_the_platform_extracts(entities, pieces):
    text = "".join(pieces)
    found = EXTRACT[entities].findall(text)
    if entities is BLUESKY:
        found = [regex.sub(r"\p{P}+$", "", tag) for tag in found]
    for tag in TAGS:
        if entities.mark(tag) is not None:
            assert Topic([tag], entities=entities).count(text) == found.count(tag[1:]), tag


LINKS = '["https://www.Example.org/a/b?x=1", "http://example.org/a", "https://example.org/ab", "https://straße.de/"]'


@pytest.mark.parametrize(
    ("keyword", "occurrences"),
    [
        ("https://example.org/a", 2), ("http://www.example.org/a/", 2), ("https://example.org", 3),
        ("https://example.org/a*", 3), ("https://example.org/a/b?x=1", 1), ("https://EXAMPLE.org/A", 0),
        ("https://example.com", 0), ("https://sub.example.org", 0), ("https://straße.de", 1), ("https://strasse.de", 0),
        ("https://xn--strae-oqa.de", 1),
    ],
)  # fmt: skip
def test_an_address_counts_where_links_lead_there_or_below_and_once_each(keyword, occurrences):
    topic = Topic([keyword], entities=X)
    assert topic.hits("two links: https://t.co/abc https://t.co/def", "en", None, LINKS) == occurrences
    assert topic.hits("no links", "en", None, None) == topic.hits("", None, None, "[]") == 0
    shown = " and (".join(json.loads(LINKS))
    assert topic.hits(f"{shown}).", "en", None, None) == occurrences  # of a text that has them in full
    assert topic.hits(shown, "en", None, LINKS) == occurrences


def test_words_do_not_match_where_links_lead_and_addresses_count_beside_them():
    topic = Topic(["example", "https://example.org"], entities=X)
    assert topic.hits("an example https://t.co/x", "en", None, '["https://example.org/example"]') == 2
    assert Topic(["https://example.org"]).count("see https://example.org now") == 1  # of no platform: a word


def test_entities_are_searched_as_such_on_x_and_words_in_quotes():
    keywords = [
        "#climate",
        "$TSLA",
        "@NASA",
        "https://www.example.org/a b",
        "https://example.org/a",
        "#2026",
        "@no one",
        "c#",
    ]
    (query,) = Topic(keywords, entities=X).build_queries()
    assert query == (
        '#climate OR $TSLA OR @NASA OR "https://www.example.org/a b" OR url:"example.org/a" OR "#2026" '
        'OR "@no one" OR "c#"'
    )
    assert Topic(["#clim*"], entities=X).build_queries() == ["#clim"]
    assert Topic(["#" + "x" * 520, "sun"], entities=X).build_queries() == ["sun"]


def test_searches_ask_nothing_twice_and_nothing_empty():
    assert Topic(["modul", "modul*", '"']).build_queries() == ["modul"]
    assert Topic((), ["kernel"]).build_queries() == []


@given(st.lists(st.text(alphabet="abc +", min_size=1, max_size=30).filter(str.strip), min_size=1), st.integers(20, 80))
@settings(deadline=None)
def test_searches_name_every_keyword_in_queries_that_are_short_enough(keywords, longest):
    queries = Topic(keywords).build_queries(longest)
    assert all(0 < len(query) <= longest for query in queries)
    terms = [term.strip('"') for query in queries for term in query.split(" OR ")]
    plain = dict.fromkeys(" ".join(keyword.split()) for keyword in keywords)
    assert len(terms) == len(set(terms))
    assert all(any(word.startswith(term) for term in terms) for word in plain if len(word.split()[0]) <= longest - 2)
    if max(map(len, plain)) <= longest - 2:
        assert terms == list(plain)
    assert all(len(a) + 4 + len(b.split(" OR ")[0]) > longest for a, b in itertools.pairwise(queries))


def test_queries_break_at_exactly_512_characters():
    assert Topic(["a" * 254, "b" * 254]).build_queries() == ["a" * 254 + " OR " + "b" * 254]
    assert Topic(["a" * 254, "b" * 255]).build_queries() == ["a" * 254, "b" * 255]


def test_a_keyword_longer_than_a_query_is_searched_by_its_first_words_or_not_at_all():
    phrase = " ".join(["kernel"] * 100)
    (query,) = Topic([phrase]).build_queries()
    assert query == '"' + " ".join(["kernel"] * 73) + '"'
    assert Topic(["x" * 513, "kernel"]).build_queries() == ["kernel"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("unit", ["a ", "a", "a" + " " * 50, "x" * 49 + " "])
def test_a_text_of_a_million_characters_is_counted_to_its_end(unit):
    """That takes a fraction of a second, and longer than a test may if the square of the length mattered."""
    topic = Topic(["a b c", "a a a b", "aaaa*", "aa aa", "x" * 50])
    text = unit * (1_000_000 // len(unit))
    assert topic.count(f"{text} . aaaab") == topic.count(text) + 1


POST = "kernel, kernel and panic"


@pytest.mark.parametrize(
    ("languages", "lang", "counts"),
    [
        ([], "fr", True), (["en"], "en", True), (["en", "de"], "de", True), (["en", "de"], "fr", False),
        (["EN"], "en", True), (["en"], "En", True), (["en"], "eng", False), (["en"], "e", False),
        (["zh"], "zh-TW", True), (["zh-CN"], "zh", True), (["zh-cn"], "zh-CN", True), (["zh-CN"], "zh-TW", False),
        (["id"], "in", True), (["in"], "id", True), (["he"], "iw", True), (["id"], "iw", False),
        # whose language X does not tell: no text to tell it by, only links, names, tags, pictures, or too short
        *((["en"], lang, True) for lang in (None, "", "und", "zxx", "qme", "qst", "qht", "qam", "qct", "art")),
        (["en"], "qu", False), (["en"], "qya", False),
    ],
)  # fmt: skip
def test_a_post_in_another_language_counts_for_nothing(languages, lang, counts):
    assert Topic(["kernel"], languages=languages).hits(POST, lang, None) == (2 if counts else 0)
    assert Topic(["kernel"], languages=languages).count(POST) == 2


DAY = datetime(2026, 11, 20, tzinfo=UTC)


@given(
    st.none() | st.integers(-9, 9), st.none() | st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([0, 5.5, -8, 1])
)
@settings(deadline=None)
def test_a_post_counts_from_the_first_instant_until_the_last_which_is_none_of_them(begin, end, at, hours):
    instants = [None if seconds is None else (DAY + timedelta(seconds=seconds)).timestamp() for seconds in (begin, end)]
    topic = Topic(["kernel"], (), (), *instants)
    counts = (begin is None or at >= begin) and (end is None or at < end)
    moment = DAY + timedelta(seconds=at)
    abroad = moment.astimezone(timezone(timedelta(hours=hours)))
    for written in (moment.strftime("%Y-%m-%dT%H:%M:%S.000Z"), abroad.isoformat()):
        assert topic.hits(POST, "en", written) == (2 if counts else 0)
    for untold in (None, "", "yesterday", "2026-13-45"):
        assert topic.hits(POST, "en", untold) == 2


@pytest.mark.parametrize(
    ("keywords", "languages", "queries"),
    [
        (["kernel"], ["en"], ["kernel lang:en"]),
        (["kernel", "kernel panic"], ["en"], ['(kernel OR "kernel panic") lang:en']),
        (["kernel", "panic"], ["en", "de"], ["(kernel OR panic) (lang:en OR lang:de)"]),
        (["kernel"], ["ID", "he", "zh-TW"], ["kernel (lang:in OR lang:iw OR lang:zh-TW)"]),
    ],
)
def test_a_search_asks_for_the_languages_too(keywords, languages, queries):
    assert Topic(keywords, languages=languages).build_queries() == queries
    assert Topic(keywords, languages=languages, begin=0.0, end=1e9).build_queries() == queries


@given(
    st.lists(st.text(alphabet="abc +", min_size=1, max_size=30).filter(str.strip), min_size=1),
    st.lists(st.sampled_from(["en", "de", "ja", "id"]), min_size=1, max_size=4, unique=True),
    st.integers(100, 160),
)
@settings(deadline=None)
def test_queries_with_languages_find_what_the_topic_counts(keywords, languages, longest):
    queries = Topic(keywords, languages=languages).build_queries(longest)
    assert all(len(query) <= longest for query in queries)
    plain = [term for query in Topic(keywords).build_queries(longest) for term in query.split(" OR ")]
    found = [term for query in queries for term in re.sub(r" \(?lang:.*", "", query).strip("()").split(" OR ")]
    assert found == plain
    tests = [parse(query).test for query in queries]
    for lang in ("en", "de", "ja", "in", "fr"):
        post = SearchedPost("", (), "", frozenset(), frozenset(), links=False, replied=None, retweet=False, lang=lang)
        words = [re.findall(r"\w+", term) for term in plain]
        for some in filter(None, words):
            said = any(test(replace(post, text=" ".join(some), words=tuple(some))) for test in tests)
            assert said == ({"in": "id"}.get(lang, lang) in languages)


LETTERS = "aeiouAZ09 .,\u0301\u0316\u0308\u00e9\uac00\uac01\u3131\u314f\uff9e\uff76\u304c\u304b\u3099\u1100\u1161\u11a8"
LETTERS += "\u09c7\u09be\u65e5\ufb01\u2460\uff8a\uff9f\u0345\u1e9e\ufe0f\u0130\u0131\u2019"


@given(st.lists(st.sampled_from(LETTERS), min_size=600, max_size=2000).map("".join))
@settings(deadline=None, max_examples=many(60))
def test_a_long_text_is_folded_in_pieces_as_it_is_as_a_whole(text):
    whole = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    whole = whole.replace("\u0131", "i").replace("\u2019", "'").replace("\ufe0f", "").replace("i\u0307", "i")
    assert fold(text) == whole


def test_a_run_of_marks_without_an_end_costs_no_more_than_its_length():
    """To normalise it as a whole takes time that grows with its square: hours for a page of two megabytes."""
    assert fold("a" + "\u0301" * 500_000 + "\u0316" * 500_000).startswith("\u00e1")
