"""The notebooks, executed from a clean kernel. `python tests/support/notebook_runs.py` writes their outputs anew."""

import tempfile
from copy import deepcopy
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def executed(notebook, folder):
    """Return the notebook with new outputs, made in `folder`; a cell that fails raises."""
    again = deepcopy(notebook)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(again, timeout=500, kernel_name="python3", record_timing=False, resources=where).execute()
    again.metadata = deepcopy(notebook.metadata)  # without the version of Python
    return again


if __name__ == "__main__":
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as scratch:
            nbformat.write(executed(nbformat.read(path, 4), scratch), path)
