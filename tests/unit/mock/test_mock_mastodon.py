"""The mock's Mastodon: accounts, statuses and their pages, as every instance tells them."""

import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import needed
from test_mock_world import START, posts_of, synthetic

from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock.app import Routes
from socialcrawl.mock.mastodon.instances import make_key
from socialcrawl.mock.mastodon.service import MastodonService
from socialcrawl.mock.names import DELETED, PROTECTED, SUSPENDED
from socialcrawl.mock.service import Guest, MockRequest, MockResponse
from socialcrawl.mock.world import build_world
from socialcrawl.mock.world_changes import WorldChanges

HOME = "home.example"
MEMBER = {"authorization": "Bearer member"}


class Caller:
    """Requests to a service without a server between."""

    def __init__(self, service, host="127.0.0.1", headers=None):
        self.service, self.host, self.headers = service, host, {"host": f"{host}:8765", **(headers or {})}
        self.routes = Routes()
        for method, template in service.endpoints():
            self.routes.add(method, template, template)

    def at(self, host):
        return Caller(self.service, host, {**self.headers, "host": host})

    def told(self, address, **query):
        parts = urlsplit(address)
        template, values = self.routes.find("GET", parts.path)
        names = [part[1:] for part in template.split("/") if part[:1] in (":", "*") and part]
        pairs = [*parse_qsl(parts.query), *((name, str(value)) for name, value in query.items())]
        path = dict(zip(names, values, strict=True))
        asked = MockRequest("GET", template, path, pairs, self.headers, START + 0.25, host=self.host)
        guest = self.service.guest(asked)
        return guest if isinstance(guest, MockResponse) else self.service.answer(asked, guest)

    def get(self, address, **query):
        told = self.told(address, **query)
        assert told.status == 200, told.body
        return json.loads(told.body)

    def row(self, acct):
        return self.get("/api/v1/accounts/lookup", acct=acct)

    def statuses(self, acct, **query):
        """All statuses of an account, page after page by the Link header."""
        return self.pages(f"/api/v1/accounts/{self.row(acct)['id']}/statuses", **query)

    def pages(self, address, **query):
        found, told = [], self.told(address, **query)
        while True:
            found += json.loads(told.body)
            links = linked(told)
            if "next" not in links:
                return found
            told = self.told(links["next"])


def linked(told):
    return {rel: url for url, rel in re.findall(r'<([^>]+)>; rel="(\w+)"', told.headers.get("link", ""))}


def caller(posts=None, headers=MEMBER, missing=0.0, **settings):
    return Caller(MastodonService(build_world(posts or synthetic(), missing), **settings), headers=headers)


class _Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.parts = []

    def handle_starttag(self, tag, attrs):
        if tag == "p" and self.parts:
            self.parts.append("\n\n")
        if tag == "br":
            self.parts.append("\n")

    def handle_data(self, data):
        self.parts.append(data)


def text_of(content):
    """The text of a status, by Python's own reader of HTML."""
    reader = _Text()
    reader.feed(content)
    return "".join(reader.parts)


def town():
    """Accounts on three instances, who mention, answer and repeat each other."""
    rows = [
        ("ann", START, "hello @bob@b.example and @cy@c.example", ("bob@b.example", "cy@c.example")),
        ("bob@b.example", START + 1, "hi @ann@home.example #Rust", ("ann",)),
        ("bob@b.example", START + 2, "ask @dee, she knows", ("dee@b.example",)),
        ("cy@c.example", START + 3, "RT @bob@b.example: hi @ann@home.example #Rust", ("bob@b.example", "ann")),
        ("dee@b.example", START + 4, "and so it is", ()),
        (
            "ann",
            START + 5,
            "RT @eve@far.example: nobody has seen this, @cy@c.example",
            ("eve@far.example", "cy@c.example"),
        ),
    ]
    ids = [str(1000 + i) for i in range(len(rows))]
    return posts_of(rows, ids=ids, reply_to=[None, "1000", None, None, "1002", None])


def test_an_account_is_found_by_name_and_told_with_the_file_s_numbers():
    call = caller()
    ann = call.row("@Ann")
    assert (ann["username"], ann["acct"], ann["display_name"]) == ("ann", "ann", "Ann")
    assert (ann["url"], ann["uri"]) == (f"https://{HOME}/@ann", f"https://{HOME}/users/ann")
    assert ann["statuses_count"] == 58
    assert ann["followers_count"] == 2  # bob and cy mention her
    assert ann["following_count"] == 0
    assert ann["created_at"] == "2023-11-14T00:00:00.000Z"
    assert ann["last_status_at"] == "2023-11-15"
    assert call.get(f"/api/v1/accounts/{ann['id']}") == ann
    assert call.get("/api/v1/accounts", **{"id[]": ann["id"]}) == [ann]


