"""One process a campaign, and a demo that begins anew only over what a demo left."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from commands import COMMAND, ENVIRONMENT, campaign_file, socialcrawl
from postgres import a_place
from stores import opened
from x_crawls import TOPIC, campaign_of, posts, posts_file

from socialcrawl.campaign.build import build
from socialcrawl.errors import HeldError, SettingsError, StoreError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.lease import Lease

HOLD = """
import sys, time; from pathlib import Path; from socialcrawl.storage.database.lease import Lease
lease = Lease(Path(sys.argv[1]), "mine"); print("held", flush=True); time.sleep(60)
"""


def test_a_lease_is_held_once_and_can_be_had_again_after_it_was_let_go(tmp_path):
    first = Lease(tmp_path / "a.db", "mine")
    with pytest.raises(StoreError, match="Another process is running the campaign 'mine'"):
        Lease(tmp_path / "a.db", "mine")
    other = Lease(tmp_path / "a.db", "another")
    first.release()
    first.release()
    again = Lease(tmp_path / "a.db", "mine")
    again.release()
    other.release()
    assert list(tmp_path.iterdir()) == []


@contextmanager
def held_by_another(database):
    """A process that holds the lease of the campaign `mine`, killed at the end."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, database], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        yield
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_a_lease_ends_with_its_process_however_that_one_ends(tmp_path):
    with held_by_another(tmp_path / "a.db"), pytest.raises(StoreError):
        Lease(tmp_path / "a.db", "mine")
    Lease(tmp_path / "a.db", "mine").release()


def test_a_campaign_that_is_already_running_is_not_run_twice(tmp_path):
    with held_by_another(tmp_path / "mine.db"), serve_in_thread(posts()) as mock:
        child = socialcrawl("run", campaign_file(tmp_path, mock.url), folder=tmp_path)
        assert mock.report()["received"] == {}
    assert child.returncode == 1
    assert "Another process is running the campaign 'mine'" in child.stderr


def test_a_second_run_says_that_the_campaign_runs_although_its_token_is_looked_at_first(tmp_path, monkeypatch):
    def held(*given, **more):
        raise HeldError("Another process uses the token.")

    monkeypatch.setattr("socialcrawl.campaign.build.open_access", held)
    settings = campaign_of("http://127.0.0.1:9", tmp_path / "mine.db")
    (tmp_path / "mine.db").touch()
    with pytest.raises(HeldError, match="uses the token"):
        build(settings, None)
    lease = Lease(tmp_path / "mine.db", settings.name)
    with pytest.raises(HeldError, match=f"running the campaign .*already running, pid {os.getpid()}"):
        build(settings, None)
    lease.release()


def demo(folder, *words):
    return socialcrawl("demo", "--posts", posts_file(), "--keyword", TOPIC, "--steps", 3, *words, folder=folder)


def test_a_demo_begins_anew_over_an_earlier_demo_and_over_nothing_else(tmp_path):
    own = tmp_path / "demo.db"
    assert demo(tmp_path, "--json").returncode == 0
    child = demo(tmp_path, "--json")  # begun anew: all its requests are counted by this mock
    told = json.loads(child.stdout)
    assert told["requests"] == sum(told["statuses"].values())
    own.write_text("my thesis notes")
    child = demo(tmp_path)
    assert (child.returncode, own.read_text()) == (2, "my thesis notes")
    assert "name another with --db" in child.stderr
    own.unlink()
    with serve_in_thread(posts()) as mock:
        file = campaign_file(tmp_path, mock.url)
        file.write_text(file.read_text().replace('"mine.db"', '"demo.db"'))
        assert socialcrawl("run", file, folder=tmp_path).returncode == 0
    before = own.read_bytes()
    child = demo(tmp_path)
    assert (child.returncode, own.read_bytes()) == (2, before)
    assert "holds other campaigns (mine)" in child.stderr


def test_a_demo_that_cannot_start_leaves_the_earlier_one_alone(tmp_path):
    assert demo(tmp_path, "--json").returncode == 0
    before = (tmp_path / "demo.db").read_bytes()
    broken = tmp_path / "posts.csv"
    broken.write_text("author,created_at\nann,1\n")
    child = socialcrawl("demo", "--posts", broken, "--keyword", TOPIC, folder=tmp_path)
    assert (child.returncode, (tmp_path / "demo.db").read_bytes()) == (1, before)
    assert "lacks the column text" in child.stderr


def test_seeds_of_a_demo_are_named_or_drawn_and_never_silently_neither(tmp_path):
    (tmp_path / "nobody.txt").write_text("# none yet\n\n")
    child = demo(tmp_path, "--seeds", "nobody.txt")
    assert (child.returncode, "names no account" in child.stderr) == (2, True)
    child = demo(tmp_path, "--seeds", "nobody.txt", "--seed-size", 3)
    assert (child.returncode, "give one of the two" in child.stderr) == (2, True)


def test_closed_output_is_no_fault_of_the_command(tmp_path):
    words = [*COMMAND, "demo", "--posts", posts_file(), "--keyword", TOPIC, "--steps", "2"]
    line = " ".join(f"'{word}'" for word in map(str, words))
    child = subprocess.run(
        ["/bin/sh", "-c", f"{line} >&-"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in child.stderr


def test_a_campaign_that_cannot_be_gone_on_with_lets_go_of_everything(tmp_path):
    with serve_in_thread(posts()) as mock:
        build(campaign_of(mock.url, tmp_path / "a.db"), CampaignView()).close()
        for _ in range(2):  # the second time would find the lock, had the first kept it
            with pytest.raises(SettingsError, match="begun in this database with other settings"):
                build(campaign_of(mock.url, tmp_path / "a.db", topic={"keywords": ["another"]}), CampaignView())
        build(campaign_of(mock.url, tmp_path / "a.db"), CampaignView()).close()
    assert not list(tmp_path.glob("*.lock"))


def test_a_server_that_ends_the_connection_meanwhile_is_an_error_that_says_so():
    with a_place("postgres") as place, opened(place) as connection, opened(place) as other:
        process = connection.connection.driver_connection.info.backend_pid
        with other.begin():
            other.exec_driver_sql(f"select pg_terminate_backend({process}, 60000)")
        with pytest.raises(StoreError, match="cannot be reached, or was lost"):
            Lease(connection, "one")
