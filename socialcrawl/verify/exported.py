"""An export verified without its database: its files by their checksums, its tables by the sums that hold in them."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from socialcrawl import __version__
from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.crawls.registry import find_kind
from socialcrawl.engine.model import MILLS_PER_DOLLAR, parse_time
from socialcrawl.errors import PostsFileError, SocialcrawlError, StoreError
from socialcrawl.exporters import data_dictionary
from socialcrawl.exporters.datasheet import FORMAT, render_page
from socialcrawl.exporters.datasheet_facts import count_gaps, find_seeds, read_span
from socialcrawl.exporters.export_folder import SHEETS
from socialcrawl.exporters.restore import (
    DECISIONS,
    TABLES,
    Reader,
    count_picks,
    find_tested,
    restore_export,
    sum_posts,
    sum_requests,
)
from socialcrawl.formats.documents import read_text
from socialcrawl.importers.export_tables import count_rows, find_forms, read_table
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.link_weights import read_link_settings
from socialcrawl.storage.queries.traces import CampaignTraces, find_drawn
from socialcrawl.storage.versions import iterate_leaves
from socialcrawl.system.bounds import MAX_LINE
from socialcrawl.verify.billing import BillingCheck
from socialcrawl.verify.copies import COPIES, CopyCheck
from socialcrawl.verify.findings import MALFORMED, Check, CheckResults
from socialcrawl.verify.integrity import check_order, check_references, check_shared
from socialcrawl.verify.outcomes import MissingSources, OutcomeCheck
from socialcrawl.verify.story import CampaignRecord, read_story
from socialcrawl.verify.verification import check_decisions

EARLIER = "exported by an earlier version, without seeds and settings: export again, or verify the database"
RENUMBERED = "pseudonymised: its accounts have other numbers and its settings are left out"
UNDRAWN = "an earlier version wrote the export, which did not say which picks were drawn"
DRAWN = ("campaign", "n", "drawn")
HIDDEN = "texts are pseudonymised"
TREE = "judged by a decision tree, which an export does not have"
MODEL = "judged by a model of texts, which an export does not have"
ANSWERS = "an export does not have the accounts that responses to searches and look-ups mention"
TESTS = "neither a pseudonymised export nor one by an earlier version has when accounts posted last"
PARTS = "an export has neither the parts of pages that count for a link nor the accounts followed"
NAMES = "judged by names, which an export does not have"
OTHER_VERSION = "written by another version of socialcrawl"
NOT_A_TABLE = "files that are no tables: their checksums prove them"
INCOMPLETE = "without the tables {tables} (in one of parquet, csv, jsonl) no sums can be checked"
UNTOLD = "gaps.timelines_cut"  # cursors, which an export does not tell
NO_INSTANT = "times of the datasheet that are none"
ACTIVE_ONLY = "an export of active accounts has a part of each table"
Watch = Callable[[str, int, int | None], None]


def verify_export(folder: Path, campaign: str | None = None, watch: Watch = lambda *_: None) -> Iterator[CheckResults]:
    """Yield what the checks of an export found: of its files, then of its campaigns in each form.

    Args:
        folder: with datasheet.json.
        campaign: the name of one campaign; None: all.
        watch: told what is done, and how much of it.

    Raises:
        StoreError: the folder has no export, or not of this campaign.
    """
    sheet = _read_sheet(folder)
    try:
        campaigns = [one for one in sheet["campaigns"] if campaign in (None, one["name"])]
        files = {file["name"]: file for file in sheet["files"]}
        yield CheckResults(None, f"files of {folder}", _check_files(folder, sheet, files, watch))
    except MALFORMED as error:
        raise StoreError(f"{folder / SHEETS[0]} is damaged ({error}): copy the export again.") from error
    if campaign is not None and not campaigns:
        raise StoreError(f"{folder} has no campaign {campaign!r}.")
    forms = [] if sheet.get("only_active") else find_forms(list(files), list(TABLES))
    if not forms:
        check = Check("sums")
        why = ACTIVE_ONLY if sheet.get("only_active") else INCOMPLETE.format(tables=", ".join(TABLES))
        check.leave(why, len(campaigns))
        yield CheckResults(None, "tables", [check])
    for form in forms:
        yield from _check_tables(folder, sheet, form, campaign, watch)


def _read_sheet(folder: Path) -> dict[str, Any]:
    try:
        sheet: dict[str, Any] = orjson.loads(read_text(folder / SHEETS[0], most=MAX_LINE))
        if sheet["format"] == FORMAT:
            return sheet
    except (OSError, *MALFORMED) as error:
        raise StoreError(f"{folder} is not an export that can be read ({error}): name a folder of `export`.") from error
    raise StoreError(f"{folder} is not an export of socialcrawl: name a folder of `export`, or a database.")


def _check_files(
    folder: Path, sheet: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]], watch: Watch
) -> list[Check]:
    sums, rows = Check("checksums"), Check("rows of files")
    for number, (name, facts) in enumerate(files.items()):
        watch("reading files", number, len(files))
        path = folder / name
        if Path(name).name != name or not path.is_file():
            sums.differ(name, "file", "listed in the datasheet", None)
            continue
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        wrong = not sums.compare(name, "bytes", facts["bytes"], path.stat().st_size)
        if not sums.compare(name, "sha256", facts["sha256"], digest) or wrong:
            continue
        sums.prove()
        _count_rows(rows, path, facts["rows"])
    return [sums, rows, _check_sheets(folder, sheet)]


def _count_rows(rows: Check, path: Path, expected: Any) -> None:
    try:
        count = count_rows(path)
    except (SocialcrawlError, OSError) as error:
        rows.differ(path.name, "rows", expected, f"cannot be read: {error}")
        return
    if count is None:
        rows.leave(NOT_A_TABLE)
    elif rows.compare(path.name, "rows", expected, count):
        rows.prove()


def _check_sheets(folder: Path, sheet: Mapping[str, Any]) -> Check:
    """Check that the data dictionary and the page for people say what datasheet.json says.

    Earlier versions described tables otherwise; those without decisions had no other version number.
    """
    check = Check("descriptions")
    try:
        package = orjson.loads(read_text(folder / data_dictionary.NAME, most=MAX_LINE))
        text = read_text(folder / SHEETS[1], most=MAX_LINE)
    except (OSError, *MALFORMED) as error:
        check.differ(str(folder), "descriptions", f"cannot be read: {error}", f"{data_dictionary.NAME} and {SHEETS[1]}")
        return check
    listed = {(one["path"], one["bytes"], one["hash"]) for one in package["resources"]}
    made = {(one["name"], one["bytes"], f"sha256:{one['sha256']}") for one in sheet["files"]}
    for name in sorted({one[0] for one in listed ^ made}):
        check.differ(data_dictionary.NAME, name, "another size or checksum", "that of datasheet.json")
    if check.differing:
        return check
    names = [file["name"] for file in sheet["files"]]
    earlier = find_forms(names, ["picks"]) != find_forms(names, [*DECISIONS])
    if sheet["versions"]["socialcrawl"] != __version__ or earlier:
        check.leave(OTHER_VERSION, 2)
        return check
    for name, stored, written in (
        (data_dictionary.NAME, package, orjson.loads(orjson.dumps(data_dictionary.make_package(sheet)))),
        (SHEETS[1], text, render_page(sheet)),
    ):
        if stored == written:
            check.prove()
        else:
            check.differ(name, "text", "another", "what datasheet.json says")
    return check


def _check_tables(
    folder: Path, sheet: Mapping[str, Any], form: str, campaign: str | None, watch: Watch
) -> Iterator[CheckResults]:
    read = partial(_read_rows, folder, form, safe=form == "csv" and bool(sheet.get("safe_csv")))
    check, why = Check("keys of tables"), _explain_no_replay(sheet, form)
    names = {file["name"] for file in sheet["files"]}
    try:
        with restore_export(sheet["campaigns"], read, sheet["tombstones"], decisions=why is None) as (
            connection,
            twice,
        ):
            for name, count in twice.items():
                if count:
                    check.differ(f"{name}.{form}", "rows with the key of another", count, 0)
            check.prove(sum(not count for count in twice.values()))
            for one in sheet["campaigns"]:
                if campaign in (None, one["name"]):
                    yield CheckResults(
                        one["name"], f"{form} of the export", _check_one(connection, sheet, one, why, watch)
                    )
            checks = check_shared(connection, whole=False)
            checks.append(_check_posts(connection, sheet["posts"], checks[1]))
            copies = CopyCheck(connection, read, whole=sheet["campaign"] is None)
            copies.run([table for table in COPIES if f"{table}.{form}" in names])
            drawn = _check_drawn(connection, read, why)
            yield CheckResults(None, f"{form} of the export", [check, copies.check, drawn, *checks])
    except (PostsFileError, StoreError, *MALFORMED) as error:
        check.differ(f"tables as {form}", "rows", f"{error}", "rows that can be read")
        yield CheckResults(None, f"{form} of the export", [check])


def _read_rows(folder: Path, form: str, table: str, columns: Sequence[str], *, safe: bool) -> Iterator[Sequence[Any]]:
    return read_table(folder, table, form, columns, safe=safe)


def _explain_no_replay(sheet: Mapping[str, Any], form: str) -> str | None:
    """Return why the decisions cannot be replayed; None where they can."""
    if sheet["pseudonymised"]:
        return RENUMBERED
    return None if find_forms([file["name"] for file in sheet["files"]], [*DECISIONS]).count(form) else EARLIER


def _check_one(
    connection: Opened, sheet: Mapping[str, Any], facts: Mapping[str, Any], why: str | None, watch: Watch
) -> list[Check]:
    """Check the tables of one campaign; `why` its decisions cannot be replayed."""
    story = read_story(connection, facts["name"])
    decisions = [Check("picks")]
    if why is None:
        decisions = check_decisions(connection, story, watch)
    else:
        decisions[0].leave(why, sum(count_picks(connection, story.begun.id).values()))
    outcomes = OutcomeCheck(connection, story, _find_missing(sheet, facts, story, why))
    outcomes.run(watch)
    bills = BillingCheck(connection, story, whole=False)
    bills.run(watch)
    number = story.begun.id
    rows = [check_order(connection, number), check_references(connection, number)]
    sums = [bills.costs, bills.pages, *([] if why else [bills.budgets]), _check_facts(connection, number, facts)]
    return [*decisions, *outcomes.checks, *sums, _check_settings(story.settings, facts, why), *rows]


def _find_missing(
    sheet: Mapping[str, Any], facts: Mapping[str, Any], story: CampaignRecord, why: str | None
) -> MissingSources:
    links = read_link_settings(orjson.dumps(dict(story.settings)).decode())
    model = (story.settings.get("topic") or {}).get("model_checksum")
    parts = find_platform_facts(story.begun.platform).partial_mentions or bool(links.follows)
    return MissingSources(
        texts=HIDDEN if sheet["pseudonymised"] else TREE if facts.get("judged_by_tree") else MODEL if model else None,
        answers=ANSWERS,
        tests=TESTS if why else None,
        parts=PARTS if parts else None,
        names=NAMES if facts.get("judged_by_name") else None,
    )


def _check_facts(connection: Opened, campaign: int, datasheet: Mapping[str, Any]) -> Check:
    """Check what the datasheet says of a campaign's picks, requests and costs."""
    check = Check("sums of the datasheet")
    picks = count_picks(connection, campaign)
    for act in sorted({*picks, *datasheet["picks"]}):
        check.prove(check.compare("datasheet.json", f"picks {act}", datasheet["picks"].get(act), picks.get(act)))
    sums = sum_requests(connection, campaign)
    rows = {(row["endpoint"], row["kind"]): (row["requests"], row["posts"]) for row in datasheet["requests"]}
    for key in sorted({*sums, *rows}):
        stored, made = rows.get(key, (None, None)), sums.get(key, (None, None))
        right = [
            check.compare("datasheet.json", f"{what} of {' '.join(key)}", one, other)
            for what, one, other in zip(("requests", "posts"), stored, made, strict=False)
        ]
        check.prove(all(right))
    dollars = 0.0 if datasheet["rehearsal"] else sum(mills for _, _, mills in sums.values()) / MILLS_PER_DOLLAR
    check.prove(check.compare("datasheet.json", "dollars", datasheet["dollars"], dollars))
    course: dict[str, Any] = {"gaps": count_gaps(connection, campaign, datasheet["requests"], datasheet["platform"])}
    course |= read_span(connection, campaign)
    if find_kind(datasheet.get("kind", DEFAULT.name)).dataset:
        tested = find_tested(connection)
        course["liveness"] = Counter(row["status"] for (name, _), row in tested.items() if name == datasheet["name"])
    else:  # the dataset of a refresh is no list of seeds
        names = dict.fromkeys(person.display_name for person in find_seeds(connection, campaign))
        course["seeds"] = [name for name in names if name is not None]
    one, other = (
        dict(iterate_leaves(facts)) | {UNTOLD: None} for facts in ({key: datasheet[key] for key in course}, course)
    )
    for name in sorted({*one, *other}):
        check.prove(
            check.compare("datasheet.json", name, _normalize_value(one.get(name)), _normalize_value(other.get(name)))
        )
    return check


