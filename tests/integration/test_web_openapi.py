"""The HTTP API against its own description: schemathesis sends what it allows and what it does not, to all of it."""

import pytest
import schemathesis
from api_campaigns import run_example
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from web_pages import TOKEN, serving

LONGEST_ADDRESS = 60_000  # characters
EXAMPLES = 40  # requests of each kind to each operation
LEFT_OUT = {
    "POST /api/v1/campaigns/{key}/start": "it begins a process that outlives the test",
    "POST /api/v1/campaigns/{key}/restart": "likewise",
}
OWN_RULES = {
    **dict.fromkeys(
        ("POST /api/v1/campaigns", "PATCH /api/v1/campaigns/{key}/file", "POST /api/v1/quote"),
        "values are checked as a campaign file is, which no schema says",
    ),
    "GET /api/v1/settings": "packages add kinds and platforms",
    "POST /api/v1/preview": "it needs a campaign or texts",
}
"""Operations that may refuse (422) what their schema allows, and why."""
BEARER = {"authorization": f"Bearer {TOKEN}"}


def can_be_wrong(operation):
    """Whether a request may differ from what the API describes in more than the key of a campaign."""
    return bool(operation.query or operation.body or [one for one in operation.path_parameters if one.name != "key"])


def list_requests(operation, key):
    """Strategies of requests: as described, and where that is possible otherwise; each with a key that is there too."""
    modes = [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if can_be_wrong(operation) else [])]
    for mode in modes:
        made = [operation.as_strategy(mode)]
        if any(one.name == "key" for one in operation.path_parameters):
            made.append(operation.as_strategy(mode, path_parameters={"key": key}))
        yield st.one_of(made)


def ask(operation, strategy, headers):
    """Send requests, and check each answer; the status codes of the answers."""
    codes = set()

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(strategy)
    def send(case):
        excluded = [positive_data_acceptance] if operation.label in OWN_RULES else []
        answer = case.call(headers=headers)
        if len(answer.request.url) > LONGEST_ADDRESS:  # the server refuses these before the API sees them
            assert answer.status_code == 400
            return
        if answer.status_code == 503:  # exports go on after their answer, and no more are begun meanwhile
            assert int(*answer.headers["retry-after"]) > 0
            return
        case.validate_response(answer, headers=headers, excluded_checks=excluded)
        codes.add(answer.status_code)

    send()
    return codes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A campaign that requests may change."""
    made = tmp_path_factory.mktemp("web")
    run_example(made)
    return made


def test_whatever_is_asked_of_the_api_it_answers_as_it_describes_itself(folder, subtests):
    with serving(folder) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        schema = schemathesis.openapi.from_url(f"{client.base_url}/api/v1/openapi.json")
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) >= 9
        for operation in operations:
            if operation.label in LEFT_OUT:
                continue
            with subtests.test(operation.label):
                codes = set()
                for strategy in list_requests(operation, key):
                    codes |= ask(operation, strategy, BEARER)
                assert codes - {401, 429} == codes, "the token was shown"
                assert max(codes) < 500
                if operation.method != "get":
                    assert ask(operation, operation.as_strategy(), {}) == {401}
