"""`socialcrawl verify`: campaigns whose processes died agree with their replay, and whatever was changed is found."""

import hashlib
import json

import pytest
from alembic import command
from commands import socialcrawl
from postgres import a_place
from test_store_upgrade import at_version
from verified_campaigns import LIMIT, MADE, changed, checks, collecting, copied, died, differences, lasting, lived
from x_crawls import posts, rows

from socialcrawl.campaign.sections.topic import CrawlSection
from socialcrawl.cli.commands.forget import ErasureOptions, forget, retain
from socialcrawl.cli.commands.verify import CHANGED, show
from socialcrawl.errors import StoreError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.console import render_text
from socialcrawl.storage.database.snapshot import open_snapshot
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.verify.findings import Check, CheckResults
from socialcrawl.verify.replay import BROUGHT, EARLIER, ERASED, FORGOTTEN, IMPORTED

SURE = ErasureOptions(yes=True, as_json=True)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", MADE)
def test_every_decision_of_a_campaign_whose_processes_died_is_proved(kind):
    database = lasting(kind)
    before, everything = digest(database), rows(database, "select count(*) from pick")[0][0]
    found = checks(database)
    assert differences(database) == []
    assert digest(database) == before
    picks = found["picks"]
    assert picks.proved + picks.unproved.total() == everything
    assert set(picks.unproved) <= {EARLIER, IMPORTED}
    assert picks.unproved[IMPORTED] == rows(database, "select count(*) from pick where act = 'import'")[0][0]
    assert picks.proved >= 40
    assert found["scores and features"].proved == picks.proved


@pytest.mark.parametrize("kind", ["collect", "track"])
def test_so_it_is_on_a_server(kind, tmp_path):
    with a_place("postgres") as place:
        MADE[kind](place, tmp_path)
        found = checks(place)
        assert not any(check.differing for check in found.values())
        assert found["picks"].proved > 40
        assert not found["picks"].unproved


def test_a_batch_that_is_open_is_proved_too(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), limit=LIMIT) as mock:
        lived(collecting(mock.url, database, crawl={"steps": 6}))
        died(collecting(mock.url, database), 1)
    left = "select count(*) from pick where n not in (select n from outcome)"
    assert rows(database, left)[0][0] == 3
    assert differences(database) == []
    assert checks(database)["picks"].proved == rows(database, "select count(*) from pick")[0][0]
    changed(database, "update pick set node = node + 1 where n = (select max(n) from pick)")
    assert [(check, column) for check, _, column in differences(database)] == [("picks", "account")]


