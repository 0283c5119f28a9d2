"""The page that labels posts, trains models and changes campaigns to them, and its HTTP API, over loopback."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest
from api_campaigns import run_example
from model_files import write_labels
from test_web_app import BEARER, HOSTILE, check_answer, check_harmless, list_operations
from web_pages import log_in, serving

import socialcrawl as sc
from socialcrawl.crawls.sample.labels import read_text_labels
from socialcrawl.crawls.text_models.model_file import read_model
from socialcrawl.web.label_queues import warn_of_model

FILE = """name = "example"
database = "example.db"
[topic]
keywords = ["telescope"]  # a guess
[source]
token_env = "SOCIALCRAWL_TEST_TOKEN"
base_url = "http://127.0.0.1:9"
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    run_example(folder, crawl={"steps": 5})
    (folder / "mine.toml").write_text(FILE, "utf-8")
    return folder


@pytest.fixture
def own(town, tmp_path):
    for name in ("example.db", "mine.toml"):
        shutil.copy(town / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def client(own):
    with serving(own) as made:
        made.key = made.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        yield made


def find_post(page):
    """The id of the post to label that a page shows."""
    return re.search(r'class="answers">.*?name="post" value="([^"]*)"', page, re.DOTALL)[1]


def list_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".db"}


def test_each_answer_is_kept_and_the_last_one_can_be_taken_back(client, own):
    path, fields = f"/campaigns/{client.key}/label", {"csrf": log_in(client)}
    assert "A model needs 5 more on topic and 5 more off topic." in client.get(path).text
    shown = []
    for answer in ("on", "off", "skip"):
        shown.append(find_post(client.get(path).text))
        done = client.post(path, data={**fields, "post": shown[-1], "answer": answer})
        assert (done.status_code, done.headers["location"]) == (303, path)
    labels = sc.LabelFile.load(own / "mine-labels.csv")
    assert [(post["id"], post["on_topic"]) for post in labels.posts] == list(
        zip(shown, (True, False, None), strict=True)
    )
    with closing(sqlite3.connect(own / "example.db")) as plain:
        texts = dict(plain.execute("select id, text from post"))
    assert read_text_labels(labels.path) == [(texts[shown[0]], True), (texts[shown[1]], False)]
    page = client.get(path).text
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! src=\"/static/)", page)
    assert find_post(page) not in shown
    assert "<strong>1</strong> on topic" in page
    client.post(path, data={**fields, "post": shown[1], "answer": "undo"})
    assert find_post(client.get(path).text) == shown[1], "it comes next again"
    client.post(path, data={**fields, "post": shown[0], "answer": "off"})
    assert sc.LabelFile.load(labels.path).posts[-1]["on_topic"] is False, "a label is changed"


def test_whoever_labels_sees_who_wrote_the_post_and_when_and_no_link_to_people_who_are_invented(client, own):
    path, fields = f"/campaigns/{client.key}/label", {"csrf": log_in(client)}
    page = client.get(path).text
    with sc.open(own / "example.db") as data:
        post = next(one for one in data.posts() if one["id"] == find_post(page))
    shown = f"<bdi>{post['author']}</bdi></a> · <time>{post['created_at']:%Y-%m-%d %H:%M} UTC</time>"
    assert f"{shown}</p>" in page
    client.post(path, data={**fields, "post": post["id"], "answer": "on"})
    client.post(path, data={**fields, "post": post["id"], "answer": "undo"})
    assert shown in client.get(path).text, "also of a post that comes next again"
    waiting = client.get(f"/api/v1{path}-queue").json()["posts"][0]
    assert (waiting["author"], waiting["page"]) == (post["author"], post["page"])


def test_the_queue_is_limited_to_one_account_by_the_buttons_of_its_pages(client, own):
    with sc.open(own / "example.db") as data:
        name = data.accounts(1).to_arrow()["account"][0].as_py()
        ids = {post["id"] for post in data.posts(author=name)}
        wanted = data.choose_posts_to_label(author=f"@{name}", count=1000)
    assert {post["id"] for post in wanted} <= ids
    assert wanted
    account = client.get(f"/campaigns/{client.key}/account", params={"name": name}).text
    button = re.search(rf'<form action="([^"]+)"><input type="hidden" name="author" value="{name}">', account)
    assert re.search(rf'href="{button[1]}\?author={name}"', client.get(f"/campaigns/{client.key}/accounts").text)
    fields, shown = {"csrf": log_in(client)}, []
    while "answers" in (page := client.get(button[1], params={"author": name}).text):
        shown.append(find_post(page))
        assert f'Only posts of <a href="/campaigns/{client.key}/account?name={name}">' in page
        action = re.search(r'action="([^"]+)" class="answers"', page)[1]
        done = client.post(action, data={**fields, "post": shown[-1], "answer": "on"})
        assert done.headers["location"] == f"{button[1]}?author={name}"
    assert sorted(shown) == sorted(post["id"] for post in wanted)
    assert f"No post of <bdi>{name}</bdi> is left to label." in page
    assert find_post(client.get(button[1]).text) not in ids, "posts of others are left"


