"""The refresh rate of campaigns that leave it to us: chosen once from the latency that was seen, and kept."""

import pytest
from x_crawls import campaign_of, crawl, posts_file, rows

from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.ratelimit.batch_size import choose_batch_size

STEPS = {"estimator": "nh-ne-sum", "steps": 40, "refresh_rate": "auto"}


def batches(path):
    """How many picks were made together, batch by batch, after the seeds."""
    return [n for (n,) in rows(path, "select count(*) from pick where act = 'expand' group by batch order by batch")]


def kept(path):
    return rows(path, "select refresh_rate from campaign")[0][0]


def test_a_slow_server_is_asked_for_several_accounts_together(tmp_path):
    with serve_in_thread(posts_file(), limit=40, window=1.0, latency=0.06) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl=STEPS, limits={"k": 40, "d": 1.0})
        crawl(settings)
    chosen = kept(settings.database)
    seen = sorted(
        a - s
        for a, s in rows(
            settings.database,
            "select (julianday(arrived_at) - 2460000) * 86400, (julianday(sent_at) - 2460000) * 86400 from request",
        )
    )
    assert choose_batch_size(seen[0] - 0.002, 40, 1.0) <= chosen <= choose_batch_size(seen[-1] + 0.002, 40, 1.0)
    assert chosen > 1
    assert set(batches(settings.database)[:-1]) == {chosen}


def test_a_server_that_answers_at_once_is_asked_for_one_after_the_other(tmp_path):
    with serve_in_thread(posts_file(), limit=40, window=600.0) as mock:  # at once: in less than 15 seconds
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl=STEPS | {"steps": 3}, limits={"k": 40, "d": 600.0})
        crawl(settings)
    assert kept(settings.database) == 1
    assert batches(settings.database) == [1] * 3


def test_what_was_chosen_is_kept_when_the_campaign_goes_on(tmp_path):
    with serve_in_thread(posts_file(), limit=40, window=1.0, latency=0.06) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl=STEPS | {"steps": 9}, limits={"k": 40, "d": 1.0})
        crawl(settings)
        chosen = kept(settings.database)
    with serve_in_thread(posts_file(), limit=40, window=1.0) as quick:
        more = campaign_of(quick.url, tmp_path / "a.db", crawl=STEPS | {"steps": 30}, limits={"k": 40, "d": 1.0})
        crawl(more)
    assert kept(settings.database) == chosen > 1
    assert max(batches(settings.database)[-3:-1]) == chosen


def test_a_file_that_names_a_number_is_obeyed_and_nothing_is_kept(tmp_path):
    with serve_in_thread(posts_file(), limit=100_000, window=60.0) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl=STEPS | {"steps": 12, "refresh_rate": 4})
        crawl(settings)
    assert kept(settings.database) is None
    assert batches(settings.database) == [4, 4, 4]


def test_another_word_than_auto_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="refresh_rate"):
        campaign_of(None, tmp_path / "a.db", crawl=STEPS | {"refresh_rate": "fast"})
