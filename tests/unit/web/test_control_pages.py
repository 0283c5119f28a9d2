"""Buttons and forms of a campaign, and their part of the API: who may use them, and what they do to its file."""

import html
import re
import shutil
import socket
import time

import pytest
from api_campaigns import run_example
from campaign_forms import read_fields
from stores import opened
from web_pages import TOKEN, PageShape, log_in, serving

import socialcrawl as sc
from socialcrawl.daemon import database_readings
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignHeartbeat
from socialcrawl.web.control_pages import MOST_NAMES

BEARER = {"authorization": f"Bearer {TOKEN}"}
HOSTILE = "<script>alert(1)</script>"
BUTTONS = ("start", "stop", "restart", "budget", "seeds", "exclude")
FILE = """# what this is about
name = "example"
database = "example.db"
[topic]
keywords = ["telescope"]
[seeds]
usernames = ["ann"]  # whom we met
[crawl]
steps = 35
[budget]
max_money = 5  # dollars
[source]
token_env = "SOCIALCRAWL_UNSET_TOKEN"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("control")
    run_example(folder)
    return folder / "example.db"


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    monkeypatch.delenv("SOCIALCRAWL_UNSET_TOKEN", raising=False)
    shutil.copy(made, tmp_path / "example.db")
    (tmp_path / "one.toml").write_text(FILE, "utf-8")
    return tmp_path


@pytest.fixture
def client(folder):
    with serving(folder) as one:
        yield one


@pytest.fixture
def key(client):
    return client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]


def read(folder):
    return (folder / "one.toml").read_text("utf-8")


def post(client, key, what, csrf, **fields):
    """The answer to a form of the page of a campaign, with the digest that it shows."""
    return client.post(f"/campaigns/{key}/{what}", data={"csrf": csrf, "digest": digest(client, key), **fields})


def digest(client, key):
    return client.get(f"/api/v1/campaigns/{key}/budget").json()["digest"]


def budget(**values):
    """The fields of the form of the budget, as browsers send them."""
    return {f"has_{name}": "1" for name in values} | values


def state(client, key):
    return client.get(f"/api/v1/campaigns/{key}").json()["state"]


def wait_for(client, key, wanted):
    """Wait until the pages know a state that others have written: they do not read a database all the time."""
    ends = time.monotonic() + 60
    while (found := state(client, key)) != wanted:
        assert time.monotonic() < ends, found
        time.sleep(0.05)


def test_nothing_is_started_stopped_or_changed_without_the_token_and_the_csrf_token(client, key, folder):
    forms = {"accounts": "cleo", "has_steps": "1", "steps": "99"}
    body = {"accounts": ["cleo"], "steps": 99}
    for what in BUTTONS:
        assert client.get(f"/campaigns/{key}/{what}").status_code == 303, what
        assert client.get(f"/api/v1/campaigns/{key}/{what}").status_code in (200, 404, 405), "only a budget is read"
        assert client.post(f"/campaigns/{key}/{what}", data=forms).status_code == 401, what
        assert client.post(f"/api/v1/campaigns/{key}/{what}", json=body).status_code == 401, what
    log_in(client)
    for what in BUTTONS:
        for csrf in ({}, {"csrf": "0" * 64}):
            assert client.post(f"/campaigns/{key}/{what}", data={**forms, **csrf}).status_code == 403, what
        assert client.post(f"/api/v1/campaigns/{key}/{what}", json=body).status_code == 403, what
    for path in ("", "/control"):
        client.get(f"/campaigns/{key}{path}")
    assert (read(folder), state(client, key)) == (FILE, "idle")


def test_the_address_of_a_form_that_was_refused_leads_back_to_the_page_that_has_it(client, key):
    for what, place in (("start", ""), ("resume", ""), ("budget", "/control"), ("exclude", "/control")):
        page = client.get(f"/campaigns/{key}/{what}")
        assert (page.status_code, page.headers["location"]) == (303, f"/campaigns/{key}{place}")
    assert client.get(f"/campaigns/{key}/nothing").status_code == 405
    assert client.get("/api/v1/campaigns/x/start").status_code == 405


def test_tabs_of_a_new_campaign_say_that_there_is_nothing_yet_and_how_to_start_it(tmp_path):
    (tmp_path / "one.toml").write_text(FILE, "utf-8")
    with serving(tmp_path) as client:
        log_in(client)
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        for path in ("network", "next", "export", "search"):
            page = client.get(f"/campaigns/{key}/{path}")
            if page.status_code == 200:
                continue
            assert "<h1>Nothing to show yet</h1>" in page.text, path
            assert "Conflict" not in page.text
            assert f'<a href="/campaigns/{key}">Start it</a>' in page.text
            assert f'href="/campaigns/{key}/edit">Edit</a>' in page.text, "the tabs stay"
        assert client.get(f"/campaigns/{key}/network").status_code == 409


def test_a_form_of_a_session_that_has_ended_is_kept_while_somebody_logs_in_and_sent_again(client, key, folder):
    log_in(client)
    form = read_form(client.get(f"/campaigns/{key}/control").text) | {"max_money": "7", "max_requests": '"<9>'}
    client.cookies.clear()
    page = client.post(f"/campaigns/{key}/budget", data=form | {"source.token_env": HOSTILE})
    assert (page.status_code, page.headers["www-authenticate"]) == (401, "Bearer")
    assert "Your session has ended" in page.text
    assert HOSTILE not in html.unescape(page.text), "it may be a secret"
    kept = html.unescape(re.search(r'name="kept" value="([^"]*)"', page.text)[1])
    wrong = client.post("/login", data={"token": "no", "kept": kept})
    assert kept in html.unescape(wrong.text)
    page = client.post("/login", data={"token": TOKEN, "kept": kept})
    assert f'action="/campaigns/{key}/budget"' in page.text
    again = {name: html.unescape(text) for name, text in re.findall(r'name="([^"]+)" value="([^"]*)"', page.text)}
    assert again.pop("csrf") != form.pop("csrf")
    assert again == {name: text for name, text in form.items() if text}
    assert read(folder) == FILE
    sent = dict(re.findall(r'name="(csrf|digest)" value="([^"]*)"', page.text)) | {
        "has_max_money": "1",
        "max_money": "7",
    }
    assert client.post(f"/campaigns/{key}/budget", data=sent).status_code == 303
    elsewhere = client.post("/login", data={"token": TOKEN, "kept": '["//evil.example", {}]'})
    assert (elsewhere.status_code, elsewhere.headers["location"]) == (303, "/")


def test_the_forms_are_shown_to_whoever_may_use_them_with_what_the_file_says(client, key):
    assert 'method="post"' not in client.get(f"/campaigns/{key}").text
    log_in(client)
    page = client.get(f"/campaigns/{key}").text
    for name, value in (("steps", "35"), ("max_money", "5"), ("max_requests", "")):
        assert re.search(rf'name="{name}" value="{value}"', page), name
    assert "Save and start" in page
    assert [word for word in ("Start", "Pause", "Stop") if f">{word}</button>" in page] == ["Start"]


def test_a_budget_is_raised_and_a_limit_removed_and_comments_stay(client, key, folder):
    csrf = log_in(client)
    done = post(client, key, "budget", csrf, **budget(steps="1,200", max_money="7.5", max_requests="5000"))
    assert (done.status_code, done.headers["location"]) == (303, f"/campaigns/{key}/control?saved=budget")
    given = sc.CampaignFile.load(folder / "one.toml").values
    assert (given["crawl"]["steps"], given["budget"]) == (1200, {"max_money": 7.5, "max_requests": 5000})
    assert "# whom we met" in read(folder)
    assert "This takes effect at the next start." in client.get(done.headers["location"]).text
    post(client, key, "budget", csrf, **budget(max_requests=""))
    assert sc.CampaignFile.load(folder / "one.toml").values["budget"] == {"max_money": 7.5}
    again = post(client, key, "budget", csrf, **budget(steps="1200"))
    assert "nothing has changed" in client.get(again.headers["location"]).text


def test_what_is_wrong_is_said_beside_its_field_and_the_file_stays(client, key, folder):
    csrf = log_in(client)
    for value, said in (("-1", "1 or more"), ("many", "whole number"), ("1,5", "whole number")):
        page = post(client, key, "budget", csrf, **budget(steps=value, max_money="9"))
        assert page.status_code == 422
        assert re.search(rf'id="budget-steps-wrong">[^<]*{said}', page.text), page.text
        assert f'name="steps" value="{value}"' in page.text
        assert 'name="max_money" value="9"' in page.text
    page = post(client, key, "exclude", csrf, accounts=f"ann {HOSTILE}")
    assert page.status_code == 422
    assert HOSTILE in html.unescape(page.text)
    assert ("script", []) not in PageShape(page.text).tags
    assert read(folder) == FILE


def test_the_name_of_an_accounts_page_is_one_name_or_none(client, key, folder):
    csrf = log_in(client)
    page = post(client, key, "exclude", csrf, account="Jane Doe")
    assert (page.status_code, "&#39;Jane Doe&#39; is no name of an account" in page.text) == (422, True)
    assert read(folder) == FILE
    known = client.get(f"/campaigns/{key}/account", params={"name": "nobody"}).text
    assert 'name="account" value="nobody"' in known
    assert known.count("<button>Use as a seed</button>") == 1
    by_id = client.get(f"/campaigns/{key}/account", params={"name": "2540314497325034883"}).text
    assert ("Use as a seed" in by_id, "so it cannot be a seed" in by_id) == (False, True)
    assert post(client, key, "exclude", csrf, account="eve").status_code == 303
    assert 'exclude = ["eve"]' in read(folder)


def test_a_file_that_somebody_else_has_changed_is_a_conflict_and_not_overwritten(client, key, folder):
    csrf, before = log_in(client), digest(client, key)
    (folder / "one.toml").write_text(FILE.replace("steps = 35", "steps = 40"), "utf-8")
    for what, fields in (("budget", budget(steps="99")), ("seeds", {"accounts": "cleo"})):
        page = client.post(f"/campaigns/{key}/{what}", data={"csrf": csrf, "digest": before, **fields})
        assert page.status_code == 409
        assert "changed" in page.text
    refused = client.post(f"/api/v1/campaigns/{key}/budget", json={"steps": 99, "digest": before}, headers=BEARER)
    assert (refused.status_code, refused.headers["content-type"]) == (409, "application/problem+json")
    assert "steps = 40" in read(folder)


def read_form(page):
    """The hidden and visible fields of the form of the budget, as a browser sends them back."""
    form = re.search(r"<h3>Budget</h3>.*?</form>", page, re.DOTALL)[0]
    found = [(re.search(r' name="([\w-]+)"', one), re.search(r' value="([^"]*)"', one)) for one in form.split("<input")]
    return {name[1]: html.unescape(value[1]) for name, value in found if name and value}


def test_a_limit_that_somebody_else_has_set_is_shown_and_stays_when_another_tab_saves_twice(client, key, folder):
    log_in(client)
    mine, theirs = (read_form(client.get(f"/campaigns/{key}/control").text) for _ in range(2))
    assert client.post(f"/campaigns/{key}/budget", data=theirs | {"max_requests": "1000"}).status_code == 303
    page = client.post(f"/campaigns/{key}/budget", data=mine | {"max_money": "7"})
    assert page.status_code == 409
    assert re.search(r"Requests</th><td>no limit</td><td>1000</td><td>1000</td>", page.text), page.text
    assert "One.toml" not in page.text, "a path has no capital"
    again = read_form(page.text)
    assert (again["max_money"], again["max_requests"]) == ("7", "1000")
    assert client.post(f"/campaigns/{key}/budget", data=again).status_code == 303
    assert sc.CampaignFile.load(folder / "one.toml").values["budget"] == {"max_money": 7, "max_requests": 1000}


def test_seeds_are_put_on_top_of_a_file_that_somebody_else_has_changed_once_that_was_said(client, key, folder):
    csrf, before = log_in(client), digest(client, key)
    (folder / "one.toml").write_text(FILE.replace('["ann"]', '["ann", "dora"]'), "utf-8")
    page = client.post(f"/campaigns/{key}/seeds", data={"csrf": csrf, "digest": before, "accounts": "cleo"})
    assert (page.status_code, "cleo</textarea>" in page.text) == (409, True)
    assert post(client, key, "seeds", csrf, accounts="cleo").status_code == 303
    assert sc.CampaignFile.load(folder / "one.toml").values["seeds"]["usernames"] == ["ann", "dora", "cleo"]


def test_of_two_people_who_raise_a_budget_by_the_api_at_once_one_is_told_and_no_edit_is_lost(client, key, folder):
    path, seen = f"/api/v1/campaigns/{key}/budget", digest(client, key)
    first, second = (
        client.post(path, json={"max_money": dollars, "digest": seen}, headers=BEARER) for dollars in (20, 30)
    )
    assert (first.status_code, second.status_code) == (200, 409)
    assert "was changed since you have seen it" in second.json()["detail"]
    assert client.post(path, json={"max_money": 30}, headers=BEARER).status_code == 422, "nobody overwrites unseen"
    csrf = log_in(client)
    unseen = client.post(f"/campaigns/{key}/budget", data={"csrf": csrf, **budget(max_money="30")})
    assert unseen.status_code == 409
    assert sc.CampaignFile.load(folder / "one.toml").values["budget"] == {"max_money": 20}
    wrong = client.post(path, json={"steps": -1, "digest": first.json()["digest"]}, headers=BEARER)
    assert [one["key"] for one in wrong.json()["problems"]] == ["crawl.steps"]


def test_seeds_are_added_and_accounts_excluded_once_each(client, key, folder):
    csrf = log_in(client)
    done = post(client, key, "seeds", csrf, accounts="@cleo,\ndora ann")
    assert "new epoch" in client.get(done.headers["location"]).text
    post(client, key, "exclude", csrf, accounts="*_bot\r\neve")
    given = sc.CampaignFile.load(folder / "one.toml").values
    assert given["seeds"]["usernames"] == ["ann", "cleo", "dora"]
    assert given["accounts"]["exclude"] == ["*_bot", "eve"]
    told = client.post(f"/api/v1/campaigns/{key}/exclude", json={"accounts": ["eve"]}, headers=BEARER).json()
    assert (told["changed"], told["effect"]) == (False, "The file said so already: nothing has changed.")
    told = client.post(f"/api/v1/campaigns/{key}/seeds", json={"accounts": ["fay"]}, headers=BEARER).json()
    assert (told["changed"], told["digest"]) == (True, digest(client, key))


def test_an_account_is_a_seed_or_excluded_from_its_own_page(client, key, folder):
    csrf = log_in(client)
    name = client.get(f"/api/v1/campaigns/{key}/accounts").json()["accounts"][0]["account"]
    page = client.get(f"/campaigns/{key}/account", params={"name": name}).text
    assert f'name="account" value="{name}"' in page
    assert client.post(f"/campaigns/{key}/exclude", data={"csrf": csrf, "accounts": name}).status_code == 303
    assert sc.CampaignFile.load(folder / "one.toml").values["accounts"]["exclude"] == [name]
    pattern = client.get(f"/campaigns/{key}/account", params={"name": "a*"}).text
    assert "/seeds" in pattern
    assert "/exclude" not in pattern, "a name that is a pattern would exclude others too"


def test_what_the_file_says_of_an_account_is_shown_on_its_page_and_taken_back_there(client, key, folder):
    csrf, account = log_in(client), f"/campaigns/{key}/account"
    name = client.get(f"/api/v1/campaigns/{key}/accounts").json()["accounts"][0]["account"]
    for what, said, button, path in (
        ("seeds", "names it as a seed", "Remove from the seeds", ("seeds", "usernames")),
        ("exclude", "excludes it: it is not read", "Allow again", ("accounts", "exclude")),
    ):
        before = sc.CampaignFile.load(folder / "one.toml").settings[path[0]][path[1]]
        assert said not in client.get(account, params={"name": name}).text
        post(client, key, what, csrf, accounts=f"@{name.upper()} other")
        page = client.get(account, params={"name": name}).text
        assert said in page
        assert f">{button}</button>" in page
        assert f'name="remove" value="{name}"' in page
        control = client.get(f"/campaigns/{key}/control").text
        assert f'name="remove" value="{name.upper()}" formnovalidate' in control
        saved = post(client, key, what, csrf, remove=name)
        assert (saved.status_code, saved.headers["location"][-len(what) :]) == (303, what)
        assert sc.CampaignFile.load(folder / "one.toml").settings[path[0]][path[1]] == [*before, "other"]
        given = {"accounts": ["other"], "remove": True}
        assert client.post(f"/api/v1/campaigns/{key}/{what}", json=given, headers=BEARER).json()["changed"]
        assert not client.post(f"/api/v1/campaigns/{key}/{what}", json=given, headers=BEARER).json()["changed"]
        assert sc.CampaignFile.load(folder / "one.toml").settings[path[0]][path[1]] == before


def test_an_account_that_was_to_be_removed_is_not_put_into_the_form_that_adds(client, key, folder):
    csrf, before = log_in(client), digest(client, key)
    (folder / "one.toml").write_text(FILE.replace('["ann"]', '["ann", "dora"]'), "utf-8")
    page = client.post(f"/campaigns/{key}/seeds", data={"csrf": csrf, "digest": before, "remove": "ann"})
    assert (page.status_code, "Press Remove again" in page.text) == (409, True)
    assert "ann</textarea>" not in page.text
    assert sc.CampaignFile.load(folder / "one.toml").values["seeds"]["usernames"] == ["ann", "dora"]


def test_of_many_names_the_first_are_shown_and_the_rest_counted(client, key, folder):
    csrf = log_in(client)
    post(client, key, "exclude", csrf, accounts="\n".join(f"user{number}" for number in range(MOST_NAMES + 20)))
    page = client.get(f"/campaigns/{key}/control").text
    assert page.count('name="remove"') == MOST_NAMES + 1, "and one seed"
    assert "20 more" in page


def test_without_its_token_a_campaign_is_not_started_and_the_variable_is_named(client, key):
    csrf = log_in(client)
    page = client.post(f"/campaigns/{key}/start", data={"csrf": csrf})
    assert page.status_code == 409
    assert "SOCIALCRAWL_UNSET_TOKEN" in page.text
    assert "stop these pages, and start them again" in page.text
    told = client.post(f"/api/v1/campaigns/{key}/start", headers=BEARER)
    assert (told.status_code, "SOCIALCRAWL_UNSET_TOKEN" in told.json()["detail"]) == (409, True)
    assert state(client, key) == "idle"


def test_a_spent_budget_is_said_and_the_way_to_raise_it_is_offered_instead_of_a_start(client, key, folder):
    csrf = log_in(client)
    sent = client.get(f"/api/v1/campaigns/{key}").json()["requests"]
    (folder / "one.toml").write_text(FILE.replace("max_money = 5", f"max_requests = {sent}"), "utf-8")
    why = f"the budget of {sent} requests is spent"
    for page in (client.get("/").text, client.get(f"/campaigns/{key}").text):
        assert why in page
        assert f'<a href="/campaigns/{key}/control">Raise its budget</a>' in page
        assert ">Start</button>" not in page
    refused = client.post(f"/campaigns/{key}/start", data={"csrf": csrf})
    assert refused.status_code == 409
    assert f"There is nothing left to do: {why}." in refused.text
    assert f'<a href="/campaigns/{key}/control">Raise its budget</a>' in refused.text


def test_a_button_of_the_overview_leads_back_to_it_and_nowhere_else(client, key):
    csrf = log_in(client)
    for back, leads in (("/?state=idle", "/?state=idle"), ("/", "/"), ("//evil.example", f"/campaigns/{key}"),
                        ("https://evil.example", f"/campaigns/{key}"), ("", f"/campaigns/{key}")):  # fmt: skip
        for what in ("pause", "resume"):
            done = client.post(f"/campaigns/{key}/{what}", data={"csrf": csrf, "back": back})
            assert (done.status_code, done.headers["location"]) == (303, leads)


def test_what_may_cost_more_than_was_agreed_is_asked_for_first(client, key, folder, monkeypatch):
    monkeypatch.setenv("SOCIALCRAWL_UNSET_TOKEN", "a-token")
    (folder / "one.toml").write_text(FILE.replace("max_money = 5", "confirm_above = 0.01\nmax_money = 500"), "utf-8")
    csrf = log_in(client)
    page = client.post(f"/campaigns/{key}/start", data={"csrf": csrf})
    assert page.status_code == 409
    assert "This run may cost up to" in page.text
    assert 'name="accept_cost" value="yes"' in page.text
    assert "a-token" not in page.text


def test_a_campaign_that_a_process_has_is_not_started_and_the_page_says_which_has_it(client, key, folder, monkeypatch):
    monkeypatch.setenv("SOCIALCRAWL_UNSET_TOKEN", "a-token")
    now = time.time()
    with opened(folder / "example.db") as connection:
        daemons.enroll_daemon(connection, "d", "elsewhere", 4711, now)
        beat = CampaignHeartbeat("example", "waiting", "for its window", None, now, held=True, since=now)
        daemons.write_heartbeat(connection, "d", [beat], now)
    csrf = log_in(client)
    wait_for(client, key, "waiting")
    page = client.get(f"/campaigns/{key}").text
    assert [word for word in ("Start", "Pause", "Stop") if f">{word}</button>" in page] == ["Pause", "Stop"]
    assert "Save and" not in page, "the daemon takes a changed file up by itself"
    refused = client.post(f"/campaigns/{key}/start", data={"csrf": csrf, "accept_cost": "yes"})
    assert refused.status_code == 409
    assert "Process 4711 on elsewhere runs the campaign" in html.unescape(refused.text)
    saved = post(client, key, "budget", csrf, **budget(steps="31"))
    assert "reads this very file" in client.get(saved.headers["location"]).text, "it may have a copy of its own"


def test_stop_is_said_in_words_and_start_and_resume_end_it(client, key, folder):
    csrf = log_in(client)
    assert client.post(f"/campaigns/{key}/stop", data={"csrf": csrf}).status_code == 303
    one = client.get(f"/api/v1/campaigns/{key}").json()
    assert (one["state"], "stopped by a person at" in one["why"]) == ("stopped", True)
    told = client.post(f"/api/v1/campaigns/{key}/stop", headers=BEARER).json()
    assert told["changed"] is False
    assert ">Start</button>" in client.get(f"/campaigns/{key}").text
    assert sc.open_project(folder).pause("example"), "a pause is another thing"
    wait_for(client, key, "paused")
    assert client.post(f"/campaigns/{key}/stop", data={"csrf": csrf}).status_code == 303
    assert client.post(f"/api/v1/campaigns/{key}/resume", headers=BEARER).json()["changed"]
    assert state(client, key) == "idle"


def test_a_campaign_that_a_command_has_paused_is_neither_stopped_nor_started(client, key, folder, monkeypatch):
    monkeypatch.setenv("SOCIALCRAWL_UNSET_TOKEN", "a-token")
    with opened(folder / "example.db") as connection:
        by = daemons.Pauser("forget", 12, socket.gethostname())
        daemons.pause_campaigns(connection, ["example"], 1.0, by)
    for what, body in (("start", {"accept_cost": True}), ("stop", None)):
        refused = client.post(f"/api/v1/campaigns/{key}/{what}", json=body, headers=BEARER)
        assert refused.status_code == 409
        assert "paused until `socialcrawl forget` is done" in refused.json()["detail"]


def test_a_campaign_without_a_file_says_where_it_can_be_changed(made, tmp_path):
    shutil.copy(made, tmp_path / "alone.db")
    with serving(tmp_path) as client:
        log_in(client)
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        page = client.get(f"/campaigns/{key}").text
        assert "no campaign file here" in page
        assert ">Start</button>" not in page
        for what, body in (("start", {}), ("budget", {"steps": 9, "digest": "0"}), ("seeds", {"accounts": ["ann"]})):
            refused = client.post(f"/api/v1/campaigns/{key}/{what}", json=body, headers=BEARER)
            assert refused.status_code in (409, 422)
            assert "no campaign file here" in refused.json()["detail"]


def test_kinds_have_the_forms_that_have_an_effect(tmp_path):
    for kind, more in (("refresh", ""), ("capture", '[topic]\nkeywords = ["sky"]\n[capture]\nfrom = "2026-01-01"\n')):
        text = f'name = "{kind}"\nkind = "{kind}"\ndatabase = "{kind}.db"\n{more}'
        (tmp_path / f"{kind}.toml").write_text(text, "utf-8")
    with serving(tmp_path) as client:
        log_in(client)
        for one in client.get("/api/v1/campaigns").json()["campaigns"]:
            page = client.get(f"/campaigns/{one['key']}/control").text
            assert 'name="max_requests"' in page, one["name"]
            assert ("Add seeds" in page) is False, one["name"]


def test_a_budget_of_a_paused_campaign_is_said_to_wait_and_the_page_offers_to_resume_it(
    client, key, folder, monkeypatch
):
    now = time.time() + 3600  # so that the daemon is alive however slow this machine is
    with opened(folder / "example.db") as connection:
        daemons.enroll_daemon(connection, "d", "elsewhere", 4711, now)
        beat = CampaignHeartbeat("example", "waiting", "for its window", None, now, held=False, since=now)
        daemons.write_heartbeat(connection, "d", [beat], now)
        daemons.pause_campaigns(connection, ["example"], now)
    monkeypatch.setattr(database_readings, "REST", 1e9)  # what the pages read before all this is good enough to look at
    csrf = log_in(client)
    saved = post(client, key, "budget", csrf, **budget(steps="31"))
    page = client.get(saved.headers["location"]).text
    assert "the campaign is paused until you resume it" in page
    assert f'action="/campaigns/{key}/resume"' in page
    assert ">Resume it</button>" in page
    with opened(folder / "example.db") as connection:
        daemons.resume_campaigns(connection, ["example"])
    asked = {"json": {"steps": 32, "digest": digest(client, key)}, "headers": BEARER}
    assert "; the campaign goes on." in client.post(f"/api/v1/campaigns/{key}/budget", **asked).json()["effect"]


OLD = """name = "old"
kind = "refresh"
database = "old.db"
[budget]
max_money = 5
[source]
token_env = "SOCIALCRAWL_UNSET_TOKEN"
"""


def test_a_refresh_without_a_dataset_is_not_started_and_form_and_estimate_name_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SOCIALCRAWL_UNSET_TOKEN", "a-token")
    (tmp_path / "old.toml").write_text(OLD, "utf-8")
    command = f"socialcrawl import FILES --as dataset --db {(tmp_path / 'old.toml')}"
    with serving(tmp_path) as client:
        csrf, key = log_in(client), client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        page = client.get(f"/campaigns/{key}/edit")
        form = read_fields(page).values | {"-do": "quote"}
        quoted = client.post(f"/campaigns/{key}/edit", data=form, headers={"x-part": "1"})
        refused = client.post(f"/campaigns/{key}/start", data={"csrf": csrf})
        assert refused.status_code == 409
        for said in (page.text, quoted.text, refused.text):
            assert command in html.unescape(said)
        assert state(client, key) == "idle"


def test_a_campaign_that_waits_to_be_tried_again_is_said_to_wait_and_can_be_tried_now_and_stopped(client, key, folder):
    now = time.time() + 3600  # so that the daemon is alive however slow this machine is
    with opened(folder / "example.db") as connection:
        daemons.enroll_daemon(connection, "d", "elsewhere", 4711, now)
        beat = CampaignHeartbeat(
            "example", "stopped", "the dataset is gone; it is tried again", now + 900, now, held=False, since=now
        )
        daemons.write_heartbeat(connection, "d", [beat], now)
    log_in(client)
    wait_for(client, key, "waiting")
    page = client.get(f"/campaigns/{key}").text
    words = ("Start", "Pause", "Resume", "Try now", "Stop")
    assert [word for word in words if f">{word}</button>" in page] == ["Try now", "Stop"]
    assert "Failed: the dataset is gone" in page
