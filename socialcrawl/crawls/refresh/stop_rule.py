"""Whether a wanted fraction of the active nodes is found: by the upper bound of their number, or by the estimate."""

from dataclasses import dataclass

from socialcrawl.crawls.refresh.active_estimate import ActiveEstimate
from socialcrawl.crawls.refresh.rules import BOUND
from socialcrawl.text.wording import pluralize


@dataclass(frozen=True, slots=True)
class StopVerdict:
    """What is known of a wanted fraction.

    Attributes:
        reached: whether it counts as found.
        doubted: whether the estimate says that it is found, and the bound does not.
        why: a sentence without its full stop.
    """

    reached: bool
    doubted: bool
    why: str


def judge(known: ActiveEstimate, fraction: float, stop: str) -> StopVerdict:
    """Return whether `fraction` of the active nodes is found; `stop` is BOUND or ESTIMATE."""
    by_estimate = known.value is not None and known.found >= fraction * known.value
    if stop != BOUND and known.value == 0:
        return StopVerdict(
            True,
            False,
            f"none of {pluralize(known.sampled, 'node')} drawn at random is active, so that at most "
            f"{known.high:,.0f} of {known.nodes:,} are: there is no fraction of them to look for",
        )
    wanted = f"{format_percent(fraction)} are wanted"
    if known.value is None:
        return StopVerdict(False, True, f"{wanted}, and how many are active is not known yet: random nodes tell it")
    known_part = (
        f"{pluralize(known.found, 'active node')} found with {pluralize(known.tested, 'test')}, of about "
        f"{known.value:,.0f} ({known.low:,.0f} to {known.high:,.0f}, 95% interval) in all"
    )
    if stop != BOUND:
        share = f"about {format_percent(known.share or 0.0)}"
        return StopVerdict(by_estimate, False, f"{known_part}: {share} by the estimate, and {wanted}")
    reached = known.found > 0 and known.found >= fraction * known.high
    may = known.share_high >= fraction if known.whole else by_estimate
    doubted = may and known.found > 0 and not reached
    return StopVerdict(
        reached, doubted, f"{known_part}: at least {format_percent(known.share_low)} by that interval, and {wanted}"
    )


def format_percent(share: float) -> str:
    """Return a share as a percentage with three digits, rounded down: what is at least so much is no less."""
    return f"{int(share * 1000 + 1e-9) / 10:g}%"
