"""A campaign follows its best shadow where drawn steps show that it is better: once, and seldom by mistake."""

import re
from itertools import count

import numpy as np
import pytest
from follow_worlds import NOW, following, go_on, star
from scipy.stats import binomtest, ttest_1samp
from sqlalchemy import Engine, event
from x_crawls import campaign_of, crawl, posts, rows

from socialcrawl.crawls.collect.following import FALSE, FIRST, DrawnPairs, find_better_shadow, find_look, make_pairs
from socialcrawl.crawls.collect.steering import measure_steering
from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.steering import describe_steering
from socialcrawl.storage.campaigns import follow_shadow
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.verify.replay import DecisionReplay
from socialcrawl.verify.story import read_story
from socialcrawl.verify.verification import verify

LOOKS = [FIRST << look for look in range(6)]


def pairs_of(scores, value):
    """The pairs of steps that were all drawn in the same way; the first row of scores is the steering estimator's."""
    names = [f"shadow{number}" for number in range(1, len(scores))]
    return make_pairs(names, np.asarray(scores), np.asarray(value), [np.arange(len(value))])


def first(pairs, size):
    return DrawnPairs(pairs.names, pairs.gain[:, :size], pairs.largest[:size])


def is_followed(pairs):
    """Whether a campaign that looks at every pair follows a shadow, sooner or later."""
    return any(find_better_shadow(first(pairs, size)) is not None for size in LOOKS)


def test_a_shadow_gains_what_its_account_of_a_pair_has_more_and_nothing_where_both_agree():
    scores = [[1, 2, 3, 4, 5, 6, 1, 0], [2, 1, 1, 2, 7, 7, 0, 9], [1, 3, 3, 1, 0, 9, 0, 9]]
    found = pairs_of(scores, [3.0, 1.0, 0.0, 2.0, 4.0, 1.0, 0.0, 5.0])
    assert found.gain.tolist() == [[2.0, 0.0, 1.5, 5.0], [0.0, -2.0, 0.0, 5.0]]
    assert found.largest.tolist() == [3.0, 3.0, 4.0, 5.0]


def test_a_pair_is_drawn_in_one_way_and_scored_by_all():
    scores = np.array([[1.0, 2, 3, 4, 5, 6, 7], [7, 6, np.nan, 4, 3, 2, 1]])
    value = np.array([9.0, 0, 0, 5, 0, 1, 2])
    found = make_pairs(["a"], scores, value, [np.array([1, 2, 4, 6]), np.array([0, 3])])
    assert found.gain.tolist() == [[9.0 - 5.0, 0.0]], "0 with 3, then 1 with 4; 2 has no score, 6 no partner"
    assert found.largest.tolist() == [9.0, 9.0]


def test_the_test_is_students_with_one_more_pair_that_the_shadow_loses():
    draw = np.random.default_rng(1)
    gain, largest = draw.normal(0.5, 1.0, (2, 90)), np.linspace(1, 4, 90)
    gain[1] -= 1.0
    found = find_better_shadow(DrawnPairs(("a", "b"), gain, largest))
    p = 2 * ttest_1samp([*gain[0, :80], -largest[79]], 0.0, alternative="greater").pvalue
    assert found is not None
    assert (found.shadow, found.pairs, found.gain) == ("a", 80, pytest.approx(gain[0, :80].mean()))
    assert found.p == pytest.approx(p)
    assert found.p < FALSE / 12


def test_there_are_looks_at_20_pairs_and_at_twice_as_many_each_time():
    assert [find_look(pairs) for pairs in (0, 19, 20, 39, 40, 79, 80, 160)] == [-1, -1, 0, 0, 1, 1, 2, 3]
    gain = np.ones((1, 100)) + np.linspace(0, 0.1, 100)
    assert find_better_shadow(DrawnPairs(("a",), gain[:, :19], np.ones(19))) is None
    assert find_better_shadow(DrawnPairs(("a",), gain, np.ones(100))).pairs == 80


def test_after_a_switch_it_takes_more():
    draw = np.random.default_rng(0)
    pairs = DrawnPairs(("a",), draw.normal(0.5, 1.0, (1, 80)), np.ones(80))
    assert find_better_shadow(pairs) is not None
    assert find_better_shadow(pairs, switches=40) is None


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_of_estimators_that_are_equally_good_one_is_followed_in_a_hundredth_of_campaigns_at_most(share):
    """Three shadows and the steering estimator know as much as each other of who is relevant; looked at to the end."""
    false = 0
    for seed in range(150):
        draw = np.random.default_rng(seed)
        value = np.where(draw.random(2 * LOOKS[-1]) < share, 1 + np.log(draw.geometric(0.3, 2 * LOOKS[-1])), 0.0)
        false += is_followed(pairs_of(0.5 * value + draw.normal(size=(4, len(value))), value))
    assert binomtest(false, 150, FALSE, alternative="greater").pvalue > 0.01, false


