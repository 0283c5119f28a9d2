"""Asking through acquaintances: a question goes from person to person, to those said to be experts (section 2.2)."""

from collections.abc import Mapping
from typing import NamedTuple

from examples.asking import Asking, absent, answered, silent
from socialcrawl.engine.model import Grant, Reply
from socialcrawl.errors import SettingsError


class Person(NamedTuple):
    """One individual, asked about one question: the expertise she gives herself, and that she gives her acquaintances.

    Expertise is in whole points, 0 for none; the scale is the same for everybody.
    """

    expertise: int
    acquaintances: Mapping[str, int]


class Acquaintances(Asking):
    """The people of an acquaintance network as a source: one request from one person to another is one step."""

    def __init__(self) -> None:
        super().__init__("person", float)


class PeopleWire:
    """The `people` who can be asked (name -> person; None: she does not answer now); others are missing.

    Raises:
        SettingsError: somebody's points are negative or not whole.
    """

    def __init__(self, people: Mapping[str, Person | None]) -> None:
        for name, person in people.items():
            for points in () if person is None else (person.expertise, *person.acquaintances.values()):
                if not isinstance(points, int) or points < 0:
                    raise SettingsError(f"{name} gives {points!r} points of expertise: give whole points, 0 or more.")
        self.people = people

    def send(self, grant: Grant) -> Reply:
        """Return what one person says of herself and of those she knows."""
        name = grant.request.params["key"]
        if name not in self.people:
            return absent(grant)
        person = self.people[name]
        if person is None:
            return silent(grant, f"{name} does not answer")
        return answered(grant, [(name, "", person.expertise)], person.acquaintances)
