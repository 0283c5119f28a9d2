"""How a campaign came about, in plain values: what its datasheet tells."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import orjson
from sqlalchemy import Connection, text

from socialcrawl.campaign.search_reach import describe_search_reach
from socialcrawl.campaign.sections.access import READING_KEYS
from socialcrawl.crawls.facts import DEFAULT, find_kind_facts, list_foreign_keys
from socialcrawl.crawls.registry import find_kind
from socialcrawl.engine.model import MILLS_PER_DOLLAR
from socialcrawl.exporters.columns import Person
from socialcrawl.exporters.pseudonymize import Pseudonymizer
from socialcrawl.exporters.selection import ExportSelection
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.platforms.registry import find_platform
from socialcrawl.storage.counting_rule import COUNTING
from socialcrawl.storage.identity import QUERIES
from socialcrawl.storage.stored_checks import summarize_checks
from socialcrawl.storage.wanted_posts import count_states
from socialcrawl.system.loopback import is_loopback

# What may be told of settings; the rest names people, files, servers and where tokens are.
TOLD = {
    "topic": ("keywords", "patterns", "model_checksum", "languages", "from", "until"),
    "seeds": ("search", "most", "search_pages", "capture"),
    "crawl": None,
    "budget": None,
    "source": (
        "platform",
        "vocabulary",
        *READING_KEYS,
        "pages_per_user",
        "reuse_hours",
        "keep_original",
        "keep_answers",
    ),
}
# Keys of the section source with their defaults, which are not told.
UNTOLD = {"archive": True, "search": "v1", "full_text": False}
ALWAYS = ("keywords", "patterns")  # told also where there are none
NO_ID = "(no id known)"

POSTS = """count(distinct p.author) as authors,
  min(p.created_at) as first, max(p.created_at) as last,
  min(p.fetched_at) as fetched_first, max(p.fetched_at) as fetched_last
from post p"""
POST_SPAN = f"""
select count(*) as posts, count(*) - coalesce(sum(e.asked), 0) as unasked, {POSTS} join export_post e on e.id = p.id
"""
# Requests of programs that did not yet write down which posts came.
UNLISTED = "select count(*) as requests from request where posts > 0 and post_ids is null and kind in ('ok', 'missing')"
REQUESTS = """
select endpoint, coalesce(kind, 'lost') as kind, count(*) as requests, coalesce(sum(posts), 0) as posts,
  coalesce(sum(coalesce(cost, most)), 0) as mills
from request where campaign = :campaign group by endpoint, coalesce(kind, 'lost') order by endpoint, kind
"""
SPAN = (
    "select min(sent_at) as began, max(coalesce(arrived_at, sent_at)) as ended from request where campaign = :campaign"
)
ACTS = "select act, count(*) as picks from pick where campaign = :campaign group by act order by act"
# Each account by its latest outcome.
MISSING = """
select reason, count(*) as accounts from (
  select distinct o.node, case when missing like 'same-as:%' then 'same as another' else missing end as reason
  from outcome o where o.campaign = :campaign and missing is not null and o.node >= 0 and not exists (
    select 1 from outcome later where later.campaign = o.campaign and later.node = o.node and later.n > o.n)) m
group by reason order by reason
"""
LIVING = """
select status, count(*) as accounts from liveness where campaign = :name group by status order by accounts desc, status
"""
# Accounts whose timeline offered another page after the last one that was read. The endpoints of a timeline may have a
# host in front, and "?" with the parameter of later pages behind. Wires drop the cursor of a page that goes back before
# [topic] from, so that no page is offered there that counts. Probes do not read timelines.
CUT = """
select count(*) as timelines from (
  select n, max(id) as last from request where campaign = :campaign and kind in ('ok', 'held', 'missing')
    and (endpoint = :timeline or endpoint like :later escape '!' or (endpoint not like '/%' and (
      endpoint like :hosted escape '!' or endpoint like :hosted_later escape '!')))
  group by n) t
join request r on r.id = t.last
join pick p on p.campaign = r.campaign and p.n = r.n
join outcome o on o.campaign = r.campaign and o.n = r.n
where r.cursor is not null and r.kind in ('ok', 'held') and o.missing is null
  and p.act in ('seed', 'expand', 'recrawl', 'walk')
