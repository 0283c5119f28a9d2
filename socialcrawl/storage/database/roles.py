"""What the role of a PostgreSQL connection may do besides reading: a read-only transaction stops less than one thinks.

In such a transaction a superuser still reads and writes files of the server, runs programs, and leaves replication
slots behind, which fill its disk. `set_config('role', ...)` makes a query run as any role that its own is a member of,
so memberships count as if they were attributes.
"""

from typing import Any

from socialcrawl.errors import StoreError

READER = "socialcrawl_reader"
DOES = {
    "superuser": "a query could read and write files of the server, and run programs there",
    "replication": "a query could leave a replication slot, which fills the disk of the server",
    "pg_read_server_files": "a query could read files of the server",
    "pg_write_server_files": "a query could write files of the server",
    "pg_execute_server_program": "a query could run programs on the server",
}
POWER = """
select case when r.rolsuper then 'superuser' when r.rolreplication then 'replication' else r.rolname end, r.rolname,
  session_user
from pg_roles r
where pg_has_role(session_user, r.oid, 'member') and (r.rolsuper or r.rolreplication or r.rolname in (
  'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program'))
order by r.rolname <> session_user, r.rolsuper desc, 1 limit 1
"""
NAMES = """
select format('%I', current_database()), format('%I', n.nspname), format('%I', coalesce(
  (select pg_get_userbyid(c.relowner) from pg_class c where c.relnamespace = n.oid and c.relname = 'campaign'),
  session_user))
from pg_namespace n where n.nspname = coalesce(current_schema(), 'public')
"""
WRITABLE = """
select session_user, count(*) filter (where pg_has_role(session_user, c.relowner, 'member')
  or has_table_privilege(session_user, c.oid, 'insert, update, delete, truncate')), count(*)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = current_schema() and c.relkind in ('r', 'p')
"""


def refuse_powerful(raw: Any) -> None:
    """Refuse a role that can do harm outside of the tables, even in a read-only transaction.

    Args:
        raw: a connection of psycopg.

    Raises:
        StoreError: it can; the message says why, and has the SQL that makes a role that cannot.
    """
    row = raw.execute(POWER).fetchone()
    if row is None:
        return
    power, through, role = row
    attribute = {"superuser": "is a superuser", "replication": "has the attribute REPLICATION"}.get(power)
    if through != role:
        attribute = f"is a member of {through}" + (f", which {attribute}" if attribute else "")
    raise StoreError(
        f"The query was refused for the role {role}: it {attribute}, so {DOES[power]}. Create a role that only "
        f"reads:\n\n{make_reader_sql(raw)}\n\nand connect as that role (postgresql://{READER}@HOST/NAME), or accept "
        "the risk: `socialcrawl sql --allow-superuser`."
    )


def make_reader_sql(raw: Any) -> str:
    """Return the SQL that makes a role which may only read the tables of the connection's schema, those to come too."""
    database, schema, owner = raw.execute(NAMES).fetchone() or ("NAME", "public", "OWNER")
    return (
        f"CREATE ROLE {READER} LOGIN PASSWORD 'CHANGE-THIS';\n"
        f"GRANT CONNECT ON DATABASE {database} TO {READER};\n"
        f"GRANT USAGE ON SCHEMA {schema} TO {READER};\n"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {READER};\n"
        f"ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {schema} GRANT SELECT ON TABLES TO {READER};"
    )


def describe_writer(raw: Any) -> str | None:
    """Return a warning where the role may change tables of the schema; None where it may not."""
    role, writable, tables = raw.execute(WRITABLE).fetchone()
    if not writable:
        return None
    return (
        f"warning: the role {role} may change {writable} of {tables} tables of this database; the query runs in a "
        "read-only transaction. Give readers a role with SELECT only: see docs/explanation/guarantees.md, A role that "
        "only reads"
    )
