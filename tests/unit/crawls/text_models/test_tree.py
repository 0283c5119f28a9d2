"""A decision tree on words: learned with scikit-learn, kept as JSON, asked without it, tested on unseen texts."""

import json
from collections import Counter
from math import log

import numpy as np
import pytest
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as some
from model_files import ask_in_new_process
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import precision_recall_fscore_support
from sklearn.tree import DecisionTreeClassifier

from socialcrawl.crawls.text_models.cross_validation import ConfusionMatrix, Examples, cross_validate, make_examples
from socialcrawl.crawls.text_models.decision_tree import DecisionTree, TreeNode, TreeParameters, grow
from socialcrawl.crawls.text_models.model_file import read_model, write_model
from socialcrawl.crawls.text_models.vocabulary import TfidfVocabulary, count_words, make_matrix
from socialcrawl.errors import SettingsError

WORDS = ["bike", "wheel", "chain", "soup", "salt", "the", "and", "road"]


def posts(n, seed, noise=0.1):
    """Posts about bikes and posts about soup; some words of the other are in both."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        on = bool(rng.random() < 0.5)
        own, other = (WORDS[:3], WORDS[3:5]) if on else (WORDS[3:5], WORDS[:3])
        chosen = [rng.choice(other if rng.random() < noise else own) for _ in range(3)]
        made.append((" ".join([*chosen, *rng.choice(WORDS[5:], 2), f"n{i}"]), on))
    return made


def test_words_are_folded_and_addresses_are_none():
    found = count_words("Don't  STOP—stop_it https://t.co/AbC1 www.x.com ①2 Straße ﬁt")
    assert found == Counter({"stop": 2, "don't": 1, "it": 1, "12": 1, "strasse": 1, "fit": 1})
    assert count_words("https://example.org/bike ... !!") == Counter()


def test_scores_are_those_of_smart_and_of_length_one():
    texts = [Counter(a=3, b=1), Counter(a=1), Counter(b=2, c=1)]
    known = TfidfVocabulary.learn(texts)
    assert known.idf == pytest.approx({"a": log(4 / 2), "b": log(4 / 2), "c": log(4)})
    raw = np.array([(1 + log(1 + log(3))) * log(2), log(2)])
    told = known.make_vector(Counter(a=3, b=1, stranger=9))
    assert list(told) == ["a", "b"]
    assert list(told.values()) == pytest.approx(raw / np.linalg.norm(raw))
    assert known.make_vector(Counter(stranger=1)) == {}
    assert list(TfidfVocabulary.learn(texts, 2, frozenset("b")).idf) == ["a"]


def test_vectors_are_scikit_learns_with_our_scores():
    texts = [count_words(text) for text, _ in posts(60, 3)]
    known = TfidfVocabulary.learn(texts)
    counts = np.array([[text[word] for word in known.idf] for text in texts], float)
    damped = np.where(counts > 0, 1 + np.log1p(np.log(np.maximum(counts, 1))), 0.0)
    theirs = TfidfTransformer(norm="l2", use_idf=False).fit_transform(damped * np.array(list(known.idf.values())))
    assert np.allclose(make_matrix(texts, known).toarray(), theirs.toarray(), atol=1e-7)


@settings(deadline=None, max_examples=many(25))
@given(some.integers(0, 10**6), some.integers(1, 9), some.none() | some.integers(1, 4), some.booleans())
@example(281, 1, 2, True)
def test_the_tree_says_what_scikit_learns_own_says(seed, leaf, depth, balanced):
    told = posts(80, seed, 0.3)
    learn, ask = told[:60], told[60:]
    texts, kinds = [count_words(text) for text, _ in learn], [on for _, on in learn]
    tree = grow(texts, kinds, TreeParameters(leaf, depth, balanced=balanced, seed=seed))
    theirs = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=leaf, max_depth=depth, random_state=seed,
        class_weight="balanced" if balanced else None,
    ).fit(make_matrix(texts, tree.vocabulary), kinds)  # fmt: skip
    asked = [count_words(text) for text, _ in told]
    shares = theirs.predict_proba(make_matrix(asked, tree.vocabulary))[:, 1]
    assert [tree.find_leaf(text).share for text in asked] == pytest.approx(shares.tolist())
    # A share of one half is rounded to either side of it.
    clear = [(text, share) for (text, _), share in zip(ask, shares[60:], strict=True) if abs(share - 0.5) > 1e-9]
    assert [tree.hits(text) for text, _ in clear] == [int(share > 0.5) for _, share in clear]
    gains = {word: part for word, part, _ in tree.list_telling_words(99)}
    assert [gains.get(word, 0.0) for word in tree.vocabulary.idf] == pytest.approx(theirs.feature_importances_.tolist())


def test_the_word_that_tells_most_comes_first_and_says_which_side_it_speaks_for():
    told = [("red bike", True), ("red soup", False)] * 5 + [("bike", True), ("soup", False)]
    tree = grow([count_words(text) for text, _ in told], [on for _, on in told])
    [(word, part, forth)] = tree.list_telling_words()
    assert (part, forth) == (1.0, word == "bike")
    without = grow(
        [count_words(text) for text, _ in told], [on for _, on in told], TreeParameters(without=frozenset({"bike"}))
    )
    assert [(word, forth) for word, _, forth in without.list_telling_words()] == [("soup", False)]
    assert without.hits("a bike") == 1
    assert without.hits("a soup") == 0


def test_a_tree_that_was_kept_says_the_same(tmp_path):
    told = posts(80, 5)
    tree = grow([count_words(text) for text, _ in told], [on for _, on in told])
    tree = DecisionTree(tree.vocabulary, tree.nodes, {"on_topic": 3})
    write_model(tree, tmp_path / "tree.json")
    again = read_model(tmp_path / "tree.json")
    assert again == tree
    assert all(again.hits(text) == tree.hits(text) for text, _ in posts(80, 6, 0.5))
    with pytest.raises(SettingsError, match="already exists"):
        write_model(tree, tmp_path / "tree.json")
    with pytest.raises(SettingsError, match="cannot be written"):
        write_model(tree, tmp_path / "nowhere" / "tree.json")


def test_a_tree_is_asked_without_scikit_learn(tmp_path):
    told = posts(40, 5)
    write_model(grow([count_words(text) for text, _ in told], [on for _, on in told]), tmp_path / "tree.json")
    assert ask_in_new_process(tmp_path / "tree.json", "bike wheel chain") == ["1", "False"]


def test_a_file_that_is_no_tree_is_refused_and_says_what_to_do(tmp_path):
    good = {"kind": "socialcrawl tree 1", "about": {}, "idf": {"a": 1.0}, "nodes": [["", 0.0, -1, -1, 1.0, 2]]}
    file = tmp_path / "tree.json"
    file.write_text(json.dumps(good), "utf-8")
    assert read_model(file).hits("whatever") == 1
    round_and_round = [["a", 0.5, 0, 0, 1.0, 2]]
    for bad in (
        b"no json", b"[]", b"3", b"\xff\xfe", {**good, "kind": "other"}, {**good, "nodes": []}, {**good, "idf": [1]},
        {**good, "nodes": round_and_round}, {**good, "nodes": [["b", 0.0, 1, 2, 0.5, 2], *good["nodes"] * 2]},
        {**good, "nodes": [["", 0.0, -1, 5, 1.0, 2]]}, {**good, "nodes": [["", 0.0]]}, {"kind": good["kind"]},
    ):  # fmt: skip
        file.write_bytes(bad if isinstance(bad, bytes) else json.dumps(bad).encode())
        with pytest.raises(SettingsError, match=r"is not a model .* `socialcrawl train`"):
            read_model(file)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_model(tmp_path / "nothing.json")


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(SettingsError, match="none of one kind"):
        grow([Counter("a"), Counter("b")], [True, True])
    with pytest.raises(SettingsError, match="No word"):
        grow([Counter("a"), Counter("b")], [True, False], TreeParameters(least=2))


def test_texts_of_the_same_words_are_one_and_those_of_both_kinds_are_none():
    given_ = [("Buy a bike", True), ("buy A BIKE!", True), ("soup", True), ("Soup", False), ("...", True), ("x", False)]
    found = make_examples(given_)
    assert found == Examples((count_words("buy a bike"), count_words("x")), (True, False), twice=2, torn=1)


def test_a_test_judges_each_text_by_a_tree_that_has_not_seen_it():
    # Each text has a word of its own, by which alone it could be known: nothing can be learned of others.
    alone = make_examples([(f"word{i} word{i}", i % 2 == 0) for i in range(40)])
    tree = grow(alone.texts, alone.on_topic, TreeParameters(leaf=1, least=1))
    assert all(tree.judge(text) == on for text, on in zip(alone.texts, alone.on_topic, strict=True))
    blind = cross_validate(alone, TreeParameters(leaf=1, least=1))
    assert blind.accuracy < 0.7
    seen = cross_validate(make_examples(posts(300, 7)), folds=3)
    assert seen.accuracy > 0.9
    # The word that each of these has for itself shortens the others, as in no new text: so it is not known.
    assert cross_validate(make_examples(posts(300, 7)), TreeParameters(least=1), 3).accuracy < seen.accuracy - 0.1
    assert seen.folds == 3
    assert seen.right + seen.wrong + seen.lost + seen.kept_out == 300
    assert cross_validate(make_examples(posts(300, 7)), folds=3) == seen


def test_precision_recall_and_f1_are_those_of_scikit_learn():
    found = ConfusionMatrix(right=30, wrong=10, lost=5, kept_out=55)
    truth, said = [1] * 35 + [0] * 65, [1] * 30 + [0] * 5 + [1] * 10 + [0] * 55
    theirs = precision_recall_fscore_support(truth, said, average="binary")
    assert (found.precision, found.recall, found.f1) == pytest.approx(theirs[:3])
    assert found.accuracy == 0.85
    assert np.isnan(ConfusionMatrix(0, 0, 0, 9).precision)


def test_too_few_texts_for_the_parts_are_refused():
    few = make_examples([("a", True), ("b", True), ("c", False), ("d", False)])
    for folds in (3, 1):
        with pytest.raises(SettingsError, match="2 texts on topic and 2 off it"):
            cross_validate(few, folds=folds)


def test_a_leaf_of_as_many_of_both_kinds_is_off_topic():
    even = DecisionTree(TfidfVocabulary.of({}), (TreeNode("", 0.0, -1, -1, 0.5, 4.0),), {})
    assert even.hits("anything") == 0
