"""The daemon on a virtual clock: files, pauses, takeovers, trouble, schedules, a clock that is set."""

import os
import sqlite3
import threading
from contextlib import ExitStack, closing, contextmanager
from time import monotonic
from types import SimpleNamespace

import pytest
from postgres import a_server_database, ask, stopped
from structlog.testing import capture_logs
from virtual_weeks import BEGIN, TOPICS, WINDOW, K, Virtual, Week, a_mock, campaign_text, in_windows
from x_crawls import TOKEN, TOKEN_ENV, posts_file, rows

from socialcrawl.campaign.build import build
from socialcrawl.daemon import campaign_folder as folders
from socialcrawl.daemon.campaign_folder import CampaignFolder
from socialcrawl.daemon.campaign_state import BROKEN, DONE, ELSEWHERE, LEFT, PAUSED, RESTING, STALLED, STOPPED, WAITING
from socialcrawl.daemon.daemon_records import DaemonRecords
from socialcrawl.daemon.database_threads import DatabaseThreads
from socialcrawl.engine.model import format_time
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage import daemons
from socialcrawl.storage.database import connection as database
from socialcrawl.storage.database.connection import open_database
from socialcrawl.storage.database.disk_space import AGAIN, DiskSpace, measure_disk

HOUR = 3600.0


class World:
    """A folder of campaigns, a mock and a virtual clock; things are done at instants of it."""

    def __init__(self, folder, time, mock):
        self.folder, self.time, self.mock = folder, time, mock
        self.plans = []
        self.week, self.disk = None, measure_disk

    def write(self, name, more="", keyword=TOPICS[0], database="week.db"):
        text = campaign_text(name, self.mock.url, keyword, more).replace("week.db", database)
        (self.folder / f"{name}.toml").write_text(text, "utf-8")

    def at(self, hours, deed):
        self.plans.append((BEGIN + hours * HOUR, deed))

    def live(self, hours, look=60.0):
        def each(now):
            due = [plan for plan in self.plans if plan[0] <= now]
            self.plans = [plan for plan in self.plans if plan[0] > now]
            for _, deed in due:
                deed()

        self.week = Week(self.folder, self.time, BEGIN + hours * HOUR, each, look, disk=self.disk)
        late = self.week.run()
        assert not late
        assert not self.plans
        return self.week

    def states(self, name):
        """The states that a campaign came into, one after the other."""
        found = [state for _, campaign, state, _ in self.week.states if campaign == name]
        return [state for i, state in enumerate(found) if not i or found[i - 1] != state]

    def why(self, name, state):
        return [why for _, campaign, its, why in self.week.states if (campaign, its) == (name, state)]

    def since(self, name, state):
        return [(at - BEGIN) / HOUR for at, campaign, its, _ in self.week.states if (campaign, its) == (name, state)]

    def asked(self):
        return sum(window["requests"] for window in in_windows(self.mock.report()))

    def sql(self, query, *given):
        return rows(self.folder / "week.db", query, *given)

    def execute(self, statement):
        with closing(sqlite3.connect(self.folder / "week.db")) as raw, raw:
            raw.execute(statement)

    def sql_in(self, folder, query):
        return rows(folder / "week.db", query)


@pytest.fixture
def world(tmp_path):
    time = Virtual()
    with a_mock(posts_file(), time) as mock:
        yield World(tmp_path, time, mock)
        assert mock.report()["over"] == 0


def test_one_campaign_alone_has_the_whole_window_and_ends_where_its_steps_do(world):
    world.write("alone", "[budget]\nmax_requests = 40\n")
    world.live(3)
    assert world.states("alone")[-1] == STOPPED
    assert "max_requests" in world.why("alone", STOPPED)[0]
    assert [window["requests"] for window in in_windows(world.mock.report())][:2] == [K, K]


def test_a_daemon_reads_the_ledger_of_a_campaign_once_at_its_start(world, monkeypatch):
    world.write("alone", "[budget]\nmax_requests = 20\n")
    world.live(0.1)
    folds, fold = [], WindowPlanner.fold

    def folded(self, ledger, now):
        folds.append(len(list(ledger)))
        fold(self, ledger, now)

    monkeypatch.setattr(WindowPlanner, "fold", folded)
    before = world.sql("select count(*) from request")[0][0]
    world.live(0.2)
    assert folds == [before]


