"""The page of the use cases: its examples run as they stand, and print what it says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/how-to/usecases.md").read_text("utf-8")
EXAMPLES = re.findall(r"^## ([^\n]+)$.*?```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_example_of_the_page_is_run():
    assert len(EXAMPLES) == 4 == PAGE.count("```python") == len(re.findall(r"^## ", PAGE, re.MULTILINE))


@pytest.mark.parametrize(
    ("code", "printed"), [(code, text) for _, code, text in EXAMPLES], ids=[e[0] for e in EXAMPLES]
)
def test_an_example_prints_what_stands_under_it(code, printed):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/how-to/usecases.md", "exec"), {"__name__": "__main__"})
    assert out.getvalue() == printed


def test_the_table_has_a_row_for_every_case_and_the_package_says_the_same_six_things():
    import examples as cases

    rows = [line for line in PAGE.splitlines() if re.match(r"\| \[", line)]
    assert [row.count("|") for row in rows] == [8] * 4
    first = [line.split("|")[1].strip() for line in cases.__doc__.splitlines() if line.startswith("| ")]
    assert first == ["", "V", "E", "alpha(u, v)", "beta(v)", "V0", "n"]
