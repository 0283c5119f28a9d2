"""Campaign files are looked through without a request, and their JSON Schema knows what the program knows."""

import json
import re
import tomllib
from io import StringIO
from pathlib import Path

import pytest
from commands import socialcrawl
from jsonschema import Draft202012Validator
from rich.console import Console

from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.campaign.settings_schema import make_schema
from socialcrawl.campaign.template_file import write_campaign_file
from socialcrawl.cli.commands.check import check
from socialcrawl.errors import SettingsError

GOOD = {"name": "a", "topic": {"keywords": ["sky"]}}


def written(folder, file, **sections):
    lines = [f"{key} = {json.dumps(value)}" for key, value in sections.items() if not isinstance(value, dict)]
    for section, values in sections.items():
        if isinstance(values, dict):
            lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    (folder / file).write_text("\n".join(lines) + "\n", "utf-8")


def test_a_folder_is_looked_through_and_every_fault_is_named_with_its_file(tmp_path):
    write_campaign_file(tmp_path / "good.toml", ["sky"])
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
    write_campaign_file(tmp_path / "good.toml", ["sky"])
    child = socialcrawl("check", "good.toml", folder=tmp_path)
    assert (child.returncode, child.stdout.split()[0]) == (0, "ok")


@pytest.mark.parametrize("steps", [9, 10])
def test_a_hybrid_that_never_learns_is_named_by_check_and_quote(tmp_path, steps):
    crawl = {"estimator": "hybrid-avg", "switch_after": 9, "steps": steps}
    written(tmp_path, "a.toml", name="a", topic={"keywords": ["sky"]}, budget={"max_money": 1}, crawl=crawl)
    never = "hybrid-avg chooses as nh-ne-avg in all 9 steps, because it switches after 9 (switch_after)"
    checked, quoted = (socialcrawl(name, "a.toml", folder=tmp_path) for name in ("check", "quote"))
    assert (f" ({never}), into" in checked.stdout) == (steps == 9)
    assert (f"{never}." in " ".join(quoted.stdout.split())) == (steps == 9)


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
    Draft202012Validator.check_schema(make_schema())
    write_campaign_file(tmp_path / "c.toml", ["sky"])
    given = tomllib.loads((tmp_path / "c.toml").read_text("utf-8"))
    assert list(Draft202012Validator(make_schema()).iter_errors(given)) == []
    assert json.loads(socialcrawl("check", "--schema", folder=tmp_path).stdout) == make_schema()


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "x"}, {"seed": -1}, {"nme": "b"}, {"topic": {"keywords": "sky"}}, {"name": "a b"},
        {"crawl": {"stepz": 3}}, {"crawl": {"steps": 0}}, {"crawl": {"q": 1.5}}, {"budget": {"max_money": 0}},
        {"source": {"pages_per_user": 33}}, {"limits": {"cycle_day": 32}}, {"database": 5},
        {"limits": {"weight": 0}}, {"crawl": {"refresh_rate": "fast"}}, {"crawl": {"refresh_rate": 0}},
        {"topic": {"keywords": ["a"], "languages": "en"}}, {"topic": {"keywords": ["a"], "from": 5}},
        {"topic": {"keywords": ["a"], "from_": "2026-11-20"}}, {"accounts": {"exclude": "ann"}},
        {"schedule": {"every": 6}}, {"schedule": {"corn": "* * * * *"}}, {"notify": {"on": "paused"}},
    ],
)  # fmt: skip
def test_what_the_schema_refuses_the_program_refuses_too(change):
    validator = Draft202012Validator(make_schema())
    assert list(validator.iter_errors(GOOD | change)) != []
    with pytest.raises(SettingsError):
        check_settings(GOOD | change, "test")


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({}, None),
        ({"schedule": {"every": "6h"}}, "every 6 h 00 min"),
        ({"schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}}, "at '0 3 * * *' (Europe/Berlin)"),
        ({"schedule": {"between": "22:00-06:00"}}, "between 22:00 and 06:00 (UTC)"),
        ({"limits": {"weight": 2.5}}, "weight 2.5"),
        ({"crawl": {"estimator": "adaptive", "switch_after": 0}}, None),
        ({"crawl": {"shadows": ["bfs", "nh-e-sum"]}}, "shadows bfs, nh-e-sum"),
        ({"crawl": {"shadows": []}}, "no shadows"),
    ],
)
def test_what_a_daemon_does_beside_is_told_where_it_is_not_the_usual(tmp_path, sections, told):
    written(tmp_path, "a.toml", name="a", topic={"keywords": ["sky"]}, budget={"max_money": 1}, **sections)
    console = Console(file=StringIO(), width=300)
    assert check([tmp_path / "a.toml"], console) == 0
    line = console.file.getvalue()
    plain = f"ok     {tmp_path / 'a.toml'}: campaign 'a', steps until the frontier is empty with adaptive, into "
    plain += f"{tmp_path / 'socialcrawl.db'}{'' if told is None else f', {told}'}; at most $1.00\n"
    assert line == plain


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"schedule": {"timezone": "Europe/Berlinn"}}, "did you mean 'Europe/Berlin'"),
        ({"crawl": {"shadows": ["sklearn.linear_model.Nothing"]}}, "sklearn.linear_model.Nothing"),
        ({"accounts": {"exclude": ["ann"]}, "seeds": {"usernames": ["Ann"]}}, "'ann' under [accounts] excludes it"),
    ],
)
def test_what_is_wrong_with_the_new_keys_is_told_with_its_file(tmp_path, sections, said):
    written(tmp_path, "a.toml", name="a", topic={"keywords": ["sky"]}, budget={"max_money": 1}, **sections)
    console = Console(file=StringIO(), width=300)
    assert check([tmp_path / "a.toml"], console) == 2
    assert console.file.getvalue().startswith(f"WRONG  {tmp_path / 'a.toml'}: ")
    assert said in console.file.getvalue()


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        ({"labels": "none.csv"}, "none.csv"),
        ({"least": 0}, "Nothing tells what is on topic: give least"),
        ({"expressions": ["(("]}, "The regular expression '((' is not valid: missing )"),
    ],
)
def test_what_a_sample_cannot_judge_by_is_told_beside_the_budget_that_is_missing(tmp_path, sample, said):
    seeds = {"usernames": ["ann"]}
    written(tmp_path, "a.toml", name="a", kind="sample", topic={"keywords": ["sky"]}, seeds=seeds, sample=sample)
    console = Console(file=StringIO(), width=300)
    assert check([tmp_path / "a.toml"], console) == 2
    lines = console.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["WRONG"] * 2
    assert any("Set max_money (dollars) or max_posts under [budget]" in line for line in lines)
    assert any(said in line for line in lines)