MOST = "select n, node from pick where act in ('expand', 'recrawl', 'walk', 'probe') order by n limit 1 offset 9"
LIES = {
    "a pick's account": ("update pick set node = (select max(node) from account) where n = ?", "picks", "account"),
    "why it was picked": ("update pick set act = 'seed' where n = ?", "picks", "act"),
    "its score": ("update pick set score = score + 0.001 where n = ?", "scores and features", "score"),
    "a feature": (
        "update pick set features = json_set(features, '$.n_sum', 77) where n = ?",
        "scores and features",
        "n_sum",
    ),
    "the score of an estimator that looked on": (
        "update shadow set score = score - 1 where estimator = 'bfs' and n = ?",
        "scores and features",
        "score of bfs",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_decision_that_was_changed_is_found_where_it_is(lie, tmp_path):
    database = copied("collect", tmp_path)
    ((n, _),) = rows(database, MOST)
    statement, check, column = LIES[lie]
    changed(database, statement, n)
    assert (check, f"pick {n}", column) in differences(database)


@pytest.mark.parametrize(("kind", "column"), [("track", "since"), ("refresh", "account"), ("sample", "account")])
def test_so_it_is_in_campaigns_of_other_kinds(kind, column, tmp_path):
    database = copied(kind, tmp_path)
    statement = "update pick set since = '77' where n = ?"
    if column == "account":
        statement = "update pick set node = (select max(node) from account) where n = ?"
    ((n, _),) = rows(database, MOST)
    changed(database, statement, n)
    assert ("picks", f"pick {n}", column) in differences(database)


def test_a_mark_of_the_moment_of_a_choice_lies_between_two_answers(tmp_path):
    """With a window a visit asks for what came since then, which depends on when it was chosen."""
    database = copied("follow", tmp_path)
    ((n, since),) = rows(database, "select n, since from pick where act = 'expand' order by n desc limit 1")
    changed(database, "update pick set since = ? where n = ?", str(int(since) + (60_000 << 22)), n)
    assert differences(database) == [("picks", f"pick {n}", "since")]


def test_with_a_window_a_score_is_proved_too(tmp_path):
    database = copied("follow", tmp_path)
    ((n,),) = rows(database, "select max(n) from pick where act = 'expand' and score > 0")
    changed(database, "update pick set score = score + 1 where n = ?", n)
    assert differences(database) == [("scores and features", f"pick {n}", "score")]


def test_an_answer_that_was_changed_leads_to_other_decisions(tmp_path):
    database = copied("collect", tmp_path)
    told = "select o.n from outcome o join pick p using (campaign, n) where act = 'expand' and value > 1 order by n"
    ((n,), *_) = rows(database, told)
    changed(database, "update outcome set value = value + 2 where n = ?", n)
    found = differences(database)
    assert found
    assert all(int(place.removeprefix("pick ")) > n for check, place, _ in found if check != "outcomes")


def test_a_difference_names_accounts_and_only_the_first_ten_are_told(tmp_path):
    database = copied("collect", tmp_path)
    changed(database, "update pick set score = score + 1 where act = 'expand'")
    check = checks(database)["scores and features"]
    assert (check.differing, len(check.differences)) == (36, 10)
    ((n, node),) = rows(database, MOST)
    changed(database, "update pick set node = 0, act = 'expand' where n = ?", n)
    (first,) = checks(database)["picks"].differences[:1]
    names = dict(rows(database, "select node, coalesce(username, platform_id) from account"))
    assert first.stored == f"{names[0]} (account 0)"
    assert first.recomputed == f"{names[node]} (account {node})"


@pytest.mark.parametrize("kind", ["collect", "track", "refresh", "sample"])
def test_after_an_erasure_what_was_decided_then_is_proved_and_the_rest_is_said_to_be_unprovable(kind, tmp_path):
    database = copied(kind, tmp_path)
    told = (
        "select n, coalesce(a.username, a.platform_id) from pick p join account a using (node) "
        "join outcome o using (campaign, n) where act in ('expand', 'walk', 'probe') and missing is null order by n"
    )
    _, name = rows(database, told)[6]
    forget(database, SURE, read_order([name], [], None, None), "x")
    after = rows(database, "select max(n) + 1 from pick")[0][0]
    picks = checks(database)["picks"]
    assert differences(database) == []
    gone = "select count(*) from outcome join pick using (campaign, n) where missing = 'forgotten' and act <> 'import'"
    assert picks.unproved[FORGOTTEN] == rows(database, gone)[0][0]
    assert set(picks.unproved) <= {FORGOTTEN, ERASED, IMPORTED}
    assert picks.proved > 0 or kind == "refresh"  # whose order is made of all links of the dataset
    assert picks.proved + picks.unproved.total() == after
    # What is decided after it is proved again, and a lie about that is found.
    if kind == "collect":
        with serve_in_thread(posts(), missing=0.3, limit=LIMIT) as mock:
            lived(collecting(mock.url, database, crawl={"steps": 48}))
        later = checks(database)["picks"]
        assert later.proved == picks.proved + rows(database, "select count(*) from pick where n >= ?", after)[0][0]
        changed(database, "update pick set score = 9 where n = ?", after + 2)
        assert differences(database) == [("scores and features", f"pick {after + 2}", "score")]
        # Nor does the erasure excuse it that is said to have come later than it did.
        long_ago = "2026-01-01T00:00:00.000000Z"
        changed(database, "update epoch set first = ?, began_at = ? where why = 'forget'", after + 5, long_ago)
        assert ("order of decisions", "epoch 1", "began_at") in differences(database)
        changed(database, "update epoch set first = 5000 where why = 'forget'")
        assert ("order of decisions", "epoch 1", "first") in differences(database)


def test_posts_that_became_too_old_are_no_difference(tmp_path):
    database = copied("collect", tmp_path)
    changed(database, "update post set fetched_at = '2020' where length(text) % 2 = 0")
    retain(database, SURE, 365 * 86_400.0)
    assert rows(database, "select count(*) from tombstone where why = 'retain'")[0][0] > 50
    assert differences(database) == []
    assert checks(database)["picks"].unproved[ERASED] > 10


def test_tests_that_were_made_elsewhere_are_said_to_be_nobodys_choice(tmp_path):
    database = copied("refresh", tmp_path)
    ((first, last),) = rows(database, "select min(n), max(n) from pick where act = 'probe'")
    changed(database, "update pick set score = 0")
    changed(database, "delete from request where n between ? and ?", first, last)
    assert checks(database)["picks"].unproved[BROUGHT] > 100


def test_a_database_of_an_older_socialcrawl_is_verified_in_a_copy(tmp_path, capfd):
    database = copied("collect", tmp_path)
    with at_version(database, "0008"):
        pass
    with at_version(database, "0007"):
        pass
    before = digest(database)
    assert not any(check.differing for check in checks(database).values())
    assert checks(database)["picks"].proved == checks(lasting("collect"))["picks"].proved
    assert digest(database) == before
    assert [path.name for path in tmp_path.iterdir()] == [database.name]
    assert capfd.readouterr().err == ""


def test_a_server_of_an_older_socialcrawl_is_left_as_it_is():
    with a_place("postgres") as place:
        from socialcrawl.storage.database.connection import connect, make_alembic_config

        connection = connect(place)
        config = make_alembic_config()
        config.attributes["connection"] = connection
        with connection.begin():
            command.downgrade(config, "0007")
        connection.close()
        connection.engine.dispose()
        with pytest.raises(StoreError, match="older socialcrawl, and is not changed here"), open_snapshot(place):
            pass


def test_the_command_says_what_was_proved_and_ends_with_1_where_something_differs(tmp_path):
    database = copied("change", tmp_path)
    done = socialcrawl("verify", database)
    assert done.returncode == 0, done.stderr
    assert "collected (collect, x; " in done.stdout
    assert "decided for an earlier topic" in done.stdout
    assert "Everything that can be checked agrees." in done.stdout
    ((n, score),) = rows(database, "select n, score from pick where act = 'expand' order by n desc limit 1")
    changed(database, "update pick set score = 0.5 where n = ?", n)
    done = socialcrawl("verify", database)
    assert done.returncode == 1
    assert f"differs: pick {n}, score: stored 0.5, recomputed {score!r}" in done.stdout
    assert "1 value differs." in done.stdout
    assert CHANGED not in done.stdout, "all of its estimators are built in"
    told = socialcrawl("verify", database, "--campaign", "collected", "--json")
    assert told.returncode == 1
    found = json.loads(told.stdout)
    assert found["agrees"] is False
    (differs,) = [one for check in found["verified"][0]["checks"] for one in check["differences"]]
    assert differs == {"place": f"pick {n}", "column": "score", "stored": 0.5, "recomputed": score}


@pytest.mark.parametrize(
    ("crawl", "added"),
    [
        ({"estimator": "hybrid-sum", "start": "bfs", "shadows": ["random"]}, False),
        ({"estimator": "sklearn.linear_model.Ridge"}, True),
        ({"shadows": ["sklearn.linear_model.Ridge"]}, True),
        ({"strategy": "collections:OrderedDict"}, True),
    ],
    ids=["built in", "estimator", "shadow", "strategy"],
)
def test_a_changed_estimator_is_named_as_a_cause_only_where_one_is_not_built_in(crawl, added):
    assert CrawlSection.model_construct(**{**CrawlSection().model_dump(), **crawl}).runs_added == added
    found = [CheckResults("sky", "collect", [Check("picks", differing=1)], added)]
    assert (" ".join(CHANGED.split()) in " ".join(render_text(lambda console: show(console, found)).split())) == added


@pytest.mark.parametrize(
    ("words", "said"),
    [(("none.db",), "There is no database none.db"), (("a.db", "--campaign", "other"), "no campaign 'other'")],
)
def test_what_cannot_be_verified_is_told(words, said, tmp_path):
    copied("collect", tmp_path).rename(tmp_path / "a.db")
    done = socialcrawl("verify", *words, folder=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
