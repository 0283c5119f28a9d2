"""The services of deploy/compose.cluster.yaml as processes of this machine: one campaign, crawled with all of them."""

import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest
import yaml
from commands import ENVIRONMENT, socialcrawl
from postgres import a_server_database
from test_daemon_process import campaign_file
from x_crawls import TOKEN, TOKEN_ENV, posts_file

from socialcrawl.mock.server import serve_in_thread

pytest.importorskip("distributed")
SERVICES = yaml.safe_load((Path(__file__).parents[2] / "deploy/compose.cluster.yaml").read_text("utf-8"))["services"]
WITHIN = 240.0  # seconds for what is awaited; nothing is measured
HERE = Path(sys.executable).parent


@contextmanager
def begun(service, place, folder, *, token):
    """A process with the words of a service, whose names and ports are those of `place`; its log is in `folder`."""
    words = [*SERVICES[service].get("entrypoint", ["socialcrawl"]), *SERVICES[service]["command"]]
    words = [place.get(word, word) for word in words]
    program = shutil.which(words[0], path=str(HERE))
    log = folder / f"{service}-{time.monotonic_ns()}.log"
    variables = {**ENVIRONMENT, "XDG_STATE_HOME": str(folder / "state"), **({TOKEN_ENV: TOKEN} if token else {})}
    with log.open("wb") as output:
        child = subprocess.Popen([program, *words[1:]], env=variables, stdout=output, stderr=output)
    try:
        yield log
    finally:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(30)
        child.kill()
        child.wait(30)


def await_text(log, pattern):
    """The first match of a pattern in a log, once it is there."""
    end = time.monotonic() + WITHIN
    while not (found := re.search(pattern, log.read_text("utf-8"))):
        assert time.monotonic() < end, log.read_text("utf-8")[-3000:]
        time.sleep(0.1)
    return found


def pick_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_the_services_of_the_compose_file_crawl_a_campaign_together_and_show_it(tmp_path):
    folder, port = tmp_path / "campaigns", pick_port()
    folder.mkdir()
    scheduler = f"tcp://127.0.0.1:{port}"
    place = {
        "0.0.0.0": "127.0.0.1",
        "8786": str(port),
        "tcp://scheduler:8786": scheduler,
        "/tmp": str(tmp_path),
        "/campaigns": str(folder),
        "0.0.0.0:9464": "127.0.0.1:0",
        "8002": "0",
    }
    replicas = SERVICES["worker"]["deploy"]["replicas"]
    with a_server_database() as database, serve_in_thread(posts_file(), limit=20, window=2.0) as mock:
        file = campaign_file(folder, mock.url, more=f'[fleet]\nscheduler = "{scheduler}"\n')
        file.write_text(file.read_text("utf-8").replace("one.db", database.url), "utf-8")
        with begun("scheduler", place, tmp_path, token=False) as log:
            await_text(log, "Scheduler at:")
            workers = [begun("worker", place, tmp_path, token=True) for _ in range(replicas)]
            with workers[0] as one, workers[1] as two, workers[2] as three:
                for worker in (one, two, three):
                    await_text(worker, "Starting established connection|Registered to")
                told = socialcrawl("doctor", file, token=None, **{TOKEN_ENV: TOKEN})
                assert "3 workers" in told.stdout, told.stdout
                with begun("daemon", place, tmp_path, token=True), begun("ui", place, tmp_path, token=True) as page:
                    url, key = await_text(page, r"(http://\S+)/login#token=(\S+)").groups()
                    await_done(database)
                    allowed = {"Authorization": f"Bearer {key}"}
                    (shown,) = httpx.get(f"{url}/api/v1/campaigns", headers=allowed, timeout=WITHIN).json()["campaigns"]
                    assert (shown["name"], shown["state"]) == ("one", "done")
            assert TOKEN not in log.read_text("utf-8")
        assert mock.report()["over"] == 0


def await_done(database):
    end = time.monotonic() + WITHIN
    with psycopg.connect(database.url, autocommit=True) as raw:
        while raw.execute("select state from lease").fetchone() != ("done",):
            assert time.monotonic() < end, raw.execute("select state, why from lease").fetchall()
            time.sleep(0.2)
