"""tweepy, twarc and xdk as judges of the mock's compliance jobs: created, filled, polled and read by each of them."""

import json
from contextlib import contextmanager

import pytest
import requests
import tweepy
import xdk
from mock_judges import DELETED, MISSING, PROTECTED, SUSPENDED, Clock, Town
from twarc.client2 import Twarc2

from socialcrawl.mock.server import serve_in_thread
from socialcrawl.testing.social_api import MockAdapter

TOWN = Town()
HEADERS = {"Content-Type": "text/plain"}
REASONS = {SUSPENDED: "suspended", PROTECTED: "protected", DELETED: "deleted"}
UNKNOWN = "99"  # no post of the town, nor an account


class ByTweepy:
    """What tweepy makes of jobs, as plain values."""

    def __init__(self, url):
        self.client = tweepy.Client("TOKEN", return_type=dict)
        self.session = self.client.session
        self.session.mount("https://api.twitter.com", MockAdapter(url))

    def create(self, kind, name):
        return self.client.create_compliance_job(kind, name=name, resumable=False)["data"]

    def get(self, key):
        return self.client.get_compliance_job(key)["data"]

    def list(self, kind, status=None):
        more = {} if status is None else {"status": status}
        return self.client.get_compliance_jobs(kind, **more).get("data", [])


class ByTwarc:
    """What twarc makes of them."""

    def __init__(self, url):
        class Local(Twarc2):
            def connect(self):
                super().connect()
                self.client.mount("https://api.twitter.com", MockAdapter(url))

        self.client = Local(bearer_token="TOKEN")
        self.session = self.client.client

    def create(self, kind, name):
        return self.client.compliance_job_create(kind, name)["data"]

    def get(self, key):
        return self.client.compliance_job_get(key)["data"]

    def list(self, kind, status=None):
        return self.client.compliance_job_list(kind, status).get("data", [])


class ByXdk:
    """What X's own client makes of them, checked by its models."""

    def __init__(self, url):
        self.client = xdk.Client(base_url=url, bearer_token="TOKEN")
        self.session = self.client.session

    def create(self, kind, name):
        return self.client.compliance.create_jobs({"type": kind, "name": name}).model_dump()["data"]

    def get(self, key):
        return self.client.compliance.get_jobs_by_id(key).model_dump()["data"]

    def list(self, kind, status=None):
        more = {} if status is None else {"status": status}
        return self.client.compliance.get_jobs(kind, **more).model_dump().get("data") or []


JUDGES = pytest.mark.parametrize("judge", [ByTweepy, ByTwarc, ByXdk])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return TOWN.file(tmp_path_factory.mktemp("town"))


@contextmanager
def judged(file, judge, clock=None, **settings):
    times = {} if clock is None else {"time": clock.time}
    with serve_in_thread(file, limit=100_000, missing=MISSING, **times, **settings) as mock:
        made = judge(mock.url)
        yield made
        made.session.close()


def fill(job, ids):
    return requests.put(job["upload_url"], data="\n".join(ids), headers=HEADERS, timeout=10).status_code


def read(job):
    return [json.loads(line) for line in requests.get(job["download_url"], timeout=10).text.splitlines()]


@JUDGES
def test_a_job_for_posts_names_those_of_accounts_that_are_gone_or_protected(file, judge):
    with judged(file, judge) as client:
        job = client.create("tweets", "ours")
        assert (job["type"], job["status"], job["name"], job["resumable"]) == ("tweets", "created", "ours", False)
        assert fill(job, [*(row["id"] for row in TOWN.rows), UNKNOWN]) == 200
        assert client.get(job["id"])["status"] == "in_progress"
        assert [one["id"] for one in client.list("tweets", "complete")] == [job["id"]]
        assert client.list("users") == []
        found = read(client.get(job["id"]))
    gone = {row["id"]: REASONS[row["author"]] for row in TOWN.rows if row["author"] in REASONS}
    assert {one["id"]: one["reason"] for one in found} == {**gone, UNKNOWN: "deleted"}
    assert {one["action"] for one in found} == {"delete"}


@JUDGES
def test_a_job_for_accounts_names_those_that_are_gone_or_protected(file, judge):
    with judged(file, judge) as client:
        users = requests.get(
            f"{client_url(client)}/2/users/by",
            params={"usernames": f"bob,Eve,{PROTECTED}"},
            headers={"Authorization": "Bearer TOKEN"},
            timeout=10,
        ).json()["data"]
        ids = {user["username"]: user["id"] for user in users}
        job = client.create("users", "ours")
        assert fill(job, ids.values()) == 200
        client.get(job["id"])
        found = read(client.get(job["id"]))
    assert [(one["id"], one["reason"]) for one in found] == [(ids[PROTECTED], "protected")]


def client_url(client):
    """The address of the mock that a judge asks: that of an upload."""
    job = client.create("tweets", "a look")
    return job["upload_url"].partition("/compliance")[0]


def test_one_job_of_a_type_runs_at_a_time_and_expires_where_no_ids_come(file):
    clock = Clock()
    with judged(file, ByTweepy, clock) as client:
        job = client.create("tweets", "first")
        with pytest.raises(tweepy.HTTPException, match="409"):
            client.create("tweets", "second")
        assert client.create("users", "of another type")["status"] == "created"
        clock.now += 901
        assert client.get(job["id"])["status"] == "expired"
        assert fill(job, ["1"]) == 400
        assert client.create("tweets", "third")["status"] == "created"


def test_a_job_with_lines_that_are_no_ids_fails_and_has_no_result(file):
    with judged(file, ByTweepy) as client:
        job = client.create("tweets", "wrong")
        fill(job, ["12", "@bob"])
        client.get(job["id"])
        assert client.get(job["id"])["status"] == "failed"
        assert requests.get(job["download_url"], timeout=10).status_code == 404


def test_a_job_takes_the_seconds_that_are_set(file):
    clock = Clock()
    with judged(file, ByTweepy, clock, job_seconds=600.0) as client:
        job = client.create("tweets", "slow")
        fill(job, ["12"])
        for at, status in ((0, "in_progress"), (599, "in_progress"), (1, "complete")):
            clock.now += at
            assert client.get(job["id"])["status"] == status


def test_addresses_hold_only_as_they_were_signed(file):
    with judged(file, ByTweepy) as client:
        job = client.create("tweets", "signed")
        assert requests.put(job["upload_url"], data="1", timeout=10).status_code == 403  # of no type of content
        assert fill({"upload_url": job["upload_url"][:-1]}, ["1"]) == 403
        assert fill(job, ["1"]) == 200


@pytest.mark.parametrize(
    "given", [{}, {"type": "posts"}, {"type": "users", "name": "n" * 65}, {"type": "users", "ids": []}, []]
)
def test_what_x_does_not_take_is_refused(file, given):
    with serve_in_thread(file) as mock:
        headers = {"Authorization": "Bearer TOKEN"}
        refused = requests.post(f"{mock.url}/2/compliance/jobs", json=given, headers=headers, timeout=10)
        assert refused.status_code == 400
        assert "invalid-request" in refused.json()["type"]
