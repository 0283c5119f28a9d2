"""Quotes of campaigns that test an old dataset: never less than what is sent and billed."""

import io
from math import ceil

import numpy as np
import pytest
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as st
from old_datasets import drive, web
from refresh_campaigns import brought, judged, revived
from rich.console import Console
from stores import a_database
from test_quote_campaign import served
from test_refresh_campaign import LIMITS, MANY, SHARE, X, bring, edges, refreshing, written
from x_crawls import crawl, posts, rows

from socialcrawl.campaign.cost_outlook import make_campaign_quote
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.policies import load_policy
from socialcrawl.cli.commands.check import check
from socialcrawl.crawls.refresh.crawl import Refresh
from socialcrawl.crawls.refresh.rules import RefreshRules
from socialcrawl.forecast.expected import TypicalNeeds
from socialcrawl.forecast.quote import bound_requests, make_quote
from socialcrawl.forecast.shape import CampaignParameters, CampaignProgress, EndpointRoles
from socialcrawl.mock.names import HERE
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.render.quote import show
from socialcrawl.storage.queries.statistics import count_done as done_of

BY_ID, BY_NAME, FEED = "/2/users", "/2/users/by", "/xrpc/app.bsky.feed.getAuthorFeed"
OLD_ENOUGH = "7300d"


def sent(history, named, width):
    """The requests of batches of tests by endpoint, those known by name and by id apart."""
    found = {BY_ID: 0, BY_NAME: 0}
    for batch, _ in history:
        names = sum(bool(named[pick.node]) for pick in batch)
        found[BY_NAME] += ceil(names / width)
        found[BY_ID] += ceil((len(batch) - names) / width)
    return found


@settings(deadline=None, max_examples=many(40))
@given(
    size=st.integers(1, 150),
    width=st.integers(1, 40),
    together=st.integers(1, 4),
    check=st.integers(0, 60),
    z=st.integers(0, 60),
    share=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    begin=st.integers(0, 150),
)
@example(size=150, width=10, together=1, check=15, z=15, share=0.0, begin=0)
@example(size=150, width=10, together=1, check=0, z=15, share=0.0, begin=37)
def test_no_order_takes_more_requests_than_at_most_from_whatever_test_on(  # noqa: PLR0917 - all of them are drawn
    size, width, together, check, z, share, begin
):
    old, active = web(size, 3 * size)
    named = np.random.default_rng(1).random(size) < share
    how = RefreshRules(rank="pa", training="pagerank", z=z, check=check)
    history = drive(Refresh(how, 1, None, lambda _: width, old=old), active, together)
    kept, tested = 0, 0
    while kept < len(history) and tested + len(history[kept][0]) <= begin:
        tested += len(history[kept][0])
        kept += 1
    left = [pick.node for batch, _ in history[kept:] for pick in batch]
    done = CampaignProgress(dataset=size, tested=tested, steps=tested, named=int(named[left].sum()))
    roles = EndpointRoles("", "", "", "", probe=BY_ID, probe_named=BY_NAME, probed=width)
    shape = CampaignParameters(load_policy("x"), roles, tests=True, learning=(max(check, z), check + z))
    most = {name: line.requests for name, line in bound_requests(shape, done).items()}
    came = sent(history[kept:], named, width)
    for name, requests in came.items():
        assert requests <= most.get(name, 0)
    found = make_quote(shape, TypicalNeeds(), done)
    assert sum(came.values()) <= found.most.requests
    assert found.most.users == len(left)
    assert found.likely.users == pytest.approx(len(left))
    assert found.likely.requests <= found.most.requests + 1e-9
    if not check and not begin and share in (0.0, 1.0):
        assert sum(came.values()) == found.most.requests, "and no more than needed, where all is known"


@pytest.fixture(scope="module")
def world():
    return build_world(posts(), SHARE).accounts


