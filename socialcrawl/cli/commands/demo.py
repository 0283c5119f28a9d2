"""`socialcrawl demo`: the mock X API on a file of posts, collected by keywords within its windows, from end to end."""

import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from socialcrawl.api.foreground_run import Ending
from socialcrawl.campaign.keywords import AS_OPTION, check_keywords
from socialcrawl.campaign.sections.access import SEARCHING
from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.cli.commands.demo_capture import CaptureDemo
from socialcrawl.cli.commands.demo_collect import CollectDemo
from socialcrawl.cli.commands.demo_kinds import DemoOptions, KindDemo
from socialcrawl.cli.commands.run import FAILED, build_object, find_exit_code, show_ending
from socialcrawl.cli.listening import listen
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.graph.relevance import Topic
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.render.campaign_report import name_demo_page
from socialcrawl.render.console import Text
from socialcrawl.render.html_report import make_page, write_page
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import open_database
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.queries.summary import INVENTED_TOKEN_ENV, list_campaigns
from socialcrawl.system.state_folder import make_state_folder
from socialcrawl.text.terminal import is_quiet, write_error, write_json
from socialcrawl.text.wording import pluralize

TOKEN_ENV = "SOCIALCRAWL_DEMO_TOKEN"  # noqa: S105  (the name of a variable; of generated posts another)
WATCHED_WINDOW, WATCHED_LIMIT = 1.0, 7  # seconds and requests: about a minute and a half
OWN = Path("demo.db")  # replaced by every demo that names no database
DEMOS = {one.facts.name: one for one in (CollectDemo, CaptureDemo)}


def run_demo(wanted: DemoOptions, console: Console, *, as_json: bool) -> int:
    """Run the demo and show what it found; the exit code.

    Raises:
        SettingsError: there is no demo of that kind, or an option is not for it, or makes no campaign.
    """
    from socialcrawl.mock.child_process import spawn  # noqa: PLC0415

    quiet = as_json or is_quiet()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the mock is stopped on the way out
    wanted, kind = _slow_down(wanted), _choose_kind(wanted)
    with tempfile.TemporaryDirectory(prefix="socialcrawl-") as scratch, ExitStack() as undo:
        posts, keyword = _find_posts(Path(scratch), wanted, console, quiet=quiet)
        demo = kind(wanted, posts, keyword)
        if wanted.posts is None and not quiet:
            console.print(f"topic: {demo.topic} '{keyword}'")
        settings = _make_settings(demo)
        count = Path(scratch) / "count.json"
        with spawn(posts, *_make_mock_options(wanted, count)) as mock:
            if not quiet:
                console.print(f"the mock X API answers at {mock.url}: {wanted.limit} requests per {wanted.window:g} s")
            if wanted.database is None and _remove_earlier(OWN) and not quiet:
                console.print(f"replaces {OWN} and the page of an earlier demo")
            os.environ[settings.source.token_env or TOKEN_ENV] = secrets.token_urlsafe(24)
            live = settings.model_copy(update={"source": settings.source.model_copy(update={"base_url": mock.url})})
            pages = undo.enter_context(_serve_pages(live.database)) if wanted.ui else None
            wall, cpu = time.perf_counter(), time.process_time()
            ending = demo.run(live, console, quiet=quiet)
            took = {
                "wall_seconds": round(time.perf_counter() - wall, 3),
                "cpu_seconds": round(time.process_time() - cpu, 3),
            }
        counted = _make_counts(json.loads(count.read_text("utf-8")))
        code = _end(live, demo, demo.compare(live, ending), counted | took, console, as_json=as_json)
        if pages is not None and ending.state != "interrupted":
            with suppress(KeyboardInterrupt):
                write_error("The pages stay open until you press Ctrl-C.")
                pages.wait()
        return code


def _slow_down(wanted: DemoOptions) -> DemoOptions:
    """Return what a person wants; where it is to be watched, at a pace at which one can, unless that is given."""
    if not wanted.ui or {"window", "limit"} & wanted.given.keys():
        return wanted
    return replace(wanted, window=WATCHED_WINDOW, limit=WATCHED_LIMIT)


