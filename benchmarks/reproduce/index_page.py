"""The index of a reproduction: one page with all figures and tables, which needs no script and no other file."""

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as ET

from benchmarks.reproduce.catalog import Figure, Paper
from benchmarks.reproduce.runs import (
    ERRORS,
    PRINTED,
    RECORD,
    Plan,
    Record,
    Reproduction,
    count_cores,
    is_done,
    name_command,
)
from socialcrawl.render.html_elements import Child, make_details, make_element, make_table, write_document
from socialcrawl.render.html_report import STYLE
from socialcrawl.system.files import replace_file
from socialcrawl.text.wording import pluralize

WIDER = """
main { max-width: 70rem; }
a { color: var(--first); }
h3 { font-size: 1.05rem; margin: 2.5rem 0 .5rem; scroll-margin-top: 1rem; }
h3 .state { font-weight: 600; color: var(--second); }
section > p { max-width: 46rem; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: .5rem 2rem; }
.sides { margin: .5rem 0 1rem; }
.sides dt { color: var(--quiet); font-size: .9rem; }
.sides dd { margin: 0; }
figure img { display: block; max-width: 100%; height: auto; background: #fff; border: 1px solid var(--faint); }
pre { background: var(--tint); padding: .75rem; overflow-x: auto; max-height: 40rem; }
pre { font-size: .8rem; line-height: 1.35; }
.command { white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: .5rem 0; }
nav ul { columns: 20rem; column-gap: 2.5rem; padding-left: 1.2rem; margin: .25rem 0 1rem; }
nav li { break-inside: avoid; }
nav .quiet { white-space: nowrap; }
td code { font-size: .8rem; overflow-wrap: anywhere; }
"""
TITLE = "Figures and tables, reproduced"
LONGEST = 60_000  # characters of what commands printed that are shown
SIZES_MEAN = {
    "tiny": "shows that everything works; the numbers mean nothing",
    "quick": "small graphs and few crawls; numbers are rough",
    "full": "the set-ups of the pages of findings",
    "paper": "graphs as large as the papers' own, for those figures that were drawn of them",
}
PIXELS = 1.6  # of a picture to one of the screen, so that their letters have one size
STATES = ("done", "failed", "of an earlier version", "not run yet")


def write_index(papers: Sequence[Paper], plans: Mapping[str, Plan], reproduction: Reproduction, size: str) -> Path:
    """Write index.html with all figures, also those that were not run yet; return its path.

    Args:
        papers: what there is.
        plans: of each figure, by its label.
        reproduction: the folder.
        size: of the commands.
    """
    records = {label: reproduction.read_record(plan.figure) for label, plan in plans.items()}
    states = {label: describe_state(records[label], plan) for label, plan in plans.items()}
    body = [
        make_element("header", make_element("h1", TITLE), *_make_headline(records, states, size)),
        make_element("nav", make_element("h2", "Contents"), *_make_contents(papers, records, states)),
        *(_make_paper(paper, plans, records, states, reproduction) for paper in papers),
        make_element("section", make_element("h2", "Versions"), *_make_versions(records), id="versions"),
    ]
    page = write_document(
        TITLE,
        STYLE.read_text("utf-8") + WIDER,
        make_element("main", *body),
        with_images=True,
    )
    path = reproduction.out / "index.html"
    with replace_file(path) as part:
        part.write_text(page, "utf-8")
    return path


def describe_state(record: Record | None, plan: Plan) -> str:
    """Return one of STATES."""
    if record is None:
        return "not run yet"
    if record.get("key") != plan.key:
        return "of an earlier version"
    return "done" if is_done(record, plan) else "failed"


