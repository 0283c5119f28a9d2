import pytest
from test_mock_world import START, build_world, posts_of, synthetic

from socialcrawl.mock.query import QueryError, parse
from socialcrawl.mock.search import PostSearch, read_post

ROWS = [
    ("ann", "the cat sat on the mat", ()),
    ("bob", "Cats and dogs, #Pets", ()),
    ("cy", "hey @Ann: dog, or cat?", ("ann",)),
    ("ann", "see https://example.org/cat now", ()),
    ("bob", "RT @ann: the cat sat on the mat", ("ann",)),
    ("dee", "les chats \N{CAT FACE}", ()),
]
WORLD = build_world(
    posts_of(
        [(author, START + i, text, names) for i, (author, text, names) in enumerate(ROWS)],
        lang=["en"] * 5 + ["fr"],
        reply_to=[None, None, "ann", None, None, None],
    )
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cat", [0, 2, 3, 4]),
        ("CAT dog", [2]),
        ("cats OR dog", [1, 2]),
        ("cat sat OR dogs", [0, 1, 4]),
        ("cat (sat OR dog)", [0, 2, 4]),
        ("cat -dog", [0, 3, 4]),
        ("cat -dog -sat", [3]),
        ('"the cat"', [0, 4]),
        ('"cat the"', []),
        ('cat -"sat on"', [2, 3]),
        ("from:ANN", [0, 3]),
        ("from:@ann cat -sat", [3]),
        ("to:ann", [2]),
        ("@ann", [2, 4]),
        ("#pets", [1]),
        ("pets", [1]),
        ("cat -is:retweet", [0, 2, 3]),
        ("cat is:retweet", [4]),
        ("cat is:reply", [2]),
        ("cat has:links", [3]),
        ("cat has:mentions", [2, 4]),
        ("dogs has:hashtags", [1]),
        ("(cat OR chats) lang:fr", [5]),
        ("\N{CAT FACE}", [5]),
        ("example.org", [3]),
        ('cat "or" dog', [2]),
    ],
)
def test_a_query_finds(query, found):
    parsed = parse(query)
    assert [post for post in range(len(ROWS)) if parsed.test(read_post(WORLD, post))] == found


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "a term is missing"),
        ("cat OR", "a term is missing"),
        ("OR cat", "a term is missing"),
        ("cat ()", "a term is missing"),
        ("(cat", r"Missing closing parenthesis \(at position 5\)"),
        ("cat)", r"missing EOF at '\)' \(at position 4\)"),
        ('"cat', "cannot read from"),
        ('cat ""', "quotes with nothing"),
        ("-cat", "at least one positive"),
        ("cat OR -dog", "at least one positive"),
        ("is:retweet lang:en", r"is/has/lang cannot be used as a standalone operator \(at position 1\)"),
        ("has:images", "invalid operator 'has:images'"),
        ("near:home cat", "invalid operator 'near'$"),
        ("from: cat", "invalid operator 'from'$"),
    ],
)
def test_a_query_that_cannot_be_understood_says_why(query, said):
    with pytest.raises(QueryError, match=said):
        parse(query)


def test_search_leaves_retweets_out_where_words_are_asked_for():
    search = PostSearch(WORLD, WORLD.end)
    assert search.find_recent("cat").tolist() == [0, 2, 3]
    assert search.find_recent("from:bob").tolist() == [1, 4]


def test_search_reaches_seven_days_back_and_reads_whole_texts():
    world = build_world(posts_of([("a", START, "old cat"), ("a", START + 8 * 86_400, "y" * 400 + " cat")]))
    assert PostSearch(world, world.end).find_recent("cat").tolist() == [1]


def test_search_does_not_find_the_posts_of_the_missing():
    assert len(PostSearch(build_world(synthetic(), missing=1.0), START + 10**5).find_recent("rust")) == 0
    assert len(PostSearch(build_world(synthetic()), START + 10**5).find_recent("rust")) == 57


TAGGED = build_world(
    posts_of(
        [(f"a{place}", START + place, text, ()) for place, text in enumerate([
            "#climate now", "the climate", "#climatestrike", "climate and #climate", "@climate said", "$TSLA up",
            "TSLA up, US$TSLA", "see https://www.example.org/a/b?x=1", "see https://example.org/ab", "#sun-set",
        ])]
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("#climate", [0, 3]),
        ('"#climate"', [1, 3]),  # in quotes it is a word, and that of a hashtag is none
        ("climate", [0, 1, 3, 4]),
        ('"@climate"', [1, 3]),
        ("$tsla", [5]),
        ('"$tsla"', [6]),
        ("up has:cashtags", [5]),
        ('url:"example.org/a"', [7]),
        ("url:example.org", [7, 8]),
        ('-url:"example.org/a" see', [8]),
        ('url:"example.org/a" OR #climate', [0, 3, 7]),
    ],
)
def test_hashtags_cashtags_and_links_are_found_as_such_and_in_quotes_as_words(query, found):
    parsed = parse(query)
    assert [post for post in range(len(TAGGED.texts)) if parsed.test(read_post(TAGGED, post))] == found
