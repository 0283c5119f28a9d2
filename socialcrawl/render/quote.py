"""A quote for people and for scripts: tables of 80 columns, or one JSON object."""

from collections.abc import Callable, Iterator
from math import floor, inf
from typing import Any

from rich.console import Console
from rich.table import Table

from socialcrawl.campaign.plan import Plan
from socialcrawl.engine.model import MILLS_PER_DOLLAR, format_time
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.expected import ASSUMED, CAP, COUNTED, ID_GROUPS, SAID, STORED, TOKENS, ReachedBudget
from socialcrawl.forecast.quote import Quote, QuoteLine
from socialcrawl.forecast.shape import (
    Amount,
    CampaignProgress,
    count_segments,
    count_windows,
    find_page_size,
    find_remaining,
)
from socialcrawl.forecast.spread import ENOUGH, FEW
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.render.console import Text
from socialcrawl.text.wording import format_span, pluralize

NO_END = "no end"
LARGE = 1_000_000  # from here on, numbers are told in millions
TINY = 1e-9
ENDLESS = 100 * 366 * 86_400.0  # seconds: what takes longer has no end
COLUMNS = ("requests", "windows", "time", "posts", "users", "cost")
RESTS = {COUNTED: "counted by X", STORED: "from the database", SAID: "p under [track]"}
MEANS = {
    "posts_per_page": "posts per page of a timeline",
    "pages": "pages per readable account",
    "missing": "accounts that cannot be read",
    "named": "accounts known by their name only",
    "back": "steps that revisit an account, once one is rested",
    "returned": "new posts per revisit",
    "authors": "new authors per post found",
    "answer": "seconds per answer",
    "matches": "posts of the last seven days that the searches find",
}
CAPTURED = {"matches": "posts that match in the span of time"}
TURNS = {
    "searches": "search", "look-ups": "look-up", "seeds": "seed", "steps": "step", "tests": "test", "pages": "page",
    "counts": "count",
    ID_GROUPS: "group of ids",
}  # fmt: skip
"""What a turn of each phase is called."""
FORMS = {"missing": ".0%", "named": ".0%", "back": ".0%", "answer": ".2f", "matches": ",.0f"}


def show(console: Console, plan: Plan, found: Quote) -> None:
    """Print a quote."""
    begun_already = found.done.requests > 0
    for likely, title in ((False, "At most"), (True, "Probably")):
        if found.lines and likely and not found.is_estimated:
            console.print(Text(f"Probably: {_explain_unknown(found)}"))
            console.print()
        elif found.lines:
            console.print(
                _make_table(plan, found, f"{title}, still to come" if begun_already else title, likely=likely)
            )
            console.print()
    for line in _list_sentences(plan, found):
        console.print(Text(line))


def build_object(plan: Plan, found: Quote) -> dict[str, Any]:
    """Return a quote as plain values; money is in dollars, times are in seconds.

    None is without end. Where nobody knows what is probable, "probably" itself is None.
    """
    done, estimated = found.done, found.is_estimated
    return {
        "campaign": plan.settings.name,
        "server": plan.base,
        "billed": plan.billed,
        **({} if (capture := plan.settings.seeds.capture) is None else {"follows_capture": capture}),
        "price_table": plan.policy.as_of,
        "confirm_above": plan.settings.budget.confirm_above,
        "at_most": _build_amount(found.most),
        "probably": _build_amount(found.likely) if estimated else None,
        "probably_ranges": _build_ranges(found),
        "stored": {
            "requests": found.stored.requests,
            "posts": found.stored.posts,
            "dollars": found.stored.money / MILLS_PER_DOLLAR,
            "billed_today": {"posts": found.stored.billed_posts, "users": found.stored.billed_users},
        },
        "endpoints": [
            {
                "endpoint": line.endpoint,
                "at_most": _build_amount(line.most) | {"windows": _round_number(_count_windows(plan, line, line.most))},
                "probably": _build_amount(line.likely)
                | {"windows": _round_number(_count_windows(plan, line, line.likely))}
                if estimated
                else None,
            }
            for line in found.lines
        ],
        "spent": {"requests": done.requests, "posts": done.posts, "dollars": done.money / MILLS_PER_DOLLAR},
        "done": {"searches": done.queries, "seeds": done.seeds, "steps": done.steps},
        "began": None if done.began is None else format_time(done.began),
        "allowed": found.allowed,
        **({"first_visits_before_rest": _round_number(found.alone)} if plan.shape.back else {}),
        **({"stream": _build_stream(plan)} if plan.shape.segment else {}),
        **({} if found.counting is None else {"counting_dollars": found.counting / MILLS_PER_DOLLAR}),
        "first_reached": {"at_most": _describe_reached(found.soonest), "probably": _describe_reached(found.reached)},
        "means": {
            name: {"value": value, "rests_on": _describe_base(found, name)}
            for name, value in _describe_means(plan, found).items()
        },
    }


