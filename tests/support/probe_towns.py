"""What the tests of probes and of in-links share: a town of which some are gone, its truth, and talks carried out."""

from contextlib import contextmanager
from datetime import UTC, datetime

from test_mock_world import posts_of

from socialcrawl.engine.model import Grant, Node, Pick
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.names import DELETED, PROTECTED, SUSPENDED
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.storage.memory_store import MemoryStore

DAY = 86_400
NOW = 1_790_000_000  # 2026-09-21
HALF_A_YEAR = 183 * DAY
REASONS = {SUSPENDED: "suspended", PROTECTED: "protected", DELETED: "deleted"}
SHARE = 0.4  # of the accounts that are gone


def rows():
    """130 people who posted last 3 days apart, and some who are only spoken of."""
    people = [f"user{i}" for i in range(130)]
    early = [(name, NOW - 500 * DAY + i, f"@quiet{i % 9}, hello", (f"quiet{i % 9}",)) for i, name in enumerate(people)]
    late = [(name, NOW - DAY - 3 * DAY * i, ("once more", "RT @user0: hello")[i % 2]) for i, name in enumerate(people)]
    return sorted([*early, *late], key=lambda row: row[1])


ROWS = rows()

STAR = "star"


def fans():
    """150 posts that mention the star, of 41 people and of the star itself, and some that do not."""
    found = []
    for i in range(150):
        author = STAR if i % 31 == 7 else f"fan{i * 7 % 41}"
        text = ("RT @star: hello", "@star hi", "hello @star and @fan3")[i % 3]
        found.append((author, NOW - 200 * 60 + 60 * i, text, (STAR, "fan3") if i % 3 == 2 else (STAR,)))
        if i % 4 == 0:
            found.append((f"fan{i % 40}", NOW - 200 * 60 + 60 * i + 1, "nobody"))
    return found


FANS = fans()


OPEN = {}  # the wires of those who ask, by the town's address


class Town:
    """A mock of a town, and what is true of its people, by the names in the file."""

    def __init__(self, url, posts, missing):
        self.url, self.world = url, build_world(posts, missing)
        self.names = self.world.accounts.keys

    def username(self, name):
        return self.world.accounts.usernames[self.names.index(name)]

    def number(self, name):
        return str(self.world.accounts.ids[self.names.index(name)])

    def fate(self, name):
        return int(self.world.accounts.fates[self.names.index(name)])


@contextmanager
def town(given=None, *, missing=SHARE, **settings):
    """A town behind a mock server; whoever asks it hangs up in the end."""
    posts = posts_of(ROWS if given is None else given)
    with serve_in_thread(posts, missing=missing, limit=10_000, **settings) as mock:
        yield Town(mock.url, posts, missing)
        for wire in OPEN.pop(mock.url, ()):
            wire.close()


def last(name):
    """When somebody wrote last, straight from the rows; None: never."""
    return max((row[1] for row in ROWS if fold_name(row[0]) == name), default=None)


def stamp(second, digits=6):
    """An instant in ISO 8601 with so many digits of seconds."""
    return f"{datetime.fromtimestamp(second, UTC).replace(tzinfo=None).isoformat()}.{'0' * digits}Z"


def recent(name, within=HALF_A_YEAR):
    """Whether somebody has posted of late, straight from the rows."""
    at = last(name)
    return at is not None and NOW - at <= within


class Asking:
    """Who asks: talks carried over a wire into a store; `told` holds all requests and replies."""

    def __init__(self, url, source, wire):
        self.source, self.wire, self.store, self.told = source, wire, MemoryStore(), []
        OPEN.setdefault(url, []).append(wire)

    def picks(self, act, whos, first=0):
        """Picks of what people are called (usernames, ids)."""
        nodes = self.store.enlist(whos, 0.0)
        return tuple(Pick(first + n, Node(int(node)), act) for n, node in enumerate(nodes))

    def ask(self, batch):
        """The outcomes of a batch by n, and the same once more from the stored replies alone, as after a restart."""
        self.store.open(batch)
        accounts = self.store.accounts([pick.node for pick in batch])
        begun, found = len(self.told), {}
        for talk in self.source.start_conversations(batch, accounts):
            found |= carried(talk, self._send)
        kept = {request.key: reply for request, reply in self.told[begun:]}
        assert len(kept) == len(self.told) - begun, "two requests have one key"
        again = {}
        for talk in self.source.start_conversations(batch, accounts):
            again |= carried(talk, lambda request: kept[request.key])
        assert list(map(shown, again.values())) == list(map(shown, found.values()))
        return found

    def _send(self, request):
        grant = Grant(request, "main", float(NOW))
        self.store.reserve(grant)
        reply = self.store.save(grant, self.wire.send(grant))
        self.told.append((request, reply))
        return reply

    def asked(self, endpoint):
        """The requests to an endpoint."""
        return [request for request, _ in self.told if request.endpoint == endpoint]

    def names(self, outcome):
        """The accounts that an outcome links to, as ids or else names."""
        nodes = [Node(int(node)) for node in outcome.targets]
        whos = self.store.accounts(nodes)
        return [whos[node].id or whos[node].username for node in nodes]


def carried(talk, send):
    """The outcomes of a talk whose requests are answered by `send`."""
    try:
        request = next(talk)
        while True:
            request = talk.send(send(request))
    except StopIteration as end:
        return end.value


def shown(outcome):
    """An outcome as what can be compared."""
    return outcome.n, outcome.node, outcome.value, outcome.targets.tolist(), outcome.missing, outcome.mark


def of(town, fate):
    """The people with a fate."""
    return [name for name in town.names if town.fate(name) == fate]
