"""Policy tables are checked: what is wrong is told with its place."""

import pytest
from x_crawls import campaign_of

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.policies import load_policy, load_policy_file
from socialcrawl.errors import SettingsError
from socialcrawl.system.files import find_folder

WHOLE = (find_folder("config") / "x.toml").read_text("utf-8")


def written(tmp_path, text):
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    return file


def test_a_copy_of_the_table_is_the_table(tmp_path):
    assert load_policy_file(written(tmp_path, WHOLE)) == load_policy("x")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("k = 10000", "k = 0", "k: input should be greater than or equal to 1"),
        ("d = 900 }]\nuser", 'd = 900, kind = "tumbling" }]\nuser', "kind: input should be 'fixed'"),
        ("once_a_day", "twice_a_day", "twice_a_day: extra inputs"),
        ("post = 0.005", "post = -1", "prices.post"),
        ("post = 0.005", "post = 0.0000049", "steps of 0.00001"),
        ("as_of = 2026-11-01", 'as_of = "soon"', "as_of"),
        ("smallest = 5", "smallest = 500", "a smallest page above its page: lower smallest"),
        ("[prices]", "[prices", "not valid TOML"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_its_place(tmp_path, before, after, said):
    assert before in WHOLE
    with pytest.raises(SettingsError) as error:
        load_policy_file(written(tmp_path, WHOLE.replace(before, after)))
    assert said in str(error.value)


def test_a_table_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load_policy_file(tmp_path / "lost.toml")


def test_a_table_without_an_endpoint_that_the_crawl_needs_is_refused(tmp_path):
    file = written(tmp_path, WHOLE.replace("/2/users/:id/tweets", "/2/users/:id/posts"))
    with pytest.raises(SettingsError, match="no rules for /2/users/:id/tweets"):
        make_plan(campaign_of("http://127.0.0.1:1", tmp_path / "a.db", source={"policy": file}))


def test_windows_of_a_campaign_take_the_place_of_all_rules_of_an_endpoint(tmp_path):
    settings = campaign_of("http://127.0.0.1:1", tmp_path / "a.db", limits={"k": 7, "d": None})
    rules = make_plan(settings).policy.endpoints["/2/users/:id/tweets"]
    assert [(rule.k, rule.d) for rule in (*rules.app, *rules.user)] == [(7, 900.0), (7, 900.0)]
