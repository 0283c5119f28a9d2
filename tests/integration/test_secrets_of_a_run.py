"""A run at DEBUG, whatever goes wrong in it, shows no token: not on screen, in log, database or file."""

import os
import subprocess

import pytest
from commands import COMMAND, ENVIRONMENT, campaign_file
from x_crawls import posts

from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread

BEARER = "AAAAAAAAAAAAAAAAAAAA%2FxyzSecret-of-the-app"
OAUTH = {
    "K": "consumer-key-that-is-secret", "KS": "consumer-secret/with+signs=", "A": "1234567-access-token-secret",
    "AS": "access-token-secret-of-nobody",
}  # fmt: skip
SECRETS = [BEARER, BEARER.replace("%2F", "/"), *OAUTH.values()]


def trouble(endpoint, nth):
    """One of each: a page of HTML, a cut, a 429 without headers, half an answer, a refused token."""
    kinds = {
        3: faults.make_html_fault(503),
        5: faults.make_cut(),
        7: faults.make_too_many(),
        9: faults.make_half(),
        12: faults.make_refusals(401),
    }
    return kinds.get(nth) if endpoint == "/2/users/:id/tweets" else None


def run_at_debug(folder, tokens, variables):
    with serve_in_thread(posts(), fault=trouble, limit=100_000) as mock:
        file = campaign_file(folder, mock.url, steps=20)
        text = file.read_text().replace("[source]\n", f"[source]\ntokens = [{tokens}]\n")
        file.write_text(text)
        return subprocess.run(
            [*COMMAND, "--verbose", "run", str(file)], cwd=folder, env=ENVIRONMENT | variables, capture_output=True,
            timeout=60, check=False,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "variables"),
    [
        ('{ env = "BEARER" }', {"BEARER": BEARER}),
        ('{ env = ["K", "KS", "A", "AS"], kind = "user" }', OAUTH),
        ('{ env = "BEARER" }, { env = ["K", "KS", "A", "AS"], kind = "user" }', {"BEARER": BEARER} | OAUTH),
    ],
    ids=["bearer", "oauth1", "both"],
)
def test_no_secret_is_shown_or_kept_whatever_goes_wrong(tmp_path, tokens, variables):
    child = run_at_debug(tmp_path, tokens, variables)
    assert b"DEBUG" in child.stderr, "the log was really written"
    assert b"tweepy" in child.stderr
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    state = list(os.walk(os.environ["XDG_STATE_HOME"]))
    for secret in SECRETS:
        assert secret.encode() not in child.stdout + child.stderr, secret
        assert not any(secret.encode() in content for content in kept)
        assert secret not in str(state)


def test_a_token_in_a_file_that_the_environment_names_is_used(tmp_path):
    (tmp_path / "token.txt").write_text(BEARER + "\n")
    child = run_at_debug(tmp_path, '{ env = "BEARER" }', {"BEARER_FILE": str(tmp_path / "token.txt")})
    assert b"accounts on topic" in child.stdout
    assert BEARER.encode() not in child.stdout + child.stderr
