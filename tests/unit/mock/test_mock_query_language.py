"""The query language against an evaluator that knows how each post was put together, and nothing of the parser."""

import random
from collections import Counter

import pytest
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_mock_world import START, build_world, posts_of

from socialcrawl.mock import search as search_module
from socialcrawl.mock.query import QueryError, parse
from socialcrawl.mock.search import PostSearch, read_post

WORDS = ["cat", "dog", "Café", "naïve", "end"]
PLAIN = {"cat": "cat", "dog": "dog", "Café": "cafe", "naïve": "naive", "end": "end"}
TAGS, NAMES, LANGS = ["Pets", "Éire"], ["ann", "bob", "cy"], ["en", "fr"]
FOLDED = {"Pets": "pets", "Éire": "eire"}
LINKS = ["https://example.org/cat-nap", "https://x.com/ann/status/99"]


def make_rows():
    """200 posts, each with the parts of which its text is joined."""
    draw, rows = random.Random(5), []
    for number in range(200):
        words = [draw.choice(WORDS) for _ in range(draw.randrange(5))]
        row = {
            "id": 1_000 + number,
            "author": draw.choice(NAMES),
            "words": words,
            "tag": draw.choice([None, None, *TAGS]),
            "mention": draw.choice([None, None, *NAMES]),
            "link": draw.choice([None, None, None, *LINKS]),
            "cash": draw.random() < 0.1,
            "lang": draw.choice(LANGS),
            "answers": draw.choice([None, None, 1_000 + draw.randrange(number)]) if number else None,
        }
        repeatable = [one for one in rows if not one["retweet"] and one["text"]]
        row["retweet"] = draw.choice(repeatable) if repeatable and draw.random() < 0.1 else None
        row["text"] = make_text(row)
        rows.append(row)
    return rows


def make_text(row):
    if (original := row["retweet"]) is not None:
        row |= {name: original[name] for name in ("words", "tag", "link", "cash")} | {"answers": None}
        row["mention"] = original["author"]
        return f"RT @{original['author']}: {original['text']}"
    parts = [*row["words"]]
    parts += [f"#{row['tag']}"] if row["tag"] else []
    parts += [f"@{row['mention']}"] if row["mention"] else []
    parts += ["$TSLA"] if row["cash"] else []
    return " ".join([*parts, *([row["link"]] if row["link"] else [])])


ROWS = make_rows()
WORLD = build_world(
    posts_of(
        [
            (row["author"], START + i, row["text"], [row["mention"]] if row["mention"] else [])
            for i, row in enumerate(ROWS)
        ],
        ids=[str(row["id"]) for row in ROWS],
        reply_to=[None if row["answers"] is None else str(row["answers"]) for row in ROWS],
        lang=[row["lang"] for row in ROWS],
    )
)


# The evaluator: (what is written, whether it can stand alone, whether it is a keyword, which rows it finds).


def tokens(row):
    """The words that a post has in order, without diacritics; entities are words, too, as are the parts of a link."""
    found = ["rt", row["retweet"]["author"]] if row["retweet"] else []
    source = row["retweet"] or row
    found += [PLAIN[word] for word in source["words"]]
    found += [FOLDED[source["tag"]]] if source["tag"] else []
    found += [source["mention"]] if source["mention"] else []
    found += ["tsla"] if source["cash"] else []
    split = {
        LINKS[0]: ["https", "example", "org", "cat", "nap"],
        LINKS[1]: ["https", "x", "com", "ann", "status", "99"],
    }
    return found + split.get(source["link"], [])


def stands_in(row, wanted):
    have = tokens(row)
    return any(have[i : i + len(wanted)] == wanted for i in range(len(have)))


def conversation(row):
    while row["answers"] is not None:
        row = next(one for one in ROWS if one["id"] == row["answers"])
    return row["id"]


def first_of_text(row):
    """The id of the first post of the repeated account with the repeated text, which is taken for the original."""
    original = row["retweet"]
    same = (one for one in ROWS if one["author"] == original["author"] and one["text"] == original["text"])
    return next(one["id"] for one in same if not one["retweet"])


