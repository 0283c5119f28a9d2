"""The best accounts of a campaign are listed without a look at every post of every account."""

from functools import partial

import pytest
from stores import a_store

from socialcrawl.storage.queries.summary import summarize_campaign

READ, EACH = 600, 5  # accounts that were read, and posts of each, of which every second matches
FILL = (
    "insert into account (node, platform, platform_id, first_seen_at) values (?, 'x', ?, '')",
    "insert into pick (campaign, n, batch, node, act, score) values (1, ?, 0, ?, 'expand', 0)",
    "insert into outcome (campaign, n, node, at, value, occurrences, posts) values (1, ?, ?, '', 1, 3, 5)",
    "insert into post (id, author, text, metrics_at, fetched_at) values (?, ?, '', '', '')",
    "insert into hit (campaign, post, occurrences) values (1, ?, 1)",
)


@pytest.fixture
def ranked():
    """The store of a campaign that read many accounts of equal relevance."""
    with a_store("sqlite") as store:
        nodes = [(n, n) for n in range(READ)]
        posts = [(f"{n}-{k}", n) for n in range(READ) for k in range(EACH)]
        matching = [(key,) for key, _ in posts if key.endswith(("0", "2", "4"))]
        with store.connection.begin():
            for statement, rows in zip(FILL, (nodes, nodes, nodes, posts, matching), strict=True):
                store.connection.exec_driver_sql(statement, rows)
        yield store


def test_accounts_that_are_not_listed_are_ranked_and_not_counted(ranked):
    database = ranked.connection.connection.driver_connection
    spent = {}
    for most in (10, 110):
        work = []
        database.set_progress_handler(partial(work.append, 1), 100)  # every 100 instructions of SQLite's machine
        found = summarize_campaign(ranked.connection, most=most).discovered
        database.set_progress_handler(None, 0)
        assert [(row["id"], row["stored"], row["matching"], row["step"]) for row in found] == [
            (str(n), EACH, 3, n + 1) for n in range(most)
        ]
        spent[most] = 100 * len(work)
    assert spent[110] - spent[10] < 100 * READ * EACH / 2, "a listed account needs no look at the posts of all"
    assert spent[10] < 100 * READ * EACH, "a summary needs no look at all posts for each account"
