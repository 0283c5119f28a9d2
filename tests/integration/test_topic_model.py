"""`[topic] model`: a file judges texts in place of the keywords, and another content of it is another topic."""

import csv
import json
from math import log

import pytest
from archive_captures import MANY, capturing, list_matches
from commands import campaign_file, socialcrawl
from test_change_mock import ACTIVE, OTHER, found
from test_verify_decisions import NOW, found_in
from verified_campaigns import checks, collecting, differences, lived
from x_crawls import TOPIC, CampaignView, build, campaign_of, crawl, posts, rows, sequence

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings, read
from socialcrawl.crawls.text_models.model_file import read_model
from socialcrawl.crawls.text_models.vocabulary import count_words
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.formats.documents import compute_checksum
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.snapshot import open_snapshot
from socialcrawl.verify.exported import MODEL

NAMED = {"search": False, "usernames": ACTIVE}
READ = "act in ('seed', 'expand') and missing is null"


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as made:
        yield made


def write_tree(path, word):
    """A tree that accepts the texts with a word, written by hand."""
    nodes = [[word, 0.5, 1, 2, 0.5, 2.0], ["", 0.0, -1, -1, 0.0, 1.0], ["", 0.0, -1, -1, 1.0, 1.0]]
    path.write_text(json.dumps({"kind": "socialcrawl tree 1", "about": {}, "idf": {word: 1.0}, "nodes": nodes}))
    return path


def judged(url, database, model, keywords=(), **more):
    more = {"seeds": NAMED, "crawl": {"estimator": "bfs", "steps": 30}, **more}
    return campaign_of(url, database, topic={"keywords": list(keywords), "model": str(model)}, **more)


def list_accepted(database, word):
    return sorted(key for key, text in rows(database, "select id, text from post") if count_words(text)[word])


def test_the_model_decides_what_is_on_topic_and_keywords_are_searched_only(mock, tmp_path):
    database = tmp_path / "a.db"
    crawl(judged(mock.url, database, write_tree(tmp_path / "tree.json", OTHER), [TOPIC], seeds={"most": 10}))
    searches = [json.loads(one)["query"] for (one,) in rows(database, "select params from request where n = 0")]
    assert searches == [TOPIC]
    accepted = list_accepted(database, OTHER)
    assert rows(database, "select post, occurrences from hit order by post") == [(key, 1) for key in accepted]
    assert len(accepted) > 10
    mine = "select count(*) from hit join post on post.id = hit.post where post.author = p.node"
    counted = rows(database, f"select occurrences, value, ({mine}) from outcome join pick p using (n) where {READ}")
    assert len(counted) > 30
    assert [(many, value) for many, value, _ in counted] == [(n, 1 + log(n) if n else 0.0) for *_, n in counted]
    assert differences(database) == []


def test_without_keywords_the_model_alone_decides(mock, tmp_path):
    model = write_tree(tmp_path / "tree.json", TOPIC)
    alone, beside = tmp_path / "alone.db", tmp_path / "beside.db"
    crawl(judged(mock.url, alone, model))
    crawl(judged(mock.url, beside, model, [OTHER]))
    assert found(alone) == found(beside)
    assert sequence(alone) == sequence(beside)
    assert len(found(alone)["hit"]) > 20


def test_processes_that_die_end_where_one_that_lives_does(tmp_path):
    model, lasting, dying = write_tree(tmp_path / "tree.json", OTHER), tmp_path / "lasting.db", tmp_path / "dying.db"
    for database, every in ((lasting, 10**6), (dying, 17)):
        with serve_in_thread(posts(), limit=100_000) as mock:
            settings = collecting(mock.url, database, topic={"keywords": [TOPIC], "model": str(model)})
            assert (lived(settings, every=every) > 2) == (database == dying)
    assert sequence(dying) == sequence(lasting)
    assert found(dying)["hit"] == found(lasting)["hit"]
    assert differences(dying) == []
    assert checks(dying)["matches"].proved == len(found(dying)["hit"]) > 0