@contextmanager
def _serve_pages(database: DatabaseAddress) -> Iterator[subprocess.Popen[str]]:
    """Open the pages of the demo in a browser for the length of a `with` block; yield their process."""
    from socialcrawl.cli.commands.child_pages import serve_once  # noqa: PLC0415
    from socialcrawl.cli.commands.ui import PORT, WebOptions  # noqa: PLC0415
    from socialcrawl.web.security import read_token  # noqa: PLC0415

    with open_database(database):  # so that there is one to show
        pass
    try:
        listen("127.0.0.1", PORT).close()
        port = PORT
    except SettingsError:  # somebody has it
        port = 0
    with serve_once(WebOptions([str(database)], "127.0.0.1", port)) as (said, child):
        write_error(f"the pages are {said}")
        if sys.stderr.isatty():  # and no log, which others may read
            url = said.removeprefix("served at ").partition(";")[0]
            write_error(f"To change something there, log in at {url}login#token={read_token(make_state_folder())}")
        yield child


def _choose_kind(wanted: DemoOptions) -> type[KindDemo]:
    """Return the demo of the kind that a person names, whose options it has.

    Raises:
        SettingsError: there is none, or an option is for another one.
    """
    if wanted.kind not in DEMOS:
        raise SettingsError(f"There is no demo of {wanted.kind!r}. Choose one of: {', '.join(DEMOS)}.")
    kind = DEMOS[wanted.kind]
    idle = [option for name, option in wanted.given.items() if name in kind.unused]
    if idle:
        raise SettingsError(f"{idle[0]} has no effect with --kind {wanted.kind}: remove it.")
    return kind


def _end(
    settings: Settings, demo: KindDemo, ending: Ending, counted: dict[str, Any], console: Console, *, as_json: bool
) -> int:
    if as_json:
        write_json(json.dumps(build_object(ending) | counted | demo.collect_values()))
    else:
        show_ending(settings, console, ending, as_json=False, with_next=False)
        statuses = ", ".join(f"{count:,} x {status}" for status, count in counted["statuses"].items())
        filled = sum(window["filled"] for window in counted["windows"])
        console.print(
            f"the mock's own count: {statuses}; {filled} of {pluralize(len(counted['windows']), 'window')} filled; "
            f"{counted['wall_seconds']:.1f} s, {counted['cpu_seconds']:.1f} s of processor time",
            soft_wrap=True,
        )
        if ending.state == "failed" and not settings.seeds.usernames:
            console.print("a search reaches back 7 days; --seed-size 50 draws seeds from the whole file")
        console.print(
            f"on X itself, reading these posts and users would have cost {format_dollars(ending.report.found.cost)}"
        )
        _show_next(settings, demo, ending, console)
    refused = counted["statuses"].get("429", 0)
    if refused:
        write_error(f"{refused} requests were sent outside a window: please report this as a fault")
    return find_exit_code(ending) or (FAILED if refused else 0)


def _show_next(settings: Settings, demo: KindDemo, ending: Ending, console: Console) -> None:
    """Write the report as a page, say what the campaign gained, and what to look at next."""
    if ending.report.is_empty:
        return
    page = _find_page(settings)
    with open_readable(settings.database) as connection:
        # The people of the generated posts are nobody: their names may be shown.
        write_page(page, make_page(connection, ending.report, SystemClock().now(), with_texts=demo.is_invented))
    query = f'socialcrawl sql {shlex.quote(str(settings.database))} "{demo.query}"'
    lines = [
        *demo.list_lines(settings, ending),
        "",
        "next:",
        f"  open {page} in a browser: {demo.page}, how it was collected",
        *(f"  {command}" for command in (*demo.list_commands(settings, ending), query)),
    ]
    if demo.tutorial.is_file():  # a wheel has no documentation
        lines.append(f"  {demo.tutorial} continues from here, with a topic of your own")
    console.print(Text("\n".join(lines)), soft_wrap=True)


def _find_page(settings: Settings) -> Path:
    """Return the file of the page: beside the database, or in this folder where that is on a server."""
    path = settings.database
    return name_demo_page(path) if isinstance(path, Path) else Path("demo-report.html")


def _find_posts(folder: Path, wanted: DemoOptions, console: Console, *, quiet: bool) -> tuple[Path, str]:
    """Return the file of posts and the keyword that a person names, or those that are generated.

    Raises:
        SettingsError: there is no keyword, or it is not usable.
    """
    posts, keyword = wanted.posts, wanted.keyword
    if posts is None:
        posts, keyword = _generate_posts(folder, wanted, console, quiet=quiet)
    elif keyword is None:
        raise SettingsError("Which topic? Name a word that the posts use: --keyword WORD.")
    else:
        check_keywords([keyword], AS_OPTION)
    return posts, keyword


