"""How a campaign came about, as a paragraph for a paper: what was collected where, when, how and at what cost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from socialcrawl.campaign.search_reach import describe_search_reach
from socialcrawl.crawls.collect.estimators.registry import ESTIMATORS, OURS
from socialcrawl.crawls.collect.searched_time import measure_searched_time
from socialcrawl.crawls.facts import BUILT_IN, DEFAULT
from socialcrawl.crawls.registry import find_kind
from socialcrawl.engine.model import Reason
from socialcrawl.exporters.datasheet_facts import count_gaps, is_other_server, read_span, select_settings
from socialcrawl.platforms.facts import PlatformFacts, find_platform_facts
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.render.headline import describe_matches
from socialcrawl.storage.identity import QUERIES
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.summary import Summary
from socialcrawl.storage.queries.topic_counts import count_unseen
from socialcrawl.storage.queries.traces import CampaignTraces, find_drawn
from socialcrawl.system.loopback import is_loopback
from socialcrawl.text.word_boundaries import is_unspaced
from socialcrawl.text.wording import pluralize

SAMPLED = "is what socialcrawl audit estimates with the sample in the same database (add the share and its interval)"

FOUND = "The result is not a random sample: it has the authors of the posts that the searches of the platform returned."


class CollectionFacts:
    """How a campaign came about, read from the database; its settings without names, files, servers and tokens.

    Attributes:
        kind: the name of its kind.
        settings: what may be told of its settings, by section.
        seed: of its random draws.
        names_seeds: whether its file names accounts to begin with.
        gaps: what it could not read, as `datasheet_facts.count_gaps` has it.
        unseen: accounts read without posts, and searches stopped early, as `topic_counts.count_unseen` has it.
        began: when its first request was sent, ISO 8601; None: there was none.
        ended: when the last reply came.
        rehearsed: whether it only ever asked servers on this machine.
        redirected: whether it only ever asked other servers than the platform's, and not only servers on this machine.
        honours: whether accounts that opt out were skipped all the time.
        judged: whether something else than keywords decides what is on topic.
        drawn: how many steps read an account that was drawn for comparison.
        searched: how much of the time of the topic was searched; None: it was not, span by span.
        reach: which posts the searches can find, as a sentence; "": all that match, or there was none.
        sample: the campaign of the database that samples the same topic, for an audit; "" if there is none.
    """

    def __init__(self, traces: CampaignTraces, found: Summary) -> None:
        stored = traces.read_campaign(found.name)
        versions = [one.settings for one in traces.read_versions(stored)]
        self.kind: str = versions[-1].get("kind", DEFAULT.name)
        self.settings: Mapping[str, Mapping[str, Any]] = select_settings(versions[-1])
        seeds = versions[-1].get("seeds", {})
        self.names_seeds = any(seeds.get(key) for key in ("usernames", "file", "lists"))
        self.seed: int = versions[-1].get("seed", 0)
        servers = [(one.get("source") or {}).get("base_url") for one in (stored.settings, *versions)]
        self.rehearsed = all(is_loopback(server or "") for server in servers)
        self.redirected = not self.rehearsed and all(is_other_server(found.platform, server) for server in servers)
        own = versions[-1].get(self.kind) or {}
        had = [given.get("source") or {} for given in (stored.settings, *versions)]
        self.honours = all(source.get("opt_outs", True) for source in had)
        self.judged = any(own.get(key) for key in find_kind(self.kind).facts.files)
        self.drawn = len(find_drawn(traces, found.name))
        self.sample = _find_sample(traces, stored.platform, versions[-1])
        with join_transaction(traces.connection):
            self.gaps: Mapping[str, Any] = count_gaps(traces.connection, stored.id, found.requests, found.platform)
            self.unseen = count_unseen(traces.connection, stored.id)
            span = read_span(traces.connection, stored.id)
        self.searched = measure_searched_time(traces, stored)
        self.reach = describe_search_reach(versions[-1], stored.identity.get(QUERIES, ()))
        self.began, self.ended = span["began"], span["ended"]


def _find_sample(traces: CampaignTraces, platform: str, settings: Mapping[str, Any]) -> str:
    """Return the newest campaign of the platform that samples the topic of these settings; "" if there is none."""
    for name in reversed(traces.list_campaigns()):
        other = traces.read_campaign(name)
        latest = traces.read_versions(other)[-1].settings
        same = other.platform == platform and latest.get("topic") == settings.get("topic")
        kind = latest.get("kind", DEFAULT.name)
        if same and kind in BUILT_IN and find_kind(kind).sample:
            return name
    return ""


def write_methods(facts: CollectionFacts, found: Summary, version: str) -> str:
    """Return how a campaign came about, in sentences.

    Args:
        facts: how it came about.
        found: what it found.
        version: of the program.
    """
    return " ".join(_describe_methods(facts, found, version))


def _describe_methods(facts: CollectionFacts, found: Summary, version: str) -> Iterator[str]:
    title, kind = find_platform_facts(found.platform).title, find_kind(facts.kind)
    server = ""
    if facts.rehearsed:
        yield f"Data come from a simulated platform (mock server), not from {title}; do not publish as observations."
        server = "a simulation of "
    span = _format_span(facts.began, facts.ended)
    what, crawler = ("collected posts", ", a focused crawler") if kind.focus else ("fetched data", "")
    yield f"We {what} from {server}{title} {span} with socialcrawl {version}{crawler}."
    if facts.redirected:
        yield f"All requests went to another server than that of {title}, named by base_url."
    yield from _describe_choice(facts, found)
    counts = found.on_topic
    read = pluralize(counts.seeds + counts.discovered, "account")
    cost = "" if facts.rehearsed or not found.cost else f", at a cost of at most {format_dollars(found.cost)}"
    if kind.dataset:  # the accounts of an old dataset are tested, not read
        yield f"{pluralize(found.sent, 'request was', 'requests were')} sent{cost}."
    elif counts.captured:
        yield f"The posts were read with {pluralize(found.sent, 'request')}{cost}."
    else:
        yield f"The posts of {read} were read with {pluralize(found.sent, 'request')}{cost}."
    if counts.posts:
        span = f", written from {counts.first} to {counts.last} (UTC)" if counts.first else ""
        yield f"Posts that match the topic{span}: {describe_matches(counts)}."
    yield from _describe_missing(facts.gaps)
    yield from _describe_opt_outs(
        facts, find_platform_facts(found.platform), searched=counts.captured or _searches_only(facts)
    )
    chosen = []
    if _searches_only(facts):
        chosen = [FOUND]
    elif kind.focus:
        chosen = [f"The result is not a random sample: a {kind.focus} and its choice depends on the seeds."]
    yield from (" ".join(text.split()) for text in (*chosen, kind.drawn) if text)
    if facts.kind == DEFAULT.name:
        yield f"The share of the accounts on topic that is held {SAMPLED if facts.sample else 'was not measured'}."
    yield f"Random seed {facts.seed}; the command socialcrawl verify replays the decisions."
    yield from kind.tell_method(facts.settings.get(facts.kind, {}))
    if (
        kind.paper
        and not _searches_only(facts)
        and not ESTIMATORS.is_added(facts.settings.get("crawl", {}).get("estimator", ""))
    ):
        yield f"Method: {kind.paper}."


def _describe_choice(facts: CollectionFacts, found: Summary) -> Iterator[str]:
    """Yield what the topic was, where the crawl began and what chose the accounts."""
    settings = facts.settings
    crawl, source = settings.get("crawl", {}), settings.get("source", {})
    if found.topic or found.model:
        words = ", ".join(f'"{word}"' for word in found.topic)
        yield f"The topic was given by {words or 'a model of texts'}."
        yield from _describe_matching(facts)
        if not found.on_topic.captured:
            yield "The relevance of an account is 1 + ln(occurrences of the topic in the posts read), or 0 without any."
    if found.seeds.size:
        searched = settings.get("seeds", {}).get("search")
        how = "authors of posts found by a search for the topic" if searched else "named"
        how += ", or named" if searched and facts.names_seeds else ""
        yield f"The campaign started from {pluralize(len(found.seeds), 'seed account')} ({how})."
    if found.captured:
        yield (
            f"A capture of matching posts brought {pluralize(found.captured, 'author')}. The posts that it held of an "
            "author counted as partial evidence of relevance until the account itself was read."
        )
    if facts.kind != DEFAULT.name:
        yield f"It was a campaign of kind {facts.kind}, {find_kind(facts.kind).does}."
    elif "estimator" in crawl and not _searches_only(facts):
        steps = f"{facts.drawn:,} of the {pluralize(len(found.steps), 'step')}"
        drawn = f"; {steps} read an account that was drawn for comparison" if facts.drawn else ""
        yield (
            "At each step it read the account with the highest score among those that had been mentioned so far "
            f"(estimator {crawl['estimator']}; {_describe_source(crawl['estimator'])}){drawn}."
        )
    if facts.searched is not None:
        yield (
            f"The topic was searched from {facts.searched.sentence}. The authors were read from these posts; searches "
            "return no reposts."
        )
    if facts.reach:
        yield facts.reach
    if source.get("read") == "match":
        how = "Accounts were read by searches for those of their posts that match, which return no reposts"
        yield f"{how}{find_kind(facts.kind).matched.format(pages=pluralize(source['pages_per_user'], 'page'))}"
        if found.recall is not None and found.recall.posts:
            yield found.recall.sentence
    elif not found.on_topic.captured and not _searches_only(facts) and (pages := source.get("pages_per_user")):
        yield f"Of each account, at most {pluralize(pages, 'page')} of its newest posts were read."


def _searches_only(facts: CollectionFacts) -> bool:
    """Return whether accounts were read from what searches returned, and in no other way."""
    return facts.searched is not None and facts.searched.alone


def _describe_source(estimator: str) -> str:
    """Return whose an estimator is: that of the paper, of an installed package, or of code that only the reader has."""
    if estimator in OURS:
        return "socialcrawl's own, fitted while it crawled; with features after Gouriten, Maniu and Senellart, 2014"
    if not ESTIMATORS.is_added(estimator):
        return "after Gouriten, Maniu and Senellart, 2014"
    package = ESTIMATORS.describe_package(estimator)
    return (
        f"package {package}, as installed when this was written"
        if package
        else "our own code: add its source and version"
    )


def _describe_matching(facts: CollectionFacts) -> Iterator[str]:
    """Yield which posts match, as `graph.relevance.Topic` decides."""
    topic = facts.settings.get("topic", {})
    words = topic.get("keywords") or ()
    if facts.judged:
        return
    if topic.get("model_checksum"):
        yield "A post matches if a model of texts accepts it: state what it was learned from, and how well it judges."
    elif words:
        stems = any(word.endswith("*") for word in words)
        prefix = " (with * at its end: words that begin with it)" if stems else ""
        yield f"A post matches if it contains a keyword as a whole word or phrase{prefix}, in upper or lower case."
        if any(letter.isalpha() and is_unspaced(letter) for word in words for letter in word):
            yield "In scripts that are written without spaces between words, parts of words match too."
    if topic.get("patterns") and not topic.get("model_checksum"):
        yield "A post also matches a regular expression." if words else "A post matches by a regular expression."
    if languages := topic.get("languages"):
        yield f"Only posts in these languages, or without a known language, count: {', '.join(languages)}."
    limits = [f"{name} {topic[name]}" for name in ("from", "until") if topic.get(name)]
    if limits:
        yield f"Only posts written {' '.join(limits)} (UTC), or without a known time, count."


def _describe_opt_outs(facts: CollectionFacts, platform: PlatformFacts, *, searched: bool) -> Iterator[str]:
    """Yield whether accounts that opted out were skipped, and how many.

    Searches have no posts of protected accounts, and wires leave out what they return of accounts that opted out.

    Args:
        facts: how the campaign came about.
        platform: where.
        searched: whether posts came from searches (or by their ids) only, and no account was read by itself.
    """
    missing: Mapping[str, int] = facts.gaps["missing"]
    opted, protected = (missing.get(reason, 0) for reason in (Reason.OPTED_OUT, Reason.PROTECTED))
    if not platform.opt_outs:
        if searched:
            return
        yield f"Protected accounts were skipped: {protected:,}."
    elif facts.honours and searched:
        yield "Posts of accounts that had opted out were left out of what was returned, and are not counted."
    elif facts.honours:
        yield f"Accounts that had opted out were skipped: {opted:,}, and {protected:,} protected."
    else:
        yield "Opt-outs other than protected accounts were not honoured all the time (opt_outs = false)."


def _describe_missing(gaps: Mapping[str, Any]) -> Iterator[str]:
    """Yield what could not be read."""
    missing: Mapping[str, int] = gaps["missing"]
    if missing:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in missing.items())
        yield f"{pluralize(sum(missing.values()), 'account')} could not be read ({reasons})."
    if gaps["timelines_cut"]:
        cut = pluralize(gaps["timelines_cut"], "account")
        yield f"Of {cut}, only the newest posts were read."


def list_gaps(gaps: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return what is missing in the data and how much of it, as (what, count)."""
    rows = [(f"accounts that could not be read: {reason}", count) for reason, count in gaps["missing"].items()]
    rows += [
        ("timelines of which only the newest posts were read", gaps["timelines_cut"]),
        ("requests whose reply was lost (counted as spent)", gaps["lost"]),
        ("requests that failed", sum(gaps["failed"].values())),
        ("requests that met a rate limit or budget, and were repeated later", sum(gaps["limited"].values())),
        ("decisions without a result yet", gaps["picks_without_outcome"]),
    ]
    return [(what, f"{count:,}") for what, count in rows]


