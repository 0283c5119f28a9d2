import inspect
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import pytest
from api_campaigns import run_example, sections_of
from x_crawls import posts

import socialcrawl as sc
from socialcrawl.campaign.settings import Settings
from socialcrawl.mock.server import serve_in_thread


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def make(mock, folder, **more):
    return sc.Campaign(name="example", **sections_of(mock.url, folder / "example.db", **more))


def test_settings_are_those_of_a_campaign_file(tmp_path):
    (tmp_path / "sky.toml").write_text(
        'name = "sky"\ndatabase = "sky.db"\n[topic]\nkeywords = ["telescope"]\n[source]\nplatform = "bluesky"\n'
    )
    loaded = sc.Campaign.load(tmp_path / "sky.toml")
    written = sc.Campaign(name="sky", topic={"keywords": ["telescope"]}, source={"platform": "bluesky"})
    assert {**loaded.settings, "database": "sky.db"} == written.settings
    assert (loaded.database, written.database) == (str(tmp_path / "sky.db"), "sky.db")
    assert "bluesky" in repr(loaded)


def test_a_wrong_key_is_refused_with_the_nearest_one():
    with pytest.raises(sc.SocialcrawlError, match=r"unknown key 'keyword'. Did you mean 'keywords'"):
        sc.Campaign(name="sky", topic={"keyword": ["telescope"]})


def test_every_section_of_a_campaign_file_is_a_parameter():
    named = set(inspect.signature(sc.Campaign).parameters) - {"added"}
    assert named == set(Settings.model_fields)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({}, 'Campaign: topic is missing: give topic={"keywords": ["telescope"]}.'),
        ({"topic": 5}, 'Campaign(topic=5): give its keys as a dict: topic={"keywords": ["telescope"]}.'),
        (
            {"topic": {"keywords": "sky"}},
            """Campaign(topic={"keywords": 'sky'}): a list is wanted: write "keywords": ["sky"].""",
        ),
        (
            {"topic": {"keywords": ["sky"]}, "budget": {"max_money": 0}},
            'Campaign(budget={"max_money": 0}): write a number above 0.',
        ),
        (
            {"topic": {"keywords": ["sky"]}, "notify": {"webhook_env": 5}},
            'Campaign(notify={"webhook_env": ...}): write a text in quotes.',
        ),
    ],
)
def test_a_wrong_section_is_answered_in_python_and_without_a_traceback_of_pydantic(sections, said):
    with pytest.raises(sc.SettingsError) as error:
        sc.Campaign("sky", **sections)
    assert str(error.value) == said
    assert "validation error" not in "".join(traceback.format_exception(error.value))


def test_a_campaign_that_has_not_run_has_no_dataset_to_open(tmp_path):
    campaign = sc.Campaign("sky", database=tmp_path / "sky.db", topic={"keywords": ["sky"]})
    with pytest.raises(sc.StoreError, match=r"There is no database .*sky.db yet: run the campaign first, with run\(\)"):
        campaign.open()


def test_a_quote_bounds_requests_and_sends_nothing(mock, tmp_path):
    campaign = make(mock, tmp_path)
    quote = campaign.quote()
    assert "At most" in quote.text
    assert quote.to_dict()
    assert not Path(campaign.database).exists()


def test_progress_counts_up_to_what_the_database_has(mock, tmp_path):
    seen = []
    campaign = make(mock, tmp_path)
    ending = campaign.run(on_progress=seen.append)
    assert ending.state == "done"
    assert [progress.steps for progress in seen] == sorted(progress.steps for progress in seen)
    assert (seen[0].steps, seen[-1].steps, seen[-1].planned_steps) == (0, 30, 30)
    with sqlite3.connect(campaign.database) as connection:
        ((sent,),) = connection.execute("select count(*) from request where kind != 'held'").fetchall()
    assert seen[-1].requests == sent == ending.report.to_dict()["requests"]
    assert "30" in seen[-1].text


def test_a_run_goes_on_where_it_stopped_as_one_that_did_not_stop(mock, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    make(mock, tmp_path / "one").run()
    halted = make(mock, tmp_path / "two")
    assert halted.run(steps=11).report.to_dict()["steps"] == 11
    assert halted.run().report.to_dict()["steps"] == 30
    seen = []
    assert halted.run(steps=20, on_progress=seen.append).why == "30 steps are done already; the limit is 20"
    assert seen[-1].text.startswith("steps 30 (limit 20) ")
    picks = []
    for name in ("one", "two"):
        with sqlite3.connect(tmp_path / name / "example.db") as connection:
            picks.append(connection.execute("select n, node, act from pick order by n").fetchall())
    assert picks[0] == picks[1]


def test_what_on_progress_raises_ends_the_run_and_loses_nothing(mock, tmp_path):
    def fail(progress):
        if progress.steps == 7:
            raise KeyError("seven")

    campaign = make(mock, tmp_path)
    with pytest.raises(KeyError, match="seven"):
        campaign.run(on_progress=fail)
    with campaign.open() as data:
        assert len(list(data.score_curve())) == 7
    assert campaign.run().report.to_dict()["steps"] == 30


def test_a_campaign_runs_in_another_thread(mock, tmp_path):
    endings = []
    thread = threading.Thread(target=lambda: endings.append(make(mock, tmp_path).run()))
    thread.start()
    thread.join()
    assert [ending.state for ending in endings] == ["done"]


def test_a_run_that_may_cost_much_is_refused_until_it_is_accepted(tmp_path, monkeypatch):
    campaign = sc.Campaign(
        name="dear",
        database=str(tmp_path / "dear.db"),
        topic={"keywords": ["telescope"]},
        budget={"max_money": 50.0, "confirm_above": 1.0},
        source={"token_env": "SOCIALCRAWL_TEST_TOKEN"},
    )
    with pytest.raises(sc.SocialcrawlError, match=r"up to \$50.00.*accept_cost=True.*Nothing was sent"):
        campaign.run()
    assert not (tmp_path / "dear.db").exists()


def test_too_few_steps_are_refused(mock, tmp_path):
    with pytest.raises(sc.SocialcrawlError, match="1 or more"):
        make(mock, tmp_path).run(steps=0)


PROGRAM = """
import json, sys
import socialcrawl as sc

def show(progress):
    print(progress.steps, flush=True)

ending = sc.Campaign(name="example", **json.loads(sys.argv[1])).run(on_progress=show)
print(ending.state, ending.report.to_dict()["steps"], flush=True)
"""


def test_ctrl_c_stops_a_program_saved_and_the_next_run_goes_on(mock, tmp_path):
    sections = sections_of(mock.url, tmp_path / "example.db", crawl={"steps": 100_000})
    command = [sys.executable, "-c", PROGRAM, json.dumps(sections)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as program:
        next(line for line in program.stdout if int(line) >= 5)
        program.send_signal(signal.SIGINT)
        *_, last = program.stdout.read().splitlines()
    assert program.returncode == 0
    state, steps = last.split()
    assert state == "interrupted"
    again = make(mock, tmp_path, crawl={"steps": int(steps) + 3}).run()
    assert (again.state, again.report.to_dict()["steps"]) == ("done", int(steps) + 3)


def test_an_ending_is_shown_as_the_report_and_the_reason(tmp_path):
    _, ending = run_example(tmp_path)
    assert "done" in repr(ending)
    assert "the limit of 30 steps is reached" in ending._repr_html_()
