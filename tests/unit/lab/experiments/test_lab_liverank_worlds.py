"""Worlds to refresh: what of a file is the old snapshot and who is active now; how generated worlds die."""

import zlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as some
from pyarrow import csv, parquet
from scipy import stats
from shared_data import needed

from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.experiments.liverank import follower_graphs, shares, weblike, world_options
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld
from socialcrawl.lab.experiments.liverank.dated import SnapshotCut, TimedActs, build_world, read_dated_world
from socialcrawl.lab.experiments.liverank.weblike import DeathModel, plant_death
from socialcrawl.lab.graphs import write

DAY = 86_400


def links_of(world):
    """All links as pairs."""
    sources = np.repeat(np.arange(world.size), np.diff(world.indptr))
    return set(zip(sources.tolist(), world.indices.tolist(), strict=True))


# --- worlds from what has timestamps


ROWS = [  # a acts on b on a day
    ("ann", "bob", 0),
    ("bob", "bob", 1),
    ("ann", "bob", 2),
    ("cid", "dan", 10),
    ("eve", "ann", 30),  # after the snapshot, and so is all of eve
    ("bob", "eve", 50),
    ("ann", "cid", 92),
    ("dan", "dan", 100),
]


def written(path, rows=ROWS, names=("a", "b", "ts"), time=lambda day: day * DAY):
    columns = zip(*rows, strict=True)
    table = dict(zip(names, columns, strict=True))
    table[names[2]] = [time(day) for day in table[names[2]]]
    kind = csv.write_csv if path.suffix == ".csv" else parquet.write_table
    kind(pa.table(table), path)
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("names", "time"),
    [
        (("a", "b", "ts"), lambda day: day * DAY),
        (("src", "dst", "ts"), lambda day: float(day * DAY)),
        (("source", "target", "time"), lambda day: str(np.datetime64("2020-01-01") + day)),
        (("source", "target", "time"), lambda day: f"{np.datetime64('2020-01-01T12:00:00') + day * DAY}Z"),
    ],
)
def test_the_links_before_a_moment_are_the_old_snapshot_and_who_acted_lately_is_active(tmp_path, ending, names, time):
    world = read_dated_world(
        written(tmp_path / f"acts.{ending}", ROWS, names, time), SnapshotCut(snapshot=0.2, recent=10)
    )
    order = {"ann": 0, "bob": 1, "cid": 2, "dan": 3}  # sources by first appearance, then those who were only named
    assert world.name == "acts"
    assert links_of(world) == {(order["ann"], order["bob"]), (order["cid"], order["dan"])}
    assert [world.words[status] for status in world.status] == [
        "active",
        "acted, but not lately",
        "acted, but not lately",
        "active",  # dan, who acted on himself, and had been named before
    ]
    assert world.active.tolist() == [True, False, False, True]
    assert world.age.tolist() == pytest.approx([8, 50, 90, 0])
    assert (world.size, world.links, world.alive, world.sites) == (4, 2, 2, None)


def test_only_who_had_acted_is_a_node_where_that_is_asked_for(tmp_path):
    world = read_dated_world(written(tmp_path / "acts.csv"), SnapshotCut(snapshot=0.2, recent=10, actors=True))
    assert (world.size, world.links, world.alive) == (3, 1, 1)  # dan had only been named


def test_what_came_after_the_present_is_not_looked_at(tmp_path):
    world = read_dated_world(written(tmp_path / "acts.csv"), SnapshotCut(snapshot=0.2, recent=10, present=0.55))
    assert world.active.tolist() == [False, True, False, False]
    assert world.age[1] == pytest.approx(5)
    assert [world.words[status] for status in world.status][3] == "never acted"


def test_posts_are_acts_and_their_mentions_links_whatever_the_case(tmp_path):
    posts = {
        "author": ["Ann", "bob", "ann", "eve"],
        "created_at": [0, 10 * DAY, 95 * DAY, 100 * DAY],
        "text": ["x"] * 4,
        "mentions": [["BOB", "cid"], ["ann", "bob"], ["dan"], []],
    }
    parquet.write_table(pa.table(posts), tmp_path / "posts.parquet")
    world = read_dated_world(tmp_path / "posts.parquet", SnapshotCut(snapshot=0.5, recent=20))
    assert links_of(world) == {(0, 1), (0, 2), (1, 0)}  # ann, bob, cid
    assert world.active.tolist() == [True, False, False]
    assert [world.words[status] for status in world.status] == ["active", "acted, but not lately", "never acted"]


