"""Exports without names: nothing in them names anybody, and equal people stay equal."""

import json
import re
from collections import Counter
from itertools import pairwise

import networkx as nx
import pandas as pd
import pytest
from example_counts import many
from exported_towns import a_town, exported
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import opened
from test_export_tables import lines_of
from x_crawls import campaign_of, crawl, posts

from socialcrawl.errors import SettingsError
from socialcrawl.exporters.columns import Person
from socialcrawl.exporters.pseudonymize import KnownNames, Pseudonyms, split_words
from socialcrawl.mock.server import serve_in_thread

KEY = b"0123456789abcdef-a-key-for-tests"
TABLES = ("posts", "accounts", "mentions", "picks", "links", "hits", "requests")
PEOPLE = {
    "jazz": Person("1000000000000000001", "jazz", "Jo"),
    "alice": Person("1000000000000000002", "Alice", "Alice Ann Smith"),
    "bob_99": Person("77", "Bob_99", "Bob"),
    "wanderer": Person("1000000000000000004", "Wanderer", "Straße İstanbul"),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """An export with names and one without, of a crawl of generated posts in which names are also said otherwise."""
    folder = tmp_path_factory.mktemp("both")
    with serve_in_thread(posts(), missing=0.2) as mock:
        crawl(campaign_of(mock.url, folder / "a.db", source={"keep_original": True}))
    with opened(folder / "a.db") as connection:
        with connection.begin():
            run = connection.exec_driver_sql
            run("update account set name = 'Prof. ' || username || ' of Town', description = 'I am ' || username")
            run("update account set url = 'https://' || username || '.example/me'")
            who = "(select username from account where node = author)"
            number = "(select platform_id from account where node = author)"
            links = f"' https://x.com/' || {who} || '/status/' || id || ' x.com/' || {who}"
            told = f"{who} || ' Prof. ' || {who} || ' of Town id ' || {number} || {links}"
            run(f"update post set text = text || ' -- by ' || coalesce({told}, '')")
            run(
                """update post set urls = '["https://twitter.com/' || id || '?s=1"]', hashtags = '["by' || id || '"]'"""
            )
        exported(connection, folder / "named", "jsonl", "csv", "gexf")
        exported(connection, folder / "hidden", "parquet", "jsonl", "csv", "gexf", "graphml", key=KEY)
    return folder


def test_no_username_id_or_name_is_anywhere_in_the_export(both):
    people = lines_of(both / "named/accounts.jsonl")
    usernames = {row["username"] for row in people if row["username"]}
    numbers = {row["platform_id"] for row in people if row["platform_id"]}
    ids = {row["id"] for row in lines_of(both / "named/posts.jsonl")}
    assert min(map(len, (usernames, numbers, ids))) > 100
    whole = "".join(path.read_text("utf-8") for path in (both / "hidden").iterdir() if path.suffix != ".parquet")
    frames = [pd.read_parquet(both / "hidden" / f"{name}.parquet") for name in TABLES]
    whole += "".join(frame.to_json(force_ascii=False, date_format="iso") for frame in frames)
    words = set(split_words(whole))
    assert not [number for number in numbers | ids if number in whole]
    assert not {name.lower() for name in usernames} & words
    assert "of town" not in whole.lower()
    assert KEY.decode() not in whole
    named = set(split_words((both / "named/posts.csv").read_text("utf-8")))
    assert len({name.lower() for name in usernames} & named) > 100  # the same search finds them where they are


def test_equal_people_and_posts_have_equal_pseudonyms_in_every_table(both):
    def tables(folder):
        return {name: lines_of(both / folder / f"{name}.jsonl") for name in TABLES}

    named, hidden = tables("named"), tables("hidden")
    people, posts_, nodes = {}, {}, {}
    columns = {"author", "account", "source_account", "target_account"}
    for name in TABLES:
        assert len(named[name]) == len(hidden[name])
        for one, two in zip(named[name], hidden[name], strict=True):
            assert one.keys() == two.keys()
            for key in one.keys() & columns:
                assert people.setdefault(one[key], two[key]) == two[key]
            for key in one.keys() & {"node", "source", "target", "author_node"}:
                assert nodes.setdefault(one[key], two[key]) == two[key]
            if name == "posts":
                pairs = zip(one["mentions"], two["mentions"], strict=True)
                assert [people.setdefault(a, b) for a, b in pairs] == two["mentions"]
            for key in one.keys() & ({"post"} | ({"id"} if name == "posts" else set())):
                assert posts_.setdefault(one[key], two[key]) == two[key]
            if name == "requests" and one["post_ids"]:
                assert [posts_[key] for key in one["post_ids"]] == two["post_ids"]
    for made in (people, nodes, posts_):
        assert len(set(made.values())) == len(made)
    mentioned = re.compile(r"@(\w+)")
    for one, two in zip(named["posts"], hidden["posts"], strict=True):
        for name, hidden_name in zip(mentioned.findall(one["text"]), mentioned.findall(two["text"]), strict=True):
            spelled = next((known for known in people if known and known.lower() == name.lower()), None)
            assert spelled is None or people[spelled] == hidden_name


def test_what_is_no_name_stays(both):
    named, hidden = (lines_of(both / folder / "posts.jsonl") for folder in ("named", "hidden"))
    for one, two in zip(named, hidden, strict=True):
        for key in ("created_at", "occurrences", "likes", "lang", "fetched_at"):
            assert one[key] == two[key]
        assert two["original"] is None
        assert two["urls"] == ["https://twitter.com/…"]
    accounts = lines_of(both / "hidden/accounts.jsonl")
    assert {(row["name"], row["description"], row["url"]) for row in accounts} == {(None, None, None)}
    graphs = [nx.read_gexf(both / folder / "mentions.gexf") for folder in ("named", "hidden")]
    assert Counter(d for _, d in graphs[0].degree()) == Counter(d for _, d in graphs[1].degree())
    sheet = json.loads((both / "hidden/datasheet.json").read_text("utf-8"))
    assert sheet["pseudonymised"]
    known = {row["account"] for row in accounts}
    assert set(sheet["campaigns"][0]["seeds"]) <= known


def test_another_key_makes_other_names_and_the_same_key_the_same(tmp_path):
    with a_town(tmp_path) as connection:
        for name, key in (("one", KEY), ("same", KEY), ("other", KEY[::-1])):
            exported(connection, tmp_path / name, "csv", key=key)
    one, same, other = ((tmp_path / name / "accounts.csv").read_bytes() for name in ("one", "same", "other"))
    assert one == same
    assert not set(re.findall(rb"\bu[a-z2-7]{14}\b", one)) & set(re.findall(rb"\bu[a-z2-7]{14}\b", other))
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "same" / path.name).read_bytes()


