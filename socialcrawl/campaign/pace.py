"""The refresh rate of a campaign whose file says `auto`: chosen once, from the latency measured, and stored."""

from dataclasses import dataclass

from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Credential
from socialcrawl.ratelimit.batch_size import choose_batch_size, find_planning_latency
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.storage.campaigns import keep_refresh_rate, read_latencies, read_refresh_rate
from socialcrawl.storage.sql_store import SqlStore


@dataclass(slots=True)
class Pace:
    """What tells r when a batch is chosen: 1 as long as there are seeds to ask, whose replies tell the latency.

    Args:
        store: of the campaign, which keeps what was chosen.
        seeds: of its crawl, which say whether it is still at them.
        policy: the windows.
        credentials: the tokens, whose windows add up.
        timeline: the endpoint that most requests go to.
    """

    store: SqlStore
    seeds: Seeds
    policy: Policy
    credentials: tuple[Credential, ...]
    timeline: str
    chosen: int | None = None

    def __call__(self) -> int:
        """Return the refresh rate r of Algorithm 1 (Gouriten et al., section 3)."""
        if self.chosen is None:
            self.chosen = read_refresh_rate(self.store.connection, self.store.campaign) or self._measured()
        return self.chosen or 1

    def _measured(self) -> int | None:
        """Return what the replies so far say, once the seeds are done; None while they say too little."""
        if self.seeds.due(1, lambda _: 1)[1]:
            return None
        latency = find_planning_latency(read_latencies(self.store.connection, self.store.campaign))
        rules = [self.policy.get_endpoint(self.timeline).get_rules(credential.kind) for credential in self.credentials]
        first = [several[0] for several in rules if several]
        if latency is None or not first:
            return None
        d = min(rule.d for rule in first)
        found = choose_batch_size(latency, max(1, round(sum(rule.k * d / rule.d for rule in first))), d)
        keep_refresh_rate(self.store.connection, self.store.campaign, found)
        return found
