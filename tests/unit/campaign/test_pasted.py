"""A secret that was pasted into a campaign file gets one answer, what to put where; nothing of it is shown anywhere."""

import base64
import json
import logging
import traceback

import pytest

from socialcrawl.campaign.pasted_secrets import find_secrets
from socialcrawl.campaign.settings import check_settings, load_stored, read
from socialcrawl.errors import SettingsError

SECRETS = {
    "bearer token of X": "AAAAAAAAAAAAAAAAAAAAANRILgAAAAAAnNwIzUejRCOuH5E6I8xnZz4puTs%3D1Zv7ttfk8LF81IUq16cHjhLTvJ",
    "bearer token of a user of X": base64.b64encode(b"bWRWa3gzdnk3WHRGU1o0bmRR:1699000000000:1:1:at:1").decode(),
    "API key": "xvz1evFS4wEEPTGEFPHBog3kX",
    "API key secret": "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBwQz91LmE",
    "access token": "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
    "access token secret": "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kEx71a",
    "app password of Bluesky": "kx3p-7mqa-2vzh-n5dt",
    "token of Mastodon": "ZA-Yj3aBD8U8Cm7lKUp-lm9O9BmDgdhHzDeqsY8tlL0",
    "session of Bluesky": "eyJhbGciOiJIUzI1NiJ9.eyJzY29wZSI6ImNvbS5hdHByb3RvIn0.c2lnbmF0dXJlLWhlcmU",
}
SHORT, WRONG = "hunter2", "not a name"
LEAST = {"name": "a", "topic": {"keywords": ["x"]}}
PLACES = {
    "a setting that is none": lambda s: {"source": {"token": s}},
    "token_env": lambda s: {"source": {"token_env": s}},
    "one of several tokens": lambda s: {"source": {"tokens": [{"env": s}]}},
    "one of four variables": lambda s: {"source": {"tokens": [{"env": ["A", "B", "C", s]}]}},
    "a token without a name": lambda s: {"source": {"tokens": [s]}},
    "tokens": lambda s: {"source": {"tokens": s}},
    "identifier": lambda s: {"source": {"identifier": s}},
    "contact": lambda s: {"source": {"contact": s}},
    "base_url": lambda s: {"source": {"base_url": s}},
    "platform": lambda s: {"source": {"platform": s}},
    "a host": lambda s: {"source": {"hosts": [s]}},
    "a keyword": lambda s: {"topic": {"keywords": ["rust", s]}},
    "a seed": lambda s: {"seeds": {"usernames": [s]}},
    "an excluded account": lambda s: {"accounts": {"exclude": [s]}},
    "the database": lambda s: {"database": s},
    "the name": lambda s: {"name": s},
    "a number": lambda s: {"crawl": {"steps": s}},
    "webhook_env": lambda s: {"notify": {"webhook_env": s}},
    "a section that is none": lambda s: {"secrets": {"x": s}},
    "a key": lambda s: {"source": {s: "x"}},
    "a section's name": lambda s: {s: {}},
    "with Bearer before it": lambda s: {"source": {"token_env": f"Bearer {s}"}},
}


def shown(error):
    """All that a person or a log may see of an error."""
    return str(error) + "".join(traceback.format_exception(error))


def pieces(secret):
    """What nobody may see: any eight signs of it in a row."""
    return [secret[begin : begin + 8] for begin in range(len(secret) - 7) if set(secret[begin : begin + 8]) != {"A"}]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_gets_one_answer_wherever_it_stands(name, place, caplog):
    secret = SECRETS[name]
    caplog.set_level(logging.DEBUG)
    with pytest.raises(SettingsError, match="looks like a token or a password") as refused:
        check_settings({**LEAST, **PLACES[place](secret)}, "mine.toml")
    told = shown(refused.value) + caplog.text
    assert not [piece for piece in pieces(secret) if piece in told]
    assert len(str(refused.value).splitlines()) == 1
    assert "put it into an environment variable" in str(refused.value)


