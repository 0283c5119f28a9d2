"""What an import has to remember beyond the tables until its end, in temporary tables: memory does not grow with it.

`place` counts the posts of the import as they come; a mention lies at place * SPAN + its position in the post, so that
first mention is the smallest.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, exists, insert, literal, select, update

from socialcrawl.engine.model import Who
from socialcrawl.storage.answer_packing import Mentioned
from socialcrawl.storage.database.bulk import Lookup, make_insert, make_update, match_keys
from socialcrawl.storage.imports.parsed_page import ParsedPage
from socialcrawl.storage.schema.tables import mention, post

SPAN = 2**16  # mentions of a post at most; the last is kept for the one who is answered
SOME = 1000  # rows looked at together
REPLY = "reply"
metadata = MetaData()

posts = Table(
    "import_post",
    metadata,
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("post", Text, unique=True),
    Column("author", BigInteger, index=True),
    Column("hits", BigInteger),
    prefixes=["TEMPORARY"],
)
mentions = Table(
    "import_mention",
    metadata,
    Column("lies", BigInteger, primary_key=True, autoincrement=False),
    Column("place", BigInteger, index=True),
    Column("node", BigInteger),
    prefixes=["TEMPORARY"],
)
replies = Table(
    "import_reply",
    metadata,
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("post", Text),
    Column("answered", Text),
    Column("node", BigInteger),
    prefixes=["TEMPORARY"],
)

authors = Table(
    "import_author",
    metadata,
    Column("rank", BigInteger, primary_key=True, autoincrement=False),
    Column("node", BigInteger, index=True),
    Column("posts", BigInteger),
    Column("hits", BigInteger),
    prefixes=["TEMPORARY"],
)


class ImportTables:
    """The temporary tables of an import. Called inside a transaction.

    Args:
        connection: the database.
        history: whether posts and mentions are noted too: a history is made of them.
    """

    def __init__(self, connection: Connection, *, history: bool) -> None:
        self.connection, self.history = connection, history
        self.place = 0
        metadata.drop_all(connection, checkfirst=True)
        metadata.create_all(connection, checkfirst=False)
        self._noted = Lookup(connection, select(posts.c.post).where(match_keys(connection, posts.c.post)))
        self._post = make_insert(connection, posts, ("place", "post", "author", "hits"))
        self._mention = make_insert(connection, mentions, ("lies", "place", "node"))
        self._reply = make_insert(connection, replies, ("place", "post", "answered"))
        self._node = make_update(connection, replies, ("node",), "place")
        self._no_post = make_update(connection, post, ("reply_to",), "id")

    def note_page(self, found: ParsedPage, numbers: Mapping[Who, int], pairs: Mentioned) -> None:
        """Note a page; a post that was in the import before is not noted again."""
        rows = found.page.posts
        if self.history:
            known = {key for (key,) in self._noted.fetch_rows([row.id for row in rows])}
            first = {row.id: place for place, row in reversed(list(enumerate(rows))) if row.id not in known}
            self._note_places(found, sorted(first.values()), numbers, pairs)
        self._reply.run([(self.place + place, rows[place].id, to) for place, to in found.replies])
        self.place += len(rows)

    def _note_places(
        self, found: ParsedPage, places: Sequence[int], numbers: Mapping[Who, int], pairs: Mentioned
    ) -> None:
        rows, hits = found.page.posts, found.page.hits
        self._post.run([(self.place + i, rows[i].id, numbers[Who(rows[i].author, None)], hits[i]) for i in places])
        position = dict.fromkeys(places, 0)
        noted = []
        for place, node in pairs:
            if position.get(place, SPAN) < SPAN - 1:
                noted.append(((self.place + place) * SPAN + position[place], self.place + place, node))
                position[place] += 1
        self._mention.run(noted)

    def resolve(self) -> None:
        """Note the author of every post that is answered and that the database has."""
        author = select(post.c.author).where(post.c.id == replies.c.answered).scalar_subquery()
        self.connection.execute(update(replies).values(node=author))

    def read_names(self, after: int) -> Sequence[tuple[int, str, str]]:
        """Return some (place, post.id, answered) of the posts that answer what is no post here, those after a place."""
        left = select(replies.c.place, replies.c.post, replies.c.answered).where(replies.c.node.is_(None))
        rows = self.connection.execute(left.where(replies.c.place > after).order_by(replies.c.place).limit(SOME))
        return [(row.place, row.post, row.answered) for row in rows]

    def note_names(self, nodes: Sequence[tuple[int, str, int]]) -> None:
        """Note that what a post answers is the name of an account, from (place, post.id, account.node)."""
        self._node.run([(node, place) for place, _, node in nodes])
        self._no_post.run([(None, key) for _, key, _ in nodes])

    def clear_names(self, keys: Sequence[str]) -> None:
        """Store of posts, by their ids, that it is not known whom they answer."""
        self._no_post.run([(None, key) for key in keys])

    def add_mentions(self) -> None:
        """Turn everybody who is answered into one who is mentioned, where he was not."""
        to = select(replies.c.post, replies.c.node).where(replies.c.node.is_not(None)).distinct().subquery()
        both = (mention.c.post == to.c.post) & (mention.c.node == to.c.node)
        run = self.connection.execute
        run(update(mention).where(mention.c.kind != REPLY, exists().where(both)).values(kind=REPLY))
        new = select(to.c.post, to.c.node, literal(REPLY)).where(~exists().where(both))
        run(insert(mention).from_select(["post", "node", "kind"], new))
        if self.history:
            again = exists().where(mentions.c.place == replies.c.place, mentions.c.node == replies.c.node)
            last = select(replies.c.place * SPAN + (SPAN - 1), replies.c.place, replies.c.node)
            noted = replies.c.node.is_not(None) & exists().where(posts.c.place == replies.c.place)
            run(insert(mentions).from_select(["lies", "place", "node"], last.where(noted, ~again)))

    def drop(self) -> None:
        """Let go of the tables."""
        metadata.drop_all(self.connection, checkfirst=True)
