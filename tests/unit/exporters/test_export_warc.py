"""Original answers as a web archive, read by warcio as its `check` does."""

import builtins
import gzip
import json
import zlib
from io import BytesIO

import orjson
import pytest
from exported_towns import a_town, exported
from warcio.archiveiterator import ArchiveIterator

from socialcrawl.errors import SettingsError, StoreError

BODY = orjson.dumps({"data": [{"id": "1", "text": "日本 \u0001"}]})
HEADERS = [
    ["Content-Type", "application/json; charset=utf-8"],
    ["Content-Encoding", "gzip"],
    ["Content-Length", "7"],
    ["Set-Cookie", "guest_id=secret"],
    ["x-rate-limit-remaining", "299"],
]


def keep(connection, count=3):
    """As the wire keeps answers when it is told to."""
    with connection.begin():
        mark = "?" if connection.dialect.name == "sqlite" else "%s"
        for number in range(1, count + 1):
            row = (number, f"https://api.example/2/users/{number}/tweets?max_results=5&q=a%20b", json.dumps(HEADERS),
                   zlib.compress(BODY * number))  # fmt: skip
            connection.exec_driver_sql(f"insert into response values ({', '.join([mark] * 4)})", row)


def records(path):
    with path.open("rb") as file:
        found = []
        for record in ArchiveIterator(file, check_digests="raise"):
            payload = record.content_stream().read()
            found.append((record.rec_type, record, payload))
        return found


def test_warcio_reads_a_request_and_a_response_of_every_answer_with_right_digests(tmp_path):
    with a_town(tmp_path) as connection:
        keep(connection)
        sheet = exported(connection, tmp_path / "out", "warc")
    found = records(tmp_path / "out" / "answers.warc.gz")
    assert [kind for kind, _, _ in found] == ["warcinfo", *["response", "request"] * 3]
    assert len({record.rec_headers["WARC-Record-ID"] for _, record, _ in found}) == len(found)
    for number, (kind, record, payload) in enumerate(found[1:], 2):
        assert record.rec_headers["WARC-Target-URI"].endswith(f"/2/users/{number // 2}/tweets?max_results=5&q=a%20b")
        assert record.rec_headers["WARC-Date"].startswith("2023-11-14T22:")
        names = {name.lower() for name, _ in record.http_headers.headers}
        assert not names & {"authorization", "set-cookie", "content-encoding"}
        if kind == "response":
            assert payload == BODY * (number // 2)
            assert record.http_headers.get_statuscode() == "200"
            assert record.http_headers["content-length"] == str(len(payload))
            assert record.http_headers["x-rate-limit-remaining"] == "299"
            assert record.rec_headers["WARC-Block-Digest"]
        else:
            assert record.http_headers.protocol == "GET"
            assert record.http_headers["host"] == "api.example"
            assert record.rec_headers["WARC-Concurrent-To"] == found[number - 2][1].rec_headers["WARC-Record-ID"]
    whole = gzip.GzipFile(fileobj=BytesIO((tmp_path / "out" / "answers.warc.gz").read_bytes())).read()
    assert b"guest_id" not in whole
    assert b"uthorization" not in whole
    assert {file["name"]: file["rows"] for file in sheet["files"]} == {"answers.warc.gz": 3}


def test_the_same_answers_make_the_same_archive(tmp_path):
    with a_town(tmp_path) as connection:
        keep(connection)
        for name in ("one", "two"):
            exported(connection, tmp_path / name, "warc")
    one, two = ((tmp_path / name / "answers.warc.gz").read_bytes() for name in ("one", "two"))
    assert one == two


def test_an_archive_without_answers_and_one_without_warcio_are_refused(tmp_path, monkeypatch):
    with a_town(tmp_path) as connection:
        with pytest.raises(StoreError, match="keep_answers = true"):
            exported(connection, tmp_path / "out", "csv", "warc")
        there = builtins.__import__

        def without(name, *rest, **more):
            if name.startswith("warcio"):
                raise ModuleNotFoundError(name)
            return there(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(SettingsError, match=r"socialcrawl\[warc\]"):
            exported(connection, tmp_path / "out", "warc")
        monkeypatch.undo()
    assert not (tmp_path / "out").exists()
