"""Addresses of apprise: notices by mail, Matrix, Telegram, ntfy and other services, each a thread's work.

    address = Address("ntfy://127.0.0.1:8080/forest")
    trouble = address.tell(facts, giving_up)

Apprise is an extra (`socialcrawl[notify]`). What it can do besides sending is switched off: it reads no file and
fetches nothing that an address names (templates, keys, attachments), follows no redirect, stores nothing, logs nothing.
"""

import importlib.util
import logging
import re
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from functools import cache
from typing import Any

from socialcrawl.daemon.logs import STEERING
from socialcrawl.errors import SettingsError
from socialcrawl.system.secret import conceal, redact

PATIENCE = 30.0  # seconds for a notice, both tries included
PAUSE = 1.0  # seconds between two tries
TITLE = 200  # characters
SHORTEST = 12  # characters of a part that is concealed: shorter ones are words, such as "services"
HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,24}", re.IGNORECASE)
PLAIN = dict.fromkeys(STEERING, " ") | {ord("@"): "@\u200b"}
"""What becomes of characters that steer; an "@" with a zero-width space after it calls nobody, as "@everyone" would."""

_loading = threading.Lock()


def require_apprise() -> None:
    """Check that apprise is installed, without importing it.

    Raises:
        SettingsError: it is not.
    """
    if importlib.util.find_spec("apprise") is None:
        raise SettingsError("[notify] apprise_env needs apprise: pip install 'socialcrawl[notify]'.")


class NoticeAddress:
    """An address of apprise, such as `mailto://...`; `tell` returns what went wrong, or None.

    Args:
        address: it is a secret, and so are its parts.
        patience: seconds for a notice. A service that takes longer is left to its thread.
        pause: seconds between two tries.

    Raises:
        SettingsError: apprise is not installed, or knows no such address. The address is not shown.
    """

    def __init__(self, address: str, patience: float = PATIENCE, pause: float = PAUSE) -> None:
        _conceal_parts(address)
        require_apprise()
        self._address = address
        self._patience = patience
        self._pause = pause
        if self._service() is None:
            raise SettingsError(
                "An address for notices is unknown to apprise, or lacks a part, or names a file: compare it with "
                "apprise's page on the service."
            )

    def tell(self, facts: Mapping[str, Any], giving_up: threading.Event) -> str | None:
        """Send a notice of these facts as plain text."""
        done: Future[str | None] = Future()
        threading.Thread(target=self._send, args=(facts, done), name="notices-sending", daemon=True).start()
        try:
            return done.result(self._patience)
        except TimeoutError:
            return f"the service took longer than {self._patience:g} s"

    def stop(self) -> None:
        """Do nothing: a notice under way is in a thread that nobody waits for."""

    def _send(self, facts: Mapping[str, Any], done: "Future[str | None]") -> None:
        try:
            done.set_result(self._deliver(facts))
        except Exception as error:  # noqa: BLE001 (apprise has 180 services)
            done.set_exception(error)

    def _deliver(self, facts: Mapping[str, Any]) -> str | None:
        library = _import_library()
        sender = library.Apprise(self._service(), asset=self._asset())
        result = sender.notify(
            body=make_plain_text(facts["text"] + (f" (until {facts['until']})" if facts["until"] else "")),
            title=make_plain_text(f"socialcrawl: {facts['campaign']}")[:TITLE],
            notify_type=library.NotifyType.SUCCESS if facts["event"] == "ended" else library.NotifyType.WARNING,
            body_format=library.NotifyFormat.TEXT,
        )
        said = dict.fromkeys(redact(entry.message) for entry in result.logs())
        return None if result else f"the service did not take it: {' '.join(said) or 'it did not say why'}"

    def _service(self) -> Any:
        service = _import_library().Apprise.instantiate(self._address, asset=self._asset())
        if service is not None:
            service.redirects = False  # whatever the address says: only what a person wrote is asked
        return service

    def _asset(self) -> Any:
        return _import_library().AppriseAsset(
            app_id="socialcrawl",
            app_desc="socialcrawl",
            app_url="",
            image_url_mask="",
            image_url_logo="",
            image_path_mask="",
            async_mode=False,
            interpret_emojis=False,
            interpret_escapes=False,
            default_service_retry=1,
            default_service_wait=self._pause,
            pgp_autogen=False,
            pem_autogen=False,
            secure_logging=True,
            http_redirects=False,
            storage_mode="memory",
            service_timeout=0,  # it would leave a thread behind that the end of the process waits for
            allow_templates=False,
        )


def make_plain_text(text: str) -> str:
    """Return `text` as one line that steers nothing and calls nobody."""
    return text.translate(PLAIN)


def _conceal_parts(address: str) -> None:
    """Conceal an address and what in it may be a token or a password: services have them in any place."""
    conceal(address)
    rest = address.partition("://")[2]
    login, at, _ = rest.rpartition("@")
    if at:
        conceal(login)
        conceal(login.rpartition(":")[2])
    for part in re.split(r"[/:@?&=,]", rest):
        if len(part) >= SHORTEST and not HOST.fullmatch(part):
            conceal(part)


def _import_library() -> Any:
    with _loading:
        return _load_apprise()


@cache
def _load_apprise() -> Any:
    """Return apprise, limited to sending."""
    logger = logging.getLogger("apprise")  # what it says of a failure comes with the result
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    import apprise  # noqa: PLC0415  (a second; an extra)
    from apprise import manager_attachment, manager_config  # noqa: PLC0415

    managers: tuple[Any, ...] = (manager_attachment.AttachmentManager, manager_config.ConfigurationManager)
    for manager in (of_files() for of_files in managers):
        manager.load_modules()  # else it would load them when it is asked
        manager.unload_modules(disable_native=True)
    return apprise
