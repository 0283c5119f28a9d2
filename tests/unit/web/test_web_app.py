"""Pages and API over loopback, of a campaign that ran on the mock: what they show, and what they refuse."""

import html
import io
import lzma
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote
from zipfile import is_zipfile

import pytest
from alembic import command
from api_campaigns import run_example
from jsonschema import Draft202012Validator
from kind_campaigns import make_track
from stores import opened
from web_pages import TOKEN, HeldClock, PageShape, log_in, serving

import socialcrawl as sc
from socialcrawl.storage.database.connection import make_alembic_config, open_database
from socialcrawl.web import live_status
from socialcrawl.web.guards import LARGEST_BODY, POLICY

BEARER = {"authorization": f"Bearer {TOKEN}"}
FROZEN = Path(__file__).parents[2] / "compatibility/frozen"
FIRST_READ = """select coalesce(a.username, a.platform_id) as name from pick p join account a on a.node = p.node
order by p.n limit 1"""
HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("web")
    run_example(made)
    set_server(made, "https://api.x.com")
    return made


def set_server(folder, url):
    """Have the stored campaign be one of another server."""
    with closing(sqlite3.connect(folder / "example.db")) as plain, plain:
        for table in ("campaign", "version"):
            plain.execute(f"update {table} set settings = json_set(settings, '$.source.base_url', ?)", (url,))


@pytest.fixture(scope="module")
def client(folder):
    with serving(folder) as made:
        yield made


@pytest.fixture
def own(folder, tmp_path):
    """The database again, for a test that changes it."""
    shutil.copy(folder / "example.db", tmp_path / "example.db")
    return tmp_path


@pytest.fixture(scope="module")
def key(client):
    return client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]


def dump(folder):
    with closing(sqlite3.connect(folder / "example.db")) as plain:
        return list(plain.iterdump())


def paths_of(key):
    inside = ("", "/account?name=x", "/accounts", "/posts", "/datasheet.md", "/search?query=a",
              "/export", "/sql?question=topic_by_day")  # fmt: skip
    api = ("", "/charts", "/report", "/accounts", "/posts", "/explain?account=x", "/search", "/queries")
    return ["/", "/login", "/static/ui.css", "/static/ui.js", "/static/charts.js", "/static/plotly.js", "/nowhere",
            *(f"/campaigns/{key}{one}" for one in inside), "/api/v1/campaigns", "/api/v1/openapi.json",
            *(f"/api/v1/campaigns/{key}{one}" for one in api), "/api/v1/campaigns/none-0",
            "/campaigns/none-0"]  # fmt: skip


def test_the_overview_shows_each_campaign_with_its_figures_and_a_curve(client, key, folder):
    page = client.get("/").text
    assert f'href="/campaigns/{key}"' in page
    with closing(sqlite3.connect(folder / "example.db")) as plain:
        requests, posts = (plain.execute(f"select count(*) from {name}").fetchone()[0] for name in ("request", "hit"))
    assert f'data-label="Requests" class="number">{requests:,}' in page
    assert f'data-label="Posts on topic" class="number">{posts:,}' in page
    assert '<svg class="spark"' in page


def test_a_campaign_shows_the_report_its_ledger_and_places_for_charts(client, key, folder):
    page = client.get(f"/campaigns/{key}").text
    for said in ("Found so far", "Most relevant accounts", "The numbers", "/2/users/:id/tweets", "Nothing was changed"):
        assert said in page
    assert re.findall(r'data-chart="(\w+)"', page) == ["curve", "days", "spending"]
    with sc.open(folder / "example.db") as data:
        rows = sorted(data.posts(on_topic=True), key=lambda row: (-row["occurrences"], -int(row["id"])))
        best = [*data.best_posts(10)]
    assert [row["occurrences"] for row in best] == [row["occurrences"] for row in rows[:10]]
    assert re.findall(r'href="(https://x.com/i/status/[0-9]+)"', page) == [row["page"] for row in best]
    listed = client.get(f"/api/v1/campaigns/{key}/best-posts", params={"limit": 10}).json()["posts"]
    assert [one["id"] for one in listed] == [row["id"] for row in best]
    charts = client.get(f"/api/v1/campaigns/{key}/charts").json()
    report = client.get(f"/api/v1/campaigns/{key}/report").json()["values"]
    assert charts["curve"]["points"][-1] == [report["steps"], pytest.approx(report["relevance"])]
    assert sum(posts for _, posts in charts["days"]["bars"]) <= report["posts_on_topic"]


