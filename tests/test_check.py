"""Campaign files are looked through without a request, and their JSON Schema knows what the program knows."""

import json
import tomllib

import pytest
from commands import socialcrawl
from jsonschema import Draft202012Validator

from socialcrawl.apps.begin import begin
from socialcrawl.apps.check import schema
from socialcrawl.errors import SettingsError
from socialcrawl.settings import Settings, checked

GOOD = {"name": "a", "topic": {"keywords": ["sky"]}}


def written(folder, file, **sections):
    lines = [f"{key} = {json.dumps(value)}" for key, value in sections.items() if not isinstance(value, dict)]
    for section, values in sections.items():
        if isinstance(values, dict):
            lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    (folder / file).write_text("\n".join(lines) + "\n", "utf-8")


def test_a_folder_is_looked_through_and_every_fault_is_named_with_its_file(tmp_path):
    begin(tmp_path / "good.toml", ["sky"])
    written(tmp_path, "bad.toml", name="b", seed="x", topic={"keywords": ["sky"]}, crawl={"stepz": 3})
    written(tmp_path, "unbounded.toml", name="c", topic={"keywords": ["sky"]})
    (tmp_path / "torn.toml").write_text("name = ", "utf-8")
    child = socialcrawl("check", ".", folder=tmp_path)
    assert (child.returncode, child.stderr) == (2, "")
    lines = child.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["WRONG", "bad.toml:"], ["WRONG", "bad.toml:"], ["ok", "good.toml:"], ["WRONG", "torn.toml:"],
        ["WRONG", "unbounded.toml:"],
    ]  # fmt: skip
    assert "Did you mean 'steps'?" in lines[1]
    assert "at most $" in lines[2]


def test_good_files_alone_are_no_fault(tmp_path):
    begin(tmp_path / "good.toml", ["sky"])
    child = socialcrawl("check", "good.toml", folder=tmp_path)
    assert (child.returncode, child.stdout.split()[0]) == (0, "ok")


def test_two_files_of_one_campaign_are_noticed(tmp_path):
    for name in ("one.toml", "two.toml"):
        written(tmp_path, name, name="same", database="x.db", topic={"keywords": ["sky"]}, budget={"max_money": 1})
    child = socialcrawl("check", ".", folder=tmp_path)
    assert child.returncode == 2
    assert "WRONG  two.toml: one.toml is the campaign 'same' of that database too" in child.stdout


@pytest.mark.parametrize("words", [[], ["nowhere.toml"], ["."]])
def test_there_has_to_be_something_to_look_at(tmp_path, words):
    assert socialcrawl("check", *words, folder=tmp_path).returncode == 2


def test_the_schema_is_one_and_the_template_keeps_it(tmp_path):
    Draft202012Validator.check_schema(schema())
    begin(tmp_path / "c.toml", ["sky"])
    given = tomllib.loads((tmp_path / "c.toml").read_text("utf-8"))
    assert list(Draft202012Validator(schema()).iter_errors(given)) == []
    assert json.loads(socialcrawl("check", "--schema", folder=tmp_path).stdout) == schema()


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "x"}, {"seed": -1}, {"nme": "b"}, {"topic": {"keywords": "sky"}}, {"name": "a b"},
        {"crawl": {"stepz": 3}}, {"crawl": {"steps": 0}}, {"crawl": {"q": 1.5}}, {"budget": {"max_money": 0}},
        {"source": {"pages_per_user": 33}}, {"limits": {"cycle_day": 32}}, {"database": 5},
    ],
)  # fmt: skip
def test_what_the_schema_refuses_the_program_refuses_too(change):
    validator = Draft202012Validator(schema())
    assert list(validator.iter_errors(GOOD | change)) != []
    with pytest.raises(SettingsError):
        checked(GOOD | change, "test")


def test_every_setting_is_described_for_whoever_hovers_over_it():
    sections = [Settings, *(kind.annotation for kind in Settings.model_fields.values())]
    silent = [
        (section.__name__, name)
        for section in sections
        if hasattr(section, "model_fields")
        for name, field in section.model_fields.items()
        if not field.description and not hasattr(field.annotation, "model_fields")
    ]
    assert silent == []