def test_who_is_not_there_is_refused_in_mastodon_s_words():
    call = caller()
    for address in ("/api/v1/accounts/lookup?acct=zoe", "/api/v1/accounts/lookup", "/api/v1/accounts/7"):
        told = call.told(address)
        assert (told.status, json.loads(told.body)) == (404, {"error": "Record not found"})
    assert call.told("/api/v1/accounts/x/statuses").status == 404
    assert json.loads(call.told("/api/v1/statuses/0").body) == {"error": "Not Found"}
    assert call.told("/api/v1/instance/peers").status == 404


def test_a_timeline_is_told_newest_first_to_its_end_with_the_file_s_texts():
    statuses = caller().statuses("ann", limit=40)
    own = [text for author, text in zip(synthetic().authors, synthetic().texts, strict=True) if author.lower() == "ann"]
    assert [text_of(status["content"]) for status in statuses] == own[::-1]
    assert statuses[-1]["created_at"] == "2023-11-14T22:13:20.000Z"
    numbers = [int(status["id"]) for status in statuses]
    assert numbers == sorted(set(numbers), reverse=True)
    assert {status["account"]["acct"] for status in statuses} == {"ann"}


def test_pages_have_at_most_forty_statuses_and_twenty_by_default():
    call = caller()
    address = f"/api/v1/accounts/{call.row('ann')['id']}/statuses"
    sizes = [len(call.get(address, **query)) for query in ({}, {"limit": 7}, {"limit": 400}, {"limit": "many"})]
    assert sizes == [20, 7, 40, 0]


def test_the_link_header_leads_on_with_the_parameters_and_the_host_that_were_asked():
    call = caller()
    number = call.row("ann")["id"]
    told = call.told(f"/api/v1/accounts/{number}/statuses", limit=40, exclude_replies="true")
    page = json.loads(told.body)
    base = f"http://127.0.0.1:8765/api/v1/accounts/{number}/statuses?exclude_replies=true&limit=40"
    assert linked(told) == {"next": f"{base}&max_id={page[-1]['id']}", "prev": f"{base}&min_id={page[0]['id']}"}
    last = call.told(linked(told)["next"])
    assert "next" not in linked(last)
    assert json.loads(call.told(linked(told)["prev"]).body) == []


@pytest.mark.parametrize("kind", ["statuses", "following", "followers"])
def test_a_page_of_nothing_leads_nowhere(kind):
    call = caller()
    told = call.told(f"/api/v1/accounts/{call.row('bob')['id']}/{kind}", limit=0)
    assert (told.body, told.headers.get("link")) == (b"[]", None)


def test_a_full_last_page_has_a_next_one_that_is_empty():
    call = caller(posts_of([("ann", START + i, f"note {i}") for i in range(6)]))
    address = f"/api/v1/accounts/{call.row('ann')['id']}/statuses"
    second = call.told(linked(call.told(address, limit=3))["next"])
    assert len(json.loads(second.body)) == 3
    third = call.told(linked(second)["next"])
    assert (third.body, third.headers.get("link")) == (b"[]", None)


def test_cursors_cut_a_timeline_as_ids_compare():
    call = caller()
    address = f"/api/v1/accounts/{call.row('ann')['id']}/statuses"
    everything = call.statuses("ann", limit=40)
    place = 30
    middle = int(everything[place]["id"])
    newer, older = everything[:place], everything[place + 1 :]
    for bound in (middle, str(middle)):
        assert call.get(address, max_id=bound, limit=40) == older[:40]
        assert call.get(address, since_id=bound, limit=5) == newer[:5]
        assert call.get(address, min_id=bound, limit=5) == newer[-5:]
    # an id between two statuses is as good as one of them
    assert call.get(address, max_id=middle + 1, limit=1) == everything[place : place + 1]
    assert call.get(address, min_id=middle - 1, limit=1) == everything[place : place + 1]
    assert call.get(address, max_id="nonsense") == []
    assert call.get(address, max_id="9" * 40, limit=1) == everything[:1]


def test_going_up_by_min_id_meets_every_status_once():
    call = caller()
    address = f"/api/v1/accounts/{call.row('ann')['id']}/statuses"
    found, told = [], call.told(address, min_id=0, limit=9)
    while json.loads(told.body):
        found += json.loads(told.body)[::-1]
        told = call.told(linked(told)["prev"])
    assert found[::-1] == call.statuses("ann", limit=40)


