"""Fields of a campaign's form: what they show of a file, and what comes back from what people and others type."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import socialcrawl as sc
from socialcrawl.web.edit_fields import (
    EMPTY_LIST,
    find_form,
    format_setting,
    list_keys,
    make_fields,
    normalize,
    read_changes,
    read_value,
    refuse_value,
    show_values,
)
from socialcrawl.web.edit_problems import put_in_words

DESCRIBED = sc.describe_settings("collect", "x")
KEYS = dict(list_keys(DESCRIBED))
NOTHING = dict.fromkeys(KEYS, "")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("crawl.steps", "300", 300),
        ("crawl.steps", "1 000", 1000),
        ("crawl.steps", "1,200,000", 1_200_000),
        ("budget.max_money", "1_000.5", 1000.5),
        ("crawl.refresh_rate", "auto", "auto"),
        ("crawl.refresh_rate", "4", 4),
        ("budget.max_money", "2.50", 2.5),
        ("topic.keywords", "dark sky\r\n\r\n  moon  \r\n", ["dark sky", "moon"]),
        ("crawl.shadows", EMPTY_LIST, []),
        ("seeds.search", "false", False),
        ("crawl.links", "{ mentions = 1, follows = 2 }", {"mentions": 1, "follows": 2}),
        ("crawl.links", "replies", "replies"),
        ("crawl.links", '["replies", "quotes"]', ["replies", "quotes"]),
        ("source.tokens", '[{ env = "A" }]', [{"env": "A"}]),
        ("topic.from", "2026-01-31", "2026-01-31"),
    ],
)
def test_a_text_becomes_the_value_that_a_file_would_have(key, text, value):
    found = read_value(key, KEYS[key], normalize(text))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("crawl.steps", "many"), ("crawl.steps", "3.5"), ("budget.max_money", "7,5"),
        ("budget.max_money", "0,500"), ("crawl.steps", "9" * 5000), ("budget.max_money", "5 dollars"),
        ("seeds.search", "perhaps"), ("topic.from", "2026\n[budget]"), ("source.contact", "a\x00b"),
        ("crawl.links", "1\nother = 2"), ("crawl.links", "1\n[budget]\nmax_money = 9"), ("crawl.links", "[" * 20_000),
        ("topic.keywords", "a\x1bb"), ("source.contact", "half a sign \ud800"),
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused_with_what_to_write(key, text):
    with pytest.raises(ValueError, match=r"^(write|choose) .*\.$"):
        read_value(key, KEYS[key], text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("notify.command", ["rm", "-rf", "/"]), ("crawl.estimator", "os:system"), ("crawl.shadows", ["bfs", "a:b"]),
        ("source.token_env", "AAAAsecret"), ("source.token_env", "AWS_SECRET_ACCESS_KEY"), ("source.insecure", True),
        ("notify.webhook_env", "https://hooks.example/x"),
        ("database", "/etc/x.db"), ("database", "../x.db"), ("database", "postgresql://u@h/n"), ("database", "C:x.db"),
        ("seeds.file", "/etc/passwd"), ("topic.model", "..\\..\\x"), ("source.policy", "~/x.toml"),
    ],
)  # fmt: skip
def test_programs_code_secrets_and_places_outside_the_folder_are_not_set_by_pages(key, value):
    assert refuse_value(key, KEYS[key], value)


def test_names_of_variables_files_of_the_folder_and_estimators_are_set():
    for key, value in (
        ("source.token_env", "X_BEARER_TOKEN"), ("database", "moon.db"), ("seeds.file", "lists/seeds.txt"),
        ("crawl.estimator", "hybrid-sum"), ("crawl.shadows", ["bfs"]), ("source.token_env", None),
    ):  # fmt: skip
        assert refuse_value(key, KEYS[key], value) == ""


def test_values_are_shown_as_people_write_them():
    shown = [format_setting(one) for one in (None, True, 20.0, 0.5, date(2026, 1, 31), ["a", "b"], [], {"a": [1, "x"]})]
    assert shown == ["", "true", "20", "0.5", "2026-01-31", "a\nb", "[]", '{ "a" = [1, "x"] }']


def test_what_was_not_touched_is_no_change_whatever_the_ends_of_lines():
    values = {"topic": {"keywords": ["a", "b"]}, "crawl": {"links": {"mentions": 2}, "shadows": []}, "seed": 3}
    shown = show_values(DESCRIBED, values)
    assert (shown["topic.keywords"], shown["crawl.shadows"], shown["seeds.usernames"]) == ("a\nb", "[]", "")
    back = {key: text.replace("\n", "\r\n") for key, text in shown.items() if text}
    assert read_changes(DESCRIBED, shown, back, ()) == ({}, {})


def test_changes_have_the_form_of_an_update_and_what_is_emptied_is_removed():
    shown = show_values(DESCRIBED, {"seed": 3, "budget": {"max_money": 5.0}})
    changes, wrong = read_changes(DESCRIBED, shown, {"seed": "4", "topic.keywords": "sky", "crawl.steps": "x"}, ())
    assert changes == {"seed": 4, "topic": {"keywords": ["sky"]}, "budget": {"max_money": None}}
    assert wrong == {"crawl.steps": "write a whole number, such as 300."}


def test_what_is_locked_stays_as_it_is_whatever_comes_back():
    typed = {"seed": "4", "topic.keywords": "sky", "kind": "track", "source.platform": "web", "notify.command": "rm"}
    assert read_changes(DESCRIBED, NOTHING, typed, ("seed", "topic")) == ({}, {})


def test_secrets_of_a_file_are_not_shown():
    values = {"source": {"token_env": "AAAAAAAA-secret"}}
    assert show_values(DESCRIBED, values, ("source.token_env",))["source.token_env"] == ""


def test_a_broken_file_can_be_shown():
    for values in ({"topic": 3}, {"topic": {"keywords": "sky"}}, {"crawl": {"steps": "x", "links": [1, {"a": 2}]}}):
        assert set(show_values(DESCRIBED, values)) == set(KEYS)


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon", "web"])
@pytest.mark.parametrize("kind", ["collect", "track", "refresh", "sample", "capture"])
def test_each_kind_and_platform_has_all_its_keys_once_and_few_that_are_open(kind, platform):
    described = sc.describe_settings(kind, platform)
    empty: dict[str, str] = {}
    sections = make_fields(described, empty, template=(), wrong=empty, notes=empty, locked=())
    keys = [field.key for section in sections for field in section.fields]
    assert sorted([*keys, "kind", "source.platform"]) == sorted(key for key, _ in list_keys(described))
    assert 4 <= len(sections[0].fields) <= 14
    fields = [field for section in sections for field in section.fields]
    assert not [field.label for field in fields if len(field.label) < 4 or "_" in field.label], "no symbols of papers"
    assert not [field.help for field in fields if field.help[1:2] == ":"]
    forms = {find_form(key, one) for key, one in list_keys(described)}
    assert forms == {"text", "list", "number", "switch", "choice", "toml"}


WILD = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(
    ['"]\n[budget]\nmax_money = 1e9\nx = ["', "'''", '"""', "\\", "\\u0000", "# no comment", "= 1", "{}", "[[a]]"]
)


