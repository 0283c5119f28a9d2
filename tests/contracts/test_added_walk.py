"""A walk of another package: whole campaigns with it."""

import pytest
from added_packages import install_package
from commands import campaign_file, socialcrawl
from x_crawls import posts_file, rows

from socialcrawl.mock.server import serve_in_thread

PLUGIN = """
class Metropolis:
    paper = "A paper on walks (1970)"

    def accept(self, degree, proposed):
        return min(1.0, degree / proposed)

    def weigh(self, degree):
        return 1.0


class Fails(Metropolis):
    def accept(self, degree, proposed):
        raise ValueError("no way")
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The path of child processes for which a package with two walks is installed."""
    groups = {"walks": ["metropolis = strolling:Metropolis", "fails = strolling:Fails"]}
    return install_package(tmp_path_factory.mktemp("package"), "strolling", groups, strolling=PLUGIN)


def sampling(folder, url, walk):
    """A campaign file of 40 steps by this walk."""
    folder.mkdir(exist_ok=True)
    file = campaign_file(folder, url, steps=40)
    text = file.read_text("utf-8").replace('name = "mine"', 'name = "mine"\nkind = "sample"')
    section = f'[sample]\nwalk = "{walk}"\nfocus = "none"\nwalkers = 2\nburn_in = 2\ninward = false\n'
    file.write_text(text.replace('estimator = "bfs"\n', "") + section, "utf-8")
    return file


def decided(folder):
    """All decisions of a campaign, in order."""
    return rows(
        folder / "mine.db", "select n, act, lower(username) from pick left join account using (node) order by n"
    )


def drawn(folder):
    query = "select lower(username), visits, weight from sampled join account using (node) order by username"
    return rows(folder / "mine.db", query)


def test_a_campaign_of_an_added_walk_goes_on_after_a_stop_as_without_it_and_reports_verifies_and_exports(
    package, tmp_path
):
    def told(folder, *words):
        child = socialcrawl(*words, folder=tmp_path / folder, PYTHONPATH=package)
        assert child.returncode == 0, child.stdout + child.stderr
        return " ".join((child.stdout + child.stderr).split())

    with serve_in_thread(posts_file(), limit=100_000) as mock:
        whole = sampling(tmp_path / "whole", mock.url, "metropolis")
        told("whole", "run", whole, "--yes")
        file = sampling(tmp_path / "parts", mock.url, "metropolis")
        assert "2 walks (metropolis) with focus none" in told("parts", "check", file)
        for steps in (7, 5):
            told("parts", "run", file, "--yes", "--steps", steps)
        told("parts", "run", file, "--yes")
        plain = sampling(tmp_path / "plain", mock.url, "max-degree")
        told("plain", "run", plain, "--yes")
    assert decided(tmp_path / "parts") == decided(tmp_path / "whole")
    assert decided(tmp_path / "parts") != decided(tmp_path / "plain")
    assert drawn(tmp_path / "parts") == drawn(tmp_path / "whole") != []
    said = told("parts", "report", "--db", "mine.db")
    assert "the walk is metropolis, after A paper on walks (1970)" in said
    told("parts", "report", "--db", "mine.db", "--html", "report.html")
    page = " ".join((tmp_path / "parts/report.html").read_text("utf-8").split())
    assert "The walk was metropolis (package strolling 1.0, as installed when this was written; A paper" in page
    assert "the walk is" not in told("plain", "report", "--db", "mine.db")
    name = next(name for _, act, name in decided(tmp_path / "parts") if act == "walk")
    assert "in the campaign mine" in told("parts", "explain", name, "--db", "mine.db")
    assert "mine (sample, x;" in told("parts", "verify", "mine.db")
    told("parts", "export", "--out", "out", "--db", "mine.db", "--campaign", "mine")
    sheet = " ".join((tmp_path / "parts/out/datasheet.md").read_text("utf-8").split())
    assert "- walk: metropolis (package strolling 1.0, as installed when this was written; A paper on walks" in sheet
    assert "proved" in told("parts", "verify", "out")


def test_a_walk_that_raises_is_refused_with_a_sentence_and_another_walk_is_another_campaign(package, tmp_path):
    with serve_in_thread(posts_file(), limit=100_000) as mock:
        file = sampling(tmp_path, mock.url, "fails")
        child = socialcrawl("run", file, "--yes", folder=tmp_path, PYTHONPATH=package)
        assert child.returncode == 1
        said = " ".join(child.stderr.split())
        assert "error: the walk 'fails' failed in accept: ValueError: no way (strolling.py, line" in said
        assert not list(tmp_path.glob("*.db")), "nothing was begun"
        for walk, code in (("metropolis", 0), ("max-degree", 2)):
            file = sampling(tmp_path, mock.url, walk)
            child = socialcrawl("run", file, "--yes", folder=tmp_path, PYTHONPATH=package)
            assert child.returncode == code
    assert "walk" in child.stderr


def test_without_its_package_a_campaign_is_refused_and_the_known_walks_are_named(tmp_path):
    child = socialcrawl("check", sampling(tmp_path, "http://127.0.0.1:1", "metropolis"), folder=tmp_path)
    assert child.returncode == 2
    assert "unknown walk 'metropolis'. Choose one of: max-degree, MODULE:CLASS" in " ".join(child.stdout.split())
