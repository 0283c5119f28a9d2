"""A fifth platform, registered by an entry point of another package: it runs, explains, verifies, exports, forgets."""

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from added_packages import install_package
from commands import campaign_file, socialcrawl
from x_crawls import posts_file, rows

from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.base import Platform

POSTS = {
    "ann": ["morning tea for @bea", "no more tea, says @cid"],
    "bea": ["coffee with @ann", "tea later, @eve?"],
    "cid": ["so quiet here"],
    "dan": ["tea, tea and tea", "@bea likes it"],
    "fay": ["tea that nobody speaks of"],
}
FOUND = [("dan", 0)]  # what the forum's search shows, whatever is searched: the member and the number of the post

PLUGIN = '''
"""A forum: /members/NAME shows the posts of a member, /search?q=WORD some posts with a word."""

import json
import re
from pathlib import Path
from urllib.parse import quote

from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import EndpointRoles
from socialcrawl.engine.model import AccountRow, Act, Mention, Page, PostRow, Reason, Reply, ReplyKind, Request, Who
from socialcrawl.platforms.facts import PlatformFacts
from socialcrawl.platforms.base import Platform, Template
from socialcrawl.platforms.http_client import HttpClient
from socialcrawl.platforms.node_reading import Reading

HERE = Path(__file__).parent
MEMBER, SEARCH = "/members/:name", "/search"


class ForumSource:
    def __init__(self, policy, queries):
        self.policy, self.queries = policy, queries

    def width(self, act):
        return 0 if act == Act.INWARD else 1

    def mark(self, at):
        return ""

    def start_conversations(self, batch, accounts):
        return [self._talk(pick, accounts.get(pick.node)) for pick in batch]

    def _talk(self, pick, who):
        reading, searched = Reading(pick), pick.act == Act.SEARCH
        params = {"q": self.queries[-1 - pick.node]} if searched else {"name": who.username or who.id}
        endpoint = SEARCH if searched else MEMBER
        reading.take((yield Request((pick.n, 0), endpoint, params, 10, self.policy.compute_most(endpoint, 10))))
        return {pick.n: reading.make_search_outcome() if searched else reading.make_outcome()}


class ForumWire:
    def __init__(self, base, hits, now):
        self.base, self.hits, self.now, self.http = base, hits, now, HttpClient(base, now)

    def close(self):
        self.http.close()

    def send(self, grant):
        params, searched = grant.request.params, grant.request.endpoint == SEARCH
        path = f"/search?q={quote(params['q'])}" if searched else f"/members/{params['name']}"
        came = self.http.fetch("GET", self.base + path)
        if isinstance(came, Reply):
            return came
        if came.status != 200:
            gone = Page(missing=[(Who(params["name"], params["name"]), Reason.DELETED)])
            return Reply(ReplyKind.MISSING, came.at, gone, status=came.status)
        told = json.loads(came.body)
        posts = [PostRow(post["id"], post["by"], None, post["text"], *[None] * 14) for post in told]
        named = [
            Mention(place, Who(name, name), "mention")
            for place, post in enumerate(posts)
            for name in re.findall(r"@(\\w+)", post.text)
        ]
        members = dict.fromkeys([post.author for post in posts] if searched else [params["name"]])
        return Reply(ReplyKind.OK, came.at, Page(
            posts,
            [self.hits(post.text, None, None) for post in posts],
            named,
            [AccountRow(name, name, *[None] * 10) for name in members],
            [Who(name, name) for name in members],
        ), status=200)


class ForumPlatform(Platform):
    facts = PlatformFacts(
        "forum",
        "the forum",
        policy=str(HERE / "forum.toml"),
        env_advice="export FORUM_KEY=...",
        is_token=lambda word, section: word.startswith("forum-key-"),
    )
    roles = EndpointRoles(search=SEARCH, by_name=MEMBER, by_id=MEMBER, timeline=MEMBER, together=1)
    searches = True
    full_name = "write the name of a member, in small letters"
    template = Template(str(HERE / "campaign-forum.toml"), "name members", "name members")

    def parse_names(self, given):
        names = [name.removeprefix("@") for name in given]
        if wrong := next((name for name in names if not re.fullmatch("[a-z]+", name)), None):
            raise SettingsError(f"{wrong!r} is no member of the forum (under [seeds]).")
        return names

    def list_queries(self, settings, topic):
        return list(topic.keywords) if settings.seeds.search else []

    def get_timeline(self, settings, base):
        return MEMBER

    def make_source(self, terms, queries, now):
        return ForumSource(terms.policy, queries)

    def make_wire(self, terms, keys, now):
        return ForumWire(terms.base, terms.topic.hits, now)

    def make_probe(self, terms, queries, names):
        return Request((-1, 0), MEMBER, {"name": names[0]}, 1) if names else None


forum = ForumPlatform()
'''

