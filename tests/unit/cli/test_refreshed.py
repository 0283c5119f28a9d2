"""What is told of a campaign that refreshes an old dataset, and its order for several workers."""

import csv
import io
from itertools import pairwise
from random import Random

import networkx as nx
import numpy as np
import pytest
import typer
from html_pages import check_page
from refresh_campaigns import brought, found_of, judged, revived, written
from rich.console import Console
from stores import a_database, opened
from typer.testing import CliRunner

from socialcrawl.cli.definitions.datasets import import_, order
from socialcrawl.crawls.refresh.active_estimate import format_percent_floor
from socialcrawl.crawls.refresh.report import plan_probes as next_of
from socialcrawl.crawls.refresh.report import slice_tests
from socialcrawl.crawls.reporting import report
from socialcrawl.errors import PostsFileError, SettingsError, StoreError
from socialcrawl.render.campaign_report import read_report
from socialcrawl.render.html_report import make_page
from socialcrawl.render.kind_parts import collect_knowledge
from socialcrawl.render.refresh_report import list_parts, make_curve
from socialcrawl.render.score_curve import draw_png
from socialcrawl.storage.queries.traces import CampaignTraces

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
SIZE = 60
app = typer.Typer()
app.command("import")(import_)
app.command("order")(order)


def an_old_graph(folder, seed=1):
    """A file of links between SIZE accounts with ids, everybody in it."""
    chance = Random(seed)
    ring = [(1000 + i, 1000 + (i + 1) % SIZE) for i in range(SIZE)]
    more = [(1000 + chance.randrange(SIZE), 1000 + chance.randrange(SIZE)) for _ in range(4 * SIZE)]
    return written(folder / "old.csv", "".join(f"{a},{b}\n" for a, b in [*ring, *more]))


def results(folder, keys, alive, name="results.csv"):
    rows = "".join(f"{key},{int(key in alive)}\n" for key in keys)
    return written(folder / name, f"id,active\n{rows}")


def settings_of(**refresh):
    return revived(refresh={"rank": "pagerank", "training": "random", "z": 20, **refresh})


def told(found, *, billed=False, width=100):
    console = Console(file=io.StringIO(), width=width)
    for part in list_parts(found, billed=billed):
        console.print()
        console.print(part)
    return console.file.getvalue()


@BOTH
def test_a_report_counts_tests_and_estimates_how_many_are_alive(kind, tmp_path):
    settings, alive = settings_of(), {str(1000 + i) for i in range(0, SIZE, 3)}
    with a_database(kind) as connection:
        brought(connection, an_old_graph(tmp_path), settings=settings)
        traces = CampaignTraces(connection)
        before = report(traces)
        assert (before.known.nodes, before.known.tested, before.left, before.due) == (SIZE, 0, SIZE, 20)
        assert before.known.value is None
        assert "nobody was tested yet" in told(before)
        first = [who.id for who in next_of(traces, settings, 1).whos]
        assert len(first) == 20
        judged(connection, results(tmp_path, first, alive), settings=settings)
        found = report(traces)
        hits = len(alive & set(first))
        assert (found.known.tested, found.known.found, found.left, found.due) == (20, hits, SIZE - 20, 0)
        assert found.known.value == SIZE * hits / 20
        assert found.known.low <= found.known.value <= found.known.high
        assert found.cost == 20 / hits
        assert dict(found.statuses) == {"active": hits, "silent": 20 - hits}
        assert found.found.tolist() == [key in alive for key in first]
        shown = told(found)
        page = check_page(make_page(connection, read_report(connection, None), 0.0))
        (statuses,) = (table for title, table in page.tables.items() if title.startswith("accounts tested by what"))
        assert ["active", f"{hits}", f"{hits / 20:.1%}"] in statuses
        assert page.tables["active accounts found"][-1] == ["20", f"{hits}.00"]
        assert (
            f"{SIZE} accounts in the old dataset; 20 of them to learn from (random), then in the order pagerank"
            in shown
        )
        assert f"20 were tested, {hits} are active, 40 are left" in shown
        words = " ".join(shown.split())
        assert "accounts tested by what was found (they are not a random part of the dataset)" in words
        assert f"active in all: about {found.known.value:,.0f} ({found.known.low:,.0f} to " in shown
        assert f"by the {hits} found and 20 accounts drawn at random\n" in shown
        assert (
            f"found so far: about 33.3% of them ({format_percent_floor(found.known.share_low)} to 100%, 95% interval)"
            in shown
        )
        assert f"for each active account found so far: {20 / hits:,.2f} tests\n" in shown


