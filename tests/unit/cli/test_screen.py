import io
from dataclasses import replace
from math import ceil
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from x_crawls import TOPIC, campaign_of, posts

from socialcrawl.campaign.build import build
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Grant, Node, Outcome, Pick, Reply, Request, Wait
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.forecast.spread import FEW, Spread
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.ratelimit.outage import Outage
from socialcrawl.render import block_charts, live_screen, score_curve
from socialcrawl.render.live_screen import LineView, ScreenView, describe_progress, describe_spending
from socialcrawl.render.score_curve import ScoreCurve
from socialcrawl.text.wording import format_span, parse_instant, parse_seconds, round_up


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def terminal(width=100):
    return Console(file=io.StringIO(), force_terminal=True, width=width, record=True, color_system=None)


def shown(picture, width=100):
    console = terminal(width)
    console.print(picture)
    return console.export_text()


def build_on(mock, tmp_path, view, **sections):
    return build(campaign_of(mock.url, tmp_path / "a.db", **sections), view)


def test_the_picture_before_the_start_is_empty_and_then_shows_what_there_is_to_do(mock, tmp_path):
    picture = ScreenView(terminal())
    assert len(shown(picture).splitlines()) == 3
    campaign = build_on(mock, tmp_path, picture, limits={"k": 77, "d": 60})
    picture.campaign = campaign
    text = shown(picture)
    for part in ("socialcrawl: campaign", "0 of 40", "0.0 found", "77 of 77 requests left", "0 known", "asking"):
        assert part in text
    assert "next in" not in text
    assert text.split("to the end")[1].split()[0] == "-"
    campaign.close()


def test_the_picture_of_a_run_counts_and_says_how_long_it_takes(mock, tmp_path):
    picture = ScreenView(terminal())
    campaign = build_on(mock, tmp_path, picture, limits={"k": 1000, "d": 600})
    picture.begin(campaign)
    run(campaign.parts)
    picture.end()
    text = shown(picture)
    assert "40 of 40" in text
    assert f"{campaign.crawl.relevance:,.1f} found" in text
    assert f"{campaign.planner.budget.posts:,}" in text
    assert "next in 15 min" in text  # the server says so
    assert text.split("to the end")[1].split()[:2] == ["0", "s"]
    assert "$" not in text  # nothing is billed on this machine
    assert f"requests {campaign.planner.budget.requests:,}" in text
    picture.campaign = replace(campaign, plan=replace(campaign.plan, billed=True))
    assert format_dollars(campaign.planner.budget.money) in shown(picture)
    assert max(map(len, text.splitlines())) <= 100
    assert shown(picture, 40)
    campaign.close()


@pytest.fixture
def watch(monkeypatch):
    """A watch that goes on when a test says so: the only clock of the screen's own."""
    hands = [1000.0]
    monkeypatch.setattr(live_screen, "monotonic", lambda: hands[0])
    return hands


def learned(picture, campaign, steps, each=1):
    """`steps` steps that took so many requests each."""
    for _ in range(steps):
        n = campaign.crawl.taken
        campaign.crawl.taken += 1
        for part in range(each):
            picture.sent(Grant(Request((n, part), "timeline", {}, 1), "main", 0.0))
        picture.learned((Pick(n, Node(0), "expand"),), [Outcome(n, Node(0), 0.0, posts=3)])


