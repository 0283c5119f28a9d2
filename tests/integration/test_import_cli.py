"""`socialcrawl import` as people type it."""

import json
import sqlite3
from contextlib import closing

import pytest
import typer
from commands import socialcrawl
from import_files import NOW, drawn, files, name, pages, table, write_lines
from stores import opened
from typer.testing import CliRunner

from socialcrawl.cli.definitions.datasets import import_
from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.importers.import_posts import import_posts
from socialcrawl.storage.erasure.tombstones import make_digest, put_tombstones

app = typer.Typer()
app.command("import")(import_)


def typed(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOCIALCRAWL_DB", raising=False)
    write_lines(tmp_path / "a.jsonl", pages(drawn()))
    text = 'name = "mine"\ndatabase = "mine.db"\n[topic]\nkeywords = ["telescope"]\n'
    (tmp_path / "mine.toml").write_text(text, "utf-8")
    return tmp_path


def test_posts_go_into_a_database_and_what_came_of_it_is_said(place):
    done = typed("a.jsonl", "--db", "b.db")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "60 posts, 60 of them new, into b.db" in done.stderr
    with opened(place / "b.db") as connection:
        assert table(connection, "select count(*) from post") == [(60,)]
    typed("a.jsonl", "--db", "mine.toml")
    with opened(place / "mine.db") as connection:
        hits = sum(post.hits for post in drawn())
        assert table(connection, "select sum(occurrences), max(campaign) from hit") == [(hits, 1)]


def test_with_json_an_import_prints_its_counts_and_nothing_else(place):
    def counted(*words):
        done = typed(*words, "--json")
        assert (done.exit_code, done.stderr) == (0, "")
        return json.loads(done.stdout)

    authors = len({post.author for post in drawn()})
    posts = {"posts": 60, "posts_new": 60, "posts_forgotten": 0, "lines_skipped": 0}
    assert counted("a.jsonl", "--db", "b.db") == {"as": "posts", "database": "b.db", **posts}
    history = counted("a.jsonl", "--as", "history", "--db", "mine.toml")
    more = {"campaign": "mine", "history_accounts": authors, "accounts_fetched_before": 0}
    assert history == {"as": "history", "database": "mine.db", **posts, **more}
    seeds = counted("a.jsonl", "--as", "seeds", "--limit", "3")
    assert seeds["usernames"] == typed("a.jsonl", "--as", "seeds", "--limit", "3").stdout.split()
    assert (seeds["posts"], seeds["authors"]) == (60, authors)


def test_with_json_an_imported_dataset_and_its_tests_are_counted(place):
    (place / "edges.csv").write_text("source,target\nann,bob\nann,cem\n", "utf-8")
    (place / "done.csv").write_text("account,active\nann,true\nzoe,false\n", "utf-8")
    (place / "again.toml").write_text('name = "again"\nkind = "refresh"\ndatabase = "again.db"\n', "utf-8")
    where = {"database": "again.db", "campaign": "again", "lines_skipped": 0}
    first = json.loads(typed("edges.csv", "--as", "dataset", "--db", "again.toml", "--json").stdout)
    dataset = {"as": "dataset", **where, "accounts_new": 3, "links_new": 2}
    assert first == {**dataset, "accounts_known": 0, "accounts_forgotten": 0}
    tested = json.loads(typed("done.csv", "--as", "liveness", "--db", "again.toml", "--json").stdout)
    liveness = {"as": "liveness", **where, "tests_new": 1, "tests_known": 0}
    assert tested == {**liveness, "accounts_not_in_dataset": 1, "accounts_not_tested": 0}


BAD = {
    "posts": ("bad.csv", "--db", "new.db"),
    "posts of a campaign": ("bad.csv", "--db", "mine.toml"),
    "skipped": ("bad.csv", "--db", "new.db", "--skip-bad"),
    "a history": ("bad.csv", "--as", "history", "--db", "mine.toml"),
    "a dataset": ("edges.csv", "--as", "dataset", "--db", "again.toml"),
    "results": ("edges.csv", "--as", "liveness", "--db", "again.toml"),
    "of another kind": ("good.csv", "--as", "dataset", "--db", "mine.toml"),
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD)
def test_an_import_that_fails_leaves_no_database_that_was_not_there(place, words):
    (place / "bad.csv").write_text("author,text\nann,x\n", "utf-8")
    (place / "edges.csv").write_text("from_user,to_user,n\nann,bob,3\n", "utf-8")
    (place / "good.csv").write_text("source,target\nann,bob\n", "utf-8")
    (place / "again.toml").write_text('name = "again"\nkind = "refresh"\ndatabase = "again.db"\n', "utf-8")
    with pytest.raises((PostsFileError, SettingsError)):
        typed(*words)
    assert not list(place.glob("*.db*"))


def test_columns_of_links_that_are_not_read_are_said(place):
    (place / "edges.csv").write_text("source,target,n\nann,bob,3\n", "utf-8")
    (place / "again.toml").write_text('name = "again"\nkind = "refresh"\ndatabase = "again.db"\n', "utf-8")
    done = typed("edges.csv", "--as", "dataset", "--db", "again.toml")
    assert "edges.csv: not read: n. If a column holds weights, call it weight." in done.stderr


def test_an_import_that_fails_keeps_a_database_that_was_there_or_has_something_in_it(place):
    (place / "bad.csv").write_text("author,text\nann,x\n", "utf-8")
    with opened(place / "there.db"):
        pass
    with pytest.raises(PostsFileError):
        typed("bad.csv", "--db", "there.db")
    assert (place / "there.db").exists()
    with pytest.raises(PostsFileError):
        typed("a.jsonl", "bad.csv", "--db", "half.db", "--skip-bad")  # the first file is stored page by page
    with opened(place / "half.db", create=False) as connection:
        assert table(connection, "select count(*) from post") == [(60,)]


def test_a_new_database_that_another_process_opened_meanwhile_stays(place):
    def opened_by_two_and_left_by_one():
        with opened(place / "new.db"):
            other = sqlite3.connect(place / "new.db")
            others.append(other)
            other.execute("select * from post").fetchall()
            raise PostsFileError("a.csv")

    others = []
    with pytest.raises(PostsFileError):
        opened_by_two_and_left_by_one()
    with closing(others[0]) as other:
        assert other.execute("select * from post").fetchall() == []
        assert (place / "new.db").exists()


def test_a_history_says_how_many_authors_the_campaign_has_now(place):
    authors = len({post.author for post in drawn()})
    assert f"{authors} authors are now the history of the campaign 'mine'" in typed(
        "a.jsonl", "--as", "history", "--db", "mine.toml"
    ).stderr  # fmt: skip
    assert f"0 authors are now the history of the campaign 'mine'; {authors} had been fetched before" in typed(
        "a.jsonl", "--as", "history", "--db", "mine.toml"
    ).stderr  # fmt: skip


def test_seeds_can_be_read_by_a_campaign(place):
    from socialcrawl.campaign.plan import make_plan
    from socialcrawl.campaign.settings import read

    done = typed("a.jsonl", "--as", "seeds", "--db", "mine.toml", "--out", "seeds.txt", "--limit", "5")
    assert "can be fetched by name and have posts of the topic" in done.stderr
    with (place / "mine.toml").open("a") as file:
        file.write('[seeds]\nfile = "seeds.txt"\n')
    matching = {}
    for post in drawn():
        matching[name(post.author)] = matching.get(name(post.author), 0) + (post.hits > 0)
    ordered = sorted(matching, key=lambda who: (-matching[who], who.lower()))
    assert make_plan(read(place / "mine.toml")).usernames == ordered[:5]
    assert typed("a.jsonl", "--as", "seeds", "--limit", "3").stdout.count("\n") == 3
    assert not (place / "mine.db").exists()


def test_the_forgotten_are_no_seeds_of_a_database_that_forgot_them(place):
    with opened(place / "mine.db") as connection:
        import_posts(files(), connection, None, NOW)
        with connection.begin():
            put_tombstones(
                connection, [(make_digest("x", "name", "person3"), "name", "forget", "2023-01-01T00:00:00Z")]
            )
    plain = typed("a.jsonl", "--as", "seeds").stdout.split()
    spared = typed("a.jsonl", "--as", "seeds", "--db", "mine.db").stdout.split()
    assert set(plain) - set(spared) == {"Person3"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--as", "tea"), "Unknown --as 'tea'. Choose one of: "),
        (("--as", "history"), "--as history needs the campaign"),
        (("--out", "x"), "--out and --limit are for --as seeds"),
        (("--as", "seeds", "--out", "mine.toml"), "already exists"),
    ],
)
def test_options_that_do_not_go_together_are_refused(place, words, says):
    with pytest.raises(SettingsError, match=says):
        typed("a.jsonl", *words)
    assert not list(place.glob("*.db"))


