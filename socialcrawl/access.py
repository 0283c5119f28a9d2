"""The tokens of a campaign: read from the environment, kept secret, and used by one process at a time."""

from contextlib import ExitStack
from dataclasses import dataclass, field

from socialcrawl.model import Credential
from socialcrawl.platforms import known
from socialcrawl.platforms.platform import Secret
from socialcrawl.secret import secret
from socialcrawl.settings import Settings
from socialcrawl.tokens import SharedLease, TokenLeases, distinct, mark


@dataclass(frozen=True, slots=True)
class Access:
    """The credentials of a campaign and what is behind their names: a bearer token, or OAuth 1.0a's four secrets.

    `marks` tell tokens apart that stood in one variable one after the other: they may belong to two accounts. Who asks
    without a token has a mark too: the windows are those of this machine's address.
    """

    credentials: tuple[Credential, ...]
    secrets: dict[str, Secret] = field(repr=False)
    marks: dict[str, str] = field(default_factory=dict)
    leases: list[SharedLease] = field(default_factory=list, repr=False)

    def release(self) -> None:
        """Let other processes use the tokens."""
        for lease in self.leases:
            lease.release()


def access(settings: Settings, base: str, *, lease: bool = True, among: TokenLeases | None = None) -> Access:
    """The tokens that the settings name, for the server at `base`.

    Args:
        settings: the campaign.
        base: the server.
        lease: whether other processes are kept from using them; they are let go with `release`.
        among: the leases of this process, where several campaigns may share a token.

    Raises:
        SettingsError: a variable is not set or holds no token, or two name the same one.
        StoreError: another process uses one of them.
    """
    platform = known.of(settings)
    wanted = platform.credentials(settings)
    secrets: dict[str, Secret] = {
        credential.name: secret(env) if isinstance(env, str) else tuple(secret(name) for name in env)
        for credential, env in wanted
        if env is not None
    }
    distinct(secrets)
    platform.admits(settings, base, secrets)
    credentials = tuple(credential for credential, _ in wanted)
    if not lease:
        return Access(credentials, secrets)
    held = among or TokenLeases()
    used = {credential.name: secrets.get(credential.name, "") for credential in credentials}
    with ExitStack() as undo:
        leases = []
        for name, value in used.items():
            leases.append(held.take(base, value, name))
            undo.callback(leases[-1].release)
        undo.pop_all()
    marks = {name: mark(base, value) for name, value in used.items()}
    return Access(credentials, secrets, marks, leases)
