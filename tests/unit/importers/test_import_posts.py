"""Files of posts into the tables: every form says the same, twice is once, the forgotten stay forgotten."""

import csv
import json

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from import_files import (
    FETCHED,
    FORMS,
    NOW,
    WORD,
    Written,
    columns,
    drawn,
    everything,
    files,
    flat,
    held,
    long,
    name,
    old,
    pages,
    table,
    time_of,
    tweet,
    user,
    write_lines,
)  # fmt: skip
from shared_data import needed
from stores import a_database

from socialcrawl.campaign.settings import check_settings
from socialcrawl.errors import PostsFileError
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.relevance import Topic
from socialcrawl.importers.import_posts import find_seeds, import_posts
from socialcrawl.importers.post_files import read_posts
from socialcrawl.storage.erasure.tombstones import make_digest, put_tombstones

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
LATER = NOW + 1e6


def campaign(**more):
    return check_settings({"name": "mine", "topic": {"keywords": [WORD]}, **more}, "test")


def expected(posts):
    told = {
        post.id: (
            name(post.author).lower(), f"{time_of(post.at):%Y-%m-%dT%H:%M:%S}.000Z", post.text, post.likes,
            post.answers[0] if post.answers else None, post.repeats[0] if post.repeats else None,
        )
        for post in posts
    }  # fmt: skip
    return told, {(post.id, name(p).lower(), kind) for post in posts for p, kind in post.kinds().items()}


@pytest.mark.parametrize("form", FORMS)
@BOTH
def test_every_form_of_a_file_brings_the_posts_and_mentions_that_were_written(kind, form, tmp_path):
    posts = drawn()
    path = write_lines(tmp_path / ("a.jsonl.gz" if form == "flat" else "a.jsonl"), FORMS[form](posts))
    with a_database(kind) as connection:
        brought = import_posts(files(path), connection, campaign(), NOW)
        told, mentions = held(connection)
        wanted, named = expected(posts)
        if form == "columns":  # such a file does not say what a repost repeats
            wanted = {key: (*row[:5], None) for key, row in wanted.items()}
        assert told == wanted
        assert mentions == named
        hits = dict(table(connection, "select post, occurrences from hit"))
    assert hits == {post.id: post.hits for post in posts if post.hits}
    assert (brought.stored.posts, brought.stored.new, brought.trouble.count) == (len(posts), len(posts), 0)


@pytest.mark.parametrize("form", FORMS)
@BOTH
def test_a_second_import_changes_nothing(kind, form, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", FORMS[form](drawn()))
    with a_database(kind) as connection:
        import_posts(files(path), connection, campaign(), NOW)
        before = everything(connection)
        again = import_posts(files(path, path), connection, campaign(), LATER)
        assert everything(connection) == before
    assert again.stored.new == 0


def test_the_forms_come_to_the_same_accounts(tmp_path):
    posts, found = drawn(), {}
    for form in ("pages", "flat", "old"):
        with a_database("sqlite") as connection:
            import_posts(files(write_lines(tmp_path / form, FORMS[form](posts))), connection, None, NOW)
            sql = "select platform_id, username, name, followers, following, posts, profile_at is null from account"
            found[form] = set(table(connection, sql))
            fetched = set(table(connection, "select fetched_at from post"))
        assert fetched == {("2023-11-14T22:13:20.000000Z" if form == "old" else "2023-05-06T07:08:09.000000Z",)}
    assert found["pages"] == found["flat"] == found["old"]
    people = {post.author for post in posts}
    mentioned = {other for post in posts for other in post.kinds()} - people
    assert {row[:4] for row in found["pages"]} == {
        *((str(100 + p), name(p), f"P {p}", 7 * p) for p in people),
        *((str(100 + p), name(p), None, None) for p in mentioned),
    }


def test_parquet_csv_and_lines_with_the_same_rows_are_the_same(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    rows, found = list(columns(drawn())), []
    write_lines(tmp_path / "a.jsonl", rows)
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"mentions": json.dumps(row["mentions"])} for row in rows)
    times = pa.array([time_of(row["created_at"]) for row in rows], pa.timestamp("us", "UTC"))
    whole = pa.Table.from_pylist(rows)
    at = whole.schema.get_field_index("created_at")
    parquet.write_table(whole.set_column(at, "created_at", times), tmp_path / "a.parquet", row_group_size=11)
    for path in sorted(tmp_path.iterdir()):
        with a_database("sqlite") as connection:
            import_posts(files(path), connection, campaign(), NOW)
            found.append((path.name, held(connection), table(connection, "select * from hit")))
    assert len(found) == 3
    assert found[0][1:] == found[1][1:] == found[2][1:]