def _check_settings(newest: Mapping[str, Any], facts: Mapping[str, Any], why: str | None) -> Check:
    """Check that the datasheet tells the settings of the newest version; `why` the export does not tell these."""
    check = Check("settings of the datasheet")
    if why is not None:
        check.leave(why)
        return check
    version = {name: value for name, value in newest.items() if name != "name"}
    sheet = {"kind": facts.get("kind", DEFAULT.name), "seed": facts["seed"], **facts["settings"]}
    stored, recomputed = dict(iterate_leaves(sheet)), dict(iterate_leaves(version))
    for key in sorted({*stored, *recomputed}):
        check.prove(check.compare("datasheet.json", key, stored.get(key), recomputed.get(key)))
    return check


def _check_posts(connection: Opened, facts: Mapping[str, Any], origins: Check) -> Check:
    """Check what the datasheet says of all posts together.

    Args:
        connection: the tables.
        facts: what it says.
        origins: what came of the posts that no request lists.
    """
    check = Check("posts of the datasheet")
    unlisted = origins.differing + origins.unproved.total()
    for name, made in {**sum_posts(connection), "unasked": unlisted}.items():
        try:
            check.prove(
                check.compare("datasheet.json", f"posts.{name}", _normalize_value(facts[name]), _normalize_value(made))
            )
        except ValueError:
            check.leave(NO_INSTANT)
    return check


def _normalize_value(value: Any) -> Any:
    """Return a value of the datasheet; an instant in Unix seconds, as forms write it with other digits."""
    return parse_time(value) if isinstance(value, str) else value


def _check_drawn(connection: Opened, read: Reader, why: str | None) -> Check:
    """Check the column `drawn` of the table of picks.

    Args:
        connection: the tables, as `restore_export` has them.
        read: gives the cells of some columns of a table, row by row.
        why: the settings are not known; None: they are.
    """
    check, traces = Check("drawn picks"), CampaignTraces(connection)
    drawn: dict[str, dict[int, str]] = {}
    try:
        for campaign, n, value in read("picks", DRAWN):
            if why is not None:
                check.leave(why)
                continue
            if campaign not in drawn:
                drawn[campaign] = find_drawn(traces, campaign)
            check.prove(check.compare(f"pick {n} of {campaign}", "drawn", value, drawn[campaign].get(n)))
    except PostsFileError:
        check.leave(UNDRAWN)
    return check
