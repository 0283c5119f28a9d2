"""Forms of a session that has ended: kept in the page on which somebody logs in, and sent again. Pure."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from socialcrawl.web.security import choose_next

ENDED = "Your session has ended, so nothing was changed. What you typed is kept: log in to send it again."
NOT_KEPT = ("csrf", "token")


class KeptForm(NamedTuple):
    """The path to which a form was sent, and its fields."""

    path: str
    fields: Mapping[str, str]


def keep_form(path: str, form: Mapping[str, str]) -> str:
    """Return a form as a hidden field holds it, without what may be a secret."""
    fields = {key: text for key, text in form.items() if key not in NOT_KEPT and not key.endswith("_env")}
    return json.dumps([path, fields])


def read_kept_form(text: str) -> KeptForm | None:
    """Return the form that `keep_form` kept; None: it is none, or of another site."""
    try:
        path, fields = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(path, str) or choose_next(path) != path or not isinstance(fields, dict):
        return None
    return KeptForm(path, {str(key): str(value) for key, value in fields.items()})
