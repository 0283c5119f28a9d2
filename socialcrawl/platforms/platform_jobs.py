"""What a platform offers to learn which of the posts and accounts that are stored it no longer shows."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from socialcrawl.engine.model import Grant, Reply, Request

MOST_IDS = 50_000  # of one job: a result with a line about each of them is within the bounds of an answer


@dataclass(frozen=True, slots=True)
class PlatformJob:
    """A job as the platform tells of it: its id, name and status, and the signed addresses of its ids and result.

    Attributes:
        status: created, in_progress, complete, failed, expired, or another word of the platform.
        upload, download: secrets: who knows them needs no token. They are stored nowhere.
    """

    id: str
    name: str
    status: str
    upload: str = field(default="", repr=False)
    download: str = field(default="", repr=False)


class ComplianceJobs(Protocol):
    """A platform that takes lists of ids, works on them, and says which of them are to be deleted.

    Kinds are `posts` and `users`. The parsing methods raise SourceError where an answer lacks what they return.
    """

    def make_create_request(self, key: tuple[int, int], kind: str, name: str) -> Request:
        """Return the request that creates a job."""

    def make_list_request(self, key: tuple[int, int], kind: str) -> Request:
        """Return the request for all jobs of a kind."""

    def make_job_request(self, key: tuple[int, int], job: str) -> Request:
        """Return the request for one job, by its id."""

    def make_upload_request(self, key: tuple[int, int], job: str) -> Request:
        """Return the request that uploads the ids of a job, as the ledger is to know it: without the address."""

    def make_download_request(self, key: tuple[int, int], job: str) -> Request:
        """Return the request for the result of a job, as the ledger is to know it: without the address."""

    def parse_job(self, body: Any) -> PlatformJob | None:
        """Return the job in the answer to a request that creates or reads one; None: the platform has none such."""

    def parse_jobs(self, body: Any) -> list[PlatformJob]:
        """Return the jobs in the answer to `make_list_request`."""

    def ask(self, wire: Any, grant: Grant) -> tuple[Reply, Any]:
        """Return the reply to one of the first three requests over the platform's wire, and its decoded JSON."""

    def upload(self, wire: Any, grant: Grant, address: str, ids: list[str]) -> Reply:
        """Return the reply to the upload of ids to a signed address."""

    def download(self, wire: Any, grant: Grant, address: str) -> tuple[Reply, bytes]:
        """Return the reply to the request for a result at a signed address, and its bytes."""
