"""Exports of a dataset, with what their datasheets say of the campaign as a whole."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from socialcrawl.api.text_report import TextReport
from socialcrawl.crawls.collect.steering import measure_steering
from socialcrawl.crawls.sample.report import fold_sample
from socialcrawl.engine.clock import SystemClock
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.datasheet import render_page
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.render.sample_report import explain_verdict
from socialcrawl.render.steering import describe_gain
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.system.secret import conceal

LONGEST = 10_000  # bytes of a file that could hold a key
KEY = "SOCIALCRAWL_KEY"


def read_key(variable: str, file: Path | None = None) -> bytes:
    """Return the key of pseudonyms, from a file or else from an environment variable; blanks around it do not count.

    Raises:
        SettingsError: there is none. The message never shows it.
    """
    if file is not None:
        try:
            with file.open("rb") as opened:
                key = opened.read(LONGEST).strip()
        except OSError as error:
            raise SettingsError(f"The key file {file} cannot be read ({error.strerror}): check the path.") from error
    else:
        key = os.environ.get(variable, "").strip().encode(errors="surrogateescape")
        if not key:
            raise SettingsError(
                f"Pseudonyms need a key: put one into the environment variable {variable} or a file (--key-file), such "
                "as the output of `openssl rand -hex 32`, and keep it apart from the export."
            )
    conceal(key.decode(errors="replace"))
    return key


def write_export(
    connection: Opened, folder: Path, wanted: ExportOptions, watch: Callable[[str, int], Any]
) -> dict[str, Any]:
    """Write an export, and return the values of its datasheet; see `exporters.export.export`."""
    notes = () if wanted.whole else _make_notes(CampaignTraces(connection), wanted.campaign)
    return export(connection, folder, replace(wanted, notes=notes), SystemClock().now(), watch)


def export_dataset(
    session: ReadSession,
    folder: Path,
    wanted: ExportOptions,
    key_env: str | None,
    watch: Callable[[str, int], Any] | None,
) -> TextReport:
    """Write an export of a dataset, and return its datasheet; see `Dataset.export`. `key_env`: None: without a key."""
    wanted = replace(wanted, key=None if key_env is None else read_key(key_env))
    with session.open_reader() as connection:
        sheet = write_export(connection, folder, wanted, watch or (lambda what, rows: None))
    return TextReport(render_page(sheet), sheet)


def _make_notes(traces: CampaignTraces, campaign: str | None) -> tuple[str, ...]:
    """Return what a datasheet says of a sample as a whole, and of what steering gained where steps were drawn.

    Args:
        traces: the database.
        campaign: the name of one; None: the newest.
    """
    gained = measure_steering(traces, campaign)
    if gained is not None and gained.chance is not None:
        return tuple(line.strip() for line in describe_gain(gained))
    sample = fold_sample(traces, campaign)
    said = [] if sample is None else list(explain_verdict(sample.seen.verdict))
    return tuple(f"does the sample represent the whole topic? {one}" for one in said[:1]) + tuple(said[1:])
