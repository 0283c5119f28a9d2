"""The laboratory of OPIC: its webs, changes and errors against brute force, crawls against a dumb one."""

import csv
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import zeta
from typer.testing import CliRunner

from socialcrawl.errors import SettingsError
from socialcrawl.importance.history_windows import InterpolatedHistory
from socialcrawl.importance.opic import THRESHOLD
from socialcrawl.lab.experiments.opic import importance_errors, moving, runs, static_web
from socialcrawl.lab.experiments.opic import importance_errors as truths
from socialcrawl.lab.experiments.opic.commands import MOVING, STILL, opic_app
from socialcrawl.lab.experiments.opic.importance_errors import compute_truth
from socialcrawl.lab.experiments.opic.moving import (
    ChangingWebPlan,
    WebChanges,
    WindowComparison,
    measure_adaptation,
    parse_window,
)
from socialcrawl.lab.experiments.opic.static_web import OpicCrawl, StaticWebPlan, measure_convergence, measure_payments
from socialcrawl.lab.experiments.opic.webs import LAWS, GeneratedWeb, LinkLaw, draw_indegrees, generate_web
from socialcrawl.lab.result_tables import list_rows

SIZE = 60
FEW = st.lists(st.integers(1, 6), min_size=2, max_size=30)


@pytest.fixture
def web():
    return generate_web(LinkLaw("poisson", mean=3.0), SIZE, seed=4)


def degrees(web):
    return np.array([len(some) for some in web.into])


def walk(web, small=1.0):
    """The random walk on the pages and, last, the virtual page, as a dense matrix: entry [i, j] is i's share for j."""
    dense = np.zeros((web.size + 1, web.size + 1))
    for page, targets in enumerate(web.out):
        dense[page, targets] = 1
        dense[page, -1] = small
    dense[-1, :-1] = 1
    return dense / dense.sum(axis=1, keepdims=True)


def opic(web, choose, steps):
    """A dumb OPIC with a virtual page that pays past the threshold: what each step crawled, held and left behind."""
    n = web.size
    cash, history, paid = np.full(n + 1, 1 / (n + 1)), np.zeros(n + 1), 0.0

    def settle():
        nonlocal paid
        if cash[n] > THRESHOLD:
            history[n] += cash[n]
            paid += cash[n]
            cash[:n] += cash[n] / n
            cash[n] = 0

    settle()
    for step in range(steps):
        page = choose(step, cash[:n])
        held, before = cash[page], paid
        history[page] += held
        paid += held
        cash[page] = 0
        cash[web.out[page]] += held / (len(web.out[page]) + 1)
        cash[n] += held / (len(web.out[page]) + 1)
        settle()
        yield page, held, before, (history[:n] + cash[:n]) / (paid + 1), history[:n] / paid


def richest(step, cash):
    most = cash.max()
    return int(np.flatnonzero(cash >= most * (1 - 1e-12))[0])  # a tie but for rounding is a tie


def in_turn(step, cash):
    return step % len(cash)


# --- webs


@pytest.mark.parametrize("name", LAWS)
def test_a_web_has_no_link_twice_and_none_to_itself_and_is_the_same_for_the_same_seed(name):
    web, again, other = (
        generate_web(LAWS[name], 400, 1),
        generate_web(LAWS[name], 400, 1),
        generate_web(LAWS[name], 400, 2),
    )
    assert web.out == again.out != other.out
    for page, targets in enumerate(web.out):
        assert len(set(targets)) == len(targets)
        assert page not in targets
        assert all(page in web.into[target] for target in targets)
    assert (degrees(web) == draw_indegrees(LAWS[name], 400, 1)).all()


def test_in_degrees_follow_the_power_law_with_exponent_2_1():
    drawn = draw_indegrees(LAWS["power"], 100_000, seed=3)
    for k in (1, 2, 3, 10):
        share = k**-2.1 / zeta(2.1)
        assert abs((drawn == k).mean() - share) < 5 * np.sqrt(share / 100_000)
    tail = (zeta(2.1, 100) - zeta(2.1, 10_001)) / zeta(2.1)  # of the pages that 100 or more link to
    assert abs((drawn >= 100).mean() - tail) < 5 * np.sqrt(tail / 100_000)
    assert drawn.max() <= 10_000


def test_in_degrees_follow_poisson():
    drawn = draw_indegrees(LAWS["poisson"], 50_000, seed=3)
    assert abs(drawn.mean() - 8) < 5 * np.sqrt(8 / 50_000)
    assert abs(drawn.var() / 8 - 1) < 0.04


