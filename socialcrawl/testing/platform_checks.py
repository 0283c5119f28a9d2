"""The contract of a platform, as checks: its facts, its source, its wire, and crawls that resume."""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from socialcrawl.campaign.build import build
from socialcrawl.campaign.guarded_wire import GuardedWire
from socialcrawl.campaign.plan import Plan, make_plan
from socialcrawl.campaign.settings import Settings, check_settings, read
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Act, Answer, Grant, Node, Outcome, Pick, Reply, ReplyKind, Request, Stop, Who
from socialcrawl.engine.protocols import Conversation, Source
from socialcrawl.errors import SettingsError
from socialcrawl.lab.instant import NullMonitor
from socialcrawl.platforms.base import Keys, Platform
from socialcrawl.system.files import find_folder
from socialcrawl.testing.broken_server import BROKEN_ANSWERS, serve_broken

MOST = 300  # requests of one conversation, after which it is taken to have no end
AT = 1_800_000_000.0
SILENT = (ReplyKind.BROKEN, ReplyKind.LOST, ReplyKind.BACKOFF, ReplyKind.INVALID)
PICKS = "select p.n, p.act, coalesce(a.username, p.node), p.score from pick p left join account a using (node)"


@dataclass(frozen=True)
class PlatformCase:
    """A platform and what its checks need to know.

    Attributes:
        platform: the platform.
        names: two accounts or more, as a person writes them.
        identifier: how the platform identifies the first of them; "": by its name.
        sections: further sections of a campaign file, as `{"source": {"token_env": "FORUM_TOKEN"}}`.
    """

    platform: Platform
    names: Sequence[str]
    identifier: str = ""
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def make_settings(self, url: str = "http://127.0.0.1:9") -> Settings:
        """Return a campaign on a server of this platform at `url`."""
        given: dict[str, Any] = {"name": "check", "topic": {"keywords": ["tea"]}}
        given["seeds"] = {"search": False, "usernames": list(self.names)}
        given["source"] = {"platform": self.platform.facts.name, "base_url": url, "timeout": 5.0}
        for name, values in self.sections.items():
            given[name] = {**given.get(name, {}), **values}
        return check_settings(given, "the campaign of the checks")

    def make_plan(self, url: str = "http://127.0.0.1:9") -> Plan:
        """Return the plan of such a campaign."""
        return make_plan(self.make_settings(url))


def check_facts(case: PlatformCase) -> None:
    """Check that the platform has a name, a table of limits with its endpoints, and a template that is sound."""
    platform, facts = case.platform, case.platform.facts
    assert isinstance(platform, Platform), f"{platform!r} is no socialcrawl.contracts.platforms.Platform."
    assert re.fullmatch(r"[a-z][a-z0-9_]*", facts.name), f"The name {facts.name!r} needs small letters and digits only."
    plan = case.make_plan()
    roles = platform.roles
    named = {roles.by_name, roles.by_id, roles.timeline, *([roles.search] if platform.searches else [])} - {""}
    for endpoint in sorted(named):
        assert plan.policy.find_endpoint(endpoint), (
            f"The table of limits {facts.policy} has no [endpoints.{endpoint!r}]."
        )
    if platform.template is not None:
        _check_template(platform)


def _check_template(platform: Platform) -> None:
    assert platform.template is not None
    file = find_folder("config") / platform.template.file
    text = file.read_text("utf-8")
    for line in ('name = "campaign"', 'database = "campaign.db"', 'keywords = ["a word", "a phrase", "prefix*"]'):
        assert line in text, f"The template {file} has no line {line}: `init` fills it in."
    found = read(file).source.platform
    assert found == platform.facts.name, f"The template {file} is for the platform {found!r}."


