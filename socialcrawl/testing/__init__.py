"""The test kit for packages that add to socialcrawl: contract checks, known graphs, golden sequences, a pytest plug-in.

A check is a function that raises an AssertionError with a sentence where a contract is broken; socialcrawl's own
estimators, strategies, platforms and kinds pass the same checks. Nothing here needs pytest, except for the plug-in.
The names in `__all__` are part of the public interface; what they need is imported when they are first used.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "ESTIMATOR_CHECKS": "estimator_checks",
    "STRATEGY_CHECKS": "strategy_checks",
    "WALK_CHECKS": "walk_checks",
    "PLATFORM_CHECKS": "platform_checks",
    "KIND_CHECKS": "kind_checks",
    "KindCase": "kind_checks",
    "PlatformCase": "platform_checks",
    "check_resuming": "platform_checks",
    "KNOWN_GRAPHS": "known_graphs",
    "DrawnGraph": "known_graphs",
    "draw_random": "known_graphs",
    "GOLDEN_SEQUENCES": "golden_sequences",
    "DIGITS": "golden_sequences",
    "WAYS": "golden_sequences",
    "replay": "crawl_driver",
}
__all__ = [  # noqa: PLE0604 - the names are those of _HOMES
    *_HOMES
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(f"{__name__}.{_HOMES[name]}"), name))
