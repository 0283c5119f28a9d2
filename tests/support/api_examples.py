"""The world of the examples in docstrings: eight accounts, a campaign that has read six of them, and a known graph."""

import csv
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import socialcrawl as sc
from socialcrawl.mock.server import serve_in_thread

TOKEN_ENV = "SOCIALCRAWL_TEST_TOKEN"
POSTS = (
    ("ann", "The telescope saw Saturn tonight @ben @cleo"),
    ("ann", "A telescope and a clear sky @ben"),
    ("ben", "My telescope needs a new mirror @dora"),
    ("cleo", "Bread recipes for Sunday @emil"),
    ("dora", "telescope, telescope, telescope @ann @fay"),
    ("emil", "Football again @gus"),
    ("fay", "A telescope for beginners @hana"),
    ("gus", "Rain all day"),
    ("hana", "Is this telescope any good? @fay"),
)
CAMPAIGN = """name = "sky"
database = "{name}.db"

[topic]
keywords = ["telescope"]

[seeds]
usernames = ["ann", "cleo"]
search = false

[crawl]
estimator = "nh-ne-sum"
steps = 4

[source]
token_env = "{token}"
base_url = "{url}"

[limits]
pause = 0.01
longest_pause = 0.04
"""


@contextmanager
def open_example_world(folder: Path) -> Iterator[dict[str, Any]]:
    """Enter `folder` with example.db, new.toml, posts.csv and labels in it; yield the names that examples may use.

    `new.toml` is the same campaign before its first run, and so is `edited.toml`. Its server is a mock on this machine.
    """
    os.environ.setdefault(TOKEN_ENV, "AAAA-the-token-that-nobody-may-see")
    with chdir(folder), Path("posts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("author", "created_at", "text"))
        writer.writerows((name, f"2026-03-0{day}T12:00:00Z", text) for day, (name, text) in enumerate(POSTS, 1))
    with chdir(folder), Path("sky-labels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "text", "on_topic"))
        writer.writerows((f"a{n}", f"a telescope, number {n}", "yes") for n in range(10))
        writer.writerows((f"b{n}", f"dinner, number {n}", "no") for n in range(10))
    with chdir(folder), serve_in_thread(Path("posts.csv"), limit=100_000) as mock:
        for name in ("example", "new", "edited"):
            Path(f"{name}.toml").write_text(CAMPAIGN.format(name=name, token=TOKEN_ENV, url=mock.url), encoding="utf-8")
        sc.Campaign.load("example.toml").run()
        graph = sc.Graph.from_posts("posts.csv", keywords=["telescope"])
        with sc.open("example.db") as data:
            yield {"sc": sc, "data": data, "graph": graph}
