"""Windows that endpoints share, hosts and credentials: what counts where, and what one server says of another."""

from dataclasses import replace
from math import floor

import pytest
from limit_referees import BEGIN

from socialcrawl.campaign.policies import load_policy, load_policy_file
from socialcrawl.engine.model import Answer, Credential, Grant, Limit, Reply, Request, Stop, Wait
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.expected import TypicalNeeds, estimate_likely
from socialcrawl.forecast.quote import bound_requests
from socialcrawl.forecast.shape import CampaignParameters, EndpointRoles
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.endpoint_windows import group_pools
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Pool, Rule, parse_host
from socialcrawl.ratelimit.retry import ENTRIES, MANY, PROBE, Backoff
from socialcrawl.ratelimit.shared_windows import SharedWindows
from socialcrawl.ratelimit.window_sets import FEW, WindowSets
from socialcrawl.system.files import find_folder

FEED, PROFILES = "/xrpc/app.bsky.feed.getAuthorFeed", "/xrpc/app.bsky.actor.getProfiles"
STATUSES, LOOK_UP = "/api/v1/accounts/:id/statuses", "/api/v1/accounts/lookup"
FURTHER = f"{STATUSES}?max_id"
NOBODY = Credential("", "public")
WEB = load_policy("web")
DATE = 1_700_000_400.0  # a clock: 300 s before a multiple of 300 that is none of 900, 600 s before one of 900


def asked(n, endpoint):
    return Request((n, 0), endpoint, {})


def planner(platform="mastodon", credentials=(NOBODY,), shared=None, **backoff):
    return WindowPlanner(load_policy(platform), credentials, Caps(), Backoff(**backoff), shared=shared)


def answered(by, endpoint, at, kind="ok", n=0, **more):
    """Take and settle a request at once: the grant's credential, and what settle said."""
    grant = by.take(asked(n, endpoint), at)
    assert isinstance(grant, Grant), grant
    return grant.credential, by.settle(grant, Reply(kind, at, Answer(), why="because", **more), at)


def granted(by, endpoint, at, wanted=999):
    """How many requests may leave at once, each answered at once."""
    for n in range(wanted):
        grant = by.take(asked(n, endpoint), at)
        if not isinstance(grant, Grant):
            return n
        by.settle(grant, Reply("ok", at, Answer()), at)
    return wanted


def test_an_endpoint_is_known_with_and_without_its_host():
    table = load_policy("mastodon")
    assert table.get_endpoint(LOOK_UP) is table.get_endpoint(f"a.example{LOOK_UP}") is table.endpoints[LOOK_UP]
    assert [WEB.find_key(name) for name in ("a.example/robots.txt", "a.example/a/b?c", "a.example/")] == [
        "/robots.txt",
        "/*",
        "/*",
    ]
    assert [parse_host(name) for name in ("a.example/b/c", "/b/c", "b")] == ["a.example", "", ""]
    assert table.find_endpoint("a.example/other") is None
    for name in ("a.example/other", "/other", "lookup", "a.example"):
        with pytest.raises(KeyError):
            table.get_endpoint(name)
    with pytest.raises(KeyError):
        WEB.get_endpoint("page")


def test_rules_of_an_endpoint_are_those_of_its_pools_and_its_own():
    one, two, own = Rule(1, 1.0), Rule(2, 2.0), Rule(3, 3.0)
    pools = Pool("p", public=(one,), user=(two, two)), Pool("q", public=(two,))
    endpoint = Endpoint(app=(own,), public=(own,), pools=pools)
    assert [endpoint.get_rules(kind) for kind in ("public", "user", "app")] == [(one, two, own), (two, two), (own,)]
    limited = Policy("x", "", "", {"/e": endpoint}).override_limits(9, None).endpoints["/e"]
    assert limited.get_rules("public") == (Rule(9, 1.0), Rule(9, 2.0), own)
    assert limited.get_rules("user") == (Rule(9, 2.0), two)
    alone = Policy("x", "", "", {"/e": Endpoint(public=(one, two))}).override_limits(None, 5.0).endpoints["/e"]
    assert alone.public == (Rule(1, 5.0), two)