def _remove_earlier(database: Path) -> bool:
    """Remove the database and the page of an earlier demo, and return whether there was one.

    Raises:
        SettingsError: the file is not the database of a demo.
        StoreError: another demo is using it.
    """
    if not database.exists():
        return False
    lease = Lease(database, "demo")
    try:
        held = _find_campaigns(database)
        if held not in ([], ["demo"]):
            raise SettingsError(f"{database} holds other campaigns ({', '.join(held)}): name another with --db.")
        for suffix in ("", "-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        database.with_name(f"{database.stem}-report.html").unlink(missing_ok=True)
        return True
    finally:
        lease.release()


def _find_campaigns(database: Path) -> list[str]:
    try:
        with open_database(database, create=False) as connection:
            return [name for _, name in list_campaigns(connection)]
    except StoreError as error:
        raise SettingsError(f"{database} is not the database of a demo: name another with --db.") from error


def _make_mock_options(wanted: DemoOptions, count: Path) -> list[str]:
    return [
        *("--platform", "x"),
        *("--window", str(wanted.window)),
        *("--per-window", str(wanted.limit)),
        *("--missing", str(wanted.missing)),
        *("--report", str(count)),
    ]


def _make_counts(report: dict[str, Any]) -> dict[str, Any]:
    """Return the mock's count as plain values: answers by status, and every window in order of opening."""
    statuses: dict[str, int] = {}
    windows = []
    for window in report["windows"]:
        for status, count in window["answers"].items():
            statuses[status] = statuses.get(status, 0) + count
        windows.append({key: window[key] for key in ("endpoint", "opened", "requests", "answers")})
        windows[-1]["filled"] = window["requests"] >= window["limit"]
    return {
        "statuses": dict(sorted(statuses.items())),
        "windows": windows,
        "bill": report["totals"]["dollars"],
    }


def _generate_posts(folder: Path, wanted: DemoOptions, console: Console, *, quiet: bool) -> tuple[Path, str]:
    from socialcrawl.lab.generators.generate import DEMO_USERS, choose_topics, generate, write  # noqa: PLC0415
    from socialcrawl.lab.post_table import read_posts  # noqa: PLC0415

    if not quiet:
        console.print(f"no --posts given: generating the posts of {DEMO_USERS:,} invented people (seed {wanted.seed})")
    path, topics = folder / "posts.parquet", list(choose_topics().values())
    keyword = wanted.keyword or topics[0]
    check_keywords([keyword], AS_OPTION)
    write(path, generate(DEMO_USERS, wanted.seed))
    if keyword not in topics and not any(map(Topic([keyword]).count, read_posts(path).texts)):
        raise SettingsError(
            f"No generated post has the word {keyword!r}: choose one of {', '.join(topics)}, or name posts of your own "
            "with --posts FILE."
        )
    return path, keyword


def _bound_searches(demo: KindDemo) -> dict[str, str]:
    """Return the time that is searched, where the demo searches it: that of its posts, at whose end the mock stands."""
    if demo.wanted.read not in SEARCHING:
        return {}
    from socialcrawl.lab.post_table import read_posts  # noqa: PLC0415

    at = read_posts(demo.posts).created_at
    return {"from": format_time(float(at.min())), "until": format_time(float(at.max()) + 1.0)}


def _make_settings(demo: KindDemo) -> Settings:
    wanted = demo.wanted
    token_env = INVENTED_TOKEN_ENV if wanted.posts is None else TOKEN_ENV
    return check_settings(
        {
            "name": "demo",
            "kind": wanted.kind,
            "seed": wanted.seed,
            "database": wanted.database or OWN,
            "topic": {"keywords": [demo.keyword]} | _bound_searches(demo),
            "source": {
                "token_env": token_env,
                "pages_per_user": wanted.pages_per_user,
                "read": wanted.read,
                "vocabulary": wanted.vocabulary,
            },
            "limits": {"k": wanted.limit, "d": wanted.window},
            **demo.make_sections(),
        },
        "demo",
    )
