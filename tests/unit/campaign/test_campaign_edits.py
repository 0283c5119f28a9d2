"""Campaign files that are edited by programs: checks, conflicts, and how they are written."""

import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import socialcrawl as sc
from socialcrawl.campaign import campaign_edits
from socialcrawl.campaign.settings import read
from socialcrawl.campaign.template_file import write_campaign_file
from socialcrawl.daemon.campaign_folder import CampaignFolder
from socialcrawl.system.locks import Lock

FROZEN = sorted((Path(__file__).parents[2] / "compatibility/frozen").glob("*/*.toml"))
TEXT = 'name = "a"  # mine\n\n[topic]\nkeywords = ["sky"]  # what for\n\n[budget]\nmax_money = 5.0  # dollars\n'


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(TEXT.encode())
    return path


def test_a_budget_is_raised_a_seed_added_and_an_account_excluded_and_comments_stay(file):
    edited = sc.CampaignFile.load(file)
    edited.set("budget", "max_money", 20)
    edited.add("seeds", "usernames", "ann")
    edited.add("seeds", "usernames", "ann")
    edited.add("accounts", "exclude", "*_bot")
    edited.save()
    found = read(file)
    assert (found.budget.max_money, found.seeds.usernames, found.accounts.exclude) == (20.0, ["ann"], ["*_bot"])
    text = file.read_text("utf-8")
    assert text.startswith(TEXT.replace("5.0 ", "20 "))
    assert text.endswith('\n[seeds]\nusernames = ["ann"]\n\n[accounts]\nexclude = ["*_bot"]\n')


def test_a_value_is_removed_wherever_it_is_and_comments_stay(file):
    edited = sc.CampaignFile.load(file)
    for name in ("ann", "bob"):
        edited.add("seeds", "usernames", name)
    edited.remove("seeds", "usernames", "ann")
    edited.remove("seeds", "usernames", "nobody")
    edited.remove("crawl", "shadows", "bfs")
    edited.save()
    found = read(file)
    assert (found.seeds.usernames, found.crawl.shadows) == (["bob"], ["hybrid-sum"])
    assert file.read_text("utf-8").startswith(TEXT)
    with pytest.raises(sc.SettingsError, match="this is no list"):
        edited.remove("crawl", "steps", 5)