def test_k_and_d_together_are_the_only_rule_of_every_endpoint():
    one, two, own = Rule(300, 900.0), Rule(1, 1.0), Rule(3, 3.0, "sliding")
    pools = Pool("p", public=(one, two)), Pool("q", public=(two,), user=(two, one))
    ends = {
        "/alone": Endpoint(app=(one, two), user=(two,), public=(own, one)),
        "/pooled": Endpoint(app=(own, one), public=(own,), pools=pools),
    }
    limited = Policy("x", "", "", ends).override_limits(1_000, 1.0).endpoints
    alone, pooled = limited["/alone"], limited["/pooled"]
    assert (alone.app, alone.user, alone.public) == (
        (Rule(1_000, 1.0),), (Rule(1_000, 1.0),), (Rule(1_000, 1.0, "sliding"),),
    )  # fmt: skip
    assert pooled.get_rules("public") == (Rule(1_000, 1.0), Rule(1_000, 1.0)), "one of each pool, which still counts"
    assert pooled.get_rules("user") == (Rule(1_000, 1.0),)
    assert pooled.get_rules("app") == (Rule(1_000, 1.0, "sliding"),), "no pool counts these"
    assert limited.keys() == ends.keys()


def test_a_rule_with_a_shorter_window_than_the_given_one_is_kept():
    archive = load_policy("x").override_limits(100, 900.0).get_endpoint("/2/tweets/search/all")
    assert archive.app == (Rule(100, 900.0), Rule(1, 1.0))
    pooled = Endpoint(app=(Rule(2, 1.0),), pools=(Pool("p", app=(Rule(300, 900.0),)),))
    limited = Policy("x", "", "", {"/p": pooled}).override_limits(100, 900.0).get_endpoint("/p")
    assert set(limited.get_rules("app")) == {Rule(2, 1.0), Rule(100, 900.0)}


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon", "web"])
def test_no_rule_of_a_platform_but_the_given_one_holds_a_campaign_back(platform):
    before, after = load_policy(platform), load_policy(platform).override_limits(1_000, 1.0)
    for name, endpoint in after.endpoints.items():
        for kind in ("app", "user", "public"):
            rules = endpoint.get_rules(kind)
            assert bool(rules) == bool(before.endpoints[name].get_rules(kind)), "who may not ask still may not"
            assert {(rule.k, rule.d) for rule in rules} <= {(1_000, 1.0)}


def test_endpoints_that_a_third_one_links_are_one_basin():
    pools = {name: Pool(name, public=(Rule(1, 1.0),)) for name in "pqrs"}
    ends = {
        f"/{names}{own}": Endpoint(pools=tuple(pools[one] for one in names), public=(Rule(2, 2.0),) * own)
        for names, own in (("p", 0), ("r", 1), ("qp", 2), ("rq", 0), ("s", 0), ("", 1))
    }
    found = group_pools(Policy("x", "", "", ends))
    assert {name: basin.name for name, basin in found.items()} == {
        **dict.fromkeys(["/p0", "/r1", "/qp2", "/rq0"], "/ p+q+r"),
        "/s0": "/ s",
    }
    whole = found["/p0"]
    assert whole.list_rules("public") == (Rule(1, 1.0),) * 3 + (Rule(2, 2.0),) * 3  # p q r, then /qp2 twice and /r1
    assert whole.find_places("/qp2", "public") == ((1, 0, 3, 4), (1, 0, 3))
    assert whole.find_places("/r1", "public") == ((2, 5), (2, 5))
    assert whole.find_heads("public") == (0, 1, 2, 3, 5)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('pools = ["all", "paged"]', 'pools = ["al"]', f'[endpoints."{FURTHER}"] names a pool that is not there: add'),
        ('pools = ["all", "paged"]', 'pools = ["all", "all"]', "names a pool twice"),
        ("[pools.paged]", "[pools.paged]\npage = 3", "pools.paged.page: extra inputs"),
        ("d = 900", "d = 0", "pools.paged.public.0.d: input should be greater than 0"),
    ],
)
def test_pools_of_a_policy_file_that_are_wrong_are_told_with_their_place(tmp_path, before, after, said):
    text = (find_folder("config") / "mastodon.toml").read_text("utf-8")
    assert before in text
    file = tmp_path / "mine.toml"
    file.write_text(text.replace(before, after, 1), "utf-8")
    with pytest.raises(SettingsError) as error:
        load_policy_file(file)
    assert said in str(error.value)
    assert str(error.value).endswith(("]", ".")), "a sentence"


