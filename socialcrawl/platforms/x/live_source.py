"""X's filtered stream as a source: rules, the connection, and the parts of it that are taken. Pure.

    PART      what has come since the last part; says that no connection is open, where none is
    RULES     the rules of the app: what they match is sent, and billed
    CHANGE    rules are deleted and added, where they are others than the campaign's
    STREAM    the connection: pays for the posts that may come between two parts

Facts: https://docs.x.com/x-api/posts/filtered-stream/introduction. An app has one connection and one list of rules.
Each post that is sent is billed, whether anybody reads it or not: see `metered_reader`.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from socialcrawl.engine.model import Outcome, Pick, Reason, Reply, ReplyKind, Request, RequestPart, format_time
from socialcrawl.engine.stream_places import parse_turn
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.live_reading import make_live_outcome, make_live_parameters
from socialcrawl.platforms.x.vocabulary import Vocabulary
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.text.wording import pluralize

STREAM, RULES = "/2/tweets/search/stream", "/2/tweets/search/stream/rules"
PART, CHANGE = f"{STREAM}?part", f"{RULES}?change"
OURS = ("after", "seconds", "limit", "max_results", "complete", "tag", "replace")  # parameters that X is not sent
MOST_RULES = 1_000
SETTLING = 20.0  # seconds until new rules hold
NO_REPOSTS = "({}) -is:retweet"
TRIES = 3  # connections that one pick opens
ROUND = 5  # requests that a try sends at most


def make_tag(campaign: str) -> str:
    """Return the tag of a campaign's rules."""
    return f"socialcrawl:{campaign}"


def make_rules(queries: Sequence[str]) -> list[str]:
    """Return the rules that send what queries find: reposts match by their text, and keyword searches leave them out.

    Raises:
        SettingsError: they are more than an app may have.
    """
    if len(queries) > MOST_RULES:
        raise SettingsError(
            f"The keywords make {len(queries):,} rules of X's stream, which takes {MOST_RULES:,}: name fewer, or write "
            "ongoing = true instead of live = true under [capture]."
        )
    return [NO_REPOSTS.format(query) for query in queries]


@dataclass(frozen=True, slots=True)
class StreamSource:
    """The conversations about the stream of one campaign.

    Attributes:
        words: the vocabulary that posts are requested in.
        policy: page sizes and prices.
        expansions: the parameters that also fetch authors; empty: they are not.
        rules: what is to be sent, see `make_rules`.
        tag: of the campaign's rules.
        replaces: whether rules of others are deleted; else the run stops if there are any.
    """

    words: Vocabulary
    policy: Policy
    expansions: Mapping[str, str]
    rules: Sequence[str]
    tag: str
    replaces: bool

    def read(self, pick: Pick) -> Generator[Request, Reply, Outcome]:
        """Return what came of a pick of act `live`."""
        settled = ""  # from when on the rules hold that were changed
        for first in range(RequestPart.STREAM, RequestPart.STREAM + TRIES * ROUND, ROUND):
            part = yield self._make_part_request(pick, first)
            if part.cursor or part.kind not in (ReplyKind.OK, ReplyKind.HELD):
                return make_live_outcome(pick, part)
            complete = yield from self._set_rules(pick, first + 1)
            if complete is None:
                break
            settled = complete or settled
            opened = yield self._make_connection_request(pick, first + 4, settled)
            if opened.kind != ReplyKind.OK:
                break
        return Outcome(pick.n, pick.node, part.at, missing=Reason.TEMPORARY)

    def _set_rules(self, pick: Pick, first: int) -> Generator[Request, Reply, str | None]:
        """Return from when on all rules hold ("": already); None: they could not be set."""
        listed = yield make_rules_request((pick.n, first), self.tag, replaces=self.replaces)
        if listed.kind != ReplyKind.OK:
            return None
        known = parse_rules(listed.cursor)
        kept = {rule.value for rule in known if rule.tag == self.tag and rule.value in self.rules}
        stale = [rule.key for rule in known if rule.tag != self.tag or rule.value not in kept]
        added = [{"value": value, "tag": self.tag} for value in self.rules if value not in kept]
        for part, change in enumerate(
            ({"delete": {"ids": stale}} if stale else None, {"add": added} if added else None)
        ):
            if change is None:
                continue
            params = {"change": orjson.dumps(change).decode()}
            changed = yield Request((pick.n, first + 1 + part), CHANGE, params, 1)
            if changed.kind != ReplyKind.OK:
                return None
            if "add" in change:
                return format_time(changed.at + SETTLING)
        return ""

    def _make_part_request(self, pick: Pick, part: int) -> Request:
        size = self.policy.get_endpoint(PART).page
        asked = {**make_live_parameters(pick, size), "max_results": str(size)}
        return Request((pick.n, part), PART, asked, size, self._compute_most(PART, size))

    def _make_connection_request(self, pick: Pick, part: int, complete: str) -> Request:
        size = self.policy.get_endpoint(STREAM).page
        asked = {
            "after": str(parse_turn(pick.since).place),
            **self.words.fields,
            **self.words.search,
            **self.expansions,
        }
        asked |= {"complete": complete} if complete else {}
        return Request((pick.n, part), STREAM, asked, size, self._compute_most(STREAM, size))

    def _compute_most(self, endpoint: str, size: int) -> int:
        users = self.policy.compute_price("user", size) if self.words.search or self.expansions else 0
        return self.policy.compute_most(endpoint, size) + users


