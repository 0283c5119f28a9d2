"""What carries tweepy's requests: to the base URL of the campaign, by the client that all platforms share."""

import threading
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from socialcrawl.engine.model import Reply
from socialcrawl.platforms.http_client import HttpClient
from socialcrawl.system.bounds import is_crowded


class NoAnswerError(requests.RequestException):
    """No answer came to a request; `reply` says whether it was sent."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.why)
        self.reply = reply


class _Adapter(BaseAdapter):
    """Sends what requests has prepared, and signed, by our own client."""

    def __init__(self, http: HttpClient) -> None:
        super().__init__()
        self.http = http

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """Return the response, whole.

        Raises:
            NoAnswerError: none came.
        """
        headers = {name: _decode(text) for name, text in request.headers.items()}
        body = request.body.encode() if isinstance(request.body, str) else request.body
        came = self.http.fetch(str(request.method), str(request.url), headers=headers, content=body)
        if isinstance(came, Reply):
            raise NoAnswerError(came)
        response = requests.Response()
        response.request, response.url, response.status_code = request, came.url, came.status
        response.headers, response.raw = CaseInsensitiveDict(came.headers), came
        # tweepy parses the JSON of errors by itself, whatever it is.
        response._content = b"" if is_crowded(came.body) else came.body  # noqa: SLF001  (as requests' own adapter)
        response.encoding = "utf-8"
        return response

    def close(self) -> None:
        """Let go of the connections."""
        self.http.close()


class XSession(requests.Session):
    """A session that asks `base`, whatever host tweepy names.

    The address is changed before the request is made, so that OAuth 1.0a signs the one that is really asked.

    Args:
        base: scheme and host, and perhaps a path, such as https://api.x.com.
        timeout: seconds to wait for each part of an answer.
        deadline: seconds for a whole request; None: four times the timeout.
    """

    def __init__(self, base: str, timeout: float, deadline: float | None = None) -> None:
        super().__init__()
        parts = urlsplit(base)
        self.base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.trust_env = False  # proxies are the client's matter; a .netrc would replace the token by its password
        self.http = HttpClient(base, lambda: 0.0, timeout, deadline=deadline)  # the wire has the clock
        adapter = _Adapter(self.http)
        for scheme in ("http://", "https://"):
            self.mount(scheme, adapter)
        self._latest = threading.local()

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
        """Return the response of `base` to the path of `url`; no redirect is followed, as it would get the token.

        Raises:
            RequestException: none came: see `NoAnswerError`.
        """
        self._latest.response = None
        kwargs["allow_redirects"] = False
        response = super().request(method, self.base + urlsplit(str(url)).path, *args, **kwargs)
        self._latest.response = response
        return response

    @property
    def response(self) -> requests.Response | None:
        """The response to this thread's latest request, for errors that tweepy cannot read; None where none came."""
        return getattr(self._latest, "response", None)


def _decode(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("latin-1")
