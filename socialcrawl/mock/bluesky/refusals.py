"""What Bluesky refuses, with its names and sentences."""

import orjson

from socialcrawl.mock.names import DELETED, SUSPENDED
from socialcrawl.mock.service import MockResponse

_FORBIDDEN = b"<html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>\n"


class RefusalError(Exception):
    """A request that is answered with an error.

    Args:
        error: its name in the lexicon.
        message: the sentence about it.
        status: the status.
    """

    def __init__(self, error: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.error, self.status = error, status

    def told(self) -> MockResponse:
        """Return the answer."""
        return MockResponse(self.status, orjson.dumps({"error": self.error, "message": str(self)}))


def make_refusal(message: str) -> RefusalError:
    """Return the refusal of a parameter, or of an account that is not there."""
    return RefusalError("InvalidRequest", message)


def refuse_gone(fate: int, sentence: str) -> RefusalError | None:
    """Return the refusal that meets whoever asks for an account with this fate; None where it is to be seen."""
    if fate == SUSPENDED:
        return RefusalError("AccountTakedown", "Account has been suspended")
    return make_refusal(sentence) if fate == DELETED else None


AUTH_MISSING = RefusalError("AuthMissing", "Authentication Required", 401)
NOT_SERVED = RefusalError("MethodNotImplemented", "Method Not Implemented", 501)
TOO_MANY = RefusalError("RateLimitExceeded", "Rate Limit Exceeded", 429)
SEARCH_CLOSED = MockResponse(403, _FORBIDDEN, content_type="text/html")
