"""Files of ids: every id of every kind of file once and in order, and bad lines by their numbers."""

import csv
import gzip
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.lines import LineErrors
from socialcrawl.importers.import_ids import NAMES, read_ids
from socialcrawl.platforms.hydration import PostIdError
from socialcrawl.platforms.x.source import HYDRATION, parse_post_id

NUMBERS = st.integers(1, 10**19 - 1).map(str)
BAD = st.sampled_from(
    ["1.85E+18", "1858000000000000000.0", "ann", "https://example.org/1", "12345678901234567890", "-4"]
)
ADDRESSES = st.sampled_from([
    "https://twitter.com/ann/status/{}", "https://x.com/ann/status/{}?s=20", "http://mobile.twitter.com/i/status/{}#top"
])  # fmt: skip
FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@given(
    st.lists(st.tuples(NUMBERS, st.none() | ADDRESSES | st.just("bad"), BAD), min_size=1, max_size=40), st.booleans()
)
@FILES
def test_a_text_gives_each_id_once_in_order_and_its_bad_lines(tmp_path, lines, packed):
    texts, expected, wrong = ["# a remark", "17"], ["17"], 0
    for number, written, bad in lines:
        if written == "bad":
            texts.append(bad)
            wrong += 1
        else:
            texts.append(written.format(number) if written else number)
            expected.append(number)
    file, trouble = tmp_path / "ids.txt", LineErrors()
    content = "\r\n".join(texts).encode()
    file.write_bytes(gzip.compress(content) if packed else content)
    assert read_ids([file], HYDRATION, trouble) == list(dict.fromkeys(expected))
    assert trouble.count == wrong
    first = next((place for place, text in enumerate(texts, 1) if text in {bad for *_, bad in lines}), None)
    if wrong:
        assert trouble.first[0].startswith(f"{file}, line {first}: ")


@given(st.lists(NUMBERS, min_size=2, max_size=20), st.sampled_from(NAMES), st.sampled_from([",", ";", "\t"]))
@FILES
def test_a_table_gives_its_column_of_ids(tmp_path, numbers, name, mark):
    made = io.StringIO()
    rows = csv.writer(made, delimiter=mark)
    rows.writerow(["text", name.upper(), "likes"])
    rows.writerows(["so it goes", number, 3] for number in numbers)
    file, trouble = tmp_path / "posts.csv", LineErrors()
    file.write_text(made.getvalue())
    assert read_ids([file], HYDRATION, trouble) == list(dict.fromkeys(numbers))
    assert not trouble.count


def test_several_files_are_one_list_and_a_single_column_may_have_any_name(tmp_path):
    (tmp_path / "a.csv").write_text("dehydrated\n11\n12\n")
    (tmp_path / "b.txt").write_text("12\n13\n")
    assert read_ids([tmp_path / "a.csv", tmp_path / "b.txt"], HYDRATION, LineErrors()) == ["11", "12", "13"]


def test_a_file_without_ids_is_refused(tmp_path):
    for text in ("", "\0\0\0"):
        (tmp_path / "a.txt").write_text(text)
        with pytest.raises(PostsFileError):
            read_ids([tmp_path / "a.txt"], HYDRATION, LineErrors())


@given(st.text(max_size=40))
def test_whatever_is_written_is_an_id_or_an_error_that_says_why(text):
    try:
        key = parse_post_id(text)
    except PostIdError as error:
        said = str(error)
    else:
        assert key.isascii()
        assert key.isdigit()
        assert key in text
        return
    assert "is no id of a post" in said
