"""Where a database is: files, URLs, and what is refused because a password could be shown."""

import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.campaign.settings import check_settings
from socialcrawl.errors import SettingsError
from socialcrawl.storage.database.address import PostgresAddress, parse_address

HIDDEN = "hunter2"
BASIC = {"name": "a", "topic": {"keywords": ["x"]}}


@pytest.mark.parametrize(
    ("text", "path"),
    [("a.db", "a.db"), ("./x/a b.db", "x/a b.db"), ("sqlite:///a.db", "a.db"), ("sqlite:////tmp/a.db", "/tmp/a.db")],
)
def test_a_file_is_named_by_its_path_or_as_a_url(text, path):
    assert parse_address(text) == Path(path)


@pytest.mark.parametrize(
    ("text", "shown", "name", "secret"),
    [
        ("postgresql://ann@host/db", "postgresql://ann@host/db", "db", False),
        ("postgres://ann@host:5433/db", "postgresql://ann@host:5433/db", "db", False),
        ("POSTGRESQL://host/db", "postgresql://host/db", "db", False),
        ("postgresql+psycopg:///db", "postgresql:///db", "db", False),
        (f"postgresql://ann:{HIDDEN}@host/db", "postgresql://ann@host/db", "db", True),
        (f"postgresql://ann:a%2F{HIDDEN}@host/db", "postgresql://ann@host/db", "db", True),
        (f"postgresql:///db?host=/tmp&password={HIDDEN}", "postgresql:///db?host=/tmp", "db", True),
        (f"postgresql:///db?sslpassword={HIDDEN}", "postgresql:///db", "db", True),
    ],
)
def test_a_server_is_shown_without_its_password(text, shown, name, secret):
    found = parse_address(text)
    assert isinstance(found, PostgresAddress)
    assert (str(found), found.name, found.secret) == (shown, name, secret)
    assert HIDDEN not in repr(found) + str(found)


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://ann:9/{HIDDEN}@host/db",
        f"postgresql://ann:9#{HIDDEN}@host/db",
        f"postgresql://ann:9?{HIDDEN}@host/db",
        f"postgresql://ann:{HIDDEN}/2@host/db",
        f"postgresql://host/db#{HIDDEN}",
        f"host=localhost password={HIDDEN} dbname=x",
        f"postgres:{HIDDEN}@localhost/db",
        f"postgresql:/u:{HIDDEN}@localhost/db",
        f"mysql://ann:{HIDDEN}@host/db",
        f"postgresql://ann:{HIDDEN}@one,two/db",
        f"postgresql://ann:{HIDDEN}@host:port/db",
    ],
)
def test_what_cannot_be_read_for_certain_is_refused_and_not_repeated(text):
    with pytest.raises(SettingsError) as error:
        parse_address(text)
    assert HIDDEN not in str(error.value)
    with pytest.raises(SettingsError, match="database") as error:
        check_settings(BASIC | {"database": text}, "test")
    assert HIDDEN not in str(error.value)


def test_a_password_is_refused_in_a_campaign_file():
    with pytest.raises(SettingsError, match="PGPASSWORD") as error:
        check_settings(BASIC | {"database": f"postgresql://ann:{HIDDEN}@host/db"}, "test")
    assert HIDDEN not in str(error.value)


@given(st.text(min_size=6, alphabet=st.characters(exclude_categories=["Cs"])).filter(lambda text: "%" not in text))
def test_no_password_is_ever_shown_whatever_is_in_it(password):
    hidden = f"<{password}>"
    told = []
    try:
        found = parse_address(f"postgresql://crawler:{hidden}@localhost/db")
        told.append(f"{found} {found!r}")
        assert found.secret
    except SettingsError as error:
        told.append("".join(traceback.format_exception(error)))
    assert hidden not in told[0]
