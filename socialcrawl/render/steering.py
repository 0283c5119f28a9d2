"""What steering achieved, in words: who ordered accounts best, and what was gained over chance and breadth-first."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group
from rich.table import Table

from socialcrawl.crawls.collect.steering import CONFIDENCE, LEAST, ControlComparison, Steering
from socialcrawl.forecast.intervals import Interval
from socialcrawl.render.console import Text
from socialcrawl.storage.queries.judgement import GROUP, EstimatorRank, Judgement
from socialcrawl.storage.queries.judgement import LEAST as GROUPS
from socialcrawl.text.wording import pluralize, round_up

CONTROL = 0.1  # the share of the steps that is suggested for comparison
DEMO = 0.2  # the same of the demo, which takes few steps
LOPSIDED = 1.01  # times as far down as up: more than rounding
SIMULATED = " (simulated)"  # as the names of simulated crawls end
QUESTION = "did steering beat chance?"
WHY = f"  intervals are for {CONFIDENCE * 100:.0f} %, so that repeated looks at a report seldom show a false difference"
COMPARE = 'compare other estimators at no cost with shadows = ["lnh-sum", "opic", "nh-e-sum"] under [crawl]'
CHANGE = "If none is better, change the keywords, or choose seeds that post about the topic and mention each other"
SAID = {1: "better", -1: "worse", 0: "no difference"}


def make_estimators_table(found: Judgement) -> Group:
    """Return a table of the estimators by how they order accounts, with what the numbers mean."""
    title = "estimators by how they order accounts, lowest regret first"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("estimator", overflow="fold")
    table.add_column("", no_wrap=True)
    for name in ("rank correlation", "regret", "than chance", "picks"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    for one in found.estimators:
        rows = [
            _round_to_three(one.correlation),
            _round_to_three(one.regret),
            _describe_verdict(one.than_chance),
            f"{found.picks:,}",
        ]
        table.add_row(Text(one.estimator or "?"), "steered" if one.steered else "shadow", *rows)
    if not found.picks:
        return Group(table, Text("no account that all of them scored has been read yet"))
    return Group(table, Text("\n".join(_describe_meaning(found))))


def _describe_meaning(found: Judgement) -> Iterator[str]:
    yield f"an order by chance has a regret of {_round_to_three(found.chance)}; 0 is the best there is"
    steered = next(one for one in found.estimators if one.steered)
    name, than = steered.estimator or "the estimator that steered", steered.than_chance
    if than is None:
        yield f"not enough data to compare orders: {GROUPS * GROUP} picks are needed"
        return
    yield f"{name} put the accounts that were read in {_format_order(steered, len(found.estimators))}"
    yield from _compare_with_best([one for one in found.estimators if not one.steered])
    yield "this says nothing of accounts that were passed over, so it is no reason to use another estimator"


def _compare_with_best(shadows: Sequence[EstimatorRank]) -> Iterator[str]:
    """Yield whether the steering estimator beat the best of its shadows, which are in order of regret."""
    best = next(iter(shadows), None)
    if best is None or best.than_steered is None:
        return
    answer = {1: "no", -1: "yes", 0: "no difference is shown"}[best.than_steered.sign]
    than = _describe_lower(best.than_steered, len(shadows))
    yield f"did it order them better than the best shadow? {answer.capitalize()}: {best.estimator} has a {than}"


def _format_order(one: EstimatorRank, compared: int) -> str:
    than = one.than_chance
    assert than is not None
    if not than.sign:
        return f"an order that is not shown to differ from chance ({_describe_lower(than, compared)})"
    return f"{'a better' if than.sign > 0 else 'a worse'} order than chance ({_describe_lower(than, compared)})"


def _describe_lower(than: Interval, compared: int) -> str:
    """Return the regret that is lower or higher, with its interval as it is read: above 0, where the words say so."""
    low, high = (than.low, than.high) if than.value >= 0 else (-than.high, -than.low)
    by = f"regret {'lower' if than.value >= 0 else 'higher'} by {abs(than.value):.3f}"
    sure = "95 %" if compared == 1 else f"95 % for {compared} comparisons together"
    return f"{by}, {sure}: {low:.3f} to {high:.3f}, {than.n:,} groups of {GROUP} picks"


def describe_steering(
    found: Steering | None, judgement: Judgement | None = None, *, demo: bool = False, page: str = ""
) -> list[str]:
    """Return lines on what an estimator gained, and what to do; none for one that does not collect.

    Args:
        found: the steps that it chose, beside those drawn.
        judgement: how the estimators order accounts, where there are shadows.
        demo: whether `socialcrawl demo` ran it, which has no campaign file.
        page: the page on which the demo compared it by simulation; "" if there is none.
    """
    if found is None:
        return []
    if found.chance is None or found.breadth is None:
        return [*_describe_missing(found, page, demo=demo), *_describe_followed(found)]
    answer, gain = _describe_answer(found.chance, found.breadth), describe_gain(found)
    return [*answer, *gain, *_describe_followed(found), *_advise(found, judgement)]


def _describe_followed(found: Steering) -> Iterator[str]:
    """Yield each shadow that took over."""
    for one in found.followed:
        why = "drawn accounts showed that its order was better (follow = true)"
        yield f"  {one.estimator} replaced {one.before} at {one.at}, from decision {one.first:,} on: {why}"


def _describe_missing(found: Steering, page: str, *, demo: bool) -> Iterator[str]:
    """Yield that nothing was drawn to compare with, and how to change that."""
    share = DEMO if demo else found.control or CONTROL
    drawn = f"{share:.0%} of the steps then read an account that is drawn for comparison"
    if found.control:
        yield f"{QUESTION} Not measured yet: no account that can be compared was read since control was set"
    elif page:
        yield f"{QUESTION} Simulated by `socialcrawl demo`: see {page}"
    else:
        yield f"{QUESTION} Not measured: {found.estimator} chose every account"
    if demo:
        yield f"  to measure it: socialcrawl demo --control {DEMO}; {drawn}"
    elif found.control:
        yield f"  to measure it: raise steps under [crawl], and run with --change; {drawn}"
    else:
        done = "raise steps if all are done, and run with --change"
        yield f"  to measure it: set control = {CONTROL} under [crawl], {done}; {drawn}"


def _describe_answer(chance: ControlComparison, breadth: ControlComparison) -> list[str]:
    """Return in a few words whether steering beat chance and breadth-first."""
    answers = {1: "yes", -1: "no, it did worse", 0: "no difference is shown", None: "not enough data yet"}
    said = [answers[one.gain.sign if one.gain else None] for one in (chance, breadth)]
    return [f"{QUESTION} {said[0].capitalize()}.", f"did it beat breadth-first? {said[1].capitalize()}."]


def describe_simulation(steps: int, found: Mapping[str, float], *, control: bool = False) -> list[str]:
    """Return lines that say whether steering beat chance where all posts are known, so that each was simulated.

    Args:
        steps: how many accounts each reads.
        found: the relevance found, by who chose the accounts, the campaign's own first.
        control: whether steps were drawn for comparison.
    """
    real = f"  in a real campaign nobody knows all posts: it is measured with control = {CONTROL} under [crawl]"
    each = ", ".join(f"{name} {relevance:,.0f}" for name, relevance in found.items())
    (_, own), *others = found.items()
    answer, better = _compare_simulated(own, {name.removesuffix(SIMULATED): relevance for name, relevance in others})
    return [
        f"{QUESTION} {answer}",
        f"  relevance found in {pluralize(steps, 'step')}: {each}",
        "  simulated on all posts of the demo from the same seeds; other seeds would give other numbers",
        *([] if better else [f"  what to do: {COMPARE}. {CHANGE}"]),
        *([] if control else [real]),
    ]


def _compare_simulated(own: float, others: Mapping[str, float]) -> tuple[str, bool]:
    """Return whether a crawl beat chance, with how many times as much it found as others; and whether it did.

    Args:
        own: the relevance that it found.
        others: what the others found, by name; chance among them.
    """
    times = [f"{own / found:.1f} times {name}" for name, found in sorted(others.items(), reverse=True) if found]
    times += [f"{name} found nothing" for name, found in others.items() if not found]
    chance = others["chance"]
    alike = f"{own:.1f}" == f"{chance:.1f}" or (chance > 0 and f"{own / chance:.1f}" == "1.0")
    answer = "No difference" if alike else "Yes" if own > chance else "No"
    return f"{answer}: {' and '.join(times)}, in one simulated run each", answer == "Yes"


def describe_gain(found: Steering) -> list[str]:
    """Return lines on what an estimator gained, where steps were drawn; without what to do about it."""
    assert found.chance is not None
    assert found.breadth is not None
    steps = pluralize(found.steps, "step")
    return [
        f"  {steps} that {found.estimator} chose found relevance {found.mean:.3f} each",
        _describe_gain("chance", "drawn from all known accounts", found.chance),
        _describe_gain("breadth-first", "drawn from those nearest to the seeds", found.breadth),
        *([WHY] if found.chance.gain or found.breadth.gain else []),
    ]


def _describe_gain(name: str, drawn: str, comparison: ControlComparison) -> str:
    steps = f"{comparison.steps:,} {drawn}"
    if comparison.gain is None and comparison.steps >= LEAST:
        return f"  than {name}: not enough data yet ({steps} all found {comparison.mean:.3f})"
    if comparison.gain is None:
        return f"  than {name}: not enough data yet ({steps}, of at least {LEAST}); {_describe_more(comparison)}"
    sign, gain = comparison.gain.sign, comparison.gain
    ends = f"{CONFIDENCE * 100:.0f} % interval {gain.low:+.3f} to {gain.high:+.3f}{_explain_lopsided(gain)}"
    span = f"{gain.value:+.3f} a step, {ends}"
    if sign:
        return f"  {SAID[sign]} than {name}: {span}; {steps} found {comparison.mean:.3f} each"
    more = f"; {_describe_more(comparison)}" if comparison.needed else ""
    return f"  no difference from {name} is shown: {span}; {steps} found {comparison.mean:.3f} each{more}"


def _explain_lopsided(gain: Interval) -> str:
    """Return why an interval reaches further down than up; nothing where it does not."""
    further = (gain.value - gain.low) > LOPSIDED * (gain.high - gain.value)
    return ", whose lower end allows for good accounts that the few drawn steps missed" if further else ""


def _describe_more(comparison: ControlComparison) -> str:
    return f"{_count_more(comparison)} may tell"


def _count_more(comparison: ControlComparison) -> str:
    return f"about {pluralize(round_up(comparison.needed or 0), 'more step')}"


def _advise(found: Steering, judgement: Judgement | None) -> Iterator[str]:
    """Yield what to do, unless steering beat both or too few steps were drawn to compare."""
    assert found.chance is not None
    assert found.breadth is not None
    chance, breadth = (
        comparison.gain.sign if comparison.gain else None for comparison in (found.chance, found.breadth)
    )
    if breadth == -1 and found.estimator != "bfs":
        yield '  what to do: try estimator = "bfs" under [crawl], and run with --change'
    elif chance == 1 and breadth == 0:
        yield f"  what to do: keep {found.estimator}; breadth-first is not shown to find more"
    elif chance in (0, -1):
        yield f"  what to do: {_choose_advice(found.chance, judgement)}"
    elif chance is None and found.chance.steps >= LEAST:
        yield "  what to do: if the accounts have no matching posts, change the keywords or the seeds"


def _choose_advice(chance: ControlComparison, judgement: Judgement | None) -> str:
    """Return what to do where steering does not beat chance, in at most two sentences."""
    shadows = judgement.estimators if judgement else ()
    better = _find_best_shadow(shadows)
    if better is not None and better.than_steered is not None:
        lower = _describe_lower(better.than_steered, len(shadows) - 1)
        order = f"it puts the same accounts in a better order ({lower})"
        return f'try estimator = "{better.estimator}" under [crawl], and run with --change; {order}'
    longer = f"run {_count_more(chance)}, and " if chance.needed else ""
    if not shadows:
        return f"{longer}{COMPARE}. {CHANGE}"
    none = f"{longer}try other shadows: none of these is shown to order the accounts better"
    return f"{none}. {CHANGE}"


def _find_best_shadow(judged: Sequence[EstimatorRank]) -> EstimatorRank | None:
    """Return the first if it is a shadow that orders accounts better than the steering estimator and than chance."""
    best = judged[0] if judged else None
    if best is None or best.than_steered is None or best.than_chance is None:
        return None
    return best if best.than_steered.sign > 0 and best.than_chance.sign > 0 else None


def _describe_verdict(than: Interval | None) -> str:
    return "-" if than is None else SAID[than.sign]


def _round_to_three(number: float | None) -> str:
    return "-" if number is None else f"{number:.3f}"