def test_accounts_of_a_track_lead_to_what_is_known_of_them(tmp_path):
    make_track(tmp_path / "a.db")
    with serving(tmp_path) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        page = client.get(f"/campaigns/{key}").text
        table = page[page.index("accounts that most") :].partition("</table>")[0]
        names = [html.unescape(one) for one in re.findall(r"<tr><td[^>]*>.*?<bdi>([^<]*)</bdi></a>", table)]
        linked = [html.unescape(one) for one in re.findall(rf'href="(/campaigns/{key}/account[^"]*)"', table)]
        assert len(names) == len(linked) > 3
        assert [client.get(one).status_code for one in linked[:2]] == [200, 200]


def test_a_page_says_of_which_step_its_report_is(client, key):
    steps = client.get(f"/api/v1/campaigns/{key}").json()["steps"]
    assert f'data-report-steps="{steps}" hidden>Report as of step {steps}; now <span>{steps}</span>' in (
        client.get(f"/campaigns/{key}").text
    )


def test_a_report_that_takes_long_holds_up_no_page_and_is_shown_when_it_was_read(folder):
    with serving(folder, patience=0.0) as client:
        (key,) = [one["key"] for one in client.get("/api/v1/campaigns").json()["campaigns"]]
        page = client.get(f"/campaigns/{key}").text
        assert "The report is being read" in page
        (later,) = re.findall(r'data-later="([^"]*)"', page)
        assert f'href="/campaigns/{key}/search"' in page
        assert client.get(later).json()["values"]["steps"] > 0
        page = client.get(f"/campaigns/{key}").text
        assert "Found so far" in page
        assert "data-later" not in page


def test_an_account_is_explained_and_its_name_leads_to_the_platform(client, key):
    account = client.get(f"/api/v1/campaigns/{key}/accounts").json()["accounts"][0]
    page = client.get(f"/campaigns/{key}/account", params={"name": account["account"]}).text
    assert f'href="https://x.com/{account["account"]}" rel="noreferrer noopener"' in page
    assert "occurrences" in page
    told = client.get(f"/api/v1/campaigns/{key}/explain", params={"account": account["account"]}).json()
    assert told["values"]["page"] == account["page"]
    unknown = client.get(f"/campaigns/{key}/account", params={"name": "nobody-knows-me"})
    assert unknown.status_code == 404
    assert "not in this database" in unknown.text
    refused = client.get(f"/api/v1/campaigns/{key}/explain", params={"account": "nobody-knows-me"})
    assert (refused.status_code, refused.headers["content-type"]) == (404, "application/problem+json")
    assert "not in this database" in refused.json()["detail"]
    assert f'href="/campaigns/{key}/search?query=nobody-knows-me"' in unknown.text


def test_those_who_link_to_an_account_lead_to_what_is_known_of_them(client, key, folder):
    with sc.open(folder / "example.db") as data:
        told = ((row["account"], data.explain(row["account"]).to_dict()) for row in data.accounts())
        account, found = next((name, values) for name, values in told if len(values["links"]) > 1)
    page = client.get(f"/campaigns/{key}/account", params={"name": account}).text
    sources = {found["names"][str(link["source"])] for link in found["links"]}
    for name in sources:
        path = f"/campaigns/{key}/account?name={name}"
        assert f'<a href="{path}"><bdi>@{name}</bdi></a>' in page
        assert client.get(path).status_code == 200


def test_pages_of_the_api_hold_all_rows_once_and_in_order(client, key, folder):
    with sc.open(folder / "example.db") as data:
        accounts = [row["account_id"] for row in data.accounts()]
        posts = [row["id"] for row in data.posts(on_topic=True, newest_first=True)]
    for name, column, wanted in (("accounts", "account_id", accounts), ("posts", "id", posts)):
        found, after = [], {}
        while after is not None:
            page = client.get(f"/api/v1/campaigns/{key}/{name}", params={"limit": 7, **after}).json()
            found += [row[column] for row in page[name]]
            after = None if page["next"] is None else {"after": page["next"]}
        assert found == wanted
        assert len(found) > 14