@pytest.mark.parametrize(("vocabulary", "active"), [("tweet", "exists"), ("post", "exists"), ("post", OLD_ENOUGH)])
def test_no_test_costs_more_than_at_most_by_the_count_and_the_bill_of_the_mock(vocabulary, active, world, tmp_path):
    size = len(world.keys)
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        refresh = {"rank": "pa", "z": 40, "check": 50, "active": active}
        settings = refreshing(mock.url, tmp_path / "a.db", X | {"vocabulary": vocabulary}, refresh=refresh)
        for i, called in enumerate((world.usernames[: size // 2], [str(number) for number in world.ids[size // 2 :]])):
            bring(settings, written(tmp_path / f"{i}.csv", edges(called)))
        found = make_campaign_quote(make_plan(settings))
        assert crawl(settings)[0].kind == "done"
        requests, billed = served(mock)
    most = {line.endpoint: line.most for line in found.lines}
    assert set(requests) == {BY_ID, BY_NAME} == set(most)
    assert all(count <= most[name].requests for name, count in requests.items())
    assert billed["users"] <= found.most.users == size
    assert billed["posts"] <= found.most.posts == (size if (vocabulary, active) == ("post", OLD_ENOUGH) else 0)
    assert (billed["posts"] > 0) == (found.most.posts > 0), "the latest post is billed besides"
    assert billed["dollars"] * 100_000 <= found.most.money + 1e-6
    after = make_campaign_quote(make_plan(settings))
    assert (after.lines, after.most.requests) == ((), 0)


def test_who_turns_out_to_be_somebody_from_outside_of_the_dataset_is_bounded_too(world, tmp_path):
    here = world.fates == HERE
    names, ids = (
        [str(one) for one, there in zip(some, here, strict=True) if there] for some in (world.usernames, world.ids)
    )
    with serve_in_thread(posts(), missing=SHARE, limit=MANY) as mock:
        other = refreshing(mock.url, tmp_path / "a.db", name="other")
        bring(other, written(tmp_path / "b.csv", edges(ids[:30])))
        settings = refreshing(mock.url, tmp_path / "a.db", refresh={"z": 20, "check": 20})
        bring(settings, written(tmp_path / "a.csv", edges(names[:110])))
        found = make_campaign_quote(make_plan(settings))
        assert crawl(settings)[0].kind == "done"
        requests, billed = served(mock)
    most = {line.endpoint: line.most for line in found.lines}
    assert requests[BY_ID] > 0, "who was known by id is asked by that"
    assert all(count <= most[name].requests for name, count in requests.items())
    ((asked,),) = rows(tmp_path / "a.db", "select sum(items) from request")
    assert billed["users"] < asked == found.most.users == 140, "a user is billed once a day"
    assert not make_campaign_quote(make_plan(settings)).lines


def shown(settings):
    by = Console(file=io.StringIO(), width=100, markup=False, emoji=False, highlight=False)
    meant = make_plan(settings)
    show(by, meant, make_campaign_quote(meant))
    return by.file.getvalue()


def test_on_bluesky_a_test_reads_one_post_and_what_does_not_belong_to_tests_is_not_told(world, tmp_path):
    with serve_in_thread(posts(), missing=SHARE, **LIMITS) as mock:
        refresh = {"rank": "pa", "z": 40, "active": OLD_ENOUGH, "training": "random", "fraction": 0.9}
        source = {"platform": "bluesky"}
        settings = refreshing(mock.url, tmp_path / "a.db", source, refresh=refresh, budget={"max_time": "1h"})
        bring(settings, written(tmp_path / "a.csv", edges([f"u{i}.bsky.social" for i in range(60)])))
        found = make_campaign_quote(make_plan(settings))
    most = {line.endpoint: (line.most.requests, line.most.posts) for line in found.lines}
    assert most == {"/xrpc/app.bsky.actor.getProfiles": (3, 0), FEED: (60, 60)}
    told = shown(settings)
    for words in ("younger than", "posts per page", "pages per", "timelines", "fewer seeds"):
        assert words not in told
    assert "This is for the whole dataset; fraction = 0.9 may end it much earlier." in told


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_is_left_of_a_dataset_is_counted_once_an_account_and_not_where_a_test_failed_for_a_while(kind, tmp_path):
    with a_database(kind) as connection:
        brought(connection, written(tmp_path / "a", "ann,bob\nbob,cyd\ncyd,12\n"))
        brought(connection, written(tmp_path / "b", "ann,dan\n"))
        judged(connection, written(tmp_path / "r", "username,active,status\nann,1,\nbob,,temporary\n"))
        found = done_of(connection, "revive", [], linked=False)
        assert (found.dataset, found.tested, found.named, found.steps) == (5, 1, 3, 2)
        assert done_of(connection, "revive", []).dataset == 0
    shape = make_plan(revived()).shape
    assert bound_requests(shape, found)[BY_NAME].users == 3
    assert bound_requests(shape, found)[BY_ID].users == 1


def test_those_who_were_only_linked_to_are_quoted_where_they_are_tested(tmp_path):
    for linked, size in ((False, 1), (True, 2)):
        settings = refreshing("http://127.0.0.1:9", tmp_path / f"{linked}.db", refresh={"linked": linked})
        bring(settings, written(tmp_path / "a.jsonl", '{"author": "ann", "created_at": 1, "text": "@bob hello"}\n'))
        assert make_campaign_quote(make_plan(settings)).most.users == size


def test_without_a_dataset_a_quote_and_a_check_say_how_to_bring_one(tmp_path):
    settings = refreshing("http://127.0.0.1:9", tmp_path / "a.db")
    told = shown(settings)
    assert "There is no old dataset yet. Import one first: socialcrawl import FILES --as dataset" in told
    assert "Nothing is left to do" not in told
    where = f'name = "mine"\ndatabase = "{tmp_path}/b.db"\nkind = "refresh"\n'
    file = written(tmp_path / "mine.toml", f'{where}[source]\nplatform = "bluesky"\n')
    by = Console(file=io.StringIO(), width=400)
    check([file], by)
    assert "whose dataset is still to be brought (socialcrawl import FILES --as dataset)" in by.file.getvalue()
