"""Workers come, go and hang: what they had is lost and asked again, what others have is not touched."""

import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fleet_towns import CALM, HASTY, WITHIN, EchoSpec, EchoWire, LocalTown, await_true, grant_for, local_fleet

from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.protocols import LostRequestError
from socialcrawl.errors import SettingsError
from socialcrawl.fleet.shared_fleets import choose_worker
from socialcrawl.fleet.worker_wires import WorkerWires

HOSTS = [f"host{i}.example" for i in range(500)]


def named(*names):
    return [SimpleNamespace(name=name) for name in names]


def chosen(*names):
    return {host: choose_worker(grant_for(f"{host}/*"), named(*names)).name for host in HOSTS}


def join(fleet, campaign="sea", spec=None):
    fleet.join(campaign, spec or EchoSpec())
    await_true(lambda: fleet.explain_absence(campaign) is None)


def test_all_requests_to_a_host_go_to_one_worker_whatever_the_order_of_the_workers():
    assert chosen("a", "b", "c") == chosen("c", "a", "b")


def test_hosts_are_shared_evenly_and_a_worker_that_joins_takes_only_its_own_share():
    three, four = chosen("a", "b", "c"), chosen("a", "b", "c", "d")
    assert all(120 <= count <= 215 for count in Counter(three.values()).values())
    assert {four[host] for host in HOSTS if four[host] != three[host]} == {"d"}


def test_tokens_of_one_host_are_shared_among_workers():
    names = {choose_worker(grant_for("/2/x", credential=f"token-{i}"), named("a", "b", "c")).name for i in range(50)}
    assert names == {"a", "b", "c"}


def test_replies_of_all_workers_come_back():
    with local_fleet(LocalTown("a", "b", "c")) as fleet:
        join(fleet)
        await_true(lambda: len(fleet.workers) == 3 and all(one.can_send("sea") for one in fleet.workers.values()))
        futures = {host: fleet.submit("sea", grant_for(f"{host}/*")) for host in HOSTS[:60]}
        assert all(future.result(WITHIN).cursor == f"{host}/*" for host, future in futures.items())


def test_a_worker_that_hangs_loses_what_it_has_and_is_used_again_when_it_answers():
    town = LocalTown("a")
    with local_fleet(town, HASTY) as fleet:
        join(fleet)
        town.cut.add("tcp://a")
        with pytest.raises(LostRequestError):
            fleet.submit("sea", grant_for("x/*")).result(WITHIN)
        assert "has not answered for 0.3 s" in fleet.explain_absence("sea")
        fleet.workers["tcp://a"].patience = CALM
        town.cut.clear()
        await_true(lambda: fleet.explain_absence("sea") is None)
        assert fleet.submit("sea", grant_for("x/again")).result(WITHIN).cursor == "x/again"
    assert EchoWire.sent == ["x/again"]


def test_a_worker_that_dies_loses_what_it_has_and_another_one_goes_on():
    town = LocalTown("a", "b")
    with local_fleet(town) as fleet:
        join(fleet)
        await_true(lambda: all(one.can_send("sea") for one in fleet.workers.values()) and len(fleet.workers) == 2)
        waits = {host: fleet.submit("sea", grant_for(f"{host}/wait")) for host in HOSTS[:8]}
        await_true(lambda: len(EchoWire.sent) == 8)
        town.workers.pop("tcp://a")
        owners = {host: choose_worker(grant_for(f"{host}/*"), named("a", "b")).name for host in waits}
        assert set(owners.values()) == {"a", "b"}
        lost = [host for host in waits if owners[host] == "a"]
        assert all(isinstance(waits[host].exception(WITHIN), LostRequestError) for host in lost)
        EchoWire.gate.set()
        assert all(waits[host].result(WITHIN) for host in waits if host not in lost)
        await_true(lambda: len(fleet.workers) == 1)
        assert fleet.submit("sea", grant_for(f"{lost[0]}/*")).result(WITHIN)


def test_a_worker_that_joins_is_used():
    town = LocalTown()
    with local_fleet(town) as fleet:
        fleet.join("sea", EchoSpec())
        await_true(
            lambda: fleet.explain_absence("sea") == f"no worker is connected to the Dask scheduler at {fleet.address}"
        )
        town.workers["tcp://late"] = WorkerWires()
        await_true(lambda: fleet.explain_absence("sea") is None)
        assert fleet.submit("sea", grant_for("x/*")).result(WITHIN).cursor == "x/*"


def test_a_scheduler_that_is_gone_is_named_and_all_goes_on_when_it_is_back():
    town = LocalTown("a")
    with local_fleet(town) as fleet:
        join(fleet)
        town.is_up = False
        await_true(lambda: fleet.explain_absence("sea") is not None)
        assert "no Dask scheduler answers at tcp://scheduler:8786" in fleet.explain_absence("sea")
        with pytest.raises(LostRequestError):
            fleet.submit("sea", grant_for("x/*")).result(WITHIN)
        town.is_up = True
        await_true(lambda: fleet.explain_absence("sea") is None)


def test_a_campaign_without_its_token_on_any_worker_says_so_and_others_go_on():
    with local_fleet(LocalTown("a")) as fleet:
        join(fleet)
        fleet.join("sky", EchoSpec(SettingsError("No token: put it into X_TOKEN.")))
        await_true(lambda: "X_TOKEN" in (fleet.explain_absence("sky") or ""))
        assert fleet.explain_absence("sea") is None


def test_a_request_that_a_worker_never_answers_is_lost_and_the_worker_stays():
    with local_fleet(LocalTown("a"), replace(CALM, request=0.2)) as fleet:
        join(fleet)
        with pytest.raises(LostRequestError):
            fleet.submit("sea", grant_for("x/wait")).result(WITHIN)
        assert fleet.submit("sea", grant_for("y/*")).result(WITHIN).cursor == "y/*"


def test_a_worker_whose_clock_is_wrong_by_an_hour_sends_and_dates_by_ours():
    with local_fleet(LocalTown("a", ahead=3_600.0)) as fleet:
        join(fleet)
        before = time.time()
        reply = fleet.submit("sea", grant_for("x/*")).result(WITHIN)
        assert before - 1.0 <= reply.at <= time.time() + 1.0


def test_when_our_clock_is_set_workers_are_told_before_they_send_again():
    ahead = [0.0]
    with local_fleet(LocalTown("a"), now=lambda: time.time() + ahead[0]) as fleet:
        join(fleet)
        ahead[0] = -7_200.0
        now = time.time() + ahead[0]
        reply = fleet.submit("sea", grant_for("x/*", now)).result(WITHIN)
        assert now - 1.0 <= reply.at <= now + WITHIN


@pytest.mark.parametrize("address", ["10.0.0.1:8786", "tcp://10.0.0.1", "http://10.0.0.1:8786"])
def test_an_address_of_no_scheduler_is_refused_with_one_as_it_is_written(address):
    given = {"name": "a", "database": "a.db", "topic": {"keywords": ["sea"]}, "fleet": {"scheduler": address}}
    with pytest.raises(SettingsError, match=r"write the scheduler's address as tcp://HOST:PORT, such as tcp://10"):
        check_settings(given, "a.toml")