def test_downloads_are_files_with_the_report_and_the_datasheet(client, key):
    report = client.get(f"/campaigns/{key}/report.html")
    assert report.headers["content-disposition"] == 'attachment; filename="example-report.html"'
    assert report.text.startswith("<!DOCTYPE html>")
    assert (report.headers["content-security-policy"], report.headers["cache-control"]) == (POLICY, "no-store")
    assert client.get(f"/campaigns/{key}/datasheet.md").text.startswith("# Datasheet: example")


def test_every_answer_has_the_policy_and_is_not_kept_nor_guessed(client, key):
    for path in paths_of(key):
        for method in ("GET", "POST", "PUT"):
            found = client.request(method, path)
            assert found.headers["content-security-policy"] == POLICY, (method, path)
            assert found.headers["x-content-type-options"] == "nosniff"
            assert found.headers["referrer-policy"] == "no-referrer"
            assert found.headers["cache-control"] in ("no-store", "no-cache")
            assert ("no-cache" in found.headers["cache-control"]) <= path.startswith("/static/")
    strange = client.get("/", headers={"host": "evil.example"})
    assert (strange.status_code, strange.headers["content-security-policy"]) == (421, POLICY)


def test_no_page_names_another_host_or_has_a_script_or_a_style_inside(client, key):
    for path in paths_of(key):
        found = client.get(path)
        if found.headers["content-type"].startswith("text/html"):
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! src=\"/static/)", found.text), path
            loaded = re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="([^"]*)"', found.text)
            assert all(one.startswith("/static/") for one in loaded), path


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "169.254.169.254"])
def test_another_host_is_refused(client, host):
    for path in ("/", "/api/v1/campaigns", "/static/ui.css", "/events"):
        assert client.get(path, headers={"host": host}).status_code == 421


def test_reading_changes_nothing(client, key, folder):
    before = dump(folder)
    for path in (*paths_of(key), f"/campaigns/{key}/report.html"):
        for method in ("GET", "HEAD", "OPTIONS"):
            client.request(method, path, headers=BEARER)
    for path in ("/pause", "/resume"):
        assert client.get(f"/campaigns/{key}{path}", headers=BEARER).status_code == 303
        assert client.get(f"/api/v1/campaigns/{key}{path}", headers=BEARER).status_code == 405
    assert dump(folder) == before


def test_without_the_token_nothing_is_changed(client, key, folder):
    before = dump(folder)
    for path in (f"/campaigns/{key}/pause", f"/api/v1/campaigns/{key}/pause"):
        assert client.post(path).status_code == 401
        assert client.post(path, data={"csrf": ""}, headers={"x-csrf-token": ""}).status_code == 401
    assert client.post("/nowhere").status_code == 401
    assert dump(folder) == before


def test_a_session_without_its_csrf_token_changes_nothing_and_with_it_pauses_and_resumes(own):
    with serving(own) as client:
        csrf = log_in(client)
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        before = dump(own)
        for wrong in ({}, {"csrf": "0" * 64}, {"csrf": csrf.upper() + "0"}):
            assert client.post(f"/campaigns/{key}/pause", data=wrong).status_code == 403
        assert client.post(f"/api/v1/campaigns/{key}/pause").status_code == 403
        elsewhere = {"sec-fetch-site": "cross-site"}
        assert client.post(f"/campaigns/{key}/pause", data={"csrf": csrf}, headers=elsewhere).status_code == 403
        assert dump(own) == before
        assert client.post(f"/campaigns/{key}/pause", data={"csrf": csrf}).status_code == 303
        assert '<span class="badge halt">paused</span>' in client.get(f"/campaigns/{key}").text
        done = client.post(f"/api/v1/campaigns/{key}/resume", headers={"x-csrf-token": csrf}).json()
        assert (done["changed"], done["campaign"]["state"]) == (True, "done")
        stolen = dict(client.cookies)
        assert client.post("/logout", data={"csrf": csrf}).status_code == 303
        assert client.post(f"/campaigns/{key}/pause", data={"csrf": csrf}).status_code == 401
        client.cookies.update(stolen)
        assert client.post(f"/campaigns/{key}/pause", data={"csrf": csrf}).status_code == 401, "it has ended here too"


