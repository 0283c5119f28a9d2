import re
import tomllib
from contextlib import closing
from datetime import date, time
from pathlib import Path

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.api.campaign_runs import Campaign
from socialcrawl.campaign.plan import THREADS, make_plan
from socialcrawl.campaign.policies import load_policy
from socialcrawl.campaign.schedule import Schedule, parse_cron
from socialcrawl.campaign.settings import Settings, check_settings, load_stored, read
from socialcrawl.crawls.collect.make import make_shadows
from socialcrawl.engine.model import parse_time
from socialcrawl.errors import SettingsError
from socialcrawl.ratelimit.policy import Endpoint, Rule, Tariff
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect

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
        check_settings(given, FILE)
    return str(error.value)


def test_what_is_not_said_has_a_default():
    found = check_settings(LEAST, FILE)
    assert (found.seed, found.database, found.crawl.estimator, found.crawl.switch_after) == (
        1,
        Path("socialcrawl.db"),
        "adaptive",
        1000,
    )
    assert (found.crawl.refresh_rate, found.crawl.steps, found.seeds.search, found.seeds.most) == (1, None, True, 50)
    assert (found.budget.max_requests, found.budget.max_posts, found.budget.max_money) == (None, None, None)
    assert (found.source.platform, found.source.base_url, found.source.vocabulary) == ("x", None, "tweet")
    assert (found.source.pages_per_user, found.source.timeout, found.source.keep_original) == (1, 30.0, False)
    assert (found.source.token_env, found.source.variable, found.limits.k) == (None, "X_BEARER_TOKEN", None)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "[notify]\nmax_money = 20.0",
            r"line 6: unknown key 'max_money' under \[notify\]. It belongs under \[budget\].",
        ),
        ("[budget]\nsteps = 20", r"line 6: unknown key 'steps' under \[budget\]. It belongs under \[crawl\]."),
        ('[budget]\nmax_money = "20"', r"a number without quotes is wanted: write max_money = 20\."),
        ('[budget]\nmax_money = "20,5 dollars"', r"a number without quotes is wanted: write max_money = 20\.5\."),
        ('[budget]\nmax_money = "twenty"', r"a number without quotes is wanted: write max_money = 20\.0\."),
        ('[crawl]\nsteps = "many"', r"a number without quotes is wanted: write steps = 300\."),
        ("[budget]\nmax_money = $20", r"A number has no sign, unit or comma: write max_money = 20\."),
        ("[budget]\nmax_money = 20,5", r"A number has no sign, unit or comma: write max_money = 20\.5\."),
        ("[budget]\nmax_money = 20 dollars", r"A number has no sign, unit or comma: write max_money = 20\."),
        ("[source]\nplatform = bluesky", r'A text stands in quotes: platform = "bluesky"\.'),
        ("[seeds]\nusernames = [\u201cann\u201d]", r'Write straight quotes: usernames = \["ann"\]\.'),
        (
            "[seeds]\nmost = 5\n[crawl]\n[seeds]\nsearch = true",
            r"\[seeds\] is already in line 5: change its keys there\.",
        ),
    ],
)
def test_a_mistake_in_a_campaign_file_is_answered_with_what_to_write(tmp_path, text, advice):
    file = tmp_path / "a.toml"
    file.write_text(f'name = "a"\ndatabase = "a.db"\n[topic]\nkeywords = ["x"]\n{text}\n', "utf-8")
    with pytest.raises(SettingsError, match=advice):
        read(file)


def test_a_python_program_is_told_of_dicts_and_not_of_tables():
    with pytest.raises(
        SettingsError,
        match=r"""^Campaign\(topic='moon'\): give its keys as a dict: topic=\{"keywords": \["telescope"\]\}\.$""",
    ):
        Campaign("a", topic="moon")
    with pytest.raises(
        SettingsError, match=r"""Campaign\(steps=3\): unknown key 'steps'. Write crawl=\{"steps": ...\}\."""
    ):
        Campaign("a", topic={"keywords": ["moon"]}, steps=3)


