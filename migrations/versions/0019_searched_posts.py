"""Searches make a full-text index (`storage.post_search`), from which older programs would not erase.

It is not made here but by the first search of a large database; a downgrade drops it. What it holds is in `post`.
"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

TRIGGERS = ("search_insert", "search_update", "search_delete")
FUNCTIONS = ("search_insert", "search_remove")
TABLES = ("search_index", "search_post", "search_pending", "search_state")


def upgrade() -> None:
    pass


def downgrade() -> None:
    server = op.get_bind().dialect.name == "postgresql"
    for name in TRIGGERS:
        op.execute(f"drop trigger if exists {name}" + (" on post" if server else ""))
    for name in FUNCTIONS if server else ():
        op.execute(f"drop function if exists {name}()")
    for name in TABLES:
        op.execute(f"drop table if exists {name}")
