"""Several applications of X are refused for one campaign, by what its tokens say of themselves; no token is shown."""

import base64

import pytest
from x_crawls import TOKEN_ENV

from socialcrawl.campaign.credentials import open_access
from socialcrawl.campaign.settings import check_settings
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.x.applications import find_number

X = "https://api.x.com"
HERE = "http://127.0.0.1:9"
OAUTH = ["K", "K_SECRET", "ACCESS", "ACCESS_SECRET"]


def bearer(number, secret="k3rb%3DrZ0"):
    """A bearer token of an application, as X makes them."""
    return base64.b64encode(bytes(16) + number.to_bytes(8, "little")).decode() + secret


def user(letters):
    """A bearer token of a user by OAuth 2.0, which names no application."""
    return base64.b64encode(f"{letters}:1699000000000:1:1:at:1".encode()).decode()


TOKENS = {
    "APP": bearer(3_033_300),
    "APP_AGAIN": bearer(3_033_300, "another%3Dsecret"),
    "OTHER_APP": bearer(3_033_301),
    "USER": user("bWRWa3gzdnk3WHR"),
    "OTHER_USER": user("GU1o0bmRRb2ZjN"),
    "K": "xvz1evFS4wEEPTGEFPHBog",
    "K_SECRET": "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw",
    "ACCESS": "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
    "ACCESS_SECRET": "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE",
    "ACCESS2": "770773112-HmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
    "ACCESS_SECRET2": "MswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE",
    "K2": "yvz1evFS4wEEPTGEFPHBog",
}


@pytest.fixture(autouse=True)
def tokens_of_people(monkeypatch):
    for name, value in TOKENS.items():
        monkeypatch.setenv(name, value)


def opened(base, *envs, **source):
    tokens = [{"env": env, "kind": "user" if isinstance(env, list) or "USER" in env else "app"} for env in envs]
    given = {"name": "a", "topic": {"keywords": ["x"]}, "source": {"base_url": base, "tokens": tokens, **source}}
    return open_access(check_settings(given, "test"), base, lease=False)


SECOND_USER = ["K", "K_SECRET", "ACCESS2", "ACCESS_SECRET2"]
DIFFERENT = {
    "two bearer tokens": ("APP", "OTHER_APP"),
    "two API keys": (OAUTH, ["K2", "K_SECRET", "ACCESS2", "ACCESS_SECRET2"]),
    "bearer tokens behind a user": ("USER", "APP", "OTHER_APP"),
}


@pytest.mark.parametrize("envs", DIFFERENT.values(), ids=DIFFERENT)
@pytest.mark.parametrize("said", [{}, {"applications": "one"}])
def test_several_applications_are_refused_whatever_the_file_says_of_one(envs, said):
    with pytest.raises(SettingsError, match="belong to different applications of X") as refused:
        opened(X, *envs, **said)
    told = str(refused.value)
    assert "https://docs.x.com/developer-terms/policy" in told
    assert 'set applications = "approved"' in told
    assert not [value for value in TOKENS.values() if value in told]


@pytest.mark.parametrize(
    ("envs", "named"),
    [
        (DIFFERENT["two API keys"], "The API keys in K and K2 belong"),
        (DIFFERENT["two bearer tokens"], "The bearer tokens in APP and OTHER_APP belong"),
    ],
)
def test_what_belongs_to_different_applications_is_named_by_the_variable_that_says_so(envs, named):
    with pytest.raises(SettingsError) as refused:
        opened(X, *envs)
    assert str(refused.value) == (
        f"{named} to different applications of X, and X's Developer Policy allows one application for one use case "
        "(https://docs.x.com/developer-terms/policy). Under [source] tokens, keep the bearer token of one application "
        "and tokens of users who authorised it; or, if X agreed in writing to several applications, set "
        'applications = "approved" under [source].'
    )


UNTOLD = {
    "a user's bearer token": ("APP", "USER"),
    "two users": ("USER", "OTHER_USER"),
    "a bearer token and an API key": ("APP", OAUTH),
}


@pytest.mark.parametrize("envs", UNTOLD.values(), ids=UNTOLD)
def test_where_tokens_do_not_say_whose_they_are_the_file_has_to(envs):
    with pytest.raises(SettingsError, match="Nobody can tell") as refused:
        opened(X, *envs)
    assert 'set applications = "one" under [source]' in str(refused.value)
    assert not [value for value in TOKENS.values() if value in str(refused.value)]
    assert len(opened(X, *envs, applications="one").credentials) == len(envs)


@pytest.mark.parametrize(
    ("envs", "why"),
    [
        (("APP", "USER"), "the bearer token in USER does not say"),
        (("APP", OAUTH), "the bearer token in APP and the API key in K cannot be compared"),
    ],
)
def test_the_question_is_answered_before_the_exception_is_named(envs, why):
    with pytest.raises(SettingsError) as refused:
        opened(X, *envs)
    assert str(refused.value) == (
        f"Nobody can tell whether the tokens of this campaign belong to one application of X: {why}. X's Developer "
        "Policy allows one application for one use case (https://docs.x.com/developer-terms/policy). If they all "
        'belong to one, set applications = "one" under [source]. Otherwise keep the bearer token of one application '
        "and tokens of users who authorised it under [source] tokens; or, if X agreed in writing to several "
        'applications, set applications = "approved" under [source].'
    )


def test_two_bearer_tokens_of_one_application_share_its_limits():
    with pytest.raises(SettingsError, match=r"APP and APP_AGAIN .* same application .* keep one of them"):
        opened(X, "APP", "APP_AGAIN")


@pytest.mark.parametrize("envs", [("APP",), (OAUTH, SECOND_USER), ("USER",)], ids=str)
def test_tokens_that_say_that_they_belong_to_one_application_need_no_word(envs):
    assert len(opened(X, *envs).credentials) == len(envs)


@pytest.mark.parametrize("envs", [*DIFFERENT.values(), *UNTOLD.values()], ids=str)
def test_what_x_agreed_to_and_a_mock_on_this_machine_take_all_tokens(envs):
    assert len(opened(X, *envs, applications="approved").credentials) == len(envs)
    assert len(opened(HERE, *envs).credentials) == len(envs)


def test_an_address_in_front_of_x_is_taken_for_x():
    with pytest.raises(SettingsError, match="different applications"):
        opened("https://proxy.example", "APP", "OTHER_APP")


@pytest.mark.parametrize(
    ("token", "number"),
    [
        ("AAAAAAAAAAAAAAAAAAAAANRILgAAAAAAsecret", 3_033_300),
        (user("abc"), None),
        ("A" * 40, None),
        ("AAAA", None),
        ("", None),
        ("370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb", None),
    ],
)
def test_the_number_of_an_application_is_read_off_its_bearer_token(token, number):
    assert find_number(token) == number


def test_what_a_file_may_say_of_applications():
    with pytest.raises(SettingsError, match=r"\[source\] applications"):
        opened(X, TOKEN_ENV, applications="two")
