"""When a campaign works: every answer is held against a walk through the minutes, also on days of 23 and 25 hours."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.campaign.schedule import Schedule, parse_cron, parse_hours, parse_zone
from socialcrawl.errors import SettingsError

MINUTE, HOUR, DAY = 60, 3600, 86_400
BERLIN = "Europe/Berlin"
ZONES = ["UTC", BERLIN, "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Sao_Paulo"]


def at(text, place="UTC"):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(place)).timestamp()


SPRING, AUTUMN = at("2026-03-29", BERLIN), at("2026-10-25", BERLIN)  # midnights of the days of 23 and 25 hours
STARTS = st.sampled_from([SPRING, AUTUMN, at("2026-03-08"), at("2026-11-01"), at("2026-04-05"), at("2028-02-28")])
MOMENTS = st.builds(lambda begin, minutes: begin + minutes * MINUTE, STARTS, st.integers(-1500, 2900))
WALLS = st.integers(0, 1439)


def in_field(text, number, low, high):
    """Whether a number is one that a field means, straight from crontab(5)."""
    for part in text.split(","):
        body, _, step = part.partition("/")
        first, _, last = body.partition("-")
        first, last = (low, high) if body == "*" else (int(first), int(last or first))
        if first <= number <= last and (number - first) % int(step or 1) == 0:
            return True
    return False


def means(text, wall):
    minute, hour, day, month, weekday = text.split()
    of_month = in_field(day, wall.day, 1, 31)
    of_week = any(in_field(weekday, number, 0, 7) for number in {wall.isoweekday(), wall.isoweekday() % 7})
    days = of_month or of_week if "*" not in (day[0], weekday[0]) else of_month and of_week
    told = (
        in_field(minute, wall.minute, 0, 59) and in_field(hour, wall.hour, 0, 23) and in_field(month, wall.month, 1, 12)
    )
    return told and days


def walked(text, after, place):
    """The first minute later than `after` at which the expression speaks, walked to by the clocks of a zone."""
    clock = ZoneInfo(place)
    hourly = all(in_field(text.split()[1], hour, 0, 23) for hour in range(24))
    now = (after // MINUTE + 1) * MINUTE
    for _ in range(5 * 1440):
        wall, before = (datetime.fromtimestamp(t, clock) for t in (now, now - 3 * HOUR))
        if means(text, wall.replace(tzinfo=None)) and (wall.fold == 0 or hourly):
            return now
        # what the clocks have jumped over comes by the clock that was not changed
        old = (datetime.fromtimestamp(now, UTC) + before.utcoffset()).replace(tzinfo=None)
        real = datetime.fromtimestamp(old.replace(tzinfo=clock).timestamp(), clock).replace(tzinfo=None) == old
        if wall.utcoffset() > before.utcoffset() and not real and means(text, old):
            return now
        now += MINUTE
    return None


NUMBERS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}


@st.composite
def fields(draw, low, high):
    kind = draw(st.integers(0, 4))
    a, b = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
    return ["*", str(a), f"{a}-{b}", f"*/{draw(st.integers(1, min(30, high - low)))}", f"{a},{b}"][kind]


EXPRESSIONS = st.builds(
    lambda minute, hour, day, weekday: f"{minute} {hour} {day} * {weekday}",
    *(fields(*NUMBERS[name]) for name in ("minute", "hour", "day", "weekday")),
)


@given(EXPRESSIONS, MOMENTS, st.sampled_from(ZONES))
@settings(max_examples=many(60), deadline=None)
def test_the_next_time_of_an_expression_is_the_first_minute_that_it_means(text, after, place):
    expected = walked(text, after, place)
    found = parse_cron(text).find_next(after, ZoneInfo(place))
    if expected is None:
        assert found is None or found > after + 4 * DAY
    else:
        assert found == expected


@given(fields(0, 59), fields(0, 23), fields(1, 28), fields(1, 12), MOMENTS)
@settings(max_examples=many(60), deadline=None)
def test_apscheduler_knows_the_same_times(minute, hour, day, month, now):
    trigger = CronTrigger.from_crontab(f"{minute} {hour} {day} {month} *", UTC)
    theirs = trigger.get_next_fire_time(None, datetime.fromtimestamp(now, UTC)).timestamp()
    assert Schedule(cron=parse_cron(f"{minute} {hour} {day} {month} *")).find_begin(now) == theirs


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 3 * * *", "2026-03-28T12:00", "2026-03-29T03:00"),
        ("30 2 * * *", "2026-03-28T12:00", "2026-03-29T03:30"),  # it does not exist, and comes as much later
        ("30 2 * * *", "2026-03-29T03:30", "2026-03-30T02:30"),
        ("0 0 29 2 *", "2026-03-01T00:00", "2028-02-29T00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00", "2104-02-29T00:00"),  # 2100 is no leap year
        ("0 12 13 * fri", "2026-11-01T00:00", "2026-11-06T12:00"),  # a Friday or the 13th, as cron has it
        ("0 12 * * sun", "2026-11-21T00:00", "2026-11-22T12:00"),
        ("0 12 * * 7", "2026-11-21T00:00", "2026-11-22T12:00"),
        ("0 12 * * 5-7", "2026-11-21T13:00", "2026-11-22T12:00"),
        ("0 0 1 jan,jul *", "2026-11-21T13:00", "2027-01-01T00:00"),
        ("0 3 L * *", "2028-02-01T00:00", "2028-02-29T03:00"),  # the last day of a month
        ("0 3 LW * *", "2026-05-01T00:00", "2026-05-29T03:00"),  # its last day from Monday to Friday
        ("0 3 * * mon#1", "2026-11-21T00:00", "2026-12-07T03:00"),  # its first Monday
        ("0 3 * * 5L", "2026-11-21T00:00", "2026-11-27T03:00"),  # its last Friday
        ("0 8/6 * * *", "2026-11-21T09:00", "2026-11-21T14:00"),  # 8, 14 and 20 o'clock
        ("0 8-8/6 * * *", "2026-11-21T09:00", "2026-11-22T08:00"),
        ("30 2 29 feb */7", "2026-11-21T00:00", "2032-02-29T02:30"),  # a leap day that is a Sunday
    ],
)
def test_times_of_cron_are_those_of_a_calendar(text, after, expected):
    assert parse_cron(text).find_next(at(after, BERLIN), ZoneInfo(BERLIN)) == at(expected, BERLIN)


def test_a_time_that_comes_twice_counts_once_and_every_hour_is_every_hour():
    place = ZoneInfo(BERLIN)

    def times(text):
        found = [AUTUMN]
        while (later := parse_cron(text).find_next(found[-1], place)) < AUTUMN + 25 * HOUR:
            found.append(later)
        return [(time - AUTUMN) / HOUR for time in found[1:]]

    assert times("30 2 * * *") == [2.5]
    assert times("30 * * * *") == [0.5 + hour for hour in range(25)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "five fields"), ("0 3 * *", "five fields"), ("0 3 * * * *", "five fields"), ("@daily", "five fields"),
        ("60 3 * * *", "from 0 to 59"), ("0 24 * * *", "from 0 to 23"), ("0 3 0 * *", "from 1 to 31"),
        ("0 3 * 13 *", "from 1 to 12, or jan"), ("0 3 * * 8", "from 0 to 7, or sun"), ("0 3 * * funday", "or sun, mon"),
        ("*/0 3 * * *", "write *, 3, 1-5"), ("5-1 3 * * *", "runs backwards"), ("0 3 * * sat-mon", "runs backwards"),
        ("x 3 * * *", "is no minute"), ("1/0 3 * * *", "is no minute"), ("0 3 31 2 *", "never comes"),
        ("0 3 30-31 feb *", "never comes"), ("1, 3 * * *", "is no minute"), ("-1 3 * * *", "is no minute"),
        ("٣ 3 * * *", "is no minute"), ("9" * 9999 + " 3 * * *", "is no minute"), ("0 3 * * mon#6", "is no day of"),
        ("0 3 */40 * mon#5", "never comes"),
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused_with_a_remedy(text, said):
    with pytest.raises(SettingsError) as error:
        parse_cron(text)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "22-6", "22:00", "22:00-25:00", "24:00-06:00", "22:00-22:00", "00:00-24:00", "9:00-17:00"]
)
def test_what_is_no_window_of_the_day_is_refused(text):
    with pytest.raises(SettingsError):
        parse_hours(text)


@pytest.mark.parametrize(
    "name", ["", "Berlin", "Europe/Berlinn", "../etc/passwd", "Europe", "/etc/localtime", "\0", "x" * 300]
)
def test_what_is_no_time_zone_is_refused(name):
    with pytest.raises(SettingsError, match="there is no time zone"):
        parse_zone(name)


def test_the_nearest_time_zone_is_named():
    with pytest.raises(SettingsError, match="did you mean 'Europe/Berlin'"):
        parse_zone("Europe/Berlinn")


def is_open(between, place, now):
    """Whether the hands of the clock stand within the window."""
    wall = datetime.fromtimestamp(now, ZoneInfo(place)).strftime("%H:%M")
    begin, end = between.split("-")
    return begin <= wall < end if begin < end else not end <= wall < begin


def flip(between, place, now):
    state = is_open(between, place, now)
    minute = (now // MINUTE + 1) * MINUTE
    while is_open(between, place, minute) == state:
        minute += MINUTE
    return minute


BETWEEN = st.tuples(WALLS, WALLS).filter(lambda pair: pair[0] != pair[1])
BETWEEN = BETWEEN.map(lambda pair: "-".join(f"{m // 60:02}:{m % 60:02}" for m in pair))


@given(
    BETWEEN | st.sampled_from(["02:10-02:50", "02:30-03:30", "22:00-06:00", "02:59-02:01"]),
    MOMENTS,
    st.sampled_from(ZONES),
)
@settings(max_examples=many(100), deadline=None)
def test_the_window_of_the_day_opens_and_closes_as_the_clock_on_the_wall_does(between, now, place):
    found = Schedule(between=parse_hours(between), timezone=place)
    later = flip(between, place, now)
    assert found.open(now) == is_open(between, place, now)
    assert found.find_closing(now) == (later if is_open(between, place, now) else None)
    assert found.find_begin(now) == (now if is_open(between, place, now) else later)


def test_a_day_may_end_at_24_hours():
    found = Schedule(between=parse_hours("18:00-24:00"))
    assert found.find_closing(at("2026-11-21T20:00")) == at("2026-11-22T00:00")


NIGHT = parse_hours("22:00-06:00")


@pytest.mark.parametrize(
    ("schedule", "now", "last", "expected"),
    [
        (Schedule(), "2026-11-21T12:00", None, "2026-11-21T12:00"),
        (Schedule(), "2026-11-21T12:00", "2026-11-21T11:59", "2026-11-21T12:00"),
        (Schedule(every=6.0 * HOUR), "2026-11-21T12:00", None, "2026-11-21T12:00"),
        (Schedule(every=6.0 * HOUR), "2026-11-21T12:00", "2026-11-21T11:00", "2026-11-21T17:00"),
        (Schedule(every=6.0 * HOUR), "2026-11-21T12:00", "2026-11-19T11:00", "2026-11-21T12:00"),
        (Schedule(cron=parse_cron("0 3 * * *")), "2026-11-21T12:00", None, "2026-11-22T03:00"),
        (Schedule(cron=parse_cron("0 12 * * *")), "2026-11-21T12:00", None, "2026-11-21T12:00"),
        (Schedule(cron=parse_cron("0 3 * * *")), "2026-11-21T03:05", "2026-11-21T03:05", "2026-11-22T03:00"),
        # the machine slept for three days: one turn makes up for them, at once
        (Schedule(cron=parse_cron("0 3 * * *")), "2026-11-21T12:00", "2026-11-18T03:05", "2026-11-21T12:00"),
        (Schedule(cron=parse_cron("0 12 * * *"), between=NIGHT), "2026-11-21T08:00", None, "2026-11-21T22:00"),
        (Schedule(every=6.0 * HOUR, between=NIGHT), "2026-11-21T05:00", "2026-11-21T04:00", "2026-11-21T22:00"),
    ],
)  # fmt: skip
def test_the_next_turn_begins_when_its_time_has_come_and_the_window_is_open(schedule, now, last, expected):
    assert schedule.find_begin(at(now), None if last is None else at(last)) == at(expected)


@given(MOMENTS, st.integers(0, 5000), EXPRESSIONS | st.none(), BETWEEN | st.none(), st.sampled_from(ZONES))
@settings(max_examples=many(80), deadline=None)
def test_a_turn_never_begins_too_early_nor_outside_of_the_window(now, ago, text, between, place):
    schedule = Schedule(
        None if text is None else parse_cron(text), None, None if between is None else parse_hours(between), place
    )  # fmt: skip
    last = now - ago * MINUTE
    begin = schedule.find_begin(now, last)
    assert begin is None or (begin >= now and schedule.open(begin))
    assert text is None or begin is None or begin >= parse_cron(text).find_next(last, ZoneInfo(place))


@pytest.mark.parametrize(
    ("schedule", "until", "now", "expected"),
    [
        # continuous: it goes on after the wait, where the window of the day lets it
        (Schedule(), "12:15", "12:10", "12:15"),
        (Schedule(between=parse_hours("08:00-20:00")), "20:10", "19:58", "32:00"),
        # the first wait ends a turn
        (Schedule(every=6.0 * HOUR), "12:15", "12:10", "18:10"),
        (Schedule(cron=parse_cron("30 * * * *")), "12:15", "12:10", "12:30"),
        # of which nothing would come while the wait lasts
        (Schedule(cron=parse_cron("30 * * * *")), "12:35", "12:29", "12:35"),
        # but for one that lasts
        (Schedule(every=6.0 * HOUR, lasting=1.0 * HOUR), "12:15", "12:10", "12:15"),
        (Schedule(every=6.0 * HOUR, lasting=1.0 * HOUR), "13:00", "12:58", "18:58"),
        (Schedule(every=6.0 * HOUR, lasting=1.0 * HOUR, between=parse_hours("08:00-12:12")), "12:15", "12:10", "32:00"),
    ],
)  # fmt: skip
def test_after_a_wait_the_turn_goes_on_or_the_next_one_is_waited_for(schedule, until, now, expected):
    def today(text):
        hour, minute = text.split(":")
        return at("2026-11-21") + int(hour) * HOUR + int(minute) * MINUTE

    assert schedule.find_resumption(today(until), today("12:00"), today(now)) == today(expected)


def test_a_turn_ends_with_its_time_or_with_the_window_of_the_day():
    began = at("2026-11-21T23:00")
    assert Schedule().find_end(began) is None
    assert Schedule(every=60.0).find_end(began) is None
    assert Schedule(every=60.0, lasting=1800.0).find_end(began) == began + 1800
    assert Schedule(every=60.0, lasting=10.0 * HOUR, between=NIGHT).find_end(began) == at("2026-11-22T06:00")
    assert Schedule(between=NIGHT).find_end(began) == at("2026-11-22T06:00")


def test_a_schedule_says_itself_in_words():
    whole = Schedule(cron=parse_cron("0 3 * * *"), lasting=3600.0, between=NIGHT, timezone=BERLIN)
    assert whole.describe() == "at '0 3 * * *', for 60 min, between 22:00 and 06:00 (Europe/Berlin)"
    assert (Schedule().describe(), Schedule(every=21_600.0).describe()) == ("continuous", "every 6 h 00 min")


def test_a_year_of_turns_takes_no_time_worth_naming():
    schedule, now, turns = Schedule(cron=parse_cron("0 3 * * *"), between=NIGHT, timezone=BERLIN), at("2026-01-01"), 0
    rng = random.Random(1)
    last = None
    while now < at("2027-01-01"):
        now = schedule.find_begin(now, last)
        turns += 1
        now = last = now + rng.uniform(60, 3 * HOUR)
    assert turns in (364, 365, 366)
    assert timedelta(days=364) < timedelta(seconds=now - at("2026-01-01"))
