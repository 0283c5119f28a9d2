"""The views, on both databases, against the same questions asked of the bare tables in plain Python."""

import ast
from collections import Counter, defaultdict
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from alembic import command
from odd_rows import DAY, TROUBLE
from postgres import a_place
from stores import opened
from tiny_town import Clock, Wire, close, parts_of, stored

from socialcrawl.engine.loop import run
from socialcrawl.storage.database.connection import make_alembic_config
from socialcrawl.storage.schema.views import VIEWS

ROOT = Path(__file__).parents[4]
NAMES = [view.name for view in VIEWS]
READ = ("seed", "expand", "walk", "import")
STEPS = ("expand", "probe", "walk")
LINKED = (*READ, "recrawl", "inward")
KINDS = ("sqlite", "postgres")


def some(connection, sql):
    with connection.begin():
        return [dict(row) for row in connection.exec_driver_sql(sql).mappings()]


def crawled(place):
    """A store in which two campaigns were crawled: one that is half done, with every kind of trouble, and a small one.

    A person is taken for another one (same-as), one fails twice for a while, replies are lost, refused and cut.
    """
    store = stored(place)
    wire = Wire(Clock(), faults={3: "lost", 8: "broken", 9: "lost", 14: "lost", 15: "lost", 16: "lost"})
    parts = parts_of(store, wire, steps=6)
    run(parts)
    with store.connection.begin():
        for sql in TROUBLE:
            store.connection.exec_driver_sql(sql)
    return store


@contextmanager
def a_crawl(kind):
    with a_place(kind) as place:
        store = crawled(place)
        try:
            yield store.connection
        finally:
            close(store)


@pytest.fixture(scope="module", params=KINDS)
def asked(request):
    """(a view's rows by name, the rows of every table) of one database."""
    with a_crawl(request.param) as connection:
        tables = ("campaign", "account", "post", "mention", "hit", "pick", "outcome", "link", "request",
                  "standing", "sampled")  # fmt: skip
        yield ({name: some(connection, f"select * from {name}") for name in NAMES},
               {name: some(connection, f"select * from {name}") for name in tables})  # fmt: skip


def shown(account):
    return account["username"] or account["platform_id"]


def by(rows, *keys):
    return {tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: row for row in rows}


def context(tables):
    names = {row["id"]: row["name"] for row in tables["campaign"]}
    return names, by(tables["account"], "node"), by(tables["pick"], "campaign", "n")


def steps_of(tables):
    """(campaign, n) -> the number of the step."""
    counted, found = Counter(), {}
    for pick in sorted(tables["pick"], key=lambda row: (row["campaign"], row["n"])):
        if pick["act"] in STEPS:
            counted[pick["campaign"]] += 1
            found[pick["campaign"], pick["n"]] = counted[pick["campaign"]]
    return found


def same(found, expected, *keys):
    """Whether the rows are the expected ones, in any order; numbers to the last digits of a sum."""
    assert len(found) == len(expected)
    order = lambda row: str([row[key] for key in keys])  # noqa: E731
    assert len({order(row) for row in found}) == len(found), "the keys name a row"
    for one, other in zip(sorted(found, key=order), sorted(expected, key=order), strict=True):
        assert list(one) == list(other)
        assert one == {k: pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for k, v in other.items()}
        assert [type(v) for v in one.values()] == [type(v) for v in other.values()]


def test_top_account_has_every_account_that_was_read_and_speaks_of_the_topic(asked):
    views, tables = asked
    names, accounts, picks = context(tables)
    steps, expected = steps_of(tables), []
    for campaign, name in names.items():
        best = [row for row in tables["outcome"] if row["campaign"] == campaign and row["value"] > 0
                and picks[campaign, row["n"]]["act"] in READ]  # fmt: skip
        best.sort(key=lambda row: (-row["value"], row["n"]))
        for place, row in enumerate(best, 1):
            account, pick = accounts[row["node"]], picks[campaign, row["n"]]
            expected.append(
                {"campaign": name, "place": place, "account": shown(account), "display_name": account["name"],
                 "relevance": row["value"], "occurrences": row["occurrences"], "posts": row["posts"],
                 "act": pick["act"], "step": steps.get((campaign, row["n"])), "n": row["n"], "read_at": row["at"],
                 "followers": account["followers"], "node": row["node"]}
            )  # fmt: skip
    assert {row["act"] for row in expected} == set(READ)
    same(views["top_account"], expected, "campaign", "n")


