"""The use cases of section 2.2: alpha, beta and E against brute force, the loop against a referee, and kills."""

import math
import re
import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import needed
from stores import a_store, reopened
from use_case_worlds import JAZZ, Recording, a_library, a_village, a_web, an_overlay, ask, full_text, rescanned

from examples.acquaintances import Acquaintances, PeopleWire, Person
from examples.crawl_case import crawl_case
from examples.form import Form, FormWire, keywords
from examples.peers import Gossip, Peer, PeersWire, summary, tenth
from examples.web import Web, WebWire
from socialcrawl.engine.model import Grant, Request
from socialcrawl.errors import SettingsError
from socialcrawl.graph.link_context import WebPage, find_context, parse_title
from socialcrawl.graph.relevance import Topic
from socialcrawl.storage.memory_store import MemoryStore


def f(x):
    return 1 + math.log(x) if x else 0.0


# Focused web crawling

HILLS = "hill dale " * 5  # 50 characters


def test_the_window_is_fifty_characters_on_either_side_of_the_title():
    assert find_context(HILLS + "jazz " + HILLS + "brittany" + HILLS, "brittany", 100).count("jazz") == 0
    assert find_context("jazz " + HILLS[5:] + "brittany", "brittany", 100) == "jazz " + HILLS[5:] + "brittany"
    assert (
        find_context("xjazz " + HILLS[5:] + "brittany", "brittany", 98) == " " + HILLS[5:] + "brittany"
    )  # no half words
    assert find_context("brittany " + HILLS[:45] + "jazz more", "brittany", 100) == "brittany " + HILLS[:45] + "jazz"
    assert find_context("brittany " + HILLS[:45] + "jazzmen", "brittany", 100) == "brittany " + HILLS[:45]


def test_a_title_is_found_where_a_word_begins_and_nowhere_else():
    assert find_context("scat, then cats", "cat", 6) == " cats"
    assert find_context("scat", "cat", 6) == ""
    assert find_context("anything", "", 6) == ""
    assert parse_title("Caf%C3%A9_du__Monde") == "café du monde"


WORDS = st.lists(st.sampled_from(["jazz", "jazzy", "old", "new", "york", "New\nYork,", "café", "é", "a"]), max_size=60)


@settings(deadline=None)
@given(WORDS, st.sampled_from(["New_York", "Old", "Jazz", "Caf%C3%A9", "Nowhere"]), st.integers(0, 40))
def test_alpha_counts_the_keywords_that_stand_whole_in_the_window(words, key, width):
    text = " ".join(words)
    line = re.sub(r"\s+", " ", text.lower())
    place = re.search(rf"(?<!\w){parse_title(key)}", line)
    inside = 0
    if place:
        low, high = place.start() - width // 2, place.end() + width // 2
        inside = sum(low <= m.start() and m.end() <= high for m in re.finditer(r"\bjazz\b", line))
    outcome, links, requests = ask(Web(), WebWire({"u": WebPage(text, [key])}, JAZZ, width), "u")
    assert links == {key: f(inside)}
    assert outcome.value == f(words.count("jazz"))
    assert (outcome.occurrences, outcome.posts) == (words.count("jazz"), 1)
    assert requests == [{"key": "u"}]


def test_a_link_named_twice_is_one_link_and_the_links_do_not_count_as_the_page():
    page = WebPage("jazz Brest jazz and Nantes jazz", ["Nantes", "Brest", "Nantes"])
    outcome, links, _ = ask(Web(), WebWire({"u": page}, JAZZ), "u")
    assert list(links.items()) == [("Nantes", f(3)), ("Brest", f(3))]
    assert outcome.value == f(3)


def test_pages_whose_keys_differ_by_case_only_are_two_pages():
    pages = {"seed": WebPage("", ["US", "us", "Us"]), "US": WebPage("jazz", []), "us": WebPage("jazz jazz", [])}
    found = crawl_case(Web(), WebWire(pages, JAZZ), ["seed"], "bfs", 9)
    assert found == [("US", 1.0), ("us", f(2)), ("Us", 0.0)]
    assert crawl_case(Web(), WebWire(pages, JAZZ), ["US", "us"], "bfs", 9) == []