def test_a_timeline_can_leave_replies_and_reposts_out_and_ask_for_a_tag():
    call = caller()
    texts = [text_of(status["content"]) for status in call.statuses("bob")]
    assert texts == ["the last word, cats and dogs", "", "hey @ann and @nobody, see https://example.org/a_b?c=1."]
    kept = call.statuses("bob", exclude_replies="true")
    assert [text_of(status["content"]) for status in kept] == ["the last word, cats and dogs", ""]
    assert len(call.statuses("bob", exclude_reblogs="1")) == 2
    assert len(call.statuses("bob", exclude_reblogs="false")) == 3
    assert len(call.statuses("ann", tagged="RUST", limit=40)) == 57
    assert call.statuses("ann", pinned="true") == []


def test_who_answers_themselves_writes_on_and_names_nobody():
    posts = posts_of([("ann", START, "one"), ("ann", START + 1, "two")], ids=["a", "b"], reply_to=[None, "a"])
    two, one = caller(posts).statuses("ann", exclude_replies="true")
    assert two["in_reply_to_id"] == one["id"]
    assert two["mentions"] == []


def test_mentions_stand_in_the_list_and_as_links_in_the_text():
    call = caller(town())
    (ann,) = [status for status in call.statuses("ann") if not status["reblog"]]
    assert ann["mentions"] == [
        {"id": call.row(f"{name}@{name[0]}.example")["id"], "username": name, "acct": f"{name}@{name[0]}.example"}
        | {"url": f"https://{name[0]}.example/@{name}"}
        for name in ("bob", "cy")
    ]
    assert ann["content"] == (
        '<p>hello <span class="h-card" translate="no"><a href="https://b.example/@bob" class="u-url mention">'
        '@<span>bob@b.example</span></a></span> and <span class="h-card" translate="no">'
        '<a href="https://c.example/@cy" class="u-url mention">@<span>cy@c.example</span></a></span></p>'
    )
    # a name without its domain is one of the author's own instance
    (dee,) = [status for status in call.statuses("bob@b.example") if "knows" in status["content"]]
    assert 'href="https://b.example/@dee"' in dee["content"]
    # a mention that the text does not spell out stands in the list alone
    late = call_of_late()
    assert [mention["acct"] for mention in late["mentions"]] == ["bob"]
    assert late["content"] == "<p>bob: quite so</p>"


def call_of_late():
    call = caller()
    (name,) = [name for name in build_world(synthetic()).accounts.usernames if name.startswith("thelong")]
    return call.statuses(name)[0]


def test_a_reply_tells_what_it_answers_and_names_the_answered():
    call = caller()
    (answer,) = [status for status in call.statuses("bob") if status["in_reply_to_id"]]
    answered = call.get(f"/api/v1/statuses/{answer['in_reply_to_id']}")
    assert text_of(answered["content"]) == "note 3 about rust #Rust"
    assert answered["replies_count"] == 1
    assert answer["in_reply_to_account_id"] == answered["account"]["id"] == call.row("ann")["id"]
    # "I agree" says nobody's name
    agreed = call.statuses("ann", limit=1)[0]
    assert [mention["acct"] for mention in agreed["mentions"]] == ["bob"]
    # an answer to a name has no status
    late = call_of_late()
    assert (late["in_reply_to_id"], late["in_reply_to_account_id"]) == (None, call.row("bob")["id"])


def test_a_repost_carries_its_original():
    call = caller()
    (repost,) = [status for status in call.statuses("bob") if status["reblog"]]
    original = next(s for s in call.statuses("ann", limit=40) if text_of(s["content"]) == "note 3 about rust #Rust")
    assert repost["reblog"] == original
    assert original["reblogs_count"] == 1
    assert repost["content"] == ""
    assert repost["mentions"] == repost["tags"] == []
    assert repost["uri"] == f"https://{HOME}/users/bob/statuses/{repost['id']}/activity" == repost["url"]


def test_an_original_that_the_file_lacks_is_made_up_the_same_everywhere():
    posts = town()
    call = caller(posts)
    repost = next(status for status in call.statuses("ann") if status["reblog"])
    original = repost["reblog"]
    assert text_of(original["content"]) == "nobody has seen this, @cy@c.example"
    assert original["account"]["acct"] == "eve@far.example"
    assert [mention["acct"] for mention in original["mentions"]] == ["cy@c.example"]
    assert call.get(f"/api/v1/statuses/{original['id']}") == original
    far = call.at("far.example")
    number = original["uri"].rsplit("/", 1)[1]
    assert original["uri"] == f"https://far.example/users/eve/statuses/{number}"
    assert number != original["id"]
    assert far.get(f"/api/v1/statuses/{number}")["uri"] == original["uri"]


