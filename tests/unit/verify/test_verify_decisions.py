"""`socialcrawl verify FOLDER` replays the decisions of an export: every lie is found, and nobody is named for it."""

import csv
import json
import shutil
import tarfile

import pytest
from commands import socialcrawl
from frozen_databases import FOLDER
from stores import opened
from test_sample_campaign import sampling
from test_train import told
from test_verify_export import changed, differences, exported, found_in, put, write_checksum
from verified_campaigns import LIMIT, SHARE, collecting, copied
from verified_campaigns import changed as lied
from x_crawls import crawl, posts, rows

from socialcrawl.cli.commands.forget import ErasureOptions, forget
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.verify.copies import OPTED_OUT
from socialcrawl.verify.exported import EARLIER, TREE, verify_export
from socialcrawl.verify.outcomes import EARLIER_RULE, NO_PAGE
from socialcrawl.verify.replay import FORGOTTEN

NOW = 1_800_000_000.0
CHOSEN = ("expand", "recrawl", "walk", "probe")


def chosen(table, place=9):
    """One of the picks that an estimator, a walk or an order chose."""
    return [row for row in table if row["act"] in CHOSEN][place]


def last(table):
    return max((int(row["node"]), row["node"]) for row in table)[1]


def scored(table):
    """The same, with a score."""
    return next(row for row in table if row["act"] in CHOSEN and float(row["score"] or 0))


def to_another(table):
    put(chosen(table), node=last(table))


def to_another_score(table):
    row = scored(table)
    put(row, score=str(float(row["score"]) * 1.01))


def to_other_settings(section, **more):
    def work(table):
        settings = json.loads(table[-1]["settings"])
        settings[section] |= more
        put(table[-1], settings=json.dumps(settings))

    return work


LIES = {
    "an account": ("collect", "picks", to_another, ("picks", "account")),
    "a score": ("collect", "picks", to_another_score, ("scores and features", "score")),
    "a feature": (
        "collect",
        "picks",
        lambda t: put(chosen(t), features=json.dumps(json.loads(chosen(t)["features"]) | {"n_sum": 77})),
        ("scores and features", "n_sum"),
    ),
    "the score of a shadow": ("collect", "shadows", lambda t: put(t[30], score="7.5"), ("scores and features", None)),
    "a score after changes": ("change", "picks", lambda t: put(t[-1], score="0.5"), ("scores and features", "score")),
    "an account of a track": ("track", "picks", to_another, ("picks", "account")),
    "a mark of a visit": ("track", "picks", lambda t: put(chosen(t), since="77"), ("picks", "since")),
    "what a track knew": ("track", "standings", lambda t: put(t[5], importance="0.9"), ("standings", "importance")),
    "a score of a track": ("follow", "picks", to_another_score, ("scores and features", "score")),
    "an account of a refresh": ("refresh", "picks", to_another, ("picks", "account")),
    "a score of a refresh": ("refresh", "picks", to_another_score, ("scores and features", "score")),
    "an account of a sample": ("sample", "picks", to_another, ("picks", "account")),
    "a weight of a sample": ("sample", "sampled", lambda t: put(t[3], weight="0.5"), ("sampled", "weight")),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_decision_that_was_changed_in_an_export_is_found_where_it_is(lie, tmp_path):
    kind, table, work, (check, column) = LIES[lie]
    folder = shutil.copytree(exported(kind, "csv"), tmp_path / "out")
    before = table_of(folder, table)
    changed(folder, f"{table}.csv", work, honest=True)
    after = table_of(folder, table)
    (place,) = [number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    row = before[place]
    where = f"pick {row['n']}" if "n" in row else f"account {row['node']}"
    assert (check, where, column or f"score of {row['estimator']}") in differences(folder)
    assert not {name for name, *_ in differences(folder)} & {"checksums", "rows of files", "descriptions"}


def table_of(folder, table):
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def test_other_settings_lead_to_other_decisions(tmp_path):
    folder = shutil.copytree(exported("change", "csv"), tmp_path / "out")
    changed(folder, "versions.csv", to_other_settings("crawl", estimator="nh-n-sum"), honest=True)
    assert {name for name, *_ in differences(folder)} & {"picks", "scores and features"}


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("crawl", "estimator", "bfs"), ("crawl", "control", 0.3), ("topic", "keywords", ["soup"]), ("crawl", "new", 1)],
)
def test_settings_that_the_datasheet_alone_tells_otherwise_are_found(section, key, value, tmp_path):
    folder = shutil.copytree(exported("change", "csv"), tmp_path / "out")
    path = folder / "datasheet.json"
    sheet = json.loads(path.read_text("utf-8"))
    sheet["campaigns"][0]["settings"][section][key] = value
    path.write_text(json.dumps(sheet), "utf-8")
    write_checksum(folder, "versions.csv", len(table_of(folder, "versions")))
    place = "settings of the datasheet", "datasheet.json", f"{section}.{key}"
    assert place in differences(folder)
    assert "descriptions" not in {name for name, *_ in differences(folder)}


