from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.errors import SettingsError
from socialcrawl.limits.policy import Endpoint, Rule, Tariff
from socialcrawl.policies import policy
from socialcrawl.settings import Settings, checked

LEAST = {"name": "mine", "topic": {"keywords": ["sky"]}}
FILE = "mine.toml"


def refusal(*keys, value, **more):
    """What is said about one wrong value at keys."""
    given = {**LEAST, **more}
    if len(keys) == 1:
        given[keys[0]] = value
    else:
        given[keys[0]] = {**given.get(keys[0], {}), keys[1]: value}
    with pytest.raises(SettingsError) as error:
        checked(given, FILE)
    return str(error.value)


def test_what_is_not_said_has_a_default():
    found = checked(LEAST, FILE)
    assert (found.seed, found.database, found.crawl.estimator, found.crawl.switch_after) == (
        1,
        Path("socialcrawl.db"),
        "hybrid-sum",
        1000,
    )
    assert (found.crawl.refresh_rate, found.crawl.steps, found.seeds.search, found.seeds.most) == (1, None, True, 50)
    assert (found.budget.max_requests, found.budget.max_posts, found.budget.max_money) == (None, None, None)
    assert (found.source.platform, found.source.base_url, found.source.vocabulary) == ("x", None, "tweet")
    assert (found.source.pages_per_user, found.source.timeout, found.source.keep_original) == (1, 30.0, False)
    assert (found.source.token_env, found.limits.k, found.limits.d) == ("X_BEARER_TOKEN", None, None)


@pytest.mark.parametrize(
    ("keys", "where", "nearest"),
    [
        (("nmae",), "nmae", "'name'"),
        (("databse",), "databse", "'database'"),
        (("topics",), "topics", "'topic'"),
        (("topic", "keyword"), "[topic] keyword", "'keywords'"),
        (("seeds", "user_names"), "[seeds] user_names", "'usernames'"),
        (("crawl", "step"), "[crawl] step", "'steps'"),
        (("crawl", "refreshrate"), "[crawl] refreshrate", "'refresh_rate'"),
        (("budget", "max_dollars"), "[budget] max_dollars", "'max_posts'"),
        (("source", "base"), "[source] base", "'base_url'"),
        (("limits", "kk"), "[limits] kk", "'k'"),
        (("crawl", "zzz"), "[crawl] zzz", "estimator, switch_after, start, refresh_rate, steps"),
        (("zzz",), "zzz", "name, seed, database, topic"),
    ],
)
def test_an_unknown_key_is_named_with_the_file_and_the_nearest_known_one(keys, where, nearest):
    told = refusal(*keys, value=1)
    assert told.startswith(f"{FILE}: {where} is not a setting.")
    assert nearest in told


WRONG = [
    (("name",), ["", "a b", "a/b", 5, None]),
    (("seed",), [-1, 1.5, "1", True, 2**63]),
    (("database",), [5, True]),
    (("topic",), ["sky", ["sky"], 1]),
    (("topic", "keywords"), ["sky", [5], {"a": 1}]),
    (("topic", "patterns"), ["sky", [None]]),
    (("seeds", "search"), ["yes", 1]),
    (("seeds", "usernames"), ["ann", [1]]),
    (("seeds", "file"), [5]),
    (("seeds", "most"), [0, -1, "50", 2.0, True]),
    (("seeds", "search_pages"), [0, None]),
    (("crawl", "estimator"), ["hybrid", 5, None]),
    (("crawl", "start"), ["nh-sum", 5]),
    (("crawl", "switch_after"), [-1, "many", 2**63]),
    (("crawl", "refresh_rate"), [0, 1.5, True]),
    (("crawl", "steps"), [0, "5", True, 10**30]),
    (("budget", "max_requests"), [0, "1"]),
    (("budget", "max_posts"), [0, 1.5]),
    (("budget", "max_money"), [0, -1.0, "5", float("inf"), float("nan"), True]),
    (("source", "platform"), ["bluesky", 1]),
    (("source", "vocabulary"), ["toot", 1]),
    (("source", "token_env"), [1]),
    (("source", "pages_per_user"), [0, 33, "1"]),
    (("source", "keep_original"), ["no", 0]),
    (("source", "timeout"), [0, -1, float("inf"), 1e12, "30"]),
    (("limits", "k"), [0, 1.5]),
    (("limits", "d"), [0, -1.0, float("inf"), 1e18]),
    (("limits", "pause"), [0, 1e9]),
]


@pytest.mark.parametrize(("keys", "value"), [(keys, value) for keys, values in WRONG for value in values])
def test_a_value_of_the_wrong_type_or_range_is_named(keys, value):
    told = refusal(*keys, value=value)
    where = keys[0] if len(keys) == 1 else f"[{keys[0]}] {keys[1]}"
    assert told.startswith(f"{FILE}: {where}")
    assert len(told.splitlines()) == 1
    assert "instance of" not in told


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:80", "api.x.com", "ftp://api.x.com", "https://", "http://[::1", "http://a..b", "http://h:99999", "x"],
)
def test_a_base_url_that_is_no_address_is_refused(url):
    assert "write the address of a server" in refusal("source", "base_url", value=url)


@pytest.mark.parametrize(
    "url",
    [
        "https://x.com?x=1",
        "https://me@x.com",
        "http://evil.org\\@127.0.0.1",
        "http://a b",
        "",
        "http://h:0",
        "http://h#1",
    ],
)
def test_a_base_url_that_two_programs_could_read_differently_is_refused(url):
    assert "write the address of a server" in refusal("source", "base_url", value=url)