def _describe_stream(plan: Plan) -> Iterator[str]:
    """Yield by which requests a stream is read, and what is not known of it."""
    shape = plan.shape
    if not shape.segment:
        return
    each, hourly = format_span(shape.segment), f"{count_segments(shape):,.0f}"
    how = f"one per segment of {each}"
    if shape.heeds:
        how = f"two per segment of {each} with posts that match, as their authors are looked up in between"
    size = pluralize(find_page_size(shape, shape.roles.stream), "post")
    yield (
        f"The stream comes on top: requests to {shape.roles.stream}, about {hourly} an hour ({how}), and more while "
        f"more than {size} match in a segment."
    )
    yield "How many posts it will show is not known, nor how much has to be searched because it was not replayed."
    price = plan.policy.compute_price("post", 1)
    advance = next((one.page for one in plan.policy.endpoints.values() if one.advance), 0)
    if price and advance:
        yield (
            f"Each post that it shows costs ${price / MILLS_PER_DOLLAR:.3f}. Each run pays for {advance:,} posts in "
            f"advance ({format_dollars(price * advance)}): these may be on their way when a connection is closed."
        )


def _describe_captured(plan: Plan) -> Iterator[str]:
    """Yield what the authors of a capture cost, where the campaign begins with them."""
    if (capture := plan.settings.seeds.capture) is None:
        return
    yield f"It begins with the authors of the capture {capture}, which costs nothing."
    if plan.policy.tariff is not None:
        yield (
            "When the account of such an author is read, posts that the capture holds are returned again: they are "
            "billed again unless they were billed on the same UTC day."
        )


def _make_table(plan: Plan, found: Quote, title: str, *, likely: bool) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("endpoint", overflow="fold")
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for line in found.lines:
        amount = line.likely if likely else line.most
        table.add_row(line.endpoint, *_make_cells(amount, _count_windows(plan, line, amount)))
    table.add_row("total", *_make_cells(found.likely if likely else found.most, None), style="bold")
    return table


def _make_cells(amount: Amount, opened: float | None) -> list[str]:
    return [
        _format_number(amount.requests),
        "" if opened is None else _format_number(opened),
        NO_END if amount.seconds > ENDLESS else format_span(amount.seconds),
        _format_number(amount.posts),
        _format_number(amount.users),
        NO_END if amount.money == inf else _format_cost(round(amount.money)),
    ]


def _name_spent(plan: Plan, done: CampaignProgress) -> str:
    """Return what was read so far."""
    if plan.shape.captures and plan.kind.reads_found(plan.settings):
        return pluralize(done.steps, "account")
    if plan.shape.captures:
        return pluralize(done.steps, "slice") if plan.queries else pluralize(done.steps, "group of ids", ID_GROUPS)
    if plan.shape.tests:
        return pluralize(done.steps, "test")
    return f"{pluralize(done.seeds, 'seed')} and {pluralize(done.steps, 'step')}"