@pytest.mark.parametrize(("rare", "often", "most"), [(0.005, 0.3, 31.5), (0.01, 0.1, 8.3), (0.02, 0.8, 5.3)])
def test_one_that_finds_the_many_is_not_followed_where_the_other_finds_the_few_that_are_worth_as_much(
    rare, often, most
):
    """`most` is what makes both find as much: few drawn steps show what the steering estimator finds."""
    false, total = 0, 0.0
    for seed in range(150):
        draw = np.random.default_rng(seed)
        large = draw.random(2 * LOOKS[-1]) < rare
        small = ~large & (draw.random(len(large)) < often)
        value = small + most * large
        pairs = pairs_of([large + draw.random(len(large)) / 9, small + draw.random(len(large)) / 9], value)
        total += pairs.gain.mean()
        false += is_followed(DrawnPairs(pairs.names, pairs.gain, np.full(LOOKS[-1], most)))
    assert abs(total / 150) < 0.02
    assert binomtest(false, 150, FALSE, alternative="greater").pvalue > 0.01, false


def test_one_that_knows_more_is_followed():
    found = 0
    for seed in range(50):
        draw = np.random.default_rng(seed)
        value = np.where(draw.random(640) < 0.3, 1 + np.log(draw.geometric(0.3, 640)), 0.0)
        found += is_followed(pairs_of([draw.random(640), value + draw.normal(size=640)], value))
    assert found == 50


