"""What estimators that looked on thought of the picks, read back as columns. It reads; it changes nothing."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from socialcrawl.storage.epochs import find_comparable_start
from socialcrawl.storage.queries.judgement import Judgement, ScoredPicks, judge_estimators
from socialcrawl.system.garbage_collection import pause_garbage_collection

NUMBER = "select id from campaign where name = :name"
SETTINGS = """
select settings from (
  select settings, number from version where campaign = :campaign
  union all select settings, -1 from campaign where id = :campaign) as known order by number desc limit 1
"""
LAST = """
select estimator from shadow
where campaign = :campaign and n = (select max(n) from shadow where campaign = :campaign) order by estimator
"""
# The shadows lead, in the order of their key: there may be a million picks from before they were named. (SQLite takes
# the tables of a cross join in this order.)
SCORED = """
select p.score, {scores}, o.value
from shadow s0 cross join outcome o cross join pick p {joined}
where s0.campaign = :campaign and s0.n >= :since and s0.estimator = :name0
  and o.campaign = :campaign and o.n = s0.n and o.missing is null
  and p.campaign = :campaign and p.n = s0.n and p.act = 'expand'{where}
order by s0.n
"""
JOINED = "cross join shadow s{0} "
WHERE = "\n  and s{0}.campaign = :campaign and s{0}.n = s0.n and s{0}.estimator = :name{0}"


def judge_shadows(connection: Connection, name: str) -> Judgement | None:
    """Return how well the estimators of the campaign `name` guessed so far; None where nobody looked on."""
    found = read_scores(connection, name)
    return None if found is None else judge_estimators(found)


def read_scores(connection: Connection, name: str) -> ScoredPicks | None:
    """Return the scores of the answered picks of the campaign `name`, of one topic and one way to crawl.

    Asked about are that which steers and those who looked on last. None: nobody ever did.
    """
    with connection.begin():
        number = connection.execute(text(NUMBER), {"name": name}).scalar()
        if number is None:
            return None
        names = connection.execute(text(LAST), {"campaign": number}).scalars().all()
        if not names:
            return None
        steering = orjson.loads(connection.execute(text(SETTINGS), {"campaign": number}).scalar_one())
        columns = _read_columns(connection, number, names, find_comparable_start(connection, number))
    return ScoredPicks((steering.get("crawl", {}).get("estimator", ""), *names), columns[:-1], columns[-1])


def _read_columns(connection: Connection, campaign: int, names: Sequence[str], since: int) -> NDArray[np.float64]:
    """Return float64[2 + len(names), m]: the score of the pick, those by `names`, and the value found."""
    places = range(len(names))
    sql = SCORED.format(
        scores=", ".join(f"s{place}.score" for place in places),
        joined="".join(JOINED.format(place) for place in places[1:]),
        where="".join(WHERE.format(place) for place in places[1:]),
    )
    given = {f"name{place}": name for place, name in enumerate(names)}
    with (
        pause_garbage_collection(),
        connection.execute(text(sql), {"campaign": campaign, "since": since, **given}) as result,
    ):
        rows: Any = result.cursor  # the driver's own: as SQLAlchemy's, rows would take twice as long
        numbers = np.fromiter(chain.from_iterable(rows), np.float64)
    return numbers.reshape(-1, 2 + len(names)).T
