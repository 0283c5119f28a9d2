"""What carries tweepy's requests: to the base URL of the campaign, with time-outs, and telling whether they left."""

import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, PoolManager
from urllib3.connection import HTTPConnection

from socialcrawl.loopback import is_loopback

# A campaign is silent for most of a window, and what stands in between forgets silent connections: the next request
# would be lost, and counted as billed. A connection that is still answered for is kept, one that is not is noticed.
SIGNS_OF_LIFE = {"TCP_KEEPIDLE": 45, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 3}  # seconds, seconds, and how many
OPTIONS = [
    *HTTPConnection.default_socket_options,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, getattr(socket, n), v) for n, v in SIGNS_OF_LIFE.items() if hasattr(socket, n)),
]
_thread = threading.local()  # whether this thread's latest request left; urllib3 makes connections and knows no session


class _Telling(HTTPConnection):
    """A connection that tells, once it stands, that a request was sent: from then on it may be answered, and billed."""

    def endheaders(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()
        _thread.sent = True
        super().endheaders(*args, **kwargs)


class _Adapter(HTTPAdapter):
    """The adapter whose connections tell, encrypted ones and those through proxies too."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        _let_tell(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        return _let_tell(super().proxy_manager_for(*args, **kwargs))


def _let_tell(manager: PoolManager) -> PoolManager:
    """The same manager of pools, the connections of which tell, and give signs of life."""
    manager.connection_pool_kw["socket_options"] = OPTIONS
    pools: dict[str, type[HTTPConnectionPool]] = manager.pool_classes_by_scheme
    if not any(issubclass(pool.ConnectionCls, _Telling) for pool in pools.values()):
        manager.pool_classes_by_scheme = {
            scheme: type(pool.__name__, (pool,), {"ConnectionCls": type("Telling", (_Telling, pool.ConnectionCls), {})})
            for scheme, pool in pools.items()
        }
    return manager


class Session(requests.Session):
    """A session that asks `base`, whatever host tweepy names.

    The address is changed before the request is made, so that OAuth 1.0a signs the one that is really asked.

    Args:
        base: scheme and host, and perhaps a path, such as https://api.x.com.
        timeout: seconds to connect, and between two bytes of an answer (tweepy sets none).
    """

    def __init__(self, base: str, timeout: tuple[float, float]) -> None:
        super().__init__()
        parts = urlsplit(base)
        self.base, self.timeout = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", timeout
        self.trust_env = not is_loopback(base)  # no proxy stands between this machine and itself
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(pool_maxsize=32))
        self._latest = threading.local()

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
        """The response of `base` to the path of `url`; nothing is followed, as the token goes nowhere else."""
        self.forget()
        if kwargs.get("auth") is None:
            kwargs["auth"] = _as_it_is  # or else a .netrc would put its password in the place of the token
        kwargs |= {"timeout": self.timeout, "allow_redirects": False}
        response = super().request(method, self.base + urlsplit(str(url)).path, *args, **kwargs)
        self._latest.response = response
        return response

    def forget(self) -> None:
        """As if this thread had not asked for anything yet."""
        _thread.sent, self._latest.response = False, None

    @property
    def response(self) -> requests.Response | None:
        """The latest response to this thread, for errors that tweepy cannot read."""
        return getattr(self._latest, "response", None)

    @property
    def sent(self) -> bool:
        """Whether the latest request of this thread left, be it in part: it may have been answered."""
        return getattr(_thread, "sent", False)


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
