"""A way to a PostgreSQL server by a proxy on this machine, which delays what goes either way, or lets nothing pass."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import make_url

from socialcrawl.storage.database.address import DatabaseAddress, PostgresAddress


class ServerLink:
    """A proxy that is open.

    Args:
        where: the server's address, by a socket in a folder.
        seconds: for which what goes either way is delayed.

    Attributes:
        where: the address by the proxy.
    """

    def __init__(self, where: DatabaseAddress, seconds: float = 0.0) -> None:
        assert isinstance(where, PostgresAddress)
        url = make_url(where.url)
        self.folder, self.seconds = str(url.query["host"]), seconds
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),), daemon=True)
        self._thread.start()
        self._ready.wait(60)
        query = {name: text for name, text in url.query.items() if name != "host"}
        through = url.set(host="127.0.0.1", port=self._port, query=query)
        self.where = PostgresAddress(through.render_as_string(hide_password=False))

    def cut(self) -> None:
        """Let nothing pass, and close nothing, until it is mended."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def mend(self) -> None:
        """Let pass again what has waited."""
        self._loop.call_soon_threadsafe(self._open.set)

    def close(self) -> None:
        """End all connections."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop, self._open, self._end = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._open.set()
        served = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self._port = int(served.sockets[0].getsockname()[1])
        self._ready.set()
        await self._end.wait()
        served.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(asyncio.CancelledError, OSError):
                await self._open.wait()
                inner, out = await asyncio.open_unix_connection(f"{self.folder}/.s.PGSQL.5432")
                await asyncio.gather(self._pass_on(reader, out), self._pass_on(inner, writer))
        finally:
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                while data := await reader.read(65_536):
                    await self._open.wait()
                    if self.seconds:
                        self._loop.call_later(self.seconds, writer.write, data)
                    else:  # two calls that are due at one instant may change places
                        writer.write(data)
                await asyncio.sleep(self.seconds)  # for what is on its way
        finally:
            writer.close()


@contextmanager
def link_server(where: DatabaseAddress, seconds: float = 0.0) -> Iterator[ServerLink]:
    """Open a link to a server, and close it."""
    link = ServerLink(where, seconds)
    try:
        yield link
    finally:
        link.close()
