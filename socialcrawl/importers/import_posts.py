"""What a file of posts is brought in as: posts of the database, the history of a campaign, or names to begin with.

A file is looked through before anything is stored: with a bad line nothing is, unless those are to be skipped. Then it
is stored page by page, a transaction each, so that a campaign of the same database can go on meanwhile.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.campaign.plan import make_plan, make_topic
from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import format_time
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.relevance import Hits, Topic
from socialcrawl.importers.post_files import count_nothing, read_posts
from socialcrawl.platforms.facts import DEFAULT
from socialcrawl.platforms.x.source import LEGAL
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.counting_rule import CountingRule
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.imports.import_picks import write_import_picks
from socialcrawl.storage.imports.page_rows import ImportCounts, PostImport
from socialcrawl.storage.imports.parsed_page import ParsedPage

Watch = Callable[[str, int], None]
"""Told what is being done and how many posts of the files it has come to."""


@dataclass(frozen=True, slots=True)
class PostImportResult:
    """How an import ended.

    Attributes:
        stored: posts read, new ones, forgotten ones.
        trouble: the lines that were skipped.
        authors: those that became the history of a campaign.
        asked: authors whom the campaign had asked already: they stay as they were.
    """

    stored: ImportCounts
    trouble: LineErrors
    authors: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class PostFiles:
    """The files of an import and how they are read: bad lines may be skipped; `watch` gets the progress."""

    paths: Sequence[Path]
    skip_bad: bool = False
    watch: Watch = lambda what, posts: None

    def check(self) -> None:
        """Look through the files.

        Raises:
            PostsFileError: a file cannot be read, or has bad lines that are not to be skipped.
        """
        if not self.skip_bad:
            trouble = LineErrors()
            for _ in self.read_posts(count_nothing, trouble, "looking through"):
                pass
            trouble.refuse()

    def read_posts(self, count: Hits, trouble: LineErrors, what: str, *, keep: bool = False) -> Iterator[ParsedPage]:
        """Yield all that is in the files, in order."""
        posts = 0
        for path in self.paths:
            for found in read_posts(path, count, trouble, keep=keep):
                yield found
                posts += len(found.page.posts)
                self.watch(what, posts)


def import_posts(files: PostFiles, connection: Opened, settings: Settings | None, now: float) -> PostImportResult:
    """Return posts of the files in the tables; with a campaign, also which of them match its topic.

    Args:
        files: what to read.
        connection: the database.
        settings: the campaign, which is begun if it is new; None for none.
        now: Unix seconds.
    """
    files.check()
    number = None if settings is None else _find_campaign(connection, settings, now)
    count = count_nothing if settings is None else make_topic(settings).hits
    platform = DEFAULT.name if settings is None else settings.source.platform
    intake = PostImport(connection, platform, format_time(now), number)
    trouble = _take_files(files, intake, count, keep=settings is not None and settings.source.keep_original)
    return PostImportResult(intake.stored, trouble)


def import_history(files: PostFiles, connection: Opened, settings: Settings, now: float) -> PostImportResult:
    """Import all authors of the files as accounts that the campaign has read; see `storage.imports.import_picks`.

    Raises:
        StoreError: the campaign is running.
    """
    files.check()
    platform = settings.source.platform
    lease = Lease(connection, settings.name)
    try:
        number = _find_campaign(connection, settings, now)
        intake = PostImport(connection, platform, format_time(now), number, history=True)
        count = make_topic(settings).hits
        trouble = _take_files(files, intake, count, keep=settings.source.keep_original, drop=False)
        authors, asked = write_import_picks(connection, number, platform, now)
        intake.close()
    finally:
        lease.release()
    return PostImportResult(intake.stored, trouble, authors, asked)


def find_seeds(
    files: PostFiles, topic: Topic | None, spare: Callable[[ParsedPage], ParsedPage] = lambda found: found
) -> tuple[list[tuple[str, int]], PostImportResult]:
    """Return usernames to begin with, by number of posts (on topic, where one is given), most first.

    Each post counts once. Authors of whom the files tell no username, or one that is none of X's, are left out.

    Args:
        files: what to read.
        topic: what the posts have to be about; None for anything.
        spare: takes out what was forgotten.
    """
    trouble, stored = LineErrors(), ImportCounts()
    posts: Counter[str] = Counter()
    names: dict[str, str] = {}
    seen: set[str] = set()
    for found in files.read_posts(count_nothing if topic is None else topic.hits, trouble, "reading"):
        kept = spare(found)
        stored.forgotten += len(found.page.posts) - len(kept.page.posts)
        named = [*kept.authors.values(), *kept.named]
        names |= {row.id: row.username for row in kept.page.accounts}
        names |= {who.id or f"@{who.username}".lower(): who.username for who in named if who.username}
        for row, hits in zip(kept.page.posts, kept.page.hits, strict=True):
            if row.id not in seen:
                seen.add(row.id)
                posts[row.author] += topic is None or hits > 0
    if not files.skip_bad:
        trouble.refuse()
    stored.posts = len(seen)
    by_name: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for key, number in posts.items():
        name = names.get(key, "")
        if number and LEGAL.fullmatch(name):
            by_name[name.lower()] += number
            shown.setdefault(name.lower(), name)
    ordered = sorted(by_name.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(shown[name], number) for name, number in ordered], PostImportResult(stored, trouble, len(posts))


def _take_files(
    files: PostFiles, intake: PostImport, count: Hits, *, keep: bool = False, drop: bool = True
) -> LineErrors:
    trouble = LineErrors()
    for found in files.read_posts(count, trouble, "storing", keep=keep):
        intake.take(found)
    intake.store_answers()
    if drop:
        intake.close()
    return trouble


def _find_campaign(connection: Opened, settings: Settings, now: float) -> int:
    plan = make_plan(settings)
    values, identity = plan.settings.model_dump(mode="json"), plan.settings.identity(plan.usernames)
    counting = CountingRule.from_topic(plan.topic)
    fixed = plan.fixed
    return ensure_campaign(connection, values, identity, now, queries=plan.queries, counting=counting, fixed=fixed)