def test_the_tables_say_what_the_platforms_count():
    bluesky, mastodon = load_policy("bluesky"), load_policy("mastodon")
    streams = {name for name in bluesky.endpoints if "jetstream" in name}
    others = [endpoint for name, endpoint in bluesky.endpoints.items() if name not in streams]
    assert {one.get_rules(kind) for one in others for kind in ("public", "user")} == {(Rule(3000, 300.0),)}
    assert {bluesky.get_endpoint(name).get_rules("public") for name in streams} == {(Rule(120, 60.0, "sliding"),)}
    whole, paged = Rule(300, 300.0, "aligned"), Rule(300, 900.0, "aligned")
    assert mastodon.get_endpoint("/api/v1/streaming").get_rules("user") == (Rule(120, 60.0, "sliding"),)
    for name, endpoint in mastodon.endpoints.items():
        if name == "/api/v1/streaming":
            continue
        assert (
            endpoint.get_rules("public") == endpoint.get_rules("user") == ((whole, paged) if "?" in name else (whole,))
        )
        assert not endpoint.get_rules("app")
    assert WEB.get_endpoint("a.example/x").get_rules("public") == (Rule(1, 1.0, "sliding"),)
    assert not any(table.prices or table.cap or table.once_a_day for table in (bluesky, mastodon, WEB))


def test_requests_to_all_endpoints_of_a_pool_count_together_and_those_of_another_host_apart():
    by = planner()
    answered(by, f"a.example{LOOK_UP}", BEGIN)
    assert granted(by, f"a.example{FURTHER}", BEGIN) == 299
    assert isinstance(by.take(asked(0, f"a.example{STATUSES}"), BEGIN), Wait)
    assert granted(by, f"b.example{STATUSES}", BEGIN) == 300


def test_pages_of_the_web_are_one_window_whatever_they_are_called():
    by = planner("web")
    for n in range(5):
        assert granted(by, f"a.example/page/{n}", BEGIN + 2.0 * n) == 1
        assert granted(by, f"a.example/other/{n}", BEGIN + 2.0 * n + 0.5) == 0
    assert len(by.window_sets._endpoint_windows) == 1


@pytest.mark.parametrize(
    ("most", "rest", "whole", "paged"),
    [
        (300, 300.996774, 40, 299),  # ends at a multiple of 300 only
        (300, 600.996774, 299, 40),  # lasts longer than 300 s
        (300, 300.0, 40, 299),
        (250, 600.0, 299, 40),  # another k than the table's
    ],
)
def test_headers_are_taken_for_those_of_the_window_that_they_fit(most, rest, whole, paged):
    by = planner()
    answered(by, f"a.example{FURTHER}", BEGIN, date=DATE, limits=[Limit(40, most, DATE + rest)])
    lane = by.window_sets.get("", f"a.example{FURTHER}")
    left = [one.k - one.count_used(BEGIN) for one in lane.windows]
    assert left == [whole, paged]


@pytest.mark.parametrize(("first", "whole", "paged"), [(STATUSES, 40, 289), (FURTHER, 279, 40)])
def test_headers_that_fit_two_windows_speak_of_that_of_which_less_is_left(first, whole, paged):
    """In the last five minutes of a quarter of an hour both windows end at the same time."""
    by, date = planner(), DATE + 400.0  # both end 200 s later
    for _ in range(10):
        answered(by, f"a.example{FURTHER}", BEGIN)
    for _ in range(10):
        answered(by, f"a.example{first}", BEGIN)
    if first == FURTHER:  # others have used the shared window no more than the pages
        by.window_sets.get("", f"a.example{FURTHER}").windows[1].received.add(BEGIN, 50, BEGIN)
    answered(by, f"a.example{FURTHER}", BEGIN, date=date, limits=[Limit(40, 300, date + 200.5)])
    lane = by.window_sets.get("", f"a.example{FURTHER}")
    assert [one.k - one.count_used(BEGIN) for one in lane.windows] == [whole, paged]