def test_topic_post_has_every_post_that_speaks_of_the_topic(asked):
    views, tables = asked
    names, accounts, _ = context(tables)
    posts, expected = by(tables["post"], "id"), []
    for hit in tables["hit"]:
        post = posts[hit["post"]]
        expected.append(
            {"campaign": names[hit["campaign"]], "id": post["id"], "author": shown(accounts[post["author"]]),
             "created_at": post["created_at"], "occurrences": hit["occurrences"],
             **{k: post[k] for k in ("text", "lang", "reply_to", "repost_of", "quote_of", "likes", "replies", "reposts",
                                     "quotes", "views", "fetched_at")}, "node": post["author"]}
        )  # fmt: skip
    assert expected
    same(views["topic_post"], expected, "campaign", "id")


def test_mention_network_has_every_link_with_the_posts_behind_it(asked):
    views, tables = asked
    names, accounts, picks = context(tables)
    posts, behind = by(tables["post"], "id"), defaultdict(list)
    for mention in tables["mention"]:
        post = posts[mention["post"]]
        behind[post["author"], mention["node"]].append(post["created_at"])
    found, expected = by(tables["outcome"], "campaign", "n"), []
    for link in tables["link"]:
        key = (link["campaign"], link["n"])
        source, target = found[key]["node"], link["node"]
        if picks[key]["act"] not in LINKED or found[key]["missing"] or source == target:
            continue
        if picks[key]["act"] == "inward":
            source, target = target, source
        dates = behind[source, target]
        expected.append(
            {"campaign": names[link["campaign"]], "source": shown(accounts[source]),
             "target": shown(accounts[target]), "posts": len(dates), "alpha": link["alpha"],
             "first_at": min(dates, default=None), "last_at": max(dates, default=None), "n": link["n"],
             "source_node": source, "target_node": target}
        )  # fmt: skip
    assert {row["posts"] for row in expected} >= {0, 1, 2}
    assert {("drawn", 901, 0), ("drawn", 12, 0)} <= {
        (row["campaign"], row["source_node"], row["target_node"]) for row in expected
    }
    same(views["mention_network"], expected, "campaign", "n", "source_node", "target_node")


def test_campaign_progress_adds_up_pick_by_pick(asked):
    views, tables = asked
    names, accounts, _ = context(tables)
    found, steps, expected = by(tables["outcome"], "campaign", "n"), steps_of(tables), []
    sent = [row for row in tables["request"] if row["kind"] != "held"]
    for pick in tables["pick"]:
        campaign, n = pick["campaign"], pick["n"]
        before = [row for row in tables["pick"] if row["campaign"] == campaign and row["n"] <= n]
        value = dict.fromkeys(("search", "resolve", "probe", "inward", "slice", "captured", *READ), 0.0)
        for row in before:
            value[row["act"]] += found.get((campaign, row["n"]), {"value": 0.0})["value"]
        asks = [row for row in sent if row["campaign"] == campaign and row["n"] <= n]
        own = found.get((campaign, n), {"at": None, "missing": None, "value": None})
        account = accounts.get(pick["node"])
        cost = sum(row["most"] if row["cost"] is None else row["cost"] for row in asks)
        expected.append(
            {"campaign": names[campaign], "n": n, "act": pick["act"], "account": account and shown(account),
             "finished_at": own["at"], "missing": own["missing"], "step": steps.get((campaign, n)),
             "value": own["value"], "relevance": sum(value[act] for act in STEPS),
             "seed_relevance": value["seed"] + value["import"],
             "requests": len(asks), "dollars": cost / 100_000, "node": pick["node"]}
        )  # fmt: skip
    assert any(row["value"] is None for row in expected)
    same(views["campaign_progress"], expected, "campaign", "n")


def test_the_last_row_of_campaign_progress_is_what_the_report_says(asked):
    from socialcrawl.storage.queries.summary import summarize_campaign

    views, _ = asked
    rows = [row for row in views["campaign_progress"] if row["campaign"] == "tiny"]
    last = max(rows, key=lambda row: row["n"])
    with a_crawl("sqlite") as connection:
        told = summarize_campaign(connection, "tiny")
    assert (last["relevance"], last["seed_relevance"]) == pytest.approx((told.relevance, told.seed_relevance))
    assert (last["requests"], last["dollars"]) == (told.sent, pytest.approx(told.cost / 100_000))