POLICY = """
platform = "forum"
base_url = "https://forum.example"
as_of = 2026-11-01

[endpoints."/members/:name"]
public = [{ k = 100, d = 1 }]
page = 10

[endpoints."/search"]
public = [{ k = 100, d = 1 }]
page = 10
"""

TEMPLATE = """
name = "campaign"
database = "campaign.db"
[topic]
keywords = ["a word", "a phrase", "prefix*"]
[seeds]
usernames = ["ann"]
[crawl]
estimator = "bfs"
steps = 10
[source]
platform = "forum"
base_url = "https://forum.example"
[limits]
pause = 0.01
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The path of child processes for which a package that adds the platform `forum` is installed."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "forum.toml").write_text(POLICY, "utf-8")
    (folder / "campaign-forum.toml").write_text(TEMPLATE, "utf-8")
    return install_package(folder, "discussing", {"platforms": ["forum = discussing:forum"]}, discussing=PLUGIN)


class Forum(BaseHTTPRequestHandler):
    """The forum's server; its class remembers which members were asked for."""

    asked: list[str]

    def do_GET(self):
        parts = urlsplit(self.path)
        if parts.path == "/search":
            assert parse_qs(parts.query) == {"q": ["tea"]}
            return self._tell(FOUND)
        name = parts.path.removeprefix("/members/")
        self.asked.append(name)
        return self._tell([(name, place) for place in range(len(POSTS[name]))] if name in POSTS else None)

    def _tell(self, posts):
        told = [{"id": f"{by}-{place}", "by": by, "text": POSTS[by][place]} for by, place in posts or []]
        body = json.dumps(told).encode()
        self.send_response(404 if posts is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def forum():
    """A server of the forum: its address, and the members that it was asked for, in order."""
    asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Asked", (Forum,), {"asked": asked}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def begun(folder, package, url):
    """The campaign file that `init` writes for the forum, which asks the server at `url`."""
    made = socialcrawl(
        "init", "mine.toml", "--platform", "forum", "--keyword", "tea", folder=folder, PYTHONPATH=package
    )
    assert made.returncode == 0, made.stderr
    assert "wrote mine.toml: name members, then: socialcrawl quote mine.toml" in " ".join(made.stdout.split())
    file = folder / "mine.toml"
    file.write_text(file.read_text("utf-8").replace("https://forum.example", url), "utf-8")
    return file


def telling(folder, package):
    """What runs a command in `folder` and returns what it printed."""

    def told(*words):
        child = socialcrawl(*words, folder=folder, PYTHONPATH=package)
        assert child.returncode == 0, child.stdout + child.stderr
        return " ".join(child.stdout.split())

    return told


def test_an_added_platform_is_crawled_reported_explained_verified_exported_and_made_to_forget(package, tmp_path):
    told = telling(tmp_path, package)
    with forum() as (url, asked):
        file = begun(tmp_path, package, url)
        assert "all fields arrived in 2 posts" in told("doctor", file)
        assert "$0" in told("quote", file)
        asked.clear()
        told("run", file, "--yes", "--steps", "1")
        told("run", file, "--yes")
    assert sorted(asked) == ["ann", "bea", "cid", "dan", "eve"]  # once each; nobody mentions fay
    read = (
        "select username, o.occurrences, o.posts, o.missing from outcome o join account using (node) "
        "where username is not null order by username"
    )
    assert rows(tmp_path / "mine.db", read) == [
        ("ann", 2, 2, None), ("bea", 1, 2, None), ("cid", 0, 1, None), ("dan", 3, 2, None), ("eve", 0, 0, "deleted")
    ]  # fmt: skip
    linked = (
        "select a.username, b.username from link join outcome using (campaign, n) join account a on "
        "a.node = outcome.node join account b on b.node = link.node order by 1, 2"
    )
    assert rows(tmp_path / "mine.db", linked) == [
        ("ann", "bea"), ("ann", "cid"), ("bea", "ann"), ("bea", "eve"), ("dan", "bea")
    ]  # fmt: skip
    assert rows(tmp_path / "mine.db", "select distinct platform from account") == [("forum",)]

    assert "most relevant accounts" in told("report", "--db", "mine.db")
    assert "@bea in the campaign mine" in told("explain", "bea", "--db", "mine.db")
    assert "mine (collect, forum;" in told("verify", "mine.db")
    told("export", "--out", "out", "--db", "mine.db", "--campaign", "mine")
    assert "forum" in (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    assert "proved" in told("verify", "out")

    told("forget", "--user", "@bea", "--yes", "--db", "mine.db")
    texts = [text for (text,) in rows(tmp_path / "mine.db", "select text from post order by id")]
    assert texts == ["morning tea for @forgotten", "no more tea, says @cid", "so quiet here", "tea, tea and tea",
                     "@forgotten likes it"]  # fmt: skip
    named = [name for (name,) in rows(tmp_path / "mine.db", "select json_extract(params, '$.name') from request")]
    assert sorted(name for name in named if name) == ["ann", "cid", "dan", "eve"]
    with forum() as (url, asked):
        file.write_text(file.read_text("utf-8").replace("steps = 10", "steps = 11"), "utf-8")
        told("run", begun_again(file, url), "--yes")
    assert "bea" not in asked


def begun_again(file, url):
    """The campaign file, for a server at another address."""
    text = file.read_text("utf-8")
    before = next(line for line in text.splitlines() if line.startswith("base_url"))
    file.write_text(text.replace(before, f'base_url = "{url}"'), "utf-8")
    return file


def test_names_are_checked_by_the_added_platform(package, tmp_path):
    file = begun(tmp_path, package, "http://127.0.0.1:1")
    file.write_text(file.read_text("utf-8").replace('"ann"', '"Ann!"'), "utf-8")
    child = socialcrawl("check", file, folder=tmp_path, PYTHONPATH=package)
    assert child.returncode == 2
    assert "'Ann!' is no member of the forum" in " ".join(child.stdout.split())


def test_its_tokens_are_known_by_how_they_look_and_never_shown(package, tmp_path):
    file = begun(tmp_path, package, "http://127.0.0.1:1")
    file.write_text(file.read_text("utf-8").replace('"ann"', '"forum-key-12"'), "utf-8")
    child = socialcrawl("check", file, folder=tmp_path, PYTHONPATH=package)
    assert child.returncode == 2
    said = " ".join((child.stdout + child.stderr).split())
    assert "[seeds] usernames.0 holds what looks like a token or a password" in said
    assert "export FORUM_KEY=..." in said
    assert "forum-key-12" not in said


def test_without_its_package_a_campaign_and_its_database_are_refused_and_the_known_platforms_are_named(
    package, tmp_path
):
    with forum() as (url, _):
        file = begun(tmp_path, package, url)
        telling(tmp_path, package)("run", file, "--yes")
    child = socialcrawl("check", file, folder=tmp_path)
    assert child.returncode == 2
    said = " ".join(child.stdout.split())
    assert "unknown platform 'forum'. Choose one of: x, bluesky, mastodon, web" in said
    child = socialcrawl("report", "--db", "mine.db", folder=tmp_path)
    assert child.returncode == 2
    said = " ".join(child.stderr.split())
    assert (
        "Unknown platform 'forum'. Choose one of: x, bluesky, mastodon, web, or install the package that adds it."
        in said
    )


def installed(folder, group, entry):
    """A path of modules on which a package adds one entry point of a group; its module may be missing."""
    return install_package(folder, "halfway", {group: [entry]})


@pytest.mark.parametrize("group", ["platforms", "crawl_kinds"])
def test_a_package_that_cannot_be_imported_disturbs_no_command_that_does_not_need_it(group, tmp_path):
    broken = installed(tmp_path / "broken", group, "halves = halfway:halves")
    told = telling(tmp_path, broken)
    with serve_in_thread(posts_file(), limit=100_000) as mock:
        file = campaign_file(tmp_path, mock.url)
        told("check", file)
        told("run", file, "--yes", "--steps", "2")
    (name,) = rows(tmp_path / "mine.db", "select username from account join pick using (node) where act = 'expand'")[0]
    assert "mine (collect, x;" in told("verify", "mine.db")
    told("export", "--out", "out", "--db", "mine.db", "--campaign", "mine")
    told("forget", "--user", f"@{name}", "--yes", "--db", "mine.db", "--dry-run")
    told("forget", "--user", f"@{name}", "--yes", "--db", "mine.db")
    assert rows(tmp_path / "mine.db", f"select count(*) from account where username = '{name}'") == [(0,)]


@pytest.mark.parametrize(
    ("group", "noun", "named"),
    [
        ("platforms", "platform", '[source]\nplatform = "halves"'),
        ("crawl_kinds", "kind of campaign", 'kind = "halves"'),
    ],
)
def test_a_campaign_that_needs_a_package_that_cannot_be_imported_is_told_which_and_why(group, noun, named, tmp_path):
    file = tmp_path / "halves.toml"
    file.write_text(f'name = "a"\n{named}\n', "utf-8")
    child = socialcrawl(
        "check", file, folder=tmp_path, PYTHONPATH=installed(tmp_path / "broken", group, "halves = halfway:halves")
    )
    assert child.returncode == 2
    said = " ".join((child.stdout + child.stderr).split())
    assert f"he {noun} 'halves' that the package 'halfway' adds (entry point 'halfway:halves'" in said
    assert "cannot be loaded: ModuleNotFoundError: No module named 'halfway'. Repair or uninstall that" in said
    assert "Traceback" not in said


def test_an_entry_point_with_another_name_than_the_facts_is_refused_with_both_names(package, tmp_path):
    renamed = installed(tmp_path / "renamed", "platforms", "agora = discussing:forum") + os.pathsep + package
    file = tmp_path / "agora.toml"
    file.write_text('name = "a"\n[source]\nplatform = "agora"\n', "utf-8")
    child = socialcrawl("check", file, folder=tmp_path, PYTHONPATH=renamed)
    assert child.returncode == 2
    said = " ".join((child.stdout + child.stderr).split())
    assert "'agora' that the package 'halfway' adds" in said
    assert "calls itself 'forum' in its facts: its entry point and its facts need the same name" in said


@pytest.mark.parametrize(
    ("group", "entry", "named", "said"),
    [
        (
            "platforms",
            "halves = halves:Halves",
            '[source]\nplatform = "halves"',
            "is a class: the entry point needs to",
        ),
        ("platforms", "halves = halves:bare", '[source]\nplatform = "halves"', "has no facts: it needs an attribute"),
        ("platforms", "halves = halves:agora", '[source]\nplatform = "halves"', "is a Agora, which is no Platform."),
        ("crawl_kinds", "halves = halves:Halves", 'kind = "halves"', "is a class: the entry point needs to name an"),
        (
            "crawl_kinds",
            "halves = halves:agora",
            'kind = "halves"',
            "has no facts: it needs an attribute `facts`, a Kind",
        ),
    ],
)
def test_an_object_that_is_no_platform_or_kind_is_refused_in_a_sentence(group, entry, named, said, tmp_path):
    source = """
from socialcrawl.platforms.facts import PlatformFacts

class Halves: pass

class Agora:
    facts = PlatformFacts("halves", "the agora")

bare, agora = Halves(), Agora()
"""
    path = install_package(tmp_path / "p", "halfway", {group: [entry]}, halves=source)
    file = tmp_path / "halves.toml"
    file.write_text(f'name = "a"\n{named}\n[topic]\nkeywords = ["a"]\n', "utf-8")
    child = socialcrawl("check", file, folder=tmp_path, PYTHONPATH=path)
    assert child.returncode == 2, child.stdout + child.stderr
    assert said in " ".join((child.stdout + child.stderr).split())


BREAKS = {
    "wire": ("        path = f", "        raise KeyError('no-such-key')\n        path = f"),
    "source": ("        reading, searched", "        raise KeyError('no-such-key')\n        reading, searched"),
    "platform": ("        return list(topic.keywords)", "        raise KeyError('no-such-key')\n        return list("),
}


@pytest.mark.parametrize(
    ("part", "code", "said"),
    [("wire", 1, "the wire of the platform 'forum' raised KeyError: 'no-such-key' (/"),
     ("source", 1, "error: The plug-in 'discussing' failed: KeyError: 'no-such-key' (discussing.py, line "),
     ("platform", 1, "error: The plug-in 'discussing' failed: KeyError: 'no-such-key' (discussing.py, line ")],
)  # fmt: skip
def test_a_platform_that_raises_ends_the_command_with_a_sentence(part, code, said, tmp_path):
    before, after = BREAKS[part]
    source = PLUGIN.replace(before, after + ("topic.keywords)" if part == "platform" else ""), 1)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "forum.toml").write_text(POLICY, "utf-8")
    path = install_package(tmp_path / "p", "discussing", {"platforms": ["forum = discussing:forum"]}, discussing=source)
    file = tmp_path / "mine.toml"
    text = TEMPLATE.replace("a word", "tea").replace("a phrase", "cup").replace("prefix*", "tea*")
    file.write_text(
        text.replace("https://forum.example", "http://127.0.0.1:9").replace("pause =", "give_up = 0.2\npause ="),
        "utf-8",
    )
    child = socialcrawl("run", file, "--yes", folder=tmp_path, PYTHONPATH=path)
    assert child.returncode == code, child.stdout + child.stderr
    assert said in " ".join((child.stdout + child.stderr).split())


def test_a_template_without_a_budget_is_adapted_to_another_kind(package, tmp_path):
    told = telling(tmp_path, package)
    told("init", "mine.toml", "--platform", "forum", "--kind", "track", "--keyword", "tea")
    given = tomllib.loads((tmp_path / "mine.toml").read_text("utf-8"))
    assert (given["kind"], given["source"]["platform"], given["track"]["target"]) == ("track", "forum", "indegree")
    assert "estimator" not in given["crawl"]
    assert "ok mine.toml:" in told("check", "mine.toml")


def test_a_platform_that_does_not_say_so_has_no_search(tmp_path):
    plain = PLUGIN.replace("    searches = True\n", "").replace("    def list_queries(", "    def unused(")
    (tmp_path / "discussing.py").write_text(plain, "utf-8")
    (tmp_path / "forum.toml").write_text(POLICY, "utf-8")
    path = installed(tmp_path, "platforms", "forum = discussing:forum")
    file = tmp_path / "mine.toml"
    text = TEMPLATE.replace('usernames = ["ann"]', "search = true").replace("a word", "tea").replace("a phrase", "cup")
    file.write_text(text.replace("prefix*", "tea*"), "utf-8")
    child = socialcrawl("check", file, folder=tmp_path, PYTHONPATH=path)
    assert child.returncode == 2
    said = " ".join(child.stdout.split())
    assert "There is nothing to start from: name usernames under [seeds]." in said


def test_hosts_of_an_added_platform_share_the_windows_of_a_token(tmp_path):
    hosts = 'hosts=("forum.example", "old.forum.example"), policy='
    (tmp_path / "discussing.py").write_text(PLUGIN.replace("policy=", hosts, 1), "utf-8")
    path = installed(tmp_path, "platforms", "forum = discussing:forum")
    code = """
from socialcrawl.campaign.token_locks import make_token_mark as mark
new, old, other = (mark(f"https://{host}.example", "token") for host in ("forum", "old.forum", "new.forum"))
print(new == old, new == other)
"""
    child = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "XDG_STATE_HOME": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout.split() == ["True", "False"]


def test_the_example_of_the_page_on_platforms_is_a_platform():
    page = (Path(__file__).parents[2] / "docs/development/platforms.md").read_text("utf-8")
    code, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    found = {"__file__": __file__}
    exec(compile(code, "platforms.md", "exec"), found)
    assert isinstance(found["forum"], Platform)
    assert (found["forum"].facts.name, found["forum"].searches) == ("forum", True)