def test_all_reposts_of_an_original_that_the_file_lacks_carry_the_same():
    rows = [("ann", START, "RT @eve: unseen", ("eve",)), ("bob", START + 9, "RT @Eve: unseen", ("eve",))]
    call = caller(posts_of(rows))
    first, second = (call.statuses(name)[0]["reblog"] for name in ("ann", "bob"))
    assert first == second
    assert first["created_at"] == "2023-11-14T22:13:20.000Z"


def test_every_instance_has_ids_of_its_own_and_one_uri_for_all():
    call = caller(town())
    home, there = call.row("bob@b.example"), call.at("b.example").row("bob")
    assert (home["acct"], there["acct"]) == ("bob@b.example", "bob")
    assert home["id"] != there["id"]
    assert home["uri"] == there["uri"] == "https://b.example/users/bob"
    seen, own = call.statuses("bob@b.example"), call.at("b.example").statuses("bob")
    assert [status["uri"] for status in seen] == [status["uri"] for status in own]
    assert not {status["id"] for status in seen} & {status["id"] for status in own}
    assert all(status["uri"].endswith(f"/{status['id']}") for status in own)
    assert "noindex" in there
    assert "noindex" not in home
    assert {mention["acct"] for status in own for mention in status["mentions"]} == {f"ann@{HOME}", "dee"}


def test_an_instance_knows_all_accounts_but_only_its_own_posts_and_home_knows_everybody_s():
    call = caller(town())
    assert len(call.statuses("cy@c.example")) == 1
    there = call.at("b.example")
    assert there.row("cy@c.example")["statuses_count"] == 1
    assert there.statuses("cy@c.example") == []
    assert there.told("/api/v1/accounts/lookup", acct="cy").status == 404
    assert there.row(f"ann@{HOME}")["acct"] == f"ann@{HOME}"
    tagged = "/api/v1/timelines/tag/rust"
    assert [len(call.at(host).get(tagged)) for host in (HOME, "b.example", "c.example")] == [1, 1, 0]


def test_the_loopback_and_the_domain_of_home_are_one_instance_and_a_stranger_s_is_none():
    call = caller(town())
    assert (
        call.row("ann")
        == call.at(HOME).row("ann")
        == call.at("localhost").row("ann")
        == call.at("HOME.example").row("ann")
    )
    told = call.at("nowhere.example").told("/api/v1/accounts/lookup", acct="ann")
    assert (told.status, told.content_type.split(";")[0]) == (404, "text/html")


def test_two_keys_that_would_be_one_address_stay_two_accounts_whatever_their_order():
    rows = [("ann", START, "first"), (f"ann@{HOME}", START + 1, "second")]
    for posts in (rows, rows[::-1]):
        call = caller(posts_of(posts))
        assert [text_of(call.statuses(name)[0]["content"]) for name in ("ann", "ann_")] == ["first", "second"]


def test_follows_are_the_mentioned_in_the_order_of_first_mention():
    names = [f"n{i}" for i in range(95)]
    rows = [(name, START - 100, "up early") for name in sorted(names)]  # accounts of the world in another order
    rows += [("ann", START + i, f"@{name}", (name, "ann")) for i, name in enumerate([*names, *names[:9]])]
    call = caller(posts_of(rows))
    number = call.row("ann")["id"]
    for limit in (3, 40, 80, 500):
        told = call.pages(f"/api/v1/accounts/{number}/following", limit=limit)
        assert [account["acct"] for account in told] == names
    assert len(call.get(f"/api/v1/accounts/{number}/following")) == 40
    assert len(call.get(f"/api/v1/accounts/{number}/following", limit=500)) == 80
    fan = call.row("n7")["id"]
    assert [account["acct"] for account in call.get(f"/api/v1/accounts/{fan}/followers")] == ["ann"]
    assert call.get(f"/api/v1/accounts/{fan}/following") == []


