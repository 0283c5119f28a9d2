"""What the judges of the mock's X share: a town as a file of posts, what that file says, and the way to the mock.

The judges are clients written by others. `Town` reads its own rows and nothing of the mock, so it can be the oracle.
"""

import json
import re
from datetime import datetime
from typing import NamedTuple

START = 1_700_000_000
MISSING = 0.25  # the share at which the accounts below are missing; all others of the town are here
SUSPENDED, PROTECTED, DELETED, UNHEARD = "ida", "mia", "ray", "unheard_of"
LONGEST, CUT = 280, 277  # of https://docs.x.com: what a text may have, and where it is cut for the note to say the rest
TWEET_FIELDS = [
    *("created_at", "author_id", "entities", "referenced_tweets", "conversation_id", "lang", "public_metrics"),
    *("in_reply_to_user_id", "note_tweet"),
]
TWEET_EXPANSIONS = [
    *("author_id", "entities.mentions.username", "in_reply_to_user_id"),
    *("referenced_tweets.id", "referenced_tweets.id.author_id"),
]
POST_FIELDS = ["created_at", "entities", "conversation_id", "lang", "public_metrics", "note_post"]
POST_EXPANSIONS = ["author_id", "entities.mentions.username", "referenced_posts", "in_reply_to_user_id"]


class Told(NamedTuple):
    """A post as the file or a client tells it.

    `named` are the accounts mentioned in `text`, as they come there; `note`, `noted` the same for the whole of a text
    that was cut. `answers` and `repeats` are ids ("elsewhere": not in the file), `answered` a name ("gone": not shown).
    """

    id: str
    author: str
    at: int
    text: str
    named: tuple[str, ...]
    note: str | None = None
    noted: tuple[str, ...] | None = None
    answers: str | None = None
    answered: str | None = None
    repeats: str | None = None

    def without_note(self):
        return self._replace(note=None, noted=None)


class Town:
    """A small town: Eve writes much, others answer, repeat and mention; three of them are missing."""

    def __init__(self):
        self.rows = []
        self._write("Eve", -30 * 86_400, "an old harvest, long ago")
        for i in range(57):
            self._write("EVE" if i == 40 else "Eve", 60 * i, f"harvest {i} 🌾🚜 #Harvest")
        self._write("bob", 4_000, "🐈🐈 hey @eve and @Kim: https://example.org/a_b?c=1.", "eve kim", self.rows[4]["id"])
        self._write("bob", 4_001, "RT @Eve: harvest 3 🌾🚜 #Harvest", "eve")
        self._write("cy", 4_100, "ć" * 150 + " @bob " + "y " * 100 + "@eve #late", "bob eve")
        self._write("EVE", 4_200, "I agree", answers=self.rows[-1]["id"])
        self._write("cy", 4_300, "RT @gone: never seen", "gone")
        self._write("cy", 4_301, "not in the text, this name", "gus")
        for i, name in enumerate((SUSPENDED, PROTECTED, DELETED)):
            self._write(name, 4_400 + 9 * i, "harvest of the missing, @Eve", "eve")
            self._write("bob", 4_403 + 9 * i, f"and you, @{name}? 👋", name, self.rows[-1]["id"])
            self._write("bob", 4_406 + 9 * i, f"RT @{name}: harvest of the missing, @Eve", f"{name} eve")
        self._write("bob", 4_600, "to a name alone, @cy", "cy", "cy")
        self._write("bob", 4_700, '&amp; <b>ﬁn</b> "İ" \\ \u2028 @eve', "eve")
        self.names = {row["author"].lower(): row["author"] for row in reversed(self.rows)}

    def _write(self, author, after, text, mentions="", answers=None):
        number = str(101_000 + len(self.rows))
        self.rows.append(
            {
                "id": number,
                "author": author,
                "created_at": START + after,
                "text": text,
                "mentions": mentions.split(),
                "reply_to": answers,
            }
        )

    def file(self, folder):
        """The town as a file of posts in that folder."""
        path = folder / "town.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")
        return path

    def timeline(self, name):
        """What the file says of an account's posts, newest first."""
        return [self._told(row) for row in reversed(self.rows) if row["author"].lower() == name.lower()]

    def mentions(self, name):
        """What the file says of the posts that name an account, by those who are here."""
        return [self._told(row) for row in reversed(self.rows) if name in row["mentions"] and _here(row["author"])]

    def found(self, word, since=START - 6 * 86_400):
        """What the file says of the posts after a second with a word, but retweets, by those who are here."""
        return [
            self._told(row)
            for row in reversed(self.rows)
            if word in re.findall(r"\w+", row["text"].lower())
            and row["created_at"] > since
            and not row["text"].startswith("RT ")
            and _here(row["author"])
        ]

    def archived(self, word):
        """The same of all posts, whenever they were posted."""
        return self.found(word, since=0)

    def _told(self, row):
        by_id = {other["id"]: other for other in self.rows}
        text, answers = row["text"], row["reply_to"]
        answered = by_id[answers]["author"] if answers in by_id else answers
        told = Told(
            id=row["id"],
            author=self.names[row["author"].lower()],
            at=row["created_at"],
            text=text if len(text) <= LONGEST else text[:CUT] + "…",
            named=self._named(row, text if len(text) <= LONGEST else text[:CUT]),
            answers=answers if answers in by_id else None,
            answered=None if answered is None else self._shown(answered),
            repeats=self._original(text),
        )
        return told if len(text) <= LONGEST else told._replace(note=text, noted=self._named(row, text))

    def _named(self, row, text):
        """The names of the row that the text has, as they come there; before them those that it never has."""
        places = [(text.lower().find("@" + name), name) for name in row["mentions"]]
        if text != row["text"]:
            places = [(place, name) for place, name in places if place >= 0]
        return tuple(self.names.get(name, name) for _, name in sorted(places))

    def _shown(self, name):
        return "gone" if name.lower() in (SUSPENDED, DELETED) else self.names[name.lower()]

    def _original(self, text):
        match = re.match(r"RT @(\w+): (.*)", text)
        if not match:
            return None
        same = [row["id"] for row in self.rows if row["author"].lower() == match[1].lower() and row["text"] == match[2]]
        return same[0] if same else "elsewhere"

    def told(self, post, users):
        """A post of an answer, as a dict in either vocabulary.

        Args:
            post: the dict.
            users: the usernames by id of the users that came with it.
        """
        note = post.get("note_tweet") or post.get("note_post")
        references = {
            one["type"]: one["id"] for one in post.get("referenced_tweets") or post.get("referenced_posts") or ()
        }
        known = {row["id"] for row in self.rows}
        repeats, answered = references.get("retweeted"), post.get("in_reply_to_user_id")
        return Told(
            id=post["id"],
            author=users[post["author_id"]],
            at=int(datetime.fromisoformat(post["created_at"]).timestamp()),
            text=post["text"],
            named=_mentioned(post["text"], post),
            note=note["text"] if note else None,
            noted=_mentioned(note["text"], note) if note else None,
            answers=references.get("replied_to"),
            answered=None if answered is None else users.get(answered, "gone"),
            repeats=repeats if repeats in known or repeats is None else "elsewhere",
        )


