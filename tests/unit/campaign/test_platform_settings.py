"""Campaign files of each platform: what they need, and mistakes that are told before anything is asked."""

import pytest
from x_crawls import TOKEN_ENV

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings, read
from socialcrawl.campaign.template_file import write_campaign_file
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.facts import BUILT_IN

CONTACT = {"contact": "mailto:me@example.org"}


def meant(platform, named=(), **sections):
    given = {"name": "a", "topic": {"keywords": ["dark sky", "star*"]}, "source": {"platform": platform}}
    given["seeds"] = {"usernames": list(named)}
    for name, values in sections.items():
        given[name] = {**given.get(name, {}), **values}
    return make_plan(check_settings(given, "a.toml"))


def test_every_platform_is_asked_as_its_file_says():
    assert meant("x", ["bob"], budget={"max_money": 1.0}).timeline == "/2/users/:id/tweets"
    bluesky = meant("bluesky", ["@Alice.bsky.social", "did:plc:abc"])
    assert (bluesky.base, bluesky.billed) == ("https://public.api.bsky.app", False)
    assert bluesky.usernames == ["alice.bsky.social", "did:plc:abc"]
    assert bluesky.queries == ['"dark sky"', "star"]
    mastodon = meant("mastodon", ["@Bob@Fosstodon.org"], source=CONTACT)
    assert mastodon.timeline == "mastodon.social/api/v1/accounts/:id/statuses"
    assert mastodon.usernames == ["bob@fosstodon.org"]
    assert mastodon.queries == ["dark sky", "star"]
    own = meant("mastodon", source={**CONTACT, "base_url": "https://web.example.org", "domain": "example.org"})
    assert own.timeline.startswith("example.org/")
    web = meant("web", ["HTTPS://Example.org:443/a/../b#c"], source=CONTACT)
    assert (web.usernames, web.queries) == (["https://example.org/b"], [])


@pytest.mark.parametrize(
    ("platform", "variable", "kinds"),
    [
        ("x", None, [("main", "app", "")]),
        ("bluesky", None, [("public", "public", "")]),
        ("bluesky", TOKEN_ENV, [("main", "user", "")]),
        ("mastodon", None, [("public", "public", "")]),
        ("mastodon", TOKEN_ENV, [("main", "user", "mastodon.social"), ("public", "public", "")]),
    ],
)
def test_who_asks_is_a_token_where_one_is_needed_or_given(platform, variable, kinds):
    source = {"token_env": variable} if variable else {}
    source |= {"identifier": "me.example.org"} if (platform, variable) == ("bluesky", TOKEN_ENV) else {}
    source |= CONTACT if platform == "mastodon" else {}
    found = meant(platform, source=source, budget={"max_money": 1.0})
    assert [tuple(one) for one, _ in found.platform.list_credentials(found.settings)] == kinds


WRONG = [
    ("bluesky", ["alice"], {}, "not an account of Bluesky"),
    ("bluesky", ["a.example"], {"source": {"identifier": "me.example"}}, "name both under"),
    ("bluesky", ["a.example"], {"source": {"token_env": "PASSWORD"}}, "name both under"),
    ("bluesky", [], {"seeds": {"lists": ["3k2"]}}, "is not a list of Bluesky"),
    ("bluesky", [], {"seeds": {"search": False}}, "nothing to start from"),
    ("mastodon", ["alice"], {"source": CONTACT}, "write it with its instance"),
    ("mastodon", ["a@b.example"], {}, "set contact under"),
    ("mastodon", [], {"source": {**CONTACT, "identifier": "me.bsky.social", "token_env": "PASSWORD"}}, "Bluesky"),
    ("mastodon", [], {"source": CONTACT, "seeds": {"lists": ["at://x/app.bsky.graph.list/y"]}}, "Bluesky's"),
    ("mastodon", [], {"source": {**CONTACT, "hosts": ["https://fosstodon.org"]}}, "is not a host"),
    ("mastodon", [], {"source": {**CONTACT, "hosts": [" "]}}, "is not a host"),
    ("mastodon", [], {"source": {"contact": "mailto:j\u00fcrgen@example.org"}}, "plain letters"),
    ("mastodon", [], {"source": {"contact": "me@example.org\r\nX-Evil: 1"}}, "plain letters"),
    ("mastodon", [], {"source": {"contact": "x"}}, "plain letters"),
    ("web", ["example.org"], {"source": CONTACT}, "is not a page of the web"),
    ("web", ["https://u:secret@example.org/"], {"source": CONTACT}, "looks like a token or a password"),
    ("web", [], {"source": CONTACT}, "name usernames"),
    ("web", ["https://a.example/"], {}, "set contact under"),
    ("web", ["https://a.example/"], {"source": CONTACT, "seeds": {"search": True}}, "has no search"),
    ("web", ["https://a.example/"], {"source": {**CONTACT, "token_env": "TOKEN"}}, "without a token"),
    ("web", ["https://a.example/"], {"source": CONTACT, "crawl": {"links": ["follows"]}}, "one kind of link"),
    ("x", ["bob"], {"source": {"identifier": "me"}}, "Bluesky"),
    ("x", ["bob"], {"accounts": {"exclude": ["a.b"]}}, "is not a username of X"),
]


@pytest.mark.parametrize(("platform", "seeds", "sections", "words"), WRONG)
def test_a_file_that_cannot_work_is_refused_with_what_to_do(platform, seeds, sections, words):
    with pytest.raises(SettingsError, match=words) as told:
        meant(platform, seeds, **sections)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("platform", BUILT_IN)
def test_each_platform_has_a_file_to_begin_with(platform, tmp_path):
    file = tmp_path / "a.toml"
    assert write_campaign_file(file, ["telescope"], platform)
    text = file.read_text("utf-8").replace('contact = ""', 'contact = "mailto:me@example.org"')
    file.write_text(text.replace('base_url = ""', 'base_url = "https://social.example"'), "utf-8")
    found = make_plan(read(file))
    assert (found.platform.facts.name, found.topic.count("A telescope")) == (platform, 1)
    file.write_text(file.read_text("utf-8").replace("# control = 0.1 ", "control = 0.1 "), "utf-8")
    assert make_plan(read(file)).settings.crawl.control == 0.1, "it is there to be uncommented"


@pytest.mark.parametrize(
    ("platform", "kind", "lines"),
    [
        ("x", "collect", ['# read = "search"   ']),
        ("x", "track", ['# read = "match"    ']),
        ("x", "sample", ['# read = "match"    ']),
        ("x", "capture", []),
        ("mastodon", "collect", ['# read = "search"   ', "# full_text = true  "]),
        ("mastodon", "track", []),
        ("mastodon", "sample", []),
    ],
)
def test_a_file_to_begin_with_names_the_ways_of_reading_that_its_kind_has(platform, kind, lines, tmp_path):
    write_campaign_file(tmp_path / "a.toml", ["telescope"], platform, kind)
    source = (tmp_path / "a.toml").read_text("utf-8").partition("[source]")[2].partition("\n[")[0]
    found = [line for line in source.splitlines() if line.startswith(("# read = ", "# full_text = "))]
    assert [line[:20] for line in found] == lines
    told = "only (docs/how-to/match.md)" if "match" in str(lines) else "docs/how-to/match.md"
    assert (told in source) == bool(lines)


def test_a_platform_that_is_not_known_has_none(tmp_path):
    with pytest.raises(
        SettingsError, match=r"Unknown platform 'friendster'\. Choose one of: x, bluesky, mastodon, web"
    ):
        write_campaign_file(tmp_path / "a.toml", [], "friendster")
