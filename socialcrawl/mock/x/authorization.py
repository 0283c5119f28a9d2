"""Who asks: the token of a request, read from its Authorization header."""

import re
from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import unquote

from socialcrawl.mock.rate_windows import make_label

BEARER = "OAuth 2.0 User Context"
SIGNED = "OAuth 1.0a User Context"
# https://docs.x.com/resources/fundamentals/authentication/oauth-1-0a/authorizing-a-request; oauth_version is optional
SIGNED_WITH = (
    *("oauth_consumer_key", "oauth_nonce", "oauth_signature"),
    *("oauth_signature_method", "oauth_timestamp", "oauth_token"),
)
_PAIR = re.compile(r'\s*([a-z_]+)="([^"]*)"\s*(?:,|$)')


@dataclass(frozen=True, slots=True)
class Visitor:
    """A token that was shown: its label, its kind (`app` or `user`), and the official name of the scheme of users."""

    label: str
    kind: str
    scheme: str = BEARER


def find_visitor(authorization: str, tokens: frozenset[str] | None, user_tokens: Container[str]) -> Visitor | None:
    """Whoever shows this Authorization header; None where nobody is to be let in.

    `Bearer TOKEN` is an app, or a user where the token is one of `user_tokens`. `OAuth oauth_token="TOKEN", ...` (1.0a)
    is a user. Its parameters must all be there (SIGNED_WITH), but the signature is not verified: the mock has no
    secrets to verify it with.

    Args:
        authorization: the text of the header.
        tokens: the tokens that are let in besides `user_tokens`; None lets every token in.
        user_tokens: bearer tokens of users.
    """
    scheme, _, rest = authorization.partition(" ")
    signed = scheme.lower() == "oauth"
    token = _read_signed_token(rest) if signed else rest.strip() if scheme.lower() == "bearer" else ""
    user = signed or token in user_tokens
    if not token or (tokens is not None and token not in tokens and token not in user_tokens):
        return None
    return Visitor(make_label(token), "user" if user else "app", SIGNED if signed else BEARER)


def _read_signed_token(parameters: str) -> str:
    """Return the oauth_token among the parameters of OAuth 1.0a; empty where one of them is missing."""
    given = {name: unquote(value) for name, value in _PAIR.findall(parameters)}
    return given["oauth_token"] if all(given.get(name) for name in SIGNED_WITH) else ""