@given(
    some.lists(some.tuples(some.integers(0, 6), some.integers(0, 6), some.integers(0, 40)), min_size=1, max_size=40),
    some.sampled_from([0.25, 0.5]),
    some.sampled_from([0.75, 1.0]),
    some.booleans(),
)
@settings(deadline=None, max_examples=many(60))
def test_worlds_of_any_acts_are_what_the_definition_says(rows, snapshot, present, actors):
    sources, targets, days = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    acts = TimedActs(7, sources, days * float(DAY), sources, targets, days * float(DAY))
    first, last = min(days), max(days)
    taken, now = first + snapshot * (last - first), first + present * (last - first)
    recent = max(0.5, (now - taken) / 2)
    cut = SnapshotCut(snapshot, recent, present, actors)
    if now - recent < taken:
        with pytest.raises(SettingsError, match="give --recent fewer days"):
            build_world("w", acts, cut)
        return
    world = build_world("w", acts, cut)
    old = [(a, b) for a, b, day in rows if day <= taken]
    nodes = sorted({a for a, _ in old} | (set() if actors else {b for _, b in old}))
    assert world.size == len(nodes)
    wanted = {(a, b) for a, b in old if a != b and a in nodes and b in nodes}
    assert {(nodes[a], nodes[b]) for a, b in links_of(world)} == wanted
    for row, node in enumerate(nodes):
        own = [day for a, _, day in rows if a == node and day <= now]
        assert world.active[row] == any(day >= now - recent for day in own)
        assert (world.words[world.status[row]] == "never acted") == (not own)
        assert world.age[row] == pytest.approx(now - max(own)) if own else np.isnan(world.age[row])


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        ({"snapshot": 0}, "--snapshot 0 --present 1: give shares"),
        ({"snapshot": 0.5, "present": 0.5}, "the first above 0 and below the second"),
        ({"present": 1.1}, "at most 1"),
        ({"recent": 0}, "--recent 0: give some days"),
        ({"recent": float("nan")}, "give some days"),
    ],
)
def test_moments_that_cannot_be_are_refused(cut, said):
    with pytest.raises(SettingsError, match=said):
        SnapshotCut(**cut)


@pytest.mark.parametrize(
    ("rows", "cut", "said"),
    [
        (ROWS, SnapshotCut(0.5, 60), r"acts spans 100\.0 days: the 60 before 100% of that begin before 50% are over"),
        (ROWS[:7], SnapshotCut(0.05, 1, present=0.9), "none of 2 nodes is active now; give --recent more days"),
        (
            [("a", "a", 0), ("a", "a", 9)],
            SnapshotCut(0.5, 1),
            "the old snapshot has no links; give --snapshot a later moment",
        ),
        ([("a", "", 0)], SnapshotCut(), "acts.csv, row 1: b is empty; name a node"),
    ],
)
def test_a_file_that_makes_no_world_is_refused_with_what_to_do(tmp_path, rows, cut, said):
    with pytest.raises(SettingsError, match=said):
        read_dated_world(written(tmp_path / "acts.csv", rows), cut)


def test_files_that_cannot_be_read_say_why(tmp_path):
    with pytest.raises(SettingsError, match=r"acts.csv: ts is not a time \(.*soon.*\); give numbers of seconds"):
        read_dated_world(
            written(tmp_path / "acts.csv", time=lambda day: "soon" if day == 30 else str(day)), SnapshotCut()
        )
    parquet.write_table(pa.table({"a": ["x"], "c": ["y"]}), tmp_path / "other.parquet")
    with pytest.raises(SettingsError, match="needs the columns a, b, ts"):
        read_dated_world(tmp_path / "other.parquet", SnapshotCut())
    with pytest.raises(PostsFileError):
        read_dated_world(tmp_path / "missing.jsonl", SnapshotCut())
    with pytest.raises(SettingsError, match="nothing was ever done"):
        build_world("w", TimedActs(0, *[np.empty(0, np.int64)] * 5), SnapshotCut())


def test_real_links_make_a_world_whose_parts_agree():
    world = read_dated_world(needed("data/mathoverflow_activity.parquet"), SnapshotCut())
    table = parquet.read_table(needed("data/mathoverflow_activity.parquet"))
    a, b, ts = (table.column(name).to_numpy() for name in ("a", "b", "ts"))
    taken = ts.min() + 0.5 * np.ptp(ts)
    old = ts <= taken
    assert world.size == len(set(a[old].tolist()) | set(b[old].tolist()))
    assert world.links == len(
        {pair for pair in zip(a[old].tolist(), b[old].tolist(), strict=True) if len(set(pair)) > 1}
    )
    lately = set(a[ts >= ts.max() - 182 * DAY].tolist())
    assert world.alive == len(lately & (set(a[old].tolist()) | set(b[old].tolist())))