def test_a_value_is_added_to_the_default_of_a_list_that_the_file_does_not_name(file):
    edited = sc.CampaignFile.load(file)
    edited.add("crawl", "shadows", "nh-ne-avg")
    assert edited.settings["crawl"]["shadows"] == ["bfs", "hybrid-sum", "nh-ne-avg"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"budget": {"max_money": -1}}, "a.toml, line 7: [budget] max_money = -1: write a number above 0."),
        ({"budget": {"max_money": float("nan")}}, "a.toml, line 7: [budget] max_money = nan: write a finite number."),
        ({"topic": {"keyword": "x"}}, "a.toml: unknown key 'keyword' under [topic]. Did you mean 'keywords'?"),
        ({"budget": 5}, "it is a table, so write [budget] and its keys below."),
        ({"nonsense": {"a": 1}}, "a.toml: unknown key 'nonsense'."),
        ({"name": None}, "name is missing"),
        ({"topic": {"keywords": ["\ud800"]}}, "the value of 'keywords' is not valid text"),
        ({"topic": {"keywords": [None]}}, "[topic] keywords is a NoneType: give a text"),
        ({"seed": object()}, "seed is a object: give a text"),
        ({"source": {"token_env": "AAAAAAAAAAAAAAAAAAAAAMLheAAAAAAA0%2BuSeid%2BULvsea4JtiGRiSDSJSI%3DEUifi"}}, "token"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_as_check_does_and_changes_nothing(file, values, said):
    edited = sc.CampaignFile.load(file)
    with pytest.raises(sc.SettingsError) as error:
        edited.update({"seed": 3, **values})
    assert said in str(error.value)
    assert edited.text == TEXT


def test_a_message_of_an_edit_is_that_of_the_file_that_says_the_same(file):
    with pytest.raises(sc.SettingsError) as edit:
        sc.CampaignFile.load(file).update({"name": "a b", "budget": {"max_money": "20"}, "topic": {"keywords": "sky"}})
    wrong = TEXT.replace('"a"', '"a b"').replace("5.0", '"20"').replace('["sky"]', '"sky"')
    file.write_text(wrong, "utf-8")
    with pytest.raises(sc.SettingsError) as check:
        read(file)
    assert str(edit.value) == str(check.value)


def test_a_list_that_holds_itself_is_refused(file):
    endless = []
    endless.append(endless)
    with pytest.raises(sc.SettingsError, match="list"):
        sc.CampaignFile.load(file).set("topic", "keywords", endless)


def test_a_file_does_not_become_larger_than_one_that_is_read(file):
    edited = sc.CampaignFile.load(file)
    with pytest.raises(sc.SettingsError, match="would be larger than 1 MB"):
        edited.set("topic", "keywords", ["x" * 1_000_000])
    assert edited.text == TEXT


def test_texts_that_look_like_toml_stay_texts(file):
    words = ['"]\n[budget]\nmax_money = 1', "# no comment", "'''", "\\u0041", "a\tb"]
    edited = sc.CampaignFile.load(file)
    edited.set("topic", "patterns", words[1:2])
    edited.set("topic", "keywords", words)
    edited.save()
    assert tomllib.loads(file.read_text("utf-8"))["topic"] == {"keywords": words, "patterns": ["# no comment"]}
    assert read(file).budget.max_money == 5.0


def test_windows_files_stay_as_windows_writes_them(file):
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    edited = sc.CampaignFile.load(file)
    edited.set("budget", "max_money", 20)
    edited.save()
    expected = TEXT.replace("5.0 ", "20 ").replace("\n", "\r\n")
    assert file.read_bytes() == b"\xef\xbb\xbf" + expected.encode()


def test_a_wrong_file_is_loaded_and_corrected(file):
    file.write_text(TEXT.replace("5.0", "-5.0"), "utf-8")
    edited = sc.CampaignFile.load(file)
    with pytest.raises(sc.SettingsError, match=r"a\.toml, line 7: \[budget\] max_money = -5\.0"):
        _ = edited.settings
    edited.set("budget", "max_money", 5.0)
    edited.save()
    assert file.read_text("utf-8") == TEXT


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"name = ", "is not valid TOML"), (b"\xff\xfe", "is not UTF-8"), (b"SQLite format 3\x00" + bytes(200), "a.toml")],
)
def test_what_is_no_campaign_file_is_refused(file, data, said):
    file.write_bytes(data)
    with pytest.raises(sc.SettingsError, match=said):
        sc.CampaignFile.load(file)


def test_another_edit_in_between_is_a_conflict_that_says_what_differs(file):
    mine, yours = sc.CampaignFile.load(file), sc.CampaignFile.load(file)
    yours.set("budget", "max_money", 7)
    yours.save()
    mine.set("budget", "max_money", 20)
    with pytest.raises(sc.ConflictError, match="was changed since it was read: nothing was saved") as error:
        mine.save()
    assert error.value.difference == ("-max_money = 5.0  # dollars", "+max_money = 7  # dollars")
    assert read(file).budget.max_money == 7
    yours.set("budget", "max_money", 8)
    yours.save()  # its own edit is none of somebody else
    assert read(file).budget.max_money == 8


def test_a_conflict_shows_no_secret(file):
    edited = sc.CampaignFile.load(file)
    file.write_text(TEXT + '\n[source]\nbase_url = "https://me:hunter2@example.org"\n', "utf-8")
    edited.set("budget", "max_money", 20)
    with pytest.raises(sc.ConflictError) as error:
        edited.save()
    assert "hunter2" not in f"{error.value}{error.value.difference}"
    assert "+base_url = ..." in error.value.difference


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: path.write_bytes(b"\xff")])
def test_a_file_that_is_gone_or_no_text_any_more_is_a_conflict(file, change):
    edited = sc.CampaignFile.load(file)
    change(file)
    left = file.read_bytes() if file.exists() else None
    edited.set("budget", "max_money", 20)
    with pytest.raises(sc.ConflictError, match=r"[Nn]othing was saved"):
        edited.save()
    assert (file.read_bytes() if file.exists() else None) == left


