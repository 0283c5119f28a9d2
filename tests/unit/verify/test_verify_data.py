"""`socialcrawl verify`: outcomes, links and the ledger follow from the posts that are stored; every lie is found."""

import io
import json

import numpy as np
import pytest
from commands import socialcrawl
from rich.console import Console
from verified_campaigns import LIMIT, MADE, changed, checks, collecting, copied, differences, lasting, lived
from x_crawls import posts, rows

from socialcrawl.cli.commands.verify import prove, show
from socialcrawl.errors import StoreError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.address import parse_address
from socialcrawl.storage.schema.tables import post
from socialcrawl.verify.billing import UNANSWERED
from socialcrawl.verify.findings import Check, CheckResults
from socialcrawl.verify.outcomes import NO_PAGE

DATA = ("posts of the ledger", "mentions", "matches", "outcomes", "link weights", "costs of requests",
        "pages of requests", "order of decisions", "references")  # fmt: skip


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


READ = "select min(o.n) from outcome o join pick p using (campaign, n) where act = 'expand' and o.occurrences > 1"
WHERE = {
    "n": READ,
    "post": "select min(post) from hit join mention using (post)",
    "written": f"select json_extract(post_ids, '$[0]') from request where posts > 0 and n = ({READ})",
    "found": "select value from request, json_each(post_ids) where request.id = 1 and value not in "
    "(select value from request, json_each(post_ids) where request.id > 1)",
    "foremost": "select json_extract(post_ids, '$[0]') from request where id = 1",
    "last": "select json_extract(post_ids, '$[#-1]') from request where id = 1",
    "request": "select min(id) from request where posts > 3 and kind = 'ok' and n > 12",
    "gone": "select min(o.n) from outcome o join pick p on p.n = o.n + 1 where act = 'expand' and missing is not null",
    "lost": "select min(id) from request where arrived_at is null and n > 12",
}
"""What is changed: a pick that read posts of the topic, two posts, of which one matches, a request, a pick whose
account cannot be read, a request that was not answered."""
AS_IT_IS = ", ".join(column.name for column in post.columns if column.name != "id")
LIES = {
    "the account of a pick": (
        "update pick set node = (select max(node) from account) where n = {n}",
        "pick {n}, account:",
    ),
    "the score of a pick": ("update pick set score = score + 0.001 where n = {n}", "pick {n}, score:"),
    "a pick that is removed": ("delete from pick where n = {n}", "pick {after}, n:"),
    "the order of two picks": (
        "update pick set node = (select sum(node) from pick p where p.n in ({two})) - node where n in ({two})",
        "pick {n}, account:",
    ),
    "the value of an outcome": ("update outcome set value = 9.0 where n = {n}", "pick {n}, value: stored 9.0,"),
    "the occurrences of an outcome": (
        "update outcome set occurrences = 1 where n = {n}",
        "pick {n}, occurrences: stored 1,",
    ),
    "the posts of an outcome": ("update outcome set posts = posts + 1 where n = {n}", "pick {n}, posts:"),
    "when a pick was answered": (
        "update outcome set at = (select at from outcome o where o.n = {n} + 1) where n = {n}",
        "pick {n}, at: stored 20",
    ),
    "why an account cannot be read": (
        "update outcome set missing = null where n = {gone}",
        "pick {gone}, missing: stored nothing, recomputed why",
    ),
    "which pick a request was sent for": ("update request set n = n + 1 where n = {gone}", "pick {gone}, at: stored"),
    "which pick a request without an answer was sent for": (
        "update request set n = 1 where id = {lost}",
        "request {lost}, n: stored 1,",
    ),
    "whose outcome it is": ("update outcome set node = node + 1 where n = {n}", "outcome {n}, node:"),
    "an outcome that is removed": ("delete from outcome where n = {n}", "pick {n}, outcome: stored missing"),
    "an epoch that is removed": ("update epoch set number = 3", "epoch 3, number:"),
    "a topic that there never was": (
        "insert into epoch (campaign, number, first, began_at, why) select 1, 1, {n}, began_at, 'topic' from epoch",
        "epoch 1, why: stored topic, recomputed no other topic",
    ),
    "an erasure that there never was": (
        "insert into epoch (campaign, number, first, began_at, why) select 1, 1, {n}, began_at, 'forget' from epoch",
        "epoch 1, why: stored forget",
    ),
    "the weight of a link": (
        "update link set alpha = alpha + 1 where n = {n} and position = 0",
        "pick {n}, weight of the link to account",
    ),
    "whom an account links to": (
        "update link set node = (select max(node) from account) where n = {n} and position = 0",
        "pick {n}, link to account",
    ),
    "a link that is removed": ("delete from link where n = {n} and position = 0", "pick {n}, link to account"),
    "the order of links": (
        "update link set position = 1000 where n = {n} and position = 0",
        "pick {n}, order of links:",
    ),
    "the text of a post": ("update post set text = 'nothing' where id = '{post}'", "post {post}, occurrences:"),
    "the matches of a post": (
        "update hit set occurrences = 77 where post = '{post}'",
        "post {post}, occurrences: stored 77,",
    ),
    "a match that is removed": ("delete from hit where post = '{post}'", "post {post}, occurrences: stored 0,"),
    "a post that is removed": (
        "delete from post where id = '{post}'",
        "post {post}: stored nothing, recomputed read by",
    ),
    "a post that is added": (
        "insert into post select '77', " + AS_IT_IS + " from post where id = '{post}'",
        "post 77, request that brought it: stored nothing",
    ),
    "the author of a post": (
        "update post set author = (select max(node) from account) where id = '{written}'",
        ", author: stored account",
    ),
    "the author of a post that a search found": (
        "update post set author = (select max(node) from account) where id = '{found}'",
        "post {found}, author: stored account",
    ),
    "which of those whom a search found wrote a post": (
        "update post set author = (select author from post where id = '{last}') where id = '{foremost}'",
        "request 1, order of authors: stored [",
    ),
    "a mention that is removed": ("delete from mention where post = '{post}'", "post {post}, mention of account"),
    "a mention that is added": (
        "insert into mention (post, node, kind) select '{post}', max(node), 'mention' from account",
        ": stored a mention, recomputed none on the pages that brought it",
    ),
    "the cost of a request": ("update request set cost = cost - 500 where id = {request}", "request {request}, cost:"),
    "the cost of a request and what was billed": (
        "update request set cost = cost - 500, new_posts = new_posts - 1 where id = {request}",
        "request {request}, new_posts:",
    ),
    "the posts of a request": (
        "update request set posts = posts + 1 where id = {request}",
        "request {request}, posts:",
    ),
    "a request that is removed": ("delete from request where id = {request}", "request {request}: stored nothing"),
    "a request whose cost is hidden, as if its answer had been held": (
        "update request set kind = 'held', cost = 0, new_posts = 0, new_users = 0 where id = {request}",
        "request {request}, answer that was held: stored nothing",
    ),
    "the same, without its question": (
        "update request set kind = 'held', cost = 0, new_posts = 0, new_users = 0, digest = null where id = {request}",
        "request {request}, digest: stored nothing, recomputed a question",
    ),
    "a budget": (
        "update version set settings = json_set(settings, '$.budget.max_requests', 5)",
        "version 0, budget.max_requests: stored 5, recomputed 1000",
    ),
    "a budget, wherever it stands": (
        "update {table} set settings = json_set(settings, '$.budget.max_requests', 20)",
        "request 21, used of max_requests: stored 21, recomputed at most 20",
    ),
    "an account that is removed": ("delete from account where node = (select min(node) from link)", ", node: stored"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_ends_the_command_with_1_and_is_told_where_it_is(lie, tmp_path):
    database = copied("collect", tmp_path)
    place = {name: rows(database, sql)[0][0] for name, sql in WHERE.items()}
    place |= {"after": place["n"] + 1, "two": f"{place['n']}, {place['n'] + 1}"}
    statement, said = LIES[lie]
    for table in ("version", "campaign") if "{table}" in statement else ("",):
        changed(database, statement.format(**place, table=table))
    screen = io.StringIO()
    assert prove(parse_address(str(database)), None, Console(file=screen), as_json=False) == 1
    text = screen.getvalue()
    assert [line for line in text.splitlines() if line.startswith("differs: ") and said.format(**place) in line], text


@pytest.mark.parametrize(
    ("value", "said"),
    [(np.float64(0.25), "0.25"), (0.25, "0.25"), (float("nan"), "nothing"), (None, "nothing"), (7, "7"), ("x", "x")],
)
def test_values_that_differ_are_plain_numbers_and_words(value, said):
    check, screen = Check("scores and features"), io.StringIO()
    check.differ("pick 3", "score", value, value)
    show(Console(file=screen), [CheckResults("mine", "collect, x", [check])])
    assert f"differs: pick 3, score: stored {said}, recomputed {said}\n" in screen.getvalue()


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ("update request set post_ids = 'x' where posts > 0", "rows: stored"),
        ("update outcome set at = 'x' where n = 20", "rows: stored Invalid isoformat string"),
        ("update campaign set settings = '[]'", "rows: stored 'list' object"),
        ("update version set settings = '{'", "The settings or accounts of campaign 'collected' are not"),
        ("update outcome set missing = 'same-as:x' where n = 20", "are not as socialcrawl stores them"),
    ],
)
def test_values_that_no_campaign_stores_are_told_too(lie, said, tmp_path):
    database, screen = copied("collect", tmp_path), io.StringIO()
    changed(database, lie)
    try:
        assert prove(parse_address(str(database)), None, Console(file=screen), as_json=False) == 1
    except StoreError as error:
        screen.write(str(error))
    assert said in screen.getvalue()


