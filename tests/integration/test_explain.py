"""Why somebody was asked: folded from the history, and compared with sums over the bare tables."""

import json
from contextlib import contextmanager
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from commands import socialcrawl
from known_worlds import features, linear
from postgres import a_place
from stores import AT
from tiny_town import BEGIN, POLICY, AtOnce, Clock, Watcher, Wire, close, person

from socialcrawl.campaign.sections.topic import TopicSection
from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.estimators.adaptive import FEATURES as ADAPTIVE_FEATURES
from socialcrawl.crawls.collect.estimators.added import LOWEST
from socialcrawl.crawls.collect.explain import (
    Decision,
    Explanation,
    MentionerRecord,
    list_unread_seeds,
    rebuild_collect,
)
from socialcrawl.crawls.collect.strategies import make_strategy
from socialcrawl.crawls.kept_crawls import KeptCrawls
from socialcrawl.crawls.reporting import explain as explain_by
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import Parts, run
from socialcrawl.engine.model import Credential, Node, Outcome, Pick, SameAs, format_time
from socialcrawl.errors import StoreError
from socialcrawl.graph.graph import AVERAGES, COLUMNS
from socialcrawl.platforms.x.source import XSource
from socialcrawl.platforms.x.vocabulary import find_vocabulary
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.render.explanation import (
    FEATURE_WORDS,
    _format_mentioners,
    format_number,
    summarize_explanation,
)
from socialcrawl.storage.campaigns import TopicChange, ensure_campaign, read_query_history
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.queries.traces import AccountVisit, CampaignTraces, IncomingLink
from socialcrawl.storage.sql_store import SqlStore

USERNAMES = ["PERSON0", "person11", "nobody"]
SUMS = ("adaptive", "nh-ne-sum", "nh-n-max", "nh-e-avg", "lnh-sum", "lnh-wide", "hybrid-sum", "bfs")
OTHERS = ("opic", "opic-ne", "nr", "random", "sklearn.linear_model.SGDRegressor")


def settings_of(name="tiny", *, words="tweet", **crawl):
    given = {
        "name": name,
        "seed": 3,
        "topic": {"keywords": ["telescope"]},
        "seeds": {"most": 4, "search_pages": 2, "usernames": USERNAMES},
        "crawl": {"estimator": "nh-ne-sum", "switch_after": 3, "steps": 9, **crawl},
        "source": {"pages_per_user": 9, "vocabulary": words, "tokens": [{"env": "SOME_TOKEN"}]},
    }
    return check_settings(given, "test")


KEPT = KeptCrawls(least=0.0)


def explain(connection, user, name=None):
    """What is said of an account: the same by a crawl that is rebuilt and by one that is kept from before."""
    found = explain_by(CampaignTraces(connection), user, name)
    assert explain_by(CampaignTraces(connection), user, name, KEPT) == found
    return found


@contextmanager
def crawled(place, settings=None, *, size=1, faults=None, change=None):
    """The store of a campaign in the small town, after it was crawled (on) as the settings say."""
    settings = settings or settings_of()
    connection = connect(place)
    identity = settings.identity(USERNAMES)
    number = ensure_campaign(connection, settings.model_dump(mode="json"), identity, BEGIN, change=change)
    store = SqlStore(connection, number, "x")
    how, words, wire = settings.crawl, find_vocabulary(settings.source.vocabulary), Wire(Clock(), faults=faults or {})
    source = XSource(POLICY, words, ["telescope"], pages_per_user=9, search_pages=2)
    names = store.enlist(USERNAMES, wire.clock.now())
    estimator = make_estimator(how.estimator, seed=3, switch_after=how.switch_after)
    topics = read_query_history(connection, number, ["telescope"]).topics
    seeds = Seeds([Node(-1)], names, 4, look_up=not words.search, topics=topics)
    crawl = Collect(seeds, estimator, how.steps, source.width, make_strategy(how.strategy, seed=3))
    planner = WindowPlanner(POLICY, [Credential("main")], Caps())
    run(Parts(crawl, source, store, wire, planner, wire.clock, AtOnce(), Watcher()), size=size)
    try:
        yield store
    finally:
        close(store)


def rows(store, sql):
    with store.connection.begin():
        return [dict(row) for row in store.connection.exec_driver_sql(sql).mappings()]