@settings(max_examples=60, deadline=None)
@given(words=st.lists(WILD, min_size=1, max_size=4), contact=WILD)
def test_whatever_is_typed_changes_its_own_keys_only_and_comes_back_as_it_was(words, contact):
    """A file that was made from it says what a parser of TOML says that was typed, and nothing else."""
    typed = {"topic.keywords": "\n".join(words), "source.contact": contact}
    changes, _ = read_changes(DESCRIBED, NOTHING, typed, ())
    before = {"name": "sky", "topic": {"keywords": ["telescope"]}}
    file = sc.CampaignFile.draft(Path("sky.toml"), before)
    template = file.values
    try:
        file.update(changes)
    except sc.SettingsError:
        assert file.values == template
        return
    wanted = {**template}
    for section, keys in changes.items():
        own = {**template[section], **keys}
        wanted[section] = {key: value for key, value in own.items() if value is not None}
    assert file.values == wanted


@pytest.mark.parametrize(
    ("said", "shown"),
    [("Set max_money (dollars) or max_posts under [budget].",
      "Set “Budget in dollars” (dollars) or “Budget of posts”."),
     ("it may cost $9.00, which is more than confirm_above = 0.5 dollars under [budget].",
      "It may cost $9.00, which is more than “Ask from this cost on, in dollars” (0.5)."),
     ("max_money is a word of others here", "Max_money is a word of others here"), ("", "")],
)  # fmt: skip
def test_pages_without_a_form_name_settings_as_forms_do(said, shown):
    assert put_in_words(said) == shown


def test_a_sentence_begins_with_a_capital_and_a_path_stays_as_it_is():
    assert put_in_words("write a number.") == "Write a number."
    assert put_in_words("campaigns/sky.toml was changed.") == "campaigns/sky.toml was changed."
    assert put_in_words("sky.toml was changed.") == "sky.toml was changed."