def test_posts_without_ids_are_known_again_and_collide_with_nobody(tmp_path):
    rows = [{"author": "Ann", "created_at": i, "text": text} for i, text in enumerate(["a", "b", "a", "@bob c"])]
    path = write_lines(tmp_path / "a.jsonl", [*rows, rows[0], rows[0] | {"author": "ANN"}])
    with a_database("sqlite") as connection:
        first = import_posts(files(path), connection, None, NOW)
        keys = table(connection, "select id from post")
        again = import_posts(files(path), connection, None, LATER)
        named = table(connection, "select a.username from mention m join account a using (node)")
    assert (len(keys), first.stored.new, again.stored.new) == (4, 4, 0)
    assert all(key.startswith("made:") for (key,) in keys)
    assert named == [("bob",)]


@BOTH
def test_who_is_answered_may_be_a_post_that_comes_later_or_a_name(kind, tmp_path):
    rows = [
        {"id": "a", "author": "ann", "created_at": 1, "text": "x", "reply_to": "b"},
        {"id": "b", "author": "bob", "created_at": 2, "text": "x", "mentions": ["@Cyd"], "reply_to": "cyd"},
        {"id": "c", "author": "cyd", "created_at": 3, "text": "x", "reply_to": "12345"},  # a post that is not here
    ]
    with a_database(kind) as connection:
        import_posts(files(write_lines(tmp_path / "a", rows)), connection, None, NOW)
        _, mentions = held(connection)
        assert mentions == {("a", "bob", "reply"), ("b", "cyd", "reply")}
        assert table(connection, "select id, reply_to from post order by id") == [
            ("a", "b"),
            ("b", None),
            ("c", "12345"),
        ]


def test_what_the_database_knows_better_stays(tmp_path):
    post = drawn()[0]
    new = [{**page, "__twarc": {"retrieved_at": "2023-06-01T00:00:00Z"}} for page in pages([post])]
    newer = tmp_path / "newer"
    write_lines(newer, [{**page, "includes": {"users": [user(post.author, name="renamed")]}} for page in new])
    older = write_lines(tmp_path / "older", pages([post]))
    for order, shown in (((older, newer), "renamed"), ((newer, older), "renamed"), ((older,), f"P {post.author}")):
        with a_database("sqlite") as connection:
            for path in order:
                import_posts(files(path), connection, None, NOW)
            sql = f"select name from account where platform_id = '{100 + post.author}'"
            assert table(connection, sql) == [(shown,)], order


