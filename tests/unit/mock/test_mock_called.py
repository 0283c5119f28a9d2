"""What the platforms call an account, as the mock tells it: /_mock/accounts."""

import httpx
import pytest
from test_mock_world import synthetic

from socialcrawl.mock.server import serve_in_thread

LONG = "the.long-named_one_of_all"  # a name that X does not allow
HOME = "home.example"
ACCOUNTS = "/_mock/accounts"


@pytest.fixture(scope="module")
def client():
    with serve_in_thread(synthetic(), home=HOME) as mock, httpx.Client(base_url=mock.url, timeout=10) as made:
        yield made


def test_an_account_is_told_by_its_name_in_the_file_in_any_spelling(client):
    for name in ("ann", "ANN", "@Ann"):
        told = client.get(ACCOUNTS, params={"name": name}).json()
        assert {key: told[key] for key in ("x", "bluesky", "mastodon")} == {
            "x": "Ann",
            "bluesky": "ann.mock.social",
            "mastodon": f"ann@{HOME}",
        }
        assert told["name"].lower() == "ann"


@pytest.mark.parametrize("name", ["bob", LONG])
def test_each_platform_knows_the_account_by_the_name_that_is_told(client, name):
    told = client.get(ACCOUNTS, params={"name": name}).json()
    on_x = client.get(f"/2/users/by/username/{told['x']}", headers={"Authorization": "Bearer x"}).json()["data"]
    assert (on_x["username"].lower(), on_x["name"]) == (told["x"].lower(), told["name"])
    profile = client.get("/xrpc/app.bsky.actor.getProfile", params={"actor": told["bluesky"]}).json()
    assert (profile["did"], profile["displayName"]) == (told["did"], told["name"])
    looked = client.get("/api/v1/accounts/lookup", params={"acct": told["mastodon"]}, headers={"Host": HOME}).json()
    assert (looked["display_name"], looked["acct"]) == (told["name"], told["mastodon"].partition("@")[0])


def test_without_a_name_the_first_accounts_are_told_in_order(client):
    told = client.get(ACCOUNTS).json()["accounts"]
    names = [one["name"].lower() for one in told]
    assert names == sorted(names)
    assert {"ann", "bob", "cy", "gone", "nobody", LONG} <= set(names)
    assert all(one.keys() == {"name", "x", "bluesky", "did", "mastodon"} for one in told)


def test_a_name_that_is_not_in_the_file_is_refused_with_a_sentence(client):
    answer = client.get(ACCOUNTS, params={"name": "zoe"})
    assert answer.status_code == 404
    assert "No account of the posts is named 'zoe'" in answer.json()["error"]
    assert client.post(ACCOUNTS).status_code == 404
    assert "/_mock/accounts" in client.get("/_mock/else").json()["error"]


def test_a_mock_tells_of_the_platforms_that_it_serves():
    with (
        serve_in_thread(synthetic(), platforms=("bluesky",)) as mock,
        httpx.Client(base_url=mock.url, timeout=10) as client,
    ):
        assert client.get(ACCOUNTS, params={"name": "ann"}).json().keys() == {"name", "bluesky", "did"}


def test_who_is_renamed_is_told_by_the_name_of_now(client):
    rule = {"kind": "rename", "account": "cy", "name": "cyrus", "platform": "bluesky"}
    client.post("/_mock/faults", json={"fault": [rule]})
    client.get("/xrpc/app.bsky.actor.getProfile", params={"actor": "ann.mock.social"})
    told = client.get(ACCOUNTS, params={"name": "cy"}).json()
    assert (told["bluesky"], told["x"], told["mastodon"]) == ("cyrus.mock.social", "cy", f"cy@{HOME}")
