"""The commands that bring data in, keep it safe, hand it on and judge it.

`import`, `order` and `backup`; `export`; `audit`, which says what a collected dataset holds of a topic; `label` and
`train`, which learn what is on topic from examples.
"""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.choices import offer
from socialcrawl.cli.options import PLACE, AsJson, CampaignName, Database, Pause, Place

ImportKind = Annotated[
    str,
    typer.Option(
        "--as",
        help="What the files become: see docs/how-to/imports.md.",
        **offer("posts|seeds|history|dataset|liveness|ids"),
    ),
]

ImportDatabase = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar=PLACE,
        help="Where to store. A campaign file: its topic is counted and its history is extended. Default: the only "
        "*.db in this folder.",
    ),
]


ImportedFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        help="File to import: twarc JSON lines, Parquet, CSV, JSONL, text (also .gz), or the folder of an export."
    ),
]


def import_(
    files: ImportedFiles = None,
    *,
    kind: ImportKind = "posts",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="With --as seeds: file to write. Default: standard output.")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--limit", min=1, help="With --as seeds: maximum number of names.")
    ] = None,
    from_campaign: Annotated[
        str | None, typer.Option(help="With --as dataset: an earlier campaign of the same database.")
    ] = None,
    by_id: Annotated[
        bool | None,
        typer.Option("--ids/--names", help="Whether cells of a dataset are ids or names. Default: see the docs."),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip lines that cannot be read.")] = False,
    pause: Pause = False,
    database: ImportDatabase = None,
    as_json: AsJson = False,
) -> None:
    """Import posts, seeds, datasets or ids.

    It can import a history that a campaign goes on from, too. A campaign of kind capture fetches the posts of imported
    ids (--as ids).
    """
    from socialcrawl.cli.commands.import_file import ImportOptions, import_files  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database  # noqa: PLC0415

    campaign = None if database is None else choose_database(database).file
    import_files(
        ImportOptions(
            files or [],
            kind,
            campaign,
            out,
            most,
            None if campaign is not None else database,
            skip_bad=skip_bad,
            earlier=from_campaign,
            by_id=by_id,
            pause=pause,
            as_json=as_json,
        )
    )


def order(
    campaign: Annotated[Path, typer.Argument(help='Campaign file with kind = "refresh".')],
    *,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write the lists to.")],
    workers: Annotated[int, typer.Option(min=1, help="Number of workers that share the order.")] = 1,
    most: Annotated[int | None, typer.Option("--limit", min=1, help="Maximum number of accounts.")] = None,
    beyond: Annotated[bool, typer.Option("--beyond", help="Continue after the wanted fraction is found.")] = False,
) -> None:
    """Split a refresh among workers.

    It writes one list of remaining accounts per worker. Import their results with `import --as liveness`.
    """
    from socialcrawl.render.refresh_report import share_out  # noqa: PLC0415

    share_out(campaign, workers, out, most, beyond=beyond)


def backup(
    place: Place = None,
    *,
    database: Database = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Copy to write.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    pause: Pause = False,
    as_json: AsJson = False,
) -> None:
    """Copy the database.

    Campaigns may keep running.
    """
    from socialcrawl.cli.commands.backup import copy  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database, split_target  # noqa: PLC0415

    given, file = split_target(place, database, out, "the copy")
    if file is None:
        raise typer.BadParameter("name the copy to write: --out FILE")
    copy(choose_database(given, database).address, file, force=force, pause=pause, as_json=as_json)


Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        help="Tables, network (gexf, graphml), ids, original answers (warc), or a dataset that grows (parquet-dataset, "
        "alone). Default: parquet. Repeatable.",
        **offer("parquet|csv|jsonl|gexf|graphml|ids|warc|parquet-dataset"),
    ),
]
ExportFolder = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        help="Folder to write: new, empty, or an older export. Default: NAME-export, after the database.",
    ),
]


Pseudonymise = Annotated[bool, typer.Option("--pseudonymise", help="Replace names and ids by keyed hashes.")]
KeyVariable = Annotated[str, typer.Option(help="Environment variable that holds the key for pseudonyms.")]
OnlyActive = Annotated[
    bool, typer.Option("--only-active", help="Refresh campaigns: export only accounts found active.")
]
SafeCsv = Annotated[
    bool,
    typer.Option("--safe-csv", help="CSV for spreadsheets: put an apostrophe before texts that look like formulas."),
]
OnlyOnTopic = Annotated[bool, typer.Option("--only-on-topic", help="Network: export only mentions in matching posts.")]
PartitionBy = Annotated[
    str | None,
    typer.Option(
        help="parquet-dataset: divide posts by the time they were written. Default: month.", **offer("year|month|day")
    ),
]
SinceLast = Annotated[
    bool, typer.Option("--since-last", help="parquet-dataset: add what is new to the dataset in the folder.")
]


