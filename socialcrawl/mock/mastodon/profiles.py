"""Accounts as the JSON of Mastodon 4.6, with the members and in the order of recorded answers."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from socialcrawl.mock.mastodon.instances import Instances
from socialcrawl.mock.names import PROTECTED, SUSPENDED, Chosen, is_chosen
from socialcrawl.mock.relations import Follows
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

NOBODY: Mapping[str, str] = {}
_NOBODY = {"automatic": [], "manual": [], "current_user": "denied"}


class Profiles:
    """The accounts of a world as its instances tell them.

    Args:
        world: the accounts and their posts.
        instances: where they live.
        follows: who follows whom.
        changes: what has become of them.
        noindex: who does not want to be found (`noindex`, and neither `indexable` nor `discoverable`): a share of the
            accounts (0..1), or folded names as the file has them.
        nobot: who says #nobot in the note, likewise.
        moved: who has moved, and where to: folded names as the file has them.
        limited: whom the instances hide from those who do not follow them, likewise; it is told with `limited`.
    """

    def __init__(
        self,
        world: World,
        instances: Instances,
        follows: Follows,
        changes: WorldChanges,
        *,
        noindex: Chosen,
        nobot: Chosen,
        moved: Mapping[str, str] = NOBODY,
        limited: Chosen = 0.0,
    ) -> None:
        self._world, self._instances = world, instances
        self._follows, self._changes = follows, changes
        self._noindex, self._nobot, self._moved, self._limited = noindex, nobot, moved, limited

    def is_hidden(self, row: int) -> bool:
        """Return whether the account does not want to be found by searches."""
        return is_chosen(self._world.accounts.keys[row], self._noindex, b"noindex")

    def make_stranger(self, domain: str) -> dict[str, Any]:
        """Return the members of the first account of the world, as of one that lives on this instance."""
        local = {"noindex": False, "feature_approval": _NOBODY, "emojis": [], "roles": [], "fields": []}
        return {name: value for name, value in self.profile(0, domain).items() if name != "suspended"} | local

    def profile(self, row: int, domain: str, *, complete: bool = True) -> dict[str, Any]:
        """Return the account in this row as an instance tells it; a suspended one emptied, as Mastodon does.

        `complete`: with the account that it has moved to.
        """
        fate, hidden = self._changes.find_fate(row), self.is_hidden(row)
        gone = fate == SUSPENDED
        found = self._names(row, domain, "" if gone else self._world.accounts.shown[row])
        found["locked"] = fate == PROTECTED
        found |= {"bot": False, "discoverable": not (hidden or gone), "indexable": not (hidden or gone), "group": False}
        found |= {"created_at": self._find_created(row), "note": "" if gone else self._note(row)}
        found |= self._addresses(row, domain)
        found |= self._counts(row, gone=gone)
        found |= {"hide_collections": None, "show_media": True, "show_media_replies": True, "show_featured": True}
        if self._instances.domains[row] == domain:
            found |= {"noindex": hidden, "feature_approval": _NOBODY, "emojis": [], "roles": [], "fields": []}
        else:
            found |= {"emojis": [], "fields": []}
        return found | ({"suspended": True} if gone else self._standing(row, domain, complete=complete))

    def _standing(self, row: int, domain: str, *, complete: bool) -> dict[str, Any]:
        """Return that the account is limited, and where it has moved to (without the same about the new account)."""
        key = self._world.accounts.keys[row]
        found: dict[str, Any] = {"limited": True} if is_chosen(key, self._limited, b"limited") else {}
        target = self._instances.by_key.get(self._moved.get(key, "")) if complete else None
        return found if target is None else found | {"moved": self.profile(target, domain, complete=False)}

    def _names(self, row: int, domain: str, display_name: str) -> dict[str, Any]:
        instances = self._instances
        return {
            "id": str(instances.account_id(row, domain)),
            "username": instances.name(row),
            "acct": instances.acct(row, domain),
            "display_name": display_name,
        }

    def _addresses(self, row: int, domain: str) -> dict[str, str]:
        pictures = {
            name: f"https://{domain}/{kind}s/original/missing.png" if not name.endswith("description") else ""
            for kind in ("avatar", "header")
            for name in (kind, f"{kind}_static", f"{kind}_description")
        }
        return {"url": self._instances.url(row), "uri": self._instances.uri(row), **pictures}

    def _note(self, row: int) -> str:
        return "<p>#nobot</p>" if is_chosen(self._world.accounts.keys[row], self._nobot, b"nobot") else ""

    def _find_created(self, row: int) -> str:
        """Return the day of the first that is seen of an account, which is all that the file tells of its age."""
        seen = [posts[0] for posts in (self._own(row), self._world.mentioned_in.of(row)) if len(posts)]
        first = min((int(self._world.created_at[post]) for post in seen), default=int(self._world.created_at[0]))
        return f"{_format_day(first)}T00:00:00.000Z"

    def _counts(self, row: int, *, gone: bool) -> dict[str, Any]:
        moment = self._changes.moment
        own = self._changes.select_existing(self._own(row))
        if gone:
            return {"followers_count": 0, "following_count": 0, "statuses_count": 0, "last_status_at": None}
        return {
            "followers_count": len(self._follows.of(row, moment, backwards=True)),
            "following_count": len(self._follows.of(row, moment, backwards=False)),
            "statuses_count": len(own),
            "last_status_at": _format_day(int(self._world.created_at[own[-1]])) if len(own) else None,
        }

    def _own(self, row: int) -> Any:
        return self._world.timelines.of(row)


def _format_day(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).date().isoformat()