def test_the_time_to_the_end_is_that_of_this_runs_steps_alone(mock, tmp_path, watch):
    picture = ScreenView(terminal())
    campaign = build_on(mock, tmp_path, picture, crawl={"steps": 1000})
    picture.campaign = campaign
    campaign.crawl.taken = 400  # earlier runs did them
    watch[0] += 300.0  # seeds are asked: they are no steps
    picture.sent(Grant(Request((3, 0), "timeline", {}, 1), "main", 0.0))
    picture.learned((Pick(3, Node(0), "seed"),), [Outcome(3, Node(0), 0.0)])
    learned(picture, campaign, 1)
    watch[0] += 10.0
    learned(picture, campaign, FEW - 2)
    assert picture.remaining(campaign) is None, "too few steps to tell a pace from"
    learned(picture, campaign, 1)
    ahead = 1000 - 400 - FEW
    low, high = Spread(FEW, FEW // 2, 0.0, enough=FEW).compute_factors(ahead)
    pace = 10.0 / (FEW - 1) * ahead
    assert picture.remaining(campaign) == pytest.approx((low * pace, high * pace))
    ends = shown(picture).split("to the end")[1].split("\n")[0]
    assert f"{format_span(low * pace)} to {format_span(high * pace)}" in ends
    campaign.close()


def test_steps_that_differ_widen_the_time_to_the_end(mock, tmp_path, watch):
    found = []
    for few, many in ((3, 3), (1, 5)):
        picture = ScreenView(terminal())
        folder = tmp_path / f"{few} to {many}"
        folder.mkdir()
        campaign = build_on(mock, folder, picture, crawl={"steps": 400})
        picture.campaign = campaign
        for _ in range(100):
            learned(picture, campaign, 1, few)
            learned(picture, campaign, 1, many)
            watch[0] += 6.0
        found.append(picture.remaining(campaign))
        campaign.close()
    (low, high), (lower, higher) = found
    assert lower < low < high < higher


def test_waits_are_no_part_of_the_pace_as_the_windows_tell_of_them(mock, tmp_path, watch):
    picture = ScreenView(terminal())
    campaign = build_on(mock, tmp_path, picture, crawl={"steps": 300})
    picture.campaign = campaign
    learned(picture, campaign, 1)
    watch[0] += 4.0
    learned(picture, campaign, 199)
    low, high = Spread(200, 100, 0.0, enough=FEW).compute_factors(100)
    rest = pytest.approx((low * 400 / 199, high * 400 / 199))
    picture.waits(Wait(2_000_000_000.0, "the window is full"))
    watch[0] += 500.0
    picture.waits(Wait(2_000_000_000.0, "the window is full"))
    assert picture.remaining(campaign) == rest, "during a wait"
    watch[0] += 300.0
    picture.sent(Grant(Request((1000, 0), "timeline", {}, 1), "main", 0.0))
    assert picture.remaining(campaign) == rest, "after it"
    watch[0] += 1.0
    assert picture.remaining(campaign) == pytest.approx((low * 500 / 199, high * 500 / 199))
    campaign.close()


def test_the_time_to_the_end_follows_the_windows_of_the_server_and_not_the_table(tmp_path, watch):
    picture = ScreenView(terminal())
    with serve_in_thread(posts(), limit=30, window=60) as server:  # the table says 10,000 in 900 s
        campaign = build_on(server, tmp_path, picture, crawl={"steps": 400})
        picture.begin(campaign)
        assert isinstance(run(campaign.parts, patience=0), Wait)
        picture.end()
        learned(picture, campaign, FEW)
        ends = [ceil(requests / 30) for requests in picture.needs.estimate_range(400 - campaign.crawl.taken, FEW)]
        for windows, rest in zip(ends, picture.remaining(campaign), strict=True):
            assert (windows - 1) * 60 - 1 <= rest <= windows * 62, (windows, rest)
        campaign.close()


def test_no_time_to_the_end_is_shown_while_nobody_knows_how_long_windows_last(mock, tmp_path, watch):
    picture = ScreenView(terminal())
    campaign = build_on(mock, tmp_path, picture, crawl={"steps": 50_000})
    picture.campaign = campaign
    learned(picture, campaign, 1)
    watch[0] += 10.0
    learned(picture, campaign, 1000, 3)  # 300,000 more are 30 windows of the table's
    assert picture.remaining(campaign) is None
    assert shown(picture).split("to the end")[1].split()[0] == "-"
    campaign.close()


def test_the_picture_of_a_wait_says_for_what_and_of_an_interrupt_that_it_ends(mock, tmp_path):
    picture = ScreenView(terminal())
    campaign = build_on(mock, tmp_path, picture, crawl={"steps": None})
    picture.campaign = campaign
    picture.waits(Wait(campaign.clock.now() + 200, "all 40 requests are used [really]"))
    assert "waiting 3 min: all 40 requests are used [really]" in shown(picture)
    picture.waits(Wait(campaign.clock.now() - 5, "long over"))
    assert "waiting 0 s: long over" in shown(picture)
    picture.landed(None, Reply("ok", 0.0))
    text = shown(picture)
    assert "asking" in text
    assert " of " not in text.split("steps")[1].splitlines()[0]
    campaign.clock.interrupt()
    assert "stopping" in shown(picture)
    campaign.close()


def test_a_platform_that_is_down_is_said_with_since_when_and_what_happened_and_when_it_answers_again(mock, tmp_path):
    console = terminal(200)
    lines, picture = LineView(console), ScreenView(terminal())
    campaign = build_on(mock, tmp_path, lines)
    lines.begin(campaign)
    picture.campaign = campaign
    now = campaign.clock.now()

    def comes(n, kind, at):
        grant = campaign.planner.take(Request((n, 0), campaign.plan.timeline, {}), at)
        reply = Reply(kind, at, why="the server refused it")
        campaign.planner.settle(grant, reply, at)
        lines.landed(grant, reply)

    for n in range(3):
        comes(n, "broken", now - 50.0 + 10.0 * n)
    wait = Wait(campaign.clock.now() + 30.0, "because")
    for view in (lines, picture):
        view.waits(wait)
    assert "X has not answered for 50 s: the server refused it; next try in 30 s" in console.export_text(clear=False)
    assert "X has not answered for" in shown(picture, 120)
    comes(9, "ok", now)
    assert "X answers again, after 50 s" in console.export_text()
    assert "has not answered" not in shown(picture, 120)
    campaign.close()


def test_what_is_reserved_for_requests_in_flight_is_shown_apart_from_what_is_spent(mock, tmp_path):
    caps = {"max_posts": 700, "max_money": 4.0}
    campaign = build_on(mock, tmp_path, ScreenView(terminal()), budget=caps)
    budget = campaign.planner.budget
    budget.add(6, 513, 256_500, 0.0)
    unpaid = "posts 513 of 700  requests 6  nothing paid (test server); counted: $2.56 of $4.00"
    assert describe_spending(campaign) == unpaid
    campaign = replace(campaign, plan=replace(campaign.plan, billed=True))
    assert describe_spending(campaign) == "posts 513 of 700  requests 6  $2.56 of $4.00"
    request = Request((7, 1), "/2/users/:id/tweets", {}, 100, 50_000)
    budget.reserve(request, 100, 0.0)
    assert (
        describe_spending(campaign) == "posts 513 of 700 (+100 reserved)  requests 7  $2.56 of $4.00 (+$0.50 reserved)"
    )
    budget.settle(request, 100, 12, 6_000)
    assert describe_spending(campaign) == "posts 525 of 700  requests 7  $2.62 of $4.00"
    campaign.close()


def test_plain_lines_say_how_far_it_is_now_and_then_and_what_is_waited_for(mock, tmp_path):
    console = Console(file=io.StringIO(), width=60)
    lines = LineView(console)
    campaign = build_on(mock, tmp_path, lines, crawl={"steps": 1234})
    lines.begin(campaign)
    lines.learned((), [])
    lines.learned((), [])  # too soon
    lines.waits(Wait(campaign.clock.now() + 0.5, "a moment"))
    lines.waits(Wait(campaign.clock.now() + 90.4, "the window is full"))
    lines.end()
    told = console.file.getvalue().splitlines()
    assert told == [describe_progress(campaign), "waiting 2 min: the window is full"]
    assert told[0] == "steps 0 of 1,234  relevance 0.0  posts 0  requests 0  frontier 0"
    assert "\x1b" not in console.file.getvalue()
    campaign.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3s", 3),
        ("500ms", 0.5),
        ("15m", 900),
        ("15 min", 900),
        ("1h30m", 5400),
        ("900", 900),
        (" 1.5 H ", 5400),
        ("2d", 172_800),
        ("1h 30m 5", 5405),
        ("0.001", 0.001),
    ],
)
def test_a_span_of_time_is_understood(text, expected):
    assert parse_seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("number", "shown"), [(0, 0), (7, 7), (7.2, 8), (99, 99), (100, 100), (1452, 1500), (14_069, 15_000), (991, 1000)]
)
def test_a_guess_has_two_digits_and_is_never_less(number, shown):
    assert round_up(number) == shown


