"""Campaigns that sample a topic, live: against the mock server, on disk, changed, erased, exported."""

import csv
import json
from collections import defaultdict
from functools import lru_cache

import pytest
from test_platforms import TOPICAL, OnBluesky, OnMastodon, referee, serving, told
from test_refresh_campaign import LIMITS, MANY, SOME, everything, exported, run
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, rows

from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.commands.forget import ErasureOptions, forget
from socialcrawl.crawls.facts import SAMPLE
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock.names import DELETED, HERE
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.storage.erasure.orders import read_order

SHARE = 0.2  # of the accounts that are gone
X = {"platform": "x", "token_env": TOKEN_ENV}


def sampling(url, database, source=X, **sections):
    given = {
        "name": "drawn",
        "kind": "sample",
        "database": database,
        "topic": {"keywords": [TOPIC]},
        "seeds": {"most": 5},
        "crawl": {"steps": 60, "refresh_rate": 4},
        "sample": {"walkers": 3, "burn_in": 5},
        "source": {"pages_per_user": 32, **source, "base_url": url, "timeout": 10.0},
        **SOME,
    }
    for name, values in sections.items():
        given[name] = {**given.get(name, {}), **values} if isinstance(values, dict) else values
    return check_settings(given, "test")


@lru_cache
def ids():
    """Usernames by id: X tells of some accounts their id only."""
    accounts = build_world(posts(), SHARE).accounts
    return {str(number): name.lower() for number, name in zip(accounts.ids.tolist(), accounts.usernames, strict=True)}


def walked(database):
    """(act, name, value, occurrences, missing, n) of all walks and of who mentions whom, in order."""
    told = rows(
        database,
        "select p.act, lower(coalesce(a.username, a.platform_id)), o.value, o.occurrences, o.missing, o.n from pick p "
        "join outcome o using (campaign, n) join account a on a.node = p.node where p.act in ('walk', 'inward') "
        "order by n",
    )
    return [(act, ids().get(name, name), *more) for act, name, *more in told]


@pytest.fixture(scope="module")
def truth():
    """By name: the occurrences of the topic, by whom one is mentioned, latest post first; whom one mentions; fates."""
    world, topic, whole = build_world(posts(), SHARE), Topic([TOPIC]), posts()
    count, into, out = defaultdict(int), defaultdict(list), defaultdict(set)
    for i in sorted(range(len(whole.authors)), key=lambda i: -whole.created_at[i]):
        author = whole.authors[i]
        name = author.lower()
        count[name] += topic.count(whole.texts[i])
        for other in whole.list_mentions(i):
            out[name].add(other.lower())
            into[other.lower()].append(name)
    names = [name.lower() for name in world.accounts.usernames]
    return count, into, out, dict(zip(names, world.accounts.fates.tolist(), strict=True))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        settings = sampling(mock.url, tmp_path_factory.mktemp("sample") / "a.db")
        ending = run(settings)
    return settings, ending


def test_whoever_is_read_is_on_topic_or_off_it_as_the_posts_say(drawn, truth):
    settings, ending = drawn
    count, _, _, fates = truth
    assert ending.reason.kind == "done"
    walks = [row for row in walked(settings.database) if row[0] == "walk"]
    assert len(walks) == 60
    for _, name, value, occurrences, missing, _ in walks:
        if name in fates and fates[name] == HERE:
            assert (missing, occurrences, value) == (None, count[name], float(count[name] > 0))
        else:
            assert missing in ("suspended", "protected", "deleted", "unknown")
    assert {row[2] for row in walks} == {0.0, 1.0}
    assert {row[4] for row in walks} > {None}


def test_who_mentions_an_account_is_asked_once_with_it_and_told_by_the_search(drawn, truth):
    settings, _ = drawn
    _, into, _, fates = truth
    acts = walked(settings.database)
    asked = [name for act, name, *_ in acts if act == "inward"]
    assert asked == [name for act, name, *_ in acts if act == "walk"]
    assert len(set(asked)) >= 50  # X tells of some who are gone their name here, their id there
    links = defaultdict(set)
    for n, name, key in rows(settings.database, "select l.n, a.username, a.platform_id from link l join account a "
                                                "using (node)"):  # fmt: skip
        links[n].add(ids()[key] if name is None else name.lower())
    several = many = 0
    for act, name, _, _, missing, n in acts:
        if act == "inward" and missing is None:
            expected = {*[other for other in into[name] if fates[other] == HERE][:100]} - {name}
            assert links[n] == expected
            several += len(expected) > 1
            many += len(into[name]) > 100
    assert several > 5
    assert many > 1
    endpoints = dict(rows(settings.database, "select endpoint, count(*) from request where kind = 'ok' group by 1"))
    assert endpoints["/2/users/:id/mentions"] <= 60


