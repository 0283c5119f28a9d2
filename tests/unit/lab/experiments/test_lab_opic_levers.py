"""The levers on OPIC in the laboratory: crawls, webs and topics against dumb ones."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from socialcrawl.crawls.track.target import Target
from socialcrawl.errors import SettingsError
from socialcrawl.importance.opic import THRESHOLD
from socialcrawl.lab.experiments.opic import levers
from socialcrawl.lab.experiments.opic.commands import opic_app
from socialcrawl.lab.experiments.opic.levers import LeverCrawl, LeverPlan, cut_web, plant_topic
from socialcrawl.lab.experiments.opic.webs import LAWS, LinkLaw, generate_web

SIZE = 60


@pytest.fixture
def web():
    return generate_web(LinkLaw("poisson", mean=3.0), SIZE, seed=4)


def crawl_dumbly(web, pages, known, born, topic, *, lean=0.0, extra=0.0):
    """A dumb crawl of these pages, each the richest: when each was read last, who is known, and (H + C) / (G + 1)."""
    cash, history, last = dict.fromkeys(range(known), 1 / (known + 1)), [0.0] * web.size, [0] * web.size
    virtual, paid, small = 1 / (known + 1), 0.0, 4.0**lean

    def settle():
        nonlocal virtual, paid
        if virtual > THRESHOLD:
            if lean:
                favoured = [page for page in cash if (last[page] == 0) == (lean > 0)]
                moved = abs(lean) * 0.5 * virtual if favoured else 0.0
                for page in favoured:
                    cash[page] += moved / len(favoured)
                virtual -= moved
            paid += virtual
            for page in cash:
                cash[page] += virtual / len(cash)
            virtual = 0.0

    if not lean:
        settle()
    for step, page in enumerate(pages, 1):
        assert cash[page] >= max(cash.values()) * (1 - 1e-12)  # a tie but for rounding is a tie
        targets = [target for target in web.out[page] if target < born]
        held, cash[page], last[page] = cash[page], 0.0, step
        history[page] += held
        paid += held
        share = held / (len(targets) + small)
        for target in targets:
            cash[target] = cash.get(target, 0.0) + share
        virtual += held - share * len(targets)
        matching = [target for target in targets if topic[target]]
        moved = min(virtual, extra * share * len(matching))
        for target in matching:
            cash[target] += moved / len(matching)
        virtual -= moved
        settle()
    estimate = [(history[page] + cash.get(page, 0.0)) / (paid + 1) for page in range(web.size)]
    return last, sorted(cash), estimate


@pytest.mark.parametrize("lever", [{}, {"lean": 1.0}, {"lean": 0.5}, {"lean": -1.0}, {"extra": 0.5}, {"extra": 4.0}])
@pytest.mark.parametrize("born", [SIZE, 40])
def test_a_crawl_with_a_lever_is_that_of_a_dumb_one(web, lever, born):
    topic = np.arange(SIZE) % 3 == 0
    crawl = LeverCrawl(web, Target(name="importance", **lever), 5, topic)
    pages, choose = [], crawl.order.choose_next
    crawl.order.choose_next = lambda: pages.append(choose()) or pages[-1]
    crawl.advance(200, born)
    last, known, estimate = crawl_dumbly(web, pages, 5, born, topic, **lever)
    assert crawl.last.tolist() == last
    assert np.flatnonzero(crawl.accounts.cash.known).tolist() == known
    assert max(known) < born
    assert crawl.accounts.compute_importance(np.arange(SIZE)) == pytest.approx(estimate, abs=1e-12)
    x = np.arange(1.0, born + 1)
    found, read = crawl.measure(x), [page for page in range(born) if last[page]]
    ages = [(200 - last[page]) / SIZE for page in read]
    assert (found["read"], found["known"]) == (len(read) / born, len(known) / born)
    assert found["again"] == 1 - len(read) / 200
    assert found["age"] == pytest.approx(sum(ages) / len(read))
    assert found["age_weighted"] == pytest.approx(np.dot(ages, x[read]) / x[read].sum())
    assert found["stale"] == 0


def test_a_copy_is_stale_when_a_link_has_come_since_or_its_target_was_born(web):
    crawl = LeverCrawl(web, Target(), 5, np.zeros(SIZE, np.bool_))
    crawl.advance(100, SIZE)
    read = np.flatnonzero(crawl.last)
    page = int(read[0])
    web.link(page, next(one for one in range(SIZE) if one != page and one not in web.out[page]))
    assert crawl.measure(np.ones(SIZE))["stale"] == 1 / len(read)
    younger = LeverCrawl(web, Target(), 5, np.zeros(SIZE, np.bool_))
    younger.advance(100, 40)
    changed = [one for one in np.flatnonzero(younger.last).tolist() if max(web.out[one], default=0) >= 40]
    assert younger.measure(np.ones(SIZE))["stale"] == pytest.approx(len(changed) / np.count_nonzero(younger.last))


def test_a_young_web_has_its_first_pages_and_the_links_among_them(web):
    young = cut_web(web, 25)
    assert [sorted(some) for some in young.out] == [sorted(one for one in some if one < 25) for some in web.out[:25]]


def test_links_are_moved_into_a_topic_and_in_degrees_stay():
    web, before = (generate_web(LAWS["power"], 2_000, 3) for _ in range(2))
    on = plant_topic(web, 0.1, 0.7, 3)
    assert on.sum() == 200
    assert [len(some) for some in web.into] == [len(some) for some in before.into]
    assert (plant_topic(before, 0.1, 0.0, 3) == on).all()
    assert before.out == generate_web(LAWS["power"], 2_000, 3).out
    begins = np.concatenate([on[web.into[page]] for page in np.flatnonzero(on) if len(web.into[page]) < 50])
    assert abs(begins.mean() - 0.73) < 5 * np.sqrt(0.73 * 0.27 / len(begins))  # .7 of .9, and the tenth that was there


def test_what_leans_to_discovery_reads_more_pages_and_extra_cash_reads_more_on_topic():
    plan = LeverPlan((-1.0, 1.0), size=150, crawls=1, known=0.02)
    found = levers.measure_leans(plan)
    ends = {
        (graph, lever): read
        for graph, lever, crawls, read in zip(
            *(found[name] for name in ("graph", "lever", "crawls", "read")), strict=True
        )
        if crawls == 1
    }
    assert all(ends[graph, "1"] > ends[graph, "-1"] for graph in ("still", "growing"))
    grown = found["pages"][found["graph"] == "growing"]
    assert (grown.min(), grown.max()) == (80, 150)  # half, and a sixteenth of the other half; all
    topical = levers.measure_topics(replace(plan, settings=(0.0, 2.0)))
    last = topical["crawls"] == 1
    without, extra = (topical["on_topic"][last & (topical["lever"] == lever)] for lever in ("0", "2"))
    assert (extra > without).all()


@pytest.mark.parametrize(("name", "lever"), [("lean", "-1"), ("topic", "2")])
def test_a_lever_leaves_a_figure_its_data_and_the_difference_from_none(tmp_path, name, lever):
    option = "--lean" if name == "lean" else "--extra"
    words = [name, option, lever, option, "0", "--nodes", "60", "--crawls", "1", "--webs", "2", "--jobs", "1"]
    done = CliRunner().invoke(opic_app, [*words, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 2 * levers.POINTS  # webs, seeds, settings
    graph = rows[0]["graph"]
    ends = [row for row in rows if row["graph"] == graph and float(row["crawls"]) == 1]
    reads = {key: [float(row["weighted"]) for row in ends if row["lever"] == key] for key in (lever, "0")}
    apart = np.subtract(reads[lever], reads["0"])
    with (tmp_path / f"{name}-pairs.csv").open() as file:
        (pair,) = [row for row in csv.DictReader(file) if (row["graph"], row["variant"]) == (graph, lever)]
    assert float(pair["weighted"]) == pytest.approx(apart.mean())
    half = 12.7062 * abs(apart[0] - apart[1]) / 2  # Student's quantile for one degree of freedom
    assert f"{apart.mean():.3g} ± {half:.3g}" in done.output


def test_one_web_has_no_intervals_and_is_drawn(tmp_path):
    words = ["lean", "--lean", "1", "--nodes", "40", "--crawls", "1", "--webs", "1", "--jobs", "1"]
    done = CliRunner().invoke(opic_app, [*words, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "±" not in done.output.partition("\n")[2]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["lean", "--lean", "2"], "lean = 2.0: it must be between"),
        (["topic", "--extra", "-1"], "extra = -1.0"),
        (["lean", "--known-share", "0"], "shares of pages"),
        (["lean", "--known-share", "0.6"], "no more are known than there are"),
        (["topic", "--topical-share", "1"], "shares of pages"),
        (["lean", "--change-rate", "-1"], "A change rate"),
    ],
)
def test_a_lever_out_of_range_is_refused_before_the_work(tmp_path, words, why):
    done = CliRunner().invoke(opic_app, [*words, "--out", str(tmp_path), "--jobs", "1"])
    assert isinstance(done.exception, SettingsError), done.output
    assert why in str(done.exception)
