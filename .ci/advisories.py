"""Look up the packages of the lock files among the advisories that the package index publishes.

    python .ci/advisories.py        # or: make advisories

The index is the one that pip is configured to use. Many indexes answer ROOT/pypi/NAME/VERSION/json with a list of known
vulnerabilities. One that does not, or that cannot be reached in time, makes this check say "skipped" and why.

Exit codes: 0 nothing is known, or skipped; 1 an advisory concerns us; 2 the settings are wrong. An advisory that does
not concern us is listed with the reason in pyproject.toml:

    [tool.socialcrawl.advisories]
    "GHSA-xxxx-xxxx-xxxx" = "only the command line of that package is affected, which we do not use"
"""

import ast
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

ROOT = Path(__file__).parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
DEADLINE = 60.0  # seconds for everything
TIMEOUT = 10.0  # seconds to wait for a part of one answer
TOGETHER = 4  # requests at a time
TRIED = 3  # packages that the index may not know before it is taken for one without advisories
LARGEST = 20_000_000  # bytes of one answer
PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


class SkippedError(Exception):
    """The check cannot be made; the message says why."""


class WrongError(Exception):
    """The settings of the check are wrong; the message says where."""


@dataclass(frozen=True, order=True)
class Package:
    """A package of a lock file."""

    name: str
    version: str


@dataclass(frozen=True)
class Advisory:
    """What is known against a package: its id, further names of it, and the versions that are not affected."""

    package: Package
    id: str
    aliases: tuple[str, ...]
    fixed_in: tuple[str, ...]

    def __str__(self) -> str:
        also = f" ({', '.join(self.aliases)})" if self.aliases else ""
        fixed = f"fixed in {', '.join(self.fixed_in)}" if self.fixed_in else "not fixed yet"
        return f"{self.package.name} {self.package.version}: {self.id}{also}, {fixed}"


@dataclass(frozen=True)
class Index:
    """A package index, and how pip reaches it."""

    root: str
    cert: str | None = None
    proxy: str | None = None

    @property
    def shown(self) -> str:
        """The address without what may be secret in it."""
        parts = urlsplit(self.root)
        return f"{parts.scheme}://{parts.hostname}"


def packages(texts: Iterable[str]) -> list[Package]:
    """Return the packages that lock files pin, each once."""
    return sorted({Package(name, version) for text in texts for name, version in PIN.findall(text)})


def accepted(pyproject: str) -> dict[str, str]:
    """Return the advisories that do not concern us, with the reasons, from the text of pyproject.toml."""
    table = tomllib.loads(pyproject).get("tool", {}).get("socialcrawl", {}).get("advisories", {})
    for name, reason in table.items():
        if not isinstance(reason, str) or not reason.strip():
            raise WrongError(f"pyproject.toml, [tool.socialcrawl.advisories] {name}: write why it does not concern us.")
    return dict(table)


def configured(listed: str, help_text: str) -> Index:
    """Return the index that pip uses.

    Args:
        listed: the output of `pip config list`.
        help_text: that of `pip install --help`, which names the index that pip uses if none is configured.
    """
    told: dict[str, str] = {}
    pairs = [line.partition("=") for line in listed.splitlines() if "=" in line]
    for section in ("global.", "install.", ":env:."):  # each overrides the one before
        own = [(key.removeprefix(section), text) for key, _, text in pairs if key.startswith(section)]
        told |= {key: str(ast.literal_eval(text)) for key, text in own}
    if told.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        raise SkippedError("pip is configured to use no index")
    url = told.get("index-url")
    if url is None:
        found = re.search(r"--index-url <url>.*?\(default\s+(\S+?)\)", help_text, re.DOTALL)
        if found is None:
            raise SkippedError("pip does not say which index it uses")
        url = found[1]
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise SkippedError("pip's index is a folder, which has no advisories")
    return Index(url.rstrip("/").removesuffix("/simple"), told.get("cert"), told.get("proxy"))


def pips_index() -> Index:
    """Return the index that pip of this environment uses."""
    return configured(_said_by_pip("config", "list"), _said_by_pip("install", "--help"))


def _said_by_pip(*words: str) -> str:
    wide = {**os.environ, "COLUMNS": "500"}  # so that no address is broken
    command = [sys.executable, "-m", "pip", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=wide, timeout=DEADLINE)
    except subprocess.TimeoutExpired as error:
        raise SkippedError(f"pip {words[0]} did not end within {DEADLINE:g} s") from error
    if done.returncode:
        raise SkippedError(f"pip {words[0]} failed with exit code {done.returncode}")
    return done.stdout


def advisories(package: Package, answer: Any) -> list[Advisory] | None:
    """Return the advisories in an answer of the index that were not withdrawn; None if it has no such data."""
    given = answer.get("vulnerabilities") if isinstance(answer, dict) else None
    if not isinstance(given, list):
        return None
    return [
        Advisory(
            package, str(one.get("id") or "without an id"), _texts(one.get("aliases")), _texts(one.get("fixed_in"))
        )
        for one in given
        if isinstance(one, dict) and not one.get("withdrawn")
    ]


def _texts(given: Any) -> tuple[str, ...]:
    return tuple(map(str, given)) if isinstance(given, list) else ()


