"""Notices: a command that is run, and addresses that are told, when a campaign stops, ends, stalls or cannot go on."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import structlog

from socialcrawl.daemon.campaign_state import BROKEN, DONE, DOWN, PAUSED, STALLED, STOPPED, CampaignState
from socialcrawl.daemon.health_page import format_iso
from socialcrawl.daemon.notice_addresses import NoticeAddress
from socialcrawl.engine.model import MILLS_PER_DOLLAR, Reply
from socialcrawl.errors import SettingsError
from socialcrawl.system.secret import conceal, redact
from socialcrawl.text.wording import explain_unknown

EVENT_OF = {
    PAUSED: "paused", STOPPED: "paused", DONE: "ended", STALLED: "stalled", BROKEN: "stalled", DOWN: "down"
}  # fmt: skip
"""The event that is told when a campaign comes into a state. Sentences name the state, as `status` does."""
EVENTS = tuple(dict.fromkeys(EVENT_OF.values()))
"""What there can be notices of."""

COMMAND_PATIENCE = 30.0  # seconds for a command
WEBHOOK_PATIENCE = 10.0  # seconds for each part of an answer: the connection, its first byte, the next one
TRIES = 2
PAUSE = 1.0  # seconds between two tries
MOST = 1000  # notices that may wait
LONGEST = 4000  # characters of one fact: an environment has room for so much
ALWAYS_WITHOUT = ("X_BEARER_TOKEN", "PGPASSWORD")
Facts = Mapping[str, Any]


class Notices:
    """The ways in which people are told: each has a thread, so that nobody waits and none overtakes another.

    Args:
        command: a program and its arguments, run without a shell; () runs none. It is told by the environment
            (SOCIALCRAWL_EVENT, _CAMPAIGN, _STATE, _WHY, _UNTIL) and by the same facts as JSON on stdin.
        webhook: an address for a POST of that JSON; it is a secret.
        on: the events that are told.
        without: environment variables that the command does not get, nor those with "_FILE" after their names: those
            with tokens; they are looked at for each notice. What is concealed is left out in any case.
        addresses: of apprise, such as `mailto://...`; they are secrets.
        patience: seconds for a command, after which it is killed, and for an address.
        pause: seconds between two tries of the webhook or an address.

    Raises:
        SettingsError: there is no such event, the webhook or one of the addresses is none, or apprise is not installed.
            Addresses are not shown.
    """

    def __init__(
        self,
        command: Sequence[str],
        webhook: str | None,
        on: Collection[str],
        *,
        without: Collection[str] = (),
        addresses: Sequence[str] = (),
        patience: float = COMMAND_PATIENCE,
        pause: float = PAUSE,
    ) -> None:
        if unknown := sorted(set(on) - set(EVENTS)):
            raise SettingsError(explain_unknown("notice", unknown[0], EVENTS))
        self._on = frozenset(on)
        self._ways: list[_Channel] = []
        if command:
            self._ways.append(_Channel("command", _Command(tuple(command), without, patience)))
        if webhook is not None:
            self._ways.append(_Channel("webhook", _Webhook(_check_webhook(webhook), pause)))
        for number, address in enumerate(addresses, 1):
            self._ways.append(_Channel(f"address {number}", NoticeAddress(address, patience, pause)))

    def tell(self, event: str, standing: CampaignState) -> None:
        """Let people know, if they want to, that this happened to a campaign; returns at once."""
        if event in self._on:
            facts = describe_event(event, standing)
            for way in self._ways:
                way.put(facts)

    def close(self, patience: float) -> None:
        """Wait up to `patience` seconds for the notices under way; then kill what still runs, and say what is lost."""
        for way in self._ways:
            way.finish()
        wait([way.done for way in self._ways], timeout=patience)
        for way in self._ways:
            way.give_up()


def describe_event(event: str, standing: CampaignState) -> dict[str, Any]:
    """Return an event without secrets: plain values, and a sentence `text`, which chats show as it is."""
    facts: dict[str, Any] = {
        "text": _cut_text(f"{standing.campaign} is {standing.state}: {standing.why}"),
        "event": event,
        "campaign": _cut_text(standing.campaign),
        "state": standing.state,
        "why": _cut_text(standing.why),
        "until": format_iso(standing.until),
        "since": format_iso(standing.since),
        "moved": format_iso(standing.moved),
    }
    if (figures := standing.figures) is not None:
        facts |= {"steps": figures.steps, "relevance": figures.relevance, "requests": figures.sent}
        facts |= {"posts": figures.posts, "dollars": figures.money / MILLS_PER_DOLLAR}
    return facts


LEAST = 12  # characters of what is concealed of an address: shorter ones are words, such as "services", or "https://"


def _cut_text(text: str) -> str:
    return redact(text).encode("utf-8", "replace").decode().replace("\0", "")[:LONGEST]


def _check_webhook(webhook: str) -> str:
    if len(webhook) >= LEAST:
        conceal(webhook)
    try:
        parts = urlsplit(webhook)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine or not webhook.isprintable() or " " in webhook:
        raise SettingsError("The webhook is not an address that begins with https:// or http://: copy it again.")
    # Libraries that log what they do name the parts of an address one by one.
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    for part in (target, parts.path, parts.query, parts.password or "", *parts.path.split("/")):
        if len(part) >= LEAST:
            conceal(part)
    return webhook


class _Channel:
    """One way to tell people, with a thread that does it. The thread is left behind where it hangs at the end."""

    def __init__(self, name: str, door: "_Command | _Webhook | NoticeAddress") -> None:
        self.done: Future[None] = Future()
        self._name = name
        self._begun = False
        self._beginning = threading.Lock()
        self._log = structlog.get_logger().bind(notices=name)
        self._door = door
        self._waiting: queue.Queue[Facts | None] = queue.Queue(MOST)
        self._giving_up = threading.Event()

    def put(self, facts: Facts) -> None:
        try:
            self._waiting.put_nowait(facts)
        except queue.Full:
            self._say("a notice is dropped: too many wait", facts)
        with self._beginning:
            if not self._begun:  # most campaigns have nothing to tell for days
                self._begun = True
                threading.Thread(target=self._work, name=f"notices-{self._name}", daemon=True).start()

    def finish(self) -> None:
        if not self._begun and not self.done.done():
            self.done.set_result(None)
        with suppress(queue.Full):
            self._waiting.put_nowait(None)

    def give_up(self) -> None:
        if self.done.done():
            return
        self._giving_up.set()
        self._door.stop()
        lost = 1
        with suppress(queue.Empty):
            while True:
                lost += self._waiting.get_nowait() is not None
        self.finish()
        self._log.warning("notices are lost: they took too long", lost=lost)

    def _work(self) -> None:
        while not self._giving_up.is_set() and (facts := self._waiting.get()) is not None:
            try:
                trouble = self._door.tell(facts, self._giving_up)
            except Exception as error:  # noqa: BLE001 (people may name any program and any address)
                trouble = f"{type(error).__name__}: {error}"
            if trouble:
                self._say("a notice could not be delivered", facts, trouble=trouble)
        self.done.set_result(None)

    def _say(self, words: str, facts: Facts, **more: str) -> None:
        self._log.warning(words, campaign=facts["campaign"], told=facts["event"], **more)


class _Command:
    """The command: `tell` returns what went wrong, or None."""

    def __init__(self, command: tuple[str, ...], without: Collection[str], patience: float) -> None:
        self._command = command
        self._without = without
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None

    def tell(self, facts: Facts, giving_up: threading.Event) -> str | None:
        with _open_scratch_file() as complaints:
            process = self._process = subprocess.Popen(  # noqa: S603 (the command is the operator's own)
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env=_make_environment(facts, self._without),
                start_new_session=True,
            )
            try:
                process.communicate(json.dumps(facts).encode() + b"\n", self._patience)
            except subprocess.TimeoutExpired:
                _kill_process(process)
                return f"the command took longer than {self._patience:g} s and was killed"
            finally:
                self._process = None
            return f"the command ended with {process.returncode}{_read_end(complaints)}" if process.returncode else None

    def stop(self) -> None:
        if (process := self._process) is not None:
            _kill_process(process)


def _open_scratch_file() -> Any:
    """Return a file for what a command complains of; none where there is no room for one, and then it is not told."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        return open(os.devnull, "w+b")  # noqa: PTH123 (the caller's `with` closes it, as the other)