def test_another_model_in_the_same_file_is_another_topic_from_the_start(mock, tmp_path):
    mine, oracle, model = tmp_path / "mine.db", tmp_path / "oracle.db", tmp_path / "tree.json"
    crawl(judged(mock.url, mine, write_tree(model, TOPIC)))
    crawl(judged(mock.url, oracle, write_tree(tmp_path / "other.json", OTHER)))
    before = found(mine)
    write_tree(model, OTHER)
    with pytest.raises(SettingsError, match=r"\[topic\] model_checksum was '[0-9a-f]{32}'.*--change"):
        build(judged(mock.url, mine, model), CampaignView())
    assert found(mine) == before
    build(judged(mock.url, mine, model), CampaignView(), change=True).close()
    assert found(mine) == found(oracle) != before
    for database, file in ((mine, model), (oracle, tmp_path / "other.json")):
        crawl(judged(mock.url, database, file, crawl={"estimator": "bfs", "steps": 40}))
    assert found(mine) == found(oracle)
    assert rows(mine, "select number, why from epoch order by number") == [(0, "begun"), (1, "topic")]
    assert differences(mine) == []
    with open_snapshot(mine) as connection:
        export(connection, tmp_path / "out", ExportOptions(formats=("csv",)), NOW)
    told = {name: check for (_, name), check in found_in(tmp_path / "out").items()}
    assert not [one for check in told.values() for one in check.differences]
    assert told["matches"].unproved == {MODEL: len(found(mine)["hit"])}
    sheet = "".join((tmp_path / "out" / name).read_text("utf-8") for name in ("datasheet.json", "datasheet.md"))
    assert f"a model of texts (a file with the checksum `{compute_checksum(model.read_bytes())}`) decided" in sheet
    assert str(tmp_path) not in sheet


def test_what_the_file_says_counts_and_not_where_it_is(mock, tmp_path):
    database, place = tmp_path / "a.db", tmp_path / "elsewhere"
    place.mkdir()
    crawl(judged(mock.url, database, write_tree(tmp_path / "tree.json", TOPIC)))
    moved = (tmp_path / "tree.json").rename(place / "moved.json")
    build(judged(mock.url, database, moved), CampaignView()).close()
    assert rows(database, "select count(*) from epoch") == [(1,)]
    assert rows(database, "select changed from version order by number") == [("[]",), ('["topic.model"]',)]
    assert differences(database) == []


def test_a_model_that_is_gone_or_has_changed_is_told_and_nothing_is_changed(mock, tmp_path):
    database, model = tmp_path / "a.db", write_tree(tmp_path / "tree.json", TOPIC)
    crawl(judged(mock.url, database, model))
    before = found(database)
    good = model.read_bytes()
    write_tree(model, OTHER)
    proved = checks(database)
    model.write_bytes(good)
    whole = checks(database)
    write_tree(model, OTHER)
    (why,) = proved["matches"].unproved
    assert f"The model {model} has changed" in why
    assert (proved["matches"].proved, proved["matches"].unproved[why]) == (0, len(before["hit"]))
    assert whole["matches"].proved == len(before["hit"]) > 20
    for name in ("posts of the ledger", "mentions", "outcomes", "link weights"):
        assert proved[name].proved == whole[name].proved > 0, f"{name}: checked by the stored matches"
    assert differences(database) == []
    done = socialcrawl("verify", database)
    assert done.returncode == 0, done.stderr
    assert f"could not be checked ({len(before['hit'])} matches): The model {model} has changed" in done.stdout
    assert json.loads(socialcrawl("verify", database, "--json").stdout)["verified"][0]["missing"] == [why]
    for data, said in ((b"{}", "is not a model"), (b"\xff" * 99, "is not a model"), (b"[1e999]", "is not a model")):
        model.write_bytes(data)
        with pytest.raises(SettingsError, match=f"{said}.*`socialcrawl train`"):
            build(judged(mock.url, database, model), CampaignView(), change=True)
    model.unlink()
    with pytest.raises(SettingsError, match=r"tree.json cannot be read .*: \[topic\] names it"):
        build(judged(mock.url, database, model), CampaignView())
    (why,) = checks(database)["matches"].unproved
    assert f"The model {model} cannot be read" in why
    model.write_bytes(good)
    assert checks(database)["outcomes"].proved > 30
    build(judged(mock.url, database, model), CampaignView()).close()
    assert found(database) == before