def asked(store):
    """The picks after the seeds that found somebody, with how the platform calls whom."""
    return rows(
        store, "select p.n, p.batch, p.node, p.score, a.platform_id as id, a.username from pick p "
        "join account a on a.node = p.node where p.act = 'expand' order by p.n"
    )  # fmt: skip


@pytest.fixture(params=("sqlite", "postgres"))
def place(request):
    with a_place(request.param) as made:
        yield made


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a.db"


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("name", [*SUMS, *OTHERS])
def test_every_decision_is_found_again_bit_for_bit(name, size, file):
    with crawled(file, settings_of(estimator=name), size=size) as store:
        picks = asked(store)
        assert len(picks) == 9
        for pick in picks:
            told = explain(store.connection, pick["id"] or pick["username"])
            made = told.decision
            assert (told.state, told.asks[-1].n) == ("asked", pick["n"])
            assert made.score == pick["score"]
            assert made.agrees is True
            assert made.rank == 1 + pick["n"] - pick["batch"], "greedy takes the best, in order"
            assert made.taken == sum(other["n"] < pick["batch"] for other in picks)
            assert bool(made.parts) == (name in SUMS or name.startswith("opic"))
            if made.parts:
                total = made.intercept + sum(part.share for part in made.parts)
                assert total == pytest.approx(made.score, rel=1e-9, abs=1e-9)
            if name == "hybrid-sum":
                assert ("linear" in made.turn) == (made.taken >= 3)


def frontier_before(store, batch, name, h=None):
    """(scores by node in order of discovery, links by node) before a decision, from the tables alone."""
    before = rows(
        store, "select p.n, p.act, p.node, o.value, o.missing from pick p join outcome o on o.campaign = p.campaign "
        f"and o.n = p.n where p.n < {batch} order by p.n"
    )  # fmt: skip
    links = rows(store, "select n, node, alpha from link order by n, position")
    into = {}
    seeds = {row["node"] for row in rows(store, "select node from pick where act = 'seed'")}
    for row in before:
        if row["act"] in ("seed", "expand"):
            for link in (link for link in links if link["n"] == row["n"] and link["node"] != row["node"]):
                into.setdefault(link["node"], []).append((row["node"], row["value"], link["alpha"]))
    done = {row["node"] for row in before if row["act"] in ("seed", "expand")} | seeds
    frontier = [node for node in into if node not in done]
    x = {node: features([link[1:] for link in into[node]], sum) for node in frontier}
    if name == "nh-ne-sum":
        return {node: x[node][2] for node in frontier}, into
    lessons = [(row, picked_at(store, row["n"])) for row in before if row["act"] == "expand" and not row["missing"]]
    scores = linear([x for _, x in lessons], [row["value"] for row, _ in lessons], [x[node] for node in frontier])
    return dict(zip(frontier, scores, strict=True)), into


def test_the_mentioners_of_an_account_are_told_with_what_their_other_mentions_were_worth(place):
    with crawled(place) as store:
        found = rows(
            store,
            "select l.n, l.node, p.node as source, o.value from link l join pick p on p.n = l.n join outcome o "
            "on o.n = l.n where p.node <> l.node and o.missing is null and p.act <> 'search'",
        )
        worth = {row["node"]: row["value"] for row in rows(
            store, "select p.node, o.value from pick p join outcome o on o.n = p.n where o.missing is null "
            "and p.act in ('seed', 'expand')")}  # fmt: skip
        for pick in asked(store):
            when = {row["node"]: row["n"] for row in rows(store, "select p.node, p.n from pick p")}
            told = explain(store.connection, pick["id"] or pick["username"]).decision.mentioners
            sources = {
                row["source"]: row["value"] for row in found if row["node"] == pick["node"] and row["n"] < pick["n"]
            }
            relevant = {source for source, value in sources.items() if value > 0}
            others = [worth[row["node"]] for row in found if row["source"] in relevant and row["node"] != pick["node"]
                      and row["node"] in worth and when[row["node"]] < pick["n"]]  # fmt: skip
            assert told == MentionerRecord(len(relevant), len(sources), len(others), sum(value > 0 for value in others))


def test_each_part_of_a_score_is_told_in_words():
    names = {name.removeprefix("log ") for name in ADAPTIVE_FEATURES} | {*COLUMNS, *AVERAGES}
    assert names == FEATURE_WORDS.keys()


