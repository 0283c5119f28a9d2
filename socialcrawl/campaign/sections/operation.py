"""Sections on a campaign that a daemon runs for weeks: when it works, and who is told how it fares."""

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from socialcrawl.campaign.schedule import Schedule, parse_cron, parse_hours, parse_zone
from socialcrawl.campaign.sections.values import Section, Span, Variable, make_check
from socialcrawl.text.wording import explain_unknown, parse_seconds

Times = Annotated[str, make_check(parse_cron)]
Hours = Annotated[str, make_check(parse_hours)]
Zone = Annotated[str, make_check(parse_zone)]
NOTICES = ("paused", "ended", "stalled", "down")


class ScheduleSection(Section):
    """When a daemon works on it; see `schedule.Schedule`."""

    continuous: bool | None = Field(default=None, description="always: the default without cron and every")
    cron: Times | None = Field(
        default=None, description="a turn begins at these times: minute, hour, day of month, month, day of week"
    )
    every: Span | None = Field(default=None, description="a turn begins so long after the last one ended: 6h, 1d")
    lasting: Span | None = Field(
        default=None, description="how long a turn of cron or every lasts; default: until its first wait"
    )
    between: Hours | None = Field(
        default=None, description="hours of the day: 22:00-06:00; nothing is fetched at other times"
    )
    timezone: Zone = Field(default="UTC", description="time zone of cron and between: Europe/Berlin")

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        named = [key for key in ("continuous", "cron", "every") if getattr(self, key)]
        if len(named) > 1:
            raise ValueError(f"{' and '.join(named)} contradict each other: keep one of them")
        if not named and self.continuous is False:
            raise ValueError("continuous = false says not when: set cron or every")
        if self.lasting is not None and self.cron is None and self.every is None:
            raise ValueError("lasting is how long a turn of cron or every may last: set one of them, or remove it")
        return self

    @property
    def schedule(self) -> Schedule:
        """The schedule that is written here."""
        return Schedule(
            None if self.cron is None else parse_cron(self.cron),
            None if self.every is None else parse_seconds(self.every),
            None if self.between is None else parse_hours(self.between),
            self.timezone,
            None if self.lasting is None else parse_seconds(self.lasting),
        )


class ComplianceSection(Section):
    """Checks which of what is stored the platform no longer shows; that is deleted."""

    every: Span | None = Field(default=None, description="how often a daemon checks: 1d; default: never")

    @property
    def seconds(self) -> float | None:
        """How often a daemon checks, in seconds; None: never."""
        return None if self.every is None else parse_seconds(self.every)


class FleetSection(Section):
    """Who sends the requests of a campaign: the process that runs it, or the workers of a Dask cluster."""

    scheduler: Annotated[str, Field(pattern=r"^(tcp|tls)://[^\s/@?#]+:\d+$")] | None = Field(
        default=None,
        description="address of a Dask scheduler whose workers send the requests: tcp://10.0.0.1:8786; none: this "
        "process sends them",
    )


class NotifySection(Section):
    """Notices of a daemon: when the campaign is paused, stopped, done or stalled, or its platform is down."""

    on: list[str] = Field(default=list(NOTICES), description=f"events to report: {', '.join(NOTICES)}")
    command: list[str] = Field(default=[], description="a program and its arguments, run at each notice")
    webhook_env: Variable | None = Field(
        default=None, description="environment variable that holds the address to post notices to: it is a secret"
    )
    apprise_env: Variable | None = Field(
        default=None,
        description="environment variable that holds addresses of apprise (mail, Matrix, Telegram, ntfy): secrets",
    )

    @field_validator("on")
    @classmethod
    def _check_notices(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in NOTICES:
                raise ValueError(explain_unknown("notice", name, NOTICES))
        return names

    @field_validator("command")
    @classmethod
    def _check_command(cls, words: list[str]) -> list[str]:
        if words and not words[0].strip():
            raise ValueError("its first word is the program to run: write it, or remove the command")
        return words