def check_names(case: PlatformCase) -> None:
    """Check that names are spelled one way, and that words that are no names are refused by a SettingsError."""
    platform = case.platform
    names = platform.parse_names(list(case.names))
    assert len(names) == len(case.names), f"names({list(case.names)}) returns {len(names)} names."
    assert platform.parse_names(names) == names, (
        f"names({names}) returns {platform.parse_names(names)}: a name must stay as it is."
    )
    for name in names:
        spelled = platform.normalize(name)
        assert platform.normalize(spelled) == spelled, (
            f"normalize({spelled!r}) returns {platform.normalize(spelled)!r}."
        )
    for word in ("", " ", "@", "a b", "\x00", "é" * 300, "http://[::1", "'; --"):
        try:
            found = platform.parse_names([word])
        except SettingsError:
            continue
        assert isinstance(found, list), f"names([{word!r}]) returns {found!r}, neither a list nor a SettingsError."


def check_source(case: PlatformCase) -> None:
    """Check that conversations end whatever is answered, are the same again, and tell of each pick once."""
    plan = case.make_plan()
    acts = [Act.SEED, Act.EXPAND]
    acts += [Act.SEARCH] if case.platform.searches else []
    acts += [Act.RESOLVE] if case.platform.look_up else []
    for act in acts:
        for kinds in ([ReplyKind.OK], [ReplyKind.MISSING], *([kind] for kind in SILENT), [ReplyKind.OK, *SILENT]):
            for cursor in (None, "next"):
                first, second = (_converse(_make_source(plan), case, act, kinds, cursor) for _ in range(2))
                assert first == second, f"A conversation of {act} is another one the second time: {first} and {second}."


def _make_source(plan: Plan) -> Source:
    return plan.platform.make_source(plan.terms, ["tea"], AT)


def _converse(
    source: Source, case: PlatformCase, act: Act, kinds: Sequence[ReplyKind], cursor: str | None
) -> list[tuple[Any, ...]]:
    """Return the requests and outcomes of the conversations for a few picks."""
    name = case.platform.parse_names(list(case.names))[0]
    width = source.width(act)
    assert width >= 1, f"source.width({act!s}) is {width}: it needs to be at least 1."
    nodes = [Node(-1)] if act == Act.SEARCH else [Node(7), Node(8)]
    batch = tuple(Pick(40 + i, node, act) for i, node in enumerate(nodes))
    told: list[tuple[Any, ...]] = []
    outcomes: dict[int, Outcome] = {}
    for conversation in source.start_conversations(batch, {node: Who(case.identifier or name, name) for node in nodes}):
        outcomes |= _finish(conversation, batch, kinds, cursor, told)
    assert sorted(outcomes) == [pick.n for pick in batch], (
        f"The conversations of {act} tell of the picks {sorted(outcomes)}, not of {[pick.n for pick in batch]}."
    )
    for pick in batch:
        outcome = outcomes[pick.n]
        assert (outcome.n, outcome.node) == (pick.n, pick.node), f"The outcome of {pick} is of another pick: {outcome}."
        assert outcome.missing is None or not len(outcome.targets), f"A missing node has links: {outcome}."
        told.append((pick.n, outcome.value, str(outcome.missing), outcome.targets.tolist(), outcome.alpha.tolist()))
    keys = [request[0] for request in told if isinstance(request[0], tuple)]
    assert len(keys) == len(set(keys)), (
        f"Two requests have one key: {keys}. After a restart they could not be told apart."
    )
    return told


def _finish(
    conversation: Conversation,
    batch: Sequence[Pick],
    kinds: Sequence[ReplyKind],
    cursor: str | None,
    told: list[tuple[Any, ...]],
) -> Mapping[int, Outcome]:
    try:
        request, sent = next(conversation), 0
    except StopIteration as end:  # nothing needs to be asked
        at_once: Mapping[int, Outcome] = end.value
        return at_once
    while True:
        assert isinstance(request, Request), f"A conversation yields {request!r}, which is no Request."
        assert request.key[0] in [pick.n for pick in batch], f"The key {request.key} begins with no pick of the batch."
        told.append((request.key, request.endpoint, dict(request.params), request.items, request.most))
        sent += 1
        assert sent <= MOST, f"A conversation has sent {MOST} requests and does not end."
        kind = kinds[min(sent, len(kinds)) - 1]
        more = cursor if kind == ReplyKind.OK and sent < 3 else None
        found = Answer(2, 3, (21, 22), (2, 0), {21: "i21", 22: "i22"}) if kind == ReplyKind.OK else Answer()
        try:
            request = conversation.send(Reply(kind, AT, found, more, status=200 if kind == ReplyKind.OK else 0))
        except StopIteration as end:
            outcomes: Mapping[int, Outcome] = end.value
            return outcomes


