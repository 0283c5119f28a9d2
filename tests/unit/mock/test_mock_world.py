"""The world of the mock; `synthetic` is also what the other tests of the mock serve."""

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.lab.post_table import Posts
from socialcrawl.mock.names import (
    DELETED,
    HERE,
    LEGAL,
    PROTECTED,
    SUSPENDED,
    draw_fates,
    hash_names,
    make_legal_names,
    make_user_ids,
)
from socialcrawl.mock.world import SNOWFLAKE_EPOCH, build_world, make_ids
from socialcrawl.mock.x.entities import LONGEST, locate, write_text

START = 1_700_000_000
HOUR = 3_600


def posts_of(rows, **columns) -> Posts:
    """Posts from rows (author, created_at, text, [mentions])."""
    rows = [(*row, ()) if len(row) == 3 else row for row in rows]
    offsets = np.concatenate(([0], np.cumsum([len(row[3]) for row in rows]))).astype(np.int64)
    return Posts(
        authors=[row[0] for row in rows],
        created_at=np.array([row[1] for row in rows], dtype=np.int64),
        texts=[row[2] for row in rows],
        mentioned=[name for row in rows for name in row[3]],
        mention_offsets=offsets,
        **columns,
    )


def synthetic() -> Posts:
    """A small town: Ann writes much, others answer, repeat and mention; one name is too long for X."""
    rows = [("Ann", START + 60 * i, f"note {i} about rust #Rust") for i in range(57)]
    rows += [
        ("bob", START + 4 * HOUR, "hey @ann and @nobody, see https://example.org/a_b?c=1.", ("ann", "nobody")),
        ("bob", START + 4 * HOUR + 1, "RT @Ann: note 3 about rust #Rust", ("ann",)),
        ("the.long-named_one_of_all", START + 5 * HOUR, "bob: quite so", ("bob",)),
        ("cy", START + 6 * HOUR, "x" * 150 + " @bob " + "y " * 100 + "@ann #late", ("bob", "ann")),
        ("ANN", START + 6 * HOUR, "I agree", ()),
        ("cy", START + 6 * HOUR + 9, "RT @gone: never seen", ("gone",)),
        ("bob", START + 7 * HOUR, "the last word, cats and dogs", ()),
    ]
    n = len(rows)
    replies: list[str | None] = [None] * n
    replies[57], replies[59], replies[61] = "p3", "bob", "p57"
    return posts_of(rows, ids=[f"p{i}" for i in range(n)], reply_to=replies)


@given(st.sets(st.text(min_size=1, max_size=30).map(str.lower), max_size=40))
@settings(max_examples=many(150), deadline=None)
def test_every_name_gets_its_own_legal_username(names):
    usernames = make_legal_names(names)
    assert usernames.keys() == names
    assert all(LEGAL.fullmatch(username) for username in usernames.values())
    assert len({username.lower() for username in usernames.values()}) == len(names)
    assert all(usernames[name] == name for name in names if LEGAL.fullmatch(name))


def test_a_made_username_is_readable_stable_and_yields_to_a_real_one():
    (made,) = make_legal_names(["some.very-long_name"]).values()
    assert made.startswith("somevery_")
    assert make_legal_names(["z", "some.very-long_name", "a"])["some.very-long_name"] == made
    assert make_legal_names(["some.very-long_name", made])[made] == made
    assert make_legal_names(["some.very-long_name", made])["some.very-long_name"] != made


def test_user_ids_depend_on_the_name_only():
    names = [f"n{i}" for i in range(500)]
    forward = dict(zip(names, make_user_ids(names, hash_names(names)[:, 0]).tolist(), strict=True))
    back = names[::-1]
    assert forward == dict(zip(back, make_user_ids(back, hash_names(back)[:, 0]).tolist(), strict=True))
    assert len(set(forward.values())) == 500
    assert all(0 < number < 2**63 for number in forward.values())


def test_user_ids_that_collide_are_told_apart_by_name():
    hashes = np.array([8, 8, 0, 10], dtype=np.uint64)
    ids = make_user_ids(["b", "a", "c", "d"], hashes)
    assert len(set(ids.tolist())) == 4
    assert (ids > 0).all()
    turned = make_user_ids(["d", "c", "a", "b"], hashes[[3, 2, 1, 0]])
    assert turned.tolist() == ids[[3, 2, 1, 0]].tolist()


def test_the_missing_are_a_stable_share_of_three_kinds():
    hashes = hash_names([f"n{i}" for i in range(9_000)])[:, 1]
    some, more = draw_fates(hashes, 0.2), draw_fates(hashes, 0.5)
    assert abs((some != HERE).mean() - 0.2) < 0.02
    assert abs((more != HERE).mean() - 0.5) < 0.02
    assert (more[some != HERE] == some[some != HERE]).all()
    shares = [(more == fate).mean() for fate in (SUSPENDED, PROTECTED, DELETED)]
    assert min(shares) > 0.14
    assert (draw_fates(hashes, 0.0) == HERE).all()
    assert (draw_fates(hashes, 1.0) != HERE).all()


@given(st.lists(st.integers(0, 3_400_000_000), min_size=1, max_size=60).map(sorted))
@settings(deadline=None)
def test_post_ids_grow_with_time_and_are_positive(times):
    ids = make_ids(np.array(times, dtype=np.int64))
    assert ids[0] > 0
    assert (np.diff(ids) > 0).all()


