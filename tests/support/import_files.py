"""What the tests of imports share: posts as people wrote them, written down as each kind of file has them."""

import gzip
import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from socialcrawl.importers.import_posts import PostFiles

WORD = "telescope"
FETCHED = "2023-05-06T07:08:09+00:00"
NOW = 1_700_000_000.0


@dataclass
class Written:
    """A post: who wrote what, whom it names in which order, whom it answers or repeats."""

    id: str
    author: int
    at: int
    text: str
    names: list[int] = field(default_factory=list)
    answers: tuple[str, int] | None = None  # (post, person)
    repeats: tuple[str, int] | None = None
    likes: int = 0

    @property
    def hits(self):
        return self.text.lower().split().count(WORD)

    def kinds(self):
        """{person: kind}, in the order in which they are named; the strongest kind counts."""
        found = {}
        for place, person in enumerate(dict.fromkeys(self.names)):
            found[person] = "repost" if self.repeats and place == 0 else "mention"
        if self.answers:
            found[self.answers[1]] = "reply"
        return found


def name(person):
    return f"Person{person}"


def drawn(seed=1, posts=60, people=12):
    """Posts of some people, drawn; a repost names first whom it repeats."""
    chance = Random(seed)
    made = []
    for i in range(posts):
        author = chance.randrange(people)
        names = [chance.randrange(people + 4) for _ in range(chance.randrange(4))]
        answers = repeats = None
        if made and chance.random() < 0.4:
            other = chance.choice(made)
            if chance.random() < 0.5:
                answers = (other.id, other.author)
            else:
                repeats, names = (other.id, other.author), [other.author, *names]
        words = chance.choices([WORD, "sky", "Telescope", "é😀"], k=chance.randrange(5))
        begin = f"RT @{name(repeats[1])}: " if repeats else ""
        text = " ".join([begin + " ".join(words), *(f"@{name(n)}" for n in names[bool(repeats) :])]).strip()
        made.append(Written(str(5000 + i), author, 1_600_000_000 + 997 * i, text, names, answers, repeats, i))
    return made


def time_of(at):
    return datetime.fromtimestamp(at, UTC)


def user(person, **more):
    counts = {"followers_count": 7 * person, "following_count": 1, "tweet_count": 3, "listed_count": 0}
    return {"id": str(100 + person), "username": name(person), "name": f"P {person}", "public_metrics": counts, **more}


def tweet(post, **more):
    """API v2's words."""
    given = {
        "id": post.id,
        "author_id": str(100 + post.author),
        "text": post.text,
        "created_at": f"{time_of(post.at):%Y-%m-%dT%H:%M:%S}.000Z",
        "conversation_id": post.id,
        "public_metrics": {"like_count": post.likes, "reply_count": 0, "retweet_count": 0, "quote_count": 0},
        "entities": {"mentions": [{"id": str(100 + n), "username": name(n)} for n in post.names]},
        **more,
    }
    if post.answers:
        given |= {"in_reply_to_user_id": str(100 + post.answers[1])}
    kinds = [("replied_to", post.answers), ("retweeted", post.repeats)]
    if references := [{"type": kind, "id": to[0]} for kind, to in kinds if to]:
        given["referenced_tweets"] = references
    return given


def pages(posts, size=7):
    """twarc2's lines: a page a line."""
    for i in range(0, len(posts), size):
        some = posts[i : i + size]
        users = [user(person) for person in sorted({post.author for post in some})]
        yield {
            "data": [tweet(post) for post in some],
            "includes": {"users": users},
            "meta": {"result_count": len(some)},
            "__twarc": {"url": "https://api.example/2", "version": "2.14.0", "retrieved_at": FETCHED},
        }


def flat(posts):
    """Lines of `twarc2 flatten`: a post a line, its author inside."""
    for post in posts:
        yield {**tweet(post), "author": user(post.author), "__twarc": {"retrieved_at": FETCHED}}


def old(posts):
    """Lines of twarc 1: API 1.1."""
    for post in posts:
        repeated = {"retweeted_status": {"id_str": post.repeats[0]}} if post.repeats else {}
        answered = {}
        if post.answers:
            answered = {"in_reply_to_status_id_str": post.answers[0]}
            answered |= {"in_reply_to_user_id_str": str(100 + post.answers[1])}
        counts = {"followers_count": 7 * post.author, "friends_count": 1, "statuses_count": 3, "listed_count": 0}
        yield {
            "id": int(post.id),
            "id_str": post.id,
            "full_text": post.text,
            "created_at": f"{time_of(post.at):%a %b %d %H:%M:%S} +0000 {time_of(post.at):%Y}",
            "user": {"id_str": str(100 + post.author), "screen_name": name(post.author), "name": f"P {post.author}"}
            | counts,
            "entities": {"user_mentions": [{"id_str": str(100 + n), "screen_name": name(n)} for n in post.names]},
            "favorite_count": post.likes,
            **repeated,
            **answered,
        }


def columns(posts):
    """Rows with columns; whom a post answers is found by the id of the answered post."""
    for post in posts:
        yield {
            "id": post.id,
            "author": name(post.author),
            "created_at": post.at,
            "text": post.text,
            "mentions": [name(n) for n in post.names],
            "reply_to": post.answers[0] if post.answers else None,
            "likes": post.likes,
        }


FORMS = {"pages": pages, "flat": flat, "old": old, "columns": columns}


def write_lines(path, lines):
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def files(*paths, **more):
    return PostFiles(list(paths), **more)


def table(connection, sql):
    with connection.begin():
        return [tuple(row) for row in connection.exec_driver_sql(sql)]


def everything(connection):
    """All rows of all tables that an import writes."""
    names = ("account", "post", "mention", "hit", "pick", "outcome", "link")
    return {name: sorted(table(connection, f"select * from {name}"), key=repr) for name in names}


def held(connection):
    """Posts and mentions in the platform's words: {id: (author, time, text, likes)}, {(id, person, kind)}."""
    posts = table(
        connection,
        "select p.id, a.handle, p.created_at, p.text, p.likes, p.reply_to, p.repost_of from post p "
        "join account a on a.node = p.author",
    )
    mentions = table(connection, "select m.post, a.handle, m.kind from mention m join account a on a.node = m.node")
    return {row[0]: row[1:] for row in posts}, set(mentions)


def f(x):
    return 1 + math.log(x) if x else 0.0


def read_of(posts):
    """{person: (posts, occurrences, value, [(person, weight)])} by the definition, people in order of first post."""
    found = {}
    for person in dict.fromkeys(post.author for post in posts):
        mine = [post for post in posts if post.author == person]
        hits, near = 0, {}
        for post in mine:
            hits += post.hits
            for other in post.kinds():
                near[other] = near.get(other, 0) + post.hits
        found[person] = (len(mine), hits, f(hits), [(other, f(x)) for other, x in near.items()])
    return found


def long(text, lang, created_at, urls=None, names=None):
    """As many occurrences as a text has letters."""
    return len(text)
