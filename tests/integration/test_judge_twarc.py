"""twarc2 as a judge of the mock: as a library, and as the command in a process of its own."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
from mock_judges import DELETED, MISSING, PROTECTED, SUSPENDED, UNHEARD, Clock, Town, requests_of
from twarc import client2, decorators2
from twarc.client2 import Twarc2
from twarc.expansions import ensure_flattened

from socialcrawl.mock.rate_windows import LimitRule
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.testing.social_api import MockAdapter

TOWN = Town()
TIMELINE = "/2/users/:id/tweets"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return TOWN.file(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def town(file):
    with serve_in_thread(file, limit=100_000, missing=MISSING) as mock:
        yield mock


@pytest.fixture
def client_of():
    """A maker of clients that ask a mock; their sessions are closed at the end."""
    made = []

    class Local(Twarc2):
        def __init__(self, url, **options):
            self.url = url
            super().__init__(**options)

        def connect(self):
            super().connect()
            self.client.mount("https://api.twitter.com", MockAdapter(self.url))

    def client(mock, **keys):
        made.append(Local(mock.url, **(keys or {"bearer_token": "TOKEN"})))
        return made[-1]

    yield client
    for one in made:
        one.client.close()


def _posts(pages):
    posts = []
    for page in pages:
        users = {user["id"]: user["username"] for user in page["includes"]["users"]}
        posts += [TOWN.told(post, users) for post in page["data"]]
    return posts


def _file(posts):
    """The same of the file; twarc does not ask for the whole of a text that was cut."""
    return [post.without_note() for post in posts]


def test_users_are_found_suspended_protected_deleted_or_unknown(town, client_of):
    client = client_of(town)
    names = ["EVE", "kim", SUSPENDED, PROTECTED, DELETED, UNHEARD]
    (answer,) = client.user_lookup(names, usernames=True)
    found = {user["username"]: user for user in answer["data"]}
    assert {name: user["protected"] for name, user in found.items()} == {"Eve": False, "kim": False, PROTECTED: True}
    assert found["Eve"]["public_metrics"]["tweet_count"] == len(TOWN.timeline("eve"))
    assert [(one["value"], one["title"]) for one in answer["errors"]] == [
        (SUSPENDED, "Forbidden"),
        (DELETED, "Not Found Error"),
        (UNHEARD, "Not Found Error"),
    ]
    many = [f"nobody_{i}" for i in range(200)]
    pages = list(client.user_lookup([*many[:150], "eve", *many[150:]], usernames=True))
    assert [len(page["errors"]) for page in pages] == [100, 99, 1]
    assert pages[1]["data"] == [found["Eve"]]


@pytest.mark.parametrize(("name", "size"), [("eve", 7), ("bob", 5), ("cy", 100)])
def test_a_timeline_is_read_to_its_end_with_every_post_once_and_in_order(town, client_of, name, size):
    assert _posts(client_of(town).timeline(name, max_results=size)) == _file(TOWN.timeline(name))


def test_timelines_of_the_missing_have_no_pages(town, client_of):
    client = client_of(town)
    for name in (SUSPENDED, DELETED, UNHEARD):
        with pytest.raises(ValueError, match=f"No such user {name}"):
            client.timeline(name)
    assert list(client.timeline(PROTECTED)) == list(client.timeline("kim")) == []


def test_ids_are_hydrated_in_groups_of_a_hundred(town, client_of):
    chosen = [post for name in ("bob", "eve", "kim", PROTECTED) for post in TOWN.timeline(name)]
    pages = list(client_of(town).tweet_lookup([post.id for post in chosen]))
    gone = {post.id for post in TOWN.timeline(PROTECTED)}
    assert _posts(pages) == _file([post for post in chosen if post.id not in gone])
    assert len(pages) == -(-len(chosen) // 100)
    assert gone <= {one["value"] for page in pages for one in page["errors"]}


def test_searches_mentions_and_counts_are_read_to_their_end(town, client_of):
    client = client_of(town)
    expected = _file(TOWN.found("harvest"))
    assert _posts(client.search_recent("harvest", max_results=10)) == expected != []
    assert _posts(client.mentions("eve", max_results=5)) == _file(TOWN.mentions("eve"))
    counts = list(client.counts_recent("harvest -is:retweet", granularity="day"))
    assert sum(bucket["tweet_count"] for page in counts for bucket in page["data"]) == len(expected)


def test_the_archive_is_searched_and_counted_at_the_pace_of_its_limit(file, client_of, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(client2, "time", clock)  # it sleeps 1.05 s between pages of the archive
    expected = _file(TOWN.archived("harvest"))
    begin = datetime(2023, 1, 1, tzinfo=UTC)
    with serve_in_thread(file, time=clock.time, missing=MISSING) as mock:  # X's limits, also the one per second
        client = client_of(mock)
        assert _posts(client.search_all("harvest", start_time=begin, max_results=10)) == expected != []
        assert len(clock.slept) == 6
        pages = list(client.counts_all("harvest", start_time=begin, granularity="day"))
        report = mock.report()
    assert sum(page["meta"]["total_tweet_count"] for page in pages) == len(expected)
    assert sum(bucket["tweet_count"] for page in pages for bucket in page["data"]) == len(expected)
    assert (len(pages), report["totals"]["archive_counts_requests"], report["over"]) == (11, 11, 0)


def test_flattened_posts_carry_their_authors_and_references(town, client_of):
    posts = [post for page in client_of(town).timeline("bob") for post in ensure_flattened(page)]
    told = {post["id"]: (post["author"]["username"], post.get("referenced_tweets", ())) for post in posts}
    originals = {post.id: post for name in ("eve", "cy") for post in TOWN.timeline(name)}
    for post in TOWN.timeline("bob"):
        author, references = told[post.id]
        assert author == "bob"
        for one in references:
            original = originals.get(one["id"])  # those of the missing are not shown
            assert (one.get("text"), one.get("author", {}).get("username")) == (
                (original.text, original.author) if original else (None, None)
            )


@pytest.mark.parametrize(
    ("limits", "slept"),
    [
        ({"limit": {TIMELINE: 5}}, [901]),  # a window that is used up: until it ends and ten seconds, at most 901
        ({"rules": {TIMELINE: [LimitRule(1, 5.0)]}}, [10] * 9),  # a 429 with requests left: as for one request a second
    ],
)
def test_a_client_that_waits_at_limits_has_every_post_in_the_end(file, client_of, monkeypatch, limits, slept):
    clock = Clock()
    monkeypatch.setattr(decorators2, "time", clock)
    with serve_in_thread(file, time=clock.time, **limits) as mock:
        pages = list(client_of(mock).timeline("eve", max_results=6))
    assert _posts(pages) == _file(TOWN.timeline("eve"))
    assert (len(pages), clock.slept) == (10, slept)
    assert requests_of(mock.report())["app"][0] == 1 + 10 + len(slept)
    assert mock.report()["over"] == len(slept)


def test_a_signed_request_is_one_of_a_user(file, client_of):
    keys = dict.fromkeys(("consumer_key", "consumer_secret", "access_token", "access_token_secret"), "secret")
    with serve_in_thread(file, limit=1, user_limit=5, tokens=frozenset({"secret"})) as mock:
        client = client_of(mock, **keys)
        for _ in range(2):
            assert _posts(client.timeline("cy", max_results=10)) == _file(TOWN.timeline("cy"))
    assert requests_of(mock.report()) == {"user": (4, 0)}


def test_a_refused_token_is_an_error_of_http(file, client_of):
    with (
        serve_in_thread(file, tokens=frozenset({"OTHER"})) as mock,
        pytest.raises(requests.HTTPError, match="401 Client Error: Unauthorized"),
    ):
        list(client_of(mock).user_lookup(["eve"], usernames=True))


# The child's Python imports `sitecustomize` by itself before the command: there its requests are led to the mock. twarc
# looks for plugins with `pkg_resources`, which setuptools no longer has; the child has no plugins.
LED = """
import os
import sys
sys.path.insert(0, {root!r})
import requests
from socialcrawl.testing.social_api import MockAdapter
plain = requests.Session.__init__
def led(self):
    plain(self)
    self.mount("https://api.twitter.com", MockAdapter(os.environ["MOCK_OF_X"]))
