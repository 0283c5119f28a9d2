"""What a kind of campaign is made of: its facts, its section of the campaign file, and its crawl."""

from socialcrawl.campaign.sections.values import Section
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import (
    Crawling,
    CrawlKind,
    Mark,
    Progress,
    ReportRequest,
    Snapshot,
    Width,
    no_mark,
    one_each,
)
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.facts import KindFacts
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import draw_chance, draw_uniform
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reason, SameAs, Stop, StopKind, Wait
from socialcrawl.engine.protocols import Batch, History
from socialcrawl.errors import SettingsError

__all__ = [
    "Act", "Batch", "Collect", "CrawlKind", "Crawling", "History", "KindFacts", "Mark", "Node", "Outcome", "Pick",
    "Progress", "Reason", "ReportRequest", "SameAs", "Section", "Seeds", "Settings", "SettingsError", "Snapshot",
    "Stop", "StopKind", "Wait", "Width", "draw_chance", "draw_uniform", "make_estimator", "no_mark", "one_each",
]  # fmt: skip
