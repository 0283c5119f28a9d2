"""`socialcrawl train`: examples from a campaign's search and its quiet posts, from files, or judged by hand."""

import json
from dataclasses import dataclass, replace

import pytest
from postgres import a_place
from tiny_town import BEGIN, SETTINGS, Clock, Wire, close, parts_of, posts_of, stored
from typer import Typer
from typer.testing import CliRunner

from socialcrawl.cli.definitions.datasets import train
from socialcrawl.crawls.text_models.cross_validation import ConfusionMatrix
from socialcrawl.crawls.text_models.model_file import read_model
from socialcrawl.engine.loop import run
from socialcrawl.errors import SocialcrawlError
from socialcrawl.platforms.x.source import SEARCH
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.summary import find_campaign
from socialcrawl.storage.queries.topic_posts import read_found_posts, read_off_topic_posts
from socialcrawl.storage.sql_store import SqlStore

SEARCHED = [posts_of(number)[0] for number in (3, 4, 5, 7, 9, 12) if posts_of(number)]
NOUNS = ["mirror", "lens", "dome", "orbit", "comet"]
MEALS = ["soup", "salt", "bread", "stew", "rice"]


def text_of(post, hits):
    """What a post of the town says: about telescopes if it has hits, or if the search finds it; else about meals."""
    about = hits or post.id in {found.id for found, _, _ in SEARCHED}
    number = sum(map(ord, post.id))
    return f"{(NOUNS if about else MEALS)[number % 5]} {'telescope' if about else 'dinner'} {post.id.replace('-', 'q')}"


@dataclass
class Speaking(Wire):
    """The town, whose posts say what they are about."""

    def answer(self, endpoint, params, begin):
        page, cursor = super().answer(endpoint, params, begin)
        pairs = zip(page.posts, page.hits, strict=True)
        return replace(page, posts=[row._replace(text=text_of(row, hits)) for row, hits in pairs]), cursor


def crawled(place):
    store = stored(place)
    assert run(parts_of(store, Speaking(Clock()))).kind == "done"
    asked = [pick.node for batch, _ in store.history() for pick in batch if pick.node >= 0]
    read = {int(who.id) - 1000 for who in store.accounts(asked).values() if who.id}
    close(store)
    return read


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    place = tmp_path_factory.mktemp("train") / "town.db"
    crawled(place)
    return place


def told(*words):
    """(exit code, what was printed), an error as the command line prints it."""
    app = Typer()
    app.command()(train)
    done = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(done.exception, SocialcrawlError):
        return 2, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_examples_are_what_the_search_found_and_what_was_read_and_is_quiet(kind):
    with a_place(kind) as place:
        read = crawled(place)
        with open_readable(place) as connection:
            number, name = find_campaign(connection, None)
            assert name == "tiny"
            assert read_found_posts(connection, number, 100) == [text_of(post, hits) for post, hits, _ in SEARCHED]
            assert len(read_found_posts(connection, number, 2)) == 2
            off = {
                text_of(post, hits) for one in read for post, hits, _ in posts_of(one)
                if not hits and post.id not in {p.id for p, _, _ in SEARCHED} and one not in (5, 11)
            }  # fmt: skip
            assert set(read_off_topic_posts(connection, number, 1000)) == off
            assert len(off) > 20
            some = read_off_topic_posts(connection, number, 10)
            assert set(some) < off
            assert 5 <= len(some) <= 10
        connection.engine.dispose()


def test_a_tree_is_learned_from_a_campaign_and_told(town, tmp_path):
    code, shown = told("--out", tmp_path / "tree.json", "--db", town, "--folds", 3)
    assert code == 0, shown
    tree = read_model(tmp_path / "tree.json")
    assert (tree.hits("a telescope"), tree.hits("our dinner")) == (1, 0)
    assert "recall 1.00" in shown
    assert "Where fewer posts are on topic than here, precision is lower." in shown
    assert "telescope" in shown or "dinner" in shown
    assert f"wrote {tmp_path / 'tree.json'}" in shown
    assert tree.about["on_from"] == "search of tiny"
    assert tree.about["on_topic"] == len(SEARCHED)