def test_an_account_without_stored_posts_has_an_empty_queue_that_says_so(client, own):
    with closing(sqlite3.connect(own / "example.db")) as plain:
        (name,) = plain.execute(
            "select username from account where node not in (select author from post) and username is not null limit 1"
        ).fetchone()
    page = client.get(f"/campaigns/{client.key}/label", params={"author": name}).text
    assert f"This campaign has stored no post of <bdi>{name}</bdi> that can be labelled." in page
    assert 'name="answer" value="on"' not in page
    queue = f"/api/v1/campaigns/{client.key}/label-queue"
    assert client.get(queue, params={"author": name}).json()["posts"] == []
    unknown = client.get(queue, params={"author": "nobody.of.this.name"})
    assert (unknown.status_code, "No account in this database" in unknown.json()["detail"]) == (409, True)
    page = client.get(f"/campaigns/{client.key}/label", params={"author": HOSTILE}).text
    assert "No account in this database" in page
    check_harmless(page)


def test_the_script_gets_the_post_alone_and_what_went_wrong_with_it(client):
    path, fields = f"/campaigns/{client.key}/label", {"csrf": log_in(client)}
    part = client.get(path, headers={"x-part": "post"}).text
    assert "<html" not in part
    assert find_post(part)
    wrong = client.post(path, data={**fields, "post": "no-such-post", "answer": "on"}, headers={"x-part": "post"})
    assert (wrong.status_code, "does not wait for a label any more" in wrong.text) == (409, True)
    assert client.post(path, data={**fields, "post": find_post(part), "answer": "maybe"}).status_code == 422


def test_without_a_session_and_its_csrf_token_nothing_is_labelled_trained_or_used(client, own):
    write_labels(own / "mine-labels.csv", 9)
    sc.train_model(own / "mine-labels.csv")
    before, page, api = list_files(own), f"/campaigns/{client.key}/label", f"/api/v1/campaigns/{client.key}"
    post = client.get(f"{api}/label-queue").json()["posts"][0]["id"]
    forms = (
        (page, {"post": post, "answer": "on"}), (f"{page}/train", {"learner": "tree"}),
        (f"{page}/use", {"model": "mine-model.json"}),
    )  # fmt: skip
    calls = (
        ("PUT", f"{api}/labels", {"post": post, "on_topic": True}), ("DELETE", f"{api}/labels?post=a1", None),
        ("POST", f"{api}/models", {}), ("POST", f"{api}/model", {"model": "mine-model.json"}),
    )  # fmt: skip
    assert "Log in" in client.get(page).text
    assert 'name="answer"' not in client.get(page).text
    for code in (401, 403):
        for path, fields in forms:
            assert client.post(path, data=fields).status_code == code
        for method, path, body in calls:
            assert client.request(method, path, json=body).status_code == code
        log_in(client)
    assert list_files(own) == before


