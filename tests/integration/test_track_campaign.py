"""Campaigns that track accounts, live: against the mock server, on disk, killed, replayed, erased, reported."""

import io
import json
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from math import ceil
from types import SimpleNamespace

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from postgres import a_place
from rich.console import Console
from test_crash import KilledError, Mortal
from tiny_town import POLICY, SETTINGS, AtOnce, Clock, Watcher, Wire, close, page_of, posts_of
from x_crawls import campaign_of, posts_file, rows, scratch

from socialcrawl.campaign.snapshot_writer import SnapshotWatcher
from socialcrawl.cli.commands.forget import ErasureOptions, forget
from socialcrawl.cli.commands.run import build_object, run_campaign, show_ending
from socialcrawl.crawls.base import ReportRequest
from socialcrawl.crawls.reporting import report
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.report import rebuild_track
from socialcrawl.crawls.track.target import TARGETS, Target
from socialcrawl.crawls.track.tracked_graph import COLUMNS
from socialcrawl.crawls.track.visit_policies import EXPANSIONS, RECRAWLS, PolicyMixture
from socialcrawl.engine.loop import Parts, run
from socialcrawl.engine.model import Credential, Node, Stop, Wait, parse_time
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.mock.names import HERE
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.platforms.x.source import TIMELINE, XSource
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.storage.sql_store import SqlStore

LIMIT = 100_000
TRACK = {"window": "all", "rest": "1ms", "target": "importance", "expansion": "opic", "recrawl": "yru"}


@lru_cache
def earlier():
    """The first three fifths of the posts, as a file."""
    table = pq.read_table(posts_file())
    cut = np.quantile(table["created_at"].to_numpy(), 0.6)
    path = scratch() / "earlier.parquet"
    pq.write_table(table.filter(pc.less_equal(table["created_at"], cut)), path)
    return path


def tracking(url, database, steps, **track):
    whole = campaign_of(url, database, source={"reuse_hours": 24})
    given = whole.model_dump(mode="python", by_alias=True, exclude_unset=True)
    given |= {"kind": "track", "track": {**TRACK, **track}, "crawl": {"steps": steps}}
    return type(whole).model_validate(given)


def crawled(url, database, steps, **track):
    return run_campaign(tracking(url, database, steps, **track), Console(file=io.StringIO()), quiet=True, change=True)


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """A database in which accounts were visited before and after they posted more, and the end of the last run."""
    database = tmp_path_factory.mktemp("track") / "a.db"
    with serve_in_thread(earlier(), limit=LIMIT) as mock:
        crawled(mock.url, database, 40)
    before = rows(database, "select max(n) from pick")[0][0]
    with serve_in_thread(posts_file(), limit=LIMIT) as mock:
        ending = crawled(mock.url, database, 140, p=0.8)
    return database, ending, before


def test_a_return_asks_only_for_what_is_new_and_posts_are_stored_once(visited):
    database, ending, before = visited
    assert ending.reason.kind == "done"
    world = build_world(pq_posts())
    acts = dict(rows(database, "select act, count(*) from pick group by 1"))
    assert acts["recrawl"] > 30
    assert acts["expand"] + acts["recrawl"] == 140
    assert rows(database, "select count(*) - count(distinct id) from post") == [(0,)]
    # What every account that was read twice or more brought in all is its whole timeline, each post once.
    read = rows(
        database,
        "select lower(a.username), sum(o.posts), count(*) from outcome o join pick p using (campaign, n) "
        "join account a on a.node = o.node where p.act in ('seed', 'expand', 'recrawl') and o.missing is null "
        "group by o.node having min(o.n) <= ? and max(o.n) > ?",
        before,
        before,
    )
    assert len(read) > 15
    for name, posts, _ in read:
        assert posts == len(world.timelines.of(world.accounts.by_username[name])), name


def pq_posts():
    from x_crawls import posts

    return posts()


def test_a_return_costs_one_request_and_only_new_posts_are_billed(visited):
    database, _, _ = visited
    returns = rows(
        database,
        "select p.n, p.since, o.posts, count(r.id), sum(r.new_posts), min(r.params) from pick p "
        "join outcome o using (campaign, n) join request r on r.campaign = p.campaign and r.n = p.n "
        "where p.act = 'recrawl' and p.since is not null group by p.n",
    )
    assert len(returns) > 20
    for _, since, posts, requests, billed, params in returns:
        assert json.loads(params)["since_id"] == since
        assert requests == max(1, ceil(posts / 100))
        assert billed == posts
    assert rows(database, "select count(*) from request where kind = 'held' and n in "
                          "(select n from pick where act = 'recrawl')") == [(0,)]  # fmt: skip


