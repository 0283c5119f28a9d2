"""Texts without names: what is hidden wherever it stands, and what only where it is no ordinary word.

- always: `@name`, whoever that is; addresses of the web down to their host, as they lead to profiles and posts; mail
  addresses; numbers of 15 digits or more, also within a word, as ids of posts and people are; ids of known people;
- everybody's usernames that have a digit or `_` or 8 letters or more, and everybody's display names of two words or
  more, or of one such word;
- the usernames and display names, whatever they are, of the author and of those whom the post mentions.

So the word jazz stays although somebody is called @jazz, except in what @jazz writes and in what mentions @jazz.
"""

import re
from collections.abc import Mapping, Sequence

from socialcrawl.exporters.columns import Person
from socialcrawl.exporters.pseudonyms import Pseudonyms

SHORT = 5  # words of a display name that are looked for; the rest of a longer one goes with them
LONG_WORD = 8  # letters from which on a username is hidden everywhere
NAME = "[name]"

WORD = re.compile(r"\w+")
# A mail address, an address, a name after @ (also as in an address, %40, and as wide as Chinese letters are), a long
# number. Lengths are bounded: a text of one long word must not take its square.
MARKED = re.compile(
    r"(?P<mail>[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,5}\w{2,})"
    r"|(?:https?|ftp)://(?P<host>[^\s/?#\"'<>]*)[^\s\"'<>]*"
    r"|(?P<bare>(?:[\w-]{1,63}\.){1,5}[a-z]{2,18})/[^\s\"'<>]+"
    r"|(?:[@\uff20]|%40)(?P<name>\w+)"
    r"|(?P<number>\d{15,})",
    re.IGNORECASE,
)


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case: letters, digits and `_`."""
    return [word.lower() for word in WORD.findall(text)]


class KnownNames:
    """The people who could be named in some texts.

    Args:
        pseudonyms: who is called what.
        handles: people by username in lower case.
        ids: people by the platform's id.
        names: display names, as words in lower case with one blank between.
    """

    def __init__(
        self, pseudonyms: Pseudonyms, handles: Mapping[str, Person], ids: Mapping[str, Person], names: set[str]
    ) -> None:
        self.pseudonyms, self.handles, self.ids = pseudonyms, handles, ids
        self._all_names = names
        self._names = {name for name in names if " " in name or _is_unmistakable(name)}
        self._near: dict[str, Person] = {}

    def add_people(self, people: Sequence[Person]) -> "KnownNames":
        """Return the same names, where a text is about these people: their names are hidden in all cases."""
        made = KnownNames(self.pseudonyms, self.handles, self.ids, self._all_names)
        for person in people:
            if person.username:
                made._near[person.username.lower()] = person
            if person.name and (words := split_words(person.name)[:SHORT]):
                made._names.add(" ".join(words))
        return made

    def hide_names(self, text: str) -> str:
        """Return the text without names."""
        parts, end = [], 0
        for match in MARKED.finditer(text):
            parts += [self._hide_words(text[end : match.start()]), self._replace_marked(match)]
            end = match.end()
        return "".join([*parts, self._hide_words(text[end:])])

    def _replace_marked(self, match: re.Match[str]) -> str:
        if match["mail"]:
            return "[mail]"
        if name := match["name"]:
            return f"@{self.pseudonyms.name_person(self.handles.get(name.lower()) or Person(None, name))}"
        if number := match["number"]:
            who = self.ids.get(number)
            return self.pseudonyms.name_post(number) if who is None else str(self.pseudonyms.name_person(who))
        if match["bare"]:
            return self._hide_words(match["bare"]) + "/…"
        return match[0].split("://", 1)[0] + "://" + self._hide_words(match["host"].rpartition("@")[2]) + "/…"

    def _hide_words(self, text: str) -> str:
        """Return a text without marked names: the words that are names are replaced, the rest stays as it is."""
        found = list(WORD.finditer(text))
        low = [match[0].lower() for match in found]
        parts, end, place = [], 0, 0
        while place < len(found):
            shown, length = self._find_name(low, place)
            if shown is not None:
                parts += [text[end : found[place].start()], shown]
                end = found[place + length - 1].end()
            place += length
        return "".join([*parts, text[end:]])

    def _find_name(self, words: list[str], place: int) -> tuple[str | None, int]:
        """Return what stands for the name that begins at a word, or None, and how many words that is."""
        for length in range(min(SHORT, len(words) - place), 1, -1):
            if " ".join(words[place : place + length]) in self._names:
                return NAME, length
        word = words[place]
        if (person := self._near.get(word)) or (_is_unmistakable(word) and (person := self.handles.get(word))):
            return self.pseudonyms.name_person(person), 1
        if (who := self.ids.get(word)) is not None:
            return self.pseudonyms.name_person(who), 1
        return NAME if word in self._names else None, 1


def _is_unmistakable(word: str) -> bool:
    return len(word) >= LONG_WORD or "_" in word or any(letter.isdigit() for letter in word)