@pytest.mark.parametrize(
    ("record", "platform", "said"),
    [
        (MentionerRecord(0, 0, 0, 0), "x", []),
        (MentionerRecord(1, 1, 0, 0), "x", ["the only account that mentions it is relevant"]),
        (MentionerRecord(0, 1, 0, 0), "web", ["the only page that links to it is not relevant"]),
        (
            MentionerRecord(3, 5, 40, 24),
            "x",
            [
                (
                    "3 of the 5 accounts that mention it are relevant; of their other mentions of accounts that were "
                    "read, 60 % (24 of 40) went to relevant ones"
                )
            ],
        ),
        (
            MentionerRecord(1, 2, 3, 0),
            "web",
            [
                (
                    "1 of the 2 pages that link to it is relevant; of its other links to pages that were read, "
                    "0 % (0 of 3) went to relevant ones"
                )
            ],
        ),
    ],
)
def test_the_record_of_mentioners_is_a_sentence(record, platform, said):
    explanation = Explanation("c", "ann", "asked", platform=platform)
    assert list(_format_mentioners(explanation, record)) == said


def picked_at(store, n):
    (row,) = rows(store, f"select features from pick where n = {n}")
    stored = json.loads(row["features"])
    return tuple(stored[name] for name in ("n_sum", "e_sum", "ne_sum"))


@pytest.mark.parametrize(
    ("name", "strategy_"), [("nh-ne-sum", "greedy"), ("lnh-sum", "altered-greedy"), ("nh-ne-sum", "proportional")]
)
def test_score_rank_best_and_links_are_those_of_a_full_rescan(name, strategy_, place):
    with crawled(place, settings_of(estimator=name, strategy=strategy_), size=2) as store:
        for pick in asked(store):
            scores, into = frontier_before(store, pick["batch"], name)
            told = explain(store.connection, pick["id"] or pick["username"], "tiny")
            made, mine = told.decision, scores[pick["node"]]
            assert made.score == pytest.approx(mine, abs=1e-8)
            order = sorted(scores, key=lambda node: -round(scores[node], 8))
            assert (made.rank, made.frontier) == (1 + order.index(pick["node"]), len(scores))
            assert made.best == (pytest.approx(max(scores.values()), abs=1e-8), order[0])
            assert made.agrees is True
            assert [(link.source, link.value, link.alpha) for link in told.links] == into[pick["node"]]
            assert made.features["links"] == len(into[pick["node"]])


@pytest.mark.parametrize("name", ["nh-ne-sum", "lnh-sum"])
def test_who_was_not_asked_is_told_his_place_now_and_what_would_have_to_be_beaten(name, place):
    with crawled(place, settings_of(estimator=name, steps=4)) as store:
        scores, into = frontier_before(store, 10**9, name)
        assert len(scores) > 3
        order = sorted(scores, key=lambda node: -round(scores[node], 8))
        for node, who in store.accounts([Node(node) for node in scores]).items():
            told = explain(store.connection, f"@{(who.username or '').upper()}" if who.username else who.id)
            made = told.decision
            assert (told.state, told.node, {ask.act for ask in told.asks} - {"resolve"}) == ("frontier", node, set())
            assert (made.rank, made.agrees, made.taken) == (1 + order.index(node), None, 4)
            assert made.score == pytest.approx(scores[node], abs=1e-8)
            assert made.best == (pytest.approx(max(scores.values()), abs=1e-8), order[0])
            assert [(link.source, link.value, link.alpha) for link in told.links] == into[node]


def test_seeds_the_missing_the_unknown_and_strangers_are_told_apart(place):
    with crawled(place, settings_of(steps=20)) as store:
        by_name = {who: explain(store.connection, who) for who in ("Person0", "person3", "nobody", "person11", "Ghost")}
        store.enlist(["stranger"], AT)
        assert {who: told.state for who, told in by_name.items()} == {
            "Person0": "seed", "person3": "seed", "nobody": "looked-up", "person11": "asked", "Ghost": "unknown"
        }  # fmt: skip
        assert [ask.act for ask in by_name["Person0"].asks] == ["resolve", "seed"]
        assert by_name["person11"].asks[-1].missing == "protected"
        assert by_name["person11"].decision.agrees is True
        assert by_name["Person0"].decision is None
        assert explain(store.connection, "Stranger").state == "stranger"
        with pytest.raises(StoreError, match="there are: tiny"):
            explain(store.connection, "Person0", "other")


