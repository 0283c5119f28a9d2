"""Which chart an answer gets: told from the types and the order of its columns."""

import pytest

from socialcrawl.web.query_charts import QueryChart, choose_chart


def chart_of(names, *rows):
    """The chart of rows, whose types are those of the first row."""
    kinds = [{int: "int", float: "float", bool: "bool"}.get(type(cell), "text") for cell in rows[0]]
    return choose_chart(names.split(), kinds, rows)


def test_days_make_a_line_and_all_numbers_beside_them_can_be_shown():
    rows = ("sky", "2026-01-01", 3, 1.5), ("sky", "2026-01-02", 5, 0.5)
    assert chart_of("campaign day posts relevance", *rows) == QueryChart("line", "date", 1, (2, 3))


def test_days_of_several_campaigns_make_a_line_for_each():
    rows = ("a", "2026-01-01", 3), ("a", "2026-01-02", 5), ("b", "2026-01-01", 4)
    assert chart_of("campaign day posts", *rows) == QueryChart("line", "date", 1, (2,), group=0)


def test_names_make_bars_and_neither_ranks_nor_numbers_of_nodes_count_anything():
    rows = ("sky", 1, "ann", 17, 2.5), ("sky", 2, "ben", 4, 1.5)
    assert chart_of("campaign place account node relevance", *rows) == QueryChart("bar", "category", 2, (4,))


def test_a_number_that_rises_makes_a_line():
    rows = ("sky", 0, 100, 3.0), ("sky", 100, 100, 7.0), ("sky", 200, 50, 9.0)
    assert chart_of("campaign steps_from steps found", *rows) == QueryChart("line", "linear", 1, (3, 2))


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        ("day posts", [("2026-01-01", 3)]),  # one row
        ("author text", [("ann", "a"), ("ben", "b")]),  # no number
        ("author posts", [("ann", 1), ("ann", 5)]),  # names that come twice
        ("day posts", [("2026-01-02", 4), ("2026-01-02", 5)]),
        ("text likes", [("t" * 41, 4), ("u" * 41, 9)]),  # labels nobody can read
        ("n likes", [(3, 4), (1, 9)]),
        ("author likes", [(None, 4), ("ann", 9)]),
    ],
)
def test_what_fits_no_chart_has_none(names, rows):
    assert chart_of(names, *rows) is None
