"""Labels by hand: a CSV as people save it, of accounts or of texts."""

import csv
import io

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as some

from socialcrawl.crawls.sample.labels import read_account_labels, read_text_labels
from socialcrawl.errors import SettingsError


def written(tmp_path, text, encoding="utf-8"):
    file = tmp_path / "labels.csv"
    file.write_bytes(text.encode(encoding))
    return file


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_accounts_are_labelled_by_name_id_or_address(tmp_path, between):
    rows = ["Account|On_Topic|note", "@Ann|yes|", "bob|0|off", "42|TRUE|", "https://A.org/x|n|", "later||no label yet"]
    file = written(tmp_path, "\n".join(rows).replace("|", between), "utf-8-sig")
    assert read_account_labels(file) == {"@Ann": True, "bob": False, "42": True, "https://A.org/x": False}


def test_an_account_labelled_twice_is_one_unless_the_labels_contradict(tmp_path):
    file = written(tmp_path, "on_topic,username\r\n1,@Ann\r\nx,ANN\r\n")
    assert read_account_labels(file) == {"@Ann": True}
    file = written(tmp_path, "on_topic,username\n1,@Ann\n\n0,ann\n")
    with pytest.raises(SettingsError, match="line 4: ann is both"):
        read_account_labels(file)
    assert len(read_account_labels(written(tmp_path, "url,label\nhttp://a/B,1\nhttp://a/b,0\n"))) == 2


def test_texts_may_have_several_lines_and_marks(tmp_path):
    file = written(tmp_path, 'text,on_topic\n"one, with\na second ""line""",yes\nplain,no\n,yes\nshort\n')
    assert read_text_labels(file) == [('one, with\na second "line"', True), ("plain", False)]


@settings(deadline=None, max_examples=many(50))
@given(some.lists(some.tuples(some.text(some.characters(codec="utf-8", exclude_characters="\0")), some.booleans())))
def test_what_a_program_writes_is_what_is_read(tmp_path_factory, rows):
    page = io.StringIO()
    csv.writer(page).writerows([("text", "on_topic"), *((text, "yes" if on else "no") for text, on in rows)])
    file = written(tmp_path_factory.mktemp("labels"), page.getvalue())
    assert read_text_labels(file) == [(text.strip(), on) for text, on in rows if text.strip()]


def test_what_is_no_label_is_said_with_its_lines(tmp_path):
    file = written(tmp_path, "account,label\n" + "\n".join(f"a{i},perhaps" for i in range(5)))
    with pytest.raises(SettingsError, match=r"line 2 says 'perhaps', line 3 .* line 4 .* and 2 more: write yes or no"):
        read_account_labels(file)


def test_a_file_that_cannot_be_used_says_what_to_do(tmp_path):
    for text, encoding, why in (
        ("account\nann\n", "utf-8", "no column on_topic; it has account"),
        ("", "utf-8", "no column account; it has none"),
        ("on_topic,who\n1,ann\n", "utf-8", "no column account"),
        ("account,on_topic\näöü,1\n", "latin-1", "UTF-8"),
        ('account,on_topic\n"ann"x,1\n', "utf-8", "not valid CSV"),
    ):
        with pytest.raises(SettingsError, match=why):
            read_account_labels(written(tmp_path, text, encoding))
    with pytest.raises(SettingsError, match="no column text"):
        read_text_labels(written(tmp_path, "account,on_topic\nann,1\n"))
    with pytest.raises(SettingsError, match="cannot be read"):
        read_account_labels(tmp_path / "none.csv")
