import re
import tomllib

import pytest
from example_counts import many
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_settings import FILE
from x_crawls import campaign_of

from socialcrawl.campaign.build import build
from socialcrawl.campaign.keywords import find_questionable
from socialcrawl.campaign.settings import Section, Settings, check_settings, read
from socialcrawl.campaign.template_file import write_campaign_file
from socialcrawl.errors import SettingsError
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.system.files import find_folder


def fields():
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from ((name, inner.alias or key, inner) for key, inner in kind.model_fields.items())
        else:
            yield ("", name, field)


def test_every_setting_stands_in_the_campaign_file_or_says_itself_what_it_is():
    text = (find_folder("config") / "campaign.toml").read_text("utf-8")
    bare = [
        f"[{section}] {key}"
        for section, key, field in fields()
        if not re.search(rf"^(# )?{key} = ", text, re.MULTILINE) and not field.description
    ]
    assert bare == []


def test_every_setting_of_the_campaign_file_is_valid_also_those_in_comments():
    lines = (find_folder("config") / "campaign.toml").read_text("utf-8").splitlines()
    text = "\n".join(re.sub(r"^# (?=[a-z_]+ = |\[)", "", line) for line in lines)
    given = tomllib.loads(text)
    least = {"name": "a", "topic": {"keywords": ["a"]}}
    assert (
        check_settings({key: given.pop(key) for key in ("kind", "track")} | least, FILE).track
        == check_settings(least, FILE).track
    )
    del given["source"]["token_env"]  # it is instead of tokens
    del given["schedule"]["continuous"], given["schedule"]["every"]  # and these are instead of cron
    found = check_settings(given, FILE)
    assert found.topic.patterns == [r"libre\w+"]
    assert found.source.base_url == "http://127.0.0.1:8000"
    assert found.budget.max_requests == 500
    assert found.topic.span == (1_793_491_200.0, 1_796_148_000.0)
    assert found.schedule.schedule.describe() == "at '0 3 * * *', for 60 min, between 22:00 and 06:00 (Europe/Berlin)"


def test_the_campaign_file_that_init_writes_has_the_new_sections_as_they_are_without_it():
    given = tomllib.loads((find_folder("config") / "campaign.toml").read_text("utf-8"))
    found, plain = check_settings(given, FILE), check_settings({"name": "a", "topic": {"keywords": ["a"]}}, FILE)
    assert found.schedule.schedule == plain.schedule.schedule
    assert (found.accounts, found.notify, found.limits) == (plain.accounts, plain.notify, plain.limits)
    assert found.identity([]) | {"topic": 0} == plain.identity([]) | {
        "topic": 0,
        "seeds": {"search": True, "most": 5, "search_pages": 1, "usernames": []},
    }


def test_a_file_is_read_with_its_paths_from_its_folder(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "c.toml"
    file.write_text('name = "c"\ndatabase = "c.db"\n[topic]\nkeywords = ["sky"]\n[seeds]\nfile = "s.txt"\n', "utf-8")
    monkeypatch.chdir("/")
    found = read(file)
    assert (found.database, found.seeds.file) == (tmp_path / "deep" / "c.db", tmp_path / "deep" / "s.txt")
    file.write_text(f'name = "c"\ndatabase = "{tmp_path}/else.db"\n[topic]\nkeywords = ["sky"]\n', "utf-8-sig")
    assert (read(file).database, read(file).seeds.file) == (tmp_path / "else.db", None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name = ", "is not valid TOML"),
        (b"\xff\xfe", "it is not UTF-8"),
        (b"a = 1\na = 2", "is not valid TOML"),
        (None, "init"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, said):
    file = tmp_path / "c.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError) as error:
        read(file)
    assert str(file) in str(error.value)
    assert said in str(error.value)
    with pytest.raises(SettingsError, match="is a folder, not a campaign file: name a campaign file"):
        read(tmp_path)


WORDS = [
    'say "no"',
    "back\\slash",
    "naïve",
    "日本 語",
    "pre*",
    "it's",
    "tab\there",
    "line\nbreak",
    "del\x7f",
    "[x]",
    "a # b",
]


@given(
    st.lists(
        st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4
    )
)
@settings(max_examples=many(50), deadline=None)
def test_init_writes_a_file_that_says_the_keywords_it_was_given(tmp_path_factory, words):
    assume(not find_questionable(words))
    file = tmp_path_factory.mktemp("init") / "my topic!.toml"
    write_campaign_file(file, words)
    found = read(file)
    assert found.topic.keywords == words
    assert found.name == "my-topic"
    assert found.database == file.parent / "my-topic.db"


def test_init_without_keywords_leaves_examples_and_overwrites_nothing(tmp_path):
    file = tmp_path / "träume.toml"
    write_campaign_file(file, [])
    assert read(file).topic.keywords
    before = file.read_bytes()
    for path, said in ((file, "already exists"), (tmp_path / "no" / "a.toml", "does not exist"), (tmp_path, "exists")):
        with pytest.raises(SettingsError, match=said):
            write_campaign_file(path, ["x"])
    with pytest.raises(SettingsError, match="cannot be written"):
        write_campaign_file(tmp_path / ("a" * 300 + ".toml"), [])
    with pytest.raises(SettingsError, match="not valid text"):
        write_campaign_file(tmp_path / "b.toml", ["not \udcff text"])
    assert file.read_bytes() == before


def named(tmp_path, content):
    file = tmp_path / "seeds.txt"
    file.write_bytes(content)
    return campaign_of("http://127.0.0.1:1", tmp_path / "a.db", seeds={"search": False, "file": file})


def test_a_file_of_seeds_has_a_name_a_line_and_comments(tmp_path):
    campaign = build(named(tmp_path, "\ufeff# us\r\n@Ann\r\n\r\n  bob_9  \r\n #x\r\n".encode()), CampaignView())
    nodes = campaign.crawl.seeds.unresolved
    assert [who.username for who in campaign.parts.store.accounts(nodes).values()] == ["Ann", "bob_9"]
    campaign.close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a name", "'a name'"),
        (b"naif\n" + "naïve".encode(), "'naïve'"),
        (b"a" * 16, "at most 15"),
        (b"\xff", "seeds.txt"),
    ],
)
def test_a_file_of_seeds_that_is_none_is_refused(tmp_path, content, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        build(named(tmp_path, content), CampaignView())


def test_a_file_of_seeds_that_is_not_there_is_named(tmp_path):
    lost = campaign_of("http://127.0.0.1:1", tmp_path / "a.db", seeds={"file": tmp_path / "lost.txt"})
    with pytest.raises(SettingsError, match=r"lost\.txt cannot be read"):
        build(lost, CampaignView())
