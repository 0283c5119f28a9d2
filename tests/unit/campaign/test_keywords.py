"""Keywords that cannot be meant as they are written are refused before they cost anything; all others work."""

import json
import sqlite3

import orjson
import pytest
from commands import campaign_file, socialcrawl
from hypothesis import given
from hypothesis import strategies as st
from test_mock_world import START, posts_of
from x_crawls import TOKEN, campaign_of, crawl, posts_file, rows

from socialcrawl.campaign.build import build
from socialcrawl.campaign.keywords import AS_OPTIONS, check_keywords, find_questionable
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings, read
from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView

REFUSED = {
    "#": 'no letter, digit or emoji, and no search finds it. Write it with its word, as "#climate"',
    "$": "no letter, digit or emoji",
    "@": "no letter, digit or emoji",
    "#*": "no letter, digit or emoji",
    "\uff03": "no letter, digit or emoji",
    "...": "no letter, digit or emoji",
    "http://": 'begins like an address, but is not one: write it in full, as "https://example.org/page"',
    "https://*": "begins like an address",
    "https://exa mple.org/": "begins like an address",
    "from:nasa": 'keywords have no operators such as from:. Take it out; accounts to begin with go into usernames '
    'under [seeds], as usernames = ["nasa"]',
    "climate lang:en": 'languages go into languages under [topic], as languages = ["en"]',
    "mentions:@nasa": 'as "@nasa"',
    "url:example.org": "a link is written as its address",
    "since:2026-01-01": "from and until under [topic]",
    "(is:reply": "a regular expression as patterns",
    "-word": "would be searched with the word behind the -: keywords exclude nothing",
    "climate -oil": "keywords exclude nothing",
    '-"dark sky"': "keywords exclude nothing",
    "climate, drought": 'would be searched as one phrase. List several keywords one by one: '
    'keywords = ["climate", "drought"]; any of them counts. If it is one phrase, write it without the sign',
    "climate,drought": 'keywords = ["climate", "drought"]',
    "climate | drought": 'keywords = ["climate", "drought"]',
    "climate; drought": 'keywords = ["climate", "drought"]',
    "気候、干ばつ": 'keywords = ["気候", "干ばつ"]',
    '"climate", "dark sky"': 'keywords = ["climate", "dark sky"]',
    '"climate" "dark sky"': 'keywords = ["climate", "dark sky"]',
    "#climate #drought": 'keywords = ["#climate", "#drought"]',
    '"dark sky"': 'write keywords = ["dark sky"]',
    "climate,": 'write keywords = ["climate"]',
    "climate* change": "has an * in the middle",
    "climate OR drought": 'keywords = ["climate", "drought"]',
}  # fmt: skip
MEANT = [
    "C++", "c#", "AT&T", "9:30", "Re:Zero", "NieR:Automata", "Spider-Man: No Way Home", "Steins;Gate", "AC/DC", "24/7",
    "@name", "@name@example.org", "#tag", "$TSLA", "café", "dark sky", "it's", "rock -n- roll", "well-known", "-40",
    "http://example.org/x", "https://example.org/a,b?c=d|e", "https://example.org/from:nasa", "🌍", "☭", "🇩🇪", "日本",
    "10,000 steps", "N,N-DMT", "2,4-D", "modul*", "climate chang*", "#climate*", "M*A*S*H", "*NSYNC", "f***", "R&D",
    "\ufb01ne", 'a 27" screen', "(c)", "what?!", "list of names", "to: all", "more or less", "km²", "🌍*",
]  # fmt: skip
PLATFORMS = {
    "x": ("ann", {}),
    "bluesky": ("ann.bsky.social", {}),
    "mastodon": ("ann@example.org", {"contact": "mailto:me@example.org"}),
    "web": ("https://example.org/", {"contact": "mailto:me@example.org", "hosts": ["example.org"]}),
}


