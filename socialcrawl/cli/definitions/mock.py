"""The command that serves posts and pages as platforms: `mock`."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.choices import offer
from socialcrawl.cli.options import WithStdin

Posts = Annotated[
    Path | None,
    typer.Option(
        help="Posts as Parquet, CSV or JSON lines: author, created_at, text. "
        "Default: generated posts of 2,000 accounts (the demo has 10,000)."
    ),
]
Export = Annotated[Path | None, typer.Option(help="Serve an exported campaign instead (X).")]
Pages = Annotated[Path | None, typer.Option(help="Pages as Parquet or CSV: key, text, links; served as a web site.")]
Platforms = Annotated[
    list[str] | None, typer.Option("--platform", help="Repeatable. Default: all.", **offer("x|bluesky|mastodon"))
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port. 0: any free port.")]
Length = Annotated[str, typer.Option(help="X: length of a rate-limit window, such as 3s or 15m.")]
Limit = Annotated[
    int,
    typer.Option(
        "--per-window", min=1, help="X: requests per window, token and endpoint. For other platforms: --platform-limit."
    ),
]
UserLimit = Annotated[int | None, typer.Option(min=1, help="X: requests per window for user tokens (OAuth 1.0a).")]
Rules = Annotated[
    list[str] | None,
    typer.Option(help='X: additional limit: "ENDPOINT K/PERIOD [fixed|aligned|sliding] [HEADERS]". Repeatable.'),
]
Others = Annotated[
    list[str] | None,
    typer.Option(
        "--platform-limit",
        help='Other platforms: limits such as "bluesky 3000/5m" or "paged 300/15m" (Mastodon); '
        "see docs/reference/platforms.md.",
    ),
]
Scenario = Annotated[Path | None, typer.Option(help="TOML file of faults (see docs/how-to/faults.md).")]
Skew = Annotated[float, typer.Option(help="Seconds by which the server's clock is ahead.")]
Latency = Annotated[str | None, typer.Option(help="Latency of each answer, such as 50ms.")]
Cap = Annotated[int | None, typer.Option(min=1, help="X: monthly cap on posts; then HTTP 429.")]
Credit = Annotated[float | None, typer.Option(min=0.0, help="X: dollars that may be billed; then HTTP 402.")]
Share = Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of accounts that no longer exist.")]
NoIndex = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, help="Share of accounts that opt out: noindex on Mastodon, a label on Bluesky."),
]
Closed = Annotated[bool, typer.Option("--closed-search", help="Bluesky: allow search only after signing in.")]
NewSearch = Annotated[bool, typer.Option("--search-v2", help="Bluesky: enable searchPostsV2.")]
Now = Annotated[str | None, typer.Option(help="X: the current time of search and counts, ISO 8601.")]
Report = Annotated[Path | None, typer.Option(help="Write the server's own request counts to this JSON file.")]
Remote = Annotated[bool, typer.Option("--allow-remote", help="With --host: accept requests from other machines.")]
From = Annotated[
    str | None, typer.Option("--from", help="Start at this time, ISO 8601; later posts appear as time passes.")
]
Speed = Annotated[
    float, typer.Option(help="Speed of the posts' clock: seconds per second. 0: it stands still. See --from.")
]
Live = Annotated[
    str | None,
    typer.Option(
        help="Move generated posts to the present: they appear from now on for so long, such as 1h, and began nine "
        "times as long ago."
    ),
]
Replay = Annotated[str, typer.Option(help="Bluesky: how much of the file Jetstream can replay, such as 30d.")]


def mock(
    *,
    posts: Posts = None,
    export: Export = None,
    pages: Pages = None,
    platform: Platforms = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    window: Length = "15m",
    limit: Limit = 300,
    user_limit: UserLimit = None,
    rule: Rules = None,
    platform_limit: Others = None,
    scenario: Scenario = None,
    skew: Skew = 0.0,
    latency: Latency = None,
    cap: Cap = None,
    credit: Credit = None,
    missing: Share = 0.0,
    noindex: NoIndex = 0.0,
    closed_search: Closed = False,
    search_v2: NewSearch = False,
    now: Now = None,
    from_: From = None,
    speed: Speed = 0.0,
    live: Live = None,
    replay: Replay = "36h",
    report: Report = None,
    allow_remote: Remote = False,
    with_stdin: WithStdin = False,
) -> None:
    """Serve posts as mock platforms.

    It serves X, Bluesky and Mastodon with their streams, enforces rate limits and counts requests independently.
    """
    given = dict(locals())
    from socialcrawl.cli.mock_options import choose_moment, make_settings  # noqa: PLC0415
    from socialcrawl.mock.server import serve  # noqa: PLC0415

    moment, speed, ahead = choose_moment(given, time.time())
    with tempfile.TemporaryDirectory(prefix="socialcrawl-") as scratch:
        is_made = posts is None and export is None and pages is None
        given["posts"] = Path(scratch) / "posts.parquet" if is_made else posts
        settings = replace(make_settings(given), moment=moment, speed=speed)
        if is_made:
            _generate(given["posts"], moment, ahead)
        serve(settings, with_stdin=with_stdin)


def _generate(file: Path, now: float | None, ahead: float | None) -> None:
    """Write the generated posts that the mock serves by default and `demo` uses.

    Args:
        file: where to.
        now: the time.
        ahead: seconds after it in which a tenth of the posts appears; None: all have the times of their generation.
    """
    from socialcrawl.lab.generators.generate import MOCK_USERS, choose_topics, generate, write  # noqa: PLC0415
    from socialcrawl.text.terminal import write_error  # noqa: PLC0415
    from socialcrawl.text.wording import format_instant  # noqa: PLC0415

    words = ", ".join(list(choose_topics().values())[:4])
    write_error(f"no --posts given: generating the posts of {MOCK_USERS:,} invented people; keywords: {words} ...")
    posts = generate(MOCK_USERS, 1)
    if now is not None and ahead is not None:
        begin = int(now - 9.0 * ahead) // 60 * 60
        posts = posts.spread(begin, int(now + ahead))
        write_error(f"the posts begin at {format_instant(begin)}, and appear until {format_instant(now + ahead)}")
    write(file, posts)