def test_a_bad_line_keeps_everything_out_unless_it_may_be_skipped(tmp_path):
    good, path = [json.dumps(line) for line in pages(drawn(posts=14))], tmp_path / "a.jsonl"
    half = {"data": [tweet(drawn(3)[0]), {"id": "7", "author_id": "1"}], "includes": {}}  # one of two posts
    bad = ["{oops", '{"no": "post"}', json.dumps({"author": "x", "created_at": "never", "text": ""}), json.dumps(half)]
    path.write_text("\n".join([good[0], *bad, "", good[1]]), "utf-8")
    with a_database("sqlite") as connection:
        before = everything(connection)
        with pytest.raises(PostsFileError, match=r"(?s)4 bad lines, nothing was stored.*line 2: it is damaged JSON"):
            import_posts(files(path), connection, campaign(), NOW)
        assert everything(connection) == before
        brought = import_posts(files(path, skip_bad=True), connection, campaign(), NOW)
    assert (brought.trouble.count, brought.stored.posts) == (4, 15)
    assert [line.split(", ")[1].split(":")[0] for line in brought.trouble.first] == [f"line {i}" for i in (2, 3, 4, 5)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"\0\1\2", "is of no known kind"),
        (b'[{"author": "a"}]', "is one JSON list"),
        (b"who,what\n1,2\n", "lacks the columns author, created_at, text"),
        (b"PAR1 but not really", "cannot be read"),
        (b"\x1f\x8bnot gzip", "cannot be read"),
    ],
)
def test_what_is_no_file_of_posts_is_refused_with_a_sentence(tmp_path, data, says):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(PostsFileError, match=says):
        list(read_posts(tmp_path / "a", long, LineErrors()))
    with pytest.raises(PostsFileError, match="No such file"):
        list(read_posts(tmp_path / "b", long, LineErrors()))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["1", "id", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({key for form in FORMS.values() for line in form(drawn(posts=5)) for key in line})


@settings(deadline=None, max_examples=many(120))
@given(st.sampled_from(sorted(FORMS)), st.lists(st.tuples(st.sampled_from(KEYS), JUNK), max_size=3), st.data())
def test_whatever_stands_in_a_line_it_is_a_post_or_a_bad_line(tmp_path_factory, form, changes, data):
    lines = [json.loads(json.dumps(line)) for line in FORMS[form](drawn(posts=8))]
    changed = data.draw(st.sampled_from(range(len(lines))))
    lines[changed] |= dict(changes)
    path = write_lines(tmp_path_factory.mktemp("a") / "a.jsonl", lines)
    trouble = LineErrors()
    found = [row for found in read_posts(path, lambda text, *_: 1, trouble) for row in found.page.posts]
    assert all(isinstance(row.id, str) and isinstance(row.text, str) for row in found)
    untouched = sum(len(line.get("data", [0])) for i, line in enumerate(lines) if i != changed)
    assert len(found) >= untouched
    assert trouble.count or len(found) > untouched or form == "pages" or not changes


def test_characters_that_a_database_refuses_are_replaced(tmp_path):
    row = {"id": "1", "author": "ann", "created_at": 1, "text": "a\0b"}
    for kind in ("sqlite", "postgres"):
        with a_database(kind) as connection:
            import_posts(files(write_lines(tmp_path / "a", [row])), connection, None, NOW)
            assert table(connection, "select text from post") == [("a\ufffdb",)]


@pytest.mark.parametrize("form", FORMS)
@BOTH
def test_the_forgotten_do_not_come_back(kind, form, tmp_path):
    posts = drawn()
    gone_person, gone_post = posts[3].author, next(p for p in posts if p.author != posts[3].author)
    key = ("name", name(gone_person)) if form in ("columns", "flat") else ("user", str(100 + gone_person))
    path = write_lines(tmp_path / "a", FORMS[form](posts))
    with a_database(kind) as connection:
        with connection.begin():
            tombs = [(make_digest("x", *key), key[0]), (make_digest("x", "post", gone_post.id), "post")]
            put_tombstones(connection, [(hashed, sort, "forget", "2023-01-01T00:00:00Z") for hashed, sort in tombs])
        brought = import_posts(files(path), connection, campaign(), NOW)
        told, mentions = held(connection)
    left = [
        post
        for post in posts
        if gone_person not in (post.author, post.repeats and post.repeats[1])
        and gone_post.id not in (post.id, None if form == "columns" else post.repeats and post.repeats[0])
    ]
    assert set(told) == {post.id for post in left}
    wanted = {(p.id, name(o).lower(), kind) for p in left for o, kind in p.kinds().items() if o != gone_person}
    if form == "columns":  # who wrote a forgotten post is not known, so nor is who was answered
        lost = {p.id for p in left if p.answers and p.answers[0] in {post.id for post in posts} - set(told)}
        wanted = {w for w in wanted if not (w[0] in lost and w[2] == "reply")}
        mentions = {m for m in mentions if not (m[0] in lost and m[2] == "mention" and m not in wanted)}
    assert mentions == wanted
    assert brought.stored.forgotten == len(posts) - len(left)


@pytest.mark.parametrize("form", FORMS)
def test_seeds_are_the_authors_with_the_most_posts_of_the_topic(form, tmp_path):
    posts = drawn()
    path = write_lines(tmp_path / "a", FORMS[form](posts))
    for topic, counts in ((Topic([WORD]), lambda post: post.hits > 0), (None, lambda post: True)):
        wanted = {}
        for post in posts:
            wanted[name(post.author)] = wanted.get(name(post.author), 0) + counts(post)
        ordered = sorted(((n, x) for n, x in wanted.items() if x), key=lambda pair: (-pair[1], pair[0].lower()))
        found, _ = find_seeds(files(path, path), topic)
        assert found == ordered
        assert len({x for _, x in ordered}) > 2


def test_names_that_the_platform_does_not_have_are_no_seeds(tmp_path):
    rows = [
        {"id": str(i), "author": a, "created_at": 1, "text": "x"} for i, a in enumerate(["foo|away", "ok_1", "x" * 16])
    ]
    assert find_seeds(files(write_lines(tmp_path / "a", rows)), None)[0] == [("ok_1", 1)]


def test_users_that_twarc_collected_are_profiles(tmp_path):
    line = {"data": [user(1), user(2)], "meta": {}, "__twarc": {"retrieved_at": FETCHED}}
    with a_database("sqlite") as connection:
        import_posts(files(write_lines(tmp_path / "a", [line])), connection, None, NOW)
        found = table(connection, "select platform_id, username, followers, profile_at from account order by node")
    at = "2023-05-06T07:08:09.000000Z"
    assert found == [("101", "Person1", 7, at), ("102", "Person2", 14, at)]


def test_long_posts_of_the_old_stream_are_read_whole(tmp_path):
    post = Written("1", 1, 1_600_000_000, f"{WORD} and more", [2])
    (line,) = old([post])
    whole = {"full_text": line.pop("full_text"), "entities": line.pop("entities")}
    line |= {"text": "cut…", "extended_tweet": whole, "entities": {"user_mentions": []}}
    with a_database("sqlite") as connection:
        import_posts(files(write_lines(tmp_path / "a", [line])), connection, None, NOW)
        told, mentions = held(connection)
    assert told["1"][2] == f"{WORD} and more"
    assert mentions == {("1", "person2", "mention")}


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_what_was_exported_comes_back_as_it_was(form, tmp_path):
    from socialcrawl.exporters.export import ExportOptions, export

    path, sql = write_lines(tmp_path / "a", pages(drawn())), "select * from post order by id"
    who = "select p.id, a.platform_id, a.username from post p join account a on a.node = p.author"
    with a_database("sqlite") as connection, a_database("sqlite") as other:
        import_posts(files(path), connection, campaign(), NOW)
        export(connection, tmp_path / "out", ExportOptions(whole=True, formats=(form,)), NOW)
        import_posts(files(tmp_path / "out" / f"posts.{form}"), other, campaign(), LATER)
        came, were = table(other, sql), table(connection, sql)
        assert [(row[0], *row[2:]) for row in came] == [(row[0], *row[2:]) for row in were]
        assert set(table(other, who)) == set(table(connection, who))
        # The list of names has no kinds: a repost is told by its text, an answer by the post that is answered.
        assert held(other)[1] == held(connection)[1]
        assert table(other, "select * from hit") == table(connection, "select * from hit")


def test_a_file_larger_than_a_piece_is_whole(tmp_path):
    posts = drawn(posts=2500)
    path = write_lines(tmp_path / "a", flat(posts))
    with a_database("sqlite") as connection:
        import_posts(files(path), connection, campaign(), NOW)
        assert table(connection, "select count(*), sum(length(text)) from post") == [
            (len(posts), sum(len(post.text) for post in posts))
        ]


def test_real_posts_are_read_row_for_row():
    from pyarrow import parquet

    path = needed("data/ubuntu_irc.parquet")
    whole = parquet.read_table(path, columns=["author", "text", "mentions"]).slice(0, 20_000).to_pylist()
    trouble, at = LineErrors(), 0
    for found in read_posts(path, lambda text, *_: text.count("ubuntu"), trouble):
        named = {place: [] for place in range(len(found.page.posts))}
        for mention in found.page.mentions:
            named[mention.post].append(mention.who.username)
        for place, row in enumerate(found.page.posts):
            given = whole[at + place]
            assert (found.get_author(place).username.lower(), row.text) == (
                given["author"].strip().lower(),
                given["text"],
            )
            assert [n.lower() for n in named[place]] == list(dict.fromkeys(n.lower() for n in given["mentions"]))
            assert found.page.hits[place] == given["text"].count("ubuntu")
        if (at := at + len(named)) >= len(whole):
            break
    assert (trouble.count, at) == (0, len(whole))