def test_the_accounts_drawn_are_on_topic_and_their_weights_are_one_in_all(drawn, truth):
    settings, _ = drawn
    count, into, out, fates = truth
    found = rows(settings.database, "select lower(account), visits, weight, degree, occurrences from sampled_account")
    assert len(found) > 5
    assert sum(row[2] for row in found) == pytest.approx(1.0)
    on = {row[1] for row in walked(settings.database) if row[0] == "walk" and row[2]}
    found = [(ids().get(name, name), *more) for name, *more in found]
    for name, visits, _, degree, occurrences in found:
        assert name in on
        assert occurrences == count[name] > 0
        near = ({*into[name]} | out[name]) - {name}
        assert 0 < degree <= len(near) + sum(fates[other] == DELETED for other in near)
        assert visits >= 0
    assert sum(row[1] for row in found) > len(found)
    assert {fates[row[0]] for row in found} == {HERE}


@pytest.mark.parametrize(
    ("budget", "most"), [({"max_requests": 30}, 30), ({"max_money": 4.0}, 40), ({"max_nodes": 12}, 12)], ids=str
)
def test_a_budget_ends_the_walks(budget, most, tmp_path):
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        reason, _ = crawl(sampling(mock.url, tmp_path / "a.db", budget=budget))
        assert reason.kind == "budget"
        assert 0 < len([row for row in walked(tmp_path / "a.db") if row[0] == "walk"]) <= most
        spent = rows(tmp_path / "a.db", "select count(*), coalesce(sum(cost), 0) from request")[0]
        assert spent[0] <= budget.get("max_requests", MANY)
        assert spent[1] <= budget.get("max_money", MANY) * 100_000
        assert crawl(sampling(mock.url, tmp_path / "a.db"))[0].kind == "done"
    if "max_nodes" in budget:
        assert len({row[5] for row in walked(tmp_path / "a.db") if row[0] == "walk"}) == 60


@pytest.mark.parametrize(
    ("sections", "fixed"),
    [({"sample": {"walkers": 4}}, "sample"), ({"sample": {"trap": "off"}}, "sample"),
     ({"sample": {"least": 2}}, "sample"), ({"topic": {"keywords": [TOPIC, "more"]}}, "topic"), ({"seed": 2}, "seed")],
    ids=str,
)  # fmt: skip
def test_a_sample_is_one_by_one_rule_of_one_topic(drawn, sections, fixed):
    settings, _ = drawn
    other = sampling("http://127.0.0.1:9", settings.database, **sections)
    for change in (False, True):
        with pytest.raises(SettingsError, match=fixed) as error:
            run(other, change=change)
        assert "another name" in str(error.value)
        assert "--change" not in str(error.value)


def test_more_steps_go_on_where_the_walks_stood(drawn, tmp_path):
    settings, _ = drawn
    database = tmp_path / "a.db"
    database.write_bytes(settings.database.read_bytes())
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        assert run(sampling(mock.url, database, crawl={"steps": 80})).reason.kind == "done"
    acts = walked(database)
    assert acts[:120] == walked(settings.database)
    assert len(acts) == 160
    assert len({row[1] for row in acts}) > 70


