"""No token travels unencrypted to another machine, unless the campaign file permits it."""

import json
import re
import sqlite3
from contextlib import closing

import pytest
from commands import socialcrawl
from x_crawls import TOKEN_ENV, TOPIC, campaign_of, crawl, posts

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings, read
from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.system.files import find_folder

ELSEWHERE = "http://192.0.2.1"  # an address that nobody has
CONTACT = {"contact": "mailto:me@example.org"}
OAUTH = {"env": ["KEY", "KEY_SECRET", "TOKEN", "TOKEN_SECRET"]}
SIGNED = {
    "the bearer token of X": {"platform": "x"},
    "a bearer token of X by its name": {"platform": "x", "token_env": "MINE"},
    "the four secrets of OAuth": {"platform": "x", "tokens": [OAUTH]},
    "an app password of Bluesky": {"platform": "bluesky", "identifier": "me.example", "token_env": "MINE"},
    "a token of Mastodon": {"platform": "mastodon", "token_env": "MINE", **CONTACT},
}
UNSIGNED = {
    "Bluesky": {"platform": "bluesky"},
    "Mastodon": {"platform": "mastodon", **CONTACT},
    "the web": {"platform": "web", **CONTACT},
}
REFUSED = "would be sent unencrypted to {} *, where anyone on the way can read it.*https://.*set insecure = true"


def campaign(base_url, **source):
    seeds = {"search": False, "usernames": ["https://example.org/"]} if source["platform"] == "web" else {}
    told = {"name": "a", "topic": {"keywords": ["sky"]}, "seeds": seeds, "budget": {"max_money": 1.0}}
    return check_settings(told | {"source": {"base_url": base_url, **source}}, "a.toml")


def file_of(place, url=ELSEWHERE, more=""):
    file = place / "a.toml"
    file.write_text(
        f'name = "a"\ndatabase = "a.db"\n[topic]\nkeywords = {json.dumps([TOPIC])}\n[budget]\nmax_money = 1.0\n'
        f'[source]\nbase_url = "{url}"\ntimeout = 5.0\n{more}\n'
    )
    return file


@pytest.mark.parametrize("base", [ELSEWHERE, "http://api.example", "http://10.0.0.1:8000", "http://[fd00::1]"])
@pytest.mark.parametrize("source", SIGNED.values(), ids=list(SIGNED))
def test_a_token_is_refused_where_it_would_travel_unencrypted_also_in_a_private_network(source, base):
    with pytest.raises(SettingsError, match=REFUSED.format(re.escape(base))):
        make_plan(campaign(base, **source))


@pytest.mark.parametrize("source", SIGNED.values(), ids=list(SIGNED))
def test_a_token_may_go_to_this_machine_over_https_or_where_the_file_permits_it(source):
    for base in ("http://127.0.0.1:8000", "http://[::1]:8000", "http://localhost:8000", "https://api.example"):
        assert not make_plan(campaign(base, **source)).is_exposed
        assert not make_plan(campaign(base, insecure=True, **source)).is_exposed
    assert make_plan(campaign(ELSEWHERE, insecure=True, **source)).is_exposed


@pytest.mark.parametrize("source", UNSIGNED.values(), ids=list(UNSIGNED))
def test_a_campaign_without_a_token_may_use_http(source):
    assert not make_plan(campaign(ELSEWHERE, **source)).is_exposed


def test_the_address_in_a_policy_file_is_looked_at_too(tmp_path):
    table = (find_folder("config") / "x.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(re.sub(r'(?m)^base_url = ".*"', f'base_url = "{ELSEWHERE}"', table), "utf-8")
    with pytest.raises(SettingsError, match=REFUSED.format(re.escape(ELSEWHERE))):
        make_plan(campaign(None, platform="x", policy=str(tmp_path / "mine.toml")))


@pytest.mark.parametrize("command", [["check"], ["quote"], ["doctor", "--offline"], ["run", "--yes"]])
def test_every_command_refuses_such_a_campaign_and_sends_nothing(tmp_path, command):
    child = socialcrawl(*command, file_of(tmp_path), folder=tmp_path)
    said = " ".join((child.stdout + child.stderr).split())
    assert child.returncode != 0
    assert f"sent unencrypted to {ELSEWHERE}" in said
    assert "set insecure = true there" in said
    assert not (tmp_path / "a.db").exists()


def test_where_it_is_permitted_check_and_doctor_warn(tmp_path):
    file = file_of(tmp_path, more="insecure = true")
    checked_by = socialcrawl("check", file)
    assert checked_by.returncode == 0
    assert f"WARN   {file}: [source] insecure = true: the token is sent unencrypted to {ELSEWHERE}" in checked_by.stdout
    examined = socialcrawl("doctor", "--offline", file)
    assert examined.returncode == 0
    assert re.search(r"warn +tokens +\[source\] insecure = true: the token is sent unencrypted", examined.stdout)
    assert socialcrawl("quote", file).returncode == 0


def test_the_setting_belongs_to_no_campaigns_identity(tmp_path):
    plain, permitted = read(file_of(tmp_path)), read(file_of(tmp_path, more="insecure = true"))
    assert plain.identity([]) == permitted.identity([])


def test_a_campaign_of_before_keeps_all_that_it_stored_and_goes_on_once_it_is_permitted(tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN_ENV, "a-token-of-a-test")
    path, sections = tmp_path / "a.db", {"budget": {"max_money": 500.0}}

    def count(table):
        with closing(sqlite3.connect(path)) as database:
            return database.execute(f"select count(*) from {table}").fetchone()[0]

    with serve_in_thread(posts(), limit=100_000) as mock:
        crawl(campaign_of(mock.url, path, crawl={"steps": 3}, **sections))
        with closing(sqlite3.connect(path)) as database, database:  # the setting is newer than the campaign
            database.execute("update campaign set settings = json_remove(settings, '$.source.insecure')")
            database.execute("update version set settings = json_remove(settings, '$.source.insecure')")
        picks, posted, epochs = count("pick"), count("post"), count("epoch")
        source = {"base_url": mock.url.replace("127.0.0.1", "0.0.0.0")}  # this machine too, but no loopback address
        with pytest.raises(SettingsError, match="unencrypted"):
            crawl(campaign_of(None, path, crawl={"steps": 6}, source=source, **sections))
        assert (count("pick"), count("post")) == (picks, posted)
        source["insecure"] = True
        crawl(campaign_of(None, path, crawl={"steps": 6}, source=source, **sections))
    assert (count("pick"), count("epoch")) == (picks + 3, epochs)
    assert count("post") >= posted
    assert socialcrawl("report", "--db", path).returncode == 0