def a_small_web():
    r"""home -> poor, rich (jazz);  poor -> gone, deep (jazz, jazz);  rich -> far; words around a link in brackets."""
    gap = " and" * 30
    return {
        "home": WebPage(f"poor{gap} rich jazz", ["poor", "rich"]),
        "poor": WebPage(f"gone{gap} jazz deep jazz", ["gone", "deep"]),
        "rich": WebPage(f"jazz{gap} jazz {gap} far", ["far"]),
        "deep": WebPage("home", ["home"]),
        "far": WebPage("jazz", []),
    }


def test_a_web_crawl_goes_by_the_words_around_the_links_worked_out_by_hand():
    wire = WebWire(a_small_web(), JAZZ)
    # rich by one word; then poor (seen before far, both 0); deep by two words; far, seen before gone; gone is missing.
    by_hand = [("rich", f(2)), ("poor", f(2)), ("deep", 0.0), ("far", 1.0), ("gone", 0.0)]
    assert crawl_case(Web(), wire, ["home"], "nh-e-sum", 9) == by_hand
    assert crawl_case(Web(), wire, ["home"], "nh-e-sum", 2) == by_hand[:2]
    assert [key for key, _ in crawl_case(Web(), wire, ["home"], "bfs", 9)] == ["poor", "rich", "gone", "deep", "far"]


# Deep-web siphoning


def records_of(*texts):
    return [(text, "") for text in texts]


def siphon_by_hand(records, keyword, limit, pages, stop=()):
    """What a form shows for a keyword: the first limit * pages records that have it as a word, and their words."""
    shown = [" ".join(record) for record in records if keyword in re.findall(r"[a-z]+", " ".join(record).lower())]
    shown = shown[: limit * pages]
    words = Counter(word for text in shown for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in stop)
    return len(shown), dict(words)


SOME_RECORDS = st.lists(
    st.tuples(*[st.lists(st.sampled_from(["Tea", "sea", "GREEN", "of", "and", "tea,"]), max_size=4).map(" ".join)] * 2),
    max_size=9,
)


@settings(deadline=None, max_examples=many(60))
@given(SOME_RECORDS, st.sampled_from(["tea", "sea", "of", "none"]), st.integers(1, 3), st.integers(1, 3))
def test_a_keyword_is_worth_its_records_and_points_to_the_words_in_them(
    tmp_path_factory, records, keyword, limit, pages
):
    path = full_text(tmp_path_factory.mktemp("form") / "f.db", records)
    outcome, links, requests = ask(Form(pages), FormWire(path, "record", limit, ["AND"]), keyword)
    number, words = siphon_by_hand(records, keyword, limit, pages, {"and"})
    assert (outcome.value, outcome.posts, outcome.occurrences) == (number, number, number)
    assert links == words
    everything = siphon_by_hand(records, keyword, 99, 1)[0]
    assert len(requests) == max(1, min(pages, math.ceil(everything / limit)))
    assert [asked.get("cursor") for asked in requests] == [None, *(str(limit * i) for i in range(1, len(requests)))]


def test_keywords_are_letters_three_or_more_folded_in_order():
    assert keywords("The IPv6-route, Ÿ of CAFÉ x2 STRASSE_12 Straße") == [
        "the",
        "ipv",
        "route",
        "café",
        "strasse",
        "strasse",
    ]


def reachable(records, seeds):
    """The numbers of the records that can be reached, by closure over whole result lists; and the keywords."""
    known, found = set(seeds), set()
    while True:
        now = {i for i, r in enumerate(records, 1) if known & set(re.findall(r"[a-z]+", " ".join(r).lower()))}
        words = known.union(*(re.findall(r"[a-z]{3,}", " ".join(records[i - 1]).lower()) for i in now))
        if (now, words) == (found, known):
            return found, known
        found, known = now, words


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_siphoning_shows_every_record_in_reach_and_no_other(tmp_path, kind):
    letters = "abcdefghij"
    rng = np.random.default_rng([5])
    names = [a + b + c for a in letters for b in letters for c in "xyz"]
    records = records_of(*(" ".join(rng.choice(names, 3)) for _ in range(120)), "island alone", "the island")
    path, seeds = full_text(tmp_path / "f.db", records), [records[0][0].split()[0]]
    wire = Recording(FormWire(path, "record", 3))
    with a_store(kind) as store:
        found = crawl_case(Form(99), wire, seeds, "nh-e-sum", 999, store=store)
    inside, words = reachable(records, seeds)
    assert {int(name) for name, text in wire.shown} == inside
    assert 60 < len(inside) < 121
    assert sorted([*seeds, *(key for key, _ in found)]) == sorted(words)
    assert all(value == siphon_by_hand(records, key, 999, 1)[0] for key, value in found)


