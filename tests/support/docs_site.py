"""The documentation as a site, with the notebooks as pages: `python tests/support/docs_site.py` writes site/."""

import base64
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PLACE = "  # the notebooks are added here\n"


def prepare_pages(folder):
    """Write the sources of the site into a new folder: the settings, the pages, and a page for each notebook."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    index = folder / "docs/index.md"
    index.write_text(index.read_text("utf-8").replace("](../notebooks)", "](notebooks/index.md)"), "utf-8")
    pages = folder / "docs/notebooks"
    pages.mkdir()
    first = (ROOT / "notebooks/README.md").read_text("utf-8")
    (pages / "index.md").write_text(re.sub(r"\((\w+)\.ipynb\)", r"(\1.md)", first), "utf-8")
    for file in NOTEBOOKS:
        (pages / f"{file.stem}.md").write_text(render_notebook(file, pages), "utf-8")
    settings = (ROOT / "zensical.toml").read_text("utf-8")
    assert settings.count(PLACE) == 1
    files = ", ".join(f'"notebooks/{file.stem}.md"' for file in NOTEBOOKS)
    entry = f'  {{ "Notebooks" = ["notebooks/index.md", {files}] }},\n'
    (folder / "zensical.toml").write_text(settings.replace(PLACE, entry), "utf-8")


def render_notebook(file, folder):
    """Return a notebook with its outputs as Markdown; its pictures are written into `folder`."""
    blocks = []
    for cell in nbformat.read(file, as_version=4).cells:
        if cell.cell_type == "markdown":
            blocks.append(cell.source.replace("](../docs/", "](../"))
            continue
        blocks.append(fence("python", cell.source))
        for output in cell.outputs:
            data = {"text/plain": output.text} if output.output_type == "stream" else output.data
            if "image/png" in data:
                picture = folder / f"{file.stem}-{len(blocks)}.png"
                picture.write_bytes(base64.b64decode(data["image/png"]))
                blocks.append(f"![{output.metadata['image/png']['alt']}]({picture.name})")
            else:
                blocks.append(data.get("text/markdown") or fence("text", data["text/plain"]))
    return "\n\n".join(blocks) + "\n"


def fence(language, text):
    """Return a block of code that holds a text, whatever fences the text has itself."""
    marks = max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1
    return f"{'`' * marks}{language}\n{text.rstrip()}\n{'`' * marks}"


def build(folder):
    """Build the site from the sources in `folder` into its folder `site`, and return what was said."""
    command = [Path(sys.executable).with_name("zensical"), "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        prepare_pages(Path(scratch) / "project")
        done = build(Path(scratch) / "project")
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        if done.returncode == 0:
            shutil.rmtree(ROOT / "site", ignore_errors=True)
            shutil.move(Path(scratch) / "project/site", ROOT / "site")
        sys.exit(done.returncode)