def test_hashtags_are_found_newest_first_and_always_lead_on():
    call = caller()
    told = call.told("/api/v1/timelines/tag/RUST", limit=40)
    page = json.loads(told.body)
    assert len(page) == 40
    assert page[0]["tags"] == [{"name": "rust", "url": f"https://{HOME}/tags/rust"}]
    assert len(call.pages("/api/v1/timelines/tag/rust")) == 57
    late = call.told("/api/v1/timelines/tag/late")
    assert set(linked(late)) == {"next", "prev"}  # as recorded, though the page is not full
    assert call.get(linked(late)["next"]) == []
    assert len(call.get("/api/v1/timelines/tag/late", **{"any[]": "rust"}, limit=40)) == 40
    assert call.get("/api/v1/timelines/tag/late", **{"all[]": "rust"}) == []
    assert call.get("/api/v1/timelines/tag/late", **{"none[]": "late"}) == []
    assert call.get("/api/v1/timelines/tag/late", only_media="true") == []
    assert call.get("/api/v1/timelines/tag/late", remote="true") == []
    assert len(call.get("/api/v1/timelines/tag/late", local="true")) == 1


def test_search_finds_accounts_by_the_beginning_of_their_names():
    call = caller(town())
    found = call.get("/api/v2/search", q="b")
    assert [account["acct"] for account in found["accounts"]] == ["bob@b.example"]
    assert set(found) == {"accounts", "statuses", "hashtags", "collections"}
    assert [a["acct"] for a in call.get("/api/v2/search", q="@bob@b.example")["accounts"]] == ["bob@b.example"]
    assert call.get("/api/v2/search", q="bobby")["accounts"] == []
    assert call.get("/api/v2/search", q="b", type="statuses")["accounts"] == []
    assert call.told("/api/v2/search", q=" ").status == 400


def test_search_finds_statuses_by_words_phrases_and_authors_with_a_token_only():
    call = caller()

    def found(query, **more):
        return [text_of(s["content"]) for s in call.get("/api/v2/search", q=query, **more)["statuses"]]

    assert found("CATS dogs") == ["the last word, cats and dogs"]
    assert found("cats -dogs") == found('"dogs and"') == found("cat") == found("-rust") == []
    assert found('"note 3"') == ["note 3 about rust #Rust"]
    assert found("from:bob") == [
        "the last word, cats and dogs",
        "hey @ann and @nobody, see https://example.org/a_b?c=1.",
    ]
    assert found("word from:ann") == found("word from:zoe") == []
    assert len(found("rust", limit=40, offset=40)) == 40  # an offset counts within one kind only
    assert found("#rust", type="statuses", limit=40, offset=40) == [
        f"note {i} about rust #Rust" for i in range(16, -1, -1)
    ]
    stranger = caller(headers=None)
    assert stranger.get("/api/v2/search", q="cats")["statuses"] == []
    assert stranger.told("/api/v2/search", q="cats", offset=3).status == 401
    assert stranger.told("/api/v2/search", q="cats", resolve="true").status == 401


def test_search_is_bounded_by_when_statuses_were_written_to_the_day_or_the_second():
    call = caller(town())

    def found(query, **more):
        asked = {"q": query, "type": "statuses", "limit": 40, **more}
        return [text_of(s["content"]) for s in call.get("/api/v2/search", **asked)["statuses"]]

    every = found('after:"2016-01-01T00:00:00Z"')
    assert len(every) > 3, "of all authors, without words"
    assert found("after:2016-01-01") == every
    first, last = (
        call.get("/api/v2/search", q="after:2016-01-01", type="statuses", limit=40)["statuses"][i] for i in (-1, 0)
    )
    begin, end = first["created_at"][:19] + "Z", last["created_at"][:19] + "Z"
    assert text_of(first["content"]) not in found(f'after:"{begin}"'), "a second that is named is left out"
    assert text_of(first["content"]) in found(f'before:"{end}"')
    assert text_of(last["content"]) not in found(f'before:"{end}"')
    assert text_of(first["content"]) in found(f"during:{begin[:10]}")
    assert found(f"before:{begin[:10]}") == found(f"after:{end[:10]}") == []
    assert found("after:2016-01-01", min_id=first["id"]) == found(f'after:"{begin}"')
    assert found("after:2016-01-01", max_id=last["id"]) == found(f'before:"{end}"')
    told = call.told("/api/v2/search", q="cats after:yesterday", type="statuses")
    assert (told.status, b"Invalid date" in told.body) == (422, True)


def test_a_search_may_be_silent_or_know_days_only():
    silent, days = caller(full_text="silent"), caller(full_text="days")
    assert silent.get("/api/v2/search", q="cats")["statuses"] == []
    assert days.get("/api/v2/search", q="cats after:2016-01-01")["statuses"]
    assert days.told("/api/v2/search", q='cats after:"2016-01-01T00:00:00Z"').status == 422
    assert days.told("/api/v2/search", q="cats", min_id=1).status == 422


