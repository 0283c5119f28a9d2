"""What a worker sends, and what it does not."""

import asyncio
import pickle
import time

import pytest
from fleet_towns import EchoSpec, EchoWire, ShiftedClock, grant_for

from socialcrawl.campaign.prompt_wire import PROMPT
from socialcrawl.engine.model import Reply, ReplyKind
from socialcrawl.errors import SettingsError
from socialcrawl.fleet.worker_wires import WorkerWires, pack_reply


def pack(*parcels):
    return pickle.dumps(parcels)


async def begun(generation=1, ahead=0.0, spec=None):
    """A worker that has the client of the campaign `sea`."""
    EchoWire.sent.clear()
    wires = WorkerWires(ShiftedClock(ahead))
    await wires.begin(generation)
    assert await wires.open("sea", pickle.dumps(spec or EchoSpec())) == ""
    return wires


async def collected(wires, count, generation=1):
    found = []
    while len(found) < count:
        found += await wires.collect(generation, 5.0)
    return found


def test_a_request_is_sent_and_its_reply_is_on_the_clock_of_the_deciding_process():
    async def work():
        wires = await begun(ahead=5_000.0)
        await wires.read_clock(-5_000.0)
        before = time.time()
        await wires.send(1, pack((7, "sea", grant_for("a/x"))))
        ((number, packed),) = await collected(wires, 1)
        return number, pickle.loads(packed), before

    number, reply, before = asyncio.run(work())
    assert (number, reply.kind, reply.cursor) == (7, ReplyKind.OK, "a/x")
    assert before - 0.001 <= reply.at <= time.time() + 0.001


def test_a_request_that_waited_too_long_since_its_grant_is_not_sent():
    async def work():
        wires = await begun()
        now = time.time()
        late, prompt = grant_for("a/late", now - PROMPT - 1.0), grant_for("a/prompt", now)
        await wires.send(1, pack((1, "sea", late), (2, "sea", prompt)))
        return dict(await collected(wires, 2))

    late, prompt = (pickle.loads(packed) for _, packed in sorted(asyncio.run(work()).items()))
    assert (late.late, late.reached) == (True, False)
    assert (prompt.late, prompt.cursor) == (False, "a/prompt")
    assert EchoWire.sent == ["a/prompt"]


def test_what_belongs_to_an_earlier_generation_is_neither_sent_nor_answered_nor_taken_by_whoever_still_waits():
    async def work():
        wires = await begun(generation=1)
        waits = asyncio.ensure_future(wires.collect(1, 30.0))
        await asyncio.sleep(0)
        await wires.begin(2)
        await wires.send(1, pack((1, "sea", grant_for("a/old"))))
        await wires.send(2, pack((2, "sea", grant_for("a/new"))))
        return await waits, await wires.collect(1, 0.0), await collected(wires, 1, generation=2)

    orphan, old, new = asyncio.run(work())
    assert (orphan, old, [number for number, _ in new]) == ([], [], [2])
    assert EchoWire.sent == ["a/new"]


def test_a_worker_without_the_token_says_which_variable_is_missing():
    async def work():
        wires = WorkerWires()
        return await wires.open("sea", pickle.dumps(EchoSpec(SettingsError("No token: put it into X_TOKEN."))))

    assert asyncio.run(work()) == "No token: put it into X_TOKEN."


def test_nothing_is_sent_for_a_campaign_that_was_closed():
    async def work():
        wires = await begun()
        await wires.close("sea")
        await wires.send(1, pack((1, "sea", grant_for("a/x"))))
        return await wires.collect(1, 0.0)

    assert asyncio.run(work()) == []
    assert EchoWire.sent == []


@pytest.mark.parametrize("cursor", ["x", lambda: None])
def test_a_reply_that_cannot_be_pickled_is_lost_at_its_highest_price(cursor):
    grant = grant_for("a/x")
    reply = pickle.loads(pack_reply(Reply(ReplyKind.OK, 5.0, cursor=cursor), grant))
    assert reply.kind == (ReplyKind.OK if cursor == "x" else ReplyKind.LOST)
    assert reply.at == 5.0
