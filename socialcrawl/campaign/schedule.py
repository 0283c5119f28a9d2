"""When a campaign works: always, at the times of a cron expression, or after a pause; and in which hours of the day.

A *turn* is a stretch of work. A continuous campaign has one turn, which the window of the day may interrupt. With
`cron` or `every` a turn begins at its time and goes on until the campaign has to wait for the first time, be it for a
window of the platform, its share of a token or a pause after a failure; with `lasting` it waits and goes on until so
many seconds after it began. Then the next turn is waited for. Pure: time is an argument, Unix seconds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from difflib import get_close_matches
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import format_span

FIELDS = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day of the month": "1 to 31",
    "month": "1 to 12, or jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec",
    "day of the week": "0 to 7, or sun, mon, tue, wed, thu, fri, sat",
}
HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])\s*-\s*(?:([01][0-9]|2[0-3]):([0-5][0-9])|(24):(00))")
SINGLE = re.compile(r"\b([0-9a-z]+)-\1/[0-9]+", re.IGNORECASE)  # 5-5/10 means 5; cronsim reads it as 5/10
HOUR, DAY, WHOLE = 3600, 86_400, 1440  # seconds, seconds, minutes of a day


@dataclass(frozen=True, slots=True)
class Cron:
    """The times of a cron expression: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday).

    cronsim finds the times on the wall, as cron itself has them: where both kinds of days are named, either is enough.
    What becomes of them when clocks are changed is decided here. A wall time that a day lacks (clocks go forward) comes
    as much later; one that comes twice counts once, or twice where every hour is meant.
    """

    text: str
    hourly: bool

    def find_next(self, at: float, zone: ZoneInfo) -> float | None:
        """Return the first of its times later than `at` by the clocks of `zone`; None if none comes in 50 years."""
        wall = datetime.fromtimestamp(at, zone).replace(tzinfo=None)
        found: list[float] = []
        ends = wall
        for hands in CronSim(SINGLE.sub(r"\1", self.text), wall - _find_clock_change(at, zone)):
            if found and hands > ends:
                break
            times = (hands.replace(tzinfo=zone, fold=fold).timestamp() for fold in range(1 + self.hourly))
            later = [time for time in times if time > at]
            if later and not found:
                ends = hands + _find_clock_change(later[0], zone)  # what the hands show after that comes later
            found += later
        return min(found, default=None)


def _find_clock_change(at: float, zone: ZoneInfo) -> timedelta:
    """Return by how much the clocks of a zone are changed within a day of `at`."""
    moments = (datetime.fromtimestamp(at + days * DAY, zone) for days in (-1, 0, 1))
    offsets = [moment.utcoffset() or timedelta() for moment in moments]
    return max(offsets) - min(offsets)


def parse_cron(text: str) -> Cron:
    """Return the times that a cron expression of five fields means.

    Raises:
        SettingsError: it is none, or means no time at all.
    """
    parts = text.split()
    if len(parts) != len(FIELDS):
        raise SettingsError(
            f"{text!r} is not a cron expression: write five fields (minute, hour, day of the month, month, day of the "
            'week), as "0 3 * * *" for every day at 03:00'
        )
    for field, name in enumerate(FIELDS):
        for part in parts[field].split(","):
            _check(part, field, name)
    times = _parse_with_cronsim(text)
    found = Cron(text, times is not None and len(times.hours) == 24)
    if times is None or found.find_next(0.0, ZoneInfo("UTC")) is None:
        raise SettingsError(f"{text!r} never comes: no such month has such a day")
    return found


def _parse_with_cronsim(text: str) -> CronSim | None:
    """Return what cronsim makes of an expression; None if it makes nothing of it."""
    try:
        return CronSim(text, datetime(1970, 1, 1))  # noqa: DTZ001 (a time on the wall, in no zone)
    except (CronSimError, ValueError):  # ValueError: a number of thousands of digits
        return None


def _is_known(part: str, field: int) -> bool:
    return _parse_with_cronsim(" ".join(part if number == field else "*" for number in range(len(FIELDS)))) is not None


def _check(part: str, field: int, name: str) -> None:
    """Check one part of a field; raise SettingsError if cron does not know it."""
    if _is_known(part, field):
        return
    ends = part.partition("/")[0].split("-")
    if len(ends) == 2 and all(_is_known(end, field) for end in ends):
        raise SettingsError(f"{part!r} runs backwards as a {name}: write it as two ranges, parted by a comma")
    raise SettingsError(
        f"{part!r} is no {name} of a cron expression: write *, 3, 1-5, */10 or 1,15, with numbers from {FIELDS[name]}"
    )


def parse_hours(text: str) -> tuple[int, int]:
    """Return the window of the day written as 22:00-06:00: minutes after midnight, its end exclusive.

    Raises:
        SettingsError: it is none, or empty.
    """
    match = HOURS.fullmatch(text.strip())
    if match is None:
        raise SettingsError(f'{text!r} is not a window of the day: write "22:00-06:00"')
    a, b, *rest = (int(part) for part in match.groups() if part is not None)
    begin, end = 60 * a + b, 60 * rest[0] + rest[1]
    if begin == end % WHOLE:
        raise SettingsError(f"{text!r} begins where it ends: remove it, or write the hours that are meant")
    return begin, end % WHOLE


def parse_zone(name: str) -> ZoneInfo:
    """Return the time zone of that name.

    Raises:
        SettingsError: there is none; the message gives the nearest.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        nearest = get_close_matches(name, sorted(available_timezones()), 1)
        hint = f": did you mean {nearest[0]!r}?" if nearest else ": write one such as Europe/Berlin, or UTC"
        raise SettingsError(f"there is no time zone {name!r}{hint}") from error


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a campaign works; continuous where neither `cron` nor `every` is given.

    Attributes:
        cron: the times at which turns begin.
        every: seconds from the end of a turn to the next.
        between: the window of the day, as `parse_hours` returns it.
        timezone: whose clocks `cron` and `between` mean.
        lasting: seconds that a turn may last; None: until it has to wait.
    """

    cron: Cron | None = None
    every: float | None = None
    between: tuple[int, int] | None = None
    timezone: str = "UTC"
    lasting: float | None = None

    @property
    def continuous(self) -> bool:
        """Whether there is one turn only."""
        return self.cron is None and self.every is None

    def open(self, now: float) -> bool:
        """Return whether the window of the day is open at `now`."""
        if self.between is None:
            return True
        wall = datetime.fromtimestamp(now, parse_zone(self.timezone))
        at, (begin, end) = 60 * wall.hour + wall.minute, self.between
        return begin <= at < end if begin < end else at >= begin or at < end

    def find_hours(self, now: float) -> float:
        """Return when the window of the day is open next, whatever the turns: `now` or later."""
        return now if self.open(now) else self._find_opening(now) or now

    def find_closing(self, now: float) -> float | None:
        """Return when the window of the day that is open at `now` closes; None: none is, or there is no such window."""
        return self._list_turns(now) if self.between is not None and self.open(now) else None

    def find_begin(self, now: float, last: float | None = None) -> float | None:
        """Return when the next turn may begin, `now` or later; None: never.

        A time that was slept through is made up for at once, several of them by one turn; one at which the window of
        the day is closed is put off until it opens.

        Args:
            now: Unix seconds.
            last: when the last turn ended; None: there was none, and cron's next time is waited for.
        """
        due: float | None = now
        if self.cron is not None:
            due = self.cron.find_next(now - 1e-6 if last is None else last, parse_zone(self.timezone))
        elif self.every is not None and last is not None:
            due = last + self.every
        return None if due is None else self._find_opening(max(now, due))

    def find_end(self, began: float) -> float | None:
        """Return when a turn that began then pauses at the latest, though it need not wait; None: nothing says so."""
        lasting = None if self.lasting is None or self.continuous else began + self.lasting
        return min((at for at in (self.find_closing(began), lasting) if at is not None), default=None)

    def find_resumption(self, until: float, began: float, now: float) -> float | None:
        """Return when a campaign goes on that has to wait at `now` until `until`, in a turn that began at `began`.

        That is in the same turn if it still lasts then; else in the next, which begins when both its time has come and
        the wait is over. None: never.
        """
        until = max(now, until)
        ends = self.find_end(began)
        if (self.continuous or self.lasting is not None) and (ends is None or until < ends) and self.open(until):
            return until
        due = self.find_begin(now, None if self.continuous else now)
        return None if due is None else self._find_opening(max(due, until))

    def describe(self) -> str:
        """Return the schedule in words, for people."""
        parts = [] if self.cron is None else [f"at {self.cron.text!r}"]
        parts += [] if self.every is None else [f"every {format_span(self.every)}"]
        parts += [] if self.lasting is None else [f"for {format_span(self.lasting)}"]
        if self.between is not None:
            begin, end = (f"{minute // 60:02}:{minute % 60:02}" for minute in self.between)
            parts.append(f"between {begin} and {end}")
        zoned = self.cron is not None or self.between is not None
        return ", ".join(parts or ["continuous"]) + (f" ({self.timezone})" if zoned else "")

    def _find_opening(self, now: float) -> float | None:
        return now if self.open(now) else self._list_turns(now)

    def _list_turns(self, now: float) -> float | None:
        """Return when the window of the day next opens or closes; four days are enough for every change of clocks."""
        place = parse_zone(self.timezone)
        today = datetime.fromtimestamp(now, place).date()
        edges = {
            datetime.combine(today + timedelta(days=days), time(*divmod(minute, 60), fold=fold), place).timestamp()
            for days in range(-1, 4)
            for minute in self.between or ()
            for fold in (0, 1)
        }
        is_open = self.open(now)
        later = sorted(edge for edge in edges | set(_find_clock_changes(now, 4 * 24, place)) if edge > now)
        return next((edge for edge in later if self.open(edge) != is_open), None)


def _find_clock_changes(now: float, count: int, place: ZoneInfo) -> Iterator[float]:
    """Yield when the clocks of a zone are changed in the `count` hours from the hour of `now` on."""

    def offset(at: float) -> float:
        return (datetime.fromtimestamp(at, place).utcoffset() or timedelta()).total_seconds()

    first = int(now // HOUR) * HOUR
    for begin in range(first, first + count * HOUR, HOUR):
        before = offset(begin)
        low, high = begin, begin + HOUR
        if offset(high) == before:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == before else (low, middle)
        yield float(high)
