"""How many examples a property test takes: a share of what it was written for, all of them in `make chaos`."""

import os

SHARE = float(os.environ.get("SOCIALCRAWL_EXAMPLES", "0.25"))


def many(examples):
    """So many examples, as this run has time for."""
    return max(10, round(examples * SHARE))
