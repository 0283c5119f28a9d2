"""docs/reference/schema.md names all tables and views, and its questions are answered on both databases."""

import re
from collections import Counter
from decimal import Decimal

import pytest
from schema_page import render_page
from test_views import LINKED, a_crawl, some

from socialcrawl.storage.schema.questions import QUESTIONS
from socialcrawl.storage.schema.tables import metadata
from socialcrawl.storage.schema.views import VIEWS


@pytest.fixture(scope="module")
def answered():
    """By kind of database: the rows of every question, and the connection's tables as far as the tests ask for them."""
    found = {}
    for kind in ("sqlite", "postgres"):
        with a_crawl(kind) as connection:
            rows = {question.name: [tuple(map(plain, row.values())) for row in some(connection, question.sql)]
                    for question in QUESTIONS}  # fmt: skip
            tables = {name: some(connection, f"select * from {name}") for name in ("outcome", "pick", "link", "hit")}
            found[kind] = rows, tables
    return found


def plain(value):
    if isinstance(value, Decimal | float):
        return round(float(value), 9)
    return value


def test_the_page_names_every_table_view_column_and_key():
    text = render_page()
    for table in metadata.tables.values():
        (section,) = re.findall(rf"^### {table.name}$(.*?)(?=^##)", text, re.DOTALL | re.MULTILINE)
        assert [
            row.split(" | ")[0].strip("| ") for row in re.findall(r"^\| (?!column)\w.*$", section, re.MULTILINE)
        ] == [column.name for column in table.columns]
        for column in table.columns:
            assert all(f"to {key.target_fullname} |" in section for key in column.foreign_keys)
            for key in column.foreign_keys:
                assert re.search(
                    rf"^    {key.column.table.name} \S+ {table.name} : \"{column.name}\"$", text, re.MULTILINE
                )
    for view in VIEWS:
        (section,) = re.findall(rf"^### {view.name}$(.*?)(?=^##)", text, re.DOTALL | re.MULTILINE)
        assert all(f"| {name} | {words} |" in section for name, words in view.columns.items())
    assert [question.sql for question in QUESTIONS] == re.findall(r"```sql\n(.*?)\n```", text, re.DOTALL)


def test_there_are_ten_questions_and_each_is_asked_once():
    assert len({question.name for question in QUESTIONS}) == len({question.words for question in QUESTIONS}) == 10


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_question_has_the_same_answer_on_both_databases(question, answered):
    ours, theirs = (answered[kind][0][question.name] for kind in ("sqlite", "postgres"))
    assert ours
    assert ours == theirs


def test_the_answers_are_those_of_the_tables(answered):
    rows, tables = answered["sqlite"]
    acts = {(pick["campaign"], pick["n"]): pick for pick in tables["pick"]}
    value = {(row["campaign"], row["n"]): row for row in tables["outcome"]}
    of_tiny = {name: [row for row in some_rows if row[0] == "tiny"] for name, some_rows in rows.items()}
    best = max(row["value"] for row in tables["outcome"] if row["campaign"] == 1)
    assert of_tiny["best_accounts"][0][1:4:2] == (1, round(best, 9))
    assert [row[3] for row in rows["loudest_posts"]] == sorted((h["occurrences"] for h in tables["hit"]), reverse=True)[
        :20
    ]
    counted = sum(row[2] + row[5] for row in rows["topic_by_day"])
    assert counted == len(tables["hit"]), "of accounts read, and only searched"
    pairs = [linked(link, acts, value) for link in tables["link"] if acts[link["campaign"], link["n"]]["act"] in LINKED]
    counted = Counter((campaign, target) for campaign, source, target in set(pairs) if source != target)
    assert rows["most_mentioned"][0][2] == max(counted.values())
    both = {(c, a, b) for c, a, b in pairs if a < b and (c, b, a) in pairs}
    assert {campaign for campaign, *_ in both} >= {1, 72}
    assert 0 < len(rows["mutual_mentions"]) == min(20, len(both))
    steps = [pick for pick in tables["pick"] if pick["act"] == "expand" and pick["campaign"] == 1]
    assert [row[1] for row in of_tiny["yield_by_steps"]] == [0, len(steps)]
    found = [(pick["score"], value[1, pick["n"]]["value"]) for pick in steps if value[1, pick["n"]]["missing"] is None]
    quarters = of_tiny["estimate_and_truth"]
    assert sum(row[2] for row in quarters) == len(found)
    for column, total in ((5, sum(score for score, _ in found)), (3, sum(worth for _, worth in found))):
        assert sum(row[2] * row[column] for row in quarters) == pytest.approx(total)


def linked(link, acts, value):
    """Who mentions whom in which campaign, by a row of table link."""
    key = link["campaign"], link["n"]
    ends = value[key]["node"], link["node"]
    return key[0], *(ends[::-1] if acts[key]["act"] == "inward" else ends)
