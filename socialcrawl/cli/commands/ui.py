"""`socialcrawl ui`: the web application, on this machine or, by request, for others."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from socialcrawl.api.project import open_project
from socialcrawl.cli.browser import open_browser
from socialcrawl.cli.listening import listen
from socialcrawl.errors import SettingsError
from socialcrawl.system.host_names import AllowedHosts
from socialcrawl.system.loopback import is_loopback_host
from socialcrawl.system.state_folder import make_state_folder
from socialcrawl.text.terminal import write_error

if TYPE_CHECKING:
    from uvicorn import Server

PORT = 8002
GRACE = 2  # seconds that open pages have when the server ends
NEEDED = ("fastapi", "jinja2", "plotly")  # what the extra brings


@dataclass(frozen=True, slots=True)
class WebOptions:
    """What the command line says of the pages.

    Attributes:
        places: folders, campaign files and databases; none: the current folder.
        host: the address to listen on.
        port: 0 takes a free one.
        browser: whether a browser is opened.
        allow_remote: whether other machines may connect.
        allow_hosts: names, besides those of this machine alone, by which the pages may be opened; see `AllowedHosts`.
        with_stdin: whether the pages end when stdin ends: those of a daemon or a demo. Their log gets no token.
    """

    places: Sequence[str]
    host: str
    port: int
    browser: bool = True
    allow_remote: bool = False
    allow_hosts: Iterable[str] = field(default_factory=list)
    with_stdin: bool = False


def serve_pages(options: WebOptions) -> int:
    """Return the exit code of the web application, which runs until Ctrl-C.

    Raises:
        SettingsError: the extra is not installed, the address cannot be used or needs --allow-remote, or one of the
            places or hosts is none.
        StoreError: the state folder, which holds the token, cannot be used.
    """
    allowed = check_options(options)
    project = open_project(*options.places)

    import uvicorn  # noqa: PLC0415

    from socialcrawl.web import security  # noqa: PLC0415
    from socialcrawl.web.web_app import WebSettings, make_app  # noqa: PLC0415

    folder = make_state_folder()
    token = security.read_token(folder)
    sessions = security.LoginSessions(token, time.time, security.EndedSessions(folder / security.ENDED_FILE))
    access = security.Access(sessions, security.LoginBackoff(time.monotonic), closed=options.allow_remote)
    app = make_app(project, WebSettings(access, time.time, allowed))
    with closing(listen(options.host, options.port)) as listener:
        port = int(listener.getsockname()[1])
        url = f"http://{_name_host(options.host)}:{port}/"
        if options.with_stdin:
            write_error(f"served at {url}; the token to log in is in {folder / security.TOKEN_FILE}")
        else:
            write_error(_describe_start(url, token, remote=options.allow_remote))
        if options.browser:
            open_browser(url, options.host, port)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
        settings = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=GRACE,
            limit_concurrency=200, h11_max_incomplete_event_size=64_000,
        )  # fmt: skip
        server = uvicorn.Server(settings)
        if options.with_stdin:
            threading.Thread(target=_stop_at_end, args=(server,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.run([listener])
    return 0


def check_options(options: WebOptions) -> AllowedHosts:
    """Return the names by which the pages may be opened.

    Raises:
        SettingsError: the extra is not installed, the address needs --allow-remote, or a host is none.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise SettingsError(f"ui needs {' and '.join(missing)}: pip install 'socialcrawl[ui]'.")
    if not is_loopback_host(options.host) and not options.allow_remote:
        raise SettingsError(
            f"--host {options.host} lets other machines connect: add --allow-remote if that is what you want."
        )
    return AllowedHosts.of(options.allow_hosts, listening=options.host)


def _stop_at_end(server: "Server") -> None:
    """Stop the pages when stdin ends: when the process that began them does."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    server.should_exit = True


def _describe_start(url: str, token: str, *, remote: bool) -> str:
    """Return what a person has to know when the pages are up."""
    until = f"The pages are at {url} until you press Ctrl-C."
    login = f"{url}login#token={token}"
    if not remote:
        return f"{until}\nTo start, pause, stop and change campaigns there, log in at {login}"
    return (
        f"{until}\nLog in at {login}\nOther machines can connect, and nothing is encrypted: put a reverse proxy with "
        "TLS before it (see docs/how-to/ui.md). Whoever has the token can read and change everything there."
    )


def _name_host(host: str) -> str:
    """Return a host as addresses of pages have it."""
    if host in ("0.0.0.0", "::"):  # noqa: S104  (it is named, not listened on)
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