def test_everything_in_a_database_is_proved_campaign_by_campaign(tmp_path):
    database = copied("collect", tmp_path)
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        named = {"usernames": [posts().authors[0]], "search": False}
        crawl(collecting(mock.url, database, seeds=named, crawl={"steps": 9}).model_copy(update={"name": "second"}))
    with opened(database) as connection:
        export(connection, tmp_path / "out", ExportOptions(formats=("jsonl",), whole=True), NOW)
    parts = {part.campaign: {check.name: check for check in part.checks} for part in verify_export(tmp_path / "out")}
    assert not [one for part in parts.values() for check in part.values() for one in check.differences]
    count = dict(rows(database, "select name, count(*) from pick join campaign on id = campaign group by 1"))
    assert {name: part["picks"].proved for name, part in parts.items() if name} == count
    assert len(count) == 2


def test_an_export_of_an_earlier_version_is_verified_as_it_was(tmp_path):
    with tarfile.open(FOLDER / "0.1.0" / "x-collect-export.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    folder = tmp_path / "x-collect"
    count = len(table_of(folder, "picks"))
    found = {name: check for (_, name), check in found_in(folder).items()}
    assert differences(folder) == []
    assert (found["picks"].proved, found["picks"].unproved) == (0, {EARLIER: count})
    assert found["settings of the datasheet"].unproved == {EARLIER: 1}
    assert found["outcomes"].proved > 10
    assert not {"scores and features", "budgets"} & found.keys()
    told = f"not provable: {count} picks, 1 settings of the datasheet: {EARLIER}"
    assert told in socialcrawl("verify", folder).stdout


def test_who_was_forgotten_or_excluded_and_where_the_campaign_ran_is_in_no_file(tmp_path):
    database = tmp_path / "secret-place.db"
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        one, other, third, never = posts().authors[:4]
        (tmp_path / "names-of-seeds.txt").write_text(third, "utf-8")
        named = {"usernames": [one, other], "file": tmp_path / "names-of-seeds.txt", "search": False}
        crawl(collecting(mock.url, database, seeds=named, accounts={"exclude": [never, "*_secretive"]}))
        forget(database, ErasureOptions(yes=True, as_json=True), read_order([other], [], None, None), "x")
        with opened(database) as connection:
            export(connection, tmp_path / "out", ExportOptions(formats=("csv", "jsonl")), NOW)
    assert [row["account"].lower() for row in table_of(tmp_path / "out", "seeds")] == [one.lower(), "", third.lower()]
    gone = rows(database, "select distinct node from outcome where missing = 'forgotten'")
    assert [row["node"] for row in table_of(tmp_path / "out", "seeds")][1] == str(gone[0][0])
    written = "".join(path.read_text("utf-8") for path in (tmp_path / "out").iterdir() if path.name != "posts.csv")
    for secret in (mock.url, "secret-place", "names-of-seeds", "_secretive", "token_env", "SOCIALCRAWL"):
        assert secret not in written, secret
    settings = "".join(row["settings"] for row in table_of(tmp_path / "out", "versions"))
    assert not [name for name in (one, other, third, never, "exclude", "/tmp", "http") if name in settings]
    found = {name: check for (_, name), check in found_in(tmp_path / "out").items()}
    assert not [difference for check in found.values() for difference in check.differences]
    assert found["picks"].unproved[FORGOTTEN] == 2  # it was looked up, and read


@pytest.mark.parametrize(
    "judged",
    [
        {"focus": "ancestor", "least": 3, "wider_patterns": ["*secretive*"], "wider_labels": "labels-by-hand.csv"},
        {"patterns": ["*secretive*", "*a*"], "expressions": ["secretive"], "labels": "labels-by-hand.csv"},
    ],
    ids=["wider topic", "topic"],
)
def test_a_sample_that_judges_by_names_is_proved_and_tells_none_of_them(judged, tmp_path):
    labels = tmp_path / "labels-by-hand.csv"
    labels.write_text("account,on_topic\nsecretive,yes\n", "utf-8")
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        given = {key: str(labels) if key.endswith("labels") else value for key, value in judged.items()}
        settings = sampling(mock.url, tmp_path / "a.db", sample=given)
        crawl(settings)
        with opened(settings.database) as connection:
            export(connection, tmp_path / "out", ExportOptions(formats=("csv",)), NOW)
    found = {name: check for (_, name), check in found_in(tmp_path / "out").items()}
    assert not [one for check in found.values() for one in check.differences]
    assert found["picks"].proved == rows(settings.database, "select count(*) from pick")[0][0] > 40
    for file in ("versions.csv", "datasheet.json", "datasheet.md"):
        written = (tmp_path / "out" / file).read_text("utf-8")
        assert "secretive" not in written
        assert "labels-by-hand" not in written


def test_a_sample_that_a_tree_judges_is_proved_from_its_matches(tmp_path):
    on, off = tmp_path / "on.txt", tmp_path / "off.txt"
    on.write_text("\n".join(f"the telescope of {i}" for i in range(12)), "utf-8")
    off.write_text("\n".join(f"the soup of {i}" for i in range(12)), "utf-8")
    assert told(tmp_path / "tree.json", "--on", on, "--off", off)[0] == 0
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        settings = sampling(mock.url, tmp_path / "a.db", sample={"tree": str(tmp_path / "tree.json")})
        crawl(settings)
    with opened(settings.database) as connection:
        export(connection, tmp_path / "out", ExportOptions(formats=("csv",)), NOW)
    (tmp_path / "tree.json").unlink()
    found = {name: check for (_, name), check in found_in(tmp_path / "out").items()}
    assert differences(tmp_path / "out") == []
    assert found["matches"].unproved == {TREE: rows(settings.database, "select count(*) from hit")[0][0]}
    assert found["picks"].proved == rows(settings.database, "select count(*) from pick")[0][0]


@pytest.mark.parametrize(("keyword", "why"), [("#telescope", EARLIER_RULE), ("telescope", None)])
def test_a_topic_that_an_earlier_rule_counted_is_not_counted_by_the_rule_of_today(keyword, why, tmp_path):
    named = {"usernames": list(posts().authors[:3]), "search": False}
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        crawl(collecting(mock.url, tmp_path / "a.db", topic={"keywords": [keyword]}, seeds=named, crawl={"steps": 6}))
    lied(tmp_path / "a.db", "update campaign set identity = json_remove(identity, '$.counting')")
    lied(tmp_path / "a.db", "update outcome set value = 1, occurrences = 1 where n = (select max(n) from outcome)")
    with opened(tmp_path / "a.db") as connection:
        export(connection, tmp_path / "out", ExportOptions(formats=("csv",)), NOW)
    outcomes = {name: check for (_, name), check in found_in(tmp_path / "out").items()}["outcomes"]
    assert [*outcomes.unproved] == ([why] if why else [NO_PAGE])
    assert why is None or outcomes.unproved[why] == rows(tmp_path / "a.db", "select count(*) from outcome")[0][0]
    assert bool(outcomes.differing) == (why is None)


def test_a_seed_that_opted_out_keeps_its_place_without_its_name(tmp_path):
    database = copied("change", tmp_path)
    with opened(database) as connection:
        export(connection, tmp_path / "before", ExportOptions(formats=("csv",)), NOW)
        (seat,) = table_of(tmp_path / "before", "seeds")
        assert seat["account"]
        lied(database, "update outcome set missing = 'opted-out' where node = ?", int(seat["node"]))
        export(connection, tmp_path / "after", ExportOptions(formats=("csv",)), NOW)
    assert table_of(tmp_path / "after", "seeds") == [{**seat, "account": ""}]
    copies = {name: check for (_, name), check in found_in(tmp_path / "after").items()}["copied columns"]
    assert (copies.differing, copies.unproved) == (0, {OPTED_OUT: 1})
    changed(tmp_path / "after", "seeds.csv", lambda table: put(table[0], account="somebody"), honest=True)
    assert ("copied columns", "account") in [one[0::2] for one in differences(tmp_path / "after")]
