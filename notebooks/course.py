"""What the notebooks of this folder share: pictures with captions, generated posts, a mock server, commands."""

import atexit
import io
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import matplotlib.pyplot as plt
from IPython.display import Image, Markdown, display

from socialcrawl.lab.generators.generate import generate, write
from socialcrawl.mock.child_process import spawn

# The palette of Okabe and Ito: people with any kind of colour vision can tell these apart.
BLUE, ORANGE, GREEN, PURPLE, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
BLACK, GREY = "#000000", "#BBBBBB"
plt.rcParams.update({
    "figure.dpi": 100, "font.size": 11, "axes.spines.top": False, "axes.spines.right": False,
    "axes.prop_cycle": plt.cycler(color=[BLUE, ORANGE, GREEN, PURPLE, SKY, RED, BLACK]),
})

_stack = ExitStack()
atexit.register(_stack.close)
folder = Path(_stack.enter_context(tempfile.TemporaryDirectory()))  # deleted when you close the notebook


def show(figure, alt, caption):
    """Show a picture with a text for people who cannot see it, and a caption that says what to see."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    display(Image(picture.getvalue(), format="png", alt=alt))
    display(Markdown(caption))


def make_posts(path, users=2_000, seed=1, **options):
    """Write a Parquet file with the posts of invented people, the same ones each time, and return its path."""
    write(Path(path), generate(users, seed, **options))
    return Path(path)


def run_mock(posts, *options):
    """Return a context in which a mock of X, Bluesky and Mastodon serves these posts."""
    return spawn(Path(posts), *map(str, options))


def start_mock(posts, *options):
    """Start such a mock, which runs until the notebook is closed, and return its address."""
    return _stack.enter_context(run_mock(posts, *options)).url


def socialcrawl(*words, quiet=False):
    """Run a command of socialcrawl in the folder of the notebook, and print what it says."""
    command = [sys.executable, "-m", "socialcrawl", *map(str, words)]
    environment = {**os.environ, "X_BEARER_TOKEN": "any-token-will-do", "COLUMNS": "100"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 3):  # 3: a budget is reached
        raise RuntimeError(done.stderr or done.stdout)
    if not quiet:
        print(done.stdout.rstrip())
    return done.stdout