def test_a_keyword_that_an_earlier_version_took_is_logged_when_its_campaign_resumes(world):
    world.write("alone", "[budget]\nmax_requests = 20\n")
    world.live(0.1)
    for column in ("identity", "settings"):
        world.execute(f"update campaign set {column} = json_set({column}, '$.topic.keywords', json_array('sun, moon'))")
    world.write("alone", "[budget]\nmax_requests = 30\n", "sun, moon")
    logged = world.live(0.2).logged
    (line,) = [line for line in logged if line["event"] == "a keyword of the campaign is doubtful"]
    assert (line["level"], line["campaign"]) == ("warning", "alone")
    assert line["why"].startswith("[topic] keywords: 'sun, moon' would be searched as one phrase")


def test_weights_divide_a_token(world):
    world.write("heavy", "weight = 2.0\n")
    world.write("light", "", TOPICS[1])
    world.live(4)
    (heavy,), (light,) = world.sql(
        "select count(*) from request join campaign c on c.id = campaign "
        "where endpoint like '%tweets' and sent_at >= '2027-01-15T09' group by c.name order by c.name"
    )
    assert 1.7 < heavy / light < 2.3


def test_a_campaign_that_is_paused_leaves_its_share_to_the_others_and_goes_on_when_it_is_resumed(world):
    world.write("one")
    world.write("two", "", TOPICS[1])

    def pause():
        with open_database(world.folder / "week.db") as connection:
            assert daemons.pause_campaigns(connection, ["one"], world.time.now()) == ["one"]

    def resume():
        with open_database(world.folder / "week.db") as connection:
            assert daemons.resume_campaigns(connection, ["one"]) == ["one"]

    world.at(1.1, pause)
    world.at(2.1, resume)
    world.live(3)
    states = world.states("one")
    assert states[states.index(PAUSED) + 1] == WAITING
    between = (
        "select count(*) from request join campaign c on c.id = campaign where c.name = ? and sent_at between ? and ?"
    )
    assert world.sql(between, "one", "2027-01-15T09:10", "2027-01-15T10:05")[0][0] == 0
    assert world.sql(between, "two", "2027-01-15T09:10", "2027-01-15T10:05")[0][0] > 3 * K
    assert world.sql(between, "one", "2027-01-15T10:10", "2027-01-15T11:00")[0][0] > K


def test_a_turn_that_is_paused_and_resumed_goes_on_to_its_end(world):
    """As a backup of every night does while a campaign has the whole night."""
    world.write("one", "[schedule]\nevery = '9h'\nlasting = '3h'\n")

    def change(deed):
        with open_database(world.folder / "week.db") as connection:
            assert deed(connection, ["one"]) == ["one"]

    world.at(1.1, lambda: change(lambda *given: daemons.pause_campaigns(*given, world.time.now())))
    world.at(1.3, lambda: change(daemons.resume_campaigns))
    world.live(6)
    (ended,) = world.since("one", RESTING)
    assert 2.7 < ended < 3.05
    assert world.asked() > 10 * K


def test_a_campaign_that_was_paused_stays_so_when_another_daemon_begins(world):
    world.write("one")
    world.live(0.1)
    with open_database(world.folder / "week.db") as connection:
        daemons.pause_campaigns(connection, ["one"], world.time.now())
    before = world.asked()
    world.live(1.0)
    assert world.states("one") == [PAUSED]
    assert world.asked() <= before


def test_a_daemon_that_is_asked_to_stop_from_another_terminal_stops(world):
    world.write("one")

    def stop():
        with open_database(world.folder / "week.db") as connection:
            assert len(daemons.request_stop(connection, world.time.now())) == 1

    world.at(0.5, stop)
    week = Week(world.folder, world.time, BEGIN + 5 * HOUR, lambda now: stop() if now >= BEGIN + HOUR else None, 60.0)
    assert week.run() == []
    assert world.time.now() < BEGIN + 1.1 * HOUR
    with open_database(world.folder / "week.db") as connection:
        assert daemons.find_live_daemons(connection, world.time.now()) == []
        (one,) = daemons.read_leases(connection)
    assert one.state == STOPPED
    assert one.released is not None


def test_a_broken_file_stops_its_campaign_only_and_a_mended_one_goes_on(world):
    world.write("good")
    world.write("bad", "", TOPICS[1])
    file = world.folder / "bad.toml"
    text = file.read_text("utf-8")
    world.at(0.6, lambda: file.write_text(text + "\nkeywrods = 3\n", "utf-8"))
    world.at(1.6, lambda: file.write_text(text, "utf-8"))
    world.live(3)
    assert BROKEN in world.states("bad")
    assert "keywrods" in world.why("bad", BROKEN)[0]
    assert BROKEN not in world.states("good")
    states = world.states("bad")
    assert WAITING in states[states.index(BROKEN) :]
    during = world.sql(
        "select c.name, count(*) from request join campaign c on c.id = campaign "
        "where sent_at between '2027-01-15T08:45' and '2027-01-15T09:30' group by c.name"
    )
    assert dict(during).keys() == {"good"}