def settings_of(*keywords, platform="x", **more):
    name, source = PLATFORMS[platform]
    base = {} if platform == "web" else {"base_url": "http://127.0.0.1:9"}
    return check_settings(
        {
            "name": "mine",
            "topic": {"keywords": list(keywords)},
            "seeds": {"usernames": [name]},
            "source": {"platform": platform, **base, **source},
            **more,
        },
        "mine.toml",
    )


def answer_to(keyword):
    with pytest.raises(SettingsError) as refused:
        make_plan(settings_of(keyword))
    return str(refused.value)


@pytest.mark.parametrize(("keyword", "says"), REFUSED.items(), ids=repr)
def test_a_keyword_that_cannot_be_meant_is_answered_with_how_to_write_it(keyword, says):
    told = answer_to(keyword)
    assert told.startswith(f"[topic] keywords: {keyword!r} ")
    assert says.lower() in told.lower()
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_platform_takes_a_keyword_that_cannot_be_meant(platform):
    for keyword in REFUSED:
        with pytest.raises(SettingsError, match="keywords"):
            make_plan(settings_of(keyword, platform=platform))
    make_plan(settings_of(*MEANT, platform=platform))


@pytest.mark.parametrize("keyword", MEANT)
def test_what_people_search_for_is_no_query(keyword):
    assert not find_questionable([keyword])


def test_all_keywords_that_cannot_be_meant_are_told_at_once():
    with pytest.raises(SettingsError) as refused:
        make_plan(settings_of("#", "climate", "from:nasa"))
    assert [line.split("'")[1] for line in str(refused.value).splitlines()] == ["#", "from:nasa"]


@given(st.text(max_size=20))
def test_any_text_is_taken_or_answered_in_one_line(text):
    assert all(len(said.splitlines()) == 1 for said in find_questionable([text]).values())


@given(st.lists(st.sampled_from(["climate", "dark sky", "#tag", "C++", "café"]), min_size=2, unique=True))
def test_a_list_in_one_text_is_answered_with_its_parts(words):
    listed = f"keywords = {json.dumps(words, ensure_ascii=False)}"
    for between in (", ", "; ", " | "):
        assert listed in find_questionable([between.join(words)])[between.join(words)]


def test_check_names_the_file_and_the_keyword(tmp_path):
    file = campaign_file(tmp_path, "http://127.0.0.1:9", keywords=["#", "climate, drought"])
    child = socialcrawl("check", file, folder=tmp_path)
    assert child.returncode == 2
    first, second = child.stdout.splitlines()
    assert first.startswith(f"WRONG  {file}: [topic] keywords: '#' has no letter")
    assert second.startswith(f"WRONG  {file}: [topic] keywords: 'climate, drought' would be searched")


@pytest.mark.parametrize("command", [("run",), ("quote",), ("doctor", "--offline")], ids=" ".join)
def test_commands_that_would_spend_refuse_before_they_make_a_database(tmp_path, command):
    file = campaign_file(tmp_path, "http://127.0.0.1:9", keywords=["from:nasa"])
    child = socialcrawl(*command, file, folder=tmp_path)
    assert child.returncode != 0
    assert "no operators such as from:" in " ".join((child.stdout + child.stderr).split())
    assert not (tmp_path / "mine.db").exists()


def test_init_says_which_options_to_give(tmp_path):
    child = socialcrawl("init", "mine.toml", "--keyword", "climate, dark sky", folder=tmp_path)
    assert child.returncode == 2
    assert "--keyword: 'climate, dark sky'" in child.stderr
    assert "--keyword climate --keyword 'dark sky'" in child.stderr
    assert not (tmp_path / "mine.toml").exists()
    with pytest.raises(SettingsError, match="--keyword word --keyword 'a phrase'"):
        check_keywords(["a word"], AS_OPTIONS)


@pytest.mark.parametrize("keyword", ["", " ", "*"])
def test_an_empty_keyword_is_called_empty(keyword):
    assert find_questionable([keyword], AS_OPTIONS) == {
        keyword: f"--keyword: {keyword!r} is empty: remove it, or write a word."
    }