def test_keywords_are_submitted_by_the_times_they_were_seen_worked_out_by_hand(tmp_path):
    path = full_text(tmp_path / "f.db", records_of("tea cup", "tea pot pot", "pot lid", "cup lid lid", "far away"))
    # tea shows cup once and pot twice; pot shows lid once (and tea, pot again); cup and lid tie at 1, cup came first.
    found = crawl_case(Form(), FormWire(path, "record"), ["tea"], "nh-e-sum", 9)
    assert found == [("pot", 2.0), ("cup", 2.0), ("lid", 2.0)]


def test_requests_bound_a_crawl_that_goes_on_with_more_of_them(tmp_path):
    source, wire, seeds = a_library(tmp_path / "f.db", 300, 1, limit=4, pages=3)
    whole = crawl_case(source, wire, seeds, "nh-e-sum", 40)
    store, first, second = MemoryStore(), Recording(wire), Recording(wire)
    part = crawl_case(source, first, seeds, "nh-e-sum", 40, requests=25, store=store)
    assert len(first.asked) == 25
    assert part == whole[: len(part)]
    assert 25 / 3 - len(seeds) - 1 <= len(part) < 25
    assert crawl_case(source, second, seeds, "nh-e-sum", 40, store=store) == whole
    every = Recording(wire)
    crawl_case(source, every, seeds, "nh-e-sum", 40)
    assert first.asked + second.asked == every.asked  # a page that was shown is not asked for again
    one_page = Recording(wire)
    assert len(crawl_case(Form(1), one_page, seeds, "nh-e-sum", 20)) == 20
    assert len(one_page.asked) == 20 + len(seeds)


def test_with_large_pages_the_focused_siphon_shows_more_different_records_for_as_many_requests(tmp_path):
    source, wire, seeds = a_library(tmp_path / "f.db", 1000, 1, limit=50, pages=1)
    focused, plain = Recording(wire), Recording(wire)
    crawl_case(source, focused, seeds, "nh-e-sum", 40)
    crawl_case(source, plain, seeds, "bfs", 40)
    assert len(focused.asked) == len(plain.asked) == 42
    assert len(set(focused.shown)) > 1.15 * len(set(plain.shown))


def test_a_form_needs_a_full_text_table_that_can_be_read(tmp_path):
    with closing(sqlite3.connect(tmp_path / "f.db")) as database, database:
        database.execute('CREATE VIRTUAL TABLE "odd ""name" USING fts5(a)')
        database.execute("CREATE TABLE plain (a)")
        database.execute("CREATE TABLE full AS SELECT 'tea' AS a")
        database.execute('INSERT INTO "odd ""name" VALUES (?)', ("tea",))
    assert ask(Form(), FormWire(tmp_path / "f.db", 'odd "name'), "tea")[0].value == 1.0
    with pytest.raises(SettingsError, match="no full-text table 'plain'"):
        FormWire(tmp_path / "f.db", "plain")
    for table in ("full", "none", "", "a\0b"):
        with pytest.raises(SettingsError, match="no full-text table"):
            FormWire(tmp_path / "f.db", table)
    with pytest.raises(SettingsError, match="unable to open"):
        FormWire(tmp_path / "absent.db", "record")
    assert not (tmp_path / "absent.db").exists()
    with pytest.raises(SettingsError, match="limit of a page"):
        FormWire(tmp_path / "f.db", 'odd "name', limit=0)


@settings(deadline=None, max_examples=many(80))
@given(st.text(max_size=12) | st.sampled_from(['"', 'a" OR "b', "NEAR(", "\0", "\ud800", "*", "title:x", ""]))
def test_no_keyword_breaks_the_form_or_is_taken_for_its_query_language(tmp_path_factory, keyword):
    path = full_text(tmp_path_factory.mktemp("form") / "f.db", records_of("zzzz", "qqqq a b"))
    reply = FormWire(path, "record").send(Grant(Request((0, 0), "form", {"key": keyword}), "main", 0.0))
    assert reply.kind == ("broken" if "\0" in keyword or "\ud800" in keyword else "ok")
    if keyword == 'a" OR "b':
        assert len(reply.rows.answered) == 1
        assert not reply.rows.posts


