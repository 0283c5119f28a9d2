"""A capture of posts by their ids on the mock of X: each post that is there once, what is gone, kills, budgets."""

import gzip
import json

import pytest
from archive_captures import MANY, reported
from commands import socialcrawl
from id_captures import GONE, UNKNOWN, bring, found, hydrating, list_chosen, list_ids, list_texts, world
from test_guarantees import FORKED, SERVED, find_undisturbed, hold_the_guarantee
from x_crawls import TOKEN, TOKEN_ENV, TOPIC, crawl, posts, rows, scratch

from socialcrawl.campaign.settings import check_settings
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.names import PROTECTED
from socialcrawl.mock.server import serve_in_thread


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000, missing=GONE) as made:
        yield made


def hydrated(given):
    reason, _ = crawl(check_settings(given, "test"))
    return reason


def stored(database):
    return sorted(text for (text,) in rows(database, "select text from post"))


def test_every_post_of_the_list_that_is_there_is_stored_once_and_paid_once(tmp_path):
    database, made = tmp_path / "a.db", world()
    with serve_in_thread(posts(), limit=100_000, missing=GONE) as mock:
        given = hydrating(mock.url, database, limits=MANY)
        ids = list_ids()
        added = bring(given, tmp_path, [*ids, ids[7]])
        assert (added.new, added.held, added.known, added.forgotten) == (len(ids), 0, 0, 0)
        assert hydrated(given).kind == "done"
        bill = mock.report()
    there = list_texts()
    assert stored(database) == there
    assert bill["totals"]["dollars"] == pytest.approx(0.005 * len(there))
    assert bill["received"]["/2/tweets"] == -(-len(ids) // 100)
    assert rows(database, "select sum(cost) from request") == [(500 * len(there),)]
    chosen = list_chosen()
    hidden = sum(made.accounts.fates[made.author[post]] == PROTECTED for post in chosen)
    gone = {"deleted": len(ids) - len(there) - hidden, "protected": hidden}
    told = reported(database)["hydrated"]
    assert hidden
    assert (told["ids"], told["stored"], told["held"], told["left"]) == (len(ids), len(there), 0, 0)
    assert told["gone"] == gone
    assert told["share"] == pytest.approx(1 - len(there) / len(ids))
    matching = [text for text in there if Topic([TOPIC]).count(text)]
    hits = rows(database, "select text from post join hit on hit.post = post.id")
    assert sorted(text for (text,) in hits) == matching
    assert matching
    joined = "select count(*) from wanted_post w join post p on p.id = w.post where state = 'stored' and p.id = w.id"
    assert rows(database, joined) == [(len(there),)]


def test_a_budget_that_ends_early_resumes_and_says_that_the_share_is_not_known_yet(mock, tmp_path):
    database = tmp_path / "a.db"
    given = hydrating(mock.url, database, limits=MANY, budget={"max_posts": 130})
    bring(given, tmp_path, list_ids())
    assert hydrated(given).kind == "budget"
    told = reported(database)["hydrated"]
    assert (told["share"], told["stored"] + sum(told["gone"].values()) + told["left"]) == (None, len(list_ids()))
    assert 100 <= told["stored"] <= 130
    assert 0 < told["left"] < len(list_ids())
    text = " ".join(socialcrawl("report", database).stdout.split())
    assert f"Share that is gone: not known yet. {told['left']:,} ids are left" in text
    given["budget"] = {"max_posts": 100_000}
    assert hydrated(given).kind == "done"
    assert stored(database) == list_texts()
    asked = rows(database, "select sum(posts), count(*) from request")[0]
    assert asked[0] == len(list_texts()), "no post was asked for twice"


def test_what_is_stored_already_is_held_and_not_bought_and_more_may_be_added(mock, tmp_path):
    database, ids = tmp_path / "a.db", list_ids()
    first = hydrating(mock.url, database, limits=MANY) | {"name": "first"}
    bring(first, tmp_path, ids[:250])
    hydrated(first)
    before = rows(database, "select count(*) from post")[0][0]
    second = hydrating(mock.url, database, limits=MANY)
    added = bring(second, tmp_path, ids)
    assert (added.new, added.held) == (len(ids) - before, before)
    assert bring(second, tmp_path, ids[:300]).known == 300
    hydrated(second)
    assert stored(database) == list_texts()
    of_second = "select sum(posts) from request where campaign = 2"
    assert rows(database, of_second) == [(len(list_texts()) - before,)]
    hits = "select count(*) from hit where campaign = 2"
    assert rows(database, hits) == [(sum(bool(Topic([TOPIC]).count(text)) for text in list_texts()),)]
    more = [str(world().ids[1]), str(world().ids[2])]
    assert bring(second, tmp_path, more).new == 2
    assert hydrated(second).kind == "done"
    child = socialcrawl("report", database, "--campaign", "campaign", "--json")
    told = json.loads(child.stdout)["captured"]["hydrated"]
    assert told["held"] == before
    assert told["ids"] == len(ids) + 2
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def test_ids_come_before_the_slices_of_a_capture_that_also_searches(mock, tmp_path):
    database = tmp_path / "a.db"
    from archive_captures import capturing, list_matches

    given = capturing(mock.url, database, limits=MANY)
    bring(given, tmp_path, list_ids())
    assert hydrated(given).kind == "done"
    acts = [act for (act,) in rows(database, "select act from pick order by n")]
    ordered = [act for place, act in enumerate(acts) if place == 0 or acts[place - 1] != act]
    assert ordered == ["import", "hydrate", "slice"]
    assert set(list_texts()) <= set(stored(database))
    found_by_search = [text for text in list_matches() if text in set(stored(database))]
    assert found_by_search
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def all_ids(url, place):
    given = hydrating(url, place)
    bring(given, scratch(), list_ids(every=1))
    return given


KILLED = {**SERVED, "missing": GONE}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    whole = find_undisturbed(tmp_path_factory.mktemp("whole"), given=all_ids, found=found, serving=KILLED)
    assert {row[2] for row in whole["picks"]} == {"import", "hydrate"}
    assert not whole.pop("profiles"), "none is bought"
    assert all(whole.values())
    return whole


@FORKED
def test_a_capture_of_ids_killed_at_random_moments_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 4, undisturbed, tmp_path, given=all_ids, found=found, serving=KILLED)