def test_a_search_may_find_more_than_become_seeds(file):
    with crawled(file, settings_of(words="post", steps=1)) as store:
        states = {number: explain(store.connection, str(person(number).id)).state for number in (3, 4, 5, 7, 9, 12)}
        found = "select l.node from link l join pick p on p.n = l.n and p.campaign = l.campaign where p.act"
        picked = "select node from pick where act"
        targets, linked, seeds, expanded = (
            {row["node"] for row in rows(store, sql)}
            for sql in (f"{found} = 'search'", f"{found} <> 'search'", f"{picked} = 'seed'", f"{picked} = 'expand'")
        )
        assert targets - seeds
        for number, state in states.items():
            (row,) = rows(store, f"select node from account where platform_id = '{person(number).id}'")
            node = row["node"]
            expected = "seed" if node in seeds else "asked" if node in expanded else None
            assert state == (expected or ("frontier" if node in linked else "unchosen"))


def test_whoever_fails_for_a_while_rests_and_is_out_after_three_times(file):
    with crawled(file, settings_of(steps=3), faults=dict.fromkeys(range(14, 17), "broken")) as store:
        n = asked(store)[-1]["n"] + 1
        other = next(Node(row["node"]) for row in rows(store, "select node from frontier_now order by node desc"))
        who = store.accounts([other])[other]
        user = who.id or who.username
        for failures in (1, 2, 3):
            pick = Pick(n, other, "expand", 0.5)
            store.open((pick,))
            assert explain(store.connection, user).state == "open"
            store.finish((pick,), [Outcome(n, other, AT, missing="temporary")])
            told = explain(store.connection, user)
            assert told.state == ("resting" if failures < 3 else "asked")
            assert told.rests_until == (n + 20 if failures < 3 else None)
            assert len(told.asks) == failures
            n += 1
        assert told.decision is None or told.decision.agrees is False, "nobody chose this"


def test_another_name_of_an_account_leads_to_it_and_its_links_count(file):
    with crawled(file, settings_of(steps=2)) as store:
        (alias,) = store.enlist(["alias"], AT)
        known = next(Node(row["node"]) for row in rows(store, "select node from frontier_now order by node"))
        who = store.accounts([known])[known]
        n = asked(store)[-1]["n"] + 1
        seed = next(Node(row["node"]) for row in rows(store, "select node from pick where act = 'seed' order by n"))
        new = next(Node(row["node"]) for row in rows(store, "select node from frontier_now order by node desc"))
        picks = (Pick(n, new, "expand", 0.0), Pick(n + 1, alias, "expand", 0.0))
        store.open(picks)
        targets, alpha = np.array([alias, seed], np.int64), np.array([2.5, 1.0])
        store.finish(
            picks, [Outcome(n, new, AT, 1.5, targets, alpha), Outcome(n + 1, alias, AT, missing=SameAs(known))]
        )
        told = explain(store.connection, "alias")
        assert (told.state, told.same) == ("same", known)
        assert told.names[known] == (who.username or who.id)
        assert (new, 1.5, 2.5) in [(link.source, link.value, link.alpha) for link in
                                   explain(store.connection, who.id or who.username).links]  # fmt: skip


def test_an_account_that_came_from_a_file_was_no_choice_but_leads_to_others(file):
    with crawled(file, settings_of(steps=2)) as store:
        known, came = store.enlist(["linked", "came"], AT)
        n = asked(store)[-1]["n"] + 1
        store.open((Pick(n, came, "import"),))
        links = np.array([known], np.int64), np.array([2.0])
        store.finish((Pick(n, came, "import"),), [Outcome(n, came, AT, 1.5, *links)])
        assert (explain(store.connection, "came").state, explain(store.connection, "came").decision) == ("import", None)
        told = explain(store.connection, "linked")
        assert (told.state, told.decision.score, told.decision.features["depth"]) == ("frontier", 3.0, 1.0)
        assert [(link.source, link.act) for link in told.links] == [(came, "import")]


def test_the_forgotten_are_told_as_forgotten(file):
    from socialcrawl.storage.erasure.tombstones import make_digest, put_tombstones

    with crawled(file) as store:
        with store.connection.begin():
            put_tombstones(store.connection, [(make_digest("x", "name", "gone"), "name", "forget", format_time(AT))])
        told = explain(store.connection, "@Gone")
        assert (told.state, told.why) == ("forgotten", "forget")
        assert explain(store.connection, "gone2").state == "unknown"


