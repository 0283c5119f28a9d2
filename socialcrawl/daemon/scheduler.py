"""APScheduler's scheduler on a clock that is given, with jobs that are due at one instant.

APScheduler 3 asks for the time by `datetime.datetime.now`, and takes a job out of its store after it was begun: one
that is added again meanwhile is lost without a message. Here the time is the daemon's, and a job is taken out before it
begins.
A job that is to run again is added when it has ended (`ended`), never while it runs.
"""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED
from apscheduler.executors.base import BaseExecutor, MaxInstancesReachedError
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.base import STATE_STOPPED, BaseScheduler
from apscheduler.triggers.date import DateTrigger

from socialcrawl.engine.clock import Time

LONGEST = 3600.0  # seconds between two looks at what is due, if nobody wakes the scheduler
BUSY = 0.5  # seconds after which a job is begun that was due while it ran
Ended = Callable[[str, BaseException | None], None]
"""Called when a job has ended, in the thread that ran it: its id, and the error that it ended with if any."""


class Scheduler(BaseScheduler):  # type: ignore[misc]
    """Jobs that are each due at one instant, run by an executor; `run` goes on until `stop`.

    Args:
        time: the clock.
        executor: APScheduler's: threads, or the calling thread.
        ended: called when a job has ended; it may add the job again.
    """

    def __init__(self, time: Time, executor: BaseExecutor, ended: Ended) -> None:
        super().__init__(timezone=UTC, executors={"default": executor}, jobstores={"default": MemoryJobStore()})
        self.time = time
        self._wake = threading.Event()
        self._ended = ended
        self.add_listener(self._tell, EVENT_JOB_EXECUTED | EVENT_JOB_ERROR)

    def add_once(self, when: float, name: str, job: Callable[[], Any]) -> None:
        """Run `job` at an instant (Unix seconds), once; in place of one of that name that was to run later or sooner.

        One that is running has to end first: call this from `ended` then.
        """
        due = datetime.fromtimestamp(when, UTC)
        self.cancel(name)  # before it was started, APScheduler would keep both
        how = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        self.add_job(job, DateTrigger(due), id=name, name=name, next_run_time=due, replace_existing=True, **how)

    def cancel(self, name: str) -> None:
        """Run the job of that name no more; one that runs goes on."""
        if self.get_job(name) is not None:
            self.remove_job(name)

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Run jobs in this thread's loop as long as `goes_on` says so; it is asked after every waking."""
        self.start()
        while self.state != STATE_STOPPED:
            self._wake.clear()
            if not goes_on():
                return
            until = self._process_jobs()
            self.time.wait(self._wake, self.time.now() + LONGEST if until is None else until)

    def shutdown(self, wait: bool = True) -> None:  # noqa: FBT001, FBT002  (APScheduler's own signature)
        """Begin no more jobs; with `wait`, come back when those that run have ended."""
        super().shutdown(wait)
        self.wakeup()

    def wakeup(self) -> None:
        """Look at once at what is due; safe to call from any thread and from a signal handler."""
        self._wake.set()

    def _process_jobs(self) -> float | None:
        """Begin what is due; when the next job is (Unix seconds)."""
        now = datetime.fromtimestamp(self.time.now(), UTC)
        with self._jobstores_lock:
            store = self._lookup_jobstore("default")
            for job in store.get_due_jobs(now):
                store.remove_job(job.id)  # before it begins: from now on it may be added again
                self._begin(job)
            following = store.get_next_run_time()
        return None if following is None else following.timestamp()

    def _begin(self, job: Any) -> None:
        try:
            self._lookup_executor(job.executor).submit_job(job, [job.next_run_time])
        except MaxInstancesReachedError:
            self.add_once(self.time.now() + BUSY, job.id, job.func)  # somebody added it while it runs

    def _tell(self, event: Any) -> None:
        self._ended(event.job_id, event.exception)