def test_what_is_told_of_accounts_is_what_their_visits_add_up_to(visited):
    database, _, _ = visited
    visits = rows(
        database,
        "select o.node, o.n, o.at, o.occurrences, p.since from outcome o join pick p using (campaign, n) "
        "where p.act in ('seed', 'expand', 'recrawl') and o.missing is null order by o.n",
    )
    links = defaultdict(list)
    for n, node in rows(database, "select n, node from link order by n, position"):
        links[n].append(node)
    total, count, last, pairs = Counter(), Counter(), {}, set()
    for node, n, at, occurrences, since in visits:
        total[node] = total[node] + occurrences if since else max(total[node], occurrences)
        count[node] += 1
        last[node] = at
        pairs |= {(node, other) for other in links[n] if other != node}
    into, out = Counter(target for _, target in pairs), Counter(source for source, _ in pairs)
    found = rows(database, "select node, visits, visited_at, occurrences, relevance, indegree, outlinks from standing")
    assert {row[0] for row in found} >= set(count) | set(into)
    for node, many, at, occurrences, relevance, indegree, outlinks in found:
        assert (many, at, occurrences) == (count[node], last.get(node), total[node])
        assert relevance == compute_worth(total[node])
        assert (indegree, outlinks) == (into[node], out[node])
    importance, history = rows(database, "select sum(importance), sum(history) from standing")[0]
    assert 0 < importance < 1  # the virtual page has the rest
    assert history > 0


def test_the_report_tells_who_counts_what_visits_brought_and_how_fresh_it_is(visited):
    database, ending, _ = visited
    console = Console(file=io.StringIO(), width=140)
    show_ending(ending_settings(database), console, replace(ending), as_json=False)
    text = console.file.getvalue()
    best = rows(database, "select account from tracked_account order by importance desc limit 1")[0][0]
    assert "most important accounts" in text
    assert best in text
    returns, posts = rows(database, "select count(*), sum(o.posts) from pick p join outcome o using (campaign, n) "
                                    "where p.act = 'recrawl'")[0]  # fmt: skip
    whole = build_object(ending)["tracked"]
    first, again = whole["yields"]
    assert (again["act"], again["visits"], again["posts"]) == ("recrawl", returns, posts)
    assert first["visits"] + again["visits"] == len(ending.report.known.posts)
    # A link is new once: when a visit first brought the pair.
    pairs, new = set(), Counter()
    for act, node, other in rows(
        database,
        "select p.act, p.node, l.node from link l join pick p using (campaign, n) join outcome o using (campaign, n) "
        "where p.act in ('seed', 'expand', 'recrawl') and o.missing is null and l.node <> p.node order by n, position",
    ):
        new["recrawl" if act == "recrawl" else "expand"] += (node, other) not in pairs
        pairs.add((node, other))
    assert (first["links"], again["links"]) == (new["expand"], new["recrawl"])
    assert 0 < again["links"] < rows(database, "select count(*) from link l join pick p using (campaign, n) "
                                               "where p.act = 'recrawl'")[0][0]  # fmt: skip
    assert "weighted by importance" in text
    assert "steps after" not in text
    assert whole["target"] == "importance"
    assert [place["place"] for place in whole["top"]] == list(range(1, len(whole["top"]) + 1))


def ending_settings(database):
    return tracking("http://127.0.0.1:9", database, 140)


def test_places_of_then_and_now_are_those_of_the_folded_history(visited):
    database, _, _ = visited
    connection = connect(database)
    try:
        traces = CampaignTraces(connection)
        found = report(traces, "campaign", ReportRequest(10))
        times = [parse_time(at) for (at,) in rows(database, "select at from outcome")]
        assert found.now == max(times)
        assert found.then == pytest.approx((min(times) + max(times)) / 2)  # it is younger than its window
        whole = traces.read_campaign("campaign")
        crawl, history = (
            rebuild_track(ending_settings(database), traces, whole),
            list(traces.read_history(whole, COLUMNS)),
        )
        for batch, outcomes in history:
            if outcomes[-1].at <= found.then:
                crawl.absorb(batch, outcomes)
        names = traces.read_names([node for node, _ in crawl.rank_nodes()])
        then = {names[node]: place for place, (node, _) in enumerate(crawl.rank_nodes(), 1)}
        known = [place for place in (*found.top, *found.rose, *found.fell) if place.before is not None]
        assert len(known) > 5
        assert all(then[place.account] == place.before for place in known)
        assert all(place.place < place.before for place in found.rose)
        assert all(place.place > place.before for place in found.fell)
        moved = [*found.rose, *found.fell]
        assert all(place.place < place.chance[0] or place.place > place.chance[1] for place in moved)
        assert found.moved >= len(moved)
        assert found.compared > 5
        assert 0 <= found.age <= found.now - min(times)
    finally:
        connection.close()
        connection.engine.dispose()


