"""What a campaign that refreshes takes for active on each platform, what its file says, and what may not be in it."""

import re

import pytest
from refresh_campaigns import brought, found_of, judged, revived, written
from stores import a_database
from test_mock_site import PAGES
from test_platforms import AND_THE_WEB, OnTheWeb
from test_refresh_campaign import bring, edges, found_in, refreshing
from typer.testing import CliRunner
from x_crawls import crawl, rows

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings, load_stored, read
from socialcrawl.campaign.template_file import write_campaign_file
from socialcrawl.cli.commands.quote import show_quote
from socialcrawl.cli.main import app
from socialcrawl.crawls.refresh.datasheet import tell_choice
from socialcrawl.crawls.refresh.make import make_refresh
from socialcrawl.errors import SettingsError
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.facts import BUILT_IN

DAY = 86_400.0
SPANS = ("auto", "exists", "180d", "90d")
WEB = OnTheWeb()
EVERYWHERE = pytest.mark.parametrize("platform", BUILT_IN)


def rule(platform, active=None):
    return revived(platform, refresh={} if active is None else {"active": active}).refresh.activity(platform)


def test_accounts_are_alive_that_posted_within_half_a_year_and_pages_that_are_there():
    for platform in ("x", "bluesky", "mastodon"):
        assert rule(platform) == rule(platform, "auto") == Activity(180 * DAY)
    assert rule("web").within is rule("web", "auto").within is None
    assert rule("web", "90d") == Activity(90 * DAY, untold=True)
    assert rule("x", "exists").within is None


@EVERYWHERE
def test_sources_and_imports_judge_by_the_rule_of_the_platform(platform):
    settings = revived(platform, refresh={"protected": True})
    meant = make_plan(settings)
    assert meant.terms.activity == settings.refresh.activity(platform)
    assert meant.terms.activity.protected
    assert bool(meant.shape.roles.last) == (platform == "bluesky"), "who has to be asked for the latest post apart"
    assert not make_plan(revived(platform, refresh={"active": "exists"})).shape.roles.last


@pytest.fixture(scope="module")
def site():
    """The pages of a site, which say that they were last changed in 1970."""
    with WEB.serving(None) as mock:
        yield mock.url


def pages_tested(url, folder, **refresh):
    settings = refreshing(url, folder / "a.db", WEB.source)
    given = settings.model_dump(mode="json", include={"name", "kind", "database", "source", "limits"})
    settings = check_settings({**given, "database": str(folder / "a.db"), "refresh": refresh}, "test")
    bring(settings, written(folder / "old.csv", edges([WEB.called(name) for name in [*PAGES, "Nobody"]])))
    assert crawl(settings)[0].kind == "done"
    return {WEB.person(name): found for name, found in found_in(folder / "a.db").items()}


def test_a_page_is_alive_by_default_that_is_there_however_old_it_is(site, tmp_path):
    found = pages_tested(site, tmp_path)
    assert found.pop("nobody") == (0, "unknown")
    assert set(found.values()) == {(1, "active")}
    assert len(found) == len(PAGES)
    assert {at for (at,) in rows(tmp_path / "a.db", "select last_active_at from liveness where active = 1")} == {
        "1970-01-01T00:00:00.000000Z"
    }


def test_a_page_that_tells_of_an_old_change_is_silent_where_a_span_is_asked_for(site, tmp_path):
    found = pages_tested(site, tmp_path, active="180d")
    assert found.pop("nobody") == (0, "unknown")
    assert set(found.values()) == {(0, "silent")}


def test_a_page_that_was_there_in_a_test_made_elsewhere_is_alive_and_an_account_has_to_tell_when(tmp_path):
    text = "username,active,last_active_at,status\n{0},,,ok\n{1},,2000-01-01,ok\n{2},,,silent\n"
    for platform, names, expected in (
        ("web", [f"https://example.org/{i}" for i in range(3)], {"0": 1.0, "1": 0.0}),
        ("x", ["ann0", "ann1", "ann2"], {"1": 0.0}),
    ):
        settings = revived(platform, refresh={"active": "180d"})
        with a_database("sqlite") as connection:
            brought(connection, written(tmp_path / "a", edges(names)), settings=settings)
            results = written(tmp_path / "r", text.format(*names))
            judged(connection, results, settings=settings, skip_bad=True)
            assert {who[-1]: row[0] for who, row in found_of(connection).items()} == expected


@EVERYWHERE
def test_to_write_out_what_auto_means_is_no_other_campaign_and_another_rule_is(platform):
    def identity(active):
        return revived(platform, refresh={"active": active}).identity([])

    meant = "exists" if platform == "web" else "180d"
    assert identity("auto") == identity(meant)
    assert [active for active in SPANS if identity(active) == identity("auto")] == ["auto", meant]


