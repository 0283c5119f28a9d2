"""What is reported while a run waits for a window."""

import sys
from types import SimpleNamespace

from api_campaigns import sections_of
from stores import AT, timeline
from x_crawls import posts

import socialcrawl as sc
from socialcrawl.api import campaign_runs
from socialcrawl.engine.model import Grant, Page, Reply, Wait, parse_time
from socialcrawl.mock.server import serve_in_thread


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


def test_a_notebook_shows_at_once_when_a_wait_begins_and_ends_and_how_the_run_ended(monkeypatch):
    lines = []
    handle = SimpleNamespace(update=lambda data, raw: lines.append(data["text/plain"]))
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=lambda *given, **how: handle))
    monkeypatch.setattr(campaign_runs, "describe_progress", lambda campaign: f"step {campaign.crawl.taken}")
    monkeypatch.setattr(campaign_runs._ProgressView, "remaining", lambda self, campaign: None)
    view = campaign_runs._ProgressView(campaign_runs._make_notebook_line(), 1e9)  # nothing else but at once
    crawl, budget = SimpleNamespace(taken=0), SimpleNamespace(spent=(1, 0), requests=1)
    settings = SimpleNamespace(name="sky", crawl=SimpleNamespace(steps=9))
    grant, wait = Grant(timeline(), "main", AT), Wait(AT, "the window")

    def arrive():
        crawl.taken += 1
        view.landed(grant, Reply("ok", AT, Page()))

    view.begin(SimpleNamespace(settings=settings, crawl=crawl, planner=SimpleNamespace(budget=budget)))
    arrive()  # too soon for another line
    view.waits(wait)
    view.sent(grant)
    arrive()
    view.waits(wait)
    view.end()
    waiting = f"  waiting until {campaign_runs._format_end(AT)}: the window"
    assert lines == ["step 0", f"step 1{waiting}", "step 1", f"step 2{waiting}", "step 2"]


def test_a_wait_of_more_than_a_day_has_its_date(monkeypatch):
    monkeypatch.setattr(campaign_runs.time, "time", lambda: 0.0)
    assert campaign_runs._format_end(45_000.0) == "12:30:00 UTC"
    assert campaign_runs._format_end(45_000.0 + 86_400) == "1970-01-02 12:30 UTC"