def test_accounts_that_are_gone_later_are_told_and_visited_no_more(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(earlier(), limit=LIMIT) as mock:
        crawled(mock.url, database, 30, recrawl="u", p=0.2)
    with serve_in_thread(posts_file(), limit=LIMIT, missing=0.4) as mock:
        crawled(mock.url, database, 120, recrawl="u", p=0.9)
    fates = build_world(pq_posts(), 0.4).accounts
    gone = dict(
        rows(database, "select lower(account), gone from tracked_account where gone is not null and visits > 0")
    )
    assert len(gone) > 3
    assert all(fates.fates[fates.by_username[name]] != HERE for name in gone)
    for n, node, why in rows(database, "select o.n, o.node, o.missing from outcome o join pick p using (campaign, n) "
                                       "where p.act = 'recrawl' and o.missing is not null"):  # fmt: skip
        assert why in ("suspended", "protected", "deleted", "unknown")
        assert rows(database, "select count(*) from pick where node = ? and n > ?", node, n) == [(0,)]


def test_nothing_of_the_forgotten_is_left_and_the_campaign_goes_on(visited, tmp_path):
    database = tmp_path / "b.db"
    database.write_bytes(visited[0].read_bytes())
    node, name = rows(database, "select node, account from tracked_account where visits > 1 limit 1")[0]
    forget(database, ErasureOptions(yes=True, as_json=True), read_order([name], [], None, None), "x")
    made_anew = rows(database, "select node, visits, importance from standing order by 1")
    assert len(made_anew) > 50
    assert node not in {row[0] for row in made_anew}
    assert rows(database, "select count(*) from outcome where node = ? and mark is not null", node) == [(0,)]
    assert rows(database, "select distinct since from pick where node = ? and since is not null", node) == [("-",)]
    before = rows(database, "select max(n) from pick")[0][0]
    with serve_in_thread(posts_file(), limit=LIMIT) as mock:
        assert crawled(mock.url, database, 160).reason.kind == "done"
    assert rows(database, "select count(*) from pick where node = ? and n > ?", node, before) == [(0,)]
    assert rows(database, "select count(*) from standing where node = ?", node) == [(0,)]
    assert rows(database, "select count(*) > 10 from standing") == [(1,)]


def test_standings_are_written_now_and_then_before_long_waits_and_at_the_end():
    crawl, told, clock = SimpleNamespace(picks=0), [], Clock()
    seen = SnapshotWatcher(Watcher(), crawl, lambda: told.append(crawl.picks), clock.now)
    picked = (SimpleNamespace(n=0),)
    for crawl.picks in range(1, 21):  # a visit a minute
        clock.time += 60.0
        seen.learned(picked, picked)
    assert told == [10, 20]
    seen.waits(Wait(clock.time + 599.0, "a window"))
    assert told == [10, 20], "nothing new"
    crawl.picks = 21
    seen.waits(Wait(clock.time + 599.0, "a window"))
    assert told == [10, 20], "a short wait"
    seen.waits(Wait(clock.time + 601.0, "everybody rests"))
    assert told == [10, 20, 21]
    seen.after(Stop("done", "the limit of 40 steps is reached"))
    assert told == [10, 20, 21], "nothing new"
    crawl.picks = 22
    seen.after(Stop("interrupted", "somebody asked"))
    assert told == [10, 20, 21, 22]


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"track": {"p": 0.5}}, 'belongs to kind = "track"'),
        ({"kind": "track", "crawl": {"estimator": "bfs"}}, "estimator under [crawl]"),
        (
            {"kind": "track", "track": {"recrawl": "lru"}},
            "unknown recrawl policy 'lru'. Did you mean 'yru'? Choose one of: u, or, yr",
        ),
        ({"kind": "track", "track": {"expansion": "best"}}, "Choose one of: ai, gai, opic"),
        ({"kind": "track", "track": {"window": "7"}}, "write it with its unit"),
        ({"kind": "track", "track": {"p": 1.5}}, "p = 1.5: write a number, at most 1"),
        ({"kind": "trak"}, "Choose one of: collect, track, refresh, sample"),
    ],
)
def test_what_is_wrong_with_a_campaign_that_tracks_is_told(sections, said):
    from socialcrawl.campaign.settings import check_settings

    with pytest.raises(SettingsError) as error:
        check_settings({"name": "a", "topic": {"keywords": ["sky"]}, **sections}, "a.toml")
    assert said in str(error.value)
    assert str(error.value).startswith("a.toml: ")