def test_requests_stay_within_a_budget_that_is_raised_on_the_way(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), limit=LIMIT) as mock:
        lived(collecting(mock.url, database, budget={"max_requests": 18, "max_money": 9.0}))
        raised = collecting(mock.url, database, budget={"max_requests": 40, "max_money": 90.0, "max_posts": 5000})
        lived(raised)
    assert differences(database) == []
    found, sent = checks(database), rows(database, "select count(*) from request where kind is not 'held'")[0][0]
    assert found["budgets"].proved == sent > 18
    assert found["settings"].proved == 2
    changed(database, "update version set settings = json_set(settings, '$.budget.max_requests', 17) where number = 0")
    assert ("settings", "version 0", "budget.max_requests") in differences(database)
    assert ("budgets", "request 18", "used of max_requests") in differences(database)


def test_a_lie_about_one_thing_is_not_taken_for_others(tmp_path):
    database = copied("collect", tmp_path)
    ((number, cost),) = rows(database, f"select id, cost from request where id = ({WHERE['request']})")
    changed(database, "update request set cost = cost + 1 where id = ?", number)
    assert differences(database) == [("costs of requests", f"request {number}", "cost")]
    (one,) = checks(database)["costs of requests"].differences
    assert (one.stored, one.recomputed) == (cost + 1, cost)


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
        (
            "track",
            "update outcome set missing = 'deleted' where posts = 0 and n > 60",
            "outcomes",
        ),
        ("track", "update outcome set occurrences = occurrences + 1 where posts > 0", "outcomes"),
    ],
)
def test_what_other_kinds_found_is_checked_too(kind, lie, check, tmp_path):
    database = copied(kind, tmp_path)
    changed(database, lie)
    assert checks(database)[check].differing > 1


