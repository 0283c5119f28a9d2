"""What is reported while a run waits for a window."""

import sys
from dataclasses import replace
from types import SimpleNamespace

from api_campaigns import sections_of
from x_crawls import posts

import socialcrawl as sc
from socialcrawl.api import campaign_runs
from socialcrawl.engine.model import parse_time
from socialcrawl.mock.server import serve_in_thread

PROGRESS = sc.RunProgress("sky", 1, 9, 1, 1, 0.0, None, None, "steps 1 of 9")


def test_a_wait_is_reported_with_its_end_and_its_reason(tmp_path):
    seen = []
    with serve_in_thread(posts(), limit=3, window=1.0) as mock:
        more = sections_of(mock.url, tmp_path / "example.db", crawl={"steps": 4})
        more["limits"] |= {"k": 3, "d": 1.0}
        ending = sc.Campaign(name="example", **more).run(on_progress=seen.append)
    assert ending.state == "done"
    waits = [progress for progress in seen if progress.waiting is not None]
    assert waits
    for progress in waits:
        assert progress.until.endswith("Z")
        end = campaign_runs._format_end(parse_time(progress.until))
        assert progress.text.endswith(f"  waiting until {end}: {progress.waiting}")
    assert (seen[-1].waiting, seen[-1].until) == (None, None)


def test_a_notebook_shows_a_wait_that_begins_right_after_another_line(monkeypatch):
    lines = []
    handle = SimpleNamespace(update=lambda data, raw: lines.append(data["text/plain"]))
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=lambda *given, **how: handle))
    clock = [100.0]
    monkeypatch.setattr(campaign_runs.time, "monotonic", lambda: clock[0])
    show = campaign_runs._make_notebook_line()
    show(PROGRESS)
    clock[0] += 0.1
    show(replace(PROGRESS, text="steps 2 of 9"))  # too soon for another line
    show(replace(PROGRESS, waiting="the window", text="waiting until 12:30:00 UTC: the window"))
    assert lines == ["steps 1 of 9", "waiting until 12:30:00 UTC: the window"]


def test_a_wait_of_more_than_a_day_has_its_date(monkeypatch):
    monkeypatch.setattr(campaign_runs.time, "time", lambda: 0.0)
    assert campaign_runs._format_end(45_000.0) == "12:30:00 UTC"
    assert campaign_runs._format_end(45_000.0 + 86_400) == "1970-01-02 12:30 UTC"
