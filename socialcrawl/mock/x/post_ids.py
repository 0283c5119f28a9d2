"""The ids of posts and the time: X's ids tell when a post was made, those of a file may not."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from socialcrawl.mock.world import SNOWFLAKE_EPOCH, World

_SECOND = 1_000  # ms


class PostIds:
    """The order of ids and seconds in a world.

    Args:
        world: the posts.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def find_id_before(self, second: float) -> int:
        """Return an id such that posts made at this Unix second or later have larger ones, and older posts do not."""
        since = int(second * _SECOND) - SNOWFLAKE_EPOCH
        if self._has_snowflakes and since > 0:
            return (since << 22) - 1
        ids = self._world.ids
        place = int(np.searchsorted(self._latest, second))
        return int(ids[place]) - 1 if place < len(ids) else int(ids[-1])

    def find_second_after(self, post: int) -> int:
        """Return a Unix second before which no post has a larger id: when the post was made, or the next one."""
        if self._has_snowflakes and post >> 22:
            return ((post >> 22) + SNOWFLAKE_EPOCH) // _SECOND
        place = int(np.searchsorted(self._world.ids, post, side="right"))
        return int(self._world.created_at[place:].min()) if place < len(self._latest) else self._world.end

    @cached_property
    def _latest(self) -> NDArray[np.int64]:
        return np.maximum.accumulate(self._world.created_at)

    @cached_property
    def _has_snowflakes(self) -> bool:
        """Whether the ids of all posts from after the first snowflake have their seconds in them."""
        late = self._world.created_at * _SECOND >= SNOWFLAKE_EPOCH
        told = ((self._world.ids[late] >> 22) + SNOWFLAKE_EPOCH) // _SECOND
        return bool(late.any() and (told == self._world.created_at[late]).all())