def test_a_seed_that_was_forgotten_has_left_a_number_in_stored_settings():
    kept = {**LEAST, "seeds": {"search": False, "usernames": ["ann", 77, "bob"]}}
    assert load_stored(kept, "the database").seeds.usernames == ["ann", "bob"]
    assert kept["seeds"]["usernames"] == ["ann", 77, "bob"]


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
        (("topic", "form"), "[topic] form", "'from'"),
        (("topic", "from_"), "[topic] from_", "'from'"),
        (("accounts", "includes"), "[accounts] includes", "'include'"),
        (("schedule", "corn"), "[schedule] corn", "'cron'"),
        (("notify", "webhook"), "[notify] webhook", "'webhook_env'"),
        (("crawl", "zzz"), "[crawl] zzz", "estimator, switch_after, start, refresh_rate, steps"),
        (("zzz",), "zzz", "name, seed, database, kind, topic"),
    ],
)
def test_an_unknown_key_is_named_with_the_file_and_the_nearest_known_one(keys, where, nearest):
    told = refusal(*keys, value=1)
    under = f" under {where.split()[0]}" if len(keys) > 1 else ""
    assert told.startswith(f"{FILE}: unknown key {keys[-1]!r}{under}.")
    assert nearest in told


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('name = "a"\n[topic]\nkeywords = ["x"]\nkeyword = ["y"]', ", line 4"),
        ('name = "a"\nkeyword = 1\n[topic]\nkeywords = ["x"]\n"keyword" = 1 # [seeds]', ", line 5"),
        ('name = "a"\ntopic = {keywords = ["x"], keyword = 1}', ""),
        ('name = "a"\n[topic]\nkeyword = 1\npatterns = ["""\nkeyword = 2"""]', ""),
    ],
)
def test_a_wrong_key_is_named_with_its_line_where_that_is_certain(tmp_path, text, line):
    (tmp_path / "a.toml").write_text(text, "utf-8")
    with pytest.raises(SettingsError) as error:
        read(tmp_path / "a.toml")
    said = f"{tmp_path / 'a.toml'}{line}: unknown key 'keyword' under [topic]. Did you mean 'keywords'?"
    assert said in str(error.value).splitlines()


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
    (("source", "platform"), ["friendster", 1]),
    (("source", "vocabulary"), ["toot", 1]),
    (("source", "token_env"), [1]),
    (("source", "pages_per_user"), [0, 33, "1"]),
    (("source", "keep_original"), ["no", 0]),
    (("source", "timeout"), [0, -1, float("inf"), 1e12, "30"]),
    (("limits", "k"), [0, 1.5]),
    (("limits", "d"), [0, -1.0, float("inf"), 1e18]),
    (("limits", "pause"), [0, 1e9]),
    (("limits", "weight"), [0, -1.0, "1", float("inf"), True]),
    (("topic", "languages"), ["en", ["english"], ["en_US"], ["e"], [""], [5], ["en"] * 11]),
    (("topic", "from"), ["yesterday", 5, True, "", [], time(3), "2026-13-01", "0001-01-01T00:00:00+14:00"]),
    (("topic", "until"), ["soon", 1.5, {}, date(1, 1, 1).isoformat() + "x"]),
    (("accounts", "exclude"), ["ann", [5], ["a b"], [""], ["naïve"]]),
    (("crawl", "refresh_rate"), ["Auto", "5", None, 2**63, [], -1, float("nan")]),
    (("crawl", "shadows"), ["bfs", ["nope"], [5], ["bfs", "bfs"]]),
    (("schedule", "cron"), ["", "0 3 * *", "61 * * * *", 5, "0 0 30 2 *"]),
    (("schedule", "every"), ["", "6", "often", 6, "0h", "400d"]),
    (("schedule", "between"), ["22", "22:00-22:00", "25:00-06:00", 5]),
    (("schedule", "timezone"), ["Berlin", "", "../x", 5]),
    (("schedule", "continuous"), ["yes", 1]),
    (("notify", "on"), ["paused", ["begun"], [5]]),
    (("notify", "command"), ["mail me", [5], [""]]),
    (("notify", "webhook_env"), ["https://hooks.example/secret", 5, ""]),
    (("notify", "apprise_env"), ["ntfy://ntfy.example/secret", 5, ""]),
]


