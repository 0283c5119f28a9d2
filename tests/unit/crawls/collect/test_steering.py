"""What a report says of steering: in worlds that are made so that it helps, changes nothing, or does harm."""

import csv
import io
import json
import re
import sqlite3
import statistics
from dataclasses import replace
from itertools import groupby
from math import nan

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import binomtest
from x_crawls import campaign_of, posts, rows

from socialcrawl.cli.commands.explain import explain_account
from socialcrawl.cli.commands.export import export_data
from socialcrawl.cli.commands.run import build_object, run_campaign, show_ending
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.steering import LEAST, ControlComparison, Steering, compare_arms, measure_steering
from socialcrawl.crawls.collect.strategies import ControlledStrategy, Greedy
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import CHANCE, NEAREST, STEERED, assign_arms
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node
from socialcrawl.exporters.export import ExportOptions
from socialcrawl.forecast.intervals import Interval, estimate_difference
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render import steering as steering_lines
from socialcrawl.storage.database.backup import back_up
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.judgement import EstimatorRank, Judgement, ScoredPicks, judge_estimators
from socialcrawl.storage.queries.traces import CampaignTraces, StepColumns, find_drawn
from socialcrawl.verify.exported import verify_export


def world(seed, *, tie=0.0, near=0.2, far=0.2, width=300):
    """One seed that links to `width` accounts, each of which links to two more.

    Args:
        seed: of the draws.
        tie: 1: links to relevant accounts weigh most; -1: least; 0: weights and relevance have nothing in common.
        near, far: the share of relevant accounts among the first, and among the others.
        width: see above.
    """
    draw = np.random.default_rng(seed)
    size = 1 + 3 * width
    relevant = draw.random(size) < np.where(np.arange(size) <= width, near, far)
    alpha = 1.0 + draw.random(size) + tie * relevant
    ends = [np.arange(1, width + 1), *(np.arange(2) + width + 1 + 2 * i for i in range(width))]
    indptr = np.cumsum([0, *map(len, ends), *[0] * (2 * width)])
    indices = np.concatenate(ends)
    return KnownGraph(indptr, indices, alpha[indices], np.where(relevant, 1 + np.log(draw.geometric(0.4, size)), 0.0))


class Written(SequenceStore):
    """A store that keeps the picks as well."""

    def __init__(self):
        super().__init__()
        self.picks = []

    def open(self, batch):
        self.picks += batch


def crawled(graph, estimator, *, seed=1, steps=200, control=0.2):
    """The steps of a crawl of `graph`, as a database has them."""
    line, tape = Seeds(), Written()
    line.ready = [Node(0)]
    crawl = Collect(
        line, make_estimator(estimator, seed=seed), steps, strategy=ControlledStrategy(Greedy(), control, seed)
    )
    run(make_parts(crawl, KnownGraphSource(graph), tape))
    n, node = (np.array([getattr(pick, name) for pick in tape.picks[1:]], np.int64) for name in ("n", "node"))
    return StepColumns(n, node, np.array(tape.values[1:]), np.full(len(n), ""), 0)


def verdicts(runs, **made):
    """What is said of chance and of breadth-first in so many worlds: 1 better, 0 no difference, -1 worse."""
    found = [
        compare_arms("nh-e-sum", crawled(world(seed, **made), "nh-e-sum", seed=seed, steps=120, control=0.3), seed, 0.3)
        for seed in range(runs)
    ]
    signs = [[one.gain.sign for one in (told.chance, told.breadth) if one.gain is not None] for told in found]
    assert sum(map(len, signs)) > 1.8 * runs, "there is hardly a world with too few drawn steps"
    return [sign for both in signs for sign in both]


def test_where_steering_changes_nothing_a_difference_is_said_in_at_most_one_of_twenty_worlds():
    found = verdicts(200)
    wrong = len(found) - found.count(0)
    assert binomtest(wrong, len(found), 0.05, alternative="greater").pvalue > 0.01, f"{wrong} of {len(found)}"


def test_who_looks_again_and_again_sees_a_false_difference_in_one_of_twenty_crawls_at_most():
    """Steps that all find the same on average, looked at every 100 of 2,000: one false look of a crawl is enough."""
    false = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        values = np.where(draw.random(2_000) < 0.6, 1 + np.log(draw.geometric(0.3, 2_000)), 0.0)
        reports = [
            compare_arms("bfs", *steps_of(values[:length], seed=seed, control=0.1)) for length in range(100, 2_001, 100)
        ]
        gains = [one.chance.gain for one in reports if one.chance.gain is not None]
        assert len(gains) > 15
        false += any(gain.sign for gain in gains)
    assert binomtest(false, 200, 0.05, alternative="greater").pvalue > 0.01, false


