"""X's batch compliance: jobs that are created, get ids by an upload, are worked on, and have a result to download.

A job is looked up by who may use the API. Its ids and its result are at signed addresses of this server, without a
token. What a result says follows from what has become of the world (`changes`) when the job is complete. X documents
one job of a type at a time, but not how a second one is refused: here by 409.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from urllib.parse import urlencode

import orjson

from socialcrawl.mock.names import DELETED, HERE, PROTECTED, SUSPENDED
from socialcrawl.mock.service import Guest, MockRequest, MockResponse
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.problems import InvalidRequestError
from socialcrawl.mock.x.render import format_stamp
from socialcrawl.mock.x.vocabulary import MockVocabulary

JOBS, JOB = "/2/compliance/jobs", "/2/compliance/jobs/:id"
SUBMISSION, DELIVERY = "/compliance/:id/submission", "/compliance/:id/delivery"
LASTING = {SUBMISSION: 900, DELIVERY: 7 * 86_400}  # seconds for which an address of the store holds
STORAGE = (("PUT", SUBMISSION), ("GET", DELIVERY))
TYPES = ("tweets", "users")
STATUSES = ("created", "in_progress", "failed", "complete", "expired")
LONGEST_NAME, LONGEST_ID = 64, 19
FIRST = 1_372_966_999_991_541_762  # the id of a mock's first job
TEXT = "text/plain"  # what an upload has to say of itself: it is signed
REASONS = {SUSPENDED: "suspended", PROTECTED: "protected", DELETED: "deleted"}


@dataclass(slots=True)
class MockJob:
    """A job: whose it is, what it was created with, and what has come of it; instants by the server's clock."""

    id: str
    owner: str
    given: Mapping[str, Any]
    created: float
    ids: Sequence[str] | None = None
    uploaded: float = 0.0
    shown: bool = False  # as in progress
    status: str = "created"
    result: bytes = field(default=b"", repr=False)

    @property
    def is_open(self) -> bool:
        """Whether it keeps another one of its type from being created."""
        return self.status in ("created", "in_progress")


class XComplianceJobs:
    """The jobs of a mock, and the store for their ids and results.

    Args:
        world: what there is to see.
        changes: what becomes of it.
        seconds: how long a job is worked on at least; it is shown in progress once in any case.
    """

    def __init__(self, world: World, changes: WorldChanges, seconds: float) -> None:
        self._world, self._changes, self._seconds = world, changes, seconds
        self._jobs: dict[str, MockJob] = {}

    def create(self, asked: MockRequest, guest: Guest, words: MockVocabulary) -> MockResponse:
        """POST /2/compliance/jobs."""
        given = _read_body(asked.body)
        self._pass_time(asked.now)
        if any(job.is_open for job in self._select(guest, given["type"])):
            detail = f"A compliance job of type [{given['type']}] is running; one at a time can be."
            problem = {"title": "Conflict", "detail": detail, "type": f"{words.problems}conflict", "status": 409}
            return MockResponse(409, orjson.dumps(problem))
        job = MockJob(str(FIRST + len(self._jobs)), guest.label, given, asked.now)
        self._jobs[job.id] = job
        return _respond({"data": self._show(job, asked)})

    def list(self, asked: MockRequest, guest: Guest) -> MockResponse:
        """GET /2/compliance/jobs: all of a type, the newest first; an object without anything where there are none."""
        kind, status = _read_choice(asked, "type", TYPES), asked.one("status")
        if kind is None:
            raise InvalidRequestError("type", "", "The `type` query parameter can not be empty")
        _read_choice(asked, "status", STATUSES)
        self._pass_time(asked.now)
        mine = reversed(self._select(guest, kind))
        shown = [self._show(job, asked) for job in mine if status in (None, job.status)]
        return _respond({"data": shown} if shown else {})

    def get(self, asked: MockRequest, guest: Guest, words: MockVocabulary) -> MockResponse:
        """GET /2/compliance/jobs/:id."""
        self._pass_time(asked.now)
        job = self._jobs.get(asked.path["id"])
        if job is not None and job.owner == guest.label:
            return _respond({"data": self._show(job, asked)})
        key = asked.path["id"]
        problem = {
            "value": key,
            "detail": f"Could not find compliance job with id: [{key}].",
            "title": "Not Found Error",
            "resource_type": "compliance_job",
            "parameter": "id",
            "resource_id": key,
            "type": words.problems + "resource-not-found",
        }
        return _respond({"errors": [problem]})

    def check_address(self, asked: MockRequest) -> MockResponse | None:
        """Return the refusal of an address of the store that is not signed, or no longer holds; None: it does."""
        job, lasts = self._jobs.get(asked.path["id"]), LASTING[asked.endpoint]
        signed = {**dict(asked.query), "said": asked.headers.get("content-type", "")}
        if job is None or signed.get("X-Goog-Signature") != _sign(job.id, asked.endpoint):
            return _refuse("SignatureDoesNotMatch", 403)
        if asked.endpoint == SUBMISSION and signed["said"].partition(";")[0] != TEXT:  # it is one of the signed headers
            return _refuse("SignatureDoesNotMatch", 403)
        return _refuse("ExpiredToken", 400) if asked.now > job.created + lasts else None

    def store(self, asked: MockRequest) -> MockResponse:
        """Answer a request to a signed address: take the ids of a job, or give its result."""
        job = self._jobs[asked.path["id"]]
        if asked.endpoint == DELIVERY:
            return MockResponse(200, job.result, {}, TEXT) if job.status == "complete" else _refuse("NoSuchKey", 404)
        if job.status == "created":
            job.ids, job.uploaded, job.status = asked.body.decode("latin-1").split(), asked.now, "in_progress"
        return MockResponse(200, b"", {}, TEXT)

    def _select(self, guest: Guest, kind: str) -> Sequence[MockJob]:
        """Return the jobs of a type that somebody created, in order."""
        return [job for job in self._jobs.values() if (job.owner, job.given["type"]) == (guest.label, kind)]

    def _pass_time(self, now: float) -> None:
        """Let jobs expire that got no ids in time, and be done that were worked on for long enough."""
        for job in self._jobs.values():
            if job.status == "created" and now > job.created + LASTING[SUBMISSION]:
                job.status = "expired"
            elif job.status == "in_progress" and job.shown and now >= job.uploaded + self._seconds:
                self._finish(job, now)

    def _finish(self, job: MockJob, now: float) -> None:
        ids = job.ids or ()
        if not all(key.isascii() and key.isdecimal() and len(key) <= LONGEST_ID for key in ids):
            job.status = "failed"
            return
        judge = self._judge_post if job.given["type"] == "tweets" else self._judge_account
        lines = [self._write_line(key, *found, now) for key in dict.fromkeys(ids) if (found := judge(int(key)))]
        job.status, job.result = "complete", b"".join(lines)

    def _judge_post(self, key: int) -> tuple[str, float | None] | None:
        """Return why a post is to be deleted, and when it was posted; None where it is there."""
        place = self._world.find_post(key)
        if place < 0:
            return "deleted", None
        posted, fate = float(self._world.created_at[place]), self._changes.find_fate(int(self._world.author[place]))
        if fate != HERE:
            return REASONS[fate], posted
        shown = self._changes.visible[place] and not self._changes.is_deleted(place)
        return None if shown else ("deleted", posted)

    def _judge_account(self, key: int) -> tuple[str, float | None] | None:
        row = self._world.accounts.by_id.get(key)
        fate = DELETED if row is None else self._changes.find_fate(row)
        return None if fate == HERE else (REASONS[fate], None)

    def _write_line(self, key: str, reason: str, posted: float | None, now: float) -> bytes:
        dates = {"redacted_at": format_stamp(now)} | ({} if posted is None else {"created_at": format_stamp(posted)})
        return orjson.dumps({"id": key, "action": "delete", **dates, "reason": reason}) + b"\n"

    def _show(self, job: MockJob, asked: MockRequest) -> dict[str, Any]:
        job.shown = job.shown or job.status == "in_progress"
        upload, delivery = LASTING.values()
        host = f"http://{asked.server}"
        return {
            "id": job.id,
            **job.given,
            "status": job.status,
            "created_at": format_stamp(job.created),
            "upload_url": host + _make_address(job.id, SUBMISSION, upload, "content-type;host"),
            "upload_expires_at": format_stamp(job.created + upload),
            "download_url": host + _make_address(job.id, DELIVERY, delivery, "host"),
            "download_expires_at": format_stamp(job.created + delivery),
        }


