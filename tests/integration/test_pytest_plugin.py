"""The pytest plug-in: the page on it runs as it stands there, and it costs nothing where nobody uses it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import requests

from socialcrawl.errors import MockError
from socialcrawl.testing.social_api import serve_posts

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/test-collectors.md"
PLUGIN = "socialcrawl.testing.pytest_plugin"
WARNINGS = ["-W", "error", "-W", "ignore::DeprecationWarning"]


def run_tests(folder, source, *options):
    """Run the tests of a file with this plug-in alone; others that are installed import what they like."""
    (folder / "test_page.py").write_text(source, "utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", "-c", os.devnull, *options],
        cwd=folder,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_tests_of_the_page_on_collectors_pass(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    child = run_tests(tmp_path, "\n\n".join(blocks), "--rootdir", ".", ".")
    assert child.returncode == 0, child.stdout + child.stderr
    assert "6 passed" in child.stdout


def test_a_test_that_does_not_use_the_fixture_imports_nothing_of_the_mock(tmp_path):
    source = """
import sys

def test_nothing_heavy_is_imported():
    heavy = {"numpy", "requests", "httpx", "sqlalchemy", "pyarrow", "socialcrawl.mock", "socialcrawl.engine"}
    assert not heavy & set(sys.modules)
"""
    child = run_tests(tmp_path, source, "--rootdir", ".", ".")
    assert child.returncode == 0, child.stdout + child.stderr


def test_the_package_declares_the_plug_in_under_the_name_of_its_module():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    assert declared == {PLUGIN: PLUGIN}


def test_faults_can_be_set_on_the_way_and_wrong_ones_are_refused(tmp_path):
    with serve_posts([{"author": "ann", "text": "sun"}], tmp_path) as api, requests.Session() as session:
        api.mount(session)
        ask = lambda: session.get("https://api.x.com/2/users/by/username/ann", headers={"Authorization": "Bearer t"})  # noqa: E731
        assert ask().status_code == 200
        api.set_faults([{"kind": "error", "status": 502, "times": 1}])
        assert [ask().status_code for _ in range(2)] == [502, 200]
        with pytest.raises(ValueError, match=r"^[^{]*weather"):
            api.set_faults([{"kind": "weather"}])
        assert api.report("mastodon")["over"] == 0


def test_an_unknown_setting_is_refused_with_the_nearest_one(tmp_path):
    said = "Unknown setting 'limits'. Did you mean 'limit'?"
    with pytest.raises(MockError, match=re.escape(said)), serve_posts([], tmp_path, limits=5):
        pass


def test_several_apis_run_beside_each_other_also_on_a_file(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text("author,created_at,text\nzoe,2026-11-01T00:00:00Z,moon\n", "utf-8")
    with serve_posts([{"author": "ann", "text": "sun"}], tmp_path) as one, serve_posts(file, tmp_path) as other:
        told = [
            requests.get(
                f"{api.url}/2/users/by/username/{name}", headers={"Authorization": "Bearer t"}, timeout=20
            ).json()
            for api in (one, other)
            for name in ("ann", "zoe")
        ]
    assert ["data" in answer for answer in told] == [True, False, False, True]
