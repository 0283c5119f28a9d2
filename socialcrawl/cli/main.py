"""The command line. Commands are thin: they read options, call one function, and turn its end into an exit code.

Exit codes: 0 done, 1 could not, 2 usage, 3 paused by a budget or cap, 130 interrupted and saved.
Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from socialcrawl import __version__
from socialcrawl.cli.choices import offer, offer_estimators
from socialcrawl.cli.command_group import SETTINGS, CommandGroup
from socialcrawl.cli.commands.lab import lab_app
from socialcrawl.cli.definitions import daemon, datasets, maintenance, mock, queries
from socialcrawl.cli.options import AsJson, Workers
from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.system.files import restrict_new_files
from socialcrawl.text.terminal import Formatter, close_errors, guard, is_quiet, set_quiet, write_error, write_line
from socialcrawl.text.wording import parse_seconds

app = typer.Typer(
    name="socialcrawl",
    help="A focused crawler for social APIs: finds the accounts and posts that matter most to a topic, with the few "
    "requests that rate limits and a budget allow, and keeps them in SQL.",
    cls=CommandGroup,
    context_settings=SETTINGS,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

AT_ONCE = "stopped at once; everything that was stored is safe, what was in flight counts as spent"


def main() -> None:
    """Run the console script: errors that a person can fix become one message and an exit code."""
    guard()
    try:
        restrict_new_files()
        app()
    except SettingsError as error:
        _fail(error, 2)
    except SocialcrawlError as error:
        _fail(error, 1)
    except BrokenPipeError:
        close_errors()  # whoever read us has gone; the interpreter would complain about it on its way out
        sys.exit(1)
    except Exception as error:
        from socialcrawl.system.plugins import explain_failure  # noqa: PLC0415

        if not (why := explain_failure(error)):
            raise
        write_error(f"error: {why}")
        sys.exit(1)


def _fail(error: SocialcrawlError, code: int) -> None:
    write_error(f"error: {error}")
    sys.exit(code)


def _show_version(asked: bool) -> None:
    if asked:
        write_line(f"socialcrawl {__version__}")
        raise typer.Exit


def _log_libraries(asked: bool) -> None:
    if asked:
        import logging  # noqa: PLC0415

        handler = logging.StreamHandler()
        handler.setFormatter(Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logging.basicConfig(level=logging.DEBUG, handlers=[handler])


def _hide_progress(context: typer.Context, asked: bool) -> None:
    if asked or context.parent is None:
        set_quiet(quiet=asked)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", callback=_hide_progress, expose_value=False, help="Show no progress.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "-v",
            "--verbose",
            callback=_log_libraries,
            expose_value=False,
            help="Log the activity of libraries to stderr, without tokens.",
        ),
    ] = False,
) -> None:
    """Set the options that all commands share."""


STRATEGY = offer("greedy|altered-greedy|proportional", "socialcrawl.strategies")
KIND = offer("collect|track|refresh|sample|capture", "socialcrawl.crawl_kinds")
PLATFORM = offer("x|bluesky|mastodon|web", "socialcrawl.platforms")
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Accept the maximum cost without asking (see confirm_above).")]


def _exit_after(command: Callable[[], int]) -> NoReturn:
    """End the process with the exit code of a command, or as interrupted."""
    from socialcrawl.cli.commands.run import INTERRUPTED, exit_process  # noqa: PLC0415

    try:
        exit_process(command())
    except KeyboardInterrupt:
        write_error(AT_ONCE)
        exit_process(INTERRUPTED)


def _list_given(context: typer.Context) -> dict[str, str]:
    """Return the options that a person wrote, as they are written, by the names of their parameters."""
    named = {one.name: one.opts[0] for one in context.command.params if one.name}
    sources = {name: context.get_parameter_source(name) for name in named}
    return {name: named[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}


def init(
    file: Annotated[Path, typer.Argument(help="The campaign file to write.")] = Path("campaign.toml"),
    keyword: Annotated[list[str] | None, typer.Option(help="Keyword or phrase. Repeatable.")] = None,
    platform: Annotated[str, typer.Option(help="Where to collect.", **PLATFORM)] = "x",
    kind: Annotated[str, typer.Option(help="What to collect: see docs/reference/campaigns.md.", **KIND)] = "collect",
) -> None:
    """Write a commented campaign file.

    It explains every setting.
    """
    from socialcrawl.campaign.template_file import write_campaign_file  # noqa: PLC0415

    then = write_campaign_file(file, keyword or [], platform, kind)
    write_line(f"wrote {file}: {then}, then: socialcrawl quote {file}; then run it")


def quote(
    campaign: Annotated[Path, typer.Argument(help="The campaign file.")],
    steps: Annotated[
        int | None, typer.Option(min=1, help="Estimate for this many accounts (overrides the campaign file).")
    ] = None,
    counts: Annotated[
        bool,
        typer.Option(
            "--counts",
            help="Request from X how many posts the searches find ($0.005 per search; for captures of the archive "
            "and searches by span of time $0.010 per 31 days).",
        ),
    ] = False,
    curve: Annotated[
        bool,
        typer.Option(
            "--curve", help="Compare what searches, matches and timelines find for the money (collect, on X)."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Estimate requests, time and cost.

    It sends no request, unless you ask for --counts.
    """
    from socialcrawl.campaign.settings import read  # noqa: PLC0415
    from socialcrawl.cli.commands.quote import show_quote  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    show_quote(read(campaign).limit_steps(steps), make_console(), count=counts, curve=curve, as_json=as_json)


