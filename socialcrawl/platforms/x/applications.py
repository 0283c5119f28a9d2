"""Which application of X a token belongs to, as far as the token says so, and whether a campaign may use several. Pure.

X's Developer Policy forbids several applications for one use case and circumventing rate limits. One application is
what the policy speaks of, however many tokens: its own bearer token, and those of users who authorised it.

- A bearer token of an application is base64 of 16 zero bytes, the application's number (8 bytes, the lowest first) and
  a secret: the number tells applications apart.
- In OAuth 1.0a the API key is the application.
- A bearer token of a user (OAuth 2.0) says nothing of its application, and an API key nothing of the number.
"""

import base64
import binascii
from collections.abc import Mapping

from socialcrawl.errors import SettingsError

POLICY = "https://docs.x.com/developer-terms/policy"
ONE, APPROVED = "one", "approved"
POLICY_SAYS = f"X's Developer Policy allows one application for one use case ({POLICY})"
KEEP = "keep the bearer token of one application and tokens of users who authorised it"
AGREED = f'if X agreed in writing to several applications, set applications = "{APPROVED}" under [source].'
HEAD = 32  # characters of a bearer token that hold the zeros and the number
ZEROS = bytes(16)


def find_number(token: str) -> int | None:
    """Return the number of the application whose bearer token this is; None where it is none of an application."""
    try:
        head = base64.b64decode(token[:HEAD], validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(head) != 24 or not head.startswith(ZEROS):
        return None
    return int.from_bytes(head[16:], "little") or None


def find_application(token: str | tuple[str, ...]) -> str:
    """Return what a token says of its application: a number, or an API key; "" where it says nothing."""
    if isinstance(token, tuple):
        return f"key {token[0]}"
    number = find_number(token)
    return "" if number is None else f"number {number}"


def check_applications(
    tokens: Mapping[str, str | tuple[str, ...]], said: str | None, variables: Mapping[str, str]
) -> None:
    """Check that the tokens of a campaign belong to one application, or that X agreed to several.

    Args:
        tokens: by the name of their credential.
        said: what the campaign file says, ONE | APPROVED; None: nothing.
        variables: the environment variables of what tells the application, by the name of the credential: of the bearer
            token, or of the API key.

    Raises:
        SettingsError: they belong to several, or nobody can tell; no token is shown.
    """
    if len(tokens) < 2 or said == APPROVED:
        return
    numbers: dict[int, list[str]] = {}
    keys: dict[str, list[str]] = {}
    unknown = []
    for name, token in tokens.items():
        if isinstance(token, tuple):
            keys.setdefault(token[0], []).append(variables[name])
        elif (number := find_number(token)) is not None:
            numbers.setdefault(number, []).append(variables[name])
        else:
            unknown.append(variables[name])
    for what, found in (("bearer tokens", [*numbers.values()]), ("API keys", [*keys.values()])):
        if len(found) > 1:
            raise SettingsError(
                f"The {what} in {found[0][0]} and {found[1][0]} belong to different applications of X, and "
                f"{POLICY_SAYS}. Under [source] tokens, {KEEP}; or, {AGREED}"
            )
    if twice := next((names for names in numbers.values() if len(names) > 1), None):
        raise SettingsError(
            f"{twice[0]} and {twice[1]} under [source] tokens are bearer tokens of the same application of X, whose "
            "rate limits they share: keep one of them."
        )
    if said != ONE and (unknown or (numbers and keys)):
        bearer, key = (next(iter(found.values()))[0] if found else "" for found in (numbers, keys))
        why = f"in {unknown[0]} does not say" if unknown else f"in {bearer} and the API key in {key} cannot be compared"
        raise SettingsError(
            "Nobody can tell whether the tokens of this campaign belong to one application of X: the bearer token "
            f'{why}. {POLICY_SAYS}. If they all belong to one, set applications = "{ONE}" under [source]. Otherwise '
            f"{KEEP} under [source] tokens; or, {AGREED}"
        )
