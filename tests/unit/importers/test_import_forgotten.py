"""Whoever was forgotten is named by no import, whether a file knows them by id or by name."""

import pytest
from import_files import NOW, columns, drawn, everything, files, held, name, pages, table, write_lines
from stores import a_database

from socialcrawl.engine.model import format_time
from socialcrawl.formats.lines import LineErrors
from socialcrawl.importers.import_posts import import_posts
from socialcrawl.importers.post_files import read_posts
from socialcrawl.storage.erasure.tombstones import make_digest, put_tombstones
from socialcrawl.storage.imports.page_rows import PostImport

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])


@BOTH
def test_whoever_is_answered_and_was_forgotten_is_named_nowhere(kind, tmp_path):
    rows = [
        {"id": "a", "author": "ann", "created_at": 1, "text": "x", "reply_to": "Bob", "original": '{"to": "Bob"}'},
        {"id": "b", "author": "cyd", "created_at": 2, "text": "x", "reply_to": "@ann"},
        {"id": "c", "author": "ann", "created_at": 3, "text": "x", "reply_to": "Dan"},
    ]
    path = write_lines(tmp_path / "a", rows)
    with a_database(kind) as connection:
        with connection.begin():
            put_tombstones(connection, [(make_digest("x", "name", "bob"), "name", "forget", "2023")])
        intake = PostImport(connection, "x", format_time(NOW))
        for found in read_posts(path, lambda text, *_: 0, LineErrors()):
            intake.take(found)
        assert table(connection, "select id, reply_to, original from post order by id") == [
            ("a", None, None), ("b", "ann", None), ("c", "Dan", None)]  # fmt: skip
        with connection.begin():  # while the import is under way
            put_tombstones(connection, [(make_digest("x", "name", "dan"), "name", "forget", "2023")])
        intake.store_answers()
        _, mentions = held(connection)
        assert mentions == {("b", "ann", "reply")}
        assert table(connection, "select id from post where reply_to is not null") == []
        whole = str(everything(connection)).lower()
        assert "bob" not in whole
        assert "dan" not in whole


@BOTH
def test_who_was_forgotten_by_id_is_known_by_the_name_that_a_file_tells(kind, tmp_path):
    posts = drawn()
    gone = posts[3].author
    first = write_lines(tmp_path / "a", pages(posts))
    second = write_lines(tmp_path / "b", columns(posts))
    with a_database(kind) as connection:
        with connection.begin():
            put_tombstones(connection, [(make_digest("x", "user", str(100 + gone)), "user", "forget", "2023")])
        import_posts(files(first), connection, None, NOW)
        import_posts(files(second), connection, None, NOW)
        told, mentions = held(connection)
        whole = str(everything(connection)).lower().replace("'", " ").split()
    assert told
    assert name(gone).lower() not in {author for author, *_ in told.values()} | {who for _, who, _ in mentions}
    assert f"@{name(gone).lower()}" not in whole