def test_spend_by_day_counts_every_request_that_was_sent(asked):
    views, tables = asked
    names, _, _ = context(tables)
    groups = defaultdict(list)
    for row in tables["request"]:
        if row["kind"] != "held":
            groups[row["campaign"], (row["arrived_at"] or row["sent_at"])[:10], row["endpoint"]].append(row)
    expected = []
    for (campaign, day, endpoint), rows in groups.items():
        billed = [row["posts"] or 0 if row["new_posts"] is None else row["new_posts"] for row in rows]
        cost = sum(row["most"] if row["cost"] is None else row["cost"] for row in rows)
        expected.append(
            {"campaign": names[campaign], "day": day, "endpoint": endpoint, "requests": len(rows),
             "posts": sum(row["posts"] or 0 for row in rows), "posts_billed": sum(billed),
             "users_billed": sum(row["new_users"] or 0 for row in rows), "dollars": cost / 100_000,
             "answers_429": sum(row["status"] == 429 for row in rows),
             "unanswered": sum(row["kind"] in (None, "lost") for row in rows)}
        )  # fmt: skip
    assert {row["day"] for row in expected} >= {DAY, "2026-02-04"}
    assert sum(row["answers_429"] for row in expected)
    assert sum(row["unanswered"] for row in expected) > 1
    same(views["spend_by_day"], expected, "campaign", "day", "endpoint")


def test_frontier_now_is_the_frontier_with_its_features(asked):
    views, tables = asked
    names, accounts, picks = context(tables)
    expected = []
    for campaign, name in names.items():
        done = [row for row in tables["outcome"] if row["campaign"] == campaign]
        act = {row["n"]: picks[campaign, row["n"]]["act"] for row in done}
        read = {row["n"]: row for row in done if row["missing"] is None and act[row["n"]] in READ}
        meant = {row["node"]: int(row["missing"][8:]) for row in done if (row["missing"] or "").startswith("same-as:")
                 and act[row["n"]] in (*READ, "probe")}  # fmt: skip
        into = defaultdict(list)
        for link in tables["link"]:
            if link["campaign"] == campaign and link["n"] in read and read[link["n"]]["node"] != link["node"]:
                node = meant.get(link["node"], link["node"])
                into[node].append((link["n"], read[link["n"]]["value"], link["alpha"]))
        held = [row for row in done if act[row["n"]] == "captured"]
        for node, first in {row["node"]: row["n"] for row in reversed(held)}.items():
            value = max(row["value"] for row in held if row["node"] == node)
            into[node].append((first, value, value))
        for node, links in into.items():
            mine = [row for row in done if row["node"] == node and act[row["n"]] in (*READ, "probe")]
            failures = [row for row in mine if row["missing"] == "temporary"]
            if accounts[node]["forgotten_at"] or len(failures) != len(mine) or len(failures) > 2:
                continue
            if any(act[row["n"]] == "seed" for row in mine):
                continue
            n, e, ne = ([f(*link[1:]) for link in links] for f in (lambda w, a: w, lambda w, a: a, lambda w, a: w * a))
            expected.append(
                {"campaign": name, "account": shown(accounts[node]), "links": len(links), "n_sum": float(sum(n)),
                 "n_max": max(n), "e_sum": float(sum(e)), "e_max": max(e), "ne_sum": float(sum(ne)), "ne_max": max(ne),
                 "first_n": min(link[0] for link in links), "failures": len(failures), "node": node}
            )  # fmt: skip
    other = by([row for row in expected if row["campaign"] == "other"], "node")
    assert set(other) == {903, 12, 13, 8, 14}
    assert (other[903]["links"], other[903]["e_sum"], other[12]["failures"]) == (2, 1.75, 2)
    people = by([row for row in expected if row["campaign"] == "people"], "node")
    assert {node: (row["links"], row["n_max"], row["first_n"]) for node, row in people.items()} == {
        12: (2, 2.0, 0), 13: (1, 1.0, 1), 8: (1, 1.5, 5)
    }  # fmt: skip
    assert [row for row in expected if row["campaign"] == "tiny"]
    same(views["frontier_now"], expected, "campaign", "node")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [0, 3, 8])
