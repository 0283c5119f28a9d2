"""`socialcrawl check`: campaign files looked through without a request."""

import json
from collections.abc import Iterator, Sequence
from math import isinf
from pathlib import Path
from typing import Any

from rich.console import Console

from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.schedule import Schedule
from socialcrawl.campaign.settings import Settings, describe_namesake, read, select_campaign_files
from socialcrawl.crawls.collect.estimators.registry import list_usual_shadows
from socialcrawl.crawls.facts import list_foreign_keys
from socialcrawl.daemon.campaign_check import check_campaign
from socialcrawl.errors import SettingsError
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.render.console import Text
from socialcrawl.storage.database.health import is_missing
from socialcrawl.text.terminal import write_json

DONE, WRONG = 0, 2


def check(given: Sequence[Path], console: Console, *, as_json: bool = False) -> int:
    """Return the exit code after every campaign file was looked through: 2 if something in one of them is wrong.

    Args:
        given: campaign files, and folders of them (`*.toml`).
        console: where each file gets its line.
        as_json: one JSON object to stdout instead.

    Raises:
        SettingsError: there is nothing to look at.
    """
    names: dict[tuple[str, str], Path] = {}
    found = []
    for file in list(find_campaign_files(given)):
        said: dict[str, Any] = {"file": str(file), "campaign": None, "errors": [], "warnings": []}
        found.append(said)
        try:
            plan = check_campaign(read(file))
            _check_unique(names, file, plan.settings)
        except SettingsError as error:
            lines = str(error).splitlines()
            said["errors"] = [line.removeprefix(f"{file}: ").removeprefix(f"{file}, ") for line in lines]
            lines = [f"WRONG  {file}: {line}" for line in said["errors"]]
        else:
            said |= {"campaign": plan.settings.name, "warnings": [warning for _, warning in plan.warnings]}
            lines = [f"ok     {file}: {_format_plan(plan)}", *(f"WARN   {file}: {one}" for one in said["warnings"])]
        if not as_json:
            console.print(Text("\n".join(lines)), soft_wrap=True)
    wrong = any(said["errors"] for said in found)
    if as_json:
        write_json(json.dumps({"valid": not wrong, "files": found}, ensure_ascii=False))
    return WRONG if wrong else DONE


def find_campaign_files(given: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that are given, and those in the folders that are.

    Raises:
        SettingsError: there is none in a folder.
    """
    for path in given:
        inside = select_campaign_files(path.glob("*.toml")) if path.is_dir() else [path]
        if not inside:
            raise SettingsError(f"There is no campaign file (*.toml) in {path}: `socialcrawl init` writes one.")
        yield from inside


def _check_unique(names: dict[tuple[str, str], Path], file: Path, settings: Settings) -> None:
    first = names.setdefault((settings.name, str(settings.database)), file)
    if first is not file:
        raise SettingsError(describe_namesake(first, settings))


def _format_plan(plan: Plan) -> str:
    settings = plan.settings
    text = f"campaign {settings.name!r}, {plan.description}, into {settings.database}"
    text = ", ".join([text, *_list_differences(plan)])
    if not plan.billed:
        return text
    most = plan.max_cost
    return (
        f"{text}; {'no bound on its cost' if most is None or isinf(most) else f'at most {format_dollars(round(most))}'}"
    )


def _list_differences(plan: Plan) -> Iterator[str]:
    """Yield what differs from a campaign that runs alone and always."""
    settings = plan.settings
    if plan.kind.dataset and is_missing(settings.database):
        yield "whose dataset is still to be brought (socialcrawl import FILES --as dataset)"
    if settings.seeds.capture is not None:
        yield f"beginning with the authors of the capture {settings.seeds.capture}"
    shadows = settings.crawl.shadows
    if "shadows" not in list_foreign_keys(settings.kind) and shadows != list_usual_shadows(settings.crawl.estimator):
        yield f"{'shadow' if len(shadows) == 1 else 'shadows'} {', '.join(shadows)}" if shadows else "no shadows"
    if settings.fleet.scheduler:
        yield f"sent by the workers of {settings.fleet.scheduler}"
    if plan.schedule != Schedule():
        yield plan.schedule.describe()
    if settings.limits.weight != 1.0:
        yield f"weight {settings.limits.weight:g}"
