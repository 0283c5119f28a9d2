"""What a run would do, for people and for scripts."""

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.run_preview import RunPreview
from socialcrawl.render import quote
from socialcrawl.render.console import Text
from socialcrawl.storage.change_state import SettingChange
from socialcrawl.storage.retopic import TopicTotals
from socialcrawl.text.wording import pluralize

SHOWN = 20  # searches and names that are listed
NOTHING_DONE = "Nothing was sent, nothing was spent, and the database is unchanged."


def show(console: Console, plan: Plan, found: RunPreview) -> None:
    """Print what a run would do."""
    name = plan.settings.name
    if not found.begun:
        console.print(Text(f"The campaign {name!r} has not begun. Its first run would need:"))
    elif found.changes:
        console.print(_make_table(found.changes, f"Settings that differ from the last run of {name!r}"))
    else:
        console.print(Text(f"The campaign file has the settings of the last run of {name!r}: a run would go on."))
    console.print()
    for line in _list_effects(found):
        console.print(Text(line))
    console.print()
    quote.show(console, plan, found.quote)
    console.print(Text(NOTHING_DONE))


def build_object(plan: Plan, found: RunPreview) -> dict[str, Any]:
    """Return what a run would do as plain values; `rescored` is None where no post would be scored again."""
    return {
        "campaign": plan.settings.name,
        "begun": found.begun,
        "changes": [{"setting": one.setting, "before": one.before, "now": one.now} for one in found.changes],
        "rescored": None if found.before is None or found.after is None else _compare(found.before, found.after),
        "searches": found.searches,
        "new_seeds": found.names,
        "quote": quote.build_object(plan, found.quote),
    }


def _make_table(changes: list[SettingChange], title: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("setting", "before", "now"):
        table.add_column(name, overflow="fold")
    for one in changes:
        same = one.before == one.now
        before, now = ("", "other content") if same else (_format_value(one.before), _format_value(one.now))
        table.add_row(one.setting, before, now)
    return table


def _format_value(value: Any) -> str:
    if value in (None, "", [], {}):
        return "(none)"
    if isinstance(value, list):
        return ", ".join(map(_format_value, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _list_effects(found: RunPreview) -> Iterator[str]:
    """Yield what happens before the crawl goes on."""
    if found.before is not None and found.after is not None:
        effect = _compare(found.before, found.after)
        posts, accounts = effect["matching_posts"], effect["accounts_on_topic"]
        yield (
            f"Stored posts are scored again: {posts['before']:,} match the old topic, {posts['now']:,} the new one. Of "
            f"{pluralize(effect['accounts_read'], 'account')} read, {accounts['before']:,} were on topic, "
            f"{accounts['now']:,} will be; the relevance of {effect['accounts_changed']:,} changes."
        )
    elif found.begun:
        yield "No stored post is scored again."
    if found.searches:
        yield f"To search: {_list_some(found.searches)}."
    elif found.begun:
        yield "No search is made: all were made before."
    if found.names:
        yield f"Seeds to look up: {_list_some(found.names)}."


def _compare(before: TopicTotals, after: TopicTotals) -> dict[str, Any]:
    accounts = before.relevance.keys() | after.relevance.keys()
    return {
        "matching_posts": {"before": before.posts, "now": after.posts},
        "accounts_read": len(accounts),
        "accounts_on_topic": {"before": _count_on_topic(before), "now": _count_on_topic(after)},
        "accounts_changed": sum(before.relevance.get(node) != after.relevance.get(node) for node in accounts),
    }


def _count_on_topic(totals: TopicTotals) -> int:
    return sum(value > 0 for value in totals.relevance.values())


def _list_some(texts: list[str]) -> str:
    more = len(texts) - SHOWN
    return ", ".join(texts[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
