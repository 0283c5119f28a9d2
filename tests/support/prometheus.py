"""A real Prometheus that reads a page of metrics, where Debian's package of it is installed."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

PATIENCE = 120.0  # seconds: only a Prometheus that does not work takes so long
Ask = Callable[[str], list[dict[str, Any]]]


def find_program(name: str) -> str:
    """Return the path of `prometheus` or `promtool`; skip the test where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: apt install prometheus (.ci/run unpacks it)")
    return found


@contextmanager
def serve_prometheus(target: str, rules: str, folder: Path) -> Iterator[Ask]:
    """Run a Prometheus that reads `target` every second, and yield what asks it for the series of an expression."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        here = f"127.0.0.1:{free.getsockname()[1]}"
    scrape = {"job_name": "socialcrawl", "static_configs": [{"targets": [target.removeprefix("http://")]}]}
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (folder / "rules.yaml").write_text(rules, "utf-8")
    settings = {"global": every, "rule_files": ["rules.yaml"], "scrape_configs": [scrape]}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    command = [
        find_program("prometheus"),
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={here}",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            with httpx.Client(base_url=f"http://{here}/api/v1/", trust_env=False) as client:

                def ask(expression: str) -> list[dict[str, Any]]:
                    answer = client.get("query", params={"query": expression}).json()
                    assert answer["status"] == "success", answer
                    return answer["data"]["result"]

                _wait_for_samples(ask, process, folder / "log")
                yield ask
        finally:
            process.terminate()


def _wait_for_samples(ask: Ask, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until rates can be computed and rules were evaluated."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with suppress(httpx.TransportError, ValueError):
            if ask('count_over_time(up{job="socialcrawl"}[5m]) > 3') and ask("count_over_time(ALERTS[5m]) > 1"):
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text("utf-8", "replace")[-2000:])
