"""A fifth kind of campaign, registered by an entry point of another package: it runs, reports, explains, exports."""

import os

import pytest
from commands import campaign_file, socialcrawl
from x_crawls import posts_file, rows

from socialcrawl.mock.server import serve_in_thread

PLUGIN = """
from typing import Literal

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.base import CrawlKind, Progress, no_mark, one_each
from socialcrawl.crawls.facts import KindFacts
from socialcrawl.campaign.sections.values import Section


class WanderSection(Section):
    by: Literal["random", "bfs"] = "bfs"
    friend: str = ""


class WanderKind(CrawlKind):
    facts = KindFacts("wander", "accounts in no order", WanderSection, ("by",), topical=True)
    matter = "nothing"
    does = "which wanders about"
    private = ("friend",)

    def make_crawl(self, settings, seeds, width=one_each, mark=no_mark):
        return Collect(seeds, make_estimator(settings.section.by, seed=settings.seed), settings.crawl.steps, width)

    def describe(self, settings):
        return f"wandering by {settings.section.by}"

    def describe_progress(self, crawl):
        return Progress("wandered", f"met {crawl.graph.size}", "no end in sight", [])

    def limit_quote(self, settings):
        return "A wanderer may stop at any time."

    def report(self, traces, whole, asked):
        super().report(traces, whole, asked)
        return {"steps": len(traces.read_steps(whole.id).n)}


wander = WanderKind()
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder on the path of child processes, with the module and what an installer would have written about it."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "wandering.py").write_text(PLUGIN, "utf-8")
    about = folder / "wandering-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: wandering\nVersion: 1.0\n", "utf-8")
    (about / "entry_points.txt").write_text("[socialcrawl.kinds]\nwander = wandering:wander\n", "utf-8")
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


def wandering(folder, url, section=""):
    """The campaign file of one that wanders."""
    file = campaign_file(folder, url)
    text = file.read_text("utf-8").replace('name = "mine"', 'name = "mine"\nkind = "wander"')
    file.write_text(text.replace('estimator = "bfs"\n', "") + section, "utf-8")
    return file


def test_a_campaign_of_an_added_kind_runs_reports_explains_verifies_and_exports(package, tmp_path):
    def told(*words):
        child = socialcrawl(*words, folder=tmp_path, PYTHONPATH=package)
        assert child.returncode == 0, child.stderr
        return child.stdout + child.stderr

    with serve_in_thread(posts_file(), limit=100_000) as mock:
        file = wandering(tmp_path, mock.url, '\n[wander]\nby = "random"\nfriend = "a person"\n')
        assert "wandering by random" in told("check", file)
        assert "A wanderer may stop at any time." in told("quote", file)
        assert "wandered " in told("run", file, "--yes", "--steps", "3")
        told("run", file, "--yes")
    assert "steps: 8" in told("report", "--db", "mine.db")
    name = rows(tmp_path / "mine.db", "select username from account join pick using (node) where act = 'expand'")[0][0]
    assert "in the campaign mine" in told("explain", name, "--db", "mine.db")
    assert "mine (wander, x;" in told("verify", "mine.db")
    told("export", "out", "--db", "mine.db", "--campaign", "mine")
    sheet = (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    assert "- kind: `wander`, which wanders about\n" in sheet
    assert "- [wander] by = `random`\n" in sheet
    assert "a person" not in sheet
    assert "proved" in told("verify", "out")


@pytest.mark.parametrize(
    ("section", "wrong"),
    [('[wander]\nby = "car"\n', "[wander] by"), ("[wander]\nbye = 1\n", "[wander] bye is not a setting"),
     ("[track]\np = 0.1\n", '[track] belongs to kind = "track"')],
)  # fmt: skip
def test_mistakes_in_its_section_are_named_with_the_file(package, tmp_path, section, wrong):
    file = wandering(tmp_path, "http://127.0.0.1:1", section)
    child = socialcrawl("check", file, folder=tmp_path, PYTHONPATH=package)
    assert child.returncode == 2
    assert wrong in " ".join(child.stdout.split())


def test_without_its_package_a_campaign_is_refused_and_the_known_kinds_are_named(tmp_path):
    child = socialcrawl("check", wandering(tmp_path, "http://127.0.0.1:1"), folder=tmp_path)
    assert child.returncode == 2
    assert "unknown kind of campaign 'wander'. Choose one of: collect, track, refresh, sample" in " ".join(
        child.stdout.split()
    )
