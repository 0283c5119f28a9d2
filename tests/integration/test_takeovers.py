"""What campaigns have sent that are not open counts: no window is passed, whoever is killed, and whoever takes over."""

import sys

import pytest
from killed_campaigns import nursery
from takeovers import D, K, Succession, Turns
from test_windows_filled import POLICY
from x_crawls import posts_file

from socialcrawl.mock.rate_windows import LimitRule
from socialcrawl.mock.server import serve_in_thread

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked")
ENDPOINTS = {
    "/2/users/by": "user",
    "/2/users": "user",
    "/2/tweets/search/recent": "post",
    "/2/users/:id/tweets": "post",
}
KINDS = ["told", "fixed", "sliding", "aligned"]  # the first is fixed, and headers tell of it; of no other


@pytest.fixture(scope="module")
def nurseries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nurseries")
    with nursery(folder / "one", "takeovers") as one, nursery(folder / "two", "takeovers") as two:
        yield one, two
    assert (folder / "one").read_text() + (folder / "two").read_text() == ""


def policy_file(folder, kind):
    """A policy with one window of a kind on every endpoint."""
    rules = f"app = [{{ k = {K}, d = {D}, kind = '{kind}' }}]\npage = 100\n"
    text = POLICY + "".join(f'[endpoints."{name}"]\n{rules}returns = "{what}"\n' for name, what in ENDPOINTS.items())
    (folder / "policy.toml").write_text(text, "utf-8")
    return folder / "policy.toml"


def reign(folder, nurseries, kind, restarts, seed):
    """Kill so many daemons one after the other; the mock's report, and the succession."""
    time, told = Turns(folder / "clock", begin=True), kind == "told"
    windows = {"limit": K}
    if not told:
        windows = {"limit": 100_000, "rules": {name: [LimitRule(K, D, kind)] for name in ENDPOINTS}, "skew": -433.7}
    quick = {"held": 1_000_000, "platforms": ("x",)}
    with serve_in_thread(posts_file(), None, time.now, window=D, **windows, **quick) as mock:
        policy = None if told else policy_file(folder, kind)
        it = Succession(folder, time, mock.url, nurseries, seed=seed, policy=policy)
        it.reign(restarts)
        return mock.report(), it


def hold(folder, nurseries, kind, restarts, seed):
    report, it = reign(folder, nurseries, kind, restarts, seed)
    assert report["over"] == 0, f"{report['over']} requests over a window in {it.restarts} restarts"
    assert it.restarts >= restarts
    assert it.takeovers >= restarts // 7, "daemons stood by"
    assert sum(report["received"].values()) > 3 * restarts, "work was done between the kills"


@pytest.mark.parametrize("kind", KINDS)
def test_daemons_that_are_killed_and_taken_over_pass_no_window(tmp_path, nurseries, kind):
    hold(tmp_path, nurseries, kind, 7, 1 + KINDS.index(kind))


@pytest.mark.chaos
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_daemons_that_are_killed_and_taken_over_pass_no_window(tmp_path, nurseries, kind):
    hold(tmp_path, nurseries, kind, 250, 100 + KINDS.index(kind))
