"""What the web application costs: many campaigns with some viewers, and the page of one very large campaign."""

import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import orjson

import socialcrawl as sc
from benchmarks import restart
from benchmarks.figure import Figure, sized
from benchmarks.idle import read_seconds
from benchmarks.server import a_server
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.model import format_time
from socialcrawl.lab.generators.generate import choose_topics, generate, write
from socialcrawl.mock.child_process import spawn
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import close_connection, connect
from socialcrawl.storage.schema.tables import metadata

CAMPAIGNS, VIEWERS, PAIRS, SECONDS = sized(60, 3), 3, sized(3, 1), sized(60, 3)
STARTED, SETTLED = sized(120, 1), sized(10, 1)  # seconds from the start of the daemon, and of the pages, to a look
OPENED = 5.0  # seconds between two pages that a viewer opens
POSTS, LINKS, ACCOUNTS = sized(1_000_000, 2_000), sized(10_000_000, 10_000), sized(3_000_000, 3_000)
READ = sized(100_000, 200)  # accounts, of 10 posts each
EACH = POSTS // READ  # posts of an account and a request
TITLE = (
    f"Pages: {CAMPAIGNS} campaigns of a daemon with {VIEWERS} viewers, {PAIRS} pairs of {SECONDS} s; a campaign with "
    f"{POSTS:,} posts and {LINKS:,} links, in a new process of the pages"
)
BEGIN, YEAR = 1_700_000_000.0, 365 * 86_400
PER_WINDOW, WINDOW = 300, 30  # requests, seconds: of all campaigns together
SETTINGS = {"name": "large", "topic": {"keywords": ["telescope"]}}
CAMPAIGN = """name = "{name}"
database = "{name}.db"
[topic]
keywords = ["{word}"]
[seeds]
most = 8
[source]
base_url = "{url}"
[limits]
k = {k}
d = {d}
"""


def measure() -> list[Figure]:
    """Measure both; shares are of processor time, seconds those that a client waits."""
    return [*_measure_many(), *_measure_large()]


def _measure_many() -> Iterator[Figure]:
    lags: dict[bool, list[float]] = {False: [], True: []}
    waits: dict[str, list[float]] = {"overview": [], "campaign": []}
    shares = []
    word = next(iter(choose_topics().values()))
    with tempfile.TemporaryDirectory() as place:
        posts = Path(place) / "posts.parquet"
        write(posts, generate(sized(4_000, 200), 1, posts_per_user=8.0, weeks=2))
        with spawn(posts, "--per-window", str(PER_WINDOW), "--window", f"{WINDOW}s", "--latency", "50ms") as mock:
            folder = Path(place) / "campaigns"
            folder.mkdir()
            for number in range(CAMPAIGNS):
                text = CAMPAIGN.format(name=f"c{number}", word=word, url=mock.url, k=PER_WINDOW, d=WINDOW)
                (folder / f"c{number}.toml").write_text(text, "utf-8")
            with _run(
                "daemon", folder, "--health", "127.0.0.1:0", "--log", "json", said=r'"(http://[^"]+)/healthz"'
            ) as (health, _):
                time.sleep(STARTED)  # all campaigns begin at once, and so late
                for _ in range(PAIRS):
                    lags[False] += _watch_lag(health)
                    with _serve(folder, place) as (url, child), _view(url, waits):
                        time.sleep(SETTLED)
                        before = read_seconds(child)
                        lags[True] += _watch_lag(health)
                        shares.append((read_seconds(child) - before) / SECONDS)
    yield Figure("overview, median and longest", _show_waits(waits["overview"]), "under 300 ms")
    yield Figure("page of a campaign, median and longest", _show_waits(waits["campaign"]))
    yield Figure("of one core, pages with viewers", ", ".join(f"{share:.1%}" for share in shares), "under 10 %")
    for viewed in (False, True):
        name = f"lag of the daemon {'with' if viewed else 'without'} viewers: mean, and 95 % of turns at most"
        yield Figure(name, _show_lag(lags[viewed]), "as without" if viewed else "")


