"""`socialcrawl search`: stored posts on the command line, as JSON, from Python, and where nothing can be written."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime

import pytest
from commands import socialcrawl
from found_posts import BEGIN, post_row
from rich.console import Console
from stores import a_place, save
from tiny_town import close, stored

import socialcrawl as sc
from socialcrawl.cli.commands import search as command
from socialcrawl.engine.model import Page
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.render.found_posts import LONGEST, show_posts
from socialcrawl.storage.post_search import index
from socialcrawl.text.post_query import parse_query

TEXTS = ("the moon", "a #moon in the sky", "nothing", "Moon \x1b[31m [bold]red[/bold]", "a late moon")
OPTIONS = {"on_topic": False, "author": None, "since": None, "until": None, "limit": 20, "after": None,
           "campaign": None}  # fmt: skip


@pytest.fixture
def filled(tmp_path):
    """A database whose posts are a minute apart, the second on topic."""
    with a_place("sqlite", tmp_path) as place:
        fill(place)
        yield place


def fill(place):
    store = stored(place)
    rows = [post_row(key, text, BEGIN + 60 * key, author=str(1000 + key % 2)) for key, text in enumerate(TEXTS)]
    save(store, Page(rows, [0, 2, 0, 0, 0], []))
    close(store)


@pytest.fixture
def search(filled, capsys):
    """The ids that a search prints as JSON, or the error that it raises."""

    def run(query, **options):
        given = {**OPTIONS, **options}
        code = command.search_posts(filled, query, given, Console(), as_json=True)
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert code == int(not found)
        return [row["id"] for row in found]

    return run


def test_posts_are_shown_newest_first_with_their_time_author_topic_and_link(filled, search):
    found = socialcrawl("search", filled, "moon", "--limit", 3, COLUMNS="120")
    lines = found.stdout.splitlines()
    assert found.returncode == 0, found.stderr
    assert lines[0].split() == ["posted", "(UTC)", "author", "on", "topic", "text"]
    assert [line.split() for line in lines[1:7]] == [
        ["2023-11-14", "22:17", "1000", "a", "late", "moon"],
        ["https://x.com/i/status/4"],
        ["2023-11-14", "22:16", "1001", "Moon", r"\x1b[31m", "[bold]red[/bold]"],
        ["https://x.com/i/status/3"],
        ["2023-11-14", "22:14", "1001", "yes", "a", "#moon", "in", "the", "sky"],
        ["https://x.com/i/status/1"],
    ]
    (cursor,) = re.findall("--after (\\S+),", found.stderr)
    assert search("moon", after=cursor) == ["0"]


def test_options_leave_out_posts_and_json_has_the_columns_of_posts(filled, search, capsys):
    assert search("moon", on_topic=True) == ["1"]
    assert search("moon", author="1001", until="2023-11-14T22:16:20Z") == ["1"]
    assert search("moon", since="2023-11-14T22:16:20Z", limit=1) == ["4"]
    command.search_posts(filled, "moon", {**OPTIONS, "limit": 1}, Console(), as_json=True)
    row = json.loads(capsys.readouterr().out)
    with sc.open(filled) as data:
        assert list(row) == [column.name for column in data.posts().columns]
        assert list(row) == [column.name for column in data.search("moon").columns]


def test_a_search_that_finds_nothing_says_what_else_to_search_for(filled, capsys):
    assert command.search_posts(filled, "comet", OPTIONS, Console()) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "No post matches. All words have to occur" in told.err


@pytest.mark.parametrize(
    ("query", "option", "said"),
    [
        ("-moon", {}, "write at least one word"),
        ("moon", {"since": "tomorrow"}, "'tomorrow' is not an instant: write 2026-11-20"),
        ("moon", {"after": "17"}, "no place in a search"),
        ("moon", {"author": "nobody"}, "No account in this database has the username or id 'nobody'"),
        ("moon", {"campaign": "other"}, "other"),
    ],
)
def test_what_cannot_be_searched_is_said_with_what_to_do(search, query, option, said):
    with pytest.raises(sc.SocialcrawlError, match=said):
        search(query, **option)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_python_finds_the_same_page_by_page_and_takes_times_of_several_kinds(kind, tmp_path):

    with a_place(kind, tmp_path) as place:
        fill(place)
        with sc.open(str(place) if kind == "sqlite" else place.url) as data:
            first, *_ = rows = list(data.search("moon"))
            assert [row["id"] for row in rows] == ["4", "3", "1", "0"]
            after = f"{first['created_at'].isoformat()}/{first['id']}"
            assert [row["id"] for row in data.search("moon", after=after, limit=2)] == ["3", "1"]
            assert [batch.num_rows for batch in data.search("moon").batches(3)] == [3, 1]
            at = datetime(2023, 11, 14, 22, 16, tzinfo=UTC)
            assert [row["id"] for row in data.search("moon", since=at)] == ["4", "3"]
            assert list(data.search("moon", until=date(2023, 11, 14))) == []
            with pytest.raises(sc.SettingsError, match="give a date or time"):
                data.search("moon", since=17)


def test_the_first_search_of_a_large_database_makes_an_index_and_one_that_cannot_write_reads_the_texts(
    filled, monkeypatch, capsys
):
    console = Console(width=100)
    assert command.search_posts(filled, "moon", OPTIONS, console) == 0
    assert tables_of(filled) == []
    monkeypatch.setattr(index, "LEAST", 3)
    with closing(sqlite3.connect(filled)) as other:
        other.execute("begin immediate")
        monkeypatch.setattr(command, "HURRY", 0.0)
        assert command.search_posts(filled, "moon", OPTIONS, console, as_json=True) == 0
        told = capsys.readouterr()
        assert "The search index was not updated" in told.err
        assert told.out.count('"id"') == 4
    assert tables_of(filled) == []
    assert command.search_posts(filled, "moon", OPTIONS, console, as_json=True) == 0
    told = capsys.readouterr()
    assert (told.out.count('"id"'), told.err) == (4, "")
    assert "search_post" in tables_of(filled)


def tables_of(place):
    with closing(sqlite3.connect(place)) as raw:
        return [name for (name,) in raw.execute("select name from sqlite_master where name like 'search_%'")]


def test_words_that_were_searched_for_are_marked_on_a_terminal_also_far_into_a_text():
    console = Console(width=200, force_terminal=True, color_system="standard", record=True)
    text = "x" * 2 * LONGEST + " the Moon " + "y" * LONGEST
    post = {"id": "at://did:plc:a/app.bsky.feed.post/b", "created_at": None, "author": "ann", "occurrences": 0,
            "text": text, "page": "https://bsky.app/profile/did:plc:a/post/b"}  # fmt: skip
    with console.capture() as shown:
        show_posts(console, [post], parse_query("moon"))
    assert "\x1b[1;4mMoon\x1b[0m" in shown.get()
    assert "https://bsky.app/profile/did:plc:a/post/b" in shown.get()
    assert "unknown" in shown.get()
    assert shown.get().count("x") < LONGEST


@pytest.mark.parametrize(
    ("platform", "post", "address"),
    [
        ("x", "17", "https://x.com/i/status/17"),
        ("x", "a", None),
        ("bluesky", "at://did:plc:a/app.bsky.feed.post/b", "https://bsky.app/profile/did:plc:a/post/b"),
        ("bluesky", "17", None),
        ("mastodon", "https://a.example/users/b/statuses/9/activity", "https://a.example/users/b/statuses/9"),
        ("mastodon", "17", None),
        ("web", "https://a.example/b", "https://a.example/b"),
        ("web", "javascript:alert(1)", None),
    ],
)
def test_a_post_has_the_address_at_which_its_platform_shows_it(platform, post, address):
    assert find_platform_facts(platform).find_post_page(post) == address


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_posts_are_listed_by_author_time_and_topic_as_a_filter_of_all_lists_them(kind, tmp_path):
    moments = [BEGIN + 60 * key for key in range(len(TEXTS))]
    bounds = [None, *(datetime.fromtimestamp(at + part, UTC) for at in moments for part in (0, 0.25))]
    with a_place(kind, tmp_path) as place:
        fill(place)
        with sc.open(str(place) if kind == "sqlite" else place.url) as data:
            rows = list(data.posts())
            for since in bounds:
                for until in bounds[::3]:
                    wanted = [row["id"] for row in rows if (since is None or row["created_at"] >= since)
                              and (until is None or row["created_at"] < until)]  # fmt: skip
                    assert [row["id"] for row in data.posts(since=since, until=until)] == wanted
            for author in ("1000", "1001"):
                own = [row["id"] for row in rows if row["author"] == author]
                assert [row["id"] for row in data.posts(author=author)] == own
                off = [row["id"] for row in rows if row["author"] == author and not row["occurrences"]]
                assert [row["id"] for row in data.posts(author=author, off_topic=True)] == off
            found = [row["id"] for row in data.search("moon")]
            off = [row["id"] for row in data.search("moon", off_topic=True)]
            assert sorted([*off, *(row["id"] for row in data.search("moon", on_topic=True))]) == sorted(found)
            assert off == [key for key in found if key != "1"]
            with pytest.raises(sc.StoreError, match="No account in this database"):
                data.posts(author="nobody")
            with pytest.raises(sc.StoreError, match="was stopped"):
                list(data.search("moon", timeout="0.000001s"))