@pytest.mark.parametrize(("keys", "value"), [(keys, value) for keys, values in WRONG for value in values])
def test_a_value_of_the_wrong_type_or_range_is_named(keys, value):
    told = refusal(*keys, value=value)
    where = keys[0] if len(keys) == 1 else f"[{keys[0]}] {keys[1]}"
    assert told.startswith(f"{FILE}: {where}")
    assert len(told.splitlines()) == 1
    assert "instance of" not in told
    assert not re.search("should|valid ", told.split(": ", 2)[2]), "pydantic's own words say not what to write"


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
    assert check_settings({**LEAST, "source": {"base_url": url}}, FILE).source.base_url == url


def test_the_nearest_estimator_is_named():
    assert "Did you mean 'nh-ne-sum'?" in refusal("crawl", "estimator", value="nh-ne-summ")


def test_every_wrong_key_has_its_own_line():
    with pytest.raises(SettingsError) as error:
        check_settings({"seed": -1, "crawl": {"stepz": 1}, "topic": {"keywords": ["a"]}}, FILE)
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
        for key in (name, "from", *getattr(field.annotation, "model_fields", {}))
    }
)


@given(
    st.dictionaries(st.sampled_from(KEYS), JUNK | st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=3), max_size=5)
)
@settings(max_examples=many(100), deadline=None)
def test_any_toml_is_accepted_or_refused_with_a_sentence(given):
    try:
        check_settings(LEAST | given, FILE)
    except SettingsError as error:
        told = str(error)
    else:
        told = FILE
    assert told.startswith(FILE)


JOBS = (
    "/2/compliance/jobs",
    "/2/compliance/jobs?create",
    "/2/compliance/jobs/:id",
    "/2/compliance/jobs/:id?upload",
    "/2/compliance/jobs/:id?download",
)


def test_the_policy_of_x_is_that_of_its_table_of_limits():
    table = load_policy("x")

    def quarters(k):
        return (Rule(k, 900.0),)

    assert dict(table.endpoints) == {
        "/2/users/by": Endpoint(quarters(300), quarters(900), 100, "user", smallest=1),
        "/2/users": Endpoint(quarters(300), quarters(900), 100, "user", smallest=1),
        "/2/users/:id/following": Endpoint(quarters(300), quarters(300), 1000, "user", smallest=1),
        "/2/users/:id/tweets": Endpoint(quarters(10_000), quarters(900), 100, "post", smallest=5),
        "/2/users/:id/mentions": Endpoint(quarters(450), quarters(300), 100, "post", smallest=5),
        "/2/tweets": Endpoint(quarters(3_500), quarters(5_000), 100, "post", smallest=1),
        "/2/tweets/search/recent": Endpoint(quarters(450), quarters(300), 100, "post", smallest=10),
        "/2/tweets/search/all": Endpoint((*quarters(300), Rule(1, 1.0)), (), 500, "post", smallest=10),
        "/2/tweets/counts/recent": Endpoint(quarters(300), (), 1, "count", 0.005),
        "/2/tweets/counts/all": Endpoint(quarters(300), (), 1, "count", 0.010),
        "/2/usage/tweets": Endpoint(quarters(50), (), 1, "usage"),
        "/2/tweets/search/stream": Endpoint(quarters(50), (), 300, "post", advance=True),
        "/2/tweets/search/stream?part": Endpoint((Rule(120, 60.0, "sliding"),), (), 100, "post", smallest=10),
        "/2/tweets/search/stream/rules": Endpoint(quarters(450), (), 1, "rule"),
        "/2/tweets/search/stream/rules?change": Endpoint(quarters(100), (), 1, "rule"),
        **dict.fromkeys(JOBS, Endpoint(quarters(150), (), 1, "job")),
    }
    assert dict(table.prices) == {"post": 0.005, "user": 0.010}
    assert table.base_url == "https://api.x.com"
    assert table.compute_price("post", 100) == 50_000
    assert table.compute_fee("/2/tweets/counts/recent") == 500
    assert table.compute_fee("/2/tweets/counts/all") == 1_000
    assert (table.tariff, table.cap, table.as_of) == (Tariff(500, 1000), 3_000_000, "2026-11-01")
    assert table.compute_price("user", 3) == 3_000


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"max_time": "fortnight"}, "write 3s, 15m, 1h"),
        ({"max_time": "0s"}, "is not a time at all"),
        ({"max_time": "7"}, "with its unit"),
        ({"max_nodes": 0}, "write a number, 1 or more"),
        ({"confirm_above": -1.0}, "write a number, 0 or more"),
    ],
)
def test_a_budget_that_is_none_is_refused(budget, said):
    with pytest.raises(SettingsError, match=said):
        check_settings(LEAST | {"budget": budget}, FILE)