def test_a_used_up_window_of_further_pages_leaves_first_ones_alone():
    by = planner()
    limits = [Limit(0, 300, DATE + 600.9)]
    _, again = answered(by, f"a.example{FURTHER}", BEGIN, "window", date=DATE, limits=limits)
    assert again == Wait(pytest.approx(BEGIN + 601.9), "because")
    assert by.take(asked(1, f"a.example{FURTHER}"), BEGIN + 1.0).until >= BEGIN + 600.9
    assert isinstance(by.take(asked(2, f"a.example{STATUSES}"), BEGIN + 1.0), Grant)


def test_too_many_without_an_instant_closes_all_windows_that_it_may_be_about():
    by = planner()
    answered(by, f"a.example{LOOK_UP}", BEGIN)
    _, again = answered(by, f"a.example{FURTHER}", BEGIN, "backoff")
    for endpoint in (FURTHER, STATUSES, LOOK_UP):
        assert by.take(asked(1, f"a.example{endpoint}"), BEGIN + 0.5).until == again.until
    assert isinstance(by.take(asked(1, f"b.example{LOOK_UP}"), BEGIN + 0.5), Grant)


def test_an_endpoint_in_trouble_rests_alone():
    by = planner("bluesky")
    search, feed = "/xrpc/app.bsky.feed.searchPosts", "/xrpc/app.bsky.feed.getAuthorFeed"
    answered(by, feed, BEGIN)
    answered(by, search, BEGIN, "broken", n=1)
    _, again = answered(by, search, BEGIN + 1.0, "broken", n=2)
    assert again.until > BEGIN + 2.0
    wait = by.take(asked(3, search), BEGIN + 1.5)
    assert (wait.until, wait.why) == (again.until, f"because ({search})")
    assert isinstance(by.take(asked(4, feed), BEGIN + 1.5), Grant)
    by.shift(100.0)
    assert by.take(asked(3, search), BEGIN + 101.5).until == again.until + 100.0


def test_a_host_in_trouble_closes_no_other_and_stops_no_run_in_which_others_answer():
    by, now = planner("web"), BEGIN
    for n in range(40):
        answered(by, f"good.example/{n}", now, n=1000 + n)
        found = answered(by, f"bad.example/{n}", now, "broken", n=n)[1]
        assert not isinstance(found, Stop)
        assert (found is None) == (n >= 3), "what it does not answer then is given back, and nobody waits for it"
        now = now + 2.0 if found is None else max(now + 2.0, found.until)
    assert isinstance(by.take(asked(9999, "bad.example/x"), now), Grant)
    assert isinstance(by.take(asked(9999, "good.example/x"), now), Grant)


def test_one_host_alone_that_never_answers_stops_the_run_as_its_address_is_wrong():
    by, now, found = planner(), BEGIN, None
    for n in range(20):
        found = answered(by, f"a.example{LOOK_UP}", now, "broken", n=n)[1]
        if isinstance(found, Stop):
            break
        now = max(now + 1.0, found.until)
    assert (n, found.kind) == (4, "failed")


def test_many_hosts_in_a_row_that_do_not_answer_are_asked_after_longer_and_longer_pauses_until_it_is_given_up():
    by, now, n, waited = planner("web", give_up=3600.0), BEGIN, 0, []
    while True:
        found = by.take(asked(n, f"h{n}.example/"), now)
        if isinstance(found, Wait):
            assert "network" in found.why
            waited.append(found.until - now)
            now = found.until
            continue
        n += 1
        found = by.settle(found, Reply("broken", now, why="because"), now)
        if isinstance(found, Stop):
            break
        assert isinstance(found, Wait), "no request is given up meanwhile"
        now += 0.01
    assert found.kind == "failed"
    assert "all is saved" in found.why
    assert 3600.0 <= now - BEGIN <= 3600.0 + PROBE
    assert MANY <= n <= MANY + 3600 / PROBE + 20, "one host a minute is asked, not the whole frontier"
    assert waited == sorted(waited[:8]) + waited[8:]


