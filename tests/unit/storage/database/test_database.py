"""The database itself: its schema, its transactions, two processes at once, the summary, and the wheel."""

import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect
from stores import AT, failing, mentioning, one, opened, profile, rows, save, users
from tiny_town import BEGIN, Clock, Wire, close, parts_of, stored

from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Who
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.address import PostgresAddress
from socialcrawl.storage.database.connection import make_alembic_config
from socialcrawl.storage.queries.summary import list_campaigns, summarize_campaign
from socialcrawl.storage.schema.tables import metadata

ROOT = Path(__file__).parents[4]


def tables(connection):
    with connection.begin():
        return set(inspect(connection).get_table_names())


def test_the_newest_migration_makes_exactly_the_tables_of_the_code(place):
    with opened(place) as connection, connection.begin():
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def taken_down(connection):
    """The configuration of alembic, after it has undone every migration."""
    config = make_alembic_config()
    config.attributes["connection"] = connection
    with connection.begin():
        command.downgrade(config, "base")
    return config


def test_the_schema_can_be_taken_down_and_put_up_again(place):
    with opened(place) as connection:
        config = taken_down(connection)
        assert tables(connection) == {"alembic_version"}
        with connection.begin():
            command.upgrade(config, "head")
        assert tables(connection) == {"alembic_version", *metadata.tables}


def test_a_database_whose_first_migration_was_undone_is_put_up_again(place):
    with opened(place) as connection:
        taken_down(connection)
    with opened(place) as connection:
        assert tables(connection) == {"alembic_version", *metadata.tables}


def test_every_table_and_every_column_says_what_it_is():
    for table in metadata.tables.values():
        assert table.comment, table.name
        assert [column.name for column in table.columns if not column.comment] == []


def test_a_page_is_stored_whole_or_not_at_all(place):
    store = stored(place)
    with failing(store.connection, "hit"):
        with pytest.raises(StoreError, match="no"):
            save(store, mentioning(Who("5", "ann")))
        for table in ("account", "post", "mention", "hit"):
            assert one(store, f"select count(*) from {table}") == 0
    assert save(store, mentioning(Who("5", "ann"))).rows.targets == [1], "the memory of accounts was rolled back too"
    assert rows(store, "select platform_id from account order by node") == [("900",), ("5",)]
    close(store)


