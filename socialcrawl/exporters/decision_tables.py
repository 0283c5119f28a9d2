"""What the decisions of a campaign rest on beside what it found: its settings each time they changed, and its seeds.

With the tables of picks and links it is all that a replay needs; see `socialcrawl verify`.
"""

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import select

from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.engine.model import Node, Reason
from socialcrawl.exporters.columns import Person
from socialcrawl.exporters.datasheet_facts import select_settings
from socialcrawl.exporters.selection import ExportSelection
from socialcrawl.storage.queries.decisions import find_first_picks, read_aliases
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.storage.schema.tables import account, outcome, shadow
from socialcrawl.storage.schema.tables import campaign as campaigns

NOBODY = Person(None, None)
OPTED_OUT = Reason.OPTED_OUT  # why an account could not be read
Row = tuple[Any, ...]


def read_versions(choice: ExportSelection) -> Iterator[Row]:
    """Yield the settings of each campaign, each time they changed: only what may be told of them."""
    traces = CampaignTraces(choice.reader)
    for number, name in choice.campaigns:
        query = select(campaigns.c.seed, campaigns.c.created_at).where(campaigns.c.id == number)
        seed, created_at = choice.reader.execute(query).one()
        for one in traces.read_versions(traces.read_campaign(name)):
            values = {"kind": one.settings.get("kind", DEFAULT.name), "seed": seed, **select_settings(one.settings)}
            yield name, one.number, one.at or created_at, one.first, orjson.dumps(values).decode(), one.changed


def read_seeds(choice: ExportSelection) -> Iterator[Row]:
    """Yield the seeds that each campaign names, in their order; without an account if one was never asked.

    Accounts that were forgotten or have opted out are not named.
    """
    traces = CampaignTraces(choice.reader)
    for number, name in choice.campaigns:
        begun = traces.read_campaign(name)
        targets = set(read_aliases(choice.reader, number).values())
        asked = targets | find_first_picks(choice.reader, number).keys()
        out = select(outcome.c.node).where(outcome.c.campaign == number, outcome.c.missing == OPTED_OUT)
        unnamed = {*choice.reader.execute(out).scalars()}
        for position, slot in enumerate((begun.identity.get("seeds") or {}).get("usernames") or []):
            node = next(iter(traces.read_seeds(begun.platform, [slot])), None)
            node = node if node in asked else None
            yield name, position, node, NOBODY if node is None or node in unnamed else _find_person(choice, node)


def _find_person(choice: ExportSelection, node: Node) -> Person:
    query = select(account.c.platform_id, account.c.username).where(account.c.node == node)
    row = choice.reader.execute(query).one_or_none()
    return NOBODY if row is None else Person(*row)


def read_shadows(choice: ExportSelection) -> Iterator[Row]:
    """Yield the scores of the picks by shadows."""
    query = select(campaigns.c.name, shadow.c.n, shadow.c.estimator, shadow.c.score)
    ours = query.join(campaigns, campaigns.c.id == shadow.c.campaign).where(shadow.c.campaign.in_(choice.numbers))
    order = shadow.c.campaign, shadow.c.n, choice.order_by_text(shadow.c.estimator)
    yield from map(tuple, choice.stream(ours.order_by(*order)))