def doctor(
    campaign: Annotated[Path | None, typer.Argument(help="The campaign file.")] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Send no request. Default: one search for 10 posts.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that a campaign can run.

    It checks the token, clock, disk, database and prices, and sends one small request.
    """
    from socialcrawl.cli.commands.doctor import run_checks as examine  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    raise typer.Exit(examine(campaign, make_console(), offline=offline, as_json=as_json))


def run(
    campaign: Annotated[Path, typer.Argument(help="The campaign file.")],
    *,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many accounts (overrides the campaign file).")
    ] = None,
    yes: Yes = False,
    change: Annotated[
        bool, typer.Option("--change", help="Apply a changed topic, seeds or estimator to a campaign that has begun.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what a run would do; send nothing, store nothing.")
    ] = False,
    workers: Workers = 0,
    as_json: AsJson = False,
) -> None:
    """Run or resume a campaign.

    With --change --dry-run it shows what a changed file would rescore, search, collect and cost.
    """
    from socialcrawl.campaign.plan import make_plan  # noqa: PLC0415
    from socialcrawl.campaign.settings import read  # noqa: PLC0415
    from socialcrawl.cli.commands import run as running  # noqa: PLC0415
    from socialcrawl.cli.commands.quote import confirm_billed_run  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    settings = read(campaign).limit_steps(steps)
    console, plan = make_console(), make_plan(settings)
    for doubt in plan.doubts:
        write_error(f"warning: {doubt}")
    if dry_run:
        running.show_preview(plan, console, change=change, as_json=as_json)
        return
    try:
        confirm_billed_run(plan, console, yes=yes, ask=not as_json)
    except KeyboardInterrupt:
        write_error("Not confirmed: nothing was sent, nothing was spent.")
        running.exit_process(running.INTERRUPTED)
    try:
        ending = running.run_campaign(settings, console, quiet=as_json or is_quiet(), change=change, workers=workers)
    except KeyboardInterrupt:
        write_error(AT_ONCE)
        running.exit_process(running.INTERRUPTED)
    running.show_ending(settings, console, ending, as_json=as_json)
    running.exit_process(running.find_exit_code(ending))


ControlShare = Annotated[float, typer.Option(min=0.0, max=0.5, help="Share of steps drawn at random for comparison.")]
DemoDatabase = Annotated[
    str | None, typer.Option("--db", help="Database to create or continue. Default: a new demo.db.")
]
DemoEstimator = Annotated[str, typer.Option(help="Which accounts to collect first.", **offer_estimators())]
DemoSteps = Annotated[
    int | None,
    typer.Option(min=1, help="Number of accounts to collect after the seeds. Default: 600; no end with --max-money."),
]
MaxMoney = Annotated[
    float | None, typer.Option(min=0.01, help="Stop before X would have charged more dollars than this.")
]
Pages = Annotated[int, typer.Option(min=1, max=32, help="Pages of 100 posts to read of each account, at most.")]
SwitchAfter = Annotated[
    int | None,
    typer.Option(min=0, help="Steps before a hybrid becomes linear. Default: 1000; generated posts: 100."),
]


def demo(
    context: typer.Context,
    *,
    kind: Annotated[str, typer.Option(help="What to try.", **offer("collect|capture"))] = "collect",
    posts: Annotated[Path | None, typer.Option(help="File of posts. Default: generated posts.")] = None,
    keyword: Annotated[str | None, typer.Option(help="Topic keyword.")] = None,
    seeds: Annotated[Path | None, typer.Option(help="File of seed usernames, one per line.")] = None,
    seed_count: Annotated[int | None, typer.Option("--seed-size", min=1, help="Number of seeds to draw.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    steps: DemoSteps = None,
    max_money: MaxMoney = None,
    pages_per_user: Pages = 32,
    read: Annotated[
        str, typer.Option(help="How accounts are read.", **offer("timeline|match|search|auto"))
    ] = "timeline",
    estimator: DemoEstimator = "adaptive",
    switch_after: SwitchAfter = None,
    refresh_rate: Annotated[int, typer.Option(min=1, help="Accounts picked per batch.")] = 1,
    control: ControlShare = 0.0,
    window: Annotated[str, typer.Option(help="Length of the mock's rate-limit windows.")] = "3s",
    limit: Annotated[int, typer.Option("--per-window", min=1, help="Requests per window.")] = 300,
    missing: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of accounts that no longer exist.")] = 0.0,
    vocabulary: Annotated[str, typer.Option(help="Names in X's paths.", **offer("tweet|post"))] = "tweet",
    database: DemoDatabase = None,
    ui: Annotated[bool, typer.Option("--ui", help="Show it live in a browser, slowed down; until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try a crawl or capture offline.

    It collects from a mock of the X API and shows what was found.
    """
    options = dict(locals())
    from socialcrawl.cli.commands.demo import run_demo  # noqa: PLC0415
    from socialcrawl.cli.commands.demo_kinds import STEPS, DemoOptions  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415
    from socialcrawl.storage.database.address import parse_address  # noqa: PLC0415

    wanted = DemoOptions(
        **{name: chosen for name, chosen in options.items() if name not in ("context", "as_json")}
        | {
            "given": _list_given(context),
            "steps": STEPS if steps is None and max_money is None else steps,
            "window": parse_seconds(window),
            "database": None if database is None else parse_address(database),
        }
    )
    _exit_after(lambda: run_demo(wanted, make_console(), as_json=as_json))


def simulate(
    *,
    graph: Annotated[list[Path], typer.Option(help="Known graph: a folder or .npz. Repeatable.")],
    estimator: Annotated[list[str], typer.Option(help="Which nodes to pick. Repeatable.", **offer_estimators())],
    budget: Annotated[int, typer.Option("--steps", min=1, help="Number of nodes to pick after the seeds.")],
    seeds: Annotated[
        list[Path] | None, typer.Option(help="File of row numbers or names, one per line. Repeatable.")
    ] = None,
    seed_sets: Annotated[int | None, typer.Option(min=1, help="Draw this many sets of seeds instead.")] = None,
    seed_size: Annotated[int, typer.Option(min=1, help="Number of seeds per drawn set.")] = 50,
    seed_least: Annotated[float, typer.Option(help="Draw seeds among nodes with a value above this.")] = 0.0,
    strategy: Annotated[
        list[str] | None,
        typer.Option(help="How to pick. Default: greedy. Repeatable.", **STRATEGY),
    ] = None,
    refresh_rate: Annotated[
        list[int] | None, typer.Option(min=1, help="Nodes picked per batch (r). Default: 1. Repeatable.")
    ] = None,
    switch_after: Annotated[int, typer.Option(min=0, help="Steps before a hybrid becomes linear.")] = 1000,
    start: Annotated[str | None, typer.Option(help="First estimator of a hybrid. Default: nh-ne of its kind.")] = None,
    q: Annotated[float, typer.Option(help="Altered greedy: probability of picking the best node.")] = 0.9,
    zeta: Annotated[float, typer.Option(help="Altered greedy: how close to the best score other nodes must be.")] = 0.5,
    nr_d: Annotated[float, typer.Option(help="Navigational Rank: the weight of a node's own score.")] = 0.5,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    objective: Annotated[
        str, typer.Option(help="Total value, or number of values above 0.", **offer("sum|count"))
    ] = "sum",
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for the results. With --json nothing is kept.")
    ] = Path("simulation"),
    jobs: Annotated[int, typer.Option(help="Parallel replays. -1: one per processor.")] = -1,
    scheduler: Annotated[str | None, typer.Option(help="Use a Dask cluster: tcp://HOST:PORT.")] = None,
    as_json: AsJson = False,
) -> None:
    """Replay crawls on known graphs.

    It compares estimators and strategies.
    """
    from socialcrawl.cli.commands import simulate as lab  # noqa: PLC0415

    wanted = lab.Grid(
        graph,
        estimator,
        strategy or ["greedy"],
        refresh_rate or [1],
        lab.Seeding(seeds or [], seed_sets, seed_size, seed_least, seed),
        {"budget": budget, "switch_after": switch_after, "start": start, "q": q, "zeta": zeta, "nr_d": nr_d}
        | {"seed": seed, "objective": objective},
    )
    lab.simulate(wanted, out, jobs=jobs, address=scheduler, as_json=as_json)


def plugins(*, as_json: AsJson = False) -> None:
    """List installed plug-ins.

    It shows what other packages add (estimators, strategies, walks, platforms and kinds of campaigns), and whether it
    loads.
    """
    from socialcrawl.cli.commands.installed_plugins import show_plugins  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    raise typer.Exit(show_plugins(make_console(), as_json=as_json))


PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start": (demo, init, maintenance.check, quote, doctor, plugins),
    "Run": (run, daemon.daemon, daemon.status, daemon.pause, daemon.resume, daemon.stop),
    "Look": (
        queries.report, queries.explain, datasets.audit, maintenance.verify, queries.search, queries.sql,
        queries.explore, queries.ui,
    ),
    "Data": (
        datasets.import_, datasets.export, datasets.backup, datasets.label, datasets.train, datasets.order,
        maintenance.forget, maintenance.retain, maintenance.compliance,
    ),
    "Laboratory": (simulate, mock.mock),
}  # fmt: skip
for panel, commands in PANELS.items():
    for command in commands:
        app.command(command.__name__.rstrip("_"), rich_help_panel=panel)(command)
app.add_typer(lab_app, name="lab", rich_help_panel="Laboratory")
