"""Search, SQL and exports in pages and API: what they find is what Python and the command line find."""

import asyncio
import csv
import io
import json
import re
import shutil
import sqlite3
import time
import zipfile
from contextlib import closing
from itertools import pairwise
from urllib.parse import parse_qsl, quote

import pytest
from found_posts import BEGIN, post_row
from postgres import a_place as a_postgres
from starlette.requests import ClientDisconnect
from stores import save
from test_web_app import check_harmless
from tiny_town import close, stored
from typer import Typer
from typer.testing import CliRunner
from web_pages import TOKEN, PageShape, log_in, serving

import socialcrawl as sc
from socialcrawl.cli.definitions.datasets import export
from socialcrawl.engine.model import Page
from socialcrawl.storage.post_search import index
from socialcrawl.web import data_reading, export_downloads
from socialcrawl.web.work_slots import WorkSlots

HOSTILE = "moon <script>alert(1)</script> <img src=x onerror=alert(2)> javascript:alert(3) \u202egnp.exe"
TEXTS = ("the moon", "a #moon in the sky", "nothing", HOSTILE, "a late MOON", "=HYPERLINK(1) sun", "Caf\u00e9 moon sky")
ON_TOPIC = {1: 2, 4: 1, 5: 1}
DAY = 86_400
BEARER = {"authorization": f"Bearer {TOKEN}"}
ELSEWHERE = {"sec-fetch-site": "cross-site"}


def fill(place):
    """Store the posts, a day apart, by two authors in turn."""
    store = stored(place)
    rows = [post_row(key, text, BEGIN + DAY * key, author=str(1000 + key % 2)) for key, text in enumerate(TEXTS)]
    save(store, Page(rows, [ON_TOPIC.get(key, 0) for key in range(len(TEXTS))], []))
    close(store)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data")
    fill(made / "town.db")
    return made


@pytest.fixture(scope="module")
def client(folder):
    with serving(folder) as made:
        yield made


@pytest.fixture(scope="module")
def key(client):
    return client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]


@pytest.fixture
def page(client, key):
    """A page of the campaign, by its name and its parameters."""
    return lambda name, **given: client.get(f"/campaigns/{key}/{name}", params=given)


@pytest.fixture
def api(client, key):
    return lambda name, **given: client.get(f"/api/v1/campaigns/{key}/{name}", params=given)


def texts_of(answer):
    """The texts of the posts on a page, in order."""
    return [part.split("</p>")[0] for part in answer.text.split('<p class="text" dir="auto">')[1:]]


def dump(folder):
    with closing(sqlite3.connect(folder / "town.db")) as plain:
        return list(plain.iterdump())


def test_posts_are_found_by_words_which_are_marked_and_run_nothing(page):
    found = page("search", query="moon -late", topic="all")
    texts = texts_of(found)
    assert [text.count("<mark>") for text in texts] == [1, 1, 1, 1]
    assert texts[-1] == "the <mark>moon</mark>"
    assert texts[1].startswith("<mark>moon</mark> &lt;script&gt;")
    check_harmless(found.text)
    assert r"\u202e" in found.text, "a sign that turns text around is written out"


def test_without_words_the_newest_posts_on_topic_come_and_filters_leave_some(page):
    assert texts_of(page("posts")) == ["=HYPERLINK(1) sun", "a late MOON", "a #moon in the sky"]
    assert texts_of(page("search")) == texts_of(page("posts"))
    assert texts_of(page("search", author="1000")) == ["a late MOON"]
    assert texts_of(page("search", topic="off", author="1000")) == ["Caf\u00e9 moon sky", "nothing", "the moon"]
    assert len(texts_of(page("search", topic="all"))) == len(TEXTS)
    assert texts_of(page("search", topic="off", query="sky")) == ["Caf\u00e9 moon <mark>sky</mark>"]


def test_the_last_day_is_searched_too(page):
    days = [time.strftime("%Y-%m-%d", time.gmtime(BEGIN + DAY * number)) for number in range(len(TEXTS))]
    assert len(texts_of(page("search", topic="all", since=days[1], until=days[3]))) == 3
    first = page("search", topic="all", query="moon", since=days[0], until=days[0])
    assert texts_of(first) == ["the <mark>moon</mark>"]


