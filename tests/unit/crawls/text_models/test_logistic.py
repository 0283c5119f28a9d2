"""A logistic regression on words: learned by scikit-learn, kept as JSON, asked without it; files that are anything."""

import json
from math import exp

import numpy as np
import pytest
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as some
from model_files import ask_in_new_process
from sklearn.linear_model import LogisticRegression
from test_tree import posts

from socialcrawl.crawls.text_models.cross_validation import cross_validate, make_examples
from socialcrawl.crawls.text_models.logistic_regression import LogisticParameters
from socialcrawl.crawls.text_models.model_file import MALFORMED, parse_model, read_model, write_model
from socialcrawl.crawls.text_models.text_model import MAX_WORDS
from socialcrawl.crawls.text_models.vocabulary import count_words, make_matrix
from socialcrawl.errors import SettingsError

FEW = {"bike": 1.5, "soup": -2.0}
MADE = {
    "kind": "socialcrawl logistic 1", "about": {}, "intercept": 0.25, "weights": FEW, "idf": dict.fromkeys(FEW, 1.0),
}  # fmt: skip
TREE = {
    "kind": "socialcrawl tree 1", "about": {}, "idf": {"a": 1.0},
    "nodes": [["a", 0.5, 1, 2, 0.5, 2], ["", 0.0, -1, -1, 0.0, 1], ["", 0.0, -1, -1, 1.0, 1]],
}  # fmt: skip


def learned(seed, **how):
    told = posts(80, seed, 0.3)
    return told, LogisticParameters(**how).learn(
        [count_words(text) for text, _ in told[:60]], [on for _, on in told[:60]]
    )


@settings(deadline=None, max_examples=many(6))
@given(some.integers(0, 10**6), some.integers(1, 3), some.booleans())
def test_the_decision_is_scikit_learns_own(seed, least, balanced):
    told, model = learned(seed, least=least, balanced=balanced)
    texts, kinds = [count_words(text) for text, _ in told], [on for _, on in told[:60]]
    matrix = make_matrix(texts, model.vocabulary, np.float64)
    theirs = LogisticRegression(C=10, class_weight="balanced" if balanced else None, max_iter=1000).fit(
        matrix[:60], kinds
    )
    decisions = [model.compute_decision(text) for text in texts]
    assert decisions == pytest.approx(theirs.decision_function(matrix).tolist(), abs=1e-12, rel=0)
    assert [model.judge(text) for text in texts] == [one > 0 for one in decisions]
    assert [model.estimate_share(text) for text in texts] == pytest.approx(theirs.predict_proba(matrix)[:, 1].tolist())


def test_a_model_that_was_kept_decides_the_same_to_the_last_bit(tmp_path):
    told, model = learned(3)
    write_model(model, tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again == model
    texts = [count_words(text) for text, _ in told]
    assert [again.compute_decision(text).hex() for text in texts] == [model.compute_decision(t).hex() for t in texts]
    write_model(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_weights_speak_for_and_against_and_the_intercept_for_texts_without_words():
    model = parse_model(json.dumps(MADE).encode())
    assert model.compute_decision(count_words("bike")) == 1.75
    assert model.compute_decision(count_words("soup")) == -1.75
    assert model.compute_decision(count_words("bike soup")) == pytest.approx(0.25 - 0.5 / 2**0.5)
    assert model.compute_decision(count_words("something else")) == 0.25
    assert model.estimate_share(count_words("soup")) == pytest.approx(1 / (1 + exp(1.75)))
    assert [model.hits(text) for text in ("bike", "soup", "else")] == [1, 0, 1]
    assert model.list_telling_words() == [("soup", 2.0 / 3.5, False), ("bike", 1.5 / 3.5, True)]


def test_it_learns_what_a_tree_learns_and_not_the_words_that_it_may_not_use():
    given_ = make_examples(posts(300, 7))
    assert cross_validate(given_, LogisticParameters(), 3).accuracy > 0.9
    _, model = learned(3, without=frozenset({"bike"}))
    assert "bike" not in model.weights
    with pytest.raises(SettingsError, match="none of one kind"):
        LogisticParameters().learn([count_words("a"), count_words("b")], [True, True])


def test_it_is_asked_without_scikit_learn(tmp_path):
    (tmp_path / "model.json").write_text(json.dumps(MADE))
    assert ask_in_new_process(tmp_path / "model.json", "bike") == ["1", "False"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "socialcrawl forest 1"}, "its kind is 'socialcrawl forest 1', not 'socialcrawl tree 1' or"),
        ({"kind": ["socialcrawl tree 1"]}, "is not a model"),
        ({"weights": {"bike": 1.0}}, "not the same words"),
        ({"weights": dict.fromkeys(FEW, 1e7)}, "a weight is not from -1,000,000 to 1,000,000"),
        ({"intercept": "many"}, "could not convert"),
        ({"intercept": None}, "is not a model"),
        ({"idf": dict.fromkeys(FEW, -1.0)}, "the idf of a word is not from 0 to 100"),
        ({"weights": dict.fromkeys(map(str, range(MAX_WORDS + 1)), 0),
          "idf": dict.fromkeys(map(str, range(MAX_WORDS + 1)), 0)}, "it has more than 100,000 words"),
        ({"about": dict.fromkeys(map(str, range(500_001)), 0)}, "it holds more than 500,000 values"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_refused_and_says_what_to_do(wrong, said, tmp_path):
    file = tmp_path / "model.json"
    file.write_text(json.dumps(MADE | wrong))
    with pytest.raises(SettingsError, match=f"{said}.*`socialcrawl train`"):
        read_model(file)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "model.json").open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(SettingsError, match="larger than 16 MB"):
        read_model(tmp_path / "model.json")


WILD = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=many(150))
@given(some.sampled_from([MADE, TREE]), some.dictionaries(some.sampled_from([*MADE, "nodes"]), WILD), some.text())
@example(MADE, {"weights": dict.fromkeys(FEW, 1e6)}, "bike soup")
def test_whatever_a_file_says_is_refused_or_judges_every_text(made, wild, text):
    try:
        model = parse_model(json.dumps({**made, **wild}).encode())
    except MALFORMED:
        return
    assert 0.0 <= model.estimate_share(count_words(text)) <= 1.0
    assert model.hits(text) in (0, 1)


@settings(deadline=None, max_examples=many(150))
@given(some.sampled_from([MADE, TREE]), some.integers(0, 400), some.binary(max_size=8))
@example(MADE, 0, b"\xff\xfe")
def test_wild_bytes_are_refused_or_judge_every_text(made, place, wild):
    data = json.dumps(made).encode()
    try:
        model = parse_model(data[:place] + wild + data[place + len(wild) :])
    except MALFORMED:
        return
    assert {model.hits(text) for text in ("a", "bike", "soup a bike", "")} <= {0, 1}
