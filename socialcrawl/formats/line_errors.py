"""The lines of a file that could not be read: how many, and the first ones with their reasons."""

from dataclasses import dataclass, field

from socialcrawl.errors import PostsFileError
from socialcrawl.text.wording import pluralize

SHOWN = 5  # bad lines that a message names
LONGEST = 300  # characters of a reason: it may quote what stands in a file


@dataclass
class LineErrors:
    """The bad lines so far; `notes` is what else is to be said of the files."""

    count: int = 0
    first: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, place: str, why: str) -> None:
        """Note a bad line: where it is and what is wrong with it."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(f"{place}: {why[:LONGEST]}")

    def refuse(self, remedy: str = "Fix the file, or skip such lines with --skip-bad.") -> None:
        """Raise PostsFileError if there are bad lines; `remedy` says what to do."""
        if self.count:
            raise PostsFileError(f"{pluralize(self.count, 'bad line')}, nothing was stored:\n{self}\n{remedy}")

    def __str__(self) -> str:
        more = self.count - len(self.first)
        return "\n".join([*(f"  {line}" for line in self.first), *([f"  and {more:,} more"] if more else [])])
