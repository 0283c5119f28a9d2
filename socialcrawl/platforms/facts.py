"""What every floor may know of a platform: its name and what it is like. Another package adds one by an entry point.

The platform itself, which makes sources and wires, is a `platforms.base.Platform` and has these as `facts`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from socialcrawl.platforms.bluesky import identifiers as bluesky
from socialcrawl.platforms.mastodon import identifiers as mastodon
from socialcrawl.platforms.web import identifiers as web
from socialcrawl.platforms.x import identifiers as x
from socialcrawl.system.plugins import PluginGroup, make_facts_check


def has_no_tokens(word: str, section: str) -> bool:
    """Return False: tokens of the platform cannot be told from other words."""
    del word, section
    return False


def has_no_ids(text: str) -> Iterable[str]:
    """Return no ids: those of the platform cannot be told from other words."""
    del text
    return ()


def names_nobody(address: str) -> None:
    """Return None: ids and addresses of the platform say nothing of their account."""
    del address


class LinkShape(NamedTuple):
    """How links to a platform look in texts.

    Attributes:
        pattern: a link, from its host on.
        mark: what each of them contains, in small letters.
        hosts: what they begin with; each of them contains one.
        split: yields the words of a link that could be a name or an id, in lower case.
    """

    pattern: re.Pattern[str]
    mark: str
    hosts: tuple[str, ...]
    split: Callable[[str], Iterator[str]]


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """A platform, as campaign files and databases name it, and what it can do or is like.

    Attributes:
        name: the value of [source] platform, and what databases call it.
        title: what sentences call it.
        policy: its table of limits and prices: a file in the folder config, or an absolute path; "": NAME.toml there.
        variable: the environment variable that holds the token where a campaign names none; None: it then asks without.
        env_advice: where a secret belongs that was pasted into a campaign file.
        is_token: tells whether a word is one of its tokens or passwords, by how it looks; its second argument is the
            section of the campaign file in which the word stands.
        pages: whether its accounts are pages, each named by its address, and posts and links are pages too.
        numeric_ids: whether ids are numbers that say nothing; elsewhere they tell the name of the account or author.
        short_names: whether texts may call an account by the beginning of its name.
        omitted_from: the sign with which that part of a name begins that people leave out; "": there is none.
        federated: whether accounts live on servers, by which their names end (NAME@SERVER), which are their only ids;
            each server has its own numbers for accounts, and texts leave servers out.
        post_marks: whether a visit is marked by the id of the newest post; elsewhere it is by an instant.
        edits_posts: whether a post keeps its id when it is edited.
        replaces_posts: whether a post that is read again takes the place of what was stored of it.
        partial_mentions: whether a mention counts in the part of the post around it only.
        tells_protected: whether profiles tell whose posts are protected; elsewhere they may ask not to be collected.
        opt_outs: whether accounts or pages can ask not to be collected; see `opt_outs` under [source].
        hosts: the hosts of its API, where it has its own; the first is the one that the others lead to.
        id_starts: how ids of accounts begin that can be told from names.
        find_ids: returns what could be ids of accounts and posts in a text.
        find_owners: returns whose a post is, by its id: ids, and names in lower case; None: not told, or no such id.
        find_holders: likewise, whose page an address shows, whatever stands behind it.
        parse_post_address: returns an account and a key that each address of a post has in common; None: it is of none.
        find_post_address: returns the address at which people see a post, by its id; None: it does not tell.
        links: how links in texts look that names and ids stand in; None: as other addresses.
        places: fields of a post's JSON that say where it was written.
        profiles: the endpoints of profiles whose parameters ids and usernames name whose: stored profiles answer them.
        account_parameters: parameters of requests that name accounts, of which an erasure removes the forgotten; None:
            any parameter may.
        look_ups: the other endpoints that tell whether an account is there before its posts are requested.
        active: the rule by which probed accounts are active where a campaign names none; see `RefreshSection.active`.
            Usually they have posted in the last six months (section 3.2 of the paper).
        undated: whether accounts that do not tell when they were last active count as active.
        rank: the order in which an old dataset is tested where a campaign names none; see `RefreshSection.rank`.
        training: who is tested first where a campaign names nobody; see `RefreshSection.training`.
        trap: what a random walk must not be caught in where a campaign does not say; see `SampleSection.trap`.
    """

    name: str
    title: str
    policy: str = ""
    variable: str | None = None
    env_advice: str = ""
    is_token: Callable[[str, str], bool] = has_no_tokens
    pages: bool = False
    numeric_ids: bool = False
    short_names: bool = False
    omitted_from: str = ""
    federated: bool = False
    post_marks: bool = False
    edits_posts: bool = True
    replaces_posts: bool = False
    partial_mentions: bool = False
    tells_protected: bool = False
    opt_outs: bool = False
    hosts: tuple[str, ...] = ()
    id_starts: tuple[str, ...] = ()
    find_ids: Callable[[str], Iterable[str]] = has_no_ids
    find_owners: Callable[[str], set[str] | None] = names_nobody
    find_holders: Callable[[str], set[str] | None] = names_nobody
    parse_post_address: Callable[[str], tuple[str, str] | None] = names_nobody
    find_post_address: Callable[[str], str | None] = names_nobody
    links: LinkShape | None = None
    places: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    account_parameters: tuple[str, ...] | None = None
    look_ups: tuple[str, ...] = ()
    active: str = "180d"
    undated: bool = False
    rank: str = "pa"
    training: str = "pagerank"
    trap: str = "off"


ID_PARAMETERS, NAME_PARAMETERS = ("ids", "id"), ("usernames", "username", "acct", "url")
ACCOUNT_PARAMETERS = (*ID_PARAMETERS, *NAME_PARAMETERS)
POST_PARAMETERS = ("wanted", "uris")
"""Parameters that name posts, whose ids may tell the author."""

X = PlatformFacts(
    "x",
    "X",
    variable="X_BEARER_TOKEN",
    env_advice='export X_BEARER_TOKEN=..., and token_env = "X_BEARER_TOKEN" under [source]; or, of OAuth 1.0a, four '
    'variables: tokens = [{ env = ["X_KEY", "X_KEY_SECRET", "X_ACCESS", "X_ACCESS_SECRET"], kind = "user" }]',
    is_token=x.is_token,
    hosts=("api.x.com", "api.twitter.com"),
    find_post_address=x.find_post_address,
    links=LinkShape(x.LINK, x.MARK, x.HOSTS, x.split_link),
    places=x.PLACES,
    numeric_ids=True,
    edits_posts=False,
    tells_protected=True,
    profiles=("/2/users", "/2/users/by"),
    account_parameters=ACCOUNT_PARAMETERS,
)
BLUESKY = PlatformFacts(
    "bluesky",
    "Bluesky",
    env_advice="export BSKY_APP_PASSWORD=..., and under [source] your handle as identifier and "
    'token_env = "BSKY_APP_PASSWORD"',
    is_token=bluesky.is_token,
    opt_outs=True,
    id_starts=("did:",),
    find_ids=bluesky.find_ids,
    find_owners=bluesky.find_owners,
    find_holders=bluesky.find_holders,
    parse_post_address=bluesky.parse_post_address,
    find_post_address=bluesky.find_post_address,
    short_names=True,
    omitted_from=".",
    profiles=("/xrpc/app.bsky.actor.getProfiles",),
    account_parameters=ACCOUNT_PARAMETERS,
)
MASTODON = PlatformFacts(
    "mastodon",
    "Mastodon",
    env_advice='export MASTODON_TOKEN=..., and token_env = "MASTODON_TOKEN" under [source]',
    short_names=True,
    omitted_from="@",
    federated=True,
    post_marks=True,
    opt_outs=True,
    find_owners=mastodon.find_owners,
    find_holders=mastodon.find_holders,
    parse_post_address=mastodon.parse_post_address,
    find_post_address=mastodon.find_post_address,
    look_ups=("/api/v1/accounts/lookup",),
    account_parameters=ACCOUNT_PARAMETERS,
)
WEB = PlatformFacts(
    "web",
    "the web",
    pages=True,
    id_starts=("http://", "https://"),
    find_owners=web.find_owners,
    find_post_address=web.find_post_address,
    replaces_posts=True,
    partial_mentions=True,
    opt_outs=True,
    active="exists",
    undated=True,
    rank="pa+-",
    training="random",
    trap="host",
    account_parameters=ACCOUNT_PARAMETERS,
)
DEFAULT = X
"""The platform of campaign files that name none."""
BUILT_IN = {facts.name: facts for facts in (X, BLUESKY, MASTODON, WEB)}
PLATFORMS = PluginGroup("socialcrawl.platforms", "platform", tuple(BUILT_IN), make_facts_check(PlatformFacts))
"""The platforms; another package adds a `platforms.base.Platform`."""


def find_platform_facts(name: str) -> PlatformFacts:
    """Return what is known of the platform called `name`.

    Raises:
        SettingsError: there is no such platform.
    """
    facts: PlatformFacts = BUILT_IN[name] if name in BUILT_IN else PLATFORMS.load(name).facts
    return facts


@cache
def list_platform_facts() -> tuple[PlatformFacts, ...]:
    """Return what is known of all platforms; those that other packages add come first. Broken ones are left out."""
    return (*(added.facts for added in PLATFORMS.load_added()), *BUILT_IN.values())


@cache
def list_link_shapes() -> tuple[LinkShape, ...]:
    """Return how links look of the platforms that have their own form."""
    return tuple(facts.links for facts in list_platform_facts() if facts.links is not None)


@cache
def list_owner_finders() -> tuple[Callable[[str], set[str] | None], ...]:
    """Return `find_owners` of the platforms whose ids of posts tell the author."""
    return tuple(facts.find_owners for facts in list_platform_facts() if facts.find_owners is not names_nobody)


@cache
def list_id_starts() -> tuple[str, ...]:
    """Return how ids of accounts begin that can be told from names."""
    return tuple(start for facts in list_platform_facts() for start in facts.id_starts)
