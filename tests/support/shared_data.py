"""Where real posts and recorded answers lie on some machines: $SOCIALCRAWL_SHARED, or `shared` beside the checkout."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("SOCIALCRAWL_SHARED") or Path(__file__).parents[3] / "shared")


def needed(name: str) -> Path:
    """The file `name` of that folder; the test skips, with a reason, where it is missing."""
    if not (SHARED / name).exists():
        pytest.skip(f"{name} is not on this machine (SOCIALCRAWL_SHARED)")
    return SHARED / name