def test_the_digest_that_a_page_has_shown_is_checked_when_it_is_loaded_again(file):
    shown = sc.CampaignFile.load(file).digest
    assert sc.CampaignFile.load(file, digest=shown).digest == shown
    file.write_text(TEXT + "# more\n", "utf-8")
    with pytest.raises(sc.ConflictError, match="was changed since you have seen it"):
        sc.CampaignFile.load(file, digest=shown)


SAVER = """
import sys, socialcrawl as sc
file = sc.CampaignFile.load(sys.argv[1])
file.set("budget", "max_money", int(sys.argv[2]))
print("read", flush=True)
sys.stdin.readline()
try:
    file.save()
except sc.ConflictError:
    print("conflict")
else:
    print("saved")
"""


def test_of_several_processes_that_save_at_once_exactly_one_does(file):
    savers = [
        subprocess.Popen(
            [sys.executable, "-c", SAVER, file, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in (11, 12, 13)
    ]
    assert [saver.stdout.readline() for saver in savers] == ["read\n"] * 3
    for saver in savers:
        saver.stdin.write("\n")
        saver.stdin.flush()
    said = [saver.communicate(timeout=300)[0].strip() for saver in savers]
    assert sorted(said) == ["conflict", "conflict", "saved"]
    assert read(file).budget.max_money == 11 + said.index("saved")
    assert [path.name for path in file.parent.iterdir()] == ["a.toml"]


COUNTER = """
import sys, socialcrawl as sc
for _ in range(10):
    while True:
        file = sc.CampaignFile.load(sys.argv[1])
        file.set("budget", "max_money", file.values["budget"]["max_money"] + 1)
        try:
            file.save()
            break
        except sc.ConflictError:
            pass
"""


def test_no_edit_is_lost_where_several_processes_load_edit_and_save_again_and_again(file):
    counters = [subprocess.Popen([sys.executable, "-c", COUNTER, file]) for _ in range(3)]
    assert [counter.wait(timeout=300) for counter in counters] == [0, 0, 0]
    assert file.read_text("utf-8") == TEXT.replace("5.0 ", "35.0 ")
    assert [path.name for path in file.parent.iterdir()] == ["a.toml"]


def test_a_file_that_another_program_is_saving_is_a_conflict(file):
    edited = sc.CampaignFile.load(file)
    edited.set("budget", "max_money", 20)
    lock = Lock(file.with_name(".a.toml.lock"), "busy")
    with pytest.raises(sc.ConflictError, match="Another program is saving"):
        edited.save()
    lock.release()
    edited.save()
    assert read(file).budget.max_money == 20


def test_a_link_stays_a_link_and_the_file_keeps_its_mode(file, tmp_path):
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "b.toml"
    link.symlink_to(file)
    file.chmod(0o640)
    edited = sc.CampaignFile.load(link)
    edited.set("budget", "max_money", 20)
    edited.save()
    assert link.is_symlink()
    assert read(file).budget.max_money == 20
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in link.parent.iterdir()] == ["b.toml"]


def test_a_write_that_fails_leaves_the_file_as_it_was(file, monkeypatch):
    edited = sc.CampaignFile.load(file)
    edited.set("budget", "max_money", 20)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(campaign_edits.shutil, "copymode", fail)
    with pytest.raises(sc.SettingsError, match=r"a\.toml cannot be saved \(No space left on device\)"):
        edited.save()
    assert file.read_text("utf-8") == TEXT
    assert [path.name for path in file.parent.iterdir()] == ["a.toml"]
    monkeypatch.undo()
    edited.save()
    assert read(file).budget.max_money == 20


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_or_a_file_that_is_read_only_is_named(file):
    edited = sc.CampaignFile.load(file)
    edited.set("budget", "max_money", 20)
    file.chmod(0o400)
    with pytest.raises(sc.SettingsError, match="is read-only: nothing was saved"):
        edited.save()
    file.chmod(0o600)
    file.parent.chmod(0o500)
    try:
        with pytest.raises(sc.SettingsError, match="allow writing in the folder"):
            edited.save()
    finally:
        file.parent.chmod(0o700)
    assert file.read_text("utf-8") == TEXT


@pytest.mark.parametrize(
    ("kind", "platform"),
    [("collect", "x"), ("track", "mastodon"), ("refresh", "web"), ("sample", "bluesky"), ("capture", "x")],
)
def test_a_new_file_is_the_template_with_the_values(kind, platform, tmp_path):
    values = {"kind": kind, "source": {"platform": platform}, "budget": {"max_requests": 77}, "seed": 5}
    if kind != "refresh":
        values["topic"] = {"keywords": ["dark sky"]}
    file = sc.CampaignFile.create(tmp_path / "made.toml", values)
    write_campaign_file(plain := tmp_path / "plain.toml", values.get("topic", {}).get("keywords", []), platform, kind)
    found = tomllib.loads(file.path.read_text("utf-8"))
    assert found["budget"]["max_requests"] == 77
    assert (found["name"], found["seed"]) == ("made", 5)
    comments = [line for line in plain.read_text("utf-8").splitlines() if line.lstrip().startswith("#")]
    assert [line for line in comments if line not in file.text.splitlines()] == []
    assert read(file.path).kind == kind


def test_a_daemon_takes_a_saved_file_for_a_changed_one(file):
    folder = CampaignFolder(file.parent)
    assert [one.settings.budget.max_money for one in folder.find_changes()] == [5.0]
    edited = sc.CampaignFile.load(file)
    edited.set("budget", "max_money", 6.0)  # as long as before
    edited.save()
    seen = folder.find_changes() + folder.find_changes()
    assert [one.settings.budget.max_money for one in seen] == [6.0]


def test_a_new_file_never_overwrites_and_is_not_written_with_wrong_values(file, tmp_path):
    with pytest.raises(sc.SettingsError, match="already exists and was not overwritten"):
        sc.CampaignFile.create(file, {"topic": {"keywords": ["sky"]}})
    assert file.read_text("utf-8") == TEXT
    for values in ({"seed": -1}, {"kind": "wander"}, {"source": {"platform": "y"}}, {"kind": 5}, {"source": 5}):
        with pytest.raises(sc.SettingsError):
            sc.CampaignFile.create(tmp_path / "b.toml", values)
    assert not (tmp_path / "b.toml").exists()


def test_check_says_what_the_command_says(file):
    edited = sc.CampaignFile.load(file)
    assert isinstance(edited.check(), list)
    edited.set("topic", "keywords", ["a word"])
    with pytest.raises(sc.SettingsError, match="still has the examples of the template"):
        edited.check()


@pytest.mark.parametrize("path", FROZEN, ids=lambda path: path.stem)
def test_files_of_older_versions_are_edited(path, tmp_path):
    copy = tmp_path / path.name
    text = path.read_text("utf-8")
    copy.write_text(text, "utf-8")
    before = tomllib.loads(text)
    edited = sc.CampaignFile.load(copy)
    edited.update({"budget": {"max_requests": 4321}, "limits": {"weight": 2.0}})
    edited.save()
    budget, limits = (
        {**before.get(name, {}), **own}
        for name, own in (("budget", {"max_requests": 4321}), ("limits", {"weight": 2.0}))
    )
    assert tomllib.loads(copy.read_text("utf-8")) == {**before, "budget": budget, "limits": limits}


def test_the_comments_of_a_new_file_name_the_variable_that_it_uses(tmp_path):
    for platform, mentions in (("x", 3), ("mastodon", 1)):
        source = {"platform": platform, "token_env": "X_PROJECT_TOKEN"}
        file = sc.CampaignFile.draft(tmp_path / "moon.toml", {"topic": {"keywords": ["moon"]}, "source": source})
        assert file.text.count("X_PROJECT_TOKEN") == mentions, platform
    plain = sc.CampaignFile.draft(tmp_path / "moon.toml", {"topic": {"keywords": ["moon"]}})
    assert "export X_BEARER_TOKEN=" in plain.text
    named = sc.CampaignFile.draft(tmp_path / "moon.toml", {"source": {"token_env": "X_PROJECT_TOKEN"}})
    assert "export X_PROJECT_TOKEN=" in named.text
    assert "X_BEARER_TOKEN=" not in named.text


def test_a_draft_writes_nothing_before_it_is_saved_and_then_never_over_a_file(tmp_path):
    first, second = (sc.CampaignFile.draft(tmp_path / "moon.toml", {"topic": {"keywords": ["moon"]}}) for _ in range(2))
    assert list(tmp_path.iterdir()) == []
    first.set("crawl", "steps", 9)
    first.save()
    assert read(tmp_path / "moon.toml").crawl.steps == 9
    with pytest.raises(sc.SettingsError, match="already exists and was not overwritten"):
        second.save()
    first.set("crawl", "steps", 10)
    first.save()
    assert read(tmp_path / "moon.toml").crawl.steps == 10


def test_what_is_wrong_is_told_by_key_and_without_the_value(file):
    edited = sc.CampaignFile.load(file)
    with pytest.raises(sc.SettingsError) as caught:
        edited.update({"budget": {"max_money": -5.25}, "crawl": {"stepz": 1}, "seed": "nine"})
    assert [key for key, _ in caught.value.problems] == ["seed", "crawl.stepz", "budget.max_money"]
    assert not [said for _, said in caught.value.problems if "5.25" in said or "nine" in said]
    assert len(str(caught.value).splitlines()) == 3
    with pytest.raises(sc.SettingsError) as caught:
        edited.set("source", "contact", "AAAAAAAAAAAAAAAAAAAAAMLheAAAAAAA0%2BuSeid%2BULvsea4JtiGRiSDSJSI")
    assert caught.value.secrets == ("source.contact",)


@pytest.mark.parametrize(
    "values", [{"name": {"a": 1}}, {"name": {"": None}}, {"topic": 3}, {"topic": {"keywords": {"a": 1}}}]
)
def test_a_key_that_is_no_table_and_a_table_that_is_none_are_refused(file, values):
    edited = sc.CampaignFile.load(file)
    with pytest.raises(sc.SettingsError):
        edited.update(values)
    assert edited.text == TEXT


def test_changes_of_a_campaign_that_has_begun_are_allowed_begin_an_epoch_or_are_refused(file):
    for values, epoch in (
        ({"budget": {"max_money": 9.0}, "crawl": {"steps": 5}}, []),
        ({"topic": {"keywords": ["sky", "moon"]}}, ["topic.keywords"]),
        ({"seeds": {"usernames": ["ann"]}}, ["seeds.usernames"]),
        ({"accounts": {"exclude": ["*_bot"]}}, ["accounts.exclude"]),
    ):
        edited = sc.CampaignFile.load(file)
        edited.update(values)
        assert edited.check_change() == epoch
    for values, key in (
        ({"name": "b"}, "name"), ({"database": "b.db"}, "database"), ({"seed": 2}, "seed"),
        ({"source": {"pages_per_user": 2}}, "source.pages_per_user"), ({"crawl": {"links": "replies"}}, "crawl.links"),
    ):  # fmt: skip
        edited = sc.CampaignFile.load(file)
        edited.update(values)
        with pytest.raises(sc.SettingsError) as caught:
            edited.check_change()
        assert [one for one, _ in caught.value.problems] == [key]
        assert key in edited.fixed


def test_a_project_edits_its_own_files_only(tmp_path, file):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "b.toml").write_bytes(TEXT.replace('"a"', '"b"').encode())
    project = sc.open_project(inside)
    assert project.load_file("b").path == inside / "b.toml"
    with pytest.raises(sc.SettingsError, match="no campaign 'a'"):
        project.load_file("a")
    with pytest.raises(sc.SettingsError, match="no folder for new campaign files"):
        sc.open_project(file).draft({"name": "c"})
    for name in ("b", "../c", ".c", "", None, 3):
        with pytest.raises(sc.SettingsError) as caught:
            project.draft({"name": name, "topic": {"keywords": ["sky"]}})
        assert caught.value.problems[0][0] == "name"


def test_a_name_that_another_file_has_for_the_same_database_is_refused(tmp_path):
    (tmp_path / "old.toml").write_text('name = "b"\ndatabase = "b.db"\n[topic]\nkeywords = ["sky"]\n', "utf-8")
    with pytest.raises(sc.SettingsError, match="there is a campaign 'b' in"):
        sc.open_project(tmp_path).draft({"name": "b", "topic": {"keywords": ["sky"]}})