def test_only_a_token_is_told_what_its_owner_did_with_a_status():
    own = {"favourited", "reblogged", "muted", "bookmarked", "filtered"}
    assert own < caller().statuses("ann")[0].keys()
    assert not own & caller(headers=None).statuses("ann")[0].keys()


def test_a_token_that_is_not_let_in_is_refused_and_no_token_is_everybody():
    service = MastodonService(build_world(synthetic()), tokens=frozenset({"good"}))
    for authorization, status in (("Bearer good", 200), ("bearer good", 200), ("Bearer bad", 401), ("Basic good", 401)):
        told = Caller(service, headers={"authorization": authorization}).told("/api/v1/accounts/lookup?acct=ann")
        assert told.status == status
    assert json.loads(told.body) == {"error": "The access token is invalid"}
    stranger = Caller(service)
    assert stranger.told("/api/v1/accounts/lookup?acct=ann").status == 200
    assert stranger.told("/api/v1/accounts/verify_credentials").status == 401
    assert "source" in Caller(service, headers={"authorization": "Bearer good"}).get(
        "/api/v1/accounts/verify_credentials"
    )


def test_no_label_tells_its_token():
    service = MastodonService(build_world(synthetic()))
    asked = MockRequest("GET", "/api/v1/instance", {}, (), {"authorization": "Bearer s3cret"}, START)
    guest = service.guest(asked)
    assert isinstance(guest, Guest)
    assert guest.kind == "user"
    assert "s3cret" not in guest.label


def changed():
    world = build_world(synthetic())
    changes = WorldChanges(world)
    return world, changes, Caller(MastodonService(world, changes=changes), headers=MEMBER)


def test_a_suspended_account_is_told_emptied_and_its_posts_are_gone():
    world, changes, call = changed()
    before = call.statuses("ann")[0]["id"]
    changes.become(world.accounts.by_username["ann"], SUSPENDED)
    ann = call.row("ann")
    assert (ann["suspended"], ann["display_name"], ann["statuses_count"], ann["last_status_at"]) == (True, "", 0, None)
    assert call.statuses("ann") == call.get(f"/api/v1/accounts/{ann['id']}/followers") == []
    assert call.told(f"/api/v1/statuses/{before}").status == 404
    assert call.get("/api/v1/timelines/tag/rust") == []
    assert call.get("/api/v2/search", q="ann")["accounts"] == call.get("/api/v2/search", q="note")["statuses"] == []


def test_a_protected_account_is_locked_and_shows_no_posts():
    world, changes, call = changed()
    assert call.row("ann")["locked"] is False
    changes.become(world.accounts.by_username["ann"], PROTECTED)
    assert call.row("ann")["locked"] is True
    assert call.row("ann")["statuses_count"] == 58
    assert call.statuses("ann") == []


def test_a_deleted_account_is_not_found_and_stays_where_others_named_it():
    world, changes, call = changed()
    number = call.row("ann")["id"]
    changes.become(world.accounts.by_username["ann"], DELETED)
    for address in ("lookup?acct=ann", number, f"{number}/statuses", f"{number}/following"):
        assert call.told(f"/api/v1/accounts/{address}").status == 404
    bob = call.statuses("bob")
    assert bob[1]["reblog"]["account"]["acct"] == "ann"
    assert [mention["acct"] for mention in bob[2]["mentions"]] == ["ann", "nobody"]
    gone = Caller(MastodonService(world, changes=changes, gone=True))
    assert gone.told("/api/v1/accounts/lookup?acct=ann").status == 410


def test_missing_accounts_are_not_listed_among_others():
    world, changes, call = changed()
    cy = call.row("cy")["id"]
    for fate, names in ((PROTECTED, ["bob", "ann", "gone"]), (SUSPENDED, ["ann", "gone"]), (DELETED, ["ann", "gone"])):
        changes.become(world.accounts.by_username["bob"], fate)
        assert [account["acct"] for account in call.get(f"/api/v1/accounts/{cy}/following")] == names


def test_a_renamed_account_is_found_on_its_own_instance_only():
    world = build_world(town())
    changes = WorldChanges(world)
    call = Caller(MastodonService(world, changes=changes))
    row = world.accounts.keys.index("bob@b.example")
    changes.rename(row, "bobby")
    assert call.row("bobby@b.example")["acct"] == "bobby@b.example"
    assert call.at("b.example").row("bobby")["acct"] == "bobby"
    for name in ("bobby", "bobby@c.example", "bob@b.example"):
        assert call.told("/api/v1/accounts/lookup", acct=name).status == 404


