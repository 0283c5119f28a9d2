"""A key of a text in TOML is changed, and nothing else is: comments, order, ends of lines."""

import re
import tomllib
from collections import Counter

import pytest
from example_counts import many
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialcrawl.formats.toml_edits import change_key
from socialcrawl.system.files import find_folder

TEMPLATES = {
    path.name: path.read_text("utf-8")
    for path in sorted(find_folder("config").glob("*.toml"))
    if path.name.startswith("campaign")
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXTS,
    st.dates(),
)  # fmt: skip
VALUES = st.one_of(SCALARS, st.lists(TEXTS, max_size=5), st.dictionaries(TEXTS, SCALARS, max_size=3))
ENDS = {"unix": "\n", "windows": "\r\n"}


def read(text):
    """What a text says, read by Python's own parser, not by the library that edits."""
    return tomllib.loads(text.replace("\r\n", "\n"))


def put(given, section, key, value):
    """The same values with one changed, or removed where it is None."""
    table = dict(given.get(section, {}) if section else given)
    table.pop(key, None)
    table |= {} if value is None else {key: value}
    return {**given, section: table} if section else table


def list_keys():
    """Every key of every template, also those in comments, and some that are nowhere."""
    for name, text in TEMPLATES.items():
        section = ""
        for line in text.splitlines():
            if head := re.match(r"(?:# )?\[(\w+)\]", line):
                section = head[1]
            elif key := re.match(r"(?:# )?(\w+) = ", line):
                yield name, section, key[1]
        yield from ((name, section, "unheard of") for section in ("", "budget", "nowhere"))


KEYS = sorted(set(list_keys()))


def find_lines_lost(before, after):
    return list((Counter(before) - Counter(after)).elements())


@settings(max_examples=many(160), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(place=st.sampled_from(KEYS), value=VALUES, end=st.sampled_from(sorted(ENDS)))
def test_any_key_of_a_campaign_file_takes_any_value_and_every_other_character_stays(place, value, end):
    name, section, key = place
    text = TEMPLATES[name].replace("\n", ENDS[end])
    made = change_key(text, section, key, value)
    assert read(made) == put(read(text), section, key, value)
    before, after = text.split(ENDS[end]), made.split(ENDS[end])
    lost = find_lines_lost(before, after)
    assert len(lost) <= 1
    if lost:  # the comment behind the value stays
        assert re.match(rf"{key} = ", lost[0])
        comment = re.search(r"# .*$", lost[0])
        assert not comment or any(line.endswith(comment[0]) for line in after)
    new = find_lines_lost(after, before)
    assert [line for line in new if line] or read(made) == read(text)
    assert len([line for line in new if line]) <= 1 + (section not in read(text) and bool(section))
    assert "\r" not in made.replace("\r\n", "")
    assert end != "windows" or "\n" not in made.replace("\r\n", "")


@settings(max_examples=many(60), deadline=None)
@given(place=st.sampled_from(KEYS))
def test_a_key_is_removed_with_its_line_only(place):
    name, section, key = place
    text = TEMPLATES[name]
    if section and section not in read(text):
        return
    if key not in (read(text)[section] if section else read(text)):
        assert change_key(change_key(text, section, key, 1), section, key, None) == text
        return
    made = change_key(text, section, key, None)
    assert read(made) == put(read(text), section, key, None)
    assert find_lines_lost(made.split("\n"), text.split("\n")) == []
    assert len(find_lines_lost(text.split("\n"), made.split("\n"))) == 1


LIST = 'names = [  # who\n  "ann",  # the first\n  "ben",\n  # below\n  "cleo",  # the last\n]  # end\nq = 1  # other\n'


@settings(max_examples=many(120), deadline=None)
@given(value=st.lists(st.sampled_from(["ann", "ben", "cleo", "dora", "#", "]"]), max_size=6))
def test_a_list_over_several_lines_takes_any_values(value):
    made = change_key(LIST, "", "names", value)
    assert read(made) == {"names": value, "q": 1}
    assert made.endswith("]  # end\nq = 1  # other\n")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (["ann", "ben", "cleo", "dora"], ["# who", "# the first", "# below", "# the last", "# end"]),
        (["ann", "cleo"], ["# who", "# the first", "# the last", "# end"]),
        (["ann", "dora", "ben", "cleo"], ["# who", "# the first", "# below", "# the last", "# end"]),
    ],
)
def test_comments_between_the_other_values_of_a_list_stay(value, kept):
    made = change_key(LIST, "", "names", value)
    assert [comment for comment in kept if comment not in made] == []


ODD = (
    'a = 1\r\n\r\n["s"]  # quoted\r\n\'k\' = 5 # five\r\nt.u = """\r\n[s]\r\nw = 1\r\n"""\r\n'
    "[s.v]\r\nx = 1\r\n[[s.y]]\r\nz = 1"
)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("s", "k", 6), ("s", "k", None), ("s", "w", 2), ("s", "t", {"u": "short"}), ("s", "v", {"x": 2}),
        ("s", "y", [{"z": 2}, {"z": 3}]), ("s", "y", None), ("s", "v", None), ("", "b", 2), ("", "s", 5),
        ("new", "k", 1), ("s", "v", 1), ("", "a", "\r\n\t\"'\\\x00\x7f\u2028#"), ("s", 'q"\n]', [["#"], []]),
    ],
)  # fmt: skip
def test_other_ways_of_writing_tables_are_understood(section, key, value):
    made = change_key(ODD, section, key, value)
    assert read(made) == put(read(ODD), section, key, value)
    assert made.startswith("a = ")


def test_each_line_keeps_its_own_end_where_a_file_has_several():
    text = "a = 1\r\nb = 2\nc = 3\rd = 4"
    assert change_key(text, "", "b", 5) == "a = 1\r\nb = 5\nc = 3\rd = 4"
    assert change_key(text, "", "e", 5) == "a = 1\r\nb = 2\nc = 3\rd = 4\r\ne = 5\r\n"


def test_the_new_line_stands_below_the_comment_that_shows_the_key():
    text = "[a]\nx = 1\n# y = 2   # why ...\n          # ... so\n# z = 3\n\n# [b]\n# q = 1\n"
    assert change_key(text, "a", "y", 5) == text.replace("... so\n", "... so\ny = 5\n")
    assert change_key(text, "a", "q", 5) == text.replace("x = 1\n", "x = 1\nq = 5\n")
    assert change_key(text, "b", "q", 5) == text + "\n[b]\nq = 5\n"


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2\n", "= 5"])
def test_what_is_no_toml_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        change_key(text, "", "a", 1)


def test_a_key_in_what_is_no_table_is_refused():
    with pytest.raises((ValueError, AttributeError, TypeError)):
        change_key("a = 5\n", "a", "b", 1)