def test_a_decision_whose_history_was_changed_says_so(file):
    with crawled(file) as store:
        last = asked(store)[-1]
        user = last["id"] or last["username"]
        assert explain(store.connection, user).decision.agrees is True
        with store.connection.begin():
            store.connection.exec_driver_sql(f"delete from link where n < {last['n']} and alpha > 0 and n = "
                                             f"(select max(n) from link where node = {last['node']} "
                                             f"and alpha > 0 and n < {last['n']})")  # fmt: skip
            store.connection.exec_driver_sql(
                "insert into epoch (campaign, number, first, began_at, why) values (1, 1, 99, '2026', 'forget')"
            )
        told = explain(store.connection, user)
        assert told.decision is None or told.decision.agrees is False
        assert told.epochs == [(1, 99, "2026", "forget")]


def told_of(store, capsys, place, pick):
    from rich.console import Console

    from socialcrawl.cli.commands.explain import explain_account

    user = pick["id"] or pick["username"]
    explain_account(place, user, None, Console(width=200))
    return explain(store.connection, user), capsys.readouterr().out


NEVER = TopicChange(lambda text, lang, created_at, urls=None: 0, ["telescope"])


def test_decisions_are_explained_with_the_settings_of_their_time(file, capsys):
    with crawled(file, settings_of(estimator="nh-n-max", steps=4), size=2):
        pass
    with crawled(file, settings_of(estimator="lnh-sum", steps=9), size=2, change=NEVER) as store:
        first = rows(store, "select first from epoch where number = 1")[0]["first"]
        picks = asked(store)
        assert [pick["n"] < first for pick in picks] == [True] * 4 + [False] * 5
        for pick in picks:
            told, text = told_of(store, capsys, file, pick)
            assert told.decision.agrees is True
            assert (told.estimator, told.version) == (("nh-n-max", 0) if pick["n"] < first else ("lnh-sum", 1))
            assert told.versions[1][3] == ["crawl.estimator", "crawl.steps"]
            assert f"version {told.version} of the settings, those of the time" in text
            began = told.epochs[0][2][:19].replace("T", " ")
            assert f"epoch 1 began at {began} UTC with decision {first} (crawl)" in text


@pytest.mark.parametrize("estimator", ["nh-ne-sum", "lnh-sum", "hybrid-sum", "opic-e"])
def test_decisions_under_an_older_topic_say_that_another_one_came(file, estimator, capsys):
    change = TopicChange(lambda text, lang, created_at, urls=None: int(text[-1]) % 4, ["telescope"])
    with crawled(file, settings_of(estimator=estimator, steps=5)):
        pass
    given = settings_of(estimator=estimator, steps=9).model_copy(update={"topic": TopicSection(keywords=["moon"])})
    with crawled(file, given, change=change) as store:
        (epoch,) = rows(store, "select first, why from epoch where number = 1")
        assert epoch["why"] == "topic"
        differ = 0
        for pick in asked(store):
            told, text = told_of(store, capsys, file, pick)
            made = told.decision
            if made is None or made.agrees is False:
                assert pick["n"] < epoch["first"]
                differ += 1
            if made is not None and made.agrees is False:
                assert f"epoch 1 (topic) began with decision {epoch['first']}" in made.why
                assert "the history before is another one now" in text
                assert f"with the score {format_number(pick['score'])}: " in text.splitlines()[1]
                assert f"recomputed for today's topic: score {format_number(made.score)}: rank {made.rank}" in text
            elif made is not None:
                assert "recomputed" not in text
        assert 0 < differ <= 5


def test_a_seed_that_was_forgotten_does_not_stand_in_the_way(file):
    from functools import partial

    from socialcrawl.storage.erasure.execution import erase
    from socialcrawl.storage.erasure.forgetting import forget
    from socialcrawl.storage.erasure.orders import read_order

    with crawled(file) as store:
        order = read_order(["@person0"], [], None, None)
        erase(store.connection, partial(forget, order=order, now=format_time(AT)))
        assert explain(store.connection, "person0").state == "forgotten"
        last = asked(store)[-1]
        assert explain(store.connection, last["id"]).state == "asked"


@pytest.mark.parametrize("words", ["tweet", "post"])
def test_the_crawl_is_made_anew_as_it_was(words, file):
    settings = settings_of(words=words, estimator="opic-ne")
    with crawled(file, settings) as store:
        made = rebuild_collect(settings, store.enlist(USERNAMES, AT))
        made.fold(store.history())
        assert made.choose(1, 0.0).kind == "done"
        assert made.taken == 9


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-0.0, "0"), (1.54352, "1.544"), (0.00180091, "0.001801"), (12_345.6, "1.235e+04"), (LOWEST, "no finite score")],
)
def test_numbers_have_four_digits_no_negative_zero_and_no_sentinel(value, shown):
    assert format_number(value) == shown