def test_a_renamed_account_is_found_by_its_new_name_only_and_keeps_id_and_uri():
    world, changes, call = changed()
    before = call.row("ann")
    mentioned = call.statuses("bob")[2]
    changes.rename(world.accounts.by_username["ann"], "anna")
    after = call.row("anna")
    assert call.told("/api/v1/accounts/lookup?acct=ann").status == 404
    assert (after["id"], after["uri"]) == (before["id"], before["uri"])
    assert (after["username"], after["url"]) == ("anna", f"https://{HOME}/@anna")
    again = call.statuses("bob")[2]
    assert (mentioned["mentions"][0]["acct"], again["mentions"][0]["acct"]) == ("ann", "anna")
    assert text_of(again["content"]) == text_of(mentioned["content"])


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.5, 60, 140), (1.0, 200, 200)])
def test_a_share_of_accounts_does_not_want_to_be_found_or_crawled(share, least, most):
    rows = [(f"n{i}", START + i, "a word") for i in range(200)]
    call = caller(posts_of(rows), noindex=share, nobot=share)
    told = [call.row(name) for name, *_ in rows]
    hidden = [account["acct"] for account in told if account["noindex"]]
    assert least <= len(hidden) <= most
    assert hidden == [account["acct"] for account in told if not account["indexable"] or not account["discoverable"]]
    assert least <= sum("#nobot" in account["note"] for account in told) <= most
    if share == 0.5:
        assert hidden != [account["acct"] for account in told if "#nobot" in account["note"]]
    found = []
    for offset in range(0, 200, 40):
        found += call.get("/api/v2/search", q="word", type="statuses", limit=40, offset=offset)["statuses"]
    assert {status["account"]["acct"] for status in found} == {name for name, *_ in rows} - set(hidden)


def test_accounts_that_do_not_want_to_be_crawled_can_be_named():
    call = caller(noindex={"ann"}, nobot={"bob"})
    assert [call.row(name)["noindex"] for name in ("ann", "bob", "cy")] == [True, False, False]
    assert [unescape(call.row(name)["note"]) for name in ("ann", "bob", "cy")] == ["", "<p>#nobot</p>", ""]


def test_an_instance_tells_of_itself():
    call = caller(town())
    for address in ("/api/v2/instance", "/api/v2/instance/"):
        assert call.at("b.example").get(address)["domain"] == "b.example"
        assert call.at("b.example").get(address)["usage"]["users"]["active_month"] == 2
    old = call.at("b.example").get("/api/v1/instance/")
    assert (old["uri"], old["stats"]["user_count"], old["stats"]["status_count"]) == ("b.example", 2, 3)


def named_in(status):
    """Whom a status names in any way, as a crawler sees it."""
    shown = status["reblog"] or status
    return {mention["acct"] for mention in shown["mentions"]} | {shown["account"]["acct"]}


def assert_served_as_written(posts, wanted):
    """The timelines of some authors say what the file says: every text, and everybody it names."""
    call = caller(posts)
    own = {name: [] for name in wanted}
    for number, author in enumerate(posts.authors):
        if author in own:
            own[author].append(number)
    for author, numbers in own.items():
        told = call.statuses(author.lower(), limit=40)
        assert len(told) == len(numbers)
        for status, number in zip(
            told, sorted(numbers, key=lambda n: (posts.created_at[n], n), reverse=True), strict=True
        ):
            text, names = posts.texts[number], {name.lower() for name in posts.list_mentions(number)}
            if status["reblog"]:
                # a repeated text may be cut, and the name at the cut with it
                repeated = text.split(":", 1)[1].strip().rstrip("… ")
                assert text_of(status["reblog"]["content"]).split()[:3] == repeated.split()[:3]
                names = {name for name in names if not text.lower().rstrip("… ").endswith("@" + name)}
                assert names <= named_in(status)
            else:
                assert text_of(status["content"]).split() == text.split()
                assert names | {author.lower()} == named_in(status)


def test_a_made_file_is_served_as_it_was_written():
    rows = [(f"n{i % 9}", START + i, f"line {i}\n\n@n{i % 7} & <n{i % 5}>", (f"n{i % 7}",)) for i in range(300)]
    rows += [
        (f"n{i % 9}", START + 900 + i, f"RT @n{i % 5}: line {i}\n\n@n{i % 7} & <n{i % 5}>", (f"n{i % 5}", f"n{i % 7}"))
        for i in range(90)
    ]
    assert_served_as_written(posts_of(rows), [f"n{i}" for i in range(9)])


