"""What is in deploy/ and docs/how-to/daemon.md fits the project: commands, options, paths."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import httpx
import pytest
import typer.main
import yaml
from prometheus_client.parser import text_string_to_metric_families
from test_daemon_notices import FOREST

from socialcrawl.campaign.sections.operation import NotifySection
from socialcrawl.cli.definitions.daemon import daemon
from socialcrawl.cli.main import app
from socialcrawl.daemon import health_page
from socialcrawl.daemon.campaign_state import STATES
from socialcrawl.daemon.metrics import DaemonStatus, format_metrics, make_registry
from socialcrawl.daemon.notices import describe_event

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs/how-to/daemon.md").read_text("utf-8")
LOCAL = Path("/opt/socialcrawl/bin/socialcrawl")


def unit():
    """The settings of the systemd unit, in order: (section, key, value)."""
    section, found = "", []
    for line in (DEPLOY / "socialcrawl.service").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.append((section, key, value))
    return found


def of_service(key):
    return [value for section, name, value in unit() if (section, name) == ("Service", key)]


def docker():
    """The Dockerfile's instructions: (name, rest), lines that go on joined."""
    lines = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def of_image(name):
    """What an instruction is given in the last stage."""
    rows = docker()
    last = max(number for number, (instruction, _) in enumerate(rows) if instruction == "FROM")
    return [rest for instruction, rest in rows[last:] if instruction == name]


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


STARTS = {
    "the unit": lambda: shlex.split(of_service("ExecStart")[0])[1:],
    "the image": lambda: json.loads(of_image("CMD")[0]),
    "compose": lambda: compose()["services"]["socialcrawl"]["command"],
}


def parsed(group, words):
    """The options that `words` mean to a command of `group`; an error where they mean nothing."""
    name, *rest = words
    command = group.commands[name]
    return command.make_context(name, list(rest)).params


@pytest.mark.parametrize("start", STARTS)
def test_what_is_started_is_a_command_of_ours_with_options_that_it_has(start):
    told = parsed(typer.main.get_command(app), STARTS[start]())
    assert told["log"] == "json"
    host, port = health_page.parse_host_port(told["health"])
    assert port == health_page.PORT
    assert told["allow_remote"] == (host == "0.0.0.0")


@pytest.mark.parametrize("start", STARTS)
def test_its_options_are_those_of_the_function_behind_the_command(start):
    alone = typer.Typer()
    alone.command("daemon")(daemon)
    alone.command("other")(lambda: None)
    told = parsed(typer.main.get_command(alone), STARTS[start]())
    assert (told["log"], health_page.parse_host_port(told["health"])[1]) == ("json", health_page.PORT)


