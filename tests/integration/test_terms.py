"""What platforms and instances ask of those who collect is said where it matters, once, and safe for a terminal."""

import io
import json

import pytest
from bluesky_posts import Sky as Server
from exported_towns import town
from refresh_campaigns import brought, revived, written
from rich.console import Console
from stores import opened
from test_export_cli import command  # noqa: F401 - a fixture
from typer.testing import CliRunner
from x_crawls import posts

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings, read
from socialcrawl.campaign.template_file import write_campaign_file
from socialcrawl.cli.commands.doctor import run_checks
from socialcrawl.cli.main import app
from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.bluesky.platform import BlueskyPlatform
from socialcrawl.platforms.http_client import HttpClient
from socialcrawl.platforms.mastodon.instance_rules import LONGEST, read_about
from socialcrawl.platforms.registry import find_platform
from socialcrawl.platforms.server_info import InstanceRules


def test_a_template_of_mastodon_names_no_instance_and_says_that_one_is_to_be_chosen(tmp_path):
    file = tmp_path / "mine.toml"
    write_campaign_file(file, ["rust"], "mastodon")
    assert "mastodon.social" not in file.read_text("utf-8").replace("alice@mastodon.social", "")
    with pytest.raises(SettingsError, match="No instance is named: set base_url under \\[source\\]"):
        make_plan(read(file))
    text = file.read_text("utf-8").replace('base_url = ""', 'base_url = "https://social.example"')
    file.write_text(text.replace('contact = ""', 'contact = "mailto:me@example.org"'), "utf-8")
    assert make_plan(read(file)).base == "https://social.example"


def test_a_file_without_an_instance_means_what_it_always_meant():
    source = {"platform": "mastodon", "contact": "mailto:me@example.org"}
    given = {"name": "a", "topic": {"keywords": ["x"]}, "source": source}
    assert make_plan(check_settings(given, "test")).base == "https://mastodon.social"


@pytest.mark.parametrize("name", ["x", "bluesky", "web"])
def test_an_empty_address_is_none_on_other_platforms(name):
    with pytest.raises(SettingsError, match="base_url: write the address of a server"):
        check_settings(
            {"name": "a", "topic": {"keywords": ["x"]}, "source": {"platform": name, "base_url": ""}}, "test"
        )


def campaign_of_instance(folder, url, more=""):
    """A campaign file that asks the instance of Mastodon at an address."""
    file = folder / "a.toml"
    file.write_text(
        f'name = "a"\ndatabase = "{folder}/a.db"\n[topic]\nkeywords = ["rust"]\n'
        f'[source]\nplatform = "mastodon"\nbase_url = "{url}"\n{more}\n'
    )
    return file


def seen(file):
    console = Console(file=io.StringIO(), width=200)
    code = run_checks(file, console)
    return code, console.file.getvalue()


def test_the_doctor_shows_the_rules_of_the_instance_and_where_its_terms_are(tmp_path):
    with serve_in_thread(posts(), platforms=("mastodon",)) as mock:
        code, told = seen(campaign_of_instance(tmp_path, mock.url, 'domain = "home.example"'))
    assert code == 0, told
    assert "2. Ask before you collect posts for research." in told
    assert "terms: https://home.example/terms-of-service" in told
    assert "privacy: https://home.example/privacy-policy" in told


def test_the_doctor_shows_the_rules_of_any_platform_that_has_some(tmp_path, monkeypatch):
    with serve_in_thread(posts(), platforms=("bluesky",)) as mock:
        file = tmp_path / "a.toml"
        write_campaign_file(file, ["rust"], "bluesky")
        file.write_text(file.read_text("utf-8").replace("[source]", f'[source]\nbase_url = "{mock.url}"'), "utf-8")
        assert "rules" not in seen(file)[1]
        rules = InstanceRules(["Knock first."], {"terms": "https://house.example/terms"})
        monkeypatch.setattr(BlueskyPlatform, "make_rules_reader", lambda platform, wire: lambda: rules)
        _, told = seen(file)
    assert "and two for the rules of the instance" in told
    assert "1. Knock first." in told
    assert "terms: https://house.example/terms" in told


def about(says):
    with Server(says) as server:
        http = HttpClient(server.url, lambda: 0.0, 5.0, "", None)
        try:
            return read_about(http, server.url), server.asked
        finally:
            http.close()


def test_rules_are_read_by_two_requests_and_cut_to_a_line():
    def says(path, *_):
        if path.endswith("rules"):
            return 200, {}, [{"text": "One\n\nrule"}, {"text": "x" * 1000}, {"no": 1}, "odd"]
        return 200, {}, {"configuration": {"urls": {"terms_of_service": "javascript:1", "about": "https://a.example"}}}

    found, asked = about(says)
    assert [path for path, *_ in asked] == ["/api/v1/instance/rules", "/api/v2/instance"]
    assert found.rules[0] == "One rule"
    assert [len(rule) for rule in found.rules] == [8, LONGEST]
    assert found.addresses == {"about": "https://a.example"}


@pytest.mark.parametrize("body", [b"", b"[", b"{}", b"null", b"[" * 5000, json.dumps({"configuration": []}).encode()])
def test_whatever_an_instance_says_of_itself_raises_nothing(body):
    for status in (200, 404, 500):
        found, _ = about((status, {}, body))
        assert (found.rules, found.addresses) == (None, {})


def test_rules_cannot_move_the_cursor_of_a_terminal(tmp_path):
    def says(path, *_):
        return 200, {}, [{"text": "\x1b[2J rule"}] if path.endswith("rules") else {}

    with Server(says) as server:
        _, told = seen(campaign_of_instance(tmp_path, server.url))
    assert "\x1b" not in told
    assert "\\x1b[2J rule" in told


def test_an_export_of_x_says_once_what_may_be_published(command, tmp_path):  # noqa: F811 - the fixture
    told = [command(tmp_path / form, "--db", town() / "town.db", "--format", form).stderr for form in ("csv", "ids")]
    assert [one.count(find_platform("x").publishing) for one in told] == [1, 0]


@pytest.mark.parametrize(("name", "link", "times"), [("x", "ann,bob", 1), ("bluesky", "a.example,b.example", 0)])
def test_the_report_of_who_is_active_on_x_says_once_what_may_be_published(name, link, times, tmp_path):
    database = tmp_path / "a.db"
    settings = revived(database=str(database), source={"platform": name})
    with opened(database) as connection:
        brought(connection, written(tmp_path / "old.csv", f"{link}\n"), settings=settings)
    told = CliRunner().invoke(app, ["report", "--campaign", "revive", "--db", str(database)])
    assert told.exit_code == 0, told.output
    assert " ".join(told.stdout.split()).count(find_platform("x").publishing) == times


def test_only_x_restricts_what_may_be_published():
    assert [name for name in ("x", "bluesky", "mastodon", "web") if find_platform(name).publishing] == ["x"]
    assert "export --format ids" in find_platform("x").publishing