def test_the_answer_names_the_place_and_what_the_platform_wants():
    for platform, name, wanted in (
        ("x", "bearer token of X", 'token_env = "X_BEARER_TOKEN"'),
        ("x", "API key", '"X_KEY", "X_KEY_SECRET", "X_ACCESS", "X_ACCESS_SECRET"'),
        ("bluesky", "app password of Bluesky", 'token_env = "BSKY_APP_PASSWORD"'),
        ("mastodon", "token of Mastodon", 'token_env = "MASTODON_TOKEN"'),
    ):
        source = {"platform": platform, "token": SECRETS[name]}
        with pytest.raises(SettingsError) as refused:
            check_settings({**LEAST, "source": source}, "mine.toml")
        assert str(refused.value).startswith("mine.toml: [source] token holds")
        assert wanted in str(refused.value)


ADDRESSES = {
    "a webhook": lambda: {"notify": {"webhook_env": "https://hooks.example/services/T0AB/B0CD/hunter2"}},
    "a webhook without a scheme": lambda: {"notify": {"webhook_env": "hooks.example/services/T0AB/hunter2"}},
    "an address of apprise": lambda: {"notify": {"apprise_env": "mailto://me:hunter2@mail.example"}},
    "base_url with a password": lambda: {"source": {"base_url": "https://user:hunter2@host.example"}},
    "base_url with a token": lambda: {"source": {"base_url": "https://host.example/?access_token=hunter2"}},
    "contact with a password": lambda: {"source": {"contact": "https://user:hunter2@host.example/"}},
    "a keyword with a password": lambda: {"topic": {"keywords": ["https://user:hunter2@host.example/a"]}},
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_a_secret_gets_the_one_answer(name):
    with pytest.raises(SettingsError, match="holds what looks like a token or a password") as refused:
        check_settings({**LEAST, **ADDRESSES[name]()}, "mine.toml")
    assert SHORT not in shown(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    wanted = "webhook_env =" if "[notify]" in str(refused.value) else "token_env ="
    assert "put it into an environment variable, and only that one's name here: export " in str(refused.value)
    assert wanted in str(refused.value)


def test_an_address_without_a_password_is_no_secret():
    keywords = ["https://me@example.org/a", "https://example.org:8080/a?page=2", "http://[::1]:80/x", "a:b@c", "9:30"]
    seeds = ["at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/app.bsky.graph.list/3k2222222222a", "https://example.org/@ann:x"]
    given = {
        "topic": {"keywords": keywords},
        "seeds": {"usernames": seeds},
        "source": {"base_url": "http://[::1]:8000"},
    }
    assert not list(find_secrets(given | {"database": "postgresql://me:hunter2@db.example/crawl"}))
    with pytest.raises(SettingsError, match="put it into PGPASSWORD"):
        check_settings({**LEAST, "database": "postgresql://me:hunter2@db.example/crawl"}, "mine.toml")


FOUR = ["API key", "API key secret", "access token", "access token secret"]


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (dict(zip(["key", "key_secret", "access", "access_secret"], map(SECRETS.get, FOUR), strict=True)),
         "[source] key, key_secret, access and access_secret hold"),
        ({"tokens": [{"env": [*map(SECRETS.get, FOUR)]}]},
         "[source] tokens.0.env.0, tokens.0.env.1, tokens.0.env.2 and tokens.0.env.3 hold"),
    ],
)  # fmt: skip
def test_the_four_secrets_of_oauth_get_one_answer_that_names_their_keys(source, named):
    with pytest.raises(SettingsError) as refused:
        check_settings({**LEAST, "source": source}, "mine.toml")
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"mine.toml: {named} what looks like tokens or passwords.")
    assert "put each into an environment variable of its own, and only the names of these here: " in line
    assert '"X_KEY", "X_KEY_SECRET", "X_ACCESS", "X_ACCESS_SECRET"' in line


