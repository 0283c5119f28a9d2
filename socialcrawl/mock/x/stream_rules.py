"""The rules of X's filtered stream: added, listed and deleted; each app (token) has its own.

A rule is a query, but diacritics count in it. The sentence about a full list and about rules that are too long are the
mock's own, as none was seen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.query import Query, QueryDialect, QueryError, parse
from socialcrawl.mock.x.parameters import Cursor, Parameters, read_token
from socialcrawl.mock.x.problems import InvalidRequestError, Problem
from socialcrawl.mock.x.render import format_stamp
from socialcrawl.mock.x.vocabulary import MockVocabulary

MOST_RULES, LONGEST_RULE = 1_000, 1_024
RULE_DIALECT = QueryDialect(fold_name)
_FIRST_ID = 1_700_000_000_000_000_000
_PLACE = "stream rules"
_PARAMETERS, _CHANGES = frozenset({"ids", "max_results", "pagination_token"}), frozenset({"dry_run", "delete_all"})


@dataclass(frozen=True, slots=True)
class StreamRule:
    """One rule: its id, its text, its tag (or none) and the query that it is."""

    number: int
    value: str
    tag: str | None
    query: Query

    def show(self) -> dict[str, str]:
        """Return it as X lists it."""
        return {"value": self.value, **({} if self.tag is None else {"tag": self.tag}), "id": str(self.number)}


class StreamRules:
    """The rules of one app, in the order in which they were added."""

    def __init__(self) -> None:
        self._rules: dict[int, StreamRule] = {}
        self._next = _FIRST_ID

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[StreamRule]:
        return iter(self._rules.values())

    def list(self, given: Mapping[str, str], now: float) -> dict[str, Any]:
        """Return a page of rules, or those with some ids.

        Raises:
            InvalidRequestError: a parameter that cannot be.
        """
        parameters = Parameters(given)
        parameters.allow(_PARAMETERS)
        size = parameters.number("max_results", 1, MOST_RULES, MOST_RULES)
        wanted = given.get("ids", "").split(",") if "ids" in given else None
        rules = [rule for rule in self._rules.values() if wanted is None or str(rule.number) in wanted]
        start = _read_start(parameters)
        shown = rules[start : start + size]
        meta: dict[str, Any] = {"sent": format_stamp(int(now)), "result_count": len(shown)}
        if start + size < len(rules):
            meta["next_token"] = Cursor(older=True, post=start + size).token(_PLACE)
        return {**({"data": [rule.show() for rule in shown]} if shown else {}), "meta": meta}

    def change(
        self, given: Mapping[str, str], body: bytes, now: float, words: MockVocabulary
    ) -> tuple[int, dict[str, Any]]:
        """Add or delete rules; return the status and the answer.

        Raises:
            InvalidRequestError: the body or a parameter cannot be.
        """
        parameters = Parameters(given)
        parameters.allow(_CHANGES)
        dry, every = (parameters.one(name, ("true", "false")) == "true" for name in ("dry_run", "delete_all"))
        content = _read_body(body, optional=every)
        if every:
            return 200, _answer_deleted(self._delete(list(self._rules), dry=dry), 0, now, words)
        if "add" in content:
            return self._add(_read_added(content["add"]), now, words, dry=dry)
        numbers, missing = self._find(content["delete"])
        return 200, _answer_deleted(self._delete(numbers, dry=dry), missing, now, words)

    def _add(
        self, added: Sequence[tuple[str, str | None]], now: float, words: MockVocabulary, *, dry: bool
    ) -> tuple[int, dict[str, Any]]:
        known = {rule.value: rule.number for rule in self._rules.values()}
        made: list[StreamRule] = []
        errors: list[Problem] = []
        for value, tag in added:
            if value in known:
                errors.append(_describe_duplicate(words, value, known[value]))
                continue
            try:
                query = _parse(value)
            except QueryError as error:
                errors.append(_describe_invalid(words, value, str(error)))
                continue
            made.append(StreamRule(self._next + len(made), value, tag, query))
            known[value] = made[-1].number
        if len(self._rules) + len(made) > MOST_RULES:
            return 422, _describe_cap(words)
        if not dry:
            self._rules |= {rule.number: rule for rule in made}
            self._next += len(made)
        summary = {"created": len(made), "not_created": len(errors), "valid": len(made), "invalid": len(errors)}
        answer: dict[str, Any] = {"data": [rule.show() for rule in made]} if made else {}
        answer["meta"] = {"sent": format_stamp(int(now)), "summary": summary}
        return 201, answer | ({"errors": errors} if errors else {})

    def _find(self, deleted: Any) -> tuple[Sequence[int], int]:
        """Return the ids of the rules to be deleted, and how many that are named are none."""
        names = deleted if isinstance(deleted, dict) else {}
        ids, values = names.get("ids"), names.get("values")
        if not isinstance(ids, list | None) or not isinstance(values, list | None) or not (ids or values):
            raise _refuse_body("delete", "names no ids or values of rules")
        by_value = {rule.value: rule.number for rule in self._rules.values()}
        by_id = {str(number): number for number in self._rules}
        found = [by_id.get(str(one)) for one in ids or ()] + [by_value.get(str(one)) for one in values or ()]
        return [one for one in found if one is not None], found.count(None)

    def _delete(self, numbers: Sequence[int], *, dry: bool) -> int:
        for number in () if dry else numbers:
            self._rules.pop(number, None)
        return len(numbers)


def _parse(value: str) -> Query:
    if len(value) > LONGEST_RULE:
        raise QueryError(f"Rules must be at most {LONGEST_RULE} characters long; this one has {len(value)}.")
    return parse(value, RULE_DIALECT)


def _read_start(parameters: Parameters) -> int:
    token = parameters.given.get("pagination_token")
    if token is None:
        return 0
    try:
        return read_token(token, _PLACE).post
    except ValueError as error:
        raise parameters.refuse("pagination_token", "is not valid") from error


def _read_body(body: bytes, *, optional: bool) -> dict[str, Any]:
    try:
        content = orjson.loads(body) if body or not optional else {}
    except orjson.JSONDecodeError as error:
        raise _refuse_body("body", "is not valid JSON") from error
    if not isinstance(content, dict) or (not optional and len({"add", "delete"} & content.keys()) != 1):
        raise _refuse_body("body", "has neither add nor delete, or both")
    return content


def _read_added(added: Any) -> list[tuple[str, str | None]]:
    rules = []
    for rule in added if isinstance(added, list) else ():
        value, tag = (rule.get("value"), rule.get("tag")) if isinstance(rule, dict) else (None, None)
        if not isinstance(value, str) or not value.strip() or not isinstance(tag, str | None):
            raise _refuse_body("add", "has a rule without a value")
        rules.append((value, tag))
    if not rules:
        raise _refuse_body("add", "has no rules")
    return rules


def _refuse_body(name: str, why: str) -> InvalidRequestError:
    return InvalidRequestError(name, "", f"The `{name}` of the request {why}")


def _answer_deleted(deleted: int, missing: int, now: float, words: MockVocabulary) -> dict[str, Any]:
    summary = {"deleted": deleted, "not_deleted": missing}
    answer: dict[str, Any] = {"meta": {"sent": format_stamp(int(now)), "summary": summary}}
    if missing:
        problem = InvalidRequestError("", "", "Rule does not exist").problem(words)
        answer["errors"] = [{**problem, "errors": [{"parameters": {}, "message": "Rule does not exist"}]}]
    return answer


def _describe_duplicate(words: MockVocabulary, value: str, number: int) -> Problem:
    return {"value": value, "id": str(number), "title": "DuplicateRule", "type": words.problems + "duplicate-rules"}


def _describe_invalid(words: MockVocabulary, value: str, why: str) -> Problem:
    title, kind = "UnprocessableEntity", words.problems + "invalid-rules"
    return {"value": value, "details": [why], "title": title, "type": kind}


def _describe_cap(words: MockVocabulary) -> Problem:
    said = f"You have exceeded the maximum number of rules ({MOST_RULES})."
    return {"title": "RulesCapExceeded", "detail": said, "type": words.problems + "rule-cap", "status": 422}