@pytest.mark.parametrize(
    "text",
    ["", "s", "3x", "-3s", "3s!", "0", "0s", "1e9", "3,5s", "h1", "1..5s", "nan", "inf", "9" * 400, "400d", "٣x"],
)
def test_what_is_no_span_of_time_is_refused(text):
    with pytest.raises(SettingsError, match="write 3s, 15m, 1h"):
        parse_seconds(text)


def test_a_long_wrong_span_is_refused_at_once():
    with pytest.raises(SettingsError):
        parse_seconds("1" * 1_000_000 + "!")  # if its square mattered, for hours


@given(st.text(max_size=12))
@settings(deadline=None)
def test_any_text_is_a_span_or_an_instant_or_refused(text):
    for read in (parse_seconds, parse_instant):
        try:
            assert abs(read(text)) < 1e12
        except SettingsError:
            continue


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, "0 s"),
        (4.4, "4 s"),
        (89, "89 s"),
        (90, "2 min"),
        (3600, "60 min"),
        (5400, "1 h 30 min"),
        (7500, "2 h 05 min"),
        (172_799, "2 d 0 h"),
        (273_600, "3 d 4 h"),
    ],
)
def test_a_span_is_said_as_people_say_it(length, expected):
    assert format_span(length) == expected


def test_an_instant_is_read_in_utc_unless_it_says_otherwise():
    assert parse_instant("2026-11-20") == parse_instant("2026-11-20T00:00:00Z") == 1_795_132_800
    assert parse_instant("2026-11-20T02:00:00+02:00") == 1_795_132_800
    for text in ("", "yesterday", "2026-13-01", "1795132800s"):
        with pytest.raises(SettingsError, match="write 2026-11-20"):
            parse_instant(text)