ANSWERED = Counter(row["answers"] for row in ROWS if row["answers"]).most_common(1)[0][0]
REPEATED = Counter(first_of_text(row) for row in ROWS if row["retweet"]).most_common(1)[0][0]
BEGAN = Counter(conversation(row) for row in ROWS).most_common(1)[0][0]
LEAVES = {
    "cat": (True, True, lambda row: stands_in(row, ["cat"])),
    "DOG": (True, True, lambda row: stands_in(row, ["dog"])),
    "cafe": (True, True, lambda row: stands_in(row, ["cafe"])),
    "CAFÉ": (True, True, lambda row: stands_in(row, ["cafe"])),
    '"nai\N{COMBINING DIAERESIS}ve cat"': (True, True, lambda row: stands_in(row, ["naive", "cat"])),
    '"end"': (True, True, lambda row: stands_in(row, ["end"])),
    "#eire": (True, True, lambda row: row["tag"] == "Éire"),
    "#PETS": (True, True, lambda row: row["tag"] == "Pets"),
    "$tsla": (True, True, lambda row: row["cash"]),
    "@bob": (True, True, lambda row: row["mention"] == "bob"),
    "url:example.org": (True, True, lambda row: row["link"] == LINKS[0]),
    "from:Ann": (True, False, lambda row: row["author"] == "ann"),
    "from:@cy": (True, False, lambda row: row["author"] == "cy"),
    "from:nobody": (True, False, lambda row: False),
    "to:bob": (True, False, lambda row: row["answers"] and ROWS[row["answers"] - 1_000]["author"] == "bob"),
    "retweets_of:ann": (True, False, lambda row: row["retweet"] and row["retweet"]["author"] == "ann"),
    f"conversation_id:{BEGAN}": (True, False, lambda row: conversation(row) == BEGAN),
    f"in_reply_to_tweet_id:{ANSWERED}": (True, False, lambda row: row["answers"] == ANSWERED),
    f"retweets_of_tweet_id:{REPEATED}": (True, False, lambda row: row["retweet"] and first_of_text(row) == REPEATED),
    "quotes_of_tweet_id:99": (True, False, lambda row: row["link"] == LINKS[1]),
    "lang:fr": (False, False, lambda row: row["lang"] == "fr"),
    "is:retweet": (False, False, lambda row: row["retweet"]),
    "is:reply": (False, False, lambda row: row["answers"]),
    "is:quote": (False, False, lambda row: row["link"] == LINKS[1] and not row["retweet"]),
    "is:verified": (False, False, lambda row: False),
    "has:hashtags": (False, False, lambda row: row["tag"]),
    "has:mentions": (False, False, lambda row: row["mention"]),
    "has:links": (False, False, lambda row: row["link"]),
    "has:cashtags": (False, False, lambda row: row["cash"]),
}


def leaf(text, *, negated):
    alone, keyword, test = LEAVES[text]
    if negated:
        return "-" + text, False, False, lambda row: not test(row)
    return text, alone, keyword, test


def side_by_side(parts):
    texts, alone, keyword, tests = zip(*parts, strict=True)
    return " ".join(texts), any(alone), any(keyword), lambda row: all(test(row) for test in tests)


def alternatives(parts):
    texts, alone, keyword, tests = zip(*parts, strict=True)
    return " OR ".join(texts), all(alone), any(keyword), lambda row: any(test(row) for test in tests)


def grouped(part):
    return (f"({part[0]})", *part[1:])


NULLCAST = ("-is:nullcast", False, False, lambda row: True)
TERMS = st.builds(leaf, st.sampled_from(sorted(LEAVES)), negated=st.booleans()) | st.just(NULLCAST)
# A space binds before OR, so what is side by side needs no group, and alternatives side by side with others do.
QUERIES = st.recursive(
    TERMS,
    lambda inner: st.lists(
        st.lists(TERMS | inner.map(grouped), min_size=1, max_size=3).map(side_by_side), min_size=1, max_size=3
    ).map(alternatives),
    max_leaves=8,
)