@pytest.mark.parametrize(
    ("fraction", "said"),
    [
        (None, None),
        (0.25, "fraction = 0.25 is found, by the bound of the 95% interval: the campaign stops here"),
        (0.35, "fraction = 0.35 may be found, which is not certain yet"),
        (0.9, "fraction = 0.9 is not found yet"),
    ],
)
def test_a_report_says_whether_the_wanted_fraction_is_found(fraction, said, tmp_path):
    """Of 20 random accounts 14 are active, so that 14 of 42 are found: a third, 27 to 47 %."""
    settings = settings_of(**({} if fraction is None else {"fraction": fraction}))
    with a_database("sqlite") as connection:
        brought(connection, an_old_graph(tmp_path), settings=settings)
        first = [who.id for who in next_of(CampaignTraces(connection), settings, 1).whos]
        judged(connection, results(tmp_path, first, set(first[:14])), settings=settings)
        found = report(CampaignTraces(connection))
        judging = collect_knowledge(found)["refreshed"]["verdict"]
    shown = told(found)
    assert (said is None) == ("fraction = " not in shown)
    assert said is None or f"{said}\n" in shown
    assert (judging is None) == (said is None)
    assert judging is None or judging["reached"] == (" is found," in said)
    assert (found.known.value, found.known.low, found.known.high, found.known.share) == (42.0, 30.0, 51.0, 1 / 3)


def test_statuses_are_of_the_latest_test_and_tests_that_said_nothing_do_not_count(tmp_path):
    settings = settings_of()
    with a_database("sqlite") as connection:
        brought(connection, an_old_graph(tmp_path), settings=settings)
        text = "id,active,status\n1000,,temporary\n1001,0,suspended\n1002,1,\n1003,0,deleted\n1004,0,deleted\n"
        judged(connection, written(tmp_path / "r", text), settings=settings)
        judged(connection, written(tmp_path / "s", "id,active\n1000,1\n"), settings=settings)
        found = report(CampaignTraces(connection))
        assert dict(found.statuses) == {"active": 2, "deleted": 2, "suspended": 1}
        assert found.statuses == sorted(found.statuses, key=lambda one: (-one[1], one[0]))
        assert found.found.tolist() == [False, True, False, False, True]
        lines = [line.split() for line in told(found).splitlines()]
        assert ["deleted", "2", "40.0%"] in lines
        assert ["3", "to", "3", "0", "0.0%", "1", "3.00"] in lines


def test_the_parts_of_the_tests_hold_each_test_once():
    for size in (0, 1, 7, 10, 95):
        tests = np.arange(size) % 3 == 0
        parts = slice_tests(tests)
        assert [n for one in parts for n in range(one.first, one.last + 1)] == list(range(1, size + 1))
        assert len(parts) == min(10, size)
        assert [one.active for one in parts] == [int(tests[one.first - 1 : one.last].sum()) for one in parts]


def test_a_campaign_of_another_kind_or_without_a_dataset_has_nothing_to_tell(tmp_path):
    from test_import_liveness import crawled

    settings = settings_of()
    with a_database("sqlite") as connection:
        crawled(connection)
        assert report(CampaignTraces(connection), "old") is None
        brought(connection, settings=settings)
        assert "there is no old dataset yet" in told(report(CampaignTraces(connection)))
        with pytest.raises(SettingsError, match="has no order: there is no dataset to refresh yet"):
            next_of(CampaignTraces(connection), settings, 2)


