"""What docs/explanation/guarantees.md promises, held against real processes, real signals and disks that fill up.

A campaign is run against the mock in child processes that are killed at random moments, on both databases, and compared
with one that nobody disturbed. It takes some 65 requests and 1,200 statements, of which each start takes 40.
"""

import random
import signal
import sys

import pytest
from killed_campaigns import DONE, TROUBLE, Reaper, nursery
from postgres import a_place
from stores import opened
from x_crawls import TOKEN_ENV, TOPIC, posts

from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.address import PostgresAddress

FORKED = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked and limited")
pytestmark = FORKED
K, D, SIZE = 40, 0.6, 3
SERVED = {"limit": K, "window": D}
REQUESTS, STATEMENTS = 24, 300  # within so many each child is killed
MANY = 100_000  # requests in a window: no need to wait
# What a campaign has found, in the platform's own names; instants and counts that the platform may change left out.
WHO = "coalesce(a.platform_id, a.username, cast(p.node as text))"
FOUND = {
    "picks": f"select p.n, p.batch, p.act, {WHO}, p.score, p.features from pick p "
    "left join account a on a.node = p.node order by p.n",
    "outcomes": "select n, value, occurrences, posts, missing from outcome order by n",
    "links": "select l.n, l.position, coalesce(a.platform_id, a.username), l.alpha from link l "
    "join account a on a.node = l.node order by 1, 2",
    "posts": "select p.id, a.platform_id, p.created_at, p.text, p.hashtags from post p "
    "join account a on a.node = p.author order by 1",
    "mentions": "select m.post, coalesce(a.platform_id, a.username), m.kind from mention m "
    "join account a on a.node = m.node order by 1, 2",
    "hits": "select post, occurrences from hit order by 1",
    "profiles": "select platform_id, username, name, description from account where profile_at is not null order by 1",
}


def settings(url, place, k=K, d=D):
    return {
        "name": "campaign",
        "database": place.url if isinstance(place, PostgresAddress) else str(place),
        "topic": {"keywords": [TOPIC]},
        "seeds": {"most": 10},
        "crawl": {"estimator": "hybrid-sum", "switch_after": 15, "steps": 45, "refresh_rate": SIZE},
        "source": {"token_env": TOKEN_ENV, "base_url": url, "pages_per_user": 32, "timeout": 60.0},
        "limits": {"k": k, "d": d, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5},
    }


def found(place):
    with opened(place) as connection, connection.begin():
        return {name: [tuple(row) for row in connection.exec_driver_sql(sql)] for name, sql in FOUND.items()}


def ledger(place):
    """(requests, those whose reply never came)."""
    with opened(place) as connection, connection.begin():
        counts = "select count(*), count(*) - count(arrived_at) from request"
        return tuple(connection.exec_driver_sql(counts).one())


def find_undisturbed(folder, *, given=settings, found=found, serving=None):
    """What a campaign finds that nobody kills."""
    with (
        a_place("sqlite") as place,
        serve_in_thread(posts(), **(serving or SERVED)) as mock,
        nursery(folder / "err") as made,
    ):
        assert made.run(given(mock.url, place)) == DONE
        return found(place)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    whole = find_undisturbed(tmp_path_factory.mktemp("whole"))
    acts = [row[2] for row in whole["picks"]]
    assert (acts.count("expand"), acts.count("seed"), acts.count("search")) == (45, 10, 1)
    assert all(whole.values())
    return whole


def killed_to_the_end(made, reaper, draw, given):
    """Run a campaign again and again, killing it at a random moment, until it is done; the number of kills.

    Every second child on average is killed as a request arrives, wherever its own thread is then; the others kill
    themselves before a statement or commit.
    """
    kills = 0
    while True:
        if draw.random() < 0.5:
            with reaper.kills(made.begin(given), draw.randrange(REQUESTS)):
                code = made.end()  # the child is not reaped before: its number is its own
        else:
            code = made.run(given, statement=draw.randrange(1, STATEMENTS))
        if code == DONE:
            return kills
        assert code == -signal.SIGKILL
        kills += 1