@FORKED
@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_a_capture_of_ids_killed_a_hundred_times_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 100, undisturbed, tmp_path, given=all_ids, found=found, serving=KILLED)


def test_what_is_forgotten_is_not_fetched_again_and_its_ids_are_in_no_table(mock, tmp_path):
    database, ids = tmp_path / "a.db", list_ids()
    given = hydrating(mock.url, database, limits=MANY, budget={"max_posts": 130})
    bring(given, tmp_path, ids)
    hydrated(given)
    pending = rows(database, "select id from wanted_post where state = 'wanted' order by position limit 3")
    loudest = "select a.platform_id from post p join account a on a.node = p.author group by 1 order by count(*) desc"
    author = rows(database, f"{loudest} limit 1")[0][0]
    theirs = [key for (key,) in rows(database, "select p.id from post p join account a on a.node = p.author "
                                     "where a.platform_id = ?", author)]  # fmt: skip
    gone = [*theirs, pending[0][0]]
    orders = ["--user", author, "--post", pending[0][0]]
    child = socialcrawl("forget", *orders, "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    assert rows(database, "select count(*) from wanted_post where state = 'forgotten' and id is null") == [(len(gone),)]
    text = json.dumps([rows(database, f"select * from {name}") for name in ("wanted_post", "request", "pick", "post")])
    assert not [key for key in gone if f'"{key}"' in text or f"{key}," in text or f",{key}" in text]
    given["budget"] = {"max_posts": 100_000}
    assert hydrated(given).kind == "done"
    assert not set(gone) & {key for (key,) in rows(database, "select id from post")}
    assert rows(database, "select count(*) from wanted_post where state = 'wanted'") == [(0,)]
    emptied = rows(database, "select count(*) from wanted_post where state = 'forgotten' and id is null")[0][0]
    again = bring(given, tmp_path, ids)
    assert (again.new, again.forgotten) == (0, emptied), "those of the forgotten author that came later too"
    assert emptied >= len(gone)
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def test_the_id_of_a_post_that_never_came_is_in_no_table_once_it_is_forgotten(mock, tmp_path):
    database = tmp_path / "a.db"
    given = hydrating(mock.url, database, limits=MANY)
    bring(given, tmp_path, list_ids())
    assert hydrated(given).kind == "done"
    gone = rows(database, "select id from wanted_post where state = 'deleted' and length(id) > 9 limit 1")[0][0]
    asked = f"select count(*) from request where instr(params, '{gone}') > 0"
    assert rows(database, asked) == [(1,)]
    child = socialcrawl("forget", "--post", gone, "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    assert rows(database, asked) == [(0,)]
    assert gone not in json.dumps([rows(database, f"select * from {name}") for name in ("wanted_post", "request")])


def test_the_command_imports_a_packed_file_quotes_runs_and_tells_bad_lines(mock, tmp_path):
    ids = list_ids()[:20]
    (tmp_path / "sky.toml").write_text(
        'name = "sky"\nkind = "capture"\n[capture]\nids = true\n'
        f'[source]\ntoken_env = "{TOKEN_ENV}"\nbase_url = "{mock.url}"\n'
    )
    variables = {TOKEN_ENV: TOKEN}
    nothing = socialcrawl("run", "sky.toml", folder=tmp_path, **variables)
    assert "import ids of posts with `socialcrawl import FILE --as ids" in " ".join(nothing.stdout.split())
    with gzip.open(tmp_path / "ids.txt.gz", "wt") as file:
        file.write("\n".join([*ids, f"https://twitter.com/ann/status/{ids[2]}", "1.2345E+17"]))
    bad = socialcrawl("import", "ids.txt.gz", "--as", "ids", "--db", "sky.toml", folder=tmp_path)
    assert bad.returncode == 1
    assert "ids.txt.gz, line 22: '1.2345E+17' is no id of a post: it was turned into a rounded number" in bad.stderr
    more = ("--skip-bad", "--json")
    child = socialcrawl("import", "ids.txt.gz", "--as", "ids", "--db", "sky.toml", *more, folder=tmp_path)
    values = json.loads(child.stdout)
    assert {name: values[name] for name in ("ids_new", "ids_held", "ids_known", "ids_forgotten", "lines_skipped")} == {
        "ids_new": 20, "ids_held": 0, "ids_known": 0, "ids_forgotten": 0, "lines_skipped": 1
    }  # fmt: skip
    quote = json.loads(socialcrawl("quote", "sky.toml", "--json", folder=tmp_path, **variables).stdout)
    assert (quote["at_most"]["requests"], quote["at_most"]["posts"], quote["at_most"]["dollars"]) == (1, 20, 0.1)
    assert quote["probably"]["dollars"] == 0.1
    ran = socialcrawl("run", "sky.toml", folder=tmp_path, **variables)
    assert ran.returncode == 0, ran.stderr
    there = sum(world().visible[post] for post in list_chosen()[:19])
    assert f"all ids were asked for: {there} of 20 posts came" in " ".join(ran.stdout.split())
    left = json.loads(socialcrawl("quote", "sky.toml", "--json", folder=tmp_path, **variables).stdout)
    assert left["at_most"]["requests"] == 0
    (database,) = tmp_path.glob("*.db")
    out = tmp_path / "out"
    assert socialcrawl("export", database, "--format", "csv", "--out", out).returncode == 0
    sheet = (out / "datasheet.md").read_text("utf-8")
    assert "1 group of ids fetched (`hydrate`), 1 list of ids imported (`import`)" in sheet
    assert f"{there} stored" in next(line for line in sheet.splitlines() if "posts of imported ids" in line)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("collect", "17\n", "posts are fetched by their ids by one of kind capture"),
        ("capture", '{"id": 17}\n', "has JSON: ids are read from a text with one id per line"),
        ("capture", "number,other\n17,18\n19,20\n", "has no column of ids: it has number, other. Call the column id"),
    ],
)
def test_files_and_campaigns_that_do_not_fit_are_answered_with_what_to_do(kind, text, said, tmp_path):
    (tmp_path / "c.toml").write_text(
        f'name = "sky"\nkind = "{kind}"\n[topic]\nkeywords = ["{TOPIC}"]\n'
        + "[capture]\nids = true\n" * (kind == "capture")
    )
    (tmp_path / "ids.csv").write_text(text)
    child = socialcrawl("import", "ids.csv", "--as", "ids", "--db", "c.toml", folder=tmp_path)
    assert child.returncode == (2 if kind == "collect" else 1)
    assert said in " ".join(child.stderr.split())


def test_an_unknown_id_is_one_of_those_that_are_gone(mock, tmp_path):
    given = hydrating(mock.url, tmp_path / "a.db", limits=MANY)
    bring(given, tmp_path, [UNKNOWN])
    assert hydrated(given).kind == "done"
    assert rows(tmp_path / "a.db", "select id, post, state from wanted_post") == [(UNKNOWN, None, "deleted")]
    assert reported(tmp_path / "a.db")["hydrated"]["share"] == 1.0