def test_a_prometheus_beside_the_container_may_ask_by_the_name_of_the_service():
    words = STARTS["compose"]()
    allowed = parsed(typer.main.get_command(app), words)["allow_host"]
    pages = health_page.make_app(lambda: DaemonStatus(0.0, 0.0, []), lambda: 1.0)
    with health_page.serve_pages(pages, "0.0.0.0", 0, allow_remote=True, allow_hosts=allowed) as url:
        port = url.rpartition(":")[2]
        for service in compose()["services"].keys() - {"postgres"}:
            named = {"Host": f"{service}:{health_page.PORT}"}
            assert httpx.get(f"http://127.0.0.1:{port}/metrics", headers=named).status_code == 200


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here; the next test looks at what matters most")
    copy = tmp_path / "socialcrawl.service"
    there = (DEPLOY / "socialcrawl.service").read_text("utf-8").replace(str(LOCAL), "/bin/sh")
    copy.write_text(there, "utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_unit_stops_reloads_and_starts_again_as_the_daemon_wants_it():
    one = {key: value for _, key, value in unit()}
    assert one["User"] == one["Group"] == "socialcrawl"
    assert one["ExecStart"].split()[0] == str(LOCAL)
    assert one["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert (one["KillSignal"], one["KillMode"], one["TimeoutStopSec"]) == ("SIGTERM", "mixed", "15")
    assert (one["Restart"], one["StartLimitBurst"]) == ("on-failure", "5")
    assert ("Unit", "StartLimitIntervalSec", "10min") in unit()
    assert one["ProtectSystem"] == "strict"
    assert (one["NoNewPrivileges"], one["PrivateTmp"], one["ProtectHome"]) == ("yes", "yes", "yes")
    assert "MemoryDenyWriteExecute" not in one  # C libraries that make callbacks need such memory


def test_what_the_unit_lets_be_written_is_where_the_state_lies(tmp_path, monkeypatch):
    from socialcrawl.system.state_folder import make_state_folder

    assert of_service("StateDirectory") == ["socialcrawl"]
    variables = dict(value.split("=", 1) for value in of_service("Environment"))
    assert variables["XDG_STATE_HOME"].startswith("%S/socialcrawl/")
    monkeypatch.setenv("XDG_STATE_HOME", variables["XDG_STATE_HOME"].replace("%S", str(tmp_path)))
    assert make_state_folder().is_relative_to(tmp_path / "socialcrawl")


def test_the_token_of_the_unit_is_the_credential_that_it_loads(tmp_path, monkeypatch):
    from socialcrawl.system.secret import read_secret

    name, _, _ = of_service("LoadCredential")[0].partition(":")
    variables = dict(value.split("=", 1) for value in of_service("Environment"))
    (tmp_path / name).write_text("AAAA-token-of-the-unit\n")
    monkeypatch.delenv("X_BEARER_TOKEN", raising=False)
    monkeypatch.setenv("X_BEARER_TOKEN_FILE", variables["X_BEARER_TOKEN_FILE"].replace("%d", str(tmp_path)))
    assert read_secret("X_BEARER_TOKEN") == "AAAA-token-of-the-unit"


def test_all_that_the_image_is_made_of_is_there_and_is_not_kept_out():
    let_in = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert let_in[1] == "*"
    sources = [word for name, rest in docker() if name == "COPY" and "--from" not in rest for word in rest.split()[:-1]]
    assert len(sources) >= 6
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in let_in


def test_and_it_is_enough_to_build_the_package(tmp_path):
    sources = [word for name, rest in docker() if name == "COPY" and "--from" not in rest for word in rest.split()[:-1]]
    for source in sources:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, tmp_path / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, tmp_path / source)
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"socialcrawl/daemon/daemon.py", "socialcrawl/config/x.toml", "socialcrawl/migrations/env.py"} <= names


def test_only_locked_versions_are_installed_and_they_are_those_that_the_tests_ran_with():
    script = " ".join(rest for name, rest in docker() if name == "RUN")
    for install in re.findall(r"pip install ([^&]+)", script):
        assert "--no-deps" in install
        assert "--require-hashes" in install or install.split()[-1] == "."
    assert "-r requirements-server.lock" in script
    assert "-r requirements-server.lock" in (DEPLOY / "README.md").read_text("utf-8")
    image, core, tests = (
        set(re.findall(r"^([\w.-]+==\S+)", (ROOT / f"{name}.lock").read_text("utf-8"), re.MULTILINE))
        for name in ("requirements-server", "requirements", "requirements-dev")
    )
    assert core < image < tests
    names = {pin.partition("==")[0] for pin in image}
    assert {"psycopg", "psycopg-binary", "fastapi", "plotly", "distributed"} <= names


def test_the_image_gets_its_signals_and_is_not_root():
    assert json.loads(of_image("ENTRYPOINT")[0]) == ["socialcrawl"]
    assert isinstance(json.loads(of_image("CMD")[0]), list)
    assert of_image("STOPSIGNAL") == ["SIGTERM"]
    user, _, group = of_image("USER")[0].partition(":")
    assert user.isdecimal()
    assert int(user) > 0 < int(group)
    assert user in of_image("RUN")[0]
    assert of_image("VOLUME") == of_image("WORKDIR") == ["/data"]
    variables = dict(pair.split("=", 1) for line in of_image("ENV") for pair in shlex.split(line))
    assert variables["XDG_STATE_HOME"].startswith("/data/")
    assert [rest for name, rest in docker() if name == "FROM"] == ["python:3.13-slim AS build", "python:3.13-slim"]


