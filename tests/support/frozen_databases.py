"""Databases, campaign files and exports that this version leaves behind, for later versions to work with.

`python tests/support/frozen_databases.py` makes those of the version at hand, in a folder named after it. They are
committed, and never made again: they show what people have on their disks.
"""

import json
import lzma
import os
import sqlite3
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

from refresh_campaigns import written
from test_platforms import PLATFORMS, OnTheWeb, told
from test_refresh_campaign import bring, edges
from verified_campaigns import died
from x_crawls import crawl, rows, sequence

from socialcrawl import __version__
from socialcrawl.campaign.settings import read
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.lab.post_table import read_posts
from socialcrawl.storage.database.connection import open_database

FOLDER = Path(__file__).parents[1] / "compatibility" / "frozen"
URL = "http://127.0.0.1:1"  # stands in campaign files where the address of the mock comes
PLACES = {on.name: on for on in (*PLATFORMS, OnTheWeb())}
SECTIONS = {
    "collect": {"crawl": {"estimator": "hybrid-sum", "switch_after": 5, "refresh_rate": 3, "shadows": ["bfs"]}},
    "track": {"track": {"window": "all", "rest": "0.001ms", "p": 0.6}, "crawl": {}},
    "refresh": {"refresh": {"rank": "pa", "z": 3, "active": "exists"}, "crawl": {"refresh_rate": 2}},
    "sample": {"sample": {"walkers": 2, "burn_in": 2}, "crawl": {"refresh_rate": 2}},
}
STEPS = {"collect": 16, "track": 25, "refresh": None, "sample": 20}
DEATH = {"collect": 8, "track": 8, "refresh": 2, "sample": 8}  # the request with which the process dies
OUTCOMES = "select n, posts, occurrences, value, missing from outcome order by n"


def campaign_text(kind, on):
    """A campaign file of a kind on a platform."""
    source = {**on.source, "base_url": URL, "timeout": 10.0, "reuse_hours": 0}
    source.pop("token_env", None)
    quick = {"k": 100_000, "d": 60.0, "pause": 0.01, "longest_pause": 0.04, "give_up": 30.0}
    sections = {**SECTIONS[kind], "source": source, "limits": quick, "budget": {"max_requests": 500}}
    if STEPS[kind] is not None:
        sections["crawl"] = {**sections["crawl"], "steps": STEPS[kind]}
    if kind != "refresh":
        seeds = [on.called(name) for name in (on.seeds if on.name == "web" else list(on.truth())[:3])]
        sections |= {"topic": {"keywords": list(on.topic.keywords)}, "seeds": {"search": False, "usernames": seeds}}
    head = {"name": "town", "kind": kind, "database": "town.db"}
    lines = [*(f"{key} = {json.dumps(value)}" for key, value in head.items())]
    for section, values in sections.items():
        lines += ["", f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join([*lines, ""])


def town_posts(folder):
    """The posts of the town."""
    return read_posts(written(folder / "town.jsonl", "\n".join(map(json.dumps, told()))))


def campaign_at(folder, text, url):
    """The settings of a campaign file in a folder, against the mock at `url`."""
    return read(written(folder / "town.toml", text.replace(URL, url)))


def decided(database):
    """What a campaign chose and found: its picks and their outcomes."""
    return {
        "picks": [list(row) for row in sequence(database)],
        "outcomes": [list(row) for row in rows(database, OUTCOMES)],
    }


def thaw(name, folder):
    """Put the database and the campaign file NAME of a version into a folder, and return both, and what came after."""
    place = folder / "town.db"
    place.write_bytes(lzma.decompress(Path(f"{name}.db.xz").read_bytes()))
    return place, Path(f"{name}.toml").read_text("utf-8"), json.loads(Path(f"{name}.json").read_bytes())


def freeze(kind, on, folder):
    """Leave a campaign file, the database of a process that died, and what a later one decided, in a folder."""
    text, name = campaign_text(kind, on), f"{on.name}-{kind}"
    with tempfile.TemporaryDirectory() as place, on.serving(town_posts(Path(place))) as mock:
        settings = campaign_at(Path(place), text, mock.url)
        if kind == "refresh":
            bring(settings, written(Path(place) / "old.csv", edges([on.called(name) for name in on.truth()])))
        died(settings, DEATH[kind])
        with closing(sqlite3.connect(settings.database)) as raw:
            raw.execute("vacuum into ?", (f"{place}/whole.db",))
        crawl(settings)
        found = decided(settings.database)
        with open_database(settings.database) as connection:
            export(connection, Path(place) / name, ExportOptions(formats=("csv",)), 1_800_000_000.0)
        with tarfile.open(folder / f"{name}-export.tar.xz", "w:xz") as tar:
            tar.add(Path(place) / name, arcname=name)
        (folder / f"{name}.db.xz").write_bytes(lzma.compress(Path(place, "whole.db").read_bytes()))
    (folder / f"{name}.toml").write_text(text, "utf-8")
    (folder / f"{name}.json").write_text(json.dumps(found), "utf-8")


def freeze_all():
    """Freeze a campaign of every kind on every platform."""
    os.environ["X_BEARER_TOKEN"] = "a-token"
    folder = FOLDER / __version__
    folder.mkdir(parents=True)
    for on in PLACES.values():
        for kind in SECTIONS:
            freeze(kind, on, folder)


if __name__ == "__main__":
    freeze_all()