def test_only_the_broder_web_has_out_degrees_with_a_heavy_tail():
    most = {name: max(map(len, generate_web(LAWS[name], 5000, 1).out)) for name in ("power", "broder")}
    assert most["power"] < 25
    assert most["broder"] > 60


def test_a_page_that_nearly_all_link_to_does_not_hang_the_generator():
    web = generate_web(LinkLaw("power", exponent=1.05), 40, seed=1)
    assert max(map(len, web.into)) <= 4


@given(FEW, st.integers(0, 3))
@settings(deadline=None, max_examples=many(30))
def test_sparse_rows_and_targets_are_the_lists_after_any_links_and_cuts(pages, seed):
    web = generate_web(LinkLaw("poisson", mean=1.0), 12, seed)
    for page in pages:
        web.get_targets(page)
        fresh = page + 1 not in web.out[page]
        assert web.link(page, page + 1) == fresh
        assert not web.link(page, page)
        web.cut(web.into[page][: len(web.into[page]) // 2], page)
    indptr, targets = web.get_links()
    for page in range(12):
        assert targets[indptr[page] : indptr[page + 1]].tolist() == web.get_targets(page).tolist() == web.out[page]
    assert sorted((s, t) for s in range(12) for t in web.out[s]) == sorted(
        (s, t) for t in range(12) for s in web.into[t]
    )


@pytest.mark.parametrize(
    ("law", "size"),
    [
        (LinkLaw("flat"), 50),
        (LinkLaw(out="odd"), 50),
        (LinkLaw(), 9),
        (LinkLaw(exponent=1.0), 50),
        (LinkLaw("poisson"), 50),
    ],
)
def test_a_law_or_size_that_makes_no_web_is_refused(law, size):
    with pytest.raises(SettingsError):
        generate_web(law, size, 1)


# --- changes


def test_as_many_pages_change_as_the_rate_says_and_each_doubles_or_halves():
    web = generate_web(LAWS["power"], 1000, 1)
    before = degrees(web)
    assert WebChanges(web, 0.1, seed=2).advance(3) == 300
    after = degrees(web)
    changed = np.flatnonzero(after != before)
    assert len(changed) == 300
    halved = before - before // 2
    assert all(after[page] in (2 * before[page], halved[page]) for page in changed)
    rich = changed[before[changed] >= 2]
    assert 0.35 < (after[rich] == halved[rich]).mean() < 0.65
    assert (after[changed[before[changed] < 2]] == 2).all()


def test_changes_are_the_same_in_one_go_and_bit_by_bit():
    one, two = generate_web(LAWS["power"], 200, 1), generate_web(LAWS["power"], 200, 1)
    WebChanges(one, 0.7, 3).advance(2)
    slow = WebChanges(two, 0.7, 3)
    assert sum(slow.advance(part / 50) for part in range(101)) == 280
    assert one.out == two.out


def test_a_page_without_links_gets_one_and_a_rate_of_nothing_changes_nothing():
    web = GeneratedWeb(20, np.array([1], np.int64), np.array([0], np.int64))
    assert WebChanges(web, 0.0, 1).advance(100) == 0
    assert degrees(web).sum() == 1
    WebChanges(web, 1.0, 1).advance(1)
    assert sorted(degrees(web)) == [1] * 19 + [2]
    with pytest.raises(SettingsError, match="0 or more"):
        WebChanges(web, -0.1, 1)


# --- errors


@given(FEW, st.data())
@settings(deadline=None, max_examples=many(60))
def test_errors_are_those_of_a_few_plain_lines(truths, data):
    n = len(truths)
    guesses = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    x, guess = np.array(truths) / sum(truths), np.array(guesses) / sum(truths)
    off = [100 * abs(g - t) / t for g, t in zip(guesses, truths, strict=True)]
    best = sorted(range(n), key=lambda i: (-truths[i], i))[: max(1, n // 10)]
    taken = sorted(range(n), key=lambda i: (-guesses[i], i))[: max(1, n // 10)]
    pairs = [(i, j) for i in range(n) for j in range(n) if truths[i] < truths[j]]
    wrong = sum(1.0 if guesses[i] > guesses[j] else 0.5 * (guesses[i] == guesses[j]) for i, j in pairs)
    found = importance_errors.measure_errors(guess, x)
    assert found.mean == pytest.approx(np.mean(off))
    assert found.median == pytest.approx(np.median(off))
    assert found.top == pytest.approx(np.mean([off[i] for i in best]))
    assert found.deviation == pytest.approx(np.sqrt(np.mean((np.array(off) - np.mean(off)) ** 2)), abs=1e-9)
    assert found.weighted == pytest.approx(sum(o * t for o, t in zip(off, truths, strict=True)) / sum(truths))
    assert found.missed == pytest.approx(100 * (1 - len(set(best) & set(taken)) / len(best)))
    assert found.disordered == pytest.approx(100 * wrong / len(pairs) if pairs else 0.0)
    if sum(guesses):
        scaled = [g * sum(truths) / sum(guesses) for g in guesses]
        assert found.relative == pytest.approx(
            np.mean([100 * abs(s - t) / t for s, t in zip(scaled, truths, strict=True)])
        )


def test_outliers_are_the_pages_with_more_than_twice_the_mean_error():
    x = np.full(20, 0.05)
    guess = x * (1 + np.array([0.0] * 16 + [0.1] * 3 + [0.8]))
    found = importance_errors.measure_errors(guess, x)
    assert found.mean == pytest.approx(5.5)
    assert found.outliers == pytest.approx(1 / 20)
    assert found.top_outliers == 0.0
    assert found.deviation == pytest.approx(np.std([0] * 16 + [10] * 3 + [80]))


def test_disorder_is_scipys_somers_d_and_rounding_is_no_order():
    rng = np.random.default_rng(1)
    x, guess = rng.integers(1, 40, 500).astype(float), rng.integers(0, 30, 500).astype(float)
    assert importance_errors.compute_disorder(guess, x) == pytest.approx((1 - stats.somersd(x, guess).statistic) / 2)
    assert importance_errors.compute_disorder(np.array([1.0, 2.0]), np.array([0.3, 0.1 + 0.2])) == 0.0


def test_a_perfect_estimate_has_no_error():
    x = np.array([0.5, 0.3, 0.2])
    assert set(importance_errors.measure_errors(x, x).measure().values()) == {0.0}


# --- crawls of webs that stand still


@pytest.mark.parametrize("small", [0.3, 1.0])
def test_the_truth_is_the_eigenvector_of_the_walk_with_the_virtual_page(web, small):
    values, vectors = np.linalg.eig(walk(web, small).T)
    leading = np.real(vectors[:, np.argmax(np.real(values))])
    x = compute_truth(web, small)
    assert x == pytest.approx(leading / leading.sum(), abs=1e-10)
    assert compute_truth(web, small, np.roll(x, 1)) == pytest.approx(x, abs=1e-10)


@pytest.mark.parametrize("links", [[], [(3, 4)]])
def test_the_truth_of_a_web_of_hardly_any_links_is_found_though_its_circles_are_all_of_two(links):
    star = GeneratedWeb(12, *(np.array([link[end] for link in links], np.int64) for end in (0, 1)))
    x = compute_truth(star, 1.0)
    assert x @ walk(star) == pytest.approx(x, abs=1e-11)
    assert x[-1] == pytest.approx(0.5 - 0.25 * len(links) * x[3])
    assert x.sum() == pytest.approx(1)


def test_a_truth_that_takes_too_long_is_refused(monkeypatch, web):
    monkeypatch.setattr(truths, "MOST", 5)
    with pytest.raises(SettingsError, match=r"not found in 5 iterations.*--small"):
        compute_truth(web, 1.0)


def test_convergence_is_that_of_a_dumb_crawl(monkeypatch, web):
    monkeypatch.setattr(static_web, "generate_web", lambda law, size, seed: web)
    found = list_rows(measure_convergence(StaticWebPlan(size=SIZE, crawls=3)))
    x = compute_truth(web, 1.0)[:-1]
    for way, choose in (("greedy", richest), ("cycle", in_turn)):
        dumb = list(opic(web, choose, 3 * SIZE))
        for row in (row for row in found if row["way"] == way):
            _, _, _, better, plain = dumb[row["fetches"] - 1]
            estimate = {"paid and held": better, "paid": plain}[row["estimate"]]
            assert row["mean"] == pytest.approx((100 * abs(estimate - x) / x).mean(), abs=1e-6)
    assert {row["fetches"] for row in found if row["way"] == "random"} >= {6, 60, 120, 180}


def test_the_off_line_algorithm_is_the_power_of_the_walk(monkeypatch, web):
    monkeypatch.setattr(static_web, "generate_web", lambda law, size, seed: web)
    found = list_rows(measure_convergence(StaticWebPlan(size=SIZE, crawls=4)))
    x, matrix = compute_truth(web, 1.0), walk(web).T
    for way, step in (("off-line", matrix), ("off-line convergent", (np.eye(SIZE + 1) + matrix) / 2)):
        vector = np.full(SIZE + 1, 1 / (SIZE + 1))
        mine = [row for row in found if row["way"] == way]
        assert [row["fetches"] for row in mine] == [60, 120, 180, 240]
        for row in mine:
            vector = step @ vector
            assert row["weighted"] == pytest.approx(100 * abs(vector - x)[:-1].sum() / x[:-1].sum())


def test_every_selection_comes_to_the_truth_and_the_error_factor_bounds_how_far_it_is(web):
    x = compute_truth(web, 1.0)[:-1]
    for way in static_web.SELECTIONS:
        crawl = OpicCrawl(web, way, seed=1, small=1.0)
        crawl.advance(150 * SIZE)
        assert importance_errors.measure_errors(crawl.cash.estimate(crawl.rows), x).mean < 2.0
        ours = np.append(crawl.cash.compute_rough(crawl.rows), crawl.cash.virtual_history / crawl.cash.paid)
        assert abs(walk(web).T @ ours - ours).max() <= 1 / crawl.cash.paid


def test_payments_are_the_means_of_what_a_dumb_crawl_paid(monkeypatch, web):
    monkeypatch.setattr(static_web, "generate_web", lambda law, size, seed: web)
    found = [row for row in list_rows(measure_payments(StaticWebPlan(size=SIZE, crawls=2))) if row["way"] == "greedy"]
    held = [held for _, held, *_ in opic(web, richest, 2 * SIZE)]
    assert len(found) == 40
    for number, row in enumerate(found):
        assert row["held"] == pytest.approx(SIZE * np.mean(held[3 * number : 3 * number + 3]))
    assert found[-1]["by_pages"] == pytest.approx(sum(held))


def test_greedys_pages_hold_2_nths_where_cash_comes_in_many_small_payments_and_more_where_it_comes_in_lumps():
    held = {}
    for mean in (2.0, 50.0):
        found = [
            row
            for row in list_rows(measure_payments(StaticWebPlan(("poisson",), 500, 6, mean=mean)))
            if row["way"] == "greedy"
        ]
        held[mean] = np.mean([row["held"] for row in found if row["crawls"] > 3])
    assert held[50.0] == pytest.approx(2.0, abs=0.1)
    assert held[2.0] > 2.25


# --- webs that change


def test_windows_see_each_crawl_before_it_pays_and_do_not_steer(web):
    crawl, alone = OpicCrawl(web, "greedy", 1, 1.0), OpicCrawl(web, "greedy", 1, 1.0)
    log = []
    crawl.seen = lambda *seen: log.append(seen)
    crawl.advance(100)
    alone.advance(100)
    dumb = list(opic(web, richest, 100))
    assert [page for page, _, _ in log] == [page for page, *_ in dumb]
    assert [cash for _, cash, _ in log] == pytest.approx([held for _, held, *_ in dumb])
    assert [paid for _, _, paid in log] == pytest.approx([before for _, _, before, *_ in dumb])
    assert (crawl.cash.get_cash(crawl.rows) == alone.cash.get_cash(crawl.rows)).all()


def test_without_changes_plain_opic_among_the_windows_is_the_crawl_of_figure_2():
    moved = list_rows(measure_adaptation(ChangingWebPlan(("none",), (0.0,), "power", 200, 2, month=2.0)))
    still = list_rows(measure_convergence(StaticWebPlan(size=200, crawls=2)))
    greedy = {row["crawls"]: row for row in still if (row["way"], row["estimate"]) == ("greedy", "paid and held")}
    assert [row["mean"] for row in moved] == pytest.approx([greedy[1]["mean"], greedy[2]["mean"]], rel=1e-6)
    assert [row["measures"] for row in moved] == [1.0, 1.0]


def test_errors_are_taken_against_the_web_of_the_moment():
    calm, moved = (
        list_rows(measure_adaptation(ChangingWebPlan(("none",), (rate,), "power", 200, 3, month=2.0)))
        for rate in (0.0, 0.4)
    )
    assert [row["changed"] for row in moved] == [80, 160, 240]
    web = generate_web(LAWS["power"], 200, 1)
    changes, crawl = WebChanges(web, 0.4, 1), OpicCrawl(web, "greedy", 1, 1.0)
    for step in range(1, 601):
        crawl.advance(step)
        if step % 2 == 0:
            changes.advance(step / 200)
    x = compute_truth(web, 1.0)[:-1]
    assert moved[-1]["mean"] == pytest.approx(importance_errors.measure_errors(crawl.cash.estimate(crawl.rows), x).mean)
    assert moved[-1]["mean"] > calm[-1]["mean"]


def test_a_month_is_what_a_crawl_adds_to_g_after_the_first_two():
    plan = ChangingWebPlan(size=200)
    crawl = OpicCrawl(generate_web(LAWS["power"], 200, 1), "greedy", 1, 1.0)
    crawl.advance(400)
    before = crawl.cash.paid
    crawl.advance(800)
    assert moving.measure_month(plan, 1) == (crawl.cash.paid - before) / 2
    assert moving.measure_month(ChangingWebPlan(month=1.5), 1) == 1.5


@pytest.mark.parametrize(
    ("begin", "expected"), [("listing", [0.0, 1 / 61]), ("equal", [1 / 61] * 2), ("nothing", [0] * 2)]
)
def test_windows_begin_with_what_was_asked_for(web, begin, expected):
    crawl = OpicCrawl(web, "greedy", 1, 1.0)
    watching = WindowComparison(("fixed-2", "interpolation-2"), 2.5, crawl.rows, begin)
    found = watching.compute_importance(crawl.cash)
    assert [found[name][7] for name in watching.names] == pytest.approx(expected, rel=0.01)
    assert [each.time for each in watching.windows.values()] == [5.0, 5.0]


def test_a_name_says_kind_size_and_whether_held_cash_counts():
    assert parse_window("variable-16", 2.0).last == 16
    assert parse_window("improved-4", 2.0).time == 8.0
    held = parse_window("interpolation-4+held", 2.0)
    assert isinstance(held, InterpolatedHistory)
    assert held.fresh
    for name in ("interpolation", "variable-0", "fixed-x", "none-4", "+held"):
        with pytest.raises(SettingsError, match="is not a window"):
            parse_window(name, 2.0)


def test_summaries_are_means_over_the_last_three_crawls_then_over_webs():
    made = []
    for seed, factor in ((1, 1.0), (2, 3.0)):
        for crawl in range(1, 6):
            flat = dict.fromkeys(runs.NAMES, factor * crawl)
            made.append(
                {"seed": seed, "rate": 0.1, "window": "w", "crawl": crawl, "month": 2.0, "measures": crawl} | flat
            )
    (one,) = list_rows(runs.summarize_windows({name: np.array([row[name] for row in made]) for name in made[0]}))
    assert (one["runs"], one["measures"], one["mean"]) == (2, 5.0, 8.0)  # (4 + 12) / 2
    assert one["mean_spread"] == pytest.approx(4.0)  # sqrt(((4 - 8)^2 + (12 - 8)^2) / 1) / sqrt(2)


# --- commands


RANDOM = ("random", "paid and held", 1.0)  # a way, an estimate, crawls


@pytest.mark.parametrize("name", [*STILL, *MOVING])
def test_each_command_leaves_a_figure_and_its_data_and_says_what_it_found(tmp_path, name):
    tiny = ["--nodes", "100", "--crawls", "1", "--jobs", "1", "--out", str(tmp_path)]
    more = ["--rate", "0.1", "--month", "2"] if name in MOVING else ["--webs", "2" if name == "fig2" else "1"]
    done = CliRunner().invoke(opic_app, [name, *tiny, *more])
    assert done.exit_code == 0, done.output
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")
    with (tmp_path / f"{name}.csv").open() as file:
        assert len(list(csv.DictReader(file))) >= 4
    assert f"{name}.csv" in done.output
    if name == "fig2":
        with (tmp_path / "fig2-means.csv").open() as file:
            listed = list(csv.DictReader(file))
        assert {row["runs"] for row in listed} == {"2"}
        assert all(float(row["mean_spread"]) > 0 for row in listed)
        crawled = csv.DictReader((tmp_path / "fig2.csv").read_text("utf-8").splitlines())
        once = [row for row in crawled if (row["way"], row["estimate"], float(row["crawls"])) == RANDOM]
        first, second = (float(row["mean"]) for row in once)
        half = 12.7062 * abs(first - second) / 2  # Student's quantile for one degree of freedom
        assert f"{(first + second) / 2:.3g} ± {half:.3g}" in done.output
        assert "means over 2 webs, ± half of their 95 % intervals" in done.output
    else:
        assert "±" not in done.output
        assert "one web, so no intervals" in done.output
    told = {"cash": "crawled pages held", "fig5": "measures kept"}.get(name, "mean error")
    assert told in done.output


def asked_of(monkeypatch, work, *words):
    """The plan that a command hands on."""
    plans = []
    monkeypatch.setattr(runs, work, lambda *told: plans.append(told[-2]))
    done = CliRunner().invoke(opic_app, words)
    assert done.exit_code == 0, done.output
    return plans[0]


@pytest.mark.parametrize("name", MOVING)
def test_without_options_the_papers_windows_are_compared_at_all_rates_of_change(monkeypatch, name):
    plan = asked_of(monkeypatch, "run_adaptation", name)
    assert plan.rates == ((0.01,) if name == "fig5" else (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3))
    sizes = ("variable-4", "variable-8", "variable-16", "interpolation-4")
    assert plan.windows == (sizes if name == "fig4" else ("variable-8", "fixed-8", "improved-4", "interpolation-4"))
    assert (plan.size, plan.crawls, plan.way, plan.begin) == (100_000, 10, "greedy", "listing")
    assert (plan.law, plan.month, plan.small, list(plan.seeds)) == ("power", 0.0, 1.0, [1])


def test_an_option_given_twice_counts_once(monkeypatch):
    laws = ["--law", "power", "--law", "poisson", "--law", "power"]
    assert asked_of(monkeypatch, "run_convergence", "fig2", *laws).laws == ("power", "poisson")
    twice = ["--rate", "0.1", "--rate", "0.1", "--window-type", "none", "--window-type", "none"]
    plan = asked_of(monkeypatch, "run_adaptation", "fig4", *twice)
    assert (plan.rates, plan.windows) == ((0.1,), ("none",))


def test_a_web_of_hardly_any_links_ends_and_is_drawn_without_a_warning(tmp_path):
    poor = ["--law", "poisson", "--mean", "0.001", "--nodes", "20", "--crawls", "2", "--jobs", "1"]
    done = CliRunner().invoke(opic_app, ["fig2", *poor, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "fig2.png").exists()


@pytest.mark.parametrize("name", ["fig3", "cash", "fig4"])
def test_where_nothing_can_be_written_or_nobody_works_is_told_before_the_work(monkeypatch, tmp_path, name):
    def never(*_):
        raise AssertionError("work began")

    for work in ("measure_convergence", "measure_payments", "measure_adaptation"):
        monkeypatch.setattr(runs, work, never)
    (tmp_path / "file").write_text("")
    for more, why in (
        (["--jobs", "0", "--out", str(tmp_path)], "--jobs 0: give 1 or more"),
        (["--out", str(tmp_path / "file")], "cannot be a folder"),
        (["--out", str(tmp_path / "file" / "below")], "cannot be a folder"),
    ):
        done = CliRunner().invoke(opic_app, [name, *more])
        assert isinstance(done.exception, SettingsError), done.output
        assert why in str(done.exception)


@pytest.mark.parametrize("name", ["fig2", "cash", "fig4"])
def test_a_command_that_was_stopped_goes_on(monkeypatch, tmp_path, name):
    few = {"fig4": ["--rate", "0.1", "--window-type", "variable-4"]}.get(name, [])
    words = [name, "--nodes", "120", "--crawls", "3", "--jobs", "1", *few, "--out", str(tmp_path)]
    first = CliRunner().invoke(opic_app, words)
    assert first.exit_code == 0, first.output
    kept = sorted((tmp_path / "crawls").iterdir())
    kept.pop().unlink()  # as if it had been stopped before its last crawl
    made = []
    for module in (static_web, moving):
        generate = module.generate_web
        monkeypatch.setattr(module, "generate_web", lambda *terms, make=generate: made.append(terms) or make(*terms))
    again = CliRunner().invoke(opic_app, words)
    assert (again.stdout, len(made)) == (first.stdout, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        ["fig2", "--law", "flat"],
        ["fig2", "--nodes", "3"],
        ["cash", "--small", "0"],
        ["fig4", "--window-type", "wide-4"],
        ["fig4", "--selection", "lazy"],
        ["fig6", "--initial", "anyhow"],
        ["fig5", "--law", "flat"],
        ["fig4", "--rate", "inf"],
    ],
)
def test_a_persons_mistake_is_told_in_a_sentence(tmp_path, wrong):
    done = CliRunner().invoke(opic_app, [*wrong, "--out", str(tmp_path), "--jobs", "1"])
    assert isinstance(done.exception, SettingsError), done.output
    assert len(str(done.exception)) > 20
