"""The page of the Python interface, made from the docstrings and signatures of the names in `socialcrawl.__all__`."""

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from public_members import find_members

import socialcrawl
from socialcrawl.api import table_definitions

HEAD = """# Python

<!-- Made by `make reference`. Do not edit: change the docstrings in socialcrawl/api. -->

`import socialcrawl as sc` takes a few milliseconds: libraries are imported when they are needed. The names on this page
are the public interface. They follow semantic versioning: a name that changes keeps working, with a warning, for at
least one minor version. Everything else in the package may change at any time. `pip install 'socialcrawl[analysis]'`
adds pandas, polars, networkx and igraph, which `to_pandas`, `to_polars`, `to_networkx` and `to_igraph` need.

```python
import socialcrawl as sc

with sc.open("astronomy.db") as data:
    accounts = data.accounts(top=50).to_pandas()
    network = data.network(on_topic=True).to_networkx()
```

The database `astronomy.db` is one that a campaign has filled, such as `demo.db` of `socialcrawl demo`.

The examples below run in the tests. In them, `data` is `sc.open("example.db")`, the database of a small campaign of
eight accounts; `graph` is the graph of its posts, which are in `posts.csv`; `sky-labels.csv` has 20 labels of posts;
and `new.toml` and `edited.toml` are the files of campaigns that have not run yet.
"""
TABLES = {
    "Dataset.posts": table_definitions.POSTS,
    "Dataset.accounts": table_definitions.ACCOUNTS,
    "Dataset.score_curve": table_definitions.SCORE_CURVE,
    "Dataset.list_campaigns": table_definitions.CAMPAIGNS,
    "Dataset.ledger": table_definitions.LEDGER,
    "Dataset.changes": table_definitions.CHANGES,
}
SECTIONS = {"Args": "Arguments", "Raises": "Raises", "Returns": "Returns", "Attributes": "Attributes"}


def render_python() -> str:
    """Return the page of the Python interface, Markdown."""
    lines = [HEAD]
    for name in sorted(socialcrawl.__all__, key=lambda name: (name != "open", name.lower())):
        value = getattr(socialcrawl, name)
        lines += [f"## sc.{name}", ""]
        if not inspect.isclass(value):
            lines += [*_render_signature(f"sc.{name}", value), *_render_docstring(value)]
            continue
        lines += _render_docstring(value)
        for member, one in sorted(find_members(value).items()):
            function = getattr(value, member) if isinstance(one, classmethod) else one
            if member.startswith("_") or not inspect.getdoc(function):
                continue
            if isinstance(one, property):
                lines += [f"### {name}.{member}", "", *_render_docstring(one)]
            elif callable(function):
                title = f"sc.{name}.{member}" if isinstance(one, classmethod) else f".{member}"
                lines += [f"### {name}.{member}", "", *_render_signature(title, function), *_render_docstring(function)]
    for method, definition in TABLES.items():
        lines += [f"## Columns of {method}", "", "| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | {kind} | {words} |" for name, (kind, words) in definition.columns.items()]
        lines.append("")
    return "\n".join(lines)


def _render_signature(title: str, function: Any) -> Iterator[str]:
    words = str(inspect.signature(function)).replace("(self, ", "(").replace("(self)", "()")
    words = re.sub(r"(: |-> )'([^']*)'", r"\1\2", words)
    words = re.sub(r"\b(?:[a-z_]\w*\.)+([A-Za-z_]\w*)", r"\1", words)
    words = re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]", r"NDArray[\1]", words)
    yield from ("```python", f"{title}{words}", "```", "")


def _render_docstring(value: Any) -> Iterator[str]:
    """Yield the lines of a docstring; its sections of names and meanings become lists, its example a block of code."""
    inside = False
    words, _, example = (inspect.getdoc(value) or "").partition("\nExample:\n")
    for line in words.splitlines():
        if heading := SECTIONS.get(line.removesuffix(":")):
            inside = True
            yield from (f"**{heading}**", "")
        elif inside and (match := re.match(r" {4}(\S[^:]*): (.*)", line)):
            yield f"- `{match[1]}`: {match[2]}"
        else:
            inside = inside and line.startswith(" ")
            yield f"  {line.strip()}" if inside else line
    if example:
        yield from ("", "**Example**", "", "```pycon", *dedent(example).splitlines(), "```")
    yield ""
