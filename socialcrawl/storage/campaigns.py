"""The table of campaigns: begin one, resume it if it is still the same, apply a change, keep its refresh rate."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, exists, func, insert, select, update
from sqlalchemy.exc import DBAPIError

from socialcrawl.engine.model import USEFUL, Act, Node, ReplyKind, format_time, parse_time
from socialcrawl.graph.relevance import Hits
from socialcrawl.storage import versions
from socialcrawl.storage.counting_rule import COUNTING, RULE, CountingRule
from socialcrawl.storage.database.address import DatabaseAddress, find_address
from socialcrawl.storage.database.health import open_if_any
from socialcrawl.storage.database.trouble import convert_error, convert_errors
from socialcrawl.storage.erasure.seed_slots import SeedSlot, list_names, reassign_slots, remove_names
from socialcrawl.storage.erasure.tombstones import find_forgotten
from socialcrawl.storage.identity import (
    QUERIES,
    SettingDifference,
    check_changes,
    compare_identities,
    list_parts,
    read_queries,
    read_texts,
    refuse_changes,
)
from socialcrawl.storage.nodes import Nodes
from socialcrawl.storage.retopic import recount_topic
from socialcrawl.storage.schema.tables import campaign, pick, request
from socialcrawl.storage.schema.tables import campaign as table
from socialcrawl.storage.schema.tables import epoch as table_of_epochs

LATEST = 200  # answers that are looked at


def read_refresh_rate(connection: Connection, number: int) -> int | None:
    """Return the refresh rate that was chosen for the campaign with that id; None: none was yet."""
    with convert_errors(connection), connection.begin():
        found = connection.execute(select(campaign.c.refresh_rate).where(campaign.c.id == number)).scalar_one()
    return None if found is None else int(found)


def keep_refresh_rate(connection: Connection, number: int, rate: int) -> None:
    """Remember the refresh rate that was chosen."""
    with convert_errors(connection), connection.begin():
        connection.execute(update(campaign).where(campaign.c.id == number).values(refresh_rate=rate))


def read_latencies(connection: Connection, number: int) -> list[float]:
    """Return the seconds that the latest answers to a campaign took, oldest first."""
    sent = select(request.c.sent_at, request.c.arrived_at).where(
        request.c.campaign == number, request.c.kind.in_([kind for kind in USEFUL if kind != ReplyKind.HELD])
    )
    with convert_errors(connection), connection.begin():
        rows = connection.execute(sent.order_by(request.c.id.desc()).limit(LATEST)).all()
    return [max(0.0, parse_time(arrived) - parse_time(left)) for left, arrived in reversed(rows)]


@dataclass(frozen=True, slots=True)
class TopicChange:
    """The leave to take up other settings than those that a campaign was begun with.

    Attributes:
        hits: the occurrences of the new topic in a post, from (text, lang, created_at).
        queries: the texts that the new topic is searched by.
    """

    hits: Hits
    queries: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class QueryHistory:
    """What the seeds of a campaign rest on beside its file.

    Attributes:
        texts: all queries that it ever had, in order: node -1 is the first. A source has to know them all.
        queries: the nodes of those that it has now.
        topics: the first pick.n under each new topic.
    """

    texts: list[str]
    queries: list[Node]
    topics: list[int]


def ensure_campaign(
    connection: Connection,
    settings: dict[str, Any],
    identity: dict[str, Any],
    now: float,
    *,
    change: TopicChange | None = None,
    queries: Sequence[str] | None = None,
    counting: CountingRule | None = None,
    fixed: Collection[str] = (),
) -> int:
    """Return the campaign.id of the campaign named in `settings`, which is begun if it is new.

    Settings that differ from those it ran with last are kept as its next version. Another identity is taken up where
    `change` allows it, all in one transaction: a new epoch begins, and where the topic is another one, whatever was
    derived from the posts is derived anew (`recount_topic`). The same happens where an earlier version counted the same
    keywords differently, except for a sample, whose judgements stay.

    Args:
        connection: the database.
        settings: all settings, without secrets.
        identity: those that its history rests on.
        now: Unix seconds.
        change: how to take up another identity; None: it is refused.
        queries: the texts that the topic is searched by, which get their numbers now; None: they have them.
        counting: how the topic is counted; None: as it was.
        fixed: the sections and dotted keys that its kind fixes besides.

    Raises:
        SettingsError: the campaign was begun with another identity, or what differs may never change; the message
            names what, and what to do.
    """
    if change is not None:
        queries = change.queries
    try:
        with connection.begin():
            gone = find_forgotten(connection, settings["source"]["platform"], "name", list_names(identity))
            settings, given = (remove_names(values, gone, lambda _: None) for values in (settings, identity))
            rule = {} if counting is None else {COUNTING: RULE}
            held = connection.execute(select(table).where(table.c.name == settings["name"])).one_or_none()
            if held is None:
                return _create_campaign(connection, settings, given | rule, format_time(now), queries)
            settings, given = _keep_followed(connection, int(held.id), settings, given)
            before, given = orjson.loads(held.identity), given | rule
            moved = _CampaignUpdate(connection, int(held.id), before, given, barred=gone, fixed=fixed)
            moved.take_up(settings, format_time(now), change, queries, counting)
            versions.end_running_epoch(connection, moved.campaign, format_time(now))
            return moved.campaign
    except DBAPIError as error:
        raise convert_error(error, find_address(connection)) from error


def follow_shadow(connection: Connection, campaign: int, shadow: str, now: float) -> None:
    """Let a shadow of a campaign choose from its next pick on, with a new epoch; its estimator becomes a shadow."""
    with convert_errors(connection), connection.begin():
        settings = versions.read_versions(connection, campaign)[-1].settings
        crawl = settings["crawl"]
        shadows = versions.replace_name(crawl["shadows"], shadow, crawl["estimator"])
        held = orjson.loads(connection.execute(select(table.c.identity).where(table.c.id == campaign)).scalar_one())
        values = {"identity": orjson.dumps(_replace_estimator(held, shadow)).decode()}
        connection.execute(update(table).where(table.c.id == campaign).values(values))
        versions.begin_epochs(connection, [campaign], f"crawl,{versions.FOLLOWED}", format_time(now))
        changed = settings | {"crawl": crawl | {"estimator": shadow, "shadows": shadows}}
        versions.store_changes(connection, campaign, changed, format_time(now))


def _keep_followed(
    connection: Connection, campaign: int, settings: dict[str, Any], identity: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return settings and identity with the estimator that took over, where a campaign has followed a shadow."""
    if not settings.get("crawl", {}).get("follow"):
        return settings, identity
    chosen = versions.find_estimator(connection, campaign, settings["crawl"])
    return settings | {"crawl": settings["crawl"] | chosen}, _replace_estimator(identity, chosen["estimator"])