def _here(author):
    return author.lower() not in (SUSPENDED, PROTECTED, DELETED)


def _mentioned(text, told):
    """The names among the entities; each must stand where it says it does, or nowhere if it is not there."""
    mentions = (told.get("entities") or {}).get("mentions") or ()
    for one in mentions:
        place, name = text[one["start"] : one["end"]].lower(), "@" + one["username"].lower()
        assert place == (name if name in text.lower() else "")
    return tuple(one["username"] for one in mentions)


def by_tweepy(town, response):
    """The posts of a tweepy.Response, read from the attributes of its models."""
    users = {str(user.id): user.username for user in response.includes.get("users", ())}
    return [town.told(_plain(tweet), users) for tweet in response.data or ()]


def _plain(tweet):
    answered = tweet.in_reply_to_user_id
    return {
        "id": str(tweet.id),
        "text": tweet.text,
        "author_id": str(tweet.author_id),
        "created_at": tweet.created_at.isoformat(),
        "entities": tweet.entities,
        "referenced_tweets": [{"type": one.type, "id": str(one.id)} for one in tweet.referenced_tweets or ()],
        "in_reply_to_user_id": None if answered is None else str(answered),
        "note_tweet": tweet.data.get("note_tweet"),
    }


class Clock:
    """A clock for a mock (`running(time=clock.time)`) and its client: sleeping moves it, and nobody waits."""

    def __init__(self):
        self.now, self.slept = START + 3e7 + 0.25, []

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class AsyncClock(Clock):
    """The same for clients that await their sleep."""

    async def sleep(self, seconds):
        super().sleep(seconds)


def requests_of(report):
    """The requests of each kind of token, and those over a limit: {kind: (requests, over)}."""
    counted = {}
    for window in report["windows"]:
        requests, over = counted.get(window["who"], (0, 0))
        counted[window["who"]] = (requests + window["requests"], over + window["over"])
    return counted
