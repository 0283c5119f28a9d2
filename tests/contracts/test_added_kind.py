"""A fifth kind of campaign, registered by an entry point of another package: it runs, reports, explains, exports."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from added_packages import install_package
from commands import campaign_file, socialcrawl
from jsonschema import Draft202012Validator
from x_crawls import posts_file, rows

from socialcrawl.crawls.base import CrawlKind
from socialcrawl.mock.server import serve_in_thread

PAGE = (Path(__file__).parents[2] / "docs/development/kinds.md").read_text("utf-8")

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
    facts = KindFacts("wander", "accounts in no order", WanderSection, ("by",), topical=True, crawl=("zeta",))
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
    """The path of child processes for which a package that adds the kind `wander` is installed."""
    folder = tmp_path_factory.mktemp("package")
    return install_package(folder, "wandering", {"crawl_kinds": ["wander = wandering:wander"]}, wandering=PLUGIN)


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
    told("export", "--out", "out", "--db", "mine.db", "--campaign", "mine")
    sheet = (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    assert "- kind: `wander`, which wanders about\n" in sheet
    assert "- [wander] by = `random`\n" in sheet
    assert "a person" not in sheet
    assert "proved" in told("verify", "out")

    without = socialcrawl("forget", "--user", f"@{name}", "--yes", "--db", "mine.db", folder=tmp_path)
    assert without.returncode == 0, without.stderr
    assert "forgotten:" in without.stdout
    assert rows(tmp_path / "mine.db", f"select count(*) from account where username = '{name}'") == [(0,)]


@pytest.mark.parametrize(
    ("section", "wrong"),
    [('[wander]\nby = "car"\n', "[wander] by"), ("[wander]\nbye = 1\n", "unknown key 'bye' under [wander]"),
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


def test_init_writes_a_campaign_file_of_an_added_kind_and_the_schema_has_its_section(package, tmp_path):
    def told(*words):
        child = socialcrawl(*words, folder=tmp_path, PYTHONPATH=package)
        assert child.returncode == 0, child.stdout + child.stderr
        return child.stdout

    told("init", "mine.toml", "--kind", "wander", "--keyword", "tea")
    text = (tmp_path / "mine.toml").read_text("utf-8")
    given = tomllib.loads(text)
    assert (given["kind"], given["wander"], given["crawl"]["steps"]) == ("wander", {}, 30)
    assert '# by = "bfs"' in text
    assert "ok     mine.toml" in told("check", "mine.toml")

    schema = Draft202012Validator(json.loads(told("check", "--schema")))
    schema.check_schema(schema.schema)
    assert schema.is_valid({**given, "wander": {"by": "random"}})
    assert not schema.is_valid({**given, "wander": {"by": "car"}})
    assert not schema.is_valid({**given, "wander": {"bye": "bfs"}})


def test_init_names_the_known_kinds_where_one_is_unknown(package, tmp_path):
    child = socialcrawl("init", "mine.toml", "--kind", "wonder", folder=tmp_path, PYTHONPATH=package)
    assert child.returncode == 2
    said = " ".join(child.stderr.split())
    told = "Unknown kind of campaign 'wonder'. Did you mean 'wander'? Choose one of: collect, track, refresh, sample, "
    assert f"{told}capture, wander" in said


def test_it_takes_the_keys_of_crawl_that_its_facts_name_and_no_others_of_another_kind(package, tmp_path):
    file = wandering(tmp_path, "http://127.0.0.1:1")
    plain = file.read_text("utf-8")
    codes = {}
    for line in ("zeta = 0.25", "q = 0.25"):
        file.write_text(plain.replace("[crawl]\n", f"[crawl]\n{line}\n"), "utf-8")
        codes[line] = socialcrawl("check", file, folder=tmp_path, PYTHONPATH=package)
    assert codes["zeta = 0.25"].returncode == 0, codes["zeta = 0.25"].stdout
    assert codes["q = 0.25"].returncode == 2
    assert 'q under [crawl] belongs to kind = "collect"' in " ".join(codes["q = 0.25"].stdout.split())


def test_an_entry_point_of_the_earlier_name_of_the_group_still_counts(tmp_path):
    path = install_package(tmp_path / "p", "wandering", {"kinds": ["wander = wandering:wander"]}, wandering=PLUGIN)
    child = socialcrawl("check", wandering(tmp_path, "http://127.0.0.1:1"), folder=tmp_path, PYTHONPATH=path)
    assert child.returncode == 0, child.stdout


def test_the_example_of_the_page_on_kinds_is_a_kind():
    code, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    found = {}
    exec(compile(code, "kinds.md", "exec"), found)
    assert isinstance(found["wander"], CrawlKind)
    assert found["wander"].facts.name == "wander"


def test_the_page_on_kinds_names_all_that_a_kind_can_override():
    everything = {name for name in vars(CrawlKind) if not name.startswith("_")} | set(CrawlKind.__annotations__)
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    assert (
        sorted(everything - {"facts", "make_crawl", "describe"} - set(re.findall(r"`(\w+)(?: = \w+)?`", table))) == []
    )