# -- A town whose people write on: every visit that asks from a mark on finds two newer posts


class Growing(Wire):
    """The tiny town with posts for ever: a visit finds posts 0 to 8 of a person, one from a mark on the next two."""

    def answer(self, endpoint, params, begin):
        if endpoint != TIMELINE or int(params["id"]) - 1000 in (5, 11):
            return super().answer(endpoint, params, begin)
        number = int(params["id"]) - 1000
        since = params.get("since_id")
        if since is None:
            page, cursor = super().answer(endpoint, params, begin)
            return replace(page, mark="1"), cursor
        fresh = [(replace_id(post, f"{number}-{since}-{j}"), hits, [(v + int(since) * (j + 1)) % 18 for v in whom])
                 for j, (post, hits, whom) in enumerate(posts_of(number)[:2])]  # fmt: skip
        return replace(page_of(fresh), mark=str(int(since) + 1)), None


def replace_id(post, key):
    return post._replace(id=key)


def opened(path):
    connection = connect(path)
    return SqlStore(connection, ensure_campaign(connection, SETTINGS, {}, 1_700_000_000.0), "x", columns=COLUMNS)


def parts_of(store, wire, choice=("gai", "or"), target="indegree", steps=14):
    source = XSource(POLICY, TWEET, ["telescope"], pages_per_user=9, search_pages=2)
    seeds = Seeds([Node(-1)], store.enlist(["PERSON0", "person11", "nobody"], wire.clock.now()), 4)
    aim = Target(target, cash=True)
    crawl = Track(seeds, PolicyMixture(*choice, 0.5, 7), steps, source.width, mark=source.mark, target=aim)
    planner = WindowPlanner(POLICY, [Credential("main")], Caps())
    return Parts(crawl, source, store, wire, planner, wire.clock, AtOnce(), Watcher())


def story(store):
    """Every decision with what it found, in the platform's own names."""
    found = []
    for batch, outcomes in list(store.history()):
        for pick, outcome in zip(batch, outcomes, strict=True):
            nodes = [pick.node, *outcome.targets.tolist()]
            who = store.accounts([node for node in nodes if node >= 0])
            ids = [who[node].id or who[node].username if node >= 0 else node for node in nodes]
            found.append((pick.n, batch[0].n, pick.act, pick.since, *ids, *outcome.alpha.tolist(), outcome.posts,
                          outcome.occurrences, outcome.mark))  # fmt: skip
    return found


def live(path, wire, size, moment=-1):
    store = opened(path)
    mortal = Mortal(store, moment)
    with suppress(KilledError):
        assert run(parts_of(mortal, wire, steps=10), size=size).kind == "done"
    close(store)
    return mortal.changes


@pytest.mark.parametrize("size", [1, 3])
def test_a_campaign_killed_at_durable_changes_goes_on_to_the_same_end(size):
    with a_place("sqlite") as path:
        changes = live(path, Growing(Clock()), size)
        expected = told_of(path)
    assert {row[2] for row in expected} == {"search", "resolve", "seed", "expand", "recrawl"}
    assert len({row[3] for row in expected}) > 2, "visits that go on from several marks"
    for moment in range(size, changes, 4):
        wire = Growing(Clock())
        with a_place("sqlite") as path:
            assert live(path, wire, size, moment) == moment + 1
            live(path, wire, size)
            assert told_of(path) == expected


def told_of(path):
    store = opened(path)
    found = story(store)
    assert store.unfinished() == ()
    close(store)
    return found


@pytest.mark.parametrize(
    ("expansion", "recrawl", "target"),
    [(EXPANSIONS[i % len(EXPANSIONS)], recrawl, TARGETS[i % len(TARGETS)]) for i, recrawl in enumerate(RECRAWLS)],
)  # fmt: skip
def test_replaying_the_stored_history_gives_the_stored_picks(tmp_path, expansion, recrawl, target):
    store = opened(tmp_path / "a.db")
    wire = Growing(Clock())
    choice = (expansion, recrawl)
    assert run(parts_of(store, wire, choice, target, 25)).kind == "done"
    again = parts_of(store, wire, choice, target, 25).crawl
    for batch, outcomes in list(store.history()):
        assert again.choose(len(batch), wire.clock.now()) == batch
        again.absorb(batch, outcomes)
    close(store)
