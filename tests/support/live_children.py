"""Live captures in child processes that are killed, whose time is that of the mock's file: it goes on after a kill."""

import sys
from pathlib import Path
from typing import NamedTuple

import httpx
from killed_campaigns import DONE, PAUSED, die_before, serve
from stream_clients import SIGNED_IN
from test_live_captures import MovedTime, Moving, read

from socialcrawl.campaign.build import build
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.clock import InterruptibleClock
from socialcrawl.engine.loop import run


class End(NamedTuple):
    """The end of the file: the second of its last post."""

    at: int


class Distant:
    """A mock in another process, and its time, which a file remembers."""

    def __init__(self, url, file, last):
        self.url, self.file, self.rows = url, file, [End(last)]

    def move(self, second):
        """Let the file stand at this second."""
        self.file.write_text(str(second))
        httpx.post(f"{self.url}/_mock/moment", json={"moment": second}, headers=SIGNED_IN).raise_for_status()


def work(given, file, *, last, step, posts, batches, statement=0):
    """Run a live capture until the file is over and the database has so many posts; its exit code.

    `file` has the second at which the mock stands; `step`: seconds of the file that pass with each batch; `statement`:
    the number of that before which the process dies.
    """
    if statement:
        die_before(statement)
    streamed = Distant(given["source"]["base_url"], Path(file), last)
    moved = MovedTime(float(streamed.file.read_text()))
    clock = InterruptibleClock(moved)

    def has_all():
        return read(Path(given["database"]), "select count(*) from post") == [(posts,)]

    view = Moving(streamed, moved, clock, step=step, deeds={}, most=batches, expected=has_all)
    campaign = build(check_settings(given, "test"), view, clock=clock)
    view.crawl = campaign.crawl
    try:
        reason = run(campaign.parts, size=campaign.together)
        campaign.parts.pool.shutdown()
    finally:
        campaign.close()
    if view.is_over():
        return DONE
    sys.stderr.write(f"{reason}\n")
    sys.stderr.flush()
    return PAUSED


if __name__ == "__main__":
    serve(work)
