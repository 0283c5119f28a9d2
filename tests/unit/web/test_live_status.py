"""One poller for all who look on: it reads only while somebody does, and tells changes once."""

import asyncio
import time

import pytest

from socialcrawl.web import live_status
from socialcrawl.web.live_status import LiveStatus, TooManyViewersError


class CountingProject:
    """A project whose campaigns a test changes; it counts how often they are read."""

    def __init__(self):
        self.campaigns, self.reads, self.watched, self.error = ["one"], 0, [], None

    def list_campaigns(self, watched=()):
        self.reads += 1
        if self.error is not None:
            raise self.error
        self.watched = sorted(watched)
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
        live = LiveStatus(project, time.time, interval=0.001)
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


def test_an_unexpected_error_of_one_look_is_logged_and_the_next_look_is_shown(caplog):
    async def watch():
        project = CountingProject()
        live = LiveStatus(project, time.time, interval=0.001)
        seen = []
        viewer = asyncio.create_task(follow(live, seen, 2))
        while not seen:  # noqa: ASYNC110 (the viewer is a task)
            await asyncio.sleep(0.001)
        project.error = ImportError("a module that is only half there")
        poller = asyncio.create_task(live.poll())
        while not caplog.records:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        project.error, project.campaigns = None, ["two"]
        await viewer
        poller.cancel()
        return seen

    assert asyncio.run(watch()) == [["one"], ["two"]]
    assert "a module that is only half there" in caplog.text


def test_as_many_viewers_as_are_kept_up_to_date_and_no_more(monkeypatch):
    monkeypatch.setattr(live_status, "MOST_VIEWERS", 1)

    async def watch():
        live = LiveStatus(CountingProject(), time.time)
        first = live.watch()
        await anext(first)
        with pytest.raises(TooManyViewersError, match="close one"):
            await anext(live.watch())
        await first.aclose()
        assert await anext(live.watch()) == ["one"], "who left makes room"

    asyncio.run(watch())


def test_while_somebody_watches_pages_show_the_last_look_until_something_is_changed():
    async def watch():
        project = CountingProject()
        live = LiveStatus(project, time.time, interval=1000.0)
        assert [await live.read(), await live.read()] == [["one"], ["one"]]
        assert project.reads == 2, "nobody watches: each page looks"
        viewer = live.watch()
        await anext(viewer)
        project.campaigns = ["two"]
        assert await live.read() == ["one"]
        assert await live.read(fresh=True) == ["two"]
        project.campaigns = ["three"]
        assert await live.read() == ["two"]
        live.expire()
        assert await live.read() == ["three"]
        await viewer.aclose()

    asyncio.run(watch())


def test_a_look_that_began_before_a_change_is_not_taken_for_one_after_it():
    class ChangedMeanwhile(CountingProject):
        def list_campaigns(self, watched=()):
            found = super().list_campaigns(watched)
            if self.campaigns == ["one"]:
                self.campaigns = ["two"]
                live.expire()
            return found

    live = LiveStatus(ChangedMeanwhile(), time.time, interval=1000.0)

    async def watch():
        viewer = live.watch()
        assert await anext(viewer) == ["one"]
        assert await live.read() == ["two"]
        await viewer.aclose()

    asyncio.run(watch())


def test_the_campaigns_that_are_looked_at_are_read_at_once_as_long_as_they_are():
    async def watch():
        project = CountingProject()
        live = LiveStatus(project, time.time)
        first, second, all_of_them = live.watch("one"), live.watch("one"), live.watch()
        for viewer in (first, second, all_of_them):
            await anext(viewer)
        seen = []
        for viewer in (first, second, all_of_them):
            await live.read(fresh=True)
            seen.append(project.watched)
            await viewer.aclose()
        await live.read()
        return [*seen, project.watched]

    assert asyncio.run(watch()) == [["one"], ["one"], [], []]