def _replace_estimator(identity: dict[str, Any], estimator: str) -> dict[str, Any]:
    return identity | {"crawl": identity["crawl"] | {"estimator": estimator}} if "crawl" in identity else identity


def read_keywords(where: DatabaseAddress, name: str) -> set[str]:
    """Return the keywords that a database has of a campaign; nothing is made or changed.

    Args:
        where: the database.
        name: the campaign; one that has not begun has none.

    Raises:
        StoreError: the database cannot be read, is another program's, or a newer socialcrawl's.
    """
    with open_if_any(where) as connection:
        if connection is None:
            return set()
        held = connection.execute(select(table.c.identity).where(table.c.name == name)).scalar()
    topic = orjson.loads(held or "{}").get(versions.TOPIC) or {}
    return set(topic.get("keywords") or ())


def read_settings(where: DatabaseAddress, name: str) -> dict[str, Any]:
    """Return the settings with which a database has a campaign; nothing is made or changed.

    Args:
        where: the database.
        name: the campaign; one that has not begun has none.

    Raises:
        StoreError: the database cannot be read, is another program's, or a newer socialcrawl's.
    """
    with open_if_any(where) as connection:
        if connection is None:
            return {}
        held = connection.execute(select(table.c.id, table.c.settings).where(table.c.name == name)).one_or_none()
        if held is None:
            return {}
        later = versions.read_versions(connection, held.id) if versions.has_versions(connection) else []
        return dict(later[-1].settings if later else orjson.loads(held.settings))


def read_query_history(connection: Connection, campaign: int, current: Sequence[str]) -> QueryHistory:
    """Return what the seeds of a campaign rest on, whose topic is searched by the texts `current`."""
    with connection.begin():
        known = connection.execute(select(table.c.identity).where(table.c.id == campaign)).scalar_one()
        return QueryHistory(
            *read_queries(orjson.loads(known), current), versions.find_topic_starts(connection, campaign)
        )


def _create_campaign(
    connection: Connection, settings: dict[str, Any], identity: dict[str, Any], now: str, queries: Sequence[str] | None
) -> int:
    if queries is not None:
        identity = identity | {QUERIES: list(dict.fromkeys(queries))}
    values = {
        "name": settings["name"],
        "platform": settings["source"]["platform"],
        "seed": settings["seed"],
        "settings": orjson.dumps(settings).decode(),
        "identity": orjson.dumps(identity).decode(),
        "created_at": now,
    }
    number = int(connection.execute(insert(table).values(values).returning(table.c.id)).scalar_one())
    versions.begin_epochs(connection, [number], "begun", now)
    versions.store_first(connection, number, settings, now)
    return number