def test_where_links_tell_who_is_relevant_steering_is_said_to_be_better():
    found = verdicts(30, tie=1.0)
    assert found.count(1) > 0.8 * len(found)
    assert found.count(-1) == 0


def test_where_links_mislead_steering_is_said_to_be_worse():
    found = verdicts(30, tie=-1.0, near=0.5, far=0.5)
    assert found.count(-1) > 0.8 * len(found)
    assert found.count(1) == 0


def test_better_than_chance_and_worse_than_breadth_first_are_told_apart():
    """Near the seed most are relevant, further away one in three; the estimator goes away from the seed."""
    graph = world(1, near=0.9, far=0.1)
    alpha = np.where(graph.indices > 300, 9.0, 1.0)
    found = compare_arms("nh-e-sum", crawled(replace(graph, alpha=alpha), "nh-e-sum", steps=300), 1, 0.2)
    assert (found.breadth.gain.sign, found.chance.gain.sign) == (-1, -1)
    alpha = np.where(graph.indices > 300, 0.1, 1.0)
    found = compare_arms("nh-e-sum", crawled(replace(graph, alpha=alpha), "nh-e-sum", steps=300), 1, 0.2)
    assert (found.breadth.gain.sign, found.chance.gain.sign) == (0, 1)


def steps_of(values, *, seed=4, control=0.5, missing=(), nodes=None, since=0):
    size = len(values)
    why = np.array([dict(missing).get(place, "") for place in range(size)])
    nodes = np.arange(size) if nodes is None else np.array(nodes)
    return StepColumns(np.arange(size) * 2 + 5, nodes, np.array(values, np.float64), why, since), seed, control


def test_the_means_are_those_of_the_steps_by_who_chose_them():
    who = assign_arms(4, 0.5, 0, 200)
    values = np.select([who == STEERED, who == CHANCE], [3.0, 1.0], 2.0)
    for arm in (STEERED, CHANCE, NEAREST):
        values[np.flatnonzero(who == arm)[:2]] += 0.5, -0.5
    found = compare_arms("bfs", *steps_of(values))
    assert (found.mean, found.chance.mean, found.breadth.mean) == pytest.approx((3.0, 1.0, 2.0))
    assert [found.steps, found.chance.steps, found.breadth.steps] == [
        int((who == arm).sum()) for arm in (STEERED, CHANCE, NEAREST)
    ]
    assert (found.chance.gain.value, found.breadth.gain.value) == pytest.approx((2.0, 1.0))


def test_steps_that_all_found_the_same_show_no_gain_and_the_report_says_so():
    """Ten drawn steps that found nothing do not show that there is nothing to find."""
    found = compare_arms("bfs", *steps_of(np.zeros(200)))
    assert found.chance.steps >= LEAST
    assert (found.chance.gain, found.chance.needed) == (None, None)
    said = steering_lines.describe_steering(found)[3]
    assert said.endswith(
        f"than chance: not enough data yet ({found.chance.steps} drawn from all known accounts all found 0.000)"
    )


def test_a_gain_that_is_not_above_zero_allows_for_one_more_drawn_step_as_good_as_the_best():
    """Its lower end does; the upper one, which tells that steering is worse, is Student's."""
    who = assign_arms(4, 0.5, 0, 200)
    values = np.where(who == STEERED, 0.0, np.arange(200) % 2)
    values[np.flatnonzero(who == STEERED)[0]] = 5.0
    found = compare_arms("bfs", *steps_of(values)).chance
    steps, drawn = values[who == STEERED], values[who == CHANCE]
    own = estimate_difference(steps, drawn, 0.99)
    assert (found.gain.value, found.gain.high) == (own.value, own.high)
    assert found.gain.low == estimate_difference(steps, np.append(drawn, 5.0), 0.99).low < own.low
    better = np.where(who == STEERED, np.arange(200) % 7, np.arange(200) % 2)
    found = compare_arms("bfs", *steps_of(better)).chance
    assert found.gain == estimate_difference(better[who == STEERED], better[who == CHANCE], 0.99)


