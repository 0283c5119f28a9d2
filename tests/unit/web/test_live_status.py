"""One poller for all who look on: it reads only while somebody does, and tells changes once."""

import asyncio

import pytest

from socialcrawl.web import live_status
from socialcrawl.web.live_status import LiveStatus, TooManyViewersError


class CountingProject:
    """A project whose campaigns a test changes; it counts how often they are read."""

    def __init__(self):
        self.campaigns, self.reads = ["one"], 0

    def list_campaigns(self):
        self.reads += 1
        return list(self.campaigns)


async def follow(live, seen, until):
    async for found in live.watch():
        if found is not None:
            seen.append(found)
        if len(seen) == until:
            return


def test_several_viewers_share_the_reading_and_each_hears_of_each_change_once():
    async def watch():
        project = CountingProject()
        live = LiveStatus(project, interval=0.001)
        poller = asyncio.create_task(live.poll())
        seen = [[] for _ in range(3)]
        viewers = [asyncio.create_task(follow(live, one, 3)) for one in seen]
        for state in ("two", "three"):
            while not all(one and one[-1] == project.campaigns for one in seen):  # noqa: ASYNC110 (viewers are tasks)
                await asyncio.sleep(0.001)
            project.campaigns = [state]
        await asyncio.gather(*viewers)
        reads = project.reads
        for _ in range(30):
            await asyncio.sleep(0.001)
        assert project.reads <= reads + 1, "nobody looks on any more"
        poller.cancel()
        return seen

    assert asyncio.run(watch()) == [[["one"], ["two"], ["three"]]] * 3


def test_as_many_viewers_as_are_kept_up_to_date_and_no_more(monkeypatch):
    monkeypatch.setattr(live_status, "MOST_VIEWERS", 1)

    async def watch():
        live = LiveStatus(CountingProject())
        first = live.watch()
        await anext(first)
        with pytest.raises(TooManyViewersError, match="close one"):
            await anext(live.watch())
        await first.aclose()
        assert await anext(live.watch()) == ["one"], "who left makes room"

    asyncio.run(watch())
