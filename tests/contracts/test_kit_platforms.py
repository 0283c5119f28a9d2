"""Our own platforms and kinds of campaigns pass the checks of the test kit, which find what is wrong with others."""

import pytest

from socialcrawl.crawls.registry import find_kind
from socialcrawl.platforms.registry import find_platform
from socialcrawl.testing import KIND_CHECKS, PLATFORM_CHECKS, KindCase, PlatformCase

NAMES = {
    "x": ["@ann", "Bob"],
    "bluesky": ["ann.example.org", "bob.example.org"],
    "mastodon": ["@ann@a.example", "bob@b.example"],
    "web": ["https://a.example/", "https://b.example/page"],
}
IDENTIFIERS = {"x": "12", "bluesky": "did:plc:abcdefghijklmnopqrstuvwx"}
KINDS = {"collect": {"crawl": {"estimator": "hybrid-sum", "switch_after": 4}}, "track": {"track": {"recrawl": "yr"}}}


def called(one):
    return one.__name__ if callable(one) else str(one)


@pytest.mark.parametrize("check", PLATFORM_CHECKS, ids=called)
@pytest.mark.parametrize("name", NAMES)
def test_every_platform_passes_the_checks_for_those_of_other_packages(name, check):
    check(PlatformCase(find_platform(name), NAMES[name], IDENTIFIERS.get(name, "")))


@pytest.mark.parametrize("check", KIND_CHECKS, ids=called)
@pytest.mark.parametrize("name", KINDS)
def test_kinds_pass_the_checks_for_those_of_other_packages(name, check):
    check(KindCase(find_kind(name), KINDS[name]))