def test_a_file_that_was_never_understood_is_told_and_the_others_run(world):
    world.write("good")
    (world.folder / "never.toml").write_text("name = 3\n", "utf-8")
    world.live(0.5)
    assert world.states("never") == [BROKEN]
    assert world.asked() > 0


def test_an_error_of_ours_in_one_campaign_ends_no_other(world, monkeypatch):
    world.write("good")
    world.write("bad")

    def built(settings, *given, **more):
        if settings.name == "bad":
            raise TypeError("nobody thought of this")
        return build(settings, *given, **more)

    monkeypatch.setattr("socialcrawl.daemon.campaign_runner.build", built)
    world.live(1)
    assert world.states("bad")[0] == "broken"
    assert world.why("bad", "broken")[0] == "an error of socialcrawl itself, see the log"
    assert world.asked() > 10


def test_a_second_file_of_the_same_campaign_is_refused(world):
    world.write("one")
    text = (world.folder / "one.toml").read_text("utf-8")
    (world.folder / "two.toml").write_text(text, "utf-8")
    world.live(0.5)
    assert world.states("two") == [BROKEN]
    assert "rename one" in world.why("two", BROKEN)[0]


@pytest.mark.parametrize("known_by", ["the daemon that ran it", "its settings"])
def test_a_copy_that_was_edited_and_comes_first_in_the_alphabet_does_not_take_the_place_of_its_campaign(
    world, known_by
):
    """It would change the topic: a new epoch, and all that is stored counted anew."""
    world.write("one", f"# {known_by}\n")
    world.live(0.3)
    if known_by == "its settings":
        world.execute("update lease set file = null")
    text = (world.folder / "one.toml").read_text("utf-8")
    (world.folder / "a-copy.toml").write_text(text.replace(TOPICS[0], TOPICS[1]), "utf-8")
    before = world.asked()
    world.live(1.0)
    assert world.states("a-copy") == [BROKEN]
    assert world.why("a-copy", BROKEN)[0].startswith(f"{world.folder / 'a-copy.toml'} is left out: ")
    assert BROKEN not in world.states("one")
    assert world.asked() > before
    assert world.sql("select why from epoch") == [("begun",)]
    assert world.sql("select file from lease") == [(str(world.folder / "one.toml"),)]


def test_a_copy_is_taken_where_the_file_of_its_campaign_is_gone(world):
    world.write("one", "[budget]\nmax_requests = 20\n")
    world.live(0.3)
    (world.folder / "one.toml").rename(world.folder / "a-copy.toml")
    world.live(0.6)
    assert world.sql("select file, state from lease") == [(str(world.folder / "a-copy.toml"), STOPPED)]


def test_a_file_that_appears_is_taken_in_and_one_that_goes_stops_its_campaign(world):
    world.write("one")
    world.at(0.6, lambda: world.write("late", "", TOPICS[1]))
    world.at(1.6, (world.folder / "one.toml").unlink)
    world.live(3)
    assert world.sql("select count(*) from request join campaign c on c.id = campaign where c.name = 'late'")[0][0] > K
    assert world.sql("select max(sent_at) from request join campaign c on c.id = campaign where c.name = 'one'") < [
        ("2027-01-15T09:40",)
    ]


def test_an_edited_budget_lets_a_stopped_campaign_go_on(world):
    world.write("one", "[budget]\nmax_requests = 20\n")
    world.at(1.0, lambda: world.write("one", "[budget]\nmax_requests = 40\n"))
    world.live(2)
    assert world.states("one").count(STOPPED) >= 2
    assert world.sql("select count(*) from request where kind <> 'held'") == [(40,)]
    versions = world.sql("select number, changed from version order by number")
    assert versions == [(0, "[]"), (1, '["budget.max_requests"]')]


def test_an_edited_topic_begins_an_epoch_and_the_campaign_goes_on(world):
    world.write("one")
    world.at(1.0, lambda: world.write("one", "", TOPICS[1]))
    world.live(2.5)
    ((first, why),) = world.sql('select "first", why from epoch where number = 1')
    assert "topic" in why
    assert world.sql("select act from pick where n = ?", first) == [("search",)]
    assert world.sql("select count(*) from pick where n > ?", first)[0][0] > K


