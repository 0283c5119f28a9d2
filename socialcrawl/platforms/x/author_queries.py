"""Queries of X that find posts of some accounts only, or of all but some: X bills no others. Pure."""

from collections.abc import Callable, Iterator, Sequence

from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import pluralize

MOST_NAMES = 34  # that one query takes, whatever its length: 35 were refused (observed, not documented)
FROM, OR = "from:", " OR "
LONGEST_AUTHOR = 2 * len(FROM + OR) + 19 + 15  # characters that name an account by its id and by its username


def restrict_queries(
    build: Callable[[int], Sequence[str]], *, only: Sequence[str] = (), without: Sequence[str] = (), longest: int
) -> list[str]:
    """Return the queries of a topic, restricted to posts of some accounts: each query for some of them.

    Args:
        build: returns the queries of the topic, each at most so many characters long.
        only: usernames; their posts alone are found. Empty: everybody's.
        without: usernames whose posts are not found.
        longest: characters of a query.

    Raises:
        SettingsError: there is no room for all usernames that are left out.
    """
    only, without = _drop_repeats(only), _drop_repeats(without)
    rest = "".join(f" -{FROM}{name}" for name in without)
    room = longest // 2  # for names: keywords may take the other half
    if len(rest) > room or len(without) > MOST_NAMES:
        raise SettingsError(
            f"{pluralize(len(without), 'username')} under [accounts] exclude are more than a query of X has room for "
            f"(at most {MOST_NAMES}): exclude fewer, or only in what you make of the posts."
        )
    if not only:
        return [f"({query}){rest}" for query in build(longest - 2 - len(rest))] if rest else [*build(longest)]
    queries = build(longest - room)
    return [
        f"({query}) ({OR.join(group)})"
        for query in queries
        for group in _group([f"{FROM}{name}" for name in only], longest - len(query) - len("() ()"))
    ]


def count_authors(queries: Sequence[str], longest: int) -> int:
    """Return how many accounts fit into a query, by id and name, however they are called.

    Args:
        queries: of the topic, each at most half as long as a query may be.
        longest: characters of a query.
    """
    room = longest - max(map(len, queries)) - len("() ()")
    return min(MOST_NAMES // 2, room // LONGEST_AUTHOR)


def join_authors(query: str, names: Sequence[str]) -> str:
    """Return the query that finds those posts of some accounts that a query finds; `names` are usernames or ids."""
    return f"({query}) ({OR.join(f'{FROM}{name}' for name in names)})"


def _group(terms: Sequence[str], room: int) -> Iterator[list[str]]:
    """Yield terms in groups, which joined by OR are at most `room` characters long."""
    group: list[str] = []
    for term in terms:
        if group and (len(group) == MOST_NAMES or len(OR.join([*group, term])) > room):
            yield group
            group = []
        group.append(term)
    if group:
        yield group


def _drop_repeats(names: Sequence[str]) -> list[str]:
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.lower(), name)
    return list(found.values())