@pytest.mark.parametrize("given", [{"query": "moon OR sun"}, {}, {"author": "1001"}, {"query": "moon", "topic": "off"}])
def test_pages_of_posts_hold_what_python_finds_once_and_in_order(api, folder, given):
    given = {"topic": "all", **given}
    with sc.open(folder / "town.db") as data:
        options = {"author": given.get("author"), "off_topic": given["topic"] == "off"}
        table = data.search(given["query"], **options) if "query" in given else data.posts(newest_first=True, **options)
        wanted = [row["id"] for row in table]
    found, after = [], ""
    while after is not None:
        answer = api("search", limit=2, after=after, **given).json()
        found += [post["id"] for post in answer["posts"]]
        after = answer["next"]
    assert found == wanted
    assert len(found) > 2


def test_older_posts_are_a_link_away_with_the_same_filters(client, page, monkeypatch):
    monkeypatch.setattr("socialcrawl.web.data_pages.POSTS", 2)
    texts, found = [], page("search", query="moon", topic="all")
    for _ in range(5):
        texts += texts_of(found)
        more = [link for link in PageShape(found.text).links if link and "after=" in link]
        if not more:
            break
        found = client.get(f"{found.url.path}{more[0]}")
    assert len(texts) == 5


def test_the_number_of_hits_is_that_of_all_pages_and_ends_at_a_bound(client, page, api, monkeypatch):
    monkeypatch.setattr("socialcrawl.web.data_pages.POSTS", 2)

    def said(**given):
        return re.search(r'class="found" role="status"><strong>(.*?)</strong>', page("search", **given).text)[1]

    assert said(query="moon", topic="all") == "5 posts"
    assert said(query="sun") == "1 post"
    assert said(topic="all") == f"{len(TEXTS)} posts"
    assert said(topic="off", since="2023-11-15") == f"{count_off_topic(1)} posts"
    assert said(topic="all", author="1001") == "3 posts"
    older = next(link for link in PageShape(page("search", topic="all").text).links if link and "after=" in link)
    assert f"<strong>{len(TEXTS)} posts</strong>" in client.get(f"{page('search').url.path}{older}").text
    assert api("search", query="moon", topic="all", limit=1, count=True).json()["count"] == 5
    assert api("search", query="moon", topic="all", limit=1).json()["count"] is None
    monkeypatch.setattr(data_reading, "MOST_COUNTED", 3)
    monkeypatch.setattr("socialcrawl.web.data_pages.MOST_COUNTED", 3)
    assert said(query="moon", topic="all") == said(topic="all") == "More than 3 posts"
    monkeypatch.setattr(data_reading, "COUNT_TIME", "0.0000001s")
    assert said(query="moon", topic="all") == said(topic="all") == "Many posts"


def count_off_topic(begin):
    """The number of posts off topic from a day after the first on."""
    return sum(key not in ON_TOPIC for key in range(begin, len(TEXTS)))


def test_a_search_that_finds_nothing_offers_wider_ones_that_find_more(client, page):
    asked = {"query": "moon", "author": "1000", "since": "2030-01-01", "topic": "off"}
    nothing = page("search", **asked)
    assert texts_of(nothing) == []
    wider = [link for link in PageShape(nothing.text).links if link and link.startswith("?")]
    assert [dict(parse_qsl(link[1:])) for link in wider] == [
        {**asked, "topic": "all"},
        {name: value for name, value in asked.items() if name != "author"},
        {name: value for name, value in asked.items() if name != "since"},
        {name: value for name, value in asked.items() if name != "query"},
    ]
    assert len(texts_of(client.get(f"{nothing.url.path}{wider[2]}"))) == 2


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"query": "-moon"}, "query", "write at least one word"),
        ({"query": "(moon)"}, "query", "parentheses"),
        ({"author": "nobody"}, "author", "No account in this database has the username or id"),
        ({"since": "tomorrow"}, "since", "is not an instant"),
        ({"query": "moon", "after": "17"}, "query", "no place in a search"),
    ],
)
def test_what_cannot_be_searched_is_said_beside_the_field(page, api, given, field, said):
    found = page("search", **given)
    assert found.status_code == 422
    assert said in found.text.split(f'id="{field}-error"')[1].split("</p>")[0]
    assert api("search", **given).status_code == 409