def test_one_good_answer_ends_the_silence():
    by = planner("web")
    flying = [by.take(asked(n, f"h{n}.example/"), BEGIN) for n in range(MANY + 1)]
    for grant in flying[:MANY]:
        by.settle(grant, Reply("lost", BEGIN + 1.0, why="because"), BEGIN + 1.0)
    assert isinstance(by.take(asked(99, "x.example/"), BEGIN + 1.0), Wait)
    by.settle(flying[MANY], Reply("ok", BEGIN + 1.0, Answer()), BEGIN + 1.0)
    assert isinstance(by.take(asked(99, "x.example/"), BEGIN + 1.0), Grant)


def test_a_token_of_a_host_is_used_there_only_and_others_are_not_used_there():
    own = Credential("own", "user", "a.example")
    by = planner(credentials=[NOBODY, own, Credential("any", "user")])
    assert answered(by, f"a.example{LOOK_UP}", BEGIN)[0] == "own"
    assert answered(by, f"b.example{LOOK_UP}", BEGIN)[0] == ""
    assert [one.credential for one in by.window_sets.find_usable(LOOK_UP)] == ["", "any"]
    stop = planner(credentials=[own]).take(asked(0, f"b.example{LOOK_UP}"), BEGIN)
    assert stop == Stop("failed", f"no credential may use b.example{LOOK_UP} (any more)")


@pytest.mark.parametrize(("kind", "status"), [("refused", 401), ("refused", 403), ("invalid", 400)])
def test_what_one_host_refuses_is_for_the_talk_and_says_nothing_of_another(kind, status):
    by = planner()
    for n in range(9):
        assert answered(by, f"a.example{LOOK_UP}", BEGIN, kind, n=n, status=status) == ("", None)
    assert answered(by, f"b.example{LOOK_UP}", BEGIN) == ("", None)


def test_a_refused_token_of_a_host_stops_the_run_and_says_why():
    by = planner(credentials=[NOBODY, Credential("own", "user", "a.example")])
    assert answered(by, f"a.example{LOOK_UP}", BEGIN, "refused", status=401) == ("own", Stop("failed", "because"))
    assert "own: because" in by.take(asked(1, f"a.example{STATUSES}"), BEGIN).why
    assert answered(by, f"b.example{LOOK_UP}", BEGIN) == ("", None)


def test_each_host_has_a_clock_of_its_own():
    by = planner()
    for name, ahead in (("a.example", 0.0), ("b.example", 120.0)):
        for step in range(20):
            at = BEGIN + step * 1.05
            answered(by, f"{name}{LOOK_UP}", at, date=float(floor(at + ahead)))
    assert [round(by.window_sets.get_clock(name).guess) for name in ("a.example", "b.example")] == [0, 120]
    assert not by.window_sets.offset.is_known
    by.shift(10.0)
    assert round(by.window_sets.get_clock("b.example").guess) == 110


def test_a_ledger_that_names_hosts_is_folded_and_endpoints_it_names_that_are_unknown_are_only_paid_for():
    ledger = [
        (Grant(asked(n, f"a.example{STATUSES}"), "", BEGIN + n / 100), Reply("ok", BEGIN + n / 100)) for n in range(290)
    ]
    ledger.append((Grant(asked(999, "a.example/gone"), "", BEGIN + 3.0), None))
    by = planner()
    by.fold(ledger)
    assert by.budget.requests == 291
    assert granted(by, f"a.example{LOOK_UP}", BEGIN + 4.0) == 10
    assert granted(by, f"b.example{LOOK_UP}", BEGIN + 4.0) == 300


def test_hosts_in_whose_windows_nothing_is_left_are_let_go():
    by, now = planner("web"), BEGIN
    for n in range(3 * FEW):
        answered(by, f"h{n}.example/page", now, n=n, date=now)
        now += 1.0
    lanes = by.window_sets
    for kept in (lanes._window_sets, lanes._endpoint_windows, lanes._usable, lanes._clocks):
        assert len(kept) <= FEW + 1
    assert granted(by, f"h{n}.example/page", now - 0.5) == 0, "the last one is remembered"