def test_the_word_of_the_search_can_be_left_out(town, tmp_path):
    given = ("--db", town, "--folds", 3, "--without", "Telescope", "--without", "dinner", "--json")
    code, shown = told("--out", tmp_path / "tree.json", *given)
    assert code == 0, shown
    seen = json.loads(shown)
    assert not {"telescope", "dinner"} & {word for word, _, _ in seen["telling"]}
    assert seen["settings"]["without"] == ["dinner", "telescope"]
    assert set(seen) >= {"precision", "recall", "f1", "accuracy", "right", "wrong", "lost", "kept_out", "on_topic"}
    assert seen["right"] + seen["lost"] == seen["on_topic"]
    again = read_model(tmp_path / "tree.json")
    assert "telescope" not in again.vocabulary.idf


def test_what_the_search_of_an_earlier_campaign_found_is_learned_from_where_it_was_not_asked_again(tmp_path):
    place = tmp_path / "again.db"
    crawled(place)
    connection = connect(place)
    again = SETTINGS | {"name": "again"}
    number = ensure_campaign(connection, again, {}, BEGIN)
    store = SqlStore(connection, number, "x", reuse=AnswerReuse(24.0, lambda *_: 1))
    wire = Speaking(Clock())
    assert run(parts_of(store, wire)).kind == "done"
    assert not [endpoint for endpoint, _, _ in wire.calls if endpoint == SEARCH]  # the database had the answers
    close(store)
    with open_readable(place) as looked:
        assert find_campaign(looked, "again") == (number, "again")
        assert read_found_posts(looked, number, 100) == [text_of(post, hits) for post, hits, _ in SEARCHED]
    looked.engine.dispose()


def test_a_tree_that_hardly_judges_better_than_chance_is_no_recommendation(tmp_path):
    file = tmp_path / "labels.csv"
    rows = [f"{NOUNS[i % 5]} {MEALS[i // 5 % 5]} {i},{'yes' if i % 4 == 0 else 'no'}" for i in range(60)]
    file.write_text("text,on_topic\n" + "\n".join(rows), "utf-8")
    code, shown = told("--out", tmp_path / "tree.json", "--labels", file)
    assert code == 0, shown
    assert "WARNING: it is no better than to call everything off topic, which is right for 75%" in shown
    assert "use it as [sample] tree" not in shown
    assert read_model(tmp_path / "tree.json").about["doubt"].startswith("it is no better than")


@pytest.mark.parametrize(
    ("confusion", "doubt"),
    [
        ((50, 5, 5, 40), ""),
        ((20, 10, 10, 60), "its F1 is below 0.7"),
        ((7, 5, 8, 80), "its F1 is below 0.7"),
        ((5, 10, 10, 75), "it is no better than to call everything off topic, which is right for 85%"),
        ((80, 10, 10, 0), "it is no better than to call everything on topic, which is right for 90%"),
        ((0, 0, 10, 10), "it is no better than to call everything on topic, which is right for 50%"),
    ],
)
def test_a_tree_is_doubted_where_its_f1_is_low_or_one_answer_to_everything_is_as_good(confusion, doubt):
    assert ConfusionMatrix(*confusion).doubt == doubt


def test_posts_may_come_from_files(tmp_path):
    on, off = tmp_path / "on.txt", tmp_path / "off.csv"
    on.write_text("\n".join(f"wheel and chain {i}" for i in range(12)) + "\n\n", "utf-8")
    rows = "\n".join(f"ann,2023-01-0{i % 9 + 1}T00:00:00Z,soup and salt {i}" for i in range(12))
    off.write_text(f"author,created_at,text\n{rows}\n", "utf-8")
    code, shown = told("--out", tmp_path / "tree.json", "--on", on, "--off", off)
    assert code == 0, shown
    assert "12 posts on topic, 12 off it" in shown
    assert read_model(tmp_path / "tree.json").hits("a wheel, a chain") == 1