PAGE = (Path(__file__).parents[3] / "docs/reference/campaigns.md").read_text("utf-8")


def keys_of_the_page():
    """section -> key -> default, as the page of campaign files has them."""
    found, section = {}, ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            section = re.sub(r"^## `\[(\w+)\]`.*|^## .*", r"\1", line)
        elif match := re.match(r"\| `([\w.]+)` \|([^|]*)\|([^|]*\w[^|]*)\|$", line):
            found.setdefault(section, {})[match[1]] = match[2].strip()
    return found


def test_every_key_is_explained_on_the_page_of_campaign_files_with_its_default():
    whole = make_schema()
    sections = {"": {}}
    for name, told in whole["properties"].items():
        reference = told.get("$ref") or told.get("allOf", [{}])[0].get("$ref")
        if reference:
            sections[name] = dict(whole["$defs"][reference.rsplit("/", 1)[1]]["properties"])
        else:
            sections[""][name] = told
    tokens = whole["$defs"]["TokenSection"]["properties"]
    sections["source"] |= {f"tokens.{key}": told for key, told in tokens.items()}
    assert {name: sorted(keys) for name, keys in keys_of_the_page().items()} == {
        name: sorted(keys) for name, keys in sections.items()
    }
    for name, keys in sections.items():
        for key, told in keys.items():
            shown = keys_of_the_page()[name][key]
            if "default" in told and told["default"] is not None:
                assert tomllib.loads(f"x = {shown.strip('`')}")["x"] == told["default"], (name, key)
            else:
                assert shown == "", (name, key)


def test_the_examples_of_the_page_are_valid():
    blocks = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        check_settings(
            {"name": "a", "topic": {"keywords": ["sky"]}} | tomllib.loads(block), "docs/reference/campaigns.md"
        )


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