@dataclass(frozen=True, slots=True)
class AppRule:
    """A rule of an app: its id, its text and its tag ("": none)."""

    key: str
    value: str
    tag: str


def make_rules_request(key: tuple[int, int], tag: str, *, replaces: bool) -> Request:
    """Return the request for the rules of the app, which `read_rules` answers.

    Args:
        key: of the request.
        tag: of the campaign's rules.
        replaces: whether rules of others are to be deleted.
    """
    return Request(key, RULES, {"tag": tag, "replace": "yes" if replaces else "no"}, 1)


def read_rules(request: Request, bare: Reply, body: Any) -> Reply:
    """Return the reply to a request about rules: its cursor lists those of the app.

    It is `invalid` where rules of others are not to be replaced, and where X refuses a rule.
    """
    try:
        errors = body.get("errors") or []
        if request.endpoint == CHANGE:
            refused = [error for error in errors if error.get("title") != "DuplicateRule"]
            if not refused:
                return bare
            why = str((refused[0].get("details") or [refused[0].get("detail") or refused[0].get("title")])[0])[:300]
            return _make_invalid(bare, f"X does not take a rule of the stream: {why}")
        rules = [AppRule(str(one["id"]), str(one["value"]), str(one.get("tag") or "")) for one in body.get("data", [])]
    except (AttributeError, IndexError, KeyError, TypeError):
        return _make_invalid(bare, "the server's JSON about rules is not what X sends: is base_url right?")
    others = [rule for rule in rules if rule.tag != request.params["tag"]]
    if others and request.params["replace"] != "yes":
        return _make_invalid(
            bare,
            f"X's stream of this app has {pluralize(len(others), 'rule')} that this campaign did not make (such as "
            f"{others[0].value!r:.80}, tag {others[0].tag!r:.60}), whose posts would be billed too: delete them, or "
            "set replace_rules = true under [capture] and continue with `socialcrawl run --change`",
        )
    listed = [(rule.key, rule.value, rule.tag) for rule in rules]
    return replace(bare, cursor=orjson.dumps(listed).decode())


def parse_rules(cursor: str | None) -> list[AppRule]:
    """Return the rules that the cursor of a reply lists."""
    return [AppRule(*one) for one in orjson.loads(cursor or "[]")]


def _make_invalid(bare: Reply, why: str) -> Reply:
    return replace(bare, kind=ReplyKind.INVALID, why=why)