def test_demo_refuses_a_keyword_that_cannot_be_meant(tmp_path):
    keyword = "climate, drought"
    given_ = ("--posts", posts_file(), "--keyword", keyword, "--seed-size", 2, "--db", "demo.db")
    child = socialcrawl("demo", *given_, folder=tmp_path)
    assert child.returncode == 2
    assert f"--keyword: {keyword!r}" in child.stderr
    assert "--keyword climate (it takes one keyword)" in child.stderr
    assert not (tmp_path / "demo.db").exists()


OLD = "sun, moon"


@pytest.fixture(scope="module")
def mock():
    written = [(f"person{n}", START + n, f"the {OLD} {n} @person{n - 1}", [f"person{n - 1}"]) for n in range(1, 4)]
    with serve_in_thread(posts_of([("person0", START, OLD, []), *written]), limit=100_000) as found:
        yield found


def begun_with(mock, folder, keyword):
    """Return the file of a campaign as an earlier program left it, which took any keyword."""
    file = campaign_file(folder, mock.url, keywords=["sun"])
    crawl(read(file))
    connection = sqlite3.connect(folder / "mine.db")
    with connection:
        for column in ("identity", "settings"):
            held = orjson.loads(connection.execute(f"select {column} from campaign").fetchone()[0])
            held["topic"]["keywords"] = [keyword]
            connection.execute(f"update campaign set {column} = ?", [orjson.dumps(held).decode()])
    connection.close()
    return campaign_file(folder, mock.url, keywords=[keyword], steps=20)


@pytest.fixture
def token(monkeypatch):
    monkeypatch.setenv("X_BEARER_TOKEN", TOKEN)


@pytest.mark.usefixtures("token")
@pytest.mark.parametrize("keyword", [OLD, "sun OR moon", "from:nasa", "a word", "#"])
def test_a_campaign_that_was_begun_with_such_a_keyword_goes_on(mock, tmp_path, keyword):
    settings = read(begun_with(mock, tmp_path, keyword))
    (before,) = rows(tmp_path / "mine.db", "select count(*) from request")
    crawl(settings)
    assert rows(tmp_path / "mine.db", "select count(*) from request") > [before]
    (doubt,) = make_plan(settings).doubts
    assert doubt.startswith("[topic] keywords")
    assert doubt.endswith("The campaign had it before, and keeps it.")


@pytest.mark.usefixtures("token")
def test_every_command_warns_of_a_keyword_that_a_campaign_was_begun_with(mock, tmp_path):
    file = begun_with(mock, tmp_path, OLD)
    said = f"[topic] keywords: {OLD!r} would be searched as one phrase"
    run, quote, check, doctor = (
        socialcrawl(*words, file, folder=tmp_path)
        for words in (("run", "--json"), ("quote", "--json"), ("check",), ("doctor", "--offline"))
    )
    assert [child.returncode for child in (run, quote, check)] == [0, 0, 0]
    assert f"warning: {said}" in run.stderr
    assert f"warning: {said}" in quote.stderr
    assert json.loads(quote.stdout)["campaign"] == "mine"
    assert json.loads(run.stdout)["requests"] > 0
    assert f"WARN   {file}: {said}" in check.stdout
    assert said in " ".join(doctor.stdout.split())


@pytest.mark.usefixtures("token")
def test_a_new_keyword_of_an_old_campaign_is_refused(mock, tmp_path):
    begun_with(mock, tmp_path, OLD)
    settings = read(campaign_file(tmp_path, mock.url, keywords=[OLD, "sun | moon"]))
    with pytest.raises(SettingsError) as refused:
        build(settings, CampaignView(), change=True)
    assert 'keywords = ["sun", "moon"]' in str(refused.value)
    assert OLD not in str(refused.value)


@pytest.mark.usefixtures("token")
def test_another_campaign_of_the_same_database_may_not_begin_with_it(mock, tmp_path):
    settings = read(begun_with(mock, tmp_path, OLD))
    with pytest.raises(SettingsError, match="one by one"):
        make_plan(settings.model_copy(update={"name": "other"}))