def test_whoever_logs_in_from_a_page_comes_back_to_it_and_to_no_other_site(client, key):
    for path in (f"/campaigns/{key}/search?query=a+b&topic=all", f"/campaigns/{key}", "/"):
        link = next(one for one in PageShape(client.get(path).text).links if one.startswith("/login"))
        form = client.get(link).text
        hidden = html.unescape(re.search(r'name="next" value="([^"]*)"', form)[1])
        wrong = client.post("/login", data={"token": "0" * 64, "next": hidden})
        assert (wrong.status_code, f'value="{html.escape(hidden)}"' in wrong.text) == (401, True), "it is not lost"
        done = client.post("/login", data={"token": TOKEN, "next": hidden})
        assert (done.status_code, done.headers["location"]) == (303, path)
        client.cookies.clear()
    for other in ("//evil.example", "https://evil.example/x"):
        done = client.post("/login", data={"token": TOKEN, "next": other})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        assert 'name="next" value="/"' in client.get("/login", params={"next": other}).text
        client.cookies.clear()


def test_the_api_takes_the_bearer_token_and_tells_whether_something_changed(own):
    with serving(own) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        answers = [client.post(f"/api/v1/campaigns/{key}/{what}", headers=BEARER).json()
                   for what in ("pause", "pause", "resume", "resume")]  # fmt: skip
    assert [one["changed"] for one in answers] == [True, False, True, False]
    assert [one["campaign"]["state"] for one in answers] == ["paused", "paused", "done", "done"]


def test_the_cookie_is_for_this_site_and_no_script_and_says_nothing_of_the_token(client):
    done = client.post("/login", data={"token": TOKEN})
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    client.cookies.clear()


def test_wrong_tokens_have_to_wait_also_the_right_one_until_the_clock_says_so(folder):
    clock = HeldClock()
    with serving(folder, clock=clock) as client:
        codes = [client.post("/login", data={"token": "wrong"}).status_code for _ in range(4)]
        assert codes == [401, 401, 401, 429]
        waiting = client.post("/login", data={"token": TOKEN})
        assert (waiting.status_code, waiting.headers["retry-after"]) == (429, "2")
        refused = client.get("/api/v1/campaigns", headers=BEARER)
        assert (refused.status_code, refused.headers["content-type"]) == (429, "application/problem+json")
        assert client.get("/").status_code == 200, "who shows no token is not concerned"
        clock.at += 1.5
        assert client.post("/login", data={"token": TOKEN}).status_code == 303


def test_open_to_other_machines_everything_but_the_login_needs_the_token(folder):
    with serving(folder, closed=True) as client:
        key = sc.open_project(folder).list_campaigns()[0].key
        for path in (*paths_of(key), f"/campaigns/{key}/report.html"):
            code = client.get(path).status_code
            if path in ("/login", "/static/ui.css", "/static/ui.js"):
                assert code == 200, path
            else:
                assert code == (401 if path.startswith("/api/") else 303), path
        assert client.get("/events").status_code == 303
        assert client.get("/api/v1/campaigns", headers=BEARER).status_code == 200
        log_in(client)
        assert client.get(f"/campaigns/{key}").status_code == 200


def test_bodies_are_bounded(client, key):
    for path in ("/login", f"/campaigns/{key}/pause"):
        assert client.post(path, content=b"a" * (LARGEST_BODY + 1)).status_code == 413
    sent = client.post("/login", content=(b"a" * 1000 for _ in range(100)))  # without a length
    assert sent.status_code == 413
    many = "&".join(f"a{number}=1" for number in range(1000))
    assert client.post("/login", content=many).status_code in (401, 429)