# --- generated webs


@pytest.fixture(scope="module")
def web():
    return weblike.generate_web(weblike.WebParameters(pages=6_000, degree=10, a_site=60, seed=4))


def test_a_generated_web_has_sites_whose_pages_link_mostly_to_each_other_and_then_to_near_ones(web):
    sources = np.repeat(np.arange(6_000), np.diff(web.indptr))
    assert (sources != web.indices).all()
    assert len(links_of(plant_death("w", web, DeathModel()))) == len(web.indices)  # each once
    apart = np.abs(web.sites[sources] - web.sites[web.indices])
    assert 0.75 < np.mean(apart == 0) < 0.88  # doubles inside a site are dropped
    assert 0.5 < np.mean(apart[apart > 0] <= weblike.REACH) < 0.85  # two of three, and by chance a few more
    sizes = np.bincount(web.sites)
    assert sizes.sum() == 6_000
    assert sizes.max() > 4 * np.median(sizes)
    assert 0.12 < np.mean(np.diff(web.indptr) == 0) < 0.17
    indegree = np.bincount(web.indices, minlength=6_000)
    assert indegree.max() > 30 * np.median(indegree)


def test_the_number_of_a_page_says_nothing(web):
    numbers = np.arange(6_000)
    assert abs(stats.spearmanr(numbers, web.sites).statistic) < 0.05
    assert abs(stats.spearmanr(numbers, np.bincount(web.indices, minlength=6_000)).statistic) < 0.05


def test_generated_worlds_are_the_same_again_and_others_for_other_seeds(web):
    again = weblike.generate_web(weblike.WebParameters(pages=6_000, degree=10, a_site=60, seed=4))
    other = weblike.generate_web(weblike.WebParameters(pages=6_000, degree=10, a_site=60, seed=5))
    assert (again.indices == web.indices).all()
    assert len(other.indices) != len(web.indices)
    assert (plant_death("w", web, DeathModel()).active == plant_death("w", web, DeathModel()).active).all()
    assert (plant_death("w", web, DeathModel()).active != plant_death("w", web, DeathModel(seed=2)).active).any()


@pytest.mark.parametrize("alive", [0.0629, 0.3556])
def test_as_many_pages_are_left_as_are_wanted(web, alive):
    assert plant_death("w", web, DeathModel(alive)).alive == round(alive * 6_000)


def test_pages_die_by_their_hazards_as_a_plain_loop_has_it():
    web = weblike.generate_web(weblike.WebParameters(pages=60, degree=4, a_site=6, seed=1))
    wanted = DeathModel(alive=0.3, spread=2.0, seed=7)
    indegree = np.bincount(web.indices, minlength=60)
    frailty = weblike._draw_frailty(web, indegree, wanted)
    end = np.random.default_rng([7, zlib.crc32(b"death"), 0]).standard_exponential(60)
    into = [[u for u in range(60) if v in web.indices[web.indptr[u] : web.indptr[u + 1]]] for v in range(60)]
    living, suffered = set(range(60)), [0.0] * 60
    while len(living) > 18:
        hazard = {}
        for v in living:
            dead = sum(u not in living for u in into[v]) / max(1, len(into[v]))
            hazard[v] = frailty[v] * (0.1 + 2.0 * dead)
        for v in living:
            suffered[v] += hazard[v] * 0.05 * 60 / sum(hazard.values())
        dying = sorted((v for v in living if suffered[v] >= end[v]), key=lambda v: end[v] - suffered[v])
        living -= set(dying[: len(living) - 18])
    assert set(np.flatnonzero(plant_death("w", web, wanted).active).tolist()) == living


def alike(world):
    """How much likelier a page is alive to which a living page points, than one to which a dead one points."""
    return float(np.subtract(*shares.measure_links_of_active(world)))


def test_death_spreads_along_links_and_takes_sites_only_where_it_is_told_to(web):
    nothing = DeathModel(0.3, spread=0, by_site=0, resist=0)
    assert abs(alike(plant_death("w", web, nothing))) < 0.02
    assert alike(plant_death("w", web, DeathModel(0.3, spread=5, by_site=0, resist=0))) > 0.05
    assert alike(plant_death("w", web, DeathModel(0.3, spread=0, by_site=1.5, resist=0))) > 0.2
    indegree = np.bincount(web.indices, minlength=6_000)
    assert shares.compute_advantage(indegree, plant_death("w", web, DeathModel(0.3, 0, 0, resist=0.5)).active) > 0.6
    assert abs(shares.compute_advantage(indegree, plant_death("w", web, nothing).active) - 0.5) < 0.03