def test_steps_that_say_nothing_are_left_out_and_all_others_keep_their_draws():
    who = assign_arms(4, 0.5, 0, 200)
    values = np.where(who == STEERED, 3.0, 1.0)
    out = {3: "forgotten", 8: "open", 9: "suspended"}
    nodes = [*range(150), *range(50)]  # the last fifty had failed for a while
    found = compare_arms("bfs", *steps_of(values, missing=out.items(), nodes=nodes, since=25))
    kept = [place for place in range(150) if place * 2 + 5 >= 25 and place not in (3, 8)]
    assert found.steps == sum(who[place] == STEERED for place in kept)
    assert found.mean == 3.0
    assert compare_arms("bfs", *steps_of([])) is None
    assert compare_arms("bfs", *steps_of(values, since=1000, control=0.0)) is None


def test_where_control_was_set_after_the_last_step_nothing_is_measured_yet_and_more_steps_are_advised():
    found = compare_arms("bfs", *steps_of(np.ones(200), since=1000))
    assert (found.steps, found.drawn, found.chance, found.breadth) == (0, 0, None, None)
    first, second = steering_lines.describe_steering(found)
    assert first.endswith("Not measured yet: no account that can be compared was read since control was set")
    assert "raise steps under [crawl], and run with --change" in second
    assert "50% of the steps then read an account that is drawn" in second


def test_without_drawn_steps_nothing_is_compared_and_with_few_it_is_said_how_many_more_are_needed():
    alone = compare_arms("bfs", *steps_of(np.ones(50), control=0.0))
    assert (alone.steps, alone.chance, alone.breadth) == (50, None, None)
    few = compare_arms("bfs", *steps_of(np.ones(40), control=0.1))
    assert few.chance.steps < LEAST
    assert few.chance.gain is None
    assert few.chance.needed == (LEAST - few.chance.steps) * 20


def test_the_steps_that_are_still_needed_are_about_those_that_tell_a_difference():
    found = [compare_arms("nh-e-sum", crawled(world(seed, tie=0.2), "nh-e-sum", seed=seed, steps=100), seed, 0.2)
             for seed in range(30)]  # fmt: skip
    guessed = [100 + one.chance.needed for one in found if one.chance.gain and one.chance.needed]
    assert 100 < np.median(guessed) < 1000


def interval(low, high, n=40):
    return Interval((low + high) / 2, low, high, n)


def said(chance, breadth, judgement=None, needed=None):
    one, other = (ControlComparison(40, 0.4, gain, needed) for gain in (chance, breadth))
    lines = steering_lines.describe_steering(Steering("nh-ne-sum", 800, 0.9, 0.1, one, other), judgement)
    return "\n".join(lines)


BETTER, WORSE, SAME = interval(0.3, 0.7), interval(-0.7, -0.3), interval(-0.2, 0.3)


def test_the_words_say_better_or_worse_than_what_by_how_much_and_what_to_do():
    gain = "+0.500 a step, 99 % interval +0.300 to +0.700; 40 drawn from"
    assert said(BETTER, BETTER).splitlines() == [
        "did steering beat chance? Yes.",
        "did it beat breadth-first? Yes.",
        "  800 steps that nh-ne-sum chose found relevance 0.900 each",
        f"  better than chance: {gain} all known accounts found 0.400 each",
        f"  better than breadth-first: {gain} those nearest to the seeds found 0.400 each",
        "  intervals are for 99 %, so that repeated looks at a report seldom show a false difference",
    ]
    assert "worse than chance: -0.500 a step, 99 % interval -0.700 to -0.300" in said(WORSE, BETTER)
    assert "no difference from chance is shown: +0.050 a step, 99 % interval -0.200 to +0.300" in said(SAME, BETTER)
    assert "about 1,300 more steps may tell" in said(SAME, SAME, needed=1234), "a guess has no four digits"
    assert 'try estimator = "bfs"' in said(BETTER, WORSE)
    assert "what to do: keep nh-ne-sum; breadth-first is not shown to find more" in said(BETTER, SAME)
    assert "what to do: if the accounts have no matching posts, change the keywords" in said(None, None)
    assert "what to do" not in said(BETTER, BETTER)


def test_where_no_difference_from_chance_is_shown_there_is_advice_in_at_most_two_sentences():
    shadow = EstimatorRank("opic", False, 0.5, 0.2, than_chance=interval(-0.1, 0.1), than_steered=interval(-0.1, 0.1))
    for needed in (None, 1234):
        for judgement, words in ((None, "shadows = ["), (Judgement(900, 0.5, (shadow,)), "try other shadows")):
            (advice,) = [line for line in said(SAME, SAME, judgement, needed).splitlines() if "what to do" in line]
            assert words in advice
            assert ("run about 1,300 more steps, and " in advice) is (needed is not None)
            assert advice.count(". ") == 1
            assert "change the keywords, or choose seeds" in advice


