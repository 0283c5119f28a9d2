"""Days in seconds: three campaigns on one token, faults every hour, a virtual clock in daemon and mock."""

import gc
from pathlib import Path

import pytest
from virtual_weeks import BEGIN, DAY, TOPICS, WINDOW, K, Virtual, Week, a_mock, campaign_text, in_windows
from x_crawls import posts_file, rows

from socialcrawl.mock.faults import make_cut, make_half, make_html_fault, make_too_many

FAULTS = (make_cut, make_half, make_html_fault, lambda: make_html_fault(200), make_too_many)


class Hourly:
    """A fault for the first timeline that is asked in every hour of virtual time, each kind in turn."""

    def __init__(self, time):
        self.time, self.hour, self.made = time, 0, 0

    def __call__(self, endpoint, nth):
        hour = int((self.time.now() - BEGIN) // 3600.0)
        if "tweets" not in endpoint or "search" in endpoint or hour == self.hour:
            return None
        self.hour = hour
        self.made += 1
        return FAULTS[self.made % len(FAULTS)]()


def resident():
    gc.collect()
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def lived(folder, days, users):
    """The mock's report, the daemon, memory by day, after so many days of three campaigns."""
    time, memory = Virtual(), {}

    def each(now):
        if (day := int((now - BEGIN) // DAY)) not in memory:
            memory[day] = resident()

    faults = Hourly(time)
    with a_mock(posts_file(users, posts_per_user=6.0), time, faults) as mock:
        for number in range(3):
            text = campaign_text(f"c{number}", mock.url, TOPICS[number % 2])
            (folder / f"c{number}.toml").write_text(text, "utf-8")
        week = Week(folder, time, BEGIN + days * DAY, each)
        late = week.run()
    return mock.report(), week, memory, faults, late


def check(folder, days, users):
    report, week, memory, faults, late = lived(folder, days, users)
    database = folder / "week.db"
    assert not late
    assert faults.made >= 24 * days - 2
    windows = in_windows(report)
    assert sum(report["over"].values() if isinstance(report["over"], dict) else [report["over"]]) == 0
    assert max(window["requests"] for window in windows) <= K
    used = sum(window["requests"] for window in windows) / (K * days * DAY / WINDOW)
    assert used >= 0.99, used
    for number in range(1, 4):
        picked = [n for (n,) in rows(database, "select n from pick where campaign = ? order by n", number)]
        assert picked == list(range(len(picked)))
        open_ones = rows(
            database,
            "select count(*) from pick p left join outcome o using (campaign, n) where p.campaign = ? and o.n is null",
            number,
        )
        assert open_ones[0][0] <= 1
    steps = [n for (n,) in rows(database, "select count(*) from outcome group by campaign")]
    return used, steps, memory, week


def test_a_day_of_three_campaigns_fills_its_windows_and_loses_no_step(tmp_path):
    _, steps, _, week = check(tmp_path, 1, 1500)
    assert max(steps) - min(steps) < 0.1 * max(steps), steps
    assert {state for _, _, state, _ in week.states} <= {"waiting", "running", "stopped"}


@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_a_week_of_three_campaigns_fills_its_windows_and_its_memory_does_not_grow(tmp_path, monkeypatch):
    monkeypatch.setattr("socialcrawl.mock.x.render._KEPT", 2_000)  # what the mock remembers is not the daemon's
    used, steps, memory, _ = check(tmp_path, 7, 8000)
    assert memory[6] < 1.05 * memory[1], (used, steps, memory)
