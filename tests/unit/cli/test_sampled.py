"""What a campaign that samples knows of its topic: statistics against the truth of a known world, and its words."""

import io
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from audit_worlds import OTHER, WORD, crawled, looking, read_by, sample_of, world
from html_pages import check_page
from refresh_campaigns import brought, judged, revived, written
from rich.console import Console
from stores import a_database, opened
from x_crawls import TOKEN_ENV, crawl, posts

from socialcrawl.campaign.build import build
from socialcrawl.cli.commands.export import export_data
from socialcrawl.crawls.base import ReportRequest
from socialcrawl.crawls.reporting import report
from socialcrawl.crawls.sample.estimates import Estimate
from socialcrawl.crawls.sample.mixing import MixingVerdict
from socialcrawl.crawls.sample.walk_components import WalkComponent
from socialcrawl.engine.loop import run
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.export import ExportOptions
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.campaign_report import CampaignReport, read_report, show
from socialcrawl.render.html_report import make_page
from socialcrawl.render.kind_parts import collect_knowledge
from socialcrawl.render.live_screen import LineView, ScreenView, describe_progress
from socialcrawl.render.sample_report import (
    explain_parts,
    format_count,
    format_interval,
    format_number,
    format_percent,
    make_finite,
)
from socialcrawl.storage.queries.summary import summarize_campaign
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.text.wording import round_up


@pytest.fixture(scope="module")
def found():
    with looking(crawled()) as traces:
        return report(traces, "sample", ReportRequest(sub=[OTHER, "no-such-word"]))


@pytest.fixture(scope="module")
def everyone():
    """What a sample knows that has read all that its walks can come to."""
    with looking(crawled(2_000)) as traces:
        return report(traces, "sample", ReportRequest(sub=[OTHER]))


def topic():
    return world().reached(WORD)


def links_of(name):
    """How many others it mentions, and how many of them are on topic."""
    whom = world().mentions[name]
    return len(whom), len(whom & world().speakers(WORD))


def told(traces, name="sample", width=100, **more):
    console = Console(file=io.StringIO(), width=width)
    found = CampaignReport(summarize_campaign(traces.connection, name), billed=False, **more)
    show(console, replace(found, known=report(traces, name)))
    return " ".join(console.file.getvalue().split())


def test_who_was_read_and_who_of_them_is_on_topic_is_counted(found):
    read = read_by(crawled(), "sample")
    assert (found.read, found.on_topic) == (len(read), len(read & world().speakers(WORD)))
    assert found.parts[0].accounts == len(read & topic())
    assert (found.jumps, found.verdict) == (0, MixingVerdict(enough=True))
    assert found.burning == 1  # one of the seeds has no on-topic neighbour
    assert found.accounts <= found.parts[0].accounts < found.draws
    assert 10 < found.effective < found.draws


def test_a_topic_that_was_read_whole_is_counted_and_nothing_of_it_has_an_interval(everyone):
    outs = np.array([links_of(name) for name in topic()])
    assert everyone.verdict == MixingVerdict(enough=True, whole=True)
    assert everyone.accounts == everyone.draws == len(topic())
    assert everyone.outs.low == everyone.outs.high == pytest.approx(outs[:, 0].mean())
    for bar in everyone.degrees:
        assert bar.share.low == bar.share.high
        assert bar.share.value == pytest.approx(np.mean((outs[:, 0] >= bar.begin) & (outs[:, 0] < bar.end)))
    assert (
        everyone.links.staying.low == everyone.links.staying.high == pytest.approx(np.divide(*outs.sum(axis=0)[::-1]))
    )
    other = everyone.subtopics[OTHER]
    assert other.low == other.high == pytest.approx(len(topic() & world().speakers(OTHER)) / len(topic()))


def test_a_report_of_a_topic_that_was_read_whole_says_that_it_counts():
    with looking(crawled(2_000)) as traces:
        text = told(traces, "sample", 200)
    assert "every account on topic that walks can reach was read: the numbers below are counts, not estimates" in text
    assert "draws count" not in text
    assert "drawn independently" not in text
    assert "of the accounts on topic that walks can reach, counted" in text
    assert "with 95 % intervals" not in text
    assert " from to" not in text  # nothing was estimated