def _read_end(complaints: Any) -> str:
    size = complaints.seek(0, os.SEEK_END)
    complaints.seek(max(0, size - 2000))
    last = complaints.read().decode("utf-8", "replace").strip()
    return f": {last}" if last else ""


def _kill_process(process: "subprocess.Popen[bytes]") -> None:
    """Kill a command and the processes that it started."""
    if process.poll() is not None:
        return  # its number may belong to another by now
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _make_environment(facts: Facts, without: Collection[str]) -> dict[str, str]:
    """Return the process's environment without secrets, and with the facts."""
    left_out = {*without, *ALWAYS_WITHOUT}
    left_out |= {f"{name}_FILE" for name in left_out}
    kept = {name: value for name, value in os.environ.items() if name not in left_out and redact(value) == value}
    keys = ("event", "campaign", "state", "why", "until")
    return kept | {f"SOCIALCRAWL_{key.upper()}": facts[key] or "" for key in keys}


class _Webhook:
    """The webhook: `tell` returns what went wrong, or None."""

    def __init__(self, address: str, pause: float) -> None:
        self._address = address
        self._pause = pause

    def tell(self, facts: Facts, giving_up: threading.Event) -> str | None:
        trouble = None
        for attempt in range(TRIES):
            if attempt and giving_up.wait(self._pause):
                break
            trouble = self._post(facts)
            if trouble is None:
                break
        return trouble

    def _post(self, facts: Facts) -> str | None:
        from socialcrawl.platforms.http_client import HttpClient  # noqa: PLC0415  (a daemon without a webhook has none)

        http = HttpClient(self._address, lambda: 0.0, WEBHOOK_PATIENCE)
        try:
            content, kind = json.dumps(facts).encode(), {"Content-Type": "application/json"}
            answer = http.fetch("POST", self._address, headers=kind, content=content, max_bytes=0, cut=True)
        finally:
            http.close()
        if isinstance(answer, Reply):
            return f"the webhook could not be reached: {answer.why}"
        return None if 200 <= answer.status < 300 else f"the webhook answered {answer.status}"

    def stop(self) -> None:
        """Do nothing: a request under way ends by its time-out, in a thread that nobody waits for."""