def test_frontier_now_is_what_the_crawl_itself_would_choose_from(kind, steps):
    from socialcrawl.graph.graph import COLUMNS

    with a_place(kind) as place:
        store = stored(place)
        try:
            parts = parts_of(store, Wire(Clock(), faults={14: "lost", 15: "broken"}), steps=steps)
            run(parts)
            graph = parts.crawl.graph
            rows = [*graph.frontier().tolist(), *(graph.row(node) for node in parts.crawl.resting)]
            expected = {graph.node(row): dict(zip(COLUMNS, graph.features(row), strict=True)) for row in rows}
            found = by(some(store.connection, "select * from frontier_now"), "node")
            assert found.keys() == expected.keys()
            assert len(found) > 2
            for node, features in expected.items():
                kept = {name: features[name] for name in COLUMNS if name != "depth"}
                assert {name: found[node][name] for name in kept} == pytest.approx(kept)
        finally:
            close(store)


def test_coverage_gap_counts_whatever_could_not_be_seen(asked):
    views, tables = asked
    names, _, picks = context(tables)
    gaps = defaultdict(list)
    for campaign in names:
        done = sorted((r for r in tables["outcome"] if r["campaign"] == campaign), key=lambda row: row["n"])
        acts = {n: pick["act"] for (owner, n), pick in picks.items() if owner == campaign}
        span = {n: pick["since"] for (owner, n), pick in picks.items() if owner == campaign and acts[n] == "slice"}
        seen = {
            (row["node"], span.get(row["n"])) for row in done
            if row["missing"] is None and acts[row["n"]] not in ("resolve", "inward")
        }  # fmt: skip
        last = {}
        for row in done:
            told = acts[row["n"]] != "probe" or row["missing"] == "temporary"  # who is dead was seen to be
            which = row["node"], span.get(row["n"])
            if row["missing"] and not row["missing"].startswith("same-as:") and which not in seen and told:
                last[which] = row
        for row in last.values():
            gaps[campaign, "search" if row["node"] < 0 else "account", row["missing"]].append(row["n"])
        sent = [row for row in tables["request"] if row["campaign"] == campaign]
        for row in done:
            pages = [r for r in sent if r["n"] == row["n"] and r["kind"] in ("ok", "held", "missing")]
            pages = [page for page in pages if "follow" not in page["endpoint"].lower()]
            last_cursor = max(pages, key=lambda r: r["id"], default={"cursor": None})["cursor"]
            if row["missing"] is None and acts[row["n"]] in ("search", *READ[:3]) and last_cursor is not None:
                gaps[campaign, "search" if row["node"] < 0 else "timeline", "more pages"].append(row["n"])
        for row in sent:
            if row["kind"] in (None, "lost"):
                gaps[campaign, "request", "lost"].append(row["n"])
    expected = [
        {"campaign": names[campaign], "gap": gap, "why": why, "size": len(ns), "first_n": min(ns), "last_n": max(ns)}
        for (campaign, gap, why), ns in gaps.items()
    ]
    other = {(row["gap"], row["why"], row["size"]) for row in expected if row["campaign"] == "other"}
    assert other == {("search", "unknown", 1), ("search", "more pages", 1), ("account", "temporary", 1),
                     ("timeline", "more pages", 1), ("request", "lost", 1)}  # fmt: skip
    assert {("account", "suspended"), ("account", "protected")} <= {(row["gap"], row["why"]) for row in expected}
    assert [(row["why"], row["size"]) for row in expected if row["campaign"] == "captured"] == [("temporary", 1)]
    same(views["coverage_gap"], expected, "campaign", "gap", "why")


def test_tracked_account_has_everybody_who_is_known(asked):
    views, tables = asked
    names, accounts, _ = context(tables)
    own = ("importance", "indegree", "relevance", "occurrences", "visits", "visited_at", "outlinks", "yield",
           "link_score", "gone")  # fmt: skip
    expected = [
        {"campaign": names[row["campaign"]], "account": shown(accounts[row["node"]]),
         **{name: row[name] for name in own}, "node": row["node"]}
        for row in tables["standing"]
    ]  # fmt: skip
    assert {row["gone"] for row in expected} == {None, "suspended"}
    same(views["tracked_account"], expected, "campaign", "node")


def test_a_decision_has_what_was_known_and_what_was_found(asked):
    views, tables = asked
    names, accounts, _ = context(tables)
    found = by(tables["outcome"], "campaign", "n")
    expected = []
    for pick in tables["pick"]:
        outcome = found.get((pick["campaign"], pick["n"]), {})
        row = {
            **pick,
            **{name: outcome.get(name) for name in ("value", "occurrences", "posts", "missing")},
            "campaign": names[pick["campaign"]],
            "account": shown(accounts[pick["node"]]) if pick["node"] in accounts else None,
            "finished_at": outcome.get("at"),
        }
        expected.append({name: row[name] for name in views["decision"][0]})
    assert {row["finished_at"] is None for row in expected} == {True, False}
    same(views["decision"], expected, "campaign", "n")