def test_a_form_that_stops_answering_gives_missing_outcomes(tmp_path):
    path = full_text(tmp_path / "f.db", records_of("tea cup"))
    wire = FormWire(path, "record")
    path.unlink()
    assert ask(Form(), wire, "tea")[0].missing == "temporary"
    with pytest.raises(SettingsError, match="None of the seeds answers"):
        crawl_case(Form(), wire, ["tea"], "nh-e-sum", 5)


# Gossip search


def test_a_peer_is_worth_its_documents_and_its_links_what_it_has_cached():
    cache = {"bob": summary(["Jazz, jazz!", "jazzy"]), "cleo": {"jazz": 5}, "dan": {"rock": 9}}
    peer = Peer(["no", "jazz jazz", "Jazz"], ["dan", "bob", "eve"], cache)
    outcome, links, requests = ask(Gossip(), PeersWire({"ann": peer}, JAZZ), "ann")
    assert (outcome.value, outcome.occurrences, outcome.posts) == (f(3), 3, 3)
    assert list(links.items()) == [("dan", 0.0), ("bob", f(2)), ("eve", 0.0)]  # cleo is no neighbour
    assert len(requests) == 1


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(["jazz", "Jazz.", "jazzy", "blues", "modular"]), max_size=8).map(" ".join)))
def test_a_summary_tells_as_much_as_the_documents_to_a_query_of_words(documents):
    topic = Topic(["jazz", "modul*"])
    peers = {"a": Peer([], ["b"], {"b": summary(documents)}), "b": Peer(documents, [], {})}
    wire = PeersWire(peers, topic.count)
    assert ask(Gossip(), wire, "a")[1] == {"b": ask(Gossip(), wire, "b")[0].value}


def test_a_peer_that_has_left_is_missing_and_a_silent_one_is_asked_three_times():
    many = [f"p{i:02}" for i in range(30)]
    peers = {"me": Peer([], ["left", "mute", *many], {"mute": {"jazz": 9}}), "mute": None}
    peers |= {name: Peer(["jazz"], [], {}) for name in many}
    store = MemoryStore()
    found = crawl_case(Gossip(), PeersWire(peers, JAZZ), ["me"], "nh-e-sum", 99, store=store)
    names = [name for name, _ in found]
    assert names[:3] == ["mute", "left", "p00"]
    assert (names.count("mute"), names.count("left"), len(names)) == (3, 1, 34)
    assert names[20] == "mute"  # 20 picks later
    whys = Counter(outcome.missing for _, outcomes in store.history() for outcome in outcomes)
    assert whys == {None: 32, "temporary": 3, "unknown": 1}


def test_a_tenth_of_the_network_is_asked_at_least_one():
    assert [tenth(n) for n in (1, 9, 10, 19, 100_000)] == [1, 1, 1, 1, 10_000]


# Acquaintances


def test_people_are_asked_in_the_order_in_which_they_are_thought_of_worked_out_by_hand():
    people = {
        "Ada": Person(1, {"Bo": 2, "Cem": 5}),
        "Bo": Person(4, {"Dot": 1, "Ada": 9}),
        "Cem": Person(0, {"Dot": 3, "Eli": 1, "Cem": 7}),
        "Dot": Person(9, {}),
    }
    wire = PeopleWire(people)
    outcome, links, _ = ask(Acquaintances(), wire, "Cem")
    assert (outcome.value, links) == (0.0, {"Dot": 3.0, "Eli": 1.0, "Cem": 7.0})
    assert ask(Acquaintances(), wire, "Eli")[0].missing == "unknown"
    # nh-e: Cem (5), Dot (3), Bo (2), Eli (1, not there). nh-ne weighs by the judge's own: Cem 1 * 5, then Bo 1 * 2
    # before Dot 0 * 3; Bo lifts Dot to 4.
    by_e = [("Cem", 0.0), ("Dot", 9.0), ("Bo", 4.0), ("Eli", 0.0)]
    by_ne = [("Cem", 0.0), ("Bo", 4.0), ("Dot", 9.0), ("Eli", 0.0)]
    assert crawl_case(Acquaintances(), wire, ["Ada"], "nh-e-sum", 9) == by_e
    assert crawl_case(Acquaintances(), wire, ["Ada"], "nh-ne-sum", 9) == by_ne


@pytest.mark.parametrize("wrong", [Person(-1, {}), Person(1, {"Bo": -2}), Person(1.5, {}), Person(1, {"Bo": None})])
def test_points_that_are_none_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=r"Ada gives .* points"):
        PeopleWire({"Bo": None, "Ada": wrong})