@pytest.mark.parametrize(
    "url", ["https://api.x.com", "http://127.0.0.1:8000", "http://[::1]:80/x", "http://localhost/a/b/"]
)
def test_a_base_url_may_have_a_port_and_a_path(url):
    assert checked({**LEAST, "source": {"base_url": url}}, FILE).source.base_url == url


def test_the_nearest_estimator_is_named():
    assert "Did you mean 'nh-ne-sum'?" in refusal("crawl", "estimator", value="nh-ne-summ")


def test_every_wrong_key_has_its_own_line():
    with pytest.raises(SettingsError) as error:
        checked({"seed": -1, "crawl": {"stepz": 1}, "topic": {"keywords": ["a"]}}, FILE)
    lines = str(error.value).splitlines()
    assert len(lines) == 3
    assert any("name is missing: `socialcrawl init`" in line for line in lines)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
KEYS = sorted(
    {
        key
        for name, field in Settings.model_fields.items()
        for key in (name, *getattr(field.annotation, "model_fields", {}))
    }
)


@given(
    st.dictionaries(st.sampled_from(KEYS), JUNK | st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=3), max_size=5)
)
@settings(max_examples=100, deadline=None)
def test_any_toml_is_accepted_or_refused_with_a_sentence(given):
    try:
        checked(LEAST | given, FILE)
    except SettingsError as error:
        told = str(error)
    else:
        told = FILE
    assert told.startswith(FILE)


def test_the_policy_of_x_is_that_of_its_table_of_limits():
    table = policy("x")

    def quarters(k):
        return (Rule(k, 900.0),)

    assert dict(table.endpoints) == {
        "/2/users/by": Endpoint(quarters(300), quarters(900), 100, "user"),
        "/2/users": Endpoint(quarters(300), quarters(900), 100, "user"),
        "/2/users/:id/tweets": Endpoint(quarters(10_000), quarters(900), 100, "post"),
        "/2/tweets/search/recent": Endpoint(quarters(450), quarters(300), 100, "post"),
        "/2/tweets/counts/recent": Endpoint(quarters(300), (), 1, "count", 0.005),
        "/2/usage/tweets": Endpoint(quarters(50), (), 1, "usage"),
    }
    assert dict(table.prices) == {"post": 0.005, "user": 0.010}
    assert table.base_url == "https://api.x.com"
    assert table.price("post", 100) == 50_000
    assert table.fee("/2/tweets/counts/recent") == 500
    assert (table.tariff, table.cap, table.as_of) == (Tariff(500, 1000), 3_000_000, "2026-11-01")
    assert table.price("user", 3) == 3_000


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"max_time": "fortnight"}, "write 3s, 15m, 1h"),
        ({"max_time": "0s"}, "no time at all"),
        ({"max_time": "7"}, "with its unit"),
        ({"max_nodes": 0}, "greater than or equal to 1"),
        ({"confirm_above": -1.0}, "greater than or equal to 0"),
    ],
)
def test_a_budget_that_is_none_is_refused(budget, said):
    with pytest.raises(SettingsError, match=said):
        checked(LEAST | {"budget": budget}, FILE)


def test_tokens_are_named_by_their_variables():
    tokens = [{"env": "A"}, {"env": ["K", "KS", "U", "US"]}]
    found = checked(LEAST | {"source": {"tokens": tokens}}, FILE).source.tokens
    assert [(token.name, token.speaks) for token in found] == [("A", "app"), ("U", "user")]


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ({"env": ["K", "KS"]}, "one variable (bearer), or four"),
        ({"env": "A", "kind": "admin"}, "'app' or 'user'"),
        ({"env": ["K", "KS", "U", "US"], "kind": "app"}, "four secrets speak for a user"),
        ({"envv": "A"}, "Did you mean 'env'?"),
        ({"kind": "app"}, "env is missing"),
    ],
)
def test_a_token_that_is_none_is_refused_with_its_place(token, said):
    with pytest.raises(SettingsError) as error:
        checked(LEAST | {"source": {"tokens": [{"env": "A"}, token]}}, FILE)
    assert said in str(error.value)
    assert "[source] tokens.1" in str(error.value)


PASTED = "AAAA1234567%2FsecretThatWasPastedHere"


@pytest.mark.parametrize(
    "source",
    [
        {"token_env": PASTED},
        {"token_env": "A" * 100},
        {"tokens": [{"env": PASTED}]},
        {"tokens": [PASTED]},
        {"tokens": PASTED},
        {"tokens": [{"env": [PASTED, "B", "C"]}]},
        {"tokens": [{"env": ["A", "B", "C", PASTED]}]},
        {"base_url": f"http://me:{PASTED}@127.0.0.1:80"},
    ],
)
def test_a_token_that_was_pasted_into_the_file_is_refused_and_not_shown(source):
    with pytest.raises(SettingsError) as error:
        checked(LEAST | {"source": source}, FILE)
    assert PASTED not in str(error.value)
    assert "AAAAAAAA" not in str(error.value)
    assert "[source]" in str(error.value)


def test_token_env_and_tokens_are_not_named_together():
    with pytest.raises(SettingsError, match="keep one of the two"):
        checked(LEAST | {"source": {"token_env": "A", "tokens": [{"env": "B"}]}}, FILE)
