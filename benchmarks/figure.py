"""One measured figure, and the page that keeps them."""

import os
import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).parent / "README.md"
TINY = "BENCH_TINY"  # the environment variable; it also reaches the processes that a benchmark starts


def is_tiny() -> bool:
    """Return whether benchmarks run at a tiny size: to see that they work, not how fast anything is."""
    return bool(os.environ.get(TINY))


def sized(full: int, tiny: int) -> int:
    """Return the size to measure at: `full`, or `tiny` where BENCH_TINY is set."""
    return tiny if is_tiny() else full


@dataclass(frozen=True)
class Figure:
    """What was measured, the figure with its unit, and what it was held against."""

    what: str
    value: str
    target: str = ""


def keep(name: str, title: str, figures: list[Figure]) -> None:
    """Replace the section of one benchmark in README.md by what was just measured."""
    rows = "\n".join(f"| {f.what} | {f.value} | {f.target} |" for f in figures)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}"
    head = f"## {title}\n\n{machine}. `make bench ONLY={name}`\n\n| what | measured | target |\n|---|---|---|"
    body = f"<!-- {name} -->\n{head}\n{rows}\n<!-- /{name} -->"
    text = PAGE.read_text("utf-8")
    section = re.compile(f"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
    text = section.sub(lambda _: body, text) if section.search(text) else f"{text.rstrip()}\n\n{body}\n"
    PAGE.write_text(text, "utf-8")
