"""What the tests of an old dataset brought, read back: one after the other, and account by account."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from socialcrawl.engine.model import Node, Who
from socialcrawl.storage.queries import holdings

# Tests that said nothing, as they are asked once more or are another account's, are none.
FOUND = """
select o.value from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where p.campaign = :campaign and p.act = 'probe' and coalesce(o.missing, '') <> 'temporary'
  and substr(coalesce(o.missing, ''), 1, 8) <> 'same-as:' order by o.n
"""
STATUSES = """
select l.status, count(*) from liveness l join campaign c on c.name = l.campaign where c.id = :campaign
group by 1 order by 2 desc, 1
"""


class Status(NamedTuple):
    """How many accounts were last found so: active, silent, or why they are not there."""

    name: str
    accounts: int


def find_active(connection: Connection, campaign: int) -> NDArray[np.bool_]:
    """Return whether each test of a campaign found an active account, in the order of the tests, bool[tests]."""
    with connection.begin():
        values = connection.execute(text(FOUND), {"campaign": campaign}).scalars()
        return np.fromiter((value > 0 for value in values), np.bool_)


def count_statuses(connection: Connection, campaign: int) -> list[Status]:
    """Return what became of the accounts that were tested, most first."""
    with connection.begin():
        return [Status(*row) for row in connection.execute(text(STATUSES), {"campaign": campaign})]


def read_accounts(connection: Connection, nodes: Sequence[Node]) -> list[Who]:
    """Return how the platform calls some accounts, in their order."""
    known = holdings.read_names(connection, nodes)
    return [known.get(node, Who(None, None)) for node in nodes]
