"""Problems in the official shapes: refusals of a whole request, and errors beside the data of a good one."""

from datetime import UTC, datetime
from typing import Any

from socialcrawl.mock.names import PROTECTED, SUSPENDED
from socialcrawl.mock.x.vocabulary import MockVocabulary

Problem = dict[str, Any]

NOT_FOUND: Problem = {"title": "Not Found", "detail": "Not Found", "type": "about:blank", "status": 404}
UNAUTHORIZED: Problem = {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}
TOO_MANY: Problem = {
    "title": "Too Many Requests",
    "detail": "Too Many Requests",
    "type": "about:blank",
    "status": 429,
}

ACCOUNT = 1  # the one customer of the mock


def make_usage_capped(words: MockVocabulary) -> Problem:
    """Return the body of a 429 where the cap on posts of the billing cycle is reached."""
    return {
        "title": "UsageCapExceeded",
        "detail": "Usage cap exceeded: Monthly product cap",
        "type": words.problems + "usage-capped",
        "period": "Monthly",
        "scope": "Product",
    }


def make_credits_depleted(words: MockVocabulary) -> Problem:
    """Return the body of a 402 where the credits are used up."""
    return {
        "account_id": ACCOUNT,
        "title": "CreditsDepleted",
        "detail": f"Your enrolled account [{ACCOUNT}] does not have any credits to fulfill this request.",
        "type": words.problems + "credits",
    }


def make_unsupported_authentication(words: MockVocabulary, scheme: str) -> Problem:
    """Return the body of a 403 where a user token of this scheme comes to an endpoint for apps only."""
    return {
        "title": "Unsupported Authentication",
        "detail": f"Authenticating with {scheme} is forbidden for this endpoint.  "
        "Supported authentication types are [OAuth 2.0 Application-Only].",
        "type": words.problems + "unsupported-authentication",
        "status": 403,
    }


class InvalidRequestError(Exception):
    """A request whose parameters X refuses with 400.

    Args:
        name, value: the parameter.
        message: the sentence about it.
    """

    def __init__(self, name: str, value: str, message: str) -> None:
        super().__init__(message)
        self.name, self.value, self.message = name, value, message

    def problem(self, words: MockVocabulary) -> Problem:
        """Return the body of the answer."""
        return {
            "errors": [{"parameters": {self.name: [self.value]}, "message": self.message}],
            "title": "Invalid Request",
            "detail": "One or more parameters to your request was invalid.",
            "type": words.problems + "invalid-request",
        }


def make_old_since_id(since: int, week: float, least: int) -> InvalidRequestError:
    """Return the refusal of a `since_id` from before the Unix second `week`, where ids up to `least` were given out."""
    minute = datetime.fromtimestamp(week, UTC).strftime("%Y-%m-%dT%H:%MZ")
    return InvalidRequestError(
        "since_id",
        str(since),
        f"'since_id' must be a tweet id created after {minute}. Please use a 'since_id' that is larger than {least}",
    )


def make_missing_user(
    words: MockVocabulary, parameter: str, value: str, fate: int, section: str | None = None
) -> Problem:
    """Return the error for a user who is suspended, deleted or unknown (any other fate).

    Args:
        words: the vocabulary of the request.
        parameter: by what the user was asked for: the name of a parameter or expansion.
        value: the name or id.
        fate: see `names`.
        section: `includes` where the user was an expansion.
    """
    suspended = fate == SUSPENDED
    found = f"User has been suspended: [{value}]." if suspended else f"Could not find user with {parameter}: [{value}]."
    problem = {
        "value": value,
        "detail": found,
        "title": "Forbidden" if suspended else "Not Found Error",
        "resource_type": "user",
        "parameter": parameter,
        "resource_id": value,
        "type": words.problems + "resource-not-found",
    }
    return problem if section is None else {**problem, "section": section}


def make_protected_timeline(words: MockVocabulary, value: str) -> Problem:
    """Return the error for the timeline of the protected account with this id."""
    return _make_not_authorized(words, "user", "id", value, f"the user with id: [{value}]", section="data")


def make_missing_reference(words: MockVocabulary, value: str, fate: int) -> Problem:
    """Return the error for a referenced post with this id that is gone, or whose author has this fate."""
    return {**make_missing_post(words, words.referenced, value, fate), "section": "includes"}


def make_missing_post(words: MockVocabulary, parameter: str, value: str, fate: int) -> Problem:
    """Return the error for a post with this id that is gone, or whose author has this fate, asked for by `parameter`.

    As for references, X says of posts of suspended accounts that they are not there.
    """
    kind = words.name
    if fate == PROTECTED:
        return _make_not_authorized(
            words, kind, parameter, value, f"the {kind} with {parameter}: [{value}]", section="data"
        )
    return {
        "value": value,
        "detail": f"Could not find {kind} with {parameter}: [{value}].",
        "title": "Not Found Error",
        "resource_type": kind,
        "parameter": parameter,
        "resource_id": value,
        "type": words.problems + "resource-not-found",
    }


def _make_not_authorized(
    words: MockVocabulary, kind: str, parameter: str, value: str, what: str, *, section: str
) -> Problem:
    return {
        "value": value,
        "detail": f"Sorry, you are not authorized to see {what}.",
        "title": "Authorization Error",
        "resource_type": kind,
        "parameter": parameter,
        "resource_id": value,
        "section": section,
        "type": words.problems + "not-authorized-for-resource",
    }
