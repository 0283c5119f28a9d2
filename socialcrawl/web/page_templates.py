"""The templates of the pages: how they escape, and how they write numbers, instants and links."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context, select_autoescape
from jinja2.runtime import Context
from markupsafe import Markup

from socialcrawl import CampaignStatus, __version__
from socialcrawl.text.terminal import escape_controls
from socialcrawl.text.wording import format_span
from socialcrawl.web.campaign_reports import make_account_path
from socialcrawl.web.field_labels import name_field
from socialcrawl.web.overview_choice import OverviewChoice
from socialcrawl.web.security import PageVisitor
from socialcrawl.web.sparkline import draw_sparkline
from socialcrawl.web.window_strip import draw_window_strip

FOLDER = Path(__file__).parent
MOST_ROWS = 512  # that are kept as they were made last
SPENT = re.compile(r"\bthe budget max_(posts|nodes|time) = .* is reached|\bthe time of its budget is over")
CALM = {
    "running": "good", "done": "good", "waiting": "calm", "resting": "calm", "idle": "calm", "elsewhere": "calm",
    "paused": "halt", "stopped": "halt", "stalled": "bad", "broken": "bad", "down": "bad", "lost": "bad",
    "outdated": "halt",
}  # fmt: skip
"""The class of each state's badge: its colour; the word is always beside it."""
ACTS = {
    "seed": "seed", "import": "imported", "expand": "discovered", "match": "matched", "walk": "reached by a walk",
}  # fmt: skip
"""How an account came to be read, as pages say it."""


def make_templates() -> Environment:
    """Return the templates: everything that they insert is escaped, but for what a function here marked as HTML."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "count": lambda number: "" if number is None else f"{number:,}",
        "dollars": lambda amount: "" if amount is None else f"${amount:,.2f}",
        "instant": format_instant,
        "plain": escape_controls,
        "path": lambda text: quote(text, safe=""),
        "link": _make_page_link,
        "badge": lambda state: CALM.get(state, "calm"),
        "act": lambda act: ACTS.get(act, act),
        "shown": format_value,
        "span": format_span,
        "marked": mark_matches,
        "cell": format_cell,
        "field": name_field,
    }
    made.filters |= filters
    made.tests |= {"spent": is_spent, "untold": is_untold, "unreadable": is_unreadable}
    made.globals |= {
        "version": __version__,
        "spark": draw_spark,
        "strip": draw_strip,
        "account_path": make_account_path,
        "buttons": list_buttons,
        "row": _make_row_maker(made),
        "trusted": Markup,  # of fragments that `render` made of elements, whose texts are escaped
    }
    return made


def format_instant(given: str | datetime | None) -> str:
    """Return an instant to the minute, in UTC; "" where there is none."""
    if given is None:
        return ""
    text = given.isoformat() if isinstance(given, datetime) else given
    return f"{text[:16].replace('T', ' ')} UTC"


def format_value(text: str, longest: int = 120) -> str:
    """Return the JSON of a setting as a cell shows it."""
    plain = {"null": "not set", "true": "yes", "false": "no"}.get(text, text.strip('"'))
    return plain if len(plain) <= longest else f"{plain[:longest]} ..."


def format_cell(cell: Any, longest: int = 1_000) -> str:
    """Return a cell of an answer as a table shows it: a number so that a script can read it again."""
    text = f"{round(cell, 4) if abs(cell) >= 1 else cell:.12g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= longest else f"{text[:longest]} ..."


def make_web_link(address: Any) -> str | None:
    """Return an address that a link may lead to: of http or https; None for any other, such as javascript:."""
    if not isinstance(address, str) or any(ord(sign) <= 32 for sign in address):
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if parts.scheme in ("http", "https") and parts.netloc else None


@pass_context
def _make_page_link(context: Context, address: Any) -> str | None:
    """Return the link of a template to a page of a platform; None where people are invented."""
    status = context.get("status")
    return None if isinstance(status, CampaignStatus) and status.test_server else make_web_link(address)


def list_buttons(status: CampaignStatus) -> list[tuple[str, str]]:
    """Return what can be done with a campaign as it stands: what each button does, and its word."""
    if status.watched and status.state == "waiting" and status.why.lower().endswith("it is tried again"):
        return [("start", "Try now"), ("stop", "Stop")]
    if status.watched and status.state not in ("paused", "stopped", "done"):
        return [("pause", "Pause"), ("stop", "Stop")]
    if status.watched and status.state == "paused":
        return [("resume", "Resume"), ("stop", "Stop")]
    if status.state == "running":  # by a command, which no pause concerns
        return [("stop", "Stop")]
    if is_spent(status):
        return []
    if status.file is not None:
        return [] if status.state == "broken" else [("start", "Start")]
    return [("resume", "Resume")] if status.state == "paused" else []


def is_spent(status: CampaignStatus) -> bool:
    """Return whether a campaign has ended, and only a higher budget would let it go on, as far as that is known."""
    if status.state not in ("done", "stopped", "idle"):
        return False
    done = status.state == "done" if status.planned_steps is None else status.steps >= status.planned_steps
    money = status.max_dollars is not None and f"max_money = ${status.max_dollars:,.2f} is reached" in status.why
    return done or money or status.remaining_requests == 0 or SPENT.search(status.why) is not None


def is_unreadable(status: CampaignStatus) -> bool:
    """Return whether the file of a campaign is no valid TOML, so that no form can change it."""
    return status.state == "broken" and "is not valid TOML" in status.why


def is_untold(status: CampaignStatus) -> bool:
    """Return whether the reason of a campaign's state is in none of its alerts."""
    return bool(status.why) and not any(status.why in alert for alert in status.alerts)


def _make_row_maker(templates: Environment) -> Callable[..., Markup]:
    """Return what makes the row of a campaign on the overview; most campaigns stand as they did a moment ago."""

    @lru_cache(MOST_ROWS)
    def make_row(one: CampaignStatus, place: str, visitor: PageVisitor, choice: OverviewChoice) -> Markup:
        shown = templates.get_template("campaign_row.html").render(one=one, place=place, visitor=visitor, choice=choice)
        return Markup(shown)  # noqa: S704  (of a template, which escapes)

    return make_row


def draw_spark(status: CampaignStatus) -> Markup:
    """Return the small curve of a campaign; "" where there is none yet."""
    curve: Sequence[float] = status.curve
    said = f"Found so far, by step: {curve[-1]:,.1f} at the end" if curve else ""
    return Markup(draw_sparkline(curve, said))  # noqa: S704  (made of numbers)


def draw_strip(status: CampaignStatus) -> Markup:
    """Return how far the latest windows of a campaign were used; "" where none is known."""
    return Markup(draw_window_strip(status))  # noqa: S704  (made of numbers)


def mark_matches(post: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return the text of a post in parts, and whether each is one that matches."""
    parts, at = [], 0
    for begin, end in post["spans"]:
        parts += [(post["text"][at:begin], False), (post["text"][begin:end], True)]
        at = end
    return [*parts, (post["text"][at:], False)]
