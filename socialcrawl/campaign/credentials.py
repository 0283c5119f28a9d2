"""The tokens of a campaign: read from the environment, kept secret, and used by one process at a time."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from socialcrawl.campaign.settings import Settings
from socialcrawl.campaign.token_journal import TokenJournal
from socialcrawl.campaign.token_locks import (
    SharedLease,
    TokenLeases,
    check_distinct,
    is_token_free,
    make_token_mark,
)
from socialcrawl.engine.model import Credential, Grant, Reply
from socialcrawl.errors import SocialcrawlError
from socialcrawl.platforms.base import Platform, Secret, Variables
from socialcrawl.platforms.registry import platform_of
from socialcrawl.ratelimit.shared_windows import SentRequest
from socialcrawl.system.secret import read_secret
from socialcrawl.system.state_folder import make_state_folder


@dataclass(frozen=True, slots=True)
class CampaignAccess:
    """The credentials of a campaign and what is behind their names: a bearer token, or OAuth 1.0a's four secrets.

    `marks` tell tokens apart that stood in one variable one after the other: they may belong to two accounts. Who asks
    without a token has a mark too: the windows are those of this machine's address. `bills` are the marks of the tokens
    and of their applications: whoever shares one has one bill. `journals` have what was sent with each token, by the
    names of the credentials.
    """

    credentials: tuple[Credential, ...]
    secrets: dict[str, Secret] = field(repr=False)
    marks: dict[str, str] = field(default_factory=dict)
    bills: frozenset[str] = frozenset()
    leases: list[SharedLease] = field(default_factory=list, repr=False)
    journals: dict[str, TokenJournal] = field(default_factory=dict)

    def make_recorder(self, campaign: str, keep: float) -> Callable[[Grant, Reply | None], None]:
        """Return what notes the requests of a campaign, and their replies, in the journals of the tokens.

        Args:
            campaign: what tells the campaign from all others of this machine.
            keep: seconds for which its requests count.
        """
        return lambda grant, reply: self.journals[grant.credential].note(campaign, grant, reply, keep)

    def read_journals(self, since: float) -> dict[str, list[SentRequest]]:
        """Return what each campaign has sent with these tokens since an instant, as the journals tell.

        Raises:
            StoreError: a journal cannot be read.
        """
        found: dict[str, list[SentRequest]] = {}
        for credential, journal in self.journals.items():
            for campaign, lines in journal.read(since).items():
                found.setdefault(campaign, []).extend(SentRequest(credential, *line) for line in lines)
        return found

    def release(self) -> None:
        """Let other processes use the tokens."""
        for lease in self.leases:
            lease.release()


def open_access(
    settings: Settings, base: str, *, lease: bool = True, among: TokenLeases | None = None
) -> CampaignAccess:
    """Return the tokens that the settings name, for the server at `base`.

    Args:
        settings: the campaign.
        base: the server.
        lease: whether other processes are kept from using them; they are let go with `release`.
        among: the leases of this process, where several campaigns may share a token.

    Raises:
        SettingsError: a variable is not set or holds no token, or two name the same one.
        StoreError: another process uses one of them.
    """
    platform = platform_of(settings)
    wanted = platform.list_credentials(settings)
    secrets = {credential.name: read_token(env) for credential, env in wanted if env is not None}
    check_distinct(secrets)
    platform.check_tokens(settings, base, secrets)
    credentials = tuple(credential for credential, _ in wanted)
    if not lease:
        return CampaignAccess(credentials, secrets)
    held = among or TokenLeases()
    used = {credential.name: secrets.get(credential.name, "") for credential in credentials}
    with ExitStack() as undo:
        leases = []
        for name, value in used.items():
            leases.append(held.take(base, value, name))
            undo.callback(leases[-1].release)
        undo.pop_all()
    marks, bills = mark_tokens(platform, base, used)
    journals = {name: TokenJournal(make_state_folder() / f"{one}.sent") for name, one in marks.items()}
    return CampaignAccess(credentials, secrets, marks, bills, leases, journals)


def has_tokens(settings: Settings, base: str) -> bool:
    """Return whether the tokens of a campaign, for the server at `base`, are here and no other process uses them."""
    try:
        wanted = platform_of(settings).list_credentials(settings)
        return all(is_token_free(base, read_token(env)) for _, env in wanted)
    except SocialcrawlError:
        return False


def list_variables(settings: Settings) -> dict[str, bool]:
    """Return the environment variables that hold the tokens and addresses of a campaign, and whether each is set here.

    One is also set where NAME_FILE names a file that holds it. No value is read.
    """
    wanted = [env for _, env in platform_of(settings).list_credentials(settings)]
    names = [name for env in wanted for name in ((env,) if isinstance(env, str) else env or ())]
    names += filter(None, (settings.notify.webhook_env, settings.notify.apprise_env))
    return {name: any(os.environ.get(name + end) for end in ("", "_FILE")) for name in names}


def read_token(variables: Variables | None) -> Secret:
    """Return the token that environment variables hold; "" where there are none, for who asks without one.

    Raises:
        SettingsError: a variable is not set or holds no token.
    """
    return read_secret(variables) if isinstance(variables, str) else tuple(map(read_secret, variables or ())) or ""


def mark_tokens(platform: Platform, base: str, tokens: Mapping[str, Secret]) -> tuple[dict[str, str], frozenset[str]]:
    """Return the marks of tokens by the names of their credentials, and those of whatever has one bill.

    Args:
        platform: whose tokens they are.
        base: the server that they are for.
        tokens: by the names of their credentials; "" for who asks without one.
    """
    marks = {name: make_token_mark(base, token) for name, token in tokens.items()}
    applications = {platform.find_application(token) for token in tokens.values() if token} - {""}
    return marks, frozenset([*marks.values(), *(make_token_mark(base, ("application", one)) for one in applications)])
