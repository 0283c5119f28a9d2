"""The notebooks, made from the texts beside them and executed from a clean kernel.

`python tests/support/notebook_runs.py [NAME ...]` writes them with their outputs, all of them if none is named.
"""

import os
import sys
import tempfile
import time
from copy import deepcopy
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
SHARED = "course"  # the module that the notebooks import; it is no notebook
TEXTS = sorted(path for path in FOLDER.glob("*.py") if path.stem != SHARED)
NOTEBOOKS = [path.with_suffix(".ipynb") for path in TEXTS]
METADATA = {
    "jupytext": {"formats": "ipynb,py:percent"},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read_text(path):
    """Return the notebook of a text in the form of jupytext's percent cells, without outputs."""
    notebook = jupytext.read(path, fmt="py:percent")
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", {}  # the same on every run
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def execute(notebook, folder):
    """Return the notebook with new outputs, made in `folder`; a cell that fails raises."""
    again = deepcopy(notebook)
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(again, timeout=500, kernel_name="python3", record_timing=False, resources=where)
    paths = [str(FOLDER), os.environ.get("PYTHONPATH", "")]  # as if it were opened in its own folder
    client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))})
    again.metadata = deepcopy(notebook.metadata)  # without the version of Python
    return again


if __name__ == "__main__":
    for path in TEXTS:
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            nbformat.write(execute(read_text(path), scratch), path.with_suffix(".ipynb"))
        print(f"{path.stem}: {time.monotonic() - begin:.0f} s")  # noqa: T201 - for whoever renews them