def curve(values, **more):
    return block_charts.draw_curve(np.array(values, np.float64), **more).plain.splitlines()


@pytest.mark.parametrize("values", [[], [0.0], [0.0] * 500, [5.0], [1.0] * 10, np.arange(1e6)], ids=len)
def test_the_curve_in_letters_has_its_size_whatever_there_is_to_show(values):
    lines = curve(values, width=30, height=4)
    assert len(lines) == 6
    assert all(len(line.split("┤")[1]) == 30 for line in lines[:4])
    assert f"{len(values):,} account{'s' * (len(values) != 1)} read" in lines[-1]
    assert len({line.index("┤") for line in lines[:4]} | {lines[4].index("└")}) == 1


def test_the_curve_in_letters_grows_from_left_to_right_up_to_the_sum():
    lines = curve([1.0] * 100, width=10, height=2)
    assert lines[0].split("┤")[0].strip() == "100"
    assert lines[0].endswith("█")
    heights = [sum(block_charts.BARS.index(line.split("┤")[1][i]) for line in lines[:2]) for i in range(10)]
    assert heights == sorted(heights)
    assert (heights[0], heights[-1]) == (0, 16)
    flat = curve([0.0] * 3, width=10, height=2)
    assert [line.split("┤")[1].strip() for line in flat[:2]] == ["", ""]


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [1.0, 2.0, 0.5], [1e6] * 10])
def test_the_picture_of_the_curve_is_a_png_that_is_not_blank(tmp_path, values):
    from matplotlib.image import imread

    path = tmp_path / "curve.png"
    score_curve.draw_png(path, ScoreCurve("score curve", np.array(values, np.float64), f"{TOPIC}: $5 & <b>"))
    pixels = imread(path)
    assert pixels.shape[:2] == (576, 1008)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 10


def test_a_picture_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(StoreError, match="name another file"):
        score_curve.draw_png(tmp_path / "no" / "curve.png", ScoreCurve("score curve", np.ones(3), "x"))


def test_what_follows_the_question_that_an_outage_asks_is_a_sentence_of_its_own():
    why = "the server did not answer in time: is it up, is timeout too short?"
    told = io.StringIO()
    lines = LineView(Console(file=told, width=200))
    lines.campaign = SimpleNamespace(
        clock=SimpleNamespace(now=lambda: 100.0),
        planner=SimpleNamespace(outage=Outage(55.0, why, 3)),
        plan=SimpleNamespace(platform=SimpleNamespace(title="X")),
    )
    lines.waits(Wait(160.0, why))
    assert told.getvalue() == f"X has not answered for 45 s: {why} Next try in 60 s\n"
