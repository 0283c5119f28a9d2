"""Outcomes of accounts of which further pages were read: the outcome of the last page stands for the earlier ones."""

LAST_PAGE = """(select x.campaign as campaign, x.node as node, max(x.n) as n
  from pick y cross join outcome x
  where y.act = 'page' and x.campaign = y.campaign and x.n = y.n and x.missing is null group by x.campaign, x.node)"""
"""The number of the last decision that read a further page, by campaign and account.

Picks come first (SQLite takes the tables of a cross join in this order): most campaigns have none of that act.
"""

JOIN_LAST = f"""left join {LAST_PAGE} g on g.campaign = o.campaign and g.node = o.node and o.missing is null
left join outcome u on u.campaign = g.campaign and u.n = g.n"""
"""Joins an outcome `o` with that of the last page of its account, `u`."""
