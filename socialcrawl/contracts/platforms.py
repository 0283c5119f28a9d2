"""What a platform is made of: its facts, its source, its wire and the rows that it parses."""

from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import (
    AccountRow,
    Act,
    Answer,
    Credential,
    Grant,
    Limit,
    Mention,
    Node,
    Outcome,
    Page,
    Pick,
    PostRow,
    Reason,
    Reply,
    ReplyKind,
    Request,
    SameAs,
    Who,
)
from socialcrawl.engine.protocols import Batch, Conversation, Source
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import EndpointRoles
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.base import Keys, Platform, Template, Terms, Wired
from socialcrawl.platforms.facts import LinkShape, PlatformFacts
from socialcrawl.platforms.http_client import HttpAnswer, HttpClient, bound_memory
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.ratelimit.policy import Policy

__all__ = [
    "AccountRow", "Act", "Answer", "Batch", "Conversation", "Credential", "EndpointRoles", "Grant", "HttpAnswer",
    "HttpClient", "Keys", "Limit", "LinkShape", "Mention", "Node", "Outcome", "Page", "Pick", "Platform",
    "PlatformFacts", "Policy", "PostRow", "Reading", "Reason", "Reply", "ReplyKind", "Request", "SameAs", "Settings",
    "SettingsError", "Source", "Template", "Terms", "Topic", "Who", "Wired", "bound_memory",
]  # fmt: skip