def test_a_site_goes_in_one_way_and_answers_in_one_way_for_what_is_gone(web):
    world = plant_death("w", web, DeathModel(0.1))
    for site in range(int(web.sites.max()) + 1):
        here = web.sites == site
        said = {world.words[status] for status in world.status[here & ~world.active]}
        assert len(said) <= 1
        whole = {"no answer", "redirected (301)"}
        assert said <= (set(world.words) - whole - {"really there (200)"} if world.active[here].any() else whole)
    assert (world.active == (world.status == world.words.index("really there (200)"))).all()


def test_statuses_are_counted_with_the_targets_of_redirections_and_all_that_says_200(web):
    world = plant_death("w", web, DeathModel(0.1))
    found = shares.count_statuses(world)
    told = dict(zip(found["status"].tolist(), found["nodes"].tolist(), strict=True))
    names = Counter(world.words[status] for status in world.status)
    assert {name: told[name] for name in names} == dict(names)
    assert told["all"] == 6_000
    assert told["answered by 200"] == names["really there (200)"] + names["soft 404 (200)"]
    moved = {
        site for site, status in zip(web.sites, world.status, strict=True) if world.words[status].startswith("red")
    }
    assert told["targets of redirections"] == len(moved)
    assert found["share"] == pytest.approx(found["nodes"] / 6_000)


@pytest.mark.parametrize(
    "shape",
    [{"pages": 5}, {"degree": 0.5}, {"degree": 1e9}, {"a_site": 0.5}, {"seed": -1}, {"a_site": float("nan")}],
)
def test_webs_that_cannot_be_are_refused(shape):
    with pytest.raises(SettingsError):
        weblike.WebParameters(**shape)


@pytest.mark.parametrize(
    "given", [{"alive": 0}, {"alive": 1}, {"spread": -1}, {"by_site": -1}, {"resist": -1}, {"seed": -1}]
)
def test_deaths_that_cannot_be_are_refused(given):
    with pytest.raises(SettingsError):
        DeathModel(**given)


# --- webs from files


def test_a_web_of_a_file_has_blocks_of_neighbouring_numbers_for_sites(tmp_path):
    # 0 - 1 - 2 and 3 - 4 hold together; 5 is alone; what goes from end to end is too long to say anything.
    size = 2_500
    sources = np.array([0, 2, 3, 0, 7, 9])
    targets = np.array([1, 1, 4, 2_499, 7, 6])
    by_hand = [0, 0, 0, 1, 1, 2, 3, 3, 3, 3]
    assert world_options.find_blocks(sources, targets, size)[:10].tolist() == by_hand
    assert len(set(world_options.find_blocks(sources, targets, size).tolist())) == 4 + size - 10
    order = np.argsort(sources, kind="stable")
    offsets = np.searchsorted(sources[order], np.arange(size + 1))
    np.savez(tmp_path / "w.npz", offsets=offsets, targets=targets[order])
    web = world_options.read_web(tmp_path / "w.npz")
    assert web.sites[:10].tolist() == by_hand
    assert len(web.indices) == 5  # 7 pointed to itself
    graph = KnownGraph(offsets, targets[order], np.ones(6), np.ones(size))
    write(graph, tmp_path / "folder")
    assert (world_options.read_web(tmp_path / "folder").indices == web.indices).all()


def test_a_web_that_is_none_is_refused(tmp_path):
    (tmp_path / "w.npz").write_bytes(b"no zip")
    with pytest.raises(SettingsError, match=r"w\.npz"):
        world_options.read_web(tmp_path / "w.npz")


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"offsets": np.arange(201), "targets": np.full(200, 200)}, "targets go to pages outside 0 to 199"),
        ({"offsets": np.arange(201)[::-1], "targets": np.zeros(200, int)}, "offsets do not index targets"),
        ({"offsets": np.zeros((2, 2), int), "targets": np.zeros(0, int)}, "one dimension"),
    ],
)
def test_a_web_whose_links_lead_nowhere_is_refused(tmp_path, arrays, why):
    np.savez(tmp_path / "w.npz", **arrays)
    with pytest.raises(SettingsError, match=why):
        world_options.read_web(tmp_path / "w.npz")


def test_a_real_web_has_most_links_inside_the_blocks():
    web = world_options.read_web(needed("data/cnr2000_web.npz"))
    sources = np.repeat(np.arange(len(web.sites)), np.diff(web.indptr))
    assert np.mean(web.sites[sources] == web.sites[web.indices]) > 0.9


# --- generated follower graphs


@pytest.fixture(scope="module")
def accounts():
    return follower_graphs.generate_followers("t", follower_graphs.FollowerParameters(accounts=5_000, degree=10))