"""
OPEN = """
select count(*) as picks from pick p where p.campaign = :campaign
and not exists (select 1 from outcome o where o.campaign = p.campaign and o.n = p.n)
"""
SEEDS = """
select p.n, a.platform_id, a.username from pick p join account a on a.node = p.node
where p.campaign = :campaign and p.act in ('seed', 'import') and a.forgotten_at is null order by p.n
"""
EPOCHS = "select number, first, began_at, why from epoch where campaign = :campaign order by number"
TOMBSTONES = "select kind, why, count(*) as tombstones from tombstone group by kind, why order by kind, why"
SCHEMA = "select version_num as version from alembic_version"
CAMPAIGN = "select name, platform, seed, settings, identity, created_at from campaign where id = :campaign"
VERSIONS = "select settings from version where campaign = :campaign order by number"


def collect_facts(choice: ExportSelection, hiding: Pseudonymizer | None, *, ids: bool = False) -> dict[str, Any]:
    """Return all that is known of what is exported, as values of JSON.

    Args:
        choice: what is exported.
        hiding: how people are made unreadable; None: they are named.
        ids: whether they are called by the platform's ids instead of their names.
    """
    return {
        "schema": choice.read_rows(SCHEMA)[0].version,
        "posts": _make_row(choice.read_rows(POST_SPAN)[0]) | {"unlisted": choice.read_rows(UNLISTED)[0].requests},
        "campaigns": [_collect_campaign(choice, number, hiding, ids=ids) for number in choice.numbers],
        "tombstones": _make_rows(choice.read_rows(TOMBSTONES)),
        **_collect_checks(choice),
    }


def _collect_checks(choice: ExportSelection) -> dict[str, Any]:
    """Return when the platform was last asked what it no longer shows, and what that has removed; nothing: never."""
    found = summarize_checks(choice.reader)
    return {} if found is None else {"compliance": found._asdict() | {"text": found.describe()}}


def _collect_campaign(
    choice: ExportSelection, number: int, hiding: Pseudonymizer | None, *, ids: bool
) -> dict[str, Any]:
    (about,) = choice.read_rows(CAMPAIGN, campaign=number)
    had = [orjson.loads(row.settings) for row in (about, *choice.read_rows(VERSIONS, campaign=number))]
    name = had[-1].get("kind", DEFAULT.name)
    identity = orjson.loads(about.identity)
    kind, own = find_kind(name), had[-1].get(name) or {}
    # One that asked the platform at any time was none.
    rehearsal = all(is_other_server(about.platform, (settings.get("source") or {}).get("base_url")) for settings in had)
    requests = _make_rows(choice.read_rows(REQUESTS, campaign=number))
    mills = sum(row.pop("mills") for row in requests)
    return {
        "name": about.name,
        **({} if name == DEFAULT.name else {"kind": name}),
        "platform": about.platform,
        "seed": about.seed,
        "created_at": about.created_at,
        "settings": select_settings(had[-1], hiding),
        **({"judged_by_name": True} if any(own.get(key) for key in (*kind.facts.files, *kind.private)) else {}),
        **({"judged_by_tree": True} if kind.hides_judge(own) else {}),
        "counting": identity.get(COUNTING, 1),  # the rule by which keywords are counted
        # An old dataset is no list of seeds: all of it is in the tables.
        "seeds": [] if kind.dataset else _list_seeds(choice, number, hiding, ids=ids),
        **({"reach": reach} if (reach := describe_search_reach(had[-1], identity.get(QUERIES, ()))) else {}),
        "picks": {row.act: row.picks for row in choice.read_rows(ACTS, campaign=number)},
        **read_span(choice.reader, number),
        "requests": requests,
        "rehearsal": rehearsal,
        "dollars": 0.0 if rehearsal else mills / MILLS_PER_DOLLAR,
        "epochs": _make_rows(choice.read_rows(EPOCHS, campaign=number)),
        "gaps": count_gaps(choice.reader, number, requests, about.platform),
        **({"liveness": _count_statuses(choice, about.name)} if kind.dataset else {}),
        **({"ids": states} if (states := count_states(choice.reader, number)) else {}),
    }


def _count_statuses(choice: ExportSelection, name: str) -> dict[str, int]:
    """Return how many of an old dataset were last found so."""
    return {row.status: row.accounts for row in choice.read_rows(LIVING, name=name)}


def read_span(connection: Connection, number: int) -> dict[str, str | None]:
    """Return when the requests of a campaign began and ended."""
    return dict(connection.execute(text(SPAN), {"campaign": number}).mappings().one())


def count_gaps(
    connection: Connection, number: int, requests: Sequence[Mapping[str, Any]], platform: str
) -> dict[str, Any]:
    """Return what a campaign could not read, and why.

    Args:
        connection: the database.
        number: campaign.id.
        requests: its requests by endpoint and kind.
        platform: the name of its platform.
    """
    rows = partial(_read_rows, connection, campaign=number)
    kinds: dict[str, int] = {}
    for row in requests:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + row["requests"]
    return {
        "missing": {row.reason: row.accounts for row in rows(MISSING)},
        "lost": kinds.get("lost", 0),
        "failed": {kind: kinds[kind] for kind in ("broken", "refused", "invalid") if kind in kinds},
        "limited": {kind: kinds[kind] for kind in ("window", "day", "month", "money", "backoff") if kind in kinds},
        "timelines_cut": _count_cut_timelines(connection, number, platform),
        "picks_without_outcome": rows(OPEN)[0].picks,
    }


def _count_cut_timelines(connection: Connection, number: int, platform: str) -> int:
    """Return how many timelines of a campaign have older posts that were left unread."""
    timeline = find_platform(platform).roles.timeline
    path = re.sub("[!%_]", r"!\g<0>", timeline)
    patterns = {"later": f"{path}?%", "hosted": f"%{path}", "hosted_later": f"%{path}?%"}
    return int(_read_rows(connection, CUT, campaign=number, timeline=timeline, **patterns)[0].timelines)


def _read_rows(connection: Connection, sql: str, **values: Any) -> Sequence[Any]:
    return connection.execute(text(sql), values).all()


def select_settings(given: dict[str, Any], hiding: Pseudonymizer | None = None) -> dict[str, Any]:
    """Return the settings that may be told: none that names people, files, servers or tokens.

    Args:
        given: all of a campaign.
        hiding: how people are made unreadable in the words of its topic; None: they are named.
    """
    chosen: dict[str, Any] = {}
    kind = given.get("kind", DEFAULT.name)
    for section, names in TOLD.items():
        held = given.get(section)
        if isinstance(held, dict):
            chosen[section] = {name: value for name, value in held.items() if names is None or name in names}
    if "source" in chosen:
        chosen["source"] = {key: value for key, value in chosen["source"].items() if UNTOLD.get(key) != value}
    if find_kind_facts(kind).section is not None and isinstance(own := given.get(kind), dict):
        chosen[kind] = find_kind(kind).publish(own)
    if "crawl" in chosen:
        foreign = list_foreign_keys(kind)
        chosen["crawl"] = {name: value for name, value in chosen["crawl"].items() if name not in foreign}
    if "topic" in chosen:
        chosen["topic"] = {
            name: _redact_value(value, hiding) for name, value in chosen["topic"].items() if value or name in ALWAYS
        }
    return chosen


def _redact_value(value: Any, hiding: Pseudonymizer | None) -> Any:
    """Return what a topic says: names in its words are hidden where names are."""
    return [hiding.hide_text(word) for word in value] if hiding is not None and isinstance(value, list) else value


def is_other_server(platform: str, base_url: str | None) -> bool:
    """Return whether a campaign asked another server than the platform's: a mock or a rehearsal.

    A platform that anybody may serve has servers everywhere: there only one of this machine is another.

    Args:
        platform: its name.
        base_url: the server; None is the platform's.
    """
    if base_url is None:
        return False
    hosts = find_platform_facts(platform).hosts
    return urlsplit(base_url).hostname not in hosts if hosts else is_loopback(base_url)


def _list_seeds(choice: ExportSelection, number: int, hiding: Pseudonymizer | None, *, ids: bool) -> list[str]:
    people = find_seeds(choice.reader, number)
    if ids:
        return list(dict.fromkeys(person.id or NO_ID for person in people))
    shown = (person.display_name if hiding is None else hiding.pseudonyms.name_person(person) for person in people)
    return [name for name in dict.fromkeys(shown) if name is not None]


def find_seeds(connection: Connection, number: int) -> list[Person]:
    """Return those whom a campaign began with, in order."""
    return [Person(row.platform_id, row.username) for row in _read_rows(connection, SEEDS, campaign=number)]


def _make_rows(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [_make_row(row) for row in rows]


def _make_row(row: Any) -> dict[str, Any]:
    given = row._asdict()
    # PostgreSQL sums integers as decimals.
    return {name: int(value) if name in ("requests", "posts", "mills") else value for name, value in given.items()}