def test_a_model_is_trained_shown_and_used_and_comments_stay(client, own):
    page, fields = f"/campaigns/{client.key}/label", {"csrf": log_in(client)}
    few = client.post(f"{page}/train", data=fields)
    assert (few.status_code, "label 5 more on topic and 5 more off topic" in few.text) == (409, True)
    write_labels(own / "mine-labels.csv", 9)
    for learner in ("logistic", "tree"):
        done = client.post(f"{page}/train", data={**fields, "learner": learner, "without": "number, dinner"})
        assert (done.status_code, done.headers["location"]) == (303, f"{page}#models")
    shown = client.get(page).text
    assert shown.index("mine-model2.json") < shown.index("mine-model.json"), "the newest comes first"
    assert "each of 5 parts was judged by a model learned from the others" in shown
    assert "about which <code>mine-model2.json</code> is least sure" in shown
    assert "drawn at random" in client.get(page, params={"drawn": "true"}).text
    asked = client.get(f"{page}/use", params={"model": "mine-model.json"}).text
    assert (own / "mine.toml").read_text("utf-8") == FILE, "nothing is changed before somebody has agreed"
    assert "It was trained from 18 labels: label 100 or more" in asked
    digest = re.search(r'name="digest" value="(\w+)"', asked)[1]
    used = client.post(f"{page}/use", data={**fields, "model": "mine-model.json", "digest": digest})
    assert (used.status_code, used.headers["location"]) == (303, f"{page}?used=true")
    said = client.get(used.headers["location"]).text
    assert "This takes effect at the next start. Then a new epoch begins" in said
    assert re.search(rf'action="/campaigns/{client.key}/start">.*?>Start it</button>', said)
    assert (own / "mine.toml").read_text("utf-8") == FILE.replace(
        "# a guess\n", '# a guess\nmodel = "mine-model.json"\n'
    )
    models = client.get(f"/api/v1/campaigns/{client.key}/models").json()["models"]
    assert [(one["name"], one["used"], one["title"]) for one in models] == [
        ("mine-model2.json", False, "decision tree"), ("mine-model.json", True, "logistic regression"),
    ]  # fmt: skip
    again = client.post(f"{page}/use", data={**fields, "model": "mine-model2.json", "digest": digest})
    assert (again.status_code, "was changed since you have seen it" in again.text) == (409, True)
    assert "mine-model2" not in (own / "mine.toml").read_text("utf-8")
    for gone in (
        client.post(f"{page}/use", data={**fields, "model": "../mine-model.json"}),
        client.get(f"{page}/use", params={"model": "../mine-model.json"}),
    ):
        assert (gone.status_code, "There is no model" in gone.text) == (409, True)


def test_before_a_model_is_used_the_page_says_what_changes_sides_in_the_file_and_what_it_costs(client, own):
    write_labels(own / "mine-labels.csv", 9)
    sc.train_model(own / "mine-labels.csv")
    judge = read_model(own / "mine-model.json").hits
    with closing(sqlite3.connect(own / "example.db")) as plain:
        rows = plain.execute("select author, text, id in (select post from hit) from post").fetchall()
    sides = [(author, bool(now), judge(text) > 0) for author, text, now in rows]
    posts = [(now, then) for _, now, then in sides]
    people = {
        author: [any(one[side] for one in sides if one[0] == author) for side in (1, 2)] for author, _, _ in sides
    }
    accounts = [tuple(pair) for pair in people.values()]
    asked = f"/api/v1/campaigns/{client.key}/models/preview"
    found = client.get(asked, params={"model": "mine-model.json"}).json()
    wanted = [
        len(posts), len(posts), *(sum(now for now, _ in known) if side is None else known.count(side)
        for known in (posts, accounts) for side in (None, (False, True), (True, False))),
    ]  # fmt: skip
    assert [*found["preview"].values()][:8] == wanted
    assert posts.count((True, False)) > 0
    assert found["settings"] == [{"key": "topic.model", "before": None, "after": "mine-model.json"}]
    without = client.get(asked, params={"model": "mine-model.json", "keep_keywords": False})
    assert (without.status_code, "usernames under [seeds]" in without.json()["detail"]) == (409, True)
    page = client.get(f"/campaigns/{client.key}/label/use", params={"model": "mine-model.json"}).text
    cells = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    now, on, off = zip(wanted[2:5], wanted[5:8], strict=True)
    then = [now[side] + on[side] - off[side] for side in (0, 1)]
    for name, (first, second) in (
        ("On topic now", now),
        ("Come on topic", on),
        ("Leave it", off),
        ("On topic then", then),
    ):
        assert f"{name} {first:,} {second:,}" in cells
    assert "mine-model.json" in cells
    assert "The change itself costs nothing" in cells
    assert "Then a new epoch begins" in cells
    assert (own / "mine.toml").read_text("utf-8") == FILE