@pytest.mark.parametrize(
    ("kind", "table", "check"), [("sample", "sampled", "sampled"), ("track", "standing", "standings")]
)
def test_what_a_killed_campaign_has_not_written_of_accounts_is_no_difference(kind, table, check, tmp_path):
    database = copied(kind, tmp_path)
    changed(database, f"delete from {table} where visits > 1")
    found = checks(database)[check]
    assert not found.differing
    assert "written before the last visits of the campaign: a run writes them again" in found.unproved


def test_a_price_table_of_another_time_is_no_difference(tmp_path):
    database = copied("collect", tmp_path)
    changed(database, "update request set cost = cost + new_posts * 77 + 3 where cost > 0")
    changed(database, "delete from request where cost = 0 and kind <> 'ok'")
    changed(database, "update request set cost = 7 where cost = 0")
    found = checks(database)["costs of requests"]
    assert not found.differing
    assert "every price differs: another price table was in force" in found.unproved


def test_links_are_named_by_json_too(tmp_path):
    database = copied("collect", tmp_path)
    changed(database, f"update link set alpha = 77 where n = ({WHERE['n']}) and position = 0")
    done = socialcrawl("verify", database, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)["verified"][0]["checks"]
    (one,) = next(check for check in told if check["name"] == "link weights")["differences"]
    assert one["stored"] == 77.0