def test_posts_judged_by_hand_are_enough(tmp_path):
    file = tmp_path / "labels.csv"
    rows = [f"wheel {i},yes\nsoup {i},no" for i in range(8)]
    file.write_text("text,on_topic\n" + "\n".join([*rows, "both,yes", "both,no", "wheel 1,yes"]), "utf-8")
    code, shown = told("--out", tmp_path / "tree.json", "--labels", file)
    assert code == 0, shown
    assert "8 posts on topic, 8 off it; left out: 2 with the words of another, 1 given as both" in shown


def test_texts_given_as_both_are_named_where_too_few_are_left(tmp_path):
    file = tmp_path / "labels.csv"
    for texts, said in ((1, "1 text was given both"), (6, "6 texts were given both")):
        lines = [f"wheel {i},{label}" for i in range(texts) for label in ("yes", "no")]
        file.write_text("text,on_topic\n" + "\n".join(lines), "utf-8")
        code, shown = told("--out", tmp_path / "tree.json", "--labels", file)
        assert code == 2
        assert f"0 different posts are on topic and 0 off it: both have to be 5 at least. {said}" in shown


def test_a_logistic_regression_is_learned_and_kept_likewise(town, tmp_path):
    code, shown = told("--out", tmp_path / "model.json", "--db", town, "--folds", 3, "--learner", "logistic")
    assert code == 0, shown
    model = read_model(tmp_path / "model.json")
    assert (model.hits("a telescope"), model.hits("our dinner")) == (1, 0)
    assert (model.about["learner"], model.about["settings"]) == (
        "logistic", {"least": 2, "balanced": False, "without": [], "seed": 1},
    )  # fmt: skip
    assert f"wrote {tmp_path / 'model.json'}: logistic regression, {len(model.vocabulary.idf)} words" in shown


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--learner", "logistik"), "Unknown learner 'logistik'. Did you mean 'logistic'? Choose one of: tree, logis"),
        (("--learner", "logistic", "--depth", 3), "--leaf and --depth are for --learner tree: remove them."),
        (("--learner", "logistic", "--leaf", 2), "--leaf and --depth are for --learner tree: remove them."),
    ],
)
def test_a_learner_that_is_not_there_or_grows_no_tree_is_told(given, said, town, tmp_path):
    code, shown = told("--out", tmp_path / "model.json", "--db", town, *given)
    assert code == 2
    assert said in shown


def test_what_cannot_be_is_refused_before_anything_is_written(town, tmp_path):
    out, posts = tmp_path / "tree.json", tmp_path / "posts.txt"
    posts.write_text("one\ntwo\n", "utf-8")
    latin, bad = tmp_path / "latin.txt", tmp_path / "bad.csv"
    latin.write_bytes("Stra\u00dfe".encode("latin-1"))
    bad.write_text("author,created_at,text\nann,never,hello\n", "utf-8")
    taken = tmp_path / "taken.json"
    taken.write_text("{}", "utf-8")
    for words, why in (
        (("--labels", posts, "--on", posts), "remove --on and --off"),
        (("--on", posts, "--off", posts, "--db", town), "remove --db and --campaign"),
        (("--on", posts, "--off", posts), "both have to be 5 at least"),
        (("--on", tmp_path / "none.txt", "--off", posts), "cannot be read"),
        (("--on", latin, "--off", posts), "not UTF-8"),
        (("--on", bad, "--off", posts), "1 line is not a post"),
        (("--db", town, "--campaign", "other"), "There is no campaign 'other'"),
        (("--db", tmp_path / "none.db"), "There is no database"),
    ):
        code, shown = told("--out", out, *words)
        assert code == 2
        assert why in shown
        assert not out.exists()
    assert "already exists" in told("--out", taken, "--db", town)[1]
    assert taken.read_text("utf-8") == "{}"