@pytest.mark.parametrize(
    ("crawl_", "said"),
    [
        ({"shadows": []}, "name estimators as shadows"),
        ({"control": 0.0}, "set control = 0.2"),
        ({"estimator": "sklearn.linear_model.SGDRegressor", "estimator_options": {"alpha": 0.1}}, "remove one of them"),
    ],
)
def test_it_needs_shadows_and_drawn_steps_and_estimators_that_are_made_alike(crawl_, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        following("a.db", **crawl_)


def told(settings):
    """What a campaign has decided and found, its epochs and its settings."""
    return [
        rows(settings.database, query)
        for query in (
            "select n, node, act, score from pick order by n",
            "select n, estimator, score from shadow order by n, estimator",
            "select n, value from outcome order by n",
            "select number, first, why from epoch order by number",
            "select number, first, settings, changed from version order by number",
            "select identity from campaign",
        )
    ]


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A campaign in which a shadow took over, and the sentences that were told."""
    settings = following(tmp_path_factory.mktemp("follow") / "a.db")
    return settings, go_on(settings, star())


def test_a_shadow_that_is_far_better_takes_over_once_and_begins_an_epoch(followed):
    settings, said = followed
    (begun, switch) = rows(settings.database, "select first, why from epoch order by number")
    assert (begun, switch[1]) == ((0, "begun"), "crawl,follow")
    assert len(said) == 1
    assert re.fullmatch(
        r"nh-e-sum chooses from now on, instead of bfs \(follow = true\): in (20|40|80) pairs of drawn accounts it "
        r"would have found 0\.\d{3} more a pair \(p = \d\S*\)",
        said[0],
    )
    shadows = rows(settings.database, "select distinct estimator from shadow where n >= ?", switch[0])
    assert sorted(shadows) == [("bfs",), ("random",)]


def test_decisions_are_made_again_by_verify_with_the_estimator_of_their_time(followed):
    settings, _ = followed
    with open_readable(settings.database) as connection, connection.begin():
        replay = DecisionReplay(connection, read_story(connection, "a"))
        replay.run()
    assert (replay.picks.proved, replay.scores.proved, replay.scores.differing) == (220, 220, 0)
    assert {one.place for one in replay.picks.differences} == {"pick 0"}, "the seed, which no file names"


def test_the_report_says_who_took_over_when_and_why(followed):
    settings, _ = followed
    with open_readable(settings.database) as connection:
        found = measure_steering(CampaignTraces(connection))
    ((first_, at),) = rows(settings.database, "select first, began_at from epoch where number = 1")
    assert found.estimator == "nh-e-sum"
    assert (
        f"  nh-e-sum replaced bfs at {at}, from decision {first_:,} on: drawn accounts showed that its order was "
        "better (follow = true)"
    ) in describe_steering(found)


@pytest.mark.parametrize(("follow", "tie"), [(False, 10.0), (True, 0.0)])
def test_without_follow_and_where_links_say_nothing_nobody_takes_over(tmp_path, follow, tie):
    settings = following(tmp_path / "a.db", follow=follow)
    assert go_on(settings, star(tie=tie)) == []
    assert rows(settings.database, "select why from epoch") == [("begun",)]


def test_a_campaign_goes_on_with_its_shadow_and_its_file_stays_as_it_is(followed, tmp_path):
    settings, _ = followed
    database = tmp_path / "a.db"
    database.write_bytes(settings.database.read_bytes())
    more = following(database, steps=230)
    assert go_on(more, star()) == []
    assert [row[1:] for row in rows(database, "select * from epoch")] == [
        row[1:] for row in rows(settings.database, "select * from epoch")
    ]
    with pytest.raises(SettingsError, match=r"estimator was 'nh-e-sum'"):
        go_on(following(database, follow=False), star())
    go_on(following(database, steps=230, shadows=["opic", "nh-e-sum"]), star())
    latest = "select json_extract(settings, '$.crawl.estimator'), json_extract(settings, '$.crawl.shadows')"
    latest += " from version order by number desc limit 1"
    assert rows(database, latest) == [("nh-e-sum", '["opic","bfs"]')]
    other = following(database, steps=230, estimator="random", shadows=["bfs", "nh-e-sum"])
    with pytest.raises(SettingsError, match=r"estimator was 'nh-e-sum'"):
        go_on(other, star())
    go_on(other, star(), change=True)
    assert rows(database, latest) == [("random", '["bfs","nh-e-sum"]')]


class KilledError(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("size", [1, 3])
def test_killed_at_any_statement_around_the_switch_it_ends_the_same(tmp_path, size):
    """Statements are counted, commits included; after each death the campaign is built anew from its database."""
    graph, sent = star(), []

    def go(name, dies=0):
        numbers = count(1)

        def counted(connection, *args):
            sent.append(str(args[1]) if len(args) > 1 else "commit")
            if next(numbers) == dies:
                raise KilledError

        event.listen(Engine, "before_cursor_execute", counted)
        event.listen(Engine, "commit", counted)
        try:
            go_on(following(tmp_path / name, steps=180), graph, size=size)
        finally:
            event.remove(Engine, "before_cursor_execute", counted)
            event.remove(Engine, "commit", counted)

    go("whole.db")
    at = [number for number, text in enumerate(sent, 1) if "INSERT INTO epoch" in text][-1]
    wanted = told(following(tmp_path / "whole.db"))
    assert wanted[3][-1][2] == "crawl,follow"
    wanted_at = [row[1] for row in wanted[3]]
    for moment in range(at - 9, at + 9):
        name = f"{moment}.db"
        with pytest.raises(KilledError):
            go(name, moment)
        go(name)
        found = told(following(tmp_path / name))
        assert [row[1] for row in found[3]] == wanted_at
        assert found[:4] == wanted[:4], moment
        assert [row[3] for row in found[4]] == [row[3] for row in wanted[4]]


def test_a_campaign_on_a_platform_goes_on_with_the_shadow_that_took_over_and_every_decision_is_verified(tmp_path):
    section = {"estimator": "nh-n-avg", "shadows": ["lnh-sum"], "steps": 30, "control": 0.5, "follow": True}
    with serve_in_thread(posts(), limit=100_000) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl=section)
        crawl(settings)
        connection = connect(settings.database)
        follow_shadow(connection, 1, "lnh-sum", NOW + 1e8)
        connection.close()
        connection.engine.dispose()
        crawl(campaign_of(mock.url, tmp_path / "a.db", crawl=section | {"steps": 60}))
    ((switched,),) = rows(settings.database, "select first from epoch where why = 'crawl,follow'")
    by = "select distinct estimator from shadow where n < ? union all select '|' union all "
    by += "select distinct estimator from shadow where n >= ?"
    assert rows(settings.database, by, switched, switched) == [("lnh-sum",), ("|",), ("nh-n-avg",)]
    with open_readable(settings.database) as opened:
        assert sum(part.differing for part in verify(opened)) == 0
