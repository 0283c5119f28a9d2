"""What is reported while a run waits for a window."""

import sys
from types import SimpleNamespace

import pytest
from api_campaigns import sections_of
from x_crawls import posts

import socialcrawl as sc
from socialcrawl.api import campaign_runs
from socialcrawl.engine.model import parse_time
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


@pytest.mark.parametrize("more", [{"crawl": {"steps": 4}}, {"budget": {"max_requests": 4}}], ids=["steps", "budget"])
def test_a_notebook_shows_when_a_wait_begins_and_ends_and_how_the_run_ended(more, tmp_path, monkeypatch):
    lines, seen = [], []
    handle = SimpleNamespace(update=lambda data, raw: lines.append(data["text/plain"]))
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=lambda *given, **how: handle))
    monkeypatch.setattr(campaign_runs, "OFTEN", 1e9)  # no line but those that are shown at once
    with serve_in_thread(posts(), limit=3, window=1.0) as mock:
        for name, watch in (("seen", seen.append), ("shown", None)):
            sections = sections_of(mock.url, tmp_path / f"{name}.db", **more)
            sections["limits"] |= {"k": 3, "d": 1.0}
            sc.Campaign(name="example", **sections).run(on_progress=watch)
    first, *later = lines
    waits = [number for number, line in enumerate(later) if "waiting until" in line]
    assert waits
    assert any("waiting until" not in line for line in later[waits[0] : -1]), "the end of a wait is shown"
    assert later[-1].split("  ")[0] == seen[-1].text.split("  ")[0], "the last line has the last step"
    assert "waiting until" not in first + later[-1]


def test_a_wait_of_more_than_a_day_has_its_date(monkeypatch):
    monkeypatch.setattr(campaign_runs.time, "time", lambda: 0.0)
    assert campaign_runs._format_end(45_000.0) == "12:30:00 UTC"
    assert campaign_runs._format_end(45_000.0 + 86_400) == "1970-01-02 12:30 UTC"