def test_the_mean_and_the_distribution_of_out_degrees_are_the_true_ones(found):
    outs = np.array([links_of(name)[0] for name in topic()])
    assert found.outs.contains(outs.mean())
    assert found.outs.width < 5.0
    for bar in found.degrees:
        assert bar.share.contains(np.mean((outs >= bar.begin) & (outs < bar.end)))
    assert sum(bar.share.value for bar in found.degrees) == pytest.approx(1.0)


def test_links_that_stay_on_topic_are_estimated_of_all_links_and_of_each_account(found):
    pairs = np.array([links_of(name) for name in topic()])
    assert found.links.staying.contains(pairs[:, 1].sum() / pairs[:, 0].sum())
    some = pairs[pairs[:, 0] > 0]
    assert found.links.each.contains(np.mean(some[:, 1] / some[:, 0]))
    assert found.links.bars == ()


def test_the_share_of_a_sub_topic_is_that_of_the_accounts_who_write_of_it(found):
    assert found.subtopics[OTHER].contains(len(topic() & world().speakers(OTHER)) / len(topic()))
    assert found.subtopics["no-such-word"].value == 0.0


def test_posts_that_searches_brought_are_not_counted_but_those_of_timelines(tmp_path):
    place = tmp_path / "a.db"
    shutil.copy(crawled(2_000), place)
    with opened(place) as connection, connection.begin():
        names = [row[1] for row in connection.exec_driver_sql("pragma table_info(post)")]
        new = {"id": "'b' || id", "text": "'a zebra'", "lang": "'fr'"}
        connection.exec_driver_sql(
            f"insert into post ({', '.join(names)}) select {', '.join(new.get(name, name) for name in names)} from post"
        )  # as often as all others, so that most of everybody's posts would be in French
    with looking(place) as traces:
        found = report(traces, "sample", ReportRequest(sub=["zebra", OTHER]))
    assert found.subtopics["zebra"].value == 0.0
    assert found.subtopics[OTHER].value == pytest.approx(len(topic() & world().speakers(OTHER)) / len(topic()))
    assert "fr" not in found.languages
    with opened(place) as connection, connection.begin():  # an old ledger does not say which posts came
        connection.exec_driver_sql("update request set post_ids = null")
    with looking(place) as traces:
        assert report(traces, "sample", ReportRequest(sub=["zebra"])).subtopics["zebra"].value == 1.0


def test_languages_are_those_that_accounts_write_in_most_and_words_without_one_do_not_count(tmp_path):
    place = tmp_path / "a.db"
    shutil.copy(crawled(), place)
    with opened(place) as connection, connection.begin():
        connection.exec_driver_sql("update post set lang = 'und'")
        connection.exec_driver_sql(
            "update post set lang = 'de' where author % 2 = 0 and id in (select min(id) from post group by author)"
        )
        rows = connection.exec_driver_sql("select coalesce(handle, platform_id) from account where node % 2 = 0")
        even = {world().names.get(one, one) for one in rows.scalars()} & topic()
    with looking(place) as traces:
        languages = report(traces, "sample").languages
    assert set(languages) == {"de", "not told"}
    assert languages["de"].contains(len(even) / len(topic()))
    with opened(place) as connection, connection.begin():
        connection.exec_driver_sql("update post set lang = null")
    with looking(place) as traces:
        assert report(traces, "sample").languages == {}


def test_with_all_neighbours_judged_the_share_of_each_accounts_links_is_known(tmp_path):
    with serve_in_thread(posts(), limit=1_000_000) as mock:
        sample = {"walkers": 4, "burn_in": 5, "length": 500, "trap": "off", "exact": True}
        crawl(sample_of(mock.url, tmp_path / "a.db", sample=sample))
    with looking(tmp_path / "a.db") as traces:
        links = report(traces).links
    pairs = np.array([links_of(name) for name in topic()])
    some = pairs[pairs[:, 0] > 0]
    parts = some[:, 1] / some[:, 0]
    assert abs(links.each.value - parts.mean()) < 0.05
    assert abs(links.staying.value - pairs[:, 1].sum() / pairs[:, 0].sum()) < 0.05
    for bar in links.bars:
        assert abs(bar.share.value - np.mean((parts >= bar.begin) & (parts < bar.end))) < 0.1