def test_the_summary_says_what_is_true_of_each_state():
    nobody = MentionerRecord(0, 0, 0, 0)
    made = Decision(7, 1.5, 3, 20, (2.0, Node(9)), {}, "nh-ne-sum", 0.0, [], nobody)
    links = [IncomingLink(1, Node(1), "expand", 2.0, 1.0), IncomingLink(2, Node(2), "expand", 1.0, 0.0)]
    read = AccountVisit(8, 8, "expand", 1.5, "2026-01-01", 2.5, 3, 40, None)
    lost = replace(read, missing="suspended")
    base = Explanation("c", "ann", "asked", node=Node(3), asks=[read], decision=made, links=links)
    mention = "2 accounts read before mention it, 1 of them in matching posts."
    found = "It has the relevance 2.5: 3 occurrences of the topic in 40 posts."
    assert summarize_explanation(base) == f"Chosen in step 8 with the score 1.5: {mention} {found}"
    assert summarize_explanation(replace(base, asks=[lost])).endswith(f"{mention} It could not be read: suspended.")
    drawn = replace(base, decision=replace(made, drawn=1))
    assert summarize_explanation(drawn).startswith(
        "Drawn at random in step 8, to measure what the estimator gains. It has"
    )
    waiting = replace(base, state="frontier", asks=())
    assert summarize_explanation(waiting) == f"Not read yet: {mention} It is number 3 of 20 by its score, 1.5."
    assert (
        summarize_explanation(replace(base, links=links[:1], platform="web")).split(": ")[1].startswith("1 page read")
    )
    seed = replace(base, state="seed", decision=None)
    assert summarize_explanation(seed) == f"Read as a seed: the campaign began with it. {found}"
    assert summarize_explanation(replace(seed, asks=[lost])) == (
        "It is a seed: the campaign began with it. It could not be read: suspended."
    )
    for link, said in zip(links, ("in matching posts", "not in matching posts"), strict=True):
        one = summarize_explanation(replace(base, links=[link]))
        assert f": 1 account read before mentions it, {said}. It has" in one
    assert summarize_explanation(replace(base, state="unknown", decision=None, asks=())) == ""


def test_the_command_tells_people_and_programs(place):
    from socialcrawl.storage.database.address import PostgresAddress

    where = place.url if isinstance(place, PostgresAddress) else place
    with crawled(place, settings_of(estimator="hybrid-sum")) as store:
        last = asked(store)[-1]
        user, told = last["username"], explain(store.connection, last["username"])
    child = socialcrawl("explain", f"@{user.upper()}", "--db", where, "--json")
    given = json.loads(child.stdout)
    assert (given["state"], given["decision"]["score"], given["decision"]["agrees"]) == ("asked", last["score"], True)
    assert given["status"] == "read"
    assert given["visits"] == given["asks"] != []
    assert len(given["links"]) == len(told.links)
    child = socialcrawl("explain", user, "--db", where, "--top", 2)
    text = child.stdout
    assert child.returncode == 0, child.stderr
    made = told.decision
    for words in (f"@{user} in the campaign tiny", f"rank {made.rank} of {made.frontier}", "n_sum", "intercept",
                  f"{made.score:.4g}", f"(2 of {len(told.links)})", "estimator hybrid-sum"):  # fmt: skip
        assert words in text
    topical = sum(link.alpha > 0 for link in told.links)
    assert given["summary"].startswith(f"Chosen in step {made.taken + 1} with the score {made.score:.4g}: ")
    assert f"read before mention it, {topical} of them in matching posts." in given["summary"]
    assert f"the relevance {told.asks[-1].value:.4g}: {told.asks[-1].occurrences} occurrence" in given["summary"]
    assert " ".join(text.split("\n", 1)[1].split()).startswith(given["summary"])
    child = socialcrawl("explain", "ghost", "--db", where)
    assert (child.returncode, "not in this database" in child.stdout) == (1, True)
    child = socialcrawl("explain", user, "--db", where, "--campaign", "no")
    assert (child.returncode, "there are: tiny" in child.stderr) == (1, True)


