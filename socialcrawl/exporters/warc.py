"""The platform's original answers as a web archive (WARC 1.0), one request and one response a record.

Names of hosts, addresses and bodies are as they were; what could let somebody in is not: neither the header with the
token, which is never stored, nor cookies.
"""

import io
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5
from zlib import decompress

import orjson
from sqlalchemy import select

from socialcrawl import __version__
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.exporters.selection import ExportSelection
from socialcrawl.storage.schema.tables import request, response

SECRET = ("authorization", "cookie", "set-cookie", "proxy-authorization")
# The body was unpacked when it was stored: what told how it had come over the line would not be true.
PACKED = ("content-encoding", "transfer-encoding", "content-length")


def check_available() -> None:
    """Check that archives can be written here.

    Raises:
        SettingsError: warcio is not installed.
    """
    try:
        import warcio  # type: ignore[import-untyped, unused-ignore]  # noqa: F401, PLC0415  (looked for, not used)
    except ModuleNotFoundError as error:
        raise SettingsError("A web archive needs warcio: pip install 'socialcrawl[warc]'.") from error


def write_archive(choice: ExportSelection, path: Path, watch: Callable[[int], None] = lambda rows: None) -> int:
    """Write the answers that were kept into a .warc.gz; how many. `watch` is called with their number after each.

    Raises:
        StoreError: there are none.
    """
    from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    count = 0
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for row in _read_rows(choice):
            if not count:
                _write_about(writer, row)
            _write_record(writer, row)
            count += 1
            watch(count)
    if not count:
        raise StoreError(
            "No answers were kept, so there is nothing for a web archive: set keep_answers = true in [source] before "
            "the campaign runs, or remove --format warc."
        )
    return count


def _read_rows(choice: ExportSelection) -> Iterator[Any]:
    columns = (request.c.id, request.c.status, request.c.sent_at, request.c.arrived_at)
    query = select(*columns, response.c.url, response.c.headers, response.c.body)
    joined = query.join(response, response.c.request == request.c.id)
    ours = joined.where(request.c.campaign.in_(choice.numbers)).order_by(request.c.id)
    return iter(choice.reader.execute(ours.execution_options(yield_per=50)))


def _write_about(writer: Any, row: Any) -> None:
    fields = {
        "software": f"socialcrawl {__version__}",
        "format": "WARC File Format 1.0",
        "description": "answers of an API, with their bodies unpacked and without cookies; see datasheet.md",
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode()
    headers = {"WARC-Record-ID": _make_record_id("about", row), "WARC-Date": _format_date(row.sent_at), **_TYPE}
    writer.write_record(
        writer.create_warc_record("", "warcinfo", io.BytesIO(lines), len(lines), warc_headers_dict=headers)
    )


_TYPE = {"Content-Type": "application/warc-fields"}


def _write_record(writer: Any, row: Any) -> None:
    from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    body = decompress(row.body)
    status = row.status or 200
    kept = [(name, value) for name, value in orjson.loads(row.headers) if name.lower() not in (*SECRET, *PACKED)]
    answered = StatusAndHeaders(
        f"{status} {_find_phrase(status)}", [*kept, ("Content-Length", str(len(body)))], protocol="HTTP/1.1"
    )
    parts = urlsplit(row.url)
    line = f"GET {parts.path or '/'}{'?' if parts.query else ''}{parts.query} HTTP/1.1"
    asked = StatusAndHeaders(line, [("Host", parts.netloc.rpartition("@")[2])], is_http_request=True)
    came = {
        "WARC-Record-ID": _make_record_id("response", row),
        "WARC-Date": _format_date(row.arrived_at or row.sent_at),
    }
    sent = {
        "WARC-Record-ID": _make_record_id("request", row),
        "WARC-Date": _format_date(row.sent_at),
        "WARC-Concurrent-To": came["WARC-Record-ID"],
    }
    url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    for kind, http, payload, headers in (("response", answered, body, came), ("request", asked, b"", sent)):
        record = writer.create_warc_record(
            url, kind, io.BytesIO(payload), len(payload), http_headers=http, warc_headers_dict=headers
        )
        writer.write_record(record)


def _make_record_id(kind: str, row: Any) -> str:
    """Return the id of a record: the same whenever the same answer is exported."""
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{kind} {row.id} {row.sent_at} {row.url}')}>"


def _format_date(at: str) -> str:
    """Return an instant as WARC 1.0 writes it: whole seconds, UTC."""
    return f"{at[:19]}Z"


def _find_phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
