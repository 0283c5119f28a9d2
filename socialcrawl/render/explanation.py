"""Why an account was collected or not, for people and for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import singledispatch
from math import isfinite
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from socialcrawl.crawls.collect.crawl import REST
from socialcrawl.crawls.collect.explain import Explanation
from socialcrawl.crawls.registry import find_kind
from socialcrawl.crawls.seeds import TRIES
from socialcrawl.crawls.trace import AccountTrace
from socialcrawl.crawls.track.report import VisitHistory
from socialcrawl.engine.draws import CHANCE, STEERED
from socialcrawl.engine.model import Act
from socialcrawl.platforms.facts import find_platform_facts, list_id_starts
from socialcrawl.render.console import Text
from socialcrawl.render.track_report import show_visits
from socialcrawl.storage.queries.traces import AccountVisit, IncomingLink
from socialcrawl.text.wording import pluralize

FOUND = {"probe": ("active", "not active"), "walk": ("on topic", "off topic")}


def show_trace(console: Console, trace: AccountTrace) -> None:
    """Print when a campaign requested the posts of an account, and what it found."""
    kind = find_kind(trace.kind)
    console.print(Text(f"{trace.account} in the campaign {trace.campaign}, {kind.does}"))
    if not trace.asks:
        console.print(kind.unasked)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("decision", "act", "answered (UTC)", "found", "posts", "matches"):
        table.add_column(name, justify="left" if name in ("act", "answered (UTC)", "found") else "right", no_wrap=True)
    for ask in trace.asks:
        at = ask.at[:16].replace("T", " ") if ask.at else "not yet"
        counts = ["-" if count is None else f"{count:,}" for count in (ask.posts, ask.occurrences)]
        table.add_row(f"{ask.n:,}", ask.act, at, _format_found(ask), *counts)
    console.print()
    console.print(table)


def _format_found(ask: AccountVisit) -> str:
    if ask.at is None:
        return ""
    yes, no = FOUND.get(ask.act, ("", ""))
    return ask.missing or (yes if ask.value else no)


SAID = {
    "stranger": "the database knows it, but this campaign has met no link to it and no search found it",
    "unchosen": "a search found it, when as many seeds were chosen already as [seeds] most allows; nobody who was read "
    "links to it",
    "closed": "it is linked to, but not among those that can be asked",
    "waiting": "it is a seed, and its turn comes before any other account is chosen",
    "open": "it was chosen, and its answer has not come yet: run the campaign to go on",
    "looked-up": "it was looked up as a seed, and can not be read; nobody who was read links to it",
    "frontier": "it can be asked, and was not yet",
}


@singledispatch
def show_explanation(trace: Any, console: Console, top: int) -> None:
    """Print an explanation. Below are those of kinds that have another form of explanation.

    Args:
        trace: as `crawls.reporting.explain` gives it.
        console: where it is read.
        top: the number of links to list.
    """
    console.print(Text("\n".join(_format_story(trace))))
    if trace.decision is not None:
        console.print()
        console.print(_format_parts(trace))
    if trace.links and top:
        console.print()
        console.print(_format_links(trace, top))


@show_explanation.register
def _(trace: VisitHistory, console: Console, top: int) -> None:
    del top
    show_visits(console, trace)


@show_explanation.register
def _(trace: AccountTrace, console: Console, top: int) -> None:
    del top
    show_trace(console, trace)


def collect_explanation(trace: Any) -> dict[str, Any]:
    """Return an explanation as plain values of JSON, for programs."""
    return cast("dict[str, Any]", _make_plain(asdict(trace)))


def _format_story(explanation: Explanation) -> Iterator[str]:
    pages = find_platform_facts(explanation.platform).pages
    who = explanation.user if pages else format_account(explanation.user)
    who = who if explanation.names is None or explanation.node is None else _name_node(explanation, explanation.node)
    yield f"{who} in the campaign {explanation.campaign}"
    if explanation.state == "unknown":
        page = "no page that was read links to it" if pages else "nobody who was read mentions it"
        yield f"this database has never heard of it: {page}, and no search found it"
        if explanation.alike:
            yield f"it knows {', '.join(map(format_account, explanation.alike))}: ask for the whole name"
    elif explanation.state == "forgotten":
        why = explanation.why or "on request"
        yield f"it was forgotten ({why}): nothing of it is left, and it is not collected again"
    else:
        yield from _format_visits(explanation)
        yield from _format_state(explanation)
        yield from _format_decision(explanation)
        for number, first, at, why in explanation.epochs:
            other = not {"topic", "forget", "retain"}.isdisjoint(why.split(","))
            then = "the history before it was changed" if other else "the campaign goes on in another way"
            yield f"epoch {number} began at {at} with decision {first} ({why}): {then}"
        for number, first, at, changed in explanation.versions[1:]:
            yield f"version {number} of the settings came at {at} with decision {first}: {', '.join(changed)} changed"


def _format_visits(explanation: Explanation) -> Iterator[str]:
    for ask in explanation.asks:
        act = {"seed": "asked as a seed", "resolve": "looked up as a seed", "import": "taken from a file"}
        found = "the answer has not come yet"
        if ask.missing is not None:
            found = f"not to be read: {ask.missing}"
        elif ask.at is not None and ask.act == Act.RESOLVE:
            found = "found"
        elif ask.at is not None:
            matches = pluralize(ask.occurrences or 0, "match", "matches")
            found = f"worth {ask.value:.4g} ({matches} in {pluralize(ask.posts or 0, 'post')})"
        score = f", score {ask.score:.6g}" if ask.act == Act.EXPAND else ""
        yield f"decision {ask.n:,}: {act.get(ask.act, 'asked')}{score}; {ask.at or 'since'}: {found}"


def _format_state(explanation: Explanation) -> Iterator[str]:
    if explanation.state in ("seed", "import"):
        yield "it was not chosen by an estimator: campaigns begin with such accounts"
    elif explanation.state == "same" and explanation.same is not None:
        yield f"that name turned out to be the account {_name_node(explanation, explanation.same)}: ask for that one"
    elif explanation.state == "resting":
        yield (
            f"it failed for a while and rests: it is offered again at decision {explanation.rests_until:,} "
            f"({REST} after the failure; {TRIES} times at most)"
        )
    elif explanation.state == "asked" and explanation.decision is None:
        yield "no estimate led to it: nothing else was left to ask, or the history was changed after it"
    elif explanation.state in SAID:
        yield SAID[explanation.state]


def _format_decision(explanation: Explanation) -> Iterator[str]:
    made = explanation.decision
    if made is None:
        return
    if len(explanation.versions) > 1:
        yield f"explained with version {explanation.version} of the settings, those of the time"
    taken = pluralize(made.taken, "step")
    yield f"estimator {explanation.estimator}, strategy {explanation.strategy}; after {taken} it was {made.turn}"
    yield f"score {made.score:.6g}: rank {made.rank:,} of {made.frontier:,} that could be asked"
    best, who = made.best
    if made.rank > 1:
        yield f"the best of them scored {best:.6g} ({_name_node(explanation, who)})"
    if explanation.together > 1:
        yield f"{explanation.together} are chosen together (refresh_rate), so not only the best"
    if made.drawn != STEERED:
        among = "all of them" if made.drawn == CHANCE else "those of them that are nearest to the seeds"
        yield f"it was drawn from {among}, to measure what the estimator gains ([crawl] control): no score decided"
    elif explanation.strategy != "greedy":
        yield f"the strategy {explanation.strategy} draws: the best is not always taken"
    if explanation.state == "frontier" and explanation.steps is not None and made.taken >= explanation.steps:
        steps = pluralize(explanation.steps, "step is", "steps are")
        yield f"the campaign's {steps} done: it would take more to reach it"
    if made.agrees is False:
        yield f"what was stored with the decision differs: {made.why} after it"
    seen = ", ".join(f"{name} {value:.6g}" for name, value in made.features.items())
    yield f"known of it then: {seen}" if made.agrees is not None else f"known of it: {seen}"


def _format_parts(explanation: Explanation) -> Table:
    made = explanation.decision
    assert made is not None
    table = Table(title="how the score is made", title_justify="left", box=None, pad_edge=False)
    table.add_column("feature")
    for name in ("value", "weight", "adds"):
        table.add_column(name, justify="right")
    for part in made.parts:
        table.add_row(part.name, f"{part.value:.6g}", f"{part.weight:.6g}", f"{part.share:.6g}")
    if not made.parts:
        table.add_row(f"{made.turn} is not a sum of features", "", "", "")
    elif made.intercept:
        table.add_row("intercept", "", "", f"{made.intercept:.6g}")
    return table


def _format_links(explanation: Explanation, top: int) -> Table:
    """Return the heaviest links: relevance times weight, then the earlier."""
    best = sorted(explanation.links, key=lambda link: (-link.value * link.alpha, -link.value, link.n))[:top]
    title = f"who links to it ({len(best):,} of {len(explanation.links):,})"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("page" if find_platform_facts(explanation.platform).pages else "account", overflow="fold")
    for name in ("relevance", "alpha", "product", "decision"):
        table.add_column(name, justify="right")
    for link in best:
        numbers = (link.value, link.alpha, link.value * link.alpha)
        table.add_row(Text(_format_source(explanation, link)), *(f"{number:.4g}" for number in numbers), f"{link.n:,}")
    return table


def _format_source(explanation: Explanation, link: IncomingLink) -> str:
    return _name_node(explanation, link.source)


def _name_node(explanation: Explanation, node: Any) -> str:
    name = (explanation.names or {}).get(node, f"account {node}")
    return name if name.startswith("account ") else format_account(name)


def format_account(name: str) -> str:
    """Return an account as people read it: names with an @; ids and the addresses of pages as they are."""
    return name if name.isdecimal() or name.startswith(list_id_starts()) else f"@{name}"


def _make_plain(value: Any) -> Any:
    """Return a value as JSON has it: its keys are texts, and it knows no infinity."""
    if isinstance(value, dict):
        return {str(key): _make_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