def test_every_state_is_told_in_a_sentence(file, capsys):
    from rich.console import Console

    from socialcrawl.cli.commands.explain import explain_account

    with crawled(file, settings_of(steps=4)) as store:
        store.enlist(["stranger"], AT)
        frontier = rows(store, "select account from frontier_now order by account")[0]["account"]
        search = {
            "person0": "seed",
            "nobody": "looked up as a seed, and can",
            "stranger": "met no link",
            "ghost": "not in this database",
        }
    for user, words in {**search, frontier: "Not read yet: "}.items():
        explain_account(file, user, None, Console(width=200))
        assert words in capsys.readouterr().out
    explain_account(file, "person0", None, Console(width=200), as_json=True)
    given = json.loads(capsys.readouterr().out)
    assert inf not in given.values()
    assert given["asks"][1]["act"] == given["visits"][1]["act"] == given["status"] == "seed"


def test_explaining_changes_nothing_and_does_not_disturb_a_writer(file):
    with crawled(file) as store:
        before = rows(store, "select count(*) as c, max(id) as m from request")
        with store.connection.begin():
            store.connection.exec_driver_sql("update post set text = 'x'")
            child = socialcrawl("explain", "person0", "--db", file, within=20)
        assert child.returncode == 0
        assert rows(store, "select count(*) as c, max(id) as m from request") == before


def write(store, *statements):
    with store.connection.begin():
        for statement in statements:
            store.connection.exec_driver_sql(statement)


def test_the_seeds_that_could_not_be_read_are_named_with_why(place):
    with crawled(place, settings_of(steps=20)) as store:
        traces = CampaignTraces(store.connection)
        assert (
            list_unread_seeds(traces)
            == list_unread_seeds(traces, "tiny")
            == [("person11", "protected"), ("nobody", "suspended")]
        )
        assert list_unread_seeds(traces, most=1) == [("person11", "protected")]
        write(store, "update outcome set missing = null where missing = 'protected'")
        assert list_unread_seeds(traces) == [("nobody", "suspended")]


def test_a_page_is_explained_by_any_spelling_of_its_address_and_has_no_at(file, capsys):
    from rich.console import Console

    from socialcrawl.cli.commands.explain import explain_account

    with crawled(file, settings_of(steps=4)) as store:
        page = "https://a.example/wiki/One"
        write(store, "update campaign set platform = 'web'", "update account set platform = 'web'",
              f"update account set username = '{page}', handle = lower('{page}'), platform_id = '{page}' "
              "where handle = 'person0'")  # fmt: skip
        for spelled in (page, "HTTPS://A.example:443/wiki/./One#top"):
            told = explain(store.connection, spelled)
            assert (told.user, told.state, told.platform) == (page, "seed", "web")
            explain_account(file, spelled, None, Console(width=200))
            assert capsys.readouterr().out.startswith(f"{page} in the campaign")
        explain_account(file, "a.example/wiki/One", None, Console(width=200))
        text = capsys.readouterr().out
        assert text.startswith("a.example/wiki/One in the campaign")
        assert "no page that was read links to it" in text
        assert f"it knows {page}: give the whole name" in text


@pytest.mark.parametrize(("platform", "end"), [("mastodon", "@a.example"), ("bluesky", ".a.example")])
def test_a_name_without_its_domain_leads_to_those_it_may_mean(platform, end, file, capsys):
    from rich.console import Console

    from socialcrawl.cli.commands.explain import explain_account

    with crawled(file, settings_of(steps=4)) as store:
        assert explain(store.connection, "ghost").alike == []
        write(store, f"update campaign set platform = '{platform}'", f"update account set platform = '{platform}', "
              f"username = username || '{end}', handle = handle || '{end}'")  # fmt: skip
        told = explain(store.connection, "Person0")
        assert (told.state, [name.lower() for name in told.alike]) == ("unknown", [f"person0{end}"])
        explain_account(file, "Person0", None, Console(width=200))
        assert f"it knows @person0{end}: give the whole name" in capsys.readouterr().out.lower()


@pytest.mark.parametrize(
    ("name", "as_read"),
    [("bob", "@bob"), ("bob@a.example", "@bob@a.example"), ("12", "12"), ("did:plc:bob", "did:plc:bob"),
     ("https://a.example/", "https://a.example/")],
)  # fmt: skip
def test_names_have_an_at_and_ids_have_none(name, as_read):
    from socialcrawl.render.explanation import format_account

    assert format_account(name) == as_read