# The loop, for all of them


@pytest.fixture(params=["web", "form", "peers", "people"])
def case(request, tmp_path):
    """A generated world as (source, wire, seeds), the size of the crawl that is worth comparing, and all its nodes."""
    if request.param == "form":
        return a_library(tmp_path / "f.db", 400, 3)
    return {"web": a_web, "peers": an_overlay, "people": a_village}[request.param](400, 3)


@pytest.mark.parametrize("of", ["n", "e", "ne"])
def test_the_loop_finds_what_a_referee_says_who_rescans_the_whole_world(case, of):
    source, wire, seeds = case
    beta, links, todo = {}, {}, list(seeds)
    for key in todo:
        outcome, links[key], _ = ask(source, wire, key)
        beta[key] = outcome.value
        todo += [target for target in links[key] if target not in todo]
    found = crawl_case(source, wire, seeds, f"nh-{of}-sum", 60)
    assert found == rescanned(beta, links, seeds, 60, of=of)
    assert len(found) == 60


def test_the_focused_crawl_retrieves_more_than_breadth_first_in_a_tenth_of_the_network(case):
    focused, plain = (sum(value for _, value in crawl_case(*case, name, 40)) for name in ("nh-e-sum", "bfs"))
    assert focused > 1.15 * plain


def test_the_same_crawl_is_the_same_again_for_estimators_that_draw_too(case):
    assert crawl_case(*case, "random", 30, seed=4) == crawl_case(*case, "random", 30, seed=4)
    assert crawl_case(*case, "random", 30, seed=4) != crawl_case(*case, "random", 30, seed=5)


@pytest.mark.parametrize(
    ("kind", "breaks", "size"),
    [
        ("memory", 0, 1),
        ("memory", 17, 3),
        *[(kind, *how) for kind in ("sqlite", "postgres") for how in ((17, 1), (9, 4))],
    ],
)
def test_a_crawl_that_was_killed_goes_on_to_the_sequence_it_would_have_had(case, kind, breaks, size):
    source, wire, seeds = case
    whole = crawl_case(source, wire, seeds, "hybrid-sum", 30, size=size)
    with a_store(kind) as store:
        with pytest.raises(KeyboardInterrupt):
            crawl_case(source, Recording(wire, breaks), seeds, "hybrid-sum", 30, size=size, store=store)
        assert crawl_case(source, wire, seeds, "hybrid-sum", 30, size=size, store=reopened(store)) == whole
        nothing = Recording(wire, 0)
        assert crawl_case(source, nothing, seeds, "hybrid-sum", 30, size=size, store=reopened(store)) == whole


def test_a_crawl_needs_seeds_that_answer_and_an_estimator_that_exists():
    wire = PeopleWire({"Ada": Person(1, {})})
    for none in ([], "Ada"):
        with pytest.raises(SettingsError, match="no seeds"):
            crawl_case(Acquaintances(), wire, none, "bfs", 5)
    with pytest.raises(SettingsError, match="None of the seeds answers"):
        crawl_case(Acquaintances(), wire, ["Nobody"], "bfs", 5)
    with pytest.raises(SettingsError, match="nh-e-sum"):
        crawl_case(Acquaintances(), wire, ["Ada"], "nh-e-sun", 5)
    assert crawl_case(Acquaintances(), wire, ["Ada", "Nobody", "Ada"], "bfs", 5) == []


def test_on_real_pages_the_words_around_links_lead_to_more_than_breadth_first():
    from pyarrow import parquet

    table = parquet.read_table(needed("data/wikispeedia_6k.parquet"), columns=["key", "text", "links"])
    pages = {row["key"]: WebPage(row["text"], row["links"]) for row in table.to_pylist()}
    wire = Recording(WebWire(pages, Topic(["music"]).count))
    seeds = [key for key in list(pages)[::400] if "music" in pages[key].text.lower()]
    focused = crawl_case(Web(), wire, seeds, "nh-e-sum", 300)
    plain = crawl_case(Web(), wire, seeds, "bfs", 300)
    assert len(focused) == len(plain) == 300
    assert len(wire.asked) == 2 * (300 + len(seeds))
    for key, value in focused[::10]:
        assert value == f(len(re.findall(r"(?<!\w)music(?!\w)", pages[key].text.lower())))
    assert sum(value for _, value in focused) > 1.3 * sum(value for _, value in plain)
