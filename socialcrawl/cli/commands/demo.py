"""`socialcrawl demo`: the mock X API on a file of posts, crawled from keywords within its windows, from end to end."""

import json
import os
import secrets
import shlex
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from socialcrawl.api.foreground_run import Ending
from socialcrawl.campaign.keywords import AS_OPTION, check_keywords
from socialcrawl.campaign.plan import read_usernames
from socialcrawl.campaign.settings import CrawlSection, Settings, check_settings
from socialcrawl.cli.commands.run import FAILED, build_object, find_exit_code, run_campaign, show_ending
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.draws import make_generator
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
from socialcrawl.text.terminal import is_quiet, write_error, write_json
from socialcrawl.text.wording import pluralize

TOKEN_ENV = "SOCIALCRAWL_DEMO_TOKEN"  # noqa: S105  (the name of a variable; of generated posts another)
SEEDS = 20  # accounts that the search for the topic may find in the generated posts
TUTORIAL = Path("docs/tutorial/first-network.md")  # in a clone of the repository
QUERY = "select account, relevance, step from top_account limit 9"
Curves = Mapping[str, NDArray[np.float64]]  # relevance found after each step, by what chose the accounts
OWN = Path("demo.db")  # replaced by every demo that names no database


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What a person can set about the demo; see `socialcrawl demo --help`."""

    posts: Path | None
    keyword: str | None
    seeds: Path | None
    seed_count: int | None
    seed: int
    steps: int
    estimator: str
    switch_after: int | None
    refresh_rate: int
    control: float
    window: float
    limit: int
    missing: float
    vocabulary: str
    database: DatabaseAddress | None


def run_demo(wanted: DemoOptions, console: Console, *, as_json: bool) -> int:
    """Run the demo and show what it found; the exit code."""
    from socialcrawl.mock.child_process import spawn  # noqa: PLC0415

    quiet = as_json or is_quiet()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the mock is stopped on the way out
    with tempfile.TemporaryDirectory(prefix="socialcrawl-") as scratch:
        posts, keyword = _find_posts(Path(scratch), wanted, console, quiet=quiet)
        settings = _make_settings(wanted, posts, keyword)
        count = Path(scratch) / "count.json"
        with spawn(posts, *_make_mock_options(wanted, count)) as mock:
            if not quiet:
                console.print(f"the mock X API answers at {mock.url}: {wanted.limit} requests per {wanted.window:g} s")
            if wanted.database is None and _remove_earlier(OWN) and not quiet:
                console.print(f"replaces {OWN} and the page of an earlier demo")
            os.environ[settings.source.token_env or TOKEN_ENV] = secrets.token_urlsafe(24)
            live = settings.model_copy(update={"source": settings.source.model_copy(update={"base_url": mock.url})})
            wall, cpu = time.perf_counter(), time.process_time()
            ending = run_campaign(live, console, quiet=quiet)
            took = {
                "wall_seconds": round(time.perf_counter() - wall, 3),
                "cpu_seconds": round(time.process_time() - cpu, 3),
            }
        counted = _make_counts(json.loads(count.read_text("utf-8")))
        known = wanted.posts is None and not wanted.missing
        simulated = _simulate_others(ending, live, posts, keyword) if known else {}
        return _end(live, ending, simulated, counted | took, console, as_json=as_json)


def _simulate_others(ending: Ending, settings: Settings, posts: Path, keyword: str) -> Curves:
    """Return what breadth-first and chance would have found from the same seeds, as all posts are known."""
    from socialcrawl.cli.commands.demo_baselines import list_seeds, simulate_baselines  # noqa: PLC0415

    found = ending.report.found
    if not len(found.steps):
        return {}
    with open_readable(settings.database) as connection:
        seeds = list_seeds(connection, settings.name)
    return simulate_baselines(posts, keyword, seeds, relevance=found.seed_relevance, steps=len(found.steps))


def _end(
    settings: Settings,
    ending: Ending,
    simulated: Curves,
    counted: dict[str, Any],
    console: Console,
    *,
    as_json: bool,
) -> int:
    if as_json:
        baselines = {"baselines": {name: float(curve[-1]) for name, curve in simulated.items()}} if simulated else {}
        write_json(json.dumps(build_object(ending) | counted | baselines))
    else:
        ending = _add_baselines(ending, simulated)
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
        _show_next(settings, ending, simulated, console)
    refused = counted["statuses"].get("429", 0)
    if refused:
        write_error(f"{refused} requests were sent outside a window: please report this as a fault")
    return find_exit_code(ending) or (FAILED if refused else 0)


def _add_baselines(ending: Ending, simulated: Curves) -> Ending:
    """Return the ending with simulated baselines, where there are any."""
    report = ending.report
    if not simulated:
        return ending
    called = {f"{name} (simulated)": curve for name, curve in simulated.items()}
    return replace(ending, report=replace(report, baselines=called))


def _show_next(settings: Settings, ending: Ending, simulated: Curves, console: Console) -> None:
    """Write the report as a page, say what the crawl gained, and what to look at next."""
    found = ending.report.found
    if not len(found.steps):
        return
    page = _find_page(settings)
    with open_readable(settings.database) as connection:
        # The people of the generated posts are nobody: their names may be shown.
        write_page(page, make_page(connection, ending.report, SystemClock().now(), with_texts=bool(simulated)))
    lines = []
    if simulated:
        others = ", ".join(f"{name} {curve[-1]:,.0f}" for name, curve in simulated.items())
        steps = pluralize(len(found.steps), "step")
        gained = ending.report.gained
        drawn = f" ({gained.drawn:,} of them drawn)" if gained is not None and gained.drawn else ""
        lines.append(f"{settings.crawl.estimator} found relevance {found.relevance:,.0f} in {steps}{drawn}")
        lines.append(f"from the same seeds (simulated, as all posts of the demo are known): {others}")
    where = shlex.quote(str(settings.database))
    lines += ["", "next:", f"  open {page} in a browser: charts, who mentions whom, how it was collected"]
    if found.discovered:
        best = found.discovered[0]["account"]
        lines.append(f"  socialcrawl explain {where} {shlex.quote(best)}    why the crawl read its best discovery")
    lines.append(f'  socialcrawl sql {where} "{QUERY}"')
    if TUTORIAL.is_file():  # a wheel has no documentation
        lines.append(f"  {TUTORIAL} continues from here, with a topic of your own")
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
    return {"statuses": dict(sorted(statuses.items())), "windows": windows}


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
    if not quiet:
        console.print(f"topic: accounts that post about '{keyword}'")
    return path, keyword


def _make_settings(wanted: DemoOptions, posts: Path, keyword: str) -> Settings:
    names = _choose_seeds(wanted, posts, keyword)
    token_env = INVENTED_TOKEN_ENV if wanted.posts is None else TOKEN_ENV
    return check_settings(
        {
            "name": "demo",
            "seed": wanted.seed,
            "database": wanted.database or OWN,
            "topic": {"keywords": [keyword]},
            "seeds": {"search": not names, "usernames": names} | ({"most": SEEDS} if wanted.posts is None else {}),
            "crawl": {
                "estimator": wanted.estimator,
                "switch_after": _choose_switch_after(wanted),
                "refresh_rate": wanted.refresh_rate,
                "control": wanted.control,
                "steps": wanted.steps,
            },
            "source": {"token_env": token_env, "pages_per_user": 32, "vocabulary": wanted.vocabulary},
            "limits": {"k": wanted.limit, "d": wanted.window},
        },
        "demo",
    )


def _choose_switch_after(wanted: DemoOptions) -> int:
    """Return the setting's own default on a user's posts; early enough to be seen on the generated ones."""
    if wanted.switch_after is not None:
        return wanted.switch_after
    return 100 if wanted.posts is None else CrawlSection().switch_after


def _choose_seeds(wanted: DemoOptions, posts: Path, keyword: str) -> list[str]:
    """Return the usernames to begin with, as the mock shows them; none: the keywords are to find them."""
    if wanted.seeds is None and wanted.seed_count is None:
        return []
    if wanted.seeds is not None and wanted.seed_count is not None:
        raise SettingsError("--seeds names the accounts to begin with, --seed-size draws some: give one of the two.")
    from socialcrawl.lab.post_table import fold_name, read_posts  # noqa: PLC0415
    from socialcrawl.mock.world import build_world  # noqa: PLC0415

    world = build_world(read_posts(posts))
    usernames = world.accounts.usernames
    if wanted.seeds is not None:
        shown = dict(zip(world.accounts.keys, usernames, strict=True))
        names = [shown.get(fold_name(name), name) for name in read_usernames(wanted.seeds)]
        if not names:
            raise SettingsError(f"The file of seeds {wanted.seeds} names no account: write one username per line.")
        return names
    count = Topic([keyword]).count
    matching = dict.fromkeys(int(a) for a, text in zip(world.author, world.texts, strict=True) if count(text))
    if not matching:
        raise SettingsError(f"No post of {posts} uses the word {keyword!r}: choose another --keyword.")
    authors = list(matching)
    size = min(wanted.seed_count or 0, len(authors))
    drawn = make_generator(wanted.seed, "seeds of the demo", 0).choice(len(authors), size, replace=False)
    return [usernames[authors[i]] for i in drawn.tolist()]