requests.Session.__init__ = led
"""
NO_PLUGINS = "def iter_entry_points(group):\n    return iter(())\n"


@pytest.fixture
def twarc2(tmp_path):
    """The command `twarc2` in a folder of its own: its standard output after it has ended well."""
    (tmp_path / "sitecustomize.py").write_text(LED.format(root=str(Path(__file__).parents[2])), encoding="utf-8")
    (tmp_path / "pkg_resources.py").write_text(NO_PLUGINS, encoding="utf-8")

    def run(mock, *words):
        # A newer Python than twarc's warns of its regular expressions.
        own = {"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONWARNINGS": "ignore", "MOCK_OF_X": mock.url}
        done = subprocess.run(
            [Path(sys.executable).parent / "twarc2", "--bearer-token", "TOKEN", *words],
            cwd=tmp_path,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def test_the_command_reads_a_timeline(town, twarc2):
    (page,) = twarc2(town, "timeline", "--hide-progress", "bob")
    assert _posts([page]) == _file(TOWN.timeline("bob"))


def test_the_command_reads_searches_to_their_end_users_and_mentions(town, twarc2, tmp_path):
    pages = twarc2(town, "search", "--max-results", "10", "harvest")
    assert _posts(pages) == _file(TOWN.found("harvest"))
    (tmp_path / "names.txt").write_text(f"EVE\n{SUSPENDED}\n{PROTECTED}\n{UNHEARD}\n", encoding="utf-8")
    (page,) = twarc2(town, "users", "--usernames", "--hide-progress", "names.txt")
    assert [user["username"] for user in page["data"]] == ["Eve", PROTECTED]
    assert [(one["value"], one["title"]) for one in page["errors"]] == [
        (SUSPENDED, "Forbidden"),
        (UNHEARD, "Not Found Error"),
    ]
    (page,) = twarc2(town, "mentions", "--hide-progress", "kim")
    assert _posts([page]) == _file(TOWN.mentions("kim"))


def test_the_command_searches_and_counts_the_archive(town, twarc2):
    pages = twarc2(town, "search", "--archive", "--start-time", "2006-03-21T00:00:00", "harvest")
    assert _posts(pages) == _file(TOWN.archived("harvest"))
    pages = twarc2(town, "counts", "--archive", "--start-time", "2023-10-01", "--granularity", "day", "harvest")
    counted = sum(bucket["tweet_count"] for page in pages for bucket in page["data"])
    assert counted == len(TOWN.archived("harvest"))
