"""Check that a checkout can be released, and build the source distribution and the wheel in dist/.

    python .ci/release.py        # or: make release

A release has one version, in `socialcrawl/__init__.py`, in CITATION.cff and as the first section of CHANGELOG.md. Its
date is in both files. Nothing is built from files that are not committed. The steps before and after are in
docs/development/releasing.md.

Exit codes: 0 built, 1 not ready: each reason is a line.
"""

import ast
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
RELEASED = re.compile(r"(\S+) \((\d{4}-\d{2}-\d{2})\)")


def read_version(source: str) -> str:
    """Return `__version__` of a module's source."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise ValueError("socialcrawl/__init__.py has no __version__.")


def list_obstacles(version: str, changelog: str, citation: dict[str, Any], project: dict[str, Any]) -> Iterator[str]:
    """Yield what has to be fixed before `version` can be released.

    Args:
        version: `__version__` of the package.
        changelog: the text of CHANGELOG.md.
        citation: the content of CITATION.cff.
        project: the table [project] of pyproject.toml.
    """
    first = SECTION.search(changelog)
    title = first[1] if first else "no section"
    dated = RELEASED.fullmatch(title)
    if dated is None or dated[1] != version:
        yield f"CHANGELOG.md begins with {title!r}. Name the section '{version} (YYYY-MM-DD)'."
    elif str(citation.get("date-released")) != dated[2]:
        yield f"CITATION.cff has date-released {citation.get('date-released')}, but CHANGELOG.md has {dated[2]}."
    if citation.get("version") != version:
        yield f"CITATION.cff has version {citation.get('version')}, but the package has {version}."
    source = project.get("urls", {}).get("Source")
    if source is None:
        yield "pyproject.toml has no [project.urls] Source. Add the public address of the repository."
    elif citation.get("repository-code") != source:
        yield f"CITATION.cff has repository-code {citation.get('repository-code')}, but pyproject.toml has {source}."


def list_uncommitted() -> Iterator[str]:
    """Yield the files of the checkout that differ from the last commit, with a word each."""
    git = shutil.which("git") or "git"
    done = subprocess.run([git, "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    yield from (f"{line[3:]} is not committed." for line in done.stdout.splitlines())


def build(folder: Path) -> list[Path]:
    """Build the source distribution and the wheel, and return them."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    return sorted(folder.iterdir())


def main() -> int:
    """Check, build, and print the checksums."""
    version = read_version((ROOT / "socialcrawl/__init__.py").read_text("utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    obstacles = [*list_obstacles(version, changelog, citation, project), *list_uncommitted()]
    for line in obstacles:
        print(f"not ready: {line}")
    if obstacles:
        return 1
    for path in build(ROOT / "dist"):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
