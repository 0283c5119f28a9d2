"""`socialcrawl verify`: outcomes, links and the ledger follow from the posts that are stored; every lie is found."""

import json

import pytest
from crawling import rows
from verifying import MADE, changed, checks, copied, differences, lasting

from socialcrawl.verify.bills import UNANSWERED
from socialcrawl.verify.outcomes import NO_PAGE

DATA = ("posts of the ledger", "matches", "outcomes", "link weights", "costs of requests", "pages of requests",
        "order of decisions", "references")  # fmt: skip


COUNTED = ("hit", "link", "request", "outcome")


@pytest.mark.parametrize("kind", MADE)
def test_what_was_found_follows_from_the_posts_and_costs_from_the_prices(kind):
    database = lasting(kind)
    found = checks(database)
    assert set(DATA) < set(found)
    assert not any(check.differing for check in found.values())
    count = {
        name: rows(database, f"select count(*) from {name}")[0][0] for name in ("hit", "link", "request", "outcome")
    }
    assert found["matches"].proved == count["hit"]
    imported = rows(database, "select count(*) from link join pick using (campaign, n) where act = 'import'")[0][0]
    assert found["link weights"].proved == count["link"] - imported
    costs = found["costs of requests"]
    assert costs.proved + costs.unproved.total() == count["request"]
    assert costs.unproved[UNANSWERED] == rows(database, "select count(*) from request where arrived_at is null")[0][0]
    assert costs.unproved[UNANSWERED] > 1, "processes died"
    outcomes = found["outcomes"]
    asked = dict(rows(database, "select act, count(*) from pick group by 1"))
    assert outcomes.proved == count["outcome"] - asked.get("import", 0) - outcomes.unproved[NO_PAGE]
    assert outcomes.unproved[NO_PAGE] <= asked.get("resolve", 0)


POST = "(select post from hit order by post limit 1)"
N = "(select o.n from outcome o join pick p using (campaign, n) where act = 'expand' and o.occurrences > 1 order by n)"
PAID = "(select id from request where posts > 3 and kind = 'ok' and n > 12 order by id limit 1)"
LIES = {
    "the value of an outcome": (f"update outcome set value = 9.0 where n = {N}", "outcomes", "value"),
    "its occurrences": (f"update outcome set occurrences = 1 where n = {N}", "outcomes", "occurrences"),
    "its posts": (f"update outcome set posts = posts + 1 where n = {N}", "outcomes", "posts"),
    "whose outcome it is": (f"update outcome set node = node + 1 where n = {N}", "order of decisions", "node"),
    "an outcome that is removed": (f"delete from outcome where n = {N}", "order of decisions", "outcome"),
    "a decision that is removed": (f"delete from pick where n = {N}", "order of decisions", "n"),
    "an epoch that is removed": ("update epoch set number = 3", "order of decisions", "number"),
    "the weight of a link": (
        f"update link set alpha = alpha + 1 where n = {N} and position = 0", "link weights", "weight",
    ),
    "whom an account links to": (
        f"update link set node = (select max(node) from account) where n = {N} and position = 0",
        "link weights",
        "link to",
    ),
    "a link that is removed": (f"delete from link where n = {N} and position = 0", "link weights", "link to account"),
    "the order of links": (
        f"update link set position = 1000 where n = {N} and position = 0", "link weights", "order of links",
    ),
    "the text of a post": (f"update post set text = 'nothing' where id = {POST}", "matches", "occurrences"),
    "a match": (f"update hit set occurrences = occurrences + 1 where post = {POST}", "matches", "occurrences"),
    "a match that is removed": (f"delete from hit where post = {POST}", "matches", "occurrences"),
    "a post that is removed": (f"delete from post where id = {POST}", "posts of the ledger", "post "),
    "the cost of a request": (f"update request set cost = cost - 500 where id = {PAID}", "costs of requests", "cost"),
    "its cost and what was billed": (
        f"update request set cost = cost - 500, new_posts = new_posts - 1 where id = {PAID}",
        "costs of requests",
        "new_posts",
    ),
    "its number of posts": (f"update request set posts = posts + 1 where id = {PAID}", "pages of requests", "posts"),
    "a request that is removed": (f"delete from request where id = {PAID}", "numbers of requests", "request"),
    "an account that is removed": (
        "delete from account where node = (select min(node) from link)", "references", "node",
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_where_it_is(lie, tmp_path):
    database = copied("collect", tmp_path)
    statement, check, column = LIES[lie]
    changed(database, statement)
    found = differences(database)
    assert [one for one in found if one[0] == check and one[2].startswith(column)], found


def test_a_lie_about_one_thing_is_not_taken_for_others(tmp_path):
    database = copied("collect", tmp_path)
    ((number, cost),) = rows(database, f"select id, cost from request where id = {PAID}")
    changed(database, "update request set cost = cost + 1 where id = ?", number)
    assert differences(database) == [("costs of requests", f"request {number}", "cost")]
    (one,) = checks(database)["costs of requests"].differences
    assert (one.stored, one.recomputed) == (cost + 1, cost)


WALKS, INWARD = (f"(select n from pick where act = '{act}')" for act in ("walk", "inward"))


@pytest.mark.parametrize(
    ("kind", "lie", "check"),
    [
        (
            "sample",
            "update outcome set value = 1 - value where n in (select n from pick where act = 'walk')",
            "outcomes",
        ),
        (
            "sample",
            "update link set node = node + 1 where n in (select n from pick where act = 'inward')",
            "link weights",
        ),
        ("refresh", "update outcome set value = 0 where value = 1 and missing is null", "outcomes"),
        ("track", "update outcome set occurrences = occurrences + 1 where posts > 0", "outcomes"),
    ],
)
def test_what_other_kinds_found_is_checked_too(kind, lie, check, tmp_path):
    database = copied(kind, tmp_path)
    changed(database, lie)
    assert checks(database)[check].differing > 1


def test_a_price_table_of_another_time_is_no_difference(tmp_path):
    database = copied("collect", tmp_path)
    changed(database, "update request set cost = cost + new_posts * 77 + 3 where cost > 0")
    changed(database, "delete from request where cost = 0 and kind <> 'ok'")
    changed(database, "update request set cost = 7 where cost = 0")
    found = checks(database)["costs of requests"]
    assert not found.differing
    assert "every price differs: another price table was in force" in found.unproved


def test_links_are_named_by_json_too(tmp_path):
    from commands import socialcrawl

    database = copied("collect", tmp_path)
    changed(database, f"update link set alpha = 77 where n = {N} and position = 0")
    done = socialcrawl("verify", database, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)["verified"][0]["checks"]
    (one,) = next(check for check in told if check["name"] == "link weights")["differences"]
    assert one["stored"] == 77.0