def check_wire(case: PlatformCase) -> None:
    """Check that the wire returns a reply, whatever a server answers, and if there is none; it never raises."""
    for what, answer in BROKEN_ANSWERS.items():
        with serve_broken(answer) as url:
            _check_reply(case, url, what)
    _check_reply(case, "http://127.0.0.1:9", "no server")


def _check_reply(case: PlatformCase, url: str, what: str) -> None:
    plan = case.make_plan(url)
    credentials = case.platform.list_credentials(plan.settings)
    secrets = {credential.name: "a-token" for credential, variables in credentials if variables is not None}
    request = case.platform.make_probe(plan.terms, plan.queries or ["tea"], plan.usernames)
    assert request is not None, "probe returns None although accounts are named."
    with TemporaryDirectory() as folder:
        wire = case.platform.make_wire(plan.terms, Keys(secrets, lambda: Path(folder)), lambda: AT)
        try:
            reply = GuardedWire(wire, case.platform.facts.name, lambda: AT).send(
                Grant(request, credentials[0][0].name, AT)
            )
        finally:
            wire.close()
    assert not reply.why.startswith("the wire of the platform"), f"At {what}, {reply.why}."
    assert isinstance(reply.kind, ReplyKind), f"At {what} the kind of the reply is {reply.kind!r}."
    assert reply.cost >= 0, f"At {what} the reply costs {reply.cost}."
    if what == "no server":
        assert (reply.kind, reply.status) == (ReplyKind.BROKEN, 0), (
            f"Where no server is, the reply is {reply.kind} with status {reply.status}. Nothing was sent, so it has to "
            "be broken with status 0."
        )


PLATFORM_CHECKS: tuple[Callable[[PlatformCase], None], ...] = (check_facts, check_names, check_source, check_wire)
"""All checks of a platform that need no server of it; each is given a `PlatformCase`."""


def check_resuming(settings: Settings, folder: Path, cuts: Sequence[int] = (1, 2, 3, 5, 8)) -> None:
    """Check that a campaign that is stopped after any request resumes with the same picks; it sends to a real server.

    Args:
        settings: a campaign on a server, usually a mock, that answers the same at any time; its database is not used.
        folder: an empty folder for the databases.
        cuts: the budgets of requests that it is stopped by, one after the other.
    """
    _run(settings, folder / "whole.db", None)
    for most in cuts:
        _run(settings, folder / "parts.db", most)
    _run(settings, folder / "parts.db", None)
    whole, parts = (_read_picks(folder / name) for name in ("whole.db", "parts.db"))
    assert whole, "The campaign picks nothing: name seeds that the server knows."
    assert parts == whole, f"Stopped after {list(cuts)} requests, the campaign picks {parts} instead of {whole}."


def _run(settings: Settings, database: Path, most: int | None) -> None:
    budget = settings.budget.model_copy(update={"max_requests": most})
    campaign = build(settings.model_copy(update={"database": database, "budget": budget}), NullMonitor())
    try:
        ending = run(campaign.parts, size=campaign.together)
        campaign.parts.pool.shutdown()
    finally:
        campaign.close()
    assert isinstance(ending, Stop), f"The campaign ended with {ending}."


def _read_picks(database: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as opened:
        return opened.execute(f"{PICKS} order by p.n").fetchall()
