"""`socialcrawl label`: stored posts are asked for one by one, never twice, and `train --labels` reads the answers."""

import csv
import sqlite3

import pytest
from commands import socialcrawl
from postgres import a_place
from rich.console import Console
from test_topic_model import write_tree
from test_train import crawled, text_of, told
from tiny_town import posts_of
from x_crawls import rows

from socialcrawl.api.label_file import LabelFile
from socialcrawl.cli.commands.label import ASKED, LabelOptions, label
from socialcrawl.cli.databases import ChosenDatabase
from socialcrawl.crawls.sample.labels import read_text_labels
from socialcrawl.errors import SettingsError


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    place = tmp_path_factory.mktemp("label") / "town.db"
    crawled(place)
    return place


def answer(out, database, said, *, count=50, model=None, seed=1):
    """The labels after some answers, each the word said or what a function says of the text; the texts shown."""
    shown, console = [], Console(record=True, width=200)
    given = iter(said)

    def read_line():
        lines = [line for line in console.export_text(clear=False).splitlines() if line]
        shown.append(lines[-2])
        say = next(given, "")
        return f"{say(shown[-1])}\n" if callable(say) else say and f"{say}\n"

    wanted = LabelOptions(out, model, ChosenDatabase(database), count, seed)
    return label(wanted, console, read_line), shown, console.export_text()


def say(text):
    return "y" if "telescope" in text else "n"


def test_half_of_the_posts_match_and_no_answer_is_lost_or_asked_for_twice(town, tmp_path):
    out = tmp_path / "labels.csv"
    labels, first, end = answer(out, town, [say] * 20, count=20)
    assert len(set(first)) == 20
    matching = {key for (key,) in rows(town, "select post from hit")}
    assert [post["id"] in matching for post in labels.posts] == [True, False] * 10
    assert labels.counts["on_topic"] + labels.counts["off_topic"] == 20
    assert f"Next: socialcrawl train --labels {out} --out model.json" in end
    _, second, _ = answer(out, town, [say] * 5)
    assert len(second) == 6, "the last one gets no answer"
    assert not set(first) & set(second)
    assert read_text_labels(out) == [(text, "telescope" in text) for text in (*first, *second[:5])]
    everything = [text_of(post, hits) for number in range(18) for post, hits, _ in posts_of(number)]
    _, third, _ = answer(out, town, ["s"] * 999, count=999)
    assert set(third) <= set(everything) - {*first, *second[:5]}
    assert "No post is left to judge" in answer(out, town, [])[2]
    assert len(read_text_labels(out)) == 25, "a post that was skipped is no example"


def test_the_same_seed_shows_the_same_posts_and_another_one_others(town, tmp_path):
    _, one, _ = answer(tmp_path / "a.csv", town, ["s"] * 9, count=9)
    assert answer(tmp_path / "b.csv", town, ["s"] * 9, count=9)[1] == one
    assert answer(tmp_path / "c.csv", town, ["s"] * 9, count=9, seed=2)[1] != one


def test_an_answer_is_taken_back_and_what_is_no_answer_is_asked_for_again(town, tmp_path):
    labels, shown, _ = answer(tmp_path / "a.csv", town, ["b", "perhaps", "y", "n", "b", "YES", "q"])
    first, *_ = dict.fromkeys(shown)
    assert [shown.index(text) for text in shown] == [0, 0, 0, 3, 4, 3, 4]
    assert [post["on_topic"] for post in labels.posts] == [True, True]
    assert labels.posts[0]["text"] == first


@pytest.mark.parametrize("said", ["ja", "1", "x", ""])
def test_what_is_no_answer_is_told_and_the_post_is_shown_again(said, town, tmp_path):
    done = socialcrawl("label", town, "--count", 2, folder=tmp_path, given=f"{said}\ny\n")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    asked = [place for place, line in enumerate(lines) if line.startswith("on topic? ")]
    assert [lines[place].rstrip() for place in asked] == [ASKED.rstrip()] * 3, "each prompt ends its line"
    assert lines[asked[0] + 1] == "Answer y, n, s, b or q."
    assert lines[asked[0] - 1] == lines[asked[1] - 1] != lines[asked[2] - 1]
    assert done.stdout.count("Answer y, n, s, b or q.") == 1


def test_a_model_shows_the_posts_that_it_is_least_sure_of(town, tmp_path):
    model = write_tree(tmp_path / "tree.json", "dinner")
    sure, unsure = (["", 0.0, -1, -1, share, 1.0] for share in (0.0, 0.5625))
    text = model.read_text().replace('["", 0.0, -1, -1, 1.0, 1.0]', str(unsure).replace("'", '"'))
    model.write_text(text)
    assert str(sure).replace("'", '"') in text
    _, shown, _ = answer(tmp_path / "a.csv", town, ["s"] * 12, count=12, model=model)
    assert len(shown) == 12
    assert all("dinner" in one for one in shown)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_posts_that_were_deleted_are_not_shown(kind, tmp_path):
    with a_place(kind) as place:
        crawled(place)
        _, before, _ = answer(tmp_path / "a.csv", place, ["s"] * 999, count=999)
        assert len(before) > 40
    if kind == "sqlite":
        crawled(tmp_path / "town.db")
        connection = sqlite3.connect(tmp_path / "town.db")
        with connection:
            connection.execute("delete from post where text like '%dinner%'")
        connection.close()
        _, after, _ = answer(tmp_path / "b.csv", tmp_path / "town.db", ["s"] * 999, count=999)
        assert set(after) == {one for one in before if "dinner" not in one}


def test_texts_of_any_kind_come_back_as_they_are(tmp_path):
    file, texts = LabelFile.load(tmp_path / "a.csv"), ['a "b", c;\td', "two\nlines\r\nthree", "=1+1", "é 🔭", "x\ry"]
    for number, text in enumerate(texts):
        file.put(str(number), text, on_topic=True)
    assert [(post["id"], post["text"]) for post in LabelFile.load(file.path).posts] == [
        (str(number), text) for number, text in enumerate(texts)
    ]
    assert read_text_labels(file.path) == [(text, True) for text in texts]


@pytest.mark.parametrize(
    "data", ["text,on_topic\na,yes\n", "id,text,on_topic\n1,a\n", "", "\x00", "id,on_topic,text\n"]
)
def test_a_file_of_somebody_else_is_left_as_it_is(data, town, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text(data)
    with pytest.raises(SettingsError, match=r"labels\.csv.*(Choose another file|save the file as CSV)"):
        answer(file, town, ["y"])
    assert file.read_text() == data


def test_a_pipe_answers_on_the_command_line(town, tmp_path):
    done = socialcrawl("label", town, "--count", 3, folder=tmp_path, given="y\nn\n")
    assert done.returncode == 0, done.stderr
    assert "post 3 of 3" in done.stdout
    assert ", 0 skipped" in done.stdout
    assert "A model takes 5 posts at least of each kind: label more." in done.stdout
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as file:
        assert [row["on_topic"] for row in csv.DictReader(file)] == ["yes", "no"]


def test_what_was_labelled_is_learned(town, tmp_path, monkeypatch):
    answer(tmp_path / "labels.csv", town, [say] * 40, count=40)
    code, shown = told("--out", tmp_path / "model.json", "--labels", tmp_path / "labels.csv")
    assert code == 0, shown
    assert "recall 1.00" in shown
    monkeypatch.chdir(tmp_path)
    assert "--out model2.json" in answer(tmp_path / "labels.csv", town, ["q"])[2], "train overwrites no model"