def _watch_lag(health: str) -> list[float]:
    """Return by how much the latest turn of each campaign began late, looked at each second."""
    found: list[float] = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        text = httpx.get(f"{health}/metrics", timeout=30).text
        found += map(float, re.findall(r"^socialcrawl_lag_seconds\{.*\} (\S+)$", text, re.MULTILINE))
        time.sleep(1.0)
    return found


@contextmanager
def _view(url: str, waits: dict[str, list[float]]) -> Iterator[None]:
    """Have viewers follow the overview and open pages, in threads, until the block ends."""
    ended = threading.Event()

    def follow() -> None:
        with httpx.Client(timeout=60) as client, client.stream("GET", f"{url}events") as stream:
            for _ in stream.iter_lines():
                if ended.is_set():
                    return

    def open_pages() -> None:
        with httpx.Client(timeout=60) as client:
            while not ended.wait(OPENED):
                page, took = _time(client, url)
                waits["overview"].append(took)
                key = re.findall(r'href="(campaigns/[^"]+|/campaigns/[^"]+)"', page)[0].lstrip("/")
                waits["campaign"].append(_time(client, f"{url}{key}")[1])

    threads = [threading.Thread(target=act) for act in (follow, open_pages) for _ in range(VIEWERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _measure_large() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as place, a_server() as server:
        path = Path(place) / "large.db"
        links = generate_campaign(path)
        yield Figure("large: read", f"{POSTS:,} posts, {links:,} links; {path.stat().st_size / 1e6:,.0f} MB as SQLite")
        yield from _open_large("sqlite", path, place)
        with server("large") as copy:
            _copy(path, copy)
            yield from _open_large("postgresql", copy, place)


def _open_large(name: str, where: DatabaseAddress, state: str) -> Iterator[Figure]:
    given = str(where) if isinstance(where, Path) else where.url
    (campaign,) = sc.open_project(given).list_campaigns()
    with _serve(given, state) as (url, _), httpx.Client(timeout=600) as client:
        time.sleep(SETTLED)
        _, settled = _time(client, f"{url}campaigns/{campaign.key}")
    with _serve(given, state) as (url, _), httpx.Client(timeout=600) as client:
        page = f"{url}campaigns/{campaign.key}"
        _, first = _time(client, page)
        began = time.perf_counter()
        reader = threading.Thread(target=httpx.get, args=(f"{url}api/v1/campaigns/{campaign.key}/report",),
                                  kwargs={"timeout": 600})  # fmt: skip
        reader.start()
        meanwhile = []
        while reader.is_alive():
            meanwhile.append(_time(client, url)[1])
            reader.join(0.5)
        report = time.perf_counter() - began
        shown, again = _time(client, page)
        assert "Found so far" in shown
    yield Figure(f"{name}: page of the large campaign, first view", _show(settled), "under 1,000 ms")
    yield Figure(f"{name}: the same, as soon as the pages answer", _show(first))
    yield Figure(f"{name}: its report is there after", f"{report:.1f} s")
    yield Figure(f"{name}: overview meanwhile, longest", _show(max(meanwhile, default=0.0)), "under 1,000 ms")
    yield Figure(f"{name}: page of the large campaign with its report", _show(again), "under 1,000 ms")


@contextmanager
def _serve(place: "str | os.PathLike[str]", state: str) -> Iterator[tuple[str, int]]:
    """Yield the address of pages in a new process, and its number."""
    with _run("ui", place, "--port", "0", "--no-open", said=r"(http://\S+?/) until", state=state) as (url, child):
        for _ in range(600):
            try:
                httpx.get(f"{url}static/ui.css")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url, child


@contextmanager
def _run(
    name: str, place: "str | os.PathLike[str]", *options: str, said: str, state: str = ""
) -> Iterator[tuple[str, int]]:
    """Yield what a command says that matches, and the number of its process, which ends with the block."""
    command = [sys.executable, "-m", "socialcrawl", name, os.fspath(place), *options]
    more = {"X_BEARER_TOKEN": "bench", **({"XDG_STATE_HOME": state} if state else {})}
    with tempfile.NamedTemporaryFile() as log:
        child = subprocess.Popen(command, stderr=log, stdout=log, env={**os.environ, **more})
        try:
            until = time.monotonic() + 120.0
            while (found := re.search(said, Path(log.name).read_text("utf-8"))) is None:
                if time.monotonic() > until or child.poll() is not None:
                    raise RuntimeError(Path(log.name).read_text("utf-8")[-2000:])
                time.sleep(0.1)
            yield found[1], child.pid
        finally:
            child.terminate()
            child.wait(60)


def generate_campaign(path: Path, read: int = READ) -> int:
    """Write a finished campaign with POSTS posts and about LINKS links to a new database; return its links.

    Args:
        path: the file.
        read: the number of accounts that were read.
    """
    links = restart.generate(path, read, LINKS, ACCOUNTS)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("pragma synchronous = off")
        settings = check_settings(SETTINGS, "ui")
        values = orjson.dumps(settings.model_dump(mode="json")).decode()
        identity = orjson.dumps(settings.identity([])).decode()
        raw.execute("update campaign set name = ?, settings = ?, identity = ?", [settings.name, values, identity])
        raw.execute("update version set settings = ?", [values])
        known = max(ACCOUNTS, read + restart.SEEDS)
        raw.executemany(
            "insert into account (node, platform, platform_id, username, handle, first_seen_at) values (?,?,?,?,?,?)",
            ((node, "x", str(node), f"User{node}", f"user{node}", format_time(BEGIN)) for node in range(known)),
        )
        raw.execute("update outcome set posts = ? where missing is null", [EACH])
        found = raw.execute("select n, min(occurrences, ?) from outcome where missing is null", [EACH]).fetchall()
        raw.executemany(
            "insert into post (id, author, created_at, text, lang, metrics_at, fetched_at) values (?,?,?,?,'en',?,?)",
            _make_posts([n for n, _ in found]),
        )
        raw.executemany(
            "insert into hit (campaign, post, occurrences) values (1, ?, 1)",
            ((_name_post(n, place),) for n, hits in found for place in range(hits)),
        )
    return links


def _make_posts(authors: Sequence[int]) -> Iterator[tuple[object, ...]]:
    for n in authors:
        for place in range(EACH):
            at = format_time(BEGIN + (n * 7919 + place * 104_729) % YEAR)
            yield _name_post(n, place), n, at, f"the telescope of user {n} shows the moon again, night {place}", at, at


def _name_post(n: int, place: int) -> str:
    """Return the id of a post, which the ledger of `restart.generate` names too."""
    return str(10**18 + EACH * n + place)


def _copy(path: Path, where: DatabaseAddress) -> None:
    """Copy the rows of a file into a new database of a server."""
    connection = connect(where)
    try:
        raw = connection.connection.driver_connection
        assert raw is not None
        with closing(sqlite3.connect(path)) as file, connection.begin(), raw.cursor() as cursor:
            for table in metadata.sorted_tables:
                columns = ", ".join(f'"{column.name}"' for column in table.columns)
                with cursor.copy(f'copy "{table.name}" ({columns}) from stdin') as rows:  # names of our schema
                    for row in file.execute(f'select {columns} from "{table.name}"'):
                        rows.write_row(row)
        connection.exec_driver_sql("analyze")
        connection.commit()
    finally:
        close_connection(connection)


def _time(client: httpx.Client, url: str) -> tuple[str, float]:
    """Return a page, and the seconds until it was there."""
    begin = time.perf_counter()
    answer = client.get(url)
    took = time.perf_counter() - begin
    return answer.raise_for_status().text, took


def _show(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f} ms"


def _show_waits(waits: Sequence[float]) -> str:
    return ", ".join(_show(of(waits)) for of in (statistics.median, max)) if waits else "none"


def _show_lag(looks: Sequence[float]) -> str:
    high = sorted(looks)[int(0.95 * (len(looks) - 1))]
    return f"{statistics.fmean(looks):.2f} s, {high:.2f} s"
