"""`run --dry-run`: what it announces is what the run then does, and the database stays as it is, row for row."""

import json
from contextlib import closing

import pytest
from sqlalchemy import MetaData, select
from typer.testing import CliRunner
from x_crawls import TOPIC, CampaignView, campaign_of, crawl, posts
from x_crawls import build as built

from socialcrawl.api.campaign_runs import Campaign
from socialcrawl.campaign.cost_outlook import make_campaign_quote
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.run_preview import preview_run
from socialcrawl.cli.main import app
from socialcrawl.errors import HeldError, SettingsError, StoreError
from socialcrawl.lab.generators.generate import choose_topics
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.render import run_effects
from socialcrawl.storage.database.connection import connect, make_alembic_config, open_database
from socialcrawl.storage.database.health import open_existing
from socialcrawl.storage.database.lease import Lease

OTHER = list(choose_topics().values())[1]
NAMES = [name for name, _ in sorted(build_world(posts()).accounts.by_username.items())][:6]


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def first(mock, place, **sections):
    """A campaign that begins with two seeds."""
    return campaign_of(
        mock.url, place, **{"seeds": {"most": 5, "usernames": NAMES[:2]}, "crawl": {"steps": 15}} | sections
    )


def second(mock, place, **sections):
    """The same campaign, whose file names another topic, two more seeds and more steps."""
    return first(
        mock,
        place,
        **{"topic": {"keywords": [OTHER]}, "seeds": {"most": 5, "usernames": NAMES[:4]}, "crawl": {"steps": 30}}
        | sections,
    )


def read_everything(place):
    """All rows of all tables."""
    with open_existing(place) as connection, connection.begin():
        tables = MetaData()
        tables.reflect(connection)
        return {
            name: sorted(map(repr, connection.execute(select(table)))) for name, table in sorted(tables.tables.items())
        }


def count(place, query):
    with open_existing(place) as connection, connection.begin():
        return connection.exec_driver_sql(query).scalar_one()


ON_TOPIC = (
    "select count(distinct node) from outcome where value > 0 and n in (select n from pick where act <> 'search')"
)


def test_it_announces_what_the_change_then_does_and_leaves_every_row_as_it_is(mock, place):
    crawl(first(mock, place))
    before, plan = read_everything(place), make_plan(second(mock, place))
    found = preview_run(plan, change=True)
    assert read_everything(place) == before
    assert [(one.setting, one.before, one.now) for one in found.changes] == [
        ("crawl.steps", 15, 30),
        ("seeds.usernames", NAMES[:2], NAMES[:4]),
        ("topic.keywords", [TOPIC], [OTHER]),
    ]
    told = run_effects.build_object(plan, found)
    assert told["rescored"]["matching_posts"]["before"] == count(place, "select count(*) from hit")
    assert told["rescored"]["accounts_on_topic"]["before"] == count(place, ON_TOPIC)

    built(plan.settings, CampaignView(), change=True).close()
    assert told["rescored"]["matching_posts"]["now"] == count(place, "select count(*) from hit") > 0
    assert told["rescored"]["accounts_on_topic"]["now"] == count(place, ON_TOPIC) > 0
    assert make_campaign_quote(plan) == found.quote

    last, sent = count(place, "select max(n) from pick"), count(place, "select count(*) from request")
    crawl(plan.settings)
    assert count(place, f"select count(*) from pick where act = 'search' and n > {last}") == len(found.searches) == 1
    added = ", ".join(f"'{name.lower()}'" for name in NAMES[2:4])
    looked_up = "select count(distinct lower(username)) from pick join account using (node) where act = 'resolve'"
    assert count(place, f"{looked_up} and n > {last} and lower(username) in ({added})") == 2
    assert found.names == [name.lower() for name in NAMES[2:4]]
    assert count(place, "select count(*) from request") - sent <= found.quote.most.requests


@pytest.mark.parametrize("steps", [None, 40])
def test_a_changed_campaign_never_needs_more_than_at_most(tmp_path, steps):
    place = tmp_path / "a.db"
    with serve_in_thread(posts(), limit=100_000, missing=0.1) as mock:
        crawl(first(mock, place))
        plan = make_plan(second(mock, place, crawl={"steps": steps}, budget={"max_nodes": 60}))
        most = preview_run(plan, change=True).quote.most
        built(plan.settings, CampaignView(), change=True).close()
        sent, read = count(place, "select count(*) from request"), count(place, "select sum(posts) from request")
        crawl(plan.settings)
        assert 0 < count(place, "select count(*) from request") - sent <= most.requests
        assert 0 < count(place, "select sum(posts) from request") - read <= most.posts


