"""One process at a time uses a token on a server, and the lock that says so gives nothing of the token away."""

import os
import stat
import subprocess
import sys
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import conftest
import pytest
from commands import ENVIRONMENT

from socialcrawl.campaign.token_locks import TokenLease, check_distinct
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.system import state_folder
from socialcrawl.system.state_folder import make_state_folder

TOKEN, OTHER = "AAAA-the-token-of-the-lease", "AAAA-another-token-of-the-lease"
KEYS = ("consumer-key", "consumer-secret", "access-token", "access-secret")
X = "https://api.x.com"

HOLD = """
import sys; from socialcrawl.campaign.token_locks import TokenLease
try:
    lease = TokenLease(sys.argv[1], sys.argv[2], "mine"); print("held", flush=True); sys.stdin.read()
except Exception as error:
    print(f"{type(error).__name__}: {error}", flush=True)
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The state folder of a user who never ran anything."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "socialcrawl"


def holder(base=X, token=TOKEN):
    words = [sys.executable, "-c", HOLD, base, token]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextmanager
def held_by_another(base=X, token=TOKEN):
    with holder(base, token) as child:
        try:
            assert child.stdout.readline() == "held\n"
            yield
        finally:
            child.kill()


def test_a_token_is_leased_once_and_can_be_had_again_after_it_was_let_go(state):
    first = TokenLease(X, TOKEN, "main")
    with pytest.raises(
        StoreError, match=r"credential 'second' on api\.x\.com:443.* wait .* stop .* one daemon run both"
    ):
        TokenLease(X, TOKEN, "second")
    others = [TokenLease(X, OTHER, "b"), TokenLease("http://127.0.0.1:8000", TOKEN, "c"), TokenLease(X, KEYS, "d")]
    first.release()
    first.release()
    again = TokenLease(X, TOKEN, "main")
    for lease in (again, *others):
        lease.release()
    assert [path.name for path in state.iterdir()] == ["key"]


def test_a_lease_keeps_other_processes_out_and_ends_with_its_own_however_that_one_ends():
    with held_by_another(), pytest.raises(StoreError, match="Another process uses the token"):
        TokenLease(X, TOKEN, "main")
    TokenLease(X, TOKEN, "main").release()
    lease = TokenLease(X, TOKEN, "main")
    with holder() as child:
        said, _ = child.communicate()
    assert said.startswith("HeldError: Another process uses the token of the credential 'mine'")
    assert TOKEN not in said
    lease.release()


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (X, "https://API.x.com/", True),
        (X, "https://api.x.com:443/2", True),
        (X, "https://ann:pass@api.x.com", True),
        ("http://127.0.0.1", "http://127.0.0.1:80", True),
        (X, "http://api.x.com", False),
        (X, "https://api.y.com", False),
        ("http://127.0.0.1:1", "http://127.0.0.1:2", False),
        ("http://[::1]:1", "http://[::1]:2", False),
    ],
)
def test_a_server_is_its_host_and_port(one, two, same):
    first = TokenLease(one, TOKEN, "main")
    try:
        if same:
            with pytest.raises(StoreError):
                TokenLease(two, TOKEN, "main")
        else:
            TokenLease(two, TOKEN, "main").release()
    finally:
        first.release()


def test_nothing_of_a_token_can_be_read_from_the_folder(state):
    leases = [TokenLease(X, TOKEN, "main"), TokenLease(X, KEYS, "ours")]
    told = "".join(str(path) for path in state.iterdir()).encode() + b"".join(p.read_bytes() for p in state.iterdir())
    for text in (TOKEN, *KEYS):
        assert text.encode() not in told
        assert blake2b(text.encode(), digest_size=16).hexdigest().encode() not in told
    assert not [word for lease in leases for word in (TOKEN, *KEYS) if word in f"{lease!r} {vars(lease)}"]
    key = (state / "key").read_bytes()
    hashed = blake2b(f"api.x.com:443\0{TOKEN}".encode(), key=key, digest_size=16).hexdigest()
    assert len(list(state.glob("*.lock"))) == len(leases) == 2
    assert (state / f"{hashed}.lock").exists()
    for lease in leases:
        lease.release()


def test_only_this_user_can_look_into_the_folder_and_read_the_key(state):
    former = os.umask(0)
    try:
        TokenLease(X, TOKEN, "main").release()
    finally:
        os.umask(former)
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "key").stat().st_mode) == 0o600
    assert len((state / "key").read_bytes()) == 32


def test_processes_that_start_at_once_for_the_first_time_agree_on_one_key(state):
    tokens = [TOKEN] * 4 + [f"{OTHER}{i}" for i in range(4)]
    children = [holder(token=token) for token in tokens]
    said = [child.stdout.readline() for child in children]
    names = {path.name for path in state.glob("*.lock")}
    key = (state / "key").read_bytes()
    for child in children:
        child.communicate()
    assert [line == "held\n" for line in said[4:]] == [True] * 4
    assert sum(line == "held\n" for line in said[:4]) == 1
    assert sum(line.startswith("HeldError: Another process") for line in said[:4]) == 3
    hashed = [blake2b(f"api.x.com:443\0{token}".encode(), key=key, digest_size=16).hexdigest() for token in tokens]
    assert names == {f"{name}.lock" for name in hashed}


def test_a_key_that_was_not_written_whole_is_made_anew_and_a_whole_one_stays(state):
    state.mkdir(parents=True)
    (state / "key").write_bytes(b"short")
    TokenLease(X, TOKEN, "main").release()
    key = (state / "key").read_bytes()
    assert len(key) == 32
    assert not key.startswith(b"short")
    TokenLease(X, TOKEN, "main").release()
    assert (state / "key").read_bytes() == key


def test_two_users_have_two_keys(tmp_path, monkeypatch):
    keys = set()
    for name in "ab":
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        TokenLease(X, TOKEN, "main").release()
        keys.add((tmp_path / name / "socialcrawl" / "key").read_bytes())
    assert len(keys) == 2


@pytest.mark.parametrize("given", [None, "", "relative/state"])
def test_without_a_folder_of_that_name_state_lies_in_the_home(given, tmp_path, monkeypatch):
    if given is None:
        monkeypatch.delenv("XDG_STATE_HOME")
    else:
        monkeypatch.setenv("XDG_STATE_HOME", given)
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    assert make_state_folder() == tmp_path / "ann" / ".local" / "state" / "socialcrawl"
    assert make_state_folder().is_dir()


def test_where_the_system_has_another_place_for_state_it_lies_there_unless_an_earlier_version_made_a_folder(
    tmp_path, monkeypatch
):
    former, system = tmp_path / ".local" / "state" / "socialcrawl", tmp_path / "Application Support" / "socialcrawl"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(state_folder, "user_state_path", lambda name, *, appauthor: system)
    assert make_state_folder() == system
    assert system.is_dir()
    assert not former.exists()
    former.mkdir(parents=True)
    assert make_state_folder() == former
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "named"))
    assert make_state_folder() == tmp_path / "named" / "socialcrawl"


def nobody_at_home():
    raise RuntimeError("Could not determine home directory.")


def test_a_folder_that_cannot_be_used_is_told_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="let XDG_STATE_HOME name a folder"):
        TokenLease(X, TOKEN, "main")
    for name in ("key", "the lock"):
        folder = tmp_path / name / "socialcrawl"
        folder.mkdir(parents=True)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent))
        if name == "key":
            (folder / "key").mkdir()
        else:
            TokenLease(X, TOKEN, "main").release()
            key = (folder / "key").read_bytes()
            (
                folder / (blake2b(f"api.x.com:443\0{TOKEN}".encode(), key=key, digest_size=16).hexdigest() + ".lock")
            ).mkdir()
        with pytest.raises(StoreError, match="let XDG_STATE_HOME name a folder"):
            TokenLease(X, TOKEN, "main")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", nobody_at_home)
    with pytest.raises(StoreError, match="let XDG_STATE_HOME name a folder"):
        TokenLease(X, TOKEN, "main")


def test_one_token_has_one_name():
    check_distinct({"one": TOKEN, "two": OTHER, "three": KEYS, "four": (*KEYS[:3], "other")})
    with pytest.raises(SettingsError, match="'one' and 'two' are the same token under two names") as error:
        check_distinct({"one": TOKEN, "other": OTHER, "two": TOKEN})
    assert TOKEN not in str(error.value)
    with pytest.raises(SettingsError, match="'three' and 'four'"):
        check_distinct({"three": KEYS, "four": tuple(KEYS)})


def test_these_tests_and_their_child_processes_leave_the_state_of_the_user_alone():
    assert ENVIRONMENT["XDG_STATE_HOME"] == conftest.STATE
    assert Path(conftest.STATE).is_dir()
    assert "socialcrawl-tests-state-" in conftest.STATE
