"""APScheduler 3 on a clock that is given: what it loses by itself, and what the daemon's scheduler does not."""

import threading
import time
from datetime import UTC, datetime, timedelta

from apscheduler.events import EVENT_JOB_MISSED
from apscheduler.executors.debug import DebugExecutor
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from virtual_weeks import Virtual

from socialcrawl.daemon.scheduler import Scheduler
from socialcrawl.engine.clock import SystemClock


class Ledger:
    """Jobs that were run, and a scheduler whose jobs are added again when they have ended."""

    def __init__(self, time, executor, again=None):
        self.ran, self.errors = [], []
        self.again = again or {}
        self.scheduler = Scheduler(time, executor, self.ended)
        self.time = time

    def job(self, name, work=lambda: None):
        def run():
            self.ran.append((name, self.time.now()))
            work()

        return run

    def ended(self, name, error):
        if error is not None:
            self.errors.append((name, error))
        if name in self.again:
            self.again[name]()
        self.scheduler.wakeup()


def test_the_scheduler_of_apscheduler_loses_a_job_that_adds_itself_while_it_runs():
    """Why ours is told when a job has ended, and takes it out before it begins."""
    plain, ran, done = BackgroundScheduler(timezone=UTC), [], threading.Event()

    def again():
        ran.append(1)
        soon = datetime.now(UTC) + timedelta(seconds=0.2)
        plain.add_job(again, "date", run_date=soon, id="one", replace_existing=True)
        done.set()

    # with an executor that works at once, the job is removed after it has added itself
    plain.add_executor(DebugExecutor(), "default")
    plain.add_job(again, "date", run_date=datetime.now(UTC) + timedelta(seconds=0.1), id="one")
    plain.start()
    assert done.wait(300)
    time.sleep(0.6)
    plain.shutdown()
    assert len(ran) == 1


def test_the_scheduler_of_apscheduler_drops_a_job_that_it_is_late_for():
    plain, missed, ran = BackgroundScheduler(timezone=UTC), threading.Event(), []
    plain.add_listener(lambda event: missed.set(), EVENT_JOB_MISSED)
    plain.add_job(lambda: ran.append(1), "date", run_date=datetime.now(UTC) - timedelta(seconds=1.4))
    plain.start()
    assert missed.wait(300)
    plain.shutdown()
    assert not ran


def test_a_job_that_is_added_again_when_it_has_ended_runs_on_and_on():
    clock = Virtual(1000.0)
    ledger = Ledger(clock, DebugExecutor())
    ledger.again["one"] = lambda: ledger.scheduler.add_once(clock.now() + 900.0, "one", ledger.job("one"))
    ledger.scheduler.add_once(1000.0, "one", ledger.job("one"))
    ledger.scheduler.run(lambda: len(ledger.ran) < 5)
    assert ledger.ran == [("one", 1000.0 + 900.0 * i) for i in range(5)]


def test_a_job_that_adds_itself_while_it_runs_is_not_lost_either():
    clock = Virtual(1000.0)
    ledger = Ledger(clock, DebugExecutor())

    def work():
        ledger.scheduler.add_once(clock.now() + 10.0, "one", ledger.job("one", work))

    ledger.scheduler.add_once(1000.0, "one", ledger.job("one", work))
    ledger.scheduler.run(lambda: len(ledger.ran) < 3)
    assert [at for _, at in ledger.ran] == [1000.0, 1010.0, 1020.0]


def test_a_job_that_the_scheduler_is_hours_late_for_runs_once():
    clock = Virtual(1000.0)
    ledger = Ledger(clock, DebugExecutor())
    ledger.scheduler.add_once(1000.0, "one", ledger.job("one"))
    clock.at += 8 * 3600.0  # the machine slept
    ledger.scheduler.run(lambda: not ledger.ran)
    assert ledger.ran == [("one", 1000.0 + 8 * 3600.0)]


def test_a_later_call_for_the_same_job_takes_the_place_of_the_earlier_one():
    clock = Virtual(1000.0)
    ledger = Ledger(clock, DebugExecutor())
    ledger.scheduler.add_once(2000.0, "one", ledger.job("one"))
    ledger.scheduler.add_once(1500.0, "one", ledger.job("one"))
    assert ledger.scheduler.get_job("one").next_run_time.timestamp() == 1500.0
    ledger.scheduler.add_once(5000.0, "two", ledger.job("two"))
    ledger.scheduler.run(lambda: len(ledger.ran) < 2)
    assert ledger.ran == [("one", 1500.0), ("two", 5000.0)]


def test_a_job_that_was_called_off_does_not_run():
    clock = Virtual(1000.0)
    ledger = Ledger(clock, DebugExecutor())
    ledger.scheduler.add_once(2000.0, "one", ledger.job("one"))
    ledger.scheduler.add_once(3000.0, "two", ledger.job("two"))
    ledger.scheduler.cancel("one")
    ledger.scheduler.cancel("nobody")
    ledger.scheduler.run(lambda: not ledger.ran)
    assert ledger.ran == [("two", 3000.0)]


def test_an_error_of_a_job_is_told_and_the_job_goes_on():
    clock = Virtual(1000.0)
    ledger = Ledger(clock, DebugExecutor())

    def work():
        if len(ledger.ran) == 1:
            raise ValueError("once")

    ledger.again["one"] = lambda: ledger.scheduler.add_once(clock.now() + 1.0, "one", ledger.job("one", work))
    ledger.scheduler.add_once(1000.0, "one", ledger.job("one", work))
    ledger.scheduler.run(lambda: len(ledger.ran) < 2)
    assert [(name, str(error)) for name, error in ledger.errors] == [("one", "once")]
    assert len(ledger.ran) == 2


def test_threads_run_jobs_side_by_side_but_no_job_twice_at_once():
    clock = SystemClock()
    both, inside, most = threading.Barrier(2), [], []
    ledger = Ledger(clock, ThreadPoolExecutor(4))

    def together():
        both.wait(300)

    def alone():
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.05)
        inside.pop()

    ledger.scheduler.add_once(clock.now(), "a", ledger.job("a", together))
    ledger.scheduler.add_once(clock.now(), "b", ledger.job("b", together))
    ledger.scheduler.add_once(clock.now(), "c", ledger.job("c", alone))
    ends = clock.now() + 300.0
    thread = threading.Thread(target=ledger.scheduler.run, args=(lambda: len(ledger.ran) < 4 and clock.now() < ends,))
    thread.start()
    while not most:
        time.sleep(0.005)
    ledger.scheduler.add_once(clock.now(), "c", ledger.job("c", alone))  # while it runs
    thread.join(300)
    ledger.scheduler.shutdown(wait=True)
    assert sorted(name for name, _ in ledger.ran) == ["a", "b", "c", "c"]
    assert most == [1, 1]


def test_waking_the_scheduler_makes_it_look_at_once():
    clock = SystemClock()
    ledger = Ledger(clock, DebugExecutor())
    going = threading.Event()
    going.set()
    thread = threading.Thread(target=ledger.scheduler.run, args=(going.is_set,))
    thread.start()
    time.sleep(0.1)
    going.clear()
    ledger.scheduler.wakeup()
    thread.join(300)  # by itself it would look again after an hour
    assert not thread.is_alive()