@pytest.mark.parametrize(
    ("own", "chance", "answer"),
    [
        (500.0, 200.0, "Yes: 2.5 times chance and 1.5 times breadth-first, in one simulated run each"),
        (100.0, 200.0, "No: 0.5 times chance and 0.3 times breadth-first, in one simulated run each"),
        (204.0, 200.0, "No difference: 1.0 times chance and 0.6 times breadth-first, in one simulated run each"),
        (500.0, 0.0, "Yes: 1.5 times breadth-first and chance found nothing, in one simulated run each"),
    ],
)
def test_a_simulation_answers_whether_steering_beat_chance_and_by_how_much(own, chance, answer):
    lines = steering_lines.describe_simulation(
        200, {"bfs": own, "breadth-first (simulated)": 333.0, "chance (simulated)": chance}
    )
    assert lines[0] == f"did steering beat chance? {answer}"
    assert ("what to do" in "".join(lines)) is not answer.startswith("Yes")
    assert f"  relevance found in 200 steps: bfs {own:,.0f}, breadth-first (simulated) 333" in lines[1]


def test_an_interval_that_reaches_further_down_than_up_says_why():
    why = ", whose lower end allows for good accounts that the few drawn steps missed"
    assert f"99 % interval -0.900 to +0.300{why};" in said(replace(interval(-0.9, 0.3), value=0.05), BETTER)
    assert why not in said(SAME, WORSE) + said(BETTER, BETTER)


def test_another_estimator_is_named_only_where_steering_does_not_help_and_the_other_orders_better():
    good = EstimatorRank("opic", False, 0.5, 0.2, than_chance=interval(0.1, 0.2), than_steered=interval(0.05, 0.3))
    unsure = replace(good, than_steered=interval(-0.05, 0.3))
    mine = EstimatorRank("nh-ne-sum", True, 0.0, 0.5, than_chance=interval(-0.1, 0.1))
    for chance, shadow, wanted in (
        (WORSE, good, True), (SAME, good, True), (BETTER, good, False), (WORSE, unsure, False), (SAME, unsure, False),
    ):  # fmt: skip
        told = said(chance, SAME, Judgement(900, 0.5, (shadow, mine)))
        assert ('try estimator = "opic" under [crawl]' in told) is wanted
        assert ("none of these is shown to order the accounts better" in told) is (chance is not BETTER and not wanted)
    assert "shadows = [" in said(WORSE, SAME)


def test_the_first_line_answers_for_chance_and_breadth_first_each():
    unknown = "not enough data yet"
    answers = {"Yes": BETTER, "No, it did worse": WORSE, "No difference is shown": SAME, unknown.capitalize(): None}
    for one, chance in answers.items():
        for other, breadth in answers.items():
            lines = said(chance, breadth).splitlines()[:2]
            assert lines == [f"did steering beat chance? {one}.", f"did it beat breadth-first? {other}."]


def test_without_drawn_steps_it_says_that_nothing_is_known_and_how_to_measure_it():
    plain = Steering("hybrid-sum", 90, 0.5, 0.0)
    first, second = steering_lines.describe_steering(plain)
    assert first == "did steering beat chance? Not measured: hybrid-sum chose every account"
    assert "set control = 0.1 under [crawl], raise steps if all are done, and run with --change" in second
    assert "10% of the steps" in second
    _, second = steering_lines.describe_steering(plain, demo=True)
    assert "socialcrawl demo --control 0.2; 20% of the steps" in second, "the demo has no campaign file"
    first, _ = steering_lines.describe_steering(plain, demo=True, page="demo-report.html")
    assert first.endswith("Simulated by `socialcrawl demo`: see demo-report.html")
    assert steering_lines.describe_steering(None) == []
    few = ControlComparison(3, nan, None, 140)
    assert (
        "not enough data yet (3 drawn from all known accounts, of at least 10); about 140 more steps may tell"
        in (steering_lines.describe_steering(Steering("bfs", 30, 0.5, 0.1, few, few))[3])
    )


def ordered(scores, value):
    return judge_estimators(ScoredPicks(("steers", "looks"), np.array(scores), np.array(value)))


