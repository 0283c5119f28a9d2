"""Progress in a real notebook kernel: one line that is replaced, and an interrupt that saves."""

import json
import os

import nbformat
from api_campaigns import sections_of
from nbclient import NotebookClient
from x_crawls import posts

from socialcrawl.mock.server import serve_in_thread

RUN = """
import json, os, signal
import socialcrawl as sc
campaign = sc.Campaign(name="example", **json.loads(os.environ["SOCIALCRAWL_TEST_SECTIONS"]))
ending = campaign.run()
"""
INTERRUPTED = """
sent = []

def interrupt(progress):
    if progress.steps == 40 and not sent:
        sent.append(progress)
        os.kill(os.getpid(), signal.SIGINT)  # what the stop button sends

stopped = campaign.run(steps=100_000, on_progress=interrupt)
print(stopped.state, stopped.report.to_dict()["steps"] >= 40)
stopped
"""


def test_a_notebook_shows_one_line_of_progress_and_its_stop_button_saves(tmp_path, monkeypatch):
    with serve_in_thread(posts(), limit=100_000) as mock:
        sections = sections_of(mock.url, tmp_path / "example.db")
        monkeypatch.setenv("SOCIALCRAWL_TEST_SECTIONS", json.dumps(sections))
        cells = [nbformat.v4.new_code_cell(source) for source in (RUN, INTERRUPTED)]
        client = NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=120, kernel_name="python3")
        run, interrupted = client.execute(env={**os.environ}).cells
    (line,) = run.outputs
    assert line.output_type == "display_data"
    assert line.data["text/plain"].startswith("steps 30 of 30")
    said, shown = interrupted.outputs
    assert said.text == "interrupted True\n"
    assert "<pre>" in shown.data["text/html"]
    assert "interrupted" in shown.data["text/html"]
