"""What every test run has: a state folder of its own, so that no test sees or leaves locks of the user's tokens."""

import os
import shutil
import tempfile

# When this is imported no test is: `commands` copies the environment for child processes. Every worker has its own.
STATE = tempfile.mkdtemp(prefix="socialcrawl-tests-state-")
os.environ["XDG_STATE_HOME"] = STATE


def pytest_unconfigure():
    shutil.rmtree(STATE, ignore_errors=True)