def test_a_score_that_only_grows_is_not_worse_than_chance_where_the_best_are_found_first():
    """Scores that are drawn, but rise with every step, while relevance falls: no order within a group is better."""
    wrong = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        fall = np.linspace(0.8, 0.1, 600)
        value = np.where(draw.random(600) < fall, 1 + np.log(draw.geometric(0.4, 600)), 0.0)
        scores = draw.random((2, 600)) + np.linspace(0, 5, 600)
        (one, other) = ordered(scores, value).estimators
        wrong += sum(found.than_chance.sign != 0 for found in (one, other))
    assert binomtest(wrong, 200, 0.05, alternative="greater").pvalue > 0.01, wrong


def test_an_order_that_is_better_or_worse_than_chance_is_called_so_with_its_interval():
    draw = np.random.default_rng(2)
    value = draw.random(600)
    found = ordered([-value + draw.random(600), value + draw.random(600)], value)
    assert [(one.estimator, one.than_chance.sign) for one in found.estimators] == [("looks", 1), ("steers", -1)]
    assert (found.estimators[0].than_steered.sign, found.estimators[1].than_steered) == (1, None)
    assert found.estimators[0].than_chance.value == pytest.approx(found.chance - found.estimators[0].regret)
    assert found.estimators[0].than_steered.value == pytest.approx(
        found.estimators[1].regret - found.estimators[0].regret
    )
    text = printed(found)
    assert re.search(r"looks +shadow +0\.\d+ +0\.\d+ +better +600", text)
    assert re.search(r"steers +steered +-0\.\d+ +0\.\d+ +worse +600", text)
    assert re.search(
        r"steers put the accounts that were read in a worse order than chance \(regret higher by 0\.\d+, "
        r"95 % for 2 comparisons together: 0\.\d+ to 0\.\d+, 12 groups of 50 picks\)",
        text,
    )
    assert re.search(
        r"did it order them better than the best shadow\? No: looks has a regret lower by "
        r"0\.\d+, 95 %: 0\.\d+ to 0\.\d+",
        text,
    )
    assert "says nothing of accounts that were passed over" in text
    alike = printed(ordered([value + draw.random(600), value + draw.random(600)], value))
    assert "did it order them better than the best shadow? No difference is shown: looks has a regret" in alike
    assert "Yes: looks has a regret higher by" in printed(ordered([value, draw.random(600)], value))


def test_few_picks_are_not_compared():
    text = printed(ordered([np.arange(249.0)] * 2, np.arange(249.0)))
    assert "not enough data to compare orders: 250 picks are needed" in text
    assert "better" not in text
    assert "worse" not in text


def test_regret_and_correlation_look_inside_of_groups_only():
    draw = np.random.default_rng(3)
    value, score = draw.random(170), draw.random(170)
    groups = np.array_split(np.arange(170), 3)

    def area(order):
        return sum(float(np.cumsum(value[group][np.argsort(-order[group])]).sum()) for group in groups)

    found = ordered([score, score + np.repeat([0.0, 7.0, 14.0], [57, 57, 56])], value).estimators
    assert [one.regret for one in found] == pytest.approx([1 - area(score) / area(value)] * 2)
    assert found[0].correlation == pytest.approx(found[1].correlation)