def test_a_picture_of_the_tests_can_be_drawn(tmp_path):
    settings = settings_of()
    with a_database("sqlite") as connection:
        brought(connection, an_old_graph(tmp_path), settings=settings)
        judged(connection, results(tmp_path, ["1000", "1001"], {"1000"}), settings=settings)
        draw_png(tmp_path / "a.png", make_curve(report(CampaignTraces(connection)), "revive"))
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_workers_share_the_training_set_and_then_what_is_left_in_order(tmp_path):
    settings, alive = settings_of(), {str(1000 + i) for i in range(0, SIZE, 2)}
    graph = nx.DiGraph()
    path = an_old_graph(tmp_path)
    graph.add_edges_from(line.split(",") for line in path.read_text().splitlines())
    graph.remove_edges_from(nx.selfloop_edges(graph))
    rank = nx.pagerank(graph, 0.85, tol=1e-12)
    with a_database("sqlite") as connection:
        brought(connection, path, settings=settings)
        traces = CampaignTraces(connection)
        first = next_of(traces, settings, 3)
        assert first.training
        assert first.worker.tolist() == [i % 3 for i in range(1, 21)]
        keys = [who.id for who in first.whos]
        assert next_of(traces, settings, 3, most=5).nodes == first.nodes[:5]
        judged(connection, results(tmp_path, keys, alive), settings=settings)
        second = next_of(traces, settings, 3)
        assert not second.training
        left = [who.id for who in second.whos]
        assert sorted([*keys, *left]) == sorted(graph)
        ordered = [rank[key] for key in left]
        assert all(one >= two - 1e-9 for one, two in pairwise(ordered))
        judged(connection, results(tmp_path, left, alive, "rest.csv"), settings=settings)
        third = next_of(traces, settings, 3)
        assert not third.nodes
        assert "every node of the dataset was tested" in third.why
        assert report(traces).known.found == len(alive)
        assert len(found_of(connection)) == SIZE


