"""The pages that create and edit campaign files: what they write, what they refuse, and what they never show."""

import html
import logging
import re
import shutil
import socket
import tomllib

import pytest
from api_campaigns import run_example
from campaign_forms import FILE, read_fields, write_file
from web_pages import PageShape, log_in, serving

import socialcrawl as sc

SECRET = "AAAAAAAAAAAAAAAAAAAAAMLheAAAAAAA0%2BuSeid%2BULvsea4JtiGRiSDSJSI"
HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)> \u202eabc"
PART = {"x-part": "1"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("edit")


@pytest.fixture(scope="module")
def client(place):
    """A client that has logged in, for a folder with one file."""
    write_file(place)
    with serving(place) as made:
        made.csrf = log_in(made)
        yield made


@pytest.fixture
def file(place, client):
    """The file of the campaign `sky`, as it was."""
    yield write_file(place)
    for path in place.glob("*.toml"):
        path.unlink()
    write_file(place)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A folder with a campaign that has run, and its file."""
    folder = tmp_path_factory.mktemp("begun")
    campaign, _ = run_example(folder)
    settings = campaign.settings
    source = "\n".join(f'{key} = "{settings["source"][key]}"' for key in ("token_env", "base_url"))
    write_file(
        folder,
        f'name = "example"\ndatabase = "example.db"\n[topic]\nkeywords = {settings["topic"]["keywords"]}\n'
        "[seeds]\nmost = 10\n"
        f'[crawl]\nestimator = "nh-ne-sum"\nsteps = 30\n[source]\n{source}\npages_per_user = 2\n',
        "example.toml",
    )
    return folder


@pytest.fixture
def own(begun, tmp_path):
    """The campaign that has run again, for a test that changes it."""
    for path in begun.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def key_of(client, name="sky"):
    return next(one["key"] for one in client.get("/api/v1/campaigns").json()["campaigns"] if one["name"] == name)


def open_new(client, **typed):
    """The fields of the form for a new campaign, with what somebody types."""
    values = read_fields(client.get("/new", params={"kind": "collect", "platform": "x"})).values
    return values | {"name": "moon", "topic.keywords": "moon\r\nlunar eclipse"} | typed


def say(answer):
    """What a page says, its cells apart from each other."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def send(client, path, values, what="save", **more):
    return client.post(path, data={**values, "-do": what}, **more)


def test_the_choice_of_kind_and_platform_leads_to_the_form(client):
    page = PageShape(client.get("/new").text)
    for name in ("Collect", "Track", "Refresh", "Sample", "Capture", "Bluesky", "Mastodon"):
        assert name in page.text
    form = read_fields(client.get("/new", params={"kind": "track", "platform": "bluesky"}))
    assert [form.values[key] for key in ("kind", "platform", "crawl.refresh_rate")] == ["track", "bluesky", "1"]
    assert form.values["topic.keywords"] == "", "an example of the template is none"
    basic = client.get("/new", params={"kind": "collect", "platform": "mastodon"}).text.partition("More settings")[0]
    assert 'name="source.base_url"' in basic, "the template sets it: an instance is needed"
    assert client.get("/new", params={"kind": "juggle", "platform": "x"}).status_code == 409


@pytest.mark.parametrize(
    ("kind", "platform", "needed"),
    [("collect", "x", {"name", "topic.keywords"}), ("refresh", "x", {"name"}),
     ("capture", "bluesky", {"name", "topic.keywords", "capture.from"}),
     ("collect", "web", {"name", "topic.keywords", "source.contact"})],
)  # fmt: skip
def test_fields_without_which_there_is_no_campaign_are_marked(client, kind, platform, needed):
    page = client.get("/new", params={"kind": kind, "platform": platform}).text
    assert set(re.findall(r"needed <code>([\w.]+)</code>", page)) == needed


def test_without_a_folder_the_page_says_how_to_get_one(tmp_path):
    path = write_file(tmp_path)
    with serving(path) as client:
        for address in ("/new", "/new?kind=collect&platform=x"):
            assert "start them with a folder" in client.get(address).text


def test_a_new_campaign_becomes_a_file_with_comments_and_what_differs(client, file, place):
    done = send(client, "/new", open_new(client, **{"budget.max_money": "7.5", "topic.languages": "en"}))
    assert done.status_code == 303, read_fields(done).text
    text = (place / "moon.toml").read_text("utf-8")
    given = tomllib.loads(text)
    plain = tomllib.loads(sc.CampaignFile.draft(place / "moon.toml", {}).text)
    plain["topic"] = {"keywords": ["moon", "lunar eclipse"], "languages": ["en"]}
    plain["budget"]["max_money"] = 7.5
    assert given == plain
    assert "# Accounts" in text or text.count("#") > 40
    page = client.get(done.headers["location"]).text
    assert "The campaign file is written" in page
    again = send(client, "/new", open_new(client))
    assert again.status_code == 422
    assert "choose another name" in read_fields(again).text
    assert (place / "moon.toml").read_text("utf-8") == text


@pytest.mark.parametrize("name", ["", "../moon", ".moon", "-moon", "a/b", "a\\b", "moon\n", "m" * 61, "mo on", "\x00"])
def test_a_name_that_is_no_name_of_a_file_writes_none(client, file, place, name):
    before = sorted(place.rglob("*"))
    done = send(client, "/new", open_new(client, name=name))
    if name == "moon\n":  # blanks around what people type do not count
        assert done.status_code == 303
        return
    assert (done.status_code, read_fields(done).invalid) == (422, ["name"])
    assert sorted(place.rglob("*")) == before


def test_what_is_wrong_stands_beside_its_field_and_what_was_typed_is_kept(client, file, place):
    typed = {"crawl.steps": "many", "budget.max_money": "-3", "limits.k": "0", "source.contact": HOSTILE}
    done = send(client, "/new", open_new(client, **typed))
    form = read_fields(done)
    assert done.status_code == 422
    assert form.invalid == ["crawl.steps", "budget.max_money", "source.contact", "limits.k"]
    assert {key: form.values[key] for key in typed} == typed
    assert (form.values["name"], form.values["topic.keywords"]) == ("moon", "moon\nlunar eclipse")
    for said in ("Write a whole number, such as 300.", "Write a number above 0.", "Write a number, 1 or more."):
        assert form.text.count(said) == 2, "in the summary and beside the field"
    assert {"#f-crawl.steps", "#f-budget.max_money", "#f-limits.k"} <= {*PageShape(done.text).links}
    assert not (place / "moon.toml").exists()


def test_a_wrong_name_hides_no_other_mistake(client, file):
    done = send(client, "/new", open_new(client, **{"name": "", "topic.keywords": "", "source.contact": SECRET}))
    assert read_fields(done).invalid == ["name", "source.contact"]
    done = send(client, "/new", open_new(client, **{"name": "", "topic.keywords": ""}))
    assert read_fields(done).invalid == ["name", "topic.keywords"]


@pytest.mark.parametrize(
    ("typed", "key", "said"),
    [
        ({"topic.keywords": ""}, "topic.keywords", "The topic has no keywords"),
        ({"topic.keywords": "*"}, "topic.keywords", "remove it, or write a word"),
        ({"topic.keywords": "moon OR sun"}, "topic.keywords", "list them: moon, sun, each on its own line"),
        ({"topic.keywords": '"dark sky"'}, "topic.keywords", "Write dark sky; a phrase needs no quotes"),
        ({"topic.patterns": "("}, "topic.patterns", "is not valid: missing )"),
        ({"seeds.usernames": "ann b"}, "seeds.usernames", "'ann b' is not a username of X"),
        ({"seeds.search": "false"}, "seeds.usernames", "set “Begin with a search” to yes"),
        ({"seeds.file": "none.txt"}, "seeds.file", "cannot be read"),
        ({"budget.max_money": "7,5"}, "budget.max_money", "Write a number, such as 20 or 0.5"),
    ],
)
def test_errors_stand_beside_their_field_in_words_of_the_form(client, file, typed, key, said):
    form = read_fields(send(client, "/new", open_new(client, **typed)))
    assert form.invalid == [key]
    assert form.text.count(said) == 2, "in the summary and beside the field"
    assert not re.search(r" = \[|\[(topic|seeds)\]", form.text)


def test_edits_keep_comments_and_change_what_was_changed(client, file):
    path = f"/campaigns/{key_of(client)}/edit"
    values = read_fields(client.get(path)).values
    done = send(client, path, values | {"budget.max_money": "9", "crawl.steps": "", "topic.keywords": "dark sky\nmoon"})
    assert done.status_code == 303
    wanted = FILE.replace('["dark sky"]', '["dark sky", "moon"]').replace("steps = 30\n", "").replace("5.0", "9")
    assert file.read_text("utf-8") == wanted
    assert "Saved." in client.get(done.headers["location"]).text


def test_saving_what_was_not_changed_changes_nothing(client, file):
    path = f"/campaigns/{key_of(client)}/edit"
    assert send(client, path, read_fields(client.get(path)).values).status_code == 303
    assert file.read_text("utf-8") == FILE


def test_two_tabs_that_save_one_after_the_other_get_a_conflict_and_nothing_is_lost(client, file):
    path = f"/campaigns/{key_of(client)}/edit"
    first, second = (read_fields(client.get(path)).values for _ in range(2))
    assert send(client, path, first | {"crawl.steps": "40", "seeds.usernames": "ann\nben"}).status_code == 303
    saved = file.read_text("utf-8")
    done = send(client, path, second | {"crawl.steps": "60", "topic.keywords": "moon"})
    form = read_fields(done)
    assert done.status_code == 409
    assert file.read_text("utf-8") == saved
    assert "Somebody else has changed this file" in form.text
    cells = say(done)
    assert "crawl.steps 30 40 60" in cells
    assert "seeds.usernames ann ann ben as in the file" in cells
    assert (form.values["crawl.steps"], form.values["topic.keywords"]) == ("60", "moon")
    assert form.values["seeds.usernames"] == "ann\nben", "what only the other changed is as in the file"
    assert send(client, path, form.values).status_code == 303, "on purpose, the second time"
    wanted = saved.replace("steps = 40", "steps = 60").replace('["dark sky"]', '["moon"]')
    assert file.read_text("utf-8") == wanted


def test_a_token_in_the_field_of_its_variable_is_refused_and_never_shown_nor_logged(client, file, place, caplog):
    caplog.set_level(logging.DEBUG)
    path = f"/campaigns/{key_of(client)}/edit"
    edit = read_fields(client.get(path)).values
    for secret in (SECRET, "hunter2 and more", "abcdef0123456789abcdef"):
        for where, values in (("/new", open_new(client)), (path, edit)):
            for what, headers in (("save", {}), ("quote", {}), ("quote", PART), ("preview", {}), ("preview", PART)):
                done = send(client, where, values | {"source.token_env": secret}, what, headers=headers)
                assert secret not in done.text, (where, what)
                assert done.status_code in (200, 422)
    done = send(client, "/new", open_new(client, **{"source.contact": SECRET}))
    assert SECRET not in done.text
    assert "looks like a token or a password" in read_fields(done).text
    assert SECRET not in caplog.text
    assert not (place / "moon.toml").exists()
    assert file.read_text("utf-8") == FILE


def test_a_token_that_somebody_wrote_into_a_file_is_not_shown(client, file):
    file.write_text(FILE.replace("X_BEARER_TOKEN", SECRET), "utf-8")
    page = client.get(f"/campaigns/{key_of(client)}/edit")
    assert SECRET not in page.text
    assert "looks like a token or a password" in read_fields(page).text
    assert SECRET not in client.get(f"/api/v1/campaigns/{key_of(client)}/file").text


HIDDEN = "hunter2secret"
HOLDERS = {
    "database": f'database = "postgresql://me:{HIDDEN}@127.0.0.1:1/x"',
    "notify.command": f'[notify]\ncommand = ["curl", "-H", "Authorization: Bearer {HIDDEN}"]',
    "source.bearer_token": f'bearer_token = "{HIDDEN}"',
    "hobby": f'[hobby]\nsecret = "{HIDDEN}"',
}


@pytest.mark.parametrize("key", HOLDERS)
@pytest.mark.parametrize("besides", ["", SECRET], ids=["alone", "beside a token"])
def test_passwords_of_a_file_are_sent_neither_by_its_form_nor_by_the_api_and_stay_when_it_is_saved(
    client, file, key, besides
):
    text = FILE.replace('database = "sky.db"', HOLDERS[key]) if key == "database" else f"{FILE}{HOLDERS[key]}\n"
    file.write_text(
        text.replace('token_env = "X_BEARER_TOKEN"', f'token_env = "{besides}"') if besides else text, "utf-8"
    )
    found = client.get("/api/v1/campaigns").json()["campaigns"]
    path = next(one["key"] for one in found if one["name"] in ("sky", "sky.toml"))
    page, told = client.get(f"/campaigns/{path}/edit"), client.get(f"/api/v1/campaigns/{path}/file")
    assert (page.status_code, told.status_code) == (200, 200)
    assert HIDDEN not in page.text + told.text + client.get(f"/campaigns/{path}").text + client.get("/").text
    assert key in told.json()["unshown"]
    saved = send(client, f"/campaigns/{path}/edit", read_fields(page).values | {"crawl.steps": "31"})
    assert HIDDEN not in saved.text
    assert HIDDEN in file.read_text("utf-8")


def test_a_broken_campaign_cannot_be_started_and_its_unknown_keys_are_removed_by_a_button(client, file):
    file.write_text(
        FILE.replace("keywords", 'keyword = "x"\nkeywords').replace("[crawl]", "[crawl]\nspeed = 3"), "utf-8"
    )
    path = f"/campaigns/{key_of(client, 'sky')}"
    assert ">Start</button>" not in client.get(path).text
    page = client.get(f"{path}/edit")
    assert "Wrong in the file:" in page.text
    assert "Not saved" not in page.text
    assert "Remove topic.keyword, crawl.speed from the file" in page.text
    refused = send(client, f"{path}/edit", read_fields(page).values)
    assert (refused.status_code, "Not saved: correct this first." in refused.text) == (422, True)
    done = send(client, f"{path}/edit", read_fields(page).values | {"crawl.steps": "31"}, "unknown")
    assert done.status_code == 303
    assert file.read_text("utf-8") == FILE.replace("steps = 30", "steps = 31")


def test_a_file_that_is_no_toml_is_to_be_corrected_in_an_editor(client, file):
    file.write_text("[topic\n", "utf-8")
    page = client.get(f"/campaigns/{key_of(client, 'sky')}").text
    assert "Correct the file in an editor" in page
    assert not [link for link in PageShape(page).links if link.endswith("/edit")]


def test_a_password_that_is_typed_as_a_database_is_refused_and_not_shown_again(client, file, place):
    typed = {"database": f"postgresql://me:{HIDDEN}@127.0.0.1/x"}
    for what in ("save", "quote"):
        done = send(client, "/new", open_new(client, **typed), what)
        assert HIDDEN not in done.text
        assert "write the name of a file" in read_fields(done).text.lower()
    assert not (place / "moon.toml").exists()


def test_the_page_says_whether_the_variable_is_set_and_not_what_it_holds(client, file, monkeypatch):
    path = f"/campaigns/{key_of(client)}/edit"
    monkeypatch.delenv("X_BEARER_TOKEN", raising=False)
    assert "X_BEARER_TOKEN is not set for this server" in client.get(path).text
    monkeypatch.setenv("X_BEARER_TOKEN", SECRET)
    page = client.get(path).text
    assert "X_BEARER_TOKEN is set for this server" in page
    assert SECRET not in page


def test_a_quote_is_that_of_a_file_with_the_same_values_and_asks_nobody(client, file, place, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *where, **_: asked.append(where))
    before = sorted(place.rglob("*"))
    for steps in ("40", "80"):
        part = send(client, "/new", open_new(client, **{"crawl.steps": steps}), "quote", headers=PART)
        values = {"topic": {"keywords": ["moon", "lunar eclipse"]}, "crawl": {"steps": int(steps)}}
        wanted = sc.CampaignFile.draft(tmp_path / "moon.toml", values).to_campaign().quote().to_dict()
        cells = say(part)
        probably, most = (wanted[name]["requests"] for name in ("probably", "at_most"))
        assert f"Requests {probably:,} {most:,}" in cells
        assert f"Cost ${wanted['probably']['dollars']:,.2f} ${wanted['at_most']['dollars']:,.2f}" in cells
        assert "<html" not in part.text
    path = f"/campaigns/{key_of(client)}/edit"
    whole = send(client, path, read_fields(client.get(path)).values | {"crawl.steps": "50"}, "quote")
    assert (whole.status_code, read_fields(whole).values["crawl.steps"]) == (200, "50")
    assert "All of the estimate" in whole.text
    assert sorted(place.rglob("*")) == before
    assert file.read_text("utf-8") == FILE
    assert asked == []


def test_a_quote_of_wrong_values_says_which(client, file):
    part = send(client, "/new", open_new(client, **{"crawl.steps": "0"}), "quote", headers=PART)
    assert "Accounts to read: Write a number, 1 or more." in PageShape(part.text).text


def test_pasted_posts_are_matched_and_marked_and_are_only_text(client, file):
    texts = f"The MOON is up\nRain all day\nA moon {HOSTILE}\n\n" + "\n".join(f"moon {n}" for n in range(30))
    part = send(client, "/new", open_new(client, **{"-texts": texts}), "preview", headers=PART)
    shape = PageShape(part.text)
    assert "19 of 20 pasted posts match." in shape.text, "of the first 20 lines all but one"
    assert "<mark>MOON</mark>" in part.text
    assert "alert(1)" in shape.text
    assert not {"script", "img"} & {tag for tag, _ in shape.tags}
    assert "Type a keyword first" in send(client, "/new", open_new(client, **{"topic.keywords": ""}), "preview").text


def test_without_the_token_of_the_pages_nothing_is_changed_quoted_or_matched(client, file, place):
    path = f"/campaigns/{key_of(client)}/edit"
    edit, new = read_fields(client.get(path)).values, open_new(client)
    with serving(place) as stranger:
        for where, values in ((path, edit), ("/new", new)):
            page = stranger.get(where, params={"kind": "collect", "platform": "x"})
            assert page.status_code == 200
            assert '<fieldset class="plain" disabled>' in page.text
            for what in ("save", "quote", "preview"):
                assert send(stranger, where, values, what).status_code == 401
        log_in(stranger)
        for where, values in ((path, edit), ("/new", new)):
            for what in ("save", "quote", "preview"):
                for csrf in ("", "0" * 64):
                    assert send(stranger, where, values | {"csrf": csrf}, what).status_code == 403
                elsewhere = {"sec-fetch-site": "cross-site"}
                assert send(stranger, where, values, what, headers=elsewhere).status_code == 403
    assert file.read_text("utf-8") == FILE
    assert not (place / "moon.toml").exists()


def test_programs_and_places_outside_the_folder_are_not_taken_from_a_browser(client, file):
    path = f"/campaigns/{key_of(client)}/edit"
    values = read_fields(client.get(path)).values
    assert "notify.command" not in values
    assert send(client, path, values | {"notify.command": "rm"}).status_code == 303
    assert file.read_text("utf-8") == FILE
    for key, text in (("seeds.file", "/etc/passwd"), ("database", "postgresql://u@h/n"), ("crawl.estimator", "os:x")):
        done = send(client, path, values | {key: text})
        assert (done.status_code, read_fields(done).invalid) == (422, [key])
    assert file.read_text("utf-8") == FILE


def test_a_file_that_is_no_toml_or_not_of_the_folder_cannot_be_edited_and_the_page_says_why(client, file, own):
    key = key_of(client)
    file.write_text("name = [", "utf-8")
    for answer in (client.get(f"/campaigns/{key_of(client)}/edit"), client.get(f"/campaigns/{key}/edit")):
        assert answer.status_code in (200, 404)
        assert answer.status_code == 404 or "is not valid TOML" in answer.text
    with serving(own / "example.db") as alone:
        log_in(alone)
        page = alone.get(f"/campaigns/{key_of(alone, 'example')}/edit")
        assert (page.status_code, "cannot be edited here" in page.text) == (200, True)


def test_a_campaign_that_has_begun_keeps_what_is_fixed_and_says_what_a_change_does(own):
    file = own / "example.toml"
    before = file.read_text("utf-8")
    with serving(own) as client:
        log_in(client)
        path = f"/campaigns/{key_of(client, 'example')}/edit"
        form = read_fields(client.get(path))
        fixed = {"name", "database", "seed", "crawl.links", "source.pages_per_user", "source.read"}
        assert fixed <= {*form.disabled}
        assert not {"crawl.steps", "topic.keywords", "budget.max_money"} & {*form.disabled}
        assert "Fixed, as the campaign has begun." in form.text
        assert send(client, path, form.values | {"seed": "7", "name": "other"}).status_code == 303
        assert file.read_text("utf-8") == before
        done = send(client, path, form.values | {"crawl.steps": "31"})
        assert done.headers["location"].endswith("saved=saved")
        values = read_fields(client.get(path)).values
        new = values | {"topic.keywords": values["topic.keywords"] + "\nmirror"}
        assert "(a new epoch), because of topic.keywords" in send(client, path, new, "quote", headers=PART).text
        done = send(client, path, new)
        assert done.headers["location"].endswith("saved=epoch")
        saved = client.get(done.headers["location"]).text
        assert "This takes effect at the next start. Then a new epoch begins" in saved
        assert ">Start it</button>" in saved


def test_stored_posts_that_match_are_shown_with_their_matches_marked(begun):
    with sc.open(begun / "example.db") as data:
        wanted = data.preview_matches(["telescope"])
    with serving(begun) as client:
        log_in(client)
        path = f"/campaigns/{key_of(client, 'example')}/edit"
        values = read_fields(client.get(path)).values | {"topic.keywords": "telescope"}
        part = send(client, path, values, "preview", headers=PART)
        assert f"{wanted.matching:,} of {wanted.examined:,} stored posts of example match." in part.text
        assert part.text.lower().count("<mark>telescope</mark>") >= 10


ENOUGH = {
    "seeds.usernames": {"x": "ann", "bluesky": "ann.example", "mastodon": "ann@a.example", "web": "https://a.example/"},
    "source.base_url": {"mastodon": "https://a.example"},
    "source.contact": {"mastodon": "mailto:me@a.example", "web": "mailto:me@a.example"},
}


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon", "web"])
@pytest.mark.parametrize("kind", ["collect", "track", "refresh", "sample", "capture"])
def test_a_campaign_of_each_kind_is_created_on_each_platform_that_has_it(tmp_path, kind, platform):
    with serving(tmp_path) as client:
        log_in(client)
        page = client.get("/new", params={"kind": kind, "platform": platform})
        if (kind, platform) == ("capture", "web"):
            assert (page.status_code, "no search of the web by time" in say(page)) == (409, True)
            assert "crawl.steps" not in page.text, "people need not fill in a form that cannot be saved"
            return
        values = read_fields(page).values
        values |= {"name": "moon", "topic.keywords": "moon", "capture.from": "2026-11-01"}
        values |= {key: texts[platform] for key, texts in ENOUGH.items() if platform in texts}
        done = send(client, "/new", values)
        assert done.status_code == 303, say(done)
        settings = sc.Campaign.load(tmp_path / "moon.toml").settings
        assert (settings["kind"], settings["source"]["platform"]) == (kind, platform)
        page = client.get(done.headers["location"])
        assert page.status_code == 200
        again = send(client, done.headers["location"].partition("?")[0], read_fields(page).values)
        assert again.status_code == 303, "what nobody changed can be saved"
