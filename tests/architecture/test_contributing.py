"""What CONTRIBUTING.md, the hosted CI, the hooks and the templates name is there."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TEMPLATE = (ROOT / ".github/PULL_REQUEST_TEMPLATE.md").read_text("utf-8")
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
WORKFLOW = yaml.load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"), yaml.BaseLoader)  # "on" is no boolean
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]


def test_each_make_target_that_contributors_are_told_of_is_there():
    commands = re.findall(r"^make [a-z-]+|`make [a-z -]+`", GUIDE + TEMPLATE, re.MULTILINE)
    targets = {target for command in commands for target in command.strip("`").split()[1:]}
    assert {"lint", "types", "test", "test-all", "chaos", "notebooks", "lock"} <= targets
    assert not [target for target in targets if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)]


def test_each_path_in_the_guide_is_there():
    paths = [target for target in re.findall(r"\]\(([^)#]+)\)", GUIDE) if "://" not in target]
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_the_hosted_ci_runs_what_any_machine_runs_and_may_only_read():
    (job,) = WORKFLOW["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {"push", "pull_request"} == set(WORKFLOW["on"])


def test_actions_are_pinned_by_their_major_version():
    used = [step["uses"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert not [name for name in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", name)]


def test_the_hosted_ci_has_a_python_that_the_package_supports():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for job in WORKFLOW["jobs"].values():
        (version,) = [
            step["with"]["python-version"] for step in job["steps"] if "python-version" in step.get("with", {})
        ]
        assert f"Programming Language :: Python :: {version}" in project["classifiers"]


def test_hooks_run_the_locked_versions():
    hooks = [hook for repository in HOOKS for hook in repository["hooks"]]
    assert [repository["repo"] for repository in HOOKS] == ["local"]
    lock = (ROOT / "requirements-dev.lock").read_text("utf-8")
    for hook in hooks:
        command = hook["entry"].split()[0]
        assert hook["language"] == "system"
        assert re.search(rf"^{command.removeprefix('.venv/bin/')}==", lock, re.MULTILINE), command


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_a_title_and_asks_for_what_is_needed(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)