def test_tokens_are_named_by_their_variables():
    tokens = [{"env": "A"}, {"env": ["K", "KS", "U", "US"]}]
    found = check_settings(LEAST | {"source": {"tokens": tokens}}, FILE).source.tokens
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
        check_settings(LEAST | {"source": {"tokens": [{"env": "A"}, token]}}, FILE)
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
        check_settings(LEAST | {"source": source}, FILE)
    assert PASTED not in str(error.value)
    assert "AAAAAAAA" not in str(error.value)
    assert "[source]" in str(error.value)


def test_token_env_and_tokens_are_not_named_together():
    with pytest.raises(SettingsError, match="keep one of the two"):
        check_settings(LEAST | {"source": {"token_env": "A", "tokens": [{"env": "B"}]}}, FILE)


HOOK = "https://hooks.example.com/T0/B1/verysecret"


@pytest.mark.parametrize(
    "notify",
    [
        {"webhook_env": HOOK},
        {"apprise_env": HOOK},
        {"command": [HOOK, 5]},
        {"command": HOOK},
        {"command": ["", HOOK]},
        HOOK,
    ],
)
def test_an_address_that_was_pasted_into_the_file_is_refused_and_not_shown(notify):
    with pytest.raises(SettingsError) as error:
        check_settings(LEAST | {"notify": notify}, FILE)
    assert "verysecret" not in str(error.value)
    assert "notify" in str(error.value)