class Lookup:
    """The look-ups in one index, until a deadline.

    Args:
        index: the index.
        deadline: seconds from now on.
    """

    def __init__(self, index: Index, deadline: float = DEADLINE) -> None:
        self.index, self.ends = index, monotonic() + deadline
        self.answers: dict[Package, list[Advisory] | None] = {}
        verify: Any = True if index.cert is None else httpx.create_ssl_context(verify=index.cert)
        self._client = httpx.Client(
            timeout=min(TIMEOUT, deadline), verify=verify, proxy=index.proxy, headers={"Accept": "application/json"}
        )

    def run(self, wanted: Iterable[Package]) -> None:
        """Look up all packages; those that were answered in time are in `answers`.

        The first ones are asked for alone: an index without advisories gets no more than these.

        Raises:
            SkippedError: the index has no advisories, or cannot be reached.
        """
        ordered = list(wanted)
        for number, package in enumerate(ordered[:TRIED]):
            found = self._alone(package)
            self.answers[package] = found
            if found is not None:
                self._together(ordered[number + 1 :])
                return
        raise SkippedError(f"the index {self.index.shown} has no advisories (no `vulnerabilities` in its answers)")

    def _alone(self, package: Package) -> list[Advisory] | None:
        """Return the answer to one request; a thread waits for it, as a server may send byte by byte."""
        got: list[list[Advisory] | Exception | None] = []

        def look() -> None:
            try:
                got.append(self._look(package))
            except Exception as error:  # noqa: BLE001 (told below)
                got.append(error)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        thread.join(max(0.0, self.ends - monotonic()))
        if not got:
            raise SkippedError(f"the index {self.index.shown} did not answer in time")
        if isinstance(got[0], SkippedError):
            raise got[0]
        if isinstance(got[0], Exception):
            raise SkippedError(f"the index {self.index.shown} cannot be reached ({type(got[0]).__name__})")
        return got[0]

    def _together(self, rest: Iterable[Package]) -> None:
        waiting: SimpleQueue[Package] = SimpleQueue()
        for package in rest:
            waiting.put(package)
        threads = [threading.Thread(target=self._work, args=(waiting,), daemon=True) for _ in range(TOGETHER)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, self.ends - monotonic()))

    def _work(self, waiting: "SimpleQueue[Package]") -> None:
        while monotonic() < self.ends:
            try:
                package = waiting.get_nowait()
            except Empty:
                return
            try:
                found = self._look(package)
            except (SkippedError, httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
                continue  # one that was not answered
            if monotonic() < self.ends:
                self.answers[package] = found

    def _look(self, package: Package) -> list[Advisory] | None:
        path = f"/pypi/{quote(package.name, safe='')}/{quote(package.version, safe='')}/json"
        with self._client.stream("GET", self.index.root + path) as response:
            if response.status_code == 404:
                return None
            if response.status_code != 200:
                raise SkippedError(f"the index {self.index.shown} answers with HTTP {response.status_code}")
            body = b""
            for part in response.iter_bytes():
                body += part
                if len(body) > LARGEST or monotonic() > self.ends:
                    raise SkippedError(f"the index {self.index.shown} does not come to an end of its answers")
        try:
            return advisories(package, json.loads(body))
        except (ValueError, RecursionError):
            return None  # a page for people


def report(
    wanted: Iterable[Package], answers: Mapping[Package, list[Advisory] | None], reasons: Mapping[str, str]
) -> tuple[int, list[str]]:
    """Return the exit code and the lines to print for what was found.

    Args:
        wanted: the packages of the lock files.
        answers: what the index said of them.
        reasons: see `accepted`.
    """
    wanted = list(wanted)
    found = [one for package in wanted for one in answers.get(package) or ()]
    names = {name.lower() for name in reasons}
    bad = [one for one in found if not names & {name.lower() for name in (one.id, *one.aliases)}]
    unknown = [package.name for package in wanted if answers.get(package) is None]
    lines = [str(one) for one in bad]
    if bad:
        lines.append(
            f"{len(bad)} advisories concern packages of the lock files. Renew the locks (make lock), or list each with "
            "a reason under [tool.socialcrawl.advisories] in pyproject.toml."
        )
    if unknown:
        lines.append(f"skipped: {len(unknown)} of {len(wanted)} packages, of which the index told nothing in time: "
                     f"{', '.join(unknown)}")  # fmt: skip
    else:
        seen = {name.lower() for one in found for name in (one.id, *one.aliases)}
        idle = [name for name in reasons if name.lower() not in seen]
        lines += [f"{name} is listed in pyproject.toml, and concerns no package any more: remove it" for name in idle]
    if not bad:
        lines.append(f"no advisories for {len(wanted) - len(unknown)} packages")
    return int(bool(bad)), lines


def main() -> int:
    """Check the lock files of this checkout; print what was found, and return the exit code."""
    try:
        reasons = accepted((ROOT / "pyproject.toml").read_text("utf-8"))
        wanted = packages((ROOT / name).read_text("utf-8") for name in LOCKS)
        lookup = Lookup(pips_index())
        lookup.run(wanted)
        code, lines = report(wanted, dict(lookup.answers), reasons)
    except SkippedError as error:
        print(f"advisories: skipped: {error}")
        return 0
    except WrongError as error:
        print(f"advisories: error: {error}", file=sys.stderr)
        return 2
    for line in lines:
        print(f"advisories: {line}")
    return code


if __name__ == "__main__":
    sys.exit(main())