def _list_sentences(plan: Plan, found: Quote) -> Iterator[str]:
    """Yield what the tables do not say."""
    done, settings = found.done, plan.settings
    prices = f"Costs are by the price table of {plan.policy.as_of}"
    if not plan.policy.is_billed:
        yield f"{plan.platform.title} is free of charge. Rate limits are by the table of {plan.policy.as_of}."
    else:
        here = f"{plan.base} is this machine and charges nothing, but the budget counts these costs as if it did"
        yield f"{prices}." if plan.billed else f"{prices}; {here}."
    if not found.lines:
        yield _explain_nothing(plan, found)
    if done.requests:
        spent = f"{pluralize(done.requests, 'request')}, {pluralize(done.posts, 'post')}, {format_dollars(done.money)}"
        yield f"Spent so far: {spent}, for {_name_spent(plan, done)}."
    if found.allowed is not None:
        lasting = format_span(plan.caps.seconds or 0.0)
        yield f"In the campaign's {lasting}, rate limits allow {pluralize(found.allowed, 'timeline')}."
    yield from _list_warnings(plan, found)
    if not found.lines:
        return
    yield from _describe_ranges(plan, found)
    if _find_refusal(plan) is None:
        yield _describe_budgets(plan, found)
    also = "; the probable total also counts the time until answers arrive" if found.is_estimated else ""
    sent = f" Workers of {plan.settings.fleet.scheduler} send the requests." if plan.settings.fleet.scheduler else ""
    yield f"Times are those of rate-limit windows{also}.{sent}"
    yield "Failed requests are retried and come on top, within the budget."
    yield from _describe_captured(plan)
    if limit := plan.kind.limit_quote(settings):
        yield limit
    yield from _describe_stream(plan)
    if plan.reuse_hours:
        yield from _describe_reused(found, plan.reuse_hours)
    if plan.policy.is_billed and (found.stored.billed_posts or found.stored.billed_users):
        yield _describe_billed_today(found)
    names = MEANS | (CAPTURED if plan.shape.captures else {})
    if found.is_estimated:
        yield "The probable estimate uses:"
    for name, value in _describe_means(plan, found).items():
        base = RESTS.get(_describe_base(found, name), ASSUMED)
        yield f"  {names[name]}: {format(value, FORMS.get(name, ',.1f'))} ({base})"
    yield from plan.kind.explain_estimate(settings, found, find_remaining(plan.shape, found.done).steps)


def _describe_reused(found: Quote, hours: float) -> Iterator[str]:
    """Yield which stored answers are reused, and how the numbers above count them."""
    yield f"Stored answers younger than {hours:g} h are reused and cost nothing."
    if fresh := found.stored.requests:
        have = f"have {pluralize(fresh, 'such answer')}"
        ends = "; the lower ends of the ranges count all of them" if found.ranges else ""
        yield (
            f"Other campaigns of this database {have}. Which of these this campaign needs is not known beforehand: the "
            f"probable numbers count none of them as saved{ends}."
        )


def _describe_billed_today(found: Quote) -> str:
    """Return what the platform bills no more today, and how the numbers above count it."""
    posts = pluralize(found.stored.billed_posts, "post")
    users = pluralize(found.stored.billed_users, "user")
    return (
        f"A post or user is billed once per UTC day: {posts} and {users} of this database are billed today already, "
        "and cost nothing if the same token reads them again before midnight (UTC). The costs above count them in full."
    )


def _describe_ranges(plan: Plan, found: Quote) -> Iterator[str]:
    """Yield between which numbers the probable total lies, and of which that is not known."""
    forms: dict[str, Callable[[float], str]] = {
        "requests": lambda number: f"{_format_number(number)} requests",
        "posts": lambda number: f"{_format_number(number)} posts",
        "seconds": format_span,
        "money": lambda mills: _format_cost(round(mills)),
    }
    known = {name: found.ranges[name] for name in forms if found.ranges.get(name, (0.0, 0.0))[1]}
    if known:
        ends = [f"{forms[name](low)} to {forms[name](high)}" for name, (low, high) in known.items()]
        yield f"95 % range of the probable total: {', '.join(ends)}."
    wanted = {"requests": "requests", "posts": "posts"} | ({"money": "cost"} if plan.policy.is_billed else {})
    lacking = [word for name, word in wanted.items() if name not in found.ranges]
    if lacking and not (plan.shape.captures or plan.shape.matches):
        ahead = find_remaining(plan.shape, found.done)
        others = " and ".join(word for word in wanted.values() if word != "requests")
        unknown = f"There is no range for {' and '.join(lacking)}"
        if found.done.steps < FEW:
            unknown = f"There is no range yet: requests have one after {FEW} steps, {others} after {ENOUGH}"
        elif ahead.queries or ahead.seeds:
            unknown = "There is no range while searches or seeds are still to come"
        elif found.done.steps < ENOUGH and "requests" not in lacking:
            unknown += f" before {ENOUGH} steps are done"
        else:
            unknown += " that is narrow enough to be of use"
        yield f"{unknown}. Probable numbers without a range may be off by several times."