@pytest.mark.parametrize(
    ("section", "given", "said"),
    [
        ("schedule", {"cron": "0 3 * * *", "every": "6h"}, "cron and every contradict each other: keep one"),
        ("schedule", {"continuous": True, "every": "6h"}, "continuous and every contradict"),
        ("schedule", {"continuous": False}, "set cron or every"),
        ("schedule", {"lasting": "1h"}, "lasting is how long a turn of cron or every may last"),
        ("topic", {"keywords": ["a"], "from": "2026-11-20", "until": "2026-11-20"}, "put an earlier from, or a later"),
        ("topic", {"keywords": ["a"], "from": "2026-11-21", "until": "2026-11-20T23:59Z"}, "from is not before until"),
    ],
)
def test_keys_that_contradict_each_other_are_named_with_their_section(section, given, said):
    with pytest.raises(SettingsError) as error:
        check_settings({"name": "mine", "topic": {"keywords": ["sky"]}, section: given}, FILE)
    assert str(error.value).startswith(f"{FILE}: [{section}]: ")
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("written", "until"),
    [
        ('"2026-11-20"', "2026-11-20T00:00:00Z"),
        ("2026-11-20", "2026-11-20T00:00:00Z"),
        ("2026-11-20T12:30:00", "2026-11-20T12:30:00Z"),
        ("2026-11-20T12:30:00+01:00", "2026-11-20T11:30:00Z"),
        ('"2026-11-20 12:30:00Z"', "2026-11-20T12:30:00Z"),
        ("2026-11-20T12:30:00.25Z", "2026-11-20T12:30:00.250000Z"),
    ],
)
def test_an_instant_may_be_written_in_every_way_that_toml_has_and_is_the_same(written, until):
    topic = tomllib.loads(f'keywords = ["sky"]\nfrom = 2026-11-01\nuntil = {written}')
    found = check_settings(LEAST | {"topic": topic}, FILE)
    told = found.model_dump(mode="json")["topic"]
    assert (told["from"], told["until"]) == ("2026-11-01T00:00:00Z", until)
    assert found.topic.span == (1_793_491_200.0, parse_time(until))
    again = check_settings(LEAST | {"topic": told}, "the database")  # as `explain` reads it
    assert again == found


OLD = {"keywords": ["sky"], "patterns": []}


def identity(**sections):
    return check_settings(LEAST | sections, FILE).identity(["ann"])


def test_a_campaign_that_was_begun_before_there_were_these_keys_is_still_the_same():
    assert identity(crawl={"estimator": "hybrid-sum"}) == {
        "seed": 1,
        "topic": OLD,
        "seeds": {"search": True, "most": 50, "search_pages": 1, "usernames": ["ann"]},
        "crawl": {"estimator": "hybrid-sum", "switch_after": 1000, "start": None},
        "source": {"platform": "x", "pages_per_user": 1},
    }


def test_what_history_rests_on_belongs_to_the_identity_and_what_does_not_does_not():
    more = {"languages": ["en"], "from": "2026-11-20"}
    assert identity(topic=OLD | more)["topic"] == OLD | more | {"from": "2026-11-20T00:00:00Z"}
    assert identity(accounts={"exclude": ["*bot"]})["accounts"] == {"exclude": ["*bot"]}
    assert identity(accounts={"exclude": ["*bot"], "include": ["robot"]})["accounts"]["include"] == ["robot"]
    for later in (
        {"schedule": {"every": "6h", "between": "22:00-06:00", "timezone": "Europe/Berlin", "lasting": "1h"}},
        {"limits": {"weight": 2.0}},
        {"notify": {"on": ["ended"], "command": ["true"], "webhook_env": "HOOK"}},
        {"crawl": {"shadows": ["bfs"], "refresh_rate": "auto"}},
        {"accounts": {}},
        {"topic": OLD | {"languages": []}},
    ):
        assert identity(**later) == identity()


def test_a_refresh_rate_may_be_left_to_the_program():
    assert check_settings(LEAST | {"crawl": {"refresh_rate": "auto"}}, FILE).crawl.together is None
    assert check_settings(LEAST | {"crawl": {"refresh_rate": 4}}, FILE).crawl.together == 4
    assert make_plan(check_settings(LEAST | {"crawl": {"refresh_rate": "auto"}}, FILE)).shape.flight == THREADS
    assert make_plan(check_settings(LEAST | {"crawl": {"refresh_rate": 4}}, FILE)).shape.flight == 4


def test_keys_of_a_hybrid_mean_one_where_no_estimator_is_named():
    for crawl in ({"switch_after": 100}, {"start": "bfs"}):
        settings = check_settings(LEAST | {"crawl": crawl}, FILE).crawl
        assert (settings.estimator, settings.shadows) == ("hybrid-sum", ["bfs"])
    assert check_settings(LEAST | {"crawl": {"switch_after": 100, "estimator": "nr"}}, FILE).crawl.estimator == "nr"