class _CampaignUpdate:
    """A campaign whose file may have changed; called in a transaction.

    Args:
        connection: the database.
        campaign: campaign.id.
        held: its identity so far.
        given: the one that its file has now.
        barred: names that were forgotten, in lower case.
        fixed: see `ensure_campaign`.
    """

    def __init__(
        self,
        connection: Connection,
        campaign: int,
        held: dict[str, Any],
        given: dict[str, Any],
        *,
        barred: set[str],
        fixed: Collection[str],
    ) -> None:
        self.fixed = fixed
        self.connection, self.campaign, self.held, self.given, self.barred = connection, campaign, held, given, barred

    def take_up(
        self,
        settings: dict[str, Any],
        now: str,
        change: TopicChange | None,
        queries: Sequence[str] | None,
        counting: CountingRule | None,
    ) -> None:
        """Keep what changed; nothing where nothing did."""
        found = compare_identities(self.held, self.given, self.barred)
        if change is None:
            refuse_changes(settings["name"], found, self.fixed)
        else:
            check_changes(settings["name"], found, self.fixed)
        texts, _ = read_queries(self.held, queries or ())
        why = list_parts(found)
        if not why and texts != read_texts(self.held):
            why = ["seeds"]  # this program searches the same topic by other texts
        rule = None if self.held.get(COUNTING) == RULE else counting
        counted_otherwise = rule is not None and rule.since > self.held.get(COUNTING, 1)
        if counted_otherwise and versions.TOPIC in self.held and versions.TOPIC not in self.fixed:
            why = list(dict.fromkeys([versions.TOPIC, *why]))
        if why or rule is not None:
            self._write(found, texts, settings["source"]["platform"], now)
        if why:
            versions.begin_epochs(self.connection, [self.campaign], ",".join(why), now)
        if versions.TOPIC in why and (topic_rule := change or counting) is not None:
            recount_topic(self.connection, self.campaign, topic_rule.hits)
        versions.store_changes(self.connection, self.campaign, settings, now, [one.dotted_key for one in found])

    def _write(self, found: Sequence[SettingDifference], texts: Sequence[str], platform: str, now: str) -> None:
        new = {key: self.held[key] for key in (COUNTING,) if key in self.held} | self.given | {QUERIES: list(texts)}
        if "seeds" in self.held or "seeds" in self.given:
            slots = list(self.held.get("seeds", {}).get("usernames") or [])
            if any(one.dotted_key == "seeds.usernames" for one in found):
                slots = self._assign_slots(slots, platform, now)
            new["seeds"] = self.given.get("seeds", {}) | {"usernames": slots}
        values = {"identity": orjson.dumps(new).decode()}
        self.connection.execute(update(table).where(table.c.id == self.campaign).values(values))

    def _assign_slots(self, held: list[SeedSlot], platform: str, now: str) -> list[SeedSlot]:
        """Return the slots with the names of the file; the names were looked up in their order, and then asked."""
        given = self.given.get("seeds", {}).get("usernames") or []
        names = [slot for slot in held if isinstance(slot, str)]
        numbers = Nodes(self.connection, platform).find_enlisted(names, now)
        nodes = [numbers[slot] if isinstance(slot, str) else slot for slot in held]
        asked = [place for place, node in enumerate(nodes) if node is not None and self._is_picked(node)]
        last = len(held) - 1 if self._is_looked_up() else max(asked, default=-1)
        return reassign_slots(
            held, [name for name in given if name], self.barred, last, lambda name: int(numbers[name])
        )

    def _is_looked_up(self) -> bool:
        """Return whether an account was read since the seeds were set: all names are looked up first."""
        made = select(func.max(table_of_epochs.c.first)).where(
            table_of_epochs.c.campaign == self.campaign, table_of_epochs.c.why.contains("seeds")
        )
        since = self.connection.execute(made).scalar() or 0
        read = pick.c.act.in_((Act.SEED, Act.EXPAND, Act.MATCH, Act.RECRAWL))
        asked = exists().where(pick.c.campaign == self.campaign, pick.c.n >= since, read)
        return bool(self.connection.execute(select(asked)).scalar_one())

    def _is_picked(self, node: int) -> bool:
        mine = exists().where(pick.c.campaign == self.campaign, pick.c.node == node)
        return bool(self.connection.execute(select(mine)).scalar_one())
