"""A campaign of the Python API on the mock X API, run once for all tests that only read its database."""

from x_crawls import TOKEN_ENV, TOPIC, posts

import socialcrawl as sc
from socialcrawl.mock.server import serve_in_thread


def sections_of(url, database, **more):
    """The sections of a small campaign against the mock at `url`."""
    return {
        "database": str(database),
        "topic": {"keywords": [TOPIC]},
        "seeds": {"most": 10},
        "crawl": {"estimator": "nh-ne-sum", "steps": 30, **more.pop("crawl", {})},
        "source": {"token_env": TOKEN_ENV, "base_url": url, "pages_per_user": 2, "timeout": 10.0},
        "limits": {"k": 100_000, "d": 60.0, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5},
        **more,
    }


def run_example(folder, **more):
    """Run the campaign `example` into a new database, and return it and how it ended."""
    with serve_in_thread(posts(), limit=100_000) as mock:
        campaign = sc.Campaign(name="example", **sections_of(mock.url, folder / "example.db", **more))
        return campaign, campaign.run()