def test_a_token_that_vanishes_is_said_waited_for_and_found_again(world, monkeypatch, tmp_path):
    kept = tmp_path / "token"
    kept.write_text(TOKEN)
    monkeypatch.setenv("GONE_TOKEN_FILE", str(kept))
    world.write("one")
    file = world.folder / "one.toml"
    file.write_text(file.read_text("utf-8").replace(TOKEN_ENV, "GONE_TOKEN") + "[schedule]\nevery = '20m'\n", "utf-8")
    world.at(0.6, lambda: kept.rename(tmp_path / "away"))
    world.at(2.0, lambda: (tmp_path / "away").rename(kept))
    world.live(3)
    assert "GONE_TOKEN_FILE" in world.why("one", BROKEN)[0]
    assert TOKEN not in str(world.week.states)
    states = world.states("one")
    assert RESTING in states[states.index(BROKEN) :]


@contextmanager
def away(path):
    """A database that cannot be opened meanwhile."""
    aside = path.with_name("aside")
    for name in ("", "-wal", "-shm"):
        if (one := path.with_name(path.name + name)).exists():
            one.rename(aside.with_name(f"aside{name}"))
    path.mkdir()
    yield
    path.rmdir()
    for name in ("", "-wal", "-shm"):
        if (one := aside.with_name(f"aside{name}")).exists():
            one.rename(path.with_name(path.name + name))


def test_a_database_that_is_away_is_said_and_waited_for(world):
    world.write("one", "[schedule]\nevery = '20m'\n")
    gone = away(world.folder / "week.db")
    world.at(0.6, gone.__enter__)
    world.at(1.6, lambda: gone.__exit__(None, None, None))
    world.live(3)
    assert BROKEN in world.states("one")
    states = world.states("one")
    assert RESTING in states[states.index(BROKEN) :]
    assert world.sql("pragma integrity_check") == [("ok",)]
    assert world.sql("select count(*) from request where sent_at > '2027-01-15T09:40'")[0][0] > 0


def test_a_refused_token_is_tried_again_later(world, monkeypatch):
    monkeypatch.setenv("WRONG", "AAAA-a-token-that-is-not-known")
    world.write("one")
    file = world.folder / "one.toml"
    file.write_text(file.read_text("utf-8").replace(TOKEN_ENV, "WRONG"), "utf-8")
    with a_mock(posts_file(), world.time, tokens=frozenset([TOKEN])) as strict:
        file.write_text(file.read_text("utf-8").replace(world.mock.url, strict.url), "utf-8")
        world.live(2)
    assert world.states("one")[-1] == STOPPED
    assert "tried again" in world.why("one", STOPPED)[0]
    asked = [at for (at,) in world.sql("select sent_at from request where kind = 'refused' order by sent_at")]
    assert len(asked) >= 2