def test_errors_of_the_api_are_problems(client, key):
    for path, code in (("none-0", 404), (f"{key}/accounts?limit=0", 422), (f"{key}/accounts?after=x", 422)):
        found = client.get(f"/api/v1/campaigns/{path}")
        assert (found.status_code, found.headers["content-type"]) == (code, "application/problem+json")
        assert found.json()["status"] == code
        assert len(found.json()["detail"]) > 10


def list_operations(spec):
    """(method, path, what the API says of it) of each request that the API takes."""
    return [(method, path, one) for path, methods in spec["paths"].items() for method, one in methods.items()]


def check_answer(spec, operation, answer):
    """Check that an answer is one that the API describes."""
    described = operation["responses"][str(answer.status_code)]["content"]
    (kind,) = described
    assert answer.headers["content-type"].partition(";")[0] == kind
    if kind == "application/zip":
        assert is_zipfile(io.BytesIO(answer.content))
        return
    schema = {**described[kind]["schema"], "components": spec["components"]}
    Draft202012Validator(schema).validate(answer.json())


def test_the_api_answers_as_it_describes_itself(own):
    with serving(own) as client:
        spec = client.get("/api/v1/openapi.json").json()
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        operations = list_operations(spec)
        assert len(operations) >= 9
        for method, path, operation in operations:
            for headers, name, account in (
                (BEARER, key, "a"),
                ({}, key, "a"),
                (BEARER, "none", "a"),
                (BEARER, key, ""),
            ):
                answer = client.request(
                    method, path.format(key=name, number="0" * 12), params={"account": account}, headers=headers
                )
                check_answer(spec, operation, answer)


def test_accounts_and_posts_of_a_test_server_have_no_link_to_real_ones_of_the_same_name(own):
    set_server(own, "http://127.0.0.1:8000")
    with serving(own) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        name = client.get(f"/api/v1/campaigns/{key}/accounts").json()["accounts"][0]["account"]
        paths = ("", "/accounts", "/posts", "/network", "/next", "/label", f"/account?name={name}")
        for path in paths:
            page = client.get(f"/campaigns/{key}{path}")
            assert page.status_code == 200
            assert not [link for link in PageShape(page.text).links if link and "x.com" in link], path
        assert "data-invented" in client.get(f"/campaigns/{key}/network").text


def check_harmless(page):
    """Check that a page shows what is hostile as text, and has no tag, script or attribute of it."""
    shape = PageShape(page)
    assert "alert(1)" in shape.text
    assert "img" not in [tag for tag, _ in shape.tags]
    assert not [names for _, names in shape.tags if any(name.startswith("on") for name in names)]
    assert all(names[0] == "src" for tag, names in shape.tags if tag == "script")


def test_hostile_names_and_texts_are_shown_and_run_nothing(own):
    with closing(sqlite3.connect(own / "example.db")) as plain, plain:
        plain.execute("update post set text = ?", (HOSTILE,))
        plain.execute("update account set username = 'u' || node || ?, name = ?", (HOSTILE, HOSTILE))
        plain.execute("update account set handle = lower(username)")
        plain.execute("update request set endpoint = ?", (HOSTILE,))
    with serving(own) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        name = client.get(f"/api/v1/campaigns/{key}/accounts").json()["accounts"][0]["account"]
        assert HOSTILE in name
        for path in ("", "/accounts", "/posts"):
            check_harmless(client.get(f"/campaigns/{key}{path}").text)
        page = client.get(f"/campaigns/{key}/account", params={"name": name}).text
        check_harmless(page)
        assert 'href="https://x.com/u' in page


def test_events_tell_the_list_at_once_and_again_when_somebody_pauses(own):
    with serving(own) as client, client.stream("GET", "/events") as stream:
        lines = stream.iter_lines()
        first = next(line for line in lines if line.startswith("data: ") and "badge" in line)
        assert "done" in first
        assert sc.open_project(own).pause("example")
        assert next(line for line in lines if "badge" in line and "paused" in line)


