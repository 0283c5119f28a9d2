"""Checks by the jobs of a platform which stored posts and accounts are to be deleted, one step after the other.

    begun      the row of the job is stored; the platform may know it or not: its list of jobs is read for the name
    created    the platform knows it; the ids are uploaded, again if nobody knows whether they were
    uploaded   the platform works on it; its status is requested from time to time
    ready      its result is downloaded, and applied while no campaign runs (`forgetting.forget`)
    applied    what was removed is gone from the tables, but remains may be in the file
    done       all of it; or failed, expired: what it checked is due again

Each step is stored before the next one begins, so that a process that is killed goes on where it was. Requests go
through the campaign's planner, ledger and wire, so they share its windows and its budget like all others. Signed
addresses are secrets and are not stored: the platform names them again.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from socialcrawl.campaign.deletion_check import DeletionCheck, JobResult, WindowWaitError
from socialcrawl.engine.model import Grant, Reply, ReplyKind, Request, Wait
from socialcrawl.errors import SettingsError, SourceError
from socialcrawl.platforms.platform_jobs import MOST_IDS, ComplianceJobs, PlatformJob
from socialcrawl.storage import stored_checks
from socialcrawl.storage.erasure.orders import ErasureOrder, read_result
from socialcrawl.storage.stored_checks import POSTS, USERS, JobStart, StoredJob

SOON, LATE = 10.0, 900.0  # seconds between two looks at a job, at first and at most
RESTS = {stored_checks.FAILED: 3600.0, stored_checks.EXPIRED: 60.0}  # seconds until another job follows one that ...
LOST = 8 * 86_400.0  # seconds after which a job of another campaign is over: results can be had for 7 days


@dataclass(slots=True)
class ComplianceCheck(DeletionCheck):
    """The check of a campaign by its platform's jobs, while the campaign is open.

    Args:
        jobs: those of the platform.
        most: ids of one job.
    """

    jobs: ComplianceJobs
    most: int = MOST_IDS

    def advance(self, since: float) -> JobResult | Wait | None:
        """See `DeletionCheck.advance`."""
        began, waits = self.now(), []
        for kind in (POSTS, USERS):
            try:
                found = self._advance_kind(kind, since, began)
            except WindowWaitError as error:
                found = error.wait
            if isinstance(found, JobResult):
                return found
            if found is not None:
                waits.append(found)
        return min(waits, key=lambda wait: wait.until, default=None)

    def find_since(self) -> float:
        """See `DeletionCheck.find_since`."""
        known = [job for job in self._read_latest() if job is not None]
        begins = {job.since for job in known}
        over = (
            all(job.status == stored_checks.DONE and job.last for job in known) and len(known) != 1 and len(begins) < 2
        )
        return (self.now() if over else max(begins)) - 1e-6

    def find_next(self, every: float) -> float:
        """See `DeletionCheck.find_next`."""
        latest = self._read_latest()
        begins = [job.since for job in latest if job is not None]
        return (min(begins) if len(begins) == len(latest) else self.now()) + every

    def _read_latest(self) -> list[StoredJob | None]:
        """Return the latest job of each kind; None where there was none."""
        name = self.plan.platform.facts.name
        return [stored_checks.read_latest(self.store.connection, name, kind) for kind in (POSTS, USERS)]

    def _advance_kind(self, kind: str, since: float, began: float) -> JobResult | Wait | None:
        while True:
            job = stored_checks.read_latest(self.store.connection, self.plan.platform.facts.name, kind)
            if job is None or job.is_over:
                if job is not None and job.status == stored_checks.DONE and job.last and job.since > since:
                    return None
                begun = self._begin(kind, job, self._find_round(kind, since, began))
                if isinstance(begun, Wait):
                    return begun
                job = begun
            if job is None:  # another campaign has begun one meanwhile
                continue
            if job.campaign != self.plan.settings.name:
                if self.now() < job.began + LOST:
                    why = f"the campaign {job.campaign!r} is checking {kind}"
                    return Wait(self.now() + LATE, why)
                stored_checks.note_job(self.store.connection, job, status=stored_checks.EXPIRED, ended_at=self.now())
                continue
            if not job.is_over:
                found = self._advance_job(job)
                if found is not None:
                    return found

    def _find_round(self, kind: str, since: float, began: float) -> float:
        """Return the begin of a check of a kind: that of the other kind's, where that is part of the same round."""
        other = USERS if kind == POSTS else POSTS
        job = stored_checks.read_latest(self.store.connection, self.plan.platform.facts.name, other)
        return began if job is None or job.since <= since else job.since

    def _begin(self, kind: str, before: StoredJob | None, began: float) -> StoredJob | Wait | None:
        """Return the next job of a check that is under way, or the first one of another check."""
        now = self.now()
        goes_on = before is not None and not (before.status == stored_checks.DONE and before.last)
        if before is not None and now < (until := (before.ended or now) + RESTS.get(before.status, 0.0)):
            return Wait(until, f"the job for {kind} has {before.status}: another one follows")
        since = before.since if before is not None and goes_on else began
        name = f"socialcrawl-{secrets.token_hex(8)}"
        start = JobStart(self.store.campaign, kind, since, now, self.most, name)
        return stored_checks.begin_job(self.store.connection, start)

    def _advance_job(self, job: StoredJob) -> JobResult | Wait | None:
        """Do the next step of a job; None: there may be another one at once."""
        if job.status == stored_checks.APPLIED:
            return JobResult(job, ErasureOrder())
        if job.status == stored_checks.UPLOADED and self.now() < (until := _find_next_look(job)):
            return Wait(until, f"{self.plan.platform.title} works on the job for {job.kind}")
        found = self._create(job) if job.status == stored_checks.BEGUN else self._look(job)
        if isinstance(found, Wait) or found is None:
            return found
        if found.status == "created":
            self._upload(job, found)
            return None
        if found.status == "complete":
            return self._download(job, found)
        if found.status in ("failed", "expired"):
            self._note(job, status=found.status, ended_at=self.now())
            return None
        if job.status != stored_checks.UPLOADED:  # the ids are there, though the answer to their upload was lost
            self._note(job, job=found.id, status=stored_checks.UPLOADED, uploaded_at=self.now(), looked_at=self.now())
        return None

    def _create(self, job: StoredJob) -> PlatformJob | Wait:
        """Return the platform's job of that name, created if there is none; or until when another program has one."""
        listed = self.jobs.parse_jobs(self._ask(partial(self.jobs.make_list_request, kind=job.kind)))
        found = next((one for one in listed if one.name == job.name), None)
        if found is None and any(one.status in ("created", "in_progress") for one in listed):
            why = f"{self.plan.platform.title} has another job for {job.kind} under way, and takes one at a time"
            return Wait(self.now() + LATE, why)
        if found is None:
            create = partial(self.jobs.make_create_request, kind=job.kind, name=job.name)
            found = self.jobs.parse_job(self._ask(create))
        if found is None:
            raise SourceError(
                f"{self.plan.platform.title} created no compliance job for {job.kind}: run it again later."
            )
        if found.status == "created":
            self._note(job, job=found.id, status=stored_checks.CREATED)
        return found

    def _look(self, job: StoredJob) -> PlatformJob | None:
        """Return the job as the platform has it now; None: it has none such, and the job has expired."""
        found = self.jobs.parse_job(self._ask(partial(self.jobs.make_job_request, job=str(job.job))))
        if found is None:
            self._note(job, status=stored_checks.EXPIRED, ended_at=self.now())
        else:
            self._note(job, looked_at=self.now())
        return found

    def _upload(self, job: StoredJob, found: PlatformJob) -> None:
        if job.status == stored_checks.UPLOADED:  # the platform has not noticed yet, or will let it expire
            return
        ids = stored_checks.read_ids(self.store.connection, job)
        grant = self.take(partial(self.jobs.make_upload_request, job=found.id))
        if not self._settle(grant, self.jobs.upload(self.wire, grant, found.upload, ids), store=True):
            self._note(job, status=stored_checks.EXPIRED, ended_at=self.now())
            return
        self._note(job, job=found.id, status=stored_checks.UPLOADED, uploaded_at=self.now(), looked_at=self.now())

    def _download(self, job: StoredJob, found: PlatformJob) -> JobResult | None:
        self._note(job, job=found.id, status=stored_checks.READY)
        grant = self.take(partial(self.jobs.make_download_request, job=found.id))
        reply, body = self.jobs.download(self.wire, grant, found.download)
        if not self._settle(grant, reply, store=True):
            self._note(job, status=stored_checks.EXPIRED, ended_at=self.now())
            return None
        try:
            order = read_result(body, job.kind)
        except SettingsError as error:
            raise SourceError(f"The result of the job for {job.kind} cannot be read: {error}") from error
        kept = stored_checks.keep_stored(self.store.connection, order, self.plan.platform.facts.name)
        if kept.users or kept.posts or kept.places:
            return JobResult(job, kept)
        self._note(job, status=stored_checks.DONE, ended_at=self.now(), removed_posts=0, removed_accounts=0)
        return None

    def _note(self, row: StoredJob, /, **values: object) -> None:
        stored_checks.note_job(self.store.connection, row, **values)

    def _ask(self, make: Callable[[tuple[int, int]], Request]) -> object:
        """Return the JSON that answers a request.

        Raises:
            SourceError: there is none, or it may not leave.
        """
        grant = self.take(make)
        reply, body = self.jobs.ask(self.wire, grant)
        self._settle(grant, reply)
        return body

    def _settle(self, grant: Grant, reply: Reply, *, store: bool = False) -> bool:
        """Store what came back and learn from it; return whether it was there: an address may hold no more (`store`).

        Raises:
            WindowWaitError: it failed and is tried again later.
            SourceError: it failed.
        """
        after = self.save(grant, reply)
        if reply.kind == ReplyKind.OK or (store and reply.kind == ReplyKind.MISSING):
            return reply.kind == ReplyKind.OK
        raise self.explain_failure(reply, after)


def _find_next_look(job: StoredJob) -> float:
    """Return when the status of a job is requested next: the later, the longer it takes."""
    looked, uploaded = job.looked or job.began, job.uploaded or job.began
    return looked + min(LATE, max(SOON, (looked - uploaded) / 2))