def _explain_unknown(found: Quote) -> str:
    """Return why nobody knows what a capture will probably need, and how to learn it."""
    unknown = "not known, because nobody has counted how many posts match."
    if found.counting is None:
        return unknown
    return f"{unknown} Count them with --counts, for at most ${found.counting / MILLS_PER_DOLLAR:.3f}."


def _describe_budgets(plan: Plan, found: Quote) -> str:
    """Return which budget will be reached first: probably, and at the earliest."""
    if plan.shape.matches:
        return "Which budget will be reached first is not known."
    is_open = plan.shape.endless or not found.is_estimated  # more posts than are known of may come
    if is_open and found.reached is None and found.soonest is not None:
        return f"At the earliest, {_describe_ending(found.soonest)}."
    if found.reached is None and found.soonest is None:
        return "No budget is reached by what is known of." if is_open else "No budget will be reached."
    probably = (
        "Probably no budget will be reached" if found.reached is None else f"Probably {_describe_ending(found.reached)}"
    )
    return f"{probably}; at the earliest, {_describe_ending(found.soonest)}." if found.soonest else f"{probably}."


def _explain_nothing(plan: Plan, found: Quote) -> str:
    """Return why there is nothing to quote."""
    rest = find_remaining(plan.shape, found.done)
    if plan.shape.captures and not plan.queries and not found.done.steps:
        return "There are no ids yet. Import them first: socialcrawl import FILE --as ids --db CAMPAIGN.toml"
    if plan.shape.tests and not found.done.dataset:
        return "There is no old dataset yet. Import one first: socialcrawl import FILES --as dataset --db CAMPAIGN.toml"
    if plan.shape.captures and plan.kind.reads_found(plan.settings):
        return "All of the time was searched. Nothing is left to do."
    more = not rest.nodes and (rest.steps or rest.seeds)
    return "The budget max_nodes is reached: raise it to continue." if more else "Nothing is left to do."


def _find_refusal(plan: Plan) -> str | None:
    """Return why a run will be refused: nothing limits its cost; None if it will not."""
    try:
        plan.guard()
    except SettingsError as error:
        return str(error)
    return None


def _list_warnings(plan: Plan, found: Quote) -> Iterator[str]:
    """Yield what a person should do something about, or expect."""
    closed = [line.endpoint for line in found.lines if not line.pace]
    if closed:
        yield f"No token of this campaign may request {', '.join(closed)}: name another under [source]."
    if found.typical.matches is not None and not sum(found.typical.matches):
        if plan.shape.captures:
            yield "No posts match in the capture's span of time: use other keywords, or another span."
        elif not plan.usernames:
            yield "The searches find no posts to start from: use other keywords, or name usernames under [seeds]."
    if refusal := _find_refusal(plan):
        yield f"A run will be refused: {refusal}"
        return
    if found.reached is not None and found.reached.phase not in ("steps", "tests", "pages", "counts", ID_GROUPS):
        ends = f"{found.reached.budget} will probably be reached among the {found.reached.phase}, before the first step"
        yield f"{ends}: raise it, or begin with fewer seeds (most under [seeds])."
    above = plan.settings.budget.confirm_above
    if plan.billed and found.most.money > above * MILLS_PER_DOLLAR:
        yield f"A run will ask for confirmation (or --yes), as it may cost more than ${above:g} (confirm_above)."
    cap = plan.policy.cap
    if cap is not None and found.most.posts > cap:
        yield f"The platform allows {pluralize(cap, 'post')} per billing cycle; the rest waits for the next one."