def test_a_topic_match_has_the_post_and_its_author_but_no_text(asked):
    views, tables = asked
    names, accounts, _ = context(tables)
    posts = by(tables["post"], "id")
    expected = [
        {"campaign": names[hit["campaign"]], "post": hit["post"], "author": shown(accounts[post["author"]]),
         "occurrences": hit["occurrences"], "created_at": post["created_at"], "node": post["author"]}
        for hit in tables["hit"] for post in [posts[hit["post"]]]
    ]  # fmt: skip
    assert expected
    same(views["topic_match"], expected, "campaign", "post")


def test_importance_ranks_the_accounts_that_a_campaign_tracks(asked):
    views, tables = asked
    names, accounts, _ = context(tables)
    expected, places = [], Counter()
    for row in sorted(tables["standing"], key=lambda row: (row["campaign"], -row["importance"], row["node"])):
        places[row["campaign"]] += 1
        kept = {name: row[name] for name in ("importance", "history", "indegree", "relevance", "visits", "node")}
        expected.append({"campaign": names[row["campaign"]], "place": places[row["campaign"]],
                         "account": shown(accounts[row["node"]]), **kept})  # fmt: skip
    assert expected
    same(views["importance"], expected, "campaign", "node")


def test_a_captured_slice_has_its_span_and_how_far_it_was_read(asked):
    views, tables = asked
    names, _, picks = context(tables)
    found, expected = by(tables["outcome"], "campaign", "n"), []
    for (campaign, n), pick in picks.items():
        if pick["act"] != "slice":
            continue
        begin, end = pick["since"].split("/")
        outcome = found.get((campaign, n))
        read = None if outcome is None or outcome["missing"] else outcome["mark"] or begin
        state = "open" if outcome is None else outcome["missing"] or ("cut" if outcome["mark"] else "complete")
        expected.append(
            {"campaign": names[campaign], "query": -pick["node"], "begins_at": begin, "ends_at": end, "read_from": read,
             "posts": outcome and outcome["posts"], "state": state, "n": n, "finished_at": outcome and outcome["at"]}
        )  # fmt: skip
    assert Counter(row["state"] for row in expected) == {"complete": 2, "cut": 1, "temporary": 3, "open": 1}
    same(views["captured_slice"], expected, "campaign", "n")


def test_liveness_has_everybody_who_was_tested_as_last_found(asked):
    views, tables = asked
    names, accounts, picks = context(tables)
    last = {}
    for row in sorted(tables["outcome"], key=lambda row: (row["campaign"], row["n"])):
        tested = picks[row["campaign"], row["n"]]["act"] == "probe"
        if tested and not (row["missing"] or "").startswith("same-as:"):
            last[row["campaign"], row["node"]] = row
    expected = [
        {"campaign": names[row["campaign"]], "account": shown(accounts[row["node"]]),
         "platform_id": accounts[row["node"]]["platform_id"], "active": int(row["value"] > 0),
         "status": "active" if row["value"] > 0 else row["missing"] or "silent", "last_active_at": row["mark"],
         "checked_at": row["at"], "n": row["n"], "node": row["node"]}
        for row in last.values() if not accounts[row["node"]]["forgotten_at"]
    ]  # fmt: skip
    assert Counter(row["status"] for row in expected) == {"active": 2, "silent": 1, "suspended": 1, "temporary": 2}
    same(views["liveness"], expected, "campaign", "node")


def test_sampled_account_has_everybody_who_was_drawn_with_weight_and_host(asked):
    views, tables = asked
    names, accounts, picks = context(tables)
    expected = []
    for row in tables["sampled"]:
        (read,) = [
            one for one in tables["outcome"] if (one["campaign"], one["node"]) == (row["campaign"], row["node"])
            and one["missing"] is None and picks[one["campaign"], one["n"]]["act"] == "walk"
        ]  # fmt: skip
        if accounts[row["node"]]["forgotten_at"]:
            continue
        expected.append(
            {"campaign": names[row["campaign"]], "account": shown(accounts[row["node"]]), "visits": row["visits"],
             "weight": row["weight"], "degree": row["degree"], "occurrences": read["occurrences"],
             "posts": read["posts"], "host": read["mark"], "read_at": read["at"], "node": row["node"]}
        )  # fmt: skip
    assert [row["host"] for row in expected] == ["a.example", "b.example"]
    same(views["sampled_account"], expected, "campaign", "node")