def test_a_campaign_stops_by_the_bound_unless_it_says_otherwise_and_older_ones_go_on_with_it():
    plain, bound, other = (
        revived(refresh={"fraction": 0.9, "check": 10, **more})
        for more in ({}, {"stop": "bound"}, {"stop": "estimate"})
    )
    assert [make_refresh(one).rules.stop for one in (plain, bound, other)] == ["bound", "bound", "estimate"]
    assert plain.identity([]) == bound.identity([]) != other.identity([])
    assert "stop" not in plain.identity([])["refresh"]


@EVERYWHERE
@pytest.mark.parametrize("active", SPANS)
def test_a_datasheet_says_the_rule_that_the_campaign_goes_by(platform, active):
    settings = revived(platform, refresh={"active": active})
    said = next(line for line in tell_choice(settings.refresh.model_dump(), platform) if "counted as active" in line)
    assert ("all accounts that exist" in said) == (settings.refresh.within(platform) is None)
    assert [f"{days}d" for days in re.findall(r"within (\d+)d", said)] == [
        span for span in [settings.refresh.rule(platform)] if span != "exists"
    ]
    assert ("no date of a change" in said) == (platform == "web" and "within" in said)


@EVERYWHERE
def test_a_file_to_refresh_with_speaks_of_a_dataset_and_not_of_seeds(platform, tmp_path):
    file = tmp_path / "a.toml"
    done = CliRunner().invoke(app, ["init", str(file), "--kind", "refresh", "--platform", platform])
    assert done.exit_code == 0, done.output
    assert "--as dataset" in done.output
    assert not re.search("seed|search|usernames", done.output)
    text = file.read_text("utf-8")
    assert not re.search(r"reuse_hours|of the seeds|\[seeds\]", text)
    assert "\n[topic]" not in text
    assert ("all of the dataset" in text) == (platform in ("mastodon", "web"))
    given = {'contact = ""': 'contact = "mailto:me@example.org"', 'base_url = ""': 'base_url = "https://home.example"'}
    for empty, filled in given.items():
        text = text.replace(empty, filled)
    file.write_text(text, "utf-8")
    assert make_plan(read(file)).settings.refresh.active == "auto"


def test_keywords_are_refused_for_a_campaign_that_has_no_topic(tmp_path):
    with pytest.raises(SettingsError, match="remove the keywords"):
        write_campaign_file(tmp_path / "a.toml", ["telescope"], kind="refresh")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "sections",
    [
        {"topic": {"keywords": ["sky"]}},
        {"topic": {"languages": ["en"]}},
        {"seeds": {"usernames": ["ann"]}},
        {"seeds": {"search": False}},
        {"seeds": {"file": "seeds.txt"}},
    ],
    ids=str,
)
def test_a_topic_and_seeds_are_refused_where_nothing_would_come_of_them(sections):
    (section,) = sections
    with pytest.raises(SettingsError) as error:
        revived(**sections)
    assert str(error.value).startswith(f'test: [{section}] has no effect where kind = "refresh"')
    assert str(error.value).endswith("remove it.")
    given = revived().model_dump(mode="json")
    assert load_stored({**given, **sections}, "test").refresh == revived().refresh, (
        "what is stored can be read all the same"
    )


def test_a_quote_promises_no_answers_of_before_to_a_test(tmp_path):
    class Heard:
        def __init__(self):
            self.lines = []

        def print(self, *told, **_):
            self.lines += map(str, told)

    for kind, promised in (("refresh", False), ("collect", True)):
        heard = Heard()
        more = {"topic": {"keywords": ["sky"]}} if kind == "collect" else {}
        given = {"name": "a", "kind": kind, "database": str(tmp_path / "a.db"), "crawl": {"steps": 300}, **more}
        show_quote(check_settings({**given, "budget": {"max_money": 5.0}}, "test"), heard, count=False, as_json=False)
        assert ("cost nothing" in "\n".join(heard.lines)) == promised


@AND_THE_WEB
def test_the_smallest_request_of_a_campaign_without_seeds_is_known_or_there_is_none(on):
    meant = make_plan(check_settings({"name": "a", "kind": "refresh", "source": dict(on.source)}, "test"))
    assert (meant.queries, meant.usernames) == ([], [])
    request = meant.platform.make_probe(meant.terms, meant.queries, meant.usernames)
    assert (request is None) == (on.name == "web")
    assert request is None or meant.policy.get_endpoint(request.endpoint) is not None


def test_a_refresh_that_is_billed_wants_a_bound_of_money_as_tests_read_no_posts():

    def guarded(**budget):
        make_plan(check_settings({"name": "a", "kind": "refresh", "budget": budget}, "a.toml")).guard()

    for budget in ({}, {"max_posts": 100}, {"max_nodes": 100}):
        with pytest.raises(SettingsError, match=r"\$0\.010 for each account that is checked. Set max_money"):
            guarded(**budget)
    guarded(max_money=5.0)