NAMES = st.sampled_from(
    ["ann", "Ann", "bob@b.example", "b@b", "ann@b.example", f"ann@{HOME}", "the.one", "ʙ", "x" * 40, "a b"]
)
TEXTS = st.sampled_from(["RT @ann: one", "RT @bob@b.example: @ann", "RT @zoe: gone"]) | st.text(max_size=30)


@given(
    st.lists(st.tuples(NAMES, st.integers(0, 9), TEXTS, st.lists(NAMES, max_size=3)), min_size=1, max_size=12),
    st.data(),
)
@settings(max_examples=many(150), deadline=None)
def test_any_file_is_served_whole_on_every_instance(rows, data):
    answers = [data.draw(st.none() | NAMES | st.sampled_from([f"p{i}" for i in range(len(rows))])) for _ in rows]
    posts = posts_of(sorted(rows, key=lambda row: row[1]), ids=[f"p{i}" for i in range(len(rows))], reply_to=answers)
    world = build_world(posts)
    call = Caller(MastodonService(world), headers=MEMBER)
    statuses = {}
    for row, key in enumerate(world.accounts.keys):
        there = call.at("b.example" if key.endswith("@b.example") else HOME)
        number = int(world.accounts.ids[row]) ^ make_key(there.host)
        account = there.get(f"/api/v1/accounts/{number}")
        assert there.row(account["acct"]) == account
        for status in there.pages(f"/api/v1/accounts/{number}/statuses", limit=2):
            assert there.get(f"/api/v1/statuses/{status['id']}") == status
            if status["reblog"]:
                assert there.get(f"/api/v1/statuses/{status['reblog']['id']}") == status["reblog"]
            if status["in_reply_to_id"]:
                assert there.get(f"/api/v1/statuses/{status['in_reply_to_id']}")
            statuses[status["uri"]] = status
    assert len(statuses) == len(rows)


@pytest.mark.chaos
def test_a_real_file_is_served_as_it_was_written():
    posts = read_posts(needed("data/congress2015_last12m.parquet"))
    counts = Counter(posts.authors)
    some = [author for author, n in sorted(counts.items()) if re.fullmatch(r"[a-z0-9_]{1,15}", author) and 20 < n < 400]
    assert_served_as_written(posts, some[::40])


def test_four_hashtags_of_a_kind_count_and_the_next_page_is_not_told_which():
    rows = [("ann", START + i, f"note {i} #t{i}", ()) for i in range(6)]
    call = caller(posts_of(rows))

    def tagged(tag, name, *tags):
        query = "&".join(f"{name}[]={one}" for one in tags)
        return [one["tags"][0]["name"] for one in call.get(f"/api/v1/timelines/tag/{tag}?{query}")]

    assert tagged("t0", "any", "t1", "t2", "t3", "t4", "t5") == ["t3", "t2", "t1", "t0"]
    assert tagged("t0", "any", "T0", "t1", "t0", "t5") == ["t5", "t1", "t0"]
    assert tagged("t5", "none", "t0", "t1", "t2", "t3", "t5") == ["t5"]
    assert tagged("t5", "all", "t5", "t5") == ["t5"]
    told = call.told("/api/v1/timelines/tag/t0?any[]=t1&remote=false&local=false&limit=1")
    assert linked(told)["next"].partition("?")[2].split("&")[:2] == ["limit=1", "local=false"]
    assert "any" not in linked(told)["next"]


@pytest.mark.parametrize(("access", "strangers", "users"), [("authenticated", 422, 1), ("disabled", 422, 0)])
def test_hashtags_are_shown_to_whom_the_instance_allows(access, strangers, users):
    call = caller(posts_of([("ann", START, "note #rust", ())]), hashtag_feeds=access)
    assert len(call.get("/api/v1/timelines/tag/rust")) == users
    access_told = call.get("/api/v2/instance")["configuration"]["timelines_access"]
    assert access_told["hashtag_feeds"] == {"local": access, "remote": access}
    assert access_told["live_feeds"] == {"local": "public", "remote": "public"}
    stranger = Caller(call.service)
    told = stranger.told("/api/v1/timelines/tag/rust")
    assert (told.status, json.loads(told.body)) == (strangers, {"error": "This method requires an authenticated user"})