def test_a_search_that_reads_too_many_texts_is_stopped_and_says_what_to_do(page, monkeypatch):
    monkeypatch.setattr(data_reading, "QUERY_TIME", "0.000001s")
    found = page("search", query="moon")
    assert "Build the index" in found.text.split('id="query-error"')[1].split("</p>")[0]
    assert page("search").status_code == 200


def test_what_another_site_links_to_is_filled_in_and_not_begun(client, key):
    for name in ("search", "sql"):
        asked = {"query": "select 17 as moon" if name == "sql" else "moon", "topic": "all"}
        found = client.get(f"/campaigns/{key}/{name}", params=asked, headers=ELSEWHERE)
        assert found.status_code == 200
        assert "Another site led here" in found.text
        assert "<mark>" not in found.text
        assert 'id="answer"' not in found.text
        assert client.get(f"/api/v1/campaigns/{key}/{name}", params=asked, headers=ELSEWHERE).status_code == 403
    for name in ("sql.csv?query=select+1", "export.zip?format=ids"):
        assert client.get(f"/campaigns/{key}/{name}", headers=ELSEWHERE).status_code == 403


def test_each_documented_question_is_answered_as_python_answers_it(page, api, folder):
    queries = api("queries").json()["queries"]
    with sc.open(folder / "town.db") as data:
        assert queries == [*data.list_queries()]
        for one in queries:
            wanted = [list(row.values()) for row in data.sql(one["sql"])]
            answer = api("sql", query=one["sql"]).json()
            assert (answer["rows"], answer["more"]) == (wanted, False)
            shown = page("sql", question=one["name"])
            assert (shown.status_code, one["question"] in shown.text) == (200, True)
    days = page("sql", question="topic_by_day").text
    assert 'data-query-chart="line" data-axis="date" data-x="1" data-y="2,3,4,5"' in days


REFUSED = """attach 'else.db' as other
attach database '/etc/passwd' as p
pragma journal_mode = delete
pragma writable_schema = on
select load_extension('/tmp/evil.so')
delete from post
vacuum into 'else.db'
select 1; drop table post
with x as (select 1) insert into hit values (1, 'x', 1)
selct"""


@pytest.mark.parametrize("query", REFUSED.split("\n"))
def test_what_is_no_reading_query_is_refused_in_words_and_changes_nothing(page, api, folder, query):
    before = dump(folder)
    found = page("sql", query=query)
    assert found.status_code == 422
    words = found.text.split('id="query-error"')[1].split("</p>")[0]
    assert any(one in words for one in ("only reads", "one statement", "not authorized", "Fix the query"))
    assert page("sql.csv", query=query).status_code == 409
    answer = api("sql", query=query)
    assert (answer.status_code, answer.headers["content-type"]) == (409, "application/problem+json")
    assert dump(folder) == before
    assert sorted(path.name.partition("-")[0] for path in folder.iterdir()) == ["town.db"]


ENDLESS = "with recursive c(x) as (select 1 union all select x + 1 from c)"


def test_a_query_without_an_end_is_stopped(page, monkeypatch):
    monkeypatch.setattr(data_reading, "QUERY_TIME", "0.1s")
    assert "took longer than 0.1 s" in page("sql", query=f"{ENDLESS} select max(x) from c").text


def test_answers_are_bounded_in_rows_and_size(page, api):
    found = page("sql", query=f"{ENDLESS} select x from c")
    assert "500 rows, the first; there are more" in found.text
    answer = api("sql", query=f"{ENDLESS} select x from c", limit=3).json()
    assert (answer["rows"], answer["more"]) == ([[1], [2], [3]], True)
    for query, said in (
        ("select hex(zeroblob(3e6)) as a", "more than 4 million characters"),
        ("select zeroblob(1e9)", "larger than 64 MB"),
        (f"{ENDLESS} select hex(zeroblob(2e5)) from c", "more than 4 million characters"),
    ):
        assert said in page("sql", query=query).text
    assert api("sql", query="select " + "1" * 9_000).status_code == 422