ONE = '{"author": "ann", "created_at": 1700000000, "text": "a telescope"}\n'


@pytest.mark.parametrize(
    ("file", "text", "words", "said"),
    [
        ("one.jsonl", ONE, ("--db", "b.db"), ["1 post, 1 of them new, into b.db"]),
        ("one.jsonl", ONE, ("--as", "history", "--db", "mine.toml"),
         ["1 post, 1 of them new, into mine.db", "1 author is now the history of the campaign 'mine'"]),
        ("one.jsonl", ONE, ("--as", "seeds"),
         ["1 post by 1 author; 1 of them can be fetched by name and have posts"]),
        ("one.csv", "source,target\nann,bob\n", ("--as", "dataset", "--db", "again.toml"),
         ["2 accounts and 1 link are new in the campaign 'again'"]),
    ],
)  # fmt: skip
def test_one_of_a_thing_is_told_in_the_singular(place, file, text, words, said):
    (place / file).write_text(text, "utf-8")
    (place / "again.toml").write_text('name = "again"\nkind = "refresh"\ndatabase = "again.db"\n', "utf-8")
    assert typed(file, *words).stderr.splitlines() == said


def exported(place, form):
    """A folder with an export of the 60 posts as posts of a campaign."""
    typed("a.jsonl", "--as", "history", "--db", "mine.toml")
    with opened(place / "mine.db") as connection:
        export(connection, place / "out", ExportOptions(formats=form), NOW)
    return place / "out"