def printed(found):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(steering_lines.make_estimators_table(found))
    return console.export_text()


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A campaign against the mock whose steps are drawn half of the time: its database, settings, ending."""
    database = tmp_path_factory.mktemp("control") / "a.db"
    with serve_in_thread(posts(), limit=100_000) as mock:
        settings = campaign_of(
            mock.url,
            database,
            crawl={"estimator": "nh-ne-sum", "steps": 90, "control": 0.5, "refresh_rate": 3, "shadows": []},
        )
        yield database, settings, run_campaign(settings, Console(file=io.StringIO()), quiet=True)


def test_no_curve_is_drawn_of_what_drawn_steps_estimate(ended):
    """A curve without its interval would show a difference that the report does not."""
    assert ended[2].report.baselines == {}


def test_a_campaign_draws_its_steps_says_so_and_tells_what_they_show(ended):
    database, settings, ending = ended
    found = ending.report.gained
    who = assign_arms(settings.seed, 0.5, 0, 90).tolist()
    assert (found.estimator, found.control) == ("nh-ne-sum", 0.5)
    assert [found.steps, found.chance.steps, found.breadth.steps] == [who.count(arm) for arm in (0, 1, 2)]
    said = json.loads(json.dumps(build_object(ending)))["steering"]
    assert said["chance"]["gain"]["value"] == pytest.approx(said["mean"] - said["chance"]["mean"])
    console = Console(file=io.StringIO(), width=400)
    show_ending(settings, console, ending, as_json=False)
    assert "\n".join(steering_lines.describe_steering(found)) in console.file.getvalue()
    with open_readable(database) as connection:
        traces = CampaignTraces(connection)
        assert measure_steering(traces) == found
        steps = traces.read_steps(1)
    assert (len(steps.n), steps.value.sum()) == (90, pytest.approx(ending.report.found.relevance))


def test_who_was_drawn_is_explained_by_the_draw_and_not_by_the_score(ended):
    database, settings, _ = ended
    who = assign_arms(settings.seed, 0.5, 0, 90).tolist()
    with open_readable(database) as connection:
        steps = CampaignTraces(connection).read_steps(1)
        names = CampaignTraces(connection).read_names([Node(node) for node in steps.node.tolist()])
    words = {STEERED: None, CHANCE: "drawn from all of them", NEAREST: "drawn from those of them that are nearest"}
    for arm, group in groupby(sorted(range(90), key=who.__getitem__), key=who.__getitem__):
        for place in list(group)[:4]:
            console = Console(file=io.StringIO(), width=300)
            explain_account(database, names[Node(int(steps.node[place]))], None, console)
            text = console.file.getvalue()
            assert ("[crawl] control" in text) is (arm != STEERED)
            assert words[arm] is None or words[arm] in text


def test_an_export_says_which_picks_were_drawn_so_that_anybody_can_work_out_the_gain(ended, tmp_path):
    """The table of picks gives the same groups, means and difference as the report, and verify proves each mark."""
    database, _, ending = ended
    export_data(database, tmp_path / "out", ExportOptions(formats=("csv", "jsonl")), as_json=True)
    with (tmp_path / "out" / "picks.csv").open(encoding="utf-8", newline="") as file:
        picks = [row for row in csv.DictReader(file) if row["act"] == "expand"]
    assert len({row["node"] for row in picks}) == len(picks)
    values = {how: [float(row["value"] or 0) for row in picks if row["drawn"] == how] for how in ("", "all", "nearest")}
    gained = ending.report.gained
    assert [len(group) for group in values.values()] == [gained.steps, gained.chance.steps, gained.breadth.steps]
    means = [gained.mean, gained.chance.mean, gained.breadth.mean]
    assert [statistics.fmean(group) for group in values.values()] == pytest.approx(means)
    sheet = json.loads((tmp_path / "out" / "datasheet.json").read_text("utf-8"))
    notes = [line.strip() for line in steering_lines.describe_gain(gained)]
    assert sheet["campaigns"][0]["notes"] == notes
    assert notes[1] in (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    found = {(one.about, check.name): check for one in verify_export(tmp_path / "out") for check in one.checks}
    for form in ("csv", "jsonl"):
        check = found[f"{form} of the export", "drawn picks"]
        assert (check.differing, check.unproved.total()) == (0, 0)
        assert check.proved == rows(database, "select count(*) from pick")[0][0]


def drawn_in(database):
    with open_readable(database) as connection:
        return find_drawn(CampaignTraces(connection), "campaign")


def test_an_account_that_is_tried_again_is_not_drawn_again_and_a_share_holds_until_it_is_changed(ended, tmp_path):
    database = tmp_path / "a.db"
    back_up(ended[0], database)
    before = drawn_in(database)
    *_, last = sorted(before)
    half = sorted(before)[len(before) // 2]
    with sqlite3.connect(database) as connection:
        connection.execute(
            "update pick set node = (select node from pick where n = ?) where n = ?", (min(before), last)
        )
    assert drawn_in(database) == {n: how for n, how in before.items() if n != last}
    with sqlite3.connect(database) as connection:
        (told,) = connection.execute("select settings from campaign").fetchone()
        plain = json.loads(told)
        plain["crawl"]["control"] = 0.0
        for number, first, settings in ((0, 0, told), (1, half, json.dumps(plain))):
            row = (1, number, "2030-01-01T00:00:00Z", first, settings, "[]")
            connection.execute("insert or replace into version values (?, ?, ?, ?, ?, ?)", row)
    assert drawn_in(database) == {n: how for n, how in before.items() if n < half}


def test_what_is_drawn_is_part_of_a_campaigns_identity():
    plain, drawn = (campaign_of(None, "a.db", crawl=crawl) for crawl in ({}, {"control": 0.1}))
    assert "control" not in plain.identity([])["crawl"]
    assert drawn.identity([])["crawl"]["control"] == 0.1