def test_who_was_forgotten_leaves_no_trace_and_the_others_stay_on_topic(drawn, tmp_path):
    database = tmp_path / "a.db"
    database.write_bytes(drawn[0].database.read_bytes())
    before = {row[1]: row[2:4] for row in walked(database) if row[0] == "walk"}
    name, node, number = rows(
        database,
        "select s.account, s.node, a.platform_id from sampled_account s join account a using (node) "
        "order by s.visits desc limit 1",
    )[0]
    forget(database, ErasureOptions(yes=True, as_json=True), read_order([name], [], None, None), "x")
    assert rows(database, "select count(*) from sampled where node = ?", node) == [(0,)]
    assert rows(database, "select count(*) from link where node = ?", node) == [(0,)]
    assert rows(database, "select value, occurrences, mark from outcome o where node = ? and n in (select n from pick "
                          "where act = 'walk')", node) == [(0.0, 0, None)]  # fmt: skip
    after = {row[1]: row[2:4] for row in walked(database) if row[0] == "walk"}
    assert {one: value for one, (value, _) in after.items() if one} == {
        one: value for one, (value, _) in before.items() if one != name.lower()
    }
    text = everything(database).lower()
    assert f"'{name.lower()}'" not in text
    assert f"@{name.lower()} " not in text
    assert number not in text
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        assert run(sampling(mock.url, database, crawl={"steps": 75})).reason.kind == "done"
    assert rows(database, "select count(*) from sampled where node = ?", node) == [(0,)]
    assert rows(database, "select count(*) > 5, round(sum(weight), 9) from sampled") == [(1, 1.0)]
    assert rows(database, "select count(*) from pick where node = ? and n >= 120", node) == [(0,)]


@pytest.mark.parametrize("on", [OnBluesky(), OnMastodon()], ids=lambda on: on.name)
def test_other_platforms_are_walked_as_well(on, town, tmp_path):
    names = [on.called(name) for name in ("Bob0", "eve1", "ann2", "dan2")]
    with serving(town, **LIMITS) as mock:
        settings = sampling(
            mock.url, tmp_path / "a.db", on.source, topic={"keywords": list(TOPICAL.keywords)},
            seeds={"search": False, "usernames": names}, sample={"walkers": 2, "burn_in": 0, "length": 60},
        )  # fmt: skip
        assert run(settings).reason.kind == "done"
    found = {on.person(name): value for act, name, value, _, missing, _ in walked(settings.database)
             if act == "walk" and missing is None}  # fmt: skip
    assert len(found) > 5
    assert found == {name: float(referee()[name][0] > 0) for name in found}
    assert any(act == "inward" for act, *_ in walked(settings.database)) == (on.name == "bluesky")
    hosts = {host for (host,) in rows(settings.database, "select host from sampled_account")}
    assert hosts == ({"home.example"} if on.name == "mastodon" else {None})


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    path = tmp_path_factory.mktemp("town") / "town.jsonl"
    path.write_text("\n".join(map(json.dumps, told())), "utf-8")
    return read_posts(path)


def test_the_datasheet_says_how_accounts_were_drawn_and_what_they_stand_for(drawn, tmp_path):
    settings, _ = drawn
    sheet, page = exported(settings, tmp_path / "out")
    (campaign,) = sheet["campaigns"]
    with (tmp_path / "out" / "sampled.csv").open(encoding="utf-8", newline="") as file:
        rows_told = [(row["account"], int(row["visits"]), float(row["weight"])) for row in csv.DictReader(file)]
    assert sorted(rows_told) == sorted(rows(settings.database, "select account, visits, weight from sampled_account"))
    with (tmp_path / "out" / "links.csv").open(encoding="utf-8", newline="") as file:
        ends = {(int(row["source"]), int(row["target"])) for row in csv.DictReader(file)}
    inward = rows(settings.database, "select l.node, p.node from link l join pick p using (campaign, n) "
                                     "where p.act = 'inward'")  # fmt: skip
    assert len(inward) > 5
    assert {*inward} <= ends
    assert campaign["kind"] == "sample"
    assert (campaign["picks"]["walk"], campaign["picks"]["inward"]) == (60, 60)
    assert "focused crawl" not in page
    for words in (
        "what all accounts on topic are like",
        "have to weight them",
        "to accounts on topic only, and stays where it is if it draws another",
        "3 walks; each drops its first 5 visits on topic",
        "the first 100 that the platform's search returns",
        "an account is on topic if its posts that were read have at least 1 occurrence of the topic",
    ):
        assert words in page, words


