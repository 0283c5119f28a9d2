"""The documentation is built as a site without a warning; its links lead somewhere and nothing comes from elsewhere."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from docs_site import NOTEBOOKS, build, prepare_pages

ROOT = Path(__file__).parents[2]


LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """What a page of the site links to and loads, the names of its places, and pictures without a text."""

    def __init__(self, file):
        super().__init__()
        self.links, self.loaded, self.names, self.silent = [], [], set(), []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.names |= {given.get("id"), given.get("name")}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get(LOADED.get(tag)):
            self.loaded.append(given[LOADED[tag]])
        if tag == "img" and len(given.get("alt") or "") < 20:
            self.silent.append(given.get("src"))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the pages, built strictly; links out of it lead to the files of the project."""
    copy = tmp_path_factory.mktemp("site") / "project"
    prepare_pages(copy)
    done = build(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy


@pytest.fixture(scope="module")
def pages(project):
    return {file: Page(file) for file in sorted((project / "site").rglob("*.html")) if file.name != "404.html"}


def test_each_page_of_the_documentation_is_a_page_of_the_site(project, pages):
    made = {file.relative_to(project / "site").with_suffix(".md") for file in pages}
    assert made == {file.relative_to(project / "docs") for file in (project / "docs").rglob("*.md")}


def test_each_notebook_is_a_page_with_its_pictures_and_outputs(project, pages):
    for file in NOTEBOOKS:
        cells = json.loads(file.read_text("utf-8"))["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        page = (project / "site/notebooks" / f"{file.stem}.html").read_text("utf-8")
        drawn = sum("image/png" in output.get("data", {}) for output in outputs)
        assert drawn > 0
        pictures = re.findall(rf'src="({file.stem}-[^"]+\.png)"', page)
        assert len(pictures) == drawn
        assert all((project / "site/notebooks" / picture).is_file() for picture in pictures)


def test_links_of_the_site_lead_to_pages_places_and_files(project, pages):
    broken = []
    for file, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.is_relative_to(project / "site"):
                target = ROOT / target.relative_to(project)
            names = pages[target].names if target in pages else None
            if not target.exists() or (parts.fragment and names is not None and parts.fragment not in names):
                broken.append(f"{file.name}: {link}")
    assert not broken


def test_the_site_loads_nothing_from_another_host(pages):
    elsewhere = {link for page in pages.values() for link in page.loaded if urlsplit(link).netloc}
    assert not elsewhere
    assert not [file for file in pages if 'class="mermaid"' in file.read_text("utf-8")], "its script is on another host"


def test_the_search_knows_each_page(project, pages):
    index = json.loads((project / "site/search.json").read_text("utf-8"))
    found = {item["location"].partition("#")[0] for item in index["items"]}
    assert found >= {str(file.relative_to(project / "site")) for file in pages} - {"index.html"}


def test_each_picture_has_a_text_that_stands_for_it(pages):
    assert not {link for page in pages.values() for link in page.silent}