def test_accounts_have_the_statuses_that_are_wanted_and_ages_that_go_with_them(accounts):
    told = dict(
        zip(accounts.count_statuses()["status"].tolist(), accounts.count_statuses()["nodes"].tolist(), strict=True)
    )
    assert told["active"] == accounts.alive == round(0.1753 * 5_000)
    assert told["never posted"] == 1_250
    assert 500 < told["no longer there"] < 700
    assert ((accounts.age <= 182) == accounts.active).all()
    known_ages = ~np.isnan(accounts.age)
    assert known_ages.sum() == told["active"] + told["posted, but not lately"]
    assert 1_700 < np.nanmax(accounts.age) <= 1_760


def test_the_famous_are_active_and_nothing_else_is_told_by_neighbours(accounts):
    assert shares.compute_advantage(accounts.count_indegrees(), accounts.active) > 0.6
    none = follower_graphs.generate_followers(
        "t", follower_graphs.FollowerParameters(accounts=5_000, degree=10, bond=0)
    )
    assert abs(shares.compute_advantage(none.count_indegrees(), none.active) - 0.5) < 0.03
    assert abs(alike(none)) < 0.02


def test_links_of_the_active_and_of_others_are_counted_apart():
    indptr, indices = np.array([0, 3, 4, 6, 6]), np.array([1, 2, 3, 0, 0, 3], np.int32)
    active = np.array([True, False, False, True])
    world = DatasetWorld("w", indptr, indices, active, None, np.zeros(4, int), "a", np.zeros(4))
    assert shares.measure_links_of_active(world) == pytest.approx((1 / 3, 3 / 3))
    nobody = DatasetWorld("w", indptr, indices, np.zeros(4, bool), None, np.zeros(4, int), "a", np.zeros(4))
    assert np.isnan(shares.measure_links_of_active(nobody)[0])


def test_some_follow_back(accounts):
    links = links_of(accounts)
    back = sum((b, a) in links for a, b in links) / len(links)
    assert 0.2 < back < 0.5


@pytest.mark.parametrize(
    "shape", [{"accounts": 3}, {"degree": 0}, {"seed": -1}, {"bond": -1}, {"alive": 0}, {"alive": 0.9}]
)
def test_follower_graphs_that_cannot_be_are_refused(shape):
    with pytest.raises(SettingsError):
        follower_graphs.FollowerParameters(**shape)


# --- distributions


@given(some.lists(some.tuples(some.integers(0, 8), some.booleans()), min_size=1, max_size=60))
@settings(deadline=None, max_examples=many(60))
def test_the_advantage_of_the_active_is_that_of_mann_and_whitney(rows):
    values, active = (np.array(column) for column in zip(*rows, strict=True))
    if active.all() or not active.any():
        assert shares.compute_advantage(values, active) == 0.5
        return
    u = stats.mannwhitneyu(values[active], values[~active]).statistic
    assert shares.compute_advantage(values, active) == pytest.approx(u / (active.sum() * (~active).sum()))


def test_distribution_functions_are_those_of_the_values():
    rng = np.random.default_rng(1)
    values, chosen = rng.integers(0, 400, 3_000) / 7, rng.random(3_000) < 0.4
    x, share = shares.compute_distribution(values, chosen)
    assert len(x) <= 200
    assert share == pytest.approx([np.mean(values[chosen] <= point) for point in x])
    assert share[-1] == 1
    assert shares.compute_distribution(values, np.zeros(3_000, bool))[0].tolist() == []


def test_distributions_are_told_for_the_active_the_others_and_all(accounts):
    table = shares.compute_distributions(accounts, accounts.count_indegrees().astype(float), "in-degree")
    assert list(dict.fromkeys(table["whose"].tolist())) == ["active", "not active", "all"]
    own = table["whose"] == "not active"
    values = accounts.count_indegrees()[~accounts.active]
    assert table["share"][own] == pytest.approx([np.mean(values <= x) for x in table["x"][own]])


def test_ages_are_those_of_who_ever_acted(accounts):
    table = shares.compute_ages(accounts)
    known_ages = accounts.age[~np.isnan(accounts.age)]
    assert table["share"] == pytest.approx([np.mean(known_ages <= day) for day in table["days"]])


def test_a_world_without_sites_has_no_rows_about_sites():
    world = DatasetWorld(
        "w", np.zeros(3, int), np.empty(0, np.int32), np.array([1, 0], bool), None, np.array([1, 0]), "ab", np.zeros(2)
    )
    assert shares.count_statuses(world)["status"].tolist() == ["a", "b", "all"]
