"""Files of labels that several programs write, models that are trained from them, and campaigns that change to one."""

import shutil
import threading

import pytest
from api_campaigns import run_example
from model_files import write_labels

import socialcrawl as sc
from socialcrawl.crawls.sample.labels import read_text_labels

FILE = """name = "example"  # of the town
database = "example.db"
{kind}
[topic]
keywords = ["telescope"]  # a guess
model_checksum = "00000000000000000000000000000000"
{rest}
[source]
token_env = "SOCIALCRAWL_TEST_TOKEN"
base_url = "http://127.0.0.1:9"
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    run_example(folder, crawl={"steps": 5})
    return folder


def campaign_file(folder, *, kind="", rest="[seeds]\nusernames = ['ann']"):
    path = folder / "mine.toml"
    path.write_text(FILE.format(kind=kind, rest=rest), "utf-8")
    return path


def test_writers_at_the_same_time_lose_no_label(tmp_path):
    path = tmp_path / "labels.csv"

    def write(name):
        labels = sc.LabelFile.load(path)
        for number in range(12):
            labels.put(f"{name}{number}", f"text {number} of {name}", on_topic=name == "a")

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    labels = sc.LabelFile.load(path)
    assert sorted(post["id"] for post in labels.posts) == sorted(f"{name}{n}" for name in "ab" for n in range(12))
    assert labels.counts == {"on_topic": 12, "off_topic": 12, "skipped": 0}
    assert [path.name for path in tmp_path.iterdir()] == ["labels.csv"], "locks and parts are gone"


def test_a_label_that_is_changed_is_the_last_one_and_one_that_is_not_there_is_not_deleted(tmp_path):
    labels = sc.LabelFile.load(tmp_path / "labels.csv")
    assert not labels.delete("1")
    assert not labels.path.exists()
    labels.put("1", "one", on_topic=True)
    labels.put("2", "two", on_topic=None)
    labels.put("1", "one", on_topic=False)
    assert [(post["id"], post["on_topic"]) for post in sc.LabelFile.load(labels.path).posts] == [
        ("2", None), ("1", False),
    ]  # fmt: skip
    assert read_text_labels(labels.path) == [("one", False)]


def test_labels_that_people_have_edited_count_as_train_reads_them(tmp_path):
    (tmp_path / "labels.csv").write_text("id,text,on_topic\n1,one,Y\n2,two,0\n3,three,\n", "utf-8")
    assert sc.LabelFile.load(tmp_path / "labels.csv").counts == {"on_topic": 1, "off_topic": 1, "skipped": 1}


def test_labels_lie_beside_the_campaign_file_or_else_the_database(town, tmp_path):
    shutil.copy(town / "example.db", tmp_path / "example.db")
    shutil.copy(town / "example.db", tmp_path / "other.db")
    names = [sc.open_project(tmp_path / name).open_labels("example").path for name in ("example.db", "other.db")]
    assert names == [tmp_path / "example-labels.csv", tmp_path / "other-example-labels.csv"]
    campaign_file(tmp_path)
    assert sc.open_project(tmp_path / "mine.toml").open_labels("example").path == tmp_path / "mine-labels.csv"


def test_of_many_posts_some_are_looked_at(town):
    with sc.open(town / "example.db") as data:
        everything = data.choose_posts_to_label(count=1000)
        some = data.choose_posts_to_label(count=1000, most=20)
        assert some == data.choose_posts_to_label(count=1000, most=20)
        assert data.choose_posts_to_label(count=1000, most=100_000) == everything
    assert 5 < len(some) < 40 < len(everything), len(everything)
    assert {post["id"] for post in some} < {post["id"] for post in everything}


def test_a_model_is_written_into_a_new_file_each_time_and_says_how_well_it_judges(tmp_path):
    labels = write_labels(tmp_path / "a-labels.csv", 12)
    first, second = sc.train_model(labels, learner="logistic"), sc.train_model(labels, without=["telescope"])
    assert [path.name for path in sc.list_models(labels)] == ["a-model.json", "a-model2.json"]
    figures = first.to_dict()
    assert (figures["right"], figures["wrong"], figures["lost"], figures["kept_out"]) == (12, 0, 0, 12)
    assert (figures["precision"], figures["recall"], figures["folds"]) == (1.0, 1.0, 5)
    assert "Where fewer posts are on topic than here, precision is lower." in first.text
    assert "telescope" not in {word for word, _, _ in second.to_dict()["telling"]}
    assert sc.describe_model(tmp_path / "a-model2.json").text == second.text
    with pytest.raises(sc.SettingsError, match="already exists and was not overwritten"):
        sc.train_model(labels, tmp_path / "a-model.json")
    few = write_labels(tmp_path / "few.csv", 4)
    with pytest.raises(sc.SettingsError, match="4 different posts are on topic and 4 off it: both have to be 5"):
        sc.train_model(few)
    with pytest.raises(sc.SettingsError, match=r"Unknown learner 'logistics'. Did you mean 'logistic'\?"):
        sc.train_model(labels, learner="logistics")


@pytest.mark.parametrize("about", ["{}", '{"on_topic": "x"}', "[]"])
def test_a_file_without_figures_or_that_is_no_model_says_so(about, tmp_path):
    path = tmp_path / "model.json"
    nodes = '[["", 0.0, -1, -1, 0.0, 1.0]]'
    path.write_text(f'{{"kind": "socialcrawl tree 1", "about": {about}, "idf": {{"a": 1.0}}, "nodes": {nodes}}}')
    with pytest.raises(sc.SettingsError, match=r"does not say how well its model judges|is not a model"):
        sc.describe_model(path)


def test_a_campaign_that_has_begun_changes_to_a_model_and_its_comments_stay(town, tmp_path):
    shutil.copy(town / "example.db", tmp_path / "example.db")
    path = campaign_file(tmp_path)
    sc.train_model(write_labels(tmp_path / "mine-labels.csv", 9))
    file = sc.CampaignFile.load(path)
    effect = file.use_model(tmp_path / "mine-model.json")
    assert "begins a new epoch" in effect
    assert "until it is given --change" in effect
    assert path.read_text("utf-8") == FILE.format(kind="", rest="[seeds]\nusernames = ['ann']"), "not saved yet"
    file.save()
    text = path.read_text("utf-8")
    assert 'model = "mine-model.json"' in text
    assert 'keywords = ["telescope"]  # a guess' in text
    assert "model_checksum" not in text
    alone = sc.CampaignFile.load(path)
    assert "No keyword is searched for." in alone.use_model(tmp_path / "mine-model.json", keep_keywords=False)
    assert alone.values["topic"] == {"model": "mine-model.json"}


@pytest.mark.parametrize(
    ("lines", "keep", "said"),
    [
        (('kind = "capture"', "[capture]\nfrom = 2026-01-01"), True, "has begun, and its topic cannot change any more"),
        (("", ""), False, "nothing to start from: name keywords"),
        (('kind = "refresh"', ""), True, "has no effect where kind"),
    ],
)
def test_a_campaign_that_cannot_use_a_model_says_why_and_its_file_stays_as_it_is(lines, keep, said, town, tmp_path):
    shutil.copy(town / "example.db", tmp_path / "example.db")
    sc.train_model(write_labels(tmp_path / "mine-labels.csv", 9))
    file = sc.CampaignFile.load(campaign_file(tmp_path, kind=lines[0], rest=lines[1]))
    before = file.text
    with pytest.raises(sc.SettingsError, match=said):
        file.use_model(tmp_path / "mine-model.json", keep_keywords=keep)
    assert file.text == before