def list_unseen(facts: CollectionFacts, found: Summary) -> Sequence[tuple[str, str]]:
    """Return what a campaign that collects did not see, though nothing failed, as (what, count)."""
    counts, (empty, searches) = found.on_topic, facts.unseen
    unread = max(0, found.known - counts.seeds - counts.discovered - sum(found.missing.values()))
    rows = (
        ("accounts known by a mention, and not read", unread),
        ("authors of matching posts that a search returned, and not read", counts.unread_authors),
        ("accounts read that returned no posts", empty),
        ("searches stopped before their last page", searches),
    )
    counted = [(what, f"{count:,}") for what, count in rows]
    if counts.mentioned_authors:
        counted[1] = (counted[1][0], f"{counted[1][1]} ({counts.mentioned_authors:,} of them also mentioned)")
    share = "not measured: see docs/how-to/audit.md"
    if facts.sample:
        share = f"run socialcrawl audit with the file of the sample campaign {facts.sample}"
    return [*counted, ("share of the accounts on topic that is held", share)]


def _format_span(began: str | None, ended: str | None) -> str:
    """Return from the first request to the last reply, to the minute."""
    if not began:
        return "so far"
    if began[:16] == (ended or "")[:16]:
        return f"at {began[11:16]} UTC on {began[:10]}"
    return f"between {_format_minute(began)} and {_format_minute(ended)} (UTC)"


def _format_minute(instant: str | None) -> str:
    return (instant or "?")[:16].replace("T", " ")