def export(
    place: Place = None,
    *,
    out: ExportFolder = None,
    campaign: CampaignName = None,
    whole: Annotated[bool, typer.Option("--all", help="Export all campaigns of the database.")] = False,
    form: Formats = None,
    pseudonymise: Pseudonymise = False,
    key_env: KeyVariable = "SOCIALCRAWL_KEY",
    key_file: Annotated[Path | None, typer.Option(help="File that holds the key instead.")] = None,
    only_active: OnlyActive = False,
    safe_csv: SafeCsv = False,
    only_on_topic: OnlyOnTopic = False,
    partition_by: PartitionBy = None,
    since_last: SinceLast = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export in the folder.")] = False,
    database: Database = None,
    pause: Pause = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the datasheet as JSON and nothing else.")] = False,
) -> None:
    """Export data as files.

    It writes posts, accounts, network and ledger with a datasheet, with names or pseudonyms.
    """
    from socialcrawl.api.data_export import read_key  # noqa: PLC0415
    from socialcrawl.cli.commands.export import choose_folder, export_data, export_partitions  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database, split_target  # noqa: PLC0415
    from socialcrawl.exporters.export import ExportOptions  # noqa: PLC0415
    from socialcrawl.exporters.partitioned import NAME, PartitionOptions  # noqa: PLC0415

    key = read_key(key_env, key_file) if pseudonymise or key_file is not None else None
    given, folder = split_target(place, database, out, "the folder")
    chosen = choose_database(given, database, campaign)
    wanted = ExportOptions(
        *(chosen.campaign, whole, tuple(dict.fromkeys(form or ["parquet"])), key, force, only_active, safe_csv),
        on_topic=only_on_topic,
    )
    if NAME in wanted.formats or partition_by is not None or since_last:
        dataset = PartitionOptions(chosen.campaign, whole, partition_by, since_last, force)
        export_partitions(chosen.address, folder or choose_folder(chosen), wanted, dataset, as_json=as_json)
        return
    export_data(chosen.address, folder or choose_folder(chosen), wanted, as_json=as_json, pause=pause)


def audit(
    campaign: Annotated[Path, typer.Argument(help='Campaign file of a sample (kind = "sample") that has run.')],
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(help="Campaign to audit. Repeatable. Default: every collecting campaign, and all together."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option("--db", metavar=PLACE, help="What to audit. Default: what is in the database of the sample."),
    ] = None,
    held: Annotated[
        list[Path] | None, typer.Option(help="Audit a file of ids, usernames or posts instead. Repeatable.")
    ] = None,
    on_topic: Annotated[
        bool, typer.Option("--on-topic", help="Count accounts of --held that cannot be judged as on topic.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Estimate how complete a dataset is.

    It shows the share of a topic that the dataset holds, its gaps, and whether more budget would pay.
    """
    from socialcrawl.cli.commands.audit import AuditOptions, audit  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    other = None if database is None else choose_database(database)
    names = of or ([other.campaign] if other is not None and other.campaign is not None else [])
    place = None if other is None else other.address
    audit(AuditOptions(campaign, names, place, held or (), on_topic), make_console(), as_json=as_json)


def label(
    place: Place = None,
    *,
    out: Annotated[
        Path, typer.Option("-o", "--out", help="CSV file to write, for train --labels. One that exists is continued.")
    ] = Path("labels.csv"),
    model: Annotated[
        Path | None,
        typer.Option(
            help="Show the posts that this model is least sure of. Default: matching posts and others, drawn."
        ),
    ] = None,
    campaign: CampaignName = None,
    database: Database = None,
    count: Annotated[int, typer.Option(min=1, help="Maximum number of posts to show.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
) -> None:
    """Label stored posts by hand.

    They are shown one by one, each once, and each answer is kept at once. Answers can also come from a pipe.
    """
    from socialcrawl.cli.commands.label import LabelOptions, label  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    label(LabelOptions(out, model, choose_database(place, database, campaign), count, seed), make_console())


def train(
    place: Place = None,
    *,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="JSON file to write, for [topic] model or [sample] tree.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="CSV of hand-labelled posts (text, on_topic), instead of the sources below.")
    ] = None,
    on: Annotated[
        Path | None,
        typer.Option(
            help="Posts on topic: .txt, one per line, or a file that import reads. Default: posts from the search."
        ),
    ] = None,
    off: Annotated[
        Path | None, typer.Option(help="Posts off topic, likewise. Default: stored posts that do not match.")
    ] = None,
    campaign: CampaignName = None,
    database: Database = None,
    most: Annotated[int, typer.Option("--limit", min=2, help="Maximum number of posts of each kind.")] = 5000,
    without: Annotated[
        list[str] | None, typer.Option(help="Word that the model must not use, such as the search word. Repeatable.")
    ] = None,
    learner: Annotated[
        str, typer.Option(help="A decision tree, or a logistic regression.", **offer("tree|logistic"))
    ] = "tree",
    leaf: Annotated[int | None, typer.Option(min=1, help="Tree: minimum number of posts per leaf. Default: 2.")] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Tree: maximum depth. Default: unlimited.")] = None,
    least: Annotated[int, typer.Option(min=1, help="Minimum number of posts with a word. The paper: 1.")] = 2,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give both kinds the same total weight.")] = False,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Train a model that recognizes topics.

    The model decides which posts are on topic. It is tested by cross-validation.
    """
    from socialcrawl.api.model_training import choose_parameters  # noqa: PLC0415
    from socialcrawl.cli.commands.train import TrainingOptions, train  # noqa: PLC0415
    from socialcrawl.cli.databases import split_target  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    how = choose_parameters(learner, (leaf, depth), (least, balanced, frozenset(without or ()), seed))
    given, file = split_target(place, database, out, "the model")
    if file is None:
        raise typer.BadParameter("name the model to write: --out FILE.json")
    wanted = TrainingOptions(file, labels, on, off, campaign, given or database, most, folds, how)
    train(wanted, make_console(), as_json=as_json)