@pytest.mark.parametrize("form", [("csv",), ("jsonl",), ("parquet", "csv")])
def test_a_folder_with_an_export_stands_for_its_tables(place, form):
    folder = exported(place, form)
    (place / "again.toml").write_text('name = "again"\nkind = "refresh"\ndatabase = "again.db"\n', "utf-8")
    done = typed(folder, "--as", "dataset", "--db", "again.toml")
    with opened(place / "mine.db", create=False) as connection:
        ((accounts,),) = table(connection, "select count(*) from account")
        ((links,),) = table(  # but for those to oneself
            connection, "select count(*) from link l join pick p using (campaign, n) where l.node <> p.node"
        )
    assert done.stderr == f"{accounts} accounts and {links} links are new in the campaign 'again'\n"
    assert "60 posts, 60 of them new, into b.db" in typed(folder, "--db", "b.db").stderr
    assert typed(folder, "--as", "seeds").stdout == typed("a.jsonl", "--as", "seeds").stdout


def test_a_folder_that_is_no_export_or_lacks_the_table_is_refused_with_what_to_name(place):
    (place / "folder").mkdir()
    with pytest.raises(PostsFileError, match=r"^folder is a folder, not an export: name the files in it, such as"):
        typed("folder", "--db", "b.db")
    folder = exported(place, ("ids",))
    with pytest.raises(PostsFileError, match=r"lacks posts\.csv \(or \.jsonl, \.parquet\): name the files"):
        typed(folder, "--db", "b.db")
    assert not (place / "b.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run",), "name a campaign file"),
        (("mock", "--posts"), "Give the path of a Parquet"),
        (("forget", "--yes", "--from-file"), "name a text"),
    ],
)
def test_a_folder_in_place_of_a_file_is_called_one(place, words, said):
    (place / "folder").mkdir()
    done = socialcrawl(*words, "folder", folder=place)
    assert done.returncode in (1, 2)
    assert "folder is a folder" in done.stderr
    assert said in done.stderr


def test_bad_lines_are_named_and_left_out_on_request(place):
    with (place / "a.jsonl").open("a") as file:
        file.write(json.dumps({"what": 1}) + "\n")
    with pytest.raises(PostsFileError, match="1 bad line, nothing was stored"):
        typed("a.jsonl", "--db", "b.db")
    done = typed("a.jsonl", "--db", "b.db", "--skip-bad")
    assert "1 bad line skipped:\n  a.jsonl, line 10: it is no post" in done.stderr
    assert "60 posts, 60 of them new" in done.stderr