@pytest.mark.parametrize("by", [HOUR, -HOUR], ids=["an hour forward", "an hour back"])
def test_a_clock_that_is_set_is_said_and_the_windows_last_as_long_as_ever(tmp_path, by):
    """The mock's clock is right; ours is set in the middle of a window."""
    time = Virtual()
    follow, moved = time.follow, []

    def followed():
        moved.append(follow())
        return moved[-1]

    time.follow = followed
    true = SimpleNamespace(now=lambda: time.now() - sum(moved))
    with a_mock(posts_file(), true) as mock:
        world = World(tmp_path, time, mock)
        world.write("one")
        world.write("two", "", TOPICS[1])
        world.at(0.55, lambda: setattr(time, "set_by", by))
        world.live(3 + by / HOUR)
        report = mock.report()
    assert moved == [by]
    assert report["over"] == 0
    assert sum(window["requests"] for window in in_windows(report)) >= K * (3 * HOUR // WINDOW - 1)
    assert max(at for (at,) in world.sql("select max(sent_at) from request")) <= format_time(time.now())


def test_a_campaign_of_the_night_works_at_night_only(world):
    world.write("one", "[schedule]\nbetween = '22:00-02:00'\n")
    world.live(24)
    hours = {int(at[11:13]) for (at,) in world.sql("select sent_at from request")}
    assert hours <= {22, 23, 0, 1}
    assert hours
    assert RESTING in world.states("one")


def test_a_cron_campaign_works_at_its_times_until_it_has_to_wait(world):
    world.write("one", "[schedule]\ncron = '0 */6 * * *'\n")
    world.live(24)
    hours = {at[11:16] for (at,) in world.sql("select sent_at from request where endpoint like '%tweets'")}
    assert hours == {"00:00", "06:00", "12:00", "18:00"}
    assert [window["requests"] for window in in_windows(world.mock.report())] == [K] * 4


def test_campaigns_of_one_name_in_two_databases_share_a_token_too(world):
    world.write("one", database="week.db")
    other = world.folder / "other.toml"
    other.write_text((world.folder / "one.toml").read_text("utf-8").replace("week.db", "second.db"), "utf-8")
    world.live(2)
    first = world.sql("select count(*) from request where endpoint like '%tweets'")[0][0]
    second = rows(world.folder / "second.db", "select count(*) from request where endpoint like '%tweets'")[0][0]
    assert first + second >= 7 * K
    assert second > 2 * K


def test_a_campaign_that_another_process_runs_is_taken_over_when_that_lets_go(world):
    world.write("one")
    world.live(0.1)
    holder = "elsewhere:9:then"
    path = world.folder / "week.db"

    def beat():
        with open_database(path) as connection:
            daemons.enroll_daemon(connection, holder, "elsewhere", 9, world.time.now())
            connection.exec_driver_sql("update lease set released_at = '2027-01-15T08:10:00.000000Z'")
            connection.commit()
            daemons.write_heartbeat(
                connection,
                holder,
                [daemons.CampaignHeartbeat("one", "running", "it asks", None, None, held=True)],
                world.time.now(),
            )

    beat()
    for beats in range(1, 180):
        world.at(0.1 + beats * 10 / HOUR, beat)  # half an hour long
    world.live(1.5, look=10.0)
    assert ELSEWHERE in world.states("one")
    assert "elsewhere:9:then" in world.why("one", ELSEWHERE)[0]
    sent = "select count(*) from request where sent_at between ? and ?"
    during = world.sql(sent, "2027-01-15T08:07", "2027-01-15T08:35")
    assert during == [(0,)]
    assert world.sql("select count(*) from request where sent_at > '2027-01-15T08:37'")[0][0] > 0


def test_whoever_takes_over_a_campaign_with_another_topic_in_its_file_logs_it(world):
    world.write("one")

    def take_over():
        daemon = world.week.daemon
        (runner,) = daemon.runners.values()
        with capture_logs() as same:
            daemon._note_taken(runner, None)
        topic = runner.settings.topic.model_copy(update={"keywords": [TOPICS[1]]})
        runner.settings = runner.settings.model_copy(update={"topic": topic})
        with capture_logs() as other:
            daemon._note_taken(runner, None)
        told.extend((same, other))

    told = []
    world.at(0.5, take_over)
    world.live(1)
    same, other = told
    assert [one["event"] for one in same] == ["taken over"]
    assert [one.get("keys") for one in other] == [None, ["topic.keywords"]]


def test_what_daemons_write_down_outlives_them(world):
    world.write("one")
    world.live(1)
    with sqlite3.connect(world.folder / "week.db") as connection:
        ((host, pid, ended),) = connection.execute("select host, pid, ended_at from daemon").fetchall()
        ((state, released),) = connection.execute("select state, released_at from lease").fetchall()
    connection.close()
    assert (host, pid, state) == ("here", 1, STOPPED)
    assert ended is not None
    assert released is not None


def test_a_campaign_that_stalls_is_told(world, monkeypatch):
    world.write("one")
    week = Week(world.folder, world.time, BEGIN + 3 * HOUR, look=60.0)
    week.daemon.overview.stall = 600.0
    at_once = week.daemon.scheduler.add_once

    def forgetful(when, name, job):
        """A scheduler that loses the job after an hour."""
        if name == "look" or when < BEGIN + HOUR:
            at_once(when, name, job)

    week.daemon.scheduler.add_once = forgetful
    week.run()
    world.week = week
    assert STALLED in world.states("one")
    assert "waits for" in world.why("one", STALLED)[0]


def test_done_stays_done_and_gives_its_memory_back(world):
    world.write("one", "")
    file = world.folder / "one.toml"
    file.write_text(file.read_text("utf-8").replace("[crawl]\n", "[crawl]\nsteps = 5\n"), "utf-8")
    world.live(1)
    assert world.states("one")[-2:] == [DONE, STOPPED] or world.states("one")[-1] == DONE
    assert all(not runner.open for runner in world.week.daemon.runners.values())
    assert os.environ[TOKEN_ENV] == TOKEN


def test_a_server_that_is_away_is_said_and_waited_for(world):
    """PostgreSQL ends our sessions and lets nobody in for half an hour."""
    with a_server_database() as place:
        name = place.url.split("?")[0].rsplit("/", 1)[1]
        world.write("one", "[schedule]\nevery = '10m'\n", database=str(place.url))

        def shut():
            ask(f"alter database {name} allow_connections false")
            ask(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")

        world.at(0.6, shut)
        world.at(1.1, lambda: ask(f"alter database {name} allow_connections true"))
        world.live(2)
        with open_database(place) as connection, connection.begin():
            picks = connection.exec_driver_sql("select n from pick order by n").scalars().all()
            late = connection.exec_driver_sql(
                "select count(*) from request where sent_at > '2027-01-15T09:07'"
            ).scalar()
    assert BROKEN in world.states("one")
    states = world.states("one")
    assert RESTING in states[states.index(BROKEN) :]
    assert picks == list(range(len(picks)))
    assert late > 0


def test_a_server_that_hangs_is_said_and_waited_for_while_the_others_go_on(world, monkeypatch):
    """PostgreSQL is stopped for a quarter of an hour: it answers nothing, and closes nothing."""
    monkeypatch.setattr(database, "SILENCE", 0.3)
    monkeypatch.setattr(database, "CONNECTING", 2)
    monkeypatch.setattr(database, "HASTY", 2)
    world.write("file")
    with a_server_database() as place, ExitStack() as undo:
        world.write("hung", "", TOPICS[1], database=str(place.url))
        world.at(0.6, lambda: undo.enter_context(stopped()))
        world.at(0.85, undo.close)
        world.live(2, look=300.0)
        with open_database(place) as connection, connection.begin():
            picks = connection.exec_driver_sql("select n from pick order by n").scalars().all()
            late = connection.exec_driver_sql("select count(*) from request where sent_at > '2027-01-15T09'").scalar()
    assert "no answer" in world.why("hung", BROKEN)[0]
    assert BROKEN not in world.states("file")
    assert world.states("hung")[-1] != BROKEN
    assert picks == list(range(len(picks)))
    assert late > 0


def test_a_campaign_that_is_done_paused_or_stopped_stays_so_over_a_restart(world):
    world.write("brief")
    file = world.folder / "brief.toml"
    file.write_text(file.read_text("utf-8").replace("[crawl]\n", "[crawl]\nsteps = 5\n"), "utf-8")
    world.write("poor", "[budget]\nmax_requests = 20\n")
    world.write("long", "", TOPICS[1])
    world.live(1)
    left = "select c.name, state, why, moved_at from lease join campaign c on c.id = lease.campaign order by c.name"
    brief, long, poor = world.sql(left)
    assert (brief[1], poor[1], long[1:3]) == (DONE, STOPPED, (STOPPED, LEFT))
    assert None not in (brief[3], poor[3])
    world.live(1.001)
    assert (world.states("brief"), world.states("poor")) == ([], [])
    assert [row for row in world.sql(left) if row[0] != "long"] == [brief, poor]


def test_what_has_ended_stays_so_where_a_daemon_lacks_its_token_and_what_has_not_is_broken(world, monkeypatch):
    world.write("poor", "[budget]\nmax_requests = 20\n")
    world.write("long", "", TOPICS[1])
    world.live(1)
    ended = world.sql("select state, why from lease join campaign c on c.id = lease.campaign where c.name = 'poor'")
    monkeypatch.delenv(TOKEN_ENV)
    world.live(1.2)
    assert world.states("poor") == []
    assert world.states("long") == [BROKEN]
    after = "select state, why from lease join campaign c on c.id = lease.campaign where c.name = 'poor'"
    assert world.sql(after) == ended


def test_a_database_that_hangs_is_waited_for_in_a_thread_of_its_own():
    hands, freed, done = DatabaseThreads(), threading.Event(), []
    hung = hands.do("hung", freed.wait)
    last = hands.do("hung", lambda: done.append("hung"))
    hands.do("other", lambda: done.append("other")).result(30)
    assert (done, hands.is_busy("hung"), hung.done()) == (["other"], True, False)
    freed.set()
    last.result(30)
    hands.shut_down()
    assert done == ["other", "hung"]


def test_a_campaign_pauses_before_its_disk_is_full_and_goes_on_when_there_is_room(world):
    free, builds = [10**9], []
    world.disk = lambda file: DiskSpace(free[0], 10**12)
    world.write("one", 'min_free_disk = "500 MB"\n')
    world.write("other", 'min_free_disk = "100 MB"\n', TOPICS[1])
    world.at(0.6, lambda: free.__setitem__(0, 499_999_999))
    world.at(1.1, lambda: free.__setitem__(0, 510_000_000))  # not enough more to begin again
    world.at(1.6, lambda: free.__setitem__(0, 560_000_000))

    def opened_meanwhile():
        (one,) = [one for one in world.week.daemon.runners.values() if one.name == "one"]
        builds.append(one.open)

    for minutes in range(60, 90):
        world.at(minutes / 60, opened_meanwhile)
    world.live(2.5)
    assert world.states("one")[-2:] == [WAITING, STOPPED]
    assert STOPPED in world.states("one")[:-1]
    assert world.why("one", STOPPED)[0].startswith("less than 500 MB are free on the disk of")
    assert len(world.why("one", STOPPED)) == 2  # once for the disk, once at the end
    assert not any(builds)
    since = world.since("one", STOPPED)[0]
    sent = (
        "select count(*) from request r join campaign c on c.id = campaign where c.name = ? and sent_at between ? and ?"
    )
    between = format_time(BEGIN + since * HOUR + 60), format_time(BEGIN + 1.6 * HOUR)
    assert world.sql(sent, "one", *between) == [(0,)]
    assert world.sql(sent, "other", *between)[0][0] > K
    assert (
        world.sql(sent, "one", format_time(BEGIN + 1.6 * HOUR), format_time(BEGIN + 1.6 * HOUR + AGAIN + 2 * WINDOW))[
            0
        ][0]
        > 0
    )


def test_a_campaign_that_is_done_is_done_on_a_disk_that_is_full(world):
    world.write("one")
    file = world.folder / "one.toml"
    file.write_text(file.read_text("utf-8").replace("[crawl]\n", "[crawl]\nsteps = 5\n"), "utf-8")
    world.live(1)
    world.disk = lambda file: DiskSpace(0, 10**12)
    file.write_text(file.read_text("utf-8") + "weight = 2.0\n", "utf-8")
    world.live(1.1)
    assert world.states("one") == []
    assert world.sql("select state from lease") == [(DONE,)]


def test_a_window_that_is_shorter_than_the_table_says_is_shared_as_it_is(tmp_path):
    """The headers tell: nobody waits for his share of a window that is long over."""
    time = Virtual()
    with serve_in_thread(posts_file(), None, time.now, limit=20, window=60.0) as mock:
        world = World(tmp_path, time, mock)
        for number in range(3):
            world.write(f"c{number}", "", TOPICS[number % 2])
            file = world.folder / f"c{number}.toml"
            file.write_text(file.read_text("utf-8").replace("[limits]\nk = 15\nd = 900\n", ""), "utf-8")
        world.live(0.5)
        windows = in_windows(mock.report())
        assert mock.report()["over"] == 0
    assert sum(window["requests"] for window in windows) >= 0.9 * 20 * 30
    told = [n for (n,) in world.sql("select count(*) from request where endpoint like '%tweets' group by campaign")]
    assert min(told) > 0.8 * max(told)


def test_a_database_file_that_is_taken_away_is_said_and_no_other_is_begun_in_its_place(world):
    world.write("one")
    path = world.folder / "week.db"

    def away():
        for name in ("week.db", "week.db-wal", "week.db-shm"):
            if (world.folder / name).exists():
                (world.folder / name).rename(world.folder / f"gone-{name}")

    def back():
        assert not path.exists()
        for file in world.folder.glob("gone-*"):
            file.rename(world.folder / file.name.removeprefix("gone-"))

    world.at(0.4, away)
    world.at(0.9, lambda: world.write("one", "[budget]\nmax_requests = 60\n"))  # it would be opened anew
    world.at(1.4, back)
    world.live(3)
    assert "is gone" in world.why("one", BROKEN)[0]
    assert world.states("one")[-1] == STOPPED
    assert world.sql("select count(*) from request where kind <> 'held'") == [(60,)]
    picks = [n for (n,) in world.sql("select n from pick order by n")]
    assert picks == list(range(len(picks)))


def test_a_folder_that_is_away_stops_nothing_but_is_told(world, tmp_path):
    folder = tmp_path / "campaigns"
    folder.mkdir()
    inside = World(folder, world.time, world.mock)
    inside.write("one", database=str(tmp_path / "week.db"))
    aside = tmp_path / "aside"
    inside.at(0.4, lambda: folder.rename(aside))
    inside.at(1.4, lambda: aside.rename(folder))
    inside.live(2)
    assert inside.states("campaigns") == [BROKEN]
    assert BROKEN not in inside.states("one")
    assert inside.sql_in(tmp_path, "select count(*) from request where sent_at > '2027-01-15T08:35'")[0][0] > K


def test_a_file_is_read_when_it_is_the_same_at_two_looks(tmp_path):
    """Whoever saves in two pieces is not taken at his first."""
    folder = CampaignFolder(tmp_path)
    file = tmp_path / "one.toml"
    whole = campaign_text("one", "http://127.0.0.1:9", TOPICS[0])
    file.write_text(whole, "utf-8")
    assert [found.settings.name for found in folder.find_changes()] == ["one"]
    assert folder.find_changes() == []
    file.write_text(whole.split("[source]", maxsplit=1)[0], "utf-8")
    assert folder.find_changes() == []
    file.write_text(whole + "weight = 2.0\n", "utf-8")
    assert folder.find_changes() == []
    (found,) = folder.find_changes()
    assert found.settings.limits.weight == 2.0
    assert folder.find_changes() == []
    assert len(folder.find_changes(again=True)) == 1


def test_what_is_written_while_a_file_is_read_is_read_as_well(tmp_path, monkeypatch):
    folder, file = CampaignFolder(tmp_path), tmp_path / "one.toml"
    whole = campaign_text("one", "http://127.0.0.1:9", TOPICS[0])
    file.write_text(whole, "utf-8")
    plain = folders.read

    def meanwhile(path):
        found = plain(path)
        file.write_text(whole + "weight = 3.0\n", "utf-8")
        return found

    monkeypatch.setattr(folders, "read", meanwhile)
    folder.find_changes()
    monkeypatch.setattr(folders, "read", plain)
    later = [found for _ in range(3) for found in folder.find_changes()]
    assert [found.settings.limits.weight for found in later] == [3.0]


def test_a_campaign_that_another_file_was_in_the_way_of_runs_when_that_is_gone(world):
    world.write("one")
    text = (world.folder / "one.toml").read_text("utf-8")
    (world.folder / "two.toml").write_text(text, "utf-8")
    world.at(0.6, (world.folder / "one.toml").unlink)
    world.live(1.5)
    assert world.sql("select count(*) from request where sent_at > '2027-01-15T08:45'")[0][0] > K


def test_a_campaign_is_paused_before_it_has_begun(world):
    world.write("one", "[schedule]\ncron = '0 10 * * *'\n")

    def pause():
        with open_database(world.folder / "week.db") as connection:
            assert daemons.pause_campaigns(connection, ["one"], world.time.now()) == ["one"]

    world.at(0.5, pause)
    world.live(4)
    assert world.states("one")[:2] == [RESTING, PAUSED]
    assert world.asked() == 0


def test_a_locked_database_stops_neither_the_eyes_of_the_daemon_nor_its_other_campaigns(tmp_path):
    """Its own rows wait for two seconds, and no longer."""
    path = tmp_path / "a.db"
    books = DaemonRecords("me", "here", 7, lambda where, trouble: None)
    books.read_orders(path, BEGIN)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        began = monotonic()
        assert books.read_orders(path, BEGIN) is not None
        books.write_states(path, [], BEGIN)
        books.write_states(path, [], BEGIN)
        books.leave(path, [], BEGIN)
        assert monotonic() - began < 60.0  # four waits of two seconds; those of campaigns wait for 120


def test_a_stopped_campaign_is_left_alone_until_it_is_resumed_and_is_not_called_paused(world):
    world.write("alone")

    def change(deed, *given):
        with open_database(world.folder / "week.db", create=False) as connection:
            assert deed(connection, ["alone"], *given) == ["alone"]

    world.at(0.5, lambda: change(daemons.stop_campaigns, world.time.now()))
    world.at(2.0, lambda: change(daemons.resume_campaigns))
    week = world.live(3)
    assert PAUSED not in world.states("alone")
    assert "stopped by a person" in world.why("alone", STOPPED)[0]
    assert ("alone", STOPPED) in week.told
    (ended, began) = world.sql("select max(sent_at), (select min(sent_at) from request where sent_at > max(r.sent_at)) "
                               "from request r where sent_at < ?", format_time(BEGIN + 1.9 * HOUR))[0]  # fmt: skip
    assert ended < format_time(BEGIN + 0.6 * HOUR)
    assert began >= format_time(BEGIN + 2.0 * HOUR)


def test_a_daemon_until_done_ends_when_its_campaigns_are_done_and_not_while_one_is_paused(world):
    world.write("alone", "[budget]\nmax_requests = 40\n")
    world.live(0.1)
    with open_database(world.folder / "week.db", create=False) as connection:
        daemons.pause_campaigns(connection, ["alone"], world.time.now())
    ended = []

    def resume():
        with open_database(world.folder / "week.db", create=False) as connection:
            ended.append(world.week.daemon.stopping)
            daemons.resume_campaigns(connection, ["alone"])

    world.at(1.0, resume)
    begun = Week.__init__

    def until_done(week, *given, **more):
        begun(week, *given, **more)
        week.daemon.until_done = True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Week, "__init__", until_done)
        world.live(24)
    assert ended == [False]
    assert world.states("alone")[-1] == STOPPED
    assert world.time.now() < BEGIN + 6 * HOUR