@pytest.mark.parametrize(("state", "code"), [("running", 0), ("stalled", 1)])
def test_the_images_own_check_tells_a_daemon_that_is_well_from_one_that_is_ill(state, code):
    from socialcrawl.daemon.campaign_state import CampaignState

    words = json.loads(of_image("HEALTHCHECK")[0].partition("CMD")[2])
    shown = DaemonStatus(0.0, 0.0, [CampaignState(Path("f"), "f", state, "", 0.0)])
    pages = health_page.make_app(lambda: shown, lambda: 1.0)
    with health_page.serve_pages(pages, "127.0.0.1", 0) as url:
        here = words[2].replace(str(health_page.PORT), url.rpartition(":")[2])
        assert here != words[2]
        # a proxy, which containers often have, must not be asked
        there = {**os.environ, "http_proxy": "http://127.0.0.1:9"}
        done = subprocess.run([sys.executable, "-c", here], env=there, capture_output=True, check=False)
    assert done.returncode == code
    gone = subprocess.run([sys.executable, "-c", here], env=there, capture_output=True, check=False)
    assert gone.returncode == 1


def test_compose_gives_the_daemon_its_time_its_token_and_no_more_rights_than_it_needs():
    ours = compose()["services"]["socialcrawl"]
    assert (ours["stop_grace_period"], ours["init"], ours["read_only"], ours["cap_drop"]) == (
        "15s",
        True,
        True,
        ["ALL"],
    )
    assert (DEPLOY / ours["build"]["context"] / ours["build"]["dockerfile"]).exists()
    assert ours["environment"]["X_BEARER_TOKEN_FILE"] == f"/run/secrets/{ours['secrets'][0]}"
    assert set(ours["secrets"]) == set(compose()["secrets"])
    assert all(port.startswith("127.0.0.1:") for port in ours["ports"])
    named = {volume.partition(":")[0] for service in compose()["services"].values() for volume in service["volumes"]}
    assert {name for name in named if not name.startswith(".")} == set(compose()["volumes"])
    assert compose()["services"]["postgres"]["profiles"] == ["postgres"]


def test_no_file_holds_a_token_or_a_password():
    for file in filter(Path.is_file, DEPLOY.rglob("*")):
        told = file.read_text("utf-8")
        assert not re.search(r"AAAA[A-Za-z0-9]|(TOKEN|PASSWORD)[=:] ?['\"]?[a-z0-9]{6,}", told)


def table(header):
    """The rows under a table's header in docs/how-to/daemon.md."""
    rows = PAGE.partition(header)[2].lstrip("\n").splitlines()[1:]
    inside = takewhile(lambda row: row.startswith("|"), rows)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in inside]


def test_the_page_has_every_state_and_no_other():
    assert {state.strip("`"): meant for state, meant in table("| state | means |")} == STATES


def test_the_page_shows_the_facts_of_a_notice():
    (block,) = [block for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) if '"text"' in block]
    why = "the budget max_requests = 140 requests is reached (140 were sent); raise it in the campaign file to go on"
    assert json.loads(block) == describe_event("paused", replace(FOREST, state="stopped", why=why, until=None))


def test_what_the_page_says_of_campaign_files_can_be_read():
    import tomllib

    for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL):
        told = tomllib.loads(block)
        if "notify" in told:
            NotifySection.model_validate(told["notify"])
            break
    else:
        pytest.fail("nothing is said of notices")


def test_the_metrics_of_the_process_are_those_that_the_page_names():
    shown = format_metrics(make_registry(lambda: DaemonStatus(0.0, 0.0, []), lambda: 1.0)).decode()
    told = {sample.name for family in text_string_to_metric_families(shown) for sample in family.samples}
    named = set(re.findall(r"`(process_[a-z_]+)`", PAGE))
    assert len(named) == 4
    assert named <= told
