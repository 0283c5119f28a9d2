"""Locked packages are looked up among the advisories of the index that pip uses; here a server on loopback plays it."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from http_server import QuietHandler, serving

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "advisories.py"
KNOWN = {"id": "GHSA-aaaa", "aliases": ["CVE-2026-1"], "fixed_in": ["2.1"], "withdrawn": None}
LOCK = "# a comment\nred==2.0 ; python_version < '4' \\\n    --hash=sha256:0\nblue[fast]==1.0 \\\nred==2.0\n"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("advisories", SCRIPT)
    module = sys.modules["advisories"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["advisories"]


@contextmanager
def playing(answer):
    """An index on loopback, its address, and the paths that it was asked for; `answer` gives status and body."""
    asked = []

    class Handler(QuietHandler):
        protocol_version, wbufsize = "HTTP/1.0", 0

        def answer(self):
            asked.append(self.path)
            told = answer(self.path)
            if callable(told):
                told(self.wfile)
                return
            status, body = told
            self.send(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode())

    with serving(Handler) as server:
        yield server.url, asked


def of_red(*told):
    """The answers of an index that knows these of `red`, and nothing of others."""
    return lambda path: (200, {"info": {}, "vulnerabilities": list(told) if "/red/" in path else []})


def looked_up(script, answer, reasons=(), lock=LOCK, deadline=20.0):
    """The exit code, the lines, and the paths that were asked for."""
    wanted = script.packages([lock])
    with playing(answer) as (url, asked):
        lookup = script.Lookup(script.Index(url), deadline)
        lookup.run(wanted)
        return *script.report(wanted, dict(lookup.answers), dict(reasons)), asked


def test_a_package_with_an_advisory_fails_the_check_and_says_where_it_is_fixed(script):
    code, lines, asked = looked_up(script, of_red(KNOWN))
    assert code == 1
    assert lines[0] == "red 2.0: GHSA-aaaa (CVE-2026-1), fixed in 2.1"
    assert "make lock" in lines[1]
    assert sorted(asked) == ["/pypi/blue/1.0/json", "/pypi/red/2.0/json"]


def test_one_without_a_fix_does_too(script):
    code, lines, _ = looked_up(script, of_red({"id": "GHSA-aaaa"}))
    assert (code, lines[0]) == (1, "red 2.0: GHSA-aaaa, not fixed yet")


@pytest.mark.parametrize("reasons", [{"GHSA-aaaa": "not used"}, {"cve-2026-1": "not used"}])
def test_one_that_is_listed_with_a_reason_by_any_of_its_names_does_not(script, reasons):
    assert looked_up(script, of_red(KNOWN), reasons)[:2] == (0, ["no advisories for 2 packages"])


def test_nor_does_one_that_was_withdrawn_and_a_reason_that_is_idle_is_told(script):
    withdrawn = KNOWN | {"withdrawn": "2026-01-01T00:00:00Z"}
    code, lines, _ = looked_up(script, of_red(withdrawn), {"GHSA-aaaa": "not used"})
    assert code == 0
    assert lines[0] == "GHSA-aaaa is listed in pyproject.toml, and concerns no package any more: remove it"


@pytest.mark.parametrize(
    "told", [(404, b"not found"), (200, {"info": {}}), (200, b"<html>"), (200, [1]), (200, b"[" * 99_999)]
)
def test_an_index_without_advisories_is_asked_three_times_and_skipped(script, told):
    lock = "".join(f"p{number}==1\n" for number in range(9))
    with playing(lambda path: told) as (url, asked):
        with pytest.raises(script.SkippedError, match="has no advisories"):
            script.Lookup(script.Index(url)).run(script.packages([lock]))
        assert len(asked) == 3


@pytest.mark.parametrize("status", [301, 401, 403, 500, 503])
def test_an_index_that_refuses_is_skipped(script, status):
    with pytest.raises(script.SkippedError, match=f"HTTP {status}"):
        looked_up(script, lambda path: (status, b""))


def test_so_is_one_that_is_not_there(script):
    with playing(of_red()) as (url, _):
        pass
    with pytest.raises(script.SkippedError, match="cannot be reached"):
        script.Lookup(script.Index(url)).run(script.packages([LOCK]))


def dripping(file):
    """A byte now and then, for hours, until the other side goes."""
    file.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    for _ in range(1_000_000):
        file.write(b" ")
        file.flush()
        time.sleep(0.05)


def test_and_one_that_never_comes_to_an_end(script):
    with pytest.raises(script.SkippedError, match=r"in time|to an end"):
        looked_up(script, lambda path: dripping, deadline=0.4)


def test_packages_that_the_index_does_not_answer_for_are_named_and_those_that_it_does_still_count(script):
    lock = "blue==1.0\nred==2.0\nslow==1\ngone==1\n"

    def answer(path):
        return dripping if "/slow/" in path else (500, b"") if "/gone/" in path else of_red(KNOWN)(path)

    code, lines, _ = looked_up(script, answer, lock=lock, deadline=1.5)
    assert code == 1
    assert lines[-1] == "skipped: 2 of 4 packages, of which the index told nothing in time: gone, slow"


def test_reasons_are_written_in_pyproject_and_none_is_left_out(script):
    head = "[tool.socialcrawl.advisories]\n"
    assert script.accepted('[project]\nname = "x"\n') == {}
    assert script.accepted(f'{head}"A-1" = "not used"\n') == {"A-1": "not used"}
    for text in ('"A-1" = ""', '"A-1" = " "', '"A-1" = true'):
        with pytest.raises(script.WrongError, match="A-1: write why"):
            script.accepted(f"{head}{text}\n")


HELP = "  -i, --index-url <url>  Base URL of the index\n      (default https://usual.example/simple). This\n"


@pytest.mark.parametrize(
    ("listed", "root"),
    [
        ("", "https://usual.example"),
        ("global.extra-index-url='https://more.example/simple'", "https://usual.example"),
        ("global.index-url='https://a.example/simple/'", "https://a.example"),
        (
            "install.index-url='https://b.example/root/dev'\nglobal.index-url='https://a.example'",
            "https://b.example/root/dev",
        ),
        (":env:.index-url='https://c.example/simple'\ninstall.index-url='https://b.example'", "https://c.example"),
    ],
)
def test_the_index_is_the_one_that_pip_uses(script, listed, root):
    assert script.configured(listed, HELP).root == root


def test_how_pip_reaches_it_is_taken_over_and_no_password_is_shown(script):
    listed = "global.cert='/certs.pem'\nglobal.proxy='http://proxy.example:1'\n:env:.index-url='https://me:secret@a.example/simple'"
    index = script.configured(listed, HELP)
    assert (index.cert, index.proxy, index.shown) == ("/certs.pem", "http://proxy.example:1", "https://a.example")


@pytest.mark.parametrize(
    ("listed", "text", "said"),
    [
        ("global.index-url='file:///srv/wheels'", HELP, "is a folder"),
        ("global.index-url='/srv/wheels'", HELP, "is a folder"),
        ("install.no-index='true'", HELP, "no index"),
        ("", "nothing of it", "does not say"),
    ],
)
def test_where_pip_uses_none_the_check_is_skipped(script, listed, text, said):
    with pytest.raises(script.SkippedError, match=said):
        script.configured(listed, text)


def checked(url):
    """The check of this checkout's locks, as `make advisories` runs it, against the index at `url`."""
    there = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    there |= {"PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.devnull, "NO_PROXY": "127.0.0.1"}
    return subprocess.run([sys.executable, SCRIPT], env=there, capture_output=True, text=True, check=False, timeout=100)


def test_the_locks_of_this_checkout_are_looked_up_once_each():
    locks = [(ROOT / name).read_text("utf-8") for name in ("requirements.lock", "requirements-dev.lock")]
    pins = {line.split(" ")[0] for lock in locks for line in lock.splitlines() if "==" in line.split(" ")[0]}
    victim = max(pins).partition("==")[0]

    def answer(path):
        return 200, {"vulnerabilities": [KNOWN] if f"/{victim}/" in path else []}

    with playing(answer) as (url, asked):
        child = checked(f"{url}/simple")
    assert {path.removeprefix("/pypi/").removesuffix("/json").replace("/", "==") for path in asked} == pins
    assert len(asked) == len(pins) > 100
    assert (child.returncode, child.stderr) == (1, "")
    assert child.stdout.startswith(f"advisories: {victim} ")
    with playing(lambda path: (404, b"")) as (url, _):
        child = checked(f"{url}/simple")
    assert (child.returncode, child.stderr) == (0, "")
    assert (
        child.stdout
        == "advisories: skipped: the index http://127.0.0.1 has no advisories (no `vulnerabilities` in its answers)\n"
    )


def test_pip_names_the_index_that_it_uses_where_none_is_configured(script):
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--help"],
        env={**os.environ, "COLUMNS": "500"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert script.configured("", done.stdout).root.startswith("https://")


def test_the_settings_of_this_checkout_are_right_and_make_help_lists_the_check(script):
    assert script.accepted((ROOT / "pyproject.toml").read_text("utf-8")) is not None
    assert '"make advisories ' in (ROOT / "Makefile").read_text("utf-8")
    assert "make advisories" in (ROOT / ".ci" / "run").read_text("utf-8")
