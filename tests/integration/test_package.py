"""The wheel installs into an empty environment and runs there; the source distribution has all that is committed."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from socialcrawl import __version__

ROOT = Path(__file__).parents[2]


def run(*words, folder):
    """What a finished command printed; it sees nothing of this checkout, and an index is not asked."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SOCIALCRAWL", "PIP_"))}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=kept, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("source")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, folder=ROOT)
    with tarfile.open(folder / f"socialcrawl-{__version__}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / f"socialcrawl-{__version__}"


@pytest.fixture(scope="module")
def wheel(source):
    """The wheel that is built from the source distribution alone."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", folder=source)
    (wheel,) = (source / "dist").glob("*.whl")
    return wheel


def test_the_source_distribution_has_every_committed_file(source):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git checkout here")
    committed = run("git", "ls-files", folder=ROOT).splitlines()
    assert len(committed) > 1000
    assert not [name for name in committed if (ROOT / name).exists() and not (source / name).exists()]


def test_the_source_distribution_has_no_file_of_the_machine_it_was_built_on(source):
    assert not {path.name for path in source.iterdir()} & {
        ".git",
        ".venv",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
    }
    assert not [path for path in source.rglob("*") if path.suffix in {".pyc", ".db"}]


def test_the_wheel_has_the_package_its_data_and_its_licence_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    about = f"socialcrawl-{__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"socialcrawl", about}
    for file in ("py.typed", "config/campaign.toml", "config/x.toml", "migrations/env.py"):
        assert f"socialcrawl/{file}" in names
    assert f"{about}/licenses/LICENSE" in names
    versions = [path.name for path in (ROOT / "migrations/versions").glob("*.py")]
    assert not [name for name in versions if f"socialcrawl/migrations/versions/{name}" not in names]
    sources = [path.relative_to(ROOT).as_posix() for path in (ROOT / "socialcrawl").rglob("*.py")]
    assert not set(sources) - set(names)


def test_the_wheel_says_what_it_is_and_under_which_terms(wheel):
    with zipfile.ZipFile(wheel) as archive:
        facts = archive.read(f"socialcrawl-{__version__}.dist-info/METADATA").decode()
    assert "License-Expression: Apache-2.0" in facts
    assert "License-File: LICENSE" in facts
    assert "Requires-Python: >=3.11" in facts
    assert "Classifier: Typing :: Typed" in facts


def test_the_wheel_installs_into_an_empty_environment_and_runs_the_demo(wheel, tmp_path):
    environment, folder = tmp_path / "environment", tmp_path / "empty"
    folder.mkdir()
    run(sys.executable, "-m", "venv", "--without-pip", environment, folder=folder)
    python = environment / "bin/python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder).strip())
    # Our dependencies are read where they are: a .pth file within that folder, such as that of this checkout, is not.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel, folder=folder)
    place = run(python, "-c", "import socialcrawl; print(socialcrawl.__file__)", folder=folder).strip()
    assert Path(place).is_relative_to(environment)
    command = environment / "bin/socialcrawl"
    assert run(command, "--version", folder=folder).strip() == f"socialcrawl {__version__}"
    told = json.loads(run(command, "demo", "--steps", 20, "--per-window", 500, "--json", folder=folder))
    assert told["posts"] > 100
    steps = run(command, "sql", "select count(*) from pick where act = 'expand'", "--format", "csv", folder=folder)
    assert steps.split()[-1] == "20"
    run(command, "init", "mine.toml", "--platform", "bluesky", "--keyword", "telescope", folder=folder)
    assert (folder / "mine.toml").is_file()
