"""What every test run has: a state folder of its own, so that no test sees or leaves locks of the user's tokens."""

import io
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from example_counts import many
from hypothesis import HealthCheck, settings

# No test depends on the speed of the machine.
settings.register_profile(
    "a share",
    max_examples=many(settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("a share")

# When this is imported no test is: `commands` copies the environment for child processes. Every worker has its own.
STATE = tempfile.mkdtemp(prefix="socialcrawl-tests-state-")
os.environ["XDG_STATE_HOME"] = STATE

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell does in the background; child processes inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


HERE = Path(__file__).parent
# Tests of one folder use worlds that tests of another made.
sys.path += sorted({str(path.parent) for path in HERE.rglob("test_*.py")})

SLOW = frozenset((HERE / "slow.txt").read_text("utf-8").split())


def pytest_collection_modifyitems(items):
    """Mark the tests that slow.txt lists, file::function: `make test` leaves them to `make test-all`."""
    for item in items:
        if f"{item.path.name}::{item.originalname}" in SLOW:
            item.add_marker(pytest.mark.slow)


def pytest_unconfigure():
    shutil.rmtree(STATE, ignore_errors=True)


@pytest.fixture(autouse=True)
def _umask():
    """Restore the umask of the process, which commands that run inside of a test set."""
    former = os.umask(0o022)
    os.umask(former)
    yield
    os.umask(former)


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def database(request):
    """The kinds of database; a test that takes this runs on each."""
    return request.param


@pytest.fixture
def place(database, tmp_path):
    """Where an empty database is, of each kind: no tables are in it."""
    from postgres import a_place

    with a_place(database, tmp_path, empty=True) as found:
        yield found


@pytest.fixture
def log():
    """What the daemon logs: a stream of JSON, and its `lines` as values."""
    from socialcrawl.daemon.logs import configure

    stream = io.StringIO()
    undo = configure("json", stream)
    stream.lines = lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    yield stream
    undo()