def test_a_capture_stores_what_its_search_finds_and_counts_what_the_model_accepts(mock, tmp_path):
    texts = [count_words(text) for text in list_matches()]
    share = {word: sum(word in text for text in texts) / len(texts) for word in sorted(set().union(*texts))}
    word = min(share, key=lambda one: abs(share[one] - 0.5))
    database, model = tmp_path / "a.db", write_tree(tmp_path / "tree.json", word)
    given = capturing(mock.url, database, limits=MANY, topic={"keywords": [TOPIC], "model": str(model)})
    crawl(check_settings(given, "test"))
    assert rows(database, "select count(*) from post") == [(len(list_matches()),)]
    assert [key for key, _ in found(database)["hit"]] == list_accepted(database, word)
    assert 0 < len(found(database)["hit"]) < len(list_matches())
    assert differences(database) == []


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"source": {"read": "search"}}, "searches for keywords, and a model has none to search for: name keywords"),
        ({"source": {"read": "match"}}, "searches for keywords, and a model has none to search for: name keywords"),
        ({"seeds": {"search": True}}, r"nothing to start from: name keywords under \[topic\] to search for, or"),
        ({"kind": "capture", "capture": {"from": "2026-01-01"}}, r"start from: name keywords under \[topic\] to sear"),
        ({"kind": "sample"}, r"name the file as tree under \[sample\]"),
        ({"kind": "refresh"}, r'\[topic\] has no effect where kind = "refresh"'),
        ({"topic": {"model_checksum": "0" * 32}}, "has changed: its checksum is [0-9a-f]{32}, and not 0{32}"),
        ({"topic": {"model_checksum": "0" * 31}}, "the checksum as 32 digits 0-9 and a-f, or leave it out: a run"),
        ({"topic": {"model_checksum": "abc"}}, r"\[topic\] model_checksum = 'abc': write the checksum as 32 digits"),
        ({"topic": {"model": None, "model_checksum": "0" * 32}}, "set model too, or remove model_checksum"),
        ({"topic": {"model": None}}, "The topic has no keywords"),
    ],
)
def test_what_a_model_cannot_do_is_told_before_anything_is_asked(sections, said, tmp_path):
    topic = {"keywords": [], "model": str(write_tree(tmp_path / "tree.json", TOPIC)), **sections.pop("topic", {})}
    given = {"name": "a", "seeds": {"usernames": []}, "source": {"token_env": "TOKEN"}, "topic": topic}
    if sections.get("kind") in ("capture", "refresh"):
        del given["seeds"]
    with pytest.raises(SettingsError, match=said):
        make_plan(check_settings({**given, **sections}, "test"))


@pytest.mark.parametrize("learner", ["tree", "logistic"])
def test_labels_from_a_pipe_make_the_model_that_judges_the_next_campaign(learner, mock, tmp_path):
    def work(*words, given=None):
        done = socialcrawl(*words, folder=tmp_path, given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    file = campaign_file(tmp_path, mock.url, steps=20)
    work("run", file)
    work("label", file, "--count", 80, "--out", "shown.csv", given="s\n" * 80)
    with (tmp_path / "shown.csv").open(newline="", encoding="utf-8") as shown:
        texts = [row["text"] for row in csv.DictReader(shown)]
    judgements = [TOPIC in count_words(text) for text in texts]
    assert 10 < sum(judgements) < 70
    said = work("label", file, "--count", 80, given="".join("y\n" if on else "n\n" for on in judgements))
    assert "Next: socialcrawl train --labels labels.csv --out model.json" in said
    work("train", "--labels", "labels.csv", "--out", "model.json", "--learner", learner)
    judge = file.read_text("utf-8").replace("[topic]", '[topic]\nmodel = "model.json"').replace('"mine"', '"judged"')
    (tmp_path / "judged.toml").write_text(judge)
    work("run", "judged.toml")
    model = read_model(tmp_path / "model.json")
    number = rows(tmp_path / "mine.db", "select id from campaign where name = 'judged'")[0][0]
    hits = rows(
        tmp_path / "mine.db", "select text, occurrences from hit join post on post.id = post where campaign = ?", number
    )
    assert len(hits) > 10
    assert {(model.hits(text), many) for text, many in hits} == {(1, 1)}
    assert "model.json decides which posts are on topic" in work("report", "judged.toml")
    work("report", "judged.toml", "--html", "report.html")
    page = " ".join((tmp_path / "report.html").read_text("utf-8").split())
    assert "A post matches if a model of texts accepts it" in page
    before = found(tmp_path / "mine.db")
    work("run", "judged.toml")
    assert found(tmp_path / "mine.db") == before
    assert "Everything that can be checked agrees." in work("verify", "mine.db")


def test_the_file_is_looked_for_beside_the_campaign_file(tmp_path):
    (tmp_path / "mine.toml").write_text('name = "mine"\n[topic]\nmodel = "tree.json"\n[seeds]\nusernames = ["ann"]\n')
    settings = read(tmp_path / "mine.toml")
    assert settings.topic.model == tmp_path / "tree.json"
    with pytest.raises(SettingsError, match="cannot be read"):
        make_plan(settings)
    write_tree(tmp_path / "tree.json", TOPIC)
    assert make_plan(settings).topic.hits(f"a {TOPIC}") == 1
    assert make_plan(settings).topic.hits("anything else") == 0
