"""The page about Python, tried: its blocks run one after the other in a folder that has what they name."""

import re
from pathlib import Path

import matplotlib as mpl
from x_crawls import TOKEN_ENV, TOPIC, posts, posts_file

from socialcrawl.campaign.settings import read
from socialcrawl.mock.server import serve_in_thread

mpl.use("Agg")
PAGE = (Path(__file__).parents[2] / "docs/how-to/python.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FILE = f"""
name = "astronomy"
database = "astronomy.db"
[topic]
keywords = ["{TOPIC}"]
[seeds]
most = 10
[source]
token_env = "{TOKEN_ENV}"
base_url = "%s"
pages_per_user = 2
[limits]
k = 100000
d = 60.0
"""


def test_the_page_about_python_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("posts.parquet").write_bytes(posts_file().read_bytes())
    reading, running, *others = BLOCKS
    with serve_in_thread(posts(), limit=100_000) as mock:
        Path("astronomy.toml").write_text(FILE % mock.url)
        names = {"sc": __import__("socialcrawl")}
        for block in (running, reading, *others):
            exec(compile(block, "python.md", "exec"), names)
    said = capsys.readouterr().out
    assert "done the limit of 20 steps is reached" in said
    assert "30 accounts, " in said
    assert names["result"].curves.keys() == {"hybrid-sum", "bfs", "random"}
    assert len(names["accounts"]) > 0
    assert len(names["posts"]) > 0
    assert names["preview"].matching > 0
    assert read(Path("dark-sky.toml")).budget.max_requests == 2000
    assert Path("estimators.png").stat().st_size > 10_000