def test_the_key_is_in_no_file_and_not_in_the_database(tmp_path):
    with a_town(tmp_path) as connection:
        exported(connection, tmp_path / "out", "csv", "jsonl", "parquet", key=KEY)
    for path in [*(tmp_path / "out").iterdir(), *tmp_path.glob("town.db*")]:
        assert KEY not in path.read_bytes()


def known(near=()):
    names = {" ".join(split_words(person.name)) for person in PEOPLE.values()}
    ids = {person.id: person for person in PEOPLE.values()}
    return KnownNames(Pseudonyms(KEY), PEOPLE, ids, names).add_people(near)


def name_of(key):
    return Pseudonyms(KEY).name_person(PEOPLE[key])


def test_names_are_hidden_as_the_rules_say():
    jazz, alice, bob = map(name_of, ("jazz", "alice", "bob_99"))
    stranger = Pseudonyms(KEY).name_person(Person(None, "nobody"))
    for text, hidden in (
        ("jazz by @Jazz, @nobody and @ALICE!", f"jazz by @{jazz}, @{stranger} and @{alice}!"),
        ("wide \uff20alice, quoted %40alice", f"wide @{alice}, quoted @{alice}"),
        ("ask Bob_99 or bob", f"ask {bob} or bob"),
        ("alice went out", "alice went out"),
        ("Alice  Ann Smith went out", "[name] went out"),
        ("straße İstanbul", "[name]"),
        ("write to alice.smith+x@mail.example.org.", "write to [mail]."),
        ("see https://x.com/alice/status/1234567890123456789?s=20.", "see https://x.com/…"),
        ("see x.com/alice or www.alice.example/me", "see x.com/… or www.alice.example/…"),
        ("https://bob_99.example", f"https://{bob}.example/…"),
        ("https://alice:secret@host.example/x", "https://host.example/…"),
        ("number 1000000000000000002, 77, 78", f"number {alice}, {bob}, 78"),
        ("", ""),
    ):
        assert known().hide_names(text) == hidden
    assert known([PEOPLE["jazz"]]).hide_names("Jazz by Jo, alice") == f"{jazz} by [name], alice"
    post = known().hide_names("status 1234567890123456789")
    assert post == f"status {Pseudonyms(KEY).name_post('1234567890123456789')}"


PIECES = st.sampled_from(
    ["@", "alice", "Alice", "Ann", "Smith", "bob_99", "BOB_99", "wanderer", " ", ".", "/", "https://", "x.com/", "ü",
     "İ", "straße", "%40", "jazz", "1000000000000000002", "77", "\n", "-", "#", "é", "\u200d", "_", "a"]
)  # fmt: skip


@settings(deadline=None, max_examples=many(300))
@given(st.lists(PIECES, max_size=14).map("".join))
def test_no_unmistakable_name_survives_in_any_text(text):
    near = [PEOPLE["alice"]]
    hidden = known(near).hide_names(text)
    assert not {"alice", "bob_99", "wanderer", "1000000000000000002", "77"} & set(split_words(hidden))
    assert ("ann", "smith") not in {pair for pair in pairwise(split_words(hidden)) if "alice" in split_words(text)} or (
        "alice ann smith" not in " ".join(split_words(text))
    )
    assert hidden == known(near).hide_names(text)


def test_a_text_of_one_long_word_takes_no_longer_than_others():
    for text in ("a" * 50_000, "a." * 25_000, "9" * 50_000, "a-" * 25_000, "@" * 50_000, "https://" * 5_000):
        known().hide_names(text)  # a second each; with a square of time it would be a minute


def test_a_short_key_is_refused_and_never_told():
    with pytest.raises(SettingsError, match="7 bytes") as error:
        Pseudonyms(b"tooweak")
    assert "tooweak" not in str(error.value)
