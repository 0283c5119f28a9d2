"""Why an account was collected or not, for people and for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import singledispatch
from math import isfinite
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from socialcrawl.crawls.collect.estimators.added import LOWEST
from socialcrawl.crawls.collect.explain import Decision, Explanation, MentionerRecord
from socialcrawl.crawls.registry import find_kind
from socialcrawl.crawls.seeds import REST, TRIES
from socialcrawl.crawls.trace import AccountTrace
from socialcrawl.crawls.track.report import VisitHistory
from socialcrawl.engine.draws import CHANCE, STEERED
from socialcrawl.engine.model import Act
from socialcrawl.platforms.facts import find_platform_facts, list_id_starts
from socialcrawl.render.console import AccountText, Text
from socialcrawl.render.track_report import show_visits
from socialcrawl.storage.queries.traces import AccountVisit, IncomingLink
from socialcrawl.text.wording import pluralize

FOUND = {"probe": ("active", "not active"), "walk": ("on topic", "off topic"), "page": ("read", "read")}

FEATURE_WORDS = {
    "depth": "links from the seeds to it, at fewest",
    "links": "links to it",
    "n_sum": "relevance of those who link to it, sum",
    "n_max": "relevance of those who link to it, largest",
    "n_avg": "relevance of those who link to it, mean",
    "e_sum": "weights of links to it, sum",
    "e_max": "weights of links to it, largest",
    "e_avg": "weights of links to it, mean",
    "ne_sum": "relevance times weight of links to it, sum",
    "ne_max": "relevance times weight of links to it, largest",
    "ne_avg": "relevance times weight of links to it, mean",
    "flow": "relevance of those who link to it, split among their links",
    "known": "relevance of others that they link to, sum",
    "record": "relevance of others that they link to, mean",
    "evidence": "relevance of its own posts in the database",
}
"""What the parts of a score are, in words; "log x" is the logarithm of 1 + x."""


def show_trace(console: Console, trace: AccountTrace) -> None:
    """Print when a campaign requested the posts of an account, and what it found."""
    kind = find_kind(trace.kind)
    console.print(Text(f"{trace.account} in the campaign {trace.campaign}, {kind.does}"))
    if not trace.asks:
        console.print(kind.unasked)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("decision", "act", "answered (UTC)", "found", "posts", "occurrences"):
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
    "closed": "it is linked to, but not among those that can be read",
    "waiting": "it is a seed, and its turn comes before any other account is chosen",
    "open": "it was chosen, and its answer has not come yet: run the campaign to go on",
    "looked-up": "it was looked up as a seed, and can not be read; nobody who was read links to it",
    "frontier": "it can be read, and was not yet",
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
    summary = summarize_explanation(trace)
    plain = cast("dict[str, Any]", _make_plain(asdict(trace)))
    if "asks" in plain:  # the name before `visits`, which stays
        plain["visits"] = plain["asks"]
    if "state" in plain:  # an account that was read had the state "asked", which stays
        plain["status"] = "read" if plain["state"] == "asked" else plain["state"]
    return ({"summary": summary} if summary else {}) | plain


@singledispatch
def summarize_explanation(trace: Any) -> str:
    """Return in one or two sentences why an account was read or not; "" where a kind of campaign has none."""
    del trace
    return ""


@summarize_explanation.register
def _(explanation: Explanation) -> str:
    made, last = explanation.decision, explanation.asks[-1] if explanation.asks else None
    result = _summarize_result(last)
    if made is None and (search := _find_search(explanation)) is not None:
        return f"Found by a search for the topic (decision {search:,}).{result}"
    if made is None:
        begun = "It is a seed" if last is None or last.missing is not None else "Read as a seed"
        return f"{begun}: the campaign began with it.{result}" if explanation.state == "seed" else ""
    links, topical = len(explanation.links), sum(link.alpha > 0 for link in explanation.links)
    because = "it was found without a link to it"
    if links:
        matching = f"{topical:,} of them" if links > 1 else "" if topical else "not"
        today = " of today's topic" if "topic" in (made.why or "") else ""
        because = f"{_count_links(explanation, links)}, {f'{matching} in matching posts'.strip()}{today}"
    if held := [ask for ask in explanation.asks if ask.act == Act.CAPTURED]:
        posts = pluralize(held[-1].posts or 0, "post")
        brought = f"{_describe_origin(explanation)}, with {posts} that the database holds; these count as a link to it"
        because = f"it was {brought} (partial evidence){f'; {because}' if links else ''}"
    if explanation.state == "frontier":
        place = f"{made.rank:,} of {made.frontier:,} by its score, {format_number(made.score)}"
        return f"Not read yet: {because}. It is number {place}."
    if made.drawn != STEERED:
        return f"Drawn at random in step {made.taken + 1:,}, to measure what the estimator gains.{result}"
    score = format_number(_find_stored_score(explanation, made))
    return f"Chosen in step {made.taken + 1:,} with the score {score}: {because}.{result}"


def _find_stored_score(explanation: Explanation, made: Decision) -> float:
    """Return the score that was stored when an account was chosen; after a change of topic, another is recomputed."""
    return next((ask.score for ask in reversed(explanation.asks) if ask.act == Act.EXPAND), made.score)


def _count_links(explanation: Explanation, links: int) -> str:
    """Return how many of those that were read link to an account, as a clause."""
    if find_platform_facts(explanation.platform).pages:
        return f"{pluralize(links, 'page')} read before {'links' if links == 1 else 'link'} to it"
    return f"{pluralize(links, 'account')} read before {'mentions' if links == 1 else 'mention'} it"


def _summarize_result(last: AccountVisit | None) -> str:
    """Return what came of the last visit, as a sentence after another one; "" where there is no answer."""
    if last is None or last.at is None or last.act == Act.RESOLVE:
        return ""
    if last.missing is not None:
        return f" It could not be read: {last.missing}."
    matches = pluralize(last.occurrences or 0, "occurrence")
    posts = pluralize(last.posts or 0, "post")
    return f" It has the relevance {format_number(last.value or 0.0)}: {matches} of the topic in {posts}."


def format_number(value: float) -> str:
    """Return a number with four significant digits; what an estimator gives where it has no finite score is named."""
    return "no finite score" if abs(value) >= -LOWEST else f"{value + 0.0:.4g}"


def _format_story(explanation: Explanation) -> Iterator[str]:
    pages = find_platform_facts(explanation.platform).pages
    who = explanation.user if pages else format_account(explanation.user)
    who = who if explanation.names is None or explanation.node is None else _name_node(explanation, explanation.node)
    yield f"{who} in the campaign {explanation.campaign}"
    if summary := summarize_explanation(explanation):
        yield f"{summary}\n"
    if explanation.state == "unknown":
        page = "no page that was read links to it" if pages else "no account that was read mentions it"
        yield f"not in this database: {page}, and no search found it"
        if explanation.alike:
            yield f"it knows {', '.join(map(format_account, explanation.alike))}: give the whole name"
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
            yield f"epoch {number} began at {_format_time(at)} with decision {first} ({why}): {then}"
        for number, first, at, changed in explanation.versions[1:]:
            came = f"version {number} of the settings came at {_format_time(at)} with decision {first}"
            yield f"{came}: {', '.join(changed)} changed"


def _format_visits(explanation: Explanation) -> Iterator[str]:
    for ask in explanation.asks:
        act = {
            "seed": "read as a seed",
            "resolve": "looked up as a seed",
            "import": "taken from a file",
            "captured": f"{_describe_origin(explanation)}, with partial evidence (posts that were held)",
        }
        found = "the answer has not come yet"
        if ask.missing is not None:
            found = f"could not be read: {ask.missing}"
        elif ask.at is not None and ask.act == Act.RESOLVE:
            found = "found"
        elif ask.at is not None:
            count = f"{pluralize(ask.occurrences or 0, 'occurrence')} in {pluralize(ask.posts or 0, 'post')}"
            found = f"relevance {format_number(ask.value or 0.0)} ({count})"
        score = f", score {format_number(ask.score)}" if ask.act == Act.EXPAND else ""
        made = "read" if ask.search is None else f"read from what search {ask.search:,} returned"
        when = "since" if ask.at is None else _format_time(ask.at)
        yield f"decision {ask.n:,}: {act.get(ask.act, made)}{score}; {when}: {found}"


def _format_time(at: str) -> str:
    return f"{at[:19].replace('T', ' ')} UTC"


def _describe_origin(explanation: Explanation) -> str:
    """Return where an account came from that a capture brought."""
    return f"brought by the capture {explanation.capture or 'that the campaign followed'}"


def _format_state(explanation: Explanation) -> Iterator[str]:
    if explanation.state in ("seed", "import"):
        yield "it was not chosen by an estimator: campaigns begin with such accounts"
    elif explanation.state == "same" and explanation.same is not None:
        yield f"that name turned out to be the account {_name_node(explanation, explanation.same)}: explain that one"
    elif explanation.state == "resting":
        yield (
            f"it failed for a while and rests: it is offered again at decision {explanation.rests_until:,} "
            f"({REST} after the failure; {TRIES} times at most)"
        )
    elif _find_search(explanation) is not None:
        return  # the summary says so
    elif explanation.state == "frontier" and explanation.decision is not None:
        return  # likewise
    elif explanation.state == "asked" and explanation.decision is None:
        yield "no estimate led to it: nothing else was left to read, or the history was changed after it"
    elif explanation.state in SAID:
        yield SAID[explanation.state]


def _find_search(explanation: Explanation) -> int | None:
    """Return the decision of the search that found an account, where it was read from what that returned."""
    return next((ask.search for ask in explanation.asks if ask.search is not None), None)


def _format_decision(explanation: Explanation) -> Iterator[str]:
    made = explanation.decision
    if made is None:
        return
    if len(explanation.versions) > 1:
        yield f"explained with version {explanation.version} of the settings, those of the time"
    taken = pluralize(made.taken, "step")
    yield f"estimator {explanation.estimator}, strategy {explanation.strategy}; after {taken} it was {made.turn}"
    today = "for today's topic" if "topic" in (made.why or "") else "from today's history"
    recomputed = f"recomputed {today}: " if made.agrees is False else ""
    yield f"{recomputed}score {format_number(made.score)}: rank {made.rank:,} of {made.frontier:,} that could be read"
    best, who = made.best
    if made.rank > 1:
        yield f"the best of them scored {format_number(best)} ({_name_node(explanation, who)})"
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
        stored = format_number(_find_stored_score(explanation, made))
        yield f"the score stored with the decision is {stored}; {made.why}"
    yield from _format_mentioners(explanation, made.mentioners)
    told = {part.name.removeprefix("log ") for part in made.parts}
    seen = "; ".join(
        f"{FEATURE_WORDS.get(name, name)}: {format_number(value)}"
        for name, value in made.features.items()
        if name not in told
    )
    if seen:
        yield f"{'also known' if told else 'known'}{'' if made.agrees is None else ' then'}: {seen}"


def _format_mentioners(explanation: Explanation, found: MentionerRecord) -> Iterator[str]:
    """Yield a line on those who link to an account, if any does."""
    if not found.all:
        return
    pages = find_platform_facts(explanation.platform).pages
    noun, links, other = ("page", "link to", "links to") if pages else ("account", "mention", "mentions of")
    if found.all == 1:
        verb = "is" if found.relevant else "is not"
        who = f"the only {noun} that {'links to' if pages else 'mentions'} it {verb} relevant"
    else:
        verb = "is" if found.relevant == 1 else "are"
        who = f"{found.relevant:,} of the {found.all:,} {noun}s that {links} it {verb} relevant"
    if found.others:
        share = f"{100 * found.hits / found.others:.0f} % ({found.hits:,} of {found.others:,})"
        whose = "its" if found.relevant == 1 else "their"
        who += f"; of {whose} other {other} {noun}s that were read, {share} went to relevant ones"
    yield who


def _format_parts(explanation: Explanation) -> Table:
    made = explanation.decision
    assert made is not None
    table = Table(title="how the score is made", title_justify="left", box=None, pad_edge=False)
    table.add_column("feature")
    for name in ("adds", "value", "weight"):
        table.add_column(name, justify="right")
    table.add_column("what it is")
    for part in made.parts:
        numbers = map(format_number, (part.share, part.value, part.weight))
        table.add_row(part.name, *numbers, _describe_feature(part.name))
    if not made.parts:
        table.add_row(f"{made.turn} is not a sum of features", "", "", "", "")
        return table
    if made.intercept:
        table.add_row("intercept", format_number(made.intercept), "", "", "")
    table.add_row("score", format_number(made.score), "", "", "the sum")
    return table


def _describe_feature(name: str) -> str:
    """Return in words what a feature of an account is; "" for one that has no words."""
    plain = name.removeprefix("log ")
    return f"{FEATURE_WORDS[plain]}{', logarithm' if plain != name else ''}" if plain in FEATURE_WORDS else ""


def _format_links(explanation: Explanation, top: int) -> Table:
    """Return the heaviest links: relevance times weight, then the earlier."""
    best = sorted(explanation.links, key=lambda link: (-link.value * link.alpha, -link.value, link.n))[:top]
    title = f"who links to it ({len(best):,} of {len(explanation.links):,})"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("page" if find_platform_facts(explanation.platform).pages else "account", overflow="fold")
    for name in ("relevance", "link weight", "product", "decision"):
        table.add_column(name, justify="right")
    for link in best:
        numbers = (link.value, link.alpha, link.value * link.alpha)
        table.add_row(_format_source(explanation, link), *map(format_number, numbers), f"{link.n:,}")
    return table


def _format_source(explanation: Explanation, link: IncomingLink) -> Text:
    name = _name_node(explanation, link.source)
    return AccountText(name) if link.source in (explanation.names or {}) else Text(name)


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