def test_a_report_says_how_good_the_sample_is_and_nothing_of_seeds(found):
    with looking(crawled()) as traces:
        text = told(traces)
        collected = told(traces, "small")
    assert f"{found.read:,} accounts read, {found.on_topic:,} on topic, by 8 walks that go on topic only" in text
    assert f"{found.draws:,} draws count, at {found.accounts:,} accounts" in text
    assert "enough data" in text
    assert (
        f"to know any share of the topic to +- 5 percentage points takes about {round_up(found.more):,} more draws"
        in text
    )
    assert "of the accounts on topic that walks can reach, with 95 % intervals" in text
    assert "of all visits were on topic" not in text  # these walks go nowhere else
    for words in ("steps after", "the seeds have", "most relevant accounts"):
        assert words not in text
        assert words in collected
    assert f"{found.read:,} accounts read" in text


def test_the_page_of_a_sample_has_its_tables_and_its_curve(found):
    with looking(crawled()) as traces:
        page = check_page(make_page(traces.connection, read_report(traces.connection, "sample"), 0.0))
        (steps,) = summarize_campaign(traces.connection, "sample").steps.cumsum()[-1:]
    assert f"{found.read:,} accounts read, {found.on_topic:,} on topic, by 8 walks" in page.text
    (links,) = [table for title, table in page.tables.items() if title.startswith("accounts by the number of others")]
    assert links[0] == ["", "estimate", "from", "to"]
    assert page.tables["accounts on topic (sum)"][-1][1] == f"{steps:,.2f}"
    assert sum(tag == "svg" for tag, _ in page.tags) == 3


def test_a_report_names_the_parts_of_the_topic_that_it_leaves_out(found):
    with looking(crawled()) as traces:
        text, plain = told(traces), collect_knowledge(report(traces, "sample"))
    assert f"of one part of the topic, the largest, where {found.parts[0].accounts:,} accounts were read" in text
    assert "1 of 8 walks are not in it and are left out left out: 1 walk in a part that was read whole" in text
    assert plain["sampled"]["parts"][1] == {"accounts": 1, "walks": 1, "draws": 0, "whole": True, "counts": False}
    assert found.parts[0].accounts == len(read_by(crawled(), "sample") & topic())


def test_parts_are_told_of_one_by_one_then_together_and_one_part_not_at_all():
    main = WalkComponent(300, 5, 900, whole=False, counts=True)
    assert [*explain_parts([main]), *explain_parts([])] == []
    small = [WalkComponent(size, 1, 9, whole=size > 7, counts=False) for size in (9, 8, 7, 2, 1)]
    words = [*explain_parts([main, *small])]
    assert "300 accounts were read" in words[0]
    assert "5 of 10 walks" in words[0]
    assert words[1:] == [
        "left out: 1 walk in a part that was read whole, of 9 accounts",
        "left out: 1 walk in a part that was read whole, of 8 accounts",
        "left out: 1 walk in a part that was not read whole, 7 accounts read so far",
        "left out: 2 walks in 2 more parts, 3 accounts read",
    ]
    (word,) = explain_parts([main, WalkComponent(200, 5, 800, whole=False, counts=True)])
    assert "in 2 groups that have not met yet" in word


def test_scripts_are_told_the_same_under_the_name_of_the_kind(found):
    with looking(crawled()) as traces:
        plain = collect_knowledge(report(traces, "sample", ReportRequest(sub=[OTHER, "no-such-word"])))
        assert collect_knowledge(report(traces, "small")) == {}
        with pytest.raises(SettingsError, match="samples nothing: take --sub x out"):
            report(traces, "small", ReportRequest(sub=["x"]))
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["sampled"]["subtopics"][OTHER]["value"] == found.subtopics[OTHER].value
    assert plain["sampled"]["more"] == found.more > 0.0


def test_a_sample_that_has_hardly_begun_says_that_it_tells_nothing_yet(tmp_path):
    place = tmp_path / "a.db"
    with serve_in_thread(posts(), limit=1_000_000) as mock:
        crawl(sample_of(mock.url, place, crawl={"steps": 12}))
    with looking(place) as traces:
        found, text = report(traces), told(traces)
    assert (found.draws, found.accounts, found.more, found.steps) == (0, 0, None, None)
    assert found.burning == 8
    assert "no draw counts yet: the first 20 on-topic visits of each walk do not" in text
    assert collect_knowledge(found)["sampled"]["outs"]["value"] is None