def typed(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOCIALCRAWL_DB", raising=False)
    an_old_graph(tmp_path)
    text = 'name = "mine"\ndatabase = "mine.db"\nkind = "refresh"\n[refresh]\nz = 20\ntraining = "random"\n'
    written(tmp_path / "mine.toml", text)
    return tmp_path


def test_two_rounds_of_map_and_reduce_go_through_files_alone(place):
    alive = {str(1000 + i) for i in range(0, SIZE, 4)}
    typed("import", "old.csv", "--as", "dataset", "--db", "mine.toml")
    for number, size in (("one", 20), ("two", SIZE - 20)):
        done = typed("order", "mine.toml", "--workers", 4, "--out", number)
        assert done.stderr.startswith(f"{size} accounts for 4 workers in {number}: ")
        files = sorted((place / number).iterdir())
        assert [file.name for file in files] == [f"worker-{j}.csv" for j in range(4)]
        places = []
        for j, file in enumerate(files):
            with file.open(newline="") as opened_file:
                found = [int(row["place"]) for row in csv.DictReader(opened_file)]
            assert all(one % 4 == j for one in found)
            places += found
        filled(files, alive)
        assert sorted(places) == list(range(1, size + 1))
        done = typed("import", *files, "--as", "liveness", "--db", "mine.toml")
        assert done.stderr == f"{size} tests are new in the campaign 'mine'\n"
    assert "no account is left to be tested: every node" in typed("order", "mine.toml", "--out", "three").stderr
    assert not (place / "three").exists()
    with opened(place / "mine.db") as connection:
        assert report(CampaignTraces(connection)).known.found == len(alive)


def filled(files, alive, every=1):
    """Fill in each `every`-th row of lists; how many were."""
    count = 0
    for file in files:
        with file.open(newline="") as opened_file:
            rows = list(csv.DictReader(opened_file))
        for row in rows[::every]:
            row["active"] = int(row["id"] in alive)
            count += 1
        with file.open("w", newline="") as opened_file:
            writer = csv.DictWriter(opened_file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return count


def first_round(place, *words, alive=()):
    """What was said of the lists of round one, which were then filled in and brought."""
    if words:
        with (place / "mine.toml").open("a") as file:
            file.write("\n".join([*words, ""]))
    typed("import", "old.csv", "--as", "dataset", "--db", "mine.toml")
    done = typed("order", "mine.toml", "--out", "one")
    path = place / "one" / "worker-0.csv"
    count = filled([path], alive)
    typed("import", path, "--as", "liveness", "--db", "mine.toml")
    return done.stderr, count


def test_the_random_ones_and_the_training_set_are_one_round_and_lists_say_which_round_they_are(place):
    text = (place / "mine.toml").read_text().replace('"random"', '"pagerank"')
    written(place / "mine.toml", text)
    said, count = first_round(place, "check = 15", alive={"1000", "1001"})
    assert 20 < count < 35, "some are in both"
    assert said.startswith(
        f"{count} accounts for 1 worker in one: round one, 15 drawn at random to estimate how many are active, and the "
        "training set; the order of what follows rests on their results. When"
    )
    second = typed("order", "mine.toml", "--workers", 2, "--out", "two").stderr
    assert second.startswith(f"{SIZE - count} accounts for 2 workers in two: round two, what is left, in order. When")


def test_a_list_that_is_half_filled_in_brings_that_half_and_counts_the_rest(place):
    typed("import", "old.csv", "--as", "dataset", "--db", "mine.toml")
    typed("order", "mine.toml", "--out", "one")
    path = place / "one" / "worker-0.csv"
    assert filled([path], {"1000"}, every=2) == 10
    words = ("import", path, "--as", "liveness", "--db", "mine.toml")
    assert typed(*words).stderr == "10 tests are new in the campaign 'mine'; 10 of the lists not tested yet\n"
    with opened(place / "mine.db") as connection:
        assert len(found_of(connection)) == 10
    with path.open("a") as file:
        file.write("21,1000,,perhaps,,,\n")
    with pytest.raises(PostsFileError, match=r"^1 bad line, nothing was stored"):
        typed(*words)


def test_where_the_wanted_fraction_is_found_there_is_no_order_unless_more_is_asked_for(place):
    first_round(place, "fraction = 0.3", alive={str(1000 + i) for i in range(SIZE)})
    done = typed("order", "mine.toml", "--out", "two")
    assert done.stderr.startswith("nothing was written: 20 active nodes found with 20 tests, of about 60 (52 to")
    assert "--beyond" in done.stderr
    assert not (place / "two").exists()
    more = typed("order", "mine.toml", "--beyond", "--out", "two")
    assert more.stderr.startswith(f"{SIZE - 20} accounts for 1 worker in two: ")


@pytest.mark.parametrize("rank", ["bfs", "ai", "dpr"])
def test_an_order_that_every_answer_changes_is_said_to_be_that_of_now(rank, place):
    said, _ = first_round(place, f'rank = "{rank}"', alive={"1000"})
    assert "as of now" not in said, "the training set is what it is"
    done = typed("order", "mine.toml", "--limit", 1, "--out", "two")
    now = f"1 account for 1 worker in two: what is left, in the order {rank} as of now only: every answer changes it"
    assert done.stderr.startswith(now)


def test_lists_of_an_earlier_round_are_left_as_they_are(place):
    typed("import", "old.csv", "--as", "dataset", "--db", "mine.toml")
    typed("order", "mine.toml", "--out", "one")
    before = (place / "one" / "worker-0.csv").read_bytes()
    with pytest.raises(SettingsError, match="already exists and was not overwritten"):
        typed("order", "mine.toml", "--out", "one")
    assert (place / "one" / "worker-0.csv").read_bytes() == before


def test_a_campaign_that_was_not_begun_or_collects_has_no_order(place):
    with pytest.raises(StoreError):
        typed("order", "mine.toml", "--out", "one")
    written(place / "other.toml", 'name = "other"\ndatabase = "mine.db"\n[topic]\nkeywords = ["a"]\n')
    typed("import", "old.csv", "--as", "dataset", "--db", "mine.toml")
    with pytest.raises(SettingsError, match="is of kind collect: one of kind refresh has an order"):
        typed("order", "other.toml", "--out", "one")
