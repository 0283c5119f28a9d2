"""X's batch compliance: which of a list of posts or users are to be deleted.

https://docs.x.com/x-api/compliance/batch-compliance/introduction. X counts creating, listing and reading jobs apart, so
they are endpoints of their own. Upload and download go to signed addresses of a store, and get no token.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from socialcrawl.engine.model import Grant, Reply, ReplyKind, Request
from socialcrawl.errors import SourceError
from socialcrawl.platforms.http_client import HttpAnswer
from socialcrawl.platforms.platform_jobs import PlatformJob

JOBS, JOB = "/2/compliance/jobs", "/2/compliance/jobs/:id"
CREATE, UPLOAD, DOWNLOAD = f"{JOBS}?create", f"{JOB}?upload", f"{JOB}?download"
TYPES = {"posts": "tweets", "users": "users"}  # what X calls them in either vocabulary
TEXT = {"Content-Type": "text/plain"}  # one of the headers that the address of an upload is signed for


@dataclass(frozen=True, slots=True)
class XComplianceService:
    """X's jobs; see `platform_jobs.ComplianceJobs`."""

    def make_create_request(self, key: tuple[int, int], kind: str, name: str) -> Request:
        """See `ComplianceJobs.make_create_request`."""
        return Request(key, CREATE, {"type": TYPES[kind], "name": name})

    def make_list_request(self, key: tuple[int, int], kind: str) -> Request:
        """See `ComplianceJobs.make_list_request`."""
        return Request(key, JOBS, {"type": TYPES[kind]})

    def make_job_request(self, key: tuple[int, int], job: str) -> Request:
        """See `ComplianceJobs.make_job_request`."""
        return Request(key, JOB, {"id": job})

    def make_upload_request(self, key: tuple[int, int], job: str) -> Request:
        """See `ComplianceJobs.make_upload_request`."""
        return Request(key, UPLOAD, {"id": job})

    def make_download_request(self, key: tuple[int, int], job: str) -> Request:
        """See `ComplianceJobs.make_download_request`."""
        return Request(key, DOWNLOAD, {"id": job})

    def parse_job(self, body: Any) -> PlatformJob | None:
        """See `ComplianceJobs.parse_job`."""
        if isinstance(body, dict) and "data" not in body and isinstance(body.get("errors"), list):
            return None
        return _parse_job(body.get("data") if isinstance(body, dict) else None)

    def parse_jobs(self, body: Any) -> list[PlatformJob]:
        """See `ComplianceJobs.parse_jobs`."""
        listed = body.get("data", []) if isinstance(body, dict) else None
        if not isinstance(listed, list):
            raise _explain()
        return [_parse_job(one) for one in listed]

    def ask(self, wire: Any, grant: Grant) -> tuple[Reply, Any]:
        """See `ComplianceJobs.ask`. The answer is never kept: it holds signed addresses."""
        reply, body = wire.ask(grant)
        bare: Reply = replace(reply, received=None)
        return bare, body

    def upload(self, wire: Any, grant: Grant, address: str, ids: list[str]) -> Reply:
        """See `ComplianceJobs.upload`."""
        content = "".join(f"{key}\n" for key in ids).encode("ascii")
        return _read_store(wire.fetch(grant, "PUT", address, TEXT, content))[0]

    def download(self, wire: Any, grant: Grant, address: str) -> tuple[Reply, bytes]:
        """See `ComplianceJobs.download`."""
        return _read_store(wire.fetch(grant, "GET", address))


def is_about_jobs(endpoint: str) -> bool:
    """Return whether an endpoint tells of jobs, with their signed addresses."""
    return endpoint in (CREATE, JOBS, JOB)


def _parse_job(given: Any) -> PlatformJob:
    if not isinstance(given, Mapping):
        raise _explain()
    texts = [given.get(name, "") for name in ("id", "name", "status", "upload_url", "download_url")]
    if not all(isinstance(text, str) for text in texts) or not texts[0].isdecimal() or not texts[2]:
        raise _explain()
    return PlatformJob(*texts)


def _explain() -> SourceError:
    return SourceError("X's answer about a compliance job does not say its id and status: is base_url right?")


def _read_store(came: HttpAnswer | Reply) -> tuple[Reply, bytes]:
    """Return the reply of the store, and its bytes."""
    if isinstance(came, Reply):
        return came, b""
    if 200 <= came.status < 300:
        return Reply(ReplyKind.OK, came.at, status=came.status), came.body
    kind = ReplyKind.BROKEN if came.status >= 500 or came.status in (408, 429) else ReplyKind.MISSING
    why = f"the store of X's compliance jobs answered HTTP {came.status}"
    return Reply(kind, came.at, status=came.status, why=why), b""
