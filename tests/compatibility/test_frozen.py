"""Databases, campaign files and exports that earlier versions left on disks still work: see frozen_databases.py."""

import tarfile

import pytest
from commands import socialcrawl
from frozen_databases import FOLDER, PLACES, URL, decided, thaw, town_posts
from typer.testing import CliRunner
from x_crawls import rows

from socialcrawl.cli.main import app

NAMES = sorted(path.with_suffix("").with_suffix("") for path in FOLDER.glob("*/*.db.xz"))
EVERY = pytest.mark.parametrize("name", NAMES, ids=lambda path: f"{path.parent.name}-{path.name}")


def done(*words):
    """What a command prints that succeeds."""
    run = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    return run.stdout


def test_every_kind_was_frozen_on_every_platform():
    assert {path.name for path in NAMES} >= {
        f"{place}-{kind}" for place in PLACES for kind in ("collect", "track", "refresh", "sample")
    }


@EVERY
def test_a_campaign_whose_process_died_under_an_earlier_version_decides_what_it_would_have_decided(name, tmp_path):
    database, text, later = thaw(name, tmp_path)
    before = decided(database)
    with PLACES[name.name.split("-")[0]].serving(town_posts(tmp_path)) as mock:
        file = tmp_path / "town.toml"
        file.write_text(text.replace(URL, mock.url), "utf-8")
        run = socialcrawl("run", file, "--yes")
    assert run.returncode == 0, run.stderr
    assert len(before["outcomes"]) < len(later["outcomes"])
    assert decided(database) == later
    assert done("report", "--db", database)
    assert "proved" in done("verify", database)
    done("export", "--out", tmp_path / "out", "--db", database, "--format", "csv")
    assert "proved" in done("verify", tmp_path / "out")


@EVERY
def test_an_export_of_an_earlier_version_is_verified_and_comes_back_in(name, tmp_path):
    with tarfile.open(f"{name}-export.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    assert "proved" in done("verify", tmp_path / name.name)
    file = tmp_path / "town.toml"
    file.write_text(name.with_name(f"{name.name.split('-')[0]}-refresh.toml").read_text("utf-8"), "utf-8")
    done("import", tmp_path / name.name, "--as", "dataset", "--db", file)
    assert rows(tmp_path / "town.db", "select count(*) from account")[0][0] > 5
