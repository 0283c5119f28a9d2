"""What a campaign file means, before anything is opened or asked: topic, start, server, prices, what it can cost."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isinf
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from socialcrawl.campaign.begun_settings import keep_begun
from socialcrawl.campaign.keywords import find_questionable
from socialcrawl.campaign.policies import check_endpoint, load_policy, load_policy_file
from socialcrawl.campaign.schedule import Schedule
from socialcrawl.campaign.sections.access import AUTO, MATCH, READING_KEYS, SEARCH, TIMELINE, SourceSection
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import CrawlKind
from socialcrawl.crawls.registry import kind_of
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import MILLS_PER_DOLLAR
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.forecast.quote import bound_requests, bound_total
from socialcrawl.forecast.shape import CampaignParameters, CampaignProgress
from socialcrawl.formats.documents import explain_unreadable, read_text
from socialcrawl.graph.relevance import NOTHING, Links, Topic
from socialcrawl.platforms.base import Platform, Terms
from socialcrawl.platforms.excluding import ExcludedAccounts
from socialcrawl.platforms.registry import platform_of
from socialcrawl.ratelimit.batch_size import TOGETHER
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.system.loopback import is_loopback
from socialcrawl.text.wording import parse_seconds

KINDS = ("app", "user", "public")  # of tokens
NAMED = ("usernames", "file", "lists", "capture")  # keys under [seeds] that name accounts
THREADS = TOGETHER  # requests in flight at most


@dataclass(frozen=True, slots=True)
class Plan:
    """A campaign as it was meant.

    Attributes:
        settings: the file.
        topic: what it is about.
        table: the platform's own policy; `policy` is the same under the campaign's [limits].
        platform: what is asked.
        base: the server that is asked; `billed` says that it charges, and is not on this machine.
        queries: the texts to search.
        usernames: the accounts to begin with.
        caps: the budget, except the number of nodes, which the crawl keeps.
        accounts: who is never asked.
        schedule: when a daemon works on it.
        doubts: what is to be said of keywords that are refused in new campaigns; this one has begun with them.
        captured: what is to be said of the capture that it follows.
    """

    settings: Settings
    topic: Topic
    table: Policy
    policy: Policy
    platform: Platform
    base: str
    billed: bool
    queries: list[str]
    usernames: list[str]
    caps: Caps
    accounts: ExcludedAccounts = field(default_factory=ExcludedAccounts)
    schedule: Schedule = field(default_factory=Schedule)
    doubts: list[str] = field(default_factory=list)
    captured: list[str] = field(default_factory=list)

    @property
    def shape(self) -> CampaignParameters:
        """The campaign in numbers, of which quotes are made."""
        settings, roles = self.settings, self.platform.roles
        usual: dict[str, Any] = {
            "policy": self._limit_pages(),
            "roles": roles,
            "kinds": tuple(credential.kind for credential, _ in self.platform.list_credentials(settings)),
            "queries": len(self.queries),
            "search_pages": settings.seeds.search_pages,
            "expanded": self.platform.has_complete_authors(settings),
            "usernames": len({name.lower() for name in self.usernames}),
            "most_found": settings.seeds.most,
            "pages_per_user": settings.source.pages_per_user,
            "steps": settings.crawl.steps,
            "max_nodes": settings.budget.max_nodes,
            "caps": self.caps,
            "flight": min(THREADS, settings.crawl.together or THREADS),
            "heeds": roles.heeds and settings.source.opt_outs,
            "counts": self._bound_counts(),
        }
        shape = CampaignParameters(**{**usual, **self.kind.count(settings, self.platform)})
        slices = self.kind.plan_slices(settings)
        if slices is None or not shape.captures or not self.queries:
            return shape
        first, *others = self.platform.list_slice_endpoints(settings, self.queries, slices)
        known = tuple(filter(self.policy.find_endpoint, others))
        return replace(shape, roles=replace(shape.roles, search=first), searched=known)

    def _limit_pages(self) -> Policy:
        """Return the policy, with the smaller pages of searches of spans of time."""
        slices = self.kind.plan_slices(self.settings)
        if slices is None or not slices.page:
            return self.policy
        name = self.policy.find_key(self.platform.get_slice_endpoint(slices))
        found = self.policy.endpoints[name]
        smaller = replace(found, page=min(found.page, slices.page))
        return replace(self.policy, endpoints={**self.policy.endpoints, name: smaller})

    def _bound_counts(self) -> dict[str, int]:
        """Return the requests at most that count posts before slices of time are cut, by endpoint."""
        slices, meters = self.kind.plan_slices(self.settings), self.platform.make_meters(self.settings, self.policy)
        span = self.kind.find_counted_span(self.settings, None, SystemClock().now())
        if slices is None or not slices.counted or meters is None or span is None:
            return {}
        check_endpoint(self.policy, endpoint := meters.get_counts_endpoint(span))
        return {endpoint: len(self.queries) * max(0, meters.count_pages(span))}

    @property
    def reuse_hours(self) -> float:
        """For how many hours answers that the database has count; 0: none does.

        Where accounts are matched again, the mark of a visit says up to when was searched: an older answer has no posts
        from then on.
        """
        slices = self.kind.plan_slices(self.settings)
        if slices is not None and not slices.reuses:
            return 0.0
        matched_again = self.kind.returns and self.settings.source.pages_after_match is not None
        return 0.0 if matched_again or not self.kind.reuses else self.settings.source.reuse_hours

    @property
    def kind(self) -> CrawlKind:
        """The kind of the campaign."""
        return kind_of(self.settings)

    @property
    def fixed(self) -> Sequence[str]:
        """The sections and dotted keys that cannot change after the campaign began, as outcomes depend on them.

        Of accounts that were matched or found by searches, only what matched the topic then is known.
        """
        matched = self.settings.source.pages_after_match is not None or self.kind.reads_found(self.settings)
        return (*self.kind.facts.fixed, "topic") if matched else self.kind.facts.fixed

    @property
    def description(self) -> str:
        """How it goes on, for people: how many steps, and who chooses them."""
        return self.kind.describe(self.settings)

    @property
    def timeline(self) -> str:
        """The endpoint that most requests go to."""
        return self.platform.get_timeline(self.settings, self.base)

    @property
    def terms(self) -> Terms:
        """The campaign as its platform has to know it."""
        kind, settings = self.kind, self.settings
        activity, slices = kind.activity(settings), kind.plan_slices(settings)
        return Terms(
            settings,
            self.topic,
            self.policy,
            self.base,
            self.usernames,
            activity=activity,
            slices=slices,
            returns=kind.returns,
            samples=kind.sample,
        )

    @property
    def is_exposed(self) -> bool:
        """Whether the token travels unencrypted to another machine; only [source] insecure permits that."""
        return _sends_unencrypted(self.settings, self.platform, self.base)

    @property
    def warnings(self) -> Iterator[tuple[str, str]]:
        """What a person should know before it runs: what it is about (keywords | seeds | tokens), and a sentence."""
        yield from (("keywords", text) for text in (*self.doubts, *self._list_prefixes()))
        if (slices := self.kind.plan_slices(self.settings)) is not None:
            yield from (("keywords", text) for text in self.platform.list_slice_doubts(self.topic, slices))
        yield from (("seeds", text) for text in self.captured)
        if slices is not None and slices.back == inf and (self.usernames or self.settings.seeds.lists):
            said = "all of the time is searched, so accounts under [seeds] are read only if a search finds them"
            yield "seeds", f'[source] read = "{self.settings.source.read}": {said}'
        if self.is_exposed:
            sent = f"[source] insecure = true: the token is sent unencrypted to {self.base}"
            yield (
                "tokens",
                f"{sent}, where anyone on the way can read it. Use an https:// address if the server has one",
            )

    def _list_prefixes(self) -> Iterator[str]:
        """Iterate over the prefixes among the keywords, which searches do not know."""
        platform = self.platform
        for keyword in dict.fromkeys(self.topic.keywords) if self.queries else ():
            alone = replace(self.topic, keywords=[keyword], patterns=[], languages=[])
            if keyword.endswith("*") and (searched := platform.list_queries(self.settings, alone)):
                yield (
                    f"[topic] keywords: {keyword!r} counts whatever begins so, but {platform.title} cannot search "
                    f"prefixes: the search is for {searched[0]} alone. To search more, list the words in full too."
                )

    @property
    def max_cost(self) -> int | None:
        """The most that the whole campaign can cost, in mills of a cent; None where nothing bounds it.

        Of an old dataset its size is not known here.
        """
        if self.shape.tests and not self.settings.crawl.steps:
            return self.caps.money
        money = bound_total(
            self.shape, bound_requests(self.shape, CampaignProgress(dataset=self.settings.crawl.steps or 0))
        ).money
        return None if isinf(money) else round(money)

    def guard(self) -> None:
        """Check that a campaign on a server that bills has a limit of cost.

        Raises:
            SettingsError: the campaign could spend without limit.
        """
        budget = self.settings.budget
        if not self.billed or budget.max_money is not None:
            return
        if self.shape.tests:  # by which posts are not read, so that no number of them is a bound
            user = self.table.compute_price("user", 1) / MILLS_PER_DOLLAR
            raise SettingsError(
                f"This campaign would send requests to {self.base}, which bills what it returns: ${user:.3f} for each "
                "account that is checked. Set max_money (dollars) under [budget]."
            )
        if budget.max_posts is not None:
            return
        timelines = self.table.get_endpoint(self.timeline)
        page = self.table.compute_price("post", timelines.page)
        window = max(rules[0].k for rules in (timelines.app, timelines.user) if rules) * page / MILLS_PER_DOLLAR
        raise SettingsError(
            f"This campaign would send requests to {self.base}, which bills what it returns: a page of 100 posts is "
            f"${page / MILLS_PER_DOLLAR:.2f}, one window of timelines up to ${window:,.0f}. "
            "Set max_money (dollars) or max_posts under [budget]."
        )


def make_plan(settings: Settings) -> Plan:
    """Return the plan of a campaign.

    Raises:
        SettingsError: the keywords, the usernames or the policy are unusable, there is nothing to start from, or a
            token would travel unencrypted.
    """
    settings = keep_begun(settings.pin_model())
    topic = make_topic(settings)
    doubts = _explain_doubts(settings)
    own = settings.source.policy
    table = load_policy(settings.source.platform) if own is None else load_policy_file(own)
    platform = platform_of(settings)
    _complete(table, platform)
    base = settings.source.base_url or table.base_url
    platform.check_settings(settings, base)
    _check_source(settings, platform, table, base)
    offered = platform.make_compliance_jobs() is not None or platform.make_stored_look_up(settings) is not None
    if settings.compliance.every is not None and not offered:
        raise SettingsError(f"{platform.title} offers no check of what is stored: remove every under [compliance].")
    usernames = _list_usernames(settings, platform)
    queries = kind_of(settings).list_queries(settings, platform, topic)
    if kind_of(settings).needs_start(settings) and settings.seeds.capture is None and not queries and not usernames:
        raise SettingsError(f"There is nothing to start from: {_advise_start(settings, platform)}.")
    if (slices := kind_of(settings).plan_slices(settings)) is not None:
        check_endpoint(table, platform.get_slice_endpoint(slices))
        if slices.live:
            check_endpoint(table, platform.roles.stream)
    rules = table.override_limits(settings.limits.k, settings.limits.d)
    billed = (table.is_billed or load_policy(settings.source.platform).is_billed) and not is_loopback(base)
    accounts = ExcludedAccounts(settings.accounts.exclude, settings.accounts.include)
    _check_seeds(usernames, accounts)
    return Plan(
        settings,
        topic,
        table,
        rules,
        platform,
        base,
        billed,
        queries,
        usernames,
        _make_caps(settings),
        accounts,
        settings.schedule.schedule,
        doubts,
        _describe_capture(settings),
    )


def _advise_start(settings: Settings, platform: Platform) -> str:
    """Return what to do where a campaign has neither searches nor accounts to begin with."""
    if "seeds" in kind_of(settings).facts.idle:
        return "name keywords under [topic] to search for"
    wanted = "name keywords under [topic] to search for, or" if settings.seeds.search else "set search = true or"
    return f"{wanted} name usernames under [seeds]" if platform.searches else "name usernames under [seeds]"


def make_topic(settings: Settings) -> Topic:
    """Return the topic of a campaign.

    Raises:
        SettingsError: the keywords are unusable, or a model is.
    """
    judge = kind_of(settings).make_judge(settings)
    if judge is None and not _has_words(settings) and not kind_of(settings).needs_topic(settings):
        return NOTHING
    return _make_topic(settings, judge)


def make_word_topic(settings: Settings) -> Topic:
    """Return the topic of a campaign by its words alone, whatever judges texts in their place; without any: nothing.

    Raises:
        SettingsError: the keywords are unusable.
    """
    return _make_topic(settings) if _has_words(settings) else NOTHING


def _has_words(settings: Settings) -> bool:
    return bool(settings.topic.keywords or settings.topic.patterns)


def _make_topic(settings: Settings, judge: Callable[[str], int] | None = None) -> Topic:
    given, entities = settings.topic, platform_of(settings).entities
    return Topic(given.keywords, given.patterns, given.languages, *given.span, judge, entities)


def _explain_doubts(settings: Settings) -> list[str]:
    """Return what is to be said of keywords that cannot be meant, but that the campaign has in its database already.

    Raises:
        SettingsError: there are others.
    """
    found = find_questionable(settings.topic.keywords)
    kept = _read_begun_keywords(settings) if found else ()
    if new := dict.fromkeys(why for keyword, why in found.items() if kept is not None and keyword not in kept):
        raise SettingsError("\n".join(new))
    return [f"{why} The campaign had it before, and keeps it." for why in dict.fromkeys(found.values())]


def _describe_capture(settings: Settings) -> list[str]:
    """Return what is to be said of the capture that a campaign follows.

    Raises:
        SettingsError: it is none that the campaign can follow.
    """
    if settings.seeds.capture is None:
        return []
    from socialcrawl.campaign.captured_seeds import describe_capture  # noqa: PLC0415 - plans need no SQLAlchemy

    return list(describe_capture(settings))


def _read_begun_keywords(settings: Settings) -> Collection[str] | None:
    """Return the keywords that the database has of a campaign; None where it cannot be asked, which a run says."""
    from socialcrawl.storage.campaigns import read_keywords  # noqa: PLC0415 - plans are made without SQLAlchemy

    try:
        return read_keywords(settings.database, settings.name)
    except StoreError:
        return None


def _check_source(settings: Settings, platform: Platform, table: Policy, base: str) -> None:
    """Raise SettingsError if accounts cannot be read as the campaign file says, or a token would be seen by others."""
    _check_encryption(settings, platform, base)
    read, searched = settings.source.read, platform.plan_searches(settings) is not None
    for key in READING_KEYS:
        foreign = key not in ("read", *platform.reading_keys)
        if foreign and getattr(settings.source, key) != SourceSection.model_fields[key].default:
            raise SettingsError(f"{key} under [source] belongs to another platform than {platform.title}: remove it.")
    if read == TIMELINE:
        return
    kind = kind_of(settings)
    where = kind.matches and platform.matches if read == MATCH else kind.searches and (read == AUTO or searched)
    if not where:
        on = {MATCH: "on X ", SEARCH: "on X, Bluesky and Mastodon "}.get(read, "")
        kinds = 'kind = "collect", "track" or "sample"' if read == MATCH else 'kind = "collect"'
        raise SettingsError(
            f'read = "{read}" under [source] works {on}with {kinds}; this '
            f'campaign has platform = "{settings.source.platform}" and kind = "{settings.kind}": remove read.'
        )
    if read == AUTO and not searched:
        return
    if settings.topic.model is not None and not settings.topic.keywords:
        raise SettingsError(
            f'read = "{read}" under [source] searches for keywords, and a model has none to search for: name keywords '
            "under [topic] beside the model, or remove read."
        )
    if Links.of(settings.crawl.links).follows:
        raise SettingsError(
            f'read = "{read}" under [source] reads posts only, and links = {{ follows = ... }} under [crawl] wants '
            "whom accounts follow: remove one of the two."
        )
    if read == MATCH:
        check_endpoint(table, platform.roles.match)
    elif read == SEARCH and any(getattr(settings.seeds, key) for key in NAMED):
        raise SettingsError(
            'read = "search" under [source] finds accounts by searches alone and reads no seeds: remove '
            f"{', '.join(NAMED)} under [seeds], or choose another way to read accounts."
        )


def _check_encryption(settings: Settings, platform: Platform, base: str) -> None:
    """Raise SettingsError if a token would travel unencrypted and the campaign file does not permit it."""
    if _sends_unencrypted(settings, platform, base) and not settings.source.insecure:
        raise SettingsError(
            f"The token of this campaign would be sent unencrypted to {base}, where anyone on the way can read it. Use "
            "an https:// address as base_url under [source]; or, if you accept that risk, set insecure = true there."
        )


def _sends_unencrypted(settings: Settings, platform: Platform, base: str) -> bool:
    """Return whether a token is sent without TLS to another machine; a private network is one of others too."""
    signed = any(variables is not None for _, variables in platform.list_credentials(settings))
    return signed and urlsplit(base).scheme != "https" and not is_loopback(base)


def _check_seeds(usernames: list[str], accounts: ExcludedAccounts) -> None:
    for name in usernames:
        if (why := accounts.find_reason(name)) is not None:
            raise SettingsError(
                f"{name!r} is named under [seeds], and {why!r} under [accounts] excludes it: remove one of them, or "
                "add the name to include under [accounts]."
            )


def _complete(table: Policy, platform: Platform) -> None:
    roles = platform.roles
    for name in dict.fromkeys((roles.search, roles.by_name, roles.by_id, roles.timeline)):
        found = table.find_endpoint(name) if name else None
        if name and (found is None or not any(found.get_rules(kind) for kind in KINDS)):
            raise SettingsError(f'The policy has no rules for {name}: add [endpoints."{name}"] with app or user.')


def read_usernames(file: Path) -> list[str]:
    """Return the names in a file of seeds, one a line, without @; empty lines and those that begin with # are none.

    Raises:
        SettingsError: the file cannot be read.
    """
    try:
        lines = [line.strip().removeprefix("@") for line in read_text(file, "utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        why = explain_unreadable(file, error)
        raise SettingsError(f"{why}: as a file of seeds, name a text with one username per line.") from error
    return [line for line in lines if line and not line.startswith("#")]


def _make_caps(settings: Settings) -> Caps:
    given = settings.budget
    money = None if given.max_money is None else round(given.max_money * MILLS_PER_DOLLAR)
    lasting = None if given.max_time is None else parse_seconds(given.max_time)
    return Caps(given.max_requests, given.max_posts, money, lasting)


def _list_usernames(settings: Settings, platform: Platform) -> list[str]:
    file = settings.seeds.file
    return platform.parse_names([*settings.seeds.usernames, *(read_usernames(file) if file is not None else ())])
