"""The garbage collector, at rest where it would only walk through the same rows again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """A block without garbage collection: for work that makes many objects, and no circles among them."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
