"""The web as a source: picks become requests for pages, each host's robots.txt first. Pure: no request is sent here."""

from collections.abc import Generator, Mapping, Sequence

from socialcrawl.engine.model import PUT_OFF, Act, Node, Pick, Reason, Reply, Request, SameAs, Unavailable, Who
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.errors import SettingsError
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.node_reading import ProbeReading, Reading
from socialcrawl.platforms.unreachable_hosts import DOWN, NOWHERE
from socialcrawl.platforms.web import robots
from socialcrawl.platforms.web.urls import find_server, is_allowed, make_robots_url, normalize_url
from socialcrawl.ratelimit.policy import Policy

ROBOTS, PAGE = "/robots.txt", "/*"  # endpoints, after the host
HOPS = 5  # addresses that a page, or a robots.txt (RFC 9309), may have moved to
STAY, FOLLOW, SOFT = "stay", "follow", "soft"  # what a probe asks: whether redirects count, and what the page says
NO_HEAD = "!no-head"  # the cursor of the answer of a server that has no HEAD


class WebSource:
    """Pages of the web: `seed`, `expand`, `recrawl` and `walk` read one, whole; `resolve` asks for its headers alone.

    `probe` asks whether one is there: for its headers, and again for all of it only of a server that has no HEAD. It is
    when its server answers with success (200 to 299), whatever it is and whether or not it wants to be in an index, as
    nothing of it is kept; `Last-Modified` is its last activity. It is not, as "redirected", where it has moved
    (LiveRank, paper 003, section 3.1), as "unreachable", where its host has no name any more, and, where `soft` asks
    for all of it, as "soft-404", where it says that there is no such page.

    A page that has moved is the page where it is now: the outcome of its old address is "same-as:<node>", and the new
    one, once it is picked, is answered from the database where answers are reused.

    Args:
        policy: prices.
        agent: the name of the program by which a robots.txt may speak of it.
        queries: there is no search, so there must be none.
        hosts: the hosts that may be asked, `*` for any part of a name (*.example.org), "*" for all; pages of others,
            or with no host named all pages, are missing as "excluded". `urls.list_hosts` has those of the seeds.
        max_redirects: the most addresses that a page may have moved to, one after the other.
        opt_outs: whether robots.txt and noindex are heeded; told to the wire in the parameter `opt_outs`
            ("no" where they are not).
        activity: by which rule a probed page is active; None: whichever exists is.
        redirects: whether a probe goes on to where a page has moved: it is that page then ("same-as:<node>").
        soft: whether a probe looks for pages that say with status 200 that there are none, which takes a GET.

    Raises:
        SettingsError: queries are given.
    """

    def __init__(
        self,
        policy: Policy,
        agent: str,
        queries: Sequence[str] = (),
        *,
        hosts: Sequence[str] = (),
        max_redirects: int = HOPS,
        opt_outs: bool = True,
        activity: Activity | None = None,
        redirects: bool = False,
        soft: bool = False,
    ) -> None:
        if queries:
            raise SettingsError("The web cannot be searched: name pages to start from, and set search = false.")
        self.policy, self.agent, self.hosts, self.max_redirects = policy, agent, tuple(hosts), max_redirects
        self.opt_outs, self.activity, self.soft = opt_outs, activity or Activity(), soft
        self._probing = {"probe": FOLLOW if redirects else STAY, **({SOFT: "yes"} if soft else {})}

    def width(self, act: Act) -> int:
        """Return one page a request; 0: who links to a page is not to be asked."""
        return 0 if act == Act.INWARD else 1

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return one conversation a page."""
        return [self._visit_page(pick, accounts[pick.node]) for pick in batch]

    def mark(self, at: float) -> str:
        """Return "": a page has no older and newer parts."""
        return ""

    def _visit_page(self, pick: Pick, who: Who) -> Conversation:
        probes = pick.act == Act.PROBE
        visit = _Visit(pick, self.policy, self.agent if self.opt_outs else None, self._probing if probes else {})
        reading = ProbeReading(pick) if probes else Reading(pick)
        url = normalize_url(str(who.id or who.username))
        reading.missing = Reason.UNKNOWN  # unless a page is found
        seen: list[str] = []
        while url is not None and url not in seen and len(seen) <= self.max_redirects:
            seen.append(url)
            if not is_allowed(url, self.hosts):
                reading.missing = Reason.EXCLUDED
                break
            permitted = yield from visit.check_permission(url)
            if permitted is not None:
                reading.at, reading.missing = visit.at, permitted
                break
            reply = yield from visit.read_page(url, head=pick.act == Act.RESOLVE or (probes and not self.soft))
            if reply.cursor == DOWN:
                reading.at, reading.missing = reply.at, Reason.TEMPORARY
                break
            url = None if reply.cursor == NOWHERE else reply.cursor
            if url is None or reply.kind in PUT_OFF:
                reading.take(reply)
                reading.missing = reading.missing or _explain_missing(pick, reply)
                break
            reading.at = reply.at
        else:
            reading.missing = Reason.REDIRECTED if probes and url is not None else Reason.UNKNOWN
        return {pick.n: reading.judge(self.activity) if isinstance(reading, ProbeReading) else reading.make_outcome()}


class _Visit:
    """The requests of one pick, which count from 0, and the robots.txt of its hosts; without `agent` none is heeded.

    Args:
        pick: see there.
        policy: prices.
        agent: see `WebSource`.
        more: parameters of its own that every request has.
    """

    def __init__(self, pick: Pick, policy: Policy, agent: str | None, more: Mapping[str, str]) -> None:
        self.pick, self.policy, self.agent, self.more = pick, policy, agent, more
        self.part = 0
        self.at = 0.0
        self._robots: dict[str, str | None] = {}  # by address of robots.txt; None: nothing is known for now

    def make_request(self, endpoint: str, url: str, *, head: bool = False) -> Request:
        """Return the next request: of a page, or of a robots.txt."""
        key = self.pick.n, self.part
        self.part += 1
        params = {"url": url, **({"method": "HEAD"} if head else {}), **({} if self.agent else {"opt_outs": "no"})}
        return Request(key, endpoint, {**params, **self.more}, 1, self.policy.compute_most(endpoint, 1))

    def read_page(self, url: str, *, head: bool) -> Generator[Request, Reply, Reply]:
        """Return the answer for a page: for its headers where they are all that is wanted, and its server has HEAD."""
        reply = yield self.make_request(find_server(url) + PAGE, url, head=head)
        return (yield self.make_request(find_server(url) + PAGE, url)) if reply.cursor == NO_HEAD else reply

    def check_permission(self, url: str) -> Generator[Request, Reply, Reason | None]:
        """Return why the page may not be asked for: opted-out, unreachable, temporary (the host is in trouble).

        None: may.
        """
        if self.agent is None:
            return None
        place = make_robots_url(url)
        if place not in self._robots:
            self._robots[place] = yield from self._read_rules(place)
        rules = self._robots[place]
        if rules is None:
            return Reason.TEMPORARY
        if rules == NOWHERE:
            return Reason.UNREACHABLE
        return None if robots.permits(rules, url, self.agent) else Reason.OPTED_OUT

    def _read_rules(self, place: str) -> Generator[Request, Reply, str | None]:
        """Return the file that rules a host, wherever it has moved; one that moves on and on is none (RFC 9309)."""
        for _ in range(HOPS + 1):
            reply = yield self.make_request(find_server(place) + ROBOTS, place)
            self.at = reply.at
            if reply.kind in PUT_OFF or reply.cursor == DOWN:
                return None
            text = reply.cursor or ""
            if not text.startswith(robots.MOVED):
                return text
            place = text.removeprefix(robots.MOVED)
        return ""


def _explain_missing(pick: Pick, reply: Reply) -> Unavailable | None:
    """Return why the page is missing that was asked for: it never was, or it is another one."""
    answer = reply.answer
    if answer.missing:
        return next(iter(answer.missing.values()))
    here = next(iter(answer.found), None)
    if here is None:
        return Reason.UNKNOWN
    return None if here == pick.node else SameAs(Node(here))