def test_events_end_with_the_session_where_reading_needs_one(own, monkeypatch):
    monkeypatch.setattr(live_status, "SIGN_OF_LIFE", 0.05)
    with serving(own, closed=True) as client:
        csrf = log_in(client)
        with client.stream("GET", "/events") as stream:
            lines = stream.iter_lines()
            next(line for line in lines if "nothing changed" in line)
            client.post("/logout", data={"csrf": csrf})
            sc.open_project(own).pause("example")
            assert not any("paused" in line for line in lines), "the stream ends, and says nothing more"
        with client.stream("GET", "/events", headers=BEARER) as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if "badge" in line)
            assert [next(lines) for _ in range(4)], "a token in the header has no session that ends"


def test_a_database_of_an_older_version_says_so_and_stays_as_it_is(own):
    with opened(own / "example.db") as connection:
        config = make_alembic_config()
        config.attributes["connection"] = connection
        with connection.begin():
            command.downgrade(config, "0016")
    before = (own / "example.db").read_bytes()
    with serving(own) as client:
        (one,) = client.get("/api/v1/campaigns").json()["campaigns"]
        assert (one["state"], one["name"]) == ("outdated", "example")
        page = client.get(f"/campaigns/{one['key']}")
        assert page.status_code == 200
        assert f"`socialcrawl report {own / 'example.db'}` upgrades it" in html.unescape(page.text)
        done = client.post(f"/api/v1/campaigns/{one['key']}/pause", headers=BEARER)
        assert (done.status_code, "older version" in done.json()["detail"]) == (409, True)
    assert (own / "example.db").read_bytes() == before


@pytest.mark.parametrize("name", ["x-collect", "bluesky-track", "mastodon-refresh", "web-sample"])
def test_campaigns_of_each_kind_and_platform_have_their_pages(tmp_path, name):
    (found,) = FROZEN.rglob(f"{name}.db.xz")
    (tmp_path / "town.db").write_bytes(lzma.decompress(found.read_bytes()))
    with open_database(tmp_path / "town.db", create=False):
        pass
    with serving(tmp_path) as client:
        (one,) = client.get("/api/v1/campaigns").json()["campaigns"]
        assert f"{one['platform']}-{one['kind']}" == name
        page = client.get(f"/campaigns/{one['key']}").text
        assert "Found so far" in page
        assert ("What this campaign knows" in page) is not name.endswith("collect")
        rates = not name.endswith("refresh")  # whether it says of accounts how relevant they are
        assert (f'href="/campaigns/{one["key"]}/accounts"' in page) is rates
        assert (
            "does not tell whether accounts are on topic" in client.get(f"/campaigns/{one['key']}/accounts").text
        ) is not rates
        with sc.open(tmp_path / "town.db") as data:
            account = quote(next(iter(data.sql(FIRST_READ)))["name"], safe="")
        for path in ("accounts", "posts", "network", "next", "report.html", "datasheet.md", f"account?name={account}"):
            assert client.get(f"/campaigns/{one['key']}/{path}").status_code == 200, path
        for path in ("charts", "report", "accounts", "posts", "network", "next", f"explain?account={account}"):
            assert client.get(f"/api/v1/campaigns/{one['key']}/{path}").status_code == 200, path


def test_a_file_of_a_campaign_that_has_not_begun_and_one_that_is_wrong_are_shown(tmp_path):
    (tmp_path / "new.toml").write_text('name = "new"\n[topic]\nkeywords = ["telescope"]\n', "utf-8")
    (tmp_path / "odd.toml").write_text('name = "odd"\n[topic]\nkeyword = ["telescope"]\n', "utf-8")
    with serving(tmp_path) as client:
        new, odd = client.get("/api/v1/campaigns").json()["campaigns"]
        assert (new["name"], new["state"], new["why"]) == ("new", "idle", "it has not begun")
        assert (odd["name"], odd["state"], "keyword" in odd["why"]) == ("odd", "broken", True)
        for one in (new, odd):
            assert client.get(f"/campaigns/{one['key']}").status_code == 200
            assert client.get(f"/campaigns/{one['key']}/posts").status_code == 409
            assert client.post(f"/api/v1/campaigns/{one['key']}/pause", headers=BEARER).status_code == 409


def test_a_folder_without_campaigns_says_how_to_begin(tmp_path):
    with serving(tmp_path) as client:
        assert "socialcrawl init" in client.get("/").text