def test_the_file_of_the_last_run_changes_nothing(mock, place):
    settings = first(mock, place)
    crawl(settings)
    found = preview_run(make_plan(settings), change=True)
    assert (found.changes, found.before, found.searches, found.names) == ([], None, [], [])
    assert found.quote.most.requests == 0


def test_other_seeds_and_steps_score_nothing_again(mock, tmp_path):
    crawl(first(mock, tmp_path / "a.db"))
    found = preview_run(make_plan(second(mock, tmp_path / "a.db", topic={"keywords": [TOPIC]})), change=True)
    assert (found.before, found.after, found.searches) == (None, None, [])
    assert len(found.names) == 2


def test_without_change_it_is_refused_as_the_run_would_be(mock, place):
    crawl(first(mock, place))
    before = read_everything(place)
    with pytest.raises(SettingsError, match="run --change"):
        preview_run(make_plan(second(mock, place)), change=False)
    assert read_everything(place) == before


def test_what_can_never_change_is_refused(mock, tmp_path):
    crawl(first(mock, tmp_path / "a.db"))
    with pytest.raises(SettingsError, match="cannot continue with another seed"):
        preview_run(make_plan(first(mock, tmp_path / "a.db", seed=7)), change=True)


def test_a_campaign_that_has_not_begun_makes_no_database(mock, tmp_path):
    found = preview_run(make_plan(second(mock, tmp_path / "a.db")), change=True)
    assert not found.begun
    assert found.quote.most.requests > 30
    assert list(tmp_path.iterdir()) == []


def test_another_campaign_of_the_database_has_not_begun_either(mock, place):
    crawl(first(mock, place))
    before = read_everything(place)
    assert not preview_run(make_plan(second(mock, place, name="other")), change=True).begun
    assert read_everything(place) == before


def test_a_campaign_that_runs_elsewhere_is_left_alone(mock, place):
    crawl(first(mock, place))
    with open_database(place) as connection:
        lease = Lease(connection, "campaign")
        with pytest.raises(HeldError, match="Another process is running"):
            preview_run(make_plan(second(mock, place)), change=True)
        lease.release()
    assert preview_run(make_plan(second(mock, place)), change=True).begun


def test_a_database_of_an_older_program_is_not_brought_up_to_date(mock, tmp_path):
    from alembic import command

    place = tmp_path / "a.db"
    crawl(first(mock, place))
    with closing(connect(place)) as connection:
        config = make_alembic_config()
        config.attributes["connection"] = connection
        with connection.begin():
            command.downgrade(config, "-1")
        connection.engine.dispose()
    before = read_everything(place)
    with pytest.raises(StoreError, match="older socialcrawl"):
        preview_run(make_plan(second(mock, place)), change=True)
    assert read_everything(place) == before


FILE = """
name = "campaign"
database = "a.db"
[topic]
keywords = ["{word}"]
[seeds]
most = 5
usernames = {names}
[crawl]
estimator = "nh-ne-sum"
steps = {steps}
[source]
token_env = "A_TOKEN_THAT_IS_NOT_SET"
base_url = "{url}"
pages_per_user = 32
"""


def test_the_command_shows_it_without_a_token(mock, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crawl(first(mock, tmp_path / "a.db"))
    file = tmp_path / "a.toml"
    file.write_text(FILE.format(word=OTHER, names=json.dumps(NAMES[:4]), steps=30, url=mock.url))
    refused = CliRunner().invoke(app, ["run", str(file), "--dry-run"])
    assert isinstance(refused.exception, SettingsError)
    shown = CliRunner().invoke(app, ["run", str(file), "--change", "--dry-run"])
    assert shown.exit_code == 0, shown.output
    for text in (
        "setting               before                   now",
        "Stored posts are scored again:",
        f"To search: {OTHER}",
        f"Seeds to look up: {NAMES[2].lower()}, {NAMES[3].lower()}.",
        "At most, still to come",
        run_effects.NOTHING_DONE,
    ):
        assert text in shown.output
    as_json = json.loads(CliRunner().invoke(app, ["run", str(file), "--change", "--dry-run", "--json"]).stdout)
    assert as_json["rescored"]["accounts_changed"] > 0
    preview = Campaign.load(file).preview(change=True)
    assert {key: value for key, value in preview.to_dict().items() if key != "quote"} == {
        key: value for key, value in as_json.items() if key != "quote"
    }
    assert "Stored posts are scored again:" in preview.text