def test_on_a_wider_topic_walks_go_over_those_who_speak_of_it_once_and_only_who_often_does_is_of_the_sample(
    tmp_path, truth
):
    count = truth[0]
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        settings = sampling(mock.url, tmp_path / "a.db", sample={"focus": "ancestor", "least": 3, "wider_least": 1})
        assert run(settings).reason.kind == "done"
    walks = [row for row in walked(settings.database) if row[0] == "walk" and row[4] is None]
    assert {row[2] for row in walks} == {0.0, 0.5, 1.0}
    for _, _, value, occurrences, _, _ in walks:
        assert value == (1.0 if occurrences >= 3 else 0.5 if occurrences else 0.0)
    often = {name for _, name, value, *_ in walks if value == 1.0}
    found = rows(settings.database, "select lower(account), occurrences from sampled_account")
    assert found
    assert {name for name, _ in found} <= often
    assert all(occurrences == count[name] >= 3 for name, occurrences in found)
    relevant = rows(settings.database, "select lower(account), relevance from top_account")
    assert {name for name, _ in relevant} == often
    assert {relevance for _, relevance in relevant} == {1.0}
    assert rows(settings.database, "select max(relevance) from campaign_progress") == [(float(len(often)),)]
    (campaign,), page = exported(settings, tmp_path / "out")[0]["campaigns"], exported(settings, tmp_path / "2")[1]
    assert campaign["kind"] == "sample"
    assert "to accounts on topic and to those on a wider topic" in page


def test_another_wider_topic_is_another_sample_and_what_its_labels_say_counts_not_where_they_are(tmp_path):
    def identity(labels, **more):
        (tmp_path / "wide.csv").write_text(f"account,on_topic\n{labels}")
        given = {"focus": "ancestor", "wider_labels": str(tmp_path / "wide.csv"), **more}
        return sampling("http://127.0.0.1:9", tmp_path / "a.db", sample=given).identity([])["sample"]

    assert str(tmp_path) not in str(identity("ann,yes\n"))
    assert identity("ann,yes\n") == identity("ann,yes\n") != identity("ann,no\n")
    assert identity("ann,yes\n") != identity("ann,yes\n", wider_patterns=["*@a.example"])


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"refresh": {"z": 3}}, '[refresh] belongs to kind = "refresh"'),
        ({"topic": {"keywords": []}}, "name keywords under [topic]; or, where names or addresses tell"),
        ({"topic": {"keywords": []}, "sample": {"patterns": ["*@a.example"]}}, "name keywords under [topic] to search"),
        ({"seeds": {"search": False}}, "set search = true or name usernames under [seeds]"),
        ({"sample": {"tree": "no.json"}}, "make one with `socialcrawl train`"),
        ({"sample": {"tree": "empty.json"}}, "make one with `socialcrawl train`"),
        ({"sample": {"labels": "no.csv"}}, "name a CSV file"),
        ({"sample": {"labels": "odd.csv"}}, "line 3 says 'perhaps': write yes or no, or 1 or 0"),
        ({"sample": {"least": 0}}, "give least (occurrences, 1 or more), patterns, expressions or labels"),
        ({"sample": {"patterns": [" "]}}, 'write a name, such as "*@jazz.example"'),
        ({"sample": {"expressions": ["("]}}, "The regular expression '(' is not valid"),
        ({"sample": {"exact": True, "focus": "trial"}}, 'exact is for focus = "hard"'),
        ({"sample": {"focus": "soft"}}, "'none', 'hard', 'neighbourhood', 'trial' or 'ancestor'"),
        ({"sample": {"focus": "ancestor"}}, "nothing tells what that is: give wider_patterns, wider_expressions"),
        ({"sample": {"wider_patterns": ["*"]}}, 'wider_patterns is for focus = "ancestor", not "hard"'),
        ({"sample": {"focus": "ancestor", "wider_least": 1}}, "wider_least = 1 is not less than least, 1"),
        ({"sample": {"focus": "ancestor", "wider_labels": "odd.csv"}}, "line 3 says 'perhaps'"),
        ({"sample": {"focus": "ancestor", "wider_expressions": ["("]}}, "The regular expression '(' is not valid"),
        ({"crawl": {"estimator": "bfs"}}, "the accounts to read are set under [sample]"),
    ],
)
def test_what_is_wrong_with_a_sample_is_told_before_anything_is_asked(sections, said, tmp_path):
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "odd.csv").write_text("account,on_topic\nann,yes\nbob,perhaps\n")
    files = {key: str(tmp_path / name) for key, name in sections.get("sample", {}).items() if key in SAMPLE.files}
    sections = {**sections, **({"sample": {**sections["sample"], **files}} if files else {})}
    with pytest.raises(SettingsError) as error:
        crawl(sampling("http://127.0.0.1:9", tmp_path / "a.db", **sections))
    assert said in str(error.value)
    assert not (tmp_path / "a.db").exists()