def _read_body(body: bytes) -> dict[str, Any]:
    """Return what a job is created with.

    Raises:
        InvalidRequestError: it is not what X takes.
    """
    try:
        given: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        given = None
    if not isinstance(given, dict):
        raise InvalidRequestError("body", "", "The request body is not a JSON object")
    for key in given:
        if key not in ("type", "name", "resumable"):
            raise InvalidRequestError(key, str(given[key]), f"$.{key}: is not defined in the schema")
    if given.get("type") not in TYPES:
        raise InvalidRequestError("type", str(given.get("type")), f"$.type: is not one of [{','.join(TYPES)}]")
    name = given.get("name")
    if name is not None and not (isinstance(name, str) and len(name) <= LONGEST_NAME):
        raise InvalidRequestError("name", str(name), f"$.name: must be at most {LONGEST_NAME} characters long")
    if not isinstance(given.get("resumable", False), bool):
        raise InvalidRequestError("resumable", str(given["resumable"]), "$.resumable: is not a boolean")
    return {"type": given["type"], "resumable": given.get("resumable", False)} | ({"name": name} if name else {})


def _read_choice(asked: MockRequest, name: str, choices: Sequence[str]) -> str | None:
    value = asked.one(name)
    if value is not None and value not in choices:
        message = f"The `{name}` query parameter value [{value}] is not one of [{','.join(choices)}]"
        raise InvalidRequestError(name, value, message)
    return value


def _sign(job: str, endpoint: str) -> str:
    return blake2b(f"{job} {endpoint}".encode(), digest_size=32).hexdigest()


def _make_address(job: str, endpoint: str, seconds: int, headers: str) -> str:
    said = {"X-Goog-Expires": seconds, "X-Goog-SignedHeaders": headers, "X-Goog-Signature": _sign(job, endpoint)}
    return f"{endpoint.replace(':id', job)}?{urlencode(said)}"


def _respond(body: Mapping[str, Any]) -> MockResponse:
    return MockResponse(200, orjson.dumps(body))


def _refuse(code: str, status: int) -> MockResponse:
    body = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code></Error>"
    return MockResponse(status, body.encode(), {}, "application/xml; charset=UTF-8")