def test_secrets_that_belong_to_different_places_get_an_answer_each():
    given = {"source": {"token": SECRETS["API key"], "contact": SECRETS["session of Bluesky"]}}
    with pytest.raises(SettingsError) as refused:
        check_settings({**LEAST, **given, "notify": {"webhook_env": "https://hooks.example/x"}}, "mine.toml")
    lines = str(refused.value).splitlines()
    assert [line.split(" holds")[0] for line in lines] == [
        "mine.toml: [source] token", "mine.toml: [source] contact", "mine.toml: [notify] webhook_env",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"name": "S"}, "name holds"),
        ({"S": {}}, "a key holds"),
        ({"source": {"S": "x"}}, "a key under [source] holds"),
        ({"notes": ["x", "S"]}, "notes.1 holds"),
        ({"source": {"hosts": ["S"]}}, "[source] hosts.0 holds"),
        ({"name": "S", "source": {"contact": "S"}}, "name and [source] contact hold"),
    ],
)
def test_a_key_is_called_a_key_and_a_section_a_section(given, named):
    secret = SECRETS["API key"]
    text = json.dumps({**LEAST, **given}).replace('"S"', json.dumps(secret))
    with pytest.raises(SettingsError) as refused:
        check_settings(json.loads(text), "mine.toml")
    assert str(refused.value).startswith(f"mine.toml: {named} ")


@pytest.mark.parametrize("key", ["token", "password", "bearer_token", "api_key", "client_secret"])
def test_a_key_that_wants_a_secret_is_answered_so_whatever_stands_behind_it(key):
    with pytest.raises(SettingsError, match="A token stays out of this file") as refused:
        check_settings({**LEAST, "source": {key: SHORT}}, "mine.toml")
    assert SHORT not in shown(refused.value)


def test_a_variable_that_is_none_is_told_in_one_line_without_the_insides_of_the_program():
    with pytest.raises(SettingsError) as refused:
        check_settings({**LEAST, "source": {"tokens": [{"env": WRONG}]}}, "mine.toml")
    assert str(refused.value) == (
        "mine.toml: [source] tokens.0.env: write the name of an environment variable, never the token itself."
    )
    assert WRONG not in shown(refused.value)


ORDINARY = [
    "My-Post-2026-11-22-Run3-Xy",
    "X_BEARER_TOKEN",
    "SOCIALCRAWL_TEST_TOKEN_2",
    "MyTokenForTheClimateCampaign2",
    "climate change",
    "#ClimateActionNow2026ForEveryone",
    "stay-home-save-life",
    "did:plc:ewvi7nxzyoun6zhxrhs64oiz",
    "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/app.bsky.graph.list/3k2222222222a",
    "postgresql://me@db.example/crawl",
    "https://example.org/Some_Page/With42Words",
    "mailto:me@example.org",
    "data/posts-2026-11-22.parquet",
    "Donaudampfschifffahrtsgesellschaft",
    "alice@mastodon.social",
    "run_20261122T153000Z",
    "9b2f8c0e6d7a4f1eb0c35d8a7e6f9012",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_what_people_write_into_campaign_files_is_taken_for_no_secret(text):
    places = {"topic": {"keywords": [text]}, "source": {"token_env": text}, "seeds": {"usernames": [text]}}
    assert not [found for found in find_secrets(places) if not (text.count("-") == 3 and found[0][0] == "source")]


def test_a_command_may_say_what_it_wants_and_a_database_is_read_as_it_is():
    command = ["curl", SECRETS["token of Mastodon"]]
    assert check_settings({**LEAST, "notify": {"command": command}}, "mine.toml").notify.command == command
    old = check_settings(LEAST, "mine.toml").model_dump(mode="json") | {"topic": {"keywords": [SECRETS["API key"]]}}
    assert load_stored(old, "a.db").topic.keywords == [SECRETS["API key"]]


@pytest.mark.parametrize("name", SECRETS)
def test_a_line_that_is_no_toml_does_not_show_a_secret(name, tmp_path):
    for line in (f'token = "{SECRETS[name]}', f'identifier = "{SECRETS[name]}', f"{SECRETS[name]}"):
        file = tmp_path / "mine.toml"
        file.write_text(f'name = "a"\n[source]\n{line}\n', "utf-8")
        with pytest.raises(SettingsError) as refused:
            read(file)
        assert not [piece for piece in pieces(SECRETS[name]) if piece in shown(refused.value)]