def test_a_database_that_cannot_be_read_is_no_reason_to_refuse_a_keyword_that_it_may_have(tmp_path):
    (tmp_path / "a.db").write_bytes(b"no database at all " * 100)
    found = make_plan(settings_of("sun, moon", database=str(tmp_path / "a.db")))
    assert len(found.doubts) == 1


SEARCHED = [
    ("x", "#climate*", "#climate"),
    ("x", "@nas*", "@nas"),
    ("x", "$TS*", "$TS"),
    ("x", "modul*", "modul"),
    ("x", "https://example.org/a*", 'url:"example.org/a"'),
    ("bluesky", "#climate*", "#climate"),
    ("bluesky", "@nasa.bsky*", "@nasa.bsky"),
    ("bluesky", "modul*", "modul"),
    ("mastodon", "#climate*", "#climate"),
]


@pytest.mark.parametrize(("platform", "keyword", "searched"), SEARCHED)
def test_a_prefix_that_the_platform_cannot_search_is_told_with_what_is_searched(platform, keyword, searched):
    found = make_plan(settings_of("plain", keyword, platform=platform))
    assert searched in found.queries or f"plain OR {searched}" in found.queries
    ((about, said),) = found.warnings
    assert about == "keywords"
    assert said.startswith(f"[topic] keywords: {keyword!r} counts whatever begins so")
    assert f"the search is for {searched} alone" in said


@pytest.mark.parametrize("platform", PLATFORMS)
def test_where_nothing_is_searched_or_no_prefix_is_among_the_keywords_nobody_is_warned(platform):
    assert not list(make_plan(settings_of("plain", "#tag", "f*ck", platform=platform)).warnings)
    if platform != "web":
        given_ = {"seeds": {"search": False, "usernames": [PLATFORMS[platform][0]]}}
        assert not list(make_plan(settings_of("#tag*", platform=platform, **given_)).warnings)


@pytest.mark.parametrize(("keyword", "text"), [("#climate*", "#climatestrike"), ("@nas*", "@nasty"), ("$TS*", "$TSLA")])
def test_a_prefix_of_an_entity_counts_what_begins_so_and_only_as_that_entity(keyword, text):
    topic = make_plan(settings_of(keyword)).topic
    assert topic.count(f"see {text} here") == 1
    assert topic.count(f"see x{text} here") == 0
    assert topic.count(f"see {text[1:]} here") == 0


def test_a_prefix_of_an_address_counts_links_that_begin_so():
    topic = make_plan(settings_of("https://example.org/a*")).topic
    assert [topic.count(f"https://example.org/{path}") for path in ("a", "ab", "a/b", "b")] == [1, 1, 1, 0]


def test_check_and_quote_name_the_prefix(tmp_path):
    file = campaign_file(tmp_path, "http://127.0.0.1:9", keywords=["#climate*"])
    check = socialcrawl("check", file, folder=tmp_path)
    assert check.returncode == 0
    assert (
        f"WARN   {file}: [topic] keywords: '#climate*' counts whatever begins so, but X cannot search" in check.stdout
    )
    assert "warning: [topic] keywords: '#climate*'" in socialcrawl("quote", file, folder=tmp_path).stderr


def test_a_prefix_of_a_hashtag_is_searched_as_the_tag_and_counts_longer_tags_on_the_mock(tmp_path):
    written = [("ann", START, "#sun", []), ("ann", START + 1, "#sunset and more", []), ("ann", START + 2, "sunny", [])]
    with serve_in_thread(posts_of(written), limit=100_000) as mock:
        crawl(campaign_of(mock.url, tmp_path / "a.db", topic={"keywords": ["#sun*"]}, crawl={"steps": 5}))
    found = dict(rows(tmp_path / "a.db", "select text, occurrences from hit join post on post.id = hit.post"))
    assert found == {"#sun": 1, "#sunset and more": 1}