def test_the_api_labels_trains_and_changes_the_model_as_it_describes_itself(client, own):
    spec = client.get("/api/v1/openapi.json").json()
    operations = {(method, path): one for method, path, one in list_operations(spec)}

    def ask(method, name, code=200, **more):
        answer = client.request(method, f"/api/v1/campaigns/{client.key}/{name}", headers=BEARER, **more)
        assert answer.status_code == code, answer.text
        check_answer(spec, operations[method.lower(), f"/api/v1/campaigns/{{key}}/{name}"], answer)
        return answer.json()

    queue = ask("GET", "label-queue", params={"limit": 12})
    assert (queue["file"], queue["least"], queue["model"]) == (str(own / "mine-labels.csv"), 5, None)
    for post in queue["posts"]:
        done = ask("PUT", "labels", json={"post": post["id"], "on_topic": "telescope" in post["text"]})
    assert done["counts"]["on_topic"] + done["counts"]["off_topic"] == 12
    first = ask("GET", "labels", params={"limit": 7})
    rest = ask("GET", "labels", params={"after": first["next"]})
    assert [one["id"] for one in first["labels"] + rest["labels"]] == [post["id"] for post in queue["posts"]]
    assert rest["next"] is None
    assert ask("DELETE", "labels", params={"post": queue["posts"][0]["id"]})["changed"]
    assert not ask("DELETE", "labels", params={"post": queue["posts"][0]["id"]})["changed"]
    assert ask("GET", "label-queue")["posts"][0] == queue["posts"][0], "it comes next again"
    ask("PUT", "labels", json={"post": queue["posts"][0]["id"], "on_topic": True})
    model = ask("POST", "models", json={"learner": "logistic"})
    plan = ask("GET", "models/preview", params={"model": model["name"]})
    assert plan["preview"]["examined"] > 12
    assert model["right"] + model["lost"] == model["on_topic"] == done["counts"]["on_topic"]
    assert ask("GET", "label-queue")["model"] == model["name"] == "mine-model.json"
    changed = ask("POST", "model", json={"model": model["name"], "digest": plan["digest"]})
    assert "a new epoch begins" in changed["effect"]
    assert ask("GET", "models")["models"][0]["used"]
    for method, name, code, body in (
        ("PUT", "labels", 409, {"post": "nobody", "on_topic": True}), ("PUT", "labels", 422, {"post": ""}),
        ("POST", "models", 422, {"learner": "oracle"}), ("POST", "model", 409, {"model": "none.json", "digest": "0"}),
        ("POST", "model", 422, {"model": model["name"]}),
        ("POST", "model", 409, {"model": model["name"], "digest": "0"}),
    ):  # fmt: skip
        ask(method, name, code, json=body)


def test_hostile_posts_and_model_files_are_shown_as_text(client, own):
    hostile = HOSTILE + " \u202egnp.exe"
    with closing(sqlite3.connect(own / "example.db")) as plain, plain:
        plain.execute("update post set text = ? || id", (hostile,))
    write_labels(own / "mine-labels.csv", 9)
    sc.train_model(own / "mine-labels.csv")
    path = own / "mine-model.json"
    made = json.loads(path.read_text("utf-8"))
    made["about"]["telling"] = [[HOSTILE, 0.5, True]]
    made["about"]["doubt"] = HOSTILE
    path.write_text(json.dumps(made), "utf-8")
    page, fields = f"/campaigns/{client.key}/label", {"csrf": log_in(client)}
    client.post(page, data={**fields, "post": find_post(client.get(page).text), "answer": "on"})
    shown = client.get(page).text
    check_harmless(shown)
    assert "\u202e" not in shown
    assert shown.count('dir="auto"') == 1
    check_harmless(client.get(page, headers={"x-part": "post"}).text)


def test_a_file_of_labels_or_a_model_that_is_broken_is_named(client, own):
    page = f"/campaigns/{client.key}/label"
    write_labels(own / "mine-labels.csv", 9)
    (own / "mine-model.json").write_text("{}", "utf-8")
    shown = client.get(page)
    assert (shown.status_code, "is not a model" in shown.text, "?drawn=true" in shown.text) == (200, True, True)
    log_in(client)
    assert find_post(client.get(page, params={"drawn": "true"}).text)
    (own / "mine-labels.csv").write_text("a,b\n", "utf-8")
    broken = client.get(page)
    assert (broken.status_code, "the columns are not id, text, on_topic" in broken.text) == (409, True)


@pytest.mark.parametrize(
    ("counts", "sides", "warned"),
    [
        ((80, 20, 15, 5), (100, 0, 0), []),
        ((79, 20, 15, 5), (100, 0, 0), ["It was trained from 99 labels"]),
        ((80, 20, 9, 11), (100, 0, 0), ["It judges badly what is off topic: of 20 such posts"]),
        ((80, 20, 15, 5), (100, 201, 0), ["It changes how much is on topic more than 3-fold: from 100 to 301 posts"]),
        ((80, 20, 15, 5), (100, 0, 67), ["It changes how much is on topic more than 3-fold: from 100 to 33 posts"]),
        ((80, 20, 15, 5), (0, 0, 0), []),
    ],
)
def test_a_model_of_few_labels_that_judges_badly_or_changes_much_is_warned_of(counts, sides, warned):
    about = dict(zip(("on_topic", "off_topic", "kept_out", "wrong"), counts, strict=True))
    posts, more, fewer = sides
    preview = SimpleNamespace(examined=1000, posts=posts, posts_on=more, posts_off=fewer)
    said = [*warn_of_model(about, preview)]
    assert [line.startswith(start) for line, start in zip(said, warned, strict=True)] == [True] * len(warned)