def hold_the_guarantee(
    kind, kills, undisturbed, folder, *, given=settings, found=found, serving=None, cut_every=0, check=None
):
    """`cut_every`: requests after which the server disconnects once; `check`: looks at the place of each campaign."""
    draw, reaper = random.Random(kills), Reaper(cut_every)
    killed = 0
    with nursery(folder / "err") as made:
        while killed < kills:
            with a_place(kind) as place, serve_in_thread(posts(), reaper, **(serving or SERVED)) as mock:
                cuts = reaper.cuts
                times = killed_to_the_end(made, reaper, draw, given(mock.url, place))
                killed, cuts = killed + times, reaper.cuts - cuts
                whole = found(place)
                for name, rows in undisturbed.items():
                    assert whole[name] == rows, f"{name} differ after {times} kills"
                assert [row[0] for row in whole["picks"]] == list(range(len(whole["picks"])))
                requests, lost = ledger(place)
                report = mock.report()
                received = sum(report["received"].values())
                assert lost <= times * SIZE + cuts, "more was lost than was in flight"
                assert received <= requests, "a request left that was not reserved before"
                assert report["over"] == 0, "the limits held through every kill"
                if check is not None:
                    check(place)
    assert reaper.cuts >= (kills // 4 if cut_every else 0)
    assert (folder / "err").read_text() == ""


def test_a_campaign_killed_at_random_moments_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 8, undisturbed, tmp_path)


@pytest.mark.chaos
def test_a_campaign_killed_five_hundred_times_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 500, undisturbed, tmp_path)


def test_a_disk_that_fills_up_again_and_again_costs_nothing_but_time(undisturbed, tmp_path):
    with (
        a_place("sqlite") as place,
        serve_in_thread(posts(), limit=MANY, window=60.0) as mock,
        nursery(tmp_path / "err") as made,
    ):
        room, stops = place.stat().st_size + 4096, 0
        while (code := made.run(settings(mock.url, place, MANY, 60.0), room)) != DONE:
            assert code == TROUBLE
            stops += 1
            room += 40_960
            with opened(place) as connection, connection.begin():
                assert connection.exec_driver_sql("pragma integrity_check").scalar() == "ok"
        assert stops > 5
        assert found(place) == undisturbed
    complaints = (tmp_path / "err").read_text().splitlines()
    assert len(complaints) == stops
    assert all("The disk is full or failing" in line and "is safe" in line for line in complaints)


FULL = """
create function full_disk() returns trigger language plpgsql as $$ begin
  if random() < 0.03 then raise exception using errcode = '{code}', message = 'could not extend file'; end if;
  return new;
end $$;
"""


@pytest.mark.parametrize("code", ["53100", "58030"], ids=["full", "failing"])
def test_a_server_whose_disk_is_full_or_failing_now_and_then_costs_nothing_but_time(code, undisturbed, tmp_path):
    with (
        a_place("postgres") as place,
        serve_in_thread(posts(), limit=MANY, window=60.0) as mock,
        nursery(tmp_path / "err") as made,
    ):
        with opened(place) as connection, connection.begin():
            connection.exec_driver_sql(FULL.replace("{code}", code))
            for table in ("request", "outcome", "pick", "account"):
                connection.exec_driver_sql(
                    f"create trigger full_disk before insert or update on {table} "
                    "for each row execute function full_disk()"
                )
        stops = 0
        while (ended := made.run(settings(mock.url, place, MANY, 60.0))) != DONE:
            assert ended == TROUBLE
            stops += 1
        assert stops > 3
        assert found(place) == undisturbed
    complaints = (tmp_path / "err").read_text().splitlines()
    assert len(complaints) == stops
    assert all("has no room or resources left" in line and "is safe" in line for line in complaints)
