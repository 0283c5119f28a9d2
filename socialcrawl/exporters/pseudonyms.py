"""Keyed hashes for people and posts: the same key makes the same names again, without it nobody can try names out.

The key is kept nowhere: in no database, export or log.
"""

from base64 import b32encode
from functools import lru_cache
from hashlib import blake2b

from socialcrawl.errors import SettingsError
from socialcrawl.exporters.columns import Person

SHORTEST = 16  # bytes of a key
REMEMBERED = 200_000  # pseudonyms, as the same people come again and again
LETTERS = 14  # 70 bits: among 10,000,000 people the chance that two share a pseudonym is below 1 in 10,000,000


class Pseudonyms:
    """Names made of a key: equal for equal people in every table, and for equal posts.

    Raises:
        SettingsError: the key is shorter than SHORTEST bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < SHORTEST:
            raise SettingsError(
                f"The key for pseudonyms has {len(key)} bytes: give one of at least {SHORTEST}, such as the output of "
                "`openssl rand -hex 32`."
            )
        self._key = blake2b(key, digest_size=64, person=b"socialcrawl").digest()
        self._letters = lru_cache(REMEMBERED)(self._make_name)

    def name_person(self, who: Person) -> str | None:
        """Return the pseudonym of an account, shaped like a username.

        By its id, or by its name where no id is known.
        """
        if who.id is None and who.username is None:
            return None
        return "u" + self._letters(f"user {who.id}" if who.id is not None else f"name {str(who.username).lower()}")

    def name_post(self, key: str) -> str:
        """Return the pseudonym of a post."""
        return "p" + self._letters(f"post {key}")

    def name_node(self, node: int) -> int:
        """Return the pseudonym of account.node, up to 2^62; queries keep their negative numbers."""
        return node if node < 0 else int.from_bytes(self._hash(f"node {node}")) >> 2

    def _hash(self, text: str) -> bytes:
        return blake2b(text.encode(), digest_size=8, key=self._key).digest()

    def _make_name(self, text: str) -> str:
        digest = blake2b(text.encode(), digest_size=10, key=self._key).digest()
        return b32encode(digest).decode().lower()[:LETTERS]