@pytest.mark.parametrize("campaigns", [1, 2])
def test_hosts_that_campaigns_share_are_let_go_when_none_of_them_uses_them(campaigns):
    shared, now = SharedWindows(), BEGIN
    members = [shared.join(f"c{n}", 1.0, "", {"": "public"}) for n in range(campaigns)]
    planners = [planner("web", shared=member) for member in members]
    for n in range(3 * FEW):
        answered(planners[n % campaigns], f"h{n}.example/page", now, n=n, date=now)
        now += 1.0
    assert len(shared._window_sets) <= 3 * FEW
    assert all(len(member._window_sets) <= FEW + 1 and len(member.clock.hosts) <= 3 * FEW for member in members)
    assert granted(planners[0], f"h{n}.example/page", now - 0.5) == 0


def test_a_host_whose_headers_allow_less_is_remembered_for_a_day():
    by = planner()
    answered(by, f"a.example{LOOK_UP}", BEGIN, date=DATE, limits=[Limit(49, 50, DATE + 200.0)])
    (lane,) = by.window_sets._window_sets.values()
    assert [lane.is_idle(BEGIN + hours * 3600.0) for hours in (1, 23, 25)] == [False, False, True]


def test_a_lane_with_something_in_flight_is_not_let_go():
    by = planner("web")
    assert isinstance(by.take(asked(0, "a.example/"), BEGIN), Grant)
    assert not next(iter(by.window_sets._window_sets.values())).is_idle(BEGIN + 9e6)