def format_seconds(seconds: float) -> str:
    """Return a time as text, such as `4.2 s`, `3 min 10 s` or `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _make_headline(records: Mapping[str, Record | None], states: Mapping[str, str], size: str) -> Iterator[ET.Element]:
    done = [record for label, record in records.items() if record and states[label] == "done"]
    counted = [f"{sum(state == name for state in states.values())} {name}" for name in STATES]
    spent = format_seconds(sum(one["seconds"] for one in done))
    lines = {
        "figures and tables": "; ".join(one for one in counted if not one.startswith("0 ")),
        "size": f"{size}: {SIZES_MEAN[size]}",
        "run time": f"{spent} in all, on {pluralize(count_cores(), 'core')}",
    }
    yield make_element("dl", *_list_pairs(lines), class_="headline")
    at = datetime.now(UTC).isoformat(timespec="minutes")[:16].replace("T", " ")
    yield make_element(
        "p",
        f"Written {at} UTC. Each figure says what the paper shows, what the project found, with which command it was "
        "made, and how long that took. What the project found is about the set-ups on its pages, at their sizes; the "
        "pictures show this run.",
        class_="quiet",
    )


def _list_pairs(lines: Mapping[str, str]) -> Iterator[ET.Element]:
    for name, line in lines.items():
        yield make_element("div", make_element("dt", name), make_element("dd", line))


def _make_contents(
    papers: Sequence[Paper], records: Mapping[str, Record | None], states: Mapping[str, str]
) -> Iterator[ET.Element]:
    for paper in papers:
        yield make_element("p", make_element("a", paper.title, href=f"#{paper.name}"))
        lines = []
        for figure in paper.figures:
            record, state = records[figure.label], states[figure.label]
            said = format_seconds(record["seconds"]) if record and state == "done" else state
            link = make_element("a", figure.title, href=f"#{_make_anchor(figure)}")
            lines.append(make_element("li", link, " ", make_element("span", said, class_="quiet")))
        yield make_element("ul", *lines)


def _make_paper(
    paper: Paper,
    plans: Mapping[str, Plan],
    records: Mapping[str, Record | None],
    states: Mapping[str, str],
    reproduction: Reproduction,
) -> ET.Element:
    figures = [
        part
        for figure in paper.figures
        for part in _make_figure(paper, plans[figure.label], records[figure.label], states[figure.label], reproduction)
    ]
    about = make_element("p", f"{paper.about} All findings: ", make_element("code", paper.page), ".")
    return make_element("section", make_element("h2", paper.title), about, *figures, id=paper.name)


def _make_figure(
    paper: Paper, plan: Plan, record: Record | None, state: str, reproduction: Reproduction
) -> Iterator[ET.Element]:
    figure, folder = plan.figure, reproduction.get_folder(plan.figure)
    mark = None if state == "done" else make_element("span", f" ({state})", class_="state")
    yield make_element("h3", figure.title, mark, id=_make_anchor(figure))
    own = paper.name == "steering"
    sides = {
        "the question" if own else "the paper": figure.shows,
        "what it shows" if own else "what the project found": figure.ours,
    }
    pairs = list(_list_pairs(sides))
    findings = ", ".join(f"“{heading}”" for heading in figure.findings)
    pairs[-1].append(make_element("dd", f"{paper.page}, {findings}", class_="quiet"))
    yield make_element("dl", *pairs, class_="sides")
    if record is None:
        yield from _make_commands(plan, None)
        return
    pictures = sorted(folder.glob("*.png"))
    for picture in pictures:
        yield _embed_picture(picture, figure, reproduction.out)
    for page in sorted(folder.glob("*.html")):
        link = make_element("a", page.name, href=_make_address(page, reproduction.out))
        yield make_element("p", "The result is a separate page: ", link, ".")
    printed = _read_end(folder / PRINTED)
    if printed:
        text = make_element("pre", printed, tabindex="0")
        yield make_details("What the command printed", text) if pictures else text
    if state == "failed":
        last = record["commands"][-1]
        yield make_element("p", f"Exit code {last['exit_code']}: ", make_element("code", last["command"]))
        yield make_element("pre", _read_end(folder / ERRORS)[-4_000:], tabindex="0")
    yield from _make_commands(plan, record)
    yield _make_provenance(record, folder, reproduction.out)


def _make_commands(plan: Plan, record: Record | None) -> Iterator[ET.Element]:
    """Yield the commands, with the time that they took."""
    lines = [name_command(words) for words in plan.commands]
    said = "Run it alone" if record is None else f"Run it alone ({format_seconds(record['seconds'])})"
    yield make_details(
        said,
        make_element("pre", "\n".join(lines), class_="command"),
        make_element(
            "p", "As a part of this folder: ", make_element("code", f"make reproduce ONLY={plan.figure.label}"), "."
        ),
    )


def _make_provenance(record: Record, folder: Path, out: Path) -> ET.Element:
    seeds = {name: value for one in record["commands"] for name, value in one["seeds"].items()}
    lines = {
        "made": f"{record['at'][:16].replace('T', ' ')} UTC, {pluralize(record['cores'], 'core')}, {record['system']}",
        "processor time": format_seconds(sum(one.get("processor_seconds", 0.0) for one in record["commands"])),
        "seeds": ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in seeds.items()) or "none",
        "code": ", ".join(dict.fromkeys(record["code"].values())),
        "versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
    }
    rows: list[list[Child]] = [
        [make_element("a", name, href=_make_address(folder / name, out)), make_element("code", digest)]
        for name, digest in record["outputs"].items()
    ]
    rows.append([make_element("a", RECORD, href=_make_address(folder / RECORD, out)), "this record"])
    parts = [
        make_element("dl", *_list_pairs(lines), class_="headline"),
        make_table(["file", "SHA-256"], rows, caption="files"),
    ]
    if record["inputs"]:
        read: list[list[Child]] = [[name, make_element("code", digest)] for name, digest in record["inputs"].items()]
        parts.append(make_table(["input", "SHA-256"], read, caption="inputs"))
    return make_details("Data, seeds, versions, checksums", *parts)


def _make_versions(records: Mapping[str, Record | None]) -> Iterator[ET.Element]:
    known = [record for record in records.values() if record]
    names = list(dict.fromkeys(name for record in known for name in record["versions"]))
    rows: list[list[Child]] = [
        [name, ", ".join(sorted({record["versions"].get(name, "-") for record in known}))] for name in names
    ]
    yield make_table(["package", "version"], rows, caption="versions with which the figures were made")


def _embed_picture(picture: Path, figure: Figure, out: Path) -> ET.Element:
    """Return a picture, which leads to its file: the SVG where there is one."""
    data = picture.read_bytes()
    width = int.from_bytes(data[16:20], "big")  # of the PNG's header
    image = make_element(
        "img",
        src=f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}",
        alt=f"{figure.title}, as made by this run; the data is in the files below",
        style=f"width: {width / PIXELS:.0f}px",
    )
    drawn = picture.with_suffix(".svg")
    link = _make_address(drawn if drawn.exists() else picture, out)
    return make_element("figure", make_element("a", image, href=link))


def _make_anchor(figure: Figure) -> str:
    return figure.label.replace("/", "-")


def _make_address(path: Path, out: Path) -> str:
    return quote(os.path.relpath(path, out))


def _read_end(path: Path) -> str:
    try:
        text = path.read_text("utf-8", errors="replace").strip("\n")
    except OSError:
        return ""
    return text if len(text) <= LONGEST else f"...\n{text[-LONGEST:]}"