@given(QUERIES, st.sampled_from([0, 2_000]))
@settings(deadline=None, max_examples=many(600))
@example(
    alternatives([side_by_side([leaf("cat", negated=False), leaf("DOG", negated=False)]), leaf("cafe", negated=False)]),
    0,
)
def test_a_query_finds_what_a_look_at_every_post_finds_and_needs_a_term_that_stands_alone(query, few):
    text, alone, keyword, test = query
    if not alone:
        with pytest.raises(QueryError, match=r"standalone operator|at least one positive"):
            parse(text)
        return
    wanted = [post for post, row in enumerate(ROWS) if test(row) and not (keyword and row["retweet"])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "_FEW", few)  # with an index, and by a look at each post
        search = PostSearch(WORLD, START + 200)
        assert search.find_all(text).tolist() == wanted
        assert search.find_recent(text).tolist() == wanted
    assert [post for post, row in enumerate(ROWS) if parse(text).test(read_post(WORLD, post))] == [
        post for post, row in enumerate(ROWS) if test(row)
    ]


def test_every_operator_finds_some_posts_and_not_all():
    found = {text: sum(bool(test(row)) for row in ROWS) for text, (_, _, test) in LEAVES.items()}
    assert {text for text, count in found.items() if count == 0} == {"from:nobody", "is:verified"}
    assert max(found.values()) < len(ROWS)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("bad and query", 'Ambiguous use of and as a keyword. Use a space to logically join two clauses, or "AND" to treat as a keyword. (at position 5)'),  # noqa: E501
        ("(cat AND (dog OR end)) lang:en", 'Ambiguous use of and as a keyword. Use a space to logically join two clauses, or "AND" to treat as a keyword. (at position 6)'),  # noqa: E501
        ("cat or dog", 'Ambiguous use of or as a keyword. Use OR to logically join two clauses, or "OR" to treat as a keyword. (at position 5)'),  # noqa: E501
        ("(bad and query", 'Ambiguous use of and as a keyword. Use a space to logically join two clauses, or "AND" to treat as a keyword. (at position 6), Missing closing parenthesis (at position 15)'),  # noqa: E501
        ("(cat OR dog)) end", "missing EOF at ')' (at position 13)"),
        ("has:polls", "is/has/lang cannot be used as a standalone operator (at position 1), Reference to invalid operator 'has:polls'"),  # noqa: E501
        ("cat OR lang:en", "is/has/lang cannot be used as a standalone operator (at position 8)"),
        ("cat since:2025-08-01", "Reference to invalid operator 'since'"),
        ("cat min_faves:3", "Reference to invalid operator 'min_faves'"),
        ("cat has:images", "Reference to invalid operator 'has:images'. Operator is not available in this mock"),
        ("cat -(dog OR end)", "Negate each operator and not a group (at position 5)"),
        ("cat is:nullcast", "The operator 'is:nullcast' must be negated (at position 5)"),
        ("conversation_id:x", "Invalid value 'x' for the operator 'conversation_id' (at position 1)"),
        ("-cat -dog", "Rules must contain at least one positive, non-stopword clause"),
        ("-is:nullcast", "Rules must contain at least one positive, non-stopword clause"),
        ("cat near:home since:x", "Reference to invalid operator 'near', Reference to invalid operator 'since'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_query_is_told_in_the_sentence_of_x(query, said):
    with pytest.raises(QueryError) as refused:
        parse(query)
    assert str(refused.value) == said


@pytest.mark.parametrize("query", ['cat "and" dog', '"or"', '"cat or dog"', "cat OR dog", "android", '-"cat or" dog'])
def test_words_that_join_are_allowed_in_quotes_and_within_words(query):
    parse(query)


def test_no_query_makes_anything_but_a_query_error():
    pieces = [
        "cat",
        "OR",
        "or",
        "(",
        ")",
        "-",
        "-(",
        '"',
        '"dog"',
        "from:",
        "is:",
        "is:retweet",
        "#",
        "@",
        "$",
        "url:",
        ":",
    ]

    @given(st.lists(st.sampled_from(pieces), max_size=8), st.sampled_from(["", " "]))
    @settings(deadline=None, max_examples=many(600))
    def check(parts, between):
        try:
            query = parse(between.join(parts))
        except QueryError:
            return
        assert query.test(read_post(WORLD, 0)) in (True, False)

    check()