def test_cells_and_names_of_columns_are_shown_as_text_and_run_nothing(page, api):
    found = page("sql", query="""select text as "<img src=x onerror=alert(1)>", id from post order by id""")
    check_harmless(found.text)
    assert r"\u202e" in found.text
    odd = api("sql", query="select 9e999 as a, x'00ff' as b, null as c, 1.5 as d").json()
    assert odd["rows"] == [[None, "00ff", None, 1.5]]


def test_the_answer_is_downloaded_as_csv_without_formulas(page, folder):
    answer = page("sql.csv", query="select id, text, -3 as below from post order by id")
    assert answer.headers["content-disposition"] == 'attachment; filename="tiny-query.csv"'
    rows = list(csv.reader(io.StringIO(answer.text, newline="")))
    assert rows[0] == ["id", "text", "below"]
    assert [row[1].removeprefix("'") for row in rows[1:]] == list(TEXTS)
    assert [row[1] for row in rows[1:] if row[1].startswith("'")] == ["'=HYPERLINK(1) sun"]
    assert {row[2] for row in rows[1:]} == {"-3"}


def read_zip(answer):
    """The files of an archive, by their names without its folder."""
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert {name.partition("/")[0] for name in archive.namelist()} == {"tiny-export"}
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("words", [[], ["csv", "graphml", "ids"]])
def test_an_export_is_what_the_command_line_writes(page, folder, tmp_path, words, monkeypatch):
    made = page("export.zip", format=words, safe_csv="csv" in words)
    assert made.headers["content-disposition"] == 'attachment; filename="tiny-export.zip"'
    app = Typer()
    app.command()(export)
    safe = ["--safe-csv"] if "csv" in words else []
    options = [*safe, *(part for word in words for part in ("--format", word))]
    done = CliRunner().invoke(app, ["--db", str(folder / "town.db"), "--out", str(tmp_path / "out"), *options])
    assert done.exit_code == 0, done.exception
    found, wanted = read_zip(made), {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert found.keys() == wanted.keys()
    for sheets in (found, wanted):
        for name in ("datasheet.json", "datapackage.json"):
            sheets[name] = {**json.loads(sheets[name]), "exported_at": "", "created": ""}
        sheets["datasheet.md"] = [line for line in sheets["datasheet.md"].splitlines() if b"20" not in line]
    assert found == wanted


def test_what_an_export_cannot_be_is_said_and_leaves_nothing_behind(page, api, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("SOCIALCRAWL_KEY", raising=False)
    for given, said in (
        ({"format": "warc"}, "No answers were kept"),
        ({"format": "csv", "pseudonymise": True}, "Pseudonyms need a key"),
        ({"format": "csv", "only_active": True}, "tests no accounts"),
        ({"format": "parquet", "safe_csv": True}, "--safe-csv is for CSV"),
    ):
        assert (page("export.zip", **given).status_code, said in page("export.zip", **given).text) == (409, True)
    assert api("export.zip", format="exe").status_code == 422
    monkeypatch.setattr(export_downloads, "LARGEST", 10)
    monkeypatch.setattr(export_downloads.check_room, "__defaults__", (10,))
    assert "too large for a download" in page("export.zip", format="csv").text
    assert list(tmp_path.iterdir()) == []


def test_how_far_an_export_is_can_be_seen_while_it_runs_and_not_afterwards(page, api, monkeypatch):
    seen = []
    room = export_downloads.check_room
    monkeypatch.setattr(
        export_downloads, "check_room", lambda folder: (seen.append(api("export-progress").json()), room(folder))
    )
    assert page("export.zip", format=["csv", "gexf"]).status_code == 200
    assert {one["writing"] for one in seen} >= {"posts", "network"}
    assert max(one["rows"] for one in seen if one["writing"] == "posts") == len(TEXTS)
    assert api("export-progress").json() == {"writing": None, "rows": 0}
    shown = page("export").text
    assert 'datasheet.md" download' in shown
    assert 'report.html" download' in shown


def test_pseudonyms_take_the_key_of_the_environment(page, monkeypatch):
    monkeypatch.delenv("SOCIALCRAWL_KEY", raising=False)
    assert "which is not set" in page("export").text
    monkeypatch.setenv("SOCIALCRAWL_KEY", "0123456789abcdef-a-key-for-tests")
    assert "which is set" in (shown := page("export").text)
    assert "a-key-for-tests" not in shown
    files = read_zip(page("export.zip", format="csv", pseudonymise=True))
    assert json.loads(files["datasheet.json"])["pseudonymised"] is True
    assert b"1000" not in files["accounts.csv"]


def test_the_form_of_an_export_says_what_the_terms_permit_and_begins_with_the_default(page, folder):
    with sc.open(folder / "town.db") as data:
        assert data.describe_terms() in page("export").text.replace("&#39;", "'")
    assert page("export").text.count(" checked") == 2, "a ready choice, and the default of whoever chooses files"
    assert 'value="parquet" checked' in page("export").text


def test_a_client_that_goes_away_leaves_no_folder_and_frees_its_slot(tmp_path):
    (tmp_path / "gone" / "export").mkdir(parents=True)
    (tmp_path / "gone" / "export" / "a.csv").write_bytes(b"a" * 1_000_000)
    slots = WorkSlots(1, "exports")
    slots.take()
    sent = export_downloads.ZipDownload(tmp_path / "gone", "x", slots)

    async def receive():
        await asyncio.sleep(3600)

    async def send(message):
        if message["type"] == "http.response.body":
            raise OSError("the connection is closed")

    with pytest.raises(ClientDisconnect):
        asyncio.run(sent({"type": "http", "asgi": {"spec_version": "2.4"}, "method": "GET"}, receive, send))
    assert list(tmp_path.iterdir()) == []
    slots.take()


def test_an_export_whose_client_goes_while_it_is_written_ends(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(export_downloads, "LOOK", 0.01)
    project, slots = sc.open_project(folder), WorkSlots(1, "exports")

    class GoneRequest:
        async def is_disconnected(self):
            return True

    def wait(*given, **more):
        given[-1].wait(60)
        return real(*given, **more)

    real = export_downloads.write_export
    monkeypatch.setattr(export_downloads, "write_export", wait)
    making = export_downloads.export_campaign(GoneRequest(), project, project.find("tiny"), {"formats": ["csv"]}, slots)
    with pytest.raises(sc.SocialcrawlError, match="cancelled"):
        asyncio.run(making)
    assert list(tmp_path.iterdir()) == []
    slots.take()


def test_as_many_queries_as_may_run_and_others_are_told_to_wait(folder, monkeypatch):
    monkeypatch.setattr("socialcrawl.web.data_work.QUERIES", 1)
    monkeypatch.setattr(data_reading, "QUERY_TIME", "1s")
    with serving(folder) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        slow = quote(f"{ENDLESS} select max(x) from c")

        async def ask_twice():
            import httpx

            async with httpx.AsyncClient(base_url=client.base_url, timeout=60) as several:
                asking = [several.get(f"/api/v1/campaigns/{key}/sql?query={slow}") for _ in range(2)]
                other = several.get(f"/campaigns/{key}/accounts")
                return await asyncio.gather(*asking, other)

        *two, other = asyncio.run(ask_twice())
    assert sorted(one.status_code for one in two) == [409, 503]
    assert other.status_code == 200
    assert next(one for one in two if one.status_code == 503).headers["retry-after"] == "5"


def wait_for_index(client, key):
    """The search index as the API shows it, when nobody works on it any more."""
    for _ in range(600):
        found = client.get(f"/api/v1/campaigns/{key}/search-index", headers=BEARER).json()
        if not found["running"]:
            return found
        time.sleep(0.05)
    raise AssertionError("the index is never done")


def test_the_index_is_made_by_a_button_of_somebody_who_has_the_token_and_finds_the_same(folder, tmp_path, monkeypatch):
    shutil.copy(folder / "town.db", tmp_path / "town.db")
    monkeypatch.setattr(index, "LEAST", 3)
    with serving(tmp_path) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        button, asked = f"/campaigns/{key}/search-index", {"query": "moon", "topic": "all"}
        before = texts_of(found := client.get(f"/campaigns/{key}/search", params=asked))
        assert "Log in</a> to build it" in found.text
        assert client.post(button).status_code == 401
        assert client.post(f"/api/v1{button}").status_code == 401
        csrf = log_in(client)
        assert client.post(button, data={"csrf": "0" * 64}).status_code == 403
        assert client.post(f"/api/v1{button}").status_code == 403
        assert wait_for_index(client, key) == {"needed": True, "running": False, "posts": 0, "why": ""}
        assert "Build the search index" in client.get(f"/campaigns/{key}/search", params=asked).text
        assert client.post(button, data={"csrf": csrf}).status_code == 303
        assert wait_for_index(client, key) == {"needed": False, "running": False, "posts": len(TEXTS), "why": ""}
        found = client.get(f"/campaigns/{key}/search", params=asked)
        assert texts_of(found) == before
        assert "Search index" not in found.text
    with closing(sqlite3.connect(tmp_path / "town.db")) as plain:
        assert plain.execute("select count(*) from search_post").fetchone() == (len(TEXTS),)


def test_an_index_whose_time_is_over_goes_on_the_next_time(folder, tmp_path, monkeypatch):
    shutil.copy(folder / "town.db", tmp_path / "town.db")
    monkeypatch.setattr(index, "CHUNK", 2)
    counts = []
    project = sc.open_project(tmp_path)
    assert project.update_search_index("tiny", timeout="0.000001s", watch=counts.append) is False
    assert project.update_search_index("tiny", watch=counts.append) is True
    assert counts[0] == 2
    assert all(one <= later for one, later in pairwise(counts[1:]))
    assert counts[0] + counts[-1] == len(TEXTS)


def test_open_to_other_machines_all_of_it_needs_the_token(folder, key):
    paths = ("search?query=moon", "sql?query=select+1", "sql.csv?query=select+1", "export", "export.zip")
    with serving(folder, closed=True) as client:
        for path in paths:
            assert client.get(f"/campaigns/{key}/{path}").status_code == 303
            assert client.get(f"/campaigns/{key}/{path}", headers=BEARER).status_code == 200
        for path in ("search?query=moon", "sql?query=select+1", "queries", "search-index", "export.zip"):
            assert client.get(f"/api/v1/campaigns/{key}/{path}").status_code == 401
            assert client.get(f"/api/v1/campaigns/{key}/{path}", headers=BEARER).status_code == 200


def test_a_server_is_searched_and_exported_likewise_and_its_superuser_asks_nothing_by_sql(folder, tmp_path):
    with a_postgres("postgres", tmp_path, empty=True) as place:
        fill(place)
        with serving(place.url) as client, serving(folder) as other:
            for name in ("posts", "search?query=moon&topic=all", "search?topic=off&author=1000&until=2023-11-16"):
                pages = []
                for one in (client, other):
                    key = one.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
                    pages.append(texts_of(one.get(f"/campaigns/{key}/{name}")))
                assert pages[0] == pages[1] != []
            for given in (
                {"query": "moon"},
                {"topic": "off", "author": "1000"},
                {"topic": "on", "since": "2023-11-16"},
            ):
                counts = []
                for one in (client, other):
                    key = one.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
                    asked = {"topic": "all", "count": True, **given}
                    counts.append(one.get(f"/api/v1/campaigns/{key}/search", params=asked).json()["count"])
                assert counts[0] == counts[1] > 0
            key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
            assert "was refused for the role" in client.get(f"/campaigns/{key}/sql?query=select+1").text
            files = read_zip(client.get(f"/campaigns/{key}/export.zip?format=csv"))
            assert len(list(csv.DictReader(io.StringIO(files["posts.csv"].decode())))) == len(TEXTS)
            done = client.post(f"/api/v1/campaigns/{key}/search-index", headers=BEARER)
            assert (done.status_code, done.json()["running"]) == (200, True)
            assert wait_for_index(client, key)["posts"] == len(TEXTS)