def test_post_ids_have_the_shape_of_snowflakes():
    ids = make_ids(np.array([START, START, START + 1]))
    assert ((ids >> 22) + SNOWFLAKE_EPOCH).tolist() == [START * 1000, START * 1000, (START + 1) * 1000]
    assert (ids & (2**22 - 1)).tolist() == [0, 1, 0]


def test_decimal_ids_of_the_file_are_kept_and_others_replaced():
    rows = [("a", START + 9, "x"), ("b", START, "y")]
    assert build_world(posts_of(rows, ids=["80", "70"])).ids.tolist() == [70, 80]
    assert build_world(posts_of(rows, ids=["70", "0x8"])).ids.min() > 2**40


def test_an_account_is_one_in_any_spelling_and_shown_in_its_own():
    world = build_world(synthetic())
    ann = world.accounts.by_username["ann"]
    assert world.accounts.usernames[ann] == world.accounts.shown[ann] == "Ann"
    assert len(world.timelines.of(ann)) == 58
    assert len(world.mentioned_in.of(ann)) == 3
    gone = world.accounts.by_username["nobody"]
    assert len(world.timelines.of(gone)) == 0


def test_replies_retweets_and_conversations_are_linked():
    world = build_world(synthetic())
    references, ids = world.references, world.ids.tolist()
    assert references.of(57) == [("replied_to", ids[3], 3)]
    assert references.of(58) == [("retweeted", ids[3], 3)]
    assert references.of(59) == []
    assert references.replied_account[59] == world.accounts.by_username["bob"]
    assert references.conversation[61] == 3  # Ann answers Bob, who answered Ann
    ((kind, number, position),) = references.of(62)
    assert (kind, position) == ("retweeted", -1)
    assert number not in ids
    assert build_world(synthetic()).references.of(62) == [(kind, number, position)]
    assert (references.replies[3], references.retweets[3]) == (1, 1)


def test_a_cut_retweet_finds_its_original():
    text = "a rather long sentence that the retweet does not hold in full, as it was cut"
    rows = [("a", START, text), ("a", START + 1, text[:45] + " but this"), ("b", START + 2, f"RT @A: {text[:60]}…")]
    assert build_world(posts_of(rows)).references.retweeted_post.tolist() == [-1, -1, 0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("hi @bob", (3, 7)),
        ("bob: see @bobby and @bob!", (20, 24)),
        ("bobby and bob", (10, 13)),
        ("bobby", (0, 0)),
        ("see a.b/@bob_x", (0, 0)),
    ],
)
def test_a_name_is_found_as_mention_before_bare_word(text, place):
    assert locate(text, "bob") == place


def test_entities_lie_where_they_say():
    world = build_world(synthetic())
    shown = write_text(world, 57)
    spans = {(kind, shown.text[e["start"] : e["end"]]) for kind, found in shown.entities.items() for e in found}
    assert spans == {("mentions", "@ann"), ("mentions", "@nobody"), ("urls", "https://example.org/a_b?c=1")}
    assert [mention["username"] for mention in shown.entities["mentions"]] == ["Ann", "nobody"]


def test_mentions_are_kept_once_and_in_the_order_of_the_file():
    rows = [("a", START, "x", ("zoe", "abe")), ("b", START + 1, "y", ("abe", "zoe", "ABE"))]
    world = build_world(posts_of(rows))
    named = [[m["username"] for m in write_text(world, post).entities["mentions"]] for post in range(2)]
    assert named == [["zoe", "abe"], ["abe", "zoe"]]


def test_letters_that_grow_when_lowered_do_not_shift_entities():
    world = build_world(posts_of([("a", START, "İİ @Bob", ("bob",))]))
    (mention,) = write_text(world, 0).entities["mentions"]
    assert (mention["start"], mention["end"]) == (3, 7)


def test_a_long_text_is_cut_and_whole_in_the_note():
    world = build_world(synthetic())
    shown = write_text(world, 60)
    assert len(shown.text) <= LONGEST
    assert shown.text.endswith("…")
    assert shown.note == world.texts[60]
    assert [m["username"] for m in shown.entities["mentions"]] == ["bob"]
    assert [m["username"] for m in shown.note_entities["mentions"]] == ["bob", "Ann"]
    assert [tag["tag"] for tag in shown.note_entities["hashtags"]] == ["late"]
    assert "hashtags" not in shown.entities


def test_languages_are_the_files_or_guessed():
    rows = [("a", START, "words"), ("a", START + 1, "1 + 1 = 2 ?")]
    assert [build_world(posts_of(rows)).language(post) for post in range(2)] == ["en", "und"]
    assert build_world(posts_of(rows, lang=["fr", "de"])).language(1) == "de"


def test_ids_of_the_file_are_kept_only_if_they_grow_with_time():
    rows = [("ann", START, "first"), ("ann", START + 60, "second"), ("ann", START + 120, "third")]
    assert build_world(posts_of(rows, ids=["10", "20", "30"])).ids.tolist() == [10, 20, 30]
    world = build_world(posts_of(rows, ids=["30", "20", "10"]))
    assert world.texts == ["first", "second", "third"]
    assert (np.diff(world.ids) > 0).all()
    assert world.ids[0] > 30