def module_of(version):
    (path,) = (ROOT / "migrations" / "versions").glob(f"{version}_*.py")
    spec = spec_from_file_location(f"views_{version}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    names = {node.module for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)}
    assert names <= {"alembic", "socialcrawl.storage.schema.kept"}, "what a migration made stays as it was"
    return module


def test_the_migrations_make_the_views_of_the_code():
    numbers = ("0004", "0007", "0008", "0010", "0012", "0013", "0015", "0016", "0017", "0018")
    first, third, later, plain, captures, *latest = map(module_of, numbers)
    told = (*first.VIEWS, *third.RENEWED, third.TRACKED_ACCOUNT, *later.RENEWED, *later.NEW)
    told += (*plain.RENEWED, *plain.NEW)
    made = {name: (name, *rest) for name, *rest in told}
    for (name, column), (old, new) in module_of("0011").VIEWS.items():
        _, comment, columns, sql = made[name]
        assert (columns[column] if column else comment) == old
        made[name] = (name, comment, columns | {column: new}, sql) if column else (name, new, columns, sql)
    for module, new in ((captures, captures.NEW), *((one, ()) for one in latest)):
        assert [tuple(one) for one in module.BEFORE] == [made[name] for name, *_ in module.BEFORE]
        made |= {name: (name, *rest) for name, *rest in (*module.RENEWED, *new)}
    assert [(view.name, view.comment, dict(view.columns), view.sql) for view in VIEWS] == list(made.values())
    before = {name: (name, *rest) for name, *rest in (*first.VIEWS, *third.RENEWED)}
    assert [tuple(one) for one in later.BEFORE] == [before[name] for name, *_ in later.BEFORE]
    renewed = {name: (name, *rest) for name, *rest in later.RENEWED}
    assert [tuple(one) for one in plain.BEFORE] == [renewed[name] for name, *_ in plain.BEFORE]


@pytest.mark.parametrize("kind", KINDS)
def test_the_views_come_and_go_with_their_migration(kind):
    with a_place(kind) as place, opened(place) as connection:
        config = make_alembic_config()
        config.attributes["connection"] = connection
        assert views_in(connection) == set(NAMES)
        plain = set(NAMES) - {"captured_slice"}
        before = plain - {"decision", "topic_match", "importance"}
        tracked = before - {"liveness", "sampled_account"}
        first = tracked - {"tracked_account"}
        for going, version, left in (
            (command.downgrade, "0011", plain),
            (command.downgrade, "0009", before),
            (command.downgrade, "0007", tracked),
            (command.downgrade, "0006", first),
            (command.downgrade, "0003", set()),
            (command.upgrade, "0006", first),
            (command.upgrade, "0007", tracked),
            (command.upgrade, "0009", before),
            (command.upgrade, "0011", plain),
            (command.upgrade, "0012", set(NAMES)),
            (command.upgrade, "0013", set(NAMES)),
            (command.upgrade, "0018", set(NAMES)),
        ):
            with connection.begin():
                going(config, version)
            assert views_in(connection) == left


def views_in(connection):
    from sqlalchemy import inspect

    with connection.begin():
        return set(inspect(connection).get_view_names())


def test_postgres_can_say_what_every_view_and_column_is():
    sql = (
        "select c.relname as view, coalesce(a.attname, '') as name, d.description as words from pg_class c "
        "join pg_description d on d.objoid = c.oid left join pg_attribute a on a.attrelid = c.oid "
        "and a.attnum = d.objsubid and d.objsubid > 0 where c.relkind = 'v' "
        "and c.relnamespace = 'public'::regnamespace"
    )
    with a_place("postgres") as place, opened(place) as connection:
        told = {(row["view"], row["name"]): row["words"] for row in some(connection, sql)}
    assert told == {
        (view.name, name): words for view in VIEWS for name, words in {"": view.comment, **view.columns}.items()
    }


def test_every_column_of_a_view_says_what_it_is_and_the_first_is_the_campaign(asked):
    views, _ = asked
    for view in VIEWS:
        assert view.comment
        assert all(view.columns.values())
        assert next(iter(view.columns)) == "campaign"
        assert list(views[view.name][0]) == list(view.columns)
