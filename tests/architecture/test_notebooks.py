"""The notebooks run from a clean kernel, say what was committed, and name nothing of the machine they ran on."""

import base64
import re
from io import BytesIO

import nbformat
import psutil
import pytest
from matplotlib.image import imread
from notebook_runs import FOLDER, NOTEBOOKS, execute, read_text

RENEW = "the committed outputs are old: run `make notebooks` and look at the pictures"
MACHINE = re.compile(
    r"/(home|root|tmp|work|Users|usr|opt|private|var)/|\b\d+\.\d+\.\d+\.\d+\b|localhost|://(?!USER@HOST)"
)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def said(cell):
    """What a cell says in words, in order; a picture by what stands in for it. Texts may arrive in pieces."""
    lines = []
    for output in cell.outputs:
        assert output.output_type in ("stream", "display_data", "execute_result"), output
        if output.output_type == "stream":
            before = lines.pop()[1] if lines and lines[-1][0] == output.name else ""
            lines.append((output.name, before + output.text))
        elif "image/png" in output.data:
            lines.append(("picture", output.metadata["image/png"]["alt"]))
        else:
            lines.append(("text", output.data.get("text/markdown") or output.data["text/plain"]))
    return lines


def pictures(notebook):
    for cell in code(notebook):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                yield output


def pixels(output):
    return imread(BytesIO(base64.b64decode(output.data["image/png"])))


def children():
    """The processes that this one has started, and theirs."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def committed(path):
    return nbformat.read(path, 4)


def test_there_are_notebooks_and_each_has_a_text_beside_it():
    assert NOTEBOOKS
    assert sorted(FOLDER.glob("*.ipynb")) == NOTEBOOKS


def test_a_notebook_and_its_text_have_the_same_cells(path, committed):
    text = read_text(path.with_suffix(".py"))
    assert [(cell.cell_type, cell.source) for cell in committed.cells] == [
        (cell.cell_type, cell.source) for cell in text.cells
    ], RENEW
    assert [cell.id for cell in committed.cells] == [cell.id for cell in text.cells], RENEW
    assert committed.metadata == text.metadata


def test_the_first_cell_names_the_goal_in_a_sentence(committed):
    lines = committed.cells[0].source.split("\n\n")
    assert lines[0].startswith("# ")
    assert re.match(r"\*\*Goal:\*\* you .+\.$", lines[1].replace("\n", " "))


def test_cells_are_short(committed):
    assert not [cell.source for cell in code(committed) if len(cell.source.splitlines()) > 40]
    assert not [cell.source for cell in committed.cells if max(map(len, cell.source.splitlines())) > 150]


def test_links_of_a_notebook_lead_somewhere(committed):
    texts = [cell.source for cell in committed.cells if cell.cell_type == "markdown"]
    targets = [target for text in texts for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)]
    assert not [target for target in targets if "://" not in target and not (FOLDER / target).exists()]


@pytest.mark.timeout(600)
def test_a_clean_kernel_says_what_was_committed_and_leaves_no_process(committed, tmp_path, monkeypatch):
    for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "folder").mkdir()
    before = children()
    again = execute(committed, tmp_path / "folder")
    assert [said(cell) for cell in code(again)] == [said(cell) for cell in code(committed)], RENEW
    sizes, shapes = ([pixels(one).shape for one in pictures(notebook)] for notebook in (committed, again))
    assert [(abs(a[0] - b[0]) < 20, abs(a[1] - b[1]) < 20) for a, b in zip(shapes, sizes, strict=True)] == [
        (True, True)
    ] * len(sizes), RENEW
    assert not list((tmp_path / "folder").iterdir()), "it leaves no file where it is read"
    assert children() <= before


def test_every_cell_was_run_in_order(committed):
    assert [cell.execution_count for cell in code(committed)] == list(range(1, len(code(committed)) + 1)), RENEW


def test_every_picture_has_a_text_that_stands_for_it_a_caption_and_axes_with_names(committed):
    assert len(list(pictures(committed))) >= 2
    sources = ""
    for cell in code(committed):
        lines, sources = said(cell), sources + cell.source
        for place, (kind, alt) in enumerate(lines):
            if kind == "picture":
                assert len(alt) > 40
                assert re.match(r"\*\*Figure \d: .+[.?]\*\* .+\.$", lines[place + 1][1])
                assert "set_xlabel" in sources or 'axis("off")' in sources


def test_the_pictures_are_not_blank(committed):
    for one in pictures(committed):
        assert len({tuple(pixel) for row in pixels(one)[::3, ::3] for pixel in row}) > 10


def test_the_outputs_name_nothing_of_the_machine_they_were_made_on(committed):
    for cell in code(committed):
        for output in cell.outputs:
            texts = [output.get("text", ""), *(v for k, v in output.get("data", {}).items() if k.startswith("text/"))]
            assert not [found for text in texts if (found := MACHINE.search(text))]
    assert not any(cell.metadata for cell in committed.cells), "times of execution are nobody's business"


def test_the_readme_leads_to_every_notebook():
    assert "(notebooks/README.md)" in (FOLDER.parent / "README.md").read_text("utf-8")
    index = (FOLDER / "README.md").read_text("utf-8")
    assert not [path.name for path in NOTEBOOKS if f"]({path.name})" not in index]