def test_shadows_are_estimators_of_their_own():
    found = check_settings(LEAST | {"crawl": {"shadows": ["bfs", "nh-e-max", "lnh-sum"]}}, FILE)
    made = make_shadows(found)
    assert list(made) == ["bfs", "nh-e-max", "lnh-sum"]
    assert all(one is not another for one, another in zip(made.values(), make_shadows(found).values(), strict=True))
    assert list(make_shadows(check_settings(LEAST, FILE))) == ["bfs", "hybrid-sum"]
    assert list(make_shadows(check_settings(LEAST | {"crawl": {"estimator": "bfs"}}, FILE))) == ["hybrid-sum"]
    assert make_shadows(check_settings(LEAST | {"crawl": {"shadows": []}}, FILE)) == {}
    with pytest.raises(SettingsError):
        make_shadows(check_settings(LEAST | {"crawl": {"shadows": ["sklearn.linear_model.Nothing"]}}, FILE))


def test_a_campaign_that_has_begun_keeps_estimator_and_shadows_until_its_file_names_others(tmp_path):
    def planned(name, **crawl):
        return make_plan(check_settings(LEAST | {"name": name, "database": tmp_path / "a.db", "crawl": crawl}, FILE))

    begun = planned("old", estimator="hybrid-sum", shadows=[]).settings
    with closing(connect(tmp_path / "a.db")) as connection:
        ensure_campaign(connection, begun.model_dump(mode="json"), begun.identity([]), 0.0)
    for name, crawl, wanted in (
        ("old", {}, ("hybrid-sum", [])),
        ("old", {"shadows": ["adaptive"]}, ("hybrid-sum", ["adaptive"])),
        ("old", {"estimator": "adaptive"}, ("adaptive", [])),
        ("new", {}, ("adaptive", ["bfs", "hybrid-sum"])),
    ):
        found = planned(name, **crawl).settings.crawl
        assert (found.estimator, found.shadows) == wanted


@pytest.mark.parametrize("crawl", [{"shadows": ["adaptive"]}, {"estimator": "bfs", "shadows": ["lnh-sum", "bfs"]}])
def test_who_steers_is_no_shadow_too(crawl):
    with pytest.raises(SettingsError, match="is the estimator itself: a shadow is another one"):
        make_plan(check_settings(LEAST | {"crawl": crawl}, FILE))


def test_kinds_that_do_not_collect_have_no_shadows():
    track = LEAST | {"kind": "track"}
    assert make_plan(check_settings(track, FILE)).settings.crawl.shadows == []
    stored = check_settings(track, FILE).model_dump(mode="json")["crawl"]
    for crawl in ({"estimator": "hybrid-sum", "shadows": []}, {"estimator": "adaptive"}):  # as it is, and was, stored
        check_settings(track | {"crawl": stored | crawl}, FILE)


def test_the_schedule_of_a_file_is_that_of_the_plan():
    given = {"cron": "0 3 * * *", "between": "22:00-06:00", "timezone": "Europe/Berlin", "lasting": "90m"}
    found = make_plan(check_settings(LEAST | {"schedule": given}, FILE)).schedule
    assert found == Schedule(parse_cron("0 3 * * *"), None, (1320, 360), "Europe/Berlin", 5400.0)
    assert make_plan(check_settings(LEAST, FILE)).schedule == Schedule()
    assert make_plan(check_settings(LEAST | {"schedule": {"continuous": True}}, FILE)).schedule == Schedule()


def test_a_misspelled_kind_is_answered_with_the_nearest_one():
    with pytest.raises(
        SettingsError, match=r"kind: unknown kind of campaign 'colect'\. Did you mean 'collect'\? Choose one"
    ):
        check_settings({"name": "mine", "kind": "colect", "topic": {"keywords": ["kernel"]}}, "mine.toml")