def _describe_means(plan: Plan, found: Quote) -> dict[str, float]:
    """Return the numbers that the probable ones rest on; those of searches only where there are any to come."""
    shape, typical = plan.shape, found.typical
    if shape.tests:  # of those who are there perhaps the last post, of nobody any others
        last = {"missing": typical.missing} if shape.latest or shape.roles.last else {}
        return last | {"answer": typical.answer}
    if shape.matches:
        return {}
    if shape.captures:
        if not shape.queries:
            return {"answer": typical.answer}
        return {} if typical.matches is None else {"answer": typical.answer, "matches": sum(typical.matches)}
    pages = typical.estimate_pages(shape.pages_per_user)
    means: dict[str, float] = {"posts_per_page": typical.posts_per_page, "pages": pages}
    means |= {name: getattr(typical, name) for name in ("missing", "named", "answer")}
    if shape.back:
        means |= {"back": shape.back, "returned": typical.returned}
    waiting = find_remaining(shape, found.done).queries
    if waiting:
        page = find_page_size(shape, shape.roles.search) * shape.search_pages
        matches = (page,) * shape.queries if typical.matches is None else typical.matches
        means |= {"authors": typical.authors, "matches": sum(matches[-waiting:])}
    return means


def _describe_base(found: Quote, name: str) -> str:
    """Return what a mean rests on."""
    if name == "back":
        return SAID
    return found.typical.explain_basis("more" if name == "pages" else name)


def _describe_ending(reached: ReachedBudget) -> str:
    after = f"after {pluralize(floor(reached.turns + TINY), TURNS[reached.phase], reached.phase)}"
    if reached.budget == TOKENS:
        return f"the campaign stops at the {reached.phase}, which none of its tokens may request"
    budget = "the platform's cap on posts" if reached.budget == CAP else reached.budget
    return f"{budget} is reached {after}"


def _describe_reached(reached: ReachedBudget | None) -> dict[str, Any] | None:
    return None if reached is None else {"budget": reached.budget, "phase": reached.phase, "after": reached.turns}


def _count_windows(plan: Plan, line: QuoteLine, amount: Amount) -> float:
    return count_windows(
        plan.shape, line.endpoint, amount.requests if amount.requests == inf else round(amount.requests)
    )


def _build_amount(amount: Amount) -> dict[str, Any]:
    return {
        "requests": _round_number(amount.requests),
        "posts": _round_number(amount.posts),
        "users": _round_number(amount.users),
        "dollars": None if amount.money == inf else round(amount.money) / MILLS_PER_DOLLAR,
        "seconds": None if amount.seconds == inf else amount.seconds,
    }


def _build_stream(plan: Plan) -> dict[str, Any]:
    """Return the endpoint by which a stream is read, and about how many requests an hour that takes."""
    return {"endpoint": plan.shape.roles.stream, "requests_per_hour": round(count_segments(plan.shape))}


def _build_ranges(found: Quote) -> dict[str, list[float]]:
    """Return the 95 % ranges of the probable total, as `_build_amount` names its parts."""
    ranges = {name: list(ends) for name, ends in found.ranges.items() if name != "money"}
    if "money" in found.ranges:
        ranges["dollars"] = [mills / MILLS_PER_DOLLAR for mills in found.ranges["money"]]
    return ranges


def _round_number(number: float) -> int | None:
    return None if number == inf else round(number)


def _format_number(number: float) -> str:
    if number == inf:
        return NO_END
    return f"{round(number):,}" if number < LARGE else f"{number / 1e6:,.1f} M"


def _format_cost(mills: int) -> str:
    return format_dollars(mills) if mills < LARGE * MILLS_PER_DOLLAR / 100 else f"${mills / MILLS_PER_DOLLAR:,.0f}"