def test_a_refresh_tells_who_is_alive_and_nothing_of_seeds(tmp_path):
    settings = revived(refresh={"rank": "indegree", "training": "random", "z": 2})
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "old.csv", "1,2\n2,3\n3,1\n"), settings=settings)
        judged(connection, written(tmp_path / "told.csv", "id,active\n1,1\n2,0\n3,1\n"), settings=settings)
        traces = CampaignTraces(connection)
        text, plain = told(traces, "revive"), collect_knowledge(report(traces))
        found = summarize_campaign(connection)
    assert "3 were tested, 2 are active" in text
    assert "steps after" not in text
    assert (found.steps.tolist(), found.seeds.tolist()) == ([1.0, 0.0, 1.0], [])
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["refreshed"]["found"] == 2


def test_the_picture_and_the_lines_of_a_run_speak_of_its_kind(tmp_path):
    console = Console(file=io.StringIO(), width=110, record=True)
    with serve_in_thread(posts(), limit=1_000_000) as mock:
        picture = ScreenView(console)
        campaign = build(sample_of(mock.url, tmp_path / "a.db", crawl={"steps": 60}), picture)
        picture.campaign = campaign
        run(campaign.parts)
        console.print(picture)
        crawled_, line = campaign.crawl, describe_progress(campaign)
        campaign.close()
    draws = len(crawled_.list_visits().node)
    text = console.export_text()
    for words in ("60 of 60", f"{crawled_.relevance:,.0f} accounts", f"8 with {draws:,} draws"):
        assert words in text
    assert "seeds" not in text
    assert line.startswith(f"read 60 of 60  on topic {crawled_.relevance:,.0f}  posts ")
    assert line.endswith(f"draws {draws:,}")


def test_the_picture_of_a_refresh_counts_tests_and_the_living(tmp_path):
    source = {"base_url": "http://127.0.0.1:1", "token_env": TOKEN_ENV}
    settings = revived(refresh={"z": 1, "training": "random"}, database=str(tmp_path / "a.db"))
    settings = settings.model_copy(update={"source": settings.source.model_copy(update=source)})
    console = Console(file=io.StringIO(), width=110, record=True)
    campaign = build(settings, LineView(console))
    picture = ScreenView(console)
    picture.campaign = campaign
    console.print(picture)
    line = describe_progress(campaign)
    campaign.close()
    text = console.export_text()
    for words in ("tested", "active  0 accounts", "0 accounts, 0 are left to be tested"):
        assert words in text
    assert line.startswith("tested 0  active 0  ")


def test_shares_and_numbers_are_written_as_people_read_them():
    assert [format_percent(one) for one in (0.0, 0.012, 0.0994, 0.0996, 0.5, 1.0, float("nan"))] == [
        "0%", "1.2%", "9.9%", "10%", "50%", "100%", "-",
    ]  # fmt: skip
    assert (format_count(float("inf")), format_count(1234.5), format_number(8.561), format_number(1234.5)) == (
        "any number",
        "1,234",
        "8.56",
        "1,234",
    )
    assert format_interval(Estimate(0.083, 0.012, 0.4, 5.0, 9, "few")) == "8.3% (1.2% to 40%)"
    assert format_interval(Estimate(0.083, 0.083, 0.083, 5.0, 9)) == "8.3%"
    assert (
        format_interval(Estimate(float("nan"), 0.0, float("inf"), 5.0, 9), format_count)
        == "not known (0 to any number)"
    )
    assert make_finite({"a": [float("inf"), np.float64(2.0), (1, "x")], 2: float("nan")}) == {
        "a": [None, 2.0, [1, "x"]],
        "2": None,
    }


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (180, "does the sample represent the whole topic? enough data"),
        (2_000, "does the sample represent the whole topic? every account on topic that walks can reach was read"),
    ],
)
def test_a_datasheet_says_whether_the_sample_tells_of_the_whole_topic(steps, words, tmp_path):
    export_data(crawled(steps), tmp_path / "out", ExportOptions(campaign="sample"), as_json=False)
    assert words in (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    export_data(crawled(steps), tmp_path / "small", ExportOptions(campaign="small"), as_json=False)
    assert "the whole topic?" not in (tmp_path / "small" / "datasheet.md").read_text("utf-8")