def test_two_connections_never_give_two_accounts_one_number(place):
    close(stored(place))

    def fill(name, failures):
        try:
            store = stored(place)
            for i in range(40):
                store.enlist([f"{name}{i}", f"both{i}"], AT)
                save(store, users(profile(f"{name}-{i}", f"{name}x{i}"), profile(f"both-{i}", f"bothx{i}")), i)
            close(store)
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    failures = []
    threads = [threading.Thread(target=fill, args=(name, failures)) for name in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    store = stored(place)
    counts = "select count(*), count(distinct node), count(distinct platform_id), max(node) from account"
    assert rows(store, counts) == [(240, 240, 120, 239)]
    close(store)


def test_processes_that_make_one_database_together_do_not_get_in_each_others_way(place):
    code = "import sys\nfrom socialcrawl.storage.database import address, connection\n"
    code += "connection.connect(address.parse_address(sys.argv[1]))"
    url = place.url if isinstance(place, PostgresAddress) else str(place)
    together = [subprocess.Popen([sys.executable, "-c", code, url]) for _ in range(3)]
    assert [process.wait(60) for process in together] == [0, 0, 0]


def test_the_summary_counts_as_plain_python_does(place):
    store = stored(place)
    wire = Wire(Clock(), faults={3: "broken"})
    run(parts_of(store, wire))
    found = summarize_campaign(store.connection)
    history, ledger = list(store.history()), list(store.ledger())
    pairs = [(pick, outcome) for batch, row in history for pick, outcome in zip(batch, row, strict=True)]
    assert found.seeds.tolist() == [o.value for p, o in pairs if p.act == "seed"]
    assert found.steps.tolist() == [o.value for p, o in pairs if p.act == "expand"]
    assert found.relevance == pytest.approx(sum(found.steps.tolist()))
    assert found.seed_relevance == pytest.approx(sum(found.seeds.tolist()))
    best = sorted((p for p in pairs if p[1].value > 0), key=lambda pair: (-pair[1].value, pair[0].n))
    who = store.accounts([pick.node for pick, _ in best])
    steps = [pick.n for pick, _ in pairs if pick.act == "expand"]
    for act, rows_of in (("seed", found.top_seeds), ("expand", found.discovered)):
        assert [(row["step"], row["account"], row["value"]) for row in rows_of] == [
            (sum(n <= p.n for n in steps) if p.n in steps else None, f"@{who[p.node].username}", outcome.value)
            for p, outcome in best
            if p.act == act
        ][:15]
    latest = {p.node: o.missing for p, o in pairs if p.node >= 0}  # an account that failed twice is one account
    gone = [why for why in latest.values() if why]
    assert found.missing == {reason: gone.count(reason) for reason in set(gone)}
    asked = {p.node for p, _ in pairs if p.node >= 0}
    linked = {t for p, o in pairs if p.act in ("seed", "expand") for t in o.targets.tolist()}
    assert found.known == len(asked | linked)
    assert (found.sent, found.posts) == (len(ledger), sum(reply.rows.posts for _, reply in ledger))
    assert found.cost == sum(reply.cost for _, reply in ledger)
    assert sum(row["requests"] for row in found.requests) == found.sent
    assert [row["requests"] for row in found.requests if row["kind"] == "broken"] == [1]
    assert found.began.startswith("2023-11-14T22:13:20")
    assert list_campaigns(store.connection) == [(1, "tiny")]
    with pytest.raises(StoreError, match=r"no campaign 'other' in this database; there are: tiny"):
        summarize_campaign(store.connection, "other")
    close(store)


def test_a_campaign_goes_on_only_with_the_settings_its_history_rests_on(place):
    def settings(**more):
        made = check_settings({"name": "a", "topic": {"keywords": ["x"]}, "crawl": {"steps": 5}} | more, "test")
        return made.model_dump(mode="json"), made.identity(made.seeds.usernames)

    with opened(place) as connection:
        first = ensure_campaign(connection, *settings(), BEGIN)
        assert ensure_campaign(connection, *settings(crawl={"steps": 99}, budget={"max_posts": 3}), BEGIN) == first
        for changed, words in (
            ({"seed": 2}, "seed was 1"),
            ({"topic": {"keywords": ["y"]}}, r"\[topic\] keywords was \['x'\]"),
            ({"crawl": {"estimator": "bfs"}}, r"\[crawl\] estimator was 'adaptive'"),
            ({"source": {"pages_per_user": 2}}, r"\[source\] pages_per_user was 1"),
        ):
            with pytest.raises(SettingsError, match=rf"'a' was begun.*with other settings: {words}\. Restore them"):
                ensure_campaign(connection, *settings(**changed), BEGIN)
        assert ensure_campaign(connection, *settings(name="b", seed=2), BEGIN) != first


def test_a_wheel_brings_its_migrations_and_its_config(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", str(tmp_path)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True, cwd=tmp_path, timeout=100)
    (wheel,) = tmp_path.glob("socialcrawl-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "import socialcrawl; from pathlib import Path; from socialcrawl.storage.database.connection import connect; "
        "from socialcrawl.campaign.policies import load_policy; "
        "from socialcrawl.campaign.template_file import write_campaign_file; "
        "print(socialcrawl.__file__); connect(Path('a.db')); load_policy('x'); "
        "write_campaign_file(Path('c.toml'), ['word'])"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    ran = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=elsewhere, env=environment
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(str(tmp_path / "site"))
    with opened(elsewhere / "a.db", create=False) as connection:
        assert tables(connection) == {"alembic_version", *metadata.tables}


FIRST_USE = """
import sys, threading, time

from sqlalchemy import create_engine

from socialcrawl.storage.database.connection import upgrade
from socialcrawl.storage.database.health import read_schema_state


class SlowFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("alembic"):
            begun.set()
            time.sleep(0.01)  # the other thread goes on in the middle of each import


def note_failure(use):
    try:
        with create_engine("sqlite://").connect() as connection:
            use(connection)
    except BaseException as error:
        failed.append(error)


sys.meta_path.insert(0, SlowFinder)
failed, begun = [], threading.Event()
uses = upgrade, lambda connection: begun.wait() and read_schema_state(connection)
threads = [threading.Thread(target=note_failure, args=(use,)) for use in uses]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failed)
"""


def test_two_threads_may_be_the_first_of_a_process_that_need_alembic():
    said = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n", said.stdout