def test_failures_of_many_hosts_and_requests_are_not_remembered_for_ever():
    by = Backoff()
    for n in range(2 * ENTRIES + ENTRIES // 2):
        grant = Grant(asked(n, f"h{n}.example/"), "", BEGIN + n)
        by.note_failure(grant, Reply("broken", BEGIN + n), BEGIN + n)
    assert max(map(len, (by._rows, by._tries))) <= ENTRIES + 1
    assert len(by._counted) <= 2 * ENTRIES + 1


def test_the_forecast_of_an_endpoint_knows_what_others_have_used():
    by = planner("bluesky")
    assert granted(by, "/xrpc/app.bsky.feed.searchPosts", BEGIN, 2000) == 2000
    feed = "/xrpc/app.bsky.feed.getAuthorFeed"
    assert by.predict_done(feed, 1000, BEGIN) == BEGIN
    assert by.predict_done(feed, 1001, BEGIN) == pytest.approx(BEGIN + 300.0, abs=0.01)


def test_campaigns_by_other_pools_with_the_same_access_are_refused():
    shared, table = SharedWindows(), load_policy("bluesky")
    planner("bluesky", shared=shared.join("a", 1.0, "", {"": "public"}))
    name = next(iter(table.endpoints))
    apart = replace(table, endpoints={**table.endpoints, name: Endpoint(public=(Rule(3000, 300.0),), page=100)})
    member = shared.join("b", 1.0, "", {"": "public"})
    with pytest.raises(SettingsError, match=r"a and b use the same token by different rules .* \[source\] policy"):
        WindowPlanner(apart, [NOBODY], Caps(), shared=member)


def test_rules_of_a_pool_may_change_when_nobody_else_uses_it_and_what_was_sent_still_counts():
    shared, table, feed = SharedWindows(), load_policy("mastodon"), f"a.example{FURTHER}"
    member = shared.join("a", 1.0, "", {"": "public"})
    by = WindowPlanner(table.override_limits(10, None), [NOBODY], Caps(), shared=member)
    assert granted(by, f"a.example{LOOK_UP}", BEGIN) == 10
    assert granted(by, feed, BEGIN + 301.0) == 10
    member.leave()
    member = shared.join("a", 1.0, "", {"": "public"})
    by = WindowPlanner(table.override_limits(15, None), [NOBODY], Caps(), shared=member)
    assert granted(by, feed, BEGIN + 601.5 + 10.0) == 5, "ten further pages in the quarter of an hour"


def test_lanes_that_were_made_by_a_ledger_of_another_credential_have_windows_too():
    lanes = WindowSets(load_policy("bluesky"), [NOBODY])
    assert lanes.get("gone", "/xrpc/app.bsky.feed.searchPosts").main.k == 3000


def test_a_quote_adds_up_the_time_of_endpoints_that_share_a_window():
    roles = EndpointRoles(search="", by_name=PROFILES, by_id=PROFILES, timeline=FEED, together=25)
    shape = CampaignParameters(load_policy("bluesky"), roles, ("public",), usernames=100, steps=8_900)
    typical = TypicalNeeds(named=1.0, missing=0.0, answer=0.0)
    used, whole, reached = estimate_likely(shape, typical)
    assert (used[PROFILES].requests, used[FEED].requests) == (4 + 8_900, 9_000)
    assert reached is None
    # 3,000 in 300 s: ten a second; the look-ups of the seeds by name are done before anything else
    assert whole.seconds == pytest.approx((4 + 100 + 2 * 8_900) / 10.0)
    most = bound_requests(shape)
    assert (most[PROFILES].requests, most[FEED].requests) == (4 + 8_900, 9_000)
    short = replace(shape, caps=Caps(seconds=600.0))  # three windows at most: what is left over steps is halved
    used, _, reached = estimate_likely(short, typical)
    assert reached.budget == "max_time"
    assert used[PROFILES].requests + used[FEED].requests == pytest.approx(6_000)


def test_a_quote_without_a_search_and_without_look_ups_has_neither():
    roles = EndpointRoles(search="", by_name="", by_id="", timeline="/*", together=1)
    shape = CampaignParameters(WEB, roles, ("public",), usernames=10, steps=90)
    assert {name: line.requests for name, line in bound_requests(shape).items()} == {"/*": 100}
    assert set(estimate_likely(shape, TypicalNeeds(named=1.0))[0]) == {"/*"}


def one_of_two(*kinds):
    """A planner whose endpoint counts in a pool of one request in 50 s, and in one of its own of one in 30 s."""
    whole, own = (Rule(1, d, kind) for d, kind in zip((50.0, 30.0), kinds, strict=True))
    endpoint = Endpoint(public=(own,), pools=(Pool("all", public=(whole,)),))
    return WindowPlanner(Policy("x", "", "", {"/e": endpoint}), [NOBODY], Caps())


@pytest.mark.parametrize("kind", ["ok", "window"])
def test_headers_that_may_be_of_another_window_bring_the_end_of_none_nearer(kind):
    by = one_of_two("fixed", "fixed")
    answered(by, "/e", BEGIN, kind, date=BEGIN, limits=[Limit(0, 1, BEGIN + 30.0)])
    wait = by.take(asked(1, "/e"), BEGIN + 1.0)
    while wait.until < BEGIN + 50.0:
        before, wait = wait.until, by.take(asked(1, "/e"), wait.until)
        assert isinstance(wait, Wait)
        assert wait.until > before
    assert wait.until == pytest.approx(BEGIN + 50.0, abs=2.0)


def test_a_ledger_that_is_folded_into_live_pools_counts_in_those_of_its_endpoints():
    shared = SharedWindows()
    first, second = (planner(shared=shared.join(name, 1.0, "", {"": "public"})) for name in "ab")
    answered(first, f"a.example{LOOK_UP}", BEGIN, date=BEGIN)
    first.shared.drop_claim()
    second.fold(
        [
            (Grant(asked(n, f"a.example{endpoint}"), "", BEGIN - 9.0), Reply("ok", BEGIN - 8.0))
            for n, endpoint in enumerate([STATUSES] * 20 + [FURTHER] * 30)
        ]
    )
    windows = second.window_sets.get("", f"a.example{FURTHER}").windows
    assert [one.count_used(BEGIN + 1.0) for one in windows] == [51, 30]
    assert granted(second, f"a.example{FURTHER}", BEGIN + 1.0) == 249
    assert second.take(asked(999, f"a.example{LOOK_UP}"), BEGIN + 1.0).until == pytest.approx(BEGIN + 100.0, abs=2.0)


def test_a_rest_of_an_endpoint_is_known_to_all_campaigns_also_from_a_ledger():
    shared = SharedWindows()
    first, second = (planner("bluesky", shared=shared.join(name, 1.0, "", {"": "public"})) for name in "ab")
    fails = [
        (Grant(asked(n, PROFILES), "", BEGIN + n), Reply("broken", BEGIN + n + 0.5, why="because")) for n in range(2)
    ]
    first.fold(fails)
    wait = second.take(asked(9, PROFILES), BEGIN + 1.6)
    assert isinstance(wait, Wait)
    assert wait.why == f"because ({PROFILES})"
    assert isinstance(second.take(asked(9, FEED), BEGIN + 30.0), Grant)
