"""A browser that shows pages of a server of this process, once that is up."""

import socket
import threading
import time
import webbrowser
from contextlib import closing, suppress

PATIENCE = 20.0  # seconds in which the server has to be up for a browser to be opened


def open_browser(url: str, host: str, port: int) -> None:
    """Open a page in a browser as soon as its server accepts connections; return at once."""
    threading.Thread(target=_open_when_up, args=(url, host, port), daemon=True).start()


def _open_when_up(url: str, host: str, port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(OSError), closing(socket.create_connection((host, port), 1.0)):
            webbrowser.open(url)
            return
        time.sleep(0.1)
