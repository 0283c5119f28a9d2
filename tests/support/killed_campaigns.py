"""Campaigns in child processes that can be killed: a process that has imported everything forks one for each run.

When a child is killed is counted, in requests that the mock received or in statements that the child sent to its
database. So each child comes equally far on every machine, and a campaign that is killed again and again arrives.
"""

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from socialcrawl.mock.faults import make_cut

HERE = Path(__file__)
DONE, PAUSED, TROUBLE = 0, 3, 1


def work(given, room=0, statement=0):
    """Run a campaign in this process; its exit code.

    `room`: bytes that a file may have, as on a disk that is full. `statement`: the number of that before which it dies.
    """
    from socialcrawl.campaign.build import build
    from socialcrawl.campaign.settings import check_settings
    from socialcrawl.engine.loop import run
    from socialcrawl.errors import SocialcrawlError
    from socialcrawl.render.live_screen import CampaignView

    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    if statement:
        die_before(statement)
    settings = check_settings(given, "test")
    try:
        campaign = build(settings, CampaignView())
        reason = run(campaign.parts, size=campaign.together)
        campaign.keep(reason)
        campaign.close()
    except SocialcrawlError as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        return TROUBLE
    return DONE if reason.kind == "done" else PAUSED


def die_before(statement):
    """Kill this process before it sends that statement to a database; every commit is one. Returns what counts."""
    from sqlalchemy import Engine, event

    numbers = count(1)

    def counted(*_):
        if next(numbers) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", counted)
    event.listen(Engine, "commit", counted)
    return counted


class Reaper:
    """A mock's choice of faults: it kills a process when so many more requests have arrived.

    `cut_every`: after how many requests a connection closes without an answer; 0: none does. `cuts`: how many did.
    """

    def __init__(self, cut_every=0):
        self.child, self.left = None, 0
        self.cut_every, self.received, self.cuts = cut_every, 0, 0

    def __call__(self, endpoint, nth):
        self.left -= 1
        self.received += 1
        if self.child is not None and self.left == 0:
            with suppress(ProcessLookupError):
                os.kill(self.child, signal.SIGKILL)
        if not self.cut_every or self.received % self.cut_every:
            return None
        self.cuts += 1
        return make_cut()

    @contextmanager
    def kills(self, child, after):
        """Meanwhile the child is killed as the request number `after` arrives; 0: at once."""
        self.left, self.child = after, child
        if not after:
            os.kill(child, signal.SIGKILL)
        yield
        self.child = None


def serve(work=work):
    """Fork a child for every line of stdin; tell its process id, and its exit code when it has ended."""
    import psycopg
    import tweepy

    import socialcrawl.campaign.build
    import socialcrawl.storage.database.connection as opened

    opened.make_alembic_config()
    assert psycopg
    assert tweepy
    assert socialcrawl.campaign.build
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while line := sys.stdin.readline():
        child = os.fork()
        if not child:
            code = 70
            try:
                given, more = json.loads(line)
                code = work(*given, **more)
            except BaseException:  # noqa: BLE001 (whatever it was, the child ends here)
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        sys.stdin.readline()  # until then its number is its own, even if it has ended
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


class Nursery:
    """Where children are begun: `begin` gives the process id, `end` waits for the exit code."""

    def __init__(self, process):
        self.process = process

    def begin(self, *given, **more):
        self.process.stdin.write(json.dumps([given, more]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.write("end\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def run(self, *given, **more):
        self.begin(*given, **more)
        return self.end()


@contextmanager
def nursery(errors, *module):
    """A nursery; what its children complain of goes to the file `errors`. A module may have another `work`."""
    paths = os.pathsep.join(filter(None, sys.path))  # so that a module may import tests
    with errors.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, str(HERE), *module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        try:
            assert process.stdout.readline() == "ready\n"
            yield Nursery(process)
        finally:
            process.stdin.close()
            process.wait(300)
            process.stdout.close()


def run_killed_at_requests(children, reaper, given, after, errors):
    """Run a campaign whose process is killed as every so many requests arrive, to its end; how often it was."""
    for kills in count():
        child = children.begin(given)
        with reaper.kills(child, after):
            code = children.end()
        if code == 0:
            return kills
        assert code == -9, errors.read_text()
    raise AssertionError("it never ends")


def run_killed_at_statements(children, given, errors, first=60, step=37):
    """Run a campaign whose process is killed before a statement, later in each run, to its end; how often it was."""
    for kills, statement in enumerate(count(first, step)):
        code = children.run(given, statement=statement)
        if code == 0:
            return kills
        assert code == -9, errors.read_text()
    raise AssertionError("it never ends")


if __name__ == "__main__":
    serve(*(importlib.import_module(name).work for name in sys.argv[1:]))
