"""A release is refused until its version, date and address agree everywhere; CITATION.cff keeps to its format."""

import datetime as dt
import importlib.util
import re
import sys
from pathlib import Path

import pytest
import yaml

from socialcrawl import __version__

ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
ADDRESS = "https://example.org/socialcrawl"
READY = {
    "version": "1.2.0",
    "changelog": "# Changelog\n\n## 1.2.0 (2027-01-31)\n\n- A line.\n\n## 1.1.0 (2026-12-01)\n",
    "citation": {"version": "1.2.0", "date-released": dt.date(2027, 1, 31), "repository-code": ADDRESS},
    "project": {"urls": {"Source": ADDRESS}},
}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("release_script", ROOT / ".ci/release.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["release_script"] = module
    spec.loader.exec_module(module)
    return module


def test_a_release_whose_version_date_and_address_agree_has_no_obstacle(script):
    assert list(script.list_obstacles(**READY)) == []


@pytest.mark.parametrize(
    ("changed", "obstacle"),
    [({"changelog": "## Unreleased\n\n- A line.\n\n## 1.2.0 (2027-01-31)\n"}, "CHANGELOG.md begins with 'Unreleased'"),
     ({"changelog": "## 1.1.0 (2027-01-31)\n"}, "Name the section '1.2.0 (YYYY-MM-DD)'"),
     ({"changelog": "# Changelog\n"}, "CHANGELOG.md begins with 'no section'"),
     ({"citation": {**READY["citation"], "version": "1.1.0"}}, "CITATION.cff has version 1.1.0, but the package"),
     ({"citation": {**READY["citation"], "date-released": dt.date(2027, 1, 30)}}, "2027-01-30, but CHANGELOG.md"),
     ({"project": {}}, "no [project.urls] Source"),
     ({"project": {"urls": {"Source": "https://example.com"}}}, f"CITATION.cff has repository-code {ADDRESS}")],
)  # fmt: skip
def test_each_disagreement_is_one_obstacle(script, changed, obstacle):
    (line,) = script.list_obstacles(**{**READY, **changed})
    assert obstacle in line


def test_the_version_is_read_without_importing_the_package(script):
    assert script.read_version((ROOT / "socialcrawl/__init__.py").read_text("utf-8")) == __version__
    with pytest.raises(ValueError, match="no __version__"):
        script.read_version("version = 1")


def test_the_citation_has_the_version_of_the_package():
    assert CITATION["version"] == __version__


KEYS = {
    "cff-version", "message", "type", "title", "version", "abstract", "authors", "license", "keywords", "references",
    "date-released", "repository-code", "doi", "identifiers", "url",
}  # fmt: skip
REFERENCE_KEYS = {
    "type", "title", "authors", "year", "conference", "journal", "institution", "doi", "start", "end", "notes",
}  # fmt: skip
"""Keys of the Citation File Format 1.2.0 that we use."""


def test_the_citation_keeps_to_its_format():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(CITATION) <= KEYS
    assert CITATION["type"] == "software"
    for one in CITATION["references"]:
        assert {"type", "title", "authors"} <= set(one) <= REFERENCE_KEYS
        assert one["type"] in {"article", "conference-paper", "report"}
        assert all(set(person) == {"family-names", "given-names"} for person in one["authors"])
        assert all(set(one[key]) == {"name"} for key in ("conference", "institution") if key in one)
        assert isinstance(one["year"], int)
        assert re.fullmatch(r"10\.\d{4,9}/\S+", one.get("doi", "10.1000/none"))


def test_the_citation_names_the_five_papers():
    first_authors = [one["authors"][0]["family-names"] for one in CITATION["references"]]
    assert first_authors == ["Gouriten", "Kumar", "Abiteboul", "Huynh", "Bar-Yossef"]
    pages = [ROOT / f"docs/explanation/{name}.md" for name in ("gouriten", "kumar", "opic", "liverank", "sampling")]
    for page, one in zip(pages, CITATION["references"], strict=True):
        title = next(line for line in page.read_text("utf-8").splitlines() if line.startswith("# "))
        assert all(person["family-names"] in title for person in one["authors"])
